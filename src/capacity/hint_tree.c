/* Memory hints of existing objects: bytes of trees, and of a call while it runs. */
#include "pith/memory_hint.h"

#include "capacity/capacity_internal.h"
#include "gpu/memory/ledger.h"

#include <stdlib.h>
#include <string.h>

static const pith_memory_hint no_hint = {SIZE_MAX, SIZE_MAX};

pith_memory_hint pith_hint_of_tree(pith_scope *s, const void *tree) {
    pithp_flat f;
    size_t bytes = 0;
    bool fits = true;
    if (!pithp_enter(s) ||
        pithp_tree_check(s, tree, "pith_hint_of_tree", "tree") != PITH_OK ||
        pithp_flat_make(s, &f, tree, NULL, NULL) != PITH_OK)
        return no_hint;
    for (int64_t i = 0; i < f.structure.item_count && fits; i++)
        fits = !pithp_add_overflows(bytes, f.structure.specs[i]->bytes, &bytes);
    pithp_flat_end(&f);
    if (fits)
        return (pith_memory_hint){.persistent = bytes};
    pithp_fail(s, PITH_E_OVERFLOW, NULL,
               "pith_hint_of_tree: the bytes do not fit 64 bits");
    return no_hint;
}

/* Bytes per sample of a flat tree of n samples; false: error set. */
static bool batch_bytes(pith_scope *s, const pithp_flat *f, int64_t *n, size_t *bytes) {
    for (int64_t i = 0; i < f->structure.item_count; i++) {
        const pith_spec *spec = f->structure.specs[i];
        char text[PITHP_SPEC_TEXT_BYTES];
        if (i == 0 && spec->rank > 0)
            *n = spec->shape[0];
        if (spec->rank == 0 || spec->shape[0] != *n) {
            pithp_item_fail(s, &f->structure, i, PITH_E_SHAPE,
                            "pith_hint_of_batch: expected %lld samples along the first "
                            "axis, got %s",
                            (long long)*n, pithp_spec_print(spec, text));
            return false;
        }
        if (*n > 0 && pithp_add_overflows(*bytes, spec->bytes / (size_t)*n, bytes)) {
            pithp_fail(s, PITH_E_OVERFLOW, NULL,
                       "pith_hint_of_batch: the bytes do not fit 64 bits");
            return false;
        }
    }
    return true;
}

pith_memory_hint pith_hint_of_batch(pith_scope *s, const void *tree) {
    pithp_flat f;
    int64_t n = 0;
    size_t bytes = 0;
    if (!pithp_enter(s) ||
        pithp_tree_check(s, tree, "pith_hint_of_batch", "tree") != PITH_OK ||
        pithp_flat_make(s, &f, tree, NULL, NULL) != PITH_OK)
        return no_hint;
    const bool fine = batch_bytes(s, &f, &n, &bytes);
    pithp_flat_end(&f);
    if (fine && n == 0)
        pithp_fail(s, PITH_E_ARG, NULL, "pith_hint_of_batch: there are no samples");
    return fine && n > 0 ? (pith_memory_hint){.per_sample = bytes} : no_hint;
}

static int by_address(const void *a, const void *b) {
    const uintptr_t x = (uintptr_t) * (void *const *)a,
                    y = (uintptr_t) * (void *const *)b;
    return (x > y) - (x < y);
}

/* Bytes of the distinct buffers of these leaves; false: error set. */
static bool distinct_bytes(pith_scope *s,
                           int64_t count,
                           const pith_array *const *leaves,
                           const pithp_buffer **buffers,
                           size_t *bytes) {
    for (int64_t i = 0; i < count; i++) {
        if (pithp_array_is_traced(leaves[i])) {
            pithp_fail(s, PITH_E_TRACED, NULL,
                       "pith_tree_device_bytes: a traced leaf has no memory");
            pithp_trace_refuse(s, leaves[i]);
            return false;
        }
        buffers[i] = pithp_array_buffer(leaves[i]);
    }
    if (count)
        qsort(buffers, (size_t)count, sizeof *buffers, by_address);
    for (int64_t i = 0; i < count; i++)
        if (i == 0 || buffers[i] != buffers[i - 1])
            *bytes += buffers[i]->bytes;
    return true;
}

size_t pith_tree_device_bytes(pith_scope *s, const void *tree) {
    pithp_flat f;
    size_t bytes = 0;
    if (!pithp_enter(s) ||
        pithp_tree_check(s, tree, "pith_tree_device_bytes", "tree") != PITH_OK ||
        pithp_flat_make(s, &f, tree, NULL, NULL) != PITH_OK)
        return SIZE_MAX;
    const int64_t count = f.structure.item_count;
    const size_t room = ((size_t)count + 1) * sizeof(pithp_buffer *);
    const pithp_buffer **buffers = pithp_scratch_allocate(s->runtime, room);
    bool fine = buffers != NULL;
    if (!fine)
        pithp_fail_memory(s, room);
    else
        fine = distinct_bytes(s, count, f.items, buffers, &bytes);
    if (buffers)
        pithp_scratch_release(s->runtime, buffers, room);
    pithp_flat_end(&f);
    return fine ? bytes : SIZE_MAX;
}

pith_memory_hint pith_hint_gradient_exact(pith_scope *s,
                                          const pith_function *function,
                                          int64_t count,
                                          const void *const *arguments,
                                          int64_t samples,
                                          const pith_derive_options *options) {
    size_t bytes = 0;
    if (!pithp_enter(s))
        return no_hint;
    if (samples <= 0) {
        pithp_fail(s, PITH_E_ARG, NULL,
                   "pith_hint_gradient_exact: expected a positive number of samples, got "
                   "%lld",
                   (long long)samples);
        return no_hint;
    }
    pith_scope *work = pith_scope_open_in(s);
    const pith_function *gradient = (pith_grad)(pithp_on_behalf(work), function, options);
    const pith_program_costs costs =
        (pith_program_cost)(pithp_on_behalf(work), gradient, count, arguments);
    const size_t workspace = costs.workspace_bytes > costs.first_workspace_bytes
                                 ? costs.workspace_bytes
                                 : costs.first_workspace_bytes;
    if (pithp_add_overflows(workspace, costs.output_bytes, &bytes))
        bytes = SIZE_MAX;
    pith_scope_close(work); /* its error moves to s */
    return pith_failed(s)
               ? no_hint
               : (pith_memory_hint){.per_sample = bytes / (size_t)samples +
                                                  (bytes % (size_t)samples != 0)};
}

size_t pith_measure_peak(pith_scope *s,
                         const pith_function *function,
                         int64_t count,
                         const void *const *arguments) {
    if (!pithp_enter_untraced(s, "pith_measure_peak") || pithp_synchronise(s) != PITH_OK)
        return SIZE_MAX;
    pithp_device *d = pithp_scope_device(s);
    const pithp_ledger now = pithp_ledger_read(d);
    const size_t before = now.owned + now.lent, remembered = pithp_ledger_begin_peak(d);
    pith_scope *work = pith_scope_open_in(s);
    pith_call(work, function, count, arguments);
    if (!pith_failed(work))
        pithp_synchronise(work);
    const size_t seen = pithp_ledger_end_peak(d, remembered);
    pith_scope_close(work);
    return pith_failed(s) ? SIZE_MAX : seen - before;
}
