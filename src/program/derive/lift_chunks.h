/* Checks of batches in chunks, whose parts are one check after lifting (within
 * src/program/derive). */
#ifndef PITH_PROGRAM_DERIVE_LIFT_CHUNKS_H
#define PITH_PROGRAM_DERIVE_LIFT_CHUNKS_H

#include "program/derive/lift.h"

/* Methods of checks of batches, of which pithp_exposed.batch is the first. Values of a
 * check in a rule for batches need not have the entries. */
typedef struct pithp_lift_methods {
    pithp_exposed_batch batch;
    /* Whether value k has the entries of a batch axis. */
    bool (*has_axis)(const pithp_exposed *e, int axis, int32_t k);
    /* Whether values of the entries that remain have passing values before these. */
    bool (*is_padded)(const pithp_exposed *e, int axis);
} pithp_lift_methods;

static inline const pithp_lift_methods *pithp_lift_methods_of(const pithp_exposed *e) {
    return (const pithp_lift_methods *)(const void *)e->batch;
}
static inline bool pithp_lift_has_axis(const pithp_exposed *e, int axis, int32_t k) {
    return pithp_lift_methods_of(e)->has_axis(e, axis, k);
}

/* The axis of the entries of a chunk that a scan runs, in the values of a check; -1: the
 * check has none. */
int pithp_lift_chunk_axis(const pithp_exposed *e, const pithp_loop_params *scan);

/* Whether some values of a check lack that axis, and others do not. */
bool pithp_lift_is_mixed(const pithp_exposed *e, int axis);

/* [chunks, ..., entries of a chunk, ...] -> [..., entries, ...]; axis: of the entries in
 * a chunk's value. -1 sets the error. */
pithp_value
pithp_lift_join_chunks(pith_scope *s, pithp_program *to, pithp_value v, int axis);

/* Join the checks of full chunks in a list with those of the entries that remain. values:
 * of the list. False sets the error. */
bool pithp_lift_join_rests(pith_scope *s,
                           pithp_program *to,
                           pithp_lifted_list *lifted,
                           pithp_value *values);

#endif
