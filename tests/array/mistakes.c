/* Operands that do not compile, one a case; C and C++ read this.
 * tests/tree/compile_fail.sh compiles each, without warnings as errors. */
#include <pith/array.h>

const pith_array *
use(pith_scope *s, const pith_array *x, const pith_array *c, char *text);
const pith_array *
use(pith_scope *s, const pith_array *x, const pith_array *c, char *text) {
    (void)c, (void)text;
#if CASE == 0
    x = pith_mul(s, pith_where(s, c, x, 0), 2.0f);
#endif
#if CASE == 1 /* must_be_an_array_bool_integer_float_or_double */
    x = pith_mul(s, x, text);
#endif
#if CASE == 2 /* must_be_an_array_bool_integer_float_or_double */
    x = pith_mul(s, 2.0L, x);
#endif
#if CASE == 3 /* must_be_an_array_bool_integer_float_or_double */
    pith_shape shape = PITH_SHAPE(1);
    x = pith_clip(s, x, 0, shape);
#endif
#if CASE == 4 /* must_be_an_array_and_no_number|pith_array */
    x = pith_where(s, 1.5, x, x);
#endif
#if CASE == 5 /* must_be_an_array_bool_integer_float_or_double */
    x = pith_add(s, x, &x);
#endif
#if CASE == 6 /* requires 3 arguments|macro .pith_add. */
    x = pith_add(s, x);
#endif
#if CASE == 7 /* NULL_is_a_number_in_cxx|must_be_an_array_bool */
#    ifdef __cplusplus
    x = pith_add(s, x, NULL);
#    else
    x = pith_add(s, x, PITH_SCALAR);
#    endif
#endif
#if CASE == 8 /* NULL_is_a_number_in_cxx|must_be_an_array_bool */
#    ifdef __cplusplus
    x = pith_clip(s, x, 0L, x);
#    else
    x = pith_clip(s, x, &text, x);
#    endif
#endif
    return x;
}
