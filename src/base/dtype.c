/* Names, sizes and kinds of dtypes, from the one list in base.h. */
#include "base/base_internal.h"

#include <string.h>

static const struct {
    const char *name;
    size_t size;
    char kind;
} dtypes[PITH_DTYPE_COUNT] = {[PITH_DTYPE_NONE] = {"none", 0, 0},
#define ROW(name, NAME, ctype, bytes, kind) [PITH_##NAME] = {#name, bytes, kind},
                              PITH_DTYPE_LIST(ROW)
#undef ROW
};

#define ROW(name, NAME, ctype, bytes, kind)                                              \
    _Static_assert(sizeof(ctype) == (bytes), "storage of " #name);
PITH_DTYPE_LIST(ROW)
#undef ROW

static bool known(pith_dtype dtype) {
    return (size_t)dtype < PITH_DTYPE_COUNT;
}

const char *pith_dtype_name(pith_dtype dtype) {
    return known(dtype) ? dtypes[dtype].name : "none";
}

size_t pith_dtype_size(pith_dtype dtype) {
    return known(dtype) ? dtypes[dtype].size : 0;
}

pith_dtype pith_dtype_parse(const char *name) {
    if (!name)
        return PITH_DTYPE_NONE;
    for (int i = 1; i < PITH_DTYPE_COUNT; i++)
        if (strcmp(dtypes[i].name, name) == 0)
            return (pith_dtype)i;
    return PITH_DTYPE_NONE;
}

bool pith_dtype_is_float(pith_dtype dtype) {
    return known(dtype) && dtypes[dtype].kind == 'f';
}

bool pith_dtype_is_integer(pith_dtype dtype) {
    return known(dtype) && (dtypes[dtype].kind == 'i' || dtypes[dtype].kind == 'u');
}
