/* Within the array room: data for a runtime. */
#ifndef PITH_ARRAY_ROOM_H
#define PITH_ARRAY_ROOM_H

#include "array/array_internal.h"

typedef struct pithp_array_room {
    struct pithp_graveyard *graves;  /* trace.c; NULL until used */
    struct pithp_placed *placements; /* placement.c, under rt->lock */
    _Atomic(struct pithp_fused_cache *)
        fused_cache; /* expression_cache.c; NULL until used */
} pithp_array_room;

/* Made on first use. NULL: error set. */
pithp_array_room *pithp_array_room_of(pith_scope *s);
/* NULL: not made yet. */
static inline pithp_array_room *pithp_array_room_at(const pith_runtime *rt) {
    return __atomic_load_n((pithp_array_room *const *)&rt->room[PITHP_ROOM_ARRAY],
                           __ATOMIC_ACQUIRE);
}

/* Hooks of the parts. */
void pithp_graves_close(pith_runtime *rt);
void pithp_graves_note_cleared(pith_scope *s);
void pithp_fused_cache_close(pith_runtime *rt);
void pithp_placements_close(pith_runtime *rt);

#endif
