/* Loops, branches, rules, recomputation, bound trees, lenses and derivatives, nested in
 * all orders. The expected values are those of Taylor series. */
#include "rule_test.h"
#include "series.h"

/* ---- Taylor series ---- */

enum { ORDER = 8 };
typedef struct {
    double c[ORDER]; /* of s^k */
} series;

static series times(series a, series b) {
    series p = {{0}};
    for (int i = 0; i < ORDER; i++)
        for (int k = 0; i + k < ORDER; k++)
            p.c[i + k] += a.c[i] * b.c[k];
    return p;
}
/* b begins with a number other than 0. */
static series over(series a, series b) {
    series q;
    for (int k = 0; k < ORDER; k++) {
        double rest = a.c[k];
        for (int i = 0; i < k; i++)
            rest -= q.c[i] * b.c[k - i];
        q.c[k] = rest / b.c[0];
    }
    return q;
}
static series rate(series a) {
    series d = {{0}};
    for (int k = 1; k < ORDER; k++)
        d.c[k - 1] = k * a.c[k];
    return d;
}
static series sine(series x) {
    series sin_x = {{sin(x.c[0])}}, cos_x = {{cos(x.c[0])}};
    for (int k = 1; k < ORDER; k++)
        for (int i = 1; i <= k; i++) {
            sin_x.c[k] += i * x.c[i] * cos_x.c[k - i] / k;
            cos_x.c[k] -= i * x.c[i] * sin_x.c[k - i] / k;
        }
    return sin_x;
}

/* ---- Nests ---- */

typedef enum kind {
    BASE,
    LOOP,
    ROWS,
    BRANCH,
    RECORDED,
    PUSH_RULE,
    PULL_RULE,
    RECOMPUTED,
    BOUND,
    FOCUS,
    COMPILED,
    GRADIENT,
    PUSHED,
    MAPPED,
    PULLED,
    KINDS
} kind;
static const char *const names[KINDS] = {
    "base",      "loop",      "rows",       "branch", "recorded",
    "push rule", "pull rule", "recomputed", "bound",  "focus",
    "compiled",  "gradient",  "pushed",     "mapped", "pulled"};

enum { DEPTH = 3 };
static kind nest[DEPTH + 1]; /* the outermost first; BASE is the last */

/* The function at a level of the nest, of a series. */
static series expected(int level, series x) {
    const kind k = nest[level];
    if (k == BASE) {
        series y = sine(x);
        for (int i = 0; i < ORDER; i++)
            y.c[i] = 0.25 * y.c[i] + 0.5 * x.c[i];
        return y;
    }
    series y = expected(level + 1, x);
    if (k == LOOP || k == RECORDED)
        return expected(level + 1, y);
    if (k == ROWS) {
        y.c[0] += 0.25;
        y = expected(level + 1, y);
        y.c[0] -= 0.5;
        return y;
    }
    if (k == BOUND)
        return times(y, x);
    return k >= GRADIENT ? over(rate(y), rate(x)) : y;
}

static const pith_array *call(pith_scope *in, const pith_function *f, const void *x) {
    return pith_call(in, f, PITH_ITEMS(x));
}

typedef struct {
    const pith_array *x, *left;
} Walk;
PITH_NODE(Walk, PITH_LEAF(x, "f64[n]"), PITH_LEAF(left, "i64[]"))

static const pith_array *goes_on(pith_scope *in, const Walk *w) {
    return pith_greater(in, w->left, pith_i64(in, 0));
}
PITH_FUNCTION1(goes_on_test, goes_on, pith_array, Walk)
static const Walk *step(pith_scope *in, const pith_function *inner, const Walk *w) {
    return pith_record(in, Walk, .x = call(in, inner, w->x),
                       .left = pith_sub(in, w->left, pith_i64(in, 1)));
}

static const Pushed *push(pith_scope *in,
                          const pith_function *inner,
                          const pith_array *x,
                          const pith_array *t) {
    const pith_pushed y = pith_jvp(in, inner, PITH_ITEMS(x), t, NULL);
    return pith_record(in, Pushed, .value = y.value, .tangent = y.tangent);
}
static const Kept *keep(pith_scope *in, const pith_function *inner, const pith_array *x) {
    return pith_record(in, Kept, .value = call(in, inner, x), .residual = x);
}
static const pith_array *pull(pith_scope *in,
                              const pith_function *inner,
                              const pith_array *x,
                              const pith_array *ct) {
    return call(in, pith_vjp(in, inner, PITH_ITEMS(x), NULL).map, ct);
}
static const pith_array *total(pith_scope *in, const pith_array *x) {
    return pith_sum(in, x, PITH_ALL_AXES);
}
static const pith_array *ones_like(pith_scope *in, const pith_array *x) {
    return pith_add(in, pith_mul(in, pith_stop_gradient(in, x), 0.0), 1.0);
}

/* The functions of a level that calls another. */
#define LEVEL(n, inner)                                                                  \
    static const pith_array *body_##n(pith_scope *in, const pith_array *i,               \
                                      const pith_array *x) {                             \
        (void)i;                                                                         \
        return call(in, inner, x);                                                       \
    }                                                                                    \
    PITH_FUNCTION2(body_##n##_of, body_##n, pith_array, pith_array, pith_array)          \
    static const pith_array *row_##n(pith_scope *in, const pith_array *x,                \
                                     const pith_array *row) {                            \
        return pith_add(in, call(in, inner, x), row);                                    \
    }                                                                                    \
    PITH_FUNCTION2(row_##n##_of, row_##n, pith_array, pith_array, pith_array)            \
    static const pith_array *other_##n(pith_scope *in, const pith_array *x) {            \
        return pith_neg(in, call(in, inner, x));                                         \
    }                                                                                    \
    PITH_FUNCTION1(other_##n##_of, other_##n, pith_array, pith_array)                    \
    static const Walk *step_##n(pith_scope *in, const Walk *w) {                         \
        return step(in, inner, w);                                                       \
    }                                                                                    \
    PITH_FUNCTION1(step_##n##_of, step_##n, Walk, Walk)                                  \
    static const Pushed *push_##n(pith_scope *in, const pith_array *x,                   \
                                  const pith_array *t) {                                 \
        return push(in, inner, x, t);                                                    \
    }                                                                                    \
    PITH_FUNCTION2(push_##n##_of, push_##n, Pushed, pith_array, pith_array)              \
    static const Kept *keep_##n(pith_scope *in, const pith_array *x) {                   \
        return keep(in, inner, x);                                                       \
    }                                                                                    \
    PITH_FUNCTION1(keep_##n##_of, keep_##n, Kept, pith_array)                            \
    static const pith_array *pull_##n(pith_scope *in, const pith_array *x,               \
                                      const pith_array *ct) {                            \
        return pull(in, inner, x, ct);                                                   \
    }                                                                                    \
    PITH_FUNCTION2(pull_##n##_of, pull_##n, pith_array, pith_array, pith_array)          \
    static const pith_array *bound_##n(pith_scope *in, const pith_array *x,              \
                                       const pith_array *a) {                            \
        return pith_mul(in, call(in, inner, x), a);                                      \
    }                                                                                    \
    PITH_FUNCTION2(bound_##n##_of, bound_##n, pith_array, pith_array, pith_array)        \
    static const pith_array *part_##n(pith_scope *in, const Walk *w) {                   \
        return call(in, inner, w->x);                                                    \
    }                                                                                    \
    PITH_FUNCTION1(part_##n##_of, part_##n, pith_array, Walk)                            \
    static const pith_array *total_##n(pith_scope *in, const pith_array *x) {            \
        return total(in, call(in, inner, x));                                            \
    }                                                                                    \
    PITH_FUNCTION1(total_##n##_of, total_##n, pith_array, pith_array)                    \
    static const parts parts_##n = {inner,           &body_##n##_of, &row_##n##_of,      \
                                    &other_##n##_of, &step_##n##_of, &push_##n##_of,     \
                                    &keep_##n##_of,  &pull_##n##_of, &bound_##n##_of,    \
                                    &part_##n##_of,  &total_##n##_of};                   \
    static const pith_array *level_##n(pith_scope *in, const pith_array *x) {            \
        return apply(in, nest[n], &parts_##n, x);                                        \
    }                                                                                    \
    PITH_FUNCTION1(level_##n##_of, level_##n, pith_array, pith_array)

typedef struct parts {
    const pith_function *inner, *body, *row, *other, *step, *push, *keep, *pull, *bound,
        *part, *total;
} parts;

static const pith_array *base(pith_scope *in, const pith_array *x) {
    return pith_add(in, pith_mul(in, pith_sin(in, x), 0.25), pith_mul(in, x, 0.5));
}

static const pith_array *recorded(pith_scope *in, const parts *p, const pith_array *x) {
    const Walk *w = pith_record(in, Walk, .x = x, .left = pith_i64(in, 2));
    w = pith_while_recorded(in, &goes_on_test, p->step, w,
                            &(pith_record_options){.most = 3});
    return w->x;
}

/* Of a root whose rows are another array, those at indices that are traced. */
static const pith_array *focused(pith_scope *in, const parts *p, const pith_array *x) {
    const pith_array *zeros = pith_mul(in, pith_stop_gradient(in, x), 0.0),
                     *index = pith_add(in, pith_cast(in, zeros, PITH_I64),
                                       PITH_VECTOR(in, i64, 0, 1));
    const Walk *root = pith_record(in, Walk, .x = zeros, .left = pith_i64(in, 2));
    const pith_lens *rows = pith_lens_at(in, PITH_LENS(Walk, x), index, NULL);
    return pith_call(in, pith_at_focus(in, rows, p->part), PITH_ITEMS(x, root));
}

static const pith_function *ruled(pith_scope *in, kind k, const parts *p) {
    const pith_function *f =
        k == PUSH_RULE ? p->inner : pith_custom_vjp(in, p->inner, p->keep, p->pull);
    return pith_custom_jvp(in, f, p->push);
}

static const pith_array *
apply(pith_scope *in, kind k, const parts *p, const pith_array *x) {
    switch (k) {
        case BASE:
            return base(in, x);
        case LOOP:
            return pith_fori(in, 0, 2, p->body, x);
        case ROWS:
            return pith_scan(in, p->row, x, PITH_VECTOR(in, f64, 0.25, -0.5), NULL, NULL);
        case BRANCH:
            return pith_cond(in, pith_less(in, total(in, x), 100.0), p->inner, p->other,
                             x);
        case RECORDED:
            return recorded(in, p, x);
        case PUSH_RULE:
        case PULL_RULE:
            return call(in, ruled(in, k, p), x);
        case RECOMPUTED:
            return call(in, pith_recompute(in, p->inner, NULL), x);
        case BOUND:
            return call(in, pith_partial(in, p->bound, x), x);
        case FOCUS:
            return focused(in, p, x);
        case COMPILED:
            return call(in, pith_jit(in, p->inner, NULL), x);
        case GRADIENT:
            return call(in, pith_grad(in, p->total, NULL), x);
        case PUSHED:
            return pith_jvp(in, p->inner, PITH_ITEMS(x), ones_like(in, x), NULL).tangent;
        case MAPPED:
            return call(in, pith_linearize(in, p->inner, PITH_ITEMS(x), NULL).map,
                        ones_like(in, x));
        case PULLED:
            return call(in, pith_vjp(in, p->inner, PITH_ITEMS(x), NULL).map,
                        ones_like(in, x));
        case KINDS:
            break;
    }
    return NULL;
}

static const pith_array *level_3(pith_scope *in, const pith_array *x) {
    return base(in, x);
}
PITH_FUNCTION1(level_3_of, level_3, pith_array, pith_array)
LEVEL(2, &level_3_of)
LEVEL(1, &level_2_of)
LEVEL(0, &level_1_of)

/* ---- Checks ---- */

static const pith_array *value(pith_scope *in, const pith_array *x) {
    return total(in, level_0(in, x));
}
PITH_FUNCTION1(value_of, value, pith_array, pith_array)
static const pith_array *slope_sum(pith_scope *in, const pith_array *x) {
    return total(in, call(in, pith_grad(in, &value_of, NULL), x));
}
PITH_FUNCTION1(slope_sum_of, slope_sum, pith_array, pith_array)
static const pith_array *push_sum(pith_scope *in, const pith_array *x) {
    return pith_jvp(in, &value_of, PITH_ITEMS(x), ones_like(in, x), NULL).tangent;
}
PITH_FUNCTION1(push_sum_of, push_sum, pith_array, pith_array)

static const double points[2] = {0.75, 1.5};

static void compare(const char *what, const pith_array *got, int i, double wanted) {
    cr_assert(got && !pith_failed(s), "%s of %s, %s, %s: %s", what, names[nest[0]],
              names[nest[1]], names[nest[2]], pith_message(s));
    const double g = at(got, i);
    cr_assert(fabs(g - wanted) <= 1e-9 * (1 + fabs(wanted)),
              "%s of %s, %s, %s: element %d: expected %.17g, got %.17g", what,
              names[nest[0]], names[nest[1]], names[nest[2]], i, wanted, g);
}

static void check_nest(void) {
    const pith_array *x = PITH_VECTOR(s, f64, points[0], points[1]),
                     *t = PITH_VECTOR(s, f64, 1, -2);
    pith_jit_clear(rt);
    const pith_array *g = call(s, pith_grad(s, &value_of, NULL), x),
                     *d = pith_jvp(s, &value_of, PITH_ITEMS(x), t, NULL).tangent;
    const void *both =
        pith_call(s, pith_hessian_product(s, &value_of, NULL), PITH_ITEMS(x, t));
    const pith_array *reverse = call(s, pith_grad(s, &slope_sum_of, NULL), x),
                     *mixed = call(s, pith_grad(s, &push_sum_of, NULL), x);
    double along = 0;
    for (int i = 0; i < 2; i++) {
        const series y = expected(0, (series){{points[i], 1}});
        compare("gradient", g, i, y.c[1]);
        compare("second", both ? pith_child(both, 1) : NULL, i,
                2 * y.c[2] * (i ? -2 : 1));
        compare("reverse over reverse", reverse, i, 2 * y.c[2]);
        compare("reverse over forward", mixed, i, 2 * y.c[2]);
        along += y.c[1] * (i ? -2 : 1);
    }
    compare("tangent", d, 0, along);
}

Test(derive_nests, pairs, .init = open_scope, .timeout = 300) {
    for (kind a = LOOP; a < KINDS; a++)
        for (kind b = BASE; b < KINDS; b++) {
            nest[0] = a;
            nest[1] = b;
            nest[2] = BASE;
            check_nest();
        }
    close_scope();
}

/* The gradient has a loop over the rows of the record, which counts: it is not to be
 * split into iterations that have rows and others. */
Test(derive_nests, maps_of_gradients_of_records, .init = open_scope, .timeout = 300) {
    nest[0] = MAPPED;
    nest[1] = GRADIENT;
    nest[2] = RECORDED;
    check_nest();
    close_scope();
}

#ifdef MANY
enum { EACH = 1 };
#else
enum { EACH = 13 };
#endif

/* One triple of EACH. */
Test(derive_nests, triples, .init = open_scope, .timeout = 300) {
    int count = 0;
    for (kind a = LOOP; a < KINDS; a++)
        for (kind b = LOOP; b < KINDS; b++)
            for (kind c = LOOP; c < KINDS; c++) {
                nest[0] = a;
                nest[1] = b;
                nest[2] = c;
                if (count++ % EACH == 0 && (EACH > 1 || pt_in_share(count)))
                    check_nest();
            }
    close_scope();
}
