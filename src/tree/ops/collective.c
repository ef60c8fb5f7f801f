/* The sum of trees over ranks: all leaves of a dtype are one message. */
#include "array/collective.h"

#include "pith/array_collective.h"

#include "base/in_flight.h"
#include "mesh/mesh_internal.h"
#include "tree/structure.h"
#include "tree/tree_internal.h"

#include <string.h>

/* The leaves of one dtype in one array: their elements, or, with rows in use, the
 * elements of each row. */
static const pith_array *join(pith_scope *w,
                              int64_t count,
                              const pith_array **flat,
                              const pith_collective_options *options) {
    const bool rows = options && options->rows;
    for (int64_t k = 0; k < count && flat[k]; k++) {
        const pith_spec *spec = pith_array_spec(flat[k]);
        const int64_t n = spec->shape[0];
        flat[k] = rows ? pith_reshape(w, flat[k], PITH_SHAPE(n, n ? spec->count / n : 0))
                       : pith_reshape(w, flat[k], PITH_SHAPE(spec->count));
    }
    return pith_failed(w) ? NULL : pith_concatenate(w, count, flat, rows);
}

/* Replace the leaves of one dtype by their sums over the ranks. After an error the call
 * is still made, because the other ranks make it. */
static void sum_dtype(pith_scope *w,
                      pith_dtype dtype,
                      int64_t count,
                      const pith_array **leaves,
                      const char *axes,
                      const pith_collective_options *options) {
    const bool rows = options && options->rows;
    const pith_array **flat = pithp_scope_allocate(w, (size_t)count * sizeof *flat);
    int64_t *ends = pithp_scope_allocate(w, (size_t)count * sizeof *ends);
    int64_t some = 0, end = 0;
    for (int64_t i = 0; i < count; i++) {
        const pith_spec *spec = leaves[i] ? pith_array_spec(leaves[i]) : NULL;
        if (!spec || spec->dtype != dtype)
            continue;
        if (flat && ends) {
            const int64_t n = rows ? spec->shape[0] : 1;
            flat[some] = leaves[i];
            ends[some] = end += n ? spec->count / n : 0;
        }
        some++;
    }
    if (!some)
        return;
    const pith_array *all = flat && ends ? join(w, some, flat, options) : NULL;
    const pith_array *sum = pith_psum(w, all, axes, options);
    const pith_array *const *parts =
        sum ? pith_split(w, sum, some - 1, ends, rows) : NULL;
    for (int64_t i = 0, k = 0; parts && i < count; i++) {
        const pith_spec *spec = leaves[i] ? pith_array_spec(leaves[i]) : NULL;
        if (!spec || spec->dtype != dtype)
            continue;
        pith_shape shape = {.rank = spec->rank};
        memcpy(shape.extents, spec->shape, sizeof shape.extents);
        leaves[i] = pith_reshape(w, parts[k++], shape);
    }
}

/* With rows in use all leaves have the same number of rows. */
static void check_rows(pith_scope *w,
                       const void *tree,
                       int64_t count,
                       const pith_array *const *leaves) {
    int64_t rows = -1;
    for (int64_t i = 0; i < count && !pith_failed(w); i++) {
        const pith_spec *spec = leaves[i] ? pith_array_spec(leaves[i]) : NULL;
        char text[PITHP_SPEC_TEXT_BYTES];
        if (spec && spec->rank > 0 && rows < 0)
            rows = spec->shape[0];
        if (spec && (spec->rank == 0 || spec->shape[0] != rows))
            pithp_fail(w, PITH_E_SHAPE, pith_tree_path(w, tree, i),
                       "pith_tree_psum: rows of %s, expected leaves with the same number "
                       "of rows",
                       pithp_spec_print(spec, text));
    }
}

/* The sums of the leaves in w, a child of s. */
static void sum_leaves(pith_scope *w,
                       int64_t count,
                       const pith_array **leaves,
                       const char *axes,
                       const pith_collective_options *options) {
    bool has[PITH_DTYPE_COUNT] = {false};
    for (int64_t i = 0; i < count; i++)
        if (leaves[i])
            has[pith_array_spec(leaves[i])->dtype] = true;
    /* bool last: its sums are i64, which are summed before */
    for (int dtype = PITH_DTYPE_COUNT; dtype-- > 1;)
        if (has[dtype])
            sum_dtype(w, (pith_dtype)dtype, count, leaves, axes, options);
}

/* Whether the ranks agree on the tree, which has been checked unless the scope has
 * failed. */
static bool agree(pith_scope *s, const void *tree, const char *axes) {
    if (pithp_scope_trace(s))
        return !pith_failed(s);
    const uint64_t digest = pith_failed(s) ? 0 : pithp_tree_digest(s, tree);
    const pithp_intent intent = {
        .operation = "pith_tree_psum", .what = axes ? axes : "", .extra = digest};
    if (!pithp_collective_begin(s, &intent))
        return false;
    pithp_collective_end(s);
    return true;
}

const void *pith_tree_psum(pith_scope *s,
                           const void *tree,
                           const char *axes,
                           const pith_collective_options *options) {
    static const char function[] = "pith_tree_psum";
    PITHP_IN_FLIGHT(s, function);
    const bool fine = pithp_enter_as(s, function);
    if (!pithp_scope_writable(s))
        return NULL;
    pith_scope *w = pith_scope_open_in(s);
    if (pithp_scope_writable(w)) {
        w->caller = function;
    } else { /* take part with the error of s */
        pithp_fail_memory(s, PITHP_BLOCK_BYTES);
        agree(s, NULL, axes);
        return NULL;
    }
    const pith_array *const *given = NULL;
    const pith_treedef *def =
        fine && pithp_tree_check(w, tree, function, "tree") == PITH_OK
            ? pith_tree_flatten(w, tree, &given)
            : NULL;
    const int64_t count = def ? pith_treedef_num_leaves(def) : 0;
    const pith_array **leaves =
        def ? pithp_scope_allocate(w, (size_t)(count + 1) * sizeof *leaves) : NULL;
    if (leaves && count)
        memcpy(leaves, given, (size_t)count * sizeof *leaves);
    if (def && !pith_failed(w))
        pithp_mesh_group_of(w, axes); /* checks them */
    for (int64_t i = 0; leaves && i < count; i++)
        if (leaves[i])
            pithp_operand_check(w, leaves[i], function, "leaf");
    if (leaves && options && options->rows)
        check_rows(w, tree, count, leaves);
    const void *sum = NULL;
    if (agree(w, tree, axes)) {
        sum_leaves(w, count, leaves, axes, options);
        const void *made =
            pith_failed(w) ? NULL : pith_tree_unflatten(w, def, count, leaves);
        sum = made ? pith_keep(s, made) : NULL;
    }
    pith_scope_close(w);
    return pith_failed(s) ? NULL : sum;
}
