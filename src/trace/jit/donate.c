/* Donation: results are made in donated memory, and other donated memory is released as
 * soon as the call has read it, for the next arrays. */
#include "trace/jit/donate.h"

#include <string.h>

/* ---- Making ---- */

static bool is_made(const pithp_jit_program *p, int64_t leaf) {
    return p->outputs.leaves[leaf].source == PITHP_LEAF_MADE;
}

static void
drop_made(const pithp_jit_running *r, const pithp_layout *l, const pith_array **items) {
    for (const pithp_array_run *run = l->runs; run < l->runs + l->run_count; run++)
        for (int64_t k = run->at; k < run->at + run->count; k++)
            pithp_array_drop(r->s, items[k]);
}

void pithp_jit_unmake(pithp_jit_running *r) {
    drop_made(r, &r->p->outputs.made, r->items);
}

/* Make leaves in the memory of gifts, all of which are granted; returns the number of
 * parts used. */
static int take_gifts(pithp_jit_running *r) {
    int k = 0;
    for (; k < r->part_count; k++) {
        const pithp_jit_part *part = &r->parts[k];
        const pithp_jit_gift *g = part->gift;
        const void **from = r->addresses + g->input + part->at;
        if (g->best != PITHP_JIT_WRITTEN)
            continue;
        if (pithp_arrays_over(r->s, g->spec, part->hold, part->count, from,
                              r->items + g->leaf + part->at) != PITH_OK)
            break;
        memcpy(r->outputs + g->leaf + part->at, from, (size_t)part->count * sizeof *from);
    }
    return k;
}

static pith_status make_at_best(pithp_jit_running *r) {
    const int taken = take_gifts(r);
    if (taken == r->part_count && pithp_arrays_lay_out(r->s, &r->p->donation.made_at_best,
                                                       r->items, r->outputs) == PITH_OK)
        return PITH_OK;
    for (const pithp_jit_part *part = r->parts; part < r->parts + taken; part++)
        for (int64_t k = 0; part->gift->best == PITHP_JIT_WRITTEN && k < part->count; k++)
            pithp_array_drop(r->s, r->items[part->gift->leaf + part->at + k]);
    return r->s->error.code;
}

/* Make leaves k in the memory of from[k], or as new arrays if that is NULL. */
static pith_status make_mixed(pithp_jit_running *r, const pith_array **from, int64_t w) {
    const pithp_jit_program *p = r->p;
    const pith_array **some = from + p->outputs.leaf_count;
    const pith_spec **specs = (const pith_spec **)(some + p->outputs.leaf_count);
    int64_t n = 0;
    for (int64_t k = 0; k < p->outputs.result_count; k++)
        if (from[k])
            some[n++] = from[k];
    if (pithp_arrays_view(r->s, w, some, some) != PITH_OK)
        return r->s->error.code;
    n = 0;
    for (int64_t k = 0; k < p->outputs.result_count; k++)
        if (from[k])
            r->items[k] = some[n++];
    n = 0;
    for (int64_t k = 0; k < p->outputs.result_count; k++)
        if (is_made(p, k) && !from[k])
            specs[n++] = p->outputs.leaves[k].spec;
    const pith_status rc = pithp_arrays_make(r->s, n, specs, some);
    n = 0;
    for (int64_t k = 0; k < p->outputs.result_count; k++)
        if (is_made(p, k) && !from[k] && rc == PITH_OK)
            r->items[k] = some[n++];
        else if (from[k] && rc != PITH_OK)
            pithp_array_drop(r->s, r->items[k]);
    for (int64_t k = 0; k < p->outputs.result_count && rc == PITH_OK; k++)
        if (is_made(p, k))
            r->outputs[k] = r->items[k]->data;
    return rc;
}

pith_status pithp_jit_make(pithp_jit_running *r) {
    const pithp_jit_program *p = r->p;
    int64_t written = 0;
    if (r->best && p->donation.best_written)
        return make_at_best(r);
    for (int64_t i = 0; i < p->donation.count && !r->best; i++)
        written += r->granted[i] == PITHP_JIT_WRITTEN;
    if (PITHP_LIKELY(!written))
        return pithp_arrays_lay_out(r->s, &p->outputs.made, r->items, r->outputs);
    const pith_array **from = (const pith_array **)r->lists;
    memset(from, 0, (size_t)p->outputs.leaf_count * sizeof *from);
    for (int64_t i = 0; i < p->donation.count; i++)
        if (r->granted[i] == PITHP_JIT_WRITTEN)
            from[p->donation.written[i]] = r->inputs[p->donation.inputs[i]];
    return make_mixed(r, from, written);
}

/* ---- After the run ---- */

/* Warn once per program about refused donations that the caller can fix. */
static void warn(const pithp_jit_running *r) {
    pithp_jit_program *p = r->p;
    int64_t count = 0, first = -1;
    for (int64_t i = 0; i < p->donation.count; i++)
        if (r->granted[i] == PITHP_JIT_REFUSED &&
            p->donation.written[i] != PITHP_RETURNED) {
            first = count++ ? first : i;
        }
    if (!count || p->checks || p->key.modes & PITHP_JIT_COLLECTED ||
        atomic_exchange(&p->donation.warned, true))
        return;
    int64_t tree = 0, item = p->donation.inputs[first];
    for (int64_t k = 0; p->key.is_static && k <= item; k++)
        item += p->key.is_static[k];
    while (item >= p->key.trees[tree].item_count)
        item -= p->key.trees[tree++].item_count;
    const pithp_buffer *b = pithp_array_buffer(r->inputs[p->donation.inputs[first]]);
    pithp_string path;
    pithp_string_begin(&path, p->runtime);
    pithp_structure_path(p->runtime, &p->key.trees[tree], item, &path);
    pithp_log(p->runtime, PITH_LOG_WARNING,
              "%lld of %lld donated leaves are kept: [%lld]%s%s in memory that %s",
              (long long)count, (long long)p->donation.count, (long long)tree, path.bytes,
              count > 1 ? " and others lie" : " lies",
              b->foreign ? "is the caller's own" : "other arrays use");
    pithp_string_end(&path);
}

/* Mark (or unmark) inputs that the run forwarded as results. */
static void mark_handed_on(const pithp_jit_running *r, bool on) {
    const pithp_jit_program *p = r->p;
    for (int64_t k = 0; p->outputs.may_forward && k < p->outputs.leaf_count; k++) {
        if (p->outputs.leaves[k].source != PITHP_LEAF_MADE)
            continue;
        const pithp_input_aliases *from = &p->plan->aliases[k];
        for (int o = 0; o < from->count; o++) {
            pithp_header *h = pithp_header_of(r->inputs[from->inputs[o]]);
            if (on && r->addresses[from->inputs[o]] == r->outputs[k])
                h->extra |= PITHP_GIVEN_SHARED;
            else if (!on)
                h->extra = (uint16_t)(h->extra & ~PITHP_GIVEN_SHARED);
        }
    }
}

/* Donate if all possible donations are granted, which is the common case. */
static void donate_best(const pithp_jit_running *r) {
    const pithp_jit_program *p = r->p;
    for (const pithp_jit_gift *g = p->donation.gifts;
         g < p->donation.gifts + p->donation.gift_count; g++)
        if (g->best != PITHP_JIT_REFUSED)
            pithp_arrays_donate(g->count, r->inputs + g->input, r->s->site);
    pithp_jit_note_donated(p->runtime, p->donation.best_granted,
                           p->donation.count - p->donation.best_granted,
                           p->donation.best_written);
}

void pithp_jit_donate(pithp_jit_running *r, bool failed) {
    const pithp_jit_program *p = r->p;
    int64_t granted = 0, written = 0;
    if (r->best && !failed && !p->outputs.may_forward) {
        donate_best(r);
        return;
    }
    mark_handed_on(r, true);
    if (PITHP_UNLIKELY(!failed && !p->donation.warned && !r->best))
        warn(r);
    for (int64_t i = 0; i < p->donation.count; i++) {
        const pith_array *a = r->inputs[p->donation.inputs[i]];
        const char how = r->best ? p->donation.best[i] : r->granted[i];
        if (how == PITHP_JIT_REFUSED || (failed && how != PITHP_JIT_WRITTEN) ||
            pithp_header_of(a)->extra) /* given twice, or forwarded */
            continue;
        pithp_array_donate(a, r->s->site);
        granted++;
        written += how == PITHP_JIT_WRITTEN;
    }
    mark_handed_on(r, false);
    if (!failed)
        pithp_jit_note_donated(p->runtime, granted, p->donation.count - granted, written);
}

/* ---- Recording ---- */

/* Size of the list p->donation.inputs. */
static size_t donated_bytes(const pithp_jit_program *p) {
    const size_t n = (size_t)p->key.item_count + 1;
    return n * (2 * sizeof *p->donation.inputs + 1);
}

pith_status pithp_jit_list_donated(const pithp_jit_call *c, pithp_jit_program *p) {
    const pithp_jit *jit = c->jit;
    pith_scope *s = c->s;
    if (!jit->donate_arguments && !jit->donate_paths)
        return PITH_OK;
    const size_t n = (size_t)c->item_count + 1;
    bool *marks = pithp_allocate(s->runtime, n);
    p->donation.inputs = pithp_allocate(s->runtime, donated_bytes(p));
    if (!marks || !p->donation.inputs) {
        pithp_release(s->runtime, marks, n);
        return pithp_fail_memory(s, donated_bytes(p));
    }
    p->donation.written = p->donation.inputs + n;
    p->donation.best = (char *)(p->donation.written + n);
    const int64_t count =
        pithp_jit_mark(c, jit->donate_arguments, jit->donate_paths, marks);
    for (int64_t k = 0, input = 0; count >= 0 && k < c->item_count; k++) {
        const bool is_static = c->is_static && c->is_static[k];
        if (marks[k] && !is_static)
            p->donation.inputs[p->donation.count++] = input;
        input += !is_static;
    }
    pithp_release(s->runtime, marks, n);
    return s->error.code;
}

static const pith_spec *donated_spec(const pithp_jit_program *p, int64_t i) {
    const pithp_program *program = p->plan->program;
    return pithp_value_spec(program, program->inputs[p->donation.inputs[i]]);
}

/* Whether donated input i continues the run of the previous one. */
static bool goes_on(const pithp_jit_program *p, int64_t i) {
    return i > 0 && p->donation.inputs[i] == p->donation.inputs[i - 1] + 1 &&
           donated_spec(p, i) == donated_spec(p, i - 1) &&
           p->donation.best[i] == p->donation.best[i - 1] &&
           (p->donation.best[i] != PITHP_JIT_WRITTEN ||
            p->donation.written[i] == p->donation.written[i - 1] + 1);
}

static pith_status list_gifts(pith_scope *s, pithp_jit_program *p) {
    for (int64_t i = 0; i < p->donation.count; i++) {
        p->donation.gift_count += !goes_on(p, i);
        p->donation.best_granted += p->donation.best[i] != PITHP_JIT_REFUSED;
        p->donation.best_written += p->donation.best[i] == PITHP_JIT_WRITTEN;
    }
    const size_t bytes = (size_t)p->donation.gift_count * sizeof *p->donation.gifts;
    p->donation.gifts = pithp_allocate(s->runtime, bytes);
    if (!p->donation.gifts)
        return pithp_fail_memory(s, bytes);
    pithp_jit_gift *g = p->donation.gifts - 1;
    for (int64_t i = 0; i < p->donation.count; i++) {
        if (!goes_on(p, i))
            *++g = (pithp_jit_gift){.donated = i,
                                    .input = p->donation.inputs[i],
                                    .leaf = p->donation.written[i],
                                    .spec = donated_spec(p, i),
                                    .best = p->donation.best[i]};
        g->count++;
    }
    return PITH_OK;
}

/* Layout of the remaining leaves if all gifts are granted. */
static pith_status lay_out_at_best(pith_scope *s, pithp_jit_program *p) {
    const size_t n = (size_t)p->outputs.result_count,
                 bytes = (n + 1) * sizeof(pith_spec *);
    const pith_spec **specs = pithp_allocate(s->runtime, bytes);
    if (!specs)
        return pithp_fail_memory(s, bytes);
    for (int64_t k = 0; k < p->outputs.result_count; k++)
        specs[k] = is_made(p, k) ? p->outputs.leaves[k].spec : NULL;
    for (int64_t i = 0; i < p->donation.count; i++)
        if (p->donation.best[i] == PITHP_JIT_WRITTEN)
            specs[p->donation.written[i]] = NULL;
    const pith_status rc =
        pithp_layout_make(s, &p->donation.made_at_best, p->outputs.result_count, specs);
    pithp_release(s->runtime, specs, bytes);
    return rc;
}

void pithp_jit_gifts_release(pithp_jit_program *p) {
    pith_runtime *rt = p->runtime;
    pithp_release(rt, p->donation.inputs, donated_bytes(p));
    pithp_release(rt, p->donation.gifts,
                  (size_t)p->donation.gift_count * sizeof *p->donation.gifts);
    pithp_layout_release(rt, &p->donation.made_at_best);
}

pith_status pithp_jit_list_written(pith_scope *s, pithp_jit_program *p) {
    if (!p->donation.count)
        return PITH_OK;
    const int64_t inputs = p->plan->program->input_count;
    const size_t bytes = (size_t)(inputs + 1);
    char *returned = pithp_allocate(s->runtime, bytes);
    if (!returned)
        return pithp_fail_memory(s, bytes);
    memset(returned, 0, bytes);
    for (int64_t k = 0; k < p->outputs.leaf_count; k++)
        if (p->outputs.leaves[k].source == PITHP_LEAF_INPUT)
            returned[p->outputs.leaves[k].at] = 1;
    if (!p->checks)
        pithp_executable_reuse(s, p->executable, p->donation.inputs, p->donation.count,
                               p->donation.written);
    for (int64_t i = 0; i < p->donation.count; i++) {
        const int64_t output = p->checks ? -1 : p->donation.written[i];
        p->donation.written[i] = returned[p->donation.inputs[i]] ? PITHP_RETURNED
                                 : output < 0                    ? PITHP_NOT_WRITTEN
                                                                 : output;
        p->donation.best[i] = p->donation.written[i] == PITHP_RETURNED ? PITHP_JIT_REFUSED
                              : p->donation.written[i] >= 0            ? PITHP_JIT_WRITTEN
                                                            : PITHP_JIT_GRANTED;
    }
    pithp_release(s->runtime, returned, bytes);
    if (s->error.code != PITH_OK || list_gifts(s, p) != PITH_OK)
        return s->error.code;
    return lay_out_at_best(s, p);
}
