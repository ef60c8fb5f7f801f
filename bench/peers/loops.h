/* The plainest good C for the rows of bench_arrays.c, on one thread or more. */
#ifndef BENCH_PEERS_LOOPS_H
#define BENCH_PEERS_LOOPS_H

#include <stdint.h>

#define LOOPS_OF(T, name)                                                                \
    void add_##name(T *to, const T *a, const T *b, int64_t n, int threads);              \
    void exp_##name(T *to, const T *a, int64_t n, int threads);                          \
    void log_##name(T *to, const T *a, int64_t n, int threads);                          \
    void sin_##name(T *to, const T *a, int64_t n, int threads);                          \
    void cos_##name(T *to, const T *a, int64_t n, int threads);                          \
    void tanh_##name(T *to, const T *a, int64_t n, int threads);                         \
    void pow_##name(T *to, const T *a, const T *b, int64_t n, int threads);              \
    /* of an array [rows, columns], over all, over rows, over columns */                 \
    void sum_##name(T *to, const T *a, int64_t rows, int64_t columns, int threads);      \
    void sum_rows_##name(T *to, const T *a, int64_t rows, int64_t columns, int threads); \
    void sum_columns_##name(T *to, const T *a, int64_t rows, int64_t columns,            \
                            int threads);                                                \
    int64_t argmax_##name(const T *a, int64_t n, int threads);                           \
    /* (a[i - 1] + a[i + 1]) / 2 of the n - 2 inner places */                            \
    void stencil_##name(T *to, const T *a, int64_t n, int threads);                      \
    void stencil_calls_##name(T *to, T *sum, const T *a, int64_t n, int threads);
LOOPS_OF(float, f32)
LOOPS_OF(double, f64)

#endif
