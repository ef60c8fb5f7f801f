/**
 * @file
 * Arrays: the leaves of trees, and the operations on them.
 *
 * An array is immutable, row-major and contiguous, has rank 0 to 8, and lives in the
 * memory of its runtime's device. It is concrete (it has a value) or traced (it stands
 * for a value of a program that is being recorded). Every operation takes both.
 *
 * The result of an operation belongs to @p s. On failure it is NULL, and the scope has
 * the error. Operations on a scope with an error do nothing. No operation waits for the
 * device unless its comment says so.
 *
 * @par Errors
 * Common to all operations: PITH_E_ARG: an argument is no array, is NULL, or belongs to
 * another runtime. PITH_E_DTYPE, PITH_E_SHAPE: operands do not fit. PITH_E_OVERFLOW: the
 * size of the result overflows. PITH_E_MEMORY. PITH_E_TRACED: a traced array where a
 * value is needed. PITH_E_DONATED: an operand was donated.
 */
#ifndef PITH_ARRAY_H
#define PITH_ARRAY_H

#include <pith/base.h>

/** A set of axes; negative ones count from the last. See PITH_AXES, PITH_ALL_AXES. */
typedef struct pith_axes {
    bool all;  /**< every axis; `axes` is ignored */
    bool keep; /**< keep reduced axes with extent 1 */
    int8_t count;
    int8_t axes[PITH_MAX_RANK];
} pith_axes;

/** Elements start, start + step, ... before limit along one axis; see PITH_SLICE. */
typedef struct pith_slice {
    int64_t start; /**< negative: from the end; out of range: clipped, as in NumPy */
    int64_t limit; /**< as start; INT64_MAX: the end (INT64_MIN: past the first, for steps
                      < 0) */
    int64_t step;  /**< not 0 */
} pith_slice;

/** A set of axes, such as PITH_AXES(0, -1); reductions remove them. */
#define PITH_AXES(...)                                                                   \
    (PITH_LITERAL_(pith_axes){false, false, PITH_COUNT_ARGS_(__VA_ARGS__), {__VA_ARGS__}})
/** A set of axes that reductions keep with extent 1. */
#define PITH_AXES_KEPT(...)                                                              \
    (PITH_LITERAL_(pith_axes){false, true, PITH_COUNT_ARGS_(__VA_ARGS__), {__VA_ARGS__}})
/** Every axis; the result has rank 0. */
#define PITH_ALL_AXES (PITH_LITERAL_(pith_axes){true, false, 0, {0}})
/** One axis of pith_slice_array: PITH_SLICE(1, -1, 2). */
#define PITH_SLICE(start, limit, step)                                                   \
    (PITH_LITERAL_(pith_slice){(start), (limit), (step)})
/** A whole axis. */
#define PITH_WHOLE (PITH_LITERAL_(pith_slice){0, INT64_MAX, 1})

/** Treatment of an index out of range. Negative indices count from the end first, once.
 */
typedef enum pith_index_mode {
    PITH_INDEX_DEFAULT, /**< gather: fill, as jnp.take (x[i] of JAX clamps instead);
                           scatter: drop, as x.at[i] of JAX */
    PITH_INDEX_DROP,    /**< scatter: drop the update; gather: as fill */
    PITH_INDEX_CLIP,    /**< the nearest valid index; in pith_take negative indices give
                           element 0, as in JAX and NumPy */
    PITH_INDEX_FILL,    /**< gather: the fill value; scatter: as drop */
    PITH_INDEX_WRAP,    /**< modulo the extent */
    PITH_INDEX_PROMISE, /**< the caller promises that there is none; nothing is checked */
    PITH_INDEX_ERROR    /**< PITH_E_INDEX with the first such index, at the next
                           synchronising call */
} pith_index_mode;

/** Options of pith_take and its like; zero is the default. */
typedef struct pith_take_options {
    int axis PITH_DEFAULT; /**< negative: from the last; 0 for pith_gather */
    pith_index_mode mode PITH_DEFAULT;
    /** The value of indices out of range in mode fill; must be exact in an integer dtype.
     * NULL: NaN for floats, the least value for signed integers, the largest for unsigned
     * integers, true for bool, as in JAX. */
    const double *fill PITH_DEFAULT;
} pith_take_options;

/** Options of the scatters; zero is the default. If a promise is false, the values at
 * repeated indices are unspecified; nothing else is affected. */
typedef struct pith_scatter_options {
    int axis PITH_DEFAULT; /**< negative: from the last; 0 for pith_scatter */
    pith_index_mode mode PITH_DEFAULT;
    bool unique PITH_DEFAULT;    /**< a promise: no index is repeated */
    bool sorted PITH_DEFAULT;    /**< a promise: indices ascend, negative ones first */
    bool unordered PITH_DEFAULT; /**< floats may be added in any order: faster on CUDA,
                                    where sums then differ from run to run */
} pith_scatter_options;

/** How a scatter combines an update with an element. */
typedef enum pith_scatter_operation {
    PITH_SCATTER_SET,
    PITH_SCATTER_ADD,
    PITH_SCATTER_MUL,
    PITH_SCATTER_MIN,
    PITH_SCATTER_MAX,
    PITH_SCATTER_AND, /**< bits of integers, bool */
    PITH_SCATTER_OR
} pith_scatter_operation;

typedef enum pith_entry_kind {
    PITH_ENTRY_IS_WHOLE, /**< the axis stays */
    PITH_ENTRY_IS_SLICE,
    PITH_ENTRY_IS_PLACE,
    PITH_ENTRY_IS_ARRAY
} pith_entry_kind;

/** One entry of an index such as x[i, 1:3, 5]: see PITH_ENTRY_ARRAY and its like. */
typedef struct pith_index_entry {
    pith_entry_kind kind;
    const pith_array *array; /**< indices, integers */
    pith_slice slice;        /**< a single index is its start */
} pith_index_entry;

/** Indices along an axis, from an array of integers. */
#define PITH_ENTRY_ARRAY(indices)                                                        \
    (PITH_LITERAL_(pith_index_entry){PITH_ENTRY_IS_ARRAY, (indices), {0, 0, 0}})
/** One index of an axis, which is removed. */
#define PITH_ENTRY_AT(place)                                                             \
    (PITH_LITERAL_(pith_index_entry){PITH_ENTRY_IS_PLACE, NULL, {(place), 0, 0}})
/** A slice of an axis, as PITH_SLICE. */
#define PITH_ENTRY_SLICE(start, limit, step)                                             \
    (PITH_LITERAL_(pith_index_entry){                                                    \
        PITH_ENTRY_IS_SLICE, NULL, {(start), (limit), (step)}})
/** A whole axis. */
#define PITH_ENTRY_WHOLE                                                                 \
    (PITH_LITERAL_(pith_index_entry){PITH_ENTRY_IS_WHOLE, NULL, {0, 0, 0}})

/** Count and entries of pith_gather and pith_scatter: PITH_ENTRIES(PITH_ENTRY_WHOLE,
 * PITH_ENTRY_AT(-1)). */
#define PITH_ENTRIES(...)                                                                \
    (int)PITH_COUNT_OF_(pith_index_entry, __VA_ARGS__),                                  \
        PITH_ARRAY_(pith_index_entry, __VA_ARGS__)

/** An array of rank 1 from its elements, with the name of any dtype but f16 and bf16:
 * PITH_VECTOR(s, f64, 0.5, 1, 2). */
#define PITH_VECTOR(s, dtype, ...)                                                       \
    PITH_VECTOR_OF_(s, PITH_ELEMENTS_##dtype##_, __VA_ARGS__)
#define PITH_VECTOR_OF_(s, ...) PITH_VECTOR_AS_(s, __VA_ARGS__)
#define PITH_VECTOR_AS_(s, T, dtype, ...)                                                \
    pith_array_copy((s), dtype, PITH_SHAPE((int64_t)PITH_COUNT_OF_(T, __VA_ARGS__)),     \
                    PITH_ARRAY_(T, __VA_ARGS__))
#define PITH_ELEMENTS_bool_  bool, PITH_BOOL
#define PITH_ELEMENTS__Bool_ bool, PITH_BOOL
#define PITH_ELEMENTS_i8_    int8_t, PITH_I8
#define PITH_ELEMENTS_i16_   int16_t, PITH_I16
#define PITH_ELEMENTS_i32_   int32_t, PITH_I32
#define PITH_ELEMENTS_i64_   int64_t, PITH_I64
#define PITH_ELEMENTS_u8_    uint8_t, PITH_U8
#define PITH_ELEMENTS_u16_   uint16_t, PITH_U16
#define PITH_ELEMENTS_u32_   uint32_t, PITH_U32
#define PITH_ELEMENTS_u64_   uint64_t, PITH_U64
#define PITH_ELEMENTS_f32_   float, PITH_F32
#define PITH_ELEMENTS_f64_   double, PITH_F64

PITH_BEGIN

/* ---- Making arrays from host data, and reading them ---- */

/** An array with a copy of the elements at @p data.
 *
 * @par Errors
 * PITH_E_ARG: a bool element is not a byte 0 or 1 (also in the functions below). */
PITH_API const pith_array *
pith_array_copy(pith_scope *s, pith_dtype dtype, pith_shape shape, const void *data);
/**
 * An array over host memory of the caller, which must stay unchanged until the scope, and
 * each scope that the array is kept to, is closed. On CUDA the elements are copied.
 */
PITH_API const pith_array *
pith_array_borrow(pith_scope *s, pith_dtype dtype, pith_shape shape, const void *data);
/**
 * As pith_array_borrow, but @p release(closure, data) is called when no array uses the
 * memory any more, also if this call fails. Any thread may call it.
 */
PITH_API const pith_array *pith_array_own(pith_scope *s,
                                          pith_dtype dtype,
                                          pith_shape shape,
                                          void *data,
                                          void (*release)(void *closure, void *data),
                                          void *closure);

/** An f64 array of rank 0. */
PITH_API const pith_array *pith_f64(pith_scope *s, double value);
/** An f32 array of rank 0. */
PITH_API const pith_array *pith_f32(pith_scope *s, float value);
/** An i64 array of rank 0. */
PITH_API const pith_array *pith_i64(pith_scope *s, int64_t value);
/** An i32 array of rank 0. */
PITH_API const pith_array *pith_i32(pith_scope *s, int32_t value);
/** A bool array of rank 0. */
PITH_API const pith_array *pith_bool(pith_scope *s, bool value);
/** An array of rank 0 in @p like's dtype. The value must be exact in an integer dtype or
 * bool. */
PITH_API const pith_array *pith_like(pith_scope *s, const pith_array *like, double value);

/** Dtype and shape; NULL if @p a is no array. Never waits. */
PITH_API const pith_spec *pith_array_spec(const pith_array *a);
/** Whether @p a is traced: a value of a program that is being recorded. */
PITH_API bool pith_is_traced(const pith_array *a);

/**
 * Copy the elements of @p a to @p host. @p bytes must be the size of the array.
 *
 * Waits for the scope's stream; failed checks become errors here.
 * @return Whether it succeeded.
 */
PITH_API bool pith_read(pith_scope *s, const pith_array *a, void *host, size_t bytes);
/** The value of an array with one element; 0 on failure. Waits. */
PITH_API double pith_read_f64(pith_scope *s, const pith_array *a);
/** As pith_read_f64, for integers and bool. 0 on failure.
 *
 * @par Errors
 * PITH_E_DTYPE: a float, or a u64 above INT64_MAX. */
PITH_API int64_t pith_read_i64(pith_scope *s, const pith_array *a);
/** As pith_read_f64: whether the element is not 0, of any dtype. False on failure. */
PITH_API bool pith_read_bool(pith_scope *s, const pith_array *a);

/** Free an array before its scope closes; using it afterwards is an error. Ignored for
 * arrays of other scopes, and for traced arrays, which belong to their trace. */
PITH_API void pith_drop(pith_scope *s, const pith_array *a);

/* ---- Filled arrays ---- */

/** An array of zeros (false for bool). */
PITH_API const pith_array *pith_zeros(pith_scope *s, pith_dtype dtype, pith_shape shape);
/** An array of ones (true for bool). */
PITH_API const pith_array *pith_ones(pith_scope *s, pith_dtype dtype, pith_shape shape);
/** An array with all elements @p value, which must be exact in an integer or bool dtype.
 */
PITH_API const pith_array *
pith_full(pith_scope *s, pith_dtype dtype, pith_shape shape, double value);
/** An array with all elements equal to the rank-0 array @p value, cast to @p dtype. */
PITH_API const pith_array *pith_full_array(pith_scope *s,
                                           pith_dtype dtype,
                                           pith_shape shape,
                                           const pith_array *value);
/** 0, 1, 2, ... along @p axis, constant along the others. Here and in pith_arange and
 * pith_range integers wrap, and nonzero is true in bool. */
PITH_API const pith_array *
pith_iota(pith_scope *s, pith_dtype dtype, pith_shape shape, int axis);
/** The sequence 0 to count - 1. */
PITH_API const pith_array *pith_arange(pith_scope *s, pith_dtype dtype, int64_t count);
/** The sequence start, start + step, ... before stop, possibly empty. step is not 0. For
 * an integer dtype start and step must be exact in it. */
PITH_API const pith_array *
pith_range(pith_scope *s, pith_dtype dtype, double start, double stop, double step);
/** @p count evenly spaced floats from start to stop; @p endpoint: include stop. */
PITH_API const pith_array *pith_linspace(pith_scope *s,
                                         pith_dtype dtype,
                                         double start,
                                         double stop,
                                         int64_t count,
                                         bool endpoint);
/** A matrix with ones on a diagonal (0: the main one, 1: above it) and zeros elsewhere.
 */
PITH_API const pith_array *pith_eye(pith_scope *s,
                                    pith_dtype dtype,
                                    int64_t rows,
                                    int64_t columns,
                                    int64_t diagonal);

PITH_END

/* Call sites for error messages. */

#include <pith/array_elementwise.h>
#include <pith/array_expression.h>
#include <pith/array_index.h>
#include <pith/array_native.h>
#include <pith/array_order.h>
#include <pith/array_product.h>
#include <pith/array_random.h>
#include <pith/array_reduce.h>
#include <pith/array_segment.h>
#include <pith/array_shape.h>
#include <pith/array_solve.h>

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_array_copy(s, ...)   pith_array_copy(PITH_AT(s), __VA_ARGS__)
#    define pith_array_borrow(s, ...) pith_array_borrow(PITH_AT(s), __VA_ARGS__)
#    define pith_array_own(s, ...)    pith_array_own(PITH_AT(s), __VA_ARGS__)
#    define pith_f64(s, ...)          pith_f64(PITH_AT(s), __VA_ARGS__)
#    define pith_f32(s, ...)          pith_f32(PITH_AT(s), __VA_ARGS__)
#    define pith_i64(s, ...)          pith_i64(PITH_AT(s), __VA_ARGS__)
#    define pith_i32(s, ...)          pith_i32(PITH_AT(s), __VA_ARGS__)
#    define pith_bool(s, ...)         pith_bool(PITH_AT(s), __VA_ARGS__)
#    define pith_like(s, ...)         pith_like(PITH_AT(s), __VA_ARGS__)
#    define pith_read(s, ...)         pith_read(PITH_AT(s), __VA_ARGS__)
#    define pith_read_f64(s, ...)     pith_read_f64(PITH_AT(s), __VA_ARGS__)
#    define pith_read_i64(s, ...)     pith_read_i64(PITH_AT(s), __VA_ARGS__)
#    define pith_read_bool(s, ...)    pith_read_bool(PITH_AT(s), __VA_ARGS__)
#    define pith_drop(s, ...)         pith_drop(PITH_AT(s), __VA_ARGS__)
#    define pith_zeros(s, ...)        pith_zeros(PITH_AT(s), __VA_ARGS__)
#    define pith_ones(s, ...)         pith_ones(PITH_AT(s), __VA_ARGS__)
#    define pith_full(s, ...)         pith_full(PITH_AT(s), __VA_ARGS__)
#    define pith_full_array(s, ...)   pith_full_array(PITH_AT(s), __VA_ARGS__)
#    define pith_iota(s, ...)         pith_iota(PITH_AT(s), __VA_ARGS__)
#    define pith_arange(s, ...)       pith_arange(PITH_AT(s), __VA_ARGS__)
#    define pith_range(s, ...)        pith_range(PITH_AT(s), __VA_ARGS__)
#    define pith_linspace(s, ...)     pith_linspace(PITH_AT(s), __VA_ARGS__)
#    define pith_eye(s, ...)          pith_eye(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
