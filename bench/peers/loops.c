/* Compiled for this machine with fast arithmetic, so that sums vectorise and functions
 * come from the C library's vector forms. */
#include "loops.h"

#include <math.h>
#include <stdlib.h>

#define EACH_ROW _Pragma("omp parallel for simd num_threads(threads) schedule(static)")

#define MAP1(T, name, expression)                                                        \
    void name(T *to, const T *a, int64_t n, int threads) {                               \
        EACH_ROW for (int64_t i = 0; i < n; i++) to[i] = expression;                     \
        (void)threads;                                                                   \
    }
#define MAP2(T, name, expression)                                                        \
    void name(T *to, const T *a, const T *b, int64_t n, int threads) {                   \
        EACH_ROW for (int64_t i = 0; i < n; i++) to[i] = expression;                     \
        (void)threads;                                                                   \
    }

#define LOOPS(T, name, f)                                                                 \
    MAP2(T, add_##name, a[i] + b[i])                                                      \
    MAP1(T, exp_##name, exp##f(a[i]))                                                     \
    MAP1(T, log_##name, log##f(a[i]))                                                     \
    MAP1(T, sin_##name, sin##f(a[i]))                                                     \
    MAP1(T, cos_##name, cos##f(a[i]))                                                     \
    MAP1(T, tanh_##name, tanh##f(a[i]))                                                   \
    MAP2(T, pow_##name, pow##f(a[i], b[i]))                                               \
    void sum_##name(T *to, const T *a, int64_t rows, int64_t columns, int threads) {      \
        double sum = 0;                                                                   \
        _Pragma("omp parallel for simd num_threads(threads) reduction(+ : sum)") for (    \
            int64_t i = 0; i < rows * columns; i++) sum += (double)a[i];                  \
        to[0] = (T)sum;                                                                   \
        (void)threads;                                                                    \
    }                                                                                     \
    void sum_columns_##name(T *to, const T *a, int64_t rows, int64_t columns,             \
                            int threads) {                                                \
        _Pragma("omp parallel for num_threads(threads)") for (int64_t i = 0; i < rows;    \
                                                              i++) {                      \
            double sum = 0;                                                               \
            for (int64_t k = 0; k < columns; k++)                                         \
                sum += (double)a[i * columns + k];                                        \
            to[i] = (T)sum;                                                               \
        }                                                                                 \
        (void)threads;                                                                    \
    }                                                                                     \
    void sum_rows_##name(T *to, const T *a, int64_t rows, int64_t columns,                \
                         int threads) {                                                   \
        double *sums = calloc((size_t)columns, sizeof *sums);                             \
        _Pragma("omp parallel for num_threads(threads)") for (int64_t part = 0;           \
                                                              part < threads; part++) {   \
            const int64_t begin = columns * part / threads,                               \
                          end = columns * (part + 1) / threads;                           \
            for (int64_t i = 0; i < rows; i++)                                            \
                for (int64_t k = begin; k < end; k++)                                     \
                    sums[k] += (double)a[i * columns + k];                                \
        }                                                                                 \
        for (int64_t k = 0; k < columns; k++)                                             \
            to[k] = (T)sums[k];                                                           \
        free(sums);                                                                       \
    }                                                                                     \
    int64_t argmax_##name(const T *a, int64_t n, int threads) {                           \
        T most = a[0];                                                                    \
        _Pragma("omp parallel for simd num_threads(threads) reduction(max : most)") for ( \
            int64_t i = 0; i < n; i++) most = a[i] > most ? a[i] : most;                  \
        int64_t at = 0;                                                                   \
        while (a[at] < most)                                                              \
            at++;                                                                         \
        (void)threads;                                                                    \
        return at;                                                                        \
    }                                                                                     \
    void stencil_##name(T *to, const T *a, int64_t n, int threads) {                      \
        EACH_ROW for (int64_t i = 0; i < n - 2; i++) to[i] = (a[i] + a[i + 2]) * (T)0.5;  \
        (void)threads;                                                                    \
    }                                                                                     \
    void stencil_calls_##name(T *to, T *sum, const T *a, int64_t n, int threads) {        \
        EACH_ROW for (int64_t i = 0; i < n - 2; i++) sum[i] = a[i] + a[i + 2];            \
        EACH_ROW for (int64_t i = 0; i < n - 2; i++) to[i] = sum[i] * (T)0.5;             \
        (void)threads;                                                                    \
    }
LOOPS(float, f32, f)
LOOPS(double, f64, )
