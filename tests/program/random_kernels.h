/* Kernels that random programs call. */
#ifndef PITH_TESTS_RANDOM_KERNELS_H
#define PITH_TESTS_RANDOM_KERNELS_H

#include <pith/kernel.h>

/* Two arrays change in place; an output has the old values of one. */
PITH_KERNEL(random_grow,
            over(i, n),
            in(real, by, "[n]"),
            inout(real, x, "[n]"),
            value(real, factor),
            out(real, before, "[n]"),
            inout(i64, count, "[n]")) {
    before[i] = x[i];
    x[i] += factor * by[i];
    count[i] += 1;
}

/* Fails at each index whose element is not below. */
PITH_KERNEL(random_below,
            over(i, n),
            inout(i32, x, "[n]"),
            value(i32, limit),
            out(i32, y, "[n]")) {
    y[i] = 0;
    pith_require(x[i] < limit, x[i]);
    y[i] = x[i] / 2;
    x[i] = -1;
}

/* Pairs, and a need that the room may not meet. */
PITH_KERNEL(random_pairs,
            over(i, n, j, m),
            in(real, x, "[n]"),
            in(real, y, "[m]"),
            extent(room),
            size(m),
            out(real, table, "[n,m]"),
            out(u8, spare, "[room]", 3)) {
    table[i * m + j] = x[i] - y[j];
    pith_require_capacity(room, i + 2 * j);
}

/* Counts that no order of threads changes. */
PITH_KERNEL(random_count,
            over(i, n),
            in(i32, x, "[n]"),
            extent(bins),
            out(i32, histogram, "[bins]", 0),
            out(i64, total, "[1]", 5)) {
    pith_require(x[i] >= 0 && x[i] < bins, x[i]);
    pith_atomic_add(&histogram[x[i]], 1);
    pith_atomic_add(&total[0], (int64_t)x[i]);
}

#endif
