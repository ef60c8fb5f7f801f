/* Linearization: a value, and the map of its tangents, or the transposed map. */
#include "base/in_flight.h"
#include "mesh/mesh_internal.h"
#include "program/vary/vary.h"
#include "trace/derive/equal.h"
#include "trace/jit/jit_internal.h"

#include <string.h>

/* ---- Linear programs ---- */

static void free_linear(pithp_attached *attached) {
    pithp_linear *l = (pithp_linear *)(void *)attached;
    pith_runtime *rt = l->runtime;
    pithp_release(rt, l->inputs, (size_t)l->argument.item_count * sizeof *l->inputs);
    pithp_release(rt, l->outputs, (size_t)l->result.item_count * sizeof *l->outputs);
    pithp_release(rt, l->kept, (size_t)l->residual_count * sizeof *l->kept);
    pithp_release(rt, l->equal, (size_t)l->argument.item_count * sizeof *l->equal);
    pithp_release(rt, l->own, (size_t)l->result.item_count * sizeof *l->own);
    pithp_release(rt, l->watches.list,
                  (size_t)l->watches.count * sizeof(pithp_derive_watch));
    pithp_structure_release(rt, &l->argument);
    pithp_structure_release(rt, &l->result);
    pithp_program_release(l->program);
    pithp_release(rt, l, sizeof *l);
}

/* The rank of each marked place among those marked; -1: not marked. NULL: error set. */
static int64_t *ranks_of(pith_scope *s, int64_t count, const bool *marks) {
    int64_t *ranks = pithp_scope_allocate(s, ((size_t)count + 1) * sizeof *ranks);
    int64_t next = 0;
    for (int64_t k = 0; ranks && k < count; k++)
        ranks[k] = marks[k] ? next++ : -1;
    return ranks;
}

void pithp_derivation_rank_leaves(const pithp_derivation_call *c,
                                  const int64_t *ranks,
                                  int64_t *to) {
    for (int p = 0; p < c->selected_count; p++) {
        const pithp_selected *part = &c->selected[p];
        int64_t next = part->input;
        for (int64_t k = 0; k < part->flat.structure.item_count; k++) {
            const int64_t input = pithp_selected_input(c, part, k, &next);
            *to++ = input < 0 ? -1 : ranks[input];
        }
    }
}

const void *pithp_derivation_selected(const pithp_derivation_call *c) {
    const void *nodes[PITHP_MOST_PARAMETERS], **all = nodes;
    if (c->selected_count == 1)
        return c->selected[0].node;
    if (c->selected_count > PITHP_MOST_PARAMETERS &&
        !(all = pithp_scope_allocate(c->s, (size_t)c->selected_count * sizeof *all)))
        return NULL;
    for (int p = 0; p < c->selected_count; p++)
        all[p] = c->selected[p].node;
    return pith_tuple_make(pithp_on_behalf(c->s), c->selected_count, all);
}

/* Fill in the structures of the map, and the places of their leaves. */
static pith_status describe(pithp_derivation_call *c,
                            pithp_linear *l,
                            const pithp_split *split,
                            bool reverse) {
    pith_scope *s = c->s;
    pithp_structure *of_primals = reverse ? &l->result : &l->argument,
                    *of_value = reverse ? &l->argument : &l->result;
    const void *tree = pithp_derivation_selected(c);
    pithp_flat flat;
    if (!tree || pithp_flat_make(s, &flat, tree, NULL, NULL) != PITH_OK)
        return s->error.code;
    pith_status rc = pithp_structure_copy(s, of_primals, &flat.structure);
    pithp_flat_end(&flat);
    if (rc != PITH_OK ||
        (rc = pithp_structure_copy(s, of_value, &c->part.flats[0].structure)) != PITH_OK)
        return rc;
    of_primals->hooks = of_value->hooks = false;
    const size_t in = (size_t)l->argument.item_count * sizeof *l->inputs,
                 out = (size_t)l->result.item_count * sizeof *l->outputs;
    l->inputs = pithp_allocate(s->runtime, in);
    l->outputs = pithp_allocate(s->runtime, out);
    if ((in && !l->inputs) || (out && !l->outputs))
        return pithp_fail_memory(s, in + out);
    const int64_t *by_input = ranks_of(s, c->program->input_count, split->reached),
                  *by_value = ranks_of(s, c->value_count, split->moves);
    if (!by_input || !by_value)
        return s->error.code;
    pithp_derivation_rank_leaves(c, by_input, reverse ? l->outputs : l->inputs);
    if (c->value_count)
        memcpy(reverse ? l->inputs : l->outputs, by_value,
               (size_t)c->value_count * sizeof *by_value);
    return PITH_OK;
}

/* Cotangents must be equal on all ranks where the values are. */
static pith_status
note_equal(pithp_derivation_call *c, pithp_linear *l, const pithp_split *split) {
    pith_scope *s = c->s;
    const size_t bytes = (size_t)l->argument.item_count * sizeof *l->equal;
    if (!l->mesh)
        return PITH_OK;
    l->equal = pithp_allocate(s->runtime, bytes);
    if (bytes && !l->equal)
        return pithp_fail_memory(s, bytes);
    const uint32_t all = pithp_mesh_axes(l->mesh);
    for (int64_t k = 0; k < l->argument.item_count; k++)
        l->equal[k] = l->inputs[k] < 0 ? 0 : all & ~split->varies[k];
    return PITH_OK;
}

/* Arguments that are one value of all ranks, and those that each rank has for itself. */
static pith_status note_own(pithp_derivation_call *c, pithp_linear *l) {
    pith_scope *s = c->s;
    const int64_t inputs = c->program->input_count;
    const size_t bytes = (size_t)l->result.item_count * sizeof *l->own;
    if (!l->mesh || !bytes)
        return PITH_OK;
    uint32_t *axes = pithp_scope_allocate(s, 2 * ((size_t)inputs + 1) * sizeof *axes);
    int64_t *by_input = pithp_scope_allocate(s, ((size_t)inputs + 1) * sizeof *by_input);
    if (!axes || !by_input || pithp_derivation_axes(c, false, axes) < 0)
        return s->error.code;
    const uint32_t all = pithp_mesh_axes(l->mesh);
    for (int64_t k = 0; k < inputs; k++)
        by_input[k] = all & axes[k];
    if (!(l->own = pithp_allocate(s->runtime, bytes)))
        return pithp_fail_memory(s, bytes);
    pithp_derivation_rank_leaves(c, by_input, l->own);
    return PITH_OK;
}

/* What the residuals that stay are equal along: outside of the trace that made them, this
 * would not be known. */
static pith_status note_residuals(pithp_derivation_call *c,
                                  pithp_linear *l,
                                  const pithp_split *split,
                                  const bool *stays) {
    pith_scope *s = c->s;
    const pithp_program *p = split->forward;
    const size_t bytes = (size_t)l->residual_count * sizeof *l->kept,
                 n = 2 * (size_t)p->input_count + (size_t)p->value_count + 1;
    if (!(l->mesh = pith_mesh_of(s)) || !l->residual_count)
        return PITH_OK;
    uint32_t *axes = pithp_scope_allocate(s, n * sizeof *axes),
             *values = axes + 2 * p->input_count;
    if (!axes || pithp_derivation_axes(c, false, axes) < 0 ||
        !pithp_program_variance(s, p, axes, values))
        return s->error.code;
    if (!(l->kept = pithp_allocate(s->runtime, bytes)))
        return pithp_fail_memory(s, bytes);
    const uint32_t all = pithp_mesh_axes(l->mesh);
    const pithp_value *residuals = p->outputs + c->program->output_count;
    int64_t next = 0;
    for (int64_t k = 0; k < split->residual_count; k++)
        if (stays[k])
            l->kept[next++] = all & ~values[residuals[k]];
    return PITH_OK;
}

static pith_status
copy_watches(pith_scope *s, pithp_linear *l, const pithp_derive_watches *watches) {
    const size_t bytes = (size_t)watches->count * sizeof *watches->list;
    l->watches.list = pithp_allocate(s->runtime, bytes);
    if (bytes && !l->watches.list)
        return pithp_fail_memory(s, bytes);
    if (bytes)
        memcpy(l->watches.list, watches->list, bytes);
    l->watches.watched = watches->watched;
    l->watches.count = watches->count;
    return PITH_OK;
}

static pithp_attached *make_linear(pithp_derivation_call *c,
                                   const pithp_split *split,
                                   const bool *stays,
                                   int64_t residuals,
                                   bool reverse) {
    static _Atomic uint64_t serial;
    pithp_linear *l = pithp_allocate(c->s->runtime, sizeof *l);
    if (!l) {
        pithp_fail_memory(c->s, sizeof *l);
        return NULL;
    }
    *l = (pithp_linear){.attached = {.free = free_linear},
                        .runtime = c->s->runtime,
                        .serial = atomic_fetch_add(&serial, 1),
                        .function = c->function,
                        .program = split->linear,
                        .residual_count = residuals};
    atomic_init(&l->attached.refs, 1);
    pithp_program_retain(l->program);
    if (describe(c, l, split, reverse) == PITH_OK &&
        note_residuals(c, l, split, stays) == PITH_OK &&
        (!reverse || note_equal(c, l, split) == PITH_OK) &&
        (!reverse || note_own(c, l) == PITH_OK) &&
        copy_watches(c->s, l, &split->watches) == PITH_OK) {
        l->attached.bytes = sizeof *l + pithp_program_bytes(l->program);
        return &l->attached;
    }
    pithp_attached_release(&l->attached);
    return NULL;
}

/* ---- Derivation ---- */

/* A tuple of the residuals that stay. NULL: error set. */
static const void *residual_tree(pithp_derivation_call *c,
                                 const pithp_split *split,
                                 const bool *stays,
                                 pithp_value *residuals,
                                 int64_t *count) {
    *count = 0;
    for (int64_t k = 0; k < split->residual_count; k++)
        if (stays[k])
            residuals[(*count)++] = residuals[k];
    const pith_array **arrays = pithp_trace_arrays(c->s, *count, residuals);
    return arrays ? pith_tuple_make(pithp_on_behalf(c->s), *count,
                                    (const void *const *)arrays)
                  : NULL;
}

/* The call site of the first instruction that reads an input, or NULL. */
static const char *reader_site(const pithp_program *p, int64_t input) {
    for (int64_t n = 0; n < p->instruction_count; n++) {
        const pithp_instruction *i = &p->instructions[n];
        for (int k = 0; k < i->operand_count; k++)
            if (pithp_operands(p, i)[k] == p->inputs[input])
                return i->site;
    }
    return NULL;
}

/* An error if a residual depends on an input that moves. */
static pith_status
check_linear(pithp_derivation_call *c, const pithp_split *split, const bool *stays) {
    const int64_t first = c->program->output_count;
    bool *reached = pithp_scope_allocate(c->s, (size_t)split->forward->output_count + 1);
    if (!reached || !pithp_program_reach(c->s, split->forward, c->moves, reached))
        return c->s->error.code;
    for (int64_t k = 0; k < split->residual_count; k++) {
        if (!stays[k] || !reached[first + k])
            continue;
        return pithp_fail_at(c->s, PITH_E_ARG, NULL, reader_site(split->linear, k),
                             "the function is not linear");
    }
    return PITH_OK;
}

/* A tuple of the value, the residuals and perhaps aux. */
static const void *add_split(pithp_derivation_call *c, pithp_split *split, bool reverse) {
    int64_t residuals = 0;
    const bool *stays = pithp_split_trim(c, split), linear = c->derived->kind->linear;
    if (!stays || (linear && check_linear(c, split, stays) != PITH_OK))
        return NULL;
    pithp_value *outputs = pithp_derivation_add(c, split->forward, c->inputs);
    if (!outputs || pithp_derivation_checks(c, outputs) != PITH_OK)
        return NULL;
    const void *tree =
        residual_tree(c, split, stays, outputs + c->program->output_count, &residuals);
    const void *value = !tree    ? NULL
                        : linear ? pith_none_make(pithp_on_behalf(c->s))
                                 : pithp_derivation_value(c, outputs);
    const void *result = value ? pithp_derivation_tuple(c, value, tree, outputs) : NULL;
    if (result)
        c->attached = make_linear(c, split, stays, residuals, reverse);
    return result;
}

static const void *derive_map(pithp_derivation_call *c, bool reverse) {
    pithp_split split;
    if (!pithp_split_make(c, reverse, true, &split))
        return NULL;
    const void *result = add_split(c, &split, reverse);
    pithp_split_end(&split);
    return result;
}

static const void *push_map(pithp_derivation_call *c) {
    return derive_map(c, false);
}

static const void *pull_map(pithp_derivation_call *c) {
    return derive_map(c, true);
}

static const pithp_derived_kind linearize_kind = {.function = "pith_linearize",
                                                  .derive = push_map};
static const pithp_derived_kind transpose_kind = {.function = "pith_linear_transpose",
                                                  .linear = true,
                                                  .reverse = true,
                                                  .derive = pull_map};
const pithp_derived_kind pithp_vjp_kind = {.function = "pith_vjp",
                                           .reverse = true,
                                           .derive = pull_map};

/* ---- Calls ---- */

/* Whether a leaf of a tree is traced. */
static bool is_traced(pith_scope *s, const void *tree) {
    pithp_flat f;
    bool traced = false;
    if (pithp_flat_make(s, &f, tree, NULL, NULL) != PITH_OK)
        return false;
    for (int64_t k = 0; k < f.structure.item_count; k++)
        traced |= pithp_array_is_traced(f.items[k]);
    pithp_flat_end(&f);
    return traced;
}

/* Whether a call on s is recorded: a leaf of an argument or a bound tree is traced. */
static bool
is_recorded(pith_scope *s, const pith_function *f, const void *const *primals) {
    bool traced = false;
    if (!pithp_scope_trace(s))
        return false;
    for (int i = 0; i < f->arity; i++)
        traced = traced || is_traced(s, primals[i]);
    const int64_t bound = pithp_function_bound(f, 0, NULL);
    const void **trees = pithp_scope_allocate(s, ((size_t)bound + 1) * sizeof *trees);
    if (!trees)
        return false;
    pithp_function_bound(f, bound, trees);
    for (int64_t k = 0; k < bound; k++)
        traced = traced || is_traced(s, trees[k]);
    return traced;
}

/* Other handles to the residuals, so that a primal among them is not donated. NULL: error
 * set. */
static const void *hold_residuals(pith_scope *s, const void *residuals) {
    const int64_t count = pith_child_count(residuals);
    const pith_array **arrays =
        pithp_scope_allocate(s, (2 * (size_t)count + 1) * sizeof *arrays);
    if (!arrays)
        return NULL;
    for (int64_t k = 0; k < count; k++)
        arrays[k] = pith_child(residuals, k);
    return pithp_arrays_view(s, count, arrays, arrays + count) == PITH_OK
               ? pith_tuple_make(pithp_on_behalf(s), count,
                                 (const void *const *)(arrays + count))
               : NULL;
}

/* The results of a derivation, in s. */
static void give(pith_scope *s,
                 const pith_function *f,
                 const pith_derive_options *o,
                 const void *made,
                 pithp_linear *linear,
                 bool recorded,
                 pith_linearized *result) {
    const void *residuals = pith_child(made, 1);
    if (!recorded)
        residuals = hold_residuals(s, residuals);
    const pith_function *map =
        residuals ? pithp_map_make(s, linear, f->name, residuals) : NULL;
    if (map && !recorded && !pithp_cotangents_marked(linear))
        map = (pith_jit)(pithp_on_behalf(s), map, NULL);
    if (!map)
        return;
    result->value = pith_child(made, 0);
    result->aux = o->aux ? pith_child(made, 2) : NULL;
    result->map = map;
}

static pith_linearized linearize(pith_scope *s,
                                 const pithp_derived_kind *kind,
                                 const pith_function *f,
                                 const void *const *primals,
                                 const pith_derive_options *o) {
    pith_linearized result = {NULL, NULL, NULL};
    pithp_attached *attached = NULL;
    const bool recorded = is_recorded(s, f, primals);
    pith_scope *work = pithp_temporaries_open(s);
    if (!work)
        return result;
    pith_function like = *f;
    like.result = NULL;
    const pith_function *derived = pithp_derived_make(work, kind, f, &like, NULL, o);
    if (derived && !recorded)
        derived = pithp_derived_compile(work, derived, f);
    const void *made = NULL;
    if (derived && recorded)
        made = pithp_derived_call_linear(derived, s, primals, &attached);
    else if (derived)
        made =
            pithp_jit_run_recorded(pithp_jit_closure_of(derived), s, primals, &attached);
    if (made && !recorded)
        pithp_jit_note_apart(s, kind->function, f, derived);
    if (made && attached)
        give(s, f, o, made, (pithp_linear *)(void *)attached, recorded, &result);
    pithp_attached_release(attached);
    pith_scope_close(work); /* its error moves to s */
    return pith_failed(s) ? (pith_linearized){NULL, NULL, NULL} : result;
}

static bool check(pith_scope *s,
                  const char *name,
                  const pith_function *f,
                  int64_t count,
                  const void *const *primals,
                  const pith_derive_options *options,
                  pith_derive_options *o) {
    return pithp_derive_check(s, name, f, options, o) == PITH_OK &&
           pithp_jit_check_count(s, f, count, primals, name) == PITH_OK &&
           pithp_arguments_check(s, f, primals) == PITH_OK;
}

pith_linearized pith_linearize(pith_scope *s,
                               const pith_function *function,
                               int64_t count,
                               const void *const *primals,
                               const pith_derive_options *options) {
    PITHP_IN_FLIGHT(s, "pith_linearize");
    pith_derive_options o;
    if (!pithp_enter(s) ||
        !check(s, "pith_linearize", function, count, primals, options, &o))
        return (pith_linearized){NULL, NULL, NULL};
    return linearize(s, &linearize_kind, function, primals, &o);
}

pith_linearized pith_vjp(pith_scope *s,
                         const pith_function *function,
                         int64_t count,
                         const void *const *primals,
                         const pith_derive_options *options) {
    PITHP_IN_FLIGHT(s, "pith_vjp");
    pith_derive_options o;
    if (!pithp_enter(s) || !check(s, "pith_vjp", function, count, primals, options, &o))
        return (pith_linearized){NULL, NULL, NULL};
    return linearize(s, &pithp_vjp_kind, function, primals, &o);
}

/* A tree of zeros. NULL: error set. */
static const void *zeros_like(pith_scope *s, const pithp_structure *t) {
    const pith_array **items =
        pithp_scope_allocate(s, ((size_t)t->item_count + 1) * sizeof *items);
    for (int64_t k = 0; items && k < t->item_count; k++) {
        pith_shape shape = {.rank = t->specs[k]->rank};
        memcpy(shape.extents, t->specs[k]->shape, sizeof shape.extents);
        if (!(items[k] = pith_zeros(pithp_on_behalf(s), t->specs[k]->dtype, shape)))
            return NULL;
    }
    return items ? pithp_tangent_build(s, t, items) : NULL;
}

/* The argument of a tree or a structure. NULL: error set. */
static const void *argument_like(pith_scope *s, const char *name, const void *like) {
    pithp_block *block = NULL;
    if (pithp_pointer_check(like, &block) != PITHP_POINTER_OK ||
        pithp_kind_of(like) != PITHP_KIND_TREEDEF)
        return pithp_tree_check(s, like, name, "like") == PITH_OK ? like : NULL;
    const pithp_structure *t = pithp_treedef_check(s, like, name, "like");
    if (t && t->picked)
        pithp_fail(s, PITH_E_ARG, NULL, "%s: like: the structure has places for any tree",
                   name);
    return t && !t->picked ? zeros_like(s, t) : NULL;
}

const pith_function *
pith_linear_transpose(pith_scope *s, const pith_function *function, const void *like) {
    static const char *const name = "pith_linear_transpose";
    PITHP_IN_FLIGHT(s, "pith_linear_transpose");
    pith_derive_options o;
    if (!pithp_enter(s) || pithp_step_check(s, function, name) != PITH_OK ||
        pithp_derive_check(s, name, function, NULL, &o) != PITH_OK)
        return NULL;
    const void *argument = argument_like(s, name, like);
    return argument && pithp_arguments_check(s, function, &argument) == PITH_OK
               ? linearize(s, &transpose_kind, function, &argument, &o).map
               : NULL;
}
