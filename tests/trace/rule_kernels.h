/* A kernel of the tests of derivatives: it has a rule around its launch. */
#ifndef PITH_TEST_TRACE_RULE_KERNELS_H
#define PITH_TEST_TRACE_RULE_KERNELS_H

#include <pith/kernel.h>

/* x^3 / 3, or with slope x^2. */
PITH_KERNEL(cube, over(i, n), in(f64, x, "[n]"), out(f64, y, "[n]"), value(i64, slope)) {
    y[i] = slope ? x[i] * x[i] : x[i] * x[i] * x[i] / 3;
}

#endif
