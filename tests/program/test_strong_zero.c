/* Strong zero: 0 times anything is 0 in products with tangents and cotangents, so that a
 * branch that `where` does not take cannot poison a derivative. */
#include "graph_test.h"
#include "program/derive/derive.h"

#include <math.h>

enum { N = 5 };

static const pithp_derive_options strong = {.strong_zero = true};

#define SCOPED(name) PT_SCOPED(strong_zero, name)

static void run(pith_scope *s,
                pithp_program *p,
                const double *x,
                const double *t,
                const double *u,
                const double *v,
                double out[][N]) {
    const void *in[4] = {x, t, u, v};
    void *to[8];
    for (int k = 0; k < 8; k++)
        to[k] = out[k];
    graph_run(s, p, PITHP_PASS_RUN, in, to);
}

/* where(x > 0, f(x), 0), in which f is poison where it is not taken. */
static pithp_program *masked(pith_scope *s, pithp_primitive f, bool in_cond) {
    pithp_program *p = pithp_program_make(s);
    const pithp_value x = graph_input(s, p, PITH_F64, N), zero = graph_number(s, p, 0);
    const pithp_value taken = graph_op2(s, p, PITHP_OP_GT, x, zero);
    pithp_value y;
    if (in_cond) {
        pithp_program *way = pithp_program_make(s);
        const pithp_value z = graph_input(s, way, PITH_F64, N);
        pithp_program_output(s, way, graph_op(s, way, f, z, -1, NULL));
        const pithp_value operands[2] = {graph_integer(s, p, 0), x};
        y = graph_control(s, p, PITHP_OP_COND, NULL, 2, operands, 1, &way);
    } else {
        y = graph_op(s, p, f, x, -1, NULL);
    }
    const pithp_value operands[3] = {taken, y, zero};
    pithp_program_output(
        s, p, pithp_program_add(s, p, PITHP_OP_WHERE, 3, operands, NULL, "here:3"));
    pt_ok(s);
    return p;
}

/* x, ct -> J'ct, of a program of one input and output, or of the first of each. */
static pithp_program *
gradient_of(pith_scope *s, pithp_program *p, const pithp_derive_options *options) {
    bool moving[2] = {true}, moves[2], marks[GRAPH_MOST], reaches[GRAPH_MOST];
    pithp_value in[GRAPH_MOST], out[GRAPH_MOST];
    pithp_linearization l;
    pt_ok(s, pithp_program_linearize(s, p, moving, options, moves, &l));
    for (int64_t k = 0; k < l.linear->input_count; k++)
        marks[k] = k >= l.residual_count;
    pithp_program *back = pithp_program_transpose(s, l.linear, marks, reaches);
    pithp_program *g = pithp_program_make(s);
    pt_ok(s, back && g);
    for (int64_t k = 0; k <= p->input_count; k++)
        in[k] = graph_input(s, g, PITH_F64, N);
    pt_ok(s, pithp_program_inline(s, g, l.forward, in, out));
    out[p->output_count + l.residual_count] = in[p->input_count];
    pt_ok(s, pithp_program_inline(s, g, back, out + p->output_count, in));
    pithp_program_output(s, g, in[0]);
    pithp_program_release(l.forward);
    pithp_program_release(l.linear);
    pithp_program_release(back);
    return g;
}

static const double point[N] = {0, 4, -1, INFINITY, 0.25}, ones[N] = {1, 1, 1, 1, 1};

typedef double function(double x);

static void expect(const double *got, function *of, const char *what) {
    for (int k = 0; k < N; k++) {
        const double wanted = point[k] > 0 ? of(point[k]) : 0;
        cr_assert(fabs(got[k] - wanted) <= 1e-14 * fabs(wanted),
                  "%s at %g: %.17g, expected %.17g", what, point[k], got[k], wanted);
    }
}

/* First and second derivatives, forward and reverse and reverse twice. */
static void
check(pith_scope *s, pithp_primitive f, bool in_cond, function *first, function *second) {
    double out[8][N];
    bool moves[2];
    pithp_program *p = masked(s, f, in_cond);
    pithp_program *jvp = pithp_program_jvp(s, p, &(bool){true}, &strong, moves);
    pt_ok(s, jvp);
    run(s, jvp, point, ones, NULL, NULL, out);
    expect(out[1], first, "forward");
    pithp_program *g = gradient_of(s, p, &strong);
    run(s, g, point, ones, NULL, NULL, out);
    expect(out[0], first, "reverse");
    pithp_program *over = pithp_program_jvp(s, g, (bool[]){true, false}, &strong, moves);
    pt_ok(s, over);
    run(s, over, point, ones, ones, NULL, out);
    expect(out[1], second, "forward over reverse");
    pithp_program *twice = gradient_of(s, g, &strong);
    run(s, twice, point, ones, ones, NULL, out);
    expect(out[0], second, "reverse over reverse");
    pithp_program_release(p);
    pithp_program_release(jvp);
    pithp_program_release(g);
    pithp_program_release(over);
    pithp_program_release(twice);
}

static double sqrt_1(double x) {
    return 0.5 / sqrt(x);
}
static double sqrt_2(double x) {
    return isinf(x) ? 0 : -0.25 / (x * sqrt(x));
}
static double log_1(double x) {
    return 1 / x;
}
static double log_2(double x) {
    return isinf(x) ? 0 : -1 / (x * x);
}
static double reciprocal_1(double x) {
    return -1 / (x * x);
}
static double reciprocal_2(double x) {
    return isinf(x) ? 0 : 2 / (x * x * x);
}

SCOPED(a_root_that_is_not_taken) {
    check(s, PITHP_OP_SQRT, false, sqrt_1, sqrt_2);
}
SCOPED(a_logarithm_that_is_not_taken) {
    check(s, PITHP_OP_LOG, false, log_1, log_2);
}
SCOPED(a_reciprocal_that_is_not_taken) {
    check(s, PITHP_OP_RECIPROCAL, false, reciprocal_1, reciprocal_2);
}
SCOPED(in_a_branch) {
    check(s, PITHP_OP_SQRT, true, sqrt_1, sqrt_2);
    check(s, PITHP_OP_LOG, true, log_1, log_2);
}

/* The default is IEEE 754. */
SCOPED(without_it_the_branch_poisons) {
    double out[8][N];
    pithp_program *p = masked(s, PITHP_OP_SQRT, false), *g = gradient_of(s, p, NULL);
    run(s, g, point, ones, NULL, NULL, out);
    cr_assert(isnan(out[0][0]) && out[0][1] == 0.25);
    pithp_program_release(p);
    pithp_program_release(g);
}

/* Where no operand is 0 the bits are those of the product and the quotient. */
SCOPED(the_rows) {
    static const double a[N] = {0, -0.0, 3, INFINITY, 5e-324},
                        b[N] = {NAN, INFINITY, 0.1, 0, 1e-10};
    static const double product[N] = {0, 0, 3 * 0.1, 0, 0},
                        quotient[N] = {0, 0, 3 / 0.1, INFINITY, 5e-324 / 1e-10};
    double out[8][N];
    pithp_program *p = pithp_program_make(s);
    const pithp_value x = graph_input(s, p, PITH_F64, N),
                      y = graph_input(s, p, PITH_F64, N);
    pithp_program_output(s, p, graph_op2(s, p, PITHP_OP_MUL_STRONG, x, y));
    pithp_program_output(s, p, graph_op2(s, p, PITHP_OP_MUL_STRONG, y, x));
    pithp_program_output(s, p, graph_op2(s, p, PITHP_OP_DIV_STRONG, x, y));
    run(s, p, a, b, NULL, NULL, out);
    cr_assert(!memcmp(out[0], product, sizeof product));
    cr_assert(!memcmp(out[1], product, sizeof product));
    cr_assert(!memcmp(out[2], quotient, sizeof quotient));
    pithp_program_release(p);
}
