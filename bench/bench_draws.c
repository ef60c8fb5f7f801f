/* Random bits, uniform and normal numbers, in ns a number, on one thread. The peer "c" is
 * the same generator as one plain loop: Threefry-2x32 of 20 rounds over counts 0, 1, ...
 * and for normal numbers the polynomials of pith's erf_inv with libm's logarithm. */
#include "bench.h"

#include <math.h>

typedef struct {
    pith_scope *s;
    const pith_array *key;
    int64_t count;
    pith_dtype dtype;
    void *to;
} Work;

static volatile intptr_t sink;

/* ---- pith ---- */

static void bits(void *closure) {
    const Work *w = closure;
    pith_scope *s = pith_scope_open_in(w->s);
    sink = (intptr_t)pith_random_bits(s, w->key, w->dtype, PITH_SHAPE(w->count), NULL);
    pith_wait(s);
    pith_scope_close(s);
}

static void uniform(void *closure) {
    const Work *w = closure;
    pith_scope *s = pith_scope_open_in(w->s);
    sink = (intptr_t)pith_random_uniform(s, w->key, w->dtype, PITH_SHAPE(w->count), 0, 1,
                                         NULL);
    pith_wait(s);
    pith_scope_close(s);
}

static void normal(void *closure) {
    const Work *w = closure;
    pith_scope *s = pith_scope_open_in(w->s);
    sink = (intptr_t)pith_random_normal(s, w->key, w->dtype, PITH_SHAPE(w->count), NULL);
    pith_wait(s);
    pith_scope_close(s);
}

/* ---- Plain C ---- */

static const uint32_t K0 = 0, K1 = 42;

static inline uint32_t turn(uint32_t x, int by) {
    return x << by | x >> (32 - by);
}

static inline void threefry(uint32_t *x0, uint32_t *x1) {
    static const int turns[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    const uint32_t k[3] = {K0, K1, K0 ^ K1 ^ 0x1BD11BDAu};
    uint32_t a = *x0 + k[0], b = *x1 + k[1];
#pragma GCC unroll 5
    for (uint32_t i = 0; i < 5; i++) {
#pragma GCC unroll 4
        for (int r = 0; r < 4; r++) {
            a += b;
            b = turn(b, turns[i % 2][r]) ^ a;
        }
        a += k[(i + 1) % 3];
        b += k[(i + 2) % 3] + i + 1;
    }
    *x0 = a;
    *x1 = b;
}

static inline uint32_t word(int64_t i) {
    uint32_t a = 0, b = (uint32_t)i; /* the benches draw fewer than 2^32 */
    threefry(&a, &b);
    return a ^ b;
}

static inline uint64_t word64(int64_t i) {
    uint32_t a = 0, b = (uint32_t)i;
    threefry(&a, &b);
    return (uint64_t)a << 32 | b;
}

static inline float float_of(uint32_t w) {
    const union {
        uint32_t bits;
        float x;
    } pun = {w >> 9 | 0x3F800000u};
    return pun.x - 1;
}

static inline double double_of(uint64_t w) {
    const union {
        uint64_t bits;
        double x;
    } pun = {w >> 12 | (uint64_t)0x3FF << 52};
    return pun.x - 1;
}

static void bits_c(void *closure) {
    const Work *w = closure;
    uint32_t *to = w->to;
    uint64_t *to64 = w->to;
    if (w->dtype == PITH_U32)
        for (int64_t i = 0; i < w->count; i++)
            to[i] = word(i);
    else
        for (int64_t i = 0; i < w->count; i++)
            to64[i] = word64(i);
    __asm__ volatile("" ::: "memory");
}

static void uniform_c(void *closure) {
    const Work *w = closure;
    float *to = w->to;
    double *to64 = w->to;
    if (w->dtype == PITH_F32)
        for (int64_t i = 0; i < w->count; i++)
            to[i] = float_of(word(i));
    else
        for (int64_t i = 0; i < w->count; i++)
            to64[i] = double_of(word64(i));
    __asm__ volatile("" ::: "memory");
}

/* Giles's polynomials, f32 for both: the plainest that a C program would take. */
static inline float erf_inv(float x) {
    static const float near[] = {2.81022636e-08f,  3.43273939e-07f, -3.5233877e-06f,
                                 -4.39150654e-06f, 0.00021858087f,  -0.00125372503f,
                                 -0.00417768164f,  0.246640727f,    1.50140941f},
                       far[] = {-0.000200214257f, 0.000100950558f, 0.00134934322f,
                                -0.00367342844f,  0.00573950773f,  -0.0076224613f,
                                0.00943887047f,   1.00167406f,     2.83297682f};
    const float w = -logf((1 - x) * (1 + x));
    const float *c = w < 5 ? near : far, t = w < 5 ? w - 2.5f : sqrtf(w) - 3;
    float p = c[0];
    for (int i = 1; i < 9; i++)
        p = c[i] + p * t;
    return p * x;
}

static void normal_c(void *closure) {
    const Work *w = closure;
    float *to = w->to;
    for (int64_t i = 0; i < w->count; i++)
        to[i] = 1.41421356f * erf_inv(2 * float_of(word(i)) - 0.99999994f);
    __asm__ volatile("" ::: "memory");
}

/* ---- Rows ---- */

static void measure(Work *w,
                    const char *what,
                    const char *only,
                    void (*ours)(void *),
                    void (*plain)(void *)) {
    char row[64];
    snprintf(row, sizeof row, "random/%s/%s/%lld", what, pith_dtype_name(w->dtype),
             (long long)w->count);
    if (!bench_wanted(row, only))
        return;
    bench_row(row, "ns/element", 1e9 / (double)w->count, plain ? 2 : 1,
              (const bench_entry[]){{"pith", ours, w}, {"c", plain, w}});
    bench_check(w->s);
}

int main(int argc, char **argv) {
    const char *only = bench_only(argc, argv);
    pith_runtime *rt =
        pith_open(&(pith_open_options){.device = bench_device(), .threads = 1});
    pith_scope *s = pith_scope_open(rt);
    static const int64_t counts[] = {1000000, 10000000};
    Work w = {.s = s, .key = pith_random_key(s, 42), .to = malloc(80000000)};
    memset(w.to, 1, 80000000);
    for (int k = 0; k < 2; k++) {
        static const pith_dtype unsigned_dtypes[] = {PITH_U32, PITH_U64},
                                floats[] = {PITH_F32, PITH_F64};
        w.count = counts[k];
        for (int d = 0; d < 2; d++) {
            w.dtype = unsigned_dtypes[d];
            measure(&w, "bits", only, bits, bits_c);
            w.dtype = floats[d];
            measure(&w, "uniform", only, uniform, uniform_c);
            measure(&w, "normal", only, normal, d ? NULL : normal_c);
        }
    }
    free(w.to);
    pith_scope_close(s);
    pith_close(rt);
    return 0;
}
