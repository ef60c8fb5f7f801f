/* Products of small matrices in generated text, in the order of host/vector/dot.h for
 * sums of at most one span. Needs a prologue. */
#ifndef PITH_PROGRAM_SOURCE_DOT_SMALL_H
#define PITH_PROGRAM_SOURCE_DOT_SMALL_H

/* x y + z, by fused multiply-add if the processor has it */
#ifdef __FMA__
#    define M_MULTIPLY_ADD(x, y, z) m_fused(x, y, z)
#else
#    define M_MULTIPLY_ADD(x, y, z) ((x) * (y) + (z))
#endif
#define m_fused(x, y, z) M_REAL(m_fused, x)(x, y, z)

/* Dot products by lanes. m_lanes adds the halves of the lanes until `left` lanes remain.
 * used: the least power of two that is at least the number of terms; at most LANES.
 * Unused lanes are zeros. Adding them only turns -0 into 0, which M_SIGNED does. */
#define M_DOT(T, LANES)                                                                  \
    M_FN void m_lanes_##T(const T *x, const T *y, i64 terms, i64 used, i64 left,         \
                          T *lanes) {                                                    \
        const i64 whole = terms / LANES * LANES;                                         \
        M_LOOP                                                                           \
        for (i64 l = 0; l < used; l++)                                                   \
            lanes[l] = 0;                                                                \
        for (i64 k = 0; k < whole; k += LANES) {                                         \
            M_LOOP                                                                       \
            for (i64 l = 0; l < LANES; l++)                                              \
                lanes[l] = M_MULTIPLY_ADD(x[k + l], y[k + l], lanes[l]);                 \
        }                                                                                \
        M_LOOP                                                                           \
        for (i64 l = 0; l < terms - whole; l++)                                          \
            lanes[l] = M_MULTIPLY_ADD(x[whole + l], y[whole + l], lanes[l]);             \
        for (i64 half = used / 2; half >= left; half /= 2) {                             \
            M_LOOP                                                                       \
            for (i64 l = 0; l < half; l++)                                               \
                lanes[l] = lanes[l] + lanes[l + half];                                   \
        }                                                                                \
    }                                                                                    \
    M_ROWS_##T(LANES) /* n rows of x, `pitch` elements apart, by y */                    \
        M_FN void m_dots_##T(const T *x, i64 pitch, const T *y, i64 terms, i64 used,     \
                             T *to, i64 n) {                                             \
        i64 i = 0;                                                                       \
        M_BY_ROWS_##T for (; i < n; i++) {                                               \
            T lanes[LANES];                                                              \
            m_lanes_##T(x + i * pitch, y, terms, used, 1, lanes);                        \
            to[i] = M_SIGNED(lanes[0], used, LANES);                                     \
        }                                                                                \
    }
#define M_SIGNED(sum, used, LANES) ((used) < LANES ? (sum) + 0 : (sum))

/* Several rows at once, as many as a vector has elements. Each row gives one vector of
 * lanes. Pairs of rows are shuffled into a vector of first halves and one of second
 * halves, and added, until one lane per row remains. The additions are the same as for
 * one row. There are a third as many moves, and the sums lie in one vector. */
#define M_ROWS(T, WIDE, LANES)                                                           \
    M_FN void m_rows_##T##_##WIDE(const T *x, i64 pitch, const T *y, i64 terms,          \
                                  i64 used, T *to) {                                     \
        m_##T##_##WIDE row[WIDE], sums;                                                  \
        _Pragma("GCC unroll 16") for (i64 r = 0; r < WIDE; r++) {                        \
            T lanes[LANES];                                                              \
            m_lanes_##T(x + r * pitch, y, terms, used, WIDE, lanes);                     \
            __builtin_memcpy(row + r, lanes, sizeof *row);                               \
        }                                                                                \
        sums = m_row_sums_##T##_##WIDE(row);                                             \
        sums = M_SIGNED(sums, used, LANES);                                              \
        __builtin_memcpy(to, &sums, sizeof sums);                                        \
    }
#define M_BY_ROWS(T, WIDE)                                                               \
    if (used >= WIDE)                                                                    \
        _Pragma("GCC unroll 2") for (; i + WIDE <= n; i += WIDE)                         \
            m_rows_##T##_##WIDE(x + i * pitch, pitch, y, terms, used, to + i);
#define M_ROWS_f32(LANES)
#define M_ROWS_f64(LANES)
#define M_BY_ROWS_f32
#define M_BY_ROWS_f64

/* Halves are 32 bytes, then 16, and then 16-byte lanes, within which shuffles are faster.
 * The order of the rows leaves the sums in order. */
#if defined(__AVX__) && defined(__has_builtin)
#    if __has_builtin(__builtin_shufflevector)
#        define M_VECTOR(T, WIDE)                                                        \
            typedef T m_##T##_##WIDE __attribute__((vector_size(WIDE * sizeof(T))));
#        define M_HALVES(name, V, FIRST, SECOND)                                         \
            M_FN V name(V a, V b) {                                                      \
                return __builtin_shufflevector(a, b, M_LIST FIRST) +                     \
                       __builtin_shufflevector(a, b, M_LIST SECOND);                     \
            }
#        define M_LIST(...) __VA_ARGS__
M_VECTOR(f32, 8)
M_VECTOR(f64, 4)
M_HALVES(m_16_f64_4, m_f64_4, (0, 1, 4, 5), (2, 3, 6, 7))
M_HALVES(m_8_f64_4, m_f64_4, (0, 4, 2, 6), (1, 5, 3, 7))
M_HALVES(m_16_f32_8, m_f32_8, (0, 1, 2, 3, 8, 9, 10, 11), (4, 5, 6, 7, 12, 13, 14, 15))
M_HALVES(m_8_f32_8, m_f32_8, (0, 1, 8, 9, 4, 5, 12, 13), (2, 3, 10, 11, 6, 7, 14, 15))
M_HALVES(m_4_f32_8, m_f32_8, (0, 2, 8, 10, 4, 6, 12, 14), (1, 3, 9, 11, 5, 7, 13, 15))
M_FN m_f64_4 m_row_sums_f64_4(const m_f64_4 *r) {
    return m_8_f64_4(m_16_f64_4(r[0], r[2]), m_16_f64_4(r[1], r[3]));
}
M_FN m_f32_8 m_row_sums_f32_8(const m_f32_8 *r) {
    return m_4_f32_8(m_8_f32_8(m_16_f32_8(r[0], r[4]), m_16_f32_8(r[1], r[5])),
                     m_8_f32_8(m_16_f32_8(r[2], r[6]), m_16_f32_8(r[3], r[7])));
}
#        undef M_ROWS_f32
#        undef M_ROWS_f64
#        undef M_BY_ROWS_f32
#        undef M_BY_ROWS_f64
#        ifdef __AVX512F__
M_VECTOR(f32, 16)
M_VECTOR(f64, 8)
M_HALVES(m_32_f64_8, m_f64_8, (0, 1, 2, 3, 8, 9, 10, 11), (4, 5, 6, 7, 12, 13, 14, 15))
M_HALVES(m_16_f64_8, m_f64_8, (0, 1, 4, 5, 8, 9, 12, 13), (2, 3, 6, 7, 10, 11, 14, 15))
M_HALVES(m_8_f64_8, m_f64_8, (0, 8, 2, 10, 4, 12, 6, 14), (1, 9, 3, 11, 5, 13, 7, 15))
M_HALVES(m_32_f32_16,
         m_f32_16,
         (0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23),
         (8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31))
M_HALVES(m_16_f32_16,
         m_f32_16,
         (0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27),
         (4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31))
M_HALVES(m_8_f32_16,
         m_f32_16,
         (0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29),
         (2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31))
M_HALVES(m_4_f32_16,
         m_f32_16,
         (0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30),
         (1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31))
M_FN m_f64_8 m_row_sums_f64_8(const m_f64_8 *r) {
    return m_8_f64_8(m_16_f64_8(m_32_f64_8(r[0], r[2]), m_32_f64_8(r[4], r[6])),
                     m_16_f64_8(m_32_f64_8(r[1], r[3]), m_32_f64_8(r[5], r[7])));
}
/* rows 0, 4, 8 and 12 from r on: each in a 16-byte lane */
M_FN m_f32_16 m_fours_f32_16(const m_f32_16 *r) {
    return m_16_f32_16(m_32_f32_16(r[0], r[4]), m_32_f32_16(r[8], r[12]));
}
M_FN m_f32_16 m_row_sums_f32_16(const m_f32_16 *r) {
    return m_4_f32_16(m_8_f32_16(m_fours_f32_16(r), m_fours_f32_16(r + 1)),
                      m_8_f32_16(m_fours_f32_16(r + 2), m_fours_f32_16(r + 3)));
}
#            define M_ROWS_f32(LANES) M_ROWS(f32, 16, LANES) M_ROWS(f32, 8, LANES)
#            define M_ROWS_f64(LANES) M_ROWS(f64, 8, LANES) M_ROWS(f64, 4, LANES)
#            define M_BY_ROWS_f32     M_BY_ROWS(f32, 16) M_BY_ROWS(f32, 8)
#            define M_BY_ROWS_f64     M_BY_ROWS(f64, 8) M_BY_ROWS(f64, 4)
#        else
#            define M_ROWS_f32(LANES) M_ROWS(f32, 8, LANES)
#            define M_ROWS_f64(LANES) M_ROWS(f64, 4, LANES)
#            define M_BY_ROWS_f32     M_BY_ROWS(f32, 8)
#            define M_BY_ROWS_f64     M_BY_ROWS(f64, 4)
#        endif
#    endif
#endif

#endif
