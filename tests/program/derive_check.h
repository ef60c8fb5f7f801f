/* A check of the derivatives of a program: forward mode against differences, the map of a
 * linearization against forward mode, its transpose by the dot product. */
#ifndef PITH_TESTS_DERIVE_CHECK_H
#define PITH_TESTS_DERIVE_CHECK_H

#include "graph_test.h"
#include "program/derive/rules.h"

#include <math.h>

enum { MOST = 512 };

/* The rows whose derivatives were tested by this process. */
static bool met[PITHP_PRIMITIVE_COUNT];

static void meet(const pithp_program *p) {
    for (int64_t n = 0; n < p->instruction_count; n++) {
        met[p->instructions[n].primitive] = true;
        for (int b = 0; b < p->instructions[n].program_count; b++)
            meet(p->instructions[n].programs[b]);
    }
}

static pithp_derive_options zeros = {.cuts_are_zero = true};

/* Inputs, directions and results of a run, as doubles. */
typedef struct arrays {
    double at[GRAPH_MOST][MOST];
    const void *in[GRAPH_MOST];
    void *out[GRAPH_MOST];
} arrays;

static void point(arrays *a) {
    for (int k = 0; k < GRAPH_MOST; k++)
        a->in[k] = a->out[k] = a->at[k];
}

static uint64_t state;
static double draw(double low, double high) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return low + (high - low) * (double)(state >> 11) / 0x1p53;
}

static int64_t count_of(const pithp_program *p, pithp_value v) {
    return pithp_value_spec(p, v)->count;
}

static void run(pith_scope *s, pithp_program *p, arrays *in, arrays *out) {
    point(in), point(out);
    graph_run(s, p, 0, in->in, out->out);
}

/* Output k of p at inputs + h * direction. */
static void shifted(pith_scope *s,
                    pithp_program *p,
                    const arrays *x,
                    const arrays *t,
                    double h,
                    arrays *out) {
    static arrays moved;
    for (int64_t k = 0; k < p->input_count; k++)
        for (int64_t n = 0; n < count_of(p, p->inputs[k]); n++)
            moved.at[k][n] = pithp_value_spec(p, p->inputs[k])->dtype == PITH_F64
                                 ? x->at[k][n] + h * t->at[k][n]
                                 : x->at[k][n];
    run(s, p, &moved, out);
}

/* The derivative along t by central differences, extrapolated to order 4. */
static void differences(pith_scope *s,
                        pithp_program *p,
                        const arrays *x,
                        const arrays *t,
                        arrays *d) {
    static arrays a, b, c, e;
    const double h = 1e-3;
    shifted(s, p, x, t, h, &a), shifted(s, p, x, t, -h, &b);
    shifted(s, p, x, t, 2 * h, &c), shifted(s, p, x, t, -2 * h, &e);
    for (int64_t k = 0; k < p->output_count; k++)
        for (int64_t n = 0; n < count_of(p, p->outputs[k]); n++)
            d->at[k][n] =
                (8 * (a.at[k][n] - b.at[k][n]) - (c.at[k][n] - e.at[k][n])) / (12 * h);
}

static double dot(const arrays *a,
                  int a_first,
                  const arrays *b,
                  int b_first,
                  const pithp_program *p,
                  const pithp_value *values,
                  int64_t count) {
    double sum = 0;
    for (int64_t k = 0; k < count; k++)
        for (int64_t n = 0; n < count_of(p, values[k]); n++)
            sum += a->at[a_first + k][n] * b->at[b_first + k][n];
    return sum;
}

/* A direction for the f64 inputs, which all move; how many there are. */
static int64_t choose(const pithp_program *p, arrays *in, arrays *t, bool *moving) {
    int64_t tangents = 0;
    for (int64_t k = 0; k < p->input_count; k++) {
        moving[k] = pithp_value_spec(p, p->inputs[k])->dtype == PITH_F64;
        for (int64_t n = 0; n < count_of(p, p->inputs[k]) && moving[k]; n++)
            t->at[k][n] = in->at[p->input_count + tangents][n] = draw(-1, 1);
        tangents += moving[k];
    }
    return tangents;
}

/* Forward mode against differences. `all` is set to its outputs. */
static void check_forward(pith_scope *s,
                          pithp_program *p,
                          const arrays *x,
                          const char *what,
                          arrays *in,
                          arrays *all) {
    static arrays t, wanted;
    bool moving[GRAPH_MOST], moves[GRAPH_MOST];
    *in = *x;
    meet(p);
    choose(p, in, &t, moving);
    pithp_program *jvp = pithp_program_jvp(s, p, moving, &zeros, moves);
    pt_ok(s, jvp);
    run(s, jvp, in, all);
    differences(s, p, x, &t, &wanted);
    int64_t next = p->output_count;
    for (int64_t k = 0; k < p->output_count; k++) {
        for (int64_t n = 0; n < count_of(p, p->outputs[k]) && moves[k]; n++) {
            const double y = all->at[next][n], z = wanted.at[k][n];
            cr_assert(fabs(y - z) <= 1e-8 * (1 + fabs(z)),
                      "%s: output %d[%d]: %.17g, differences %.17g\n%s", what, (int)k,
                      (int)n, y, z, graph_text(jvp));
        }
        next += moves[k];
    }
    pithp_program_release(jvp);
}

/* A transpose transposed once more against the map, at its inputs. */
static void check_twice(pith_scope *s,
                        pithp_program *transposed,
                        int64_t residuals,
                        const arrays *in,
                        const arrays *wanted,
                        const char *what) {
    static arrays at, out;
    bool marks[GRAPH_MOST], reaches[GRAPH_MOST];
    at = *in;
    for (int64_t k = 0; k < transposed->input_count; k++)
        marks[k] = k >= residuals;
    pithp_program *twice = pithp_program_transpose(s, transposed, marks, reaches);
    pt_ok(s, twice);
    run(s, twice, &at, &out);
    int64_t from = 0;
    for (int64_t k = residuals; k < transposed->input_count; k++) {
        if (!reaches[k])
            continue;
        for (int64_t n = 0; n < count_of(transposed, transposed->inputs[k]); n++) {
            const double y = out.at[from][n], z = wanted->at[k - residuals][n];
            cr_assert(fabs(y - z) <= 1e-12 * (1 + fabs(z)),
                      "%s: transposed twice, output %d[%d]: %.17g, the map has %.17g\n%s",
                      what, (int)(k - residuals), (int)n, y, z, graph_text(twice));
        }
        from++;
    }
    pithp_program_release(twice);
}

/* The map of a linearization against the tangents of forward mode, bit by bit, and its
 * transpose by the dot product. */
static void check_map(pith_scope *s,
                      pithp_program *p,
                      const arrays *x,
                      const char *what,
                      const arrays *in,
                      const arrays *all) {
    static arrays got, mapped, back, ct, gradient, again;
    bool moving[GRAPH_MOST], moves[GRAPH_MOST], reaches[GRAPH_MOST];
    int64_t tangents = 0;
    for (int64_t k = 0; k < p->input_count; k++)
        tangents += moving[k] = pithp_value_spec(p, p->inputs[k])->dtype == PITH_F64;
    pithp_linearization l;
    pt_ok(s, pithp_program_linearize(s, p, moving, &zeros, moves, &l));
    mapped = *x;
    run(s, l.forward, &mapped, &got);
    for (int64_t k = 0; k < l.residual_count; k++)
        memcpy(mapped.at[k], got.at[p->output_count + k], sizeof *mapped.at);
    back = mapped;
    for (int64_t k = 0; k < tangents; k++)
        memcpy(mapped.at[l.residual_count + k], in->at[p->input_count + k],
               sizeof *mapped.at);
    run(s, l.linear, &mapped, &got);
    for (int64_t k = 0; k < l.linear->output_count; k++) {
        const int64_t count = count_of(l.linear, l.linear->outputs[k]);
        cr_assert(!memcmp(got.at[k], all->at[p->output_count + k], (size_t)count * 8),
                  "%s: the map has other bits", what);
        for (int64_t n = 0; n < count; n++)
            ct.at[k][n] = back.at[l.residual_count + k][n] = draw(-1, 1);
    }
    bool marks[GRAPH_MOST];
    for (int64_t k = 0; k < l.linear->input_count; k++)
        marks[k] = k >= l.residual_count;
    pithp_program *transposed = pithp_program_transpose(s, l.linear, marks, reaches);
    pt_ok(s, transposed);
    run(s, transposed, &back, &mapped);
    memset(&gradient, 0, sizeof gradient);
    again = back;
    for (int64_t k = 0, from = 0; k < tangents; k++)
        if (reaches[l.residual_count + k]) {
            memcpy(again.at[l.residual_count + from], in->at[p->input_count + k],
                   sizeof *again.at);
            memcpy(gradient.at[k], mapped.at[from++], sizeof *gradient.at);
        }
    check_twice(s, transposed, l.residual_count, &again, &got, what);
    const double left =
        dot(&ct, 0, &got, 0, l.linear, l.linear->outputs, l.linear->output_count);
    const double right = dot(&gradient, 0, in, (int)p->input_count, l.linear,
                             l.linear->inputs + l.residual_count, tangents);
    cr_assert(fabs(left - right) <= 1e-12 * (1 + fabs(left)),
              "%s: <c, Jt> = %.17g, <J'c, t> = %.17g\n%s", what, left, right,
              graph_text(transposed));
    pithp_program_release(l.forward);
    pithp_program_release(l.linear);
    pithp_program_release(transposed);
}

/* The inputs of p and a cotangent of each moving output -> gradients of the inputs that
 * reach one. */
static pithp_program *gradient_of(pith_scope *s, pithp_program *p) {
    bool moving[GRAPH_MOST], moves[GRAPH_MOST], marks[GRAPH_MOST], reaches[GRAPH_MOST];
    pithp_value in[GRAPH_MOST], out[GRAPH_MOST];
    pithp_linearization l;
    for (int64_t k = 0; k < p->input_count; k++)
        moving[k] = pithp_value_spec(p, p->inputs[k])->dtype == PITH_F64;
    pt_ok(s, pithp_program_linearize(s, p, moving, &zeros, moves, &l));
    for (int64_t k = 0; k < l.linear->input_count; k++)
        marks[k] = k >= l.residual_count;
    pithp_program *back = pithp_program_transpose(s, l.linear, marks, reaches);
    pithp_program *g = pithp_program_make(s);
    for (int64_t k = 0; k < p->input_count; k++)
        in[k] = pithp_program_input(s, g, pithp_value_spec(p, p->inputs[k]));
    for (int64_t k = 0; k < l.linear->output_count; k++)
        in[p->input_count + k] =
            pithp_program_input(s, g, pithp_value_spec(l.linear, l.linear->outputs[k]));
    pt_ok(s, pithp_program_inline(s, g, l.forward, in, out));
    memcpy(out + p->output_count + l.residual_count, in + p->input_count,
           (size_t)l.linear->output_count * sizeof *in);
    pt_ok(s, pithp_program_inline(s, g, back, out + p->output_count, in));
    for (int64_t k = 0; k < back->output_count; k++)
        pithp_program_output(s, g, in[k]);
    pithp_program_release(l.forward);
    pithp_program_release(l.linear);
    pithp_program_release(back);
    return g;
}

static void
check_once(pith_scope *s, pithp_program *p, const arrays *x, const char *what) {
    static arrays in, all;
    check_forward(s, p, x, what, &in, &all);
    check_map(s, p, x, what, &in, &all);
}

/* Also of the gradient: forward over reverse and reverse over reverse. */
static void check(pith_scope *s, pithp_program *p, const arrays *x, const char *what) {
    static arrays more;
    check_once(s, p, x, what);
    pithp_program *g = gradient_of(s, p);
    more = *x;
    for (int64_t k = p->input_count; k < g->input_count; k++)
        for (int64_t n = 0; n < count_of(g, g->inputs[k]); n++)
            more.at[k][n] = draw(-1, 1);
    if (g->output_count)
        check_once(s, g, &more, what);
    pithp_program_release(g);
}

#endif
