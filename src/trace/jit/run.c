/* Running the program of a call. */
#include "trace/jit/jit_internal.h"

#include <stdio.h>
#include <string.h>

/* Arrays of one run; all lists lie in `memory`. */
typedef struct running {
    const pithp_jit_call *c;
    const pithp_jit_program *p;
    const pith_array **inputs; /* leaves that are no constants of the program */
    const void **addresses;    /* of inputs */
    const pith_array **made;
    void **outputs;           /* where those outputs are written that a run makes */
    const pith_array **items; /* all outputs */
    char *memory;
    size_t bytes;
    char few[8 * sizeof(void *) * PITHP_JIT_ITEMS];
} running;

static pith_status lay_out(running *r) {
    const size_t inputs = (size_t)(r->c->item_count - r->c->static_count),
                 made = (size_t)r->p->made_count, leaves = (size_t)r->p->leaf_count;
    r->bytes = (2 * inputs + made + 2 * leaves + 1) * sizeof(void *);
    r->memory = r->bytes <= sizeof r->few
                    ? r->few
                    : pithp_scratch_allocate(r->c->s->runtime, r->bytes);
    if (!r->memory)
        return pithp_fail_memory(r->c->s, r->bytes);
    r->inputs = (const pith_array **)(void *)r->memory;
    r->addresses = (const void **)(r->inputs + inputs);
    r->made = (const pith_array **)(r->addresses + inputs);
    r->outputs = (void **)(r->made + made);
    r->items = (const pith_array **)(r->outputs + leaves);
    return PITH_OK;
}

/* A leaf whose value cannot be read at once: awaited, or why it has none, at its path. */
static pith_status await(const pithp_jit_call *c, int64_t tree, int64_t k) {
    const pithp_flat *f = &c->flats[tree];
    char what[48];
    snprintf(what, sizeof what, "%s %d",
             tree < c->argument_count ? "argument" : "bound tree",
             (int)(tree < c->argument_count ? tree : tree - c->argument_count) + 1);
    const pith_status rc = pithp_array_check(c->s, f->items[k], c->function->name, what);
    if (rc != PITH_OK)
        pithp_item_prefix(c->s, &f->structure, k);
    return rc;
}

static pith_status read_inputs(running *r) {
    const pithp_jit_call *c = r->c;
    const pithp_stream *stream = pithp_scope_stream(c->s);
    int64_t item = 0, n = 0;
    for (int64_t t = 0; t < c->tree_count; t++) {
        const pithp_flat *f = &c->flats[t];
        for (int64_t k = 0; k < f->structure.item_count; k++, item++) {
            const pith_array *a = f->items[k];
            if (PITHP_UNLIKELY(c->is_static && c->is_static[item]))
                continue;
            if (PITHP_UNLIKELY(pithp_header_of(a)->extra ||
                               (pithp_array_buffer(a)->stream != stream &&
                                (!r->p->is_read || r->p->is_read[n]))) &&
                await(c, t, k) != PITH_OK)
                return c->s->error.code;
            r->inputs[n] = a;
            r->addresses[n++] = a->data;
        }
    }
    return PITH_OK;
}

static pith_status make_arrays(running *r) {
    const pithp_jit_program *p = r->p;
    if (p->made_count &&
        pithp_arrays_make(r->c->s, p->made_count, p->made, r->made) != PITH_OK)
        return r->c->s->error.code;
    for (int64_t k = 0; k < p->leaf_count; k++)
        r->outputs[k] = p->leaves[k].source == PITHP_LEAF_MADE
                            ? r->made[p->leaves[k].at]->data
                            : NULL;
    return PITH_OK;
}

/* An array with the spec of the leaf over the elements of another. */
static const pith_array *
share(pith_scope *s, const pithp_jit_leaf *leaf, const pith_array *with) {
    return pithp_array_spec(with) == leaf->spec
               ? with
               : pithp_array_view(s, leaf->spec, pithp_array_buffer(with), with->data);
}

/* The input that a run handed on as output k, in whose memory nothing was written. */
static const pith_array *handed_on(const running *r, int64_t k) {
    const pithp_jit_leaf *leaf = &r->p->leaves[k];
    const pithp_origins *from = &r->p->plan->origins[k];
    int o = 0;
    while (o < from->count - 1 && r->addresses[from->inputs[o]] != r->outputs[k])
        o++;
    pithp_array_drop(r->c->s, r->made[leaf->at]);
    return share(r->c->s, leaf, r->inputs[from->inputs[o]]);
}

static const pith_array *item_of(const running *r, int64_t k) {
    const pithp_plan *plan = r->p->plan;
    const pithp_jit_leaf *leaf = &r->p->leaves[k];
    pith_scope *s = r->c->s;
    switch (leaf->source) {
        case PITHP_LEAF_MADE:
            return PITHP_LIKELY(r->outputs[k] == r->made[leaf->at]->data)
                       ? r->made[leaf->at]
                       : handed_on(r, k);
        case PITHP_LEAF_SAME:
            return share(s, leaf, r->items[leaf->at]);
        case PITHP_LEAF_INPUT:
            return share(s, leaf, r->inputs[leaf->at]);
        case PITHP_LEAF_CONSTANT: {
            const pithp_constant *constant = &plan->program->constants[leaf->at];
            return pithp_array_view(s, leaf->spec, constant->buffer,
                                    (void *)(uintptr_t)constant->data);
        }
        case PITHP_LEAF_LITERAL:
            return pithp_array_view(s, leaf->spec, plan->literals,
                                    (char *)plan->literals->data + leaf->at);
    }
    return NULL;
}

/* The checks of the run, whose values are of no use afterwards. */
static pith_status make_checks(running *r) {
    const pithp_jit_program *p = r->p;
    pith_scope *s = r->c->s;
    if (PITHP_LIKELY(!p->checks))
        return PITH_OK;
    const pith_status rc = pithp_checks_replay(s, p->checks, r->items + p->result_count);
    for (int64_t k = p->result_count; k < p->leaf_count && rc == PITH_OK; k++)
        if (p->leaves[k].source == PITHP_LEAF_MADE &&
            r->items[k] == r->made[p->leaves[k].at])
            pithp_array_drop(s, r->items[k]);
    return rc;
}

/* The result around the arrays of the run. NULL: error set. */
static const void *build(running *r) {
    const pithp_jit_program *p = r->p;
    pith_scope *s = r->c->s;
    for (int64_t k = 0; k < p->leaf_count; k++)
        if (!(r->items[k] = item_of(r, k)))
            return NULL;
    if (make_checks(r) != PITH_OK)
        return NULL;
    if (pithp_structure_hold(s, &p->result) != PITH_OK)
        return NULL;
    return pithp_build(s, &p->result, NULL, r->items);
}

const void *
pithp_jit_run(const pithp_jit_call *c, const pithp_jit_program *p, int64_t *granted) {
    running r;
    r.c = c;
    r.p = p;
    if (lay_out(&r) != PITH_OK)
        return NULL;
    const void *result = NULL;
    if (read_inputs(&r) == PITH_OK && make_arrays(&r) == PITH_OK) {
        if (pithp_plan_pass(c->s, p->plan, r.addresses, r.outputs) == PITH_OK)
            result = build(&r);
        else
            for (int64_t k = 0; k < p->made_count; k++)
                pithp_array_drop(c->s, r.made[k]);
    }
    if (result)
        *granted = pithp_jit_donate(p, r.inputs, r.items);
    if (r.memory != r.few)
        pithp_scratch_release(c->s->runtime, r.memory, r.bytes);
    return result;
}
