/**
 * @file
 * Lanes for the inner sums of kernels: eight on every instruction set and on CUDA, so
 * that sums are added in the same order everywhere.
 *
 * Included by <pith/kernel.h>.
 */
#ifndef PITH_KERNEL_LANES_H
#define PITH_KERNEL_LANES_H

#include <pith/kernel.h>

#if PITH_KERNEL_PASS == PITH_PASS_V3 || PITH_KERNEL_PASS == PITH_PASS_V4
#    include <immintrin.h>
#    define PITH_LANES_AVX_
#endif

/** Lanes of an inner sum. */
#define PITH_LANES 8

/**
 * Loop over the lanes: pith_each_lane(q) { y[q] = a * x[q]; }
 *
 * Lanes run concurrently: an iteration accesses only its own lane of the elements that
 * the loop writes. A loop is fastest if all its operands have the same width.
 */
#define pith_each_lane(q) PITH_EACH_LANE_(q)
#if PITH_KERNEL_PASS == PITH_PASS_CUDA
#    define PITH_EACH_LANE_(q) _Pragma("unroll") for (int64_t q = 0; q < PITH_LANES; q++)
#elif PITH_KERNEL_PASS == PITH_PASS_DECLARE /* callers need not build with OpenMP */
#    define PITH_EACH_LANE_(q) for (int64_t q = 0; q < PITH_LANES; q++)
#else
#    define PITH_EACH_LANE_(q)                                                           \
        PITH_PRAGMA_(omp simd simdlen(8))                                                \
        for (int64_t q = 0; q < PITH_LANES; q++)
#endif

/* ---- Sums ---- */

#ifdef PITH_LANES_AVX_
PITH_INLINE_ double pith_total_4_(__m256d v) {
    const __m128d pair =
        _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
    return _mm_cvtsd_f64(_mm_add_sd(pair, _mm_unpackhi_pd(pair, pair)));
}
PITH_INLINE_ float pith_total_8_(__m256 v) {
    const __m128 four =
        _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    const __m128 pair = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(pair, _mm_movehdup_ps(pair)));
}
#endif

/** Sum of PITH_LANES float or double; the order is fixed: a tree over halves. */
PITH_HD float pith_sum_lanes_f32(const float *v) {
#ifdef PITH_LANES_AVX_
    return pith_total_8_(_mm256_loadu_ps(v));
#else
    return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
#endif
}
PITH_HD double pith_sum_lanes_f64(const double *v) {
#ifdef PITH_LANES_AVX_
    return pith_total_4_(_mm256_add_pd(_mm256_loadu_pd(v), _mm256_loadu_pd(v + 4)));
#else
    return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
#endif
}

#ifdef __cplusplus
PITH_HD float pith_sum_lanes(const float *v) {
    return pith_sum_lanes_f32(v);
}
PITH_HD double pith_sum_lanes(const double *v) {
    return pith_sum_lanes_f64(v);
}
#else
#    define pith_sum_lanes(v)                                                            \
        _Generic((v),                                                                    \
            float *: pith_sum_lanes_f32,                                                 \
            const float *: pith_sum_lanes_f32,                                           \
            double *: pith_sum_lanes_f64,                                                \
            const double *: pith_sum_lanes_f64)(v)
#endif

/**
 * A sum of products in lanes: pith_lane_sum s = {0}; then pith_add_products in a loop,
 * then pith_total. It stays in registers; compilers do not manage that for an array.
 */
typedef struct pith_lane_sum {
#if PITH_KERNEL_PASS == PITH_PASS_V4 && !defined(PITH_KERNEL_REAL_IS_FLOAT_)
    __m512d v;
#elif defined(PITH_LANES_AVX_) && !defined(PITH_KERNEL_REAL_IS_FLOAT_)
    __m256d v, high;
#elif defined(PITH_LANES_AVX_)
    __m256 v;
#else
    pith_real v[PITH_LANES];
#endif
} pith_lane_sum;

/** Add x[q] * y[q] to every lane q, by fused multiply-add. */
PITH_HD void pith_add_products(pith_lane_sum *s, const pith_real *x, const pith_real *y) {
#if PITH_KERNEL_PASS == PITH_PASS_V4 && !defined(PITH_KERNEL_REAL_IS_FLOAT_)
    s->v = _mm512_fmadd_pd(_mm512_loadu_pd(x), _mm512_loadu_pd(y), s->v);
#elif defined(PITH_LANES_AVX_) && !defined(PITH_KERNEL_REAL_IS_FLOAT_)
    s->v = _mm256_fmadd_pd(_mm256_loadu_pd(x), _mm256_loadu_pd(y), s->v);
    s->high = _mm256_fmadd_pd(_mm256_loadu_pd(x + 4), _mm256_loadu_pd(y + 4), s->high);
#elif defined(PITH_LANES_AVX_)
    s->v = _mm256_fmadd_ps(_mm256_loadu_ps(x), _mm256_loadu_ps(y), s->v);
#else
    pith_each_lane(q) s->v[q] = pith_real_fma(x[q], y[q], s->v[q]);
#endif
}

/** The sum over the lanes, in the order of pith_sum_lanes. */
PITH_HD pith_real pith_total(const pith_lane_sum *s) {
#if PITH_KERNEL_PASS == PITH_PASS_V4 && !defined(PITH_KERNEL_REAL_IS_FLOAT_)
    return pith_total_4_(
        _mm256_add_pd(_mm512_castpd512_pd256(s->v), _mm512_extractf64x4_pd(s->v, 1)));
#elif defined(PITH_LANES_AVX_) && !defined(PITH_KERNEL_REAL_IS_FLOAT_)
    return pith_total_4_(_mm256_add_pd(s->v, s->high));
#elif defined(PITH_LANES_AVX_)
    return pith_total_8_(s->v);
#else
    return pith_sum_lanes(s->v);
#endif
}

/* ---- Gathers ---- */

/**
 * Gather a number for each lane: to[q] = from[step * index[q]].
 *
 * For rows of an array [n, 3], step is 3 and from is the address of the first x, y or z.
 * Products of step and index are less than 2^31.
 */
PITH_HD void pith_gather_lanes(pith_real *to,
                               const pith_real *from,
                               const int32_t *index,
                               int32_t step) {
#if PITH_KERNEL_PASS == PITH_PASS_V4
    const __m256i items = _mm256_loadu_si256((const __m256i_u *)index);
    const __m256i at = _mm256_mullo_epi32(items, _mm256_set1_epi32(step));
    /* The asm hides source and mask from the compiler, which would drop them. They cut
     * the dependency on the last value of the register, which costs more than the gather.
     */
    __mmask8 all = 0xff;
    __asm__("" : "+Yk"(all));
#    ifdef PITH_KERNEL_REAL_IS_FLOAT_
    __m256 none = _mm256_setzero_ps();
    __asm__("" : "+v"(none));
    _mm256_storeu_ps(to, _mm256_mmask_i32gather_ps(none, all, at, from, 4));
#    else
    __m512d none = _mm512_setzero_pd();
    __asm__("" : "+v"(none));
    _mm512_storeu_pd(to, _mm512_mask_i32gather_pd(none, all, at, from, 8));
#    endif
#else
    for (int q = 0; q < PITH_LANES; q++)
        to[q] = from[step * index[q]];
#endif
}

/* Not for doubles in AVX2: scalar loads are as fast there. */
#if PITH_KERNEL_PASS == PITH_PASS_V4 ||                                                  \
    (defined(PITH_LANES_AVX_) && defined(PITH_KERNEL_REAL_IS_FLOAT_))
#    define PITH_LANES_BY_ROWS_
/* A row x, y, z, and 0. Elements after the row are not read. */
#    if defined(PITH_KERNEL_REAL_IS_FLOAT_)
PITH_INLINE_ __m128 pith_row_(const float *row) {
    return _mm_maskload_ps(row, _mm_setr_epi32(-1, -1, -1, 0));
}
/* Rows of two lanes, side by side. */
PITH_INLINE_ __m256 pith_two_rows_(const float *low, const float *high) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(pith_row_(low)), pith_row_(high),
                                1);
}
#    else
PITH_INLINE_ __m512d pith_two_rows_(const double *low, const double *high) {
    const __m512d first = _mm512_castpd256_pd512(_mm256_maskz_loadu_pd(7, low));
    return _mm512_insertf64x4(first, _mm256_maskz_loadu_pd(7, high), 1);
}
#    endif
#endif

/**
 * Gather a row of an array [n, 3] for each lane: x[q] = from[3 * row[q]], and y[q] and
 * z[q] from the two elements after it.
 *
 * Equal to three calls of pith_gather_lanes, but faster if whole rows can be loaded. 3 *
 * row[q] is less than 2^31.
 */
PITH_HD void pith_gather_rows(pith_real *x,
                              pith_real *y,
                              pith_real *z,
                              const pith_real *from,
                              const int32_t *row) {
#ifdef PITH_LANES_BY_ROWS_
    const pith_real *at[PITH_LANES];
    int32_t index[PITH_LANES];
    for (int q = 0; q < PITH_LANES; q++)
        index[q] = row[q];
    /* Forces the indices to memory: extracting them from a vector would occupy the units
     * that the shuffles below need. */
    __asm__("" : "+m"(index));
    for (int q = 0; q < PITH_LANES; q++)
        at[q] = &from[3 * (int64_t)index[q]];
#    if defined(PITH_KERNEL_REAL_IS_FLOAT_)
    const __m256 a = pith_two_rows_(at[0], at[4]), b = pith_two_rows_(at[1], at[5]);
    const __m256 c = pith_two_rows_(at[2], at[6]), d = pith_two_rows_(at[3], at[7]);
    const __m256 ab = _mm256_unpacklo_ps(a, b), cd = _mm256_unpacklo_ps(c, d);
    _mm256_storeu_ps(x, _mm256_shuffle_ps(ab, cd, 0x44));
    _mm256_storeu_ps(y, _mm256_shuffle_ps(ab, cd, 0xee));
    _mm256_storeu_ps(
        z, _mm256_shuffle_ps(_mm256_unpackhi_ps(a, b), _mm256_unpackhi_ps(c, d), 0x44));
#    else
    const __m512d a = pith_two_rows_(at[0], at[2]), b = pith_two_rows_(at[1], at[3]);
    const __m512d c = pith_two_rows_(at[4], at[6]), d = pith_two_rows_(at[5], at[7]);
    const __m512d ab = _mm512_unpacklo_pd(a, b), cd = _mm512_unpacklo_pd(c, d);
    _mm512_storeu_pd(x, _mm512_shuffle_f64x2(ab, cd, 0x88));
    _mm512_storeu_pd(z, _mm512_shuffle_f64x2(ab, cd, 0xdd));
    _mm512_storeu_pd(y, _mm512_shuffle_f64x2(_mm512_unpackhi_pd(a, b),
                                             _mm512_unpackhi_pd(c, d), 0x88));
#    endif
#else
    pith_gather_lanes(x, from, row, 3);
    pith_gather_lanes(y, from + 1, row, 3);
    pith_gather_lanes(z, from + 2, row, 3);
#endif
}

/* ---- Lists ---- */

#ifdef PITH_LANES_AVX_
/* Nonzero integers among eight, as a mask with one bit each. */
PITH_INLINE_ unsigned pith_lane_mask_(const int32_t *v) {
    const __m256i all = _mm256_loadu_si256((const __m256i_u *)v);
#    if PITH_KERNEL_PASS == PITH_PASS_V4
    return _mm256_test_epi32_mask(all, all);
#    else
    const __m256i none = _mm256_cmpeq_epi32(all, _mm256_setzero_si256());
    return ~(unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(none)) & 0xffu;
#    endif
}
/* Compress: the items whose bit is set, moved to the front. */
PITH_INLINE_ __m256i pith_compress_(__m256i items, unsigned mask) {
#    if PITH_KERNEL_PASS == PITH_PASS_V4
    return _mm256_maskz_compress_epi32((__mmask8)mask, items);
#    else
    const uint64_t bytes = _pdep_u64(mask, 0x0101010101010101u) * 0xffu;
    const uint64_t lanes = _pext_u64(0x0706050403020100u, bytes);
    const __m256i order = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((int64_t)lanes));
    return _mm256_permutevar8x32_epi32(items, order);
#    endif
}
#endif

/**
 * Append the items of the lanes whose keep is not 0 to a list, in the order of lanes.
 *
 * to[at] to to[at + PITH_LANES - 1] must exist: elements after the appended items are
 * overwritten too.
 *
 * @return at plus the number of items appended.
 */
PITH_HD int64_t pith_append_lanes(int32_t *to,
                                  int64_t at,
                                  const int32_t *item,
                                  const int32_t *keep) {
#ifdef PITH_LANES_AVX_
    const unsigned mask = pith_lane_mask_(keep);
    const __m256i items = _mm256_loadu_si256((const __m256i_u *)item);
    _mm256_storeu_si256((__m256i_u *)(to + at), pith_compress_(items, mask));
    return at + __builtin_popcount(mask);
#else
    for (int q = 0; q < PITH_LANES; q++) {
        to[at] = item[q];
        at += keep[q] != 0;
    }
    return at;
#endif
}

#ifdef PITH_LANES_AVX_
/* A mask of the lanes whose value is below the limit. */
PITH_INLINE_ unsigned pith_below_(const float *value, float limit) {
    const __m256 values = _mm256_loadu_ps(value), limits = _mm256_set1_ps(limit);
#    if PITH_KERNEL_PASS == PITH_PASS_V4
    return _mm256_cmp_ps_mask(values, limits, _CMP_LT_OQ);
#    else
    return (unsigned)_mm256_movemask_ps(_mm256_cmp_ps(values, limits, _CMP_LT_OQ));
#    endif
}
#endif

/** Number of lanes whose value is below the limit; NaN is not below. */
PITH_HD int32_t pith_count_below(const float *value, float limit) {
#ifdef PITH_LANES_AVX_
    return __builtin_popcount(pith_below_(value, limit));
#else
    int32_t count = 0;
    for (int q = 0; q < PITH_LANES; q++)
        count += value[q] < limit;
    return count;
#endif
}

/**
 * Append the items of the lanes whose value is below the limit, as pith_append_lanes. NaN
 * is not below.
 */
PITH_HD int64_t pith_append_below(int32_t *to,
                                  int64_t at,
                                  const int32_t *item,
                                  const float *value,
                                  float limit) {
#ifdef PITH_LANES_AVX_
    const unsigned mask = pith_below_(value, limit);
    const __m256i items = _mm256_loadu_si256((const __m256i_u *)item);
    _mm256_storeu_si256((__m256i_u *)(to + at), pith_compress_(items, mask));
    return at + __builtin_popcount(mask);
#else
    for (int q = 0; q < PITH_LANES; q++) {
        to[at] = item[q];
        at += value[q] < limit;
    }
    return at;
#endif
}

#endif
