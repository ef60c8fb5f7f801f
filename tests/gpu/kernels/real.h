/* Kernels of the tests that are compiled once per dtype of their real. */
#ifndef PITH_TEST_KERNELS_REAL_H
#define PITH_TEST_KERNELS_REAL_H

#include <pith/kernel.h>

PITH_HD pith_real squared(pith_real x) {
    return x * x;
}

PITH_KERNEL(axpy,
            over(i, n),
            in(real, x, "[n]"),
            in(real, y, "[n]"),
            value(real, a),
            out(real, z, "[n]")) {
    z[i] = a * x[i] + y[i];
}

/* A sum over neighbours in fixed lanes; rows are padded with an index to a zero. */
PITH_KERNEL(gather_sum,
            over(i, n),
            in(real, x, "[m]"),
            in(i32, neighbour, "[n,width]"),
            in(i32, count, "[n]"),
            size(width),
            value(real, cutoff),
            out(real, sum, "[n]"),
            out(f64, energy, "[n]")) {
    pith_real s[PITH_LANES] = {0};
    double e[PITH_LANES] = {0};
    pith_require_capacity(width, count[i]);
    for (int64_t k = 0; k < count[i]; k += PITH_LANES)
        pith_each_lane(q) {
            const pith_real d = x[i] - x[neighbour[i * width + k + q]];
            const pith_real r = squared(d), inverse = 1 / (r + cutoff);
            const pith_real f = r < cutoff ? inverse * inverse * d : 0;
            s[q] += f;
            e[q] += (double)(f * f);
        }
    sum[i] = pith_sum_lanes(s);
    energy[i] = pith_sum_lanes(e);
}

/* Sums of products of gathered rows, in lanes that stay in registers. */
PITH_KERNEL(row_products,
            over(i, n),
            in(real, x, "[m,3]"),
            in(i32, neighbour, "[n,width]"),
            in(i32, count, "[n]"),
            size(width),
            out(real, product, "[n,3]"),
            out(real, fused, "[n]")) {
    pith_lane_sum xy = {0}, yz = {0}, xx = {0};
    for (int64_t k = 0; k < count[i]; k += PITH_LANES) {
        pith_real a[PITH_LANES], b[PITH_LANES], c[PITH_LANES];
        pith_gather_lanes(a, x, &neighbour[i * width + k], 3);
        pith_gather_lanes(b, x + 1, &neighbour[i * width + k], 3);
        pith_gather_lanes(c, x + 2, &neighbour[i * width + k], 3);
        pith_add_products(&xy, a, b);
        pith_add_products(&yz, b, c);
        pith_add_products(&xx, a, a);
    }
    product[3 * i] = pith_total(&xy);
    product[3 * i + 1] = pith_total(&yz);
    product[3 * i + 2] = pith_total(&xx);
    fused[i] = pith_real_fma(x[3 * i], x[3 * i], -x[3 * i] * x[3 * i]);
}

/* Rows of each lane, one axis after the other. */
PITH_KERNEL(gathered_rows,
            over(i, n),
            in(real, x, "[m,3]"),
            in(i32, row, "[n,8]"),
            out(real, y, "[n,3,8]")) {
    pith_real a[PITH_LANES], b[PITH_LANES], c[PITH_LANES];
    pith_gather_rows(a, b, c, x, &row[8 * i]);
    pith_each_lane(q) y[24 * i + q] = a[q];
    pith_each_lane(q) y[24 * i + 8 + q] = b[q];
    pith_each_lane(q) y[24 * i + 16 + q] = c[q];
}

PITH_KERNEL(exact_maths, over(i, n), in(real, x, "[n]"), out(real, y, "[n,8]")) {
    const pith_real v = x[i], a = pith_real_fabs(v);
    y[8 * i] = pith_real_sqrt(a);
    y[8 * i + 1] = a;
    y[8 * i + 2] = pith_real_floor(v);
    y[8 * i + 3] = pith_real_ceil(v);
    y[8 * i + 4] = pith_real_trunc(v);
    y[8 * i + 5] = pith_real_rint(v);
    y[8 * i + 6] = pith_real_fmin(v, (pith_real)1);
    y[8 * i + 7] = pith_real_fmax(v, (pith_real)1);
}

PITH_KERNEL(extremes,
            over(i, n),
            in(real, x, "[n]"),
            in(real, y, "[n]"),
            out(real, smaller, "[n]"),
            out(real, larger, "[n]")) {
    smaller[i] = pith_real_fmin(x[i], y[i]);
    larger[i] = pith_real_fmax(x[i], y[i]);
}

PITH_KERNEL(platform_maths, over(i, n), in(real, x, "[n]"), out(real, y, "[n,5]")) {
    y[5 * i] = pith_real_exp(x[i]);
    y[5 * i + 1] = pith_real_log(x[i]);
    y[5 * i + 2] = pith_real_sin(x[i]);
    y[5 * i + 3] = pith_real_cos(x[i]);
    y[5 * i + 4] = pith_real_pow(x[i], (pith_real)1.5);
}

/* Lists of what is odd, group by group: lanes are appended in their order. */
PITH_KERNEL(odd_of_group,
            over(i, n),
            in(i64, x, "[n,8]"),
            value(real, same),
            out(i32, odd, "[n,16]", -1),
            out(i32, found, "[n]")) {
    int32_t item[PITH_LANES];
    int32_t keep[PITH_LANES];
    pith_each_lane(q) item[q] = (int32_t)x[8 * i + q];
    pith_each_lane(q) keep[q] = (int32_t)(x[8 * i + q] & 1);
    found[i] = (int32_t)pith_append_lanes(&odd[16 * i], i % 8, item, keep);
}

/* Lists of what is below a limit, appended the same way. */
PITH_KERNEL(below_of_group,
            over(i, n),
            in(f32, x, "[n,8]"),
            value(real, limit),
            out(i32, below, "[n,16]", -1),
            out(i32, found, "[n]"),
            out(i32, counted, "[n]")) {
    int32_t item[PITH_LANES];
    pith_each_lane(q) item[q] = (int32_t)(8 * i + q);
    found[i] =
        (int32_t)pith_append_below(&below[16 * i], i % 8, item, &x[8 * i], (float)limit);
    counted[i] = pith_count_below(&x[8 * i], (float)limit);
}

/* No array tells its real. */
PITH_KERNEL(ramp, over(i, n), extent(n), value(real, step), out(real, x, "[n]")) {
    x[i] = step * (pith_real)i;
}

/* No real at all, in a file that has one. */
PITH_KERNEL(doubled, over(i, n), in(i32, x, "[n]"), out(i32, y, "[n]")) {
    y[i] = 2 * x[i];
}

#endif
