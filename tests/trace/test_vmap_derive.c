/* Batches of derivatives and derivatives of batches, with loops, branches and rules of
 * users: the same bits, entry by entry. */
#include "fail_allocator.h"
#include "vmap_test.h"

enum { N = 4, ENTRIES = 3 };

/* ---- A function with a loop and a branch ---- */

typedef struct {
    const pith_array *value, *tangent;
} Pushed;
PITH_NODE(Pushed, PITH_LEAF(value, "f64[...]"), PITH_LEAF(tangent, "f64[...]"))

static const pith_array *curve(pith_scope *in, const pith_array *x) {
    return pith_sin(in, x);
}
PITH_FUNCTION1(curve_of, curve, pith_array, pith_array)
static double most = 100; /* of what the rule checks */
static const Pushed *push(pith_scope *in, const pith_array *x, const pith_array *t) {
    pith_check(in, pith_less(in, x, most), "rule: {x}", .args = {{"x", x}},
               .level = PITH_CHECK_ALWAYS);
    return pith_record(in, Pushed, .value = pith_sin(in, x),
                       .tangent = pith_mul(in, pith_cos(in, x), t));
}
PITH_FUNCTION2(push_of, push, Pushed, pith_array, pith_array)

static const pith_array *
turn(pith_scope *in, const pith_array *i, const pith_array *x, const pith_array *a) {
    const pith_function *f = pith_custom_jvp(in, &curve_of, &push_of);
    const pith_array *y = pith_call(in, f, PITH_ITEMS(pith_mul(in, x, a)));
    (void)i;
    return pith_add(in, x, pith_mul(in, y, 0.25));
}
PITH_FUNCTION3(turn_of, turn, pith_array, pith_array, pith_array, pith_array)
static const pith_array *negative(pith_scope *in, const pith_array *x) {
    return pith_mul(in, x, -1.5);
}
static const pith_array *squared(pith_scope *in, const pith_array *x) {
    return pith_mul(in, x, x);
}
PITH_FUNCTION1(negative_of, negative, pith_array, pith_array)
PITH_FUNCTION1(squared_of, squared, pith_array, pith_array)

static const pith_array *path(pith_scope *in, const pith_array *x, const pith_array *a) {
    const pith_array *last = pith_fori(in, 0, 3, pith_partial(in, &turn_of, a), x);
    const pith_array *low = pith_less(in, pith_sum(in, x, PITH_ALL_AXES), 4.0);
    return pith_cond(in, low, &squared_of, &negative_of, last);
}
PITH_FUNCTION2(path_of, path, pith_array, pith_array, pith_array)
static const pith_array *
energy(pith_scope *in, const pith_array *x, const pith_array *a) {
    return pith_sum(in, pith_mul(in, path(in, x, a), a), PITH_ALL_AXES);
}
PITH_FUNCTION2(energy_of, energy, pith_array, pith_array, pith_array)

static const pith_vmap_options shared = {.in = PITH_MAPPED({"[1]", PITH_NOT_MAPPED})};

static const pith_array *points(pith_scope *in) {
    static const double x[ENTRIES * N] = {0.5, -1, 2, 0.25, 3, 1, 2, -0.5, 0, 0.75, 1, 6};
    return pith_array_copy(in, PITH_F64, PITH_SHAPE(ENTRIES, N), x);
}

/* ---- Batches of derivatives ---- */

Test(vmap_derive, batches_of_gradients, .init = open_scope) {
    const pith_array *x = points(s), *a = pith_f64(s, 0.75);
    const pith_function *g = pith_value_and_grad(s, &energy_of, NULL);
    const void *all = pith_apply(s, pith_vmap(s, g, &shared), x, a);
    pt_ok(s, all);
    for (int64_t i = 0; i < ENTRIES; i++) {
        const void *one = pith_apply(s, g, entry_of(x, i, 0), a);
        pt_ok(s, one);
        for (int k = 0; k < 2; k++)
            same_bits(entry_of(pith_child(all, k), i, 0), pith_child(one, k));
    }
    close_scope();
}

Test(vmap_derive, batches_of_maps, .init = open_scope) {
    const pith_array *x = entry_of(points(s), 1, 0), *a = pith_f64(s, 0.75),
                     *along = points(s);
    const pith_linearized l = pith_linearize(s, &path_of, PITH_ITEMS(x, a), NULL),
                          v = pith_vjp(s, &path_of, PITH_ITEMS(x, a), NULL);
    pt_ok(s, l.map && v.map);
    const pith_function *const maps[] = {l.map, v.map};
    for (int m = 0; m < 2; m++) {
        const pith_array *all = pith_apply(s, pith_vmap(s, maps[m], NULL), along);
        pt_ok(s, all);
        for (int64_t i = 0; i < ENTRIES; i++)
            same_bits(entry_of(all, i, 0), pith_apply(s, maps[m], entry_of(along, i, 0)));
    }
    close_scope();
}

/* Columns of the Hessian by forward over reverse and by reverse over forward. */
static const pith_array *
rate(pith_scope *in, const pith_array *x, const pith_array *a, const pith_array *along) {
    return pith_jvp(in, &energy_of, PITH_ITEMS(x, a), along, NULL).tangent;
}
PITH_FUNCTION3(rate_of, rate, pith_array, pith_array, pith_array, pith_array)

Test(vmap_derive, columns_of_hessians_both_ways, .init = open_scope) {
    const pith_array *x = entry_of(points(s), 2, 0), *a = pith_f64(s, 0.75);
    const pith_array *unit = pith_eye(s, PITH_F64, N, N, 0);
    const pith_vmap_options columns = {
        .in = PITH_MAPPED({"[0]", PITH_NOT_MAPPED}, {"[1]", PITH_NOT_MAPPED})};
    const pith_function *product = pith_hessian_product(s, &energy_of, NULL),
                        *mixed = pith_grad(s, &rate_of, NULL);
    const void *both = pith_apply(s, pith_vmap(s, product, &columns), x, a, unit);
    pt_ok(s, both);
    const pith_array *h = pith_child(both, 1),
                     *other = pith_apply(s, pith_vmap(s, mixed, &columns), x, a, unit);
    pt_ok(s, other);
    double got[N * N], swapped[N * N];
    pt_ok(s, pith_read(s, h, got, sizeof got));
    pt_ok(s, pith_read(s, other, swapped, sizeof swapped));
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            cr_assert(fabs(got[N * i + k] - got[N * k + i]) < 1e-12 &&
                      fabs(got[N * i + k] - swapped[N * i + k]) < 1e-12);
    for (int64_t i = 0; i < N; i++)
        same_bits(entry_of(h, i, 0),
                  pith_child(pith_apply(s, product, x, a, entry_of(unit, i, 0)), 1));
    close_scope();
}

/* ---- Derivatives of batches ---- */

static int64_t chunk, outer_chunk;
static const pith_array *
all_energies(pith_scope *in, const pith_array *x, const pith_array *a) {
    pith_vmap_options o = shared;
    o.chunk = chunk;
    return pith_call(in, pith_vmap(in, &energy_of, &o), PITH_ITEMS(x, a));
}
static const pith_array *total(pith_scope *in, const pith_array *x, const pith_array *a) {
    return pith_sum(in, all_energies(in, x, a), PITH_ALL_AXES);
}
PITH_FUNCTION2(all_energies_of, all_energies, pith_array, pith_array, pith_array)
PITH_FUNCTION2(total_of, total, pith_array, pith_array, pith_array)

Test(vmap_derive, gradients_of_sums_are_batches_of_gradients, .init = open_scope) {
    for (chunk = 0; chunk < 3; chunk++) {
        const pith_array *x = points(s), *a = pith_f64(s, 0.75);
        const pith_function *g = pith_grad(s, &energy_of, NULL);
        same_bits(pith_apply(s, pith_grad(s, &total_of, NULL), x, a),
                  pith_apply(s, pith_vmap(s, g, &shared), x, a));
        close_scope(); /* the bound is part of the program */
        open_scope();
    }
    close_scope();
}

Test(vmap_derive, tangents_of_batches_are_batches_of_tangents, .init = open_scope) {
    chunk = 0;
    const pith_array *x = points(s), *a = pith_f64(s, 0.75), *t = pith_mul(s, x, -0.5);
    const pith_array *pushed =
        pith_jvp(s, &all_energies_of, PITH_ITEMS(x, a), t, NULL).tangent;
    const pith_array *all = pith_apply(s, pith_vmap(s, &rate_of, &shared), x, a, t);
    pt_ok(s, pushed && all);
    same_bits(pushed, all);
    close_scope();
}

/* ---- Checks in rules ---- */

Test(vmap_derive, checks_of_rules_name_the_entry, .init = open_scope) {
    most = 2; /* of x times a: the third element of entries 1 and 2 is not below */
    const pith_array *x = points(s), *a = pith_f64(s, 0.75);
    pith_apply(s, pith_vmap(s, pith_grad(s, &energy_of, NULL), &shared), x, a);
    pt_fails(PITH_E_CHECK, s, pith_wait(s));
    pt_says("rule: ");
    pt_says("(first failing index [1, 0])");
    pith_apply(s, pith_grad(s, &total_of, NULL), x, a);
    pt_fails(PITH_E_CHECK, s, pith_wait(s));
    pt_says("rule: ");
    pt_says("(first failing index [1, 0])");
    most = 100;
    close_scope();
}

/* The sum over batches in chunks of a function with a rule. */
static const pith_array *of_rule(pith_scope *in, const pith_array *x) {
    return pith_apply(in, pith_custom_jvp(in, &curve_of, &push_of), x);
}
PITH_FUNCTION1(of_rule_of, of_rule, pith_array, pith_array)
static const pith_array *sum_of_rules(pith_scope *in, const pith_array *x) {
    const pith_vmap_options o = {.chunk = chunk};
    return pith_sum(in, pith_apply(in, pith_vmap(in, &of_rule_of, &o), x), PITH_ALL_AXES);
}
PITH_FUNCTION1(sum_of_rules_of, sum_of_rules, pith_array, pith_array)
static const pith_array *sum_of_sums(pith_scope *in, const pith_array *x) {
    return pith_sum(in, pith_apply(in, pith_vmap(in, &sum_of_rules_of, NULL), x),
                    PITH_ALL_AXES);
}
PITH_FUNCTION1(sum_of_sums_of, sum_of_sums, pith_array, pith_array)

/* The gradient at 7 entries, of which one fails the check of the rule. */
static void fails_at(const pith_function *f, int entry, bool outer) {
    double x[14];
    char index[40];
    for (int k = 0; k < 14; k++)
        x[k] = k == entry + 7 * outer ? 3 : 0.125 * k;
    const pith_shape shape = outer ? PITH_SHAPE(2, 7) : PITH_SHAPE(7);
    const pith_array *at = pith_array_copy(s, PITH_F64, shape, x);
    snprintf(index, sizeof index, outer ? "index [1, %d])" : "index [%d])", entry);
    pith_apply(s, pith_grad(s, f, NULL), at);
    pt_fails(PITH_E_CHECK, s, pith_wait(s));
    pt_says("rule: 3.0 (first failing");
    pt_says(index);
    const pith_array *fine = pith_mul(s, at, 0.5);
    same_bits(pith_apply(s, pith_grad(s, f, NULL), fine), pith_cos(s, fine));
    pith_wait(s);
    pt_ok(s);
}

Test(vmap_derive, checks_of_rules_count_entries_of_all_chunks, .init = open_scope) {
    most = 2;
    for (chunk = 0; chunk < 8; chunk++) {
        for (int entry = 0; entry < 7; entry++) {
            fails_at(&sum_of_rules_of, entry, false);
            fails_at(&sum_of_sums_of, entry, true);
        }
        close_scope(); /* the bound is part of the program */
        open_scope();
    }
    chunk = 0;
    most = 100;
    close_scope();
}

/* The same in batches in chunks within batches in chunks. */
static const pith_array *sum_of_chunks(pith_scope *in, const pith_array *x) {
    const pith_vmap_options o = {.chunk = outer_chunk};
    return pith_sum(in, pith_apply(in, pith_vmap(in, &sum_of_rules_of, &o), x),
                    PITH_ALL_AXES);
}
PITH_FUNCTION1(sum_of_chunks_of, sum_of_chunks, pith_array, pith_array)

/* The checks of the gradient at [4,5], of which the entries in the list fail. */
static void one_check_fails_at(const pith_function *f, int count, const int *entries) {
    double x[20];
    char index[64];
    for (int k = 0; k < 20; k++)
        x[k] = 0.0625 * k;
    for (int k = 0; k < count; k++)
        x[entries[k]] = 3 + k;
    const pith_array *at = pith_array_copy(s, PITH_F64, PITH_SHAPE(4, 5), x);
    const pith_result *r = pith_as_result(s, pith_grad(s, f, NULL), PITH_ITEMS(at));
    pt_ok(s, r);
    cr_assert(pith_result_count(s, r) == 1, "%d checks of chunks of %d and %d",
              (int)pith_result_count(s, r), (int)outer_chunk, (int)chunk);
    cr_assert(pith_result_failed(s, r) == 1);
    snprintf(index, sizeof index, "rule: 3.0 (first failing index [%d, %d])",
             entries[0] / 5, entries[0] % 5);
    cr_assert_str_eq(pith_assertion_message(s, pith_result_get_failed(s, r, 0)), index);
}

Test(vmap_derive, a_check_of_a_rule_is_one_assertion, .init = open_scope) {
    static const int last[] = {19}, first[] = {0, 4, 19}, middle[] = {14, 15, 19},
                     ends[] = {4, 9, 14, 19};
    most = 2;
    for (outer_chunk = 0; outer_chunk < 5; outer_chunk++)
        for (chunk = 0; chunk < 6; chunk++) {
            one_check_fails_at(&sum_of_chunks_of, 1, last);
            one_check_fails_at(&sum_of_chunks_of, 3, first);
            one_check_fails_at(&sum_of_chunks_of, 3, middle);
            one_check_fails_at(&sum_of_chunks_of, 4, ends);
            close_scope(); /* the bounds are part of the program */
            open_scope();
        }
    chunk = outer_chunk = 0;
    most = 100;
    close_scope();
}

/* Rules with a check on the way there and one on the way back, in chunks of chunks. */
typedef struct {
    const pith_array *value, *residual;
} Kept;
PITH_NODE(Kept, PITH_LEAF(value, "f64[...]"), PITH_LEAF(residual, "f64[...]"))

static const Kept *keep(pith_scope *in, const pith_array *x) {
    pith_check(in, pith_less(in, x, most), "there: {x}", .args = {{"x", x}},
               .level = PITH_CHECK_ALWAYS);
    return pith_record(in, Kept, .value = pith_sin(in, x), .residual = pith_cos(in, x));
}
static const pith_array *
pull(pith_scope *in, const pith_array *cosine, const pith_array *ct) {
    pith_check(in, pith_less(in, ct, most), "back: {x}", .args = {{"x", ct}},
               .level = PITH_CHECK_ALWAYS);
    return pith_mul(in, cosine, ct);
}
PITH_FUNCTION1(keep_of, keep, Kept, pith_array)
PITH_FUNCTION2(pull_of, pull, pith_array, pith_array, pith_array)
static const pith_array *
weighted(pith_scope *in, const pith_array *x, const pith_array *weight) {
    const pith_function *f = pith_custom_vjp(in, &curve_of, &keep_of, &pull_of);
    return pith_mul(in, pith_apply(in, f, x), weight);
}
PITH_FUNCTION2(weighted_of, weighted, pith_array, pith_array, pith_array)
static const pith_array *
weighted_chunks(pith_scope *in, const pith_array *x, const pith_array *weights) {
    const pith_vmap_options o = {.chunk = chunk};
    return pith_apply(in, pith_vmap(in, &weighted_of, &o), x, weights);
}
PITH_FUNCTION2(weighted_chunks_of, weighted_chunks, pith_array, pith_array, pith_array)
static const pith_array *
weighted_sum(pith_scope *in, const pith_array *x, const pith_array *weights) {
    const pith_vmap_options o = {.chunk = outer_chunk};
    return pith_sum(in,
                    pith_apply(in, pith_vmap(in, &weighted_chunks_of, &o), x, weights),
                    PITH_ALL_AXES);
}
PITH_FUNCTION2(weighted_sum_of, weighted_sum, pith_array, pith_array, pith_array)

Test(vmap_derive, checks_on_the_way_back_are_one_assertion_each, .init = open_scope) {
    double w[20];
    most = 2;
    for (outer_chunk = 0; outer_chunk < 4; outer_chunk++)
        for (chunk = 0; chunk < 4; chunk++) {
            for (int entry = 0; entry < 20; entry += 3) {
                char text[64];
                for (int k = 0; k < 20; k++)
                    w[k] = k == entry || k == 19 ? 3 : 0.0625 * k;
                const pith_array *x = pith_ones(s, PITH_F64, PITH_SHAPE(4, 5)),
                                 *weights =
                                     pith_array_copy(s, PITH_F64, PITH_SHAPE(4, 5), w);
                const pith_result *r = pith_as_result(
                    s, pith_grad(s, &weighted_sum_of, NULL), PITH_ITEMS(x, weights));
                pt_ok(s, r);
                cr_assert(pith_result_count(s, r) == 2, "%d checks of chunks of %d, %d",
                          (int)pith_result_count(s, r), (int)outer_chunk, (int)chunk);
                cr_assert(pith_result_failed(s, r) == 1);
                snprintf(text, sizeof text, "back: 3.0 (first failing index [%d, %d])",
                         entry / 5, entry % 5);
                cr_assert_str_eq(
                    pith_assertion_message(s, pith_result_get_failed(s, r, 0)), text);
            }
            close_scope(); /* the bounds are part of the program */
            open_scope();
        }
    chunk = outer_chunk = 0;
    most = 100;
    close_scope();
}

static pith_status in_little_memory(const pith_open_options *options) {
    rt = pith_open(options);
    s = pith_scope_open(rt);
    const pith_array *x = PITH_VECTOR(s, f64, 0.25, 0.5, 0.75, 1, 1.25);
    const pith_function *g = NULL;
    if (!pith_failed(s))
        pt_again(s, g = pith_grad(s, &sum_of_rules_of, NULL));
    if (!pith_failed(s))
        pt_again(s, pith_apply(s, g, x));
    const pith_status code = pith_code(s);
    pith_scope_close(s);
    pith_close(rt);
    return code;
}

Test(vmap_derive, every_allocation_may_fail, .timeout = 300) {
    chunk = 2;
    most = 2;
    const pt_failures f = pt_fail_each(in_little_memory);
    cr_assert(f.allocations > 200 && f.errors > 5, "%d of %d", f.errors, f.allocations);
}
