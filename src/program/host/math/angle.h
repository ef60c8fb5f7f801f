/* sin, cos and tan of f64 next to their zeros and poles. */
#ifndef PITH_PROGRAM_HOST_MATH_ANGLE_H
#define PITH_PROGRAM_HOST_MATH_ANGLE_H

#include "program/source/prologue_host.h"

/* Next to a multiple of pi/2 SLEEF loses digits: its reduction to the first quadrant is
 * off by up to 2^-90 or so, which is thousands of units in the last place of a result of
 * 2^-60. The limits: arguments between which it reduces so (below, few digits cancel;
 * above, it has enough of pi), and results outside of which the error would show. */
#define PITHP_ANGLE_LEAST    2.0
#define PITHP_ANGLE_GREATEST 0x1p47
#define PITHP_ANGLE_NEAR     0x1p-20

/* Of |x| from PITHP_ANGLE_LEAST to PITHP_ANGLE_GREATEST where the result, as SLEEF gives
 * it, is less than PITHP_ANGLE_NEAR or greater than its inverse. */
f64 pithp_angle_sin(f64 x);
f64 pithp_angle_cos(f64 x);
f64 pithp_angle_tan(f64 x);

/* *high + *low times b, nearly exact: Dekker's product, 1971. */
M_FN void pithp_multiply_exactly(f64 *high, f64 *low, f64 b) {
    const f64 splitter = 0x1.0000002p27, a = *high, product = a * b;
    const f64 a_head = splitter * a - (splitter * a - a), a_tail = a - a_head;
    const f64 b_head = splitter * b - (splitter * b - b), b_tail = b - b_head;
    const f64 error = ((a_head * b_head - product) + a_head * b_tail + a_tail * b_head) +
                      a_tail * b_tail;
    *low = *low * b + error;
    *high = product;
}

#endif
