/**
 * @file
 * Arrays: the leaves of trees, and the operations on them.
 *
 * An array is immutable, row-major and contiguous, of rank 0 to 8, and lives in the
 * memory of its runtime's device. It is concrete (it has a value) or traced (it stands
 * for a value of a program being built); every operation takes both.
 *
 * All operations: the result belongs to @p s. On failure they return NULL and the scope
 * carries the error: PITH_E_ARG (an argument is no array, is NULL, or belongs to another
 * runtime), PITH_E_DTYPE, PITH_E_SHAPE, PITH_E_OVERFLOW, PITH_E_MEMORY, PITH_E_TRACED,
 * PITH_E_DONATED. On a scope that carries an error already they do nothing. None of them
 * waits for the device unless it says so.
 */
#ifndef PITH_ARRAY_H
#define PITH_ARRAY_H

#include <pith/base.h>

/** Extents of an array, C order. */
typedef struct pith_shape {
    int32_t rank; /**< 0 to PITH_MAX_RANK */
    int64_t extents[PITH_MAX_RANK];
} pith_shape;

/** A set of axes; negative ones count from the last. See PITH_AXES, PITH_ALL_AXES. */
typedef struct pith_axes {
    bool all;  /**< every axis; axes is not looked at */
    bool keep; /**< reduced axes stay, with extent 1 */
    int8_t count;
    int8_t axes[PITH_MAX_RANK];
} pith_axes;

/** Elements start, start + step, ... before limit of one axis; see PITH_SLICE. */
typedef struct pith_slice {
    int64_t
        start; /**< negative: counted from the end; out of range: clipped, as in NumPy */
    int64_t limit; /**< as start; INT64_MAX: to the end (INT64_MIN: past the first, for
                      steps < 0) */
    int64_t step;  /**< not 0 */
} pith_slice;

#define PITH_COUNT_ARGS_(...)                             PITH_COUNT_ARGS2_(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define PITH_COUNT_ARGS2_(a, b, c, d, e, f, g, h, n, ...) n
#ifdef __cplusplus
#    define PITH_LITERAL_(T) T
#else
#    define PITH_LITERAL_(T) (T)
#endif
/** A shape of rank 1 to 8: PITH_SHAPE(256, 3). */
#define PITH_SHAPE(...)                                                                  \
    (PITH_LITERAL_(pith_shape){PITH_COUNT_ARGS_(__VA_ARGS__), {__VA_ARGS__}})
/** The shape of rank 0. */
#define PITH_SCALAR (PITH_LITERAL_(pith_shape){0, {0}})
/** Some axes, such as PITH_AXES(0, -1); they vanish from the result. */
#define PITH_AXES(...)                                                                   \
    (PITH_LITERAL_(pith_axes){false, false, PITH_COUNT_ARGS_(__VA_ARGS__), {__VA_ARGS__}})
/** Some axes that stay in the result with extent 1. */
#define PITH_AXES_KEPT(...)                                                              \
    (PITH_LITERAL_(pith_axes){false, true, PITH_COUNT_ARGS_(__VA_ARGS__), {__VA_ARGS__}})
/** Every axis; the result has rank 0. */
#define PITH_ALL_AXES (PITH_LITERAL_(pith_axes){true, false, 0, {0}})
/** One axis of pith_slice_array: PITH_SLICE(1, -1, 2). */
#define PITH_SLICE(start, limit, step)                                                   \
    (PITH_LITERAL_(pith_slice){(start), (limit), (step)})
/** A whole axis. */
#define PITH_WHOLE (PITH_LITERAL_(pith_slice){0, INT64_MAX, 1})

/** What becomes of an index outside its axis, after negative ones were counted from the
 * end. */
typedef enum pith_index_mode {
    PITH_INDEX_DEFAULT, /**< take: fill; scatter: drop, as in JAX */
    PITH_INDEX_DROP,    /**< scatter: the update is left out; take: as fill */
    PITH_INDEX_CLIP,    /**< the nearest valid index */
    PITH_INDEX_FILL,    /**< take: the fill value; scatter: as drop */
    PITH_INDEX_WRAP,    /**< modulo the extent */
    PITH_INDEX_PROMISE, /**< the caller promises there is none; nothing is checked */
    PITH_INDEX_ERROR    /**< PITH_E_INDEX naming the first one, at the next synchronising
                           call */
} pith_index_mode;

/** Options of pith_take; zero is the default. */
typedef struct pith_take_options {
    int axis PITH_DEFAULT; /**< negative: from the last */
    pith_index_mode mode PITH_DEFAULT;
    /** Used for invalid indices in mode fill, converted to the dtype; NULL: NaN for
     * floats, the least value for signed integers, the greatest for unsigned ones, true
     * for bool, as in JAX. */
    const double *fill PITH_DEFAULT;
} pith_take_options;

/** Options of the scatters; zero is the default. */
typedef struct pith_scatter_options {
    int axis PITH_DEFAULT; /**< negative: from the last */
    pith_index_mode mode PITH_DEFAULT;
} pith_scatter_options;

PITH_BEGIN

/* ---- Making arrays from host data, and reading them ---- */

/** An array with a copy of the shape's elements at @p data. */
PITH_API const pith_array *
pith_array_copy(pith_scope *s, pith_dtype dtype, pith_shape shape, const void *data);
/**
 * An array over host memory of the caller's, which must stay unchanged until the scope is
 * closed (and whatever the array was kept to). On CUDA the elements are copied.
 */
PITH_API const pith_array *
pith_array_borrow(pith_scope *s, pith_dtype dtype, pith_shape shape, const void *data);
/**
 * As pith_array_borrow, but @p release(closure, data) is called when the last array over
 * the memory is gone: also when this call fails, so that the memory is never lost. It may
 * run on any thread.
 */
PITH_API const pith_array *pith_array_own(pith_scope *s,
                                          pith_dtype dtype,
                                          pith_shape shape,
                                          void *data,
                                          void (*release)(void *closure, void *data),
                                          void *closure);

/** Rank-0 arrays. */
PITH_API const pith_array *pith_f64(pith_scope *s, double value);
PITH_API const pith_array *pith_f32(pith_scope *s, float value);
PITH_API const pith_array *pith_i64(pith_scope *s, int64_t value);
PITH_API const pith_array *pith_i32(pith_scope *s, int32_t value);
PITH_API const pith_array *pith_bool(pith_scope *s, bool value);
/** A rank-0 array of @p like's dtype: value must be exact in it if it is an integer or
 * bool. */
PITH_API const pith_array *pith_like(pith_scope *s, const pith_array *like, double value);

/** dtype and shape; NULL where @p a is no array. Never waits. */
PITH_API const pith_spec *pith_array_spec(const pith_array *a);
/** Whether @p a stands for a value of a program being built. */
PITH_API bool pith_is_traced(const pith_array *a);

/**
 * Copy the elements of @p a to @p host, which has room for @p bytes: exactly the array's
 * bytes.
 *
 * Waits for the scope's stream; failures of checks surface here.
 * @return Whether the bytes are there.
 */
PITH_API bool pith_read(pith_scope *s, const pith_array *a, void *host, size_t bytes);
/** The value of a rank-0 (or one-element) array; 0 on failure. Waits. Floats are not cut:
 * PITH_E_DTYPE. */
PITH_API double pith_read_f64(pith_scope *s, const pith_array *a);
PITH_API int64_t pith_read_i64(pith_scope *s, const pith_array *a);
PITH_API bool pith_read_bool(pith_scope *s, const pith_array *a);

/** Give an array back before its scope closes. Using it afterwards is an error. Arrays
 * that @p s does not own itself are left alone. */
PITH_API void pith_drop(pith_scope *s, const pith_array *a);

/* ---- Filled arrays ---- */

/** Zeros (false for bool). */
PITH_API const pith_array *pith_zeros(pith_scope *s, pith_dtype dtype, pith_shape shape);
/** Ones (true for bool). */
PITH_API const pith_array *pith_ones(pith_scope *s, pith_dtype dtype, pith_shape shape);
/** Every element @p value, which must be exact in an integer or bool dtype. */
PITH_API const pith_array *
pith_full(pith_scope *s, pith_dtype dtype, pith_shape shape, double value);
/** Every element the one of the rank-0 array @p value, cast to @p dtype. */
PITH_API const pith_array *pith_full_array(pith_scope *s,
                                           pith_dtype dtype,
                                           pith_shape shape,
                                           const pith_array *value);
/** 0, 1, 2, ... along @p axis, the same along all others. */
PITH_API const pith_array *
pith_iota(pith_scope *s, pith_dtype dtype, pith_shape shape, int axis);
/** 0 to count - 1. */
PITH_API const pith_array *pith_arange(pith_scope *s, pith_dtype dtype, int64_t count);

/* ---- Elementwise. Operands broadcast as in NumPy; dtypes promote as the array API
 * standard says, and kinds that it leaves undefined (bool with numbers, integers with
 * floats) are PITH_E_DTYPE. ---- */

/** -a. */
PITH_API const pith_array *pith_neg(pith_scope *s, const pith_array *a);
/** The absolute value; of the least signed integer: itself. */
PITH_API const pith_array *pith_abs(pith_scope *s, const pith_array *a);
/** -1, 0 or 1; NaN of NaN. */
PITH_API const pith_array *pith_sign(pith_scope *s, const pith_array *a);
/** a * a. */
PITH_API const pith_array *pith_square(pith_scope *s, const pith_array *a);
/** 1 / a, floats. */
PITH_API const pith_array *pith_reciprocal(pith_scope *s, const pith_array *a);
/** Round down. */
PITH_API const pith_array *pith_floor(pith_scope *s, const pith_array *a);
/** Round up. */
PITH_API const pith_array *pith_ceil(pith_scope *s, const pith_array *a);
/** Round to the nearest integer, halves to even. */
PITH_API const pith_array *pith_round(pith_scope *s, const pith_array *a);
/** Round towards zero. */
PITH_API const pith_array *pith_trunc(pith_scope *s, const pith_array *a);
/** Square root, correctly rounded. */
PITH_API const pith_array *pith_sqrt(pith_scope *s, const pith_array *a);
/** 1 / sqrt(a). */
PITH_API const pith_array *pith_rsqrt(pith_scope *s, const pith_array *a);
/** Cube root. */
PITH_API const pith_array *pith_cbrt(pith_scope *s, const pith_array *a);
/** e to the a. */
PITH_API const pith_array *pith_exp(pith_scope *s, const pith_array *a);
/** 2 to the a. */
PITH_API const pith_array *pith_exp2(pith_scope *s, const pith_array *a);
/** exp(a) - 1. */
PITH_API const pith_array *pith_expm1(pith_scope *s, const pith_array *a);
/** Natural logarithm. */
PITH_API const pith_array *pith_log(pith_scope *s, const pith_array *a);
/** Logarithm of base 2. */
PITH_API const pith_array *pith_log2(pith_scope *s, const pith_array *a);
/** Logarithm of base 10. */
PITH_API const pith_array *pith_log10(pith_scope *s, const pith_array *a);
/** log(1 + a). */
PITH_API const pith_array *pith_log1p(pith_scope *s, const pith_array *a);
/** Sine, radians. */
PITH_API const pith_array *pith_sin(pith_scope *s, const pith_array *a);
/** Cosine, radians. */
PITH_API const pith_array *pith_cos(pith_scope *s, const pith_array *a);
/** Tangent, radians. */
PITH_API const pith_array *pith_tan(pith_scope *s, const pith_array *a);
/** Arc sine. */
PITH_API const pith_array *pith_asin(pith_scope *s, const pith_array *a);
/** Arc cosine. */
PITH_API const pith_array *pith_acos(pith_scope *s, const pith_array *a);
/** Arc tangent. */
PITH_API const pith_array *pith_atan(pith_scope *s, const pith_array *a);
/** Hyperbolic sine. */
PITH_API const pith_array *pith_sinh(pith_scope *s, const pith_array *a);
/** Hyperbolic cosine. */
PITH_API const pith_array *pith_cosh(pith_scope *s, const pith_array *a);
/** Hyperbolic tangent. */
PITH_API const pith_array *pith_tanh(pith_scope *s, const pith_array *a);
/** Inverse hyperbolic sine. */
PITH_API const pith_array *pith_asinh(pith_scope *s, const pith_array *a);
/** Inverse hyperbolic cosine. */
PITH_API const pith_array *pith_acosh(pith_scope *s, const pith_array *a);
/** Inverse hyperbolic tangent. */
PITH_API const pith_array *pith_atanh(pith_scope *s, const pith_array *a);
/** Error function. */
PITH_API const pith_array *pith_erf(pith_scope *s, const pith_array *a);
/** Complementary error function. */
PITH_API const pith_array *pith_erfc(pith_scope *s, const pith_array *a);
/** Logarithm of the absolute value of the gamma function. */
PITH_API const pith_array *pith_lgamma(pith_scope *s, const pith_array *a);
/** Gamma function. */
PITH_API const pith_array *pith_tgamma(pith_scope *s, const pith_array *a);
/** 1 / (1 + exp(-a)). */
PITH_API const pith_array *pith_logistic(pith_scope *s, const pith_array *a);
/** Whether a is NaN; bool. */
PITH_API const pith_array *pith_is_nan(pith_scope *s, const pith_array *a);
/** Whether a is infinite; bool. */
PITH_API const pith_array *pith_is_inf(pith_scope *s, const pith_array *a);
/** Whether a is neither; bool. */
PITH_API const pith_array *pith_is_finite(pith_scope *s, const pith_array *a);
/** Whether a is false, of bool. */
PITH_API const pith_array *pith_logical_not(pith_scope *s, const pith_array *a);
/** Every bit flipped; bool: not. */
PITH_API const pith_array *pith_bitwise_not(pith_scope *s, const pith_array *a);

/** a + b; integers wrap. */
PITH_API const pith_array *
pith_add(pith_scope *s, const pith_array *a, const pith_array *b);
/** a - b; integers wrap. */
PITH_API const pith_array *
pith_sub(pith_scope *s, const pith_array *a, const pith_array *b);
/** a * b; integers wrap. */
PITH_API const pith_array *
pith_mul(pith_scope *s, const pith_array *a, const pith_array *b);
/** a / b, floats only (pith_floor_divide is for integers). */
PITH_API const pith_array *
pith_div(pith_scope *s, const pith_array *a, const pith_array *b);
/** The floor of a / b; by integer zero: as NumPy, 0. */
PITH_API const pith_array *
pith_floor_divide(pith_scope *s, const pith_array *a, const pith_array *b);
/** a - floor(a / b) * b, the sign of b. */
PITH_API const pith_array *
pith_remainder(pith_scope *s, const pith_array *a, const pith_array *b);
/** The remainder of truncated division, the sign of a. */
PITH_API const pith_array *
pith_fmod(pith_scope *s, const pith_array *a, const pith_array *b);
/** a to the power b. */
PITH_API const pith_array *
pith_pow(pith_scope *s, const pith_array *a, const pith_array *b);
/** The angle of the point (b, a). */
PITH_API const pith_array *
pith_atan2(pith_scope *s, const pith_array *a, const pith_array *b);
/** sqrt(a^2 + b^2) without overflow. */
PITH_API const pith_array *
pith_hypot(pith_scope *s, const pith_array *a, const pith_array *b);
/** a with the sign of b. */
PITH_API const pith_array *
pith_copysign(pith_scope *s, const pith_array *a, const pith_array *b);
/** The value after a towards b. */
PITH_API const pith_array *
pith_nextafter(pith_scope *s, const pith_array *a, const pith_array *b);
/** The smaller; NaN if either is. */
PITH_API const pith_array *
pith_minimum(pith_scope *s, const pith_array *a, const pith_array *b);
/** The larger; NaN if either is. */
PITH_API const pith_array *
pith_maximum(pith_scope *s, const pith_array *a, const pith_array *b);
/** The smaller, NaN only if both are. */
PITH_API const pith_array *
pith_fmin(pith_scope *s, const pith_array *a, const pith_array *b);
/** The larger, NaN only if both are. */
PITH_API const pith_array *
pith_fmax(pith_scope *s, const pith_array *a, const pith_array *b);
/** a == b; bool. */
PITH_API const pith_array *
pith_equal(pith_scope *s, const pith_array *a, const pith_array *b);
/** a != b; bool. */
PITH_API const pith_array *
pith_not_equal(pith_scope *s, const pith_array *a, const pith_array *b);
/** a < b; bool. */
PITH_API const pith_array *
pith_less(pith_scope *s, const pith_array *a, const pith_array *b);
/** a <= b; bool. */
PITH_API const pith_array *
pith_less_equal(pith_scope *s, const pith_array *a, const pith_array *b);
/** a > b; bool. */
PITH_API const pith_array *
pith_greater(pith_scope *s, const pith_array *a, const pith_array *b);
/** a >= b; bool. */
PITH_API const pith_array *
pith_greater_equal(pith_scope *s, const pith_array *a, const pith_array *b);
/** a and b, of bool. */
PITH_API const pith_array *
pith_logical_and(pith_scope *s, const pith_array *a, const pith_array *b);
/** a or b, of bool. */
PITH_API const pith_array *
pith_logical_or(pith_scope *s, const pith_array *a, const pith_array *b);
/** a xor b, of bool. */
PITH_API const pith_array *
pith_logical_xor(pith_scope *s, const pith_array *a, const pith_array *b);
/** Bits of both, integers or bool. */
PITH_API const pith_array *
pith_bitwise_and(pith_scope *s, const pith_array *a, const pith_array *b);
/** Bits of either. */
PITH_API const pith_array *
pith_bitwise_or(pith_scope *s, const pith_array *a, const pith_array *b);
/** Bits of one only. */
PITH_API const pith_array *
pith_bitwise_xor(pith_scope *s, const pith_array *a, const pith_array *b);
/** a << b; by the width or more: 0. */
PITH_API const pith_array *
pith_shift_left(pith_scope *s, const pith_array *a, const pith_array *b);
/** a >> b: arithmetic where a is signed, else logical; by the width or more: all sign
 * bits. */
PITH_API const pith_array *
pith_shift_right(pith_scope *s, const pith_array *a, const pith_array *b);

/** Where @p condition (bool) holds @p a, else @p b; all three broadcast. */
PITH_API const pith_array *pith_where(pith_scope *s,
                                      const pith_array *condition,
                                      const pith_array *a,
                                      const pith_array *b);
/** minimum(maximum(a, low), high). */
PITH_API const pith_array *pith_clip(pith_scope *s,
                                     const pith_array *a,
                                     const pith_array *low,
                                     const pith_array *high);
/** Convert the elements: to nearest even; floats to integers saturate, NaN becomes 0. */
PITH_API const pith_array *
pith_cast(pith_scope *s, const pith_array *a, pith_dtype dtype);

/* ---- Shape ---- */

/** Repeat along new leading axes and axes of extent 1 until the shape is @p shape. */
PITH_API const pith_array *
pith_broadcast_to(pith_scope *s, const pith_array *a, pith_shape shape);
/** The same elements in another shape; one extent may be -1. Shares the data. */
PITH_API const pith_array *
pith_reshape(pith_scope *s, const pith_array *a, pith_shape shape);
/** Axis i of the result is axis order[i] of @p a; order NULL reverses the axes. */
PITH_API const pith_array *
pith_transpose(pith_scope *s, const pith_array *a, const int *order);
/** New axes of extent 1 at these places of the result. Shares the data. */
PITH_API const pith_array *
pith_expand_dims(pith_scope *s, const pith_array *a, pith_axes axes);
/** Without these axes of extent 1 (PITH_ALL_AXES: every such axis). Shares the data. */
PITH_API const pith_array *
pith_squeeze(pith_scope *s, const pith_array *a, pith_axes axes);
/** The elements that @p slices pick, one slice for each of the first @p count axes;
 * others whole. */
PITH_API const pith_array *
pith_slice_array(pith_scope *s, const pith_array *a, int count, const pith_slice *slices);
/** The elements of one axis at one place, without that axis: a[:, index] for axis 1. */
PITH_API const pith_array *
pith_slice_at(pith_scope *s, const pith_array *a, int axis, int64_t index);
/** Reverse the order of the elements along axes. */
PITH_API const pith_array *pith_flip(pith_scope *s, const pith_array *a, pith_axes axes);
/** Join arrays along an axis that they have; dtypes promote. count is at least 1. */
PITH_API const pith_array *
pith_concatenate(pith_scope *s, int count, const pith_array *const *arrays, int axis);
/** Join arrays of one shape along a new axis. */
PITH_API const pith_array *
pith_stack(pith_scope *s, int count, const pith_array *const *arrays, int axis);

/* ---- Indices ---- */

/**
 * The slices of @p a along an axis at the places in @p index.
 *
 * Shapes: a [..., n, ...], index any (integers): its axes replace axis n. Negative
 * indices count from the end; what lies outside follows options->mode. Errors:
 * PITH_E_INDEX (mode error; the first offending place), besides those of every operation.
 */
PITH_API const pith_array *pith_take(pith_scope *s,
                                     const pith_array *a,
                                     const pith_array *index,
                                     const pith_take_options *options);
/**
 * A copy of @p into with the slices at @p index along an axis replaced by @p value.
 *
 * Shapes: into [n, ...] (axis 0), index [m] or a scalar, value [m, ...] or broadcastable
 * to it; value is cast to into's dtype. With repeated indices the last one wins, on every
 * backend.
 */
PITH_API const pith_array *pith_scatter_set(pith_scope *s,
                                            const pith_array *into,
                                            const pith_array *index,
                                            const pith_array *value,
                                            const pith_scatter_options *options);
/** As pith_scatter_set, adding; repeated indices add in the order of @p index, on every
 * backend. */
PITH_API const pith_array *pith_scatter_add(pith_scope *s,
                                            const pith_array *into,
                                            const pith_array *index,
                                            const pith_array *value,
                                            const pith_scatter_options *options);
/** As pith_scatter_add, multiplying. */
PITH_API const pith_array *pith_scatter_mul(pith_scope *s,
                                            const pith_array *into,
                                            const pith_array *index,
                                            const pith_array *value,
                                            const pith_scatter_options *options);
/** As pith_scatter_add, taking the smaller. */
PITH_API const pith_array *pith_scatter_min(pith_scope *s,
                                            const pith_array *into,
                                            const pith_array *index,
                                            const pith_array *value,
                                            const pith_scatter_options *options);
/** As pith_scatter_add, taking the larger. */
PITH_API const pith_array *pith_scatter_max(pith_scope *s,
                                            const pith_array *into,
                                            const pith_array *index,
                                            const pith_array *value,
                                            const pith_scatter_options *options);

/* ---- Reductions over axes ---- */

/**
 * The sum over axes; the dtype of @p a (bool: i64). Integers wrap.
 *
 * Order: blocks of 4,096 elements, 64 strided lanes in a block, a binary tree over lanes
 * and then over blocks: the same bits on every backend and number of threads. f16, bf16
 * and f32 are accumulated in f64 and rounded once. Bound for f64: about (log2(n) + 64) /
 * 2 units of 2^-53 of the sum of magnitudes.
 */
PITH_API const pith_array *pith_sum(pith_scope *s, const pith_array *a, pith_axes axes);
/** The product; order and dtype as pith_sum. */
PITH_API const pith_array *pith_prod(pith_scope *s, const pith_array *a, pith_axes axes);
/** sum / count, floats only. */
PITH_API const pith_array *pith_mean(pith_scope *s, const pith_array *a, pith_axes axes);
/** The smallest; NaN if any is. An empty reduction is PITH_E_SHAPE. */
PITH_API const pith_array *pith_min(pith_scope *s, const pith_array *a, pith_axes axes);
/** The largest; NaN if any is. An empty reduction is PITH_E_SHAPE. */
PITH_API const pith_array *pith_max(pith_scope *s, const pith_array *a, pith_axes axes);
/** Whether any is true (not 0); bool. */
PITH_API const pith_array *pith_any(pith_scope *s, const pith_array *a, pith_axes axes);
/** Whether all are true (not 0); bool. */
PITH_API const pith_array *pith_all(pith_scope *s, const pith_array *a, pith_axes axes);
/** The place of the smallest along an axis, the first of equals (NaN is smallest); i64.
 */
PITH_API const pith_array *pith_argmin(pith_scope *s, const pith_array *a, int axis);
/** The place of the largest along an axis, the first of equals (NaN is largest); i64. */
PITH_API const pith_array *pith_argmax(pith_scope *s, const pith_array *a, int axis);

/* ---- Order ---- */

/** Running sums along an axis, in order. */
PITH_API const pith_array *pith_cumsum(pith_scope *s, const pith_array *a, int axis);
/** The elements along an axis in ascending order, stable; NaN last. */
PITH_API const pith_array *pith_sort(pith_scope *s, const pith_array *a, int axis);
/** The places that sort an axis, stable; i64. */
PITH_API const pith_array *pith_argsort(pith_scope *s, const pith_array *a, int axis);

PITH_END

/* Call sites for error messages. */
#ifndef PITH_NO_SITES
#    define pith_array_copy(s, ...)    pith_array_copy(PITH_AT(s), __VA_ARGS__)
#    define pith_array_borrow(s, ...)  pith_array_borrow(PITH_AT(s), __VA_ARGS__)
#    define pith_array_own(s, ...)     pith_array_own(PITH_AT(s), __VA_ARGS__)
#    define pith_f64(s, ...)           pith_f64(PITH_AT(s), __VA_ARGS__)
#    define pith_f32(s, ...)           pith_f32(PITH_AT(s), __VA_ARGS__)
#    define pith_i64(s, ...)           pith_i64(PITH_AT(s), __VA_ARGS__)
#    define pith_i32(s, ...)           pith_i32(PITH_AT(s), __VA_ARGS__)
#    define pith_bool(s, ...)          pith_bool(PITH_AT(s), __VA_ARGS__)
#    define pith_like(s, ...)          pith_like(PITH_AT(s), __VA_ARGS__)
#    define pith_read(s, ...)          pith_read(PITH_AT(s), __VA_ARGS__)
#    define pith_read_f64(s, ...)      pith_read_f64(PITH_AT(s), __VA_ARGS__)
#    define pith_read_i64(s, ...)      pith_read_i64(PITH_AT(s), __VA_ARGS__)
#    define pith_read_bool(s, ...)     pith_read_bool(PITH_AT(s), __VA_ARGS__)
#    define pith_drop(s, ...)          pith_drop(PITH_AT(s), __VA_ARGS__)
#    define pith_zeros(s, ...)         pith_zeros(PITH_AT(s), __VA_ARGS__)
#    define pith_ones(s, ...)          pith_ones(PITH_AT(s), __VA_ARGS__)
#    define pith_full(s, ...)          pith_full(PITH_AT(s), __VA_ARGS__)
#    define pith_full_array(s, ...)    pith_full_array(PITH_AT(s), __VA_ARGS__)
#    define pith_iota(s, ...)          pith_iota(PITH_AT(s), __VA_ARGS__)
#    define pith_arange(s, ...)        pith_arange(PITH_AT(s), __VA_ARGS__)
#    define pith_neg(s, ...)           pith_neg(PITH_AT(s), __VA_ARGS__)
#    define pith_abs(s, ...)           pith_abs(PITH_AT(s), __VA_ARGS__)
#    define pith_sign(s, ...)          pith_sign(PITH_AT(s), __VA_ARGS__)
#    define pith_square(s, ...)        pith_square(PITH_AT(s), __VA_ARGS__)
#    define pith_reciprocal(s, ...)    pith_reciprocal(PITH_AT(s), __VA_ARGS__)
#    define pith_floor(s, ...)         pith_floor(PITH_AT(s), __VA_ARGS__)
#    define pith_ceil(s, ...)          pith_ceil(PITH_AT(s), __VA_ARGS__)
#    define pith_round(s, ...)         pith_round(PITH_AT(s), __VA_ARGS__)
#    define pith_trunc(s, ...)         pith_trunc(PITH_AT(s), __VA_ARGS__)
#    define pith_sqrt(s, ...)          pith_sqrt(PITH_AT(s), __VA_ARGS__)
#    define pith_rsqrt(s, ...)         pith_rsqrt(PITH_AT(s), __VA_ARGS__)
#    define pith_cbrt(s, ...)          pith_cbrt(PITH_AT(s), __VA_ARGS__)
#    define pith_exp(s, ...)           pith_exp(PITH_AT(s), __VA_ARGS__)
#    define pith_exp2(s, ...)          pith_exp2(PITH_AT(s), __VA_ARGS__)
#    define pith_expm1(s, ...)         pith_expm1(PITH_AT(s), __VA_ARGS__)
#    define pith_log(s, ...)           pith_log(PITH_AT(s), __VA_ARGS__)
#    define pith_log2(s, ...)          pith_log2(PITH_AT(s), __VA_ARGS__)
#    define pith_log10(s, ...)         pith_log10(PITH_AT(s), __VA_ARGS__)
#    define pith_log1p(s, ...)         pith_log1p(PITH_AT(s), __VA_ARGS__)
#    define pith_sin(s, ...)           pith_sin(PITH_AT(s), __VA_ARGS__)
#    define pith_cos(s, ...)           pith_cos(PITH_AT(s), __VA_ARGS__)
#    define pith_tan(s, ...)           pith_tan(PITH_AT(s), __VA_ARGS__)
#    define pith_asin(s, ...)          pith_asin(PITH_AT(s), __VA_ARGS__)
#    define pith_acos(s, ...)          pith_acos(PITH_AT(s), __VA_ARGS__)
#    define pith_atan(s, ...)          pith_atan(PITH_AT(s), __VA_ARGS__)
#    define pith_sinh(s, ...)          pith_sinh(PITH_AT(s), __VA_ARGS__)
#    define pith_cosh(s, ...)          pith_cosh(PITH_AT(s), __VA_ARGS__)
#    define pith_tanh(s, ...)          pith_tanh(PITH_AT(s), __VA_ARGS__)
#    define pith_asinh(s, ...)         pith_asinh(PITH_AT(s), __VA_ARGS__)
#    define pith_acosh(s, ...)         pith_acosh(PITH_AT(s), __VA_ARGS__)
#    define pith_atanh(s, ...)         pith_atanh(PITH_AT(s), __VA_ARGS__)
#    define pith_erf(s, ...)           pith_erf(PITH_AT(s), __VA_ARGS__)
#    define pith_erfc(s, ...)          pith_erfc(PITH_AT(s), __VA_ARGS__)
#    define pith_lgamma(s, ...)        pith_lgamma(PITH_AT(s), __VA_ARGS__)
#    define pith_tgamma(s, ...)        pith_tgamma(PITH_AT(s), __VA_ARGS__)
#    define pith_logistic(s, ...)      pith_logistic(PITH_AT(s), __VA_ARGS__)
#    define pith_is_nan(s, ...)        pith_is_nan(PITH_AT(s), __VA_ARGS__)
#    define pith_is_inf(s, ...)        pith_is_inf(PITH_AT(s), __VA_ARGS__)
#    define pith_is_finite(s, ...)     pith_is_finite(PITH_AT(s), __VA_ARGS__)
#    define pith_logical_not(s, ...)   pith_logical_not(PITH_AT(s), __VA_ARGS__)
#    define pith_bitwise_not(s, ...)   pith_bitwise_not(PITH_AT(s), __VA_ARGS__)
#    define pith_add(s, ...)           pith_add(PITH_AT(s), __VA_ARGS__)
#    define pith_sub(s, ...)           pith_sub(PITH_AT(s), __VA_ARGS__)
#    define pith_mul(s, ...)           pith_mul(PITH_AT(s), __VA_ARGS__)
#    define pith_div(s, ...)           pith_div(PITH_AT(s), __VA_ARGS__)
#    define pith_floor_divide(s, ...)  pith_floor_divide(PITH_AT(s), __VA_ARGS__)
#    define pith_remainder(s, ...)     pith_remainder(PITH_AT(s), __VA_ARGS__)
#    define pith_fmod(s, ...)          pith_fmod(PITH_AT(s), __VA_ARGS__)
#    define pith_pow(s, ...)           pith_pow(PITH_AT(s), __VA_ARGS__)
#    define pith_atan2(s, ...)         pith_atan2(PITH_AT(s), __VA_ARGS__)
#    define pith_hypot(s, ...)         pith_hypot(PITH_AT(s), __VA_ARGS__)
#    define pith_copysign(s, ...)      pith_copysign(PITH_AT(s), __VA_ARGS__)
#    define pith_nextafter(s, ...)     pith_nextafter(PITH_AT(s), __VA_ARGS__)
#    define pith_minimum(s, ...)       pith_minimum(PITH_AT(s), __VA_ARGS__)
#    define pith_maximum(s, ...)       pith_maximum(PITH_AT(s), __VA_ARGS__)
#    define pith_fmin(s, ...)          pith_fmin(PITH_AT(s), __VA_ARGS__)
#    define pith_fmax(s, ...)          pith_fmax(PITH_AT(s), __VA_ARGS__)
#    define pith_equal(s, ...)         pith_equal(PITH_AT(s), __VA_ARGS__)
#    define pith_not_equal(s, ...)     pith_not_equal(PITH_AT(s), __VA_ARGS__)
#    define pith_less(s, ...)          pith_less(PITH_AT(s), __VA_ARGS__)
#    define pith_less_equal(s, ...)    pith_less_equal(PITH_AT(s), __VA_ARGS__)
#    define pith_greater(s, ...)       pith_greater(PITH_AT(s), __VA_ARGS__)
#    define pith_greater_equal(s, ...) pith_greater_equal(PITH_AT(s), __VA_ARGS__)
#    define pith_logical_and(s, ...)   pith_logical_and(PITH_AT(s), __VA_ARGS__)
#    define pith_logical_or(s, ...)    pith_logical_or(PITH_AT(s), __VA_ARGS__)
#    define pith_logical_xor(s, ...)   pith_logical_xor(PITH_AT(s), __VA_ARGS__)
#    define pith_bitwise_and(s, ...)   pith_bitwise_and(PITH_AT(s), __VA_ARGS__)
#    define pith_bitwise_or(s, ...)    pith_bitwise_or(PITH_AT(s), __VA_ARGS__)
#    define pith_bitwise_xor(s, ...)   pith_bitwise_xor(PITH_AT(s), __VA_ARGS__)
#    define pith_shift_left(s, ...)    pith_shift_left(PITH_AT(s), __VA_ARGS__)
#    define pith_shift_right(s, ...)   pith_shift_right(PITH_AT(s), __VA_ARGS__)
#    define pith_where(s, ...)         pith_where(PITH_AT(s), __VA_ARGS__)
#    define pith_clip(s, ...)          pith_clip(PITH_AT(s), __VA_ARGS__)
#    define pith_cast(s, ...)          pith_cast(PITH_AT(s), __VA_ARGS__)
#    define pith_broadcast_to(s, ...)  pith_broadcast_to(PITH_AT(s), __VA_ARGS__)
#    define pith_reshape(s, ...)       pith_reshape(PITH_AT(s), __VA_ARGS__)
#    define pith_transpose(s, ...)     pith_transpose(PITH_AT(s), __VA_ARGS__)
#    define pith_expand_dims(s, ...)   pith_expand_dims(PITH_AT(s), __VA_ARGS__)
#    define pith_squeeze(s, ...)       pith_squeeze(PITH_AT(s), __VA_ARGS__)
#    define pith_slice_array(s, ...)   pith_slice_array(PITH_AT(s), __VA_ARGS__)
#    define pith_slice_at(s, ...)      pith_slice_at(PITH_AT(s), __VA_ARGS__)
#    define pith_flip(s, ...)          pith_flip(PITH_AT(s), __VA_ARGS__)
#    define pith_concatenate(s, ...)   pith_concatenate(PITH_AT(s), __VA_ARGS__)
#    define pith_stack(s, ...)         pith_stack(PITH_AT(s), __VA_ARGS__)
#    define pith_take(s, ...)          pith_take(PITH_AT(s), __VA_ARGS__)
#    define pith_scatter_set(s, ...)   pith_scatter_set(PITH_AT(s), __VA_ARGS__)
#    define pith_scatter_add(s, ...)   pith_scatter_add(PITH_AT(s), __VA_ARGS__)
#    define pith_scatter_mul(s, ...)   pith_scatter_mul(PITH_AT(s), __VA_ARGS__)
#    define pith_scatter_min(s, ...)   pith_scatter_min(PITH_AT(s), __VA_ARGS__)
#    define pith_scatter_max(s, ...)   pith_scatter_max(PITH_AT(s), __VA_ARGS__)
#    define pith_sum(s, ...)           pith_sum(PITH_AT(s), __VA_ARGS__)
#    define pith_prod(s, ...)          pith_prod(PITH_AT(s), __VA_ARGS__)
#    define pith_mean(s, ...)          pith_mean(PITH_AT(s), __VA_ARGS__)
#    define pith_min(s, ...)           pith_min(PITH_AT(s), __VA_ARGS__)
#    define pith_max(s, ...)           pith_max(PITH_AT(s), __VA_ARGS__)
#    define pith_any(s, ...)           pith_any(PITH_AT(s), __VA_ARGS__)
#    define pith_all(s, ...)           pith_all(PITH_AT(s), __VA_ARGS__)
#    define pith_argmin(s, ...)        pith_argmin(PITH_AT(s), __VA_ARGS__)
#    define pith_argmax(s, ...)        pith_argmax(PITH_AT(s), __VA_ARGS__)
#    define pith_cumsum(s, ...)        pith_cumsum(PITH_AT(s), __VA_ARGS__)
#    define pith_sort(s, ...)          pith_sort(PITH_AT(s), __VA_ARGS__)
#    define pith_argsort(s, ...)       pith_argsort(PITH_AT(s), __VA_ARGS__)
#endif

#endif
