/**
 * @file
 * Kernels: one source text in plain C for every instruction set of the host, nvcc and
 * NVRTC.
 *
 * A kernel file holds kernels. A kernel's body is the work of one index:
 *
 *     #include <pith/kernel.h>
 *
 *     PITH_KERNEL(scale, over(i, n),
 *         in(real, x, "[n,3]"), value(real, factor), out(real, y, "[n,3]"))
 *     {
 *         for (int k = 0; k < 3; k++)
 *             y[3 * i + k] = factor * x[3 * i + k];
 *     }
 *
 * The CMake function pith_add_kernels(target file.h REAL f32 f64) compiles it. Any source
 * of the target includes the same file and calls the kernel as a typed C function:
 *
 *     const pith_array *y = pith_launch(s, scale, x, 2.0).y;
 *
 * A launch checks dtypes, ranks and extents, makes the out arrays and runs the body for
 * every index. The compiler checks the number of arguments and their C types. Arrays stay
 * immutable: a kernel writes only to the arrays that its launch makes.
 *
 * over(i, n): i runs from 0 to n - 1. over(i, n, j, m): every pair, j the fastest.
 *
 * Arguments: the declaration, its form in the body, and its form in the call:
 *
 * - in(dtype, x, "[n,3]"): const T *x; an array.
 * - out(dtype, x, "[n,3]"): T *x, uninitialised; a member of the result.
 * - out(dtype, x, "[n]", 0): T *x, all set to 0; a member of the result.
 * - inout(dtype, x, "[n]"): T *x, a copy; an array, and a member of the result.
 * - value(dtype, a): T a; a C scalar.
 * - extent(m): int64_t m; an int64_t, which extents may name.
 * - size(n): int64_t n; no argument: the arrays determine it.
 *
 * dtype: bool, i8 to i64, u8 to u64, f16, bf16, f32, f64, or real. In the body real is
 * pith_real. The file is compiled once for each dtype of its real, and a launch uses the
 * dtype of its first real array. T of bool is bool of C: a stored value becomes 0 or 1.
 * An extent is a number, a name, k*name, name+k, name-k or k*name+k; a name has one value
 * in a launch; "[]" is rank 0. A body has 1 to 24 arguments.
 *
 * Rules for a body. It runs once per index, in any order, on any thread. So it writes
 * only elements that belong to its index, and every element of an out without a fill.
 * Integer atomics may count and reserve slots, but the slot number must not order
 * results: the order of arrival differs from run to run. Sums of floating point numbers
 * run in the fixed lanes of <pith/kernel_lanes.h>, never through atomics. Arrays are
 * C-ordered and never alias. The name of a kernel is the prefix of five other names:
 * _body, _args, _result, _launch and _kernel.
 *
 * Checked build: pith_add_kernels(... CHECKED ON), or the CMake variable
 * PITH_KERNEL_CHECKED for all. The source does not change. A launch on the host then
 * finds the first fault of a body and names the kernel, the argument, the element and the
 * index:
 *
 * - an access out of range of an array (PITH_E_INDEX), also in a function that gets a
 *   pointer; the access is not performed;
 * - an element of an out without a fill that no index writes, or that is read before it
 *   is written;
 * - a data race: an element that two indices write, or one writes and another reads
 *   (PITH_E_CHECK). Atomic operations of several indices may access one element; an
 *   atomic operation and a plain access may not;
 * - a write to an in.
 *
 * Elements count in C order from 0. A checked launch runs on one thread, on copies of its
 * arrays, index by index, many times slower. It uses the plain instruction set. Accesses
 * to arrays that the body declares are not checked. On CUDA a checked kernel runs
 * unchecked, and the log says so once. Without CHECKED the machine code has no trace of
 * the checks.
 */
#ifndef PITH_KERNEL_H
#define PITH_KERNEL_H

#include <pith/kernel_checked.h>
#include <pith/kernel_macros.h>

/* ---- Declaration and launch ---- */

/** Declare a kernel; its body follows in braces. See the top of this file. */
#define PITH_KERNEL(...) PITH_KERNEL_1_(__VA_ARGS__)

/**
 * Launch a kernel: pith_launch(s, name, arguments...).
 *
 * A check of the body that fails (PITH_E_CHECK, PITH_E_CAPACITY) becomes an error of the
 * scope at the next call that synchronises: reading a value, a save, a wait.
 *
 * @par Errors
 * Errors name the kernel and the argument. PITH_E_ARG: an array is NULL or of another
 * runtime, an extent is negative, or runtimes are mixed. PITH_E_DTYPE, PITH_E_SHAPE: an
 * array does not fit its declaration, or the file was not compiled for this real.
 * PITH_E_UNSUPPORTED: it was not compiled for this device.
 *
 * @return A struct name_result whose members are the out and inout arrays, owned by @p s,
 * or NULL after an error.
 */
#define pith_launch(s, ...) PITH_LAUNCH_(s, PITH_DTYPE_NONE, __VA_ARGS__)

/** As pith_launch, for a kernel whose array arguments do not determine its real:
 * pith_launch_dtype(s, dtype, name, arguments...). */
#define pith_launch_dtype(s, dtype, ...) PITH_LAUNCH_(s, dtype, __VA_ARGS__)

/* ---- For bodies ---- */

/** Qualifiers of a function that bodies call. */
#define PITH_HD PITH_INLINE_

/**
 * Require a condition at this index, or record a failed check and leave the body.
 *
 * The launch reports the first failing check in the source, the least index at which it
 * failed and the greatest need. The report does not depend on the number of threads.
 * Arrays of a launch with a failed check hold no result. Later launches run on them
 * before the failure is seen, so a body that makes indices or counts sets them to safe
 * values before it may leave. Use it only in a body itself, not in a function that it
 * calls.
 *
 * Speed: the loop over indices is not vectorised. In a kernel of one line the cost is a
 * factor of 1.65, with a safe store before it 2.2 (docs/howto/write-a-kernel.md).
 */
#define pith_require(condition, need)                                                    \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            pith_report_failure_(pith_report_, pith_index_, (int64_t)(need), 0,          \
                                 __LINE__, 0);                                           \
            return;                                                                      \
        }                                                                                \
    } while (0)

/**
 * Require that a size(name) or extent(name) of the kernel is at least @p need.
 *
 * As pith_require, with PITH_E_CAPACITY. The message names the size, its value and the
 * greatest need.
 */
#define pith_require_capacity(name, need)                                                \
    do {                                                                                 \
        const int64_t pith_need_ = (int64_t)(need);                                      \
        if (pith_need_ > (name)) {                                                       \
            pith_report_failure_(pith_report_, pith_index_, pith_need_, (name),          \
                                 __LINE__, 1 + pith_offset_##name##_);                   \
            return;                                                                      \
        }                                                                                \
    } while (0)

/* Atomics: pith_atomic_add, _min, _max(pointer, value) on int32_t, int64_t, uint32_t and
 * uint64_t return the old value. The rules at the top limit their use. */
#if PITH_KERNEL_PASS == PITH_PASS_CUDA
#    define PITH_ATOMICS_(name, type, device)                                            \
        PITH_HD type pith_atomic_add_##name(type *p, type value) {                       \
            return (type)atomicAdd((unsigned device *)p, (unsigned device)value);        \
        }                                                                                \
        PITH_HD type pith_atomic_min_##name(type *p, type value) {                       \
            return (type)atomicMin((PITH_ATOMIC_##name *)p, value);                      \
        }                                                                                \
        PITH_HD type pith_atomic_max_##name(type *p, type value) {                       \
            return (type)atomicMax((PITH_ATOMIC_##name *)p, value);                      \
        }
#    define PITH_ATOMIC_i32 int
#    define PITH_ATOMIC_i64 long long
#    define PITH_ATOMIC_u32 unsigned
#    define PITH_ATOMIC_u64 unsigned long long
#else
#    define PITH_ATOMICS_(name, type, device)                                            \
        PITH_HD type pith_atomic_add_##name(type *p, type value) {                       \
            return __atomic_fetch_add(p, value, __ATOMIC_RELAXED);                       \
        }                                                                                \
        PITH_HD type pith_atomic_min_##name(type *p, type value) {                       \
            type old = __atomic_load_n(p, __ATOMIC_RELAXED);                             \
            while (value < old &&                                                        \
                   !__atomic_compare_exchange_n(p, &old, value, 1, __ATOMIC_RELAXED,     \
                                                __ATOMIC_RELAXED))                       \
                continue;                                                                \
            return old;                                                                  \
        }                                                                                \
        PITH_HD type pith_atomic_max_##name(type *p, type value) {                       \
            type old = __atomic_load_n(p, __ATOMIC_RELAXED);                             \
            while (value > old &&                                                        \
                   !__atomic_compare_exchange_n(p, &old, value, 1, __ATOMIC_RELAXED,     \
                                                __ATOMIC_RELAXED))                       \
                continue;                                                                \
            return old;                                                                  \
        }
#endif
PITH_ATOMICS_(i32, int32_t, int)
PITH_ATOMICS_(i64, int64_t, long long)
PITH_ATOMICS_(u32, uint32_t, int)
PITH_ATOMICS_(u64, uint64_t, long long)
#undef PITH_ATOMICS_

/* The functions above, selected by the type of their first argument. */
#ifdef __cplusplus
#    define PITH_OVERLOADS_(name, type)                                                  \
        PITH_HD type pith_atomic_add(type *p, type v) {                                  \
            return pith_atomic_add_##name(p, v);                                         \
        }                                                                                \
        PITH_HD type pith_atomic_min(type *p, type v) {                                  \
            return pith_atomic_min_##name(p, v);                                         \
        }                                                                                \
        PITH_HD type pith_atomic_max(type *p, type v) {                                  \
            return pith_atomic_max_##name(p, v);                                         \
        }
PITH_OVERLOADS_(i32, int32_t)
PITH_OVERLOADS_(i64, int64_t)
PITH_OVERLOADS_(u32, uint32_t)
PITH_OVERLOADS_(u64, uint64_t)
#    undef PITH_OVERLOADS_
#else
#    define PITH_ATOMIC_(what, p)                                                        \
        _Generic((p), int32_t *                                                          \
                 : pith_atomic_##what##_i32, int64_t *                                   \
                 : pith_atomic_##what##_i64, uint32_t *                                  \
                 : pith_atomic_##what##_u32, uint64_t *                                  \
                 : pith_atomic_##what##_u64)
#    define pith_atomic_add(p, value) PITH_ATOMIC_(add, p)(p, value)
#    define pith_atomic_min(p, value) PITH_ATOMIC_(min, p)(p, value)
#    define pith_atomic_max(p, value) PITH_ATOMIC_(max, p)(p, value)
#endif

/* Reinterpretation between a float and its bits. */
#if PITH_KERNEL_PASS == PITH_PASS_CUDA
PITH_HD uint32_t pith_float_bits(float x) {
    return __float_as_uint(x);
}
PITH_HD float pith_float_of_bits(uint32_t bits) {
    return __uint_as_float(bits);
}
#else
PITH_HD uint32_t pith_float_bits(float x) {
    uint32_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}
PITH_HD float pith_float_of_bits(uint32_t bits) {
    float x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}
#endif

/** The value of an element of a bf16 array. */
PITH_HD float pith_bf16_load(uint16_t bits) {
    return pith_float_of_bits((uint32_t)bits << 16);
}
/** Round to the nearest bf16, ties to even; NaN stays NaN. */
PITH_HD uint16_t pith_bf16_store(float x) {
    const uint32_t bits = pith_float_bits(x);
    const uint32_t even = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    return (uint16_t)(x != x ? bits >> 16 | 0x40u : even);
}
/** The value of an element of an f16 array. */
PITH_HD float pith_f16_load(uint16_t bits) {
    const uint32_t sign = (uint32_t)(bits & 0x8000u) << 16, rest = bits & 0x7fffu;
    const float small =
        (float)rest * 5.9604644775390625e-8f; /* subnormal: units of 2^-24 */
    const uint32_t large = (rest << 13) + (rest >= 0x7c00u ? 0x70000000u : 0x38000000u);
    return pith_float_of_bits(sign | (rest < 0x400u ? pith_float_bits(small) : large));
}
/** Round to the nearest f16, ties to even; overflow gives infinity, NaN stays NaN. */
PITH_HD uint16_t pith_f16_store(float x) {
    const uint32_t bits = pith_float_bits(x), sign = bits >> 16 & 0x8000u;
    const uint32_t rest = bits & 0x7fffffffu;
    /* Adding 0.5 leaves the subnormal f16 in the low bits; the addition rounds it. */
    const uint32_t small = pith_float_bits(pith_float_of_bits(rest) + 0.5f) - 0x3f000000u;
    const uint32_t normal = (rest - 0x38000000u + 0xfffu + (rest >> 13 & 1u)) >> 13;
    const uint32_t large = rest > 0x7f800000u ? 0x7e00u | (rest >> 13 & 0x3ffu) : 0x7c00u;
    return (uint16_t)(sign | (rest < 0x38800000u   ? small
                              : rest < 0x477ff000u ? normal
                                                   : large));
}

/* pith_real_sqrt(x) and so on: the functions of <math.h> on pith_real. The first list,
 * pith_real_fmin and pith_real_fmax give the same bits on every device. The second list
 * is the platform's library. */
#if defined(PITH_KERNEL_REAL_IS_FLOAT_)
#    define PITH_REAL_MATH_(name) name##f
#else
#    define PITH_REAL_MATH_(name) name
#endif
#define PITH_REAL_1_(name)                                                               \
    PITH_HD pith_real pith_real_##name(pith_real x) {                                    \
        return PITH_REAL_MATH_(name)(x);                                                 \
    }
#define PITH_REAL_2_(name)                                                               \
    PITH_HD pith_real pith_real_##name(pith_real x, pith_real y) {                       \
        return PITH_REAL_MATH_(name)(x, y);                                              \
    }
#define PITH_REAL_3_(name)                                                               \
    PITH_HD pith_real pith_real_##name(pith_real x, pith_real y, pith_real z) {          \
        return PITH_REAL_MATH_(name)(x, y, z);                                           \
    }
PITH_REAL_1_(sqrt)
PITH_REAL_1_(fabs)
PITH_REAL_1_(floor)
PITH_REAL_1_(ceil)
PITH_REAL_1_(trunc)
PITH_REAL_1_(rint)
PITH_REAL_3_(fma) /* x * y + z, rounded once; slow without an FMA instruction */

PITH_REAL_1_(exp)
PITH_REAL_1_(log)
PITH_REAL_1_(sin)
PITH_REAL_1_(cos)
PITH_REAL_2_(pow)
#undef PITH_REAL_1_
#undef PITH_REAL_2_
#undef PITH_REAL_3_
#undef PITH_REAL_MATH_

/** The smaller number, as pith_fmin: if one argument is NaN, the other; of 0 and -0, the
 * second. It compares, because <math.h> and PTX leave the sign of zero and the bits of
 * NaN unspecified and differ. */
PITH_HD pith_real pith_real_fmin(pith_real x, pith_real y) {
    return ((x < y) | (y != y)) ? x : y;
}
/** The larger number, as pith_fmax; otherwise as pith_real_fmin. */
PITH_HD pith_real pith_real_fmax(pith_real x, pith_real y) {
    return ((x > y) | (y != y)) ? x : y;
}

#include <pith/kernel_lanes.h>

#endif
