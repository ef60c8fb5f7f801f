/* Sub-programs: functions recorded into programs of their own, in the trace of the outer
 * scope. */
#include "trace/part/part.h"

#include <string.h>

/* ---- Captured arrays ---- */

static pith_status add_captured(pith_scope *s, pithp_captured *c, const pith_array *a) {
    if (c->count == c->room) {
        const int64_t room = c->room ? 2 * c->room : 16;
        const pith_array **more = pithp_scope_allocate(s, (size_t)room * sizeof *more);
        if (!more)
            return s->error.code;
        if (c->count)
            memcpy(more, c->arrays, (size_t)c->count * sizeof *more);
        c->arrays = more;
        c->room = room;
    }
    c->arrays[c->count++] = a;
    return PITH_OK;
}

/* The trees bound in f, in memory of s. NULL: error set. */
static const void **bound_trees(pith_scope *s, const pith_function *f, int64_t *count) {
    *count = pithp_function_bound(f, 0, NULL);
    const void **trees = pithp_scope_allocate(s, ((size_t)*count + 1) * sizeof *trees);
    if (trees)
        pithp_function_bound(f, *count, trees);
    return trees;
}

pith_status
pithp_part_capture(pith_scope *s, pithp_captured *captured, const pith_function *f) {
    int64_t count;
    const void **trees = pithp_scope_trace(s) ? bound_trees(s, f, &count) : NULL;
    if (!trees)
        return s->error.code;
    for (int64_t t = 0; t < count; t++) {
        pithp_flat flat;
        if (pithp_flat_make(s, &flat, trees[t], NULL, NULL) != PITH_OK)
            return s->error.code;
        for (int64_t k = 0; k < flat.structure.item_count; k++)
            if (pithp_trace_has(s, flat.items[k]) &&
                add_captured(s, captured, flat.items[k]) != PITH_OK)
                break;
        pithp_flat_end(&flat);
    }
    return s->error.code;
}

const pith_array *pithp_trace_zeros(pith_scope *s, const pith_spec *spec) {
    pithp_trace *t = pithp_scope_trace(s);
    pithp_full_params params = {.dtype = spec->dtype, .rank = spec->rank};
    memcpy(params.shape, spec->shape, sizeof params.shape);
    const pithp_value v =
        pithp_program_add(s, t->program, PITHP_OP_FULL, 0, NULL, &params, s->site);
    return v < 0 ? NULL : pithp_trace_array(s, t, v);
}

const pith_array **
pithp_trace_arrays(pith_scope *s, int64_t count, const pithp_value *values) {
    const pith_array **arrays =
        pithp_scope_allocate(s, ((size_t)count + 1) * sizeof *arrays);
    for (int64_t k = 0; arrays && k < count; k++)
        if (!(arrays[k] = pithp_trace_array(s, pithp_scope_trace(s), values[k])))
            return NULL;
    return arrays;
}

/* ---- The traced call ---- */

/* A sub-program being recorded. */
typedef struct recording {
    pith_scope *s; /* tracing */
    const pith_scope *outer;
    pithp_trace *trace;
    pithp_part *part;
    const pithp_part_call *call;
    const pith_array **captured;                    /* as inputs of the program */
    const pith_array *index;                        /* if `counts` */
    const pith_array **items[PITHP_PART_ARGUMENTS]; /* leaves of the arguments */
    const void *arguments[PITHP_PART_ARGUMENTS];
} recording;

/* The input that stands for an array of the outer trace. NULL: error set. */
static const pith_array *
make_input(recording *r, const pith_array *outer, const pith_spec *spec) {
    return pithp_trace_take(r->s, r->trace, pithp_scope_trace(r->outer), outer) == PITH_OK
               ? pithp_trace_input(r->s, r->trace, spec)
               : NULL;
}

static pith_status make_captured(recording *r) {
    const pithp_captured *c = r->call->captured;
    r->captured =
        pithp_scope_allocate(r->s, ((size_t)c->count + 1) * sizeof *r->captured);
    for (int64_t k = 0; r->captured && k < c->count; k++)
        if (!(r->captured[k] =
                  make_input(r, c->arrays[k], pithp_array_spec(c->arrays[k]))))
            break;
    return r->s->error.code;
}

/* The leaves of an argument that are inputs or known. */
static pith_status make_inputs(recording *r, int a) {
    const pithp_flat *f = r->call->arguments[a];
    const int64_t count = f->structure.item_count;
    const bool *known = r->call->known[a], *zeros = r->call->zeros[a];
    const pith_spec *const *specs =
        r->call->specs[a] ? r->call->specs[a] : f->structure.specs;
    const pith_array **items =
        pithp_scope_allocate(r->s, ((size_t)count + 1) * sizeof *items);
    for (int64_t k = 0; items && k < count; k++) {
        if (zeros && zeros[k])
            continue;
        items[k] = known && known[k]
                       ? f->items[k]
                       : make_input(r, f->items ? f->items[k] : NULL, specs[k]);
        if (!items[k])
            return r->s->error.code;
    }
    r->items[a] = items;
    if (a == 0 && r->call->counts && items)
        r->index = items[0];
    return r->s->error.code;
}

/* The items with the placements of the specs: results of programs, which compute on
 * shards, have none. NULL: error set. */
static const pith_array *const *placed(pith_scope *s,
                                       int64_t count,
                                       const pith_spec *const *specs,
                                       const pith_array *const *items) {
    const pith_array **made = NULL;
    for (int64_t k = 0; k < count; k++) {
        if (!pithp_placement_of(specs[k]) || pithp_array_spec(items[k]) == specs[k])
            continue;
        const size_t bytes = (size_t)count * sizeof *made;
        if (!made && (made = pithp_scope_allocate(s, bytes)))
            memcpy(made, items, bytes);
        if (!made || !(made[k] = pithp_array_place(s, items[k], specs[k])))
            return NULL;
    }
    return made ? made : items;
}

/* A tree whose leaves have the specs of the body. It is like that of the call, so that
 * records whose leaves do not fit together any more are found. NULL: error set. */
static const void *build_argument(recording *r, int a) {
    const pithp_structure *t = &r->call->arguments[a]->structure;
    const pith_spec *const *specs = r->call->specs[a] ? r->call->specs[a] : t->specs;
    const pith_array *const *items = placed(r->s, t->item_count, specs, r->items[a]);
    return items && pithp_structure_hold(r->s, t) == PITH_OK
               ? pithp_build(r->s, t, NULL, items)
               : NULL;
}

/* Inputs precede all other values: zeros are made after them. */
static pith_status make_argument(recording *r, int a) {
    const pithp_flat *f = r->call->arguments[a];
    const bool *zeros = r->call->zeros[a];
    for (int64_t k = 0; zeros && k < f->structure.item_count; k++)
        if (zeros[k] &&
            !(r->items[a][k] = pithp_trace_zeros(r->s, f->structure.specs[k])))
            return r->s->error.code;
    r->arguments[a] = build_argument(r, a);
    if (!r->arguments[a] && r->call->specs[a] && r->s->error.code == PITH_E_SHAPE)
        r->part->refused = 1 + a;
    return r->s->error.code;
}

/* The body with its captured arrays replaced by inputs. NULL: error set. */
static const pith_function *rebound(recording *r) {
    int64_t count, next = r->call->first_captured;
    const pith_scope *outer = r->outer;
    const void **trees = bound_trees(r->s, r->call->body, &count);
    for (int64_t t = 0; trees && t < count; t++) {
        pithp_flat f;
        if (pithp_flat_make(r->s, &f, trees[t], NULL, NULL) != PITH_OK)
            return NULL;
        for (int64_t k = 0; k < f.structure.item_count; k++)
            if (pithp_scope_trace(outer) && pithp_trace_has(outer, f.items[k]))
                f.items[k] = r->captured[next++];
        trees[t] = pithp_part_build(r->s, &f, f.items);
        pithp_flat_end(&f);
        if (!trees[t])
            return NULL;
    }
    return trees ? pithp_function_rebind(r->s, r->call->body, trees) : NULL;
}

static const void *call_body(recording *r) {
    const bool hooks = pithp_hooks_run(r->s);
    const pith_function *f = NULL;
    pith_scope_set_validation(r->s,
                              false); /* the trees were checked when they were made */
    pith_status rc = make_captured(r);
    for (int a = 0; a < r->call->argument_count && rc == PITH_OK; a++)
        rc = make_inputs(r, a);
    for (int a = 0; a < r->call->argument_count && rc == PITH_OK; a++)
        rc = make_argument(r, a);
    if (rc == PITH_OK)
        f = rebound(r);
    pith_scope_set_validation(r->s, hooks);
    if (!f)
        return NULL;
    const void *result =
        pith_call(pithp_on_behalf(r->s), f, r->call->argument_count, r->arguments);
    return pithp_trace_settle(r->s, r->trace) == PITH_OK ? result : NULL;
}

/* ---- Results ---- */

static pith_status add_outputs(recording *r, const pithp_flat *f, bool sharded) {
    for (int64_t k = 0; k < f->structure.item_count; k++) {
        const pith_array *a = f->items[k];
        const char *name = r->call->body->name;
        if ((sharded ? pithp_leaf_check(r->s, a, name, "result")
                     : pithp_operand_check(r->s, a, name, "result")) != PITH_OK) {
            pithp_item_prefix(r->s, &f->structure, k);
            return r->s->error.code;
        }
        const pithp_value v = pithp_trace_value(r->s, r->trace, a);
        if (v < 0 || !pithp_program_output(r->s, r->trace->program, v))
            return r->s->error.code;
    }
    return PITH_OK;
}

/* The index of the next iteration. */
static pith_status add_next_index(recording *r) {
    pithp_program *p = r->trace->program;
    const pith_spec *spec = pithp_array_spec(r->index);
    uint64_t one = 0;
    pithp_dtype_encode(spec->dtype, 1, &one);
    const pithp_value i = pithp_trace_value(r->s, r->trace, r->index);
    const pithp_value operands[2] = {i, pithp_program_literal(r->s, p, spec, &one)};
    const pithp_value next =
        operands[1] < 0
            ? -1
            : pithp_program_add(r->s, p, PITHP_OP_ADD, 2, operands, NULL, r->s->site);
    if (next >= 0)
        pithp_program_output(r->s, p, next);
    return r->s->error.code;
}

static pith_status take_results(recording *r, pithp_part *part, const void *result) {
    pith_status rc = r->call->counts ? add_next_index(r) : PITH_OK;
    const int count = r->call->split ? 2 : 1;
    part->results[0] = result;
    if (rc == PITH_OK && r->call->split)
        rc = r->call->split(r->s, r->call, result, part->results);
    for (int k = 0; k < count && rc == PITH_OK; k++) {
        rc = pithp_flat_make(r->s, &part->flats[k], part->results[k], NULL, NULL);
        if (rc == PITH_OK) {
            part->result_count++;
            rc = add_outputs(r, &part->flats[k], k < r->call->sharded_results);
        }
    }
    if (rc == PITH_OK && !pithp_checks_take(r->s, r->trace, true, &part->checks))
        return r->s->error.code;
    return rc;
}

pith_status
pithp_part_record(pith_scope *s, pithp_part *part, const pithp_part_call *call) {
    memset(part->results, 0, sizeof part->results);
    part->result_count = 0;
    part->program = NULL;
    part->checks = NULL;
    part->derived_bytes = 0;
    part->refused = 0;
    part->scope = pith_scope_open_in(s);
    if (!pithp_scope_writable(part->scope))
        return pithp_fail_memory(s, PITHP_BLOCK_BYTES);
    recording r = {.s = part->scope, .outer = s, .part = part, .call = call};
    r.s->site = s->site;
    if (pithp_trace_check_depth(r.s, call->function) != PITH_OK ||
        !(r.trace = pithp_trace_begin(r.s)))
        return r.s->error.code;
    r.trace->derived |= call->derived;
    if (call->derived_bytes)
        r.trace->derived_bytes = call->derived_bytes;
    if (call->decides && pithp_scope_trace(s) && pithp_trace_has(s, call->decides))
        r.trace->decides = (int32_t)call->decides->value;
    r.trace->varies = call->varies;
    const void *result = call_body(&r);
    pith_status rc = result ? take_results(&r, part, result) : r.s->error.code;
    part->derived_bytes = r.trace->derived_bytes;
    part->program = pithp_trace_end(r.s, r.trace);
    return rc;
}

void pithp_part_end(pithp_part *part) {
    for (int k = 0; k < part->result_count; k++)
        pithp_flat_end(&part->flats[k]);
    pithp_program_release(part->program);
    pithp_checks_release(part->checks);
    pith_scope_close(part->scope); /* its error moves to the outer scope */
}

const void *
pithp_part_build(pith_scope *s, const pithp_flat *like, const pith_array *const *items) {
    if (pithp_structure_hold(s, &like->structure) != PITH_OK ||
        !(items = placed(s, like->structure.item_count, like->structure.specs, items)))
        return NULL;
    return pithp_build(s, &like->structure, NULL, items);
}

const void *pithp_part_build_placed(pith_scope *s,
                                    const pithp_structure *like,
                                    const pith_array *const *items) {
    const bool before = s->no_validation;
    if (pithp_structure_hold(s, like) != PITH_OK)
        return NULL;
    s->no_validation = true;
    const void *tree = pithp_build(s, like, NULL, items);
    s->no_validation = before;
    return tree;
}

const void *pithp_part_build_quiet(pith_scope *s,
                                   const pithp_structure *like,
                                   const pith_array *const *items) {
    items = placed(s, like->item_count, like->specs, items);
    return items ? pithp_part_build_placed(s, like, items) : NULL;
}
