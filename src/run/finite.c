/* Detection of NaN and infinity in a state: one flag for all leaves, and a search for the
 * first non-finite element. */
#include "pith/checkpoint.h"

#include "array/array_internal.h"
#include "run/monitor.h"

#include <math.h>

const pith_array *pithp_all_finite(pith_scope *s, const void *tree) {
    const pith_array *all = pith_bool(s, true);
    pithp_flat f;
    if (!all || pithp_flat_make(s, &f, tree, NULL, NULL) != PITH_OK)
        return NULL;
    for (int64_t i = 0; all && i < f.structure.item_count; i++)
        if (pith_dtype_is_float(f.structure.specs[i]->dtype))
            all = pith_logical_and(
                s, all, pith_all(s, pith_is_finite(s, f.items[i]), PITH_ALL_AXES));
    pithp_flat_end(&f);
    return all;
}

/* Print the index of an element as "[3, 0]"; "" for a scalar. */
static void print_index(pithp_string *t, const pith_spec *spec, int64_t element) {
    int64_t index[PITH_MAX_RANK];
    for (int d = spec->rank; d-- > 0; element /= spec->shape[d])
        index[d] = element % spec->shape[d];
    for (int d = 0; d < spec->rank; d++)
        pithp_string_print(t, "%s%lld", d ? ", " : "[", (long long)index[d]);
    if (spec->rank)
        pithp_string_add(t, "]");
}

/* Set the error for the first non-finite element of a leaf. */
static pith_status check_leaf(pith_scope *s, const pithp_flat *f, int64_t i) {
    const pith_spec *spec = f->structure.specs[i];
    void *elements = pithp_scratch_allocate(s->runtime, spec->bytes + 1);
    if (!elements)
        return pithp_fail_memory(s, spec->bytes);
    if (pith_read(s, f->items[i], elements, spec->bytes))
        for (int64_t k = 0; k < spec->count; k++) {
            const double value = pith_element_f64(spec->dtype, elements, k);
            if (isfinite(value))
                continue;
            pithp_string at;
            pithp_string_begin(&at, s->runtime);
            print_index(&at, spec, k);
            pithp_item_fail(s, &f->structure, i, PITH_E_CHECK,
                            "the element %s%sis %s, expected a finite number", at.bytes,
                            at.length ? " " : "",
                            isnan(value) ? "NaN"
                            : value > 0  ? "Infinity"
                                         : "-Infinity");
            pithp_string_end(&at);
            break;
        }
    pithp_scratch_release(s->runtime, elements, spec->bytes + 1);
    return s->error.code;
}

pith_status pithp_finite_fail(pith_scope *s, const void *tree) {
    pithp_flat f;
    if (pithp_flat_make(s, &f, tree, NULL, NULL) != PITH_OK)
        return s->error.code;
    for (int64_t i = 0; s->error.code == PITH_OK && i < f.structure.item_count; i++)
        if (pith_dtype_is_float(f.structure.specs[i]->dtype))
            check_leaf(s, &f, i);
    pithp_flat_end(&f);
    return s->error.code;
}
