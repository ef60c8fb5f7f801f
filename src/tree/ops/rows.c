/* Gather and scatter of rows of every leaf at one index array, with the options of the
 * records. Small leaves are made together and processed in one launch. Large leaves, and
 * those with casts, broadcasts or index reports, are processed one by one. */
#include "program/exec/gather_many.h"
#include "tree/tree_internal.h"

#include <string.h>

/* A call in progress. */
typedef struct rowing {
    pith_scope *s;
    const char *function;
    const pithp_structure *t;
    const void *root; /* of the leaves; its records may have scatter options */
    const pith_array *index;
    const pith_scatter_options *call;
    const double *fill;         /* gather */
    bool asks;                  /* records of the tree have PITH_SCATTER_ARGS */
    bool no_negative;           /* gather: negative indices do not count from the end */
    const pith_array **leaves;  /* replaced by the results */
    const pith_array **updates; /* scatter: per leaf, if `update` is NULL */
    const pith_array *update;   /* scatter: for all leaves */
    bool takes;
    /* Leaves processed together; each list has room for all. */
    pithp_gather_many rows;
    int64_t *which;
    const pith_spec **specs;
    const pith_array **made;
    /* Cached results for the last leaf: consecutive leaves often share a spec. */
    const pith_spec *spec, *taken; /* its spec, and the spec of its rows */
    int axis;
    pithp_index_params params; /* of the dtype and mode of the last leaf */
    pith_dtype params_dtype;
    pith_index_mode params_mode;
} rowing;

/* ---- Options ---- */

/* Options of the call or an outer record, completed by those of a record. */
static pith_scatter_options merged(const pith_scatter_options *given,
                                   const pith_scatter_options *record) {
    pith_scatter_options o = *given;
    if (o.mode == PITH_INDEX_DEFAULT)
        o.mode = record->mode;
    o.unique |= record->unique;
    o.sorted |= record->sorted;
    o.unordered |= record->unordered;
    return o;
}

static bool asks(const pithp_structure *t) {
    bool found = false;
    for (int64_t i = 0; i < t->token_count && !found; i++)
        if (pithp_token_kind(t->tokens[i]) == PITHP_TOKEN_NODE) {
            const pith_type *type = pithp_token_shape(t->tokens[i])->type;
            found = type && type->scatter_args;
        }
    return found;
}

/* The options of the leaf at the walk's position: the call's first, then those of the
 * records from the outermost to the innermost. */
static pith_scatter_options options_at(const pithp_walk *w,
                                       const pith_scatter_options *call) {
    pith_scatter_options o = *call;
    for (int64_t i = 0; i < w->depth; i++) {
        const pith_type *type = w->frames[i].node_def->type;
        if (!type || !type->scatter_args)
            continue;
        /* All pointers to structs have one representation. */
        const pith_scatter_options record =
            ((pith_scatter_options(*)(const void *))type->scatter_args)(
                w->frames[i].node);
        o = merged(&o, &record);
    }
    return o;
}

/* ---- Leaves ---- */

static const pith_array *update_of(const rowing *r, int64_t i) {
    return r->update ? r->update : r->updates[i];
}

/* Process one leaf on its own. */
static pith_status do_alone(rowing *r, int64_t i, const pith_scatter_options *o) {
    const pith_take_options take = {.axis = o->axis, .mode = o->mode, .fill = r->fill};
    const bool reports = o->mode == PITH_INDEX_ERROR;
    if (reports && !(r->s->leaf = pithp_leaf_name(r->s, r->function, r->t, i)))
        return r->s->error.code;
    const pith_array *made =
        r->takes ? pithp_take(r->s, r->leaves[i], r->index, &take, r->no_negative)
                 : pith_scatter_set(pithp_on_behalf(r->s), r->leaves[i], r->index,
                                    update_of(r, i), o);
    r->s->leaf = NULL;
    if (!made)
        pithp_item_prefix(r->s, r->t, i);
    r->leaves[i] = made;
    return r->s->error.code;
}

/* Plan the spec of the rows of a leaf, and the axis. Returns false if the leaf is
 * processed on its own. */
static bool plan_spec(rowing *r, const pith_spec *spec, int axis) {
    const pith_spec *index = pithp_array_spec(r->index);
    const int rank = spec->rank - 1 + index->rank;
    int64_t shape[2 * PITH_MAX_RANK];
    if (axis < 0)
        axis += spec->rank;
    if (axis < 0 || axis >= spec->rank || rank > PITH_MAX_RANK)
        return false;
    memcpy(shape, spec->shape, (size_t)axis * sizeof *shape);
    memcpy(shape + axis, index->shape, (size_t)index->rank * sizeof *shape);
    memcpy(shape + axis + index->rank, spec->shape + axis + 1,
           (size_t)(spec->rank - axis - 1) * sizeof *shape);
    r->taken = pithp_spec(r->s, spec->dtype, rank, shape);
    r->spec = spec;
    r->axis = axis;
    return r->taken;
}

static bool plan_params(rowing *r, pith_dtype dtype, const pith_scatter_options *o) {
    const pith_take_options take = {.mode = o->mode, .fill = r->fill};
    const bool known =
        r->takes ? pithp_take_params(r->s, r->function, dtype, &take, &r->params)
                 : pithp_scatter_params(r->s, r->function, o, &r->params);
    r->params_dtype = known ? dtype : PITH_DTYPE_NONE;
    r->params_mode = o->mode;
    return known;
}

/* Add a leaf to the joint launch. Returns false if it does not qualify or an error is
 * set. */
static bool join(rowing *r, int64_t i, const pith_scatter_options *o) {
    const pith_array *leaf = r->leaves[i], *update = r->takes ? NULL : update_of(r, i);
    const pith_spec *spec = pithp_array_spec(leaf);
    const bool traced = pithp_array_is_traced(leaf) || pithp_array_is_traced(r->index) ||
                        (update && pithp_array_is_traced(update));
    if (traced || (PITHP_UNLIKELY(spec != r->spec) && !plan_spec(r, spec, o->axis)))
        return false;
    const pith_spec *result = r->takes ? r->taken : spec;
    if (!pithp_array_shares(spec) || !pithp_array_shares(result) ||
        spec->shape[r->axis] == 0 || o->mode == PITH_INDEX_ERROR ||
        pithp_array_check(r->s, leaf, r->function, "leaf") != PITH_OK ||
        (update && (pithp_array_spec(update) != r->taken ||
                    pithp_array_check(r->s, update, r->function, "rows") != PITH_OK)))
        return false;
    if ((r->params_dtype != spec->dtype || r->params_mode != o->mode) &&
        !plan_params(r, spec->dtype, o))
        return false;
    pithp_gather_leaf *p = pithp_gather_many_add(&r->rows, result->count);
    p->from = leaf->data;
    p->updates = update ? update->data : NULL;
    p->fill = r->params.fill;
    p->extent = spec->shape[r->axis];
    p->inner = 1;
    for (int d = r->axis + 1; d < spec->rank; d++)
        p->inner *= spec->shape[d];
    p->size = (int32_t)pith_dtype_size(spec->dtype);
    p->mode = (int32_t)r->params.mode;
    const int64_t k = r->rows.count - 1;
    r->which[k] = i;
    r->specs[k] = result;
    return true;
}

static pith_status do_leaf(rowing *r, int64_t i, const pith_scatter_options *o) {
    const pith_spec *index = pithp_array_spec(r->index);
    if (index->count <= PITHP_GATHER_MANY_POSITIONS &&
        pith_dtype_is_integer(index->dtype) && join(r, i, o))
        return PITH_OK;
    if (r->s->error.code == PITH_OK)
        return do_alone(r, i, o);
    pithp_item_prefix(r->s, r->t, i);
    return r->s->error.code;
}

static pith_status do_leaves(rowing *r) {
    pith_status rc = PITH_OK;
    if (!r->asks) {
        for (int64_t i = 0; i < r->t->item_count && rc == PITH_OK; i++)
            rc = do_leaf(r, i, r->call);
        return rc;
    }
    pithp_walk w;
    pithp_visit visit;
    int64_t i = 0;
    pithp_walk_begin(&w, r->s->runtime, r->root);
    while (rc == PITH_OK && pithp_walk_next(&w, &visit))
        if (visit == PITHP_VISIT_LEAF) {
            const pith_scatter_options o = options_at(&w, r->call);
            rc = do_leaf(r, i++, &o);
        }
    if (w.failed)
        rc = pithp_fail_memory(r->s, (size_t)w.room * sizeof *w.frames);
    pithp_walk_end(&w);
    return rc;
}

/* Make and process the leaves of the joint launch. */
static pith_status do_joined(rowing *r) {
    const pith_spec *index = pithp_array_spec(r->index);
    pith_status rc = pithp_arrays_make(r->s, r->rows.count, r->specs, r->made);
    if (rc != PITH_OK)
        return rc;
    const int64_t count = r->rows.count; /* pithp_gather_many_run may split entries */
    for (int64_t k = 0; k < count; k++)
        r->rows.list[k].to = r->made[k]->data;
    rc = pithp_gather_many_run(&r->rows, r->function, r->index->data, index->dtype,
                               index->count, r->no_negative);
    for (int64_t k = 0; k < count; k++)
        if (rc == PITH_OK)
            r->leaves[r->which[k]] = r->made[k];
        else
            pithp_array_drop(r->s, r->made[k]);
    return rc;
}

/* Compute all results; they overwrite the leaves. */
static pith_status do_rows(rowing *r) {
    const size_t room = (size_t)r->t->item_count,
                 bytes = room * (sizeof *r->which + sizeof *r->specs + sizeof *r->made);
    if (room == 0)
        return PITH_OK;
    r->asks = asks(r->t);
    r->which = pithp_scratch_allocate(r->s->runtime, bytes);
    if (!r->which)
        return pithp_fail_memory(r->s, bytes);
    r->specs = (const pith_spec **)(void *)(r->which + room);
    r->made = (const pith_array **)(void *)(r->specs + room);
    pith_status rc = pithp_gather_many_begin(r->s, &r->rows, r->t->item_count);
    if (rc == PITH_OK) {
        rc = do_leaves(r);
        if (rc == PITH_OK && r->rows.count)
            rc = do_joined(r);
        pithp_gather_many_end(&r->rows);
    }
    pithp_scratch_release(r->s->runtime, r->which, bytes);
    return rc;
}

/* ---- Gather ---- */

static const void *take_rows(rowing *r, const void *tree) {
    pithp_flat f;
    if (pithp_operand_check(r->s, r->index, r->function, "index") != PITH_OK ||
        pithp_flat_make(r->s, &f, tree, NULL, NULL) != PITH_OK)
        return NULL;
    r->t = &f.structure;
    r->root = tree;
    r->leaves = f.items;
    r->takes = true;
    const void *made = do_rows(r) == PITH_OK ? pithp_build(r->s, &f.structure,
                                                           pithp_owner_of(tree), f.items)
                                             : NULL;
    pithp_flat_end(&f);
    return made;
}

const void *pith_tree_take(pith_scope *s,
                           const void *tree,
                           const pith_array *index,
                           const pith_take_options *options) {
    const pith_scatter_options call = {.axis = options ? options->axis : 0,
                                       .mode = options ? options->mode : 0};
    rowing r = {.s = s,
                .function = "pith_tree_take",
                .index = index,
                .call = &call,
                .fill = options ? options->fill : NULL,
                .no_negative = call.mode == PITH_INDEX_CLIP};
    const void *made =
        pithp_enter(s) && pithp_tree_check(s, tree, r.function, "tree") == PITH_OK
            ? take_rows(&r, tree)
            : NULL;
    return made ? made : pithp_nil_for(tree);
}

const void *pithp_tree_take_back(pith_scope *s,
                                 const char *function,
                                 const void *tree,
                                 const pith_array *index,
                                 const pith_scatter_options *options,
                                 const double *fill) {
    rowing r = {
        .s = s, .function = function, .index = index, .call = options, .fill = fill};
    return take_rows(&r, tree);
}

/* ---- Scatter ---- */

static const void *set_rows(rowing *r, const pithp_zip *zip, const void *into) {
    r->t = &zip->first.structure;
    r->root = zip->root;
    r->leaves = zip->first.items;
    if (zip->count > 1)
        r->updates = pithp_zip_items(zip, 1);
    return do_rows(r) == PITH_OK
               ? pithp_build(r->s, r->t, pithp_owner_of(into), r->leaves)
               : NULL;
}

const void *pithp_tree_scatter_set(pith_scope *s,
                                   const char *function,
                                   const void *into,
                                   const pith_array *index,
                                   const void *rows,
                                   bool one,
                                   const pith_scatter_options *options) {
    if (pithp_tree_check(s, into, function, "into") != PITH_OK ||
        pithp_tree_check(s, rows, function, "rows") != PITH_OK ||
        pithp_operand_check(s, index, function, "index") != PITH_OK)
        return NULL;
    rowing r = {.s = s, .function = function, .index = index, .call = options};
    const void *trees[] = {into, rows};
    const pithp_trees of = {.function = function, .count = 2, .at = trees};
    const pithp_trees alone = {.function = function, .count = 1, .at = trees};
    one = one && pithp_kind_is_array(rows) && !pithp_kind_is_array(into);
    if (one)
        r.update = rows;
    pithp_zip zip;
    if (pithp_zip_make(s, &zip, one ? &alone : &of) != PITH_OK)
        return NULL;
    const void *made = into;
    if (pithp_array_spec(index)->count)
        made = set_rows(&r, &zip, into);
    else if (pithp_keep_slots(s, 1, &made) != PITH_OK)
        made = NULL;
    pithp_zip_end(&zip);
    return made;
}

const void *pith_tree_scatter_set(pith_scope *s,
                                  const void *into,
                                  const pith_array *index,
                                  const void *rows,
                                  const pith_scatter_options *options) {
    static const pith_scatter_options defaults;
    const void *made =
        pithp_enter(s)
            ? pithp_tree_scatter_set(s, "pith_tree_scatter_set", into, index, rows, false,
                                     options ? options : &defaults)
            : NULL;
    return made ? made : pithp_nil_for(into);
}
