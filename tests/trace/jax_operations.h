/* Functions of arrays and integers whose derivatives by JAX are in jax_derivatives.def;
 * jax_derivatives.py has the same functions for JAX. */
#ifndef PITH_TESTS_JAX_OPERATIONS_H
#define PITH_TESTS_JAX_OPERATIONS_H

#include "pith/pith.h"

enum { JAX_OPERANDS = 3, JAX_PARAMETERS = 24 };

/* What a function of the table gets. */
typedef struct jax_call {
    const pith_array *x, *y, *z; /* operands, or NULL */
    int count;                   /* of parameters */
    int p[JAX_PARAMETERS];
} jax_call;

/* JAX(name): the function `name` of a scope `in` and a call `c`. */
#define JAX(name) static const pith_array *name##_jax(pith_scope *in, const jax_call *c)

static int jax_rank(const pith_array *a) {
    return pith_array_spec(a)->rank;
}
static const pith_array *
jax_indices(pith_scope *in, const jax_call *c, int first, int count) {
    int64_t at[JAX_PARAMETERS];
    for (int k = 0; k < count; k++)
        at[k] = c->p[first + k];
    return pith_array_copy(in, PITH_I64, PITH_SHAPE(count), at);
}
static pith_shape jax_shape(const jax_call *c, int first, int count) {
    pith_shape shape = {.rank = count};
    for (int k = 0; k < count; k++)
        shape.extents[k] = c->p[first + k];
    return shape;
}
static pith_axes jax_axes(const jax_call *c, int first, int step, int count) {
    pith_axes axes = {.count = (int8_t)count};
    for (int k = 0; k < count; k++)
        axes.axes[k] = (int8_t)c->p[first + step * k];
    return axes;
}
/* All parameters; without any, all axes. */
static pith_axes jax_all(const jax_call *c) {
    return c->count ? jax_axes(c, 0, 1, c->count) : PITH_ALL_AXES;
}

/* ---- Elementwise functions ---- */

/* clang-format off */
#define JAX_UNARY(X) \
    X(neg) X(abs) X(sign) X(square) X(floor) X(ceil) X(round) X(trunc) X(reciprocal) \
    X(sqrt) X(rsqrt) X(cbrt) X(exp) X(exp2) X(expm1) X(log) X(log2) X(log10) X(log1p) \
    X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh) X(cosh) X(tanh) X(asinh) \
    X(acosh) X(atanh) X(erf) X(erfc) X(erf_inv) X(lgamma) X(digamma) X(tgamma) \
    X(logistic)
#define JAX_BINARY(X) \
    X(add) X(sub) X(mul) X(div) X(maximum) X(minimum) X(atan2) X(hypot) X(logaddexp) \
    X(copysign) X(fmod) X(remainder) X(pow) X(matmul)
/* clang-format on */
#define JAX_DEFINE_UNARY(name)                                                           \
    JAX(name) {                                                                          \
        return pith_##name(in, c->x);                                                    \
    }
#define JAX_DEFINE_BINARY(name)                                                          \
    JAX(name) {                                                                          \
        return pith_##name(in, c->x, c->y);                                              \
    }
JAX_UNARY(JAX_DEFINE_UNARY)
JAX_BINARY(JAX_DEFINE_BINARY)

JAX(clip) {
    return pith_clip(in, c->x, c->y, c->z);
}
JAX(where) {
    return pith_where(in, pith_less(in, c->x, c->y), pith_mul(in, c->x, c->y),
                      pith_add(in, c->x, c->y));
}
JAX(mul_sum) {
    return pith_sum(in, pith_mul(in, c->x, c->y), PITH_ALL_AXES);
}
JAX(div_all) {
    return pith_div(in, c->x, pith_add(in, pith_square(in, c->y), 1.0));
}

/* ---- Reductions and scans ---- */

#define JAX_REDUCTIONS(X) X(sum) X(prod) X(max) X(min) X(mean) X(logsumexp)
#define JAX_DEFINE_REDUCTION(name)                                                       \
    JAX(name) {                                                                          \
        return pith_##name(in, c->x, jax_all(c));                                        \
    }
JAX_REDUCTIONS(JAX_DEFINE_REDUCTION)
JAX(var) {
    return pith_var(in, c->x, jax_all(c), 0);
}
JAX(std) {
    return pith_std(in, c->x, jax_all(c), 0);
}
JAX(norm) {
    return pith_norm(in, c->x, 2, jax_all(c));
}

#define JAX_CUMULATIVE(X) X(cumsum) X(cumprod) X(cummax) X(cummin) X(cumlogsumexp)
#define JAX_DEFINE_CUMULATIVE(name)                                                      \
    JAX(name) {                                                                          \
        return pith_##name(in, c->x, c->p[0],                                            \
                           &(pith_cumulative_options){.reverse = c->p[1] != 0});         \
    }
JAX_CUMULATIVE(JAX_DEFINE_CUMULATIVE)

JAX(sort) {
    return pith_sort(in, c->x, c->p[0], &(pith_sort_options){.descending = c->p[1] != 0});
}
JAX(top_k) {
    return pith_top_k(in, c->x, c->p[0]).values;
}

/* ---- Indices ---- */

/* Parameters: axis, mode, indices. */
JAX(take) {
    static const pith_index_mode modes[] = {PITH_INDEX_FILL, PITH_INDEX_CLIP,
                                            PITH_INDEX_WRAP};
    static const double zero = 0;
    const pith_take_options o = {.axis = c->p[0], .mode = modes[c->p[1]], .fill = &zero};
    return pith_take(in, c->x, jax_indices(in, c, 2, c->count - 2), &o);
}
/* Parameters: axis, places along it. */
JAX(take_along) {
    const pith_spec *spec = pith_array_spec(c->x);
    pith_shape shape = {.rank = spec->rank};
    int64_t at[64], count = 1;
    for (int k = 0; k < spec->rank; k++)
        count *= shape.extents[k] = k == c->p[0] ? c->p[1] : spec->shape[k];
    for (int64_t k = 0; k < count; k++)
        at[k] = (k * 3 + 1) % spec->shape[c->p[0]];
    return pith_take_along_axis(in, c->x, pith_array_copy(in, PITH_I64, shape, at),
                                &(pith_take_options){.axis = c->p[0]});
}
#define JAX_SCATTERS(X)                                                                  \
    X(scatter_set) X(scatter_add) X(scatter_mul) X(scatter_min) X(scatter_max)
#define JAX_DEFINE_SCATTER(name)                                                         \
    JAX(name) {                                                                          \
        return pith_##name(in, c->x, jax_indices(in, c, 0, c->count), c->y, NULL);       \
    }
JAX_SCATTERS(JAX_DEFINE_SCATTER)
/* Parameters: segments, ids. */
#define JAX_SEGMENTS(X) X(segment_sum) X(segment_prod) X(segment_max) X(segment_min)
#define JAX_DEFINE_SEGMENT(name)                                                         \
    JAX(name) {                                                                          \
        return pith_##name(in, c->x, jax_indices(in, c, 1, c->count - 1), c->p[0],       \
                           NULL);                                                        \
    }
JAX_SEGMENTS(JAX_DEFINE_SEGMENT)
JAX(dynamic_slice) {
    const int n = jax_rank(c->x);
    return pith_dynamic_slice(in, c->x, jax_indices(in, c, 0, n), jax_shape(c, n, n));
}
JAX(dynamic_update) {
    return pith_dynamic_update_slice(in, c->x, c->y, jax_indices(in, c, 0, c->count));
}

/* ---- Shapes ---- */

/* Parameters: start, limit, step of each axis. */
JAX(slice) {
    pith_slice slices[PITH_MAX_RANK];
    for (int k = 0; 3 * k < c->count; k++)
        slices[k] = PITH_SLICE(c->p[3 * k], c->p[3 * k + 1], c->p[3 * k + 2]);
    return pith_slice_array(in, c->x, c->count / 3, slices);
}
/* Parameters: low, high, interior of each axis. */
JAX(pad) {
    pith_padding padding[PITH_MAX_RANK];
    for (int k = 0; 3 * k < c->count; k++)
        padding[k] =
            (pith_padding){c->p[3 * k], c->p[3 * k + 1], .interior = c->p[3 * k + 2]};
    return pith_pad(in, c->x, c->y, c->count / 3, padding);
}
JAX(flip) {
    return pith_flip(in, c->x, jax_all(c));
}
JAX(transpose) {
    return pith_transpose(in, c->x, c->p);
}
JAX(reshape) {
    return pith_reshape(in, c->x, jax_shape(c, 0, c->count));
}
JAX(broadcast) {
    return pith_broadcast_to(in, c->x, jax_shape(c, 0, c->count));
}
JAX(concatenate) {
    return pith_concatenate(in, 2, (const pith_array *[]){c->x, c->y}, c->p[0]);
}
JAX(stack) {
    return pith_stack(in, 2, (const pith_array *[]){c->x, c->y}, c->p[0]);
}
JAX(roll) {
    return pith_roll(in, c->x, c->p[0], c->p[1]);
}
JAX(tile) {
    const int64_t repeats[] = {c->p[0], c->p[1]};
    return pith_tile(in, c->x, c->count, repeats);
}
JAX(repeat) {
    return pith_repeat(in, c->x, c->p[0], c->p[1]);
}
JAX(diff) {
    return pith_diff(in, c->x, c->p[0], c->p[1]);
}
JAX(tril) {
    return pith_tril(in, c->x, c->p[0]);
}

/* ---- Products ---- */

/* Parameters: the numbers of contracted and of batch axes, then those of x and y in turn.
 */
JAX(dot_general) {
    const int contracted = c->p[0], batch = c->p[1], first = 2 + 2 * contracted;
    const pith_dot_general_options o = {
        .contract = {jax_axes(c, 2, 2, contracted), jax_axes(c, 3, 2, contracted)},
        .batch = {jax_axes(c, first, 2, batch), jax_axes(c, first + 1, 2, batch)}};
    return pith_dot_general(in, c->x, c->y, &o);
}
/* n times the identity. */
static const pith_array *jax_diagonal(pith_scope *in, const pith_array *like, double n) {
    const int64_t rows = pith_array_spec(like)->shape[0];
    const pith_array *i = pith_arange(in, PITH_I64, rows);
    const pith_array *on = pith_equal(in, pith_reshape(in, i, PITH_SHAPE(rows, 1)), i);
    return pith_mul(in, pith_cast(in, on, pith_array_spec(like)->dtype), n);
}
JAX(cholesky) {
    const pith_array *square = pith_matmul(in, c->x, pith_transpose(in, c->x, NULL));
    return pith_cholesky(in, pith_add(in, square, jax_diagonal(in, c->x, 4)), false);
}
JAX(solve_triangular) {
    const pith_array *low =
        pith_add(in, pith_tril(in, c->x, 0), jax_diagonal(in, c->x, 4));
    return pith_solve_triangular(in, low, c->y,
                                 &(pith_triangular_options){.transpose = c->p[1] != 0});
}

#endif
