/* Outputs that only checks use: one buffer per run, without arrays. */
#include "trace/jit/jit_internal.h"

/* ---- The buffer of a run ---- */

static bool is_written(const pithp_jit_program *p, int64_t k) {
    const pithp_place place = pithp_plan_output(p->plan, k);
    return place.store == PITHP_IN_OUTPUT && place.at == k;
}

static bool may_be_handed_on(const pithp_jit_program *p, int64_t k) {
    return p->plan->aliases && p->plan->aliases[k].count;
}

/* Flags are contiguous, so that they are tested together. */
static bool is_flag(const pithp_jit_program *p, int64_t k) {
    return is_written(p, k) && !may_be_handed_on(p, k) &&
           pithp_checks_is_flag(p->checks, k - p->outputs.result_count);
}

static int64_t take(pithp_jit_program *p, int64_t k) {
    const pithp_program *program = p->plan->program;
    const pith_spec *spec = pithp_value_spec(program, program->outputs[k]);
    const size_t alignment = spec->count == 1 ? spec->bytes : PITHP_ALIGNMENT;
    const size_t at = (p->check_outputs.bytes + alignment - 1) & ~(alignment - 1);
    p->check_outputs.bytes = at + spec->bytes;
    return (int64_t)at;
}

pith_status pithp_jit_place_check_outputs(pith_scope *s, pithp_jit_program *p) {
    const int64_t first = p->outputs.result_count, count = p->outputs.leaf_count - first;
    const size_t bytes = (size_t)count * sizeof *p->check_outputs.offsets;
    if (!count)
        return PITH_OK;
    if (!(p->check_outputs.offsets = pithp_allocate(s->runtime, bytes)))
        return pithp_fail_memory(s, bytes);
    for (int64_t k = 0; k < count; k++)
        p->check_outputs.offsets[k] = is_flag(p, first + k) ? take(p, first + k) : 0;
    p->check_outputs.flag_count = (int64_t)p->check_outputs.bytes;
    bool any = p->check_outputs.flag_count > 0;
    for (int64_t k = 0; k < count; k++)
        if (is_written(p, first + k) && !is_flag(p, first + k)) {
            p->check_outputs.offsets[k] = take(p, first + k);
            any = true;
        }
    if (any && !p->check_outputs.bytes) /* all are empty, but need an address */
        p->check_outputs.bytes = 1;
    return PITH_OK;
}

/* The buffer output that holds output k; -1: it is, or may be, elsewhere. */
static int64_t held_as(const pithp_jit_program *p, int64_t k) {
    const pithp_jit_leaf *leaf = &p->outputs.leaves[k];
    if (leaf->source == PITHP_LEAF_SAME)
        k = leaf->at;
    return p->outputs.leaves[k].source == PITHP_LEAF_HELD && !may_be_handed_on(p, k) ? k
                                                                                     : -1;
}

pith_status pithp_jit_lay_out(pith_scope *s, pithp_jit_program *p) {
    const int64_t first = p->outputs.result_count, count = p->outputs.leaf_count - first;
    const size_t bytes = (size_t)count * sizeof(int64_t);
    if (!count)
        return PITH_OK;
    int64_t *places = pithp_allocate(s->runtime, bytes);
    p->check_outputs.apart = pithp_allocate(s->runtime, bytes);
    if (places && p->check_outputs.apart) {
        for (int64_t k = first; k < p->outputs.leaf_count; k++) {
            const int64_t held = held_as(p, k);
            places[k - first] = held < 0 ? -1 : p->check_outputs.offsets[held - first];
            if (held < 0)
                p->check_outputs.apart[p->check_outputs.apart_count++] = k;
        }
        pithp_checks_lay_out(p->checks, places, p->check_outputs.flag_count);
    } else {
        pithp_fail_memory(s, bytes);
    }
    pithp_release(s->runtime, places, bytes);
    return s->error.code;
}

void pithp_jit_release_check_outputs(pithp_jit_program *p) {
    const size_t bytes =
        (size_t)(p->outputs.leaf_count - p->outputs.result_count) * sizeof(int64_t);
    pithp_release(p->runtime, p->check_outputs.offsets, bytes);
    pithp_release(p->runtime, p->check_outputs.apart, bytes);
}

/* ---- Runs ---- */

pith_status pithp_jit_hold(pithp_jit_running *r) {
    const pithp_jit_program *p = r->p;
    if (!p->check_outputs.bytes)
        return PITH_OK;
    if (!(r->held = pithp_buffer_make(r->s, p->check_outputs.bytes)))
        return r->s->error.code;
    char **const outputs = (char **)r->outputs + p->outputs.result_count;
    char *const data = r->held->data;
    const int64_t *const at = p->check_outputs.offsets,
                         count = p->outputs.leaf_count - p->outputs.result_count;
    for (int64_t k = 0; k < count; k++)
        outputs[k] = data + at[k];
    return PITH_OK;
}

const pith_array *pithp_jit_handed_on(const pithp_jit_running *r, int64_t k) {
    const pithp_input_aliases *from = &r->p->plan->aliases[k];
    int o = 0;
    while (o < from->count - 1 && r->addresses[from->inputs[o]] != r->outputs[k])
        o++;
    return r->inputs[from->inputs[o]];
}

static pithp_held of_array(const pith_array *a) {
    return (pithp_held){a->data, pithp_array_buffer(a)};
}

/* Output k, a check value that is not always in the buffer. */
static pithp_held value_apart(const pithp_jit_running *r, int64_t k) {
    const pithp_jit_program *p = r->p;
    const pithp_plan *plan = p->plan;
    const pithp_jit_leaf *leaf = &p->outputs.leaves[k];
    if (leaf->source == PITHP_LEAF_SAME) {
        k = leaf->at;
        if (k < p->outputs.result_count)
            return of_array(r->items[k]);
        leaf = &p->outputs.leaves[k];
    }
    switch (leaf->source) {
        case PITHP_LEAF_HELD:
            return r->outputs[k] == (char *)r->held->data + leaf->at
                       ? (pithp_held){r->outputs[k], r->held}
                       : of_array(pithp_jit_handed_on(r, k));
        case PITHP_LEAF_INPUT:
            return of_array(r->inputs[leaf->at]);
        case PITHP_LEAF_CONSTANT: {
            const pithp_constant *constant = &plan->program->constants[leaf->at];
            return (pithp_held){(void *)(uintptr_t)constant->data, constant->buffer};
        }
        case PITHP_LEAF_LITERAL:
            return (pithp_held){(char *)plan->literals->data + leaf->at, plan->literals};
        case PITHP_LEAF_SAME: /* resolved above */
        case PITHP_LEAF_MADE: /* only for results */
            break;
    }
    return (pithp_held){NULL, NULL};
}

pith_status pithp_jit_make_checks(pithp_jit_running *r) {
    const pithp_jit_program *p = r->p;
    for (int64_t k = 0; k < p->check_outputs.apart_count; k++)
        r->apart[k] = value_apart(r, p->check_outputs.apart[k]);
    return pithp_checks_make(r->s, p->checks,
                             &(pithp_run_values){.buffer = r->held, .apart = r->apart});
}
