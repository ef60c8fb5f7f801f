/* Stacking and concatenating trees, along a new axis or an existing one. All leaves of
 * the result are made together, and one launch moves all elements. */
#include "program/exec/copy_many.h"
#include "tree/tree_internal.h"

#include <stdio.h>
#include <string.h>

/* A call in progress, with the plan for the leaves of one item. */
typedef struct joining {
    pith_scope *s;
    const char *function;
    pithp_zip zip;
    int axis;    /* concatenation: as given */
    bool stack;  /* along a new first axis */
    bool traced; /* a leaf is traced: items are joined one by one */
    const pith_spec *result;
} joining;

static const pith_array *leaf_of(const joining *j, int64_t tree, int64_t i) {
    return pithp_zip_items(&j->zip, tree)[i];
}

static pith_status
fail_spec(const joining *j, const pith_spec *first, const pith_spec *spec, int64_t tree) {
    char a[PITHP_LEAF_TEXT_BYTES], b[PITHP_LEAF_TEXT_BYTES], but[40] = "";
    if (!j->stack)
        snprintf(but, sizeof but, " but for axis %d", j->axis);
    return pithp_fail(j->s, spec->dtype == first->dtype ? PITH_E_SHAPE : PITH_E_DTYPE,
                      NULL, "expected %s%s, got %s in tree %lld",
                      pithp_leaf_print(first, a), but, pithp_leaf_print(spec, b),
                      (long long)tree);
}

static pith_status plan_stack(joining *j, int64_t i) {
    const pith_spec *first = j->zip.first.structure.specs[i];
    for (int64_t k = 1; k < j->zip.count; k++) {
        const pith_spec *spec = pithp_array_spec(leaf_of(j, k, i));
        if (spec != first)
            return fail_spec(j, first, spec, k);
    }
    if (j->result && j->result->dtype == first->dtype &&
        j->result->rank == first->rank + 1 &&
        memcmp(j->result->shape + 1, first->shape,
               (size_t)first->rank * sizeof *first->shape) == 0)
        return PITH_OK; /* same as the last item */
    int64_t shape[PITH_MAX_RANK + 1] = {j->zip.count};
    memcpy(shape + 1, first->shape, (size_t)first->rank * sizeof *shape);
    j->result = pithp_spec(j->s, first->dtype, first->rank + 1, shape);
    return j->result ? PITH_OK : j->s->error.code;
}

/* Trees need one dtype per item; the array operation would promote. */
static pith_status plan_concat(joining *j, int64_t i) {
    const pith_spec *first = j->zip.first.structure.specs[i];
    const int along = pithp_axis(j->s, j->function, j->axis, first->rank);
    if (along < 0)
        return PITH_E_SHAPE;
    int64_t shape[PITH_MAX_RANK];
    memcpy(shape, first->shape, sizeof shape);
    for (int64_t k = 1; k < j->zip.count; k++) {
        const pith_spec *spec = pithp_array_spec(leaf_of(j, k, i));
        bool fits = spec->rank == first->rank && spec->dtype == first->dtype;
        for (int d = 0; d < first->rank && fits; d++)
            fits = d == along || spec->shape[d] == first->shape[d];
        if (!fits)
            return fail_spec(j, first, spec, k);
        if (__builtin_add_overflow(shape[along], spec->shape[along], &shape[along]))
            return pithp_fail(j->s, PITH_E_OVERFLOW, NULL,
                              "the extent of axis %d overflows", along);
    }
    j->result = pithp_spec(j->s, first->dtype, first->rank, shape);
    return j->result ? PITH_OK : j->s->error.code;
}

/* Plan the specs of the results. */
static pith_status plan(joining *j, const pith_spec **specs) {
    const pithp_structure *t = &j->zip.first.structure;
    pith_status rc = PITH_OK;
    for (int64_t i = 0; i < t->item_count; i++) {
        for (int64_t k = 0; k < j->zip.count && rc == PITH_OK; k++) {
            const pith_array *leaf = leaf_of(j, k, i);
            rc = pithp_operand_check(j->s, leaf, j->function, "leaf");
            j->traced |= rc == PITH_OK && pithp_array_is_traced(leaf);
        }
        if (rc == PITH_OK)
            rc = j->stack ? plan_stack(j, i) : plan_concat(j, i);
        if (rc != PITH_OK) {
            pithp_item_prefix(j->s, t, i);
            return rc;
        }
        specs[i] = j->result;
    }
    return PITH_OK;
}

/* Add the moves of the leaves of one item, row by row. */
static pith_status
add_item(const joining *j, pithp_copies *copies, int64_t i, const pith_array *result) {
    const pith_spec *spec = pithp_array_spec(result);
    int64_t rows = 1;
    if (!j->stack) {
        const int along = j->axis < 0 ? j->axis + spec->rank : j->axis;
        for (int d = 0; d < along; d++)
            rows *= spec->shape[d];
    }
    if (spec->count == 0)
        return PITH_OK;
    const int64_t pitch = (int64_t)spec->bytes / rows;
    char *to = result->data;
    pith_status rc = PITH_OK;
    for (int64_t k = 0; k < j->zip.count && rc == PITH_OK; k++) {
        const pith_array *leaf = leaf_of(j, k, i);
        const int64_t bytes = (int64_t)pithp_array_spec(leaf)->bytes / rows;
        rc = pithp_copies_add(copies, to, leaf->data, rows, bytes, pitch, bytes);
        to += bytes;
    }
    return rc;
}

static pith_status move_all(const joining *j, const pith_array *const *results) {
    const int64_t count = j->zip.first.structure.item_count;
    pithp_copies copies;
    int64_t room;
    if (__builtin_mul_overflow(count, j->zip.count, &room))
        return pithp_fail(j->s, PITH_E_OVERFLOW, NULL, "%s: %lld trees", j->function,
                          (long long)j->zip.count);
    pith_status rc = pithp_copies_begin(j->s, &copies, room);
    if (rc != PITH_OK)
        return rc;
    for (int64_t i = 0; i < count && rc == PITH_OK; i++)
        rc = add_item(j, &copies, i, results[i]);
    if (rc == PITH_OK)
        rc = pithp_copies_run(&copies, j->function);
    pithp_copies_end(&copies);
    return rc;
}

/* Join the leaves of one item by a primitive. */
static const pith_array *
join_item(const joining *j, int64_t i, const pith_array **leaves) {
    const pith_spec *spec = j->zip.first.structure.specs[i];
    int64_t shape[PITH_MAX_RANK] = {1};
    const int rank = spec->rank + j->stack;
    memcpy(shape + j->stack, spec->shape,
           (size_t)(rank - j->stack) *
               sizeof *shape); /* the rank of the result is within the limit */
    const int along = j->stack || j->axis >= 0 ? j->axis : j->axis + rank;
    for (int64_t k = 0; k < j->zip.count; k++) {
        leaves[k] = leaf_of(j, k, i);
        if (!j->stack)
            continue;
        const pith_spec *row = pithp_spec(j->s, spec->dtype, rank, shape);
        leaves[k] = row ? pithp_alias(j->s, leaves[k], row) : NULL;
        if (!leaves[k])
            return NULL;
    }
    return pithp_bind(j->s, PITHP_OP_CONCATENATE, (int)j->zip.count, leaves,
                      &(pithp_concatenate_params){along});
}

static const void *
join_places(const joining *j, const void *like, const pith_array **results) {
    const pithp_structure *t = &j->zip.first.structure;
    const size_t bytes = (size_t)j->zip.count * sizeof(void *);
    const pith_array **leaves = pithp_scratch_allocate(j->s->runtime, bytes);
    if (!leaves) {
        pithp_fail_memory(j->s, bytes);
        return NULL;
    }
    bool joined = true;
    for (int64_t i = 0; i < t->item_count && joined; i++) {
        results[i] = join_item(j, i, leaves);
        joined = results[i] != NULL;
    }
    pithp_scratch_release(j->s->runtime, leaves, bytes);
    return joined ? pithp_build(j->s, t, pithp_owner_of(like), results) : NULL;
}

static const void *join_forest(joining *j, const void *like) {
    const pithp_structure *t = &j->zip.first.structure;
    const size_t bytes = (size_t)t->item_count * 2 * sizeof(void *);
    const pith_array **results = pithp_scratch_allocate(j->s->runtime, bytes);
    if (!results) {
        pithp_fail_memory(j->s, bytes);
        return NULL;
    }
    const pith_spec **specs = (const pith_spec **)(results + t->item_count);
    const void *made = NULL;
    const bool planned = plan(j, specs) == PITH_OK;
    if (planned && j->traced)
        made = join_places(j, like, results);
    else if (planned &&
             pithp_arrays_make(j->s, t->item_count, specs, results) == PITH_OK) {
        if (move_all(j, results) == PITH_OK)
            made = pithp_build(j->s, t, pithp_owner_of(like), results);
        for (int64_t i = 0; !made && i < t->item_count; i++)
            pithp_array_drop(j->s, results[i]);
    }
    pithp_scratch_release(j->s->runtime, results, bytes);
    return made;
}

static const void *join_trees(pith_scope *s,
                              int64_t count,
                              const void *const *trees,
                              bool stack,
                              int axis,
                              const char *function) {
    if (count > INT32_MAX) {
        pithp_fail(s, PITH_E_OVERFLOW, NULL, "%s: %lld trees", function,
                   (long long)count);
        return NULL;
    }
    joining j = {.s = s, .function = function, .axis = axis, .stack = stack};
    if (pithp_zip_make(
            s, &j.zip,
            &(pithp_trees){.function = function, .count = count, .at = trees}) != PITH_OK)
        return NULL;
    const void *made = join_forest(&j, trees[0]);
    pithp_zip_end(&j.zip);
    return made;
}

const void *pith_tree_stack(pith_scope *s, int64_t count, const void *const *trees) {
    const void *made =
        pithp_enter(s) ? join_trees(s, count, trees, true, 0, "pith_tree_stack") : NULL;
    return made ? made : count > 0 && trees ? pithp_nil_for(trees[0]) : NULL;
}

const void *
pith_tree_concat(pith_scope *s, int64_t count, const void *const *trees, int axis) {
    const void *made = pithp_enter(s)
                           ? join_trees(s, count, trees, false, axis, "pith_tree_concat")
                           : NULL;
    return made ? made : count > 0 && trees ? pithp_nil_for(trees[0]) : NULL;
}
