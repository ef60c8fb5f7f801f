/* Random numbers: keys, and the numbers drawn by primitives. Choices and permutations are
 * in random_choice.c. */
#include "array/random.h"

#include "program/source/prologue_host.h"

#include <math.h>
#include <string.h>

/* ---- Keys and options ---- */

pith_status pithp_key_check(pith_scope *s, const pith_array *key, const char *function) {
    char text[PITHP_SPEC_TEXT_BYTES];
    const pith_status rc = pithp_operand_check(s, key, function, "key");
    if (rc != PITH_OK)
        return rc;
    const pith_spec *spec = pithp_array_spec(key);
    if (spec->dtype == PITH_U32 && spec->rank == 1 && spec->shape[0] == 2)
        return PITH_OK;
    return pithp_fail(s, spec->dtype == PITH_U32 ? PITH_E_SHAPE : PITH_E_DTYPE, NULL,
                      "%s: key: expected u32[2], got %s", function,
                      pithp_spec_print(spec, text));
}

static bool layout_is(pith_scope *s,
                      const char *function,
                      pith_random_layout layout,
                      bool *original) {
    *original = layout == PITH_RANDOM_ORIGINAL;
    if (*original || layout == PITH_RANDOM_PARTITIONABLE)
        return true;
    pithp_fail(s, PITH_E_ARG, NULL, "%s: layout: invalid layout %d", function,
               (int)layout);
    return false;
}

bool pithp_random_options_fit(pith_scope *s,
                              const char *function,
                              const pith_random_options *options,
                              bool integers,
                              bool *original) {
    if (options && options->unbiased && !integers) {
        pithp_fail(s, PITH_E_ARG, NULL,
                   "%s: unbiased: only pith_random_integers has this option", function);
        return false;
    }
    return layout_is(s, function, options ? options->layout : PITH_RANDOM_PARTITIONABLE,
                     original);
}

static pithp_random_params params_of(pith_dtype dtype, pith_shape shape) {
    pithp_random_params p = {.dtype = dtype, .rank = shape.rank};
    memcpy(p.shape, shape.extents, sizeof shape.extents);
    return p;
}

/* Common part of all draws. */
static const pith_array *draw(pith_scope *s,
                              pithp_primitive primitive,
                              const char *function,
                              const pith_array *key,
                              pithp_random_params *params,
                              const pith_random_options *options) {
    if (pithp_operand_check(s, key, function, "key") != PITH_OK ||
        !pithp_random_options_fit(s, function, options,
                                  primitive == PITHP_OP_RANDOM_INTEGERS,
                                  &params->original))
        return NULL;
    params->unbiased = options && options->unbiased;
    return pithp_bind(s, primitive, 1, &key, params);
}

const pith_array *pithp_random_draw(pith_scope *s,
                                    pithp_primitive primitive,
                                    const pith_array *key,
                                    pith_dtype dtype,
                                    pith_shape shape,
                                    bool original) {
    pithp_random_params p = params_of(dtype, shape);
    p.original = original;
    p.high = 1;
    return pithp_bind(s, primitive, 1, &key, &p);
}

const pith_array *pith_random_key(pith_scope *s, int64_t seed) {
    const uint32_t words[2] = {(uint32_t)((uint64_t)seed >> 32), (uint32_t)seed};
    return pith_array_copy(s, PITH_U32, PITH_SHAPE(2), words);
}

const pith_array *pith_random_split(pith_scope *s,
                                    const pith_array *key,
                                    pith_shape shape,
                                    const pith_random_options *options) {
    pithp_random_params p = params_of(PITH_U32, shape);
    return pithp_enter(s)
               ? draw(s, PITHP_OP_RANDOM_SPLIT, "pith_random_split", key, &p, options)
               : NULL;
}

/* ---- Raw bits ---- */

/* Broadcast the leading extents to `shape`; the `last` trailing extents are unchanged. */
static const pith_array *
spread(pith_scope *s, const pith_array *a, pith_shape shape, int last) {
    const pith_spec *spec = pithp_array_spec(a);
    if (shape.rank + last > PITH_MAX_RANK)
        return a; /* the primitive refuses it */
    pithp_broadcast_params p = {.rank = shape.rank + last};
    memcpy(p.shape, shape.extents, sizeof shape.extents);
    for (int d = 0; d < last; d++)
        p.shape[shape.rank + d] = spec->shape[spec->rank - last + d];
    for (int d = 0; d < spec->rank; d++)
        p.dimensions[d] = p.rank - spec->rank + d;
    return pithp_bind(s, PITHP_OP_BROADCAST, 1, &a, &p);
}

/* Broadcast two lists of leading extents; false with the error set. */
static bool join_leading(pith_scope *s,
                         const char *function,
                         const pith_spec *key,
                         const pith_spec *x,
                         int last,
                         pith_shape *joined) {
    const int a = key->rank - 1, b = x->rank - last;
    char first[PITHP_SPEC_TEXT_BYTES], second[PITHP_SPEC_TEXT_BYTES];
    joined->rank = a > b ? a : b;
    for (int d = 0; d < joined->rank; d++) {
        const int at_a = a - joined->rank + d, at_b = b - joined->rank + d;
        const int64_t m = at_a < 0 ? 1 : key->shape[at_a],
                      n = at_b < 0 ? 1 : x->shape[at_b];
        if (m != n && m != 1 && n != 1) {
            pithp_fail(s, PITH_E_SHAPE, NULL, "%s: cannot broadcast keys %s with %s",
                       function, pithp_spec_print(key, first),
                       pithp_spec_print(x, second));
            return false;
        }
        joined->extents[d] = m == 1 ? n : m;
    }
    return true;
}

static const pith_array *words_of(pith_scope *s,
                                  pithp_primitive primitive,
                                  const char *function,
                                  const pith_array *key,
                                  const pith_array *x) {
    const pith_spec *spec = pithp_array_spec(key), *other = pithp_array_spec(x);
    const int last = primitive == PITHP_OP_THREEFRY;
    const pith_array *operands[] = {key, x};
    if (spec->rank > 1 && other->rank >= last) { /* else the primitive decides */
        pith_shape leading = {0};
        if (!join_leading(s, function, spec, other, last, &leading))
            return NULL;
        operands[0] = spread(s, key, leading, 1);
        operands[1] = spread(s, x, leading, last);
        if (!operands[0] || !operands[1])
            return NULL;
    }
    return pithp_bind(s, primitive, 2, operands, NULL);
}

static const pith_array *fold_in(pith_scope *s,
                                 const char *function,
                                 const pith_array *key,
                                 const char *name,
                                 const pith_array *data) {
    if (pithp_operand_check(s, key, function, "key") != PITH_OK ||
        pithp_operand_check(s, data, function, name) != PITH_OK)
        return NULL;
    if (!pith_dtype_is_integer(pithp_array_spec(data)->dtype)) {
        pithp_fail(s, PITH_E_DTYPE, NULL, "%s: %s: expected an integer dtype, got %s",
                   function, name, pith_dtype_name(pithp_array_spec(data)->dtype));
        return NULL;
    }
    data = pithp_cast(s, data, PITH_U32);
    return data ? words_of(s, PITHP_OP_FOLD_IN, function, key, data) : NULL;
}

const pith_array *
pith_random_fold_in(pith_scope *s, const pith_array *key, const pith_array *data) {
    return pithp_enter(s) ? fold_in(s, "pith_random_fold_in", key, "data", data) : NULL;
}

const pith_array *pith_key_chain(pith_scope *s,
                                 const pith_array *key,
                                 pith_shape shape,
                                 const pith_array *index,
                                 const pith_random_options *options) {
    pithp_random_params p = params_of(PITH_U32, shape);
    char text[PITHP_SPEC_TEXT_BYTES];
    if (!pithp_enter(s) || pithp_key_check(s, key, "pith_key_chain") != PITH_OK ||
        pithp_operand_check(s, index, "pith_key_chain", "index") != PITH_OK)
        return NULL;
    if (pithp_array_spec(index)->rank != 0) {
        pithp_fail(s, PITH_E_SHAPE, NULL,
                   "pith_key_chain: index: expected rank 0, got %s",
                   pithp_spec_print(pithp_array_spec(index), text));
        return NULL;
    }
    const pith_array *keys =
        draw(s, PITHP_OP_RANDOM_SPLIT, "pith_key_chain", key, &p, options);
    return keys ? fold_in(s, "pith_key_chain", keys, "index", index) : NULL;
}

const pith_array *
pith_threefry(pith_scope *s, const pith_array *key, const pith_array *counts) {
    if (!pithp_enter(s) ||
        pithp_operand_check(s, key, "pith_threefry", "key") != PITH_OK ||
        pithp_operand_check(s, counts, "pith_threefry", "counts") != PITH_OK)
        return NULL;
    return words_of(s, PITHP_OP_THREEFRY, "pith_threefry", key, counts);
}

/* ---- Numbers ---- */

const pith_array *pith_random_bits(pith_scope *s,
                                   const pith_array *key,
                                   pith_dtype dtype,
                                   pith_shape shape,
                                   const pith_random_options *options) {
    pithp_random_params p = params_of(dtype, shape);
    return pithp_enter(s)
               ? draw(s, PITHP_OP_RANDOM_BITS, "pith_random_bits", key, &p, options)
               : NULL;
}

static const pith_array *uniform(pith_scope *s,
                                 const char *function,
                                 const pith_array *key,
                                 pith_dtype dtype,
                                 pith_shape shape,
                                 double low,
                                 double high,
                                 const pith_random_options *options) {
    pithp_random_params p = params_of(dtype, shape);
    p.low = low;
    p.high = high;
    return draw(s, PITHP_OP_RANDOM_UNIFORM, function, key, &p, options);
}

const pith_array *pith_random_uniform(pith_scope *s,
                                      const pith_array *key,
                                      pith_dtype dtype,
                                      pith_shape shape,
                                      double low,
                                      double high,
                                      const pith_random_options *options) {
    return pithp_enter(s)
               ? uniform(s, "pith_random_uniform", key, dtype, shape, low, high, options)
               : NULL;
}

const pith_array *pith_random_normal(pith_scope *s,
                                     const pith_array *key,
                                     pith_dtype dtype,
                                     pith_shape shape,
                                     const pith_random_options *options) {
    pithp_random_params p = params_of(dtype, shape);
    return pithp_enter(s)
               ? draw(s, PITHP_OP_RANDOM_NORMAL, "pith_random_normal", key, &p, options)
               : NULL;
}

/* The range of integers of a dtype, as bits of the widened numbers. */
static bool range_of(pithp_random_params *p, int64_t low, int64_t high) {
    const int bits = 8 * (int)pith_dtype_size(p->dtype);
    p->least = (uint64_t)low;
    if (p->dtype == PITH_U64) {
        p->greatest = (uint64_t)high > (uint64_t)low ? (uint64_t)high - 1 : (uint64_t)low;
        return true;
    }
    p->greatest = high > low ? (uint64_t)high - 1 : (uint64_t)low;
    if (bits == 64)
        return true;
    const int64_t half = (int64_t)1 << (bits - 1);
    const int64_t least = pithp_dtype_is_signed(p->dtype) ? -half : 0;
    return low >= least && low < least + 2 * half && high >= least &&
           high <= least + 2 * half;
}

const pith_array *pith_random_integers(pith_scope *s,
                                       const pith_array *key,
                                       pith_dtype dtype,
                                       pith_shape shape,
                                       int64_t low,
                                       int64_t high,
                                       const pith_random_options *options) {
    pithp_random_params p = params_of(dtype, shape);
    if (!pithp_enter(s))
        return NULL;
    if (pith_dtype_is_integer(dtype) && !range_of(&p, low, high)) {
        pithp_fail(s, PITH_E_ARG, NULL,
                   "pith_random_integers: %lld to below %lld is not within %s",
                   (long long)low, (long long)high, pith_dtype_name(dtype));
        return NULL;
    }
    return draw(s, PITHP_OP_RANDOM_INTEGERS, "pith_random_integers", key, &p, options);
}

const pith_array *pithp_random_integers(pith_scope *s,
                                        const pith_array *key,
                                        pith_shape shape,
                                        int64_t count,
                                        bool original) {
    pithp_random_params p = params_of(PITH_I64, shape);
    p.original = original;
    range_of(&p, 0, count);
    return pithp_bind(s, PITHP_OP_RANDOM_INTEGERS, 1, &key, &p);
}

/* ---- Transformations of uniform numbers ---- */

/* Apply functions in sequence, dropping intermediate results. */
static const pith_array *
through(pith_scope *s, const pith_array *a, int count, const pithp_primitive *functions) {
    for (int i = 0; i < count && a; i++) {
        const pith_array *next = pithp_bind(s, functions[i], 1, &a, NULL);
        pithp_array_drop(s, a);
        a = next;
    }
    return a;
}

const pith_array *pith_random_exponential(pith_scope *s,
                                          const pith_array *key,
                                          pith_dtype dtype,
                                          pith_shape shape,
                                          const pith_random_options *options) {
    if (!pithp_enter(s))
        return NULL;
    return through(
        s, uniform(s, "pith_random_exponential", key, dtype, shape, 0, 1, options), 3,
        (const pithp_primitive[]){PITHP_OP_NEG, PITHP_OP_LOG1P, PITHP_OP_NEG});
}

const pith_array *pithp_random_gumbel(pith_scope *s,
                                      const pith_array *key,
                                      pith_dtype dtype,
                                      pith_shape shape,
                                      bool original) {
    const double least = dtype == PITH_F16   ? 0x1p-14
                         : dtype == PITH_F64 ? 0x1p-1022
                                             : 0x1p-126;
    pithp_random_params p = params_of(dtype, shape);
    p.original = original;
    p.low = least;
    p.high = 1;
    return through(s, pithp_bind(s, PITHP_OP_RANDOM_UNIFORM, 1, &key, &p), 4,
                   (const pithp_primitive[]){PITHP_OP_LOG, PITHP_OP_NEG, PITHP_OP_LOG,
                                             PITHP_OP_NEG});
}

const pith_array *pith_random_gumbel(pith_scope *s,
                                     const pith_array *key,
                                     pith_dtype dtype,
                                     pith_shape shape,
                                     const pith_random_options *options) {
    bool original = false;
    if (!pithp_enter(s) ||
        pithp_operand_check(s, key, "pith_random_gumbel", "key") != PITH_OK ||
        !pithp_random_options_fit(s, "pith_random_gumbel", options, false, &original))
        return NULL;
    return pithp_random_gumbel(s, key, dtype, shape, original);
}

const pith_array *pith_random_bernoulli(pith_scope *s,
                                        const pith_array *key,
                                        const pith_array *p,
                                        pith_shape shape,
                                        const pith_random_options *options) {
    char first[PITHP_SPEC_TEXT_BYTES], second[PITHP_SPEC_TEXT_BYTES];
    if (!pithp_enter(s) ||
        pithp_operand_check(s, p, "pith_random_bernoulli", "p") != PITH_OK)
        return NULL;
    const pith_array *u = uniform(s, "pith_random_bernoulli", key,
                                  pithp_array_spec(p)->dtype, shape, 0, 1, options);
    const pith_array *drawn = pithp_bind_two(s, PITHP_OP_LT, u, p, NULL);
    const bool fits = drawn &&
                      pithp_array_spec(drawn)->rank == pithp_array_spec(u)->rank &&
                      memcmp(pithp_array_spec(drawn)->shape, pithp_array_spec(u)->shape,
                             (size_t)pithp_array_spec(u)->rank * sizeof(int64_t)) == 0;
    if (drawn && !fits)
        pithp_fail(s, PITH_E_SHAPE, NULL,
                   "pith_random_bernoulli: p: %s does not broadcast to the draws' %s",
                   pithp_spec_print(pithp_array_spec(p), first),
                   pithp_spec_print(pithp_array_spec(u), second));
    pithp_array_drop_any(s, u);
    return fits ? drawn : NULL;
}

/* ---- Truncated normal numbers ---- */

static const pith_array *scalar(pith_scope *s, pith_dtype dtype, double value) {
    pithp_full_params p = {.dtype = dtype};
    pithp_dtype_encode(dtype, value, &p.value);
    return pithp_bind(s, PITHP_OP_FULL, 0, NULL, &p);
}

/* The number of the dtype next to `from` towards `to`. */
static const pith_array *next(pith_scope *s, pith_dtype dtype, double from, double to) {
    const pith_array *ends[] = {scalar(s, dtype, from), NULL};
    ends[1] = ends[0] ? scalar(s, dtype, to) : NULL;
    return ends[1] ? pithp_bind(s, PITHP_OP_NEXTAFTER, 2, ends, NULL) : NULL;
}

const pith_array *pith_random_truncated_normal(pith_scope *s,
                                               const pith_array *key,
                                               pith_dtype dtype,
                                               pith_shape shape,
                                               double lower,
                                               double upper,
                                               const pith_random_options *options) {
    static const char name[] = "pith_random_truncated_normal";
    const double root = 0x1.6a09e667f3bcdp+0;
    const double a = m_erf(lower / root), b = m_erf(upper / root);
    uint64_t first = 0, second = 0;
    if (!pithp_enter(s))
        return NULL;
    if (pith_dtype_is_float(dtype)) { /* otherwise refused by the draw */
        pithp_dtype_encode(dtype, a, &first);
        pithp_dtype_encode(dtype, b, &second);
        if (!(a < b) || first == second) {
            pithp_fail(s, PITH_E_ARG, NULL, "%s: %.17g to %.17g contains no number of %s",
                       name, lower, upper, pith_dtype_name(dtype));
            return NULL;
        }
    }
    const pith_array *x = uniform(s, name, key, dtype, shape, a, b, options);
    x = through(s, x, 1, (const pithp_primitive[]){PITHP_OP_ERF_INV});
    const pith_array *scaled =
        pithp_bind_two(s, PITHP_OP_MUL, x, x ? scalar(s, dtype, root) : NULL, NULL);
    const pith_array *clipped[] = {
        scaled, scaled ? next(s, dtype, lower, (double)INFINITY) : NULL,
        scaled ? next(s, dtype, upper, -(double)INFINITY) : NULL};
    const pith_array *result =
        clipped[1] && clipped[2] ? pithp_bind(s, PITHP_OP_CLIP, 3, clipped, NULL) : NULL;
    pithp_array_drop_any(s, x);
    pithp_array_drop_any(s, scaled);
    return result;
}
