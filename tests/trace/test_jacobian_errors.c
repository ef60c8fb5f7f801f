/* Wrong Jacobians: code, path and text of each error, that a right call works as before,
 * and failing allocations. */
#include "derive_test.h"
#include "fail_allocator.h"

static const pith_array *squares(pith_scope *in, const pith_array *x) {
    return pith_mul(in, x, x);
}
static const pith_array *floors(pith_scope *in, const pith_array *x) {
    return pith_floor(in, x);
}
static const pith_array *energy(pith_scope *in, const pith_array *x) {
    return pith_sum(in, pith_mul(in, pith_sin(in, x), x), PITH_ALL_AXES);
}
static const void *spread(pith_scope *in, const pith_array *x) {
    return pith_tuple_make(
        in, PITH_ITEMS(energy(in, x),
                       pith_broadcast_to(in, pith_reshape(in, x, PITH_SHAPE(1, 1, 2)),
                                         PITH_SHAPE(1, 1, 1, 1, 1, 1, 2, 2))));
}
PITH_FUNCTION1(squares_of, squares, pith_array, pith_array)
PITH_FUNCTION1(floors_of, floors, pith_array, pith_array)
PITH_FUNCTION1(energy_of, energy, pith_array, pith_array)
PITH_FUNCTION1(spread_of, spread, void, pith_array)

typedef const pith_function *
maker(pith_scope *in, const pith_function *f, const pith_derive_options *o);
static const struct {
    maker *make;
    const char *name;
} makers[3] = {{(pith_jacobian_forward), "pith_jacobian_forward"},
               {(pith_jacobian_reverse), "pith_jacobian_reverse"},
               {(pith_hessian), "pith_hessian"}};
enum { HESSIAN = 2, MAKERS };

static void refuses(int k,
                    const pith_function *f,
                    const pith_derive_options *o,
                    const pith_array *x,
                    pith_status code,
                    const char *path,
                    const char *text) {
    for (int again = 0; again < 2; again++) {
        const pith_function *made = makers[k].make(s, f, o);
        pt_ok(s, made);
        pt_fails(code, s, pith_apply(s, made, x));
        cr_assert_str_eq(pt_error.path, path, "%s", pt_error.message);
        pt_says(makers[k].name);
        pt_says(f->name);
        pt_says(text);
    }
    near(pith_apply(s, pith_jacobian_forward(s, &energy_of, NULL), pith_f64(s, 0.5)), 0,
         sin(0.5) + 0.5 * cos(0.5));
}

Test(jacobian_errors, options_are_checked_when_it_is_made, .init = open_scope) {
    const pith_derive_options chunk = {.chunk = -1},
                              second = {.arguments = PITH_ARGUMENT(1)};
    for (int k = 0; k < MAKERS; k++) {
        pt_fails(PITH_E_ARG, s, makers[k].make(s, &squares_of, &chunk));
        pt_says(makers[k].name);
        pt_says("squares: .chunk must not be negative, got -1");
        pt_fails(PITH_E_ARG, s, makers[k].make(s, &squares_of, &second));
        pt_says("the options select argument [1]");
        pt_fails(PITH_E_ARG, s, makers[k].make(s, NULL, NULL));
        pt_says(makers[k].name);
    }
    close_scope();
}

Test(jacobian_errors, calls_are_refused_with_the_path, .init = open_scope) {
    const pith_array *x = PITH_VECTOR(s, f64, 1, 2), *n = PITH_VECTOR(s, i64, 1, 2);
    for (int k = 0; k < MAKERS; k++)
        refuses(k, &energy_of, NULL, n, PITH_E_DTYPE, "[0]",
                "expected a float dtype to differentiate, got i64");
    refuses(HESSIAN, &squares_of, NULL, x, PITH_E_SHAPE, "",
            "expected a value of rank 0, got f64[2]");
    for (int k = 0; k < HESSIAN; k++) {
        refuses(k, &spread_of, NULL, x, PITH_E_SHAPE, "[1]",
                "the block of f64[1,1,1,1,1,1,2,2] by f64[2] has 9 axes; arrays have at "
                "most 8");
        refuses(k, &floors_of, NULL, x, PITH_E_DERIVATIVE, "[0]", "floor");
    }
    close_scope();
}

Test(jacobian_errors, cuts_may_be_zero, .init = open_scope) {
    const pith_derive_options zero = {.cuts = PITH_CUTS_ARE_ZERO};
    for (int k = 0; k < HESSIAN; k++) {
        const pith_array *j = pith_apply(s, makers[k].make(s, &floors_of, &zero),
                                         PITH_VECTOR(s, f64, 1, 2));
        for (int i = 0; i < 4; i++)
            near(j, i, 0);
    }
    close_scope();
}

/* ---- Memory ---- */

static pith_status in_little_memory(const pith_open_options *options) {
    static const pith_derive_options each[] = {
        {0}, {.chunk = 2}, {.chunk = 1, .find_nonfinite = true}};
    rt = pith_open(options);
    s = pith_scope_open(rt);
    const pith_array *x = PITH_VECTOR(s, f64, 1, 2, 3);
    for (int k = 0; k < MAKERS && !pith_failed(s); k++)
        pt_again(s, pith_apply(s, makers[k].make(s, &energy_of, &each[k]), x));
    const pith_status code = pith_code(s);
    pith_clear(s);
    pith_scope_close(s);
    pith_close(rt);
    return code;
}

Test(jacobian_errors, every_failed_allocation_is_survived, .timeout = 300) {
    const pt_failures f = pt_fail_each(in_little_memory);
    cr_assert(f.allocations > 50, "%d allocations, %d errors", f.allocations, f.errors);
}

/* Columns that do not fit in one batch by far: n^2 numbers are 512 MiB. */
Test(jacobian_errors, large_ones_are_made_in_chunks, .init = open_scope, .timeout = 300) {
    enum { N = 8192 };
    const pith_array *x = pith_mul(s, pith_arange(s, PITH_F64, N), 1e-3);
    const pith_function *f = pith_jacobian_forward(s, &energy_of, NULL);
    const pith_array *j = pith_apply(s, f, x);
    pt_ok(s, j);
    const pith_array *slope = pith_add(s, pith_sin(s, x), pith_mul(s, x, pith_cos(s, x)));
    const pith_array *worst =
        pith_max(s, pith_abs(s, pith_sub(s, j, slope)), PITH_ALL_AXES);
    cr_assert(pith_read_f64(s, worst) < 1e-12);
    cr_assert(pith_program_cost(s, f, PITH_ITEMS(x)).workspace_bytes < (size_t)400 << 20);
    close_scope();
}
