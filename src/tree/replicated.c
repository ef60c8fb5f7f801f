/* Comparison of a tree that all ranks should have: its structure, and the bits of its
 * leaves, except for shards. */
#include "array/array_internal.h"
#include "mesh/mesh_internal.h"
#include "tree/tree_internal.h"

#include <inttypes.h>

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

/* A digest of each leaf. Shards are each rank's own. false: error set. */
static bool read_leaves(pith_scope *s, const pithp_flat *f, uint64_t *digests) {
    for (int64_t i = 0; i < f->structure.item_count && s->error.code == PITH_OK; i++)
        digests[i] = pithp_array_is_sharded(f->items[i])
                         ? 0
                         : read_leaf(s, f->items[i], f->structure.specs[i]->bytes);
    return s->error.code == PITH_OK;
}

/* Whether a value is equal on all ranks; of this call, all ranks know the same. */
static bool is_common(pith_scope *s, uint64_t digest) {
    uint64_t words[PITHP_AGREE_WORDS] = {digest, ~digest};
    return pithp_ranks_least(s, words) && words[0] == ~words[1];
}

/* Name the first leaf that differs, and the first rank that differs from rank 0 in it. */
static void
tell(pith_scope *s, const char *function, const pithp_flat *f, const uint64_t *digests) {
    int64_t leaf = 0;
    while (leaf + 1 < f->structure.item_count && is_common(s, digests[leaf]))
        leaf++;
    uint64_t first = digests[leaf];
    if (!pithp_ranks_broadcast(s, 0, &first, sizeof first))
        return;
    uint64_t words[PITHP_AGREE_WORDS] = {
        first == digests[leaf] ? UINT64_MAX : (uint64_t)pithp_ranks_own(s)};
    if (!pithp_ranks_least(s, words))
        return;
    char place[PITHP_WHAT_BYTES];
    pithp_mesh_place(pith_mesh_of(s), (int64_t)words[0], place);
    pithp_item_fail(s, &f->structure, leaf, PITH_E_DIVERGED,
                    "%s: rank %" PRId64 " of %" PRId64
                    " (%s) has other elements than rank 0, expected the same on all "
                    "ranks",
                    function, (int64_t)words[0], pithp_ranks_count(s), place);
}

bool pithp_tree_compare(pith_scope *s, const char *function, const void *tree) {
    if (!pithp_ranks_of(s))
        return s->error.code == PITH_OK;
    pithp_flat f;
    pithp_decision d = {.operation = function};
    uint64_t *digests = NULL;
    const bool flat =
        s->error.code == PITH_OK && pithp_flat_make(s, &f, tree, NULL, NULL) == PITH_OK;
    const int64_t count = flat ? f.structure.item_count : 0;
    if (flat &&
        (digests = pithp_scope_allocate(s, (size_t)(count + 1) * sizeof *digests)) &&
        read_leaves(s, &f, digests))
        d.extra = pithp_structure_digest(&f.structure);
    bool common = pithp_decide(s, &d);
    if (common && d.first >= 0) {
        pithp_decision_tell(s, function, d.first);
        common = false;
    }
    if (common && count && !is_common(s, pithp_hash(0, digests, (size_t)count * 8)))
        tell(s, function, &f, digests);
    if (flat)
        pithp_flat_end(&f);
    return s->error.code == PITH_OK;
}
