/* A gather to one rank, so that the others need no memory for the whole. */
#include "tree/shard/shard.h"

#include <stdio.h>

/* A gather under way. */
typedef struct gathering {
    pith_scope *w;
    pithp_mesh_group *group;
    int64_t at; /* the receiving rank within the group; -1: in another group */
    bool here;
    const pith_array *own, *all;
    char *from, *to; /* elements in memory of the host */
    bool staged;     /* `from` and `to` are copies */
    pithp_parcel *receive;
} gathering;

static char *stage(gathering *g, const pith_array *a) {
    if (!a)
        return NULL;
    if (!g->staged)
        return a->data;
    return pithp_scope_allocate(g->w, pithp_array_spec(a)->bytes + 1);
}

/* Everything that may fail, before the agreement. */
static pith_status
prepare(gathering *g, const pith_array *a, const char *axes, int64_t root) {
    pith_scope *w = g->w;
    if (w->error.code != PITH_OK || !(g->group = pithp_mesh_group_of(w, axes)) ||
        pithp_array_check(w, a, "pith_unshard", "leaf") != PITH_OK)
        return w->error.code;
    const pith_spec *own = pithp_array_spec(a);
    const size_t ranks = (size_t)g->group->size;
    g->own = a;
    g->at = pithp_mesh_group_find(g->group, root);
    g->here = g->at == g->group->rank;
    g->staged = !pithp_scope_device(w)->backend->addressable;
    if (g->here) {
        const pith_spec *spec =
            pithp_spec(w, own->dtype, 2, (const int64_t[]){(int64_t)ranks, own->count});
        g->all = spec ? pithp_array_make(w, spec) : NULL;
        g->receive = pithp_scope_allocate(w, ranks * sizeof *g->receive);
    }
    g->from = stage(g, a);
    g->to = stage(g, g->all);
    if (w->error.code != PITH_OK)
        return w->error.code;
    for (size_t i = 0; g->here && i < ranks; i++)
        g->receive[i] = (pithp_parcel){(int64_t)i, g->to + i * own->bytes, own->bytes};
    return g->staged ? pithp_array_read(w, a, g->from) : pithp_synchronise(w);
}

const pith_array *
pithp_shard_stack_at(pith_scope *w, const pith_array *a, const char *axes, int64_t root) {
    gathering g = {.w = w};
    char what[PITHP_WHAT_BYTES] = "", text[PITHP_SPEC_TEXT_BYTES];
    prepare(&g, a, axes, root);
    if (w->error.code == PITH_OK)
        snprintf(what, sizeof what, "%.100s over %.50s",
                 pithp_spec_print(pithp_array_spec(a), text), axes);
    const pithp_intent intent = {
        .operation = "pith_unshard", .what = what, .extra = (uint64_t)root};
    if (!pithp_collective_begin(w, &intent))
        return NULL;
    const pithp_parcel send = {g.at, g.from, pithp_array_spec(a)->bytes};
    pithp_mesh_group_exchange(w, g.group, g.at >= 0, &send,
                              g.here ? (int)g.group->size : 0, g.receive);
    pithp_collective_end(w);
    if (g.here && g.staged &&
        pithp_copy_in(w, g.all->data, g.to, pithp_array_spec(g.all)->bytes) != PITH_OK)
        return NULL;
    return g.all;
}
