/* What rules are for: functions with bound trees, kernels, and composites whose formulas
 * have no derivative at a point. */
#include "rule_functions.h"
#include "rule_kernels.h"

/* ---- Bound trees ---- */

static const pith_array *scaled(pith_scope *in, const pith_array *x, const Ions *by) {
    return pith_mul(in, x, by->charge);
}
PITH_FUNCTION2(scaled_of, scaled, pith_array, pith_array, Ions)
static const Pushed *push_scaled(pith_scope *in, const void *x, const void *t) {
    const pith_array *at_x = pith_child(x, 0), *dx = pith_child(t, 0);
    const Ions *by = pith_child(x, 1), *dby = pith_child(t, 1);
    const pith_array *a = pith_mul(in, dx, by->charge),
                     *b = pith_mul(in, at_x, dby->charge);
    return pith_record(in, Pushed, .value = scaled(in, at_x, by),
                       .tangent =
                           pith_is_zero_tangent(dby->charge) ? a : pith_add(in, a, b));
}
PITH_FUNCTION2(scaled_rule, push_scaled, Pushed, void, void)
static const Pushed *
push_bound(pith_scope *in, const pith_array *x, const pith_array *t, const Ions *by) {
    return pith_record(in, Pushed, .value = scaled(in, x, by),
                       .tangent = pith_mul(in, t, by->charge));
}
PITH_FUNCTION3(bound_rule, push_bound, Pushed, pith_array, pith_array, Ions)

/* The sum of x q, and of its squares, where the function and its rule have q bound. */
static const pith_array *bind(pith_scope *in, const pith_array *x, const Ions *by) {
    const pith_function *f = pith_custom_jvp(in, pith_partial(in, &scaled_of, by),
                                             pith_partial(in, &bound_rule, by));
    return squares(in, pith_call(in, f, PITH_ITEMS(x)));
}
PITH_FUNCTION2(bound_of, bind, pith_array, pith_array, Ions)

static const pith_array *
bound_body(pith_scope *in, const pith_array *carry, const pith_array *x, const Ions *by) {
    const pith_function *f = pith_custom_jvp(in, pith_partial(in, &scaled_of, by),
                                             pith_partial(in, &bound_rule, by));
    return pith_add(in, pith_call(in, f, PITH_ITEMS(carry)), x);
}
PITH_FUNCTION3(bound_loop, bound_body, pith_array, pith_array, pith_array, Ions)
static const pith_array *
bind_in_loop(pith_scope *in, const pith_array *x, const Ions *by) {
    return squares(in, pith_scan(in, pith_partial(in, &bound_loop, by), x,
                                 pith_zeros(in, PITH_F64, PITH_SHAPE(2)), NULL, NULL));
}
PITH_FUNCTION2(bound_in_loop, bind_in_loop, pith_array, pith_array, Ions)

Test(derive_rules_uses, bound_trees_are_found, .init = open_scope) {
    const Ions *by = some_ions();
    const pith_array *g = pith_call(s, pith_grad(s, &bound_of, NULL),
                                    PITH_ITEMS(some_x(), by)),
                     *h = pith_call(s, pith_grad(s, &bound_in_loop, NULL),
                                    PITH_ITEMS(some_x(), by));
    pt_ok(s, g && h);
    for (int i = 0; i < 3; i++) {
        near(g, i, 2 * xs[i] * (i + 1) * (i + 1));
        near(h, i, 2 * xs[i] * pow(i + 1, 4));
    }
    close_scope();
}

Test(derive_rules_uses, bound_trees_do_not_move, .init = open_scope) {
    const pith_derive_options charges = {.paths = PITH_PATHS("[1].charge")};
    pt_fails(PITH_E_DERIVATIVE, s,
             pith_call(s, pith_grad(s, &bound_of, &charges),
                       PITH_ITEMS(some_x(), some_ions())));
    pt_says("charge: ");
    pt_says("scaled has a rule, and a tangent reaches a tree that is bound in it");
    close_scope();
}

/* Bound to the function with its rule, they are arguments. */
static const pith_array *
bind_argument(pith_scope *in, const pith_array *x, const Ions *by) {
    const pith_function *f = pith_custom_jvp(in, &scaled_of, &scaled_rule);
    return squares(in, pith_call(in, pith_partial(in, f, by), PITH_ITEMS(x)));
}
PITH_FUNCTION2(bound_argument, bind_argument, pith_array, pith_array, Ions)

Test(derive_rules_uses, trees_bound_to_it_move, .init = open_scope) {
    const pith_derive_options charges = {.paths = PITH_PATHS("[1].charge")};
    const pith_array *g = pith_call(s, pith_grad(s, &bound_argument, &charges),
                                    PITH_ITEMS(some_x(), some_ions()));
    pt_ok(s, g);
    for (int i = 0; i < 3; i++)
        near(g, i, 2 * xs[i] * xs[i] * (i + 1));
    close_scope();
}

/* ---- Kernels ---- */

static const pith_array *launch(pith_scope *in, const pith_array *x) {
    return pith_launch(in, cube, x, 0).y;
}
PITH_FUNCTION1(launched, launch, pith_array, pith_array)
static const Kept *keep_launch(pith_scope *in, const pith_array *x) {
    return pith_record(in, Kept, .value = launch(in, x), .residual = x);
}
PITH_FUNCTION1(launch_forward, keep_launch, Kept, pith_array)
static const pith_array *
pull_launch(pith_scope *in, const pith_array *x, const pith_array *ct) {
    return pith_mul(in, pith_launch(in, cube, x, 1).y, ct);
}
PITH_FUNCTION2(launch_backward, pull_launch, pith_array, pith_array, pith_array)
static const pith_array *launch_squares(pith_scope *in, const pith_array *x) {
    const pith_function *f =
        pith_custom_vjp(in, &launched, &launch_forward, &launch_backward);
    return squares(in, pith_call(in, f, PITH_ITEMS(x)));
}
PITH_FUNCTION1(launch_of, launch_squares, pith_array, pith_array)

Test(derive_rules_uses, kernels_have_rules_around_their_launch, .init = open_scope) {
    const pith_array *x = some_x(),
                     *g = pith_call(s, pith_grad(s, &launch_of, NULL), PITH_ITEMS(x));
    pt_ok(s, g);
    for (int i = 0; i < 3; i++)
        near(g, i, 2 * pow(xs[i], 5) / 3);
    close_scope();
}

/* ---- Composites with rules ---- */

static const pith_array *norm(pith_scope *in, const pith_array *x) {
    return pith_norm(in, x, 2, PITH_ALL_AXES);
}
PITH_FUNCTION1(norm_of, norm, pith_array, pith_array)
static const pith_array *norm_3(pith_scope *in, const pith_array *x) {
    return pith_norm(in, x, 3, PITH_ALL_AXES);
}
PITH_FUNCTION1(norm_3_of, norm_3, pith_array, pith_array)
static const pith_array *spread(pith_scope *in, const pith_array *x) {
    return pith_std(in, x, PITH_ALL_AXES, 1);
}
PITH_FUNCTION1(spread_of, spread, pith_array, pith_array)
static const pith_array *log_sum(pith_scope *in, const pith_array *x) {
    return pith_logsumexp(in, x, PITH_ALL_AXES);
}
PITH_FUNCTION1(log_sum_of, log_sum, pith_array, pith_array)

Test(derive_rules_uses, norms_have_gradient_0_at_0, .init = open_scope) {
    const pith_function *const all[] = {&norm_of, &norm_3_of, &spread_of, &log_sum_of};
    const pith_array *zeros = pith_zeros(s, PITH_F64, PITH_SHAPE(3)), *x = some_x(),
                     *direction = PITH_VECTOR(s, f64, 1, -2, 0.5);
    for (int k = 0; k < 4; k++) {
        const pith_function *g = pith_grad(s, all[k], NULL),
                            *h = pith_hessian_product(s, all[k], NULL);
        const pith_array *d = pith_call(s, g, PITH_ITEMS(x)),
                         *d0 = pith_call(s, g, PITH_ITEMS(zeros)),
                         *t = pith_jvp(s, g, PITH_ITEMS(x), direction, NULL).tangent;
        const void *both = pith_call(s, h, PITH_ITEMS(x, direction)),
                   *both0 = pith_call(s, h, PITH_ITEMS(zeros, direction));
        pt_ok(s, d && d0 && t && both && both0);
        cr_assert(pith_tree_equal(s,
                                  pith_call(s, pith_jit(s, all[k], NULL), PITH_ITEMS(x)),
                                  pith_call(s, all[k], PITH_ITEMS(x))));
        for (int i = 0; i < 3; i++) {
            close_to(d, i, slope(all[k], x, i, 1));
            near(t, i, at(item(both, 1), i));
            near(d0, i, k == 3 ? 1.0 / 3 : 0);
            cr_assert(k == 3 || at(item(both0, 1), i) == 0);
        }
    }
    close_scope();
}
