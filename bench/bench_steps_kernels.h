/* The kernel of the row steps/loop/kernel: each element moves to the mean of its
 * neighbours, and a check bounds it. */
#ifndef PITH_BENCH_STEPS_KERNELS_H
#define PITH_BENCH_STEPS_KERNELS_H

#include <pith/kernel.h>

PITH_KERNEL(relax,
            over(i, n),
            in(f64, x, "[n]"),
            in(f64, by, "[n]"),
            out(f64, next, "[n]"),
            size(n)) {
    const double left = x[i > 0 ? i - 1 : 0], right = x[i < n - 1 ? i + 1 : n - 1];
    pith_require(x[i] < 1e6, i);
    next[i] = 0.25 * left + 0.5 * x[i] + 0.25 * right + 0.001 * by[i];
}

#endif
