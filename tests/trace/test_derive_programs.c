/* Small programs that are easy to get wrong, in every mode and order: against
 * differences. x is 0.5, -1.25, 2, 0.75. */
#include "derive_modes.h"

#define TUPLE(...) pith_tuple_make(in, PITH_ITEMS(__VA_ARGS__))

static const pith_array *square_matrix(pith_scope *in, const pith_array *x) {
    return pith_reshape(in, x, PITH_SHAPE(2, 2));
}
static const pith_array *sine(pith_scope *in, const pith_array *x) {
    return pith_sin(in, x);
}
PITH_FUNCTION1(sine_of, sine, pith_array, pith_array)

typedef struct {
    const void *carry, *out;
} Step;
PITH_NODE(Step, PITH_TREE(carry), PITH_TREE(out))

/* ---- Indices ---- */

/* A start beyond the end is clamped; its box is read twice. */
FUNCTION(
    clamped_box,
    total(in,
          pith_mul(in,
                   pith_square(
                       in,
                       pith_dynamic_slice(in, x, PITH_VECTOR(in, i64, 9), PITH_SHAPE(2))),
                   pith_dynamic_slice(in, x, PITH_VECTOR(in, i64, -7), PITH_SHAPE(2)))))
/* The start depends on x, and cuts. */
static const pith_array *traced_box(pith_scope *in, const pith_array *x) {
    const pith_array *third = pith_slice_array(in, x, 1, &PITH_SLICE(2, 3, 1)),
                     *start = pith_cast(in, pith_round(in, third), PITH_I64);
    return total(in, pith_square(in, pith_dynamic_slice(in, pith_sin(in, x), start,
                                                        PITH_SHAPE(2))));
}
PITH_FUNCTION1(traced_box_of, traced_box, pith_array, pith_array)
FUNCTION(updated_box,
         total(in,
               pith_square(in,
                           pith_dynamic_update_slice(
                               in,
                               pith_sin(in, x),
                               pith_cos(in,
                                        pith_slice_array(in, x, 1, &PITH_SLICE(1, 3, 1))),
                               PITH_VECTOR(in, i64, 8)))))
/* Indices out of range, negative and repeated, in each mode. */
static const pith_array *far_indices(pith_scope *in) {
    return PITH_VECTOR(in, i64, 0, -1, 3, 3, 7, -9);
}
static pith_index_mode mode;
static const pith_array *taken(pith_scope *in, const pith_array *x) {
    static const double fill = 0.5;
    const pith_take_options o = {.mode = mode, .fill = &fill};
    const pith_array *y = pith_take(in, pith_sin(in, x), far_indices(in), &o);
    return total(in, pith_mul(in, pith_square(in, y), pith_arange(in, PITH_F64, 6)));
}
PITH_FUNCTION1(taken_of, taken, pith_array, pith_array)
static pith_scatter_operation operation;
static const pith_array *scattered(pith_scope *in, const pith_array *x) {
    const pith_scatter_options o = {.mode = mode};
    const pith_array *updates = pith_concatenate(
        in, 2,
        (const pith_array *[]){pith_cos(in, x),
                               pith_slice_array(in, x, 1, &PITH_SLICE(0, 2, 1))},
        0);
    const pith_index_entry at = PITH_ENTRY_ARRAY(far_indices(in));
    const pith_array *y =
        pith_scatter(in, operation, pith_sin(in, x), 1, &at, updates, &o);
    return total(in,
                 pith_mul(in, pith_square(in, y), PITH_VECTOR(in, f64, 1, 3, 0.5, 2)));
}
PITH_FUNCTION1(scattered_of, scattered, pith_array, pith_array)

Test(derive_programs, indices, .init = open_scope) {
    in_every_mode(&clamped_box_of, some_x());
    in_every_mode(&traced_box_of, some_x());
    in_every_mode(&updated_box_of, some_x());
    for (mode = PITH_INDEX_DEFAULT; mode <= PITH_INDEX_WRAP; mode++) {
        pith_jit_clear(rt);
        in_every_mode(&taken_of, some_x());
        for (operation = PITH_SCATTER_SET; operation <= PITH_SCATTER_MAX; operation++) {
            pith_jit_clear(rt);
            in_every_mode(&scattered_of, some_x());
        }
    }
    close_scope();
}

/* ---- Products ---- */

/* A diagonal, a trace, a row with itself, an outer product. */
static const pith_array *
of_matrix(pith_scope *in, const char *text, const pith_array *x, bool twice) {
    const pith_array *m = square_matrix(in, pith_sin(in, x));
    return pith_einsum(in, text, twice ? 2 : 1, (const pith_array *[]){m, m});
}
FUNCTION(traced_product, pith_square(in, total(in, of_matrix(in, "ii->", x, false))))
FUNCTION(diagonal, total(in, pith_square(in, of_matrix(in, "ii->i", x, false))))
FUNCTION(diagonal_twice, total(in, of_matrix(in, "ii,ij->j", x, true)))
FUNCTION(same_twice, total(in, of_matrix(in, "ij,ij->i", x, true)))
FUNCTION(outer_of_all, total(in, pith_square(in, of_matrix(in, "ij,kl->lijk", x, true))))
FUNCTION(gram,
         total(in,
               pith_square(in,
                           pith_matmul(in,
                                       pith_transpose(in, square_matrix(in, x), NULL),
                                       square_matrix(in, x)))))
/* exp of a matrix by its series. */
static const pith_array *
term(pith_scope *in, const pith_array *i, const pith_array *m, const pith_array *a) {
    const pith_array *k = pith_add(in, pith_cast(in, i, PITH_F64), 1.0);
    return pith_add(in, pith_div(in, pith_matmul(in, m, a), k),
                    pith_eye(in, PITH_F64, 2, 2, 0));
}
PITH_FUNCTION3(term_of, term, pith_array, pith_array, pith_array, pith_array)
FUNCTION(matrix_exp,
         total(in,
               pith_square(in,
                           pith_fori(in,
                                     0,
                                     6,
                                     pith_partial(in, &term_of, square_matrix(in, x)),
                                     square_matrix(in, x)))))
/* A matrix of small condition, factored; and solved for a vector that moves too. */
static const pith_array *positive(pith_scope *in, const pith_array *x) {
    const pith_array *m = square_matrix(in, x);
    return pith_add(in, pith_matmul(in, m, pith_transpose(in, m, NULL)),
                    pith_eye(in, PITH_F64, 2, 2, 0));
}
FUNCTION(log_determinant,
         total(in,
               pith_log(in,
                        pith_diagonal(in, pith_cholesky(in, positive(in, x), false), 0))))
FUNCTION(solved,
         total(in,
               pith_square(in,
                           pith_cholesky_solve(in,
                                               pith_cholesky(in, positive(in, x), true),
                                               square_matrix(in, pith_sin(in, x)),
                                               true))))

Test(derive_programs, products, .init = open_scope) {
    in_every_mode(&traced_product_of, some_x());
    in_every_mode(&diagonal_of, some_x());
    in_every_mode(&diagonal_twice_of, some_x());
    in_every_mode(&same_twice_of, some_x());
    in_every_mode(&outer_of_all_of, some_x());
    in_every_mode(&gram_of, some_x());
    in_every_mode(&matrix_exp_of, some_x());
    in_every_mode(&log_determinant_of, some_x());
    in_every_mode(&solved_of, some_x());
    close_scope();
}

/* ---- Reductions and orders ---- */

FUNCTION(softmax,
         total(in,
               pith_square(
                   in,
                   pith_exp(in, pith_sub(in, x, pith_logsumexp(in, x, PITH_ALL_AXES))))))
FUNCTION(
    stable_softmax,
    total(in,
          pith_square(in, pith_exp(in, pith_sub(in, x, pith_max(in, x, PITH_ALL_AXES))))))
FUNCTION(median_of_four, pith_square(in, pith_median(in, pith_sin(in, x), 0)))
FUNCTION(norm_of_three, pith_norm(in, x, 3.0, PITH_ALL_AXES))
FUNCTION(greatest_norm, pith_norm(in, x, (double)INFINITY, PITH_ALL_AXES))
FUNCTION(variance,
         pith_mul(in,
                  pith_var(in, x, PITH_ALL_AXES, 1),
                  pith_std(in, x, PITH_ALL_AXES, 0)))
FUNCTION(top_two, total(in, pith_square(in, pith_top_k(in, pith_sin(in, x), 2).values)))
FUNCTION(by_other_order,
         total(in,
               pith_mul(in,
                        pith_take_along_axis(in,
                                             pith_square(in, x),
                                             pith_argsort(in, pith_cos(in, x), 0, NULL),
                                             NULL),
                        pith_sort(in, x, 0, &(pith_sort_options){.descending = true}))))
FUNCTION(segments,
         total(in,
               pith_square(
                   in,
                   pith_segment_prod(in, x, PITH_VECTOR(in, i64, 1, 0, 1, 5), 2, NULL))))
FUNCTION(segment_softmax,
         total(in,
               pith_square(
                   in,
                   pith_div(in,
                            pith_exp(in, x),
                            pith_take(in,
                                      pith_segment_sum(in,
                                                       pith_exp(in, x),
                                                       PITH_VECTOR(in, i64, 1, 0, 1, 0),
                                                       2,
                                                       NULL),
                                      PITH_VECTOR(in, i64, 1, 0, 1, 0),
                                      NULL)))))
FUNCTION(weighted_bins,
         total(in,
               pith_square(in,
                           pith_bincount(in,
                                         PITH_VECTOR(in, i64, 2, 0, 2, 1),
                                         pith_sin(in, x),
                                         3))))
FUNCTION(
    running,
    total(in,
          pith_mul(in,
                   pith_cumprod(in, x, 0, &(pith_cumulative_options){.reverse = true}),
                   pith_cumlogsumexp(in, x, 0, NULL))))
FUNCTION(running_with_zero,
         total(in,
               pith_square(in,
                           pith_cumprod(in,
                                        pith_mul(in, x, PITH_VECTOR(in, f64, 1, 0, 2, 3)),
                                        0,
                                        NULL))))
FUNCTION(product_with_zeros,
         pith_prod(in,
                   pith_sub(in, x, PITH_VECTOR(in, f64, 0.5, 0, 0, 0)),
                   PITH_ALL_AXES))
FUNCTION(product_with_two_zeros,
         pith_prod(in,
                   pith_sub(in, x, PITH_VECTOR(in, f64, 0.5, -1.25, 0, 0)),
                   PITH_ALL_AXES))
FUNCTION(
    greatest_of_rows,
    total(in,
          pith_square(in,
                      pith_max(in, square_matrix(in, pith_sin(in, x)), PITH_AXES(1)))))
FUNCTION(differences, total(in, pith_square(in, pith_diff(in, pith_square(in, x), 2, 0))))

Test(derive_programs, reductions_and_orders, .init = open_scope) {
    const pith_function *const all[] = {
        &softmax_of,           &stable_softmax_of,     &median_of_four_of,
        &norm_of_three_of,     &greatest_norm_of,      &variance_of,
        &top_two_of,           &by_other_order_of,     &segments_of,
        &segment_softmax_of,   &weighted_bins_of,      &running_of,
        &running_with_zero_of, &product_with_zeros_of, &product_with_two_zeros_of,
        &greatest_of_rows_of,  &differences_of};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        in_every_mode(all[k], some_x());
    close_scope();
}

/* ---- Shapes ---- */

static const pith_array *
reflected(pith_scope *in, const pith_array *x, pith_extension how) {
    return total(
        in, pith_mul(
                in, pith_square(in, pith_extend(in, x, how, 1, &(pith_padding){2, 3, 0})),
                pith_arange(in, PITH_F64, 9)));
}
FUNCTION(reflect, reflected(in, pith_sin(in, x), PITH_EXTEND_REFLECT))
FUNCTION(edge, reflected(in, pith_sin(in, x), PITH_EXTEND_EDGE))
FUNCTION(cut_and_filled,
         total(in,
               pith_mul(in,
                        pith_pad(in,
                                 pith_square(in, x),
                                 pith_slice_at(in, x, 0, 1),
                                 1,
                                 &(pith_padding){-1, 2, 1}),
                        pith_arange(in, PITH_F64, 8))))
FUNCTION(
    backwards,
    total(in,
          pith_mul(in,
                   pith_square(
                       in,
                       pith_slice_array(in, x, 1, &PITH_SLICE(INT64_MAX, INT64_MIN, -3))),
                   pith_arange(in, PITH_F64, 2))))
FUNCTION(
    rolled,
    total(in,
          pith_mul(in, pith_roll(in, x, 3, 0), pith_square(in, pith_roll(in, x, -1, 0)))))
FUNCTION(
    broadcast_both,
    total(in,
          pith_square(in,
                      pith_mul(in,
                               pith_expand_dims(in, x, PITH_AXES(0)),
                               pith_expand_dims(in, pith_sin(in, x), PITH_AXES(1))))))
FUNCTION(repeated,
         total(in,
               pith_mul(in,
                        pith_square(
                            in,
                            pith_repeat_each(in, x, 4, (const int64_t[]){2, 0, 1, 3}, 0)),
                        pith_arange(in, PITH_F64, 6))))
FUNCTION(tiled,
         total(in,
               pith_square(in,
                           pith_mul(in,
                                    pith_tile(in, x, 1, (const int64_t[]){2}),
                                    pith_arange(in, PITH_F64, 8)))))
FUNCTION(triangle,
         total(in,
               pith_square(in,
                           pith_matmul(in,
                                       pith_tril(in, square_matrix(in, x), 0),
                                       pith_triu(in, square_matrix(in, x), 1)))))
/* Elements as values of rank 0. */
FUNCTION(lower_rank,
         pith_mul(in,
                  pith_slice_at(in, x, 0, 0),
                  pith_slice_at(in, pith_square(in, x), 0, -1)))

Test(derive_programs, shapes, .init = open_scope) {
    const pith_function *const all[] = {&reflect_of,   &edge_of,   &cut_and_filled_of,
                                        &backwards_of, &rolled_of, &broadcast_both_of,
                                        &repeated_of,  &tiled_of,  &triangle_of,
                                        &lower_rank_of};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        in_every_mode(all[k], some_x());
    close_scope();
}

/* ---- Loops ---- */

/* A carry that does not move at first, one that comes to move in the second step, an
 * integer, and outputs of each kind. */
typedef struct {
    const pith_array *still, *late, *moves, *count;
} Carry;
PITH_NODE(Carry,
          PITH_LEAF(still, "f64[]"),
          PITH_LEAF(late, "f64[n]"),
          PITH_LEAF(moves, "f64[n]"),
          PITH_LEAF(count, "i64[]"))
static const Step *advance(pith_scope *in, const Carry *c, const pith_array *row) {
    const pith_array *n = pith_cast(in, c->count, PITH_F64);
    const Carry *next =
        pith_record(in, Carry, .still = pith_add(in, c->still, 1.0),
                    .late = pith_sin(in, pith_add(in, c->late, c->moves)),
                    .moves = pith_mul(in, pith_cos(in, c->moves),
                                      pith_add(in, row, pith_mul(in, n, 0.125))),
                    .count = pith_add(in, c->count, pith_i64(in, 1)));
    return pith_record(
        in, Step, .carry = next,
        .out = TUPLE(c->still, c->late, pith_mul(in, c->moves, c->still), c->count));
}
PITH_FUNCTION2(advance_of, advance, Step, Carry, pith_array)
static const pith_array *over_rows(pith_scope *in, const pith_array *x, bool reverse) {
    const Carry *first = pith_record(in, Carry, .still = pith_f64(in, 1),
                                     .late = PITH_VECTOR(in, f64, 1, 2, 3, 4), .moves = x,
                                     .count = pith_i64(in, 0));
    const void *outs;
    const Carry *last = pith_scan(in, &advance_of, first, pith_sin(in, x), &outs,
                                  &(pith_loop_options){.reverse = reverse});
    const pith_array *late = pith_child(outs, 1), *moved = pith_child(outs, 2);
    return pith_add(in, total(in, pith_mul(in, last->late, last->moves)),
                    pith_add(in, total(in, pith_square(in, moved)),
                             total(in, pith_slice_at(in, late, 0, 2))));
}
FUNCTION(forth, over_rows(in, x, false))
FUNCTION(back, over_rows(in, x, true))
/* Outputs that are an xs row and a carry, unchanged. */
static const Step *hands_on(pith_scope *in, const pith_array *x, const pith_array *row) {
    return pith_record(in, Step, .carry = x, .out = TUPLE(row, x));
}
PITH_FUNCTION2(hands_on_of, hands_on, Step, pith_array, pith_array)
static const pith_array *handed_on(pith_scope *in, const pith_array *x) {
    const void *outs;
    const pith_array *last =
        pith_scan(in, &hands_on_of, x, pith_square(in, x), &outs, NULL);
    const pith_array *rows = pith_child(outs, 0), *carries = pith_child(outs, 1);
    return pith_add(in, total(in, pith_mul(in, last, rows)),
                    total(in, pith_square(in, carries)));
}
PITH_FUNCTION1(handed_on_of, handed_on, pith_array, pith_array)
/* Carries change places: what moves in one moves in the other a step later. */
static const void *swapped(pith_scope *in, const pith_array *i, const void *c) {
    (void)i;
    return TUPLE(pith_child(c, 1), pith_sin(in, pith_child(c, 0)));
}
PITH_FUNCTION2(swapped_of, swapped, void, pith_array, void)
FUNCTION(swaps,
         total(in,
               pith_child(pith_fori(in,
                                    0,
                                    5,
                                    &swapped_of,
                                    TUPLE(PITH_VECTOR(in, f64, 1, 2, 3, 4), x)),
                          0)))
/* Steps of which the parts are of several bodies: Fibonacci's. */
static const pith_array *
powered(pith_scope *in, const pith_array *i, const pith_array *y, const pith_array *x) {
    const pith_array *even =
        pith_equal(in, pith_remainder(in, i, pith_i64(in, 2)), pith_i64(in, 0));
    return pith_cond(in, even, &sine_of, &sine_of, pith_mul(in, y, x));
}
PITH_FUNCTION3(powered_of, powered, pith_array, pith_array, pith_array, pith_array)
FUNCTION(powers,
         total(in,
               pith_fori(in, 0, 4, pith_partial(in, &powered_of, x), pith_cos(in, x))))
/* A loop of no steps, and one in a loop whose length is 1. */
static const pith_array *once(pith_scope *in, const pith_array *i, const pith_array *x) {
    (void)i;
    return pith_fori(in, 0, 0, &swapped_of, TUPLE(x, x)) ? pith_sin(in, x) : NULL;
}
PITH_FUNCTION2(once_of, once, pith_array, pith_array, pith_array)
FUNCTION(few, total(in, pith_fori(in, 3, 4, &once_of, x)))
/* The index of a loop picks a row of what moves, and writes one. */
static const pith_array *
picks(pith_scope *in, const pith_array *i, const pith_array *y, const pith_array *x) {
    const pith_array *last = pith_take(in, y, pith_sub(in, i, pith_i64(in, 1)), NULL),
                     *own = pith_take(in, x, i, NULL);
    return pith_scatter_set(in, y, i, pith_sin(in, pith_mul(in, last, own)), NULL);
}
PITH_FUNCTION3(picks_of, picks, pith_array, pith_array, pith_array, pith_array)
FUNCTION(recurrence,
         total(in,
               pith_square(in, pith_fori(in, 1, 4, pith_partial(in, &picks_of, x), x))))

Test(derive_programs, loops, .init = open_scope) {
    const pith_function *const all[] = {&forth_of,  &back_of, &handed_on_of, &swaps_of,
                                        &powers_of, &few_of,  &recurrence_of};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        in_every_mode(all[k], some_x());
    close_scope();
}

/* ---- Branches ---- */

/* One of the branches returns its operand, one a constant, one what was bound. */
static const pith_array *as_it_is(pith_scope *in, const pith_array *x) {
    (void)in;
    return x;
}
PITH_FUNCTION1(as_it_is_of, as_it_is, pith_array, pith_array)
static const pith_array *constant(pith_scope *in, const pith_array *x) {
    (void)x;
    return PITH_VECTOR(in, f64, 1, 2, 3, 4);
}
PITH_FUNCTION1(constant_of, constant, pith_array, pith_array)
static const pith_array *other(pith_scope *in, const pith_array *x, const pith_array *y) {
    (void)x;
    return pith_sin(in, y);
}
PITH_FUNCTION2(other_of, other, pith_array, pith_array, pith_array)
static int64_t chosen;
static const pith_array *choice(pith_scope *in, const pith_array *x) {
    const pith_array *of_x =
        pith_cast(in, pith_floor(in, pith_slice_at(in, x, 0, 0)), PITH_I64);
    const pith_array *k = pith_add(in, of_x, pith_i64(in, chosen));
    const pith_function *branches[] = {&as_it_is_of, &constant_of,
                                       pith_partial(in, &other_of, pith_square(in, x))};
    const pith_array *y = pith_switch(in, k, 3, branches, pith_cos(in, x));
    return total(in, pith_mul(in, pith_square(in, y), x));
}
PITH_FUNCTION1(choice_of, choice, pith_array, pith_array)
/* NaN in the branch that is not taken, in a batch too: where and cond. */
static const pith_array *root(pith_scope *in, const pith_array *x) {
    return pith_sqrt(in, x);
}
PITH_FUNCTION1(root_of, root, pith_array, pith_array)
static const pith_array *safe_root(pith_scope *in, const pith_array *x) {
    return pith_cond(in, pith_greater(in, x, 0.0), &root_of, &sine_of, x);
}
PITH_FUNCTION1(safe_root_of, safe_root, pith_array, pith_array)
FUNCTION(roots,
         total(in, pith_call(in, pith_vmap(in, &safe_root_of, NULL), PITH_ITEMS(x))))

Test(derive_programs, branches, .init = open_scope) {
    for (chosen = -2; chosen < 5; chosen++) {
        pith_jit_clear(rt);
        in_every_mode(&choice_of, some_x());
    }
    in_every_mode(&roots_of, some_x());
    close_scope();
}

/* ---- Derivatives in programs ---- */

FUNCTION(well, total(in, IN("sin(x) * exp(-x * x / 4)", {"x", x})))
/* A step of Newton's iteration, of gradient descent, and of a ridge of the gradient. */
FUNCTION(
    descended,
    well(in,
         pith_sub(in,
                  x,
                  pith_mul(in,
                           pith_call(in, pith_grad(in, &well_of, NULL), PITH_ITEMS(x)),
                           0.5))))
static const pith_array *along(pith_scope *in, const pith_array *t, const pith_array *x) {
    return well(in, pith_add(in, x, pith_mul(in, t, pith_cos(in, x))));
}
PITH_FUNCTION2(along_of, along, pith_array, pith_array, pith_array)
/* d/dt of f(x + t cos x) at t = x[0]: x is bound, and moves outside alone. */
FUNCTION(directional,
         pith_call(in,
                   pith_grad(in, pith_partial(in, &along_of, x), NULL),
                   PITH_ITEMS(pith_slice_at(in, x, 0, 0))))
FUNCTION(
    hessian_norm,
    total(in,
          pith_square(in,
                      pith_call(in, pith_hessian(in, &well_of, NULL), PITH_ITEMS(x)))))
static const pith_array *one_slope(pith_scope *in, const pith_array *x) {
    return pith_call(in, pith_grad(in, pith_grad(in, &sine_of, NULL), NULL),
                     PITH_ITEMS(x));
}
PITH_FUNCTION1(one_slope_of, one_slope, pith_array, pith_array)
FUNCTION(
    slopes,
    total(in,
          pith_square(in,
                      pith_call(in, pith_vmap(in, &one_slope_of, NULL), PITH_ITEMS(x)))))
/* A vjp of a loop, called in a loop; the residuals move. */
FUNCTION(looped, pith_fori(in, 0, 3, pith_partial(in, &powered_of, pith_tanh(in, x)), x))
static const pith_array *
pulls(pith_scope *in, const pith_array *i, const pith_array *t, const pith_array *x) {
    (void)i;
    return pith_call(in, pith_vjp(in, &looped_of, PITH_ITEMS(x), NULL).map,
                     PITH_ITEMS(t));
}
PITH_FUNCTION3(pulls_of, pulls, pith_array, pith_array, pith_array, pith_array)
FUNCTION(pulled,
         total(in, pith_fori(in, 0, 2, pith_partial(in, &pulls_of, x), pith_cos(in, x))))
/* Implicit: a fixed point by iteration, differentiated through a recorded loop. */
static const pith_array *open(pith_scope *in, const void *c) {
    const pith_array *y = pith_child(c, 0), *x = pith_child(c, 1);
    const pith_array *gap =
        pith_sub(in, y, pith_cos(in, pith_mul(in, pith_mul(in, x, 0.3), y)));
    return pith_greater(in, pith_max(in, pith_abs(in, gap), PITH_ALL_AXES), 1e-15);
}
PITH_FUNCTION1(open_of, open, pith_array, void)
static const void *closer(pith_scope *in, const void *c) {
    const pith_array *y = pith_child(c, 0), *x = pith_child(c, 1);
    return TUPLE(pith_cos(in, pith_mul(in, pith_mul(in, x, 0.3), y)), x);
}
PITH_FUNCTION1(closer_of, closer, void, void)
FUNCTION(fixed_point,
         total(in,
               pith_child(pith_while_recorded(in,
                                              &open_of,
                                              &closer_of,
                                              TUPLE(x, x),
                                              &(pith_record_options){.most = 60}),
                          0)))
/* Recomputed, in a compiled function, bound, in a batch. */
static const pith_array *
scaled(pith_scope *in, const pith_array *x, const pith_array *by) {
    return pith_mul(in, pith_exp(in, pith_sin(in, x)), by);
}
PITH_FUNCTION2(scaled_of, scaled, pith_array, pith_array, pith_array)
static const pith_array *in_a_batch(pith_scope *in, const pith_array *x) {
    const pith_function *f = pith_jit(
        in,
        pith_recompute(
            in, pith_partial(in, &scaled_of, pith_norm(in, x, 2.0, PITH_ALL_AXES)), NULL),
        NULL);
    return total(in,
                 pith_square(in, pith_call(in, pith_vmap(in, f, NULL), PITH_ITEMS(x))));
}
PITH_FUNCTION1(in_a_batch_of, in_a_batch, pith_array, pith_array)

Test(derive_programs, derivatives, .init = open_scope) {
    const pith_function *const all[] = {&descended_of, &directional_of, &hessian_norm_of,
                                        &slopes_of,    &pulled_of,      &fixed_point_of,
                                        &in_a_batch_of};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        in_every_mode(all[k], some_x());
    close_scope();
}
