/* Identity marks: kept for derivations, and gone from every program that runs. */
#include "array/array_internal.h"
#include "graph_test.h"
#include "program/derive/derive.h"

#include <math.h>

#define SCOPED(name) PT_SCOPED(marks, name)

static const pithp_named_params forces = {"forces"};

/* x marked; without: x itself. */
static pithp_value
mark(pith_scope *s, pithp_program *p, pithp_primitive op, pithp_value x, bool with) {
    return with ? graph_op(s, p, op, x, -1, op == PITHP_OP_NAME ? &forces : NULL) : x;
}

static pithp_program *branch(pith_scope *s, bool with, bool negative) {
    pithp_program *p = pithp_program_make(s);
    const pithp_value x = mark(s, p, PITHP_OP_NAME, graph_input(s, p, PITH_F64, 3), with);
    const pithp_value y = negative ? graph_op(s, p, PITHP_OP_NEG, x, -1, NULL) : x;
    pithp_program_output(s, p, mark(s, p, PITHP_OP_NON_DIFFERENTIABLE, y, with));
    return p;
}

/* A carry that only marks change is invariant. */
static pithp_program *body(pith_scope *s, bool with) {
    pithp_program *p = pithp_program_make(s);
    const pithp_value fixed = graph_input(s, p, PITH_F64, 3),
                      h = graph_input(s, p, PITH_F64, 3);
    pithp_program_output(s, p, mark(s, p, PITHP_OP_STOP_GRADIENT, fixed, with));
    pithp_program_output(
        s, p, mark(s, p, PITHP_OP_NAME, graph_op2(s, p, PITHP_OP_MUL, h, fixed), with));
    return p;
}

/* Marks between calls that simplify, in branches and in a body, and of outputs. */
static pithp_program *sample(pith_scope *s, bool with) {
    pithp_program *ways[2] = {branch(s, with, false), branch(s, with, true)},
                  *loop = body(s, with), *p = pithp_program_make(s);
    const pithp_value which = graph_input(s, p, PITH_I64, -1),
                      x = graph_input(s, p, PITH_F64, 3);
    const pithp_value n = graph_op(s, p, PITHP_OP_NEG, x, -1, NULL);
    const pithp_value back = graph_op(
        s, p, PITHP_OP_NEG, mark(s, p, PITHP_OP_STOP_GRADIENT, n, with), -1, NULL);
    const pithp_value y =
        graph_op(s, p, PITHP_OP_SIN, mark(s, p, PITHP_OP_NAME, back, with), -1, NULL);
    const pithp_value z = graph_control(s, p, PITHP_OP_COND, NULL, 2,
                                        (const pithp_value[]){which, y}, 2, ways);
    const pithp_loop_params four = {.length = 4, .carries = 2};
    const pithp_value all = graph_control(s, p, PITHP_OP_SCAN, &four, 2,
                                          (const pithp_value[]){y, z}, 1, &loop);
    pithp_program_output(s, p, all);
    pithp_program_output(s, p, mark(s, p, PITHP_OP_NON_DIFFERENTIABLE, all + 1, with));
    pithp_program_output(s, p, mark(s, p, PITHP_OP_STOP_GRADIENT, which, with));
    pt_ok(s);
    return p;
}

static int64_t count_marks(const pithp_program *p) {
    return pithp_program_instructions(p, PITHP_OP_STOP_GRADIENT) +
           pithp_program_instructions(p, PITHP_OP_NON_DIFFERENTIABLE) +
           pithp_program_instructions(p, PITHP_OP_NAME);
}

SCOPED(a_program_that_runs_has_none) {
    pithp_program *with = sample(s, true), *without = sample(s, false);
    pithp_program *a = pithp_program_optimise(s, with, PITHP_PASS_RUN),
                  *b = pithp_program_optimise(s, without, PITHP_PASS_RUN);
    static char first[8192];
    pt_ok(s, a && b && with->has_marks && !a->has_marks);
    snprintf(first, sizeof first, "%s", graph_text(a));
    expect_text(first, graph_text(b));
    pithp_program_release(a);
    pithp_program_release(b);
    pithp_program_release(with);
    pithp_program_release(without);
}

/* An executable removes them itself. */
SCOPED(a_mark_is_no_step) {
    pithp_program *with = sample(s, true), *without = sample(s, false);
    for (int fuse = 0; fuse < 2; fuse++) {
        pithp_executable *a = pithp_executable_make(s, with, fuse),
                         *b = pithp_executable_make(s, without, fuse);
        pt_ok(s, a && b);
        cr_assert(count_marks(with) > 5 && count_marks(a->plan->program) == 0);
        cr_assert_eq(a->plan->step_count, b->plan->step_count);
        cr_assert_eq(a->plan->workspace_bytes, b->plan->workspace_bytes);
        cr_assert_eq(pithp_plan_launches(a->plan), pithp_plan_launches(b->plan));
        const int64_t which = 1;
        const double x[3] = {0.5, -0.25, 2};
        const void *in[2] = {&which, x};
        double got[2][3][3] = {0};
        for (int k = 0; k < 2; k++) {
            void *out[3] = {got[k][0], got[k][1], got[k][2]};
            graph_run_plan(s, k ? b : a, false, in, out, NULL);
        }
        cr_assert(!memcmp(got[0], got[1], sizeof *got));
        pithp_executable_free(a);
        pithp_executable_free(b);
    }
    pithp_program_release(with);
    pithp_program_release(without);
}

SCOPED(passes_keep_them_for_derivations) {
    pithp_program *p = sample(s, true);
    pithp_program *q = pithp_program_optimise(s, p, PITHP_PASS_ALL);
    pt_ok(s, q);
    cr_assert(pithp_program_instructions(q, PITHP_OP_STOP_GRADIENT) == 3, "%s",
              graph_text(q));
    cr_assert(pithp_program_instructions(q, PITHP_OP_NON_DIFFERENTIABLE) == 3);
    cr_assert(pithp_program_instructions(q, PITHP_OP_NAME) == 4);
    cr_assert(strstr(graph_text(q), "= name %0 {name=\"forces\"} :"), "%s",
              graph_text(q));
    pithp_program_release(p);
    pithp_program_release(q);
}

/* ---- Derivations ---- */

/* x -> sin(m(x)) * x */
static pithp_program *marked(pith_scope *s, pithp_primitive m) {
    pithp_program *p = pithp_program_make(s);
    const pithp_value x = graph_input(s, p, PITH_F64, 3);
    const pithp_value y = graph_op(s, p, PITHP_OP_SIN, mark(s, p, m, x, true), -1, NULL);
    pithp_program_output(s, p, graph_op2(s, p, PITHP_OP_MUL, y, x));
    pt_ok(s);
    return p;
}

static void expect_tangent(pith_scope *s, pithp_primitive m, double (*of)(double)) {
    pithp_program *p = marked(s, m);
    bool moves;
    pithp_program *jvp = pithp_program_jvp(s, p, &(bool){true}, NULL, &moves);
    pt_ok(s, jvp && moves);
    const double x[3] = {0.5, -0.25, 2}, t[3] = {1, 1, 1};
    const void *in[2] = {x, t};
    double got[2][3];
    void *out[2] = {got[0], got[1]};
    graph_run(s, jvp, PITHP_PASS_RUN, in, out);
    for (int k = 0; k < 3; k++)
        cr_assert(fabs(got[1][k] - of(x[k])) < 1e-15, "%.17g", got[1][k]);
    pithp_program_release(p);
    pithp_program_release(jvp);
}

static double stopped(double x) {
    return sin(x);
}
static double named(double x) {
    return sin(x) + cos(x) * x;
}

SCOPED(a_stopped_value_does_not_move) {
    expect_tangent(s, PITHP_OP_STOP_GRADIENT, stopped);
}

SCOPED(a_name_passes_tangents) {
    expect_tangent(s, PITHP_OP_NAME, named);
}

/* The tangent itself has no name. */
SCOPED(a_name_stays_with_its_value) {
    pithp_program *p = marked(s, PITHP_OP_NAME);
    bool moves;
    pithp_linearization l;
    pt_ok(s, pithp_program_linearize(s, p, &(bool){true}, NULL, &moves, &l));
    cr_assert(count_marks(l.forward) == 1 && count_marks(l.linear) == 0);
    pithp_program_release(l.forward);
    pithp_program_release(l.linear);
    pithp_program_release(p);
}

/* Named in a linear function: the transpose is the identity. */
SCOPED(a_name_is_transposed) {
    bool reaches;
    pithp_program *p = pithp_program_make(s);
    const pithp_value x = graph_input(s, p, PITH_F64, 3);
    pithp_program_output(
        s, p, graph_op(s, p, PITHP_OP_NEG, mark(s, p, PITHP_OP_NAME, x, true), -1, NULL));
    pithp_program *back = pithp_program_transpose(s, p, &(bool){true}, &reaches);
    pt_ok(s, back && reaches);
    cr_assert(back->instruction_count == 1, "%s", graph_text(back));
    pithp_program_release(p);
    pithp_program_release(back);
}

/* Whether forward mode and linearization are refused. */
static void expect_refused(pith_scope *s, pithp_program *p) {
    const bool moving[GRAPH_MOST] = {true};
    bool moves[GRAPH_MOST];
    pithp_linearization l;
    pt_fails(PITH_E_DERIVATIVE, s, pithp_program_jvp(s, p, moving, NULL, moves));
    pt_says("marked as non-differentiable");
    pt_says("here:1");
    pt_fails(PITH_E_DERIVATIVE, s,
             pithp_program_linearize(s, p, moving, NULL, moves, &l));
    pt_says("here:1");
    pithp_program_release(p);
}

SCOPED(a_refused_value) {
    expect_refused(s, marked(s, PITHP_OP_NON_DIFFERENTIABLE));
}

/* Unused, by itself or in a branch or body, optimised or not. */
static pithp_program *
unused(pith_scope *s, pithp_primitive control, const void *params, bool optimised) {
    pithp_program *p = pithp_program_make(s);
    const pithp_value x = graph_input(s, p, PITH_F64, 3);
    if (control == PITHP_OP_NONE) {
        mark(s, p, PITHP_OP_NON_DIFFERENTIABLE, x, true);
    } else {
        pithp_program *inner = pithp_program_make(s);
        const pithp_value y = graph_input(s, inner, PITH_F64, 3);
        mark(s, inner, PITHP_OP_NON_DIFFERENTIABLE,
             graph_op(s, inner, PITHP_OP_SIN, y, -1, NULL), true);
        pithp_program_output(s, inner, graph_op(s, inner, PITHP_OP_COS, y, -1, NULL));
        const pithp_value operands[2] = {graph_integer(s, p, 0), x};
        const bool is_cond = control == PITHP_OP_COND;
        graph_control(s, p, control, params, 1 + is_cond, operands + !is_cond, 1, &inner);
    }
    pithp_program_output(s, p, graph_op(s, p, PITHP_OP_SIN, x, -1, NULL));
    pithp_program *q =
        optimised ? pithp_program_optimise(s, p, PITHP_PASS_ALL) : pithp_program_make(s);
    pt_ok(s, q);
    pithp_program_release(optimised ? p : q);
    return optimised ? q : p;
}

SCOPED(a_refused_value_that_is_not_used) {
    const pithp_loop_params three = {.length = 3, .carries = 1},
                            each = {.length = 3, .constants = 1};
    for (int optimised = 0; optimised < 2; optimised++) {
        expect_refused(s, unused(s, PITHP_OP_NONE, NULL, optimised));
        expect_refused(s, unused(s, PITHP_OP_COND, NULL, optimised));
        expect_refused(s, unused(s, PITHP_OP_SCAN, &three, optimised));
        expect_refused(s, unused(s, PITHP_OP_SCAN, &each, optimised));
    }
}

/* No tangent reaches it. */
SCOPED(a_refused_value_that_does_not_move) {
    pithp_program *p = pithp_program_make(s);
    const pithp_value x = graph_input(s, p, PITH_F64, 3),
                      y = graph_input(s, p, PITH_F64, 3);
    const pithp_value still = mark(s, p, PITHP_OP_NON_DIFFERENTIABLE, y, true);
    const pithp_value stop = mark(s, p, PITHP_OP_NON_DIFFERENTIABLE,
                                  mark(s, p, PITHP_OP_STOP_GRADIENT, x, true), true);
    pithp_program_output(
        s, p,
        graph_op2(s, p, PITHP_OP_ADD, x, graph_op2(s, p, PITHP_OP_ADD, stop, still)));
    bool moves;
    pithp_program *jvp =
        pithp_program_jvp(s, p, (const bool[]){true, false}, NULL, &moves);
    pt_ok(s, jvp && moves);
    pithp_program_release(p);
    pithp_program_release(jvp);
}

SCOPED(a_name_has_a_length) {
    pithp_program *p = pithp_program_make(s);
    const pithp_value x = graph_input(s, p, PITH_F64, 3);
    pithp_named_params name = {""};
    pt_fails(PITH_E_ARG, s, graph_op(s, p, PITHP_OP_NAME, x, -1, &name) >= 0);
    memset(name.name, 'x', sizeof name.name);
    pt_fails(PITH_E_ARG, s, graph_op(s, p, PITHP_OP_NAME, x, -1, &name) >= 0);
    pt_says("1 to 63 bytes");
    pithp_program_release(p);
}

/* ---- Arrays ---- */

SCOPED(an_array_with_values_is_not_copied) {
    const pith_array *x = pith_zeros(s, PITH_F32, PITH_SHAPE(3));
    pt_ok(s, x);
    cr_assert(pithp_mark(s, PITHP_OP_STOP_GRADIENT, NULL, x) == x);
    cr_assert(pithp_mark(s, PITHP_OP_NAME, "forces", x) == x);
}

SCOPED(a_traced_array_is_recorded) {
    char name[80];
    pith_scope *inner = pith_scope_open_in(s);
    pithp_trace *t = pithp_trace_begin(inner);
    const pith_array *x = pithp_trace_input(inner, t, graph_spec(s, PITH_F64, 3));
    const pith_array *y = pithp_mark(inner, PITHP_OP_NON_DIFFERENTIABLE, NULL, x);
    pt_ok(inner, y && y != x);
    pt_ok(inner, pithp_mark(inner, PITHP_OP_NAME, "forces", y));
    memset(name, 'x', sizeof name);
    name[79] = 0;
    pt_fails(PITH_E_ARG, inner, pithp_mark(inner, PITHP_OP_NAME, name, y));
    pithp_program *p = pithp_trace_end(inner, t);
    cr_assert(p && count_marks(p) == 2);
    pithp_program_release(p);
    pith_scope_close(inner);
}
