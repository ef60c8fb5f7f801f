/* Products of small matrices in emitted text: the order of block/product.h for sums of at
 * most one span. After a prologue. */
#ifndef PITHP_MULTIPLY_H
#define PITHP_MULTIPLY_H

/* x y + z, rounded once where the processor does so */
#ifdef __FMA__
#    define M_MULTIPLY_ADD(x, y, z) m_fused(x, y, z)
#else
#    define M_MULTIPLY_ADD(x, y, z) ((x) * (y) + (z))
#endif
#define m_fused(x, y, z) M_REAL(m_fused, x)(x, y, z)

/* The product of two vectors, by lanes, all of which are added in halves. used: the least
 * power of two that is not below the number of terms, and at most LANES. Lanes beyond are
 * zeros: adding them makes a zero positive, and nothing else. */
#define M_DOT(T, LANES)                                                                  \
    M_FN T m_dot_##T(const T *x, const T *y, i64 terms, i64 used) {                      \
        const i64 whole = terms / LANES * LANES;                                         \
        T lanes[LANES];                                                                  \
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
        for (i64 half = used / 2; half; half /= 2) {                                     \
            M_LOOP                                                                       \
            for (i64 l = 0; l < half; l++)                                               \
                lanes[l] = lanes[l] + lanes[l + half];                                   \
        }                                                                                \
        return used < LANES ? lanes[0] + 0 : lanes[0];                                   \
    }

#endif
