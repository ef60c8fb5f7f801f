/* Loops with a record: reverse mode through a number of iterations that is found on the
 * way. The expected values are closed forms. */
#include "derive_test.h"

/* x is multiplied by a `left` times, in a record of `rows`. */
typedef struct {
    const pith_array *x, *a, *left;
    int64_t rows;
} Walk;
PITH_NODE(Walk,
          PITH_LEAF(x, "f64[n]"),
          PITH_LEAF(a, "f64[]"),
          PITH_LEAF(left, "i64[]"),
          PITH_STATIC(rows, .initial = 8))

static const Walk *walk_of(int64_t left, int64_t rows) {
    return pith_record(s, Walk, .x = PITH_VECTOR(s, f64, 1, -2, 0.5),
                       .a = pith_f64(s, 1.25), .left = pith_i64(s, left), .rows = rows);
}

static const pith_array *goes_on(pith_scope *in, const Walk *w) {
    return pith_greater(in, w->left, pith_i64(in, 0));
}
PITH_FUNCTION1(goes_on_test, goes_on, pith_array, Walk)

static const Walk *step(pith_scope *in, const Walk *w) {
    Walk next = *w;
    next.x = pith_mul(in, w->x, w->a);
    next.left = pith_sub(in, w->left, pith_i64(in, 1));
    return pith_freeze(in, Walk, &next);
}
PITH_FUNCTION1(step_of, step, Walk, Walk)

static const pith_array *total(pith_scope *in, const Walk *w) {
    return pith_sum(in, pith_mul(in, w->x, w->x), PITH_ALL_AXES);
}
static const pith_array *recorded(pith_scope *in, const Walk *w) {
    return total(
        in, pith_while_recorded(in, &goes_on_test, &step_of, w,
                                &(pith_record_options){.most = w->rows, .name = "rows"}));
}
static const pith_array *unrecorded(pith_scope *in, const Walk *w) {
    return total(in, pith_while(in, &goes_on_test, &step_of, w));
}
static const pith_array *passing(pith_scope *in, const Walk *w) {
    return total(in, pith_while_recorded_passing(
                         in, &goes_on_test, &step_of, w,
                         &(pith_record_options){.most = w->rows, .name = "rows"}));
}
static const Walk *indexed(pith_scope *in, const pith_array *i, const Walk *w) {
    Walk next = *w;
    (void)i;
    next.x = pith_mul(in, w->x, w->a);
    return pith_freeze(in, Walk, &next);
}
PITH_FUNCTION2(indexed_step, indexed, Walk, pith_array, Walk)
static const pith_array *range(pith_scope *in, const Walk *w) {
    return total(in,
                 pith_fori_with(in, pith_i64(in, 0), w->left, &indexed_step, w,
                                &(pith_loop_options){.most = w->rows, .name = "rows"}));
}
PITH_FUNCTION1(recorded_of, recorded, pith_array, Walk)
PITH_FUNCTION1(unrecorded_of, unrecorded, pith_array, Walk)
PITH_FUNCTION1(passing_of, passing, pith_array, Walk)
PITH_FUNCTION1(range_of, range, pith_array, Walk)

static const pith_function *const loops[] = {&recorded_of, &passing_of, &range_of};
enum { LOOPS = 3 };
static const pith_derive_options moving = {.paths = PITH_PATHS("[0].x", "[0].a")};

/* The value is |x|^2 a^(2 n). */
static void check_gradient(const void *gradient, int64_t n) {
    const double x[3] = {1, -2, 0.5}, a = 1.25, square = 5.25;
    for (int i = 0; i < 3; i++)
        near(item(gradient, 0), i, 2 * x[i] * pow(a, 2 * (double)n));
    near(item(gradient, 1), 0, square * 2 * (double)n * pow(a, 2 * (double)n - 1));
}

Test(derive_record, gradients_of_any_length_have_closed_forms, .init = open_scope) {
    const int64_t lengths[] = {0, 1, 5, 8};
    for (int l = 0; l < LOOPS; l++)
        for (int k = 0; k < 4; k++) {
            const Walk *w = walk_of(lengths[k], 8);
            const void *both =
                pith_call(s, pith_value_and_grad(s, loops[l], &moving), PITH_ITEMS(w));
            cr_assert(pith_tree_equal(s, item(both, 0), unrecorded(s, w)));
            check_gradient(item(both, 1), lengths[k]);
        }
    close_scope();
}

Test(derive_record, second_derivatives_have_closed_forms, .init = open_scope) {
    const pith_derive_options a_moves = {.paths = PITH_PATHS("[0].a")};
    for (int l = 0; l < LOOPS; l++)
        for (int64_t n = 0; n < 9; n += 4) {
            const double m = 2 * (double)n, a = 1.25,
                         wanted = 5.25 * m * (m - 1) * pow(a, m - 2);
            const pith_function *g = pith_grad(s, loops[l], &a_moves);
            const Walk *w = walk_of(n, 8);
            near(pith_call(s, pith_grad(s, g, &a_moves), PITH_ITEMS(w)), 0, wanted);
            const void *h = pith_call(s, pith_hessian_product(s, loops[l], &a_moves),
                                      PITH_ITEMS(w, pith_f64(s, 2)));
            near(item(h, 1), 0, 2 * wanted);
            const pith_pushed y = pith_jvp(s, g, PITH_ITEMS(w), pith_f64(s, 2), &a_moves);
            near(y.tangent, 0, 2 * wanted);
        }
    close_scope();
}

Test(derive_record, a_longer_loop_is_an_error_of_its_derivation, .init = open_scope) {
    static const char *const names[LOOPS] = {
        "pith_while_recorded", "pith_while_recorded_passing", "pith_fori_with"};
    const Walk *w = walk_of(9, 8);
    for (int l = 0; l < LOOPS; l++) {
        char text[100];
        const pith_pushed y =
            pith_jvp(s, loops[l], PITH_ITEMS(w),
                     pith_tuple_make(s, PITH_ITEMS(w->x, w->a)), &moving);
        cr_assert(pith_tree_equal(s, y.value, unrecorded(s, w)));
        pt_ok(s, pith_call(s, pith_jit(s, loops[l], NULL), PITH_ITEMS(w)));
        const pith_function *both = pith_value_and_grad(s, loops[l], &moving);
        for (int k = 0; k < 2; k++) {
            pith_scope *inner = pith_scope_open_in(s);
            const void *pair = pith_call(inner, both, PITH_ITEMS(w));
            pith_wait(inner);
            snprintf(text, sizeof text, "%s: rows is too small: have 8, need 9",
                     names[l]);
            cr_assert(pith_code(inner) == PITH_E_CAPACITY);
            cr_assert(strstr(pith_message(inner), text), "%s", pith_message(inner));
            cr_assert(strstr(pith_message(inner), "test_derive_record.c:"), "%s",
                      pith_message(inner));
            (void)pair;
            pith_clear(inner);
            pith_scope_close(inner);
            pt_ok(s);
        }
        const pith_result *r = pith_as_result(s, both, PITH_ITEMS(w));
        pt_ok(s, r);
        cr_assert(pith_result_failed(s, r) == 1);
        cr_assert(pith_assertion_code(pith_result_get_failed(s, r, 0)) ==
                  PITH_E_CAPACITY);
        cr_assert(pith_tree_equal(s, item(pith_result_value(r), 0), unrecorded(s, w)));
    }
    close_scope();
}

/* ---- Loops that are refused, and options ---- */

static const pith_array *unrecorded_range(pith_scope *in, const Walk *w) {
    return total(in, pith_fori_between(in, pith_i64(in, 0), w->left, &indexed_step, w));
}
PITH_FUNCTION1(unrecorded_range_of, unrecorded_range, pith_array, Walk)
static const pith_array *unrecorded_passing(pith_scope *in, const Walk *w) {
    return total(in, pith_while_passing(in, &goes_on_test, &step_of, w));
}
PITH_FUNCTION1(unrecorded_passing_of, unrecorded_passing, pith_array, Walk)

static void refuses(const pith_function *f, const char *text) {
    const Walk *w = walk_of(3, 8);
    pt_fails(PITH_E_DERIVATIVE, s, pith_call(s, pith_grad(s, f, &moving), PITH_ITEMS(w)));
    pt_says(text);
    pt_says("test_derive_record.c:");
}

Test(derive_record, loops_without_a_record_are_refused_in_reverse, .init = open_scope) {
    refuses(&unrecorded_of,
            "a while has no derivative in reverse mode, because its number "
            "of iterations is traced (gt at ");
    refuses(&unrecorded_of, "use pith_while_recorded");
    refuses(&unrecorded_passing_of, "use pith_while_recorded");
    refuses(&unrecorded_range_of, "a loop with a traced upper bound has no derivative in "
                                  "reverse mode: use pith_fori_with");
    close_scope();
}

Test(derive_record, forward_mode_is_that_of_a_while, .init = open_scope) {
    const Walk *w = walk_of(20, 2);
    const pith_tuple *t = pith_tuple_make(s, PITH_ITEMS(w->x, w->a));
    const pith_pushed wanted = pith_jvp(s, &unrecorded_of, PITH_ITEMS(w), t, &moving);
    pt_ok(s, wanted.tangent);
    const pith_function *const others[] = {&recorded_of, &passing_of, &range_of,
                                           &unrecorded_range_of, &unrecorded_passing_of};
    for (int k = 0; k < 5; k++) {
        const pith_pushed y = pith_jvp(s, others[k], PITH_ITEMS(w), t, &moving);
        pt_ok(s, pith_tree_equal(s, y.tangent, wanted.tangent));
        const pith_linearized l = pith_linearize(s, others[k], PITH_ITEMS(w), &moving);
        pt_ok(s, pith_tree_equal(s, pith_call(s, l.map, PITH_ITEMS(t)), wanted.tangent));
    }
    close_scope();
}

Test(derive_record, options_have_ranges, .init = open_scope) {
    const Walk *w = walk_of(3, 8);
    const pith_array *n = pith_i64(s, 3);
    pt_fails(PITH_E_ARG, s, pith_while_recorded(s, &goes_on_test, &step_of, w, NULL));
    pt_fails(PITH_E_ARG, s,
             pith_while_recorded(s, &goes_on_test, &step_of, w,
                                 &(pith_record_options){.most = 0}));
    pt_says("expected a record of 1 row or more, got 0");
    pt_fails(PITH_E_ARG, s,
             pith_while_recorded_passing(s, &goes_on_test, &step_of, w,
                                         &(pith_record_options){.most = -1}));
    static const pith_loop_options refused[] = {
        {.most = -1}, {.unroll = -1}, {.length = 3}, {.reverse = true}};
    for (int k = 0; k < 4; k++)
        pt_fails(PITH_E_ARG, s, pith_fori_with(s, n, n, &indexed_step, w, &refused[k]));
    static const pith_loop_options of_ranges[] = {{.length = 3, .most = 4},
                                                  {.length = 3, .name = "rows"}};
    for (int k = 0; k < 2; k++)
        pt_fails(PITH_E_ARG, s,
                 pith_scan(s, &indexed_step, w, NULL, NULL, &of_ranges[k]));
    pt_says("pith_fori_with");
    pt_fails(PITH_E_DTYPE, s,
             pith_fori_with(s, n, pith_i32(s, 3), &indexed_step, w, NULL));
    close_scope();
}

/* ---- Ranges ---- */

static const pith_array *
squares(pith_scope *in, const pith_array *i, const pith_array *x) {
    return pith_mul(in, x, pith_add(in, pith_cast(in, i, PITH_F64), pith_f64(in, 0.5)));
}
PITH_FUNCTION2(squares_step, squares, pith_array, pith_array, pith_array)

static const pith_array *
up_to(pith_scope *in, const pith_array *x, const pith_array *from, const pith_array *to) {
    return pith_fori_with(in, from, to, &squares_step, x,
                          &(pith_loop_options){.most = 10, .unroll = 2});
}
PITH_FUNCTION3(up_to_of, up_to, pith_array, pith_array, pith_array, pith_array)
static const pith_array *known(pith_scope *in, const pith_array *x) {
    return pith_fori_with(in, pith_i32(in, 2), pith_i32(in, 20), &squares_step, x,
                          &(pith_loop_options){.most = 3, .unroll = 2});
}
PITH_FUNCTION1(known_of, known, pith_array, pith_array)

/* The product of i + 1/2. */
static double product(int from, int to) {
    double p = 1;
    for (int i = from; i < to; i++)
        p *= i + 0.5;
    return p;
}

Test(derive_record, ranges_begin_anywhere_in_any_dtype, .init = open_scope) {
    const pith_array *x = pith_f64(s, 3);
    const pith_function *g = pith_grad(s, &up_to_of, NULL);
    for (int from = -3; from < 9; from += 4)
        for (int to = -4; to < 10; to += from < 0 ? 3 : 1) {
            const pith_array *a = pith_i32(s, from), *b = pith_i32(s, to);
            if (to - from > 10)
                continue;
            near(pith_call(s, g, PITH_ITEMS(x, a, b)), 0, product(from, to));
            near(pith_call(s, &up_to_of, PITH_ITEMS(x, a, b)), 0, 3 * product(from, to));
        }
    near(pith_call(s, pith_grad(s, &known_of, NULL), PITH_ITEMS(x)), 0, product(2, 20));
    close_scope();
}

/* ---- Loops in loops, branches and programs ---- */

/* Newton's iteration for the square root of y from 1, until it is near. */
typedef struct {
    const pith_array *x, *y, *round;
} Root;
PITH_NODE(Root, PITH_LEAF(x, "f64[n]"), PITH_LEAF(y, "f64[n]"), PITH_LEAF(round, "i32[]"))

static const pith_array *is_far(pith_scope *in, const Root *r) {
    const pith_array *error = pith_expression(in, "abs(x * x - y) > 1e-13 * y",
                                              PITH_BIND({"x", r->x}, {"y", r->y}));
    return pith_any(in, error, PITH_ALL_AXES);
}
PITH_FUNCTION1(is_far_test, is_far, pith_array, Root)
static const Root *newton(pith_scope *in, const Root *r) {
    Root next = *r;
    next.x =
        pith_expression(in, "0.5 * (x + y / x)", PITH_BIND({"x", r->x}, {"y", r->y}));
    next.round = pith_add(in, r->round, pith_i32(in, 1));
    return pith_freeze(in, Root, &next);
}
PITH_FUNCTION1(newton_step, newton, Root, Root)

static const pith_array *root(pith_scope *in, const pith_array *y) {
    const Root *first = pith_record(in, Root, .x = pith_ones(in, PITH_F64, PITH_SHAPE(3)),
                                    .y = y, .round = pith_i32(in, 0));
    const Root *last = pith_while_recorded(in, &is_far_test, &newton_step, first,
                                           &(pith_record_options){.most = 12});
    return last ? last->x : NULL;
}
static const pith_array *
root_row(pith_scope *in, const pith_array *i, const pith_array *y) {
    (void)i;
    return root(in, y);
}
PITH_FUNCTION2(root_row_of, root_row, pith_array, pith_array, pith_array)
static const pith_array *same(pith_scope *in, const pith_array *y) {
    (void)in;
    return y;
}
PITH_FUNCTION1(same_of, same, pith_array, pith_array)
PITH_FUNCTION1(root_of, root, pith_array, pith_array)

/* The fourth roots of y by two loops in a loop, or y. */
static const pith_array *
roots(pith_scope *in, const pith_array *y, const pith_array *which) {
    const pith_array *two =
        pith_fori_with(in, pith_i64(in, 0), pith_i64(in, 1), &root_row_of, y, NULL);
    two = pith_cond(in, which, &root_of, &same_of, two);
    return pith_sum(in, two, PITH_ALL_AXES);
}
PITH_FUNCTION2(roots_of, roots, pith_array, pith_array, pith_array)

Test(derive_record, records_in_loops_and_branches, .init = open_scope) {
    const double ys[] = {2, 9, 0.3};
    const pith_array *y = PITH_VECTOR(s, f64, 2, 9, 0.3);
    const pith_function *g = pith_grad(s, &roots_of, NULL);
    for (int which = 0; which < 2; which++) {
        const pith_array *d = pith_call(s, g, PITH_ITEMS(y, pith_bool(s, which)));
        const void *h = pith_call(
            s, pith_hessian_product(s, &roots_of, NULL),
            PITH_ITEMS(y, pith_bool(s, which), pith_ones(s, PITH_F64, PITH_SHAPE(3))));
        const double p = which ? 0.25 : 0.5;
        for (int i = 0; i < 3; i++) {
            close_to(d, i, p * pow(ys[i], p - 1));
            close_to(item(h, 1), i, p * (p - 1) * pow(ys[i], p - 2));
        }
    }
    close_scope();
}

static const pith_array *walked(pith_scope *in, const pith_array *a, const Walk *w) {
    Walk next = *w;
    next.a = a;
    return recorded(in, pith_freeze(in, Walk, &next));
}
PITH_FUNCTION2(walked_of, walked, pith_array, pith_array, Walk)

/* Bound trees of the loop's functions. */
static const pith_array *
times(pith_scope *in, const pith_array *x, const pith_array *by) {
    return pith_mul(in, x, by);
}
PITH_FUNCTION2(times_of, times, pith_array, pith_array, pith_array)
static const pith_array *
is_under(pith_scope *in, const pith_array *x, const pith_array *limit) {
    return pith_less(in, x, limit);
}
PITH_FUNCTION2(is_under_of, is_under, pith_array, pith_array, pith_array)

static const pith_array *bound(pith_scope *in,
                               const pith_array *x,
                               const pith_array *by,
                               const pith_array *limit) {
    return pith_while_recorded(in, pith_partial(in, &is_under_of, limit),
                               pith_partial(in, &times_of, by), x,
                               &(pith_record_options){.most = 20});
}
PITH_FUNCTION3(bound_of, bound, pith_array, pith_array, pith_array, pith_array)

Test(derive_record, bound_trees_move, .init = open_scope) {
    const pith_derive_options all = {.arguments = PITH_ARGUMENT(0) | PITH_ARGUMENT(1)};
    const pith_array *x = pith_f64(s, 3), *by = pith_f64(s, 2), *limit = pith_f64(s, 100);
    const void *g = pith_call(s, pith_grad(s, &bound_of, &all), PITH_ITEMS(x, by, limit));
    near(item(g, 0), 0, 64);
    near(item(g, 1), 0, 3 * 6 * 32);
    const Walk *w = walk_of(4, 4);
    near(pith_call(s, pith_grad(s, &walked_of, NULL), PITH_ITEMS(w->a, w)), 0,
         5.25 * 8 * pow(1.25, 7));
    close_scope();
}

/* ---- Loops that end at a failed check ---- */

static const Walk *checked(pith_scope *in, const Walk *w) {
    pith_check(in,
               pith_less_equal(in, pith_abs(in, pith_max(in, w->x, PITH_ALL_AXES)), 2),
               "x is large");
    return step(in, w);
}
PITH_FUNCTION1(checked_of, checked, Walk, Walk)
static const Walk *checked_indexed(pith_scope *in, const pith_array *i, const Walk *w) {
    (void)i;
    return checked(in, w);
}
PITH_FUNCTION2(checked_indexed_of, checked_indexed, Walk, pith_array, Walk)

static const pith_array *checked_while(pith_scope *in, const Walk *w) {
    return total(in,
                 pith_while_recorded_passing(in, &goes_on_test, &checked_of, w,
                                             &(pith_record_options){.most = w->rows}));
}
static const pith_array *checked_range(pith_scope *in, const Walk *w) {
    return total(in, pith_fori_passing(in, 0, 7, &checked_indexed_of, w));
}
static const pith_array *checked_rest(pith_scope *in, const Walk *w) {
    return total(in, pith_while_recorded(in, &goes_on_test, &checked_of, w,
                                         &(pith_record_options){.most = w->rows}));
}
PITH_FUNCTION1(checked_while_of, checked_while, pith_array, Walk)
PITH_FUNCTION1(checked_range_of, checked_range, pith_array, Walk)
PITH_FUNCTION1(checked_rest_of, checked_rest, pith_array, Walk)

/* x is above 2 after four iterations, so that the fifth has a failed check. */
Test(derive_record, loops_that_end_early_have_gradients, .init = open_scope) {
    const pith_function *const all[] = {&checked_while_of, &checked_range_of,
                                        &checked_rest_of};
    const int64_t lengths[] = {5, 5, 7};
    for (int k = 0; k < 3; k++) {
        const Walk *w = walk_of(7, 7);
        const pith_result *r =
            pith_as_result(s, pith_grad(s, all[k], &moving), PITH_ITEMS(w));
        pt_ok(s, r);
        cr_assert(pith_result_failed(s, r) == 1);
        cr_assert(strstr(pith_assertion_message(s, pith_result_get_failed(s, r, 0)),
                         "x is large"));
        check_gradient(pith_result_value(r), lengths[k]);
    }
    close_scope();
}

/* ---- Shapes, dtypes, threads and options of derivations ---- */

/* x until its sum is 50 or more; then the sum of squares. */
static const pith_array *is_small(pith_scope *in, const pith_array *x) {
    return pith_less(in, pith_sum(in, pith_cast(in, x, PITH_F64), PITH_ALL_AXES), 50);
}
static const pith_array *grown(pith_scope *in, const pith_array *x) {
    return pith_mul(in, x, pith_add(in, pith_sin(in, x), 2));
}
PITH_FUNCTION1(is_small_test, is_small, pith_array, pith_array)
PITH_FUNCTION1(grown_step, grown, pith_array, pith_array)
static const pith_array *growth(pith_scope *in, const pith_array *x) {
    const pith_array *last = pith_while_recorded(in, &is_small_test, &grown_step, x,
                                                 &(pith_record_options){.most = 40});
    return pith_sum(in, pith_mul(in, last, last), PITH_ALL_AXES);
}
PITH_FUNCTION1(growth_of, growth, pith_array, pith_array)

/* The value is g(g(... x)); its derivative is the product of those of g. */
static double growth_slope(double x, int count) {
    double slope = 1;
    for (double y = x; count * x < 50; y = x) {
        slope *= sin(y) + 2 + y * cos(y);
        x = y * (sin(y) + 2);
    }
    return 2 * x * slope;
}

Test(derive_record, residuals_of_any_dtype_and_rank, .init = open_scope) {
    const pith_function *g = pith_grad(s, &growth_of, NULL);
    const pith_shape shapes[] = {PITH_SCALAR, PITH_SHAPE(3),
                                 PITH_SHAPE(1, 2, 1, 1, 3, 1, 1, 1)};
    const int counts[] = {1, 3, 6};
    for (int k = 0; k < 3; k++) {
        const double first = 0.3, wanted = growth_slope(first, counts[k]);
        const pith_array *x = pith_full(s, PITH_F64, shapes[k], first);
        const pith_array *d = pith_call(s, g, PITH_ITEMS(x));
        pt_ok(s, d);
        for (int i = 0; i < counts[k]; i++)
            near(d, i, wanted);
        const pith_array *y = pith_cast(s, x, PITH_F32);
        const pith_array *e = pith_cast(s, pith_call(s, g, PITH_ITEMS(y)), PITH_F64);
        pt_ok(s, e);
        cr_assert(fabs(at(e, 0) - wanted) <= 1e-3 * fabs(wanted), "%.9g, not %.9g",
                  at(e, 0), wanted);
    }
    close_scope();
}

static const pith_array *emptied(pith_scope *in, const pith_array *x, const Walk *w) {
    Walk next = *w;
    next.x = x;
    return recorded(in, pith_freeze(in, Walk, &next));
}
PITH_FUNCTION2(emptied_of, emptied, pith_array, pith_array, Walk)

Test(derive_record, empty_arrays_have_empty_gradients, .init = open_scope) {
    const pith_array *x = pith_zeros(s, PITH_F64, PITH_SHAPE(0));
    const pith_array *d =
        pith_call(s, pith_grad(s, &emptied_of, NULL), PITH_ITEMS(x, walk_of(4, 8)));
    pt_ok(s, d);
    cr_assert(pith_array_spec(d)->count == 0 && pith_array_spec(d)->rank == 1);
    close_scope();
}

Test(derive_record, threads_change_no_bits) {
    enum { COUNT = 70000 };
    static double d[2][COUNT];
    for (int k = 0; k < 2; k++) {
        rt = pith_open(&(pith_open_options){.device = "host", .threads = 1 + 2 * k});
        s = pith_scope_open(rt);
        const pith_array *x =
            pith_div(s, pith_arange(s, PITH_F64, COUNT), (double)(2000 * (int64_t)COUNT));
        const pith_array *g = pith_call(s, pith_grad(s, &growth_of, NULL), PITH_ITEMS(x));
        pt_ok(s, g && pith_read(s, g, d[k], sizeof d[k]));
        pith_scope_close(s);
        pith_close(rt);
    }
    cr_assert(memcmp(d[0], d[1], sizeof d[0]) == 0);
}

static const pith_array *scaled(pith_scope *in, const pith_array *a) {
    const Walk *w = pith_record(in, Walk, .x = a, .a = pith_f64(in, 3),
                                .left = pith_i64(in, 4), .rows = 6);
    const Walk *last = pith_while_recorded(in, &goes_on_test, &step_of, w,
                                           &(pith_record_options){.most = 6});
    return last ? last->x : NULL;
}
PITH_FUNCTION1(scaled_of, scaled, pith_array, pith_array)

Test(derive_record, linear_loops_are_transposed, .init = open_scope) {
    const pith_array *x = PITH_VECTOR(s, f64, 1, 2);
    const pith_function *t = pith_linear_transpose(s, &scaled_of, x);
    pt_ok(s, t);
    near(pith_call(s, t, PITH_ITEMS(x)), 1, 162);
    const pith_linearized v = pith_vjp(s, &scaled_of, PITH_ITEMS(x), NULL);
    pt_ok(s, v.map);
    near(pith_call(s, v.map, PITH_ITEMS(x)), 0, 81);
    /* The map again: its own transpose is the map of forward mode. */
    const pith_function *back = pith_linear_transpose(s, v.map, x);
    pt_ok(s, back);
    near(pith_call(s, back, PITH_ITEMS(x)), 1, 162);
    close_scope();
}

Test(derive_record, options_of_derivations_reach_the_loop, .init = open_scope) {
    const pith_array *x = pith_f64(s, 0.3);
    const pith_derive_options strong = {.strong_zero = true},
                              found = {.find_nonfinite = true};
    const double wanted = growth_slope(0.3, 1);
    near(pith_call(s, pith_grad(s, &growth_of, &strong), PITH_ITEMS(x)), 0, wanted);
    near(pith_call(s, pith_grad(s, &growth_of, &found), PITH_ITEMS(x)), 0, wanted);
    const pith_function *again = pith_recompute(s, &growth_of, NULL);
    near(pith_call(s, pith_grad(s, again, NULL), PITH_ITEMS(x)), 0, wanted);
    close_scope();
}
