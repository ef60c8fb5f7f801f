/* Branches and loops over trees: call by call and compiled, with the same bits. */
#include "pith/pith.h"

#include "fail_allocator.h"
#include "scope_test.h"

typedef struct {
    const pith_array *x, *count;
    int64_t width;
} State;
PITH_NODE(State,
          PITH_LEAF(x, "f64[n]"),
          PITH_LEAF(count, "i64[]"),
          PITH_STATIC(width, .initial = 2))
typedef struct {
    const State *carry;
    const pith_array *out;
} Step;
PITH_NODE(Step, PITH_CHILD(carry, State), PITH_LEAF(out, "f64[m]"))
typedef struct {
    const State *carry;
    const pith_array *out;
} Total;
PITH_NODE(Total, PITH_CHILD(carry, State), PITH_LEAF(out, "f64[]"))

static const State *state_of(pith_scope *in, const pith_array *x, const pith_array *n) {
    State next = pith_initial(State);
    next.x = x;
    next.count = n;
    return pith_freeze(in, State, &next);
}
static const State *some_state(int64_t n) {
    return state_of(s, pith_arange(s, PITH_F64, n), pith_i64(s, 0));
}

/* The same call eagerly and compiled, several times: equal, and the compiled result. */
static const void *
both_ways(const pith_function *f, int count, const void *const *arguments) {
    const pith_function *fast = pith_jit(s, f, NULL);
    const void *slow = pith_call(s, f, count, arguments), *got = NULL;
    pt_ok(s, slow);
    for (int k = 0; k < 2; k++) {
        got = pith_call(s, fast, count, arguments);
        pt_ok(s, got);
        pt_ok(s, pith_tree_equal(s, slow, got));
    }
    return got;
}
#define BOTH(f, ...) both_ways(f, PITH_ITEMS(__VA_ARGS__))

/* ---- Branches ---- */

static const State *up(pith_scope *in, const State *a) {
    State next = *a;
    next.x = pith_add(in, a->x, pith_f64(in, 1));
    return pith_freeze(in, State, &next);
}
static const State *down(pith_scope *in, const State *a) {
    State next = *a;
    next.x = pith_neg(in, a->x);
    next.count = pith_add(in, a->count, pith_i64(in, 10));
    return pith_freeze(in, State, &next);
}
static const State *stay(pith_scope *in, const State *a) {
    (void)in;
    return a;
}
static const State *scaled(pith_scope *in, const State *a, const State *by) {
    State next = *a;
    next.x = pith_mul(in, a->x, by->x);
    return pith_freeze(in, State, &next);
}
PITH_FUNCTION1(up_step, up, State, State)
PITH_FUNCTION1(down_step, down, State, State)
PITH_FUNCTION1(stay_step, stay, State, State)
PITH_FUNCTION2(scaled_step, scaled, State, State, State)

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

static const pith_array *below_ten(pith_scope *in, const State *a) {
    return pith_less(in, a->count, pith_i64(in, 10));
}
static const State *count_on(pith_scope *in, const State *a) {
    State next = *a;
    next.x = pith_add(in, pith_mul(in, a->x, pith_f64(in, 0.5)), pith_f64(in, 1));
    next.count = pith_add(in, a->count, pith_i64(in, 3));
    return pith_freeze(in, State, &next);
}
PITH_FUNCTION1(below_ten_test, below_ten, pith_array, State)
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

static const State *add_index(pith_scope *in, const pith_array *i, const State *a) {
    State next = *a;
    next.count = pith_add(in, a->count, pith_cast(in, i, PITH_I64));
    next.x = pith_add(in, a->x, pith_cast(in, i, PITH_F64));
    return pith_freeze(in, State, &next);
}
PITH_FUNCTION2(add_index_step, add_index, State, pith_array, State)

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

static const Step *running(pith_scope *in, const State *a, const pith_array *row) {
    State next = *a;
    next.x = pith_add(in, a->x, row);
    next.count = pith_add(in, a->count, pith_i64(in, 1));
    const Step step = {.carry = pith_freeze(in, State, &next),
                       .out = pith_mul(in, next.x, pith_f64(in, 2))};
    return pith_freeze(in, Step, &step);
}
PITH_FUNCTION2(running_step, running, Step, State, pith_array)

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

/* Without rows: the length is said. */
static const Total *halve(pith_scope *in, const State *a, const void *nothing) {
    (void)nothing;
    State next = *a;
    next.x = pith_mul(in, a->x, pith_f64(in, 0.5));
    const Total total = {.carry = pith_freeze(in, State, &next),
                         .out = pith_sum(in, next.x, PITH_ALL_AXES)};
    return pith_freeze(in, Total, &total);
}
PITH_FUNCTION2(halve_step, halve, Total, State, void)
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

/* ---- Errors ---- */

static const State *wider(pith_scope *in, const State *a) {
    State next = *a;
    next.width = a->width + 1;
    return pith_freeze(in, State, &next);
}
static const State *longer(pith_scope *in, const State *a) {
    State next = *a;
    next.x = pith_concatenate(in, 2, (const pith_array *[]){a->x, a->x}, 0);
    return pith_freeze(in, State, &next);
}
static const void *other(pith_scope *in, const State *a) {
    return pith_list_make(in, PITH_ITEMS(a->x, a->count));
}
PITH_FUNCTION1(wider_step, wider, State, State)
PITH_FUNCTION1(longer_step, longer, State, State)
PITH_FUNCTION1(other_step, other, void, State)

static const pith_function *body;
static const void *repeat(pith_scope *in, const State *a) {
    return pith_while(in, &below_ten_test, body, a);
}
static const void *either(pith_scope *in, const State *a) {
    return pith_cond(in, pith_less(in, a->count, pith_i64(in, 10)), &stay_step, body, a);
}
PITH_FUNCTION1(repeat_function, repeat, void, State)
PITH_FUNCTION1(either_function, either, void, State)

Test(control, what_is_carried_keeps_its_structure, .init = open_scope) {
    const struct {
        const pith_function *body;
        pith_status code;
        const char *says;
    } rows[] = {
        {&wider_step, PITH_E_STRUCTURE, "width"},
        {&longer_step, PITH_E_SHAPE, ".x: "},
        {&other_step, PITH_E_STRUCTURE, "a list of 2"},
    };
    for (int k = 0; k < 3; k++) {
        const State *a = some_state(3);
        body = rows[k].body;
        pith_jit_clear(rt);
        pt_fails(rows[k].code, s, pith_apply(s, &repeat_function, a));
        pt_says(rows[k].says);
        pt_fails(rows[k].code, s, pith_apply(s, pith_jit(s, &repeat_function, NULL), a));
        pt_says(rows[k].says);
        pt_fails(rows[k].code, s, pith_apply(s, pith_jit(s, &either_function, NULL), a));
        pt_says(rows[k].says);
        pt_says("pith_cond: on_true ");
        pt_says("'s result, beside on_false's");
    }
    close_scope();
}

Test(control, bad_arguments_are_refused, .init = open_scope) {
    const State *a = some_state(3);
    const pith_array *flag = pith_bool(s, true);
    pt_fails(PITH_E_ARG, s, pith_cond(s, a->x, &up_step, &down_step, a));
    pt_says("pith_cond: predicate: expected a bool of rank 0, got f64[3]");
    pt_fails(PITH_E_ARG, s, pith_cond(s, flag, &up_step, &scaled_step, a));
    pt_says("on_false: expected a function of 1 tree, got scaled of 2");
    pt_fails(PITH_E_ARG, s, pith_cond(s, flag, NULL, &down_step, a));
    pt_says("pith_cond: on_true: expected a function, got NULL");
    pt_fails(PITH_E_ARG, s, pith_cond(s, flag, &up_step, &down_step, NULL));
    pt_fails(PITH_E_ARG, s,
             pith_switch(s, flag, 1, PITH_ARRAY_(const pith_function *, &up_step), a));
    pt_says("pith_switch: index: expected an integer of rank 0, got bool[]");
    pt_fails(PITH_E_ARG, s, pith_switch(s, a->count, 0, NULL, a));
    const pith_function *const branches[] = {&up_step, &add_index_step};
    const void *nil = NULL, *given = NULL;
    pt_fails(PITH_E_ARG, s, nil = pith_cond(s, a->x, &up_step, &down_step, a));
    cr_assert(nil != NULL);
    pt_fails(PITH_E_ARG, s, given = pith_switch(s, flag, 1, branches, a));
    cr_assert(given == nil, "an index that is refused");
    pt_fails(PITH_E_ARG, s, given = pith_switch(s, a->count, 2, branches, a));
    cr_assert(given == nil, "a branch that is refused");
    pt_fails(PITH_E_ARG, s, given = pith_switch(s, a->count, 0, branches, a));
    cr_assert(given == NULL, "no branch");
    pt_fails(PITH_E_ARG, s, pith_while(s, &up_step, &up_step, a));
    pt_says("pith_while: cond up's result: expected");
    pt_fails(PITH_E_ARG, s, pith_while(s, NULL, &up_step, a));
    pt_says("pith_while: cond: expected a function, got NULL");
    pt_fails(PITH_E_ARG, s, pith_fori(s, 0, 3, &up_step, a));
    pt_says("pith_fori: body: expected a function of 2 trees");
    pt_fails(PITH_E_DTYPE, s,
             pith_fori_between(s, a->count, pith_i32(s, 3), &add_index_step, a));
    pt_says("expected i64 like lower, got i32");
    const void *outs = a;
    pt_fails(PITH_E_SHAPE, s, pith_scan(s, &running_step, a, a->count, &outs, NULL));
    pt_says("expected rows, got i64[]");
    cr_assert(outs == NULL);
    const pith_list *uneven =
        pith_list_make(s, PITH_ITEMS(a->x, pith_arange(s, PITH_F64, 4)));
    pt_fails(PITH_E_SHAPE, s, pith_scan(s, &halve_step, a, uneven, NULL, NULL));
    pt_says("[1]");
    pt_says("expected 3 rows, got f64[4]");
    pt_fails(
        PITH_E_ARG, s,
        pith_scan(s, &halve_step, a, NULL, NULL, &(pith_loop_options){.length = -1}));
    pt_fails(PITH_E_ARG, s, pith_scan(s, &halve_step, a, NULL, NULL, NULL));
    pt_says("pith_scan: xs has no leaves: expected a length in the options");
    pt_ok(s, pith_scan(s, &halve_step, a, NULL, NULL, &(pith_loop_options){0}));
    close_scope();
}

static const pith_array *stay_array(pith_scope *in, const State *a, const void *row) {
    (void)in, (void)row;
    return a->x;
}
PITH_FUNCTION2(stay_array_step, stay_array, pith_array, State, void)
static const pith_array *
count_rows(pith_scope *in, const pith_array *x, const pith_array *row) {
    (void)row;
    return pith_cast(in, x, PITH_I64);
}
PITH_FUNCTION2(count_rows_step, count_rows, pith_array, pith_array, pith_array)
static const State *sum_row(pith_scope *in, const State *a, const pith_array *row) {
    return state_of(in, pith_add(in, a->x, row), pith_add(in, a->count, 1));
}
PITH_FUNCTION2(sum_row_step, sum_row, State, State, pith_array)
static const pith_array *
times_row(pith_scope *in, const pith_array *x, const pith_array *row) {
    return pith_mul(in, x, row);
}
PITH_FUNCTION2(times_row_step, times_row, pith_array, pith_array, pith_array)

static const void *no_step(pith_scope *in, const State *a, const void *row) {
    (void)in, (void)row;
    return a;
}
PITH_FUNCTION2(no_step_function, no_step, void, State, void)

Test(control, a_scan_needs_carry_and_out, .init = open_scope) {
    const State *a = some_state(3);
    const pith_array *x = pith_f64(s, 1);
    const pith_loop_options twice = {.length = 2};
    const void *outs;
    pt_fails(PITH_E_TYPE, s, pith_scan(s, &no_step_function, a, NULL, &outs, &twice));
    pt_says("expected a record with the members carry and out, got State without carry");
    pt_fails(PITH_E_TYPE, s, pith_scan(s, &stay_array_step, a, NULL, NULL, &twice));
    pt_says("expected a record with the members carry and out, got another tree");
    const pith_array *rows = pith_arange(s, PITH_F64, 2);
    pt_fails(PITH_E_DTYPE, s, pith_scan(s, &count_rows_step, x, rows, NULL, NULL));
    close_scope();
}

/* Where nothing is to come out, the body may return the carry alone. */
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

/* An error in the tenth iteration of a loop that runs is the scope's. */
static const State *fail_late(pith_scope *in, const pith_array *i, const State *a) {
    const State wrong = {.x = a->count, .count = a->count, .width = a->width};
    return pith_read_i64(in, i) == 7 ? pith_freeze(in, State, &wrong) : a;
}
PITH_FUNCTION2(fail_late_step, fail_late, State, pith_array, State)

Test(control, errors_of_bodies_reach_the_scope, .init = open_scope) {
    const State *a = some_state(3);
    pt_fails(PITH_E_DTYPE, s, pith_fori(s, 0, 10, &fail_late_step, a));
    pt_ok(s, pith_fori(s, 0, 7, &fail_late_step, a));
    close_scope();
}

/* A body that reads what it is given cannot be recorded. */
static const State *reads(pith_scope *in, const State *a) {
    State next = *a;
    next.x = pith_add(in, a->x, pith_f64(in, (double)pith_read_i64(in, a->count)));
    return pith_freeze(in, State, &next);
}
PITH_FUNCTION1(reads_step, reads, State, State)

Test(control, a_body_that_reads_is_refused_in_a_trace, .init = open_scope) {
    body = &reads_step;
    const State *a = some_state(3);
    pt_fails(PITH_E_TRACED, s, pith_apply(s, pith_jit(s, &either_function, NULL), a));
    close_scope();
}

/* ---- Checks ---- */

static const State *checked(pith_scope *in, const State *a) {
    pith_check(in, pith_less(in, a->count, pith_i64(in, 5)), "{count} is not below 5",
               .args = {{"count", a->count}});
    return a;
}
PITH_FUNCTION1(checked_step, checked, State, State)

Test(control, a_branch_makes_its_checks_where_it_is_taken, .init = open_scope) {
    body = &checked_step;
    const pith_function *f = pith_jit(s, &either_function, NULL);
    const int64_t counts[] = {7, 12};
    for (int k = 0; k < 2; k++) {
        const State *a = state_of(s, pith_arange(s, PITH_F64, 2), pith_i64(s, counts[k]));
        const pith_result *r = pith_as_result(s, f, PITH_ITEMS(a));
        pt_ok(s, r);
        cr_assert(pith_result_all_pass(s, r) == (k == 0), "%d", k);
    }
    close_scope();
}

/* Integers and reports count as predicates, too: a branch that is not taken passes them.
 */
static const State *odd_checked(pith_scope *in, const State *a) {
    pith_check(in, a->count, "no count");
    pith_check(in, pith_full(in, PITH_U64, PITH_SHAPE(4), 0), "four zeros");
    State next = *a;
    next.x = pith_add(
        in, a->x,
        pith_take(in, a->x, a->count, &(pith_take_options){.mode = PITH_INDEX_ERROR}));
    return pith_freeze(in, State, &next);
}
PITH_FUNCTION1(odd_checked_step, odd_checked, State, State)

Test(control, checks_of_every_kind_pass_in_branches_not_taken, .init = open_scope) {
    body = &odd_checked_step;
    const pith_function *f = pith_jit(s, &either_function, NULL);
    const void *arguments[] = {state_of(s, pith_arange(s, PITH_F64, 2), pith_i64(s, 0))};
    const pith_result *r = pith_as_result(s, f, 1, arguments);
    pt_ok(s, r);
    cr_assert(pith_result_all_pass(s, r), "none of them is made");
    close_scope();
}

static const State *take_at(pith_scope *in, const pith_array *i, const State *a) {
    State next = *a;
    next.x = pith_add(
        in, a->x, pith_take(in, a->x, i, &(pith_take_options){.mode = PITH_INDEX_ERROR}));
    return pith_freeze(in, State, &next);
}
PITH_FUNCTION2(take_at_step, take_at, State, pith_array, State)
static const void *take_five(pith_scope *in, const State *a) {
    return pith_fori(in, 0, 5, &take_at_step, a);
}
PITH_FUNCTION1(take_five_function, take_five, void, State)

Test(control, reports_of_iterations_are_errors, .init = open_scope) {
    const pith_function *f = pith_jit(s, &take_five_function, NULL);
    pt_fails(PITH_E_INDEX, s, (pith_apply(s, f, some_state(4)), pith_wait(s)));
    pt_ok(s, pith_apply(s, f, some_state(5)));
    pith_wait(s);
    close_scope();
}

/* Indices of the iterations: [0, 0, 2], [0, 2, 3], [0, 4, 4]. */
static const State *take_later(pith_scope *in, const pith_array *i, const State *a) {
    static const int64_t first[] = {0, 0, 2}, steps[] = {0, 2, 1};
    const pith_array *at =
        pith_add(in, pith_mul(in, i, pith_array_copy(in, PITH_I64, PITH_SHAPE(3), steps)),
                 pith_array_copy(in, PITH_I64, PITH_SHAPE(3), first));
    State next = *a;
    next.x =
        pith_add(in, a->x,
                 pith_take(in, a->x, at, &(pith_take_options){.mode = PITH_INDEX_ERROR}));
    return pith_freeze(in, State, &next);
}
PITH_FUNCTION2(take_later_step, take_later, State, pith_array, State)
static const void *take_later_three(pith_scope *in, const State *a) {
    return pith_fori(in, 0, 3, &take_later_step, a);
}
PITH_FUNCTION1(take_later_function, take_later_three, void, State)

/* Not those of a later iteration, of which an earlier index is out of range. */
Test(control, a_report_is_that_of_the_first_failing_iteration, .init = open_scope) {
    const pith_function *f = pith_jit(s, &take_later_function, NULL);
    for (int again = 0; again < 4; again++) {
        pt_fails(PITH_E_INDEX, s, (pith_apply(s, f, some_state(3)), pith_wait(s)));
        pt_says("index 3 at position 2 is out of range");
    }
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
