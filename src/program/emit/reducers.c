/* Reducers of source/reducers.h: the table for emitted text. */
#include "program/emit/reducers.h"

#include "program/source/reducers.h"

#include <stdio.h>
#include <string.h>

#define REDUCER(name, dt, A, LOADED, IDENTITY, COMBINE)                                  \
    {#name, #dt, #A, #LOADED, #IDENTITY, #COMBINE},
const pithp_text_reducer pithp_text_reducers[] = {M_REDUCERS(REDUCER)};
_Static_assert(PITHP_COUNT(pithp_text_reducers) <= 64,
               "one bit each of pithp_emitted_ops");

int pithp_text_reducer_of(pithp_primitive reduction, pith_dtype dtype) {
    static const char *const operations[] = {
        [PITHP_REDUCE_SUM] = "sum", [PITHP_REDUCE_PROD] = "prod",
        [PITHP_REDUCE_MIN] = "min", [PITHP_REDUCE_MAX] = "max",
        [PITHP_REDUCE_ANY] = "any", [PITHP_REDUCE_ALL] = "all"};
    const pithp_reduction operation = pithp_reduction_of(reduction);
    const int bits = 8 * (int)pith_dtype_size(dtype);
    const bool real = pith_dtype_is_float(dtype);
    char name[24];
    if (operation >= PITHP_REDUCE_ANY && bits == 16 && real)
        snprintf(name, sizeof name, "%s_half", operations[operation]);
    else if (operation >= PITHP_REDUCE_ANY && !real)
        snprintf(name, sizeof name, "%s_%d", operations[operation], bits);
    else if (!real && (operation <= PITHP_REDUCE_PROD || dtype == PITH_BOOL))
        snprintf(name, sizeof name, "%s_u%d", operations[operation], bits);
    else
        snprintf(name, sizeof name, "%s_%s", operations[operation],
                 pithp_dtype_spelling(dtype));
    for (int k = 0; k < PITHP_COUNT(pithp_text_reducers); k++)
        if (strcmp(pithp_text_reducers[k].name, name) == 0)
            return k;
    return -1;
}

bool pithp_text_reducer_is_ordered(const pithp_text_reducer *r) {
    return r->accumulator[0] == 'f';
}

bool pithp_text_reducer_chooses(const pithp_text_reducer *r) {
    return pithp_text_reducer_is_ordered(r) && r->name[0] == 'm';
}

bool pithp_text_reducer_is_truth_of_bytes(const pithp_text_reducer *r) {
    return strcmp(r->loaded, "M_TRUE_8") == 0;
}
