/* pith_check_gradient: right derivatives pass, wrong ones are found with their leaf. */
#include "fail_allocator.h"
#include "scope_test.h"

typedef struct {
    const pith_array *position, *charge;
    int64_t width;
} Ions;
PITH_NODE(Ions,
          PITH_LEAF(position, "f64[n]"),
          PITH_LEAF(charge, "f64[n]"),
          PITH_STATIC(width))

/* ---- Functions ---- */

static const pith_array *energy(pith_scope *in, const Ions *ions) {
    const pith_array *e = pith_mul(in, pith_sin(in, ions->position), ions->charge);
    return pith_sum(in, pith_mul(in, e, pith_exp(in, ions->charge)), PITH_ALL_AXES);
}
PITH_FUNCTION1(energy_of, energy, pith_array, Ions)

/* The charge in one factor is a constant of derivations. */
static const pith_array *stopped_energy(pith_scope *in, const Ions *ions) {
    const pith_array *charge = pith_stop_gradient(in, ions->charge),
                     *e = pith_mul(in, pith_sin(in, ions->position), ions->charge);
    return pith_sum(in, pith_mul(in, e, pith_exp(in, charge)), PITH_ALL_AXES);
}
PITH_FUNCTION1(stopped_of, stopped_energy, pith_array, Ions)

/* The first derivative is right, and the second is not: the derivative of x^3/3 + c x is
 * written as x^2 of a constant. */
static const pith_array *stopped_slope(pith_scope *in, const pith_array *x) {
    const pith_array *still = pith_stop_gradient(in, x), *move = pith_sub(in, x, still),
                     *cube = pith_mul(in, still, pith_mul(in, still, still)),
                     *square = pith_mul(in, still, still);
    return pith_sum(
        in, pith_add(in, pith_div(in, cube, pith_f64(in, 3)), pith_mul(in, square, move)),
        PITH_ALL_AXES);
}
PITH_FUNCTION1(stopped_slope_of, stopped_slope, pith_array, pith_array)

/* A value of several leaves, one of them an integer. */
static const void *forces(pith_scope *in, const Ions *ions, const pith_array *k) {
    const pith_array *work = pith_mul(in, ions->position, k);
    const void *items[] = {pith_sum(in, pith_mul(in, work, work), PITH_ALL_AXES),
                           pith_argmax(in, ions->position, PITH_ALL_AXES),
                           pith_cos(in, work)};
    return pith_tuple_make(in, 3, items);
}
PITH_FUNCTION2(forces_of, forces, void, Ions, pith_array)

static const pith_array *size(pith_scope *in, const pith_array *x) {
    return pith_sum(in, pith_abs(in, x), PITH_ALL_AXES);
}
PITH_FUNCTION1(size_of, size, pith_array, pith_array)

static const pith_array *wave(pith_scope *in, const pith_array *x) {
    return pith_sum(in, pith_expression(in, "sin(x) * x * x", PITH_BIND({"x", x})),
                    PITH_ALL_AXES);
}
PITH_FUNCTION1(wave_of, wave, pith_array, pith_array)

typedef struct {
    const pith_array *value, *aux;
} Noted;
PITH_NODE(Noted, PITH_LEAF(value, "f64[]"), PITH_LEAF(aux, "f64[n]"))
static const Noted *noted(pith_scope *in, const pith_array *x) {
    return pith_record(in, Noted, .value = wave(in, x), .aux = pith_floor(in, x));
}
PITH_FUNCTION1(noted_of, noted, Noted, pith_array)

static const Ions *some_ions(void) {
    return pith_record(s, Ions, .position = PITH_VECTOR(s, f64, 0.5, -1.25, 2, 30),
                       .charge = PITH_VECTOR(s, f64, 1, -1, 1e-3, 0), .width = 2);
}

/* ---- Right derivatives ---- */

Test(check_gradient, right_derivatives_pass_at_both_orders, .init = open_scope) {
    for (int order = 0; order <= 2; order++) {
        const pith_gradient_check o = {.order = order};
        pt_ok(s, pith_check_gradient(s, &energy_of, PITH_ITEMS(some_ions()), &o));
    }
    pt_ok(s, pith_check_gradient(s, &energy_of, PITH_ITEMS(some_ions()), NULL));
    close_scope();
}

Test(check_gradient, values_may_have_several_leaves, .init = open_scope) {
    const pith_derive_options both = {.arguments = PITH_ARGUMENT(0) | PITH_ARGUMENT(1)},
                              part = {.paths = PITH_PATHS("[0].position", "[1]")};
    const pith_derive_options *const selections[] = {&both, &part, NULL};
    for (int k = 0; k < 3; k++) {
        const pith_gradient_check o = {.order = 2, .derive = selections[k]};
        pt_ok(s, pith_check_gradient(s, &forces_of,
                                     PITH_ITEMS(some_ions(), pith_f64(s, 0.75)), &o));
    }
    close_scope();
}

Test(check_gradient, aux_is_not_differentiated, .init = open_scope) {
    const pith_derive_options aux = {.aux = true};
    const pith_gradient_check o = {.order = 2, .derive = &aux};
    const pith_array *x = PITH_VECTOR(s, f64, 0.5, -1.25);
    pt_ok(s, pith_check_gradient(s, &noted_of, PITH_ITEMS(x), &o));
    close_scope();
}

Test(check_gradient, steps_and_bounds_follow_the_dtype, .init = open_scope) {
    static const pith_dtype dtypes[] = {PITH_F64, PITH_F32, PITH_F16, PITH_BF16};
    for (int k = 0; k < 4; k++) {
        const pith_array *x =
            pith_cast(s, PITH_VECTOR(s, f64, 0.5, -1.25, 2, 0.125), dtypes[k]);
        pt_ok(s, pith_check_gradient(s, &wave_of, PITH_ITEMS(x),
                                     &(pith_gradient_check){.order = k < 2 ? 2 : 1}));
    }
    close_scope();
}

Test(check_gradient, sizes_of_values_do_not_matter, .init = open_scope) {
    const double sizes[] = {1e-12, 1e-3, 1, 1e5};
    for (int k = 0; k < 4; k++) {
        const pith_array *x = pith_mul(s, PITH_VECTOR(s, f64, 1, -0.75, 0.5), sizes[k]);
        pt_ok(s, pith_check_gradient(s, &wave_of, PITH_ITEMS(x), NULL));
    }
    for (int seed = 1; seed < 20; seed++) {
        const pith_gradient_check o = {.key = pith_random_key(s, seed)};
        pt_ok(s, pith_check_gradient(s, &energy_of, PITH_ITEMS(some_ions()), &o));
    }
    pt_ok(s, pith_check_gradient(
                 s, &wave_of, PITH_ITEMS(pith_zeros(s, PITH_F64, PITH_SHAPE(0))), NULL));
    close_scope();
}

/* ---- Wrong derivatives ---- */

Test(check_gradient, a_wrong_derivative_is_found_with_its_leaf, .init = open_scope) {
    pt_fails(PITH_E_CHECK, s,
             pith_check_gradient(s, &stopped_of, PITH_ITEMS(some_ions()), NULL));
    cr_assert_str_eq(pt_error.path, "[0].charge");
    cr_assert(strstr(pt_error.message, "stopped_energy: order 1: value: forward mode "
                                       "gives "),
              "%s", pt_error.message);
    cr_assert(strstr(pt_error.message, ", differences ") &&
              strstr(pt_error.message, " exceeds the bound ") &&
              !strstr(pt_error.message, "kink"));
    cr_assert(!pith_check_gradient(s, &stopped_of, PITH_ITEMS(some_ions()), NULL));
    pith_clear(s);
    const pith_derive_options part = {.paths = PITH_PATHS("[0].position")};
    pt_ok(s, pith_check_gradient(s, &stopped_of, PITH_ITEMS(some_ions()),
                                 &(pith_gradient_check){.derive = &part}));
    close_scope();
}

Test(check_gradient, a_wrong_second_derivative_is_found, .init = open_scope) {
    const pith_array *x = PITH_VECTOR(s, f64, 0.5, -1.25);
    pith_gradient_check o = {.order = 2};
    pt_fails(PITH_E_CHECK, s,
             pith_check_gradient(s, &stopped_slope_of, PITH_ITEMS(x), &o));
    cr_assert_str_eq(pt_error.path, "[0]");
    close_scope();
}

Test(check_gradient, kinks_are_named, .init = open_scope) {
    const pith_array *at = PITH_VECTOR(s, f64, 1, 0, -2),
                     *beside = PITH_VECTOR(s, f64, 1, 1e-4, -2);
    /* The derivative 0 of abs at 0 is that of central differences. */
    pt_ok(s, pith_check_gradient(s, &size_of, PITH_ITEMS(at), NULL));
    pt_fails(PITH_E_CHECK, s, pith_check_gradient(s, &size_of, PITH_ITEMS(beside), NULL));
    cr_assert(strstr(pt_error.message, "as at a kink"), "%s", pt_error.message);
    pt_ok(s, pith_check_gradient(s, &size_of, PITH_ITEMS(beside),
                                 &(pith_gradient_check){.step = 1e-5}));
    close_scope();
}

Test(check_gradient, wrong_arguments_are_refused, .init = open_scope) {
    const pith_array *x = PITH_VECTOR(s, f64, 0.5);
    pt_fails(PITH_E_ARG, s,
             pith_check_gradient(s, &wave_of, PITH_ITEMS(x),
                                 &(pith_gradient_check){.order = 3}));
    pt_fails(PITH_E_ARG, s,
             pith_check_gradient(s, &wave_of, PITH_ITEMS(x),
                                 &(pith_gradient_check){.rtol = -1}));
    pt_fails(PITH_E_ARG, s,
             pith_check_gradient(s, &wave_of, PITH_ITEMS(x),
                                 &(pith_gradient_check){.step = (double)INFINITY}));
    pt_fails(PITH_E_ARG, s, pith_check_gradient(s, &wave_of, PITH_ITEMS(x, x), NULL));
    pt_fails(PITH_E_ARG, s, pith_check_gradient(s, NULL, PITH_ITEMS(x), NULL));
    pt_fails(PITH_E_DTYPE, s,
             pith_check_gradient(s, &wave_of, PITH_ITEMS(pith_i64(s, 1)), NULL));
    close_scope();
}

/* ---- Memory ---- */

static pith_status check_once(const pith_open_options *options) {
    rt = pith_open(options);
    s = pith_scope_open(rt);
    const pith_gradient_check o = {.order = 2};
    const pith_array *x = PITH_VECTOR(s, f64, 0.5, -1.25);
    if (!pith_failed(s))
        pt_again(s, pith_check_gradient(s, &wave_of, PITH_ITEMS(x), &o));
    const pith_status code = pith_code(s);
    pith_clear(s);
    pith_scope_close(s);
    pith_close(rt);
    return code;
}

Test(check_gradient, every_failure_of_memory_is_survived) {
    const pt_failures failures = pt_fail_each(check_once);
    cr_assert(failures.allocations > 50, "%d allocations, %d errors",
              failures.allocations, failures.errors);
}
