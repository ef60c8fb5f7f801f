/* sin, cos and tan of f64 near their zeros and poles. */
#ifndef PITH_PROGRAM_HOST_MATH_ANGLE_H
#define PITH_PROGRAM_HOST_MATH_ANGLE_H

#include "program/source/prologue_host.h"

/* Near a multiple of pi/2 SLEEF loses digits. Its reduction to the first quadrant has an
 * error of about 2^-90, which is thousands of units in the last place of a result of
 * 2^-60. The limits are the arguments between which SLEEF reduces so, and the results
 * beyond which the error would show. Below them few digits cancel; above them SLEEF uses
 * enough digits of pi. */
#define PITHP_ANGLE_LEAST    2.0
#define PITHP_ANGLE_GREATEST 0x1p47
#define PITHP_ANGLE_NEAR     0x1p-20

/* For |x| from PITHP_ANGLE_LEAST to PITHP_ANGLE_GREATEST, if SLEEF's result is less than
 * PITHP_ANGLE_NEAR or greater than its inverse. */
f64 pithp_angle_sin(f64 x);
f64 pithp_angle_cos(f64 x);
f64 pithp_angle_tan(f64 x);

/* *high + *low times b, in double-double: Dekker's product, 1971. */
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
