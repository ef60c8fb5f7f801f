/* The same kernels with and without checks: docs/howto/write-a-kernel.md, "Cost of
 * pith_require".
 */
#ifndef PITH_BENCH_KERNEL_KERNELS_H
#define PITH_BENCH_KERNEL_KERNELS_H

#include <pith/kernel.h>

PITH_KERNEL(plain, over(i, n), in(f64, x, "[n]"), in(f64, y, "[n]"), out(f64, z, "[n]")) {
    z[i] = 2 * x[i] + y[i];
}

PITH_KERNEL(flagged,
            over(i, n),
            in(f64, x, "[n]"),
            in(f64, y, "[n]"),
            out(f64, z, "[n]"),
            out(bool, bad, "[n]")) {
    z[i] = 2 * x[i] + y[i];
    bad[i] = !(x[i] < 1e6);
}

PITH_KERNEL(required,
            over(i, n),
            in(f64, x, "[n]"),
            in(f64, y, "[n]"),
            out(f64, z, "[n]")) {
    pith_require(x[i] < 1e6, i);
    z[i] = 2 * x[i] + y[i];
}

PITH_KERNEL(safe, over(i, n), in(f64, x, "[n]"), in(f64, y, "[n]"), out(f64, z, "[n]")) {
    z[i] = 0;
    pith_require(x[i] < 1e6, i);
    z[i] = 2 * x[i] + y[i];
}

PITH_KERNEL(stored,
            over(i, n),
            in(f64, x, "[n]"),
            in(f64, y, "[n]"),
            out(f64, z, "[n]")) {
    z[i] = 2 * x[i] + y[i];
    pith_require(x[i] < 1e6, i);
}

#endif
