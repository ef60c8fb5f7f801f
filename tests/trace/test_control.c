/* Branches and loops over trees: call by call and compiled, with the same bits. */
#include "control_bodies.h"
#include "fail_allocator.h"

/* ---- Branches ---- */

static const State *up_or_down(pith_scope *in, const State *a, const pith_array *flag) {
    return pith_cond(in, flag, &up_step, &down_step, a);
}
PITH_FUNCTION2(up_or_down_step, up_or_down, State, State, pith_array)

Test(control, cond_takes_one_branch, .init = open_scope) {
    const State *a = some_state(3);
    const State *b = BOTH(&up_or_down_step, a, pith_bool(s, true));
    cr_assert(pith_read_i64(s, b->count) == 0);
    b = BOTH(&up_or_down_step, a, pith_bool(s, false));
    cr_assert(pith_read_i64(s, b->count) == 10);
    close_scope();
}

/* A branch that reads a traced tree of the function around it. */
static const State *
choose(pith_scope *in, const State *a, const pith_array *index, const State *by) {
    const pith_function *mul = pith_partial(in, &scaled_step, up(in, by));
    const pith_function *branches[] = {&stay_step, mul, &down_step};
    return pith_switch(in, index, 3, branches, a);
}
PITH_FUNCTION3(choose_step, choose, State, State, pith_array, State)

Test(control, switch_clamps_and_branches_read_what_is_bound, .init = open_scope) {
    const State *a = some_state(3);
    const double wanted[3] = {2, 2 * 3, -2};
    for (int32_t index = -2; index < 5; index++) {
        const State *b = BOTH(&choose_step, a, pith_i32(s, index), a);
        double x[3];
        pt_ok(s, pith_read(s, b->x, x, sizeof x));
        const int way = index < 0 ? 0 : index > 2 ? 2 : index;
        cr_assert(x[2] == wanted[way], "%d: %g", index, x[2]);
    }
    close_scope();
}

/* ---- Loops ---- */

static const State *count_on(pith_scope *in, const State *a) {
    State next = *a;
    next.x = pith_add(in, pith_mul(in, a->x, pith_f64(in, 0.5)), pith_f64(in, 1));
    next.count = pith_add(in, a->count, pith_i64(in, 3));
    return pith_freeze(in, State, &next);
}
PITH_FUNCTION1(count_on_step, count_on, State, State)

static const State *until_ten(pith_scope *in, const State *a) {
    return pith_while(in, &below_ten_test, &count_on_step, a);
}
PITH_FUNCTION1(until_ten_step, until_ten, State, State)

Test(control, while_runs_until_the_condition_fails, .init = open_scope) {
    const State *b = BOTH(&until_ten_step, some_state(4));
    cr_assert(pith_read_i64(s, b->count) == 12);
    const State *done = state_of(s, pith_arange(s, PITH_F64, 2), pith_i64(s, 50));
    b = BOTH(&until_ten_step, done);
    cr_assert(pith_read_i64(s, b->count) == 50, "no iteration");
    close_scope();
}

static const State *three_to_nine(pith_scope *in, const State *a) {
    return pith_fori(in, 3, 9, &add_index_step, a);
}
static const State *nine_to_three(pith_scope *in, const State *a) {
    return pith_fori(in, 9, 3, &add_index_step, a);
}
static const State *
between(pith_scope *in, const State *a, const pith_array *from, const pith_array *to) {
    return pith_fori_between(in, from, to, &add_index_step, a);
}
PITH_FUNCTION1(three_to_nine_step, three_to_nine, State, State)
PITH_FUNCTION1(nine_to_three_step, nine_to_three, State, State)
PITH_FUNCTION3(between_step, between, State, State, pith_array, pith_array)

Test(control, fori_counts, .init = open_scope) {
    const State *a = some_state(4);
    const State *b = BOTH(&three_to_nine_step, a);
    cr_assert(pith_read_i64(s, b->count) == 3 + 4 + 5 + 6 + 7 + 8);
    b = BOTH(&nine_to_three_step, a);
    cr_assert(pith_read_i64(s, b->count) == 0);
    for (int32_t to = -2; to < 4; to++) {
        b = BOTH(&between_step, a, pith_i32(s, -1), pith_i32(s, to));
        int64_t sum = 0;
        for (int32_t i = -1; i < to; i++)
            sum += i;
        cr_assert(pith_read_i64(s, b->count) == sum, "to %d", to);
    }
    close_scope();
}

/* Bounds at the ends of their dtype: nothing that counts goes past one. */
Test(control, fori_counts_to_the_ends_of_every_dtype, .init = open_scope) {
    static const struct {
        pith_dtype dtype;
        uint64_t least, greatest;
    } ends[] = {{PITH_I8, 0x80, 0x7f},
                {PITH_U8, 0, 0xff},
                {PITH_I32, 0x80000000, 0x7fffffff},
                {PITH_U32, 0, 0xffffffff},
                {PITH_I64, 1ull << 63, INT64_MAX},
                {PITH_U64, 0, UINT64_MAX}};
    const State *a = some_state(1);
    for (size_t d = 0; d < sizeof ends / sizeof *ends; d++) {
        const uint64_t near_end = ends[d].greatest - 3;
        const pith_array *least =
            pith_array_copy(s, ends[d].dtype, PITH_SCALAR, &ends[d].least);
        const pith_array *greatest =
            pith_array_copy(s, ends[d].dtype, PITH_SCALAR, &ends[d].greatest);
        const pith_array *from =
            pith_array_copy(s, ends[d].dtype, PITH_SCALAR, &near_end);
        const State *b = BOTH(&between_step, a, from, greatest);
        cr_assert(pith_read_i64(s, b->count) == (int64_t)(3 * near_end + 3),
                  "three steps of %s", pith_dtype_name(ends[d].dtype));
        b = BOTH(&between_step, a, greatest, least);
        cr_assert(pith_read_i64(s, b->count) == 0, "none of %s",
                  pith_dtype_name(ends[d].dtype));
    }
    close_scope();
}

/* ---- Scans ---- */

static bool backwards;
static const pith_list *scan_all(pith_scope *in, const State *a, const pith_array *xs) {
    const void *outs;
    const pith_loop_options options = {.reverse = backwards, .unroll = 2};
    const State *last = pith_scan(in, &running_step, a, xs, &outs, &options);
    return outs ? pith_list_make(in, PITH_ITEMS(last, outs)) : NULL;
}
static const void *scan_tree(pith_scope *in, const State *a, const pith_array *xs) {
    return scan_all(in, a, xs);
}
PITH_FUNCTION2(scan_function, scan_tree, void, State, pith_array)

Test(control, scan_carries_and_stacks, .init = open_scope) {
    for (int way = 0; way < 2; way++)
        for (int64_t n = 0; n < 5; n++) {
            backwards = way;
            pith_jit_clear(rt);
            const pith_array *xs =
                pith_reshape(s, pith_arange(s, PITH_F64, 3 * n), PITH_SHAPE(n, 3));
            const pith_list *got = BOTH(&scan_function, some_state(3), xs);
            const State *last = pith_child(got, 0);
            const pith_array *outs = pith_child(got, 1);
            const pith_spec *spec = pith_array_spec(outs);
            cr_assert(spec->rank == 2 && spec->shape[0] == n && spec->shape[1] == 3);
            cr_assert(pith_read_i64(s, last->count) == n);
            double out[15] = {0}, sum = 0;
            if (n)
                pt_ok(s, pith_read(s, outs, out, spec->bytes));
            for (int64_t t = 0; t < n; t++) {
                const int64_t i = way ? n - 1 - t : t;
                sum += (double)(3 * i);
                cr_assert(out[3 * i] == 2 * sum, "row %lld of %lld", (long long)i,
                          (long long)n);
            }
        }
    close_scope();
}

/* Without rows the options say the length. */
static const void *halve_five(pith_scope *in, const State *a) {
    const void *outs;
    const pith_loop_options five = {.length = 5};
    pith_scan(in, &halve_step, a, NULL, &outs, &five);
    return outs;
}
PITH_FUNCTION1(halve_five_function, halve_five, void, State)

Test(control, scan_without_rows_counts, .init = open_scope) {
    const pith_array *outs = BOTH(&halve_five_function, some_state(3));
    double out[5];
    pt_ok(s, pith_read(s, outs, out, sizeof out));
    cr_assert(out[0] == 1.5 && out[4] == 3.0 / 32);
    close_scope();
}

/* What comes out of no iteration is known from the body alone, which is recorded where
 * that is asked for. */
static const Total *read_row(pith_scope *in, const State *a, const pith_array *row) {
    const pith_array *sum = pith_f64(in, pith_read_f64(in, row));
    return pith_freeze(in, Total, &(Total){.carry = a, .out = sum});
}
PITH_FUNCTION2(read_row_step, read_row, Total, State, pith_array)

Test(control, a_scan_of_no_rows_runs_no_body, .init = open_scope) {
    const State *a = some_state(3);
    const pith_array *none = pith_zeros(s, PITH_F64, PITH_SHAPE(0));
    const State *last = pith_scan(s, &read_row_step, a, none, NULL, NULL);
    pt_ok(s, last);
    cr_assert(pith_tree_equal(s, last, a));
    const void *outs;
    pt_fails(PITH_E_TRACED, s, pith_scan(s, &read_row_step, a, none, &outs, NULL));
    close_scope();
}

/* A body without results returns the carry alone. */
static const State *sum_row(pith_scope *in, const State *a, const pith_array *row) {
    return state_of(in, pith_add(in, a->x, row), pith_add(in, a->count, 1));
}
PITH_FUNCTION2(sum_row_step, sum_row, State, State, pith_array)
static const pith_array *
times_row(pith_scope *in, const pith_array *x, const pith_array *row) {
    return pith_mul(in, x, row);
}
PITH_FUNCTION2(times_row_step, times_row, pith_array, pith_array, pith_array)
static const State *sum_rows(pith_scope *in, const State *a, const pith_array *xs) {
    return pith_scan(in, &sum_row_step, a, xs, NULL, NULL);
}
PITH_FUNCTION2(sum_rows_function, sum_rows, State, State, pith_array)
static const pith_array *product_of(pith_scope *in, const pith_array *xs) {
    const pith_loop_options turned = {.reverse = true, .unroll = 2};
    return pith_scan(in, &times_row_step, pith_f64(in, 1), xs, NULL, &turned);
}
PITH_FUNCTION1(product_function, product_of, pith_array, pith_array)

Test(control, a_scan_of_which_nothing_comes_out_takes_a_carry, .init = open_scope) {
    static const double products[] = {1, 1, 2, 6};
    for (int64_t n = 0; n < 4; n++) {
        pith_jit_clear(rt);
        const pith_array *xs = pith_add(s, pith_arange(s, PITH_F64, n), 1);
        const State *last = BOTH(&sum_rows_function, some_state(1), xs);
        cr_assert(pith_read_i64(s, last->count) == n);
        cr_assert(pith_read_f64(s, last->x) == (double)(n * (n + 1)) / 2);
        const pith_array *product = BOTH(&product_function, xs);
        cr_assert(pith_read_f64(s, product) == products[n]);
    }
    close_scope();
}

/* ---- Nests: a fori whose body scans, chooses and repeats, with what is bound ---- */

static const State *inner(pith_scope *in, const pith_array *i, const State *a) {
    const pith_array *odd =
        pith_equal(in, pith_remainder(in, i, pith_i64(in, 2)), pith_i64(in, 1));
    const State *b = pith_cond(in, odd, &until_ten_step, &down_step, a);
    const pith_array *rows = pith_mul(in, pith_ones(in, PITH_F64, PITH_SHAPE(2, 3)),
                                      pith_cast(in, i, PITH_F64));
    const State *c = pith_scan(in, &running_step, b, rows, NULL, NULL);
    const pith_function *mul = pith_partial(in, &scaled_step, b);
    return pith_cond(in, odd, mul, &stay_step, c);
}
PITH_FUNCTION2(inner_step, inner, State, pith_array, State)
static const State *nest(pith_scope *in, const State *a) {
    return pith_fori(in, 0, 5, &inner_step, a);
}
PITH_FUNCTION1(nest_step, nest, State, State)

Test(control, control_flow_nests, .init = open_scope) {
    const State *b = BOTH(&nest_step, some_state(3));
    cr_assert(pith_read_i64(s, b->count) > 0);
    close_scope();
}

/* ---- Memory ---- */

static pith_status scenario(const pith_open_options *options) {
    rt = pith_open(options);
    s = pith_scope_open(rt);
    pith_status code = pith_code(s);
    if (code == PITH_OK) {
        const State *a = some_state(3);
        const State *slow = pith_apply(s, &nest_step, a);
        const State *fast = pith_apply(s, pith_jit(s, &nest_step, NULL), a);
        code = pith_code(s);
        if (code == PITH_OK && !pith_tree_equal(s, slow, fast))
            code = pith_failed(s) ? pith_code(s) : PITH_E_INTERNAL;
        pith_clear(s);
    }
    pith_scope_close(s);
    pith_close(rt);
    return code;
}

Test(control, every_failure_of_memory_is_survived) {
    const pt_failures f = pt_fail_each(scenario);
    cr_assert(f.errors > 0);
}
