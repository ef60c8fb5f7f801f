/* Memory hints against closed forms in 128 bits, at the edges of 64, and against what
 * trees and calls really take. */
#include "pith_test.h"

#include <pith/pith.h>

__extension__ typedef unsigned __int128 u128;

static pith_runtime *rt;
static pith_scope *s;

static void open_all(void) {
    rt = pt_open();
    s = pith_scope_open(rt);
}
static void close_all(void) {
    pith_scope_close(s);
    pt_close(rt);
}

/* ---- Random contracts, and what they take by the formula ---- */

static uint64_t state = 12345;
static int64_t pick(int64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((state >> 33) % (uint64_t)below);
}

static pith_contract some_contract(bool large) {
    const pith_dtype dtypes[] = {PITH_DTYPE_NONE, PITH_F64, PITH_BOOL, PITH_F16,
                                 PITH_I32};
    return (pith_contract){.rank = (int32_t)pick(4),
                           .particle_depth = (int32_t)pick(4),
                           .dim = 1 + pick(large ? 100000 : 4),
                           .features = pick(large ? 1000000 : 20),
                           .dtype = dtypes[pick(5)]};
}

/* Products in 128 bits that stay where they would overflow. */
static u128 product(u128 a, u128 b) {
    u128 c;
    return __builtin_mul_overflow(a, b, &c) ? ~(u128)0 : c;
}
static u128 power(u128 base, int64_t exponent) {
    u128 p = 1;
    for (int64_t i = 0; i < exponent; i++)
        p = product(p, base);
    return p;
}

static u128 elements_of(const pith_contract *c, int64_t particles) {
    const u128 p = (u128)(particles ? particles : 1);
    return c->features == 0 ? 0
                            : product(product(power((u128)c->dim, c->rank),
                                              power(p, c->particle_depth)),
                                      (u128)c->features);
}
static u128 bytes_of(const pith_contract *c, int64_t particles) {
    return product(elements_of(c, particles),
                   pith_dtype_size(c->dtype ? c->dtype : PITH_F32));
}

Test(hint, outputs_follow_their_contract) {
    open_all();
    int64_t fit = 0, did_not = 0;
    for (int i = 0; i < 4000; i++) {
        const pith_contract c = some_contract(i % 2);
        const pith_sample sample = {.particles = pick(i % 2 ? 3000000 : 50)};
        const u128 elements = elements_of(&c, sample.particles);
        const u128 bytes = bytes_of(&c, sample.particles);
        if (elements > INT64_MAX) {
            pt_fails(PITH_E_OVERFLOW, s, pith_hint_output_elements(s, &c, &sample));
            pt_fails(PITH_E_OVERFLOW, s, pith_hint_output_bytes(s, &c, &sample));
            did_not++;
            continue;
        }
        cr_assert(pith_hint_output_elements(s, &c, &sample) == (int64_t)elements);
        if (bytes > SIZE_MAX) {
            pt_fails(PITH_E_OVERFLOW, s, pith_hint_leaf(s, &c, &sample));
            continue;
        }
        cr_assert(pith_hint_output_bytes(s, &c, &sample) == (size_t)bytes);
        const pith_memory_hint leaf = pith_hint_leaf(s, &c, &sample);
        cr_assert(leaf.per_sample == (size_t)bytes && leaf.persistent == 0);
        fit++;
    }
    pt_ok(s);
    cr_assert(fit > 1000 && did_not > 100);
    close_all();
}

Test(hint, counts_axes_as_documented) {
    open_all();
    const pith_contract c = {.rank = 1, .dim = 3, .particle_depth = 2, .features = 5};
    cr_assert(pith_hint_output_elements(s, &c, &(pith_sample){.particles = 7}) ==
              7 * 7 * 3 * 5);
    cr_assert(pith_hint_output_bytes(s, &c, &(pith_sample){.particles = 7}) ==
                  4 * 7 * 7 * 3 * 5,
              "f32 where no dtype is given");
    cr_assert(pith_hint_output_elements(s, &c, NULL) == 15, "an unknown P counts as one");
    cr_assert(pith_hint_output_elements(s, &c, &(pith_sample){0}) == 15);
    const pith_contract scalar = {.features = 2, .dtype = PITH_F64};
    cr_assert(pith_hint_output_bytes(s, &scalar, NULL) == 16);
    cr_assert(pith_hint_output_bytes(s, &(pith_contract){0}, NULL) == 0, "no features");
    close_all();
}

/* ---- Operations ---- */

enum { MOST_CHILDREN = 5 };

static u128
repeated_of(int64_t count, const pith_hint_child *children, int64_t particles) {
    int32_t deepest = 0;
    u128 sum = 0;
    for (int64_t i = 0; i < count; i++)
        if (children[i].contract.particle_depth > deepest)
            deepest = children[i].contract.particle_depth;
    for (int64_t i = 0; i < count; i++) {
        const u128 copies = power((u128)(particles ? particles : 1),
                                  deepest - children[i].contract.particle_depth);
        sum += product(copies - 1, bytes_of(&children[i].contract, particles));
    }
    return sum;
}

Test(hint, operations_add_children_output_and_repeats) {
    open_all();
    for (int i = 0; i < 3000; i++) {
        pith_hint_child children[MOST_CHILDREN];
        const int64_t count = pick(MOST_CHILDREN + 1);
        const pith_sample sample = {.particles = pick(300)};
        const pith_contract own = some_contract(false);
        u128 per_sample = bytes_of(&own, sample.particles), persistent = 0;
        for (int64_t k = 0; k < count; k++) {
            children[k].contract = some_contract(false);
            children[k].hint = (pith_memory_hint){(size_t)pick(1000), (size_t)pick(1000)};
            per_sample += children[k].hint.per_sample;
            persistent += children[k].hint.persistent;
        }
        const u128 repeated = repeated_of(count, children, sample.particles);
        cr_assert(pith_hint_broadcast(s, count, children, &sample) == (size_t)repeated);
        const pith_memory_hint hint =
            pith_hint_operation(s, &own, count, children, &sample);
        cr_assert(hint.per_sample == (size_t)(per_sample + repeated) &&
                  hint.persistent == (size_t)persistent);
    }
    pt_ok(s);
    close_all();
}

Test(hint, repeats_only_what_is_less_deep) {
    open_all();
    const pith_sample sample = {.particles = 10};
    const pith_contract one = {.features = 1},
                        each = {.features = 1, .particle_depth = 1},
                        pairs = {.features = 1, .particle_depth = 2};
    const pith_hint_child children[] = {
        {.contract = one, .hint = {1000000, 0}}, {.contract = each}, {.contract = pairs}};
    cr_assert(pith_hint_broadcast(s, 3, children, &sample) ==
              4 * (100 - 1) + 40 * (10 - 1));
    cr_assert(pith_hint_broadcast(s, 1, children, &sample) == 0);
    cr_assert(pith_hint_broadcast(s, 1, children + 2, &sample) == 0,
              "one is the deepest");
    cr_assert(pith_hint_broadcast(s, 3, children, NULL) == 0, "P is not known");
    cr_assert(pith_hint_broadcast(s, 0, NULL, &sample) == 0);
    close_all();
}

Test(hint, gradients_inflate_what_grows_with_samples) {
    open_all();
    const pith_memory_hint hint = {1001, 77};
    pith_memory_hint got = pith_hint_gradient(s, hint, 0);
    cr_assert(got.per_sample == 2002 && got.persistent == 77, "twice by default");
    got = pith_hint_gradient(s, hint, 1.5);
    cr_assert(got.per_sample == 1502, "1501.5 bytes are 1502");
    cr_assert(pith_hint_gradient(s, hint, 1).per_sample == 1001);
    /* Exact where a double has no room for the product. */
    const size_t large = ((size_t)1 << 62) + 1;
    cr_assert(pith_hint_gradient(s, (pith_memory_hint){large, 0}, 3).per_sample ==
              3 * large);
    cr_assert(pith_hint_gradient(s, (pith_memory_hint){large, 0}, 1.5).per_sample ==
              large + large / 2 + 1);
    cr_assert(pith_hint_gradient(s, (pith_memory_hint){SIZE_MAX, 0}, 1).per_sample ==
              SIZE_MAX);
    cr_assert(pith_hint_gradient(s, (pith_memory_hint){1, 0}, 0x1p63).per_sample ==
              (size_t)1 << 63);
    cr_assert(pith_hint_gradient(s, (pith_memory_hint){0, 9}, 1e300).per_sample == 0);
    for (int i = 0; i < 2000; i++) { /* factors of 20 bits: exact in 128 */
        const size_t bytes = (size_t)pick(1 << 30) << pick(14);
        const int64_t top = (1 << 20) + pick(1 << 20);
        const u128 exact = ((u128)bytes * (u128)top + ((1 << 20) - 1)) >> 20;
        got =
            pith_hint_gradient(s, (pith_memory_hint){bytes, 5}, (double)top / (1 << 20));
        cr_assert(got.per_sample == (size_t)exact);
    }
    pt_ok(s);
    const double bad[] = {0.5, -2, NAN, INFINITY};
    for (int i = 0; i < 4; i++)
        pt_fails(PITH_E_ARG, s, pith_hint_gradient(s, hint, bad[i]));
    pt_fails(PITH_E_OVERFLOW, s,
             pith_hint_gradient(s, (pith_memory_hint){SIZE_MAX, 0}, 0));
    pt_fails(PITH_E_OVERFLOW, s, pith_hint_gradient(s, hint, 1e300));
    pt_fails(PITH_E_OVERFLOW, s, pith_hint_gradient(s, (pith_memory_hint){3, 0}, 0x1p63));
    close_all();
}

Test(hint, sums_and_scales_each_part) {
    open_all();
    const pith_memory_hint hints[] = {{1, 10}, {2, 20}, {4, 40}};
    pith_memory_hint got = pith_hint_sum(s, 3, hints);
    cr_assert(got.per_sample == 7 && got.persistent == 70);
    got = pith_hint_add(s, hints[0], hints[1]);
    cr_assert(got.per_sample == 3 && got.persistent == 30);
    got = pith_hint_sum(s, 0, NULL);
    cr_assert(got.per_sample == 0 && got.persistent == 0);
    got = pith_hint_scaled(s, hints[2], 100);
    cr_assert(got.per_sample == 400 && got.persistent == 40, "persistent bytes stay");
    cr_assert(pith_hint_scaled(s, hints[2], 0).per_sample == 0);
    cr_assert(pith_hint_bytes(s, hints[2], 100) == 440 &&
              pith_hint_bytes(s, hints[2], 0) == 40);
    pt_ok(s);
    close_all();
}

Test(hint, overflow_is_an_error) {
    open_all();
    const pith_memory_hint full = {SIZE_MAX, 1}, one = {1, 0}, once = {0, SIZE_MAX};
    pith_memory_hint got = {0, 0};
    pt_fails(PITH_E_OVERFLOW, s, got = pith_hint_add(s, full, one));
    cr_assert(got.per_sample == SIZE_MAX && got.persistent == SIZE_MAX, "fits no budget");
    pt_fails(PITH_E_OVERFLOW, s, pith_hint_add(s, once, full));
    pt_fails(PITH_E_OVERFLOW, s, pith_hint_sum(s, 2, (pith_memory_hint[]){one, full}));
    pt_fails(PITH_E_OVERFLOW, s, pith_hint_scaled(s, full, 2));
    pt_fails(PITH_E_OVERFLOW, s, pith_hint_bytes(s, full, 1));
    pt_ok(s, pith_hint_bytes(s, (pith_memory_hint){SIZE_MAX - 1, 1}, 1) == SIZE_MAX);
    const pith_contract deep = {.particle_depth = 3, .features = 1};
    const pith_sample many = {.particles = (int64_t)1 << 21};
    pt_fails(PITH_E_OVERFLOW, s, pith_hint_leaf(s, &deep, &many)); /* 2^63 elements */
    const pith_sample fewer = {.particles = ((int64_t)1 << 21) - 1};
    pt_fails(PITH_E_OVERFLOW, s,
             pith_hint_leaf(
                 s,
                 &(pith_contract){.particle_depth = 3, .features = 1, .dtype = PITH_F64},
                 &fewer));
    pt_ok(s, pith_hint_output_elements(s, &deep, &fewer) ==
                 fewer.particles * fewer.particles * fewer.particles);
    const pith_hint_child children[] = {{.contract = {.features = 1}},
                                        {.contract = deep}};
    pt_fails(PITH_E_OVERFLOW, s, pith_hint_broadcast(s, 2, children, &many));
    const pith_hint_child heavy[] = {{.hint = full}, {.hint = one}};
    pt_fails(PITH_E_OVERFLOW, s,
             pith_hint_operation(s, &(pith_contract){0}, 2, heavy, NULL));
    close_all();
}

Test(hint, refuses_what_is_no_contract) {
    open_all();
    const pith_contract bad[] = {
        {.rank = -1}, {.particle_depth = -1}, {.dim = -3}, {.features = -1}};
    for (int i = 0; i < 4; i++)
        pt_fails(PITH_E_ARG, s, pith_hint_leaf(s, &bad[i], NULL));
    pt_fails(PITH_E_ARG, s,
             pith_hint_leaf(s, &(pith_contract){.rank = 1, .features = 1}, NULL));
    pt_says("rank 1 needs the dimension of space");
    pt_fails(PITH_E_DTYPE, s,
             pith_hint_leaf(s, &(pith_contract){.dtype = (pith_dtype)99}, NULL));
    pt_fails(PITH_E_ARG, s,
             pith_hint_leaf(s, &(pith_contract){0}, &(pith_sample){.particles = -1}));
    pt_fails(PITH_E_ARG, s, pith_hint_broadcast(s, -1, NULL, NULL));
    pt_fails(PITH_E_ARG, s, pith_hint_sum(s, -1, NULL));
    pt_fails(PITH_E_ARG, s, pith_hint_scaled(s, (pith_memory_hint){1, 1}, -1));
    close_all();
}

/* ---- Samples ---- */

static int64_t particles_of(pith_shape shape) {
    return pith_sample_of(s, pith_zeros(s, PITH_F32, shape), NULL, NULL).particles;
}

Test(hint, samples_are_guessed_from_positions) {
    open_all();
    cr_assert(particles_of(PITH_SHAPE(100, 3)) == 100);
    cr_assert(particles_of(PITH_SHAPE(5, 100, 2)) == 100);
    cr_assert(particles_of(PITH_SHAPE(7, 1)) == 7 &&
              particles_of(PITH_SHAPE(7, 16)) == 7);
    /* ambiguous: nothing is guessed */
    cr_assert(particles_of(PITH_SHAPE(7, 17)) == 0 &&
              particles_of(PITH_SHAPE(7, 0)) == 0);
    cr_assert(particles_of(PITH_SHAPE(3)) == 0 && particles_of(PITH_SCALAR) == 0);
    cr_assert(particles_of(PITH_SHAPE(100, 64)) == 0,
              "features, not a dimension of space");
    const pith_array *x = pith_zeros(s, PITH_F32, PITH_SHAPE(10, 3));
    const pith_array *v = pith_zeros(s, PITH_F32, PITH_SHAPE(20, 3));
    const pith_array *mask = pith_zeros(s, PITH_BOOL, PITH_SHAPE(30, 2));
    pith_sample sample = pith_sample_of(s, x, v, mask);
    cr_assert(sample.particles == 10 && sample.arity == 0 && sample.has_velocity &&
              sample.has_mask);
    sample = pith_sample_of(s, NULL, v, NULL);
    cr_assert(sample.particles == 0 && sample.has_velocity && !sample.has_mask,
              "v is a flag alone");
    sample = pith_sample_of(s, NULL, NULL, mask);
    cr_assert(sample.particles == 0 && !sample.has_velocity && sample.has_mask);
    pt_ok(s);
    close_all();
}

/* ---- Batches ---- */

Test(hint, the_largest_batch_fits) {
    open_all();
    for (int i = 0; i < 3000; i++) {
        const pith_memory_hint hint = {(size_t)pick(100), (size_t)pick(1000)};
        const size_t budget = (size_t)pick(5000);
        const int64_t total = pick(200);
        if (hint.persistent + hint.per_sample > budget) {
            pt_fails(PITH_E_MEMORY, s, pith_fit_batch(s, hint, budget, total));
            continue;
        }
        const pith_batch_fit fit = pith_fit_batch(s, hint, budget, total);
        pt_ok(s);
        cr_assert(fit.batch >= 1 && fit.bytes <= budget);
        cr_assert((u128)fit.batch * hint.per_sample + hint.persistent == fit.bytes);
        const bool limited = total > 0 ? fit.batch == total : fit.batch == INT64_MAX;
        cr_assert(limited || fit.bytes + hint.per_sample > budget,
                  "one more does not fit");
        cr_assert(total == 0 ? fit.chunks == 0 && fit.last == 0
                             : (fit.chunks - 1) * fit.batch + fit.last == total &&
                                   fit.last >= 1 && fit.last <= fit.batch);
    }
    close_all();
}

Test(hint, batches_at_the_edges) {
    open_all();
    pith_batch_fit fit = pith_fit_batch(s, (pith_memory_hint){0, 0}, 0, 0);
    cr_assert(fit.batch == INT64_MAX && fit.chunks == 0 && fit.bytes == 0);
    fit = pith_fit_batch(s, (pith_memory_hint){1, 0}, SIZE_MAX, INT64_MAX);
    cr_assert(fit.batch == INT64_MAX && fit.chunks == 1 && fit.last == INT64_MAX);
    fit = pith_fit_batch(s, (pith_memory_hint){SIZE_MAX, 0}, SIZE_MAX, 3);
    cr_assert(fit.batch == 1 && fit.chunks == 3 && fit.bytes == SIZE_MAX);
    fit = pith_fit_batch(s, (pith_memory_hint){10, 5}, 35, 10);
    cr_assert(fit.batch == 3 && fit.chunks == 4 && fit.last == 1 && fit.bytes == 35);
    pt_fails(PITH_E_MEMORY, s, pith_fit_batch(s, (pith_memory_hint){10, 5}, 14, 10));
    pt_says(
        "one sample takes 10 bytes and 5 are persistent, which do not fit a budget of 14");
    pt_fails(PITH_E_ARG, s, pith_fit_batch(s, (pith_memory_hint){10, 5}, 99, -1));
    close_all();
}

Test(hint, a_measured_peak_corrects_it) {
    open_all();
    const pith_memory_hint hint = {100, 50};
    pith_memory_hint got = pith_hint_measured(s, hint, 10, 1051);
    cr_assert(got.per_sample == 101 && got.persistent == 50, "100.1 bytes are 101");
    cr_assert(pith_hint_measured(s, hint, 10, 1050).per_sample == 100);
    cr_assert(pith_hint_measured(s, hint, 10, 50).per_sample == 0);
    cr_assert(pith_hint_measured(s, (pith_memory_hint){0, 0}, 1, SIZE_MAX).per_sample ==
              SIZE_MAX);
    pt_ok(s);
    pt_fails(PITH_E_ARG, s, pith_hint_measured(s, hint, 10, 49));
    pt_fails(PITH_E_ARG, s, pith_hint_measured(s, hint, 0, 1000));
    close_all();
}

/* ---- What trees and calls take ---- */

Test(hint, trees_are_exact) {
    open_all();
    const pith_array *x = pith_zeros(s, PITH_F64, PITH_SHAPE(10, 3));
    const pith_array *m = pith_zeros(s, PITH_BOOL, PITH_SHAPE(10));
    const void *tree = pith_list_make(s, PITH_ITEMS(x, m, x));
    pith_memory_hint hint = pith_hint_of_tree(s, tree);
    cr_assert(hint.persistent == 2 * 240 + 10 && hint.per_sample == 0);
    hint = pith_hint_of_batch(s, tree);
    cr_assert(hint.per_sample == 2 * 24 + 1 && hint.persistent == 0);
    cr_assert(pith_hint_bytes(s, hint, 10) == pith_tree_bytes(tree));
    pt_ok(s);
    const void *odd =
        pith_list_make(s, PITH_ITEMS(x, pith_zeros(s, PITH_F32, PITH_SHAPE(9))));
    pt_fails(PITH_E_SHAPE, s, pith_hint_of_batch(s, odd));
    pt_says(
        "[1]: pith_hint_of_batch: expected 10 samples along the first axis, got f32[9]");
    pt_fails(PITH_E_SHAPE, s, pith_hint_of_batch(s, pith_f64(s, 1)));
    pt_fails(PITH_E_ARG, s, pith_hint_of_batch(s, pith_none_make(s)));
    pt_fails(PITH_E_ARG, s,
             pith_hint_of_batch(s, pith_zeros(s, PITH_F32, PITH_SHAPE(0, 4))));
    close_all();
}

/* Of leaves that are traced: no memory holds so much. */
static const pith_array *huge_tree(pith_scope *in, const pith_array *x) {
    const pith_array *y = pith_broadcast_to(in, x, PITH_SHAPE(INT64_C(1) << 59));
    const void *three = pith_list_make(in, PITH_ITEMS(y, y, y));
    cr_assert(pith_hint_of_tree(in, three).persistent == (size_t)3 << 62);
    pt_ok(in);
    pt_fails(PITH_E_OVERFLOW, in,
             pith_hint_of_tree(in, pith_list_make(in, PITH_ITEMS(y, y, y, y))));
    pt_says("pith_hint_of_tree: the bytes do not fit 64 bits");
    return x;
}
PITH_FUNCTION1(huge_tree_function, huge_tree, pith_array, pith_array)

Test(hint, of_a_tree_that_is_too_large_is_an_overflow) {
    open_all();
    pt_ok(s, pith_eval_shape(s, &huge_tree_function, PITH_ITEMS(pith_f64(s, 1))));
    close_all();
}

Test(hint, device_bytes_are_those_of_the_ledger) {
    open_all();
    const pith_array *small = pith_zeros(s, PITH_F32, PITH_SHAPE(7));
    const pith_array *large = pith_zeros(s, PITH_F64, PITH_SHAPE(20000));
    const void *tree = pith_list_make(s, PITH_ITEMS(small, large, small));
    cr_assert(pith_tree_device_bytes(s, tree) == pith_memory_about(rt).live,
              "a shared leaf once");
    const size_t before = pith_memory_about(rt).live;
    const void *copy = pith_tree_full_like(s, tree, 1); /* small leaves share a block */
    pt_ok(s, copy);
    cr_assert(pith_tree_device_bytes(s, copy) == pith_memory_about(rt).live - before);
    cr_assert(pith_tree_device_bytes(s, copy) >= pith_tree_bytes(copy));
    cr_assert(pith_tree_device_bytes(s, pith_none_make(s)) == 0);
    pt_ok(s);
    close_all();
}

static const pith_array *three_times(pith_scope *in, const pith_array *x) {
    const pith_array *y = pith_add(in, x, x);
    return pith_add(in, y, x);
}
PITH_FUNCTION1(triple, three_times, pith_array, pith_array)

static const pith_array *refuse(pith_scope *in, const pith_array *x) {
    (void)x;
    pith_fail(in, PITH_E_CALLBACK, NULL, "no");
    return NULL;
}
PITH_FUNCTION1(refusal, refuse, pith_array, pith_array)

Test(hint, the_peak_of_a_call_is_measured) {
    open_all();
    const pith_array *x = pith_zeros(s, PITH_F64, PITH_SHAPE(100000));
    { /* a peak from before is remembered */
        pith_scope *inner = pith_scope_open_in(s);
        pith_zeros(inner, PITH_F64, PITH_SHAPE(1000000));
        pith_wait(inner);
        pith_scope_close(inner);
    }
    const pith_memory_info before = pith_memory_about(rt);
    const size_t peak = pith_measure_peak(s, &triple, PITH_ITEMS(x));
    pt_ok(s);
    cr_assert(peak == 2 * 800000, "%zu", peak);
    cr_assert(pith_memory_about(rt).peak == before.peak &&
              pith_memory_about(rt).live == before.live);
    const pith_memory_hint hint =
        pith_hint_measured(s, (pith_memory_hint){0, 0}, 100000, peak);
    cr_assert(hint.per_sample == 16);
    pt_fails(PITH_E_CALLBACK, s, pith_measure_peak(s, &refusal, PITH_ITEMS(x)));
    cr_assert(pith_memory_about(rt).live == before.live);
    close_all();
}

static const pith_array *sum_of_sines(pith_scope *in, const pith_array *x) {
    return pith_sum(in, pith_sin(in, pith_cumsum(in, x, 0, NULL)), PITH_ALL_AXES);
}
PITH_FUNCTION1(sines, sum_of_sines, pith_array, pith_array)

Test(hint, of_a_gradient_is_its_peak) {
    open_all();
    const pith_array *x = pith_zeros(s, PITH_F64, PITH_SHAPE(100000));
    const pith_function *g = pith_grad(s, &sines, NULL);
    pt_ok(s, pith_call(s, g, PITH_ITEMS(x)));
    const size_t peak = pith_measure_peak(s, g, PITH_ITEMS(x));
    pith_memory_hint hint =
        pith_hint_gradient_exact(s, &sines, PITH_ITEMS(x), 1000, NULL);
    pt_ok(s);
    cr_assert(hint.per_sample == (peak + 999) / 1000 && hint.persistent == 0,
              "%zu of %zu", hint.per_sample, peak);
    pt_fails(PITH_E_ARG, s, pith_hint_gradient_exact(s, &sines, PITH_ITEMS(x), 0, NULL));
    pt_fails(PITH_E_SHAPE, s,
             pith_hint_gradient_exact(s, &triple, PITH_ITEMS(x), 1, NULL));
    close_all();
}
