/**
 * @file
 * Random numbers: Threefry-2x32 (Salmon et al., 2011) with arrays as keys, as in JAX.
 *
 * A key is u32[2], the value of jax.random.key_data for a JAX key. There is no hidden
 * generator. The same key and arguments give the same draws on every backend, number of
 * threads and instruction set. Use a key only once: split it, or fold a counter in.
 *
 * Unless documented otherwise, a function also accepts a batch of keys u32[..., 2]. Each
 * key draws independently, and their leading extents come first in the result.
 *
 * Keys, bits, integers, permutations and uniform numbers from 0 to 1 are those of JAX,
 * bit for bit, in both settings of jax_threefry_partitionable (see pith_random_layout).
 * Uniform numbers of other ranges may differ from JAX's by rounding where XLA contracts
 * a multiplication and an addition. What goes through a function (normal, exponential,
 * gumbel, truncated normal) differs by the functions' errors: normal numbers are within 6
 * (f32) and 10 (f64) units in the last place of what their bits stand for. f16 and bf16
 * are computed in f32 from the bits that JAX draws and rounded once, where JAX rounds
 * after every operation. Weights and logits of f16 and bf16 are cast to f32 first, and
 * draw what f32 draws.
 *
 * Results, scopes and errors: see array.h. A key that is not u32[..., 2] is PITH_E_DTYPE
 * or PITH_E_SHAPE.
 */
#ifndef PITH_ARRAY_RANDOM_H
#define PITH_ARRAY_RANDOM_H

#include <pith/array.h>

/** Counts that the elements of a draw use. */
typedef enum pith_random_layout {
    PITH_RANDOM_PARTITIONABLE, /**< element i has the count i, in 64 bits: JAX's default
                                */
    PITH_RANDOM_ORIGINAL       /**< JAX with jax_threefry_partitionable off: counts in two
                                  halves */
} pith_random_layout;

/** Options of draws; zero is the default. */
typedef struct pith_random_options {
    pith_random_layout layout PITH_DEFAULT;
    /** pith_random_integers: draw by rejection, without bias. Other draws refuse it
     * (PITH_E_ARG). */
    bool unbiased PITH_DEFAULT;
} pith_random_options;

/** Options of pith_random_choice; zero is the default. */
typedef struct pith_choice_options {
    bool once PITH_DEFAULT; /**< without replacement: no index is drawn twice */
    /** Weight of each index, float[n], not negative; the sum need not be 1. NULL:
     * all indices are equally likely. f16 and bf16 are computed in f32. Weights are not
     * validated. Negative or NaN weights, all zeros, or fewer positive weights than draws
     * without replacement give arbitrary indices. */
    const pith_array *weights PITH_DEFAULT;
    pith_random_layout layout PITH_DEFAULT;
} pith_choice_options;

PITH_BEGIN

/* ---- Keys ---- */

/** The key of a seed, as jax.random.PRNGKey with 64-bit types: its high and low word. */
PITH_API const pith_array *pith_random_key(pith_scope *s, int64_t seed);
/** Split a key: new keys u32[shape..., 2], independent of each other and of the draws of
 * @p key. */
PITH_API const pith_array *pith_random_split(pith_scope *s,
                                             const pith_array *key,
                                             pith_shape shape,
                                             const pith_random_options *options);
/** Fold an integer, such as the number of a step, into a key. Only the low 32 bits of
 * @p data are used. Leading extents of both broadcast. */
PITH_API const pith_array *
pith_random_fold_in(pith_scope *s, const pith_array *key, const pith_array *data);
/**
 * Key number @p index of the chain that starts at @p key, u32[shape..., 2]: the keys that
 * @p key is split into, with the index folded in. A chain has no state, so it goes on
 * from any index; it is kUPS's key_chain. @p key is one key, index of rank 0.
 */
PITH_API const pith_array *pith_key_chain(pith_scope *s,
                                          const pith_array *key,
                                          pith_shape shape,
                                          const pith_array *index,
                                          const pith_random_options *options);
/** The function Threefry-2x32: the two words of each pair of counts, u32[..., 2], under
 * @p key. Leading extents of both broadcast. */
PITH_API const pith_array *
pith_threefry(pith_scope *s, const pith_array *key, const pith_array *counts);

/* ---- Numbers ---- */

/** Random bits: u8, u16, u32 or u64. */
PITH_API const pith_array *pith_random_bits(pith_scope *s,
                                            const pith_array *key,
                                            pith_dtype dtype,
                                            pith_shape shape,
                                            const pith_random_options *options);
/**
 * Uniform floats from @p low to below @p high (rounding may reach it), with as many
 * random bits as the fraction of the dtype. If high is less than low all are low, as in
 * JAX.
 *
 * @par Errors
 * PITH_E_ARG: low, high or their difference is not finite in the dtype.
 */
PITH_API const pith_array *pith_random_uniform(pith_scope *s,
                                               const pith_array *key,
                                               pith_dtype dtype,
                                               pith_shape shape,
                                               double low,
                                               double high,
                                               const pith_random_options *options);
/** Standard normal floats: sqrt(2) * erf_inv(u), u uniform between -1 and 1. */
PITH_API const pith_array *pith_random_normal(pith_scope *s,
                                              const pith_array *key,
                                              pith_dtype dtype,
                                              pith_shape shape,
                                              const pith_random_options *options);
/** Standard normal floats truncated to @p lower to @p upper.
 *
 * @par Errors
 * PITH_E_ARG: no uniform draw of the dtype gives a value in the range. */
PITH_API const pith_array *
pith_random_truncated_normal(pith_scope *s,
                             const pith_array *key,
                             pith_dtype dtype,
                             pith_shape shape,
                             double lower,
                             double upper,
                             const pith_random_options *options);
/**
 * Uniform integers from @p low to below @p high; low if high is not greater.
 *
 * Bias: as in JAX, two words of w bits modulo the width of the range (w is 32, or 64 for
 * 64-bit dtypes). It is negligible for widths up to 2^(w/2). For larger widths
 * probabilities differ by a factor of up to about 1 + width / 2^w. For widths above
 * 2^(w-1) some integers are up to twice as likely as others.
 *
 * With options->unbiased all integers are equally likely, and the bits differ from JAX's:
 * element i takes the first word of w bits that is not below 2^w modulo the width, modulo
 * the width. Word j of element i is drawn under the key threefry(key, (0, j)); fewer than
 * two words are needed on average.
 *
 * For u64 both bounds are read as uint64_t. high may be one above the maximum of the
 * dtype.
 *
 * @par Errors
 * PITH_E_ARG: a bound is outside the dtype.
 */
PITH_API const pith_array *pith_random_integers(pith_scope *s,
                                                const pith_array *key,
                                                pith_dtype dtype,
                                                pith_shape shape,
                                                int64_t low,
                                                int64_t high,
                                                const pith_random_options *options);
/**
 * True with probability @p p (floats that broadcast to @p shape): uniform < p.
 *
 * The bits are JAX's. The uniform number has p's dtype, so the probability is p rounded
 * up to a multiple of 2^-7 (bf16), 2^-10 (f16), 2^-23 (f32) or 2^-52 (f64). In bf16 a p
 * of 0.001 gives true in 0.8 % of the draws: cast small p to f32 or f64.
 */
PITH_API const pith_array *pith_random_bernoulli(pith_scope *s,
                                                 const pith_array *key,
                                                 const pith_array *p,
                                                 pith_shape shape,
                                                 const pith_random_options *options);
/** Exponential floats of mean 1: -log1p(-uniform). */
PITH_API const pith_array *pith_random_exponential(pith_scope *s,
                                                   const pith_array *key,
                                                   pith_dtype dtype,
                                                   pith_shape shape,
                                                   const pith_random_options *options);
/** Gumbel floats: -log(-log(uniform)). */
PITH_API const pith_array *pith_random_gumbel(pith_scope *s,
                                              const pith_array *key,
                                              pith_dtype dtype,
                                              pith_shape shape,
                                              const pith_random_options *options);

/* ---- Choices; the key is one key ---- */

/** Categorical draws: indices along an axis of @p logits, with probability proportional
 * to exp of the element: [draws..., other axes], i64. */
PITH_API const pith_array *pith_random_categorical(pith_scope *s,
                                                   const pith_array *key,
                                                   const pith_array *logits,
                                                   int axis,
                                                   pith_shape draws,
                                                   const pith_random_options *options);
/** A random permutation of 0 to count - 1, i64, by rounds of sorting by random bits. */
PITH_API const pith_array *pith_random_permutation(pith_scope *s,
                                                   const pith_array *key,
                                                   int64_t count,
                                                   const pith_random_options *options);
/** @p a with its slices along an axis permuted by pith_random_permutation. */
PITH_API const pith_array *pith_random_permute(pith_scope *s,
                                               const pith_array *key,
                                               const pith_array *a,
                                               int axis,
                                               const pith_random_options *options);
/** @p a with each line along an axis permuted independently. */
PITH_API const pith_array *pith_random_shuffle(pith_scope *s,
                                               const pith_array *key,
                                               const pith_array *a,
                                               int axis,
                                               const pith_random_options *options);
/** Random indices from 0 to count - 1, i64.
 *
 * @par Errors
 * PITH_E_ARG: more than count draws without replacement. */
PITH_API const pith_array *pith_random_choice(pith_scope *s,
                                              const pith_array *key,
                                              int64_t count,
                                              pith_shape shape,
                                              const pith_choice_options *options);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_random_key(s, ...)     pith_random_key(PITH_AT(s), __VA_ARGS__)
#    define pith_random_split(s, ...)   pith_random_split(PITH_AT(s), __VA_ARGS__)
#    define pith_random_fold_in(s, ...) pith_random_fold_in(PITH_AT(s), __VA_ARGS__)
#    define pith_key_chain(s, ...)      pith_key_chain(PITH_AT(s), __VA_ARGS__)
#    define pith_threefry(s, ...)       pith_threefry(PITH_AT(s), __VA_ARGS__)
#    define pith_random_bits(s, ...)    pith_random_bits(PITH_AT(s), __VA_ARGS__)
#    define pith_random_uniform(s, ...) pith_random_uniform(PITH_AT(s), __VA_ARGS__)
#    define pith_random_normal(s, ...)  pith_random_normal(PITH_AT(s), __VA_ARGS__)
#    define pith_random_truncated_normal(s, ...)                                         \
        pith_random_truncated_normal(PITH_AT(s), __VA_ARGS__)
#    define pith_random_integers(s, ...)  pith_random_integers(PITH_AT(s), __VA_ARGS__)
#    define pith_random_bernoulli(s, ...) pith_random_bernoulli(PITH_AT(s), __VA_ARGS__)
#    define pith_random_exponential(s, ...)                                              \
        pith_random_exponential(PITH_AT(s), __VA_ARGS__)
#    define pith_random_gumbel(s, ...) pith_random_gumbel(PITH_AT(s), __VA_ARGS__)
#    define pith_random_categorical(s, ...)                                              \
        pith_random_categorical(PITH_AT(s), __VA_ARGS__)
#    define pith_random_permutation(s, ...)                                              \
        pith_random_permutation(PITH_AT(s), __VA_ARGS__)
#    define pith_random_permute(s, ...) pith_random_permute(PITH_AT(s), __VA_ARGS__)
#    define pith_random_shuffle(s, ...) pith_random_shuffle(PITH_AT(s), __VA_ARGS__)
#    define pith_random_choice(s, ...)  pith_random_choice(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
