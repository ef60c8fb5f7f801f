/* Kernels with faults that a checked build finds, and their correct siblings. */
#ifndef PITH_TEST_KERNELS_FAULTY_H
#define PITH_TEST_KERNELS_FAULTY_H

#include <pith/kernel.h>
#include <string.h>

PITH_KERNEL(take, over(i, n), in(i32, at, "[n]"), in(f64, x, "[m]"), out(f64, y, "[n]")) {
    y[i] = x[at[i]];
}

/* The same through a function that takes a pointer to a row. */
PITH_HD double length2(const double *row, int32_t count) {
    double sum = 0;
    for (int32_t k = 0; k < count; k++)
        sum += row[k] * row[k];
    return sum;
}
PITH_KERNEL(lengths,
            over(i, n),
            in(f64, x, "[n,3]"),
            value(i32, count),
            out(f64, y, "[n]")) {
    y[i] = length2(&x[3 * i], count);
}

/* Blocks of constant size, by the compiler's builtin, by the function and as structs. */
typedef struct {
    double at[3];
} faulty_row;
PITH_KERNEL(copy_builtin,
            over(i, n),
            in(f64, x, "[n,3]"),
            value(i64, d),
            out(f64, y, "[n,3]")) {
    __builtin_memcpy(&y[3 * i], &x[3 * i + d], 3 * sizeof *x);
}
PITH_KERNEL(copy_function,
            over(i, n),
            in(f64, x, "[n,3]"),
            value(i64, d),
            out(f64, y, "[n,3]")) {
    memset(&y[3 * i], 0, 3 * sizeof *y);
    memcpy(&y[3 * i], &x[3 * i + d], 3 * sizeof *x);
}
PITH_KERNEL(copy_struct,
            over(i, n),
            in(f64, x, "[n,3]"),
            value(i64, d),
            out(f64, y, "[n,3]")) {
    *(faulty_row *)&y[3 * i] = *(const faulty_row *)&x[3 * i + d];
}
PITH_KERNEL(first_of, over(i, n), in(f64, x, "[m]"), out(f64, y, "[n]", 0), extent(n)) {
    y[i] = x[0];
}

PITH_KERNEL(put, over(i, n), in(i32, at, "[n]"), in(f32, x, "[n]"), out(f32, y, "[n]")) {
    y[at[i]] = x[i];
}

PITH_KERNEL(put_pairs,
            over(i, n, j, m),
            in(i32, at, "[n]"),
            in(i32, x, "[m]"),
            size(m),
            out(i32, y, "[n,m]", 0)) {
    y[at[i] * m + j] = x[j];
}

PITH_KERNEL(set_positive, over(i, n), in(f64, x, "[n]"), out(f64, y, "[n]")) {
    if (x[i] > 0)
        y[i] = 1;
}

PITH_KERNEL(set_positive_of_zeros, over(i, n), in(f64, x, "[n]"), out(f64, y, "[n]", 0)) {
    if (x[i] > 0)
        y[i] = 1;
}

/* Writes every element, or one in `few` where few is not 0. */
PITH_KERNEL(fill_rows, over(i, n), extent(n), value(i64, few), out(i64, rows, "[n,4]")) {
    for (int64_t k = 0; k < 4; k++)
        if (few == 0 || (4 * i + k) % few == 0)
            rows[4 * i + k] = i;
}

/* Neighbours of an array that changes. */
PITH_KERNEL(smooth, over(i, n), inout(f64, x, "[n]"), size(n), value(i64, step)) {
    const int64_t other = i + step;
    if (other >= 0 && other < n)
        x[i] = (x[i] + x[other]) / 2;
}

PITH_KERNEL(add_to_unset, over(i, n), in(f64, x, "[n]"), out(f64, y, "[n]")) {
    y[i] += x[i];
}

/* A plain update, and an atomic one, of what several indices share. */
PITH_KERNEL(tally,
            over(i, n),
            in(i32, bin, "[n]"),
            extent(bins),
            value(i32, plain),
            out(i32, count, "[bins]", 0)) {
    if (plain > 0)
        count[bin[i]] += 1;
    else
        pith_atomic_add(&count[bin[i]], 1);
    if (plain < 0 && count[bin[i]] > 1)
        count[bin[i]] = 1;
}

/* An in is written, through a cast. */
PITH_KERNEL(write_in, over(i, n), in(i32, x, "[n]"), out(i32, y, "[n]")) {
    *(int32_t *)(uintptr_t)&x[i] = 0;
    y[i] = 0;
}

/* Rows copied as blocks. */
typedef struct block_of_four {
    int64_t part[4];
} block_of_four;
PITH_KERNEL(copy_blocks,
            over(i, n),
            in(i64, x, "[m,4]"),
            in(i32, at, "[n]"),
            out(i64, y, "[n,4]")) {
    *(block_of_four *)(void *)&y[4 * i] =
        *(const block_of_four *)(const void *)&x[4 * at[i]];
}

/* A table of constants, and an array of its own. */
PITH_KERNEL(tables, over(i, n), in(i32, x, "[n]"), out(i32, y, "[n]")) {
#if PITH_KERNEL_PASS == PITH_PASS_CUDA
    const int32_t table[8] = {1, 2, 4, 8, 16, 32, 64, 128};
#else
    static const int32_t table[8] = {1, 2, 4, 8, 16, 32, 64, 128};
#endif
    int32_t own[8];
    for (int32_t k = 0; k < 8; k++)
        own[(k + x[i]) % 8] = table[k];
    y[i] = own[0];
}

#endif
