/* Derivation of programs: loops and branches. */
#include "derive_check.h"

#define SCOPED(name) PT_SCOPED(derive_control, name)

static pithp_value at_index(pith_scope *s, pithp_program *p, pithp_value i, int64_t n) {
    return graph_op2(s, p, PITHP_OP_LT, i, graph_integer(s, p, n));
}

/* Iterations i, x, y -> i + 1, sin(x) y, x: y moves at the second iteration only. */
SCOPED(a_while) {
    static arrays x, in, all;
    const int64_t n = 3;
    pithp_program *programs[2] = {pithp_program_make(s), pithp_program_make(s)};
    for (int k = 0; k < 2; k++) {
        pithp_program *q = programs[k];
        const pithp_value i = graph_input(s, q, PITH_I64, -1);
        const pithp_value a = graph_input(s, q, PITH_F64, n);
        const pithp_value b = graph_input(s, q, PITH_F64, n);
        if (k == 0) {
            pithp_program_output(s, q, at_index(s, q, i, 4));
            continue;
        }
        pithp_program_output(s, q,
                             graph_op2(s, q, PITHP_OP_ADD, i, graph_integer(s, q, 1)));
        pithp_program_output(
            s, q,
            graph_op2(s, q, PITHP_OP_MUL, graph_op(s, q, PITHP_OP_SIN, a, -1, NULL), b));
        pithp_program_output(s, q, a);
    }
    pithp_program *p = pithp_program_make(s);
    const pithp_value a = graph_input(s, p, PITH_F64, n);
    const double ones[3] = {1, 2, 3};
    const pithp_value operands[3] = {
        graph_integer(s, p, 0), a,
        pithp_program_literal(s, p, graph_spec(s, PITH_F64, n), ones)};
    const pithp_value v = graph_control(s, p, PITHP_OP_WHILE, &(pithp_while_params){0}, 3,
                                        operands, 2, programs);
    for (int k = 0; k < 3; k++)
        pithp_program_output(s, p, v + k);
    for (int k = 0; k < n; k++)
        x.at[0][k] = 0.3 + k;
    check_forward(s, p, &x, "while", &in, &all);
    pithp_program_release(p);
}

/* rows, i, x, y, z -> the marked constant, i + 1, sin(x) y c, x, z: while i < length. */
static pithp_program *a_recorded_program(pith_scope *s, int64_t length, int64_t most) {
    const int64_t n = 3;
    pithp_program *programs[2] = {pithp_program_make(s), pithp_program_make(s)};
    for (int k = 0; k < 2; k++) {
        pithp_program *q = programs[k];
        const pithp_value c = k ? graph_input(s, q, PITH_F64, -1) : -1;
        const pithp_value rows = graph_input(s, q, PITH_I64, -1);
        const pithp_value i = graph_input(s, q, PITH_I64, -1);
        const pithp_value a = graph_input(s, q, PITH_F64, n);
        const pithp_value b = graph_input(s, q, PITH_F64, n);
        const pithp_value z = graph_input(s, q, PITH_F64, -1);
        if (k == 0) {
            pithp_program_output(s, q, at_index(s, q, i, length));
            continue;
        }
        pithp_program_output(s, q,
                             graph_op(s, q, PITHP_OP_STOP_GRADIENT, rows, -1, NULL));
        pithp_program_output(s, q,
                             graph_op2(s, q, PITHP_OP_ADD, i, graph_integer(s, q, 1)));
        pithp_value v =
            graph_op2(s, q, PITHP_OP_MUL, graph_op(s, q, PITHP_OP_SIN, a, -1, NULL), b);
        v = graph_op2(s, q, PITHP_OP_MUL, v, graph_op2(s, q, PITHP_OP_MUL, c, z));
        pithp_program_output(s, q, graph_op2(s, q, PITHP_OP_ADD, v, b));
        pithp_program_output(s, q, a);
        pithp_program_output(s, q, z);
    }
    pithp_program *p = pithp_program_make(s);
    const pithp_value a = graph_input(s, p, PITH_F64, n),
                      c = graph_input(s, p, PITH_F64, -1);
    const pithp_value z = graph_input(s, p, PITH_F64, -1);
    const double ones[3] = {1, 2, 3};
    const pithp_value operands[6] = {
        c,
        graph_integer(s, p, 0),
        graph_integer(s, p, 0),
        a,
        pithp_program_literal(s, p, graph_spec(s, PITH_F64, n), ones),
        z};
    const pithp_while_params params = {.body_operands = 1, .most = most};
    const pithp_value v =
        graph_control(s, p, PITHP_OP_WHILE, &params, 6, operands, 2, programs);
    for (int k = 0; k < 5; k++)
        pithp_program_output(s, p, v + k);
    return p;
}

SCOPED(a_recorded_while) {
    static arrays x;
    for (int64_t length = 0; length < 6; length++) {
        pithp_program *p = a_recorded_program(s, length, length < 4 ? 4 : length);
        zeros.reverse = true;
        for (int k = 0; k < 3; k++)
            for (int n = 0; n < 3; n++)
                x.at[k][n] = draw(-1, 1);
        check(s, p, &x, "recorded while");
        pithp_program_release(p);
    }
    zeros.reverse = false;
}

/* constants c; carry h -> h tanh(c) + x[i]; out h * x[i], and an integer. */
static pithp_program *a_scan_program(pith_scope *s, bool reverse) {
    const int64_t n = 3, xs[] = {5, 3};
    pithp_program *q = pithp_program_make(s), *p = pithp_program_make(s);
    pithp_value c = graph_input(s, q, PITH_F64, n), h = graph_input(s, q, PITH_F64, n),
                x = graph_input(s, q, PITH_F64, n);
    const pithp_value t = graph_op(s, q, PITHP_OP_TANH, c, -1, NULL);
    const pithp_value next =
        graph_op2(s, q, PITHP_OP_ADD, graph_op2(s, q, PITHP_OP_MUL, h, t), x);
    pithp_program_output(s, q, next);
    pithp_program_output(s, q, graph_op2(s, q, PITHP_OP_MUL, next, x));
    pithp_program_output(s, q, graph_integer(s, q, 7));
    c = graph_input(s, p, PITH_F64, n);
    h = graph_input(s, p, PITH_F64, n);
    x = pithp_program_input(s, p, pithp_spec(s, PITH_F64, 2, xs));
    const pithp_loop_params loop = {
        .length = 5, .constants = 1, .carries = 1, .reverse = reverse};
    const pithp_value operands[3] = {c, h, x};
    const pithp_value v = graph_control(s, p, PITHP_OP_SCAN, &loop, 3, operands, 1, &q);
    for (int k = 0; k < 3; k++)
        pithp_program_output(s, p, v + k);
    return p;
}

SCOPED(a_scan) {
    static arrays x;
    for (int reverse = 0; reverse < 2; reverse++) {
        pithp_program *p = a_scan_program(s, reverse);
        for (int k = 0; k < 3; k++)
            for (int n = 0; n < 15; n++)
                x.at[k][n] = draw(-1, 1);
        check(s, p, &x, "scan");
        pithp_program_release(p);
    }
}

/* Branches x y, exp(x); x - y, 2; y, x. */
SCOPED(a_cond) {
    static arrays x;
    for (int64_t which = 0; which < 3; which++) {
        pithp_program *ways[3], *p = pithp_program_make(s);
        for (int k = 0; k < 3; k++) {
            pithp_program *q = ways[k] = pithp_program_make(s);
            const pithp_value a = graph_input(s, q, PITH_F64, -1);
            const pithp_value b = graph_input(s, q, PITH_F64, -1);
            pithp_program_output(
                s, q,
                k == 2 ? b : graph_op2(s, q, k ? PITHP_OP_SUB : PITHP_OP_MUL, a, b));
            pithp_program_output(s, q,
                                 k == 0   ? graph_op(s, q, PITHP_OP_EXP, a, -1, NULL)
                                 : k == 1 ? graph_number(s, q, 2)
                                          : a);
        }
        const pithp_value a = graph_input(s, p, PITH_F64, -1);
        const pithp_value b = graph_input(s, p, PITH_F64, -1);
        const pithp_value operands[3] = {graph_integer(s, p, which), a, b};
        const pithp_value v =
            graph_control(s, p, PITHP_OP_COND, NULL, 3, operands, 3, ways);
        pithp_program_output(s, p, v);
        pithp_program_output(s, p, v + 1);
        x.at[0][0] = 0.5, x.at[1][0] = -0.7;
        check(s, p, &x, "cond");
        pithp_program_release(p);
    }
}

/* A scan whose body chooses by i % 2 between h sin(x) and an inner scan over the rows of
 * c, h <- h c[k] + x: constants, carries and xs of both loops move. */
static pithp_program *inner_scan(pith_scope *s) {
    const int64_t n = 3, of_c[] = {4, 3};
    pithp_program *q = pithp_program_make(s), *p = pithp_program_make(s);
    pithp_value x = graph_input(s, q, PITH_F64, n), h = graph_input(s, q, PITH_F64, n),
                c = graph_input(s, q, PITH_F64, n);
    pithp_program_output(
        s, q, graph_op2(s, q, PITHP_OP_ADD, graph_op2(s, q, PITHP_OP_MUL, h, c), x));
    h = graph_input(s, p, PITH_F64, n);
    x = graph_input(s, p, PITH_F64, n);
    c = pithp_program_input(s, p, pithp_spec(s, PITH_F64, 2, of_c));
    const pithp_value operands[3] = {x, h, c};
    const pithp_loop_params loop = {.length = 4, .constants = 1, .carries = 1};
    pithp_program_output(s, p,
                         graph_control(s, p, PITHP_OP_SCAN, &loop, 3, operands, 1, &q));
    return p;
}

static pithp_program *sine(pith_scope *s) {
    const int64_t of_c[] = {4, 3};
    pithp_program *p = pithp_program_make(s);
    const pithp_value h = graph_input(s, p, PITH_F64, 3),
                      x = graph_input(s, p, PITH_F64, 3);
    pithp_program_input(s, p, pithp_spec(s, PITH_F64, 2, of_c));
    pithp_program_output(
        s, p,
        graph_op2(s, p, PITHP_OP_MUL, h, graph_op(s, p, PITHP_OP_SIN, x, -1, NULL)));
    return p;
}

static pithp_program *nested_body(pith_scope *s) {
    const int64_t of_c[] = {4, 3};
    pithp_program *ways[2] = {sine(s), inner_scan(s)}, *q = pithp_program_make(s);
    const pithp_value c = pithp_program_input(s, q, pithp_spec(s, PITH_F64, 2, of_c));
    const pithp_value i = graph_input(s, q, PITH_I64, -1),
                      h = graph_input(s, q, PITH_F64, 3),
                      x = graph_input(s, q, PITH_F64, 3);
    const pithp_value odd =
        graph_op2(s, q, PITHP_OP_BITWISE_AND, i, graph_integer(s, q, 1));
    const pithp_value operands[4] = {odd, h, x, c};
    const pithp_value next =
        graph_control(s, q, PITHP_OP_COND, NULL, 4, operands, 2, ways);
    pithp_program_output(s, q, graph_op2(s, q, PITHP_OP_ADD, i, graph_integer(s, q, 1)));
    pithp_program_output(s, q, next);
    return q;
}

SCOPED(a_scan_in_a_cond_in_a_scan) {
    static arrays x;
    const int64_t of_c[] = {4, 3}, of_x[] = {3, 3};
    pithp_program *q = nested_body(s), *p = pithp_program_make(s);
    const pithp_value c = pithp_program_input(s, p, pithp_spec(s, PITH_F64, 2, of_c));
    const pithp_value h = graph_input(s, p, PITH_F64, 3);
    const pithp_value xs = pithp_program_input(s, p, pithp_spec(s, PITH_F64, 2, of_x));
    const pithp_value operands[4] = {c, graph_integer(s, p, 0), h, xs};
    const pithp_loop_params loop = {.length = 3, .constants = 1, .carries = 2};
    const pithp_value v = graph_control(s, p, PITHP_OP_SCAN, &loop, 4, operands, 1, &q);
    pithp_program_output(s, p, v + 1);
    for (int k = 0; k < 3; k++)
        for (int n = 0; n < 12; n++)
            x.at[k][n] = draw(-1, 1);
    check(s, p, &x, "nest");
    pithp_program_release(p);
}

SCOPED(every_row_of_control_flow_has_its_test) {
    static void (*const tests[])(pith_scope *) = {a_while, a_scan, a_cond};
    memset(met, 0, sizeof met);
    for (size_t k = 0; k < sizeof tests / sizeof *tests; k++)
        tests[k](s);
    for (int p = 0; p < PITHP_PRIMITIVE_COUNT; p++)
        cr_assert(met[p] || !pithp_op_has((pithp_primitive)p, PITHP_TRAIT_REGIONS),
                  "the derivative of %s has no test", pithp_ops[p].name);
}
