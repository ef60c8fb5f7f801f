/* What ranks agree on in eager calls of functions over shards: before the call, and after
 * it. */
#include "pith/array_collective.h"

#include "trace/shard/mapping.h"
#include "tree/shard/shard.h"

#include <inttypes.h>
#include <string.h>

bool pithp_mapping_begin(const pithp_mapping *x) {
    const pithp_intent intent = {
        .operation = "pith_shard_map", .what = x->name, .extra = x->digest};
    if (!x->agrees)
        return x->s->error.code == PITH_OK;
    if (!pithp_collective_begin(x->s, &intent))
        return false;
    pithp_collective_end(x->s);
    return true;
}

void pithp_mapping_compare(const pithp_mapping *x, const void *const *given, int count) {
    for (int i = 0; x->agrees && !x->outer && pithp_ranks_compare(x->s) && i < count; i++)
        pithp_tree_compare(x->s, x->name, given[i]);
}

/* ---- The end ---- */

/* What ranks tell each other at the end of an eager call. */
typedef struct ending {
    int64_t digest;  /* of the results that are called equal along all mapped axes */
    int64_t refused; /* 1: a gradient was refused */
    int64_t partly;  /* 1: there are results that are called so along some of them */
} ending;

/* Numbers of all ranks of the mesh. A failed scope takes part. NULL: error set. */
static const int64_t *
gather(pith_scope *s, int64_t count, const int64_t *own, size_t *ranks) {
    const pith_array *a = s->error.code == PITH_OK
                              ? pith_array_copy(s, PITH_I64, PITH_SHAPE(count), own)
                              : NULL;
    const pith_array *all = pith_all_stack(s, a, NULL);
    const size_t bytes = all ? pithp_array_spec(all)->bytes : 0;
    int64_t *numbers = all ? pithp_scope_allocate(s, bytes) : NULL;
    *ranks = count ? bytes / sizeof *own / (size_t)count : 0;
    return numbers && pith_read(s, all, numbers, bytes) ? numbers : NULL;
}

/* The first rank of which a number differs from that of the first rank with which it
 * should be equal; -1: none. Ranks have `count` numbers. All ranks find the same. */
static int64_t find_other(const pithp_mesh_group *g,
                          size_t ranks,
                          int64_t count,
                          const int64_t *numbers) {
    for (size_t r = 0; r < ranks; r++) {
        const int64_t first = pithp_mesh_group_first(g, (int64_t)r);
        if (numbers[(int64_t)r * count] != numbers[first * count])
            return (int64_t)r;
    }
    return -1;
}

/* Every rank names the first leaf that differs, and the ranks. */
static void compare_leaves(pith_scope *s,
                           const pithp_mapping *x,
                           const void *result,
                           const pithp_replicas *own) {
    size_t ranks;
    int64_t *digests = pithp_scope_allocate(s, (size_t)own->count * sizeof *digests);
    for (int64_t k = 0; digests && k < own->count; k++)
        digests[k] = own->list[k].digest;
    const int64_t *all = gather(s, own->count, digests, &ranks);
    for (int64_t k = 0; all && k < own->count; k++) {
        const char *axes = own->list[k].axes;
        const pithp_mesh_group *g = pithp_mesh_group_of(s, axes);
        const int64_t rank = g ? find_other(g, ranks, own->count, all + k) : -1;
        char place[PITHP_WHAT_BYTES], first[PITHP_WHAT_BYTES];
        if (rank < 0)
            continue;
        pithp_mesh_place(x->mesh, rank, place);
        pithp_mesh_place(x->mesh, pithp_mesh_group_first(g, rank), first);
        pithp_fail(s, PITH_E_DIVERGED, pith_tree_path(s, result, own->list[k].leaf),
                   "%s: its specs call the result replicated along %s, but rank %" PRId64
                   " (%s) has other elements than rank %" PRId64
                   " (%s): sum them with pith_psum, or shard them",
                   x->name, axes, rank, place, pithp_mesh_group_first(g, rank), first);
        return;
    }
}

static void compare_endings(pith_scope *s,
                            const pithp_mapping *x,
                            const void *result,
                            const pithp_replicas *replicas,
                            const ending *own) {
    size_t ranks;
    enum { COUNT = sizeof *own / sizeof(int64_t) };
    const int64_t *all = gather(s, COUNT, &own->digest, &ranks);
    const pithp_mesh_group *g = all ? pithp_mesh_group_of(s, x->axes) : NULL;
    if (!g)
        return;
    ending first; /* that of rank 0, by which all ranks decide alike */
    memcpy(&first, all, sizeof first);
    if (find_other(g, ranks, COUNT, all + 1) >= 0)
        pithp_fail(s, PITH_E_DIVERGED, NULL,
                   "%s: some ranks along %s take a gradient in it, and others do not",
                   x->name, x->axes);
    else if (find_other(g, ranks, COUNT, all) >= 0 || first.partly)
        compare_leaves(s, x, result, replicas);
}

pith_status pithp_mapping_agree(const pithp_mapping *x,
                                const void *result,
                                const pithp_replicas *replicas,
                                bool refused) {
    pith_scope *s = x->s;
    pith_scope *w = s->error.code == PITH_OK ? pithp_temporaries_open(s) : NULL;
    ending own = {.refused = refused};
    for (int64_t k = 0; k < replicas->count && !refused; k++) {
        const pithp_replica *r = &replicas->list[k];
        if (!r->whole) {
            own.partly = 1;
            continue;
        }
        const uint64_t h = pithp_hash((uint64_t)own.digest, &r->digest, sizeof r->digest);
        memcpy(&own.digest, &h, sizeof h);
    }
    compare_endings(w ? w : s, x, result, replicas, &own); /* a failed scope, too */
    if (w)
        pith_scope_close(w);
    return s->error.code;
}
