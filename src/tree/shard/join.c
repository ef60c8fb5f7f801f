/* pith_unshard: the shards of all ranks, concatenated. */
#include "pith/array_collective.h"

#include "base/in_flight.h"
#include "tree/shard/shard.h"

#include <inttypes.h>
#include <string.h>

typedef struct joining {
    pithp_shard_tree t;
    int64_t root;   /* -1: all */
    bool here;      /* this rank gets the whole */
    int64_t **used; /* by leaf that counts: rows in use of each rank; NULL: others */
} joining;

/* ---- Gathering ---- */

/* The shards of leaf k, [ranks, elements]; every rank makes the call. NULL: not here, or
 * the error is set. */
static const pith_array *gather(joining *j, int64_t k) {
    pith_scope *w = j->t.w;
    const pith_spec *plain = NULL;
    const pith_array *flat = NULL;
    char list[PITHP_SHARD_TEXT];
    pithp_shard_text_join(j->t.leaves[k].axes, list);
    if (w->error.code == PITH_OK)
        plain = pithp_spec_plain(w, j->t.flat.structure.specs[k]);
    if (plain &&
        pithp_leaf_check(w, j->t.flat.items[k], "pith_unshard", "leaf") == PITH_OK)
        flat = pith_reshape(w, pithp_array_place(w, j->t.flat.items[k], plain),
                            PITH_SHAPE(plain->count));
    return j->root < 0 ? pith_all_stack(w, flat, list)
                       : pithp_shard_stack_at(w, flat, list, j->root);
}

static int64_t ranks_of(const pith_array *stack) {
    return pithp_array_spec(stack)->shape[0];
}

/* ---- Leaves of rank 0 ---- */

/* The sum of the counts of all ranks, which are noted. */
static const pith_array *add_counts(joining *j, int64_t k, const pith_array *stack) {
    pith_scope *w = j->t.w;
    const size_t bytes = pithp_array_spec(stack)->bytes;
    int64_t *counts = pithp_scope_allocate(w, bytes + sizeof *counts), sum = 0;
    if (!counts || !pith_read(w, stack, counts, bytes))
        return NULL;
    j->used[k] = counts;
    for (int64_t r = 0; r < ranks_of(stack); r++)
        sum += counts[r];
    return pith_i64(w, sum);
}

/* The value of all ranks, which must be the same. */
static const pith_array *one_value(joining *j, const pith_array *stack) {
    pith_scope *w = j->t.w;
    const pith_spec *spec = pithp_array_spec(stack);
    const size_t size = pith_dtype_size(spec->dtype);
    char *all = pithp_scope_allocate(w, spec->bytes);
    if (!all || !pith_read(w, stack, all, spec->bytes))
        return NULL;
    for (int64_t r = 1; r < ranks_of(stack); r++)
        if (memcmp(all, all + (size_t)r * size, size) != 0) {
            pithp_fail(w, PITH_E_SHAPE, NULL,
                       "one value on each rank, which differ, and no count of rows: rank "
                       "%" PRId64 " has another than rank 0; use pith_unshard_local",
                       r);
            return NULL;
        }
    return pithp_scalar(w, spec->dtype, all);
}

/* ---- Other leaves ---- */

static int64_t size_along(pith_scope *w, const char *axes, int axis) {
    char list[PITHP_SHARD_TEXT];
    pithp_shard_text_list(axes, axis, list);
    const pithp_mesh_group *g = list[0] ? pithp_mesh_group_of(w, list) : NULL;
    return g ? g->size : 1;
}

static int64_t product(const int64_t *extents, int begin, int end) {
    int64_t n = 1;
    while (begin < end)
        n *= extents[begin++];
    return n;
}

/* The rows in use of each rank, [ranks, rows, width] to [sum, width]. */
static const pith_array *
concatenate_used(joining *j, const pith_array *x, const int64_t *used) {
    pith_scope *w = j->t.w;
    if (!x)
        return NULL;
    const int64_t *shape = pithp_array_spec(x)->shape;
    const pith_array **parts = pithp_scope_allocate(w, (size_t)shape[0] * sizeof *parts);
    for (int64_t r = 0; parts && r < shape[0]; r++) {
        if (used[r] < 0 || used[r] > shape[1]) {
            pithp_fail(w, PITH_E_INDEX, NULL,
                       "rank %" PRId64 ": %" PRId64
                       " rows in use, expected 0 to %" PRId64,
                       r, used[r], shape[1]);
            return NULL;
        }
        const pith_array *own = pith_slice_at(w, x, 0, r);
        parts[r] = pith_slice_array(w, own, 1, &PITH_SLICE(0, used[r], 1));
    }
    return parts ? pith_concatenate(w, shape[0], parts, 0) : NULL;
}

/* The whole of leaf k. The ranks of the stack are row-major over the sharded axes, so the
 * last of these is joined first. */
static const pith_array *assemble(joining *j, int64_t k, const pith_array *x) {
    pith_scope *w = j->t.w;
    const pithp_shard_leaf *leaf = &j->t.leaves[k];
    const pith_spec *shard = j->t.flat.structure.specs[k];
    const int64_t *used = leaf->counter < 0 ? NULL : j->used[leaf->counter];
    pith_shape whole = {.rank = shard->rank};
    int64_t ranks = ranks_of(x);
    memcpy(whole.extents, shard->shape, (size_t)shard->rank * sizeof *shard->shape);
    for (int d = shard->rank; d-- > 0 && x;) {
        const int64_t size = size_along(w, leaf->axes, d), n = whole.extents[d];
        const int64_t before = product(whole.extents, 0, d),
                      after = product(whole.extents, d + 1, shard->rank);
        if (d == 0 && used) {
            x = concatenate_used(j, pith_reshape(w, x, PITH_SHAPE(size, n, after)), used);
            whole.extents[0] = x ? pithp_array_spec(x)->shape[0] : 0;
        } else if (size > 1) {
            ranks /= size;
            x = pith_reshape(w, x, PITH_SHAPE(ranks, size, before, n * after));
            x = pith_transpose(w, x, (const int[]){0, 2, 1, 3});
            whole.extents[d] = size * n;
        }
    }
    return x ? pith_reshape(w, x, whole) : NULL;
}

static void join_leaf(joining *j, int64_t k) {
    const pithp_shard_leaf *leaf = &j->t.leaves[k];
    if (!leaf->axes[0])
        return;
    const pith_array *stack = gather(j, k);
    if (!stack || j->t.w->error.code != PITH_OK || !j->here)
        return;
    const bool scalar = j->t.flat.structure.specs[k]->rank == 0;
    j->t.items[k] = leaf->counts ? add_counts(j, k, stack)
                    : scalar     ? one_value(j, stack)
                                 : assemble(j, k, stack);
    if (!j->t.items[k])
        pithp_item_prefix(j->t.w, &j->t.flat.structure, k);
}

/* ---- The call ---- */

static pith_status begin(joining *j, pith_scope *w, const void *tree, uint64_t *digest) {
    if (pithp_tree_check(w, tree, "pith_unshard", "tree") != PITH_OK ||
        pithp_shard_tree_read(w, &j->t, tree, NULL, true) != PITH_OK ||
        pithp_shard_tree_link(&j->t) != PITH_OK)
        return w->error.code;
    const pith_mesh *mesh = pith_mesh_of(w);
    const pith_mesh_info info = pith_mesh_about(mesh);
    const int64_t count = j->t.flat.structure.item_count;
    for (int64_t k = 0; k < count; k++) {
        const pith_placement *p = pithp_placement_of(j->t.flat.structure.specs[k]);
        if (p && p->mesh != mesh)
            return pithp_item_fail(
                w, &j->t.flat.structure, k, PITH_E_ARG,
                "pith_unshard: the leaf is sharded over another mesh than "
                "that of the scope");
    }
    if (mesh && (j->root < -1 || j->root >= info.size))
        return pithp_fail(w, PITH_E_ARG, NULL,
                          "pith_unshard: root %" PRId64 ", expected -1 to %" PRId64,
                          j->root, info.size - 1);
    j->here = j->root < 0 || j->root == info.rank;
    j->used = pithp_scope_allocate(w, ((size_t)count + 1) * sizeof *j->used);
    if (!j->used)
        return w->error.code;
    memset(j->used, 0, ((size_t)count + 1) * sizeof *j->used);
    *digest = pithp_shard_tree_digest(&j->t) * 31 + (uint64_t)j->root;
    return w->error.code;
}

const void *pith_unshard(pith_scope *s, const void *tree, int64_t root) {
    static const char function[] = "pith_unshard";
    PITHP_IN_FLIGHT(s, function);
    joining j = {.root = root};
    uint64_t digest = 0;
    const void *whole = NULL;
    pithp_enter_untraced(s, function);
    if (!pithp_scope_writable(s) || s->room[PITHP_ROOM_TRACE])
        return pithp_nil_for(tree);
    pith_scope *w = pithp_temporaries_open(s);
    if (w)
        begin(&j, w, tree, &digest);
    const pithp_intent intent = {.operation = function, .extra = digest};
    if (pithp_collective_begin(w ? w : s, &intent)) {
        pithp_collective_end(w);
        /* from here on each rank makes every step; counts come first */
        for (int pass = 0; pass < 2; pass++)
            for (int64_t k = 0; k < j.t.flat.structure.item_count; k++)
                if (j.t.leaves[k].counts == (pass == 0))
                    join_leaf(&j, k);
        if (w->error.code == PITH_OK && j.here)
            whole = pithp_shard_tree_build(s, &j.t, false);
    }
    pithp_shard_tree_end(&j.t);
    if (w)
        pith_scope_close(w);
    return s->error.code == PITH_OK && whole ? whole : pithp_nil_for(tree);
}
