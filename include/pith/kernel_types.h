/**
 * @file
 * Part of <pith/kernel.h>: passes over a kernel file, and what kernels share with the
 * library, which launches them: dtypes, reports of failed checks, tables of arguments.
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
#ifndef PITH_KERNEL_TYPES_H
#define PITH_KERNEL_TYPES_H

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

/* First member of every argument struct. A batch is one launch over the indices of many
 * entries: the arrays of an entry are at a stride from those of the entry before. */
typedef struct pith_kernel_frame {
    int64_t n, m;        /* extents of the index space; m is 1 for over(i, n) */
    pith_report *report; /* in memory of the device; of a batch that of the first entry */
    int64_t entries;     /* of a batch; 0: the launch is none */
    const uint8_t *taken; /* of a batch: whether an entry runs; NULL: all do */
    const struct pith_kernel_variant *kernel; /* of a batch, for the host; else NULL */
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

#define PITH_KERNEL_MAX_ARGS 24 /* as the lists of <pith/kernel_macros.h> */

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
    int32_t strides; /* offset in the argument struct of the strides of the arguments in
                        a batch, int64_t: elements between entries, 0: shared */
    int32_t counts;  /* of a checked kernel: offset in the argument struct of the element
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

#endif

#endif
