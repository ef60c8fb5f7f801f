/* Division of many dividends by one divisor, in generated text: multiplication by the
 * inverse, then two corrections.
 *
 * The quotient is correctly rounded if nothing underflows (Markstein, "Computation of
 * elementary functions on the IBM RISC System/6000 processor", 1990). A processor
 * multiplies ten times in the time of a division. Needs a prologue. */
#ifndef PITH_PROGRAM_SOURCE_DIVIDE_H
#define PITH_PROGRAM_SOURCE_DIVIDE_H

#ifdef __FMA__
#    define M_DIVIDES 1
#else
#    define M_DIVIDES 0
#endif

/* Exponent ranges of divisors and dividends in which that holds: quotients and remainders
 * are normal numbers. */
#define M_DIVIDE(F, U, SIGN, FRACTION, BIAS, DIVISOR, DIVIDEND)                          \
    M_FN b8 m_divides_##F(F b) {                                                         \
        const U size = m_bits_##F(b) & ~(SIGN);                                          \
        return M_DIVIDES && size >= (U)(BIAS - DIVISOR) << FRACTION &&                   \
               size <= (U)(BIAS + DIVISOR) << FRACTION;                                  \
    }                                                                                    \
    /* not 0: a is out of range; 0 is in range */                                        \
    M_FN U m_beyond_##F(F a) {                                                           \
        const U bits = m_bits_##F(a), least = (U)(BIAS - DIVIDEND) << FRACTION;          \
        return (U)(((bits & ~(SIGN)) - least > (U)(2 * DIVIDEND) << FRACTION) &          \
                   (bits != 0));                                                         \
    }                                                                                    \
    /* inverse: 1 / b, rounded */                                                        \
    M_FN F m_divided_##F(F a, F b, F inverse) {                                          \
        const F near = a * inverse;                                                      \
        const F next = m_fused_##F(m_fused_##F(-near, b, a), inverse, near);             \
        return m_fused_##F(m_fused_##F(-next, b, a), inverse, next);                     \
    }
M_DIVIDE(f32, u32, 1u << 31, 23, 127, 20, 60)
M_DIVIDE(f64, u64, (u64)1 << 63, 52, 1023, 400, 500)

#endif
