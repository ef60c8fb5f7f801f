/* Nested calls of compiled functions in a trace. The recorded call is cached as a part.
 * If a trace calls the function again with leaves of the same specs, the part is inlined,
 * and the function does not run.
 *
 * Every call records in the outer trace. A part is a copy extracted from it afterwards,
 * so that a program is the same with or without parts. */
#include "trace/jit/jit_internal.h"

#include <string.h>
#include <time.h>

enum { MOST_CONSTANT_BYTES = 4096 };

/* A call in a trace. */
typedef struct inside {
    pithp_jit_call call;
    pith_scope *s;
    pithp_trace *t;
    int64_t count;            /* number of traced leaves, in order: */
    const pith_array **items; /* capacity: all leaves of the call */
    pithp_value *values;
} inside;

/* ---- Leaves ---- */

/* Whether an array has elements. */
static bool has_values(const pith_scope *s, const pith_array *a) {
    pithp_block *block = NULL;
    return pithp_pointer_check(a, &block) == PITHP_POINTER_OK &&
           pithp_header_of(a)->kind == PITHP_KIND_ARRAY && !pithp_header_of(a)->extra &&
           block->runtime == s->runtime;
}

void pithp_jit_mark_constants(pithp_jit_call *c) {
    size_t bytes = 0;
    for (int64_t k = 0, tree; k < c->item_count; k++) {
        const pith_array *a = pithp_jit_item(c, k, &tree);
        const bool constant = has_values(c->s, a);
        if (!constant && !pithp_trace_has(c->s, a))
            c->unknown = "a leaf belongs to another trace, or has been donated";
        else if (constant && pithp_array_is_sharded(a))
            c->unknown = "a sharded leaf is a constant, and is not compared";
        else if (constant && !c->is_static[k])
            bytes += pithp_array_spec(a)->bytes;
    }
    if (bytes > MOST_CONSTANT_BYTES)
        c->unknown = "its constants exceed 4096 bytes, and are not compared";
    for (int64_t k = 0, tree; k < c->item_count && !c->unknown; k++)
        if (!c->is_static[k] && !pithp_trace_has(c->s, pithp_jit_item(c, k, &tree))) {
            c->is_static[k] = true;
            c->static_count++;
        }
}

/* Find leaves that are the same traced array: a part is specific to such repetitions. */
static pith_status find_repeats(inside *x) {
    pithp_jit_call *c = &x->call;
    int64_t room = 2, n = 0;
    while (room < 2 * c->item_count)
        room *= 2;
    const size_t bytes = (size_t)room * sizeof(int64_t),
                 list_bytes = (size_t)c->item_count * sizeof *c->repeats;
    int64_t *table = pithp_allocate(x->s->runtime, bytes); /* items by value; -1: none */
    int64_t *repeats = table ? pithp_allocate(x->s->runtime, list_bytes) : NULL;
    if (!repeats) {
        pithp_release(x->s->runtime, table, bytes);
        return pithp_fail_memory(x->s, bytes);
    }
    memset(table, 0xff, bytes);
    bool any = false;
    for (int64_t k = 0, tree; k < c->item_count; k++) {
        repeats[k] = k;
        if (c->is_static[k])
            continue;
        const pithp_value v = x->values[n++];
        int64_t at = v & (room - 1);
        while (table[at] >= 0 && pithp_jit_item(c, table[at], &tree)->value != v)
            at = (at + 1) & (room - 1);
        if (table[at] < 0)
            table[at] = k;
        repeats[k] = table[at];
        any |= repeats[k] != k;
    }
    pithp_release(x->s->runtime, table, bytes);
    if (any)
        c->repeats = repeats;
    else
        pithp_release(x->s->runtime, repeats, list_bytes);
    return PITH_OK;
}

static pith_status list_traced(inside *x) {
    const pithp_jit_call *c = &x->call;
    const size_t count = (size_t)c->item_count;
    x->items = pithp_allocate(x->s->runtime, count * sizeof *x->items + 1);
    x->values = pithp_allocate(x->s->runtime, count * sizeof *x->values + 1);
    if (!x->items || !x->values)
        return pithp_fail_memory(x->s, count * sizeof *x->items);
    for (int64_t k = 0, tree; k < c->item_count; k++) {
        const pith_array *a = pithp_jit_item(c, k, &tree);
        if (pithp_trace_has(x->s, a)) {
            x->values[x->count] = (pithp_value)a->value;
            x->items[x->count++] = a;
        }
    }
    return PITH_OK;
}

static void release_lists(inside *x) {
    const size_t count = (size_t)x->call.item_count;
    pithp_release(x->call.rt, x->items, count * sizeof *x->items + 1);
    pithp_release(x->call.rt, x->values, count * sizeof *x->values + 1);
}

/* ---- Inlining a part ---- */

/* Add the checks of a call to those of the trace. */
static pith_status
replay_checks(inside *x, pithp_checks *checks, const pithp_value *values) {
    const int64_t count = pithp_checks_values(checks);
    const size_t bytes = ((size_t)count + 1) * sizeof(const pith_array *);
    const pith_array **arrays = pithp_allocate(x->s->runtime, bytes);
    if (!arrays)
        return pithp_fail_memory(x->s, bytes);
    bool fine = true;
    for (int64_t k = 0; k < count && fine; k++)
        fine = (arrays[k] = pithp_trace_array(x->s, x->t, values[k]));
    if (fine)
        pithp_checks_replay(x->s, checks, arrays, false);
    pithp_release(x->s->runtime, arrays, bytes);
    return x->s->error.code;
}

/* A new array with the elements of a constant. */
static const pith_array *
make_constant(pith_scope *s, const pithp_constant *constant, const pith_spec *spec) {
    if (constant->buffer)
        return pithp_array_view(s, spec, constant->buffer,
                                (void *)(uintptr_t)constant->data);
    pith_array *a = pithp_array_make(s, spec);
    return a && pithp_copy_in(s, a->data, constant->data, spec->bytes) == PITH_OK ? a
                                                                                  : NULL;
}

/* Leaf k of the result; outputs: the part's outputs as values of the trace. */
static const pith_array *
put_leaf(inside *x, const pithp_jit_program *p, int64_t k, const pithp_value *outputs) {
    const pithp_jit_leaf *leaf = &p->outputs.leaves[k];
    if (leaf->source == PITHP_LEAF_INPUT)
        return pithp_array_place(x->s, x->items[leaf->at], leaf->spec);
    if (leaf->source == PITHP_LEAF_CONSTANT)
        return make_constant(x->s, &p->part->constants[leaf->at], leaf->spec);
    const pithp_instruction *maker = pithp_maker(p->part, p->part->outputs[leaf->at]);
    const char *site = x->s->site;
    if (maker)
        x->s->site = maker->site; /* the site of the array's making */
    const pith_array *made = pithp_trace_array(x->s, x->t, outputs[leaf->at]);
    x->s->site = site;
    return made ? pithp_array_place(x->s, made, leaf->spec) : NULL;
}

static const void *
put_result(inside *x, const pithp_jit_program *p, const pithp_value *outputs) {
    const pith_array **items =
        pithp_scope_allocate(x->s, ((size_t)p->outputs.result_count + 1) * sizeof *items);
    if (!items || pithp_structure_hold(x->s, &p->outputs.result) != PITH_OK)
        return NULL;
    for (int64_t k = 0; k < p->outputs.result_count; k++)
        if (!(items[k] = put_leaf(x, p, k, outputs)))
            return NULL;
    return pithp_build_made(x->s, &p->outputs.result, NULL, items);
}

/* Number what is recorded from now on as a call of its own. Returns the call around it.
 */
static int32_t begin_call(inside *x) {
    pithp_program *p = x->t->program;
    const int32_t around = p->remat.call;
    p->calls += p->calls < INT32_MAX;
    p->remat.call = p->calls;
    return around;
}

static void end_call(inside *x, int32_t around) {
    x->t->program->remat.call = around;
}

/* Inline a part; returns the result. NULL: error set. */
static const void *put_in(inside *x, const pithp_jit_program *p) {
    const int64_t made = p->part->output_count - pithp_checks_values(p->checks);
    const size_t bytes = ((size_t)p->part->output_count + 1) * sizeof(pithp_value);
    pithp_value *outputs = pithp_allocate(x->s->runtime, bytes);
    const void *result = NULL;
    const int32_t around = begin_call(x);
    if (!outputs)
        pithp_fail_memory(x->s, bytes);
    else if (pithp_program_inline(x->s, x->t->program, p->part, x->values, outputs) &&
             replay_checks(x, p->checks, outputs + made) == PITH_OK)
        result = put_result(x, p, outputs);
    end_call(x, around);
    pithp_release(x->s->runtime, outputs, bytes);
    return result;
}

/* ---- Caching a recorded call ---- */

/* Sources of the result's leaves, as far as known before the part is made; its outputs,
 * in memory of the scope. NULL: error set. */
static pithp_value *list_outputs(inside *x,
                                 pithp_jit_program *p,
                                 const pithp_flat *result,
                                 const pithp_checks *checks,
                                 int64_t *count) {
    const int64_t leaves = result->structure.item_count,
                  values = pithp_checks_values(checks);
    pithp_value *outputs =
        pithp_scope_allocate(x->s, (size_t)(leaves + values + 1) * sizeof *outputs);
    p->outputs.leaves =
        pithp_allocate(x->s->runtime, (size_t)leaves * sizeof *p->outputs.leaves);
    p->outputs.leaf_count = p->outputs.result_count = p->outputs.leaves ? leaves : 0;
    if (!outputs || (leaves && !p->outputs.leaves)) {
        pithp_fail_memory(x->s, (size_t)leaves * sizeof *p->outputs.leaves);
        return NULL;
    }
    *count = 0;
    for (int64_t k = 0; k < leaves; k++) {
        const bool traced = pithp_array_is_traced(result->items[k]);
        p->outputs.leaves[k] =
            (pithp_jit_leaf){.source = traced ? PITHP_LEAF_MADE : PITHP_LEAF_CONSTANT,
                             .at = *count,
                             .spec = result->structure.specs[k]};
        if (traced)
            outputs[(*count)++] = (pithp_value)result->items[k]->value;
    }
    for (int64_t k = 0; k < values; k++)
        outputs[(*count)++] = pithp_checks_value(checks, k);
    return outputs;
}

/* Set the leaves that are inputs of the part, and those outside the trace. */
static pith_status
place_leaves(inside *x, pithp_jit_program *p, const pithp_flat *result) {
    for (int64_t k = 0; k < p->outputs.result_count; k++) {
        pithp_jit_leaf *leaf = &p->outputs.leaves[k];
        if (leaf->source == PITHP_LEAF_CONSTANT) {
            const pithp_value v = pithp_trace_constant(x->s, p->part, result->items[k]);
            if (v < 0)
                return x->s->error.code;
            leaf->at = p->part->values[v].at;
        } else if (p->part->outputs[leaf->at] < p->part->input_count) {
            leaf->source = PITHP_LEAF_INPUT;
            leaf->at = p->part->outputs[leaf->at];
        }
    }
    return PITH_OK;
}

/* The recorded instructions since `since`, as a part with a reference. NULL: impossible,
 * or the error is set. */
static pithp_jit_program *make_part(inside *x,
                                    pithp_graph_walk since,
                                    pithp_checks *checks,
                                    const pithp_flat *result) {
    int64_t count = 0;
    pithp_jit_program *p = pithp_jit_program_make(x->s, &x->call);
    const pithp_value *outputs = p ? list_outputs(x, p, result, checks, &count) : NULL;
    if (outputs)
        p->part = pithp_program_extract(x->s, since, x->count, x->values, count, outputs);
    if (outputs && !p->part && x->s->error.code == PITH_OK)
        pithp_jit_refuse(&x->call, "it captures traced arrays that are not arguments");
    if (!outputs || !p->part || place_leaves(x, p, result) != PITH_OK ||
        pithp_structure_copy(x->s, &p->outputs.result, &result->structure) != PITH_OK) {
        pithp_jit_program_release(p);
        return NULL;
    }
    p->outputs.result.hooks = false; /* hooks ran on the traced result */
    p->checks = checks;
    pithp_checks_retain(checks);
    p->bytes += pithp_program_bytes(p->part) + pithp_structure_bytes(&p->outputs.result);
    return p;
}

/* Whether the leaves of a result belong to this trace or are concrete. */
static bool is_whole(const inside *x, const pithp_flat *result) {
    bool whole = true;
    for (int64_t k = 0; k < result->structure.item_count; k++) {
        const pith_array *a = result->items[k];
        whole &= pithp_trace_has(x->s, a) ||
                 (has_values(x->s, a) &&
                  pithp_leaf_check(x->s, a, "pith_jit", "result") == PITH_OK);
    }
    return whole;
}

static void
keep(inside *x, pithp_graph_walk since, pithp_checks *checks, const void *result) {
    const pith_function *f = x->call.function;
    pithp_block *block = NULL;
    pithp_flat flat;
    pithp_jit_program *p = NULL;
    if (!pithp_tree_is_usable(x->s, result, &block) || !pithp_result_fits(f, result) ||
        pithp_flat_make(x->s, &flat, result, NULL, NULL) != PITH_OK)
        return;
    if (is_whole(x, &flat))
        p = make_part(x, since, checks, &flat);
    pithp_flat_end(&flat);
    if (p)
        p->derived_bytes = x->call.derived_bytes - x->t->derived_bytes;
    if (p)
        pithp_jit_program_release(pithp_jit_keep(&x->call, p));
}

/* ---- Calls ---- */

static const void *run(inside *x, const void *const *given) {
    const pith_function *f = x->call.function;
    pithp_trace *around = x->t; /* NULL: draws are watched */
    if (pithp_trace_check_depth(x->s, f->name) != PITH_OK)
        return NULL;
    if (around)
        around->depth++;
    const void *result = pithp_function_run(f, x->s, given);
    if (around)
        around->depth--;
    return result;
}

/* Return separately recorded checks to the trace, also if the call failed: the caller may
 * clear the error and continue. */
static void take_checks(inside *x, pithp_checks *checks) {
    const int64_t count = pithp_checks_values(checks);
    pithp_value *values =
        pithp_scope_allocate(x->s, ((size_t)count + 1) * sizeof *values);
    for (int64_t k = 0; values && k < count; k++)
        values[k] = pithp_checks_value(checks, k);
    if (values)
        replay_checks(x, checks, values);
}

static const void *record(inside *x, const void *const *given) {
    pith_scope *s = x->s;
    const pithp_program *program = x->t->program;
    const pithp_graph_walk since = {program, program->value_count,
                                    program->instruction_count};
    const int64_t variance_asked = x->t->variance_asked;
    bool asked;
    if (!pithp_checks_begin(s))
        return NULL;
    const int32_t around = begin_call(x);
    const void *result = run(x, given);
    end_call(x, around);
    pithp_checks *checks = pithp_checks_end(x->t, &asked);
    if (pithp_scope_writable(s)) {
        if (checks)
            take_checks(x, checks);
        if (asked)
            pithp_jit_refuse(&x->call, "it depends on earlier checks");
        else if (x->t->variance_asked != variance_asked)
            pithp_jit_refuse(&x->call, "it depends on the axes over which values vary");
        else if (result && s->error.code == PITH_OK && x->t->refused.code == PITH_OK &&
                 (pithp_jit_modes(s) | PITHP_JIT_PART) == x->call.modes)
            keep(x, since, checks, result);
        if (s->error.code != PITH_OK)
            result = NULL;
    }
    pithp_checks_release(checks);
    return result;
}

/* Run the function, and report it to the log hook. */
static const void *trace(inside *x, const void *const *given) {
    struct timespec start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    const void *result = x->call.unknown ? run(x, given) : record(x, given);
    if (result && pithp_scope_writable(x->s) && x->call.rt->log_hook)
        pithp_jit_log_miss(&x->call, &start);
    return result;
}

/* A call with traced leaves. */
static const void *find_or_record(inside *x, const void *const *given) {
    if (!x->call.unknown && find_repeats(x) != PITH_OK)
        return NULL;
    pithp_jit_program *p = pithp_jit_find(&x->call);
    if (!p)
        return x->s->error.code == PITH_OK ? trace(x, given) : NULL;
    const void *result = put_in(x, p);
    x->t->derived_bytes -= p->derived_bytes;
    pithp_jit_program_release(p);
    return result;
}

const void *pithp_jit_call_inside(const pithp_jit_closure *closure,
                                  pith_scope *s,
                                  const void *const *arguments) {
    inside x;
    x.s = s;
    x.t = x.call.inside = pithp_scope_trace(s);
    x.count = 0;
    x.call.like = NULL;
    if (pithp_jit_call_begin(&x.call, s, closure, arguments) != PITH_OK)
        return NULL; /* a static leaf is traced */
    const void *result = NULL;
    if (list_traced(&x) == PITH_OK)
        result = !x.count && pithp_jit_must_trace(closure)
                     ? pithp_jit_run_recorded(closure, s, arguments, NULL)
                 : x.count && !pithp_draws_watched() ? find_or_record(&x, arguments)
                                                     : run(&x, arguments);
    release_lists(&x);
    pithp_jit_call_end(&x.call);
    return result;
}
