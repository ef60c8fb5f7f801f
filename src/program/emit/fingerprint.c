/* Kernel reuse: fingerprints of fused steps; steps with the same text share a function.
 */
#include "program/emit/fused.h"

#include <string.h>

/* The memory accesses of a step, as far as the text depends on them: a byte for each
 * external, the gathers, and the loop nest. */
enum {
    GATHER_BYTES = PITHP_GATHERS * sizeof(pithp_fused_gather),
    READING_BYTES = PITHP_FUSED_EXTERNALS + GATHER_BYTES + PITHP_NEST_BYTES
};

static int describe(const pithp_fused_step *a, int8_t bytes[READING_BYTES]) {
    for (int e = 0; e < a->external_count; e++)
        bytes[e] = pithp_is_uniform(a, &a->externals[e])           ? 1
                   : a->externals[e].access == PITHP_ACCESS_FLAT   ? 2
                   : a->externals[e].access == PITHP_ACCESS_PIECES ? 3
                                                                   : 0;
    const int gather = a->gather_count * (int)sizeof a->gathers[0];
    const int count = a->external_count + gather;
    memcpy(bytes + a->external_count, a->gathers, (size_t)gather);
    return count + (pithp_is_direct(a) ? 0 : pithp_nest_describe(a, bytes + count));
}

uint64_t pithp_fused_hash(const pithp_fused_step *a) {
    int8_t bytes[READING_BYTES];
    const int count = describe(a, bytes);
    const uint64_t hash = pithp_hash((uint64_t)a->temporary_count, bytes, (size_t)count);
    return pithp_hash(hash, a->ops, (size_t)a->op_count * sizeof a->ops[0]);
}

/* Whether both steps have the same call sites; always true if the text has none. */
static bool sites_alike(const pithp_fused_step *a, const pithp_fused_step *b) {
    bool alike = true;
    if (a->sites == b->sites || !a->sites || !b->sites || !pithp_debug_lines())
        return true;
    for (int k = 0; k < a->op_count && alike; k++)
        alike = a->sites[k] == b->sites[k] ||
                (a->sites[k] && b->sites[k] && strcmp(a->sites[k], b->sites[k]) == 0);
    return alike;
}

bool pithp_fused_alike(const pithp_fused_step *a, const pithp_fused_step *b) {
    int8_t of_a[READING_BYTES], of_b[READING_BYTES];
    if (a->op_count != b->op_count || a->external_count != b->external_count ||
        a->temporary_count != b->temporary_count || a->gather_count != b->gather_count ||
        memcmp(a->ops, b->ops, (size_t)a->op_count * sizeof a->ops[0]) != 0 ||
        !sites_alike(a, b))
        return false;
    const int count = describe(a, of_a);
    return count == describe(b, of_b) && memcmp(of_a, of_b, (size_t)count) == 0;
}
