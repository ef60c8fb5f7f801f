/* Which function an error names: the public one that was called, eagerly and while a
 * function is traced, whichever of the calls that it makes was refused. */
#include "pith_test.h"

#include <pith/pith.h>

static const pith_array *less_than_four(pith_scope *s, const pith_array *x) {
    return pith_less(s, x, pith_zeros(s, PITH_F64, PITH_SHAPE(4)));
}
PITH_FUNCTION1(less_than_four_function, less_than_four, pith_array, pith_array)

/* The message begins with the name, which it does not repeat. */
static void says_of(const char *name) {
    const size_t n = strlen(name);
    cr_expect(strncmp(pt_error.message, name, n) == 0 &&
                  strncmp(pt_error.message + n, ": ", 2) == 0 &&
                  !strstr(pt_error.message + n, name),
              "%s: %s", name, pt_error.message);
}

Test(named, a_refusal_names_the_function_that_was_called) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *a = pith_zeros(s, PITH_F64, PITH_SHAPE(3));
    const pith_array *b = pith_zeros(s, PITH_F64, PITH_SHAPE(4));
    const pith_array *key = pith_random_key(s, 0);
    const pith_array *deep = pith_zeros(s, PITH_F64, PITH_SHAPE(1, 1, 1, 1, 1, 1, 1, 1));
    const pith_array *deep_pair[] = {deep, deep};
    pt_ok(s);
    pt_fails(PITH_E_SHAPE, s, pith_less(s, a, b));
    says_of("pith_less");
    pt_fails(PITH_E_SHAPE, s, pith_maximum(s, a, b));
    says_of("pith_maximum");
    pt_fails(PITH_E_DTYPE, s, pith_sqrt(s, pith_i64(s, 4)));
    says_of("pith_sqrt");
    pt_fails(PITH_E_SHAPE, s, pith_arange(s, PITH_F64, -1));
    says_of("pith_arange");
    pt_fails(PITH_E_SHAPE, s, pith_random_permutation(s, key, -1, NULL));
    says_of("pith_random_permutation");
    pt_fails(PITH_E_SHAPE, s, pith_stack(s, 2, deep_pair, 0));
    says_of("pith_stack");
    pt_fails(PITH_E_DTYPE, s, pith_zeros(s, (pith_dtype)77, PITH_SCALAR));
    says_of("pith_zeros");
    pith_scope_close(s);
    pt_close(rt);
}

Test(named, of_calls_that_a_function_makes_the_outer_one_is_named) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *a = pith_zeros(s, PITH_F64, PITH_SHAPE(3));
    const pith_array *b = pith_zeros(s, PITH_F64, PITH_SHAPE(4));
    pt_fails(PITH_E_SHAPE, s, pith_is_close(s, a, b, 1e-5, 1e-8, false));
    says_of("pith_is_close");
    pt_fails(PITH_E_DTYPE, s, pith_std(s, pith_i64(s, 1), PITH_ALL_AXES, 0));
    says_of("pith_std");
    pith_scope_close(s);
    pt_close(rt);
}

Test(named, in_a_users_function_the_call_in_it_is_named) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *a = pith_zeros(s, PITH_F64, PITH_SHAPE(3));
    pt_fails(PITH_E_SHAPE, s, pith_call(s, &less_than_four_function, PITH_ITEMS(a)));
    says_of("pith_less");
    const pith_function *compiled = pith_jit(s, &less_than_four_function, NULL);
    pt_fails(PITH_E_SHAPE, s, pith_call(s, compiled, PITH_ITEMS(a)));
    says_of("pith_less");
    const pith_lens *whole = pith_lens_identity();
    pt_fails(PITH_E_SHAPE, s, pith_at_lens(s, whole, &less_than_four_function, a));
    says_of("pith_less");
    pt_fails(PITH_E_SHAPE, s, pith_add(s, a, pith_zeros(s, PITH_F64, PITH_SHAPE(2))));
    says_of("pith_add");
    pith_scope_close(s);
    pt_close(rt);
}
