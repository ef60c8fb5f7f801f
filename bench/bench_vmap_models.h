/* The functions that bench_vmap.c batches: of one entry, and by hand over flat arrays. */
#ifndef BENCH_VMAP_MODELS_H
#define BENCH_VMAP_MODELS_H

#include "bench.h"
#include "peers/vmap.h"

/* ---- A chain of elementwise operations ---- */

static const pith_array *
chain(pith_scope *s, const pith_array *x, const pith_array *scale) {
    const pith_array *y = pith_add(s, pith_mul(s, x, scale), 0.5);
    y = pith_sub(s, pith_mul(s, y, y), x);
    y = pith_mul(s, pith_add(s, pith_mul(s, y, 0.25), x), scale);
    return pith_sqrt(s, pith_add(s, pith_abs(s, y), 1.0));
}
PITH_FUNCTION2(chain_of, chain, pith_array, pith_array, pith_array)

static const pith_array *
checked_chain(pith_scope *s, const pith_array *x, const pith_array *scale) {
    const pith_array *y = chain(s, x, scale);
    pith_check(s, pith_greater_equal(s, y, 1.0), "the root of {x}", .args = {{"x", x}});
    return y;
}
PITH_FUNCTION2(checked_chain_of, checked_chain, pith_array, pith_array, pith_array)

/* ---- A loop of unknown length ---- */

/* One entry, or arrays of all in the same places: x -> a x + b, n times. */
typedef struct {
    const pith_array *x, *left;
} Count;
PITH_NODE(Count, PITH_LEAF(x, "f64"), PITH_LEAF(left, "i64"))

static const pith_array *count_goes_on(pith_scope *s, const Count *c) {
    return pith_greater(s, c->left, 0);
}
PITH_FUNCTION1(count_goes_on_of, count_goes_on, pith_array, Count)
static const Count *count_down(pith_scope *s, const Count *c) {
    const pith_array *x = pith_add(s, pith_mul(s, c->x, VMAP_FACTOR), VMAP_TERM);
    return pith_record(s, Count, .x = x, .left = pith_sub(s, c->left, 1));
}
PITH_FUNCTION1(count_down_of, count_down, Count, Count)
static const Count *count_all(pith_scope *s, const Count *c) {
    return pith_while(s, &count_goes_on_of, &count_down_of, c);
}
PITH_FUNCTION1(count_of, count_all, Count, Count)

static const pith_array *some_go_on(pith_scope *s, const Count *c) {
    return pith_any(s, count_goes_on(s, c), PITH_ALL_AXES);
}
PITH_FUNCTION1(some_go_on_of, some_go_on, pith_array, Count)
static const Count *flat_down(pith_scope *s, const Count *c) {
    const pith_array *on = count_goes_on(s, c);
    const Count *next = count_down(s, c);
    return pith_record(s, Count, .x = pith_where(s, on, next->x, c->x),
                       .left = pith_where(s, on, next->left, c->left));
}
PITH_FUNCTION1(flat_down_of, flat_down, Count, Count)
static const Count *count_flat(pith_scope *s, const Count *c) {
    return pith_while(s, &some_go_on_of, &flat_down_of, c);
}
PITH_FUNCTION1(count_flat_of, count_flat, Count, Count)

/* ---- Oscillators of van der Pol with steps of their own size, as examples/adaptive ----
 */

typedef struct {
    const pith_array *x, *v, *t, *h, *mu;
} Oscillator;
PITH_NODE(Oscillator,
          PITH_LEAF(x, "f64"),
          PITH_LEAF(v, "f64"),
          PITH_LEAF(t, "f64"),
          PITH_LEAF(h, "f64"),
          PITH_LEAF(mu, "f64"))

/* v' at x, v */
static const pith_array *
pull(pith_scope *s, const pith_array *mu, const pith_array *x, const pith_array *v) {
    return pith_expression(s, "mu * (1 - x * x) * v - x",
                           PITH_BIND({"x", x}, {"v", v}, {"mu", mu}));
}

static const pith_array *error_of(pith_scope *s,
                                  const pith_array *h,
                                  const pith_array *const k[4],
                                  const pith_array *to) {
    return pith_expression(
        s,
        "h * (-5.0/72 * a + 1.0/12 * b + 1.0/9 * c - 0.125 * d) / (1e-6 * (1 + fabs(y)))",
        PITH_BIND({"h", h}, {"a", k[0]}, {"b", k[1]}, {"c", k[2]}, {"d", k[3]},
                  {"y", to}));
}

static const pith_array *advance(pith_scope *s,
                                 const pith_array *y,
                                 const pith_array *h,
                                 double part,
                                 const pith_array *k) {
    return pith_add(s, y, pith_mul(s, pith_mul(s, h, part), k));
}

static const pith_array *third_order(pith_scope *s,
                                     const pith_array *y,
                                     const pith_array *h,
                                     const pith_array *const k[4]) {
    return pith_expression(
        s, "y + h * (2.0/9 * a + 1.0/3 * b + 4.0/9 * c)",
        PITH_BIND({"y", y}, {"h", h}, {"a", k[0]}, {"b", k[1]}, {"c", k[2]}));
}

static const Oscillator *attempt(pith_scope *s, const Oscillator *now) {
    const pith_array *left = pith_sub(s, VMAP_END, now->t);
    const pith_array *h = pith_minimum(s, now->h, left), *x = now->x, *v = now->v;
    const pith_array *kx[4] = {v}, *kv[4] = {pull(s, now->mu, x, v)};
    for (int i = 1; i < 3; i++) {
        const double part = i == 1 ? 0.5 : 0.75;
        kx[i] = advance(s, v, h, part, kv[i - 1]);
        kv[i] = pull(s, now->mu, advance(s, x, h, part, kx[i - 1]), kx[i]);
    }
    const pith_array *tx = third_order(s, x, h, kx), *tv = third_order(s, v, h, kv);
    kx[3] = tv;
    kv[3] = pull(s, now->mu, tx, tv);
    const pith_array *ex = error_of(s, h, kx, tx), *ev = error_of(s, h, kv, tv);
    const pith_array *error =
        pith_mul(s, pith_add(s, pith_square(s, ex), pith_square(s, ev)), 0.5);
    const pith_array *good = pith_less_equal(s, error, 1.0);
    const pith_array *factor =
        pith_clip(s, pith_mul(s, pith_pow(s, error, -1. / 6), 0.9), 0.2, 5.0);
    const pith_array *t =
        pith_where(s, pith_equal(s, h, left), VMAP_END, pith_add(s, now->t, h));
    Oscillator next = *now;
    next.x = pith_where(s, good, tx, x);
    next.v = pith_where(s, good, tv, v);
    next.t = pith_where(s, good, t, now->t);
    next.h = pith_mul(s, h, factor);
    return pith_freeze(s, Oscillator, &next);
}
PITH_FUNCTION1(attempt_of, attempt, Oscillator, Oscillator)

static const pith_array *before_end(pith_scope *s, const Oscillator *now) {
    return pith_less(s, now->t, VMAP_END);
}
PITH_FUNCTION1(before_end_of, before_end, pith_array, Oscillator)
static const Oscillator *integrate(pith_scope *s, const Oscillator *start) {
    return pith_while(s, &before_end_of, &attempt_of, start);
}
PITH_FUNCTION1(integrate_of, integrate, Oscillator, Oscillator)

#endif
