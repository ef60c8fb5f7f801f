/* The same part of every leaf of one tree: slices, splits, takes. */
#include "tree/tree_internal.h"

typedef const pith_array *(*leaf_operation)(pith_scope *s,
                                            const pith_array *leaf,
                                            const void *closure);

/* The tree with every leaf replaced by what the operation makes of it. */
static const void *each_leaf(pith_scope *s,
                             const void *tree,
                             leaf_operation operation,
                             const void *closure) {
    pithp_flat f;
    if (pithp_flat_make(s, &f, tree, NULL, NULL) != PITH_OK)
        return NULL;
    const pithp_structure *t = &f.structure;
    const void *made = NULL;
    int64_t i = 0;
    for (; i < t->item_count; i++) {
        f.items[i] = operation(pithp_on_behalf(s), f.items[i], closure);
        if (!f.items[i]) {
            pithp_item_prefix(s, t, i);
            break;
        }
    }
    if (i == t->item_count)
        made = pithp_build(s, t, pithp_owner_of(tree), f.items);
    pithp_flat_end(&f);
    return made;
}

/* ---- Slices and takes ---- */

typedef struct slicing {
    int count;
    const pith_slice *slices;
} slicing;

static const pith_array *
slice_leaf(pith_scope *s, const pith_array *leaf, const void *closure) {
    const slicing *c = closure;
    return pith_slice_array(s, leaf, c->count, c->slices);
}

const void *
pith_tree_slice(pith_scope *s, const void *tree, int count, const pith_slice *slices) {
    const slicing c = {count, slices};
    const void *made = NULL;
    if (!pithp_enter(s) ||
        pithp_tree_check(s, tree, "pith_tree_slice", "tree") != PITH_OK)
        return pithp_nil_for(tree);
    if (count < 0 || (count && !slices))
        pithp_fail(s, PITH_E_ARG, NULL, "pith_tree_slice: %s",
                   count < 0 ? "the count is negative" : "slices is NULL");
    else
        made = each_leaf(s, tree, slice_leaf, &c);
    return made ? made : pithp_nil_for(tree);
}

typedef struct taking {
    const pith_array *index;
    const pith_take_options *options;
} taking;

static const pith_array *
take_leaf(pith_scope *s, const pith_array *leaf, const void *closure) {
    const taking *c = closure;
    return pith_take(s, leaf, c->index, c->options);
}

const void *pith_tree_take(pith_scope *s,
                           const void *tree,
                           const pith_array *index,
                           const pith_take_options *options) {
    const taking c = {index, options};
    const void *made = NULL;
    if (pithp_enter(s) &&
        pithp_tree_check(s, tree, "pith_tree_take", "tree") == PITH_OK &&
        pithp_array_check(s, index, "pith_tree_take", "index") == PITH_OK)
        made = each_leaf(s, tree, take_leaf, &c);
    return made ? made : pithp_nil_for(tree);
}

/* ---- Splits ---- */

typedef struct splitting {
    int64_t parts, part;
    const int64_t *places; /* parts - 1 of them; NULL: equal parts */
    int axis;
    const char *function;
} splitting;

static const pith_array *
part_of_leaf(pith_scope *s, const pith_array *leaf, const void *closure) {
    const splitting *c = closure;
    pith_slice slices[PITH_MAX_RANK];
    if (!pithp_enter(s) || pithp_array_check(s, leaf, c->function, "leaf") != PITH_OK)
        return NULL;
    const pith_spec *spec = pithp_array_spec(leaf);
    const int axis = pithp_axis(s, c->function, c->axis, spec->rank);
    if (axis < 0)
        return NULL;
    for (int d = 0; d < axis; d++)
        slices[d] = PITH_WHOLE;
    pith_slice *along = &slices[axis];
    *along = PITH_WHOLE;
    if (c->places) {
        if (c->part > 0)
            along->start = c->places[c->part - 1];
        if (c->part < c->parts - 1)
            along->limit = c->places[c->part];
    } else if (spec->shape[axis] % c->parts) {
        pithp_fail(s, PITH_E_SHAPE, NULL,
                   "%s: %lld along axis %d are no %lld equal parts", c->function,
                   (long long)spec->shape[axis], c->axis, (long long)c->parts);
        return NULL;
    } else {
        along->start = spec->shape[axis] / c->parts * c->part;
        along->limit = spec->shape[axis] / c->parts * (c->part + 1);
    }
    return pith_slice_array(pithp_on_behalf(s), leaf, axis + 1, slices);
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
        made[c->part] = each_leaf(s, tree, part_of_leaf, c);
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
    pithp_fail(s, PITH_E_ARG, NULL, "pith_tree_split: a count of %lld", (long long)count);
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
               count >= 0 && !places ? "places is NULL"
                                     : "the count is no number of places");
    return NULL;
}
