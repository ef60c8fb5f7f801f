/* Placements of sharded arrays: hash-consed per runtime, so that equal arrays share one
 * and specs compare by pointer. There are a few: one for each spec of shards. */
#include "array/room.h"

#include <string.h>

typedef struct pithp_placed {
    pith_placement placement;
    struct pithp_placed *next;
} pithp_placed;

static bool same(const pith_placement *a, const pith_placement *b) {
    return a->mesh == b->mesh && strcmp(a->axes, b->axes) == 0 &&
           strcmp(a->rows, b->rows) == 0;
}

const pith_placement *pithp_placement(pith_scope *s, const pith_placement *like) {
    pithp_array_room *room = pithp_array_room_of(s);
    if (!room)
        return NULL;
    pithp_placed *p;
    pthread_mutex_lock(&s->runtime->lock);
    for (p = room->placements; p && !same(&p->placement, like);)
        p = p->next;
    if (!p && (p = pithp_allocate(s->runtime, sizeof *p))) {
        *p = (pithp_placed){*like, room->placements};
        room->placements = p;
    }
    pthread_mutex_unlock(&s->runtime->lock);
    if (!p)
        pithp_fail_memory(s, sizeof *p);
    return p ? &p->placement : NULL;
}

void pithp_placements_close(pith_runtime *rt) {
    pithp_array_room *room = pithp_array_room_at(rt);
    while (room && room->placements) {
        pithp_placed *p = room->placements;
        room->placements = p->next;
        pithp_release(rt, p, sizeof *p);
    }
}

const pith_array *
pithp_array_place(pith_scope *s, const pith_array *a, const pith_spec *spec) {
    if (pithp_array_spec(a) == spec)
        return a;
    return pithp_array_is_traced(a)
               ? pithp_trace_place(s, a, spec)
               : pithp_array_view(s, spec, pithp_array_buffer(a), a->data);
}
