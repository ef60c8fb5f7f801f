/* Running the program of a call: reads inputs, allocates results, makes checks, and
 * donates. */
#include "trace/jit/jit_internal.h"

#include <stdio.h>
#include <string.h>

/* ---- Memory of a run ---- */

size_t pithp_jit_run_bytes(const pithp_jit_program *p) {
    const size_t items = (size_t)p->key.item_count,
                 leaves = (size_t)p->outputs.leaf_count,
                 rest = (size_t)p->outputs.rest_count,
                 donated = (size_t)p->donation.count;
    const size_t apart = (size_t)p->check_outputs.apart_count;
    return (2 * items + 2 * leaves + 1 + rest + (donated ? 3 * leaves : 0)) *
               sizeof(void *) +
           apart * sizeof(pithp_held) + donated;
}

pith_status
pithp_jit_run_begin(pithp_jit_running *r, pith_scope *s, pithp_jit_program *p) {
    const int64_t items = p->key.item_count, leaves = p->outputs.leaf_count;
    void *memory = r->few;
    if (p->run_bytes > sizeof r->few) {
        memory = atomic_exchange_explicit(&p->spare, NULL, memory_order_acquire);
        if (!memory)
            memory = pithp_scratch_allocate(s->runtime, p->run_bytes);
        if (!memory)
            return pithp_fail_memory(s, p->run_bytes);
    }
    r->s = s;
    r->p = p;
    r->memory = memory;
    r->inputs = memory;
    r->addresses = (const void **)(r->inputs + items);
    r->outputs = (void **)(r->addresses + items);
    r->items = (const pith_array **)(r->outputs + leaves);
    if (PITHP_LIKELY(p->outputs.plain))
        return PITH_OK;
    r->lists = (const void **)(r->items + leaves);
    r->apart = (pithp_held *)(void *)(r->lists + p->outputs.rest_count +
                                      (p->donation.count ? 3 * leaves : 0));
    r->granted = (char *)(r->apart + p->check_outputs.apart_count);
    r->best = false;
    r->runs.count = 0;
    r->held = NULL;
    return PITH_OK;
}

void pithp_jit_run_end(pithp_jit_running *r) {
    if (r->memory == r->few)
        return;
    void *none = NULL;
    if (!atomic_compare_exchange_strong_explicit(
            &r->p->spare, &none, r->memory, memory_order_release, memory_order_relaxed))
        pithp_scratch_release(r->s->runtime, r->memory, r->p->run_bytes);
}

/* ---- Inputs ---- */

/* Wait for a leaf whose value is not available, or set the error with its path. */
static pith_status await(const pithp_jit_call *c, int64_t tree, int64_t k) {
    const pithp_flat *f = &c->flats[tree];
    char what[48];
    snprintf(what, sizeof what, "%s %d",
             tree < c->argument_count ? "argument" : "bound tree",
             (int)(tree < c->argument_count ? tree : tree - c->argument_count) + 1);
    const pith_status rc = pithp_leaf_check(c->s, f->items[k], c->function->name, what);
    if (rc != PITH_OK)
        pithp_item_prefix(c->s, &f->structure, k);
    return rc;
}

pith_status pithp_jit_run_read(pithp_jit_running *r, const pithp_jit_call *c) {
    const pithp_stream *stream = pithp_scope_stream(c->s);
    int64_t item = 0, n = 0;
    r->runs.count = PITHP_HELD_RUNS + 1; /* not searched */
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

/* Compare static leaves with those of the program, and remove them from the list. */
static bool match_statics(pithp_jit_running *r) {
    const pithp_jit_program *p = r->p;
    const pithp_device *d = pithp_scope_device(r->s);
    size_t at = 0;
    int64_t n = 0;
    r->runs.count = PITHP_HELD_RUNS + 1; /* positions change */
    if (!d->immediate || !d->backend->addressable || pithp_synchronise(r->s) != PITH_OK)
        return false;
    for (int64_t k = 0; k < p->key.item_count; k++) {
        const pith_array *a = r->inputs[k];
        if (!p->key.is_static[k]) {
            r->inputs[n] = a;
            r->addresses[n++] = a->data;
            continue;
        }
        const size_t bytes = pithp_array_spec(a)->bytes;
        if (bytes && memcmp(a->data, p->key.static_bytes + at, bytes) != 0)
            return false;
        at += bytes;
    }
    return true;
}

bool pithp_jit_run_match(pithp_jit_running *r, const void *const *trees, bool *alike) {
    const pithp_jit_program *p = r->p;
    pithp_held_runs *runs = PITHP_LIKELY(p->outputs.plain) ? NULL : &r->runs;
    int64_t item = 0;
    *alike = false;
    for (int64_t t = 0; t < p->key.tree_count; t++) {
        if (!pithp_structure_read(r->s, &p->key.trees[t], trees[t], item, r->inputs,
                                  r->addresses, runs))
            return false;
        item += p->key.trees[t].item_count;
    }
    *alike = true;
    return PITHP_LIKELY(!p->key.static_count) || match_statics(r);
}

/* ---- Results ---- */

/* An array with the spec of the leaf over the elements of another. */
static const pith_array *
share(pith_scope *s, const pithp_jit_leaf *leaf, const pith_array *with) {
    return pithp_array_spec(with) == leaf->spec
               ? with
               : pithp_array_view(s, leaf->spec, pithp_array_buffer(with), with->data);
}

/* Output k: the made array, or the input that the run forwarded instead. */
static const pith_array *made_or_handed_on(const pithp_jit_running *r, int64_t k) {
    const pith_array *made = r->items[k];
    if (r->outputs[k] == made->data)
        return made;
    pithp_array_drop(r->s, made); /* not written */
    return share(r->s, &r->p->outputs.leaves[k], pithp_jit_handed_on(r, k));
}

/* Output k, if not made by the run. */
static const pith_array *find_item(const pithp_jit_running *r, int64_t k) {
    const pithp_plan *plan = r->p->plan;
    const pithp_jit_leaf *leaf = &r->p->outputs.leaves[k];
    pith_scope *s = r->s;
    switch (leaf->source) {
        case PITHP_LEAF_MADE:
            return made_or_handed_on(r, k);
        case PITHP_LEAF_HELD: /* not for results */
            break;
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

/* Keep returned inputs, which may be in scopes that close before the result's. */
static pith_status keep_rest(pithp_jit_running *r) {
    const pithp_jit_program *p = r->p;
    const pith_array **list = (const pith_array **)r->lists;
    int64_t n = 0;
    for (const pithp_jit_rest *x = p->outputs.rest;
         x < p->outputs.rest + p->outputs.rest_runs; n += x++->count)
        memcpy(list + n, r->items + x->leaf, (size_t)x->count * sizeof *list);
    if (pithp_keep_leaves(r->s, n, list) != PITH_OK)
        return r->s->error.code;
    n = 0;
    for (const pithp_jit_rest *x = p->outputs.rest;
         x < p->outputs.rest + p->outputs.rest_runs; n += x++->count)
        memcpy(r->items + x->leaf, list + n, (size_t)x->count * sizeof *list);
    return PITH_OK;
}

/* Find leaves of the result that the run did not make. */
static pith_status find_rest(pithp_jit_running *r) {
    const pithp_jit_program *p = r->p;
    for (const pithp_jit_rest *x = p->outputs.rest;
         x < p->outputs.rest + p->outputs.rest_runs; x++) {
        if (x->input >= 0)
            memcpy(r->items + x->leaf, r->inputs + x->input,
                   (size_t)x->count * sizeof *r->items);
        for (int64_t k = x->leaf; x->input < 0 && k < x->leaf + x->count; k++)
            if (!(r->items[k] = find_item(r, k)))
                return r->s->error.code;
    }
    return p->outputs.returns ? keep_rest(r) : PITH_OK;
}

/* Build the result from the arrays of the run. NULL: error set. */
static const void *build(pithp_jit_running *r) {
    const pithp_jit_program *p = r->p;
    if (pithp_structure_hold(r->s, &p->outputs.result) != PITH_OK)
        return NULL;
    if (p->outputs.rest_count && find_rest(r) != PITH_OK)
        return NULL;
    if (PITHP_UNLIKELY(p->checks) && pithp_jit_make_checks(r) != PITH_OK)
        return NULL;
    return pithp_build_made(r->s, &p->outputs.result, NULL, r->items);
}

/* ---- Running ---- */

static const void *run_plain(pithp_jit_running *r) {
    const pithp_jit_program *p = r->p;
    if (pithp_arrays_lay_out(r->s, &p->outputs.made, r->items, r->outputs) != PITH_OK)
        return NULL;
    if (pithp_executable_pass(r->s, p->executable, r->addresses, r->outputs) == PITH_OK)
        return pithp_structure_hold(r->s, &p->outputs.result) == PITH_OK
                   ? pithp_build_made(r->s, &p->outputs.result, NULL, r->items)
                   : NULL;
    pithp_jit_unmake(r);
    return NULL;
}

const void *pithp_jit_run(pithp_jit_running *r) {
    const pithp_jit_program *p = r->p;
    const void *result = NULL;
    if (PITHP_LIKELY(p->outputs.plain))
        return run_plain(r);
    if (PITHP_UNLIKELY(p->donation.count > 0))
        pithp_jit_check_donations(r);
    if (pithp_jit_make(r) != PITH_OK)
        return NULL;
    for (const pithp_jit_rest *x = p->outputs.rest;
         x < p->outputs.rest + p->outputs.rest_runs; x++)
        if (!x->made)
            memset(r->outputs + x->leaf, 0, (size_t)x->count * sizeof *r->outputs);
    if (PITHP_LIKELY(!p->checks || pithp_jit_hold(r) == PITH_OK) &&
        pithp_executable_pass(r->s, p->executable, r->addresses, r->outputs) == PITH_OK)
        result = build(r);
    else
        pithp_jit_unmake(r);
    if (r->held)
        pithp_buffer_release(r->held, 1);
    if (PITHP_UNLIKELY(p->donation.count > 0))
        pithp_jit_donate(r, !result);
    return result;
}
