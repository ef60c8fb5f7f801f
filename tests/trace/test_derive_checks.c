/* Checks in the functions of rules: each is made once, by the forward computation; those
 * of a backward function where the map is called. */
#include "fail_allocator.h"
#include "rule_test.h"

/* ---- A sine with checks ---- */

/* Bounds of what is checked. */
static double most_of_value = 100, most_of_primal = 100, most_of_tangent = 100,
              most_of_cotangent = 100;

static void at_most(pith_scope *in, const pith_array *x, double most, const char *what) {
    const pith_array *fits = pith_less_equal(in, x, most);
    if (what[0] == 'v')
        pith_check(in, fits, "value {x}", .args = {{"x", x}}, .level = PITH_CHECK_ALWAYS);
    else if (what[0] == 'p')
        pith_check(in, fits, "primal {x}", .args = {{"x", x}},
                   .level = PITH_CHECK_ALWAYS);
    else if (what[0] == 't')
        pith_check(in, fits, "tangent {x}", .args = {{"x", x}},
                   .level = PITH_CHECK_ALWAYS);
    else
        pith_check(in, fits, "cotangent {x}", .args = {{"x", x}},
                   .level = PITH_CHECK_ALWAYS);
}

static const pith_array *sine(pith_scope *in, const pith_array *x) {
    at_most(in, x, most_of_value, "value");
    return pith_sin(in, x);
}
PITH_FUNCTION1(sine_of, sine, pith_array, pith_array)

/* Calls the function itself, whose check is there already. */
static const Pushed *push(pith_scope *in, const pith_array *x, const pith_array *t) {
    at_most(in, x, most_of_primal, "primal");
    at_most(in, t, most_of_tangent, "tangent");
    return pith_record(in, Pushed, .value = sine(in, x),
                       .tangent = pith_mul(in, pith_cos(in, x), t));
}
PITH_FUNCTION2(push_of, push, Pushed, pith_array, pith_array)

static const Kept *keep(pith_scope *in, const pith_array *x) {
    at_most(in, x, most_of_primal, "primal");
    return pith_record(in, Kept, .value = sine(in, x), .residual = pith_cos(in, x));
}
PITH_FUNCTION1(keep_of, keep, Kept, pith_array)
static const pith_array *
pull(pith_scope *in, const pith_array *cosine, const pith_array *ct) {
    at_most(in, ct, most_of_cotangent, "cotangent");
    return pith_mul(in, cosine, ct);
}
PITH_FUNCTION2(pull_of, pull, pith_array, pith_array, pith_array)

static const pith_function *pushed(pith_scope *in) {
    return pith_custom_jvp(in, &sine_of, &push_of);
}
static const pith_function *pulled(pith_scope *in) {
    return pith_custom_vjp(in, &sine_of, &keep_of, &pull_of);
}

static const pith_array *pushed_sine(pith_scope *in, const pith_array *x) {
    return pith_call(in, pushed(in), PITH_ITEMS(x));
}
PITH_FUNCTION1(pushed_of, pushed_sine, pith_array, pith_array)
static const pith_array *pulled_sine(pith_scope *in, const pith_array *x) {
    return pith_call(in, pulled(in), PITH_ITEMS(x));
}
PITH_FUNCTION1(pulled_of, pulled_sine, pith_array, pith_array)

static void reset(void) {
    most_of_value = most_of_primal = most_of_tangent = most_of_cotangent = 100;
}
/* Programs have the bounds as constants: others need another runtime. */
static void renew(void) {
    close_scope();
    reset();
    open_scope();
}

/* Run, and expect this number of checks. */
static void makes(const pith_function *f, const pith_array *x, int64_t count) {
    for (int again = 0; again < 2; again++) {
        const pith_result *r = pith_as_result(s, f, PITH_ITEMS(x));
        pt_ok(s, r);
        cr_assert(pith_result_count(s, r) == count, "%lld checks, not %lld",
                  (long long)pith_result_count(s, r), (long long)count);
    }
}
/* The scope has the error of a check with this text. */
static void failed_with(const char *text) {
    pith_wait(s);
    cr_assert(pith_code(s) == PITH_E_CHECK && strstr(pith_message(s), text) &&
                  strstr(pith_message(s), "test_derive_checks.c:"),
              "expected %s, got %s", text, pith_message(s));
    pith_clear(s);
}
static void fails_with(const pith_function *f, const pith_array *x, const char *text) {
    for (int again = 0; again < 2; again++) {
        pith_call(s, f, PITH_ITEMS(x));
        failed_with(text);
    }
}
#define FAILS(call, text)                                                                \
    do {                                                                                 \
        (void)(call);                                                                    \
        failed_with(text);                                                               \
    } while (0)

static const pith_array *some_x(void) {
    return pith_f64(s, 0.5);
}

/* ---- Counts ---- */

Test(derive_checks, each_check_is_made_once, .init = open_scope) {
    const pith_array *x = some_x();
    makes(pith_jit(s, &pushed_of, NULL), x, 1);
    makes(pith_jit(s, &pulled_of, NULL), x, 1);
    /* value and primal; a gradient has no tangent, and the other rule a cotangent */
    makes(pith_grad(s, &pushed_of, NULL), x, 2);
    makes(pith_grad(s, &pulled_of, NULL), x, 3);
    makes(pith_value_and_grad(s, &pulled_of, NULL), x, 3);
    const pith_recompute_options all = {.keep = false};
    makes(pith_grad(s, pith_recompute(s, &pulled_of, &all), NULL), x, 3);
    close_scope();
}

/* ---- Failures ---- */

Test(derive_checks, in_forward_functions, .init = open_scope) {
    for (int own = 0; own < 2; own++) {
        *(own ? &most_of_value : &most_of_primal) = 0;
        const char *text = own ? "value 0.5" : "primal 0.5";
        const pith_array *x = some_x();
        if (!own)
            pt_ok(s, pith_call(s, pith_jit(s, &pulled_of, NULL), PITH_ITEMS(x)));
        fails_with(pith_grad(s, &pulled_of, NULL), x, text);
        fails_with(pith_grad(s, &pushed_of, NULL), x, text);
        FAILS(pith_vjp(s, &pulled_of, PITH_ITEMS(x), NULL), text);
        FAILS(pith_linearize(s, &pushed_of, PITH_ITEMS(x), NULL), text);
        FAILS(pith_jvp(s, &pushed_of, PITH_ITEMS(x), x, NULL), text);
        renew();
    }
    close_scope();
}

Test(derive_checks, in_backward_functions, .init = open_scope) {
    const pith_array *x = some_x(), *small = pith_f64(s, 0.25), *large = pith_f64(s, 7);
    most_of_cotangent = 0.5;
    fails_with(pith_grad(s, &pulled_of, NULL), x, "cotangent 1");
    const pith_linearized v = pith_vjp(s, &pulled_of, PITH_ITEMS(x), NULL);
    pt_ok(s, v.map);
    near(pith_call(s, v.map, PITH_ITEMS(small)), 0, 0.25 * cos(0.5));
    fails_with(v.map, large, "cotangent 7");
    pt_ok(s, pith_call(s, v.map, PITH_ITEMS(small)));
    reset();
    close_scope();
}

Test(derive_checks, of_tangents, .init = open_scope) {
    const pith_array *x = some_x(), *small = pith_f64(s, 0.25), *large = pith_f64(s, 7);
    most_of_tangent = 0.5;
    FAILS(pith_jvp(s, &pushed_of, PITH_ITEMS(x), large, NULL), "tangent 7");
    const pith_linearized l = pith_linearize(s, &pushed_of, PITH_ITEMS(x), NULL);
    pt_ok(s, l.map);
    near(pith_call(s, l.map, PITH_ITEMS(small)), 0, 0.25 * cos(0.5));
    fails_with(l.map, large, "tangent 7");
    near(pith_call(s, pith_grad(s, &pushed_of, NULL), PITH_ITEMS(x)), 0, cos(0.5));
    reset();
    close_scope();
}

/* ---- In control flow ---- */

static const pith_function *looped;
static const pith_array *turn(pith_scope *in, const pith_array *i, const pith_array *x) {
    (void)i;
    return pith_mul(in, pith_call(in, looped, PITH_ITEMS(x)), 2.0);
}
PITH_FUNCTION2(turn_of, turn, pith_array, pith_array, pith_array)
static const pith_array *turns(pith_scope *in, const pith_array *x) {
    return pith_fori(in, 0, 3, &turn_of, x);
}
PITH_FUNCTION1(turns_of, turns, pith_array, pith_array)

static const pith_array *same(pith_scope *in, const pith_array *x) {
    (void)in;
    return x;
}
PITH_FUNCTION1(same_of, same, pith_array, pith_array)
static const pith_array *choice(pith_scope *in, const pith_array *x) {
    return pith_cond(in, pith_less(in, x, 1.0), looped, &same_of, x);
}
PITH_FUNCTION1(choice_of, choice, pith_array, pith_array)

/* x becomes 0.5, 0.958..., 1.636..., 1.995... */
Test(derive_checks, in_loops_the_first_failure_counts, .init = open_scope) {
    const pith_function *const functions[] = {&pulled_of, &pushed_of};
    for (int k = 0; k < 2; k++) {
        looped = functions[k];
        makes(pith_grad(s, &turns_of, NULL), some_x(), k ? 2 : 3);
        renew();
        most_of_primal = 0.9;
        fails_with(pith_grad(s, &turns_of, NULL), some_x(), "primal 0.958");
        if (k)
            FAILS(pith_jvp(s, &turns_of, PITH_ITEMS(some_x()), some_x(), NULL),
                  "primal 0.958");
        renew();
    }
    /* The first cotangent is 2, and others are less. */
    looped = &pulled_of;
    most_of_cotangent = 1.5;
    fails_with(pith_grad(s, &turns_of, NULL), some_x(), "cotangent 2");
    reset();
    close_scope();
}

static const pith_array *is_low(pith_scope *in, const pith_array *x) {
    return pith_less(in, x, 1.9);
}
PITH_FUNCTION1(is_low_of, is_low, pith_array, pith_array)
static const pith_array *rise(pith_scope *in, const pith_array *x) {
    return turn(in, NULL, x);
}
PITH_FUNCTION1(rise_of, rise, pith_array, pith_array)
static const pith_array *risen(pith_scope *in, const pith_array *x) {
    return pith_while_recorded(in, &is_low_of, &rise_of, x,
                               &(pith_record_options){.most = 5, .name = "turns"});
}
PITH_FUNCTION1(risen_of, risen, pith_array, pith_array)

Test(derive_checks, in_loops_with_a_record, .init = open_scope) {
    looped = &pulled_of;
    const pith_array *g =
        pith_call(s, pith_grad(s, &risen_of, NULL), PITH_ITEMS(some_x()));
    near(g, 0, at(pith_call(s, pith_grad(s, &turns_of, NULL), PITH_ITEMS(some_x())), 0));
    renew();
    most_of_primal = 0.9;
    fails_with(pith_grad(s, &risen_of, NULL), some_x(), "primal 0.958");
    renew();
    most_of_cotangent = 1.5;
    fails_with(pith_grad(s, &risen_of, NULL), some_x(), "cotangent 2");
    reset();
    close_scope();
}

Test(derive_checks, of_branches_that_are_not_taken_pass, .init = open_scope) {
    looped = &pulled_of;
    makes(pith_grad(s, &choice_of, NULL), some_x(), 3);
    for (int backward = 0; backward < 2; backward++) {
        renew();
        *(backward ? &most_of_cotangent : &most_of_primal) = 0;
        fails_with(pith_grad(s, &choice_of, NULL), some_x(),
                   backward ? "cotangent 1" : "primal 0.5");
        near(pith_call(s, pith_grad(s, &choice_of, NULL), PITH_ITEMS(pith_f64(s, 2))), 0,
             1);
    }
    reset();
    close_scope();
}

/* ---- Higher orders ---- */

static const pith_array *slope_of_turns(pith_scope *in, const pith_array *x) {
    return pith_call(in, pith_grad(in, &turns_of, NULL), PITH_ITEMS(x));
}
PITH_FUNCTION1(slope_of, slope_of_turns, pith_array, pith_array)

Test(derive_checks, of_derivatives_of_derivatives, .init = open_scope) {
    looped = &pulled_of;
    const pith_array *x = some_x();
    pt_ok(s, pith_call(s, pith_grad(s, &slope_of, NULL), PITH_ITEMS(x)));
    pt_ok(s, pith_call(s, pith_hessian_product(s, &pushed_of, NULL), PITH_ITEMS(x, x)));
    renew();
    x = some_x();
    most_of_primal = 0;
    fails_with(pith_grad(s, &slope_of, NULL), x, "primal 0.5");
    FAILS(pith_call(s, pith_hessian_product(s, &pushed_of, NULL), PITH_ITEMS(x, x)),
          "primal 0.5");
    renew();
    most_of_cotangent = 1.5;
    fails_with(pith_grad(s, &slope_of, NULL), some_x(), "cotangent 2");
    reset();
    close_scope();
}

/* ---- Several checks at one site ---- */

/* Checks of x and 2 x. */
static const pith_array *twice(pith_scope *in, const pith_array *x) {
    at_most(in, x, most_of_value, "value");
    at_most(in, pith_mul(in, x, 2.0), most_of_value, "value");
    return pith_sin(in, x);
}
PITH_FUNCTION1(twice_of, twice, pith_array, pith_array)
/* One of 3 x, at the same site and before those of the function. */
static const Pushed *
push_twice(pith_scope *in, const pith_array *x, const pith_array *t) {
    at_most(in, pith_mul(in, x, 3.0), most_of_value, "value");
    return pith_record(in, Pushed, .value = twice(in, x),
                       .tangent = pith_mul(in, pith_cos(in, x), t));
}
PITH_FUNCTION2(push_twice_of, push_twice, Pushed, pith_array, pith_array)
static const pith_array *pushed_twice(pith_scope *in, const pith_array *x) {
    return pith_call(in, pith_custom_jvp(in, &twice_of, &push_twice_of), PITH_ITEMS(x));
}
PITH_FUNCTION1(pushed_twice_of, pushed_twice, pith_array, pith_array)

/* The same in a loop; the rule carries the tangent beside the value. */
static const pith_array *
turn_twice(pith_scope *in, const pith_array *i, const pith_array *x) {
    (void)i;
    return twice(in, pith_mul(in, x, 1.5));
}
PITH_FUNCTION2(turn_twice_of, turn_twice, pith_array, pith_array, pith_array)
static const pith_array *turns_twice(pith_scope *in, const pith_array *x) {
    return pith_fori(in, 0, 3, &turn_twice_of, x);
}
PITH_FUNCTION1(turns_twice_of, turns_twice, pith_array, pith_array)
static const Pushed *turn_both(pith_scope *in, const pith_array *i, const Pushed *c) {
    const pith_array *x = pith_mul(in, c->value, 1.5);
    at_most(in, pith_mul(in, x, 3.0), most_of_value, "value");
    return pith_record(in, Pushed, .value = turn_twice(in, i, c->value),
                       .tangent =
                           pith_mul(in, pith_cos(in, x), pith_mul(in, c->tangent, 1.5)));
}
PITH_FUNCTION2(turn_both_of, turn_both, Pushed, pith_array, Pushed)
static const Pushed *
push_turns(pith_scope *in, const pith_array *x, const pith_array *t) {
    return pith_fori(in, 0, 3, &turn_both_of,
                     pith_record(in, Pushed, .value = x, .tangent = t));
}
PITH_FUNCTION2(push_turns_of, push_turns, Pushed, pith_array, pith_array)
static const pith_array *pushed_turns(pith_scope *in, const pith_array *x) {
    return pith_call(in, pith_custom_jvp(in, &turns_twice_of, &push_turns_of),
                     PITH_ITEMS(x));
}
PITH_FUNCTION1(pushed_turns_of, pushed_turns, pith_array, pith_array)

Test(derive_checks, at_one_site_are_told_apart, .init = open_scope) {
    const pith_function *const functions[] = {&pushed_twice_of, &pushed_turns_of};
    for (int k = 0; k < 2; k++) {
        makes(pith_jit(s, functions[k], NULL), some_x(), 2);
        makes(pith_grad(s, functions[k], NULL), some_x(), 3);
        renew();
        /* The function checks at most 1 and 2.56, and the rule 1.5 and 3.067. */
        most_of_value = k ? 3 : 1.25;
        pt_ok(s, pith_call(s, pith_jit(s, functions[k], NULL), PITH_ITEMS(some_x())));
        fails_with(pith_grad(s, functions[k], NULL), some_x(),
                   k ? "value 3.067" : "value 1.5");
        FAILS(pith_jvp(s, functions[k], PITH_ITEMS(some_x()), some_x(), NULL),
              k ? "value 3.067" : "value 1.5");
        renew();
        most_of_value = 0.6;
        fails_with(pith_grad(s, functions[k], NULL), some_x(),
                   k ? "value 0.75" : "value 1");
        renew();
    }
    reset();
    close_scope();
}

/* The rule checks its tangent where the function checks its argument. */
static const Pushed *
push_checked(pith_scope *in, const pith_array *x, const pith_array *t) {
    at_most(in, t, most_of_value, "value");
    return pith_record(in, Pushed, .value = pith_sin(in, x),
                       .tangent = pith_mul(in, pith_cos(in, x), t));
}
PITH_FUNCTION2(push_checked_of, push_checked, Pushed, pith_array, pith_array)
static const pith_array *checked(pith_scope *in, const pith_array *x) {
    return pith_call(in, pith_custom_jvp(in, &sine_of, &push_checked_of), PITH_ITEMS(x));
}
PITH_FUNCTION1(checked_of, checked, pith_array, pith_array)

Test(derive_checks, of_other_values_are_made, .init = open_scope) {
    FAILS(pith_jvp(s, &checked_of, PITH_ITEMS(some_x()), pith_f64(s, 200), NULL),
          "value 200");
    near(pith_call(s, pith_grad(s, &checked_of, NULL), PITH_ITEMS(some_x())), 0,
         cos(0.5));
    close_scope();
}

/* ---- Memory ---- */

static pith_status derive(const pith_open_options *options) {
    rt = pith_open(options);
    s = pith_scope_open(rt);
    const pith_array *x = pith_f64(s, 0.5);
    looped = &pulled_of;
    if (!pith_failed(s))
        pt_again(s, pith_call(s, pith_grad(s, &turns_of, NULL), PITH_ITEMS(x)));
    if (!pith_failed(s))
        pt_again(s, pith_call(s, pith_grad(s, &choice_of, NULL), PITH_ITEMS(x)));
    if (!pith_failed(s))
        pt_again(s, pith_call(s, pith_grad(s, &pushed_turns_of, NULL), PITH_ITEMS(x)));
    const pith_status code = pith_code(s);
    pith_clear(s);
    pith_scope_close(s);
    pith_close(rt);
    return code;
}

Test(derive_checks, every_failure_is_survived, .timeout = 300) {
    reset();
    const pt_failures failures = pt_fail_each(derive);
    cr_assert(failures.allocations > 50, "%d allocations, %d errors",
              failures.allocations, failures.errors);
}
