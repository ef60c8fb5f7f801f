/* Tracing: the function runs once with traced leaves. */
#include "program/pass/pass.h"
#include "trace/jit/jit_internal.h"

#include <string.h>

/* ---- Arguments ---- */

/* The trees of the call with traced leaves; static leaves are concrete. */
static pith_status
trace_trees(pith_scope *s, const pithp_jit_call *c, pithp_trace *t, const void **trees) {
    const bool hooks = pithp_hooks_run(s);
    int64_t item = 0;
    pith_scope_set_validation(s, false); /* the trees were checked when they were made */
    for (int64_t k = 0; k < c->tree_count && !pith_failed(s); k++) {
        const pithp_flat *f = &c->flats[k];
        const size_t bytes = (size_t)f->structure.item_count * sizeof *f->items;
        const pith_array **traced = pithp_scope_allocate(s, bytes + 1);
        for (int64_t i = 0; traced && i < f->structure.item_count; i++, item++)
            traced[i] = c->is_static && c->is_static[item]
                            ? f->items[i]
                            : pithp_trace_input(s, t, f->structure.specs[i]);
        if (!pith_failed(s))
            trees[k] =
                pithp_build_made(s, &f->structure, pithp_owner_of(c->trees[k]), traced);
    }
    pith_scope_set_validation(s, hooks);
    return s->error.code;
}

/* The function's result for traced arguments. NULL: error set. */
static const void *call_traced(pith_scope *s, const pithp_jit_call *c, pithp_trace *t) {
    const void **trees = pithp_scope_allocate(s, (size_t)c->tree_count * sizeof *trees);
    if (!trees || trace_trees(s, c, t, trees) != PITH_OK)
        return NULL;
    const pith_function *f =
        pithp_function_rebind(s, c->function, trees + c->argument_count);
    if (!f)
        return NULL;
    const void *result = pith_call(pithp_on_behalf(s), f, c->argument_count, trees);
    return pithp_trace_settle(s, t) == PITH_OK ? result : NULL;
}

/* ---- Results ---- */

/* Add leaves of the result as outputs; concrete ones are constants. */
static pith_status add_outputs(pith_scope *s,
                               const pithp_jit_call *c,
                               pithp_trace *t,
                               const pithp_flat *result) {
    for (int64_t k = 0; k < result->structure.item_count; k++) {
        const pith_array *a = result->items[k];
        if (pithp_leaf_check(s, a, c->function->name, "result") != PITH_OK) {
            pithp_item_prefix(s, &result->structure, k);
            return s->error.code;
        }
        const pithp_value v = pithp_trace_value(s, t, a);
        if (v < 0 || !pithp_program_output(s, t->program, v))
            return s->error.code;
    }
    return PITH_OK;
}

/* The source of output k after a run. */
static pithp_jit_leaf leaf_of(const pithp_jit_program *p, int64_t k) {
    const pithp_program *program = p->plan->program;
    const pithp_place place = pithp_plan_output(p->plan, k);
    pithp_jit_leaf leaf = {.at = place.at,
                           .spec = k < p->outputs.result_count
                                       ? p->outputs.result.specs[k]
                                       : pithp_value_spec(program, program->outputs[k])};
    switch (place.store) {
        case PITHP_IN_INPUT:
            leaf.source = PITHP_LEAF_INPUT;
            break;
        case PITHP_IN_CONSTANT:
            leaf.source = PITHP_LEAF_CONSTANT;
            break;
        case PITHP_IN_LITERALS:
            leaf.source = PITHP_LEAF_LITERAL;
            break;
        case PITHP_IN_OUTPUT:
            if (place.at != k) {
                leaf.source = PITHP_LEAF_SAME;
            } else if (k < p->outputs.result_count) {
                leaf.source = PITHP_LEAF_MADE;
            } else {
                leaf.source = PITHP_LEAF_HELD;
                leaf.at = p->check_outputs.offsets[k - p->outputs.result_count];
            }
            break;
        case PITHP_IN_WORKSPACE:
        case PITHP_FORWARDED:
        case PITHP_NOWHERE:
            PITH_ASSERT(false);
            break;
    }
    return leaf;
}

static pith_status list_leaves(pith_scope *s, pithp_jit_program *p) {
    const size_t bytes = (size_t)p->outputs.leaf_count * sizeof *p->outputs.leaves;
    p->outputs.leaves = pithp_allocate(s->runtime, bytes);
    if (bytes && !p->outputs.leaves)
        return pithp_fail_memory(s, bytes);
    for (int64_t k = 0; k < p->outputs.leaf_count; k++)
        p->outputs.leaves[k] = leaf_of(p, k);
    return PITH_OK;
}

static pith_status lay_out_made(pith_scope *s, pithp_jit_program *p) {
    const size_t bytes = ((size_t)p->outputs.result_count + 1) * sizeof(pith_spec *);
    const pith_spec **specs = pithp_allocate(s->runtime, bytes);
    if (!specs)
        return pithp_fail_memory(s, bytes);
    for (int64_t k = 0; k < p->outputs.result_count; k++)
        specs[k] = p->outputs.leaves[k].source == PITHP_LEAF_MADE
                       ? p->outputs.leaves[k].spec
                       : NULL;
    const pith_status rc =
        pithp_layout_make(s, &p->outputs.made, p->outputs.result_count, specs);
    pithp_release(s->runtime, specs, bytes);
    return rc;
}

/* ---- Leaves not made, or not always made, by a run ---- */

/* The run of leaf k only; empty if the leaf is always made. */
static pithp_jit_rest rest_of(const pithp_jit_program *p, int64_t k) {
    const pithp_plan *plan = p->plan;
    const pithp_jit_leaf *leaf = &p->outputs.leaves[k];
    const bool made = leaf->source == PITHP_LEAF_MADE,
               may = made && plan->aliases && plan->aliases[k].count,
               as_it_is = leaf->source == PITHP_LEAF_INPUT && !p->key.sharded &&
                          pithp_value_spec(plan->program,
                                           plan->program->inputs[leaf->at]) == leaf->spec;
    return (pithp_jit_rest){.leaf = k,
                            .count = !made || may,
                            .input = as_it_is ? leaf->at : -1,
                            .made = made};
}

/* Whether a leaf continues the run. */
static bool continues(const pithp_jit_rest *run, const pithp_jit_rest *next) {
    return run->leaf + run->count == next->leaf && run->made == next->made &&
           next->input == (run->input < 0 ? -1 : run->input + run->count);
}

/* Store the runs into `runs` (NULL: count only); returns their number. */
static int64_t find_rest(const pithp_jit_program *p, pithp_jit_rest *runs) {
    pithp_jit_rest last = {0};
    int64_t count = 0;
    for (int64_t k = 0; k < p->outputs.result_count; k++) {
        const pithp_jit_rest next = rest_of(p, k);
        if (!next.count)
            continue;
        if (count && continues(&last, &next)) {
            last.count++;
        } else {
            last = next;
            count++;
        }
        if (runs)
            runs[count - 1] = last;
    }
    return count;
}

static pith_status list_rest(pith_scope *s, pithp_jit_program *p) {
    p->outputs.rest_runs = find_rest(p, NULL);
    const size_t bytes = (size_t)p->outputs.rest_runs * sizeof *p->outputs.rest;
    if (!bytes)
        return PITH_OK;
    p->outputs.rest = pithp_allocate(s->runtime, bytes);
    if (!p->outputs.rest)
        return pithp_fail_memory(s, bytes);
    find_rest(p, p->outputs.rest);
    for (int64_t k = 0; k < p->outputs.rest_runs; k++) {
        p->outputs.rest_count += p->outputs.rest[k].count;
        p->outputs.may_forward |= p->outputs.rest[k].made;
    }
    for (int64_t k = 0; k < p->outputs.result_count; k++)
        p->outputs.returns |= p->outputs.leaves[k].source == PITHP_LEAF_INPUT;
    p->outputs.returns |= p->outputs.may_forward;
    return PITH_OK;
}

/* ---- Cache key of the program ---- */

static pith_status copy_bytes(pith_scope *s, char **to, const void *from, size_t bytes) {
    if (!bytes)
        return PITH_OK;
    *to = pithp_allocate(s->runtime, bytes);
    if (!*to)
        return pithp_fail_memory(s, bytes);
    memcpy(*to, from, bytes);
    return PITH_OK;
}

static pith_status
copy_key(pith_scope *s, const pithp_jit_call *c, pithp_jit_program *p) {
    const size_t trees = (size_t)c->tree_count * sizeof *p->key.trees;
    pith_status rc;
    p->key.hash = c->hash;
    p->key.modes = c->modes;
    p->key.derived_bytes = c->derived_bytes;
    p->key.argument_count = c->argument_count;
    p->key.item_count = c->item_count;
    p->key.static_count = c->static_count;
    PITH_TRY(copy_bytes(s, &p->key.identity, c->jit->identity, c->jit->identity_bytes));
    p->key.identity_bytes = c->jit->identity_bytes;
    PITH_TRY(copy_bytes(s, &p->key.static_bytes, c->static_bytes, c->static_size));
    p->key.static_size = c->static_size;
    if (c->is_static) {
        char *marks = NULL;
        PITH_TRY(copy_bytes(s, &marks, c->is_static, (size_t)c->item_count + 1));
        p->key.is_static = (bool *)(void *)marks;
    }
    if (c->repeats) {
        char *copy = NULL;
        PITH_TRY(
            copy_bytes(s, &copy, c->repeats, (size_t)c->item_count * sizeof *c->repeats));
        p->key.repeats = (int64_t *)(void *)copy;
    }
    p->key.trees = pithp_allocate(s->runtime, trees);
    if (!p->key.trees)
        return pithp_fail_memory(s, trees);
    memset(p->key.trees, 0, trees);
    p->key.tree_count = c->tree_count;
    for (int64_t t = 0; t < c->tree_count; t++) {
        const pithp_structure *from = &c->flats[t].structure;
        PITH_TRY(pithp_structure_copy(s, &p->key.trees[t], from));
        for (int64_t k = 0; k < from->item_count && !p->key.sharded; k++)
            p->key.sharded = pithp_placement_of(from->specs[k]) != NULL;
    }
out:
    return rc;
}

/* ---- Recording ---- */

/* Find the inputs that the program reads; others need not be awaited. */
static pith_status
list_read(pith_scope *s, const pithp_jit_call *c, pithp_jit_program *p) {
    const pithp_program *program = p->plan->program;
    if (c->jit->keep_unused)
        return PITH_OK;
    p->is_read = pithp_allocate(s->runtime, (size_t)p->key.item_count + 1);
    if (!p->is_read)
        return pithp_fail_memory(s, (size_t)p->key.item_count + 1);
    memset(p->is_read, 0, (size_t)p->key.item_count + 1);
    for (int64_t k = 0; k < program->operand_count; k++)
        if (program->operands[k] < program->input_count)
            p->is_read[program->operands[k]] = true;
    for (int64_t k = 0; k < program->output_count; k++)
        if (program->outputs[k] < program->input_count)
            p->is_read[program->outputs[k]] = true;
    return PITH_OK;
}

/* Trees of other structures may have the same program: keys of dicts, names of members
 * and statics say which leaf is which. */
static uint64_t digest_structures(const pithp_jit_program *p) {
    uint64_t h = pithp_structure_digest(&p->outputs.result);
    for (int64_t t = 0; t < p->key.tree_count; t++)
        h = 31 * h + pithp_structure_digest(&p->key.trees[t]);
    return h;
}

static pith_status plan_program(pith_scope *s,
                                const pithp_jit_call *c,
                                pithp_jit_program *p,
                                const pithp_program *recorded) {
    pithp_program *program = pithp_program_optimise(s, recorded, PITHP_PASS_RUN);
    if (program && c->jit->fast_math) {
        pithp_program *exact = program;
        program = pithp_program_optimise(s, exact, PITHP_PASS_RELAX | PITHP_PASS_DEAD);
        pithp_program_release(exact);
    }
    p->executable = program ? pithp_executable_make(s, program, true) : NULL;
    pithp_program_release(program);
    if (!p->executable)
        return s->error.code;
    p->plan = p->executable->plan;
    p->plan->program->has_checks |= p->checks != NULL;
    pithp_plan_set_name(p->executable->plan, c->function->name);
    if (p->plan->program->has_collectives)
        p->executable->plan->structures = digest_structures(p);
    pithp_executable_profile(p->executable);
    p->bytes += pithp_executable_bytes(p->executable);
    pith_status rc;
    PITH_TRY(pithp_jit_place_check_outputs(s, p));
    PITH_TRY(list_leaves(s, p));
    PITH_TRY(pithp_jit_lay_out(s, p));
    PITH_TRY(lay_out_made(s, p));
    PITH_TRY(list_rest(s, p));
    PITH_TRY(pithp_jit_list_written(s, p));
    p->run_bytes = pithp_jit_run_bytes(p);
    p->outputs.plain = !p->checks && !p->donation.count && !p->outputs.rest_runs;
out:
    return rc;
}

/* Record the program and the structure of its result; s traces, and the caller closes
 * it. */
static pith_status
record_in(pith_scope *s, const pithp_jit_call *c, pithp_jit_program *p) {
    pithp_trace *t = pithp_trace_begin(s);
    if (!t)
        return s->error.code;
    const void *result = call_traced(s, c, t);
    if (t->program->has_collectives)
        atomic_store_explicit(&c->jit->collective, true, memory_order_relaxed);
    pithp_flat f;
    pith_status rc = s->error.code;
    if (result && (rc = pithp_flat_make(s, &f, result, NULL, NULL)) == PITH_OK) {
        p->outputs.result_count = f.structure.item_count;
        p->outputs.fits = pithp_result_fits(c->function, result);
        rc = add_outputs(s, c, t, &f);
        if (rc == PITH_OK && !pithp_checks_take(s, t, false, &p->checks))
            rc = s->error.code;
        p->outputs.leaf_count = p->outputs.result_count + pithp_checks_values(p->checks);
        if (rc == PITH_OK && t->program->has_collectives)
            rc = pithp_trace_check_variance(s, NULL, 0, NULL, NULL, NULL);
        if (rc == PITH_OK)
            rc = pithp_structure_copy(s, &p->outputs.result, &f.structure);
        p->outputs.result.hooks =
            false; /* hooks ran on the traced result, without values */
        pithp_flat_end(&f);
    }
    if ((p->attached = t->attached) != NULL)
        p->bytes += p->attached->bytes;
    t->attached = NULL;
    p->kept_bytes = t->kept_bytes;
    pithp_program *recorded = pithp_trace_end(s, t);
    if (rc == PITH_OK)
        rc = plan_program(s, c, p, recorded);
    pithp_program_release(recorded);
    return rc;
}

pithp_jit_program *pithp_jit_program_make(pith_scope *s, const pithp_jit_call *c) {
    pithp_jit_program *p = pithp_allocate(s->runtime, sizeof *p);
    if (!p) {
        pithp_fail_memory(s, sizeof *p);
        return NULL;
    }
    *p = (pithp_jit_program){.runtime = s->runtime, .bytes = sizeof *p};
    atomic_init(&p->refs, 1);
    if (copy_key(s, c, p) != PITH_OK) {
        pithp_jit_program_release(p);
        return NULL;
    }
    p->bytes += p->key.identity_bytes + p->key.static_size;
    for (int64_t t = 0; t < p->key.tree_count; t++)
        p->bytes += pithp_structure_bytes(&p->key.trees[t]);
    return p;
}

pithp_jit_program *pithp_jit_record(const pithp_jit_call *c) {
    pith_scope *s = pith_scope_open_in(c->s);
    if (!pithp_scope_writable(s)) {
        pithp_fail_memory(c->s, PITHP_BLOCK_BYTES);
        return NULL;
    }
    pithp_jit_program *p = pithp_jit_program_make(s, c);
    const bool done = p && pithp_jit_list_donated(c, p) == PITH_OK &&
                      record_in(s, c, p) == PITH_OK && list_read(s, c, p) == PITH_OK;
    const bool failed = !done || pith_failed(s);
    pith_scope_close(s);
    if (!failed && !pith_failed(c->s))
        return p;
    pithp_jit_program_release(p);
    return NULL;
}

void pithp_jit_program_release(pithp_jit_program *p) {
    if (!p || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) > 1)
        return;
    pith_runtime *rt = p->runtime;
    for (int64_t t = 0; t < p->key.tree_count; t++)
        pithp_structure_release(rt, &p->key.trees[t]);
    pithp_release(rt, p->key.trees, (size_t)p->key.tree_count * sizeof *p->key.trees);
    pithp_release(rt, p->key.identity, p->key.identity_bytes);
    pithp_release(rt, p->key.static_bytes, p->key.static_size);
    pithp_release(rt, p->key.repeats, (size_t)p->key.item_count * sizeof *p->key.repeats);
    pithp_release(rt, p->key.is_static, (size_t)p->key.item_count + 1);
    pithp_release(rt, p->outputs.leaves,
                  (size_t)p->outputs.leaf_count * sizeof *p->outputs.leaves);
    pithp_release(rt, p->is_read, (size_t)p->key.item_count + 1);
    pithp_jit_gifts_release(p);
    pithp_scratch_release(rt, p->spare, p->run_bytes);
    pithp_release(rt, p->outputs.rest,
                  (size_t)p->outputs.rest_runs * sizeof *p->outputs.rest);
    pithp_layout_release(rt, &p->outputs.made);
    pithp_jit_release_check_outputs(p);
    pithp_checks_release(p->checks);
    pithp_attached_release(p->attached);
    pithp_structure_release(rt, &p->outputs.result);
    pithp_program_release(p->part);
    pithp_executable_free(p->executable);
    pithp_release(rt, p, sizeof *p);
}
