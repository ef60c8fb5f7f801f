/**
 * @file
 * Implementation of <pith/kernel.h>: passes over a kernel file, argument tables and
 * helpers.
 *
 * A kernel file is compiled several times. PITH_KERNEL_PASS selects the code that
 * PITH_KERNEL generates:
 *
 *   PITH_PASS_DECLARE   the typed launch function, for callers (the default)
 *   PITH_PASS_BASE      the host loop, the table of arguments and the kernel itself
 *   PITH_PASS_V3, _V4   the host loop for x86-64-v3 and x86-64-v4
 *   PITH_PASS_CUDA      the CUDA kernel and its handle (NVRTC: the kernel alone)
 *
 * PITH_KERNEL_REAL is f32 or f64 in the passes of a file that has a real. The base pass
 * gets these macros for linked passes: PITH_KERNEL_WITH_X86, PITH_KERNEL_WITH_CUDA, and,
 * in one pass of the reals, PITH_KERNEL_REALS (0 none, 1 f32, 2 f64, 3 both).
 * PITH_KERNEL_CHECKED, in all passes of a file, makes checked kernels. Their base pass is
 * compiled as <pith/kernel_checked.h> says, and they have no passes V3 and V4.
 */
#ifndef PITH_KERNEL_MACROS_H
#define PITH_KERNEL_MACROS_H

#define PITH_PASS_DECLARE 0
#define PITH_PASS_BASE    1
#define PITH_PASS_V3      3
#define PITH_PASS_V4      4
#define PITH_PASS_CUDA    9

#ifdef __CUDACC_RTC__
#    undef PITH_KERNEL_PASS
#    define PITH_KERNEL_PASS PITH_PASS_CUDA
#elif !defined(PITH_KERNEL_PASS)
#    define PITH_KERNEL_PASS PITH_PASS_DECLARE
#endif

#ifdef __CUDACC_RTC__
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
#    define PITH_OFFSET_(T, x) ((int)(unsigned long long)&((T *)0)->x)
#else
#    include <math.h>
#    include <pith/base.h>
#    define PITH_OFFSET_(T, x) ((int)offsetof(T, x))
#endif

#ifdef __cplusplus
#    define PITH_RESTRICT_  __restrict__
#    define PITH_C_LINKAGE_ extern "C"
#else
#    define PITH_RESTRICT_  restrict
#    define PITH_C_LINKAGE_ extern
#endif
#define PITH_UNUSED_    __attribute__((unused))
#define PITH_PRAGMA_(x) _Pragma(#x)
#if PITH_KERNEL_PASS == PITH_PASS_CUDA
#    define PITH_INLINE_ static __device__ __forceinline__ __attribute__((unused))
#    define PITH_COLD_   static __device__ __noinline__ __attribute__((unused))
#else
#    define PITH_INLINE_ static inline __attribute__((always_inline, unused))
#    define PITH_COLD_   static __attribute__((noinline, cold, unused))
#endif
#ifdef __clang__
#    define PITH_INDEPENDENT_ _Pragma("clang loop vectorize(assume_safety)")
#else
#    define PITH_INDEPENDENT_ _Pragma("GCC ivdep")
#endif

#define PITH_CAT_(a, b)           PITH_CAT_PASTE_(a, b)
#define PITH_CAT_PASTE_(a, b)     a##b
#define PITH_CAT3_(a, b, c)       PITH_CAT3_PASTE_(a, b, c)
#define PITH_CAT3_PASTE_(a, b, c) a##b##c

/* ---- dtypes: their C types, codes and operands ---- */

/* bool of the language, so that a stored value becomes 0 or 1. */
#ifdef __cplusplus
typedef bool pith_kernel_bool_;
#else
typedef _Bool pith_kernel_bool_;
#endif

/* bool is a macro in C, so its name may arrive as _Bool. */
#define PITH_CTYPE_bool  pith_kernel_bool_
#define PITH_CTYPE__Bool pith_kernel_bool_
#define PITH_CTYPE_i8    int8_t
#define PITH_CTYPE_i16   int16_t
#define PITH_CTYPE_i32   int32_t
#define PITH_CTYPE_i64   int64_t
#define PITH_CTYPE_u8    uint8_t
#define PITH_CTYPE_u16   uint16_t
#define PITH_CTYPE_u32   uint32_t
#define PITH_CTYPE_u64   uint64_t
#define PITH_CTYPE_f16   uint16_t
#define PITH_CTYPE_bf16  uint16_t
#define PITH_CTYPE_f32   float
#define PITH_CTYPE_f64   double
#define PITH_CTYPE_real  pith_real

#ifndef PITH_KERNEL_REAL
#    define PITH_KERNEL_TAG_   _plain
#    define PITH_DTYPE_OF_real PITH_DTYPE_NONE
typedef double pith_real;
#else
#    define PITH_KERNEL_TAG_   PITH_CAT_(_, PITH_KERNEL_REAL)
#    define PITH_DTYPE_OF_real PITH_CAT_(PITH_DTYPE_OF_, PITH_KERNEL_REAL)
typedef PITH_CAT_(PITH_CTYPE_, PITH_KERNEL_REAL) pith_real;
#    define PITH_REAL_IS_f32   1
#    define PITH_REAL_IS_f64   0
#    if PITH_CAT_(PITH_REAL_IS_, PITH_KERNEL_REAL)
#        define PITH_KERNEL_REAL_IS_FLOAT_
#    endif
#endif

#define PITH_DTYPE_OF_bool  PITH_BOOL
#define PITH_DTYPE_OF__Bool PITH_BOOL
#define PITH_DTYPE_OF_i8    PITH_I8
#define PITH_DTYPE_OF_i16   PITH_I16
#define PITH_DTYPE_OF_i32   PITH_I32
#define PITH_DTYPE_OF_i64   PITH_I64
#define PITH_DTYPE_OF_u8    PITH_U8
#define PITH_DTYPE_OF_u16   PITH_U16
#define PITH_DTYPE_OF_u32   PITH_U32
#define PITH_DTYPE_OF_u64   PITH_U64
#define PITH_DTYPE_OF_f16   PITH_F16
#define PITH_DTYPE_OF_bf16  PITH_BF16
#define PITH_DTYPE_OF_f32   PITH_F32
#define PITH_DTYPE_OF_f64   PITH_F64

#define PITH_IS_REAL_bool  0
#define PITH_IS_REAL__Bool 0
#define PITH_IS_REAL_i8    0
#define PITH_IS_REAL_i16   0
#define PITH_IS_REAL_i32   0
#define PITH_IS_REAL_i64   0
#define PITH_IS_REAL_u8    0
#define PITH_IS_REAL_u16   0
#define PITH_IS_REAL_u32   0
#define PITH_IS_REAL_u64   0
#define PITH_IS_REAL_f16   0
#define PITH_IS_REAL_bf16  0
#define PITH_IS_REAL_f32   0
#define PITH_IS_REAL_f64   0
#define PITH_IS_REAL_real  1

#define PITH_INTEGER_OPERAND_(x)                                                         \
    { 0, (int64_t)(x), 0.0 }
#define PITH_NUMBER_OPERAND_(x)                                                          \
    { 0, 0, (double)(x) }
#define PITH_OPERAND_bool(x)  PITH_INTEGER_OPERAND_((x) != 0)
#define PITH_OPERAND__Bool(x) PITH_INTEGER_OPERAND_((x) != 0)
#define PITH_OPERAND_i8(x)    PITH_INTEGER_OPERAND_(x)
#define PITH_OPERAND_i16(x)   PITH_INTEGER_OPERAND_(x)
#define PITH_OPERAND_i32(x)   PITH_INTEGER_OPERAND_(x)
#define PITH_OPERAND_i64(x)   PITH_INTEGER_OPERAND_(x)
#define PITH_OPERAND_u8(x)    PITH_INTEGER_OPERAND_(x)
#define PITH_OPERAND_u16(x)   PITH_INTEGER_OPERAND_(x)
#define PITH_OPERAND_u32(x)   PITH_INTEGER_OPERAND_(x)
#define PITH_OPERAND_u64(x)   PITH_INTEGER_OPERAND_(x)
#define PITH_OPERAND_f16(x)   PITH_INTEGER_OPERAND_(x)
#define PITH_OPERAND_bf16(x)  PITH_INTEGER_OPERAND_(x)
#define PITH_OPERAND_f32(x)   PITH_NUMBER_OPERAND_(x)
#define PITH_OPERAND_f64(x)   PITH_NUMBER_OPERAND_(x)
#define PITH_OPERAND_real(x)  PITH_NUMBER_OPERAND_(x)

/* ---- The report of a failed check ---- */

/* Each word is a maximum, so the order of threads does not matter; all are 0 while no
 * check has failed. The high 20 bits of each word are the line, so that all words
 * describe one check, the first in the source. The low 44 bits hold a number. */
typedef struct pith_report {
    uint64_t first; /* ~(line, index): the least index */
    uint64_t need;  /* (~line, need + 2^43): the greatest need */
    uint64_t have;  /* (~line, have + 2^43): the size at hand */
    uint64_t what;  /* (~line, 1 + offset of the size in the arguments, or 0) */
} pith_report;

#define PITH_REPORT_BITS_  44
#define PITH_REPORT_LINES_ 0xfffffu
/* Lines below this one are faults of a checked build: the kind of fault and the number of
 * the argument. */
#define PITH_REPORT_FIRST_LINE_ 256

/* First member of every argument struct. */
typedef struct pith_kernel_frame {
    int64_t n, m;        /* extents of the index space; m is 1 for over(i, n) */
    pith_report *report; /* in memory of the device */
} pith_kernel_frame;

#if PITH_KERNEL_PASS == PITH_PASS_CUDA
PITH_INLINE_ void pith_raise_(uint64_t *word, uint64_t value) {
    atomicMax((unsigned long long *)word, (unsigned long long)value);
}
#else
PITH_INLINE_ void pith_raise_(uint64_t *word, uint64_t value) {
    uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED);
    while (value > old && !__atomic_compare_exchange_n(
                              word, &old, value, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
}
#endif

PITH_INLINE_ uint64_t pith_report_number_(int64_t x) {
    const int64_t half = (int64_t)1 << (PITH_REPORT_BITS_ - 1);
    return (uint64_t)((x < -half ? -half : x >= half ? half - 1 : x) + half);
}
PITH_INLINE_ void pith_report_raise_(pith_report *r,
                                     uint64_t row,
                                     int64_t index,
                                     int64_t need,
                                     int64_t have,
                                     int what) {
    const uint64_t key = (PITH_REPORT_LINES_ - row) << PITH_REPORT_BITS_;
    pith_raise_(&r->first, ~(row << PITH_REPORT_BITS_ | (uint64_t)index));
    pith_raise_(&r->need, key | pith_report_number_(need));
    pith_raise_(&r->have, key | pith_report_number_(have));
    pith_raise_(&r->what, key | (uint64_t)what);
}
PITH_COLD_ void pith_report_failure_(pith_report *r,
                                     int64_t index,
                                     int64_t need,
                                     int64_t have,
                                     int line,
                                     int what) {
    const uint64_t row = (uint64_t)line + PITH_REPORT_FIRST_LINE_;
    pith_report_raise_(r, row < PITH_REPORT_LINES_ ? row : PITH_REPORT_LINES_ - 1u, index,
                       need, have, what);
}

/* ---- Tables that the launch reads ---- */

#ifndef __CUDACC_RTC__

typedef enum pith_role {
    PITH_ROLE_IN,
    PITH_ROLE_OUT,
    PITH_ROLE_INOUT,
    PITH_ROLE_VALUE,
    PITH_ROLE_EXTENT,
    PITH_ROLE_SIZE
} pith_role;

typedef struct pith_kernel_arg {
    const char *name;
    pith_role role;
    pith_dtype dtype;
    bool real;           /* declared as real */
    bool filled;         /* an out with a fill */
    int32_t offset;      /* in the argument struct */
    const char *extents; /* "[n,3]"; NULL unless an array */
    double fill;
} pith_kernel_arg;

typedef void (*pith_kernel_loop)(const void *args, int64_t begin, int64_t end);

/* The handle of a CUDA kernel; NULL: *code is the error of the CUDA runtime. */
typedef const void *(*pith_kernel_entry)(int *code);

/* A kernel for one dtype of its real. */
typedef struct pith_kernel_variant {
    const char *name;
    const char *file; /* as passed to the compiler */
    const pith_kernel_arg *args;
    int32_t arg_count;
    int32_t args_bytes;
    const char *over[2]; /* extents in the grammar of arguments; over[1] may be NULL */
    pith_kernel_loop loops[3]; /* x86-64 (or the only one), v3, v4; NULL: not built */
    pith_kernel_entry cuda;    /* the CUDA kernel; NULL: not built */
    pith_kernel_entry cuda_at; /* the same kernel, by the address of its arguments */
    int32_t counts; /* of a checked kernel: offset in the argument struct of the element
                       counts of the arguments, int64_t; 0: not checked */
} pith_kernel_variant;

/* The object with the kernel's name: its variants, NULL if not compiled. */
typedef struct pith_kernel {
    const pith_kernel_variant *(*plain)(void);
    const pith_kernel_variant *(*f32)(void);
    const pith_kernel_variant *(*f64)(void);
} pith_kernel;

/* One argument of a call. */
typedef struct pith_operand {
    const pith_array *array;
    int64_t integer; /* bool, integers, bits of f16 and bf16 */
    double number;   /* f32, f64, real */
} pith_operand;

PITH_BEGIN
/** Launch a kernel; called by the functions that PITH_KERNEL defines.
 *
 * @param results Set to the out and inout arrays in the order of their declaration. All
 * NULL before the call and after an error. */
PITH_API void pith_kernel_launch(pith_scope *s,
                                 const pith_kernel *kernel,
                                 pith_dtype real,
                                 const pith_operand *operands,
                                 const pith_array **results);
PITH_END

#    define PITH_LAUNCH_(s, real, ...)               PITH_LAUNCH_SPLIT_(PITH_AT(s), real, __VA_ARGS__)
#    define PITH_LAUNCH_SPLIT_(s, real, kernel, ...) kernel##_launch(s, real, __VA_ARGS__)

#endif

/* ---- Lists: each argument is role(...); a pasted prefix selects its expansion ---- */

#define PITH_COUNT_(...)                                                                 \
    PITH_COUNT_PICK_(__VA_ARGS__, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12,    \
                     11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define PITH_COUNT_PICK_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u,  \
                         v, w, x, count, ...)                                            \
    count
#define PITH_EACH_(M, ...)      PITH_CAT_(PITH_EACH_, PITH_COUNT_(__VA_ARGS__))(M, __VA_ARGS__)
#define PITH_EACH_1(M, x)       M##x
#define PITH_EACH_2(M, x, ...)  M##x PITH_EACH_1(M, __VA_ARGS__)
#define PITH_EACH_3(M, x, ...)  M##x PITH_EACH_2(M, __VA_ARGS__)
#define PITH_EACH_4(M, x, ...)  M##x PITH_EACH_3(M, __VA_ARGS__)
#define PITH_EACH_5(M, x, ...)  M##x PITH_EACH_4(M, __VA_ARGS__)
#define PITH_EACH_6(M, x, ...)  M##x PITH_EACH_5(M, __VA_ARGS__)
#define PITH_EACH_7(M, x, ...)  M##x PITH_EACH_6(M, __VA_ARGS__)
#define PITH_EACH_8(M, x, ...)  M##x PITH_EACH_7(M, __VA_ARGS__)
#define PITH_EACH_9(M, x, ...)  M##x PITH_EACH_8(M, __VA_ARGS__)
#define PITH_EACH_10(M, x, ...) M##x PITH_EACH_9(M, __VA_ARGS__)
#define PITH_EACH_11(M, x, ...) M##x PITH_EACH_10(M, __VA_ARGS__)
#define PITH_EACH_12(M, x, ...) M##x PITH_EACH_11(M, __VA_ARGS__)
#define PITH_EACH_13(M, x, ...) M##x PITH_EACH_12(M, __VA_ARGS__)
#define PITH_EACH_14(M, x, ...) M##x PITH_EACH_13(M, __VA_ARGS__)
#define PITH_EACH_15(M, x, ...) M##x PITH_EACH_14(M, __VA_ARGS__)
#define PITH_EACH_16(M, x, ...) M##x PITH_EACH_15(M, __VA_ARGS__)
#define PITH_EACH_17(M, x, ...) M##x PITH_EACH_16(M, __VA_ARGS__)
#define PITH_EACH_18(M, x, ...) M##x PITH_EACH_17(M, __VA_ARGS__)
#define PITH_EACH_19(M, x, ...) M##x PITH_EACH_18(M, __VA_ARGS__)
#define PITH_EACH_20(M, x, ...) M##x PITH_EACH_19(M, __VA_ARGS__)
#define PITH_EACH_21(M, x, ...) M##x PITH_EACH_20(M, __VA_ARGS__)
#define PITH_EACH_22(M, x, ...) M##x PITH_EACH_21(M, __VA_ARGS__)
#define PITH_EACH_23(M, x, ...) M##x PITH_EACH_22(M, __VA_ARGS__)
#define PITH_EACH_24(M, x, ...) M##x PITH_EACH_23(M, __VA_ARGS__)

#define PITH_KERNEL_MAX_ARGS 24

/* Members of the argument struct. */
#define PITH_FIELD_in(t, x, e)    const PITH_CTYPE_##t *x;
#define PITH_FIELD_out(t, x, ...) PITH_CTYPE_##t *x;
#define PITH_FIELD_inout(t, x, e) PITH_CTYPE_##t *x;
#define PITH_FIELD_value(t, x)    PITH_CTYPE_##t x;
#define PITH_FIELD_extent(x)      int64_t x;
#define PITH_FIELD_size(x)        int64_t x;

/* Parameters of the body; a size comes with its offset, which identifies it in a report.
 */
#define PITH_PARAM_in(t, x, e)    , PITH_UNUSED_ const PITH_CTYPE_##t *PITH_RESTRICT_ x
#define PITH_PARAM_out(t, x, ...) , PITH_UNUSED_ PITH_CTYPE_##t *PITH_RESTRICT_ x
#define PITH_PARAM_inout(t, x, e) , PITH_UNUSED_ PITH_CTYPE_##t *PITH_RESTRICT_ x
#define PITH_PARAM_value(t, x)    , PITH_UNUSED_ PITH_CTYPE_##t x
#define PITH_PARAM_extent(x)      PITH_PARAM_size(x)
#define PITH_PARAM_size(x)        , PITH_UNUSED_ int64_t x, PITH_UNUSED_ int pith_offset_##x##_

/* Arguments of a call of the body, from the struct args_ of type pith_args_. */
#define PITH_PASS_in(t, x, e)    , args_.x
#define PITH_PASS_out(t, x, ...) , args_.x
#define PITH_PASS_inout(t, x, e) , args_.x
#define PITH_PASS_value(t, x)    , args_.x
#define PITH_PASS_extent(x)      PITH_PASS_size(x)
#define PITH_PASS_size(x)        , args_.x, PITH_OFFSET_(pith_args_, x)

/* Rows of the table of arguments. */
#define PITH_ROW_(t, x, role, filled, extents, fill)                                     \
    {#x,                                                                                 \
     role,                                                                               \
     PITH_DTYPE_OF_##t,                                                                  \
     PITH_IS_REAL_##t,                                                                   \
     filled,                                                                             \
     PITH_OFFSET_(pith_args_, x),                                                        \
     extents,                                                                            \
     fill},
#define PITH_ROW_in(t, x, e) PITH_ROW_(t, x, PITH_ROLE_IN, false, e, 0)
#define PITH_ROW_out(t, x, ...)                                                          \
    PITH_CAT_(PITH_ROW_OUT_, PITH_COUNT_(__VA_ARGS__))(t, x, __VA_ARGS__)
#define PITH_ROW_OUT_1(t, x, e)       PITH_ROW_(t, x, PITH_ROLE_OUT, false, e, 0)
#define PITH_ROW_OUT_2(t, x, e, fill) PITH_ROW_(t, x, PITH_ROLE_OUT, true, e, fill)
#define PITH_ROW_inout(t, x, e)       PITH_ROW_(t, x, PITH_ROLE_INOUT, false, e, 0)
#define PITH_ROW_value(t, x)          PITH_ROW_(t, x, PITH_ROLE_VALUE, false, NULL, 0)
#define PITH_ROW_extent(x)            PITH_ROW_(i64, x, PITH_ROLE_EXTENT, false, NULL, 0)
#define PITH_ROW_size(x)              PITH_ROW_(i64, x, PITH_ROLE_SIZE, false, NULL, 0)

/* Parameters of the launch function. */
#define PITH_FORMAL_in(t, x, e) , const pith_array *x
#define PITH_FORMAL_out(t, x, ...)
#define PITH_FORMAL_inout(t, x, e) , const pith_array *x
#define PITH_FORMAL_value(t, x)    , PITH_CTYPE_##t x
#define PITH_FORMAL_extent(x)      , int64_t x
#define PITH_FORMAL_size(x)

/* Operands that it passes to pith_kernel_launch, one row per argument. */
#define PITH_OPERAND_ROW_in(t, x, e)    {x, 0, 0.0},
#define PITH_OPERAND_ROW_out(t, x, ...) {0, 0, 0.0},
#define PITH_OPERAND_ROW_inout(t, x, e) {x, 0, 0.0},
#define PITH_OPERAND_ROW_value(t, x)    PITH_OPERAND_##t(x),
#define PITH_OPERAND_ROW_extent(x)      PITH_INTEGER_OPERAND_(x),
#define PITH_OPERAND_ROW_size(x)        {0, 0, 0.0},

/* Members of its result, and their initialisation from the list of results. */
#define PITH_RESULT_in(t, x, e)
#define PITH_RESULT_out(t, x, ...) const pith_array *x;
#define PITH_RESULT_inout(t, x, e) const pith_array *x;
#define PITH_RESULT_value(t, x)
#define PITH_RESULT_extent(x)
#define PITH_RESULT_size(x)
#define PITH_TAKE_in(t, x, e)
#define PITH_TAKE_out(t, x, ...) result_.x = results_[taken_++];
#define PITH_TAKE_inout(t, x, e) result_.x = results_[taken_++];
#define PITH_TAKE_value(t, x)
#define PITH_TAKE_extent(x)
#define PITH_TAKE_size(x)

/* over(i, n) and over(i, n, j, m). */
#define PITH_OVER_PARAMS_over(...)                                                       \
    PITH_CAT_(PITH_OVER_PARAMS_, PITH_COUNT_(__VA_ARGS__))(__VA_ARGS__)
#define PITH_OVER_PARAMS_2(i, n)       PITH_UNUSED_ int64_t i
#define PITH_OVER_PARAMS_4(i, n, j, m) PITH_UNUSED_ int64_t i, PITH_UNUSED_ int64_t j
#define PITH_OVER_TEXT_over(...)                                                         \
    PITH_CAT_(PITH_OVER_TEXT_, PITH_COUNT_(__VA_ARGS__))(__VA_ARGS__)
#define PITH_OVER_TEXT_2(i, n)                                                           \
    { #n, NULL }
#define PITH_OVER_TEXT_4(i, n, j, m)                                                     \
    { #n, #m }
#define PITH_OVER_LOOP_over(...) PITH_CAT_(PITH_OVER_LOOP_, PITH_COUNT_(__VA_ARGS__))
#define PITH_OVER_LOOP_2(body, ...)                                                      \
    PITH_INDEPENDENT_ for (int64_t i_ = begin_; i_ < end_; i_++)                         \
        body(i_, i_, args_.pith_frame_.report __VA_ARGS__);
#define PITH_OVER_LOOP_4(body, ...)                                                      \
    for (int64_t p_ = begin_, stop_; p_ < end_; p_ = stop_) {                            \
        const int64_t m_ = args_.pith_frame_.m, i_ = p_ / m_, row_ = i_ * m_;            \
        stop_ = row_ + m_ < end_ ? row_ + m_ : end_;                                     \
        PITH_INDEPENDENT_ for (int64_t q_ = p_; q_ < stop_; q_++)                        \
            body(i_, q_ - row_, q_, args_.pith_frame_.report __VA_ARGS__);               \
    }
#define PITH_OVER_THREAD_over(...) PITH_CAT_(PITH_OVER_THREAD_, PITH_COUNT_(__VA_ARGS__))
#define PITH_OVER_THREAD_2(body, ...)                                                    \
    if (p_ < args_.pith_frame_.n)                                                        \
        body(p_, p_, args_.pith_frame_.report __VA_ARGS__);
#define PITH_OVER_THREAD_4(body, ...)                                                    \
    const int64_t i_ = args_.pith_frame_.m > 0 ? p_ / args_.pith_frame_.m : 0;           \
    if (i_ < args_.pith_frame_.n && args_.pith_frame_.m > 0)                             \
        body(i_, p_ - i_ * args_.pith_frame_.m, p_, args_.pith_frame_.report __VA_ARGS__);

/* ---- The kernel ---- */

/* Last member of the argument struct of a checked kernel: element counts of the
 * arguments. */
#ifdef PITH_KERNEL_CHECKED
#    define PITH_COUNTS_FIELD_(...) int64_t pith_counts_[PITH_COUNT_(__VA_ARGS__)];
#    define PITH_COUNTS_OFFSET_     PITH_OFFSET_(pith_args_, pith_counts_)
#else
#    define PITH_COUNTS_FIELD_(...)
#    define PITH_COUNTS_OFFSET_ 0
#endif

#define PITH_KERNEL_1_(name, over_, ...)                                                 \
    typedef struct name##_args {                                                         \
        pith_kernel_frame pith_frame_;                                                   \
        PITH_EACH_(PITH_FIELD_, __VA_ARGS__)                                             \
        PITH_COUNTS_FIELD_(__VA_ARGS__)                                                  \
    } name##_args;                                                                       \
    PITH_KERNEL_HEAD_(name, over_, __VA_ARGS__);                                         \
    PITH_KERNEL_SHELL_(name, over_, __VA_ARGS__)                                         \
    PITH_KERNEL_HEAD_(name, over_, __VA_ARGS__)

#define PITH_KERNEL_HEAD_(name, over_, ...)                                              \
    PITH_INLINE_ void name##_body(                                                       \
        PITH_OVER_PARAMS_##over_, PITH_UNUSED_ int64_t pith_index_,                      \
        PITH_UNUSED_ pith_report *pith_report_ PITH_EACH_(PITH_PARAM_, __VA_ARGS__))

/* Symbols shared by the passes of one kernel file; the real is part of their names. */
#define PITH_SYMBOL_(name, what) PITH_CAT3_(name, PITH_KERNEL_TAG_, what)
#define PITH_HIDDEN_             __attribute__((visibility("hidden")))
#define PITH_LOOP_DECLARATION_(symbol)                                                   \
    PITH_C_LINKAGE_ PITH_HIDDEN_ void symbol(const void *, int64_t, int64_t);
#define PITH_LOOP_DEFINITION_(symbol, name, over_, ...)                                  \
    PITH_LOOP_DECLARATION_(symbol)                                                       \
    void symbol(const void *given_, int64_t begin_, int64_t end_) {                      \
        typedef name##_args pith_args_;                                                  \
        const pith_args_ args_ = *(const pith_args_ *)given_;                            \
        PITH_OVER_LOOP_##over_(name##_body, PITH_EACH_(PITH_PASS_, __VA_ARGS__))         \
    }
/* Host loop of a checked kernel: the library runs the loop over indices. */
#define PITH_LOOP_CHECKED_(symbol, at, variant, name, over_, ...)                        \
    PITH_LOOP_DECLARATION_(symbol)                                                       \
    PITH_VARIANT_DECLARATION_(variant)                                                   \
    static void at(const void *given_, int64_t p_) {                                     \
        typedef name##_args pith_args_;                                                  \
        const pith_args_ args_ = *(const pith_args_ *)given_;                            \
        PITH_OVER_THREAD_##over_(name##_body, PITH_EACH_(PITH_PASS_, __VA_ARGS__))       \
    }                                                                                    \
    void symbol(const void *given_, int64_t begin_, int64_t end_) {                      \
        (void)begin_;                                                                    \
        (void)end_;                                                                      \
        pith_kernel_run_checked(variant(), given_, at);                                  \
    }

#if PITH_KERNEL_PASS == PITH_PASS_DECLARE

#    define PITH_KERNEL_SHELL_(name, over_, ...)                                         \
        typedef struct name##_result {                                                   \
            PITH_EACH_(PITH_RESULT_, __VA_ARGS__)                                        \
        } name##_result;                                                                 \
        PITH_BEGIN extern const pith_kernel name##_kernel;                               \
        PITH_END                                                                         \
        PITH_UNUSED_ static inline name##_result name##_launch(                          \
            pith_scope *s_, pith_dtype real_ PITH_EACH_(PITH_FORMAL_, __VA_ARGS__)) {    \
            const pith_operand operands_[] = {                                           \
                PITH_EACH_(PITH_OPERAND_ROW_, __VA_ARGS__)};                             \
            const pith_array *results_[PITH_KERNEL_MAX_ARGS] = {0};                      \
            name##_result result_;                                                       \
            int taken_ = 0;                                                              \
            pith_kernel_launch(s_, &name##_kernel, real_, operands_, results_);          \
            PITH_EACH_(PITH_TAKE_, __VA_ARGS__)                                          \
            return result_;                                                              \
        }

#elif PITH_KERNEL_PASS == PITH_PASS_V3

#    define PITH_KERNEL_SHELL_(name, over_, ...)                                         \
        PITH_LOOP_DEFINITION_(PITH_SYMBOL_(name, _v3), name, over_, __VA_ARGS__)

#elif PITH_KERNEL_PASS == PITH_PASS_V4

#    define PITH_KERNEL_SHELL_(name, over_, ...)                                         \
        PITH_LOOP_DEFINITION_(PITH_SYMBOL_(name, _v4), name, over_, __VA_ARGS__)

#elif PITH_KERNEL_PASS == PITH_PASS_CUDA

#    define PITH_KERNEL_SHELL_(name, over_, ...)                                         \
        extern "C" __global__ void PITH_SYMBOL_(name, _cuda)(name##_args args_) {        \
            typedef name##_args pith_args_;                                              \
            const int64_t p_ = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;           \
            PITH_OVER_THREAD_##over_(name##_body, PITH_EACH_(PITH_PASS_, __VA_ARGS__))   \
        }                                                                                \
        extern "C" __global__ void PITH_SYMBOL_(name, _cuda_at)(                         \
            const name##_args *__restrict__ given_) {                                    \
            typedef name##_args pith_args_;                                              \
            const pith_args_ args_ = *given_;                                            \
            const int64_t p_ = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;           \
            PITH_OVER_THREAD_##over_(name##_body, PITH_EACH_(PITH_PASS_, __VA_ARGS__))   \
        }                                                                                \
        PITH_CUDA_ENTRY_(PITH_SYMBOL_(name, _cuda_entry), PITH_SYMBOL_(name, _cuda))     \
        PITH_CUDA_ENTRY_(PITH_SYMBOL_(name, _cuda_at_entry), PITH_SYMBOL_(name, _cuda_at))
#    ifdef __CUDACC_RTC__
#        define PITH_CUDA_ENTRY_(entry, kernel)
#    else
/* A driver handle, so that pith may launch a kernel of another library or program, whose
 * static CUDA runtime is another copy. NULL: *code_ is the error of that runtime. */
#        define PITH_CUDA_ENTRY_(entry, kernel)                                          \
            extern "C" PITH_HIDDEN_ const void *entry(int *code_);                       \
            const void *entry(int *code_) {                                              \
                static const void *known_;                                               \
                const void *handle_ = __atomic_load_n(&known_, __ATOMIC_RELAXED);        \
                cudaKernel_t found_;                                                     \
                if (!handle_ &&                                                          \
                    (*code_ = (int)cudaGetKernel(&found_, (const void *)kernel)) == 0) { \
                    handle_ = (const void *)found_;                                      \
                    __atomic_store_n(&known_, handle_, __ATOMIC_RELAXED);                \
                } else if (!handle_) {                                                   \
                    (void)cudaGetLastError();                                            \
                }                                                                        \
                return handle_;                                                          \
            }
#    endif

#else /* PITH_PASS_BASE */

#    ifdef PITH_KERNEL_WITH_X86
#        define PITH_X86_DECLARATIONS_(name)                                             \
            PITH_LOOP_DECLARATION_(PITH_SYMBOL_(name, _v3))                              \
            PITH_LOOP_DECLARATION_(PITH_SYMBOL_(name, _v4))
#        define PITH_X86_LOOPS_(name) PITH_SYMBOL_(name, _v3), PITH_SYMBOL_(name, _v4)
#    else
#        define PITH_X86_DECLARATIONS_(name)
#        define PITH_X86_LOOPS_(name) NULL, NULL
#    endif
#    ifdef PITH_KERNEL_WITH_CUDA
#        define PITH_CUDA_DECLARATION_(name)                                             \
            PITH_C_LINKAGE_ PITH_HIDDEN_ const void *PITH_SYMBOL_(name, _cuda_entry)(    \
                int *code);                                                              \
            PITH_C_LINKAGE_ PITH_HIDDEN_ const void *PITH_SYMBOL_(name, _cuda_at_entry)( \
                int *code);
#        define PITH_CUDA_REFERENCES_(name)                                              \
            PITH_SYMBOL_(name, _cuda_entry), PITH_SYMBOL_(name, _cuda_at_entry)
#    else
#        define PITH_CUDA_DECLARATION_(name)
#        define PITH_CUDA_REFERENCES_(name) NULL, NULL
#    endif
/* One pass of the reals also makes the object with the kernel's name. */
#    ifndef PITH_KERNEL_REALS
#        define PITH_KERNEL_OBJECT_(name)
#    else
#        if PITH_KERNEL_REALS == 0
#            define PITH_KERNEL_VARIANTS_(name)                                          \
                { name##_plain_variant, NULL, NULL }
#        elif PITH_KERNEL_REALS == 1
#            define PITH_KERNEL_VARIANTS_(name)                                          \
                { NULL, name##_f32_variant, NULL }
#        elif PITH_KERNEL_REALS == 2
#            define PITH_KERNEL_VARIANTS_(name)                                          \
                { NULL, NULL, name##_f64_variant }
#        else
#            define PITH_KERNEL_VARIANTS_(name)                                          \
                { NULL, name##_f32_variant, name##_f64_variant }
#        endif
#        define PITH_KERNEL_OBJECT_(name)                                                \
            PITH_VARIANT_DECLARATION_(name##_plain_variant)                              \
            PITH_VARIANT_DECLARATION_(name##_f32_variant)                                \
            PITH_VARIANT_DECLARATION_(name##_f64_variant)                                \
            PITH_C_LINKAGE_ const pith_kernel name##_kernel;                             \
            const pith_kernel name##_kernel = PITH_KERNEL_VARIANTS_(name);
#    endif
#    define PITH_VARIANT_DECLARATION_(symbol)                                            \
        PITH_C_LINKAGE_ PITH_HIDDEN_ const pith_kernel_variant *symbol(void);

#    ifdef PITH_KERNEL_CHECKED
#        define PITH_BASE_LOOP_(name, over_, ...)                                        \
            PITH_LOOP_CHECKED_(PITH_SYMBOL_(name, _base), PITH_SYMBOL_(name, _at),       \
                               PITH_SYMBOL_(name, _variant), name, over_, __VA_ARGS__)
#    else
#        define PITH_BASE_LOOP_(name, over_, ...)                                        \
            PITH_LOOP_DEFINITION_(PITH_SYMBOL_(name, _base), name, over_, __VA_ARGS__)
#    endif
#    define PITH_KERNEL_SHELL_(name, over_, ...)                                         \
        PITH_BASE_LOOP_(name, over_, __VA_ARGS__)                                        \
        PITH_X86_DECLARATIONS_(name)                                                     \
        PITH_CUDA_DECLARATION_(name)                                                     \
        PITH_VARIANT_DECLARATION_(PITH_SYMBOL_(name, _variant))                          \
        const pith_kernel_variant *PITH_SYMBOL_(name, _variant)(void) {                  \
            typedef name##_args pith_args_;                                              \
            static const pith_kernel_arg rows_[] = {PITH_EACH_(PITH_ROW_, __VA_ARGS__)}; \
            static const pith_kernel_variant variant_ = {                                \
                #name,                                                                   \
                __FILE__,                                                                \
                rows_,                                                                   \
                (int32_t)(sizeof rows_ / sizeof rows_[0]),                               \
                (int32_t)sizeof(pith_args_),                                             \
                PITH_OVER_TEXT_##over_,                                                  \
                {PITH_SYMBOL_(name, _base), PITH_X86_LOOPS_(name)},                      \
                PITH_CUDA_REFERENCES_(name),                                             \
                PITH_COUNTS_OFFSET_};                                                    \
            return &variant_;                                                            \
        }                                                                                \
        PITH_KERNEL_OBJECT_(name)
#endif

#endif
