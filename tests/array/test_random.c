/* Random numbers: how they are distributed, keys and shapes, and what is refused. The
 * golden cases are the oracle's. */
#include "pith_test.h"

#include <math.h>
#include <pith/array.h>

/* ---- Statistics ---- */

enum { MANY = 200000 };

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The greatest distance of the distribution of `a` from that of `below`, times sqrt(n): 2
 * is passed by chance once in 3,000 times, and draws do not change. */
static double distance(pith_scope *s, const pith_array *a, double (*below)(double)) {
    static double x[MANY];
    pt_ok(s, pith_read(s, pith_cast(s, a, PITH_F64), x, sizeof x));
    qsort(x, MANY, sizeof *x, by_size);
    double most = 0;
    for (int i = 0; i < MANY; i++) {
        const double p = below(x[i]);
        most = fmax(most, fmax(fabs(p - (double)i / MANY), fabs(p - (i + 1.0) / MANY)));
    }
    return most * sqrt((double)MANY);
}

static double below_uniform(double x) {
    return (x + 2) / 5;
}
static double below_normal(double x) {
    return 0.5 * erfc(-x / sqrt(2.0));
}
static double below_exponential(double x) {
    return -expm1(-x);
}
static double below_gumbel(double x) {
    return exp(-exp(-x));
}
static double below_truncated(double x) {
    const double a = below_normal(-0.5), b = below_normal(3);
    return (below_normal(x) - a) / (b - a);
}

Test(random, draws_follow_their_distributions) {
    pith_runtime *rt = pt_open();
    for (int layout = 0; layout < 2; layout++) {
        pith_scope *s = pith_scope_open(rt);
        const pith_random_options o = {.layout = (pith_random_layout)layout};
        const pith_shape n = PITH_SHAPE(MANY);
        const pith_array *key = pith_random_key(s, 20261121);
        for (int k = 0; k < 2; k++) {
            const pith_dtype dtype = k ? PITH_F32 : PITH_F64;
            const double d[] = {
                distance(s, pith_random_uniform(s, key, dtype, n, -2, 3, &o),
                         below_uniform),
                distance(s, pith_random_normal(s, key, dtype, n, &o), below_normal),
                distance(s, pith_random_exponential(s, key, dtype, n, &o),
                         below_exponential),
                distance(s, pith_random_gumbel(s, key, dtype, n, &o), below_gumbel),
                distance(s, pith_random_truncated_normal(s, key, dtype, n, -0.5, 3, &o),
                         below_truncated)};
            for (int i = 0; i < 5; i++)
                cr_expect(d[i] < 2, "distribution %d of %s: %g", i,
                          pith_dtype_name(dtype), d[i]);
        }
        pith_scope_close(s);
    }
    pt_close(rt);
}

/* Sums of products of what two keys draw, as numbers of deviation 1. */
Test(random, split_keys_draw_independently) {
    enum { KEYS = 16, DRAWN = 4096 };
    static double x[KEYS + 1][DRAWN];
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *key = pith_random_key(s, -5);
    const pith_array *keys = pith_random_split(s, key, PITH_SHAPE(KEYS), NULL);
    const pith_array *own = pith_random_normal(s, key, PITH_F64, PITH_SHAPE(DRAWN), NULL);
    const pith_array *theirs =
        pith_random_normal(s, keys, PITH_F64, PITH_SHAPE(DRAWN), NULL);
    pt_ok(s, pith_read(s, own, x[KEYS], sizeof x[0]));
    pt_ok(s, pith_read(s, theirs, x, KEYS * sizeof x[0]));
    for (int a = 0; a <= KEYS; a++)
        for (int b = 0; b <= a; b++) {
            double sum = 0;
            for (int i = 0; i < DRAWN; i++)
                sum += x[a][i] * x[b][i];
            const double z = (sum / DRAWN - (a == b)) * sqrt((double)DRAWN);
            cr_expect(fabs(z) < 5, "keys %d and %d: %g", a, b, z);
        }
    pith_scope_close(s);
    pt_close(rt);
}

Test(random, integers_bernoulli_and_choices_have_their_frequencies) {
    static int64_t drawn[MANY];
    static const double weights[] = {1, 0, 3, 4};
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *key = pith_random_key(s, 3);
    const pith_array *p = pith_array_copy(s, PITH_F64, PITH_SHAPE(4), weights);
    const pith_array *draws[] = {
        pith_random_integers(s, key, PITH_I64, PITH_SHAPE(MANY), 0, 4, NULL),
        pith_random_choice(s, key, 4, PITH_SHAPE(MANY),
                           &(pith_choice_options){.weights = p}),
        pith_random_categorical(s, key, pith_log(s, p), 0, PITH_SHAPE(MANY), NULL),
        pith_cast(
            s, pith_random_bernoulli(s, key, pith_f32(s, 0.25f), PITH_SHAPE(MANY), NULL),
            PITH_I64)};
    static const double expected[][4] = {{0.25, 0.25, 0.25, 0.25},
                                         {0.125, 0, 0.375, 0.5},
                                         {0.125, 0, 0.375, 0.5},
                                         {0.75, 0.25, 0, 0}};
    for (int k = 0; k < 4; k++) {
        int64_t counts[4] = {0};
        pt_ok(s, pith_read(s, draws[k], drawn, sizeof drawn));
        for (int i = 0; i < MANY; i++)
            counts[drawn[i]]++;
        for (int i = 0; i < 4; i++) {
            const double q = expected[k][i], z = ((double)counts[i] - MANY * q) /
                                                 sqrt(MANY * q * (1 - q) + 1);
            cr_expect(fabs(z) < 4, "draw %d of %d: %g", k, i, z);
        }
    }
    pith_scope_close(s);
    pt_close(rt);
}

/* ---- Shapes, keys and options ---- */

static bool equal(pith_scope *s, const pith_array *a, const pith_array *b) {
    const pith_array *same = pith_all(s, pith_equal(s, a, b), PITH_ALL_AXES);
    return pith_read_bool(s, same) && pith_array_spec(a) == pith_array_spec(b);
}

Test(random, each_key_of_many_draws_as_it_would_alone) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    for (int layout = 0; layout < 2; layout++) {
        const pith_random_options o = {.layout = (pith_random_layout)layout};
        const pith_array *keys =
            pith_random_split(s, pith_random_key(s, 9), PITH_SHAPE(2, 3), &o);
        const pith_shape shape = PITH_SHAPE(1001);
        const pith_array *all[] = {
            pith_random_normal(s, keys, PITH_F32, shape, &o),
            pith_random_bits(s, keys, PITH_U16, shape, &o),
            pith_random_integers(s, keys, PITH_I8, shape, -7, 100, &o),
            pith_random_exponential(s, keys, PITH_F64, shape, &o),
            pith_random_split(s, keys, PITH_SHAPE(1001), &o)};
        for (int i = 0; i < 6; i++) {
            const pith_array *key =
                pith_slice_at(s, pith_slice_at(s, keys, 0, i / 3), 0, i % 3);
            const pith_array *one[] = {
                pith_random_normal(s, key, PITH_F32, shape, &o),
                pith_random_bits(s, key, PITH_U16, shape, &o),
                pith_random_integers(s, key, PITH_I8, shape, -7, 100, &o),
                pith_random_exponential(s, key, PITH_F64, shape, &o),
                pith_random_split(s, key, PITH_SHAPE(1001), &o)};
            for (int k = 0; k < 5; k++)
                cr_expect(
                    equal(s,
                          pith_slice_at(s, pith_slice_at(s, all[k], 0, i / 3), 0, i % 3),
                          one[k]),
                    "layout %d, key %d, draw %d", layout, i, k);
        }
    }
    pt_ok(s);
    pith_scope_close(s);
    pt_close(rt);
}

Test(random, keys_and_integers_broadcast_when_folded) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *key = pith_random_key(s, 1);
    const pith_array *steps = pith_arange(s, PITH_I64, 4);
    const pith_array *keys = pith_random_split(s, key, PITH_SHAPE(3, 1), NULL);
    const pith_array *folded = pith_random_fold_in(s, keys, steps); /* [3, 4, 2] */
    const pith_array *of_one = pith_random_fold_in(s, key, steps);
    pt_ok(s);
    cr_assert(pith_array_spec(folded)->rank == 3 &&
              pith_array_spec(folded)->shape[1] == 4);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++) {
            const pith_array *k = pith_slice_at(s, pith_slice_at(s, keys, 0, i), 0, 0);
            cr_expect(equal(s, pith_random_fold_in(s, k, pith_i32(s, j)),
                            pith_slice_at(s, pith_slice_at(s, folded, 0, i), 0, j)));
        }
    cr_expect(equal(s, pith_slice_at(s, of_one, 0, 3),
                    pith_random_fold_in(s, key, pith_i64(s, ((int64_t)5 << 32) + 3))),
              "the low 32 bits count");
    pith_scope_close(s);
    pt_close(rt);
}

/* kUPS: key i is the key split, with i folded in; so a chain restarts anywhere. */
Test(random, key_chains_restart) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *key = pith_random_key(s, 7);
    for (int64_t i = 0; i < 3; i++) {
        const pith_array *got =
            pith_key_chain(s, key, PITH_SHAPE(5), pith_i64(s, i), NULL);
        const pith_array *want = pith_random_fold_in(
            s, pith_random_split(s, key, PITH_SHAPE(5), NULL), pith_i64(s, i));
        cr_expect(equal(s, got, want));
        cr_expect(pith_array_spec(pith_key_chain(s, key, PITH_SCALAR, pith_i64(s, i),
                                                 NULL)) == pith_array_spec(key));
    }
    pt_ok(s);
    pith_scope_close(s);
    pt_close(rt);
}

Test(random, empty_shapes_and_no_keys) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *key = pith_random_key(s, 7);
    const pith_array *none = pith_zeros(s, PITH_U32, PITH_SHAPE(0, 2));
    for (int layout = 0; layout < 2; layout++) {
        const pith_random_options o = {.layout = (pith_random_layout)layout};
        const pith_choice_options c = {.layout = o.layout, .once = true};
        const pith_array *empty[] = {
            pith_random_bits(s, key, PITH_U8, PITH_SHAPE(3, 0), &o),
            pith_random_normal(s, none, PITH_F32, PITH_SHAPE(3), &o),
            pith_random_integers(s, none, PITH_I32, PITH_SCALAR, 0, 3, &o),
            pith_random_split(s, key, PITH_SHAPE(0), &o),
            pith_random_fold_in(s, none, pith_i32(s, 1)),
            pith_random_permutation(s, key, 0, &o),
            pith_random_choice(s, key, 0, PITH_SHAPE(0), &c),
            pith_random_choice(s, key, 5, PITH_SHAPE(0), &c)};
        for (size_t k = 0; k < sizeof empty / sizeof *empty; k++)
            cr_expect(empty[k] && pith_array_spec(empty[k])->count == 0, "draw %zu", k);
    }
    cr_expect(pith_read_i64(s, pith_random_choice(s, key, 1, PITH_SCALAR, NULL)) == 0);
    pt_ok(s);
    pith_scope_close(s);
    pt_close(rt);
}

Test(random, permutations_hold_every_number_once) {
    static int64_t drawn[100000];
    static char seen[100000];
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *order =
        pith_random_permutation(s, pith_random_key(s, 11), 100000, NULL);
    pt_ok(s, pith_read(s, order, drawn, sizeof drawn));
    for (int i = 0; i < 100000; i++)
        cr_assert(drawn[i] >= 0 && drawn[i] < 100000 && !seen[drawn[i]]++);
    pith_scope_close(s);
    pt_close(rt);
}

Test(random, halves_choose_among_thousands_alike) {
    enum { COUNT = 3000, DRAWN = 3000 };
    static int64_t drawn[DRAWN];
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *key = pith_random_key(s, 9);
    for (int k = 0; k < 2; k++) {
        const pith_dtype dtype = k ? PITH_BF16 : PITH_F16;
        const pith_array *ones = pith_ones(s, dtype, PITH_SHAPE(COUNT)),
                         *zeros = pith_zeros(s, dtype, PITH_SHAPE(COUNT));
        const pith_array *draws[] = {
            pith_random_choice(s, key, COUNT, PITH_SHAPE(DRAWN),
                               &(pith_choice_options){.weights = ones}),
            pith_random_categorical(s, key, zeros, 0, PITH_SHAPE(DRAWN), NULL)};
        for (int i = 0; i < 2; i++) {
            double mean = 0;
            pt_ok(s, pith_read(s, draws[i], drawn, sizeof drawn));
            for (int j = 0; j < DRAWN; j++)
                mean += (double)drawn[j] / DRAWN / (COUNT - 1);
            cr_assert(fabs(mean - 0.5) < 5 * sqrt(1.0 / 12 / DRAWN), "mean %g", mean);
        }
        const pith_array *once =
            pith_random_choice(s, key, COUNT, PITH_SHAPE(COUNT / 4),
                               &(pith_choice_options){.once = true, .weights = ones});
        const double mean =
            pith_read_f64(s, pith_mean(s, pith_cast(s, once, PITH_F64), PITH_ALL_AXES));
        cr_assert(fabs(mean / (COUNT - 1) - 0.5) < 0.05, "once: mean %g", mean);
    }
    pith_scope_close(s);
    pt_close(rt);
}

Test(random, refuses) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *key = pith_random_key(s, 0);
    const pith_array *wide = pith_zeros(s, PITH_U32, PITH_SHAPE(3));
    const pith_array *keys = pith_random_split(s, key, PITH_SHAPE(2), NULL);
    const pith_shape n = PITH_SHAPE(4);
    pt_fails(PITH_E_DTYPE, s, pith_random_bits(s, pith_i64(s, 3), PITH_U32, n, NULL));
    pt_says("random_bits: key: expected u32[...,2], got i64[]");
    pt_fails(PITH_E_SHAPE, s, pith_random_split(s, wide, n, NULL));
    pt_says("got u32[3]");
    pt_fails(PITH_E_DTYPE, s, pith_random_bits(s, key, PITH_I32, n, NULL));
    pt_says("expected an unsigned dtype, got i32");
    pt_fails(PITH_E_DTYPE, s, pith_random_normal(s, key, PITH_I32, n, NULL));
    pt_fails(PITH_E_DTYPE, s, pith_random_integers(s, key, PITH_F32, n, 0, 1, NULL));
    pt_fails(PITH_E_ARG, s, pith_random_integers(s, key, PITH_U8, n, 0, 257, NULL));
    pt_says("0 to below 257 is not within u8");
    pt_fails(PITH_E_ARG, s, pith_random_integers(s, key, PITH_I8, n, -129, 1, NULL));
    pt_fails(PITH_E_ARG, s,
             pith_random_uniform(s, key, PITH_F32, n, 0, (double)NAN, NULL));
    pt_fails(PITH_E_ARG, s, pith_random_uniform(s, key, PITH_F32, n, 0, 1e39, NULL));
    pt_says("finite in f32");
    pt_fails(PITH_E_ARG, s,
             pith_random_uniform(s, key, PITH_F64, n, -1e308, 1e308, NULL));
    pt_fails(PITH_E_ARG, s,
             pith_random_truncated_normal(s, key, PITH_F32, n, 7, 9, NULL));
    pt_says("contains no number of f32");
    pt_fails(PITH_E_ARG, s,
             pith_random_truncated_normal(s, key, PITH_F64, n, 1, 0, NULL));
    pt_fails(PITH_E_ARG, s,
             pith_random_normal(s, key, PITH_F32, n,
                                &(pith_random_options){.layout = (pith_random_layout)7}));
    pt_says("layout");
    pt_fails(PITH_E_SHAPE, s, pith_random_permutation(s, keys, 4, NULL));
    pt_says("pith_random_permutation: key: expected u32[2], got u32[2,2]");
    pt_fails(PITH_E_SHAPE, s, pith_random_permutation(s, key, -4, NULL));
    pt_fails(PITH_E_SHAPE, s, pith_random_permute(s, key, pith_f64(s, 1), 0, NULL));
    pt_fails(PITH_E_DTYPE, s, pith_random_fold_in(s, key, pith_f64(s, 1)));
    pt_says("data: expected an integer dtype, got f64");
    pt_fails(PITH_E_SHAPE, s, pith_random_fold_in(s, keys, pith_arange(s, PITH_I32, 3)));
    pt_fails(PITH_E_SHAPE, s,
             pith_key_chain(s, key, n, pith_arange(s, PITH_I32, 3), NULL));
    pt_fails(PITH_E_ARG, s, pith_random_choice(s, key, 0, n, NULL));
    pt_fails(PITH_E_ARG, s,
             pith_random_choice(s, key, 3, n, &(pith_choice_options){.once = true}));
    pt_says("4 of 3 without replacement");
    pt_fails(PITH_E_SHAPE, s,
             pith_random_choice(s, key, 3, n,
                                &(pith_choice_options){.weights = pith_f64(s, 1)}));
    pt_fails(PITH_E_DTYPE, s, pith_random_bernoulli(s, key, pith_i32(s, 1), n, NULL));
    const pith_array *p = pith_zeros(s, PITH_F32, PITH_SHAPE(4, 1));
    pt_fails(PITH_E_SHAPE, s, pith_random_bernoulli(s, key, p, n, NULL));
    pt_fails(PITH_E_SHAPE, s, pith_random_bernoulli(s, key, p, PITH_SHAPE(1, 1), NULL));
    pt_says("p: f32[4,1] does not broadcast to the draws' f32[1,1]");
    pith_scope_close(s);
    pt_close(rt);
}

/* ---- By rejection ---- */

/* In 12 parts of a range as wide as 3/4 of the dtype, JAX's draws fall into the first
 * third twice as often; those by rejection do not. */
static double chi_square(pith_scope *s,
                         const pith_array *key,
                         pith_dtype dtype,
                         const pith_random_options *o) {
    enum { PARTS = 12 };
    static int64_t x[MANY];
    const int bits = 8 * (int)pith_dtype_size(dtype);
    const uint64_t part = UINT64_C(1) << (bits - 4);
    const int64_t low = bits == 64 ? INT64_MIN : -(INT64_C(1) << (bits - 1));
    const int64_t high = (int64_t)((uint64_t)low + PARTS * part);
    const pith_array *drawn =
        pith_random_integers(s, key, dtype, PITH_SHAPE(MANY), low, high, o);
    pt_ok(s, pith_read(s, pith_cast(s, drawn, PITH_I64), x, sizeof x));
    int counts[PARTS] = {0};
    for (int i = 0; i < MANY; i++) {
        cr_assert(x[i] >= low && x[i] < high);
        counts[((uint64_t)x[i] - (uint64_t)low) / part]++;
    }
    double sum = 0;
    for (int k = 0; k < PARTS; k++) {
        const double off = counts[k] - (double)MANY / PARTS;
        sum += off * off / ((double)MANY / PARTS);
    }
    return sum;
}

Test(random, unbiased_integers_are_all_alike) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *key = pith_random_key(s, 4242);
    const pith_dtype dtypes[] = {PITH_I32, PITH_I64, PITH_I16, PITH_I8};
    for (int k = 0; k < 4; k++)
        for (int layout = 0; layout < 2; layout++) {
            const pith_random_options jax = {.layout = (pith_random_layout)layout};
            pith_random_options fair = jax;
            fair.unbiased = true;
            /* 11 degrees of freedom: 40 is passed once in 30,000 times */
            cr_expect(chi_square(s, key, dtypes[k], &fair) < 40, "%s, layout %d",
                      pith_dtype_name(dtypes[k]), layout);
            if (k < 2)
                cr_expect(chi_square(s, key, dtypes[k], &jax) > 1000, "%s, layout %d",
                          pith_dtype_name(dtypes[k]), layout);
        }
    pith_scope_close(s);
    pt_close(rt);
}

Test(random, only_integers_are_drawn_without_bias) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *key = pith_random_key(s, 1), *x = pith_arange(s, PITH_F64, 4);
    const pith_random_options o = {.unbiased = true};
    const pith_shape n = PITH_SHAPE(4);
    pt_fails(PITH_E_ARG, s, pith_random_split(s, key, n, &o));
    pt_says("pith_random_split: unbiased: only pith_random_integers");
    pt_fails(PITH_E_ARG, s, pith_random_bits(s, key, PITH_U32, n, &o));
    pt_fails(PITH_E_ARG, s, pith_random_uniform(s, key, PITH_F64, n, 0, 1, &o));
    pt_fails(PITH_E_ARG, s, pith_random_normal(s, key, PITH_F64, n, &o));
    pt_fails(PITH_E_ARG, s, pith_random_truncated_normal(s, key, PITH_F64, n, -1, 1, &o));
    pt_fails(PITH_E_ARG, s, pith_random_bernoulli(s, key, pith_f64(s, 0.5), n, &o));
    pt_fails(PITH_E_ARG, s, pith_random_exponential(s, key, PITH_F64, n, &o));
    pt_fails(PITH_E_ARG, s, pith_random_gumbel(s, key, PITH_F64, n, &o));
    pt_fails(PITH_E_ARG, s, pith_random_categorical(s, key, x, 0, n, &o));
    pt_fails(PITH_E_ARG, s, pith_random_permutation(s, key, 4, &o));
    pt_fails(PITH_E_ARG, s, pith_random_permute(s, key, x, 0, &o));
    pt_fails(PITH_E_ARG, s, pith_random_shuffle(s, key, x, 0, &o));
    pt_fails(PITH_E_ARG, s, pith_key_chain(s, key, n, pith_i64(s, 0), &o));
    pith_scope_close(s);
    pt_close(rt);
}
