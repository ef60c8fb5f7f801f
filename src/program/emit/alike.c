/* Which fused steps have the same text, and so share a function. */
#include "program/emit/emit.h"

#include <string.h>

/* How an external is read, as far as texts tell. */
static uint8_t reading_of(const pithp_fused_args *a, const pithp_external *e) {
    return (uint8_t)(pithp_is_uniform(a, e)           ? 1
                     : e->access == PITHP_ACCESS_FLAT ? 2
                     : pithp_is_one_a_row(a, e)       ? 3
                                                      : 0);
}

uint64_t pithp_fused_hash(const pithp_fused_args *a) {
    uint8_t readings[PITHP_FUSED_EXTERNALS];
    for (int e = 0; e < a->external_count; e++)
        readings[e] = reading_of(a, &a->externals[e]);
    const uint64_t hash = pithp_hash(a->temporary_count, readings, a->external_count);
    return pithp_hash(hash, a->ops, a->op_count * sizeof a->ops[0]);
}

bool pithp_fused_alike(const pithp_fused_args *a, const pithp_fused_args *b) {
    bool alike = a->op_count == b->op_count && a->external_count == b->external_count &&
                 a->temporary_count == b->temporary_count &&
                 memcmp(a->ops, b->ops, a->op_count * sizeof a->ops[0]) == 0;
    for (int e = 0; e < a->external_count && alike; e++)
        alike = reading_of(a, &a->externals[e]) == reading_of(b, &b->externals[e]);
    return alike;
}
