/* Names of dtypes in generated text. */
#include "program/op/spelling.h"

const char *pithp_dtype_spelling(pith_dtype dtype) {
    return dtype == PITH_BOOL ? "b8" : pith_dtype_name(dtype);
}

void pithp_dtype_scope(pithp_string *t, const char *indent, pith_dtype dtype) {
    const char *name = pithp_dtype_spelling(dtype);
    pithp_string_print(t, "%stypedef T_%s T;\n%stypedef U_%s U;\n%stypedef V_%s V;\n",
                       indent, name, indent, name, indent, name);
    pithp_string_print(t, "%senum { HALF = HALF_%s };\n", indent, name);
}
