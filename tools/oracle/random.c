/* Random numbers with keys u32[2]. */
#include "oracle.h"

#include <stdlib.h>
#include <string.h>

/* ---- Common parameters of draws ---- */

static pith_random_options options_of(const oracle_call *call) {
    return (pith_random_options){.layout = oracle_flag(call, "partitionable")
                                               ? PITH_RANDOM_PARTITIONABLE
                                               : PITH_RANDOM_ORIGINAL};
}

static pith_shape shape_of(const oracle_call *call) {
    return oracle_shape_of(oracle_list(call, "shape"));
}

/* An integer up to 2^64 - 1, as bits. */
static int64_t wide_integer(const oracle_call *call, const char *key) {
    const golden_json *v = golden_get(call->params, key);
    return v && v->kind == 's' && v->text[0] != '-' ? (int64_t)strtoull(v->text, NULL, 10)
                                                    : oracle_integer(call, key, 0);
}

/* HANDLER(name) { ... }: a handler with s, call, key, shape and o. */
#define HANDLER(name)                                                                    \
    static const pith_array *name(pith_scope *s, oracle_call *call,                      \
                                  const pith_array *key, pith_shape shape,               \
                                  const pith_random_options *o);                         \
    static void run_##name(pith_scope *s, const oracle_row *row, oracle_call *call) {    \
        const pith_random_options o = options_of(call);                                  \
        (void)row;                                                                       \
        oracle_give(call, name(s, call, call->in[0], shape_of(call), &o));               \
    }                                                                                    \
    static const pith_array *name(pith_scope *s, oracle_call *call,                      \
                                  const pith_array *key, pith_shape shape,               \
                                  const pith_random_options *o)
#define UNUSED (void)call, (void)key, (void)o, (void)shape

/* ---- Keys ---- */

HANDLER(seed) {
    UNUSED;
    return pith_random_key(s, wide_integer(call, "seed"));
}

HANDLER(split) {
    UNUSED;
    return pith_random_split(s, key, shape, o);
}

HANDLER(fold_in) {
    UNUSED;
    return pith_random_fold_in(s, key, pith_i64(s, oracle_integer(call, "data", 0)));
}

/* Words of single counters as pairs, and back. */
static void run_threefry(pith_scope *s, const oracle_row *row, oracle_call *call) {
    const pith_array *counts = pith_stack(s, 2, &call->in[1], -1);
    const pith_array *words = pith_threefry(s, call->in[0], counts);
    (void)row;
    call->out[0] = pith_slice_at(s, words, -1, 0);
    call->out[1] = pith_slice_at(s, words, -1, 1);
    call->results = 2;
}

/* Each step splits the key in two: the next key and the step's own. */
static void run_key_chain(pith_scope *s, const oracle_row *row, oracle_call *call) {
    const pith_random_options o = options_of(call);
    const pith_array *key = call->in[0], *own[ORACLE_OPERANDS];
    const int64_t length = oracle_integer(call, "length", 0);
    (void)row;
    if (length < 1 || length > ORACLE_OPERANDS) {
        oracle_trouble(call, "length: %lld", (long long)length);
        return;
    }
    for (int64_t i = 0; i < length; i++) {
        const pith_array *both = pith_random_split(s, key, PITH_SHAPE(2), &o);
        key = pith_slice_at(s, both, 0, 0);
        own[i] = pith_slice_at(s, both, 0, 1);
    }
    call->out[0] = pith_stack(s, (int)length, own, 0);
    call->out[1] = key;
    call->results = 2;
}

/* ---- Numbers ---- */

HANDLER(bits) {
    UNUSED;
    return pith_random_bits(s, key, oracle_dtype(call, "dtype"), shape, o);
}

HANDLER(uniform) {
    UNUSED;
    return pith_random_uniform(s, key, oracle_dtype(call, "dtype"), shape,
                               oracle_number(call, "minval", 0),
                               oracle_number(call, "maxval", 1), o);
}

HANDLER(normal) {
    UNUSED;
    return pith_random_normal(s, key, oracle_dtype(call, "dtype"), shape, o);
}

HANDLER(truncated_normal) {
    UNUSED;
    return pith_random_truncated_normal(s, key, oracle_dtype(call, "dtype"), shape,
                                        oracle_number(call, "lower", 0),
                                        oracle_number(call, "upper", 0), o);
}

HANDLER(integers) {
    UNUSED;
    return pith_random_integers(s, key, oracle_dtype(call, "dtype"), shape,
                                wide_integer(call, "minval"),
                                wide_integer(call, "maxval"), o);
}

HANDLER(bernoulli) {
    UNUSED;
    return pith_random_bernoulli(s, key, call->in[1], shape, o);
}

HANDLER(exponential) {
    UNUSED;
    return pith_random_exponential(s, key, oracle_dtype(call, "dtype"), shape, o);
}

HANDLER(gumbel) {
    UNUSED;
    return pith_random_gumbel(s, key, oracle_dtype(call, "dtype"), shape, o);
}

/* ---- Choices ---- */

HANDLER(permutation) {
    UNUSED;
    const int axis = (int)oracle_integer(call, "axis", 0);
    return call->count > 1
               ? pith_random_permute(s, key, call->in[1], axis, o)
               : pith_random_permutation(s, key, oracle_integer(call, "n", 0), o);
}

HANDLER(shuffle) {
    UNUSED;
    return pith_random_shuffle(s, key, call->in[1], (int)oracle_integer(call, "axis", 0),
                               o);
}

HANDLER(choice) {
    UNUSED;
    const pith_choice_options how = {.layout = o->layout,
                                     .once = !oracle_flag(call, "replace"),
                                     .weights = call->count > 1 ? call->in[1] : NULL};
    const int64_t count = call->count > 1 ? pith_array_spec(call->in[1])->count
                                          : oracle_integer(call, "n", 0);
    return pith_random_choice(s, key, count, shape, &how);
}

HANDLER(categorical) {
    UNUSED;
    shape.rank -= oracle_rank(call->in[1]) - 1; /* JAX's shape includes the other axes */
    return pith_random_categorical(s, key, call->in[1],
                                   (int)oracle_integer(call, "axis", -1), shape, o);
}

const oracle_row oracle_random[] = {
    {.op = "threefry2x32", .run = run_threefry},
    {.op = "seed", .run = run_seed},
    {.op = "split", .run = run_split},
    {.op = "fold_in", .run = run_fold_in},
    {.op = "key_chain", .run = run_key_chain},
    {.op = "bits", .run = run_bits},
    {.op = "uniform", .run = run_uniform},
    {.op = "uniform_range", .run = run_uniform},
    {.op = "uniform_batch", .run = run_uniform},
    {.op = "normal", .run = run_normal},
    {.op = "truncated_normal", .run = run_truncated_normal},
    {.op = "randint", .run = run_integers},
    {.op = "bernoulli", .run = run_bernoulli},
    {.op = "exponential", .run = run_exponential},
    {.op = "gumbel", .run = run_gumbel},
    {.op = "permutation", .run = run_permutation},
    {.op = "permutation_independent", .run = run_shuffle},
    {.op = "choice", .run = run_choice},
    {.op = "choice_weighted", .run = run_choice},
    {.op = "categorical", .run = run_categorical},
    {.op = NULL},
};
