/* What goes wrong in the first hour with pith_jit and control flow: the message says
 * which part of which tree differs, what was expected and what came, eagerly and
 * compiled. */
#include "scope_test.h"

/* The error is that of a call in this line of this file. */
static void says_line(int line) {
    char site[40];
    snprintf(site, sizeof site, "(test_misuse.c:%d)", line);
    pt_says(site);
}

/* ---- What a body makes of a list of two ---- */

static int way;
static const void *other_list(pith_scope *in, const void *list) {
    const void *x = pith_child(list, 0);
    switch (way) {
        case 0:
            return pith_list_make(in, PITH_ITEMS(x));
        case 1:
            return pith_tuple_make(in, PITH_ITEMS(x, x));
        case 2:
            return pith_list_make(in, PITH_ITEMS(x, pith_none_make(in)));
        case 3:
            return pith_list_make(in, PITH_ITEMS(x, pith_list_make(in, PITH_ITEMS(x))));
        case 4:
            return x;
        case 5:
            return pith_list_make(in, PITH_ITEMS(x, pith_cast(in, x, PITH_F32)));
        default:
            return NULL;
    }
}
static const pith_array *always(pith_scope *in, const void *list) {
    (void)list;
    return pith_bool(in, true);
}
static const void *same(pith_scope *in, const void *list) {
    (void)in;
    return list;
}
PITH_FUNCTION1(other_list_step, other_list, void, void)
PITH_FUNCTION1(always_test, always, pith_array, void)
PITH_FUNCTION1(same_step, same, void, void)

static int line; /* of the call that gets the body */
static const void *loop(pith_scope *in, const void *list) {
    line = __LINE__ + 1;
    return pith_while(in, &always_test, &other_list_step, list);
}
static const void *choose(pith_scope *in, const void *list) {
    const pith_array *sum = pith_sum(in, pith_child(list, 0), PITH_ALL_AXES);
    const pith_array *positive = pith_greater(in, sum, pith_f64(in, 0));
    line = __LINE__ + 1;
    return pith_cond(in, positive, &other_list_step, &same_step, list);
}
PITH_FUNCTION1(loop_function, loop, void, void)
PITH_FUNCTION1(choose_function, choose, void, void)

Test(misuse, a_body_that_makes_another_tree_is_told_which_part, .init = open_scope) {
    static const struct {
        pith_status code;
        const char *says;
    } wanted[] = {
        {PITH_E_STRUCTURE, "expected a list of 2, got a list of 1"},
        {PITH_E_STRUCTURE, "expected a list of 2, got a tuple of 2"},
        {PITH_E_STRUCTURE, "[1]: expected f64[4], got none"},
        {PITH_E_STRUCTURE, "[1]: expected f64[4], got a list of 1"},
        {PITH_E_STRUCTURE, "expected a list of 2, got f64[4]"},
        {PITH_E_DTYPE, "expected f64[4], got f32[4]"},
        {PITH_E_ARG, "other_list: result: expected a tree, got NULL"},
    };
    const pith_array *x = pith_ones(s, PITH_F64, PITH_SHAPE(4));
    const void *list = pith_list_make(s, PITH_ITEMS(x, x));
    const pith_function *ways[] = {&loop_function, pith_jit(s, &loop_function, NULL),
                                   pith_jit(s, &choose_function, NULL)};
    for (way = 0; way < 7; way++)
        for (int k = 0; k < 3; k++) {
            pt_fails(wanted[way].code, s, pith_call(s, ways[k], PITH_ITEMS(list)));
            pt_says(wanted[way].says);
            pt_says("other_list");
            says_line(line);
        }
    close_scope();
}

/* ---- Functions that do not fit ---- */

typedef struct {
    const pith_array *x;
} Point;
PITH_NODE(Point, PITH_LEAF(x, "f64[n]"))

static const Point *swapped(pith_scope *in, const Point *p, const pith_array *i) {
    (void)in, (void)i;
    return p;
}
PITH_FUNCTION2(swapped_step, swapped, Point, Point, pith_array)

Test(misuse, functions_that_do_not_fit_are_named, .init = open_scope) {
    const pith_array *x = pith_ones(s, PITH_F64, PITH_SHAPE(4));
    const void *list =
        pith_list_make(s, PITH_ITEMS(x, pith_ones(s, PITH_F64, PITH_SHAPE(3))));
    const Point *p = pith_freeze(s, Point, &(Point){.x = x});
    pt_fails(PITH_E_TYPE, s, pith_fori(s, 0, 3, &swapped_step, p));
    pt_says("swapped: argument 1: expected Point, got an array");
    pt_fails(PITH_E_ARG, s, pith_fori(s, 0, 3, &same_step, list));
    pt_says("pith_fori: body: expected a function of 2 trees, got same of 1");
    pt_fails(PITH_E_SHAPE, s, pith_scan(s, &swapped_step, p, list, NULL, NULL));
    pt_says("[1]: pith_scan: xs: expected 4 rows, got f64[3]");
    pt_fails(PITH_E_ARG, s,
             pith_cond(s, pith_greater(s, x, x), &same_step, &same_step, list));
    pt_says("pith_cond: predicate: expected a bool of rank 0, got bool[4]");
    pt_fails(PITH_E_ARG, s,
             pith_call(s, pith_jit(s, &swapped_step, NULL), PITH_ITEMS(x)));
    pt_says("swapped: expected 2 arguments, got 1");
    close_scope();
}

/* ---- Arrays that get out of their trace ---- */

static const pith_array *kept;
static const pith_array *makes(pith_scope *in, const pith_array *x) {
    kept = pith_add(in, x, x);
    return x;
}
static const pith_array *uses(pith_scope *in, const pith_array *x) {
    return pith_add(in, x, kept);
}
PITH_FUNCTION1(makes_function, makes, pith_array, pith_array)
PITH_FUNCTION1(uses_function, uses, pith_array, pith_array)

static bool branches;
static const pith_array *outer(pith_scope *in, const pith_array *x) {
    kept = pith_mul(in, x, x);
    return branches ? pith_cond(in, pith_all(in, pith_equal(in, x, x), PITH_ALL_AXES),
                                &uses_function, &uses_function, x)
                    : pith_call(in, pith_jit(in, &uses_function, NULL), PITH_ITEMS(x));
}
PITH_FUNCTION1(outer_function, outer, pith_array, pith_array)

/* Compiled functions within are a part of the trace around them; branches and bodies of
 * loops have traces of their own. */
Test(misuse, what_is_around_a_branch_has_to_be_bound, .init = open_scope) {
    const pith_array *x = pith_full(s, PITH_F64, PITH_SHAPE(4), 3);
    branches = false;
    const pith_array *y = pith_call(s, pith_jit(s, &outer_function, NULL), PITH_ITEMS(x));
    pt_ok(s, y);
    cr_assert(pith_read_f64(s, pith_max(s, y, PITH_ALL_AXES)) == 3 + 9);
    branches = true;
    pith_jit_clear(rt);
    pt_fails(PITH_E_TRACED, s,
             pith_call(s, pith_jit(s, &outer_function, NULL), PITH_ITEMS(x)));
    pt_says(
        "belongs to another trace: make it an argument, or bind it with pith_partial");
    close_scope();
}

/* ---- A function that calls itself ---- */

static const pith_array *halve_until_one(pith_scope *in, const pith_array *x);
static const pith_array *halve_again(pith_scope *in, const pith_array *x) {
    return halve_until_one(in, pith_mul(in, x, pith_f64(in, 0.5)));
}
static const pith_array *as_it_is(pith_scope *in, const pith_array *x) {
    (void)in;
    return x;
}
PITH_FUNCTION1(halve_again_step, halve_again, pith_array, pith_array)
PITH_FUNCTION1(as_it_is_step, as_it_is, pith_array, pith_array)
static const pith_array *halve_until_one(pith_scope *in, const pith_array *x) {
    return pith_cond(in, pith_greater(in, x, pith_f64(in, 1)), &halve_again_step,
                     &as_it_is_step, x);
}
PITH_FUNCTION1(halve_until_one_function, halve_until_one, pith_array, pith_array)

Test(misuse,
     a_recursion_in_a_branch_ends_eagerly_and_is_refused_in_a_trace,
     .init = open_scope) {
    const pith_array *x = pith_f64(s, 12);
    const pith_array *half = pith_call(s, &halve_until_one_function, PITH_ITEMS(x));
    cr_assert(pith_read_f64(s, half) == 0.75);
    const pith_function *fast = pith_jit(s, &halve_until_one_function, NULL);
    pt_fails(PITH_E_TRACED, s, pith_call(s, fast, PITH_ITEMS(x)));
    pt_says("pith_cond: recorded inside 256 other functions");
    close_scope();
}

static const pith_function *again; /* the compiled one itself */
static const pith_array *call_again(pith_scope *in, const pith_array *x) {
    return pith_call(in, again, PITH_ITEMS(pith_add(in, x, pith_f64(in, 1))));
}
PITH_FUNCTION1(call_again_function, call_again, pith_array, pith_array)

/* So deep and no deeper: what ends by itself is recorded. */
static int left;
static const pith_array *add_left(pith_scope *in, const pith_array *x) {
    return left-- > 0 ? call_again(in, x) : x;
}
PITH_FUNCTION1(add_left_function, add_left, pith_array, pith_array)

Test(misuse, a_compiled_function_that_calls_itself_ends, .init = open_scope) {
    const pith_array *x = pith_f64(s, 1);
    again = pith_jit(s, &call_again_function, NULL);
    pt_fails(PITH_E_TRACED, s, pith_call(s, again, PITH_ITEMS(x)));
    pt_says("call_again: recorded inside 256 other functions");
    again = pith_jit(s, &add_left_function, NULL);
    left = 200;
    const pith_array *sum = pith_call(s, again, PITH_ITEMS(x));
    pt_ok(s, sum);
    cr_assert(pith_read_f64(s, sum) == 201);
    close_scope();
}

/* ---- What comes out of a scan ---- */

typedef struct {
    const void *carry, *out;
} Row;
PITH_NODE(Row, PITH_TREE(carry), PITH_TREE(out))

static int rows_before; /* of one structure */
static const Row *
changing_out(pith_scope *in, const pith_array *sum, const pith_array *x) {
    const bool same = rows_before-- > 0;
    const Row r = {
        sum, pith_list_make(
                 in, PITH_ITEMS(x, pith_zeros(in, PITH_F64, PITH_SHAPE(same ? 2 : 3))))};
    return pith_freeze(in, Row, &r);
}
static const Row *other_out(pith_scope *in, const pith_array *sum, const pith_array *x) {
    const Row r = {
        sum, rows_before-- > 0 ? (const void *)pith_list_make(in, PITH_ITEMS(x)) : x};
    return pith_freeze(in, Row, &r);
}
PITH_FUNCTION2(changing_out_step, changing_out, Row, pith_array, pith_array)
PITH_FUNCTION2(other_out_step, other_out, Row, pith_array, pith_array)

Test(misuse, an_out_that_changes_is_told_with_its_path, .init = open_scope) {
    const pith_array *xs = pith_arange(s, PITH_F64, 4), *zero = pith_f64(s, 0);
    const void *outs;
    rows_before = 2;
    pt_fails(PITH_E_SHAPE, s, pith_scan(s, &changing_out_step, zero, xs, &outs, NULL));
    pt_says("[1]: pith_scan: body changing_out's out: expected f64[2], got f64[3]");
    says_line(__LINE__ - 2);
    rows_before = 1;
    pt_fails(PITH_E_STRUCTURE, s, pith_scan(s, &other_out_step, zero, xs, &outs, NULL));
    pt_says("expected a list of 1, got f64[] (pith_scan: body other_out's out)");
    close_scope();
}

/* ---- What leaks out of a trace ---- */

static const pith_array *leaked;
static const pith_array *leak(pith_scope *in, const pith_array *x) {
    leaked = x;
    return pith_neg(in, x);
}
PITH_FUNCTION1(leak_function, leak, pith_array, pith_array)

Test(misuse, what_has_leaked_is_not_saved, .init = open_scope) {
    const pith_function *fast = pith_jit(s, &leak_function, NULL);
    pt_ok(s, pith_call(s, fast, PITH_ITEMS(pith_f64(s, 1))));
    pt_fails(PITH_E_TRACED, s, pith_save(s, leaked, "/dev/null/never", NULL));
    pt_says("pith_save: leaf: the array traced at test_misuse.c:");
    pt_says("its trace has ended");
    close_scope();
}
