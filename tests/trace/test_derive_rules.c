/* Functions with derivatives of the user. The rules of most are wrong on purpose, so that
 * tests see that they are used. */
#include "fail_allocator.h"
#include "rule_functions.h"

static _Atomic int recorded;

/* ---- Functions ---- */

static const pith_array *sine(pith_scope *in, const pith_array *x) {
    return pith_sin(in, x);
}
PITH_FUNCTION1(sine_of, sine, pith_array, pith_array)

/* Ten times the tangent of the sine. */
static const Pushed *push_ten(pith_scope *in, const pith_array *x, const pith_array *t) {
    recorded++;
    return pith_record(in, Pushed, .value = pith_sin(in, x),
                       .tangent = pith_mul(in, pith_mul(in, pith_cos(in, x), t), 10.0));
}
PITH_FUNCTION2(ten, push_ten, Pushed, pith_array, pith_array)

/* A hundred times the gradient of the sine. */
static const Kept *keep_cosine(pith_scope *in, const pith_array *x) {
    recorded++;
    return pith_record(in, Kept, .value = pith_sin(in, x), .residual = pith_cos(in, x));
}
PITH_FUNCTION1(keep, keep_cosine, Kept, pith_array)
static const pith_array *
pull_hundred(pith_scope *in, const pith_array *cosine, const pith_array *ct) {
    recorded++;
    return pith_mul(in, pith_mul(in, cosine, ct), 100.0);
}
PITH_FUNCTION2(hundred, pull_hundred, pith_array, pith_array, pith_array)

static const pith_function *pushed_sine(pith_scope *in) {
    return pith_custom_jvp(in, &sine_of, &ten);
}
static const pith_function *pulled_sine(pith_scope *in) {
    return pith_custom_vjp(in, &sine_of, &keep, &hundred);
}

static const pith_array *pushed_squares(pith_scope *in, const pith_array *x) {
    return squares(in, pith_call(in, pushed_sine(in), PITH_ITEMS(x)));
}
PITH_FUNCTION1(pushed_of, pushed_squares, pith_array, pith_array)
static const pith_array *pulled_squares(pith_scope *in, const pith_array *x) {
    return squares(in, pith_call(in, pulled_sine(in), PITH_ITEMS(x)));
}
PITH_FUNCTION1(pulled_of, pulled_squares, pith_array, pith_array)

static const pith_array *ones(void) {
    return PITH_VECTOR(s, f64, 1, 1, 1);
}
static double slope_of_squares(int i) {
    return 2 * sin(xs[i]) * cos(xs[i]);
}

/* ---- Modes ---- */

Test(derive_rules, a_rule_is_used_in_both_modes, .init = open_scope) {
    const pith_function *f = pushed_sine(s);
    const pith_array *x = some_x();
    pt_ok(s, f);
    cr_assert(pith_tree_equal(s, pith_call(s, f, PITH_ITEMS(x)), pith_sin(s, x)));
    const pith_pushed y = pith_jvp(s, f, PITH_ITEMS(x), ones(), NULL);
    pt_ok(s, y.tangent);
    const pith_array *g = pith_call(s, pith_grad(s, &pushed_of, NULL), PITH_ITEMS(x));
    const pith_linearized l = pith_linearize(s, f, PITH_ITEMS(x), NULL);
    pt_ok(s, g);
    const pith_array *t = pith_call(s, l.map, PITH_ITEMS(ones()));
    for (int i = 0; i < 3; i++) {
        near(y.value, i, sin(xs[i]));
        near(y.tangent, i, 10 * cos(xs[i]));
        near(t, i, 10 * cos(xs[i]));
        near(g, i, 10 * slope_of_squares(i));
    }
    close_scope();
}

Test(derive_rules, a_rule_for_reverse_mode, .init = open_scope) {
    const pith_array *x = some_x();
    const pith_linearized v = pith_vjp(s, pulled_sine(s), PITH_ITEMS(x), NULL);
    pt_ok(s, v.map);
    const pith_array *d = pith_call(s, v.map, PITH_ITEMS(ones())),
                     *g = pith_call(s, pith_grad(s, &pulled_of, NULL), PITH_ITEMS(x));
    pt_ok(s, g);
    for (int i = 0; i < 3; i++) {
        near(v.value, i, sin(xs[i]));
        near(d, i, 100 * cos(xs[i]));
        near(g, i, 100 * slope_of_squares(i));
    }
    pt_fails(PITH_E_DERIVATIVE, s,
             pith_jvp(s, pulled_sine(s), PITH_ITEMS(x), ones(), NULL));
    pt_says("sine has a rule for reverse mode alone");
    pt_says("test_derive_rules.c:");
    pt_fails(PITH_E_DERIVATIVE, s, pith_linearize(s, &pulled_of, PITH_ITEMS(x), NULL));
    close_scope();
}

Test(derive_rules, each_rule_has_its_mode, .init = open_scope) {
    const pith_array *x = some_x();
    for (int k = 0; k < 2; k++) {
        const pith_function *f = k ? pith_custom_jvp(s, pulled_sine(s), &ten)
                                   : pith_custom_vjp(s, pushed_sine(s), &keep, &hundred);
        const pith_array *t = pith_jvp(s, f, PITH_ITEMS(x), ones(), NULL).tangent;
        const pith_linearized v = pith_vjp(s, f, PITH_ITEMS(x), NULL),
                              l = pith_linearize(s, f, PITH_ITEMS(x), NULL);
        pt_ok(s, v.map && l.map);
        const pith_array *d = pith_call(s, v.map, PITH_ITEMS(ones())),
                         *u = pith_call(s, l.map, PITH_ITEMS(ones()));
        for (int i = 0; i < 3; i++) {
            near(t, i, 10 * cos(xs[i]));
            near(u, i, 10 * cos(xs[i]));
            near(d, i, 100 * cos(xs[i]));
        }
    }
    close_scope();
}

/* ---- Higher orders ---- */

/* The sine, whose rule calls it and the function that is its derivative. */
static const Pushed *push_sine(pith_scope *in, const pith_array *x, const pith_array *t);
PITH_FUNCTION2(sine_rule, push_sine, Pushed, pith_array, pith_array)
static const pith_array *own_sine(pith_scope *in, const pith_array *x) {
    return pith_call(in, pith_custom_jvp(in, &sine_of, &sine_rule), PITH_ITEMS(x));
}
static const Pushed *push_sine(pith_scope *in, const pith_array *x, const pith_array *t) {
    const pith_array *shifted = pith_add(in, x, 1.5707963267948966);
    recorded++;
    return pith_record(in, Pushed, .value = own_sine(in, x),
                       .tangent = pith_mul(in, own_sine(in, shifted), t));
}
PITH_FUNCTION1(own_of, own_sine, pith_array, pith_array)

static const Kept *keep_x(pith_scope *in, const pith_array *x) {
    return pith_record(in, Kept, .value = own_sine(in, x), .residual = x);
}
PITH_FUNCTION1(keep_argument, keep_x, Kept, pith_array)
static const pith_array *
pull_x(pith_scope *in, const pith_array *x, const pith_array *ct) {
    return pith_mul(in, own_sine(in, pith_add(in, x, 1.5707963267948966)), ct);
}
PITH_FUNCTION2(pull_argument, pull_x, pith_array, pith_array, pith_array)

Test(derive_rules, derivatives_of_rules_use_them_again, .init = open_scope) {
    const pith_array *x = pith_f64(s, 0.7);
    const pith_function *const own[2] = {
        &own_of, pith_custom_vjp(s, &sine_of, &keep_argument, &pull_argument)};
    for (int k = 0; k < 2; k++) {
        const pith_function *g = pith_grad(s, own[k], NULL), *gg = pith_grad(s, g, NULL),
                            *ggg = pith_grad(s, gg, NULL);
        pt_ok(s, ggg);
        near(pith_call(s, g, PITH_ITEMS(x)), 0, cos(0.7));
        near(pith_call(s, gg, PITH_ITEMS(x)), 0, -sin(0.7));
        near(pith_call(s, ggg, PITH_ITEMS(x)), 0, -cos(0.7));
        const void *both = pith_call(s, pith_hessian_product(s, own[k], NULL),
                                     PITH_ITEMS(x, pith_f64(s, 2)));
        near(item(both, 0), 0, cos(0.7));
        near(item(both, 1), 0, -2 * sin(0.7));
        near(pith_jvp(s, g, PITH_ITEMS(x), pith_f64(s, 1), NULL).tangent, 0, -sin(0.7));
    }
    close_scope();
}

/* ---- Trees ---- */

static const pith_array *well(pith_scope *in, const Ions *ions, const pith_array *depth) {
    return pith_mul(
        in, depth,
        pith_sum(in, pith_mul(in, ions->position, ions->charge), PITH_ALL_AXES));
}
PITH_FUNCTION2(well_of, well, pith_array, Ions, pith_array)

/* What tangents a rule was given. */
static bool zero_position, zero_charge, zero_kind, zero_depth, zero_x;
static int64_t width_seen;

static const Pushed *
push_well(pith_scope *in, const void *primals, const void *tangents) {
    const Ions *ions = pith_child(primals, 0), *dions = pith_child(tangents, 0);
    const pith_array *depth = pith_child(primals, 1), *ddepth = pith_child(tangents, 1);
    zero_position = pith_is_zero_tangent(dions->position);
    zero_charge = pith_is_zero_tangent(dions->charge);
    zero_kind = pith_is_zero_tangent(dions->kind);
    zero_depth = pith_is_zero_tangent(ddepth);
    zero_x = pith_is_zero_tangent(ions->position);
    width_seen = ions->width + dions->width;
    const pith_array *t =
        pith_sum(in, pith_mul(in, dions->position, ions->charge), PITH_ALL_AXES);
    return pith_record(in, Pushed, .value = well(in, ions, depth),
                       .tangent = pith_mul(in, depth, t));
}
PITH_FUNCTION2(well_rule, push_well, Pushed, void, void)

Test(derive_rules, rules_are_told_what_is_zero, .init = open_scope) {
    const pith_function *f = pith_custom_jvp(s, &well_of, &well_rule);
    const pith_derive_options positions = {.paths = PITH_PATHS("[0].position")};
    const pith_array *depth = pith_f64(s, 3);
    const pith_array *g =
        pith_call(s, pith_grad(s, f, &positions), PITH_ITEMS(some_ions(), depth));
    pt_ok(s, g);
    for (int i = 0; i < 3; i++)
        near(g, i, 3 * (i + 1));
    cr_assert(!zero_position && zero_charge && zero_kind && zero_depth && !zero_x);
    cr_assert(width_seen == 14);
    cr_assert(!pith_is_zero_tangent(depth) && !pith_is_zero_tangent(NULL));
    close_scope();
}

/* Residuals are any tree; gradients of several arguments a tuple. */
static const Kept *keep_well(pith_scope *in, const Ions *ions, const pith_array *depth) {
    return pith_record(in, Kept, .value = well(in, ions, depth),
                       .residual = pith_tuple_make(in, PITH_ITEMS(ions, depth)));
}
PITH_FUNCTION2(well_forward, keep_well, Kept, Ions, pith_array)
static const void *pull_well(pith_scope *in, const void *kept, const pith_array *ct) {
    const Ions *ions = pith_child(kept, 0);
    const pith_array *depth = pith_child(kept, 1), *by = pith_mul(in, depth, ct);
    Ions d = *ions;
    d.position = pith_mul(in, ions->charge, by);
    d.charge = pith_mul(in, ions->position, by);
    const pith_array *of_depth = pith_mul(
        in, ct, pith_sum(in, pith_mul(in, ions->position, ions->charge), PITH_ALL_AXES));
    return pith_tuple_make(in, PITH_ITEMS(pith_freeze(in, Ions, &d), of_depth));
}
PITH_FUNCTION2(well_backward, pull_well, void, void, pith_array)

Test(derive_rules, residuals_are_trees, .init = open_scope) {
    const pith_derive_options all = {.arguments = PITH_ARGUMENT(0) | PITH_ARGUMENT(1),
                                     .skip_integers = true};
    const pith_array *depth = pith_f64(s, 3);
    const pith_function *f = pith_custom_vjp(s, &well_of, &well_forward, &well_backward);
    const void *got = pith_call(s, pith_grad(s, f, &all), PITH_ITEMS(some_ions(), depth)),
               *wanted = pith_call(s, pith_grad(s, &well_of, &all),
                                   PITH_ITEMS(some_ions(), depth));
    pt_ok(s, got && wanted);
    cr_assert(pith_tree_equal(s, got, wanted));
    cr_assert(((const Ions *)pith_child(got, 0))->width == 7);
    close_scope();
}

/* ---- Loops, branches, compiled functions ---- */

static const pith_array *loop_body(pith_scope *in,
                                   const pith_array *carry,
                                   const pith_array *x,
                                   const pith_array *a) {
    return pith_add(
        in, pith_mul(in, pith_call(in, pulled_sine(in), PITH_ITEMS(carry)), a), x);
}
PITH_FUNCTION3(looped, loop_body, pith_array, pith_array, pith_array, pith_array)

static const pith_array *
iterate(pith_scope *in, const pith_array *x, const pith_array *a) {
    return squares(in, pith_scan(in, pith_partial(in, &looped, a), x,
                                 pith_zeros(in, PITH_F64, PITH_SHAPE(3)), NULL, NULL));
}
PITH_FUNCTION2(iterated, iterate, pith_array, pith_array, pith_array)

static const pith_array *
iterate_plainly(pith_scope *in, const pith_array *x, const pith_array *a) {
    for (int k = 0; k < 3; k++)
        x = pith_mul(in, pith_call(in, pulled_sine(in), PITH_ITEMS(x)), a);
    return squares(in, x);
}
PITH_FUNCTION2(iterated_plainly, iterate_plainly, pith_array, pith_array, pith_array)

Test(derive_rules, rules_work_in_loops, .init = open_scope) {
    const pith_derive_options both = {.arguments = PITH_ARGUMENT(0) | PITH_ARGUMENT(1)};
    const pith_array *a = pith_f64(s, 0.25), *x = some_x();
    const pith_function *compiled = pith_jit(s, &iterated, NULL);
    const void *wanted =
                   pith_call(s, pith_grad(s, &iterated_plainly, &both), PITH_ITEMS(x, a)),
               *got = pith_call(s, pith_grad(s, &iterated, &both), PITH_ITEMS(x, a)),
               *again = pith_call(s, pith_grad(s, compiled, &both), PITH_ITEMS(x, a));
    pt_ok(s, wanted && got && again);
    for (int i = 0; i < 3; i++) {
        near(item(got, 0), i, at(item(wanted, 0), i));
        near(item(again, 0), i, at(item(wanted, 0), i));
    }
    near(item(got, 1), 0, at(item(wanted, 1), 0));
    close_scope();
}

static const pith_array *branch(pith_scope *in, const pith_array *x) {
    return pith_cond(in, pith_less(in, pith_sum(in, x, PITH_ALL_AXES), 1.5),
                     pushed_sine(in), pulled_sine(in), x);
}
static const pith_array *branch_squares(pith_scope *in, const pith_array *x) {
    return squares(in, branch(in, x));
}
PITH_FUNCTION1(branched, branch_squares, pith_array, pith_array)

Test(derive_rules, rules_work_in_branches, .init = open_scope) {
    const pith_function *g = pith_grad(s, &branched, NULL);
    const pith_array *low = pith_call(s, g, PITH_ITEMS(some_x())),
                     *high =
                         pith_call(s, g, PITH_ITEMS(PITH_VECTOR(s, f64, 0.5, -1.25, 4)));
    pt_ok(s, low && high);
    for (int i = 0; i < 2; i++) {
        near(low, i, 10 * slope_of_squares(i));
        near(high, i, 100 * slope_of_squares(i));
    }
    close_scope();
}

/* The part of a compiled function keeps a rule whose scope is closed. */
static const pith_function *inner;
static const pith_array *outer(pith_scope *in, const pith_array *x) {
    return pith_sum(in, pith_call(in, inner, PITH_ITEMS(x)), PITH_ALL_AXES);
}
PITH_FUNCTION1(outer_of, outer, pith_array, pith_array)

Test(derive_rules, rules_outlive_their_scopes, .init = open_scope) {
    inner = pith_jit(s, &pushed_of, NULL);
    for (int k = 0; k < 3; k++) {
        pith_scope *in = pith_scope_open_in(s);
        const pith_array *g = pith_call(
            in, pith_grad(in, pith_jit(in, &outer_of, NULL), NULL), PITH_ITEMS(some_x()));
        pt_ok(in, g);
        for (int i = 0; i < 3; i++)
            near(g, i, 10 * slope_of_squares(i));
        pith_scope_close(in);
    }
    close_scope();
}

Test(derive_rules, rules_are_recorded_once_a_program, .init = open_scope) {
    const pith_function *g = pith_grad(s, &pushed_of, NULL);
    recorded = 0;
    for (int k = 0; k < 3; k++)
        pt_ok(s, pith_call(s, g, PITH_ITEMS(some_x())));
    cr_assert(recorded == 1);
    pt_ok(s, pith_call(s, pith_jit(s, &pushed_of, NULL), PITH_ITEMS(some_x())));
    cr_assert(recorded == 1);
    close_scope();
}

/* ---- What the function does ---- */

/* A function that is cut, with the tangent of the identity. */
static const pith_array *step(pith_scope *in, const pith_array *x) {
    pith_check(in, pith_less(in, x, 100.0), "x is large", .level = PITH_CHECK_ALWAYS);
    return pith_floor(in, x);
}
PITH_FUNCTION1(step_of, step, pith_array, pith_array)
static const Pushed *push_step(pith_scope *in, const pith_array *x, const pith_array *t) {
    return pith_record(in, Pushed, .value = step(in, x), .tangent = t);
}
PITH_FUNCTION2(straight, push_step, Pushed, pith_array, pith_array)
static const pith_array *climb(pith_scope *in, const pith_array *x) {
    const pith_function *f = pith_custom_jvp(in, &step_of, &straight);
    return squares(in, pith_call(in, f, PITH_ITEMS(x)));
}
PITH_FUNCTION1(climb_of, climb, pith_array, pith_array)

Test(derive_rules, cuts_and_checks_of_the_function, .init = open_scope) {
    const pith_function *g = pith_grad(s, &climb_of, NULL);
    const pith_array *d = pith_call(s, g, PITH_ITEMS(some_x()));
    pt_ok(s, d);
    for (int i = 0; i < 3; i++)
        near(d, i, 2 * floor(xs[i]));
    pith_call(s, g, PITH_ITEMS(PITH_VECTOR(s, f64, 1, 200, 3)));
    pt_fails(PITH_E_CHECK, s, pith_wait(s));
    pt_says("x is large");
    close_scope();
}

static const pith_array *more(pith_scope *in, const pith_array *x) {
    return pith_less(in, pith_sum(in, x, PITH_ALL_AXES), 10.0);
}
PITH_FUNCTION1(more_of, more, pith_array, pith_array)
static const pith_array *grow(pith_scope *in, const pith_array *x) {
    const pith_array *y = pith_call(in, pushed_sine(in), PITH_ITEMS(x));
    return pith_add(in, pith_mul(in, x, 2.0), pith_mul(in, y, 0.0625));
}
PITH_FUNCTION1(grow_step, grow, pith_array, pith_array)
static const pith_array *grow_until(pith_scope *in, const pith_array *x) {
    return pith_while(in, &more_of, &grow_step, x);
}
PITH_FUNCTION1(grown_of, grow_until, pith_array, pith_array)
static const pith_array *grow_five(pith_scope *in, const pith_array *x) {
    for (int k = 0; k < 3; k++)
        x = grow(in, x);
    return x;
}
PITH_FUNCTION1(grown_plainly, grow_five, pith_array, pith_array)

Test(derive_rules, rules_work_in_forward_mode_of_loops, .init = open_scope) {
    const pith_array *x = some_x();
    const pith_pushed a = pith_jvp(s, &grown_of, PITH_ITEMS(x), ones(), NULL),
                      b = pith_jvp(s, &grown_plainly, PITH_ITEMS(x), ones(), NULL);
    const pith_linearized l = pith_linearize(s, &grown_of, PITH_ITEMS(x), NULL);
    pt_ok(s, a.tangent && b.tangent && l.map);
    const pith_array *t = pith_call(s, l.map, PITH_ITEMS(ones()));
    for (int i = 0; i < 3; i++) {
        near(a.value, i, at(b.value, i));
        near(a.tangent, i, at(b.tangent, i));
        near(t, i, at(b.tangent, i));
    }
    close_scope();
}

/* ---- Refused ---- */

static const Pushed *
push_short(pith_scope *in, const pith_array *x, const pith_array *t) {
    return pith_record(in, Pushed, .value = pith_sin(in, x),
                       .tangent = pith_sum(in, t, PITH_ALL_AXES));
}
PITH_FUNCTION2(short_rule, push_short, Pushed, pith_array, pith_array)
static const pith_array *
push_alone(pith_scope *in, const pith_array *x, const pith_array *t) {
    return pith_add(in, x, t);
}
PITH_FUNCTION2(no_record, push_alone, pith_array, pith_array, pith_array)
static const Ions *pull_ions(pith_scope *in, const pith_array *x, const pith_array *ct) {
    (void)ct;
    return pith_record(in, Ions, .position = x, .width = 1);
}
PITH_FUNCTION2(other_tree, pull_ions, Ions, pith_array, pith_array)

Test(derive_rules, results_that_do_not_fit_are_refused, .init = open_scope) {
    const pith_array *x = some_x();
    pt_fails(
        PITH_E_SHAPE, s,
        pith_jvp(s, pith_custom_jvp(s, &sine_of, &short_rule), PITH_ITEMS(x), x, NULL));
    pt_says("pith_custom_jvp: rule push_short's tangent: expected f64[3], got f64[]");
    pt_fails(
        PITH_E_TYPE, s,
        pith_jvp(s, pith_custom_jvp(s, &sine_of, &no_record), PITH_ITEMS(x), x, NULL));
    pt_says(
        "rule push_alone's result: expected a record with the members value and tangent");
    const pith_function *f = pith_custom_vjp(s, &sine_of, &keep, &other_tree);
    pt_fails(PITH_E_STRUCTURE, s, pith_vjp(s, f, PITH_ITEMS(x), NULL));
    pt_says("pith_custom_vjp: backward pull_ions's gradients");
    pt_fails(PITH_E_ARG, s, pith_custom_jvp(s, &sine_of, &sine_of));
    pt_says("pith_custom_jvp: rule: expected a function of 2 trees, got sine of 1");
    pt_fails(PITH_E_ARG, s, pith_custom_vjp(s, &sine_of, &ten, &hundred));
    pt_says("forward: expected a function of 1 tree, got push_ten of 2");
    pt_fails(PITH_E_ARG, s, pith_custom_jvp(s, NULL, &ten));
    close_scope();
}

/* Tangents that are not linear are no linear map, and cannot be transposed. */
static const Pushed *push_bent(pith_scope *in, const pith_array *x, const pith_array *t) {
    return pith_record(in, Pushed, .value = pith_sin(in, x), .tangent = pith_exp(in, t));
}
PITH_FUNCTION2(bent_rule, push_bent, Pushed, pith_array, pith_array)

/* Linear in each operand of a call, and not in both. */
static int bend;
static const Pushed *push_both(pith_scope *in, const pith_array *x, const pith_array *t) {
    const pith_array *positive = pith_greater(in, t, 0.0);
    return pith_record(in, Pushed, .value = pith_sin(in, x),
                       .tangent = bend == 0   ? pith_mul(in, t, t)
                                  : bend == 1 ? pith_where(in, positive, t, 0.0)
                                              : pith_div(in, t, t));
}
PITH_FUNCTION2(both_rule, push_both, Pushed, pith_array, pith_array)

/* A term that depends on no tangent is refused, unless it is 0. */
enum { TERMS = 9, REFUSED_TERMS = 4 };
static int term;
static const Pushed *push_more(pith_scope *in, const pith_array *x, const pith_array *t) {
    const pith_array *tangent = pith_mul(in, pith_cos(in, x), t),
                     *zeros = pith_zeros(in, PITH_F64, PITH_SHAPE(3)),
                     *positive = pith_greater(in, x, 0.0);
    const pith_array *const tangents[TERMS] = {
        pith_add(in, tangent, 1.0),
        pith_sub(in, x, tangent),
        pith_where(in, positive, tangent, x),
        pith_cos(in, x),
        pith_add(in, tangent, zeros),
        pith_sub(in, tangent, pith_mul(in, x, pith_neg(in, zeros))),
        pith_where(in, positive, tangent, pith_mul(in, tangent, 1.0)),
        pith_add(in, tangent, pith_sub(in, x, x)),
        pith_add(in, tangent, pith_sin(in, zeros)),
    };
    return pith_record(in, Pushed, .value = pith_sin(in, x), .tangent = tangents[term]);
}
PITH_FUNCTION2(more_rule, push_more, Pushed, pith_array, pith_array)

Test(derive_rules, terms_that_depend_on_no_tangent_are_refused, .init = open_scope) {
    const pith_array *x = some_x();
    for (term = 0; term < TERMS; term++) {
        const pith_function *f = pith_custom_jvp(s, &sine_of, &more_rule);
        if (term < REFUSED_TERMS) {
            pt_fails(PITH_E_DERIVATIVE, s, pith_vjp(s, f, PITH_ITEMS(x), NULL));
            pt_says("the tangent of a rule is not linear: it has a term");
            pt_fails(PITH_E_DERIVATIVE, s, pith_linearize(s, f, PITH_ITEMS(x), NULL));
            pt_fails(PITH_E_DERIVATIVE, s, pith_jvp(s, f, PITH_ITEMS(x), x, NULL));
            pt_says("the tangent of a rule is not linear: it has a term");
        } else {
            const pith_linearized l = pith_vjp(s, f, PITH_ITEMS(x), NULL);
            double at[3];
            pt_ok(s, pith_read(s, x, at, sizeof at));
            for (int k = 0; k < 3; k++)
                near(pith_call(s, l.map,
                               PITH_ITEMS(pith_ones(s, PITH_F64, PITH_SHAPE(3)))),
                     k, cos(at[k]));
        }
    }
    close_scope();
}

/* Its value is that of another point. */
static const Pushed *
push_ahead(pith_scope *in, const pith_array *x, const pith_array *t) {
    return pith_record(in, Pushed, .value = pith_sin(in, pith_add(in, x, t)),
                       .tangent = pith_mul(in, pith_cos(in, x), t));
}
PITH_FUNCTION2(ahead_rule, push_ahead, Pushed, pith_array, pith_array)

Test(derive_rules, values_that_depend_on_tangents_are_refused, .init = open_scope) {
    const pith_function *f = pith_custom_jvp(s, &sine_of, &ahead_rule);
    const pith_array *x = some_x();
    pt_fails(PITH_E_DERIVATIVE, s, pith_vjp(s, f, PITH_ITEMS(x), NULL));
    pt_says("the value that the rule of sine returns depends on a tangent");
    pt_fails(PITH_E_DERIVATIVE, s, pith_linearize(s, f, PITH_ITEMS(x), NULL));
    pt_says("the value that the rule of sine returns depends on a tangent");
    pt_fails(PITH_E_DERIVATIVE, s, pith_jvp(s, f, PITH_ITEMS(x), x, NULL));
    pt_says("the value that the rule of sine returns depends on a tangent");
    close_scope();
}

Test(derive_rules, rules_that_are_not_linear_are_refused, .init = open_scope) {
    const pith_function *f = pith_custom_jvp(s, &sine_of, &bent_rule);
    pt_fails(PITH_E_DERIVATIVE, s, pith_vjp(s, f, PITH_ITEMS(some_x()), NULL));
    pt_says("the tangent of a rule is not linear: exp is not linear in operand 0");
    pt_fails(PITH_E_DERIVATIVE, s, pith_linearize(s, f, PITH_ITEMS(some_x()), NULL));
    pt_says("the tangent of a rule is not linear: exp is not linear in operand 0");
    for (bend = 0; bend < 3; bend++) {
        f = pith_custom_jvp(s, &sine_of, &both_rule);
        pt_fails(PITH_E_DERIVATIVE, s, pith_vjp(s, f, PITH_ITEMS(some_x()), NULL));
        pt_says("the tangent of a rule is not linear");
        pt_fails(PITH_E_DERIVATIVE, s, pith_linearize(s, f, PITH_ITEMS(some_x()), NULL));
        pt_says("the tangent of a rule is not linear");
    }
    close_scope();
}

/* ---- Memory ---- */

static pith_status derive(const pith_open_options *options) {
    rt = pith_open(options);
    s = pith_scope_open(rt);
    const pith_array *x = some_x();
    if (!pith_failed(s))
        pt_again(s, pith_call(s, pith_grad(s, &pulled_of, NULL), PITH_ITEMS(x)));
    if (!pith_failed(s))
        pt_again(s, pith_jvp(s, &pushed_of, PITH_ITEMS(x), x, NULL).tangent);
    const pith_status code = pith_code(s);
    pith_clear(s);
    pith_scope_close(s);
    pith_close(rt);
    return code;
}

Test(derive_rules, every_failure_is_survived, .timeout = 300) {
    const pt_failures failures = pt_fail_each(derive);
    cr_assert(failures.allocations > 50, "%d allocations, %d errors",
              failures.allocations, failures.errors);
}
