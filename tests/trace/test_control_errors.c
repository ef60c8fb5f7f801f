/* Branches and loops over trees: errors, and the checks of their bodies. */
#include "control_bodies.h"

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

Test(control_errors, what_is_carried_keeps_its_structure, .init = open_scope) {
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

Test(control_errors, bad_arguments_are_refused, .init = open_scope) {
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

static const void *no_step(pith_scope *in, const State *a, const void *row) {
    (void)in, (void)row;
    return a;
}
PITH_FUNCTION2(no_step_function, no_step, void, State, void)

Test(control_errors, a_scan_needs_carry_and_out, .init = open_scope) {
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

/* An error in the tenth iteration of a loop that runs is the scope's. */
static const State *fail_late(pith_scope *in, const pith_array *i, const State *a) {
    const State wrong = {.x = a->count, .count = a->count, .width = a->width};
    return pith_read_i64(in, i) == 7 ? pith_freeze(in, State, &wrong) : a;
}
PITH_FUNCTION2(fail_late_step, fail_late, State, pith_array, State)

Test(control_errors, errors_of_bodies_reach_the_scope, .init = open_scope) {
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

Test(control_errors, a_body_that_reads_is_refused_in_a_trace, .init = open_scope) {
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

Test(control_errors, a_branch_makes_its_checks_where_it_is_taken, .init = open_scope) {
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

Test(control_errors,
     checks_of_every_kind_pass_in_branches_not_taken,
     .init = open_scope) {
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

Test(control_errors, reports_of_iterations_are_errors, .init = open_scope) {
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
Test(control_errors,
     a_report_is_that_of_the_first_failing_iteration,
     .init = open_scope) {
    const pith_function *f = pith_jit(s, &take_later_function, NULL);
    for (int again = 0; again < 4; again++) {
        pt_fails(PITH_E_INDEX, s, (pith_apply(s, f, some_state(3)), pith_wait(s)));
        pt_says("index 3 at position 2 is out of range");
    }
    close_scope();
}
