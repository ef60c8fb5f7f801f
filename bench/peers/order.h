/* The plainest good C for the rows of bench_order.c. Sorts are by radix on bits turned
 * into keys in whose order they belong; scatters and scans run on one thread. */
#ifndef BENCH_PEERS_ORDER_H
#define BENCH_PEERS_ORDER_H

#include <stdint.h>

#define ORDER_OF(T, name)                                                                \
    /* `work` holds 2 n keys, and for argsort 2 n keys with their places */              \
    void sort_##name(T *to, const T *a, int64_t n, void *work);                          \
    void argsort_##name(int64_t *to, const T *a, int64_t n, void *work);                 \
    void cumsum_##name(T *to, const T *a, int64_t n);                                    \
    void take_##name(T *to, const T *from, const int32_t *at, int64_t n, int threads);   \
    void scatter_add_##name(T *to, const T *a, const int32_t *at, int64_t n);
ORDER_OF(float, f32)
ORDER_OF(double, f64)
ORDER_OF(int32_t, i32)

#endif
