/* Every function that takes numbers, called with some, in the language and with the call
 * sites of the file that includes this. What is written to `results` is the same for all:
 * numbers_c.c, numbers_no_sites.c and numbers_cxx.cc against test_number.c. */
#ifndef PITH_TEST_NUMBERS_H
#define PITH_TEST_NUMBERS_H

#include <pith/array.h>

enum { NUMBER_CALLS = 64 };

/* Of x (f32 or f64 [n]), i (i32 [n]) and c (bool [n]); returns how many. */
#define NUMBER_RESULTS(s, x, i, c, results)                                              \
    do {                                                                                 \
        int n_ = 0;                                                                      \
        results[n_++] = pith_add(s, x, 2.0);                                             \
        results[n_++] = pith_add(s, 2, x);                                               \
        results[n_++] = pith_sub(s, 1, x);                                               \
        results[n_++] = pith_mul(s, x, 0.1);                                             \
        results[n_++] = pith_div(s, 1.0f, x);                                            \
        results[n_++] = pith_floor_divide(s, x, 2u);                                     \
        results[n_++] = pith_remainder(s, x, 2);                                         \
        results[n_++] = pith_fmod(s, x, 2L);                                             \
        results[n_++] = pith_pow(s, x, 2);                                               \
        results[n_++] = pith_pow(s, 2, x);                                               \
        results[n_++] = pith_ldexp(s, x, 3);                                             \
        results[n_++] = pith_logaddexp(s, x, 0);                                         \
        results[n_++] = pith_atan2(s, x, 1);                                             \
        results[n_++] = pith_hypot(s, 3, x);                                             \
        results[n_++] = pith_copysign(s, x, -1);                                         \
        results[n_++] = pith_nextafter(s, x, 0);                                         \
        results[n_++] = pith_minimum(s, x, 0);                                           \
        results[n_++] = pith_maximum(s, x, 0);                                           \
        results[n_++] = pith_fmin(s, 0, x);                                              \
        results[n_++] = pith_fmax(s, 0, x);                                              \
        results[n_++] = pith_equal(s, x, 1);                                             \
        results[n_++] = pith_not_equal(s, x, 1);                                         \
        results[n_++] = pith_less(s, x, 1);                                              \
        results[n_++] = pith_less_equal(s, x, 1);                                        \
        results[n_++] = pith_greater(s, x, 1);                                           \
        results[n_++] = pith_greater_equal(s, 1, x);                                     \
        results[n_++] = pith_logical_and(s, c, true);                                    \
        results[n_++] = pith_logical_or(s, c, false);                                    \
        results[n_++] = pith_logical_xor(s, c, 1);                                       \
        results[n_++] = pith_is_close(s, x, 1, 0.0, 0.5, false);                         \
        results[n_++] = pith_where(s, c, x, 0);                                          \
        results[n_++] = pith_where(s, c, -1.5, x);                                       \
        results[n_++] = pith_clip(s, x, 0, 1.5);                                         \
        results[n_++] = pith_clip(s, 0, x, PITH_TEST_NULL);                              \
        results[n_++] = pith_clip(s, x, PITH_TEST_NULL, 1);                              \
        results[n_++] = pith_clip(s, x, -1, PITH_TEST_NULL);                             \
        results[n_++] = pith_add(s, i, (short)3);                                        \
        results[n_++] = pith_mul(s, 2.0, i);                                             \
        results[n_++] = pith_trunc_divide(s, i, 2);                                      \
        results[n_++] = pith_bitwise_and(s, i, 0xff);                                    \
        results[n_++] = pith_bitwise_or(s, i, 1UL);                                      \
        results[n_++] = pith_bitwise_xor(s, i, 'a');                                     \
        results[n_++] = pith_shift_left(s, i, 2);                                        \
        results[n_++] = pith_shift_right(s, i, 1LL);                                     \
        results[n_++] = pith_shift_right_logical(s, i, 1ULL);                            \
        results[n_++] = pith_add(s, pith_mul(s, pith_sub(s, x, 1), 2), pith_neg(s, x));  \
        results[n_] = NULL;                                                              \
    } while (0)

PITH_BEGIN

typedef void number_results(pith_scope *s,
                            const pith_array *x,
                            const pith_array *i,
                            const pith_array *c,
                            const pith_array **results);
number_results number_results_c, number_results_no_sites, number_results_cxx;

/* In C++ alone: an array like x of each kind of number that C has not. */
const pith_array *number_enums_cxx(pith_scope *s, const pith_array *x);

PITH_END

#endif
