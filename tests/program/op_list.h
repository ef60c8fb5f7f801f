/* Primitives by trait, in the order of the table. */
#ifndef PITH_TESTS_OP_LIST_H
#define PITH_TESTS_OP_LIST_H

#include "program/op/op.h"

enum { OP_REDUCTIONS = PITHP_TRAIT_REDUCTION | PITHP_TRAIT_ARG_REDUCTION };

/* The first primitive after p with one of the traits; PITHP_PRIMITIVE_COUNT after the
 * last. -1 is before the first primitive. */
static inline int op_next(uint32_t traits, int p) {
    do
        p++;
    while (p < PITHP_PRIMITIVE_COUNT && !pithp_op_has((pithp_primitive)p, traits));
    return p;
}

/* The head of a loop over them: for (OPS_WITH(p, traits)). */
#define OPS_WITH(p, traits)                                                              \
    int p = op_next(traits, -1);                                                         \
    p < PITHP_PRIMITIVE_COUNT;                                                           \
    p = op_next(traits, p)

/* Primitive n of those with one of the traits. */
static inline pithp_primitive op_nth(uint32_t traits, uint64_t n) {
    int p = op_next(traits, -1);
    while (n-- > 0)
        p = op_next(traits, p);
    return (pithp_primitive)p;
}

#endif
