/* Calls of derived functions in a trace: selection of parts, recording of the base
 * function, and trees from derived values. */
#include "program/pass/pass.h"
#include "trace/derive/derive_internal.h"
#include "trace/jit/jit_internal.h"
#include "trace/shard/shard_map.h"

#include <stdio.h>
#include <string.h>

/* ---- Selection ---- */

static pith_status
add_selected(pithp_derivation_call *c, int argument, const void *node, int64_t first) {
    pithp_selected *part = &c->selected[c->selected_count];
    part->node = node;
    part->argument = argument;
    part->first = first;
    const pith_status rc = pithp_flat_make(c->s, &part->flat, node, NULL, NULL);
    if (rc == PITH_OK)
        c->selected_count++;
    return rc;
}

/* The part at a path "[i]...". */
static pith_status select_path(pithp_derivation_call *c, const char *path, bool *marks) {
    int i;
    const char *inside = pithp_jit_path(path, c->argument_count, &i);
    PITH_ASSERT(inside); /* verified when the function was made */
    const int64_t count = c->arguments[i].structure.item_count;
    memset(marks, 0, (size_t)count);
    const void *node = pithp_jit_mark_part(c->s, i, c->given[i], inside, marks);
    if (!node && c->s->error.code == PITH_OK)
        pithp_fail(c->s, PITH_E_PATH, path,
                   "%s: %s: expected a part to differentiate, which is absent",
                   c->function, c->f->name);
    if (!node)
        return c->s->error.code;
    int64_t first = 0;
    while (first < count && !marks[first])
        first++;
    return add_selected(c, i, node, first);
}

static pith_status select_parts(pithp_derivation_call *c) {
    const pith_derive_options *o = &c->derived->options;
    int count = c->argument_count;
    int64_t most = 0;
    for (int i = 0; i < c->argument_count; i++)
        if (c->arguments[i].structure.item_count > most)
            most = c->arguments[i].structure.item_count;
    for (int i = 0; o->paths && o->paths[i]; i++)
        count++;
    c->selected = pithp_scope_allocate(c->s, (size_t)count * sizeof *c->selected);
    bool *marks = pithp_scope_allocate(c->s, (size_t)most + 1);
    if (!c->selected || !marks)
        return c->s->error.code;
    pith_status rc = PITH_OK;
    for (int i = 0; o->paths && o->paths[i] && rc == PITH_OK; i++)
        rc = select_path(c, o->paths[i], marks);
    for (int i = 0; !o->paths && i < c->argument_count && rc == PITH_OK; i++)
        if (o->arguments >> i & 1)
            rc = add_selected(c, i, c->given[i], 0);
    return rc;
}

/* A leaf that is selected. Integers are refused, or have no tangent. */
static pith_status move_leaf(pithp_derivation_call *c, int argument, int64_t leaf) {
    const pithp_structure *t = &c->arguments[argument].structure;
    const pith_dtype dtype = t->specs[leaf]->dtype;
    char text[16];
    c->moving[argument][leaf] = pith_dtype_is_float(dtype);
    if (c->moving[argument][leaf] || c->derived->options.skip_integers)
        return PITH_OK;
    pithp_item_fail(c->s, t, leaf, PITH_E_DTYPE,
                    "%s: %s: expected a float dtype to differentiate, got %s; "
                    ".skip_integers passes such leaves on",
                    c->function, c->f->name, pith_dtype_name(dtype));
    snprintf(text, sizeof text, "[%d]", argument);
    pithp_error_prefix(c->s, text);
    return c->s->error.code;
}

static pith_status mark_moving(pithp_derivation_call *c) {
    for (int i = 0; i < c->argument_count; i++) {
        const pithp_flat *f = &c->arguments[i];
        const size_t count = (size_t)f->structure.item_count;
        c->moving[i] = pithp_scope_allocate(c->s, 2 * count + 1);
        if (!c->moving[i])
            return c->s->error.code;
        memset(c->moving[i], 0, count);
        c->known[i] = c->moving[i] + count;
    }
    for (int p = 0; p < c->selected_count; p++) {
        const pithp_selected *part = &c->selected[p];
        for (int64_t k = 0; k < part->flat.structure.item_count; k++)
            if (move_leaf(c, part->argument, part->first + k) != PITH_OK)
                return c->s->error.code;
    }
    return PITH_OK;
}

/* Leaves that do not move and have values stay as they are: the function may read them.
 */
static pith_status mark_known(pithp_derivation_call *c) {
    for (int i = 0; i < c->argument_count; i++) {
        const pithp_flat *f = &c->arguments[i];
        for (int64_t k = 0; k < f->structure.item_count; k++) {
            const pith_array *a = f->items[k];
            if (pithp_leaf_check(c->s, a, c->f->name, "argument") != PITH_OK) {
                pithp_item_prefix(c->s, &f->structure, k);
                return c->s->error.code;
            }
            c->known[i][k] = !c->moving[i][k] && !pithp_array_is_traced(a);
        }
    }
    return PITH_OK;
}

static pith_status flatten(pithp_derivation_call *c) {
    for (int i = 0; i < c->f->arity; i++) {
        const pith_status rc =
            pithp_flat_make(c->s, &c->arguments[i], c->given[i], NULL, NULL);
        if (rc != PITH_OK)
            return rc;
        c->argument_count++;
    }
    return PITH_OK;
}

/* ---- Recording ---- */

static pith_status split_aux(pith_scope *s,
                             const pithp_part_call *call,
                             const void *result,
                             const void *parts[2]) {
    static const char *const names[2] = {"value", "aux"};
    const pithp_returned r = {call->function, "function", call->body, "result"};
    return pithp_returned_members(s, &r, names, result, parts);
}

/* The inputs of the program: captured arrays, and leaves that are not known. */
static pith_status list_inputs(pithp_derivation_call *c) {
    const pithp_program *p = c->part.program;
    const size_t count = (size_t)p->input_count + 1;
    int64_t n = 0;
    c->inputs = pithp_scope_allocate(c->s, count * sizeof *c->inputs);
    c->moves = pithp_scope_allocate(c->s, count);
    if (!c->inputs || !c->moves)
        return c->s->error.code;
    memset(c->moves, 0, count);
    for (; n < c->captured.count; n++)
        c->inputs[n] = pithp_trace_value(c->s, c->trace, c->captured.arrays[n]);
    for (int i = 0; i < c->argument_count; i++) {
        for (int part = 0; part < c->selected_count; part++) /* one may have no items */
            if (c->selected[part].argument == i)
                c->selected[part].input = n;
        for (int64_t k = 0; k < c->arguments[i].structure.item_count; k++) {
            for (int part = 0; part < c->selected_count; part++)
                if (c->selected[part].argument == i && c->selected[part].first == k)
                    c->selected[part].input = n;
            if (c->known[i][k])
                continue;
            c->moves[n] = c->moving[i][k];
            c->inputs[n] = pithp_trace_value(c->s, c->trace, c->arguments[i].items[k]);
            if (c->inputs[n++] < 0)
                return c->s->error.code;
        }
    }
    PITH_ASSERT(n == p->input_count);
    return PITH_OK;
}

static pith_status check_scalar(const pithp_derivation_call *c) {
    const pithp_structure *t = &c->part.flats[0].structure;
    char got[PITHP_LEAF_TEXT_BYTES];
    if (t->item_count != 1 || pithp_kind_of(c->part.results[0]) != PITHP_KIND_ARRAY)
        return pithp_fail(c->s, PITH_E_STRUCTURE, NULL,
                          "%s: %s: the value is not an array", c->function, c->f->name);
    const pith_spec *spec = t->specs[0];
    if (pithp_placement_of(spec)) /* each rank has a value of its own */
        return pithp_fail(c->s, PITH_E_ARG, NULL,
                          "%s: %s: expected a plain array as the value, got %s: sum it "
                          "over the ranks within pith_shard_map, or use pith_unshard",
                          c->function, c->f->name, pithp_leaf_print(spec, got));
    if (!pith_dtype_is_float(spec->dtype))
        return pithp_fail(c->s, PITH_E_DTYPE, NULL,
                          "%s: %s: expected a value of a float dtype, got %s",
                          c->function, c->f->name, pithp_spec_print(spec, got));
    if (spec->rank)
        return pithp_fail(c->s, PITH_E_SHAPE, NULL,
                          "%s: %s: expected a value of rank 0, got %s", c->function,
                          c->f->name, pithp_spec_print(spec, got));
    return PITH_OK;
}

/* The path of each input of the program that moves, for messages: "[0].atoms.charge". In
 * memory of the scope. NULL: error set. */
static const char **input_names(const pithp_derivation_call *c) {
    pith_scope *s = c->s;
    const size_t bytes = ((size_t)c->program->input_count + 1) * sizeof(char *);
    const char **names = pithp_scope_allocate(s, bytes);
    if (!names)
        return NULL;
    memset(names, 0, bytes);
    for (int p = 0; p < c->selected_count; p++) {
        const pithp_selected *part = &c->selected[p];
        int64_t next = part->input;
        for (int64_t k = 0; k < part->flat.structure.item_count; k++) {
            const int64_t input = pithp_selected_input(c, part, k, &next);
            pithp_string path;
            pithp_string_begin(&path, s->runtime);
            pithp_string_print(&path, "[%d]", part->argument);
            pithp_structure_path(s->runtime, &c->arguments[part->argument].structure,
                                 part->first + k, &path);
            const char *name = pithp_string_finish(s, &path);
            if (!name)
                return NULL;
            if (input >= 0)
                names[input] = name;
        }
    }
    return names;
}

/* Begin a refusal, of which only the call is known, with the names of the derivative and
 * the function. */
static pith_status name_function(pithp_derivation_call *c) {
    const pith_status code = c->s->error.code;
    const bool refused = code == PITH_E_DERIVATIVE || code == PITH_E_MEMORY ||
                         (code == PITH_E_ARG && c->derived->kind->linear);
    const bool shares = code == PITH_E_MEMORY && !c->derived->options.kept_bytes &&
                        pithp_derivation_budget(c);
    if (refused && !c->named)
        pithp_error_context(c->s, "%s: %s%s", c->function, c->f->name,
                            shares ? ", which has a part of the budget around it" : "");
    c->named = true;
    return code;
}

/* Paths are found only for the message. */
pith_status pithp_derivation_check_cuts(pithp_derivation_call *c,
                                        const pithp_program *p,
                                        const bool *results) {
    pithp_derive_options o = {.results = results};
    if (c->derived->options.cuts == PITH_CUTS_ARE_ZERO)
        return PITH_OK;
    pith_scope *work = pith_scope_open_in(c->s);
    if (!pithp_scope_writable(work))
        return pithp_fail_memory(c->s, PITHP_BLOCK_BYTES);
    const bool fine = pithp_program_check_cuts(work, p, c->moves, &o);
    const bool cut = !fine && work->error.code == PITH_E_DERIVATIVE;
    if (cut)
        pith_clear(work);
    pith_scope_close(work); /* another error moves to the outer scope */
    if (!cut || !(o.names = input_names(c)))
        return c->s->error.code;
    pithp_program_check_cuts(c->s, p, c->moves, &o);
    return name_function(c);
}

/* Check cuts before the leaves of the value that have tangents; before all of them if
 * none has. */
static pith_status check_value_cuts(pithp_derivation_call *c) {
    const pithp_program *p = c->program;
    bool *results = pithp_scope_allocate(c->s, (size_t)p->output_count + 1), any = false;
    if (!results)
        return c->s->error.code;
    memset(results, 0, (size_t)p->output_count + 1);
    for (int64_t k = 0; k < c->value_count; k++) {
        results[k] = pith_dtype_is_float(c->part.flats[0].structure.specs[k]->dtype);
        any |= results[k];
    }
    if (!any)
        memset(results, 1, (size_t)c->value_count);
    return pithp_derivation_check_cuts(c, p, results);
}

/* What derivations inside of the function may keep, of a budget. Reverse mode has a
 * cotangent for each value that they keep. 0: no limit. */
static size_t inner_budget(size_t budget) {
    return budget > 4 ? budget / 4 : budget != 0;
}

size_t pithp_derivation_budget(const pithp_derivation_call *c) {
    return c->derived->options.kept_bytes ? c->derived->options.kept_bytes
                                          : c->trace->derived_bytes;
}

size_t pithp_derivation_budget_left(const pithp_derivation_call *c) {
    const size_t budget = pithp_derivation_budget(c),
                 taken = 2 * (inner_budget(budget) - c->part.derived_bytes);
    return taken < budget ? budget - taken : budget != 0;
}

void pithp_derivation_take_budget(pithp_derivation_call *c, size_t kept) {
    if (c->derived->options.kept_bytes || !c->trace->derived_bytes)
        return;
    const size_t left = c->trace->derived_bytes;
    c->trace->derived_bytes = kept < left ? left - kept : 1;
}

static pith_status record(pithp_derivation_call *c) {
    pith_status rc = pithp_part_capture(c->s, &c->captured, c->f);
    if (rc != PITH_OK)
        return rc;
    pithp_part_call call = {.function = c->function,
                            .body = c->f,
                            .captured = &c->captured,
                            .argument_count = c->argument_count,
                            .derived = true,
                            .derived_bytes = inner_budget(pithp_derivation_budget(c)),
                            .sharded_results = 2,
                            .split = c->derived->options.aux ? split_aux : NULL};
    for (int i = 0; i < c->argument_count; i++) {
        call.arguments[i] = &c->arguments[i];
        call.known[i] = c->known[i];
    }
    c->recorded = true;
    rc = pithp_part_record(c->s, &c->part, &call);
    if (rc != PITH_OK)
        return rc;
    c->value_count = c->part.flats[0].structure.item_count;
    c->aux_count = call.split ? c->part.flats[1].structure.item_count : 0;
    if (c->derived->kind->scalar && (rc = check_scalar(c)) != PITH_OK)
        return rc;
    c->program = pithp_program_optimise(c->s, c->part.program, PITHP_PASS_ALL);
    if (!c->program || (rc = list_inputs(c)) != PITH_OK)
        return c->s->error.code;
    return check_value_cuts(c);
}

/* ---- Calls ---- */

static void end(pithp_derivation_call *c) {
    for (int i = 0; i < c->argument_count; i++)
        pithp_flat_end(&c->arguments[i]);
    for (int i = 0; i < c->selected_count; i++)
        pithp_flat_end(&c->selected[i].flat);
    pithp_program_release(c->program);
    pithp_rule_checks_end(&c->rule_checks);
    if (c->recorded)
        pithp_part_end(&c->part);
}

/* Cotangents need to know what is equal on all ranks. */
static pith_status check_ranks(const pithp_derivation_call *c) {
    if (!c->derived->kind->reverse || !pithp_shard_map_forgets())
        return PITH_OK;
    pithp_shard_map_refuse();
    return pithp_fail(c->s, PITH_E_UNSUPPORTED, NULL,
                      "%s: %s: in an eager call of pith_shard_map with replicated "
                      "arguments: compile the mapped function with pith_jit",
                      c->function, c->f->name);
}

static const void *derive(pithp_derivation_call *c) {
    pith_status rc;
    PITH_TRY(check_ranks(c));
    PITH_TRY(flatten(c));
    PITH_TRY(select_parts(c));
    PITH_TRY(mark_moving(c));
    PITH_TRY(mark_known(c));
    PITH_TRY(record(c));
    const void *result = c->derived->kind->derive(c);
    if (!result)
        name_function(c);
    return result;
out:
    return NULL;
}

const void *pithp_derived_call_linear(const pith_function *self,
                                      pith_scope *s,
                                      const void *const *given,
                                      pithp_attached **attached) {
    const pithp_derived *d = self->closure;
    const bool more = self->arity > d->closure.base->arity;
    pithp_derivation_call *c = pithp_scope_allocate(s, sizeof *c);
    if (!c)
        return NULL;
    memset(c, 0, sizeof *c);
    c->s = s;
    c->trace = pithp_scope_trace(s);
    c->derived = d;
    c->function = d->kind->function;
    c->f = d->closure.base;
    c->given = given;
    c->tangent = more ? given[self->arity - 1] : d->closure.bound;
    const void *result = derive(c);
    pithp_jit_note_derived(s->runtime, c->calls.calls, c->calls.derivations);
    end(c);
    *attached = c->attached;
    return s->error.code == PITH_OK ? result : NULL;
}

/* The program that is recorded keeps the linear map for its callers. */
const void *
pithp_derived_call(const pith_function *self, pith_scope *s, const void *const *given) {
    pithp_attached *attached = NULL;
    pithp_trace *t = pithp_scope_trace(s);
    const void *result = pithp_derived_call_linear(self, s, given, &attached);
    pithp_attached_release(t->attached);
    t->attached = attached;
    return result;
}

/* ---- Derived programs in the trace ---- */

pithp_value *pithp_derivation_add(pithp_derivation_call *c,
                                  pithp_program *p,
                                  const pithp_value *inputs) {
    pithp_value *outputs =
        pithp_scope_allocate(c->s, ((size_t)p->output_count + 1) * sizeof *outputs);
    return outputs && pithp_rule_checks_inline(c->s, p, inputs, outputs, &c->rule_checks)
               ? outputs
               : NULL;
}

/* The trees for the selected parts: one is itself, several are a tuple. */
static pith_status tangent_parts(pithp_derivation_call *c, const void **parts) {
    const int64_t got =
        pith_kind(c->tangent) == PITH_NODE_TUPLE ? pith_child_count(c->tangent) : -1;
    if (c->selected_count == 1) {
        parts[0] = c->tangent;
        return PITH_OK;
    }
    if (got != c->selected_count)
        return pithp_fail(c->s, PITH_E_STRUCTURE, NULL,
                          "%s: %s: %s: expected a tuple of %d", c->function, c->f->name,
                          c->derived->kind->tangent, c->selected_count);
    for (int p = 0; p < c->selected_count; p++)
        if (!(parts[p] = pith_child(c->tangent, p)))
            return pithp_fail(c->s, PITH_E_STRUCTURE, NULL,
                              "%s: %s: %s: item %d is absent", c->function, c->f->name,
                              c->derived->kind->tangent, p);
    return PITH_OK;
}

/* In a tuple of tangents the path of an error begins with the item. */
static void prefix_item(const pithp_derivation_call *c, int item) {
    char text[16];
    snprintf(text, sizeof text, "[%d]", item);
    if (c->selected_count > 1)
        pithp_error_prefix(c->s, text);
}

/* Set the tangents of the inputs that a part is; values: by input of the program. */
static pith_status read_tangent(pithp_derivation_call *c,
                                const pithp_selected *part,
                                const void *tree,
                                pithp_value *values) {
    const pithp_returned r = {c->function, "function", c->f, c->derived->kind->tangent};
    pithp_flat f;
    pith_status rc = pithp_returned_check(c->s, &r, part->node, &part->flat, tree);
    if (rc != PITH_OK || (rc = pithp_flat_make(c->s, &f, tree, NULL, NULL)) != PITH_OK)
        return rc;
    int64_t next = part->input;
    for (int64_t k = 0; k < f.structure.item_count && rc == PITH_OK; k++) {
        const int64_t input = pithp_selected_input(c, part, k, &next);
        if (input < 0 || !c->moves[input])
            continue;
        rc = pithp_leaf_check(c->s, f.items[k], c->f->name, c->derived->kind->tangent);
        if (rc == PITH_OK) {
            values[input] = pithp_trace_value(c->s, c->trace, f.items[k]);
            rc = c->s->error.code;
        } else {
            pithp_item_prefix(c->s, &f.structure, k);
        }
    }
    pithp_flat_end(&f);
    return rc;
}

pithp_value *pithp_derivation_tangents(pithp_derivation_call *c) {
    const int64_t inputs = c->program->input_count;
    const size_t bytes = (size_t)(3 * inputs + 1) * sizeof(pithp_value);
    pithp_value *all = pithp_scope_allocate(c->s, bytes), *by_input = all + 2 * inputs;
    const void **parts =
        pithp_scope_allocate(c->s, ((size_t)c->selected_count + 1) * sizeof *parts);
    if (!all || !parts || tangent_parts(c, parts) != PITH_OK)
        return NULL;
    for (int p = 0; p < c->selected_count; p++)
        if (read_tangent(c, &c->selected[p], parts[p], by_input) != PITH_OK) {
            prefix_item(c, p);
            return NULL;
        }
    memcpy(all, c->inputs, (size_t)inputs * sizeof *all);
    int64_t n = inputs;
    for (int64_t k = 0; k < inputs; k++)
        if (c->moves[k])
            all[n++] = by_input[k];
    return all;
}

pith_status pithp_derivation_checks(pithp_derivation_call *c,
                                    const pithp_value *outputs) {
    const pith_array **arrays =
        pithp_trace_arrays(c->s, pithp_checks_values(c->part.checks),
                           outputs + c->value_count + c->aux_count);
    pithp_lengths_lose(c->part.checks);
    return arrays && pithp_checks_replay(c->s, c->part.checks, arrays, false) == PITH_OK
               ? pithp_rule_checks_record(c->s, &c->rule_checks)
               : c->s->error.code;
}

const void *pithp_derivation_value(pithp_derivation_call *c, const pithp_value *outputs) {
    const pith_array **arrays = pithp_trace_arrays(c->s, c->value_count, outputs);
    return arrays ? pithp_part_build(c->s, &c->part.flats[0], arrays) : NULL;
}

const void *pithp_derivation_aux(pithp_derivation_call *c, const pithp_value *outputs) {
    const pith_array **arrays =
        pithp_trace_arrays(c->s, c->aux_count, outputs + c->value_count);
    return arrays ? pithp_part_build(c->s, &c->part.flats[1], arrays) : NULL;
}

const void *pithp_derivation_tangent(pithp_derivation_call *c,
                                     const bool *moves,
                                     const pithp_value *tangents) {
    const pithp_flat *like = &c->part.flats[0];
    const pith_array **items =
        pithp_scope_allocate(c->s, ((size_t)c->value_count + 1) * sizeof *items);
    for (int64_t k = 0; items && k < c->value_count; k++) {
        items[k] = moves[k] ? pithp_trace_array(c->s, c->trace, *tangents++)
                            : pithp_trace_zeros(c->s, like->structure.specs[k]);
        if (!items[k])
            return NULL;
    }
    return items ? pithp_tangent_build(c->s, &like->structure, items) : NULL;
}

/* The gradient of one part. */
static const void *gradient_of(pithp_derivation_call *c,
                               const pithp_selected *part,
                               const bool *reached,
                               const pithp_value *values) {
    const int64_t count = part->flat.structure.item_count;
    const pith_array **items =
        pithp_scope_allocate(c->s, ((size_t)count + 1) * sizeof *items);
    for (int64_t k = 0; k < part->input; k++)
        values += reached[k];
    int64_t next = part->input;
    for (int64_t k = 0; items && k < count; k++) {
        const int64_t input = pithp_selected_input(c, part, k, &next);
        items[k] = input >= 0 && reached[input]
                       ? pithp_trace_array(c->s, c->trace, *values++)
                       : pithp_trace_zeros(c->s, part->flat.structure.specs[k]);
        if (!items[k])
            return NULL;
    }
    return items ? pithp_tangent_build(c->s, &part->flat.structure, items) : NULL;
}

const void *pithp_derivation_gradient(pithp_derivation_call *c,
                                      const bool *reached,
                                      const pithp_value *values) {
    const void **parts =
        pithp_scope_allocate(c->s, ((size_t)c->selected_count + 1) * sizeof *parts);
    for (int p = 0; parts && p < c->selected_count; p++)
        if (!(parts[p] = gradient_of(c, &c->selected[p], reached, values)))
            return NULL;
    return !parts ? NULL
           : c->selected_count == 1
               ? parts[0]
               : pith_tuple_make(pithp_on_behalf(c->s), c->selected_count, parts);
}

const void *pithp_derivation_tuple(pithp_derivation_call *c,
                                   const void *a,
                                   const void *b,
                                   const pithp_value *outputs) {
    const bool aux = c->derived->options.aux;
    const void *items[3];
    int count = 0;
    if (a)
        items[count++] = a;
    items[count++] = b;
    if (aux)
        items[count++] = pithp_derivation_aux(c, outputs);
    for (int k = 0; k < count; k++)
        if (!items[k])
            return NULL;
    return count == 1 ? items[0] : pith_tuple_make(pithp_on_behalf(c->s), count, items);
}
