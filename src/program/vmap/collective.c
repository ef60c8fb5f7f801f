/* Batching of collectives. */
#include "program/vmap/control.h"

bool pithp_vmap_collective(pithp_batching *b,
                           const pithp_batched_call *c,
                           pithp_value *results,
                           bool *batched);

bool pithp_vmap_collective(pithp_batching *b,
                           const pithp_batched_call *c,
                           pithp_value *results,
                           bool *batched) {
    (void)results, (void)batched;
    pithp_fail_at(b->s, PITH_E_UNSUPPORTED, NULL, c->i->site,
                  "pith_vmap: %s of a value that depends on the entry has no rule for "
                  "batches",
                  pithp_ops[c->i->primitive].name);
    return false;
}
