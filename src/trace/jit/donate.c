/* Donated arguments: memory that nobody else uses is given back as soon as the call has
 * read it, so that the next arrays take it. */
#include "trace/jit/jit_internal.h"

#include <string.h>

/* On handles that the result shares, during a call; beside the bits of array_internal.h.
 */
enum { RETURNED = 1 << 15 };

static void mark_returned(const pithp_jit_program *p,
                          const pith_array *const *inputs,
                          const pith_array *const *items,
                          bool on) {
    for (int64_t k = 0; k < p->leaf_count; k++) {
        const bool input = p->leaves[k].source == PITHP_LEAF_INPUT;
        if (!input && (p->leaves[k].source != PITHP_LEAF_MADE || !p->plan->origins))
            continue; /* what is made may have been handed on in its place */
        pithp_header *h = pithp_header_of(input ? inputs[p->leaves[k].at] : items[k]);
        h->extra = (uint16_t)(on ? h->extra | RETURNED : h->extra & ~RETURNED);
    }
}

/* Whether these handles are all that holds their memory. */
static bool is_last(const pith_array *a, uint32_t handles) {
    const pithp_buffer *b = pithp_array_buffer(a);
    return !b->foreign && a->hold->live == handles &&
           atomic_load_explicit(&b->refs, memory_order_acquire) == 1;
}

/* Inputs from `first` on that lie in one buffer, side by side in the list; those that
 * were seen before are donated already. Returns how many inputs were looked at. */
static int64_t donate_run(const pithp_jit_program *p,
                          const pith_array *const *inputs,
                          int64_t first,
                          int64_t *granted) {
    const pithp_hold *hold = inputs[p->donated[first]]->hold;
    uint32_t handles = 0;
    if (pithp_header_of(inputs[p->donated[first]])->extra)
        return 1;
    int64_t end = first;
    for (; end < p->donated_count; end++) {
        const pith_array *a = inputs[p->donated[end]];
        pithp_header *h = pithp_header_of(a);
        if (h->extra) /* donated in this call, or returned */
            continue;
        if (a->hold != hold)
            break;
        h->extra = PITHP_ARRAY_DONATED;
        handles++;
    }
    const bool last = handles > 0 && is_last(inputs[p->donated[first]], handles);
    for (int64_t k = first; k < end; k++) {
        const pith_array *a = inputs[p->donated[k]];
        pithp_header *h = pithp_header_of(a);
        if (h->extra != PITHP_ARRAY_DONATED || a->hold != hold)
            continue;
        h->extra = 0;
        if (last) {
            pithp_array_donate(a);
            (*granted)++;
        }
    }
    return end - first;
}

int64_t pithp_jit_donate(const pithp_jit_program *p,
                         const pith_array *const *inputs,
                         const pith_array *const *items) {
    int64_t granted = 0;
    /* Where a check may fail the step may be repeated from the state before it. */
    if (PITHP_LIKELY(!p->donated_count) || p->checks || p->modes & PITHP_JIT_COLLECTED)
        return 0;
    mark_returned(p, inputs, items, true);
    for (int64_t k = 0; k < p->donated_count;)
        k += donate_run(p, inputs, k, &granted);
    mark_returned(p, inputs, items, false);
    return granted;
}

/* Which inputs the options donate; the structure of the call decides. */
pith_status pithp_jit_list_donated(const pithp_jit_call *c, pithp_jit_program *p) {
    const pithp_jit *jit = c->jit;
    pith_scope *s = c->s;
    if (!jit->donate_arguments && !jit->donate_paths)
        return PITH_OK;
    const size_t n = (size_t)c->item_count + 1;
    bool *marks = pithp_allocate(s->runtime, n);
    p->donated = pithp_allocate(s->runtime, n * sizeof *p->donated);
    if (!marks || !p->donated) {
        pithp_release(s->runtime, marks, n);
        return pithp_fail_memory(s, n * sizeof *p->donated);
    }
    const int64_t count =
        pithp_jit_mark(c, jit->donate_arguments, jit->donate_paths, marks);
    for (int64_t k = 0, input = 0; count >= 0 && k < c->item_count; k++) {
        const bool is_static = c->is_static && c->is_static[k];
        if (marks[k] && !is_static)
            p->donated[p->donated_count++] = input;
        input += !is_static;
    }
    pithp_release(s->runtime, marks, n);
    return s->error.code;
}
