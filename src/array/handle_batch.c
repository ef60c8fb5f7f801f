/* Batched handles: one slab of handles, one block of memory for small arrays, and one
 * update of the hold's use count. */
#include "array/handle.h"

static void release_buffer(pith_scope *s, void *thing) {
    (void)s;
    pithp_buffer_release(thing, 1);
}

pithp_hold *pithp_hold_buffer(pith_scope *s, pithp_buffer *buffer) {
    pithp_hold *hold = pithp_scope_hold(s, buffer, release_buffer);
    if (!hold)
        pithp_buffer_release(buffer, 1);
    return hold;
}

pithp_hold *pithp_share_hold(pith_scope *s, pithp_buffer *buffer) {
    pithp_hold *hold = pithp_scope_last_hold(s);
    if (hold && hold->thing == buffer && hold->live) {
        hold->live++;
        return hold;
    }
    pithp_buffer_retain(buffer, 1);
    return pithp_hold_buffer(s, buffer);
}

/* ---- New arrays ---- */

/* Arrays under construction: unwritten handles, and the memory shared by small ones. */
typedef struct making {
    pith_scope *s;
    char *handle;
    pithp_hold *shared; /* NULL: none is shared */
    char *cursor;
} making;

static pith_status fail_size(pith_scope *s, int64_t count) {
    return pithp_fail(s, PITH_E_OVERFLOW, NULL, "the size of %lld arrays overflows",
                      (long long)count);
}

static pith_status begin(making *m, pith_scope *s, int64_t count, size_t shared) {
    size_t bytes;
    if (pithp_mul_overflows((size_t)count, PITHP_HANDLE_BYTES, &bytes))
        return fail_size(s, count);
    *m = (making){.s = s, .handle = pithp_slab_make(s, bytes ? bytes : 1)};
    if (!m->handle)
        return PITH_E_MEMORY;
    if (shared == PITHP_NONE_SHARES)
        return PITH_OK;
    pithp_buffer *buffer = pithp_buffer_make(s, shared ? shared : 1);
    m->shared = buffer ? pithp_hold_buffer(s, buffer) : NULL;
    if (!m->shared)
        return s->error.code;
    m->cursor = buffer->data;
    return PITH_OK;
}

/* Make arrays of a spec in shared memory. */
static void
share(making *m, const pith_spec *spec, int64_t count, const pith_array **a, void **at) {
    const size_t step = pithp_array_step(spec);
    const pithp_words head = pithp_handle_head(spec), next = {step, 0};
    pithp_words body = {(uintptr_t)m->cursor, (uintptr_t)m->shared};
    pithp_words *handle = (pithp_words *)(void *)m->handle;
    for (int64_t k = 0; k < count; k++, body += next, handle += 2) {
        handle[0] = head;
        handle[1] = body;
        a[k] = (const pith_array *)(const void *)(handle + 1);
    }
    for (int64_t k = 0; at && k < count; k++)
        at[k] = m->cursor + (size_t)k * step;
    m->shared->live += (uint32_t)count;
    m->handle = (char *)handle;
    m->cursor += (size_t)count * step;
}

/* Make arrays of a spec with memory of their own; returns how many. */
static int64_t
apart(making *m, const pith_spec *spec, int64_t count, const pith_array **a, void **at) {
    int64_t k = 0;
    for (; k < count; k++) {
        pithp_buffer *buffer = pithp_buffer_make(m->s, spec->bytes);
        pithp_hold *hold = buffer ? pithp_hold_buffer(m->s, buffer) : NULL;
        pithp_header *h = (pithp_header *)(void *)m->handle;
        if (!hold)
            break;
        pithp_handle_init(h, spec, hold, buffer->data);
        a[k] = (const pith_array *)(h + 1);
        if (at)
            at[k] = buffer->data;
        m->handle += PITHP_HANDLE_BYTES;
    }
    return k;
}

static int64_t make_some(making *m,
                         const pith_spec *spec,
                         int64_t count,
                         const pith_array **a,
                         void **at) {
    if (!pithp_array_shares(spec))
        return apart(m, spec, count, a, at);
    share(m, spec, count, a, at);
    return count;
}

/* Drop this file's own use of the shared memory. */
static void end(const making *m) {
    if (m->shared)
        pithp_hold_drop(m->s, m->shared);
}

/* Bytes of the block of shared arrays, without missing ones; false: overflow. */
static bool shared_bytes(int64_t count, const pith_spec *const *specs, size_t *bytes) {
    const pith_spec *last = NULL; /* most have the previous spec */
    size_t step = 0, sum = 0;
    bool fits = true, shares = false;
    for (int64_t i = 0; i < count; i++) {
        if (PITHP_UNLIKELY(specs[i] != last)) {
            last = specs[i];
            step = last && pithp_array_shares(last) ? pithp_array_step(last) : 0;
            shares |= last && pithp_array_shares(last);
        }
        fits &= !pithp_add_overflows(sum, step, &sum);
    }
    *bytes = shares ? sum : PITHP_NONE_SHARES;
    return fits && (!shares || sum != PITHP_NONE_SHARES);
}

static int64_t count_equal(int64_t count, const pith_spec *const *specs) {
    int64_t k = 1;
    while (k < count && specs[k] == specs[0])
        k++;
    return k;
}

pith_status pithp_arrays_make(pith_scope *s,
                              int64_t count,
                              const pith_spec *const *specs,
                              const pith_array **arrays) {
    making m;
    size_t shared;
    if (!shared_bytes(count, specs, &shared))
        return fail_size(s, count);
    if (begin(&m, s, count, shared) != PITH_OK)
        return s->error.code;
    int64_t made = 0;
    for (int64_t now = 0, got = 0; made < count && got == now; made += got) {
        now = count_equal(count - made, specs + made);
        got = make_some(&m, specs[made], now, arrays + made, NULL);
    }
    end(&m);
    if (made == count)
        return PITH_OK;
    for (int64_t i = 0; i < made; i++)
        pithp_array_drop(s, arrays[i]);
    return s->error.code;
}

/* ---- Repeated layouts ---- */

pith_status pithp_layout_make(pith_scope *s,
                              pithp_layout *l,
                              int64_t count,
                              const pith_spec *const *specs) {
    *l = (pithp_layout){.shared = PITHP_NONE_SHARES};
    if (!shared_bytes(count, specs, &l->shared))
        return fail_size(s, count);
    for (int64_t k = 0, n; k < count; k += n) {
        n = count_equal(count - k, specs + k);
        l->count += specs[k] ? n : 0;
        l->run_count += specs[k] != NULL;
    }
    const size_t bytes = (size_t)l->run_count * sizeof *l->runs;
    if (l->run_count && !(l->runs = pithp_allocate(s->runtime, bytes)))
        return pithp_fail_memory(s, bytes);
    pithp_array_run *run = l->runs;
    for (int64_t k = 0, n; k < count; k += n) {
        n = count_equal(count - k, specs + k);
        if (specs[k])
            *run++ = (pithp_array_run){specs[k], n, k};
    }
    return PITH_OK;
}

void pithp_layout_release(pith_runtime *rt, const pithp_layout *l) {
    pithp_release(rt, l->runs, (size_t)l->run_count * sizeof *l->runs);
}

/* One array, the most common case. */
static pith_status lay_out_one(pith_scope *s,
                               const pithp_layout *l,
                               const pith_array **arrays,
                               void **data) {
    const pithp_array_run *run = l->runs;
    const size_t bytes = l->shared == PITHP_NONE_SHARES ? run->spec->bytes : l->shared;
    pithp_header *h = pithp_slab_make(s, PITHP_HANDLE_BYTES);
    if (PITHP_UNLIKELY(!h))
        return PITH_E_MEMORY;
    pithp_buffer *buffer = pithp_buffer_make(s, bytes ? bytes : 1);
    pithp_hold *hold = buffer ? pithp_hold_buffer(s, buffer) : NULL;
    if (PITHP_UNLIKELY(!hold))
        return s->error.code;
    pithp_handle_init(h, run->spec, hold, buffer->data);
    arrays[run->at] = (const pith_array *)(h + 1);
    data[run->at] = buffer->data;
    return PITH_OK;
}

pith_status pithp_arrays_lay_out(pith_scope *s,
                                 const pithp_layout *l,
                                 const pith_array **arrays,
                                 void **data) {
    making m;
    if (l->count == 1)
        return lay_out_one(s, l, arrays, data);
    if (!l->count)
        return PITH_OK;
    if (begin(&m, s, l->count, l->shared) != PITH_OK)
        return s->error.code;
    const pithp_array_run *run = l->runs, *last = run + l->run_count;
    int64_t got = 0;
    for (; run < last; run++) {
        got = make_some(&m, run->spec, run->count, arrays + run->at, data + run->at);
        if (PITHP_UNLIKELY(got < run->count))
            break;
    }
    end(&m);
    if (PITHP_LIKELY(run == last))
        return PITH_OK;
    for (int64_t i = 0; i < got; i++)
        pithp_array_drop(s, arrays[run->at + i]);
    while (run-- > l->runs)
        for (int64_t i = 0; i < run->count; i++)
            pithp_array_drop(s, arrays[run->at + i]);
    return s->error.code;
}

/* ---- Additional handles ---- */

pith_status pithp_arrays_over(pith_scope *s,
                              const pith_spec *spec,
                              const pithp_hold *from,
                              int64_t count,
                              const void *const *data,
                              const pith_array **arrays) {
    const pithp_words head = pithp_handle_head(spec);
    pithp_words *handle = pithp_slab_make(s, (size_t)count * PITHP_HANDLE_BYTES + 1);
    pithp_hold *hold = handle ? pithp_share_hold(s, from->thing) : NULL;
    if (!hold)
        return s->error.code;
    for (int64_t k = 0; k < count; k++, handle += 2) {
        handle[0] = head;
        handle[1] = (pithp_words){(uintptr_t)data[k], (uintptr_t)hold};
        arrays[k] = (const pith_array *)(const void *)(handle + 1);
    }
    hold->live += (uint32_t)(count - 1);
    return PITH_OK;
}

pith_status pithp_arrays_view(pith_scope *s,
                              int64_t count,
                              const pith_array *const *of,
                              const pith_array **arrays) {
    char *slab = pithp_slab_make(s, (size_t)count * PITHP_HANDLE_BYTES + 1);
    if (!slab)
        return PITH_E_MEMORY;
    int64_t made = 0;
    while (made < count) {
        const pithp_hold *from = of[made]->hold;
        pithp_hold *hold = pithp_share_hold(s, from->thing);
        if (!hold)
            break;
        const int64_t first = made;
        for (; made < count && of[made]->hold == from; made++) {
            pithp_header *h =
                (pithp_header *)(void *)(slab + (size_t)made * PITHP_HANDLE_BYTES);
            pithp_handle_init(h, pithp_array_spec(of[made]), hold, of[made]->data);
            arrays[made] = (const pith_array *)(h + 1);
        }
        hold->live += (uint32_t)(made - first - 1);
    }
    if (made == count)
        return PITH_OK;
    for (int64_t i = 0; i < made; i++)
        pithp_array_drop(s, arrays[i]);
    return s->error.code;
}
