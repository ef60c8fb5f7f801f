/* Draws, sorts by keys, histograms, batches one by one and recomputation, and loops with
 * rows of several kinds, in every mode and order: against differences. */
#include "derive_modes.h"

#define TUPLE(...) pith_tuple_make(in, PITH_ITEMS(__VA_ARGS__))
static const pith_array *key(pith_scope *in) {
    return pith_random_key(in, 7);
}
static const pith_array *permuted(pith_scope *in, const pith_array *x) {
    const pith_array *p = pith_random_permute(in, key(in), x, 0, NULL),
                     *q = pith_random_shuffle(in, key(in), pith_sin(in, x), 0, NULL);
    return total(in, pith_mul(in, pith_mul(in, p, q), pith_arange(in, PITH_F64, 4)));
}
PITH_FUNCTION1(permuted_of, permuted, pith_array, pith_array)
static const pith_array *noisy(pith_scope *in, const pith_array *x) {
    const pith_array *n = pith_random_normal(in, key(in), PITH_F64, PITH_SHAPE(4), NULL),
                     *u = pith_random_uniform(in, key(in), PITH_F64, PITH_SHAPE(4), 0, 1,
                                              NULL);
    return total(in, pith_square(in, pith_add(in, pith_mul(in, x, n), u)));
}
PITH_FUNCTION1(noisy_of, noisy, pith_array, pith_array)
FUNCTION(histogrammed,
         total(in,
               pith_square(in,
                           pith_histogram(in,
                                          PITH_VECTOR(in, f64, 0.5, 1.5, 1.7, 9),
                                          PITH_VECTOR(in, f64, 0, 1, 2, 3),
                                          pith_sin(in, x)))))
static const pith_array *by_keys(pith_scope *in, const pith_array *x) {
    const pith_array *sorted[2], *in2[2] = {pith_cos(in, x), pith_square(in, x)};
    if (!pith_sort_by_keys(in, 2, in2, 1, 0, sorted))
        return NULL;
    return total(in, pith_mul(in, pith_mul(in, sorted[0], sorted[1]),
                              pith_arange(in, PITH_F64, 4)));
}
PITH_FUNCTION1(by_keys_of, by_keys, pith_array, pith_array)
FUNCTION(uniques,
         total(in, pith_square(in, pith_unique(in, pith_sin(in, x), 6, NULL).values)))
FUNCTION(nonzeros,
         total(in,
               pith_square(
                   in,
                   pith_take(in,
                             pith_sin(in, x),
                             pith_nonzero(in, pith_greater(in, x, 0.0), 3, NULL).axes[0],
                             NULL))))

/* ---- Loops ---- */

typedef struct {
    const void *carry, *out;
} Step;
PITH_NODE(Step, PITH_TREE(carry), PITH_TREE(out))
typedef struct {
    const pith_array *a, *n, *gone;
} Row;
PITH_NODE(Row,
          PITH_LEAF(a, "f64[]", .optional = true),
          PITH_LEAF(n, "i64[]"),
          PITH_LEAF(gone, "f64[]", .optional = true))
static const Step *rows(pith_scope *in, const pith_array *x, const Row *r) {
    const pith_array *f = pith_cast(in, r->n, PITH_F64);
    const pith_array *y = pith_sin(in, pith_add(in, pith_mul(in, x, r->a), f));
    return pith_record(in, Step, .carry = y,
                       .out = pith_record(in, Row, .a = total(in, y),
                                          .n = pith_add(in, r->n, pith_i64(in, 1))));
}
PITH_FUNCTION2(rows_of, rows, Step, pith_array, Row)
static pith_loop_options loop;
static const pith_array *row_loop(pith_scope *in, const pith_array *x) {
    const void *outs;
    const Row *xs = pith_tree_stack(
        in, 4,
        (const void *[]){
            pith_record(in, Row, .a = pith_slice_at(in, x, 0, 0), .n = pith_i64(in, 2)),
            pith_record(in, Row, .a = pith_slice_at(in, x, 0, 1), .n = pith_i64(in, 1)),
            pith_record(in, Row, .a = pith_slice_at(in, x, 0, 2), .n = pith_i64(in, 0)),
            pith_record(in, Row, .a = pith_slice_at(in, x, 0, 3), .n = pith_i64(in, 5))});
    const pith_array *last = pith_scan(in, &rows_of, x, xs, &outs, &loop);
    const pith_array *w = ((const Row *)outs)->a;
    return pith_add(in, total(in, pith_square(in, last)), total(in, pith_mul(in, w, x)));
}
PITH_FUNCTION1(row_loop_of, row_loop, pith_array, pith_array)
static const pith_array *empty_scan(pith_scope *in, const pith_array *x) {
    const void *outs;
    const pith_array *rows =
        pith_reshape(in, pith_slice_array(in, x, 1, &PITH_SLICE(0, 0, 1)), PITH_SHAPE(0));
    const Row xs = {.a = rows, .n = pith_zeros(in, PITH_I64, PITH_SHAPE(0))};
    const pith_array *last =
        pith_scan(in, &rows_of, x, pith_freeze(in, Row, &xs), &outs, NULL);
    return pith_add(in, total(in, pith_square(in, last)),
                    total(in, ((const Row *)outs)->a));
}
PITH_FUNCTION1(empty_scan_of, empty_scan, pith_array, pith_array)
/* Recomputation with a name, in loops in batches. */
static const pith_array *kept(pith_scope *in, const pith_array *x) {
    const pith_array *a = pith_name_kept(in, pith_sin(in, x), "a");
    return pith_mul(in, pith_exp(in, pith_cos(in, a)), x);
}
PITH_FUNCTION1(kept_of, kept, pith_array, pith_array)
static const pith_array *
kept_step(pith_scope *in, const pith_array *i, const pith_array *x) {
    (void)i;
    return pith_tanh(
        in, pith_call(in,
                      pith_recompute(in, &kept_of,
                                     &(pith_recompute_options){.names = PITH_NAMES("a")}),
                      PITH_ITEMS(x)));
}
PITH_FUNCTION2(kept_step_of, kept_step, pith_array, pith_array, pith_array)
static const pith_array *kept_loop(pith_scope *in, const pith_array *x) {
    return pith_fori(in, 0, 3, &kept_step_of, x);
}
PITH_FUNCTION1(kept_loop_of, kept_loop, pith_array, pith_array)
FUNCTION(kept_batch,
         total(in, pith_call(in, pith_vmap(in, &kept_loop_of, NULL), PITH_ITEMS(x))))
FUNCTION(sequential,
         total(in,
               pith_call(in,
                         pith_vmap(in, pith_sequential_vmap(in, &kept_loop_of), NULL),
                         PITH_ITEMS(x))))
FUNCTION(recomputed_grad,
         total(in,
               pith_square(in,
                           pith_call(in,
                                     pith_recompute(in,
                                                    pith_grad(in, &kept_batch_of, NULL),
                                                    NULL),
                                     PITH_ITEMS(x)))))
FUNCTION(vectorized,
         total(in,
               pith_square(in,
                           pith_call(in,
                                     pith_vectorize(in, &kept_loop_of, NULL),
                                     PITH_ITEMS(pith_reshape(in, x, PITH_SHAPE(2, 2)))))))
FUNCTION(poly, total(in, pith_polygamma(in, 2, pith_add(in, pith_square(in, x), 1.0))))
FUNCTION(copysigned, total(in, pith_mul(in, pith_copysign(in, x, pith_sin(in, x)), x)))
FUNCTION(fmods, total(in, pith_square(in, pith_fmod(in, pith_mul(in, x, 3.1), 1.3))))
FUNCTION(remainders,
         total(in,
               pith_square(in,
                           pith_remainder(in,
                                          pith_mul(in, x, 3.3),
                                          pith_add(in, pith_square(in, x), 1.0)))))
FUNCTION(ldexped,
         total(in, pith_square(in, pith_ldexp(in, pith_sin(in, x), pith_i64(in, 3)))))
Test(derive_functions, functions, .init = open_scope) {
    const pith_function *const all[] = {
        &permuted_of,   &noisy_of,           &histogrammed_of, &by_keys_of,
        &uniques_of,    &nonzeros_of,        &empty_scan_of,   &kept_batch_of,
        &sequential_of, &recomputed_grad_of, &vectorized_of,   &poly_of,
        &copysigned_of, &fmods_of,           &remainders_of,   &ldexped_of};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        in_every_mode(all[k], some_x());
    close_scope();
}
Test(derive_functions, rows_of_several_kinds, .init = open_scope) {
    for (int u = 0; u < 8; u++) {
        pith_jit_clear(rt);
        loop = (pith_loop_options){
            .reverse = u & 1, .unroll = u & 2 ? 2 : 0, .kept_bytes = u & 4 ? 700 : 0};
        in_every_mode(&row_loop_of, some_x());
    }
    close_scope();
}
