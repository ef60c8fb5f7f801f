/* Features that meet in batches: functions of loops in loops, branches, draws, kernels,
 * rules, inner batches and derivatives, and derivatives of them; each entry has the bits
 * of the call alone, however arguments are mapped, in chunks and in batches of batches.
 */
#include "kernels.h"
#include "series.h"
#include "vmap_test.h"

enum { N = 4 };

typedef struct {
    const pith_array *carry, *out;
} Turn;
PITH_NODE(Turn, PITH_LEAF(carry, "f64"), PITH_LEAF(out, "f64"))

/* ---- Scans of loops of unknown length, with checks and records ---- */

static const pith_array *is_low(pith_scope *in, const pith_array *y) {
    return pith_less(in, y, 20.0);
}
static const pith_array *
power(pith_scope *in, const pith_array *y, const pith_array *by) {
    pith_check(in, pith_less(in, y, 1e6), "y is {y}", .args = {{"y", y}});
    return pith_add(in, pith_mul(in, y, 1.5), pith_add(in, pith_square(in, by), 0.5));
}
PITH_FUNCTION1(is_low_of, is_low, pith_array, pith_array)
PITH_FUNCTION2(power_of, power, pith_array, pith_array, pith_array)

static const Turn *row_up(pith_scope *in, const pith_array *carry, const pith_array *x) {
    /* the bound tree comes last: power(y, by) */
    const pith_array *high =
        pith_while_recorded(in, &is_low_of, pith_partial(in, &power_of, x), carry,
                            &(pith_record_options){.most = 32});
    return pith_record(in, Turn, .carry = pith_square(in, pith_sin(in, high)),
                       .out = pith_mul(in, high, x));
}
PITH_FUNCTION2(row_up_of, row_up, Turn, pith_array, pith_array)
static const pith_array *
loops(pith_scope *in, const pith_array *x, const pith_array *a, const pith_array *key) {
    const void *outs;
    const pith_array *last = pith_scan(in, &row_up_of, a, x, &outs, NULL);
    (void)key;
    return pith_add(in, pith_mul(in, (const pith_array *)outs, last), x);
}

/* ---- Branches with loops and draws, of an index that depends on the entry ---- */

static const pith_array *wave(pith_scope *in, const pith_array *x) {
    return pith_sin(in, x);
}
static const pith_array *risky(pith_scope *in, const pith_array *x) {
    return pith_sqrt(in, pith_sub(in, x, 1.0)); /* NaN below 1 */
}
static const pith_array *
three_times(pith_scope *in, const pith_array *i, const pith_array *x) {
    (void)i;
    return pith_mul(in, pith_cos(in, x), x);
}
PITH_FUNCTION1(wave_of, wave, pith_array, pith_array)
PITH_FUNCTION1(risky_of, risky, pith_array, pith_array)
PITH_FUNCTION2(three_times_of, three_times, pith_array, pith_array, pith_array)
static const pith_array *looped(pith_scope *in, const pith_array *x) {
    return pith_fori(in, 0, 3, &three_times_of, x);
}
PITH_FUNCTION1(looped_of, looped, pith_array, pith_array)
static const pith_array *branches(pith_scope *in,
                                  const pith_array *x,
                                  const pith_array *a,
                                  const pith_array *key) {
    const pith_function *list[] = {&wave_of, &risky_of, &looped_of};
    const pith_array *index = pith_cast(in, pith_floor(in, a), PITH_I64);
    const pith_array *chosen = pith_switch(in, index, 3, list, x);
    const pith_array *noise = pith_random_normal(in, pith_random_fold_in(in, key, index),
                                                 PITH_F64, PITH_SHAPE(N), NULL);
    const pith_array *more = pith_cond(in, pith_greater(in, a, 1.0), &wave_of, &looped_of,
                                       pith_mul(in, noise, x));
    return pith_add(in, chosen, more);
}

/* ---- Bounds of loops that depend on the entry ---- */

static const pith_array *
bounds(pith_scope *in, const pith_array *x, const pith_array *a, const pith_array *key) {
    const pith_array *count = pith_cast(in, pith_mul(in, a, 2.0), PITH_I64);
    const pith_loop_options o = {.most = 16};
    (void)key;
    return pith_fori_with(in, pith_i64(in, 0), count, &three_times_of, x, &o);
}

/* ---- Keys in loops ---- */

typedef struct {
    const pith_array *x, *key;
} Walk;
PITH_NODE(Walk, PITH_LEAF(x, "f64[...]"), PITH_LEAF(key, "u32[2]"))
static const Walk *walk(pith_scope *in, const pith_array *i, const Walk *w) {
    const pith_array *keys = pith_random_split(in, w->key, PITH_SHAPE(2), NULL);
    const pith_array *one = pith_take(in, keys, pith_i64(in, 0), NULL),
                     *two = pith_take(in, keys, pith_i64(in, 1), NULL);
    const pith_array *order = pith_random_permutation(in, one, N, NULL);
    const pith_array *step = pith_random_uniform(in, pith_random_fold_in(in, two, i),
                                                 PITH_F64, PITH_SHAPE(N), -1, 1, NULL);
    return pith_record(
        in, Walk,
        .x = pith_add(in, pith_take(in, w->x, order, NULL), pith_mul(in, step, w->x)),
        .key = two);
}
PITH_FUNCTION2(walk_of, walk, Walk, pith_array, Walk)
static const pith_array *
draws(pith_scope *in, const pith_array *x, const pith_array *a, const pith_array *key) {
    const Walk *from = pith_record(in, Walk, .x = pith_mul(in, x, a), .key = key);
    const Walk *to = pith_fori(in, 0, 4, &walk_of, from);
    return to ? to->x : NULL;
}

/* ---- Inner batches, of which one is shared ---- */

static const pith_array *pair(pith_scope *in, const pith_array *x, const pith_array *y) {
    const pith_array *d = pith_sub(in, x, y);
    return pith_cond(in, pith_greater(in, d, 0), &wave_of, &looped_of, d);
}
PITH_FUNCTION2(pair_of, pair, pith_array, pith_array, pith_array)
static int64_t inner_chunk;
static const pith_array *
pairs(pith_scope *in, const pith_array *x, const pith_array *a, const pith_array *key) {
    const pith_vmap_options rows = {.in = PITH_MAPPED({"[1]", PITH_NOT_MAPPED}),
                                    .chunk = inner_chunk},
                            columns = {.in = PITH_MAPPED({"[0]", PITH_NOT_MAPPED})};
    const pith_function *all = pith_vmap(in, pith_vmap(in, &pair_of, &rows), &columns);
    (void)key;
    const pith_array *d = pith_call(in, all, PITH_ITEMS(x, pith_mul(in, x, a)));
    return pith_sum(in, d, PITH_AXES(1));
}

/* ---- Rules, and functions of one entry after the other ---- */

typedef struct {
    const pith_array *value, *tangent;
} Pushed;
PITH_NODE(Pushed, PITH_LEAF(value, "f64[...]"), PITH_LEAF(tangent, "f64[...]"))
static const Pushed *push(pith_scope *in, const pith_array *x, const pith_array *t) {
    pith_check(in, pith_less(in, x, 1e8), "rule");
    return pith_record(in, Pushed, .value = pith_sin(in, x),
                       .tangent = pith_mul(in, pith_mul(in, pith_cos(in, x), t), 2.0));
}
PITH_FUNCTION2(push_of, push, Pushed, pith_array, pith_array)
static const pith_array *many(pith_scope *in, const pith_vmap_call *call) {
    return pith_sin(in, call->arguments);
}
PITH_FUNCTION1(many_rule, many, pith_array, pith_vmap_call)
static const pith_array *ruled(pith_scope *in, const pith_array *i, const pith_array *x) {
    const pith_function *jvp = pith_custom_jvp(in, &wave_of, &push_of),
                        *both = pith_custom_vmap(in, jvp, &many_rule),
                        *turn = pith_sequential_vmap(in, &looped_of);
    (void)i;
    return pith_add(in, pith_apply(in, both, x),
                    pith_apply(in, turn, pith_mul(in, x, 0.5)));
}
PITH_FUNCTION2(ruled_of, ruled, pith_array, pith_array, pith_array)
static const pith_array *
rules(pith_scope *in, const pith_array *x, const pith_array *a, const pith_array *key) {
    (void)key;
    return pith_fori(in, 0, 2, &ruled_of, pith_mul(in, x, a));
}

/* ---- Orders and places that depend on the entry ---- */

static const pith_array *
places(pith_scope *in, const pith_array *x, const pith_array *a, const pith_array *key) {
    const pith_array *rank = pith_argsort(in, pith_sin(in, pith_mul(in, x, a)), 0, NULL);
    const pith_array *sorted = pith_take(in, x, rank, NULL);
    const pith_array *at = pith_remainder(in, rank, pith_i64(in, 3));
    const pith_array *sums =
        pith_scatter_add(in, pith_mul(in, x, 0), at, pith_square(in, sorted), NULL);
    const pith_array *start = pith_cast(in, a, PITH_I64);
    const pith_array *two =
        pith_dynamic_slice(in, pith_cumsum(in, sums, 0, NULL),
                           pith_reshape(in, start, PITH_SHAPE(1)), PITH_SHAPE(2));
    (void)key;
    return pith_concatenate(
        in, 2, PITH_ARRAY_(const pith_array *, two, pith_sort(in, two, 0, NULL)), 0);
}

/* ---- Derivatives inside ---- */

static const pith_array *
energy(pith_scope *in, const pith_array *x, const pith_array *a) {
    const pith_array *y = pith_fori(in, 0, 2, &three_times_of, pith_mul(in, x, a));
    return pith_sum(in, pith_mul(in, y, pith_exp(in, pith_mul(in, x, 0.25))),
                    PITH_AXES(0));
}
PITH_FUNCTION2(energy_of, energy, pith_array, pith_array, pith_array)
static const pith_array *
forces(pith_scope *in, const pith_array *x, const pith_array *a, const pith_array *key) {
    const pith_function *recomputed = pith_recompute(in, &energy_of, NULL);
    (void)key;
    return pith_apply(in, pith_grad(in, recomputed, NULL), x, a);
}
static const pith_array *curvature(pith_scope *in,
                                   const pith_array *x,
                                   const pith_array *a,
                                   const pith_array *key) {
    const pith_array *h = pith_apply(in, pith_hessian(in, &energy_of, NULL), x, a);
    (void)key;
    return pith_sum(in, pith_mul(in, h, x), PITH_AXES(1));
}

/* ---- Loops that end at a check ---- */

static const pith_array *
grow_on(pith_scope *in, const pith_array *i, const pith_array *x) {
    (void)i;
    pith_check(in, pith_less(in, x, 100.0), "x is {x}", .args = {{"x", x}},
               .level = PITH_CHECK_ALWAYS);
    return pith_mul(in, pith_add(in, x, 0.25), 1.5);
}
PITH_FUNCTION2(grow_on_of, grow_on, pith_array, pith_array, pith_array)
static const pith_array *
ends(pith_scope *in, const pith_array *x, const pith_array *a, const pith_array *key) {
    (void)key;
    return pith_fori_passing(in, 0, 12, &grow_on_of, pith_mul(in, x, a));
}

/* ---- Kernels in branches in loops ---- */

static const pith_array *launch(pith_scope *in, const pith_array *x) {
    return pith_launch(in, bound, x, 1e9).next;
}
PITH_FUNCTION1(launch_of, launch, pith_array, pith_array)
static const pith_array *
launch_some(pith_scope *in, const pith_array *i, const pith_array *x) {
    const pith_array *sum = pith_sum(in, x, PITH_AXES(0));
    (void)i;
    return pith_cond(in, pith_greater(in, sum, 30.0), &wave_of, &launch_of, x);
}
PITH_FUNCTION2(launch_some_of, launch_some, pith_array, pith_array, pith_array)
static const pith_array *
kernels(pith_scope *in, const pith_array *x, const pith_array *a, const pith_array *key) {
    (void)key;
    return pith_fori_between(in, pith_i64(in, 0), pith_cast(in, a, PITH_I64),
                             &launch_some_of, x);
}

PITH_FUNCTION3(loops_of, loops, pith_array, pith_array, pith_array, pith_array)
PITH_FUNCTION3(branches_of, branches, pith_array, pith_array, pith_array, pith_array)
PITH_FUNCTION3(bounds_of, bounds, pith_array, pith_array, pith_array, pith_array)
PITH_FUNCTION3(draws_of, draws, pith_array, pith_array, pith_array, pith_array)
PITH_FUNCTION3(pairs_of, pairs, pith_array, pith_array, pith_array, pith_array)
PITH_FUNCTION3(rules_of, rules, pith_array, pith_array, pith_array, pith_array)
PITH_FUNCTION3(places_of, places, pith_array, pith_array, pith_array, pith_array)
PITH_FUNCTION3(forces_of, forces, pith_array, pith_array, pith_array, pith_array)
PITH_FUNCTION3(curvature_of, curvature, pith_array, pith_array, pith_array, pith_array)
PITH_FUNCTION3(ends_of, ends, pith_array, pith_array, pith_array, pith_array)
PITH_FUNCTION3(kernels_of, kernels, pith_array, pith_array, pith_array, pith_array)

static const struct program {
    const char *name;
    const pith_function *f;
    bool derives; /* kernels and loops that end at a check do not, in reverse */
} programs[] = {
    {"loops", &loops_of, true},         {"branches", &branches_of, true},
    {"bounds", &bounds_of, true},       {"draws", &draws_of, true},
    {"pairs", &pairs_of, true},         {"rules", &rules_of, true},
    {"places", &places_of, true},       {"forces", &forces_of, true},
    {"curvature", &curvature_of, true}, {"ends", &ends_of, false},
    {"kernels", &kernels_of, false},
};
enum { PROGRAMS = sizeof programs / sizeof *programs };

/* ---- What is done with them ---- */

static const struct program *now;

static const pith_array *
total(pith_scope *in, const pith_array *x, const pith_array *a, const pith_array *key) {
    return pith_sum(in, pith_apply(in, now->f, x, a, key), PITH_ALL_AXES);
}
PITH_FUNCTION3(total_of, total, pith_array, pith_array, pith_array, pith_array)
static const pith_array *
rate(pith_scope *in, const pith_array *x, const pith_array *a, const pith_array *key) {
    return pith_jvp(in, now->f, PITH_ITEMS(x, a, key), pith_cos(in, x), NULL).tangent;
}
PITH_FUNCTION3(rate_of, rate, pith_array, pith_array, pith_array, pith_array)
static const pith_array *
bent(pith_scope *in, const pith_array *x, const pith_array *a, const pith_array *key) {
    const pith_function *g = pith_grad(in, &total_of, NULL);
    return pith_jvp(in, g, PITH_ITEMS(x, a, key), pith_cos(in, x), NULL).tangent;
}
PITH_FUNCTION3(bent_of, bent, pith_array, pith_array, pith_array, pith_array)
static const pith_array *
slope(pith_scope *in, const pith_array *x, const pith_array *a, const pith_array *key) {
    return pith_apply(in, pith_grad(in, &total_of, NULL), x, a, key);
}
PITH_FUNCTION3(slope_of, slope, pith_array, pith_array, pith_array, pith_array)

typedef enum { PLAIN, TANGENT, GRADIENT, SECOND, WAYS } way;
static const pith_function *made(way w) {
    return w == PLAIN      ? now->f
           : w == TANGENT  ? &rate_of
           : w == GRADIENT ? &slope_of
                           : &bent_of;
}

/* ---- Batches ---- */

typedef struct {
    int64_t size, chunk;
    int axes[3]; /* of x, a, key */
} mapping;

/* The argument of entry i, or of all: with an axis, if it is mapped. */
static const pith_array *argument(int k, int axis, int64_t i, int64_t size) {
    const pith_array *each[8];
    for (int64_t e = 0; e < 8; e++) {
        const double shift = 0.37 * (double)e;
        each[e] = k == 0   ? PITH_VECTOR(s, f64, 0.5 + shift, -0.75, 1.25 + shift, 0.1)
                  : k == 1 ? pith_f64(s, 0.3 + 0.45 * (double)e)
                           : pith_random_key(s, 7 + e);
    }
    if (axis == PITH_NOT_MAPPED)
        return each[1];
    if (i >= 0)
        return each[i];
    const pith_array *all = pith_stack(s, 8, each, axis);
    pith_slice cut[3];
    for (int d = 0; d <= axis; d++)
        cut[d] = PITH_SLICE(0, d == axis ? size : INT64_MAX, 1);
    return pith_slice_array(s, all, axis + 1, cut);
}

static void compare(way w, const mapping *m) {
    const pith_mapped in[] = {
        {"[0]", m->axes[0]}, {"[1]", m->axes[1]}, {"[2]", m->axes[2]}, {NULL, 0}};
    const pith_vmap_options o = {.in = in, .chunk = m->chunk};
    const pith_function *f = made(w), *all = pith_vmap(s, f, &o),
                        *alone = pith_jit(s, f, NULL);
    const pith_array *a[3];
    for (int k = 0; k < 3; k++)
        a[k] = argument(k, m->axes[k], -1, m->size);
    const pith_result *got = pith_as_result(s, all, PITH_ITEMS(a[0], a[1], a[2]));
    pt_ok(s, got);
    bool failed = false;
    for (int64_t i = 0; i < m->size; i++) {
        for (int k = 0; k < 3; k++)
            a[k] = argument(k, m->axes[k], i, m->size);
        const pith_result *one = pith_as_result(s, alone, PITH_ITEMS(a[0], a[1], a[2]));
        pt_ok(s, one);
        failed |= pith_result_failed(s, one) > 0;
        const pith_array *x = entry_of(pith_result_value(got), i, 0),
                         *y = pith_result_value(one);
        double p[8] = {0}, q[8] = {0};
        pt_ok(s, x && y);
        cr_assert(pith_array_spec(x) == pith_array_spec(y));
        pith_read(s, x, p, pith_array_spec(x)->bytes);
        pith_read(s, y, q, pith_array_spec(y)->bytes);
        for (int k = 0; k < N; k++)
            cr_assert(
                p[k] == q[k] || (p[k] != p[k] && q[k] != q[k]),
                "%s, way %d, axes %d %d %d, size %d, chunk %d: entry %d has %.17g, not %.17g",
                now->name, (int)w, m->axes[0], m->axes[1], m->axes[2], (int)m->size,
                (int)m->chunk, (int)i, p[k], q[k]);
    }
    cr_assert(failed == (pith_result_failed(s, got) > 0), "%s, way %d: checks", now->name,
              (int)w);
}

/* ---- Derivatives of batches, and batches of batches ---- */

static int64_t chunk_of_all;
static const pith_function *all_entries(pith_scope *in) {
    return pith_vmap(in, now->f, &(pith_vmap_options){.chunk = chunk_of_all});
}
static const pith_array *sum_of_all(pith_scope *in,
                                    const pith_array *x,
                                    const pith_array *a,
                                    const pith_array *key) {
    return pith_sum(in, pith_apply(in, all_entries(in), x, a, key), PITH_ALL_AXES);
}
PITH_FUNCTION3(sum_of_all_of, sum_of_all, pith_array, pith_array, pith_array, pith_array)

/* within: 0: the same bits. */
static void
alike(const pith_array *x, const pith_array *y, double within, const char *what) {
    double p[64] = {0}, q[64] = {0};
    pt_ok(s, x && y);
    const pith_spec *spec = pith_array_spec(x);
    cr_assert(spec == pith_array_spec(y) && spec->count <= 64);
    pith_read(s, x, p, spec->bytes);
    pith_read(s, y, q, spec->bytes);
    for (int64_t k = 0; k < spec->count; k++)
        cr_assert(p[k] == q[k] || (p[k] != p[k] && q[k] != q[k]) ||
                      fabs(p[k] - q[k]) <= within * fabs(q[k]),
                  "%s of %s, chunk %d: %.17g, not %.17g at %d", what, now->name,
                  (int)chunk_of_all, p[k], q[k], (int)k);
}

static void compare_outside(int64_t size) {
    const pith_array *x = argument(0, 0, -1, size), *a = argument(1, 0, -1, size),
                     *key = argument(2, 0, -1, size);
    const pith_function *slopes = pith_vmap(s, &slope_of, NULL),
                        *rates = pith_vmap(s, &rate_of, NULL);
    alike(pith_apply(s, pith_grad(s, &sum_of_all_of, NULL), x, a, key),
          pith_apply(s, slopes, x, a, key), 1e-13, "the gradient of the sum");
    alike(
        pith_jvp(s, all_entries(s), PITH_ITEMS(x, a, key), pith_cos(s, x), NULL).tangent,
        pith_apply(s, rates, x, a, key), 0, "the tangent");
}

Test(vmap_meets, derivatives_of_batches_are_batches_of_them, .timeout = 600) {
    setenv("PITH_JIT", "off", 1);
    for (int p = 0; p < PROGRAMS; p++)
        for (chunk_of_all = 0; chunk_of_all < 4 && programs[p].derives; chunk_of_all++) {
            inner_chunk = chunk_of_all % 3;
            now = &programs[p];
            open_scope();
            compare_outside(3 + chunk_of_all);
            compare_outside(chunk_of_all % 2);
            close_scope();
        }
}

/* Entry i, k has x and key number i, and a number k; the key is mapped by both. */
static void compare_nested(way w, int64_t rows, int64_t columns) {
    const pith_vmap_options inner = {.in = PITH_MAPPED({"[0]", PITH_NOT_MAPPED}),
                                     .out = PITH_MAPPED({"", 1}),
                                     .chunk = chunk_of_all},
                            outer = {
                                .in = PITH_MAPPED({"[0]", 1}, {"[1]", PITH_NOT_MAPPED},
                                                  {"[2]", 1}),
                                .out = PITH_MAPPED({"", -1}),
                                .chunk = chunk_of_all - 1 > 0 ? chunk_of_all - 1 : 0};
    const pith_function *f = made(w),
                        *all = pith_vmap(s, pith_vmap(s, f, &inner), &outer);
    const pith_array *keys[16], *x = argument(0, 1, -1, rows),
                                *a = argument(1, 0, -1, columns);
    for (int64_t k = 0; k < rows * columns; k++)
        keys[k] = pith_random_key(s, k);
    const pith_array *key = pith_stack(s, rows * columns, keys, 0);
    key = pith_reshape(s, key, PITH_SHAPE(rows, columns, 2));
    key = pith_swapaxes(s, key, 0, 1);
    const pith_result *result = pith_as_result(s, all, PITH_ITEMS(x, a, key));
    const pith_array *got = pith_result_value(result); /* [N, columns, rows] */
    pt_ok(s, got);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < columns; k++) {
            const pith_result *one = pith_as_result(
                s, f,
                PITH_ITEMS(entry_of(x, i, 1), entry_of(a, k, 0), keys[i * columns + k]));
            pt_ok(s, one);
            alike(entry_of(entry_of(got, i, 2), k, 1), pith_result_value(one), 0,
                  "an entry of an entry");
        }
}

Test(vmap_meets, batches_of_batches_are_calls, .timeout = 600) {
    setenv("PITH_JIT", "off", 1);
    for (int p = 0; p < PROGRAMS; p++)
        for (int w = 0; w < (programs[p].derives ? WAYS : 1); w++)
            for (chunk_of_all = 0; chunk_of_all < 4; chunk_of_all++) {
                inner_chunk = (chunk_of_all + 1) % 3;
                now = &programs[p];
                open_scope();
                compare_nested((way)w, 3, 3);
                compare_nested((way)w, 4, 1);
                compare_nested((way)w, 1, 2);
                close_scope();
            }
}

/* ---- Entries beside calls ---- */

static const int mappings[][3] = {
    {0, 0, 0},
    {1, PITH_NOT_MAPPED, 1},
    {PITH_NOT_MAPPED, 0, PITH_NOT_MAPPED},
    {PITH_NOT_MAPPED, PITH_NOT_MAPPED, 0},
    {0, 0, PITH_NOT_MAPPED},
    {1, PITH_NOT_MAPPED, PITH_NOT_MAPPED},
};
static const int64_t sizes[][2] = {{5, 0}, {5, 2}, {0, 0}, {1, 0},
                                   {7, 3}, {6, 1}, {0, 2}, {1, 1}};

/* One of `every` batches. */
static void meet(const char *mode, int every) {
    setenv("PITH_JIT", mode, 1);
    int next = 0;
    for (int p = 0; p < PROGRAMS; p++)
        for (int w = 0; w < (programs[p].derives ? WAYS : 1); w++)
            for (size_t m = 0; m < sizeof mappings / sizeof *mappings; m++, next++) {
                if (next % every)
                    continue;
                mapping map = {.axes = {mappings[m][0], mappings[m][1], mappings[m][2]}};
                for (int z = 0; z < 2; z++) {
                    const size_t n = (size_t)(z ? 2 + next % 6 : next % 2);
                    map.size = sizes[n][0];
                    map.chunk = sizes[n][1];
                    inner_chunk = next % 3;
                    now = &programs[p];
                    open_scope();
                    compare((way)w, &map);
                    close_scope();
                }
            }
}

Test(vmap_meets, entries_are_calls_interpreted, .timeout = 600) {
    meet("off", pt_share() > 1 ? 5 : 1); /* no divisor of the number of mappings */
}
Test(vmap_meets, entries_are_calls_compiled, .timeout = 600) {
    meet("wait", 61);
}
