/* .find_nonfinite in reverse mode through rules: the tangent of pith_custom_jvp, and
 * residuals of pith_custom_vjp that are infinite. */
#include "derive_test.h"
#include "fail_allocator.h"

static const pith_derive_options finding = {.find_nonfinite = true};

typedef struct {
    const pith_array *value, *tangent;
} Pushed;
PITH_NODE(Pushed, PITH_LEAF(value, "float[...]"), PITH_LEAF(tangent, "float[...]"))
typedef struct {
    const pith_array *value, *residual;
} Kept;
PITH_NODE(Kept, PITH_LEAF(value, "float[...]"), PITH_LEAF(residual, "float[...]"))

static const pith_array *root(pith_scope *in, const pith_array *x) {
    return pith_sqrt(in, x);
}
PITH_FUNCTION1(root_of, root, pith_array, pith_array)

/* ---- Rules ---- */

enum { PUSH_LINE = __LINE__ + 3 };
static const Pushed *push(pith_scope *in, const pith_array *x, const pith_array *t) {
    const pith_array *r = root(in, x), *half = pith_mul(in, t, 0.5);
    return pith_record(in, Pushed, .value = r, .tangent = pith_div(in, half, r));
}
PITH_FUNCTION2(push_of, push, Pushed, pith_array, pith_array)

/* The tangent goes through a loop. */
enum { LOOP_LINE = __LINE__ + 4 };
static const pith_array *
divide(pith_scope *in, const pith_array *i, const pith_array *t, const pith_array *r) {
    const pith_array *step = pith_where(in, pith_equal(in, i, 1), r, 1.0);
    return pith_div(in, t, step);
}
PITH_FUNCTION3(divide_step, divide, pith_array, pith_array, pith_array, pith_array)
static const Pushed *push_loop(pith_scope *in, const pith_array *x, const pith_array *t) {
    const pith_array *r = root(in, x), *half = pith_mul(in, t, 0.5);
    const pith_function *step = pith_partial(in, &divide_step, r);
    return pith_record(in, Pushed, .value = r,
                       .tangent = pith_fori(in, 0, 3, step, half));
}
PITH_FUNCTION2(push_loop_of, push_loop, Pushed, pith_array, pith_array)

/* The residual is infinite at 0. */
static const Kept *keep(pith_scope *in, const pith_array *x) {
    const pith_array *r = root(in, x);
    return pith_record(in, Kept, .value = r, .residual = pith_div(in, 0.5, r));
}
PITH_FUNCTION1(keep_of, keep, Kept, pith_array)
enum { PULL_LINE = __LINE__ + 3 };
static const pith_array *
pull(pith_scope *in, const pith_array *slope, const pith_array *ct) {
    return pith_mul(in, ct, slope);
}
PITH_FUNCTION2(pull_of, pull, pith_array, pith_array, pith_array)

/* Its residual is the argument. */
static const pith_array *square(pith_scope *in, const pith_array *x) {
    return pith_mul(in, x, x);
}
PITH_FUNCTION1(square_of, square, pith_array, pith_array)
static const Kept *keep_square(pith_scope *in, const pith_array *x) {
    return pith_record(in, Kept, .value = square(in, x), .residual = x);
}
PITH_FUNCTION1(keep_square_of, keep_square, Kept, pith_array)
static const pith_array *
pull_square(pith_scope *in, const pith_array *x, const pith_array *ct) {
    return pith_mul(in, pith_mul(in, ct, 2.0), x);
}
PITH_FUNCTION2(pull_square_of, pull_square, pith_array, pith_array, pith_array)

enum { TANGENT, TANGENT_LOOP, RESIDUAL, RULES };
static int rule;
static const pith_array *ruled(pith_scope *in, const pith_array *x) {
    const pith_function *f = rule == TANGENT ? pith_custom_jvp(in, &root_of, &push_of)
                             : rule == TANGENT_LOOP
                                 ? pith_custom_jvp(in, &root_of, &push_loop_of)
                                 : pith_custom_vjp(in, &root_of, &keep_of, &pull_of);
    return pith_call(in, f, PITH_ITEMS(x));
}
static const struct {
    int line;
    const char *what;
} wanted[RULES] = {
    {PUSH_LINE, "div in the rule of root: the cotangent of operand 0 is Infinity at "
                "element [1], where operand 1 is 0"},
    {LOOP_LINE, "div in the rule of root: the cotangent of operand 0 is Infinity at "
                "element [1], where operand 1 is 0"},
    {PULL_LINE, "mul in the rule of root: the result is Infinity at element [1], where "
                "operand 1 is Infinity"},
};
static void fails_in_rule(void) {
    char site[80];
    snprintf(site, sizeof site, "test_find_nonfinite_rules.c:%d", wanted[rule].line);
    cr_assert(strstr(pt_error.message, wanted[rule].what), "%d: %s", rule,
              pt_error.message);
    cr_assert(strstr(pt_error.site, site), "%s, expected %d", pt_error.site,
              wanted[rule].line);
}
static void wait_for(const void *tree) {
    (void)tree;
    pith_wait(s);
}

/* ---- Functions ---- */

static const pith_array *once(pith_scope *in, const pith_array *x) {
    return pith_sum(in, ruled(in, pith_mul(in, x, x)), PITH_ALL_AXES);
}
PITH_FUNCTION1(once_of, once, pith_array, pith_array)

/* 1, 0.25 and 4 become 0.5, 0 and 1.5, then another root. */
static const pith_array *fall(pith_scope *in, const pith_array *i, const pith_array *x) {
    (void)i;
    return pith_sub(in, ruled(in, x), 0.5);
}
PITH_FUNCTION2(fall_step, fall, pith_array, pith_array, pith_array)
static const pith_array *fall_row(pith_scope *in, const pith_array *x, const void *row) {
    (void)row;
    return fall(in, NULL, x);
}
PITH_FUNCTION2(fall_row_of, fall_row, pith_array, pith_array, void)
static const pith_array *looped(pith_scope *in, const pith_array *x) {
    return pith_sum(in, pith_fori(in, 0, 2, &fall_step, x), PITH_ALL_AXES);
}
PITH_FUNCTION1(looped_of, looped, pith_array, pith_array)
static const pith_array *within(pith_scope *in, const pith_array *x) {
    static const pith_loop_options budget = {.length = 2, .kept_bytes = 1 << 20};
    return pith_sum(in, pith_scan(in, &fall_row_of, x, NULL, NULL, &budget),
                    PITH_ALL_AXES);
}
PITH_FUNCTION1(within_of, within, pith_array, pith_array)

/* ---- Tests ---- */

Test(find_nonfinite_rules, lines_of_rules_are_named_in_reverse, .init = open_scope) {
    const pith_array *x = PITH_VECTOR(s, f64, 1, 0, 4),
                     *good = PITH_VECTOR(s, f64, 1, 2, 4), *both[] = {good, x};
    for (rule = 0; rule < RULES; rule++) {
        pith_jit_clear(rt);
        const pith_function *g = pith_grad(s, &once_of, &finding);
        pt_fails(PITH_E_CHECK, s, wait_for(pith_call(s, g, PITH_ITEMS(x))));
        fails_in_rule();
        const pith_linearized v = pith_vjp(s, &once_of, PITH_ITEMS(x), &finding);
        pt_ok(s, v.map);
        pt_fails(PITH_E_CHECK, s,
                 wait_for(pith_call(s, v.map, PITH_ITEMS(pith_f64(s, 1)))));
        fails_in_rule();
        pt_fails(PITH_E_CHECK, s,
                 wait_for(pith_call(s, pith_vmap(s, g, NULL),
                                    PITH_ITEMS(pith_stack(s, 2, both, 0)))));
        fails_in_rule();
        cr_assert(strstr(pt_error.message, "(entry [1] of a batch)"));
    }
    close_scope();
}

Test(find_nonfinite_rules, lines_of_rules_in_loops_are_named, .init = open_scope) {
    const pith_array *x = PITH_VECTOR(s, f64, 1, 0.25, 4);
    const pith_function *const functions[] = {&looped_of, &within_of};
    for (rule = 0; rule < RULES; rule++)
        for (int k = 0; k < 2; k++) {
            pith_jit_clear(rt);
            const pith_function *g = pith_grad(s, functions[k], &finding);
            pt_fails(PITH_E_CHECK, s, wait_for(pith_call(s, g, PITH_ITEMS(x))));
            fails_in_rule();
        }
    close_scope();
}

/* Watches do not change a gradient. */
Test(find_nonfinite_rules, gradients_are_the_same_bits, .init = open_scope) {
    const pith_array *x = PITH_VECTOR(s, f64, 1.3, 2.7, 4.1);
    const pith_function *const functions[] = {&once_of, &looped_of, &within_of};
    const pith_derive_options strong = {.strong_zero = true},
                              both = {.strong_zero = true, .find_nonfinite = true};
    for (rule = 0; rule < RULES; rule++)
        for (int k = 0; k < 6; k++) {
            const pith_function *f = functions[k / 2];
            pith_jit_clear(rt);
            const void *got = pith_call(s, pith_grad(s, f, k % 2 ? &both : &finding),
                                        PITH_ITEMS(x)),
                       *expected = pith_call(s, pith_grad(s, f, k % 2 ? &strong : NULL),
                                             PITH_ITEMS(x));
            pith_wait(s);
            pt_ok(s, pith_tree_equal(s, got, expected));
        }
    close_scope();
}

/* A residual is infinite, and the cotangent, because the argument is. */
static const pith_array *squared(pith_scope *in, const pith_array *x) {
    const pith_function *f =
        pith_custom_vjp(in, &square_of, &keep_square_of, &pull_square_of);
    return pith_sum(in, pith_call(in, f, PITH_ITEMS(x)), PITH_ALL_AXES);
}
PITH_FUNCTION1(squared_of, squared, pith_array, pith_array)

Test(find_nonfinite_rules, infinite_arguments_are_no_error, .init = open_scope) {
    const pith_array *x = PITH_VECTOR(s, f64, 1, (double)INFINITY);
    const pith_function *g = pith_grad(s, &squared_of, &finding);
    near(pith_call(s, g, PITH_ITEMS(x)), 0, 2);
    pith_wait(s);
    pt_ok(s);
    close_scope();
}

/* ---- Memory ---- */

static pith_status derive(const pith_open_options *options) {
    rt = pith_open(options);
    s = pith_scope_open(rt);
    const pith_array *x = PITH_VECTOR(s, f64, 1, 4);
    for (rule = 0; rule < RULES && !pith_failed(s); rule++)
        pt_again(s, pith_call(s, pith_grad(s, &once_of, &finding), PITH_ITEMS(x)));
    const pith_status code = pith_code(s);
    pith_clear(s);
    pith_scope_close(s);
    pith_close(rt);
    return code;
}

Test(find_nonfinite_rules, every_failure_is_survived, .timeout = 300) {
    const pt_failures failures = pt_fail_each(derive);
    cr_assert(failures.allocations > 50, "%d allocations, %d errors",
              failures.allocations, failures.errors);
}
