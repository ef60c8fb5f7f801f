/* Functions of the family autodiff with branches and loops. */
#include "oracle.h"

/* A step of a scan. */
typedef struct {
    const void *carry, *out;
} Step;
PITH_NODE(Step, PITH_TREE(carry), PITH_TREE(out))

static const pith_array *item(const void *tuple, int64_t k) {
    return pith_child(tuple, k);
}

static const void *pair(pith_scope *s, const pith_array *a, const pith_array *b) {
    return pith_tuple_make(s, PITH_ITEMS(a, b));
}

/* ---- Scans ---- */

static const Step *
tanh_step(pith_scope *s, const pith_array *h, const pith_array *x, const pith_array *w) {
    const pith_array *next = pith_tanh(s, pith_add(s, pith_matmul(s, w, h), x));
    return pith_record(s, Step, .carry = next, .out = next);
}
PITH_FUNCTION3(tanh_step_of, tanh_step, Step, pith_array, pith_array, pith_array)

ORACLE_DERIVED(scan_tanh) {
    const void *all = NULL;
    out[0] =
        pith_scan(s, pith_partial(s, &tanh_step_of, in[0]), in[1], in[2], &all, NULL);
    out[1] = all;
}

static const Step *sin_step(pith_scope *s, const pith_array *c, const pith_array *a) {
    const pith_array *next = pith_add(s, pith_mul(s, c, a), pith_sin(s, c));
    return pith_record(s, Step, .carry = next, .out = c);
}
PITH_FUNCTION2(sin_step_of, sin_step, Step, pith_array, pith_array)

ORACLE_DERIVED(scan_reverse) {
    const void *all = NULL;
    out[0] = pith_scan(s, &sin_step_of, in[0], in[1], &all,
                       &(pith_loop_options){.reverse = true});
    out[1] = all;
}

static const void *
leap(pith_scope *s, const void *state, const void *row, const pith_array *k) {
    (void)row;
    const pith_array *x = item(state, 0), *v = item(state, 1);
    const pith_array *half =
        pith_expression(s, "v - k * x * 0.05", PITH_BIND({"x", x}, {"v", v}, {"k", k}));
    x = pith_add(s, x, pith_mul(s, half, 0.1));
    v = pith_expression(s, "v - k * x * 0.05",
                        PITH_BIND({"x", x}, {"v", half}, {"k", k}));
    return pair(s, x, v);
}
PITH_FUNCTION3(leap_of, leap, void, void, void, pith_array)

ORACLE_DERIVED(leapfrog) {
    const void *last =
        pith_scan(s, pith_partial(s, &leap_of, in[2]), pair(s, in[0], in[1]), NULL, NULL,
                  &(pith_loop_options){.length = 7});
    out[0] = item(last, 0);
    out[1] = item(last, 1);
}

static const pith_array *times(pith_scope *s, const void *both) {
    return pith_mul(s, item(both, 0), item(both, 1));
}
static const pith_array *plus(pith_scope *s, const void *both) {
    return pith_add(s, item(both, 0), item(both, 1));
}
PITH_FUNCTION1(times_of, times, pith_array, void)
PITH_FUNCTION1(plus_of, plus, pith_array, void)

static const pith_array *
cond_step(pith_scope *s, const pith_array *c, const pith_array *t) {
    return pith_cond(s, pith_greater(s, t, 0.0), &times_of, &plus_of, pair(s, c, t));
}
PITH_FUNCTION2(cond_step_of, cond_step, pith_array, pith_array, pith_array)

ORACLE_DERIVED(scan_cond) {
    out[0] = pith_scan(s, &cond_step_of, in[0], in[1], NULL, NULL);
}

static const pith_array *gather_step(pith_scope *s,
                                     const pith_array *sum,
                                     const pith_array *i,
                                     const pith_array *x) {
    return pith_add(s, pith_mul(s, pith_take(s, x, i, NULL), sum), 1.0);
}
PITH_FUNCTION3(gather_step_of,
               gather_step,
               pith_array,
               pith_array,
               pith_array,
               pith_array)

ORACLE_DERIVED(scan_gather) {
    out[0] = pith_scan(s, pith_partial(s, &gather_step_of, in[0]), pith_f64(s, 1), in[1],
                       NULL, NULL);
}

/* ---- Branches ---- */

static const pith_array *sin_times(pith_scope *s, const void *both) {
    return pith_mul(s, pith_sin(s, item(both, 0)), item(both, 1));
}
static const pith_array *plus_square(pith_scope *s, const void *both) {
    return pith_add(s, item(both, 0), pith_square(s, item(both, 1)));
}
PITH_FUNCTION1(sin_times_of, sin_times, pith_array, void)
PITH_FUNCTION1(plus_square_of, plus_square, pith_array, void)

ORACLE_DERIVED(cond) {
    out[0] = pith_cond(s, in[0], &sin_times_of, &plus_square_of, pair(s, in[1], in[2]));
}

static const pith_array *same(pith_scope *s, const pith_array *x) {
    (void)s;
    return x;
}
static const pith_array *squared(pith_scope *s, const pith_array *x) {
    return pith_square(s, x);
}
static const pith_array *exponential(pith_scope *s, const pith_array *x) {
    return pith_exp(s, x);
}
PITH_FUNCTION1(same_of, same, pith_array, pith_array)
PITH_FUNCTION1(squared_of, squared, pith_array, pith_array)
PITH_FUNCTION1(exponential_of, exponential, pith_array, pith_array)

ORACLE_DERIVED(switch_branch) {
    const pith_function *const branches[] = {&same_of, &squared_of, &exponential_of};
    out[0] = pith_switch(s, in[0], 3, branches, in[1]);
}

/* ---- Loops of unknown length, and counted ones ---- */

static const pith_array *far(pith_scope *s, const void *state) {
    return pith_expression(s, "abs(x * x - a) > 1e-13 * a",
                           PITH_BIND({"x", item(state, 0)}, {"a", item(state, 1)}));
}
static const void *newton(pith_scope *s, const void *state) {
    const pith_array *x = item(state, 0), *a = item(state, 1);
    const pith_array *next =
        pith_expression(s, "(x + a / x) / 2", PITH_BIND({"x", x}, {"a", a}));
    return pair(s, next, a);
}
PITH_FUNCTION1(far_of, far, pith_array, void)
PITH_FUNCTION1(newton_of, newton, void, void)

ORACLE_DERIVED(while_newton) {
    out[0] = item(pith_while(s, &far_of, &newton_of, pair(s, pith_f64(s, 1), in[0])), 0);
}

static const pith_array *small(pith_scope *s, const pith_array *x) {
    return pith_less(s, pith_sum(s, x, PITH_ALL_AXES), 100.0);
}
static const pith_array *doubled(pith_scope *s, const pith_array *x) {
    return pith_add(s, pith_mul(s, x, 2.0), 0.1);
}
PITH_FUNCTION1(small_of, small, pith_array, pith_array)
PITH_FUNCTION1(doubled_of, doubled, pith_array, pith_array)

ORACLE_DERIVED(while_doubling) {
    out[0] = pith_while(s, &small_of, &doubled_of, in[0]);
}

static const pith_array *wave(pith_scope *s, const pith_array *i, const pith_array *x) {
    return pith_expression(s, "sin(x) + 0.3 * x * f64(i)", PITH_BIND({"x", x}, {"i", i}));
}
PITH_FUNCTION2(wave_of, wave, pith_array, pith_array, pith_array)

ORACLE_DERIVED(fori) {
    out[0] = pith_fori(s, 0, 5, &wave_of, in[0]);
}

const oracle_row oracle_derive_loops[] = {
    ORACLE_FUNCTION(scan_tanh, 2),
    ORACLE_FUNCTION(scan_reverse, 2),
    ORACLE_FUNCTION(leapfrog, 2),
    ORACLE_FUNCTION(scan_cond, 1),
    ORACLE_FUNCTION(scan_gather, 1),
    ORACLE_FUNCTION(cond, 1),
    {.op = "switch", .run = oracle_derive, .function = switch_branch},
    ORACLE_FUNCTION(while_newton, 1),
    ORACLE_FUNCTION(while_doubling, 1),
    ORACLE_FUNCTION(fori, 1),
    {.op = NULL},
};
