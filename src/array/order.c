/* Operations along one axis that depend on the order of its elements. */
#include "array/array_internal.h"

/* The axis of a checked array; -1 with the error set. */
static int enter(pith_scope *s, const char *function, const pith_array *a, int axis) {
    if (!pithp_enter(s) || pithp_array_check(s, a, function, "a") != PITH_OK)
        return -1;
    return pithp_axis(s, function, axis, pithp_array_spec(a)->rank);
}

const pith_array *pith_cumsum(pith_scope *s, const pith_array *a, int axis) {
    const int counted = enter(s, "pith_cumsum", a, axis);
    if (counted < 0)
        return NULL;
    if (pithp_array_spec(a)->dtype == PITH_BOOL && !(a = pithp_cast(s, a, PITH_I64)))
        return NULL;
    return pithp_bind(s, PITHP_OP_CUMSUM, 1, &a, &(pithp_scan_params){.axis = counted});
}

const pith_array *pith_sort(pith_scope *s, const pith_array *a, int axis) {
    const int counted = enter(s, "pith_sort", a, axis);
    return counted < 0 ? NULL
                       : pithp_bind(s, PITHP_OP_SORT, 1, &a,
                                    &(pithp_sort_params){.axis = counted});
}

const pith_array *pith_argsort(pith_scope *s, const pith_array *a, int axis) {
    const int counted = enter(s, "pith_argsort", a, axis);
    return counted < 0 ? NULL
                       : pithp_bind(s, PITHP_OP_ARGSORT, 1, &a,
                                    &(pithp_sort_params){.axis = counted});
}
