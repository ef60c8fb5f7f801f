#include "order.h"

#include <string.h>

enum { BITS = 11, BUCKETS = 1 << BITS, MOST_DIGITS = 6 };

/* Passes over digits of elements E whose key KEY(e) is; the counts of all digits are made
 * in one pass. Gives the array that holds the sorted line. */
#define RADIX(name, E, KEY, WIDTH)                                                       \
    static E *radix_##name(E *line, E *spare, int64_t n) {                               \
        static int64_t counts[MOST_DIGITS][BUCKETS];                                     \
        memset(counts, 0, sizeof counts);                                                \
        for (int64_t i = 0; i < n; i++)                                                  \
            for (int d = 0; d * BITS < WIDTH; d++)                                       \
                counts[d][KEY(line[i]) >> d * BITS & (BUCKETS - 1)]++;                   \
        for (int d = 0; d * BITS < WIDTH; d++) {                                         \
            int64_t *at = counts[d], total = 0;                                          \
            for (int b = 0; b < BUCKETS; b++) {                                          \
                const int64_t here = at[b];                                              \
                at[b] = total;                                                           \
                total += here;                                                           \
            }                                                                            \
            for (int64_t i = 0; i < n; i++)                                              \
                spare[at[KEY(line[i]) >> d * BITS & (BUCKETS - 1)]++] = line[i];         \
            E *const sorted = spare;                                                     \
            spare = line;                                                                \
            line = sorted;                                                               \
        }                                                                                \
        return line;                                                                     \
    }
#define SELF(e)   (e)
#define KEY_OF(e) ((e).key)
typedef struct {
    uint32_t key, place;
} pair32;
typedef struct {
    uint64_t key, place;
} pair64;
RADIX(keys32, uint32_t, SELF, 32)
RADIX(keys64, uint64_t, SELF, 64)
RADIX(pairs32, pair32, KEY_OF, 32)
RADIX(pairs64, pair64, KEY_OF, 64)

static inline uint32_t key_i32(int32_t x) {
    return (uint32_t)x ^ 0x80000000u;
}
static inline int32_t element_i32(uint32_t key) {
    return (int32_t)(key ^ 0x80000000u);
}

/* Negative numbers turned round, others behind them. */
#define FLOAT_KEYS(T, name, K, BITS)                                                     \
    static inline K key_##name(T x) {                                                    \
        K bits;                                                                          \
        memcpy(&bits, &x, sizeof bits);                                                  \
        return bits ^ ((bits >> (BITS - 1) ? ~(K)0 : (K)1 << (BITS - 1)));               \
    }                                                                                    \
    static inline T element_##name(K key) {                                              \
        const K bits = key ^ (key >> (BITS - 1) ? (K)1 << (BITS - 1) : ~(K)0);           \
        T x;                                                                             \
        memcpy(&x, &bits, sizeof x);                                                     \
        return x;                                                                        \
    }
FLOAT_KEYS(float, f32, uint32_t, 32)
FLOAT_KEYS(double, f64, uint64_t, 64)

#define ORDER(T, name, A, WIDTH)                                                         \
    void sort_##name(T *to, const T *a, int64_t n, void *work) {                         \
        uint##WIDTH##_t *line = work;                                                    \
        for (int64_t i = 0; i < n; i++)                                                  \
            line[i] = key_##name(a[i]);                                                  \
        line = radix_keys##WIDTH(line, line + n, n);                                     \
        for (int64_t i = 0; i < n; i++)                                                  \
            to[i] = element_##name(line[i]);                                             \
    }                                                                                    \
    void argsort_##name(int64_t *to, const T *a, int64_t n, void *work) {                \
        pair##WIDTH *line = work;                                                        \
        for (int64_t i = 0; i < n; i++)                                                  \
            line[i] = (pair##WIDTH){key_##name(a[i]), (uint##WIDTH##_t)i};               \
        line = radix_pairs##WIDTH(line, line + n, n);                                    \
        for (int64_t i = 0; i < n; i++)                                                  \
            to[i] = (int64_t)line[i].place;                                              \
    }                                                                                    \
    void cumsum_##name(T *to, const T *a, int64_t n) {                                   \
        A sum = 0;                                                                       \
        for (int64_t i = 0; i < n; i++) {                                                \
            sum += (A)a[i];                                                              \
            to[i] = (T)sum;                                                              \
        }                                                                                \
    }                                                                                    \
    void take_##name(T *to, const T *from, const int32_t *at, int64_t n, int threads) {  \
        _Pragma("omp parallel for num_threads(threads)") for (int64_t i = 0; i < n; i++) \
            to[i] = from[at[i]];                                                         \
        (void)threads;                                                                   \
    }                                                                                    \
    void scatter_add_##name(T *to, const T *a, const int32_t *at, int64_t n) {           \
        for (int64_t i = 0; i < n; i++)                                                  \
            to[at[i]] += a[i];                                                           \
    }
ORDER(float, f32, double, 32)
ORDER(double, f64, double, 64)
ORDER(int32_t, i32, uint32_t, 32)
