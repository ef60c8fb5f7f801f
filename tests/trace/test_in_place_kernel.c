/* Kernels with inouts in loops that are compiled: what they update in place is what calls
 * one by one give, also where the old arrays are read again or are one array. */
#include "pith/pith.h"

#include "array/array_internal.h"
#include "kernels.h"
#include "pith_test.h"

typedef struct {
    const pith_array *x, *count, *other;
    int64_t way;
} State;
PITH_NODE(State,
          PITH_LEAF(x, "f64[n]"),
          PITH_LEAF(count, "i64[n]"),
          PITH_LEAF(other, "f64[n]"),
          PITH_STATIC(way))

enum { SIZES = 4, WAYS = 5 };

/* way 1: the old x is read behind; 2: what it was becomes the other one; 3: x grows by
 * itself; 4: twice. */
static const State *advance(pith_scope *s, const pith_array *i, const State *state) {
    State next = *state;
    const pith_array *x = state->x,
                     *by = state->way == 3
                               ? x
                               : pith_add(s, state->other, pith_cast(s, i, PITH_F64));
    grow_result g = pith_launch(s, grow, by, x, state->count);
    if (state->way == 4)
        g = pith_launch(s, grow, by, g.x, g.count);
    next.x = g.x;
    next.count = g.count;
    if (state->way == 1)
        next.other = pith_sub(s, g.x, x);
    if (state->way == 2)
        next.other = g.before;
    return pith_freeze(s, State, &next);
}
PITH_FUNCTION2(advance_body, advance, State, pith_array, State)

static const State *repeat(pith_scope *s, const State *state) {
    return pith_fori(s, 0, 6, &advance_body, state);
}
PITH_FUNCTION1(repeat_function, repeat, State, State)

static void compare(pith_scope *s, int64_t n, int way) {
    State start = {.x = pith_arange(s, PITH_F64, n),
                   .count = pith_zeros(s, PITH_I64, PITH_SHAPE(n)),
                   .other = pith_ones(s, PITH_F64, PITH_SHAPE(n)),
                   .way = way};
    const State *from = pith_freeze(s, State, &start);
    const State *slow = pith_call(s, &repeat_function, PITH_ITEMS(from));
    const pith_function *fast = pith_jit(s, &repeat_function, NULL);
    for (int again = 0; again < 2; again++) {
        const State *got = pith_call(s, fast, PITH_ITEMS(from));
        pt_ok(s, got);
        cr_assert(pith_tree_equal(s, slow, got), "way %d of %lld", way, (long long)n);
    }
    if (n == 0)
        return;
    cr_assert(pith_read_i64(s, pith_max(s, slow->count, PITH_ALL_AXES)) ==
              (way == 4 ? 12 : 6));
    cr_assert(pith_read_f64(s, pith_max(s, from->x, PITH_ALL_AXES)) == (double)(n - 1));
    cr_assert(pith_read_i64(s, pith_max(s, from->count, PITH_ALL_AXES)) == 0,
              "arguments stay as they are");
}

/* The last size takes threads. */
Test(in_place_kernel, loops_give_what_calls_give, .timeout = 100) {
    static const int64_t sizes[SIZES] = {0, 1, 500, 20000};
    setenv("PITH_JIT", "wait", 1);
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    for (int k = 0; k < SIZES; k++)
        for (int way = 0; way < WAYS; way++)
            compare(s, sizes[k], way);
    pt_ok(s);
    pith_scope_close(s);
    pt_close(rt);
}

/* ---- What kernels in loops report ---- */

static const pith_array *
grow_on(pith_scope *s, const pith_array *i, const pith_array *x) {
    (void)i;
    return pith_launch(s, bound, x, 100.0).next;
}
PITH_FUNCTION2(grow_on_body, grow_on, pith_array, pith_array, pith_array)

static const pith_array *grow_often(pith_scope *s, const pith_array *x) {
    return pith_fori(s, 0, 20, &grow_on_body, x);
}
PITH_FUNCTION1(grow_often_function, grow_often, pith_array, pith_array)

/* What the kernel is given is of the row and of a constant. */
static const pith_array *
bound_row(pith_scope *s, const pith_array *i, const pith_array *y, const pith_array *x) {
    const pith_array *row = pith_mul(s, x, pith_cast(s, i, PITH_F64));
    return pith_add(s, y, pith_launch(s, bound, row, 100.0).next);
}
PITH_FUNCTION3(bound_row_body, bound_row, pith_array, pith_array, pith_array, pith_array)

static const pith_array *bound_rows(pith_scope *s, const pith_array *x) {
    return pith_fori(s, 0, 20, pith_partial(s, &bound_row_body, x), x);
}
PITH_FUNCTION1(bound_rows_function, bound_rows, pith_array, pith_array)

/* The message of the loop's check, recorded anew; "": it passes. */
static void message_of(pith_scope *s,
                       const pith_function *loop,
                       const char *when,
                       const pith_array *x,
                       char text[256]) {
    setenv("PITH_JIT", when, 1);
    pith_jit_clear(s->runtime);
    const pith_function *f = pith_jit(s, loop, NULL);
    text[0] = 0;
    for (int again = 0; again < 3; again++) {
        const pith_result *r = pith_as_result(s, f, PITH_ITEMS(x));
        pt_ok(s, r);
        if (pith_result_failed(s, r))
            snprintf(text, 256, "%s",
                     pith_assertion_message(s, pith_result_get_failed(s, r, 0)));
    }
}

/* Up to the first iteration that failed, as the array is carried: element 8 is 8 * 1.5^7
 * = 136 then, and element 6 is 102; of arrays twice as large 16 * 1.5^5 = 121 and element
 * 7 is 106. Interpreted and compiled. */
Test(in_place_kernel, of_what_kernels_in_loops_report_the_least_index_is_kept) {
    static const char *const wanted[] = {"", "index 6, greatest need 136",
                                         "index 7, greatest need 121"};
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    for (int first = 0; first < 3; first++) { /* 0: none grows too large */
        const pith_array *x =
            pith_mul(s, pith_cast(s, pith_arange(s, PITH_I64, 9), PITH_F64),
                     pith_f64(s, first ? first : 1e-3));
        char interpreted[256], compiled[256];
        message_of(s, &grow_often_function, "off", x, interpreted);
        message_of(s, &grow_often_function, "wait", x, compiled);
        cr_assert(strstr(interpreted, wanted[first]) && !interpreted[0] == !first, "%s",
                  interpreted);
        cr_assert_str_eq(compiled, interpreted);
    }
    pt_ok(s);
    pith_scope_close(s);
    pt_close(rt);
}

/* Over all iterations: 8 * 19 = 152, and 6 * 19 = 114 is the least that is too large; of
 * the first iteration that fails, the 13th, only 8 * 13 = 104. */
Test(in_place_kernel, of_rows_all_iterations_are_reported) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = pith_cast(s, pith_arange(s, PITH_I64, 9), PITH_F64);
    char interpreted[256], compiled[256];
    message_of(s, &bound_rows_function, "off", x, interpreted);
    message_of(s, &bound_rows_function, "wait", x, compiled);
    cr_assert(strstr(interpreted, "index 6, greatest need 152"), "%s", interpreted);
    cr_assert_str_eq(compiled, interpreted);
    pt_ok(s);
    pith_scope_close(s);
    pt_close(rt);
}
