/* Comparison of a tree that all ranks should have: its structure, the bits of its plain
 * leaves, and those of shards that several ranks hold: of an array over "x" on a mesh x,
 * y all ranks along y have the same shard. */
#include "array/array_internal.h"
#include "mesh/mesh_internal.h"
#include "tree/tree_internal.h"

#include <inttypes.h>
#include <string.h>

/* A digest of the elements of a leaf, without a copy if the host can read them. */
static uint64_t read_leaf(pith_scope *s, const pith_array *a, size_t bytes) {
    uint64_t digest = 0;
    if (pithp_scope_device(s)->backend->addressable)
        return pithp_synchronise(s) == PITH_OK ? pithp_hash(0, a->data, bytes) : 0;
    void *elements = pithp_scratch_allocate(s->runtime, bytes + 1);
    if (!elements)
        pithp_fail_memory(s, bytes);
    else if ((pith_read)(s, a, elements, bytes))
        digest = pithp_hash(0, elements, bytes);
    pithp_scratch_release(s->runtime, elements, bytes + 1);
    return digest;
}

/* ---- Shards ---- */

/* The number of the own shard among all of a placement, and how many there are. */
static int64_t shard_number(const pith_placement *p) {
    int64_t number = 0;
    for (int d = 0; d < PITH_MAX_RANK; d++)
        if (p->shards[d] > 1)
            number = number * p->shards[d] + p->own[d];
    return number;
}
static int64_t shard_count(const pith_placement *p) {
    int64_t count = 1;
    for (int d = 0; d < PITH_MAX_RANK; d++)
        count *= p->shards[d] > 1 ? p->shards[d] : 1;
    return count;
}

/* The placement of a leaf whose shard other ranks hold, too; NULL: it is plain, or only
 * this rank's, or rows that are not in use may be anything. */
static const pith_placement *
shared_placement(pith_scope *s, const pithp_flat *f, int64_t i) {
    const pith_placement *p = pithp_placement_of(f->structure.specs[i]);
    return p && !p->rows[0] && shard_count(p) < pithp_ranks_count(s) ? p : NULL;
}

/* What a rank holds of a placement. */
typedef struct holding {
    int64_t shard;
    uint64_t digest;
} holding;

/* A comparison under way. */
typedef struct comparison {
    pith_scope *s;
    const char *function;
    pithp_flat f;
    uint64_t *digests; /* of each leaf */
    holding *all;      /* of each rank; NULL: no shard is held by several */
    int64_t *first;    /* rank with a shard; -1: none so far */
} comparison;

/* A digest of each leaf that other ranks have, too. false: error set. */
static bool read_leaves(comparison *c) {
    pith_scope *s = c->s;
    const pithp_structure *t = &c->f.structure;
    const size_t ranks = (size_t)pithp_ranks_count(s);
    bool shares = false;
    for (int64_t i = 0; i < t->item_count && s->error.code == PITH_OK; i++) {
        const bool shard = pithp_array_is_sharded(c->f.items[i]);
        const bool own = shard && !shared_placement(s, &c->f, i);
        shares |= shard && !own;
        c->digests[i] = own ? 0 : read_leaf(s, c->f.items[i], t->specs[i]->bytes);
    }
    if (shares && s->error.code == PITH_OK) {
        c->all = pithp_scope_allocate(s, ranks * sizeof *c->all);
        c->first = pithp_scope_allocate(s, ranks * sizeof *c->first);
    }
    return s->error.code == PITH_OK;
}

/* Whether a value is equal on all ranks; of this call, all ranks know the same. */
static bool is_common(pith_scope *s, uint64_t digest) {
    uint64_t words[PITHP_AGREE_WORDS] = {digest, ~digest};
    return pithp_ranks_least(s, words) && words[0] == ~words[1];
}

static void refuse(const comparison *c,
                   int64_t leaf,
                   int64_t rank,
                   int64_t other,
                   const char *expected) {
    char place[PITHP_WHAT_BYTES];
    pithp_mesh_place(pith_mesh_of(c->s), rank, place);
    pithp_item_fail(c->s, &c->f.structure, leaf, PITH_E_DIVERGED,
                    "%s: rank %" PRId64 " of %" PRId64
                    " (%s) has other elements than rank %" PRId64 ", expected %s",
                    c->function, rank, pithp_ranks_count(c->s), place, other, expected);
}

/* Name the first plain leaf that differs, and the first rank that differs from rank 0 in
 * it. */
static void tell(const comparison *c) {
    pith_scope *s = c->s;
    const int64_t count = c->f.structure.item_count;
    int64_t leaf = 0;
    for (int64_t i = 0; i < count; i++) {
        if (pithp_array_is_sharded(c->f.items[i]))
            continue;
        leaf = i;
        if (!is_common(s, c->digests[i]))
            break;
    }
    uint64_t first = c->digests[leaf];
    if (!pithp_ranks_broadcast(s, 0, &first, sizeof first))
        return;
    uint64_t words[PITHP_AGREE_WORDS] = {
        first == c->digests[leaf] ? UINT64_MAX : (uint64_t)pithp_ranks_own(s)};
    if (pithp_ranks_least(s, words))
        refuse(c, leaf, (int64_t)words[0], 0, "the same on all ranks");
}

static void compare_plain(const comparison *c) {
    uint64_t digest = 0;
    for (int64_t i = 0; i < c->f.structure.item_count; i++)
        if (!pithp_array_is_sharded(c->f.items[i]))
            digest = pithp_hash(digest, &c->digests[i], sizeof *c->digests);
    if (!is_common(c->s, digest))
        tell(c);
}

/* The first rank whose digest differs from that of the rank before it with the same
 * shard, which *other is; -1: none. All ranks find the same. */
static int64_t find_other(const comparison *c,
                          const pith_placement *p,
                          uint64_t digest,
                          int64_t *other) {
    const holding own = {shard_number(p), digest};
    const int64_t ranks = pithp_ranks_count(c->s);
    if (!pithp_ranks_gather(c->s, &own, c->all, sizeof own))
        return -1;
    memset(c->first, 0xff, (size_t)ranks * sizeof *c->first);
    for (int64_t r = 0; r < ranks; r++) {
        int64_t *first = &c->first[c->all[r].shard];
        if (*first < 0)
            *first = r;
        *other = *first;
        if (c->all[r].digest != c->all[*first].digest)
            return r;
    }
    return -1;
}

/* The leaves of a placement, the first of which is `from`: at first all of them at once.
 */
static void compare_placement(const comparison *c, int64_t from) {
    const pith_placement *p = shared_placement(c->s, &c->f, from);
    const int64_t count = c->f.structure.item_count;
    uint64_t digest = 0;
    int64_t other = 0;
    for (int64_t i = from; i < count; i++)
        if (shared_placement(c->s, &c->f, i) == p)
            digest = pithp_hash(digest, &c->digests[i], sizeof *c->digests);
    if (find_other(c, p, digest, &other) < 0)
        return;
    for (int64_t i = from; i < count; i++) {
        if (shared_placement(c->s, &c->f, i) != p)
            continue;
        const int64_t rank = find_other(c, p, c->digests[i], &other);
        if (rank >= 0) {
            refuse(c, i, rank, other, "the same shard on both");
            return;
        }
    }
}

static void compare_shards(const comparison *c) {
    for (int64_t i = 0; c->all && i < c->f.structure.item_count; i++) {
        const pith_placement *p = shared_placement(c->s, &c->f, i);
        bool again = !p;
        for (int64_t k = 0; k < i && !again; k++)
            again = shared_placement(c->s, &c->f, k) == p;
        if (!again && c->s->error.code == PITH_OK)
            compare_placement(c, i);
    }
}

bool pithp_tree_compare(pith_scope *s, const char *function, const void *tree) {
    if (!pithp_ranks_of(s))
        return s->error.code == PITH_OK;
    comparison c = {.s = s, .function = function};
    pithp_decision d = {.operation = function};
    const bool flat =
        s->error.code == PITH_OK && pithp_flat_make(s, &c.f, tree, NULL, NULL) == PITH_OK;
    const int64_t count = flat ? c.f.structure.item_count : 0;
    if (flat &&
        (c.digests = pithp_scope_allocate(s, (size_t)(count + 1) * sizeof *c.digests)) &&
        read_leaves(&c))
        d.extra = pithp_structure_digest(&c.f.structure);
    bool common = pithp_decide(s, &d);
    if (common && d.first >= 0) {
        pithp_decision_tell(s, function, d.first);
        common = false;
    }
    if (common && count) {
        compare_plain(&c);
        if (s->error.code == PITH_OK)
            compare_shards(&c);
    }
    if (flat)
        pithp_flat_end(&c.f);
    return s->error.code == PITH_OK;
}
