/* .find_nonfinite: the first NaN or infinity of a derivative is an error with its call.
 */
#include "derive_test.h"
#include "fail_allocator.h"

enum { ROOT_LINE = __LINE__ + 2 };
static const pith_array *root(pith_scope *in, const pith_array *x) {
    return pith_sqrt(in, x);
}
static const pith_array *length(pith_scope *in, const pith_array *x) {
    return pith_sum(in, root(in, pith_mul(in, x, pith_mul(in, x, x))), PITH_ALL_AXES);
}
PITH_FUNCTION1(length_of, length, pith_array, pith_array)

/* The branch that is not taken has the derivative 0 times infinity. */
static const pith_array *guarded(pith_scope *in, const pith_array *x) {
    const pith_array *inside = pith_greater(in, x, pith_f64(in, 0));
    return pith_sum(in, pith_where(in, inside, root(in, x), pith_mul(in, x, 0.0)),
                    PITH_ALL_AXES);
}
PITH_FUNCTION1(guarded_of, guarded, pith_array, pith_array)

/* The value is infinite too. */
static const pith_array *inverse(pith_scope *in, const pith_array *x) {
    return pith_sum(in, pith_div(in, pith_f64(in, 1), x), PITH_ALL_AXES);
}
PITH_FUNCTION1(inverse_of, inverse, pith_array, pith_array)

static const pith_derive_options finding = {.find_nonfinite = true};

static const pith_array *table(void) {
    static const double values[] = {1, 4, 9, 0.25, 0, 16};
    return pith_array_copy(s, PITH_F64, PITH_SHAPE(2, 3), values);
}
/* Checks without a collector are examined when a call waits. */
static void wait_for(const void *tree) {
    (void)tree;
    pith_wait(s);
}
static void fails_at_root(const char *what) {
    char site[80];
    snprintf(site, sizeof site, "test_find_nonfinite.c:%d", ROOT_LINE);
    cr_assert(strstr(pt_error.message, what), "%s", pt_error.message);
    cr_assert(strstr(pt_error.site, site), "%s", pt_error.site);
}

/* ---- Reverse mode ---- */

Test(find_nonfinite, gradients_name_the_operand, .init = open_scope) {
    const pith_function *g = pith_grad(s, &length_of, &finding);
    pt_fails(PITH_E_CHECK, s, wait_for(pith_call(s, g, PITH_ITEMS(table()))));
    fails_at_root("pith_grad: sqrt: the cotangent of operand 0 is Infinity at element "
                  "[1, 1], where the operand is 0");
    pt_ok(s, pith_call(s, g, PITH_ITEMS(pith_add(s, table(), 1.0))));
    close_scope();
}

Test(find_nonfinite, gradients_are_the_same_bits, .init = open_scope) {
    const pith_array *x = pith_add(s, table(), 0.5);
    cr_assert(pith_tree_equal(
        s, pith_call(s, pith_grad(s, &length_of, &finding), PITH_ITEMS(x)),
        pith_call(s, pith_grad(s, &length_of, NULL), PITH_ITEMS(x))));
    const void *product =
        pith_call(s, pith_hessian_product(s, &length_of, &finding), PITH_ITEMS(x, x));
    cr_assert(pith_tree_equal(
        s, product,
        pith_call(s, pith_hessian_product(s, &length_of, NULL), PITH_ITEMS(x, x))));
    const pith_function *gg = pith_grad(s, pith_grad(s, &inverse_of, &finding), &finding);
    near(pith_call(s, gg, PITH_ITEMS(pith_f64(s, 2))), 0, 0.25);
    close_scope();
}

Test(find_nonfinite, maps_are_checked_where_they_are_called, .init = open_scope) {
    const pith_linearized v = pith_vjp(s, &length_of, PITH_ITEMS(table()), &finding),
                          l = pith_linearize(s, &length_of, PITH_ITEMS(table()),
                                             &finding);
    pt_ok(s, v.map && l.map);
    const pith_array *one = pith_f64(s, 1);
    pt_fails(PITH_E_CHECK, s, wait_for(pith_call(s, v.map, PITH_ITEMS(one))));
    fails_at_root("pith_vjp: sqrt: the cotangent of operand 0 is Infinity");
    pt_fails(PITH_E_CHECK, s, wait_for(pith_call(s, l.map, PITH_ITEMS(table()))));
    fails_at_root("pith_linearize: sqrt: the tangent of the result is ");
    close_scope();
}

Test(find_nonfinite, the_first_one_in_reverse_order_is_named, .init = open_scope) {
    const pith_function *g = pith_grad(s, &guarded_of, &finding);
    pt_fails(PITH_E_CHECK, s, wait_for(pith_call(s, g, PITH_ITEMS(pith_f64(s, 0)))));
    fails_at_root("pith_grad: sqrt: the cotangent of operand 0 is NaN, where the operand "
                  "is 0");
    const pith_derive_options strong = {.find_nonfinite = true, .strong_zero = true};
    pt_ok(s,
          pith_call(s, pith_grad(s, &guarded_of, &strong), PITH_ITEMS(pith_f64(s, 0))));
    pith_wait(s);
    close_scope();
}

/* ---- Forward mode ---- */

Test(find_nonfinite, tangents_name_the_result, .init = open_scope) {
    const pith_array *x = PITH_VECTOR(s, f64, 2, 0, 0.0625);
    pt_fails(PITH_E_CHECK, s,
             wait_for(pith_jvp(s, &length_of, PITH_ITEMS(x), x, &finding).tangent));
    fails_at_root("pith_jvp: sqrt: the tangent of the result is ");
    cr_assert(strstr(pt_error.message, " at element [1], where operand 0 is 0"));
    close_scope();
}

/* ---- Values ---- */

/* 1 / 0 is infinite itself; the operand is finite, so its cotangent is found. A tangent
 * of a result that is infinite is not. */
Test(find_nonfinite, infinite_values_are_no_error, .init = open_scope) {
    const pith_array *x = pith_f64(s, 0), *one = pith_f64(s, 1);
    pt_ok(s, pith_jvp(s, &inverse_of, PITH_ITEMS(x), one, &finding).tangent);
    pith_wait(s);
    const pith_array *huge = pith_f64(s, (double)INFINITY);
    pt_ok(s, pith_call(s, pith_grad(s, &length_of, &finding), PITH_ITEMS(huge)));
    pith_wait(s);
    close_scope();
}

/* The value of an operand is shown with all its digits. */
Test(find_nonfinite, operands_have_their_values, .init = open_scope) {
    const pith_array *x = PITH_VECTOR(s, f64, 1, -0.123456789012345, 1e-300);
    const pith_function *g = pith_grad(s, &length_of, &finding);
    pt_fails(PITH_E_CHECK, s, wait_for(pith_call(s, g, PITH_ITEMS(x))));
    fails_at_root("at element [1], where the operand is -0.001881676");
    close_scope();
}

/* ---- Inside of loops and branches ---- */

/* 0.25 becomes 0, -0.5 and NaN: in reverse order the last step is the first that is
 * wrong, and its value is NaN; the others follow it. In forward mode it is the second. */
static const pith_array *sink(pith_scope *in, const pith_array *i, const pith_array *x) {
    (void)i;
    return pith_sub(in, root(in, x), 0.5);
}
PITH_FUNCTION2(sink_step, sink, pith_array, pith_array, pith_array)
static const pith_array *sink_row(pith_scope *in, const pith_array *x, const void *row) {
    (void)row;
    return sink(in, NULL, x);
}
PITH_FUNCTION2(sink_row_of, sink_row, pith_array, pith_array, void)
static const pith_array *is_high(pith_scope *in, const pith_array *x) {
    return pith_any(in, pith_greater(in, x, 0.4), PITH_ALL_AXES);
}
PITH_FUNCTION1(is_high_test, is_high, pith_array, pith_array)
static const pith_array *sink_once(pith_scope *in, const pith_array *x) {
    return sink(in, NULL, x);
}
PITH_FUNCTION1(sink_once_of, sink_once, pith_array, pith_array)
static const pith_array *as_it_is(pith_scope *in, const pith_array *x) {
    (void)in;
    return x;
}
PITH_FUNCTION1(as_it_is_of, as_it_is, pith_array, pith_array)
/* In a branch of a loop. */
static const pith_array *
choose(pith_scope *in, const pith_array *i, const pith_array *x) {
    return pith_cond(in, pith_less(in, i, 3), &sink_once_of, &as_it_is_of, x);
}
PITH_FUNCTION2(choose_step, choose, pith_array, pith_array, pith_array)

enum { LOOPS = 4 };
static int loop;
static const pith_array *sunk(pith_scope *in, const pith_array *x) {
    static const pith_loop_options budget = {.length = 3, .kept_bytes = 1 << 20};
    static const pith_record_options record = {.most = 9};
    return loop == 0   ? pith_fori(in, 0, 3, &sink_step, x)
           : loop == 1 ? pith_fori(in, 0, 5, &choose_step, x)
           : loop == 2 ? pith_while_recorded(in, &is_high_test, &sink_once_of, x, &record)
                       : pith_scan(in, &sink_row_of, x, NULL, NULL, &budget);
}
static const pith_array *sum_of_sunk(pith_scope *in, const pith_array *x) {
    return pith_sum(in, sunk(in, x), PITH_ALL_AXES);
}
/* What comes after the loop is wrong before it in reverse mode. */
static const pith_array *root_of_sunk(pith_scope *in, const pith_array *x) {
    return pith_sum(in, pith_sqrt(in, pith_mul(in, sunk(in, x), 0.0)), PITH_ALL_AXES);
}
PITH_FUNCTION1(sum_of_sunk_of, sum_of_sunk, pith_array, pith_array)
PITH_FUNCTION1(root_of_sunk_of, root_of_sunk, pith_array, pith_array)

Test(find_nonfinite, calls_in_loops_are_named, .init = open_scope) {
    static const char reverse[] = "sqrt: the cotangent of operand 0 is NaN at element "
                                  "[1], where the operand is -0.5",
                      forward[] =
                          "sqrt: the tangent of the result is Infinity at element "
                          "[1], where operand 0 is 0";
    const pith_array *x = PITH_VECTOR(s, f64, 2.25, 0.25, 4), *good = pith_add(s, x, 9.0);
    for (loop = 0; loop < LOOPS; loop++) {
        pith_jit_clear(rt);
        const pith_function *g = pith_grad(s, &sum_of_sunk_of, &finding);
        pt_fails(PITH_E_CHECK, s, wait_for(pith_call(s, g, PITH_ITEMS(x))));
        fails_at_root(reverse);
        pt_fails(PITH_E_CHECK, s,
                 wait_for(pith_call(
                     s, pith_vmap(s, g, NULL),
                     PITH_ITEMS(pith_stack(s, 2, (const pith_array *[]){good, x}, 0)))));
        fails_at_root("(entry [1] of a batch)");
        pt_fails(
            PITH_E_CHECK, s,
            wait_for(
                pith_jvp(s, &sum_of_sunk_of, PITH_ITEMS(x), good, &finding).tangent));
        fails_at_root(forward);
        const pith_linearized v = pith_vjp(s, &sum_of_sunk_of, PITH_ITEMS(x), &finding),
                              l = pith_linearize(s, &sum_of_sunk_of, PITH_ITEMS(x),
                                                 &finding);
        pith_wait(s);
        pt_ok(s, v.map && l.map);
        pt_fails(PITH_E_CHECK, s,
                 wait_for(pith_call(s, v.map, PITH_ITEMS(pith_f64(s, 1)))));
        fails_at_root(reverse);
        pt_fails(PITH_E_CHECK, s, wait_for(pith_call(s, l.map, PITH_ITEMS(x))));
        fails_at_root(forward);
        /* The order is that of the whole function. */
        pt_fails(PITH_E_CHECK, s,
                 wait_for(pith_call(s, pith_grad(s, &root_of_sunk_of, &finding),
                                    PITH_ITEMS(x))));
        cr_assert(strstr(pt_error.message, "Infinity at element [0]"), "%s",
                  pt_error.message);
        /* Nothing else changes. */
        const void *got = pith_call(s, g, PITH_ITEMS(good)),
                   *wanted = pith_call(s, pith_grad(s, &sum_of_sunk_of, NULL),
                                       PITH_ITEMS(good));
        pith_wait(s);
        pt_ok(s, pith_tree_equal(s, got, wanted));
    }
    close_scope();
}

/* ---- Dtypes and surroundings ---- */

Test(find_nonfinite, every_float_dtype_is_checked, .init = open_scope) {
    static const pith_dtype dtypes[] = {PITH_F32, PITH_F16, PITH_BF16};
    const pith_function *g = pith_grad(s, &length_of, &finding);
    for (int k = 0; k < 3; k++) {
        const pith_array *x = pith_cast(s, PITH_VECTOR(s, f64, 1, -0.5), dtypes[k]);
        pt_fails(PITH_E_CHECK, s, wait_for(pith_call(s, g, PITH_ITEMS(x))));
        fails_at_root("sqrt: the cotangent of operand 0 is NaN at element [1], where the "
                      "operand is -0.125");
        x = pith_cast(s, PITH_VECTOR(s, f64, 1, 0.5), dtypes[k]);
        pt_ok(s, pith_call(s, g, PITH_ITEMS(x)));
        pith_wait(s);
        pt_ok(s);
    }
    close_scope();
}

/* A step of a run whose gradient is checked, with a collector and in a loop. */
static const pith_array *descend(pith_scope *in, const pith_array *x) {
    const pith_array *slope =
        pith_call(in, pith_grad(in, &length_of, &finding), PITH_ITEMS(x));
    return pith_sub(in, x, pith_mul(in, slope, 0.25));
}
PITH_FUNCTION1(descend_step, descend, pith_array, pith_array)
static const pith_array *
descend_row(pith_scope *in, const pith_array *i, const pith_array *x) {
    (void)i;
    return descend(in, x);
}
PITH_FUNCTION2(descend_body, descend_row, pith_array, pith_array, pith_array)
static const pith_array *descend_twice(pith_scope *in, const pith_array *x) {
    return pith_fori(in, 0, 2, &descend_body, x);
}
PITH_FUNCTION1(descend_loop, descend_twice, pith_array, pith_array)

Test(find_nonfinite, steps_and_loops_are_checked, .init = open_scope) {
    const pith_array *bad = PITH_VECTOR(s, f64, 1, 0), *good = PITH_VECTOR(s, f64, 9, 4);
    const pith_function *const steps[] = {&descend_step, pith_jit(s, &descend_step, NULL),
                                          pith_jit(s, &descend_loop, NULL)};
    for (int k = 0; k < 3; k++) {
        pt_fails(PITH_E_CHECK, s, pith_propagate_any(s, NULL, steps[k], bad, NULL));
        fails_at_root("pith_grad: sqrt: the cotangent of operand 0 is ");
        pt_fails(PITH_E_CHECK, s, wait_for(pith_call(s, steps[k], PITH_ITEMS(bad))));
        pt_ok(s, pith_propagate_any(s, NULL, steps[k], good, NULL));
    }
    close_scope();
}

/* A cotangent that is NaN already is found at the last call. */
Test(find_nonfinite, infinite_cotangents_are_found_at_once, .init = open_scope) {
    const pith_linearized v =
        pith_vjp(s, &length_of, PITH_ITEMS(PITH_VECTOR(s, f64, 4, 9)), &finding);
    const pith_array *ct = pith_f64(s, (double)NAN);
    pt_fails(PITH_E_CHECK, s, wait_for(pith_call(s, v.map, PITH_ITEMS(ct))));
    cr_assert(
        strstr(pt_error.message, "pith_vjp: sum: the cotangent of operand 0 is NaN"),
        "%s", pt_error.message);
    close_scope();
}

/* ---- Inside of rules ---- */

typedef struct {
    const pith_array *value, *tangent;
} Pushed;
PITH_NODE(Pushed, PITH_LEAF(value, "f64[...]"), PITH_LEAF(tangent, "f64[...]"))
typedef struct {
    const pith_array *value, *residual;
} Kept;
PITH_NODE(Kept, PITH_LEAF(value, "f64[...]"), PITH_LEAF(residual, "f64[...]"))

PITH_FUNCTION1(root_of, root, pith_array, pith_array)
static bool masks; /* the rules hide what is not finite */

static const pith_array *
masked(pith_scope *in, const pith_array *where, const pith_array *x) {
    return masks ? pith_where(in, pith_equal(in, where, 0.0), 0.0, x) : x;
}

enum { PUSH_LINE = __LINE__ + 3 };
static const Pushed *push_root(pith_scope *in, const pith_array *x, const pith_array *t) {
    const pith_array *r = root(in, x);
    const pith_array *slope = pith_div(in, pith_mul(in, t, 0.5), r);
    return pith_record(in, Pushed, .value = r, .tangent = masked(in, r, slope));
}
PITH_FUNCTION2(push_root_of, push_root, Pushed, pith_array, pith_array)

static const Kept *keep_root(pith_scope *in, const pith_array *x) {
    const pith_array *r = root(in, x);
    return pith_record(in, Kept, .value = r, .residual = r);
}
PITH_FUNCTION1(keep_root_of, keep_root, Kept, pith_array)
enum { PULL_LINE = __LINE__ + 3 };
static const pith_array *
pull_root(pith_scope *in, const pith_array *r, const pith_array *ct) {
    const pith_array *slope = pith_div(in, pith_mul(in, ct, 0.5), r);
    return masked(in, r, pith_mul(in, slope, 1.0));
}
PITH_FUNCTION2(pull_root_of, pull_root, pith_array, pith_array, pith_array)

static const pith_array *ruled_root(pith_scope *in, const pith_array *x) {
    const pith_function *f = pith_custom_jvp(
        in, pith_custom_vjp(in, &root_of, &keep_root_of, &pull_root_of), &push_root_of);
    return pith_call(in, f, PITH_ITEMS(x));
}
static const pith_array *ruled(pith_scope *in, const pith_array *x) {
    return pith_sum(in, ruled_root(in, pith_mul(in, x, x)), PITH_ALL_AXES);
}
PITH_FUNCTION1(ruled_of, ruled, pith_array, pith_array)
static const pith_array *
ruled_step(pith_scope *in, const pith_array *i, const pith_array *x) {
    (void)i;
    return pith_sub(in, ruled_root(in, x), 0.5);
}
PITH_FUNCTION2(ruled_step_of, ruled_step, pith_array, pith_array, pith_array)
/* 0.25, 0. */
static const pith_array *ruled_loop(pith_scope *in, const pith_array *x) {
    return pith_sum(in, pith_fori(in, 0, 2, &ruled_step_of, x), PITH_ALL_AXES);
}
PITH_FUNCTION1(ruled_loop_of, ruled_loop, pith_array, pith_array)

static void fails_at_line(int line, const char *what) {
    char site[80];
    snprintf(site, sizeof site, "test_find_nonfinite.c:%d", line);
    cr_assert(strstr(pt_error.message, what), "%s", pt_error.message);
    cr_assert(strstr(pt_error.site, site), "%s, expected %d", pt_error.site, line);
}

Test(find_nonfinite, in_a_rule_its_line_is_named, .init = open_scope) {
    const pith_array *x = PITH_VECTOR(s, f64, 1, 0, 4),
                     *ones = pith_add(s, pith_mul(s, x, 0.0), 1.0);
    masks = false;
    pt_fails(PITH_E_CHECK, s,
             wait_for(pith_jvp(s, &ruled_of, PITH_ITEMS(x), ones, &finding).tangent));
    fails_at_line(PUSH_LINE, "pith_jvp: div in the rule of root: the result is NaN at "
                             "element [1], where operand 1 is 0");
    const pith_linearized l = pith_linearize(s, &ruled_of, PITH_ITEMS(x), &finding);
    pt_fails(PITH_E_CHECK, s, wait_for(pith_call(s, l.map, PITH_ITEMS(ones))));
    fails_at_line(PUSH_LINE, "pith_linearize: div in the rule of root: the result is ");
    const pith_function *g = pith_grad(s, &ruled_of, &finding);
    pt_fails(PITH_E_CHECK, s, wait_for(pith_call(s, g, PITH_ITEMS(x))));
    fails_at_line(PULL_LINE, "pith_grad: div in the rule of root: the result is Infinity "
                             "at element [1], where operand 1 is 0");
    close_scope();
}

Test(find_nonfinite, in_a_rule_in_a_loop_its_line_is_named, .init = open_scope) {
    const pith_array *x = pith_reshape(s, pith_f64(s, 0.25), PITH_SHAPE(1)),
                     *one = pith_reshape(s, pith_f64(s, 1), PITH_SHAPE(1));
    masks = false;
    const pith_function *g = pith_grad(s, &ruled_loop_of, &finding);
    pt_fails(PITH_E_CHECK, s, wait_for(pith_call(s, g, PITH_ITEMS(x))));
    fails_at_line(PULL_LINE,
                  "pith_grad: div in the rule of root: the result is Infinity");
    pt_fails(PITH_E_CHECK, s,
             wait_for(pith_jvp(s, &ruled_loop_of, PITH_ITEMS(x), one, &finding).tangent));
    fails_at_line(PUSH_LINE, "pith_jvp: div in the rule of root: the result is ");
    close_scope();
}

/* What a rule computes and does not use is no error. */
Test(find_nonfinite, rules_may_hide_it, .init = open_scope) {
    const pith_array *x = PITH_VECTOR(s, f64, 1, 0, 4),
                     *ones = pith_add(s, pith_mul(s, x, 0.0), 1.0);
    masks = true;
    pt_ok(s, pith_jvp(s, &ruled_of, PITH_ITEMS(x), ones, &finding).tangent);
    pith_wait(s);
    pt_ok(s, pith_call(s, pith_grad(s, &ruled_of, &finding), PITH_ITEMS(x)));
    pith_wait(s);
    masks = false;
    close_scope();
}

/* ---- Memory ---- */

static pith_status derive(const pith_open_options *options) {
    rt = pith_open(options);
    s = pith_scope_open(rt);
    const pith_array *x = PITH_VECTOR(s, f64, 1, 4);
    if (!pith_failed(s)) {
        pt_again(s, pith_call(s, pith_grad(s, &ruled_of, &finding), PITH_ITEMS(x)));
        pt_again(s, pith_jvp(s, &ruled_of, PITH_ITEMS(x), x, &finding).tangent);
    }
    const pith_status code = pith_code(s);
    pith_clear(s);
    pith_scope_close(s);
    pith_close(rt);
    return code;
}

Test(find_nonfinite, every_failure_is_survived, .timeout = 300) {
    const pt_failures failures = pt_fail_each(derive);
    cr_assert(failures.allocations > 50, "%d allocations, %d errors",
              failures.allocations, failures.errors);
}
