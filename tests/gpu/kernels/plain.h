/* Kernels of the tests that have no real: every role, dtype, two indices, atomics,
 * checks. */
#ifndef PITH_TEST_KERNELS_PLAIN_H
#define PITH_TEST_KERNELS_PLAIN_H

#include <pith/kernel.h>

/* Each dtype in and out, and as a value added to it. */
#define ADD_KERNEL(dtype, one)                                                           \
    PITH_KERNEL(add_##dtype, over(i, n), in(dtype, x, "[n]"), value(dtype, a),           \
                out(dtype, y, "[n]")) {                                                  \
        y[i] = (one)(x[i] + a);                                                          \
    }
ADD_KERNEL(i8, int8_t)
ADD_KERNEL(i16, int16_t)
ADD_KERNEL(i32, int32_t)
ADD_KERNEL(i64, int64_t)
ADD_KERNEL(u8, uint8_t)
ADD_KERNEL(u16, uint16_t)
ADD_KERNEL(u32, uint32_t)
ADD_KERNEL(u64, uint64_t)
ADD_KERNEL(f32, float)
ADD_KERNEL(f64, double)

PITH_KERNEL(flip,
            over(i, n),
            in(bool, x, "[n]"),
            value(bool, keep),
            out(bool, y, "[n]")) {
    y[i] = keep ? x[i] : !x[i];
}

/* Bits of a mask: numbers, but for a bool. */
PITH_KERNEL(masks,
            over(i, n),
            in(u8, x, "[n]"),
            value(u8, mask),
            out(bool, y, "[n]"),
            inout(bool, z, "[n]")) {
    y[i] = x[i] & mask;
    z[i] = z[i] + x[i];
}

PITH_KERNEL(halves,
            over(i, n),
            in(f16, x, "[n]"),
            in(bf16, y, "[n]"),
            value(f16, a),
            value(bf16, b),
            out(f16, u, "[n]"),
            out(bf16, v, "[n]")) {
    u[i] = pith_f16_store(pith_f16_load(x[i]) + pith_f16_load(a));
    v[i] = pith_bf16_store(pith_bf16_load(y[i]) + pith_bf16_load(b));
}

/* Extents of every form, bound across arguments. */
PITH_KERNEL(extents,
            over(i, n),
            in(i32, x, "[n,2*w]"),
            in(i32, edges, "[n+1]"),
            size(w),
            size(n),
            extent(rows),
            out(i64, sums, "[n]"),
            out(i64, fixed, "[n,3]"),
            out(i32, grid, "[rows,2*w-1]", 7),
            out(i32, none, "[]", -1)) {
    int64_t sum = edges[i + 1] - edges[i];
    for (int64_t k = 0; k < 2 * w; k++)
        sum += x[i * 2 * w + k];
    sums[i] = sum;
    for (int64_t k = 0; k < 3; k++)
        fixed[3 * i + k] = 100 * i + 10 * n + rows + k;
}

PITH_KERNEL(outer,
            over(i, n, j, m),
            in(i32, x, "[n]"),
            in(i32, y, "[m]"),
            size(m),
            out(i64, table, "[n,m]")) {
    table[i * m + j] = 1000 * (int64_t)x[i] + y[j];
}

/* Counting: results that do not depend on the order of threads. */
PITH_KERNEL(count,
            over(i, n),
            in(i32, x, "[n]"),
            extent(bins),
            out(i32, histogram, "[bins]", 0),
            out(i64, total, "[2]", 0),
            out(u32, least, "[1]", 4294967295.0),
            out(u64, most, "[1]", 0)) {
    pith_require(x[i] >= 0 && x[i] < bins, x[i]);
    pith_atomic_add(&histogram[x[i]], 1);
    pith_atomic_add(&total[0], (int64_t)x[i]);
    pith_atomic_max(&total[1], (int64_t)x[i]);
    pith_atomic_min(&least[0], (uint32_t)x[i]);
    pith_atomic_max(&most[0], (uint64_t)x[i]);
}

PITH_KERNEL(bump, over(i, n), inout(i32, x, "[n]"), value(i32, by)) {
    x[i] += by;
}

/* Two checks: the first in the text is the one reported, whichever fails first in time.
 */
PITH_KERNEL(checked,
            over(i, n),
            in(i64, need, "[n]"),
            value(i64, limit),
            size(width),
            in(i32, row, "[width]"),
            out(i32, y, "[n]")) {
    pith_require(need[i] < limit, need[i]);
    pith_require_capacity(width, need[i]);
    y[i] = row[0];
}

PITH_KERNEL(checked_pairs,
            over(i, n, j, m),
            in(i32, x, "[n]"),
            in(i32, y, "[m]"),
            out(i32, z, "[n,m]"),
            size(m)) {
    pith_require(x[i] != y[j], x[i]);
    z[i * m + j] = 0;
}

/* As many arguments as a kernel can have. */
PITH_KERNEL(many,
            over(i, n),
            in(i32, a, "[n]"),
            value(i32, b),
            value(i32, c),
            value(i32, d),
            value(i32, e),
            value(i32, f),
            value(i32, g),
            value(i32, h),
            value(i32, j),
            value(i32, k),
            value(i32, l),
            value(i32, m),
            value(i32, o),
            value(i32, p),
            value(i32, q),
            value(i32, r),
            value(i32, s),
            value(i32, t),
            value(i32, u),
            value(i32, v),
            value(i32, w),
            value(i32, x),
            value(i32, y),
            out(i64, z, "[n]")) {
    const int64_t tail = l + m + o + p + q + r + s + t + u + v + w + x + 1000 * y;
    z[i] = a[i] + b + c + d + e + f + g + h + j + k + tail;
}

/* Declarations that a launch refuses. */
PITH_KERNEL(bad_extents, over(i, n), in(i32, x, "[n,"), out(i32, y, "[n]")) {
    y[i] = x[i];
}
PITH_KERNEL(unbound_out, over(i, n), in(i32, x, "[n]"), out(i32, y, "[k]")) {
    y[i] = x[i];
}
PITH_KERNEL(unbound_size, over(i, n), in(i32, x, "[n]"), size(k), out(i32, y, "[n]")) {
    y[i] = x[i] + (int32_t)k;
}
PITH_KERNEL(unbound_over, over(i, k), in(i32, x, "[n]"), out(i32, y, "[n]")) {
    y[i] = x[i];
}
PITH_KERNEL(negative_out, over(i, n), in(i32, x, "[n]"), out(i32, y, "[n-4]")) {
    y[i] = x[i];
}
PITH_KERNEL(bad_fill, over(i, n), in(i32, x, "[n]"), out(i8, y, "[n]", 128)) {
    y[i] = (int8_t)x[i];
}

#endif
