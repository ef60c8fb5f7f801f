/* Oscillators of van der Pol, each integrated with steps of its own size: one loop for
 * one oscillator, mapped over all of them. */
#include <pith/pith.h>
#include <stdio.h>

enum { RUNS = 200 };

typedef struct {
    const pith_array *y;     /* place and velocity */
    const pith_array *t, *h; /* time, and size of the next step */
    const pith_array *tries; /* steps so far, accepted or not */
    const pith_array *mu;
    double end, tolerance;
} Oscillator;
PITH_NODE(Oscillator,
          PITH_LEAF(y, "f64[2]"),
          PITH_LEAF(t, "f64"),
          PITH_LEAF(h, "f64"),
          PITH_LEAF(tries, "i64"),
          PITH_LEAF(mu, "f64"),
          PITH_STATIC(end, .initial = 20),
          PITH_STATIC(tolerance, .initial = 1e-6))

/* x' = v, v' = mu (1 - x^2) v - x */
static const pith_array *slope(pith_scope *s, const Oscillator *of, const pith_array *y) {
    const pith_array *x = pith_slice_at(s, y, 0, 0), *v = pith_slice_at(s, y, 0, 1);
    const pith_array *parts[] = {
        v, pith_expression(s, "mu * (1 - x * x) * v - x",
                           PITH_BIND({"x", x}, {"v", v}, {"mu", of->mu}))};
    return pith_stack(s, 2, parts, 0);
}

/* h (a k[0] + b k[1] + ...) */
static const pith_array *change(pith_scope *s,
                                const pith_array *h,
                                int count,
                                const double *a,
                                const pith_array **k) {
    const pith_array *sum = pith_mul(s, k[0], a[0]);
    for (int i = 1; i < count; i++)
        sum = pith_add(s, sum, pith_mul(s, k[i], a[i]));
    return pith_mul(s, h, sum);
}

/* A step of Bogacki and Shampine of order 3. One whose error, from that of order 2, is
 * above the tolerance is done again from the same place with a smaller step. */
static const Oscillator *attempt(pith_scope *s, const Oscillator *now) {
    static const double half[] = {1. / 2}, late[] = {0, 3. / 4};
    static const double third[] = {2. / 9, 1. / 3, 4. / 9};
    static const double apart[] = {-5. / 72, 1. / 12, 1. / 9, -1. / 8};
    const pith_array *left = pith_sub(s, now->end, now->t), *y = now->y, *k[4];
    const pith_array *h = pith_minimum(s, now->h, left);
    k[0] = slope(s, now, y);
    k[1] = slope(s, now, pith_add(s, y, change(s, h, 1, half, k)));
    k[2] = slope(s, now, pith_add(s, y, change(s, h, 2, late, k)));
    const pith_array *to = pith_add(s, y, change(s, h, 3, third, k));
    k[3] = slope(s, now, to);

    const pith_array *most =
        pith_mul(s, pith_add(s, pith_abs(s, to), 1.0), now->tolerance);
    const pith_array *part = pith_div(s, change(s, h, 4, apart, k), most);
    const pith_array *error = pith_mean(s, pith_square(s, part), PITH_ALL_AXES);
    const pith_array *good = pith_less_equal(s, error, 1.0);
    const pith_array *factor =
        pith_clip(s, pith_mul(s, pith_pow(s, error, -1. / 6), 0.9), 0.2, 5.0);
    const pith_array *last = pith_equal(s, h, left);
    const pith_array *t = pith_where(s, last, now->end, pith_add(s, now->t, h));
    Oscillator next = *now;
    next.y = pith_where(s, good, to, y);
    next.t = pith_where(s, good, t, now->t);
    next.h = pith_mul(s, h, factor);
    next.tries = pith_add(s, now->tries, 1);
    return pith_freeze(s, Oscillator, &next);
}
PITH_FUNCTION1(attempt_step, attempt, Oscillator, Oscillator)

static const pith_array *before_end(pith_scope *s, const Oscillator *now) {
    return pith_less(s, now->t, now->end);
}
PITH_FUNCTION1(is_before_end, before_end, pith_array, Oscillator)

static const Oscillator *integrate(pith_scope *s, const Oscillator *start) {
    return pith_while(s, &is_before_end, &attempt_step, start);
}
PITH_FUNCTION1(integration, integrate, Oscillator, Oscillator)

int main(void) {
    pith_runtime *rt = pith_open(NULL);
    pith_scope *s = pith_scope_open(rt);

    /* mu from 0.05 to 10: the higher, the stiffer */
    Oscillator start = pith_initial(Oscillator);
    start.mu = pith_mul(s, pith_add(s, pith_arange(s, PITH_F64, RUNS), 1.0), 10.0 / RUNS);
    start.y = pith_full(s, PITH_F64, PITH_SHAPE(RUNS, 2), 1.0);
    start.h = pith_full(s, PITH_F64, PITH_SHAPE(RUNS), 0.01);
    const Oscillator *from = pith_make(s, Oscillator, &start, NULL);
    const Oscillator *ends = pith_apply(s, pith_vmap(s, &integration, NULL), from);

    const pith_function *alone = pith_jit(s, &integration, NULL);
    int equal = 0;
    for (int64_t i = 0; i < RUNS && !pith_failed(s); i++) {
        const Oscillator *one = pith_tree_take(s, from, pith_i64(s, i), NULL);
        const Oscillator *end = pith_tree_take(s, ends, pith_i64(s, i), NULL);
        equal += pith_tree_equal(s, pith_apply(s, alone, one), end);
        if (i % (RUNS / 4) == 0 || i == RUNS - 1)
            printf("mu %5.2f: x %9.6f after %lld steps\n", pith_read_f64(s, one->mu),
                   pith_read_f64(s, pith_slice_at(s, end->y, 0, 0)),
                   (long long)pith_read_i64(s, end->tries));
    }
    printf("%d of %d are equal to runs of their own\n", equal, RUNS);

    const bool failed = pith_failed(s);
    if (failed)
        fprintf(stderr, "%s\n", pith_message(s));
    pith_scope_close(s);
    pith_close(rt);
    return failed;
}
