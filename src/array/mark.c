/* Identity marks for derivations. */
#include "array/array_internal.h"

#include <string.h>

const pith_array *
pithp_mark(pith_scope *s, pithp_primitive mark, const char *name, const pith_array *a) {
    pithp_named_params params = {{0}};
    if (!pithp_array_is_traced(a))
        return a;
    if (name && strlen(name) >= sizeof params.name) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: a name has 1 to %d bytes",
                   pithp_function_of(s, pithp_ops[mark].name), PITHP_NAME_BYTES - 1);
        return NULL;
    }
    if (name)
        memcpy(params.name, name, strlen(name));
    return pithp_bind(s, mark, 1, &a, name ? &params : NULL);
}
