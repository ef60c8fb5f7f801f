/* Slices and splits of trees: the same part of every leaf. All leaves of a slice are made
 * together, and one launch moves all elements. */
#include "program/exec/copy_many.h"
#include "tree/tree_internal.h"

#include <string.h>

/* ---- Slices ---- */

/* Chooses the slices of a leaf; *count: number of sliced axes from the first on. */
typedef pith_status (*leaf_slices)(pith_scope *s,
                                   const pith_array *leaf,
                                   const void *closure,
                                   int *count,
                                   pith_slice slices[PITH_MAX_RANK]);

/* State of a slice. Leaves that keep all elements stay the same arrays. */
typedef struct cutting {
    pith_scope *s;
    pithp_flat flat;
    int64_t count;           /* leaves to cut */
    int64_t *leaf;           /* their indices; each list has room for all leaves */
    pithp_move *moves;       /* of their elements */
    const pith_spec **specs; /* of the results */
    const pith_array **made;
} cutting;

static bool is_whole(const pith_array *leaf, const pith_spec *spec, const pithp_move *m) {
    return spec == pithp_array_spec(leaf) &&
           memcmp(m->from_stride, m->to_stride, (size_t)m->rank * sizeof *m->to_stride) ==
               0;
}

/* A traced leaf has no memory to move from, so it is sliced on its own at once. */
static pith_status
cut_traced(cutting *c, int64_t i, int count, const pith_slice *slices) {
    const pith_array **leaf = &c->flat.items[i];
    *leaf = pith_slice_array(pithp_on_behalf(c->s), *leaf, count, slices);
    return c->s->error.code;
}

static pith_status plan_cuts(cutting *c, leaf_slices choose, const void *closure) {
    const pithp_structure *t = &c->flat.structure;
    for (int64_t i = 0; i < t->item_count; i++) {
        const pith_array *leaf = c->flat.items[i];
        pith_slice slices[PITH_MAX_RANK];
        int count = 0;
        pithp_move *move = &c->moves[c->count];
        const pith_spec **spec = &c->specs[c->count];
        pith_status rc = choose(c->s, leaf, closure, &count, slices);
        const bool traced = pithp_array_is_traced(leaf);
        if (rc == PITH_OK && traced)
            rc = cut_traced(c, i, count, slices);
        else if (rc == PITH_OK)
            rc = pithp_slice_plan(c->s, leaf, count, slices, spec, move);
        if (rc != PITH_OK) {
            pithp_item_prefix(c->s, t, i);
            return rc;
        }
        if (!traced && !is_whole(leaf, *spec, move))
            c->leaf[c->count++] = i;
    }
    return PITH_OK;
}

static pith_status move_cuts(const cutting *c) {
    pithp_copies copies;
    pith_status rc = pithp_copies_begin(c->s, &copies, c->count);
    if (rc != PITH_OK)
        return rc;
    for (int64_t k = 0; k < c->count && rc == PITH_OK; k++) {
        c->moves[k].to = c->made[k]->data;
        rc = pithp_copies_add_move(&copies, "slice", &c->moves[k]);
    }
    if (rc == PITH_OK)
        rc = pithp_copies_run(&copies, "slice");
    pithp_copies_end(&copies);
    return rc;
}

static const void *make_cuts(cutting *c, const void *tree) {
    if (pithp_arrays_make(c->s, c->count, c->specs, c->made) != PITH_OK)
        return NULL;
    const void *built = NULL;
    if (move_cuts(c) == PITH_OK) {
        for (int64_t k = 0; k < c->count; k++)
            c->flat.items[c->leaf[k]] = c->made[k];
        built =
            pithp_build(c->s, &c->flat.structure, pithp_owner_of(tree), c->flat.items);
    }
    for (int64_t k = 0; !built && k < c->count; k++)
        pithp_array_drop(c->s, c->made[k]);
    return built;
}

/* The tree with every leaf cut to the slices of `choose`. */
static const void *
cut_leaves(pith_scope *s, const void *tree, leaf_slices choose, const void *closure) {
    cutting c = {.s = s};
    if (pithp_flat_make(s, &c.flat, tree, NULL, NULL) != PITH_OK)
        return NULL;
    const size_t room = (size_t)c.flat.structure.item_count,
                 bytes = room * (sizeof *c.moves + sizeof *c.leaf + 2 * sizeof(void *));
    const void *built = NULL;
    c.moves = pithp_scratch_allocate(s->runtime, bytes);
    if (c.moves || room == 0) {
        c.leaf = (int64_t *)(void *)(c.moves + room);
        c.specs = (const pith_spec **)(void *)(c.leaf + room);
        c.made = (const pith_array **)(void *)(c.specs + room);
        if (plan_cuts(&c, choose, closure) == PITH_OK)
            built = make_cuts(&c, tree);
    } else {
        pithp_fail_memory(s, bytes);
    }
    pithp_scratch_release(s->runtime, c.moves, bytes);
    pithp_flat_end(&c.flat);
    return built;
}

typedef struct slicing {
    int count;
    const pith_slice *slices;
} slicing;

static pith_status same_slices(pith_scope *s,
                               const pith_array *leaf,
                               const void *closure,
                               int *count,
                               pith_slice slices[PITH_MAX_RANK]) {
    const slicing *c = closure;
    (void)s, (void)leaf;
    *count = c->count;
    if (c->count && c->count <= PITH_MAX_RANK)
        memcpy(slices, c->slices, (size_t)c->count * sizeof *slices);
    return PITH_OK;
}

const void *pith_tree_slice(pith_scope *s,
                            const void *tree,
                            int64_t count,
                            const pith_slice *slices) {
    /* A longer list is PITH_E_SHAPE for every leaf, as one of PITH_MAX_RANK + 1 is. */
    const slicing c = {count <= PITH_MAX_RANK ? (int)count : PITH_MAX_RANK + 1, slices};
    const void *made = NULL;
    if (!pithp_enter(s) ||
        pithp_tree_check(s, tree, "pith_tree_slice", "tree") != PITH_OK)
        return pithp_nil_for(tree);
    if (count < 0 || (count && !slices))
        pithp_fail(s, PITH_E_ARG, NULL, "pith_tree_slice: %s",
                   count < 0 ? "the count is negative" : "slices is NULL");
    else
        made = cut_leaves(s, tree, same_slices, &c);
    return made ? made : pithp_nil_for(tree);
}

/* ---- Splits ---- */

typedef struct splitting {
    int64_t parts, part;
    const int64_t *places; /* parts - 1 indices; NULL: equal parts */
    int axis;
    const char *function;
} splitting;

static pith_status part_of_leaf(pith_scope *s,
                                const pith_array *leaf,
                                const void *closure,
                                int *count,
                                pith_slice slices[PITH_MAX_RANK]) {
    const splitting *c = closure;
    const pith_status rc = pithp_operand_check(s, leaf, c->function, "leaf");
    if (rc != PITH_OK)
        return rc;
    const pith_spec *spec = pithp_array_spec(leaf);
    const int axis = pithp_axis(s, c->function, c->axis, spec->rank);
    if (axis < 0)
        return s->error.code;
    for (int d = 0; d < axis; d++)
        slices[d] = PITH_WHOLE;
    pith_slice *along = &slices[axis];
    *along = PITH_WHOLE;
    *count = axis + 1;
    if (c->places) {
        if (c->part > 0)
            along->start = c->places[c->part - 1];
        if (c->part < c->parts - 1)
            along->limit = c->places[c->part];
    } else if (spec->shape[axis] % c->parts) {
        return pithp_fail(s, PITH_E_SHAPE, NULL,
                          "%s: an extent of %lld along axis %d does not split into "
                          "%lld equal parts",
                          c->function, (long long)spec->shape[axis], c->axis,
                          (long long)c->parts);
    } else {
        along->start = spec->shape[axis] / c->parts * c->part;
        along->limit = spec->shape[axis] / c->parts * (c->part + 1);
    }
    return PITH_OK;
}

static const void *const *split(pith_scope *s, const void *tree, splitting *c) {
    size_t bytes;
    if (pithp_tree_check(s, tree, c->function, "tree") != PITH_OK)
        return NULL;
    if (pithp_mul_overflows((size_t)c->parts, sizeof(void *), &bytes)) {
        pithp_fail_memory(s, SIZE_MAX);
        return NULL;
    }
    const void **made = pithp_scope_allocate(s, bytes);
    for (c->part = 0; made && c->part < c->parts; c->part++) {
        made[c->part] = cut_leaves(s, tree, part_of_leaf, c);
        if (!made[c->part])
            return NULL;
    }
    return made;
}

const void *const *
pith_tree_split(pith_scope *s, const void *tree, int64_t count, int axis) {
    splitting c = {.parts = count, .axis = axis, .function = "pith_tree_split"};
    if (!pithp_enter(s))
        return NULL;
    if (count >= 1)
        return split(s, tree, &c);
    pithp_fail(s, PITH_E_ARG, NULL, "pith_tree_split: invalid count %lld",
               (long long)count);
    return NULL;
}

const void *const *pith_tree_split_at(pith_scope *s,
                                      const void *tree,
                                      int64_t count,
                                      const int64_t *places,
                                      int axis) {
    static const int64_t none[1];
    splitting c = {.parts = count + 1,
                   .places = count ? places : none,
                   .axis = axis,
                   .function = "pith_tree_split_at"};
    if (!pithp_enter(s))
        return NULL;
    if (count >= 0 && count < INT64_MAX && c.places)
        return split(s, tree, &c);
    pithp_fail(s, PITH_E_ARG, NULL, "pith_tree_split_at: %s",
               count >= 0 && !places ? "places is NULL" : "invalid count");
    return NULL;
}
