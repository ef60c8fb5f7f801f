/* Reducers: element type, accumulator, identity and combiner of each reduction. One list
 * serves the host's block loops, which define the order (host/vector/reduce.c), and
 * generated text, which keeps it. Needs a prologue. */
#ifndef PITH_PROGRAM_SOURCE_REDUCERS_H
#define PITH_PROGRAM_SOURCE_REDUCERS_H

/* Narrow integers wrap in an unsigned type that does not promote to a signed one. */
#define M_SUM_8(a, b)   ((u8)((u32)(a) + (b)))
#define M_SUM_16(a, b)  ((u16)((u32)(a) + (b)))
#define M_PROD_8(a, b)  ((u8)((u32)(a) * (b)))
#define M_PROD_16(a, b) ((u16)((u32)(a) * (b)))
#define M_TRUE_8(x)     ((u8)((x) != 0))
#define M_TRUE_16(x)    ((u16)((x) != 0))
#define M_TRUE_32(x)    ((u32)((x) != 0))
#define M_TRUE_64(x)    ((u64)((x) != 0))
#define M_TRUE_HALF(x)  ((u16)(((x)&0x7FFF) != 0))

/* X(name, element type, accumulator type, conversion of an element, identity, combiner).
 * The name is operation_dtype. Signed and unsigned integers, or all types of one size,
 * may share a row. */
#define M_REDUCERS(X)                                                                    \
    M_REDUCERS_OF_EXTREMES(X) M_REDUCERS_OF_WIDENED(X) M_REDUCERS_OF_OTHERS(X)
/* f32 with f64 accumulators */
#define M_REDUCERS_OF_WIDENED(X)                                                         \
    X(sum_f32, f32, f64, M_AS_F64, 0, M_SUM)                                             \
    X(prod_f32, f32, f64, M_AS_F64, 1, M_PROD)
/* minimum and maximum of floats */
#define M_REDUCERS_OF_EXTREMES(X)                                                        \
    X(min_f16, f16, f32, m_load_f16, __builtin_inff(), M_MIN_REAL)                       \
    X(min_bf16, bf16, f32, m_load_bf16, __builtin_inff(), M_MIN_REAL)                    \
    X(min_f32, f32, f32, M_SAME, __builtin_inff(), M_MIN_REAL)                           \
    X(min_f64, f64, f64, M_SAME, __builtin_inf(), M_MIN_REAL)                            \
    X(max_f16, f16, f32, m_load_f16, -__builtin_inff(), M_MAX_REAL)                      \
    X(max_bf16, bf16, f32, m_load_bf16, -__builtin_inff(), M_MAX_REAL)                   \
    X(max_f32, f32, f32, M_SAME, -__builtin_inff(), M_MAX_REAL)                          \
    X(max_f64, f64, f64, M_SAME, -__builtin_inf(), M_MAX_REAL)
#define M_REDUCERS_OF_OTHERS(X)                                                          \
    X(sum_u8, u8, u8, M_SAME, 0, M_SUM_8)                                                \
    X(sum_u16, u16, u16, M_SAME, 0, M_SUM_16)                                            \
    X(sum_u32, u32, u32, M_SAME, 0, M_SUM)                                               \
    X(sum_u64, u64, u64, M_SAME, 0, M_SUM)                                               \
    X(sum_f16, f16, f64, M_F16_F64, 0, M_SUM)                                            \
    X(sum_bf16, bf16, f64, M_BF_F64, 0, M_SUM)                                           \
    X(sum_f64, f64, f64, M_SAME, 0, M_SUM)                                               \
    X(prod_u8, u8, u8, M_SAME, 1, M_PROD_8)                                              \
    X(prod_u16, u16, u16, M_SAME, 1, M_PROD_16)                                          \
    X(prod_u32, u32, u32, M_SAME, 1, M_PROD)                                             \
    X(prod_u64, u64, u64, M_SAME, 1, M_PROD)                                             \
    X(prod_f16, f16, f64, M_F16_F64, 1, M_PROD)                                          \
    X(prod_bf16, bf16, f64, M_BF_F64, 1, M_PROD)                                         \
    X(prod_f64, f64, f64, M_SAME, 1, M_PROD)                                             \
    X(min_i8, i8, i8, M_SAME, 0x7F, M_MIN)                                               \
    X(min_i16, i16, i16, M_SAME, 0x7FFF, M_MIN)                                          \
    X(min_i32, i32, i32, M_SAME, 0x7FFFFFFF, M_MIN)                                      \
    X(min_i64, i64, i64, M_SAME, 0x7FFFFFFFFFFFFFFF, M_MIN)                              \
    X(min_u8, u8, u8, M_SAME, 0xFF, M_MIN)                                               \
    X(min_u16, u16, u16, M_SAME, 0xFFFF, M_MIN)                                          \
    X(min_u32, u32, u32, M_SAME, 0xFFFFFFFF, M_MIN)                                      \
    X(min_u64, u64, u64, M_SAME, 0xFFFFFFFFFFFFFFFF, M_MIN)                              \
    X(max_i8, i8, i8, M_SAME, -0x7F - 1, M_MAX)                                          \
    X(max_i16, i16, i16, M_SAME, -0x7FFF - 1, M_MAX)                                     \
    X(max_i32, i32, i32, M_SAME, -0x7FFFFFFF - 1, M_MAX)                                 \
    X(max_i64, i64, i64, M_SAME, -0x7FFFFFFFFFFFFFFF - 1, M_MAX)                         \
    X(max_u8, u8, u8, M_SAME, 0, M_MAX)                                                  \
    X(max_u16, u16, u16, M_SAME, 0, M_MAX)                                               \
    X(max_u32, u32, u32, M_SAME, 0, M_MAX)                                               \
    X(max_u64, u64, u64, M_SAME, 0, M_MAX)                                               \
    X(any_8, u8, u8, M_TRUE_8, 0, M_EITHER)                                              \
    X(any_16, u16, u16, M_TRUE_16, 0, M_EITHER)                                          \
    X(any_32, u32, u32, M_TRUE_32, 0, M_EITHER)                                          \
    X(any_64, u64, u64, M_TRUE_64, 0, M_EITHER)                                          \
    X(any_half, u16, u16, M_TRUE_HALF, 0, M_EITHER)                                      \
    X(any_f32, f32, u32, M_TRUE_32, 0, M_EITHER)                                         \
    X(any_f64, f64, u64, M_TRUE_64, 0, M_EITHER)                                         \
    X(all_8, u8, u8, M_TRUE_8, 1, M_BOTH)                                                \
    X(all_16, u16, u16, M_TRUE_16, 1, M_BOTH)                                            \
    X(all_32, u32, u32, M_TRUE_32, 1, M_BOTH)                                            \
    X(all_64, u64, u64, M_TRUE_64, 1, M_BOTH)                                            \
    X(all_half, u16, u16, M_TRUE_HALF, 1, M_BOTH)                                        \
    X(all_f32, f32, u32, M_TRUE_32, 1, M_BOTH)                                           \
    X(all_f64, f64, u64, M_TRUE_64, 1, M_BOTH)

/* Elements x[0], x[stride], ... of one block, n at most 4,096. */
#define M_REDUCE(name, dt, A, LOADED, IDENTITY, COMBINE)                                 \
    M_REDUCE_IN_ORDER(M_FN, reduce_##name, dt, A, LOADED, IDENTITY, COMBINE)
#define M_REDUCE_IN_ORDER(FN, name, dt, A, LOADED, IDENTITY, COMBINE)                    \
    FN A name(const dt *x, i64 stride, i64 n) {                                          \
        M_IN_ORDER(A, M_STRIDED, LOADED, IDENTITY, COMBINE)                              \
    }
#define M_STRIDED(LOADED, i) LOADED(x[(i)*stride])

/* Return the combination of n elements, AT(HOW, i) each, in the order of
 * host/vector/reduce.c, with all lanes side by side. With constant extents the compiler
 * keeps each level of the tree in registers. */
#define M_IN_ORDER(A, AT, HOW, IDENTITY, COMBINE)                                        \
    A lanes[64];                                                                         \
    i64 count = 64;                                                                      \
    if (n == 0)                                                                          \
        return IDENTITY;                                                                 \
    if (n <= 64) { /* the lowest level, combined while loading */                        \
        count = (n + 1) / 2;                                                             \
        M_LOOP                                                                           \
        for (i64 j = 0; j < n / 2; j++) {                                                \
            const A left = AT(HOW, 2 * j), right = AT(HOW, 2 * j + 1);                   \
            lanes[j] = COMBINE(left, right);                                             \
        }                                                                                \
        if (n % 2)                                                                       \
            lanes[n / 2] = AT(HOW, n - 1);                                               \
    } else {                                                                             \
        i64 i = 64;                                                                      \
        M_LOOP                                                                           \
        for (i64 j = 0; j < 64; j++)                                                     \
            lanes[j] = AT(HOW, j);                                                       \
        for (; i + 64 <= n; i += 64) {                                                   \
            M_LOOP                                                                       \
            for (i64 j = 0; j < 64; j++) {                                               \
                const A next = AT(HOW, i + j);                                           \
                lanes[j] = COMBINE(lanes[j], next);                                      \
            }                                                                            \
        }                                                                                \
        for (i64 j = 0; j < n - i; j++) {                                                \
            const A next = AT(HOW, i + j);                                               \
            lanes[j] = COMBINE(lanes[j], next);                                          \
        }                                                                                \
    }                                                                                    \
    M_HALVE(64, COMBINE)                                                                 \
    M_HALVE(32, COMBINE)                                                                 \
    M_HALVE(16, COMBINE)                                                                 \
    M_HALVE(8, COMBINE)                                                                  \
    M_HALVE(4, COMBINE)                                                                  \
    for (; count > 1; count = (count + 1) / 2) {                                         \
        for (i64 j = 0; j < count / 2; j++)                                              \
            lanes[j] = COMBINE(lanes[2 * j], lanes[2 * j + 1]);                          \
        if (count % 2)                                                                   \
            lanes[count / 2] = lanes[count - 1];                                         \
    }                                                                                    \
    const A none = IDENTITY;                                                             \
    return COMBINE(none, lanes[0]);
#define M_HALVE(whole, COMBINE)                                                          \
    if (count == whole) {                                                                \
        M_LOOP                                                                           \
        for (i64 j = 0; j < whole / 2; j++)                                              \
            lanes[j] = COMBINE(lanes[2 * j], lanes[2 * j + 1]);                          \
        count = whole / 2;                                                               \
    }

/* The same for integers, whose result does not depend on the order. */
#define M_REDUCE_FREELY(name, dt, A, LOADED, IDENTITY, COMBINE)                          \
    M_FN A reduce_##name(const dt *x, i64 stride, i64 n) {                               \
        A all = IDENTITY;                                                                \
        for (i64 i = 0; i < n; i++)                                                      \
            all = (A)COMBINE(all, LOADED(x[i * stride]));                                \
        return all;                                                                      \
    }

/* Whether any byte is nonzero, or all are; the identity selects which. Eight bytes are
 * tested as one word. For all: subtracting 1 from each byte makes the first zero byte
 * borrow, which sets its high bit. */
#define M_REDUCE_BYTES(name, dt, A, LOADED, IDENTITY, COMBINE)                           \
    M_FN A reduce_##name(const dt *x, i64 stride, i64 n) {                               \
        const u64 ones = 0x0101010101010101;                                             \
        const i64 words = stride == 1 ? n / 8 : 0;                                       \
        u64 found = 0;                                                                   \
        for (i64 k = 0; k < words; k++) {                                                \
            u64 word;                                                                    \
            __builtin_memcpy(&word, x + 8 * k, sizeof word);                             \
            found |= IDENTITY ? (word - ones) & ~word : word;                            \
        }                                                                                \
        A all = IDENTITY ? (found & ones << 7) == 0 : found != 0;                        \
        for (i64 i = 8 * words; i < n; i++)                                              \
            all = (A)COMBINE(all, LOADED(x[i * stride]));                                \
        return all;                                                                      \
    }

/* For numbers without NaN. */
#define M_MIN_REAL_NUMBER M_MIN
#define M_MAX_REAL_NUMBER M_MAX

/* Minimum and maximum of floats. The order matters only for NaN and zeros, so the
 * processor's own minimum decides all other results. */
#define M_REDUCE_EXTREME(name, dt, A, LOADED, IDENTITY, COMBINE)                         \
    M_REDUCE_IN_ORDER(static __attribute__((noinline, cold, unused)),                    \
                      reduce_in_order_##name, dt, A, LOADED, IDENTITY, COMBINE)          \
    M_FN A reduce_##name(const dt *x, i64 stride, i64 n) {                               \
        A lanes[64];                                                                     \
        i64 count = n < 64 ? n : 64, nans = 0;                                           \
        M_LOOP                                                                           \
        for (i64 j = 0; j < count; j++)                                                  \
            lanes[j] = LOADED(x[j * stride]);                                            \
        _Pragma("omp simd reduction(| : nans)") for (i64 j = 0; j < n / 2; j++) {        \
            const A one = LOADED(x[j * stride]),                                         \
                    other = LOADED(x[(n / 2 + j) * stride]);                             \
            nans |= __builtin_isunordered(one, other);                                   \
        }                                                                                \
        if (n % 2)                                                                       \
            nans |= LOADED(x[(n - 1) * stride]) != LOADED(x[(n - 1) * stride]);          \
        for (i64 i = 64; i < n; i += 64) {                                               \
            M_LOOP                                                                       \
            for (i64 j = 0; j < (n - i < 64 ? n - i : 64); j++) {                        \
                const A next = LOADED(x[(i + j) * stride]);                              \
                lanes[j] = COMBINE##_NUMBER(lanes[j], next);                             \
            }                                                                            \
        }                                                                                \
        M_HALVE_FREELY(64, COMBINE##_NUMBER)                                             \
        M_HALVE_FREELY(32, COMBINE##_NUMBER)                                             \
        M_HALVE_FREELY(16, COMBINE##_NUMBER)                                             \
        M_HALVE_FREELY(8, COMBINE##_NUMBER)                                              \
        M_HALVE_FREELY(4, COMBINE##_NUMBER)                                              \
        M_HALVE_FREELY(2, COMBINE##_NUMBER)                                              \
        return nans || n == 0 || lanes[0] == 0 ? reduce_in_order_##name(x, stride, n)    \
                                               : lanes[0];                               \
    }
#define M_HALVE_FREELY(most, COMBINE)                                                    \
    if (count > most / 2) {                                                              \
        const i64 kept = (count + 1) / 2;                                                \
        M_LOOP                                                                           \
        for (i64 j = 0; j < count / 2; j++)                                              \
            lanes[j] = COMBINE(lanes[j], lanes[kept + j]);                               \
        count = kept;                                                                    \
    }

#endif
