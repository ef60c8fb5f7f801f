/* Derivations in which every allocation fails once. */
#include "derive_test.h"
#include "fail_allocator.h"

static const pith_array *wave(pith_scope *in, const pith_array *x, const pith_array *a) {
    pith_check(in, pith_less(in, x, pith_f64(in, 100)), "x is large");
    return pith_sum(in,
                    pith_expression(in, "sin(a * x) * x", PITH_BIND({"x", x}, {"a", a})),
                    PITH_ALL_AXES);
}
PITH_FUNCTION2(wave_of, wave, pith_array, pith_array, pith_array)

static const pith_array *map_of(const pith_array *x, const pith_array *a) {
    const pith_linearized v = pith_vjp(s, &wave_of, PITH_ITEMS(x, a), NULL);
    return pith_call(s, v.map, PITH_ITEMS(a));
}

/* A loop with a record. */
static const pith_array *is_low(pith_scope *in, const pith_array *x) {
    return pith_any(in, pith_less(in, x, 9), PITH_ALL_AXES);
}
static const pith_array *
higher(pith_scope *in, const pith_array *x, const pith_array *a) {
    return pith_add(in, x, pith_mul(in, a, pith_add(in, pith_sin(in, x), 2)));
}
PITH_FUNCTION1(is_low_test, is_low, pith_array, pith_array)
PITH_FUNCTION2(higher_of, higher, pith_array, pith_array, pith_array)
static const pith_array *climb(pith_scope *in, const pith_array *x, const pith_array *a) {
    const pith_array *last =
        pith_while_recorded(in, &is_low_test, pith_partial(in, &higher_of, a), x,
                            &(pith_record_options){.most = 40, .name = "memory"});
    return pith_failed(in) ? NULL : pith_sum(in, last, PITH_ALL_AXES);
}
PITH_FUNCTION2(climb_of, climb, pith_array, pith_array, pith_array)

static pith_status derive(const pith_open_options *options) {
    static const char *const path[] = {"[1]", NULL};
    rt = pith_open(options);
    s = pith_scope_open(rt);
    const pith_array *x = PITH_VECTOR(s, f64, 1, 2, 3), *a = pith_f64(s, 0.5);
    if (!pith_failed(s)) {
        const pith_derive_options by_path = {.paths = path};
        pt_again(s,
                 pith_call(s, pith_value_and_grad(s, &wave_of, NULL), PITH_ITEMS(x, a)));
        if (!pith_failed(s))
            pt_again(s, pith_jvp(s, &wave_of, PITH_ITEMS(x, a), a, &by_path).tangent);
        if (!pith_failed(s))
            pt_again(s, map_of(x, a));
        if (!pith_failed(s))
            pt_again(s, pith_call(s, pith_grad(s, &climb_of, NULL), PITH_ITEMS(x, a)));
        const pith_recompute_options named = {.names = PITH_NAMES("x")};
        if (!pith_failed(s))
            pt_again(s,
                     pith_call(s, pith_grad(s, pith_recompute(s, &wave_of, &named), NULL),
                               PITH_ITEMS(x, a)));
        const pith_derive_options finding = {.find_nonfinite = true};
        if (!pith_failed(s))
            pt_again(s, pith_call(s, pith_grad(s, &wave_of, &finding), PITH_ITEMS(x, a)));
        if (!pith_failed(s))
            pt_again(s, pith_linearize(s, &wave_of, PITH_ITEMS(x, a), &finding).value);
        if (!pith_failed(s))
            pt_again(s, pith_residual_text(s, &wave_of, PITH_ITEMS(x, a), NULL));
    }
    const pith_status code = pith_code(s);
    pith_clear(s);
    pith_scope_close(s);
    pith_close(rt);
    return code;
}

Test(derive_memory, every_failure_is_survived) {
    const pt_failures failures = pt_fail_each(derive);
    cr_assert(failures.allocations > 50, "%d allocations, %d errors",
              failures.allocations, failures.errors);
}
