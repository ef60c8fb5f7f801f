/* Nested recomputation of loops (pith_loop_options.kept_bytes): bits of gradients, peaks
 * and work for many budgets. */
#include "derive_budget_test.h"

#include <math.h>

static pith_loop_options inner_options;

typedef struct {
    const pith_array *carry, *out;
} Turn;
PITH_NODE(Turn, PITH_LEAF(carry, "f64[...]"), PITH_LEAF(out, "f64[...]"))

/* ---- Loops ---- */

/* The constant w has two uses. */
static const pith_array *
step(pith_scope *in, const pith_array *x, const void *row, const pith_array *w) {
    (void)row;
    return pith_mul(in, pith_sin(in, pith_add(in, x, w)), w);
}
PITH_FUNCTION3(step_of, step, pith_array, pith_array, void, pith_array)

static const pith_array *steps(pith_scope *in, const pith_array *w) {
    const pith_function *f = pith_partial(in, &step_of, w);
    return pith_scan(in, f, w, NULL, NULL, &options);
}
static const pith_array *plain(pith_scope *in, const pith_array *w, const void *xs) {
    (void)xs;
    const pith_array *x =
        pith_mul(in, steps(in, w), w); /* w is used after the loop too */
    return pith_sum(in, x, PITH_ALL_AXES);
}
PITH_FUNCTION2(plain_of, plain, pith_array, pith_array, void)

static const Turn *
turn(pith_scope *in, const pith_array *x, const pith_array *row, const pith_array *w) {
    x = pith_mul(in, pith_sin(in, pith_add(in, x, w)), pith_add(in, w, row));
    return pith_freeze(in, Turn, &(Turn){x, pith_mul(in, x, row)});
}
PITH_FUNCTION3(turn_of, turn, Turn, pith_array, pith_array, pith_array)

static const pith_array *rows(pith_scope *in, const pith_array *w, const pith_array *xs) {
    const void *outs;
    const pith_array *x =
        pith_scan(in, pith_partial(in, &turn_of, w), w, xs, &outs, &options);
    return outs ? pith_add(in, pith_sum(in, x, PITH_ALL_AXES),
                           pith_sum(in, outs, PITH_ALL_AXES))
                : NULL;
}
PITH_FUNCTION2(rows_of, rows, pith_array, pith_array, pith_array)

/* A loop in the branch of a cond, in a loop. */
static const pith_array *as_it_is(pith_scope *in, const pith_array *w) {
    (void)in;
    return w;
}
PITH_FUNCTION1(as_it_is_of, as_it_is, pith_array, pith_array)
PITH_FUNCTION1(steps_of, steps, pith_array, pith_array)

static const pith_array *
branch(pith_scope *in, const pith_array *x, const void *row, const pith_array *w) {
    (void)row;
    const pith_array *less = pith_less(in, pith_sum(in, x, PITH_ALL_AXES), 80.0);
    return pith_mul(in, pith_cond(in, less, &steps_of, &as_it_is_of, x), w);
}
PITH_FUNCTION3(branch_of, branch, pith_array, pith_array, void, pith_array)

static const pith_array *nested(pith_scope *in, const pith_array *w, const void *xs) {
    (void)xs;
    const pith_array *x =
        pith_scan(in, pith_partial(in, &branch_of, w), w, NULL, NULL, &inner_options);
    return pith_sum(in, x, PITH_ALL_AXES);
}
PITH_FUNCTION2(nested_of, nested, pith_array, pith_array, void)

/* ---- Tests ---- */

static void check_plain(void) {
    const pith_array *w = numbers(WIDE, 0.25, 1e-3);
    const pith_none *none = pith_none_make(s);
    static const struct {
        int64_t length;
        int enough;
    } loops[] = {{0, 1}, {1, 1}, {2, 1}, {7, 1}, {60, 3}, {97, 4}, {500, 14}};
    for (int backwards = 0; backwards < 2; backwards++)
        for (size_t k = 0; k < sizeof loops / sizeof *loops; k++) {
            const int64_t n = loops[k].length;
            options = (pith_loop_options){.length = n, .reverse = backwards};
            const int enough = check(&plain_of, false, w, (const void *)none,
                                     &options.kept_bytes, (size_t)n * ONE, true);
            cr_assert(enough >= loops[k].enough, "%d steps: %d", (int)n, enough);
        }
}

Test(derive_budget, interpreted) {
    setenv("PITH_JIT", "off", 1);
    begin(1);
    check_plain();
    end();
}

Test(derive_budget, compiled) {
    setenv("PITH_JIT", "wait", 1);
    begin(2);
    check_plain();
    end();
}

Test(derive_budget, rows_and_outputs) {
    for (int k = 0; k < 4; k++) {
        begin(1 + k % 2);
        const int64_t n = k < 2 ? 96 : 97;
        options = (pith_loop_options){.length = n, .reverse = k % 2};
        const pith_array *xs =
            pith_reshape(s, numbers(n * WIDE, 0, 1e-5), PITH_SHAPE(n, WIDE));
        const int enough = check(&rows_of, true, numbers(WIDE, 0.25, 1e-3), xs,
                                 &options.kept_bytes, (size_t)n * ONE, true);
        cr_assert(enough >= 5, "%d rows: %d", (int)n, enough);
        end();
    }
}

/* Rows that do not move, and no outputs: a part of the loop reads its rows where they
 * are, so that a prime length needs no more than others. */
static const pith_array *turn_still(pith_scope *in,
                                    const pith_array *x,
                                    const pith_array *row,
                                    const pith_array *w) {
    return turn(in, x, row, w)->carry;
}
PITH_FUNCTION3(turn_still_of, turn_still, pith_array, pith_array, pith_array, pith_array)
static const pith_array *
still_rows(pith_scope *in, const pith_array *w, const pith_array *xs) {
    const pith_function *f = pith_partial(in, &turn_still_of, w);
    return pith_sum(in, pith_scan(in, f, w, xs, NULL, &options), PITH_ALL_AXES);
}
PITH_FUNCTION2(still_rows_of, still_rows, pith_array, pith_array, pith_array)

Test(derive_budget, rows_of_prime_length) {
    for (int k = 0; k < 4; k++) {
        setenv("PITH_JIT", k < 2 ? "off" : "wait", 1);
        begin(1 + k % 2);
        options = (pith_loop_options){.reverse = k % 2};
        const pith_array *xs =
            pith_reshape(s, numbers(97 * WIDE, 0, 1e-5), PITH_SHAPE(97, WIDE));
        const int enough = check(&still_rows_of, false, numbers(WIDE, 0.25, 1e-3), xs,
                                 &options.kept_bytes, (size_t)97 * ONE, true);
        cr_assert(enough >= 4, "%d", enough);
        end();
    }
}

/* Rows that move: the cotangents of all parts are written to one array. */
static const pith_array *
wave(pith_scope *in, const pith_array *x, const pith_array *row) {
    return pith_mul(in, pith_sin(in, x), row);
}
PITH_FUNCTION2(wave_of, wave, pith_array, pith_array, pith_array)
static const pith_array *
waves(pith_scope *in, const pith_array *w, const pith_array *xs) {
    return pith_sum(in, pith_scan(in, &wave_of, w, xs, NULL, &options), PITH_ALL_AXES);
}
PITH_FUNCTION2(waves_of, waves, pith_array, pith_array, pith_array)

Test(derive_budget, rows_that_move_of_any_length) {
    enum { NARROW = 64 };
    static const int64_t lengths[] = {997, 1009, 1000, 3, 2, 1};
    for (int k = 0; k < 6; k++) {
        begin(1 + k % 2);
        const int64_t n = lengths[k];
        const size_t all = (size_t)n * NARROW * sizeof(double);
        const pith_array *w = numbers(NARROW, 0.25, 1e-3),
                         *xs = pith_reshape(s, numbers(n * NARROW, 0.5, 1e-5),
                                            PITH_SHAPE(n, NARROW));
        options = (pith_loop_options){.reverse = k % 2};
        const result whole = run(&waves_of, true, w, xs);
        static const size_t shares[] = {1, 10, 30};
        for (int part = 0; part < (n > 3 ? 3 : 1); part++) {
            options.kept_bytes = all * 21 / 20 / shares[part];
            const result r = run(&waves_of, true, w, xs);
            cr_assert(r.gradient && pith_tree_equal(s, r.gradient, whole.gradient),
                      "%d steps in a %dth", (int)n, (int)shares[part]);
            cr_assert(part == 0 || r.peak + all <= options.kept_bytes + whole.peak,
                      "%d steps in a %dth: %zu of %zu", (int)n, (int)shares[part], r.peak,
                      whole.peak);
        }
        end();
    }
}

/* Gradients of rows that are -0 stay so where they are joined from parts. */
static const pith_array *turn_zero(pith_scope *in,
                                   const pith_array *x,
                                   const pith_array *row,
                                   const pith_array *w) {
    const pith_array *zero = pith_mul(in, pith_sum(in, row, PITH_ALL_AXES), -0.0);
    return pith_mul(in, pith_add(in, pith_sin(in, pith_add(in, x, w)), zero), w);
}
PITH_FUNCTION3(turn_zero_of, turn_zero, pith_array, pith_array, pith_array, pith_array)
static const pith_array *
zero_rows(pith_scope *in, const pith_array *w, const pith_array *xs) {
    const pith_function *f = pith_partial(in, &turn_zero_of, w);
    return pith_sum(in, pith_scan(in, f, w, xs, NULL, &options), PITH_ALL_AXES);
}
PITH_FUNCTION2(zero_rows_of, zero_rows, pith_array, pith_array, pith_array)

Test(derive_budget, zeros_keep_their_sign) {
    enum { STEPS = 97, ROW = 4 };
    begin(1);
    const pith_array *w = numbers(WIDE, 0.25, 1e-3),
                     *xs = pith_reshape(s, numbers(STEPS * ROW, 0, 1e-5),
                                        PITH_SHAPE(STEPS, ROW));
    for (int k = 0; k < 3; k++) {
        double got[STEPS * ROW];
        options = (pith_loop_options){.kept_bytes = (size_t)(k * 30) * ONE};
        const result r = run(&zero_rows_of, true, w, xs);
        pt_ok(s, r.gradient);
        pt_ok(s, pith_read(s, pith_child(r.gradient, 1), got, sizeof got));
        for (int i = 0; i < STEPS * ROW; i++)
            cr_assert(got[i] == 0 && signbit(got[i]), "%d of budget %d: %g", i, k,
                      got[i]);
    }
    options.kept_bytes = 0;
    end();
}

Test(derive_budget, a_loop_in_a_branch_in_a_loop) {
    begin(1);
    const pith_array *w = numbers(WIDE, 0.25, 1e-3);
    const void *none = pith_none_make(s);
    options = (pith_loop_options){.length = 30};
    inner_options = (pith_loop_options){.length = 40};
    const int inner =
        check(&nested_of, false, w, none, &options.kept_bytes, 30 * ONE, false);
    const int outer = check(&nested_of, false, w, none, &inner_options.kept_bytes,
                            40 * 33 * ONE, false);
    options.kept_bytes = 20 * ONE;
    const int both = check(&nested_of, false, w, none, &inner_options.kept_bytes,
                           40 * 20 * ONE, false);
    cr_assert(inner >= 2 && outer >= 10 && both >= 8, "%d, %d, %d", inner, outer, both);
    end();
}

/* ---- Budgets of derivations ---- */

/* Two loops. */
static const pith_array *twice(pith_scope *in, const pith_array *w, const void *xs) {
    return pith_add(in, plain(in, w, xs), plain(in, pith_sin(in, w), xs));
}
PITH_FUNCTION2(twice_of, twice, pith_array, pith_array, void)

Test(derive_budget, of_a_derivation) {
    begin(1);
    const pith_array *w = numbers(WIDE, 0.25, 1e-3);
    const void *arguments[2] = {w, pith_none_make(s)};
    options = (pith_loop_options){.length = 100};
    const void *whole = NULL;
    size_t peaks[3], kept[3];
    for (int k = 0; k < 3; k++) {
        const pith_derive_options o = {.kept_bytes =
                                           (size_t)(k ? 140 - 40 * k : 0) * ONE};
        pith_scope *in = pith_scope_open_in(s);
        const pith_function *g = pith_grad(in, &twice_of, &o);
        const void *gradient = pith_call(in, g, 2, arguments);
        peaks[k] = pith_measure_peak(in, g, 2, arguments);
        kept[k] = pith_program_cost(in, g, 2, arguments).kept_bytes;
        pt_ok(in, gradient);
        if (!whole)
            whole = pith_keep(s, gradient);
        cr_assert(pith_tree_equal(s, gradient, whole));
        pith_scope_close(in);
    }
    cr_assert(peaks[0] >= 200 * ONE && peaks[1] < 120 * ONE && peaks[2] <= peaks[1],
              "%zu, %zu, %zu", peaks[0] / ONE, peaks[1] / ONE, peaks[2] / ONE);
    cr_assert(kept[0] >= 200 * ONE && kept[1] < 60 * ONE && kept[1] > 0, "%zu, %zu, %zu",
              kept[0] / ONE, kept[1] / ONE, kept[2] / ONE);
    const pith_derive_options one = {.kept_bytes = 1};
    pt_fails(PITH_E_MEMORY, s, pith_call(s, pith_grad(s, &twice_of, &one), 2, arguments));
    pt_says(".kept_bytes is 1");
    end();
}

/* What a derivation keeps and its peak, for budgets in parts of what it keeps without
 * one. The bits are the same if `exact`. Returns the number of budgets that are enough.
 */
static int
within(const pith_function *f, const pith_array *w, bool exact, const size_t *parts) {
    const void *arguments[2] = {w, pith_none_make(s)}, *whole = NULL;
    size_t all = 0, first = 0, last = SIZE_MAX;
    int enough = 0;
    for (int k = 0; k == 0 || parts[k - 1]; k++) {
        const pith_derive_options o = {.kept_bytes = k ? all / parts[k - 1] : 0};
        pith_scope *in = pith_scope_open_in(s);
        const pith_function *g = pith_grad(in, f, &o);
        const void *gradient = pith_call(in, g, 2, arguments);
        if (gradient) {
            const size_t peak = pith_measure_peak(in, g, 2, arguments);
            const pith_program_costs costs = pith_program_cost(in, g, 2, arguments);
            pt_ok(in);
            if (!k) {
                whole = pith_keep(s, gradient);
                all = costs.kept_bytes;
                first = peak;
            }
            cr_assert(!exact || pith_tree_equal(s, gradient, whole), "budget %d", k);
            cr_assert(pith_all_close(s, gradient, whole, 1e-12, 1e-14, false),
                      "budget %d", k);
            cr_assert(peak <= last, "budget %d: peak %zu, then %zu", k, last, peak);
            cr_assert(!k || peak + all <= o.kept_bytes + first,
                      "budget %zu: peak %zu of %zu", o.kept_bytes, peak, first);
            last = peak;
            enough += k > 0;
        } else {
            cr_assert(pith_code(in) == PITH_E_MEMORY, "%s", pith_message(in));
            pith_clear(in);
        }
        pith_scope_close(in);
    }
    return enough;
}

/* A loop in a loop: what the inner one keeps of a step of the outer one counts too. */
static const pith_array *
deep_step(pith_scope *in, const pith_array *x, const void *row, const pith_array *w) {
    (void)row;
    const pith_loop_options o = {.length = 60};
    return pith_mul(in, pith_scan(in, pith_partial(in, &step_of, w), x, NULL, NULL, &o),
                    w);
}
PITH_FUNCTION3(deep_step_of, deep_step, pith_array, pith_array, void, pith_array)
static const pith_array *deep(pith_scope *in, const pith_array *w, const void *xs) {
    (void)xs;
    const pith_loop_options o = {.length = 12};
    const pith_function *f = pith_partial(in, &deep_step_of, w);
    return pith_sum(in, pith_scan(in, f, w, NULL, NULL, &o), PITH_ALL_AXES);
}
PITH_FUNCTION2(deep_of, deep, pith_array, pith_array, void)

Test(derive_budget, loops_in_loops_count) {
    static const size_t parts[] = {2, 5, 8, 12, 16, 20, 25, 0};
    begin(1);
    const int enough = within(&deep_of, numbers(WIDE, 0.25, 1e-3), true, parts);
    cr_assert(enough >= 6, "%d", enough);
    end();
}

/* The inner derivative takes from the budget of the outer one, since what it keeps are
 * values of the outer one. */
static const pith_array *steep(pith_scope *in, const pith_array *w, const void *xs) {
    const void *arguments[2] = {w, xs};
    return pith_sum(
        in, pith_square(in, pith_call(in, pith_grad(in, &plain_of, NULL), 2, arguments)),
        PITH_ALL_AXES);
}
PITH_FUNCTION2(steep_of, steep, pith_array, pith_array, void)

Test(derive_budget, of_a_derivative_of_a_derivative) {
    static const size_t parts[] = {2, 3, 4, 5, 0};
    begin(1);
    options = (pith_loop_options){.length = 200};
    const int enough = within(&steep_of, numbers(WIDE, 0.25, 1e-3), false, parts);
    cr_assert(enough >= 3, "%d", enough);
    const pith_derive_options few = {.kept_bytes = 40 * ONE};
    const void *arguments[2] = {numbers(WIDE, 0.25, 1e-3), pith_none_make(s)};
    pt_fails(PITH_E_MEMORY, s, pith_call(s, pith_grad(s, &steep_of, &few), 2, arguments));
    pt_says("pith_grad: plain, which has a part of the budget around it: the backward");
    end();
}

/* ---- Budgets in budgets ---- */

/* A budget is a bound of all that is kept beneath it, also by loops and derivations with
 * budgets of their own. */
static void
check_bound(size_t *outer, size_t *inner, size_t inner_bytes, int least_enough) {
    const pith_array *w = numbers(WIDE, 0.25, 1e-3);
    pith_derive_options of_all = {0};
    const void *arguments[2] = {w, pith_none_make(s)}, *want = NULL;
    size_t all = 0, whole = 0;
    int enough = 0;
    for (int k = 0; k <= BUDGETS / 2; k++) {
        const size_t budget = k ? all * (size_t)(BUDGETS + 1 - 2 * k) / (BUDGETS + 1) : 0;
        pith_scope *in = pith_scope_open_in(s);
        *(outer ? outer : &of_all.kept_bytes) = budget;
        *inner = k ? inner_bytes : 0;
        pith_jit_clear(rt);
        const pith_function *g = pith_grad(in, &nested_of, &of_all);
        const void *gradient = pith_call(in, g, 2, arguments);
        if (gradient) {
            const size_t peak = pith_measure_peak(in, g, 2, arguments);
            pt_ok(in);
            if (!k) {
                all = pith_program_cost(in, g, 2, arguments).kept_bytes;
                whole = peak;
                want = pith_keep(s, gradient);
            }
            cr_assert(pith_tree_equal(s, gradient, want), "budget %zu", budget);
            cr_assert(!k || peak + all <= budget + whole,
                      "budget %zu: peak %zu of %zu, which keeps %zu", budget, peak, whole,
                      all);
            enough += k > 0;
        } else {
            cr_assert(pith_code(in) == PITH_E_MEMORY, "%s", pith_message(in));
            pith_clear(in);
        }
        pith_scope_close(in);
    }
    cr_assert(enough >= least_enough, "%d", enough);
    *inner = 0;
    if (outer)
        *outer = 0;
}

Test(derive_budget, bounds_what_inner_budgets_keep) {
    begin(1);
    options = (pith_loop_options){.length = 12};
    inner_options = (pith_loop_options){.length = 8};
    check_bound(&inner_options.kept_bytes, &options.kept_bytes, 10 * ONE, 7);
    check_bound(NULL, &inner_options.kept_bytes, 60 * ONE, 5);
    end();
}

/* ---- What is in a body ---- */

static const pith_array *
talks(pith_scope *in, const pith_array *x, const void *row, const pith_array *w) {
    (void)row;
    pith_non_differentiable(in, pith_stop_gradient(in, x));
    pith_check(in, pith_less(in, pith_sum(in, x, PITH_ALL_AXES), 1e6), "x is too large");
    const pith_array *at = pith_argsort(in, pith_stop_gradient(in, x), 0, NULL);
    return pith_mul(in, pith_sin(in, pith_add(in, x, w)), pith_take(in, w, at, NULL));
}
PITH_FUNCTION3(talks_of, talks, pith_array, pith_array, void, pith_array)

static const pith_array *talk(pith_scope *in, const pith_array *w, const void *xs) {
    (void)xs;
    const pith_function *f = pith_partial(in, &talks_of, w);
    return pith_sum(in, pith_scan(in, f, w, NULL, NULL, &options), PITH_ALL_AXES);
}
PITH_FUNCTION2(talk_of, talk, pith_array, pith_array, void)

Test(derive_budget, checks_marks_and_indices_in_a_body) {
    begin(1);
    options = (pith_loop_options){.length = 96};
    const int enough =
        check(&talk_of, false, numbers(WIDE, 0.25, 1e-3), (const void *)pith_none_make(s),
              &options.kept_bytes, (size_t)96 * 2 * ONE, false);
    cr_assert(enough >= 5, "%d", enough);
    end();
}

/* ---- Higher orders, maps and errors ---- */

static const pith_array *alone(pith_scope *in, const pith_array *w) {
    return plain(in, w, NULL);
}
PITH_FUNCTION1(alone_of, alone, pith_array, pith_array)

Test(derive_budget, higher_orders_and_maps) {
    begin(1);
    const pith_array *w = numbers(WIDE, 0.25, 1e-3), *v = numbers(WIDE, 1, -1e-3);
    const void *products[2], *slopes[2], *pulled[2], *pushed[2];
    for (int k = 0; k < 2; k++) {
        options = (pith_loop_options){.length = 50, .kept_bytes = (size_t)k * 25 * ONE};
        pith_jit_clear(rt);
        products[k] =
            pith_call(s, pith_hessian_product(s, &alone_of, NULL), PITH_ITEMS(w, v));
        slopes[k] =
            pith_jvp(s, pith_grad(s, &alone_of, NULL), PITH_ITEMS(w), v, NULL).tangent;
        pulled[k] = pith_call(s, pith_vjp(s, &alone_of, PITH_ITEMS(w), NULL).map,
                              PITH_ITEMS(pith_f64(s, 1)));
        pushed[k] = pith_call(s, pith_linearize(s, &alone_of, PITH_ITEMS(w), NULL).map,
                              PITH_ITEMS(v));
        pt_ok(s, products[k] && slopes[k] && pulled[k] && pushed[k]);
    }
    cr_assert(pith_tree_equal(s, products[0], products[1]));
    cr_assert(pith_tree_equal(s, slopes[0], slopes[1]));
    cr_assert(pith_tree_equal(s, pulled[0], pulled[1]));
    cr_assert(pith_tree_equal(s, pushed[0], pushed[1]));
    end();
}

/* The least that is enough is enough, and one byte less is not. */
Test(derive_budget, the_least_budget_is_named) {
    begin(1);
    const pith_array *w = numbers(WIDE, 0.25, 1e-3);
    options = (pith_loop_options){.length = 64, .kept_bytes = 1};
    pt_fails(PITH_E_MEMORY, s,
             pith_call(s, pith_grad(s, &alone_of, NULL), PITH_ITEMS(w)));
    pt_says("test_derive_budget.c");
    const char *text = strstr(pt_error.message, "keeps ");
    cr_assert(text);
    const size_t least = strtoull(text + 6, NULL, 10);
    for (int k = 0; k < 2; k++) {
        options.kept_bytes = least - (size_t)k;
        pith_jit_clear(rt);
        const void *got = pith_call(s, pith_grad(s, &alone_of, NULL), PITH_ITEMS(w));
        cr_assert(k == !got);
        pith_clear(s);
    }
    end();
}
