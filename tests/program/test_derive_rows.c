/* Derivatives of rows at kinks, ties, zeros and infinities, of empty arrays, and in every
 * float dtype. */
#include "graph_test.h"
#include "program/derive/derive.h"

#include <math.h>

enum { MOST = 8, INPUTS = 4 };

static const pithp_derive_options uncut = {.cuts_are_zero = true};

typedef struct numbers {
    double at[INPUTS + 28][MOST];
} numbers;

static void run(pith_scope *s, pithp_program *p, numbers *in, numbers *out) {
    const void *from[GRAPH_MOST];
    void *to[GRAPH_MOST];
    for (int k = 0; k < GRAPH_MOST; k++)
        from[k] = in->at[k], to[k] = out->at[k];
    graph_run(s, p, 0, from, to);
}

/* The tangent of the only output, of which all inputs move. */
static void
push(pith_scope *s, pithp_program *p, const numbers *x, const numbers *t, double *y) {
    numbers in = *x, out;
    const bool moving[INPUTS] = {true, true, true, true};
    bool moves;
    pithp_program *jvp = pithp_program_jvp(s, p, moving, &uncut, &moves);
    pt_ok(s, jvp && moves);
    for (int64_t k = 0; k < p->input_count; k++)
        memcpy(in.at[p->input_count + k], t->at[k], sizeof *in.at);
    run(s, jvp, &in, &out);
    memcpy(y, out.at[1], sizeof *out.at);
    pithp_program_release(jvp);
}

/* The gradients of all inputs, for a cotangent of the only output. */
static void
pull(pith_scope *s, pithp_program *p, const numbers *x, const double *ct, numbers *g) {
    numbers in = *x, out, back;
    const bool moving[INPUTS] = {true, true, true, true};
    bool moves, marks[GRAPH_MOST], reaches[GRAPH_MOST];
    pithp_linearization l;
    pt_ok(s, pithp_program_linearize(s, p, moving, &uncut, &moves, &l) && moves);
    run(s, l.forward, &in, &out);
    for (int64_t k = 0; k < l.linear->input_count; k++)
        marks[k] = k >= l.residual_count;
    pithp_program *transposed = pithp_program_transpose(s, l.linear, marks, reaches);
    pt_ok(s, transposed);
    for (int64_t k = 0; k < l.residual_count; k++)
        memcpy(in.at[k], out.at[1 + k], sizeof *in.at);
    memcpy(in.at[l.residual_count], ct, sizeof *in.at);
    run(s, transposed, &in, &back);
    memset(g, 0, sizeof *g);
    for (int64_t k = 0, from = 0; k < p->input_count; k++)
        if (reaches[l.residual_count + k])
            memcpy(g->at[k], back.at[from++], sizeof *g->at);
    pithp_program_release(l.forward);
    pithp_program_release(l.linear);
    pithp_program_release(transposed);
}

static void same(const char *what, const double *got, const double *wanted, int count) {
    for (int k = 0; k < count; k++)
        cr_assert(got[k] == wanted[k] || (isnan(got[k]) && isnan(wanted[k])) ||
                      fabs(got[k] - wanted[k]) <= 1e-15 * fabs(wanted[k]),
                  "%s, %d: %.17g, expected %.17g", what, k, got[k], wanted[k]);
}

#define SCOPED(name) PT_SCOPED(derive_rows, name)

/* ---- Along an axis ---- */

static pithp_program *
scan_of(pith_scope *s, pithp_primitive op, int64_t n, bool reverse) {
    pithp_program *p = pithp_program_make(s);
    const pithp_value x = graph_input(s, p, PITH_F64, n);
    const pithp_scan_params along = {.reverse = reverse};
    pithp_program_output(s, p, graph_op(s, p, op, x, -1, &along));
    return p;
}

static void gradient_is(pith_scope *s,
                        pithp_primitive op,
                        bool reverse,
                        int n,
                        const double *x,
                        const double *ct,
                        const double *wanted) {
    numbers at = {0}, g;
    double of[MOST] = {0};
    memcpy(at.at[0], x, (size_t)n * sizeof *x);
    memcpy(of, ct, (size_t)n * sizeof *ct);
    pithp_program *p = scan_of(s, op, n, reverse);
    pull(s, p, &at, of, &g);
    same(pithp_ops[op].name, g.at[0], wanted, n);
    pithp_program_release(p);
}

static void tangent_is(pith_scope *s,
                       pithp_primitive op,
                       int n,
                       const double *x,
                       const double *t,
                       const double *wanted) {
    numbers at = {0}, along = {0};
    double y[MOST];
    memcpy(at.at[0], x, (size_t)n * sizeof *x);
    memcpy(along.at[0], t, (size_t)n * sizeof *t);
    pithp_program *p = scan_of(s, op, n, false);
    push(s, p, &at, &along, y);
    same(pithp_ops[op].name, y, wanted, n);
    pithp_program_release(p);
}

SCOPED(the_first_of_equal_extremes_has_the_gradient) {
    const double x[] = {1, 3, 3, 2, 3}, less[] = {-1, -3, -3, -2, -3},
                 ct[] = {1, 10, 100, 1000, 10000};
    const double wanted[] = {1, 11110, 0, 0, 0}, back[] = {0, 0, 0, 0, 11111};
    gradient_is(s, PITHP_OP_CUMMAX, false, 5, x, ct, wanted);
    gradient_is(s, PITHP_OP_CUMMAX, true, 5, x, ct, back);
    gradient_is(s, PITHP_OP_CUMMIN, false, 5, less, ct, wanted);
    gradient_is(s, PITHP_OP_CUMMIN, true, 5, less, ct, back);
}

/* An infinite tangent does not spread to results that do not depend on it. */
SCOPED(tangents_of_extremes_are_chosen) {
    const double x[] = {1, 2, 1, NAN, 5}, t[] = {INFINITY, 3, NAN, 7, 8},
                 wanted[] = {INFINITY, 3, 3, 7, 7};
    tangent_is(s, PITHP_OP_CUMMAX, 5, x, t, wanted);
    tangent_is(s, PITHP_OP_CUMMIN, 5, x, t,
               (const double[]){INFINITY, INFINITY, INFINITY, 7, 7});
}

SCOPED(products_have_exact_gradients_at_zeros) {
    const double x[] = {2, 0, 3, 0, 5}, ct[] = {1, 1, 1, 1, 1};
    gradient_is(s, PITHP_OP_CUMPROD, false, 5, x, ct, (const double[]){1, 8, 0, 0, 0});
    gradient_is(s, PITHP_OP_CUMPROD, true, 5, x, ct, (const double[]){0, 0, 0, 20, 1});
}

SCOPED(sums_of_exponentials_have_gradients_at_infinities) {
    const double low[] = {-INFINITY, -INFINITY, 0}, high[] = {0, INFINITY, INFINITY};
    for (int k = 0; k < 3; k++) {
        static const double of_low[3][3] = {{1, 0, 0}, {0.5, 0.5, 0}, {0, 0, 1}},
                            of_high[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0.5, 0.5}};
        double ct[3] = {0};
        ct[k] = 1;
        gradient_is(s, PITHP_OP_CUMLOGSUMEXP, false, 3, low, ct, of_low[k]);
        gradient_is(s, PITHP_OP_CUMLOGSUMEXP, false, 3, high, ct, of_high[k]);
    }
    gradient_is(s, PITHP_OP_CUMLOGSUMEXP, false, 3, (const double[]){0, 0, 0},
                (const double[]){0, 0, 3}, (const double[]){1, 1, 1});
}

/* ---- Scatters ---- */

/* x f64[3] with updates f64[4] at four indices. */
static pithp_program *
scatter_of(pith_scope *s, pithp_primitive op, const int64_t *at, bool unique) {
    pithp_program *p = pithp_program_make(s);
    const pithp_value x = graph_input(s, p, PITH_F64, 3),
                      u = graph_input(s, p, PITH_F64, 4);
    const pithp_value operands[3] = {
        x, pithp_program_literal(s, p, graph_spec(s, PITH_I64, 4), at), u};
    const pithp_index_params params = {.mode = PITHP_INDEX_DROP, .unique = unique};
    pithp_program_output(s, p,
                         pithp_program_add(s, p, op, 3, operands, &params, "here:1"));
    return p;
}

/* The derivatives of each product by each factor, by leaving it out. */
SCOPED(products_of_updates_have_exact_gradients_at_zeros) {
    const int64_t at[] = {1, 0, 1, 9};
    const double x[3] = {2, 3, 0}, ct[MOST] = {1, 10, 100};
    for (int zeros = 0; zeros < 8; zeros++) {
        const double u[4] = {zeros & 1 ? 0 : 5, zeros & 2 ? 0 : 7, zeros & 4 ? 0 : 11,
                             13};
        numbers in = {{{2, 3, 0}, {u[0], u[1], u[2], u[3]}}}, g;
        pithp_program *p = scatter_of(s, PITHP_OP_SCATTER_MUL, at, false);
        pull(s, p, &in, ct, &g);
        same("x", g.at[0], (const double[]){u[1], 10 * u[0] * u[2], 100}, 3);
        same("u", g.at[1], (const double[]){10 * x[1] * u[2], x[0], 10 * x[1] * u[0], 0},
             4);
        pithp_program_release(p);
    }
    const int64_t apart[] = {1, 0, 2, 9};
    numbers in = {{{2, 3, 0}, {5, 0, 11, 13}}}, g;
    pithp_program *p = scatter_of(s, PITHP_OP_SCATTER_MUL, apart, true);
    pull(s, p, &in, ct, &g);
    same("x", g.at[0], (const double[]){0, 50, 1100}, 3);
    same("u", g.at[1], (const double[]){30, 2, 0, 0}, 4);
    pithp_program_release(p);
}

SCOPED(equal_extremes_of_updates_share_equally) {
    const int64_t at[] = {0, 0, 1, 2};
    for (int least = 0; least < 2; least++) {
        const double sign = least ? -1 : 1, ct[MOST] = {3, 10, 100};
        numbers in = {{{sign, 5 * sign, 2 * sign}, {sign, sign, 5 * sign, 0}}}, g;
        pithp_program *p =
            scatter_of(s, least ? PITHP_OP_SCATTER_MIN : PITHP_OP_SCATTER_MAX, at, false);
        pull(s, p, &in, ct, &g);
        same("x", g.at[0], (const double[]){1, 5, 100}, 3);
        same("u", g.at[1], (const double[]){1, 1, 5, 0}, 4);
        pithp_program_release(p);
    }
}

/* A NaN has the derivative of what it came from. */
SCOPED(extremes_that_are_nan_have_derivatives) {
    const int64_t at[] = {0, 0, 9, 9};
    numbers in = {{{1, NAN, 2}, {NAN, 3, 4, 5}}}, t = {{{1, 2, 3}, {4, 5, 6, 7}}};
    double y[MOST];
    pithp_program *p = scatter_of(s, PITHP_OP_SCATTER_MAX, at, false);
    push(s, p, &in, &t, y);
    same("tangent", y, (const double[]){4, 2, 3}, 3);
    pithp_program_release(p);
}

/* ---- Every dtype, and empty arrays ---- */

static const pithp_primitive scans[] = {PITHP_OP_CUMSUM,       PITHP_OP_CUMPROD,
                                        PITHP_OP_CUMMIN,       PITHP_OP_CUMMAX,
                                        PITHP_OP_CUMLOGSUMEXP, PITHP_OP_CUMLINEAR};
static const pithp_primitive scatters[] = {PITHP_OP_SCATTER_SET, PITHP_OP_SCATTER_ADD,
                                           PITHP_OP_SCATTER_MUL, PITHP_OP_SCATTER_MIN,
                                           PITHP_OP_SCATTER_MAX};

/* Derived forward, in reverse, and the gradient forward again, and run. */
static void derives(pith_scope *s, pithp_program *p) {
    static char zeros[GRAPH_MOST][1024], results[GRAPH_MOST][1024];
    const void *from[GRAPH_MOST];
    void *to[GRAPH_MOST];
    const bool moving[GRAPH_MOST] = {true, true, true, true, true, true,
                                     true, true, true, true, true, true};
    bool moves[GRAPH_MOST], marks[GRAPH_MOST], reaches[GRAPH_MOST];
    for (int k = 0; k < GRAPH_MOST; k++)
        from[k] = zeros[k], to[k] = results[k];
    pithp_linearization l;
    pt_ok(s, pithp_program_linearize(s, p, moving, &uncut, moves, &l) && moves[0]);
    for (int64_t k = 0; k < l.linear->input_count; k++)
        marks[k] = k >= l.residual_count;
    pithp_program *back = pithp_program_transpose(s, l.linear, marks, reaches);
    pithp_program *jvp = pithp_program_jvp(s, p, moving, &uncut, moves);
    pithp_program *twice = pithp_program_jvp(s, jvp, moving, &uncut, moves);
    pt_ok(s, back && jvp && twice);
    for (int64_t k = 0; k < p->input_count; k++)
        cr_assert(reaches[l.residual_count + k] ||
                  !pithp_value_spec(p, p->inputs[k])->count ||
                  !pithp_value_spec(p, p->outputs[0])->count);
    graph_run(s, twice, 0, from, to);
    graph_run(s, back, 0, from, to);
    pithp_program_release(l.forward);
    pithp_program_release(l.linear);
    pithp_program_release(back);
    pithp_program_release(jvp);
    pithp_program_release(twice);
    pithp_program_release(p);
}

static pithp_program *
one_scan(pith_scope *s, pithp_primitive op, const pith_spec *x, int axis, bool reverse) {
    pithp_program *p = pithp_program_make(s);
    const pithp_value a = pithp_program_input(s, p, x);
    const pithp_value b = op == PITHP_OP_CUMLINEAR ? pithp_program_input(s, p, x) : -1;
    const pithp_scan_params along = {.axis = axis, .reverse = reverse};
    pithp_program_output(s, p, graph_op(s, p, op, a, b, &along));
    return p;
}

SCOPED(cumulative_rows_of_every_dtype_and_of_nothing) {
    static const int64_t shapes[][3] = {{2, 3, 4}, {2, 0, 4}, {0, 3, 4}, {2, 1, 4}};
    for (int dtype = PITH_F16; dtype < PITH_DTYPE_COUNT; dtype++)
        for (int shape = 0; shape < 4; shape++)
            for (int k = 0; k < PITHP_COUNT(scans); k++)
                derives(s, one_scan(s, scans[k],
                                    pithp_spec(s, (pith_dtype)dtype, 3, shapes[shape]), 1,
                                    k % 2));
}

static pithp_program *one_scatter(pith_scope *s,
                                  pithp_primitive op,
                                  pith_dtype dtype,
                                  const int64_t *into,
                                  const int64_t *of) {
    pithp_program *p = pithp_program_make(s);
    const pithp_value x = pithp_program_input(s, p, pithp_spec(s, dtype, 3, into)),
                      u = pithp_program_input(s, p, pithp_spec(s, dtype, 3, of));
    const pithp_full_params zeros = {.dtype = PITH_I32, .rank = 1, .shape = {of[1]}};
    const pithp_value operands[3] = {
        x, pithp_program_add(s, p, PITHP_OP_FULL, 0, NULL, &zeros, "here:1"), u};
    const pithp_index_params params = {.axis = 1, .mode = PITHP_INDEX_DROP};
    pithp_program_output(s, p,
                         pithp_program_add(s, p, op, 3, operands, &params, "here:1"));
    return p;
}

SCOPED(scatters_of_every_dtype_and_of_nothing) {
    static const int64_t into[][3] = {{2, 3, 4}, {2, 3, 4}, {2, 0, 4}, {0, 3, 4}},
                         of[][3] = {{2, 5, 4}, {2, 0, 4}, {2, 5, 4}, {0, 5, 4}};
    for (int dtype = PITH_F16; dtype < PITH_DTYPE_COUNT; dtype++)
        for (int shape = 0; shape < 4; shape++)
            for (int k = 0; k < PITHP_COUNT(scatters); k++)
                derives(s, one_scatter(s, scatters[k], (pith_dtype)dtype, into[shape],
                                       of[shape]));
}

/* ---- Orders ---- */

SCOPED(an_order_that_moves_is_a_cut) {
    bool moves = true;
    const bool moving[2] = {true, false};
    pithp_program *p = pithp_program_make(s);
    const pithp_value n = graph_input(s, p, PITH_F64, -1),
                      x = graph_input(s, p, PITH_F64, 3);
    pithp_program_output(s, p, graph_op2(s, p, PITHP_OP_POLYGAMMA, n, x));
    pithp_program *jvp = pithp_program_jvp(s, p, moving, &uncut, &moves);
    pt_ok(s, jvp);
    cr_assert(!moves && jvp->output_count == 1);
    pithp_program_release(jvp);
    pithp_program_release(p);
}
