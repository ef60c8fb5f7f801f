/* Records of loops that a derivation finds too small, repaired by a guard. */
#include "capacity_test.h"

#include <math.h>

/* x is multiplied by 1.5 until it is 100 or more. */
typedef struct {
    const pith_array *x, *slope;
    int64_t rows;
} Climb;
PITH_NODE(Climb,
          PITH_LEAF(x, "f64[]"),
          PITH_LEAF(slope, "f64[]"),
          PITH_STATIC(rows, .initial = 2))

static int calls;

static const pith_array *is_low(pith_scope *in, const pith_array *x) {
    return pith_less(in, x, pith_f64(in, 100));
}
static const pith_array *higher(pith_scope *in, const pith_array *x) {
    return pith_mul(in, x, pith_f64(in, 1.5));
}
PITH_FUNCTION1(is_low_test, is_low, pith_array, pith_array)
PITH_FUNCTION1(higher_step, higher, pith_array, pith_array)

static const pith_array *top(pith_scope *in, const Climb *c) {
    return pith_while_recorded(in, &is_low_test, &higher_step, c->x,
                               &(pith_record_options){.most = c->rows, .name = "rows"});
}
PITH_FUNCTION1(top_of, top, pith_array, Climb)

static void guard_rows(pith_scope *in, const Climb *c) {
    pith_capacity_guard(in, pith_lens_capacity(in, PITH_LENS(Climb, rows), c->rows, 2),
                        "rows");
}

static const Climb *with_slope(pith_scope *in, const Climb *c, const pith_array *slope) {
    Climb next = *c;
    next.slope = slope;
    return pith_freeze(in, Climb, &next);
}

static const pith_derive_options by_x = {.paths = PITH_PATHS("[0].x")};

static const Climb *climb(pith_scope *in, const Climb *c) {
    calls++;
    guard_rows(in, c);
    return with_slope(in, c, pith_call(in, pith_grad(in, &top_of, &by_x), PITH_ITEMS(c)));
}
PITH_FUNCTION1(climb_step, climb, Climb, Climb)

static const Climb *make(double x, int64_t rows) {
    return pith_record(s, Climb, .x = pith_f64(s, x), .slope = pith_f64(s, 0),
                       .rows = rows);
}

Test(record, a_guard_repairs_it_in_one_retry) {
    open_all();
    const pith_function *steps[] = {&climb_step, pith_jit(s, &climb_step, NULL)};
    for (int k = 0; k < 2; k++) {
        calls = 0;
        const Climb *out = pith_propagate(s, Climb, steps[k], make(1, 2), NULL);
        pt_ok(s, out);
        cr_assert(calls == 2, "%d calls", calls);
        cr_assert(out->rows == 16, "12 iterations");
        cr_assert(fabs(pith_read_f64(s, out->slope) - pow(1.5, 12)) <=
                  1e-12 * pow(1.5, 12));
        const Climb *ample = pith_propagate(s, Climb, steps[k], make(1, 16), NULL);
        pt_ok(s, ample);
        cr_assert(calls == (k ? 2 : 3), "%d calls", calls); /* or traces */
        cr_assert(pith_tree_equal(s, out, ample));
    }
    pt_ok(s);
    close_all();
}

Test(record, the_need_and_the_path_are_known) {
    open_all();
    const Climb *in = make(1, 2);
    const pith_result *r = pith_as_result(s, &climb_step, PITH_ITEMS(in));
    pt_ok(s, r);
    cr_assert(pith_result_failed(s, r) == 1);
    const pith_assertion *a = pith_result_get_failed(s, r, 0);
    cr_assert(pith_assertion_code(a) == PITH_E_CAPACITY && pith_assertion_fixable(a));
    cr_assert_str_eq(pith_assertion_path(a), ".rows");
    cr_assert(pith_assertion_first(a) == 0);
    cr_assert_str_eq(pith_assertion_message(s, a),
                     "pith_while_recorded: rows is too small: have 2, need 12");
    pt_fails(PITH_E_CAPACITY, s, pith_result_raise(s, r));
    cr_assert_str_eq(pt_error.path, ".rows");
    pt_ok(s);
    close_all();
}

/* ---- Within loops ---- */

static const pith_array *top_from(pith_scope *in, const pith_array *x, const Climb *c) {
    Climb next = *c;
    next.x = x;
    return top(in, pith_freeze(in, Climb, &next));
}
PITH_FUNCTION2(top_from_of, top_from, pith_array, pith_array, Climb)

/* Each step begins lower, so that its loop is longer. */
static const Climb *one_lower(pith_scope *in, const pith_array *i, const Climb *c) {
    Climb next = *c;
    (void)i;
    next.slope = pith_add(in, c->slope, top(in, c));
    next.x = pith_mul(in, c->x, pith_f64(in, 0.25));
    return pith_freeze(in, Climb, &next);
}
PITH_FUNCTION2(lower_step, one_lower, Climb, pith_array, Climb)

static const pith_array *all_tops(pith_scope *in, const Climb *c) {
    const Climb *last = pith_fori(in, 0, 5, &lower_step, c);
    return last ? last->slope : NULL;
}
PITH_FUNCTION1(all_tops_of, all_tops, pith_array, Climb)

static const Climb *climb_all(pith_scope *in, const Climb *c) {
    calls++;
    guard_rows(in, c);
    return with_slope(in, c,
                      pith_call(in, pith_grad(in, &all_tops_of, &by_x), PITH_ITEMS(c)));
}
PITH_FUNCTION1(climb_all_step, climb_all, Climb, Climb)

/* Gradients of one step decide how long the next loop is: two iterations, or ten if the
 * gradient is that of one. */
static const Climb *one_slope(pith_scope *in, const pith_array *i, const Climb *c) {
    Climb next = *c;
    (void)i;
    next.slope = pith_call(in, pith_grad(in, &top_from_of, NULL), PITH_ITEMS(c->x, c));
    const pith_array *square = pith_mul(in, next.slope, next.slope),
                     *fourth = pith_mul(in, square, square);
    next.x = pith_mul(in, pith_mul(in, fourth, fourth), pith_f64(in, 0.1));
    return pith_freeze(in, Climb, &next);
}
PITH_FUNCTION2(slope_step, one_slope, Climb, pith_array, Climb)

static const Climb *descend(pith_scope *in, const Climb *c) {
    calls++;
    guard_rows(in, c);
    return pith_fori(in, 0, 3, &slope_step, c);
}
PITH_FUNCTION1(descend_step, descend, Climb, Climb)

Test(record, the_longest_loop_of_several_counts) {
    open_all();
    const pith_function *steps[] = {&climb_all_step, pith_jit(s, &climb_all_step, NULL)};
    for (int k = 0; k < 2; k++) {
        calls = 0;
        const Climb *out = pith_propagate(s, Climb, steps[k], make(50, 2), NULL);
        pt_ok(s, out);
        cr_assert(calls == 2, "%d calls", calls);
        double wanted = 0, x = 50, scale = 1;
        int64_t most = 0;
        for (int i = 0; i < 5; i++, x *= 0.25, scale *= 0.25) {
            double y = x, dy = scale;
            int64_t n = 0;
            for (; y < 100; n++)
                y *= 1.5, dy *= 1.5;
            most = n > most ? n : most;
            wanted += dy;
        }
        cr_assert(out->rows >= most && out->rows < 2 * most, "%d rows for %d",
                  (int)out->rows, (int)most);
        cr_assert(fabs(pith_read_f64(s, out->slope) - wanted) <= 1e-12 * wanted);
    }
    pt_ok(s);
    close_all();
}

Test(record, lengths_that_follow_from_wrong_gradients_do_not_count) {
    open_all();
    const pith_function *steps[] = {&descend_step, pith_jit(s, &descend_step, NULL)};
    const Climb *ample = pith_call(s, steps[0], PITH_ITEMS(make(50, 64)));
    pt_ok(s, ample);
    for (int k = 0; k < 2; k++) {
        const Climb *out = pith_propagate(s, Climb, steps[k], make(50, 1), NULL);
        pt_ok(s, out);
        cr_assert(out->rows == 2, "%d", (int)out->rows);
        cr_assert(pith_tree_equal(s, out->slope, ample->slope));
    }
    pt_ok(s);
    close_all();
}
