/* Functions of the family autodiff without loops: elementwise formulas, array operations
 * and small energies. */
#include "oracle.h"

/* ---- Elementwise ---- */

const oracle_row oracle_derive_elementwise[] = {
    ORACLE_FORMULA("neg", "-x"),
    ORACLE_FORMULA("abs", "abs(x)"),
    ORACLE_FORMULA("sign", "sign(x)"),
    ORACLE_FORMULA("floor", "floor(x)"),
    ORACLE_FORMULA("round_half_even", "round(x)"),
    ORACLE_FORMULA("square", "square(x)"),
    ORACLE_FORMULA("reciprocal", "reciprocal(x)"),
    ORACLE_FORMULA("sqrt", "sqrt(x)"),
    ORACLE_FORMULA("rsqrt", "rsqrt(x)"),
    ORACLE_FORMULA("cbrt", "cbrt(x)"),
    ORACLE_FORMULA("exp", "exp(x)"),
    ORACLE_FORMULA("exp2", "exp2(x)"),
    ORACLE_FORMULA("expm1", "expm1(x)"),
    ORACLE_FORMULA("log", "log(x)"),
    ORACLE_FORMULA("log2", "log2(x)"),
    ORACLE_FORMULA("log10", "log10(x)"),
    ORACLE_FORMULA("log1p", "log1p(x)"),
    ORACLE_FORMULA("sin", "sin(x)"),
    ORACLE_FORMULA("cos", "cos(x)"),
    ORACLE_FORMULA("tan", "tan(x)"),
    ORACLE_FORMULA("asin", "asin(x)"),
    ORACLE_FORMULA("acos", "acos(x)"),
    ORACLE_FORMULA("atan", "atan(x)"),
    ORACLE_FORMULA("sinh", "sinh(x)"),
    ORACLE_FORMULA("cosh", "cosh(x)"),
    ORACLE_FORMULA("tanh", "tanh(x)"),
    ORACLE_FORMULA("asinh", "asinh(x)"),
    ORACLE_FORMULA("acosh", "acosh(x)"),
    ORACLE_FORMULA("atanh", "atanh(x)"),
    ORACLE_FORMULA("erf", "erf(x)"),
    ORACLE_FORMULA("erfc", "erfc(x)"),
    ORACLE_FORMULA("erf_inv", "erf_inv(x)"),
    ORACLE_FORMULA("lgamma", "lgamma(x)"),
    ORACLE_FORMULA("digamma", "digamma(x)"),
    ORACLE_FORMULA("logistic", "logistic(x)"),
    ORACLE_FORMULA("integer_power_3", "pow(x, 3)"),
    ORACLE_FORMULA("integer_power_-2", "pow(x, -2)"),
    ORACLE_FORMULA("softplus", "logaddexp(x, 0)"),
    ORACLE_FORMULA("add", "x + y"),
    ORACLE_FORMULA("sub", "x - y"),
    ORACLE_FORMULA("mul", "x * y"),
    ORACLE_FORMULA("div", "x / y"),
    ORACLE_FORMULA("power", "pow(x, y)"),
    ORACLE_FORMULA("atan2", "atan2(x, y)"),
    ORACLE_FORMULA("hypot", "hypot(x, y)"),
    ORACLE_FORMULA("max", "maximum(x, y)"),
    ORACLE_FORMULA("min", "minimum(x, y)"),
    ORACLE_FORMULA("remainder", "remainder(x, y)"),
    ORACLE_FORMULA("logaddexp", "logaddexp(x, y)"),
    ORACLE_FORMULA("clip", "clip(x, y, z)"),
    ORACLE_FORMULA("fma", "x * y + z"),
    ORACLE_FORMULA("where", "x ? y : z * z"),
    ORACLE_FORMULA("safe_sqrt", "x > 0 ? sqrt(x > 0 ? x : 1) : 0"),
    ORACLE_FORMULA("cast_f32", "f64(f32(x) * 3)"),
    ORACLE_FORMULA("convention_max_tie", "maximum(x, y)"),
    ORACLE_FORMULA("convention_min_tie", "minimum(x, y)"),
    ORACLE_FORMULA("convention_maximum_0", "maximum(x, 0)"),
    ORACLE_FORMULA("convention_relu", "x > 0 ? x : 0"),
    ORACLE_FORMULA("convention_abs", "abs(x)"),
    ORACLE_FORMULA("convention_sqrt", "sqrt(x)"),
    ORACLE_FORMULA("convention_power", "pow(x, y)"),
    ORACLE_FORMULA("convention_clip", "clip(x, -1, 1)"),
    ORACLE_FORMULA("convention_where_nan", "x > 0 ? log(x) : 0"),
    ORACLE_FORMULA("convention_atan2", "atan2(x, y)"),
    ORACLE_FORMULA("convention_logaddexp", "logaddexp(x, y)"),
    ORACLE_FORMULA("convention_floor", "floor(x)"),
    ORACLE_FORMULA("convention_remainder", "remainder(x, y)"),
    {.op = NULL},
};

/* ---- Array operations ---- */

ORACLE_DERIVED(gather) {
    out[0] = pith_take(s, in[0], in[1], NULL);
}

ORACLE_DERIVED(gather_fill) {
    static const double zero = 0;
    out[0] = pith_take(s, in[0], in[1],
                       &(pith_take_options){.mode = PITH_INDEX_FILL, .fill = &zero});
}

/* Negative indices count from the end, unlike in pith_take. */
ORACLE_DERIVED(gather_clip) {
    out[0] = pith_gather(s, in[0], PITH_ENTRIES(PITH_ENTRY_ARRAY(in[1])),
                         &(pith_take_options){.mode = PITH_INDEX_CLIP});
}

ORACLE_DERIVED(gather_pairs) {
    out[0] = pith_gather(
        s, in[0], PITH_ENTRIES(PITH_ENTRY_ARRAY(in[1]), PITH_ENTRY_ARRAY(in[2])), NULL);
}

#define SCATTER(name, function)                                                          \
    ORACLE_DERIVED(name) {                                                               \
        out[0] = function(s, in[0], in[1], in[2],                                        \
                          &(pith_scatter_options){.mode = PITH_INDEX_DROP});             \
    }
SCATTER(scatter_set, pith_scatter_set)
SCATTER(scatter_add, pith_scatter_add)
SCATTER(scatter_mul, pith_scatter_mul)
SCATTER(convention_scatter_max, pith_scatter_max)

ORACLE_DERIVED(segment_sum) {
    out[0] = pith_segment_sum(s, in[0], in[1], 4, NULL);
}

#define REDUCTION(name, function, axes)                                                  \
    ORACLE_DERIVED(name) {                                                               \
        out[0] = function(s, in[0], axes);                                               \
    }
REDUCTION(sum_axis, pith_sum, PITH_AXES(1))
REDUCTION(mean_all, pith_mean, PITH_ALL_AXES)
REDUCTION(max_axis, pith_max, PITH_AXES(1))
REDUCTION(min_all, pith_min, PITH_ALL_AXES)
REDUCTION(prod_axis, pith_prod, PITH_AXES(1))
REDUCTION(logsumexp, pith_logsumexp, PITH_AXES(1))
REDUCTION(convention_reduce_max, pith_max, PITH_AXES(1))
REDUCTION(convention_reduce_min, pith_min, PITH_AXES(1))
REDUCTION(convention_prod, pith_prod, PITH_AXES(1))

static const pith_array *norm(pith_scope *s, const pith_array *x) {
    return pith_sqrt(s, pith_sum(s, pith_mul(s, x, x), PITH_AXES(1)));
}
ORACLE_DERIVED(norm_rows) {
    out[0] = norm(s, in[0]);
}
ORACLE_DERIVED(convention_norm) {
    out[0] = norm(s, in[0]);
}

ORACLE_DERIVED(variance) {
    const pith_array *mean = pith_mean(s, in[0], PITH_ALL_AXES);
    out[0] = pith_sub(s, pith_mean(s, pith_mul(s, in[0], in[0]), PITH_ALL_AXES),
                      pith_mul(s, mean, mean));
}

#define CUMULATIVE(name, function, axis, backward)                                       \
    ORACLE_DERIVED(name) {                                                               \
        out[0] =                                                                         \
            function(s, in[0], axis, &(pith_cumulative_options){.reverse = backward});   \
    }
CUMULATIVE(cumsum, pith_cumsum, 0, false)
CUMULATIVE(cumsum_reverse, pith_cumsum, 1, true)
CUMULATIVE(cumprod, pith_cumprod, 0, false)
CUMULATIVE(cummax, pith_cummax, 0, false)
CUMULATIVE(cumlogsumexp, pith_cumlogsumexp, 0, false)
CUMULATIVE(convention_cummax, pith_cummax, 1, false)
CUMULATIVE(convention_cumprod, pith_cumprod, 1, false)

ORACLE_DERIVED(sort) {
    out[0] = pith_sort(s, in[0], 1, NULL);
}
ORACLE_DERIVED(convention_sort) {
    out[0] = pith_sort(s, in[0], 1, NULL);
}

ORACLE_DERIVED(sort_by_key) {
    pith_sort_by_keys(s, 2, in, 1, -1, out);
}

ORACLE_DERIVED(top_k_values) {
    out[0] = pith_top_k(s, in[0], 2).values;
}

#define MATMUL(name)                                                                     \
    ORACLE_DERIVED(name) {                                                               \
        out[0] = pith_matmul(s, in[0], in[1]);                                           \
    }
MATMUL(matvec)
MATMUL(matmul)
MATMUL(matmul_batch)

ORACLE_DERIVED(einsum_three) {
    out[0] = pith_einsum(s, "i,ij,j->", 3, in);
}

ORACLE_DERIVED(move) {
    const pith_array *x = pith_transpose(s, pith_flip(s, in[0], PITH_AXES(0)), NULL);
    out[0] = pith_slice_array(s, pith_reshape(s, x, PITH_SHAPE(-1)), 1,
                              &PITH_SLICE(0, INT64_MAX, 2));
}

ORACLE_DERIVED(pad) {
    out[0] =
        pith_pad(s, in[0], pith_f64(s, 7), 2,
                 (pith_padding[]){{.low = 1, .high = 2, .interior = 1}, {.low = -1}});
}

ORACLE_DERIVED(join) {
    const pith_array *row =
        pith_concatenate(s, 2, (const pith_array *[]){in[0], pith_mul(s, 2.0, in[1])}, 0);
    out[0] = pith_stack(s, 2, (const pith_array *[]){row, pith_mul(s, 3.0, row)}, 0);
}

ORACLE_DERIVED(broadcast) {
    const pith_array *column = pith_expand_dims(s, in[0], PITH_AXES(1));
    out[0] = pith_add(s, pith_mul(s, column, in[1]), 1.0);
}

ORACLE_DERIVED(roll) {
    out[0] = pith_mul(s, pith_roll(s, in[0], 2, 0), in[0]);
}

/* The start of a slice: row i, column 0. */
static const pith_array *start_of(pith_scope *s, const pith_array *i) {
    return pith_stack(s, 2,
                      (const pith_array *[]){i, pith_zeros(s, PITH_I32, PITH_SCALAR)}, 0);
}

ORACLE_DERIVED(dynamic_slice) {
    out[0] = pith_dynamic_slice(s, in[0], start_of(s, in[1]), PITH_SHAPE(2, 2));
}

ORACLE_DERIVED(dynamic_update) {
    out[0] = pith_dynamic_update_slice(s, in[0], in[1], start_of(s, in[2]));
}

ORACLE_DERIVED(stop_gradient) {
    const pith_array *x = in[0];
    out[0] = pith_mul(s, x, pith_stop_gradient(s, pith_mul(s, x, x)));
}

static const pith_array *log_softmax(pith_scope *s, const pith_array *x) {
    return pith_sub(s, x, pith_logsumexp(s, x, PITH_AXES_KEPT(1)));
}

ORACLE_DERIVED(softmax) {
    out[0] = pith_exp(s, log_softmax(s, in[0]));
}

const oracle_row oracle_derive_arrays[] = {
    ORACLE_FUNCTION(gather, 1),
    ORACLE_FUNCTION(gather_fill, 1),
    ORACLE_FUNCTION(gather_clip, 1),
    ORACLE_FUNCTION(gather_pairs, 1),
    ORACLE_FUNCTION(scatter_set, 1),
    ORACLE_FUNCTION(scatter_add, 1),
    ORACLE_FUNCTION(scatter_mul, 1),
    ORACLE_FUNCTION(convention_scatter_max, 1),
    ORACLE_FUNCTION(segment_sum, 1),
    ORACLE_FUNCTION(sum_axis, 1),
    ORACLE_FUNCTION(mean_all, 1),
    ORACLE_FUNCTION(max_axis, 1),
    ORACLE_FUNCTION(min_all, 1),
    ORACLE_FUNCTION(prod_axis, 1),
    ORACLE_FUNCTION(logsumexp, 1),
    ORACLE_FUNCTION(convention_reduce_max, 1),
    ORACLE_FUNCTION(convention_reduce_min, 1),
    ORACLE_FUNCTION(convention_prod, 1),
    ORACLE_FUNCTION(norm_rows, 1),
    ORACLE_FUNCTION(convention_norm, 1),
    ORACLE_FUNCTION(variance, 1),
    ORACLE_FUNCTION(cumsum, 1),
    ORACLE_FUNCTION(cumsum_reverse, 1),
    ORACLE_FUNCTION(cumprod, 1),
    ORACLE_FUNCTION(cummax, 1),
    ORACLE_FUNCTION(cumlogsumexp, 1),
    ORACLE_FUNCTION(convention_cummax, 1),
    ORACLE_FUNCTION(convention_cumprod, 1),
    ORACLE_FUNCTION(sort, 1),
    ORACLE_FUNCTION(convention_sort, 1),
    ORACLE_FUNCTION(sort_by_key, 2),
    ORACLE_FUNCTION(top_k_values, 1),
    ORACLE_FUNCTION(matvec, 1),
    ORACLE_FUNCTION(matmul, 1),
    ORACLE_FUNCTION(matmul_batch, 1),
    ORACLE_FUNCTION(einsum_three, 1),
    ORACLE_FUNCTION(move, 1),
    ORACLE_FUNCTION(pad, 1),
    ORACLE_FUNCTION(join, 1),
    ORACLE_FUNCTION(broadcast, 1),
    ORACLE_FUNCTION(roll, 1),
    ORACLE_FUNCTION(dynamic_slice, 1),
    ORACLE_FUNCTION(dynamic_update, 1),
    ORACLE_FUNCTION(stop_gradient, 1),
    ORACLE_FUNCTION(softmax, 1),
    {.op = NULL},
};

/* ---- Energies and losses ---- */

/* Sums of squares over the last axis. */
static const pith_array *squares(pith_scope *s, const pith_array *d) {
    return pith_sum(s, pith_mul(s, d, d), PITH_AXES(-1));
}

static const pith_array *
difference(pith_scope *s, const pith_array *r, const pith_array *i, const pith_array *j) {
    return pith_sub(s, pith_take(s, r, i, NULL), pith_take(s, r, j, NULL));
}

ORACLE_DERIVED(cross_entropy) {
    const pith_array *label = pith_expand_dims(s, in[1], PITH_AXES(1));
    const pith_array *likely = pith_take_along_axis(s, log_softmax(s, in[0]), label,
                                                    &(pith_take_options){.axis = 1});
    out[0] = pith_neg(s, pith_mean(s, likely, PITH_ALL_AXES));
}

ORACLE_DERIVED(lj_energy) {
    enum { MOST = 16 };
    int32_t first[MOST * MOST], other[MOST * MOST];
    const int64_t n = pith_array_spec(in[0])->shape[0];
    int64_t pairs = 0;
    for (int32_t i = 0; i < n && n <= MOST; i++)
        for (int32_t j = i + 1; j < n; j++, pairs++) {
            first[pairs] = i;
            other[pairs] = j;
        }
    const pith_array *d =
        difference(s, in[0], pith_array_copy(s, PITH_I32, PITH_SHAPE(pairs), first),
                   pith_array_copy(s, PITH_I32, PITH_SHAPE(pairs), other));
    const pith_array *energy = pith_expression(s, "4 * (pow(d2, -6) - pow(d2, -3))",
                                               PITH_BIND({"d2", squares(s, d)}));
    out[0] = pith_sum(s, energy, PITH_ALL_AXES);
}

ORACLE_DERIVED(lj_neighbours) {
    static const double far = 1e3;
    const pith_array *r = in[0], *nb = in[1];
    const int64_t n = pith_array_spec(r)->shape[0];
    const pith_array *there = pith_greater_equal(s, nb, pith_i32(s, 0));
    const pith_array *other =
        pith_take(s, r, pith_where(s, there, nb, pith_i32(s, (int32_t)n)),
                  &(pith_take_options){.mode = PITH_INDEX_FILL, .fill = &far});
    const pith_array *d = pith_sub(s, pith_expand_dims(s, r, PITH_AXES(1)), other);
    const pith_array *d2 = pith_where(s, there, squares(s, d), 1.0);
    const pith_array *energy =
        pith_expression(s, "there && d2 < 6.25 ? 2 * (pow(d2, -6) - pow(d2, -3)) : 0",
                        PITH_BIND({"there", there}, {"d2", d2}));
    out[0] = pith_sum(s, energy, PITH_ALL_AXES);
}

ORACLE_DERIVED(spring_energy) {
    const pith_array *d = difference(s, in[0], pith_slice_at(s, in[1], 1, 0),
                                     pith_slice_at(s, in[1], 1, 1));
    const pith_array *energy =
        pith_expression(s, "k / 2 * square(sqrt(d2) - 1)",
                        PITH_BIND({"k", in[2]}, {"d2", squares(s, d)}));
    out[0] = pith_sum(s, energy, PITH_ALL_AXES);
}

ORACLE_DERIVED(mlp) {
    const pith_array *hidden = pith_tanh(s, pith_matmul(s, in[2], in[0]));
    const pith_array *error = pith_sub(s, pith_matmul(s, hidden, in[1]), in[3]);
    out[0] = pith_mean(s, pith_mul(s, error, error), PITH_ALL_AXES);
}

ORACLE_DERIVED(quadratic) {
    const pith_array *x = in[0];
    const pith_array *form = pith_matmul(s, pith_matmul(s, x, in[1]), x);
    out[0] =
        pith_add(s, pith_mul(s, 0.5, form), pith_sum(s, pith_sin(s, x), PITH_ALL_AXES));
}

const oracle_row oracle_derive_energies[] = {
    ORACLE_FUNCTION(cross_entropy, 1),
    ORACLE_FUNCTION(lj_energy, 1),
    ORACLE_FUNCTION(lj_neighbours, 1),
    ORACLE_FUNCTION(spring_energy, 1),
    ORACLE_FUNCTION(mlp, 1),
    ORACLE_FUNCTION(quadratic, 1),
    {.op = NULL},
};
