/* What passes make of control flow: what it takes and gives is what is needed, and what
 * does not change is outside of it. */
#include "graph_test.h"
#include "scope_test.h"

enum { N = 3 };

static pithp_value vector(pithp_program *p) {
    return graph_input(s, p, PITH_F64, N);
}
static pithp_value
op2(pithp_program *p, pithp_primitive o, pithp_value x, pithp_value y) {
    return graph_op2(s, p, o, x, y);
}
static void output(pithp_program *p, pithp_value v) {
    pithp_program_output(s, p, v);
}
/* The program after all passes is the one that was wanted; releases it. */
static void expect_after(pithp_program *p, const char *wanted) {
    pt_ok(s);
    pithp_program *better = pithp_program_optimise(s, p, PITHP_PASS_ALL);
    pt_ok(s, better);
    pithp_refusal why;
    cr_assert(pithp_program_verify(better, &why) == PITH_OK, "%s", why.text);
    expect_text(graph_text(better), wanted);
    pithp_program_release(better);
    pithp_program_release(p);
}

/* Results: x in both; y or z; 7 in both; x + y twice; x + x, which is unused. */
Test(control_pass, a_cond_gives_what_differs_and_is_read) {
    open_scope();
    pithp_program *p = pithp_program_make(s), *branches[2];
    for (int b = 0; b < 2; b++) {
        pithp_program *q = branches[b] = pithp_program_make(s);
        const pithp_value x = vector(q), y = vector(q), z = vector(q);
        vector(q);
        const pithp_value sum = op2(q, b ? PITHP_OP_MUL : PITHP_OP_ADD, x, y);
        output(q, x);
        output(q, b ? y : z);
        output(q, graph_number(s, q, 7));
        output(q, sum);
        output(q, sum);
        output(q, op2(q, PITHP_OP_SUB, x, x));
    }
    const pithp_value i = graph_input(s, p, PITH_BOOL, -1), x = vector(p), y = vector(p),
                      z = vector(p), in[5] = {i, x, y, z, y};
    const pithp_value v = graph_control(s, p, PITHP_OP_COND, NULL, 5, in, 2, branches);
    for (int k = 0; k < 5; k++)
        output(p, v + k);
    expect_after(p, "program(%0: bool[], %1: f64[3], %2: f64[3], %3: f64[3]) {\n"
                    "  %4 = constant f64[] 7\n"
                    "  %5, %6 = cond %0, %1, %2, %3 : f64[3], f64[3]\n"
                    "    0: program(%0: f64[3], %1: f64[3], %2: f64[3]) {\n"
                    "      %3 = add %0, %1 : f64[3]\n"
                    "      return %2, %3\n"
                    "    }\n"
                    "    1: program(%0: f64[3], %1: f64[3], %2: f64[3]) {\n"
                    "      %3 = mul %0, %1 : f64[3]\n"
                    "      return %1, %3\n"
                    "    }\n"
                    "  return %1, %5, %4, %6, %6\n"
                    "}\n");
    close_scope();
}

/* Equal operands are one, literals are within, and what both branches hand on needs no
 * cond. */
Test(control_pass, operands_are_what_branches_read) {
    open_scope();
    pithp_program *p = pithp_program_make(s), *branches[2];
    for (int b = 0; b < 2; b++) {
        pithp_program *q = branches[b] = pithp_program_make(s);
        const pithp_value x = vector(q), y = vector(q),
                          half = graph_input(s, q, PITH_F64, -1);
        output(q,
               op2(q, b ? PITHP_OP_MUL : PITHP_OP_SUB, x, op2(q, PITHP_OP_ADD, y, half)));
    }
    const pithp_value i = graph_input(s, p, PITH_BOOL, -1), x = vector(p),
                      in[4] = {i, x, x, graph_number(s, p, 0.5)};
    output(p, graph_control(s, p, PITHP_OP_COND, NULL, 4, in, 2, branches));
    expect_after(p, "program(%0: bool[], %1: f64[3]) {\n"
                    "  %2 = cond %0, %1 : f64[3]\n"
                    "    0: program(%0: f64[3]) {\n"
                    "      %1 = constant f64[] 0.5\n"
                    "      %2 = add %0, %1 : f64[3]\n"
                    "      %3 = sub %0, %2 : f64[3]\n"
                    "      return %3\n"
                    "    }\n"
                    "    1: program(%0: f64[3]) {\n"
                    "      %1 = constant f64[] 0.5\n"
                    "      %2 = add %0, %1 : f64[3]\n"
                    "      %3 = mul %0, %2 : f64[3]\n"
                    "      return %3\n"
                    "    }\n"
                    "  return %2\n"
                    "}\n");
    close_scope();
}

/* A while over n: a grows by b, which a cond forwards in both branches; c counts, and is
 * unused. */
Test(control_pass, carries_that_stay_are_constants_and_dead_ones_go) {
    open_scope();
    pithp_program *cond = pithp_program_make(s), *body = pithp_program_make(s);
    pithp_program *branches[2];
    pithp_value n = graph_input(s, cond, PITH_I64, -1);
    for (int k = 0; k < 3; k++)
        vector(cond);
    output(cond, op2(cond, PITHP_OP_GT, n, graph_integer(s, cond, 0)));
    n = graph_input(s, body, PITH_I64, -1);
    const pithp_value a = vector(body), b = vector(body), c = vector(body);
    for (int k = 0; k < 2; k++) {
        pithp_program *q = branches[k] = pithp_program_make(s);
        const pithp_value x = vector(q), y = vector(q);
        output(q, op2(q, k ? PITHP_OP_ADD : PITHP_OP_SUB, x, y));
        output(q, y);
    }
    const pithp_value odd = op2(body, PITHP_OP_BITWISE_AND, n, graph_integer(s, body, 1)),
                      choose[3] = {odd, a, b};
    pithp_value v = graph_control(s, body, PITHP_OP_COND, NULL, 3, choose, 2, branches);
    output(body, op2(body, PITHP_OP_SUB, n, graph_integer(s, body, 1)));
    output(body, v);
    output(body, v + 1);
    output(body, op2(body, PITHP_OP_ADD, c, v));
    pithp_program *p = pithp_program_make(s), *programs[2] = {cond, body};
    const pithp_value in[4] = {graph_input(s, p, PITH_I64, -1), vector(p), vector(p),
                               vector(p)};
    v = graph_control(s, p, PITHP_OP_WHILE, &(pithp_while_params){0}, 4, in, 2, programs);
    for (int k = 0; k < 3; k++)
        output(p, v + k);
    expect_after(p, "program(%0: i64[], %1: f64[3], %2: f64[3], %3: f64[3]) {\n"
                    "  %4, %5 = while %2, %0, %1 {cond_operands=0, body_operands=1} : "
                    "i64[], f64[3]\n"
                    "    0: program(%0: i64[], %1: f64[3]) {\n"
                    "      %2 = constant i64[] 0\n"
                    "      %3 = gt %0, %2 : bool[]\n"
                    "      return %3\n"
                    "    }\n"
                    "    1: program(%0: f64[3], %1: i64[], %2: f64[3]) {\n"
                    "      %3 = constant i64[] 1\n"
                    "      %4 = bitwise_and %1, %3 : i64[]\n"
                    "      %5 = cond %4, %2, %0 : f64[3]\n"
                    "        0: program(%0: f64[3], %1: f64[3]) {\n"
                    "          %2 = sub %0, %1 : f64[3]\n"
                    "          return %2\n"
                    "        }\n"
                    "        1: program(%0: f64[3], %1: f64[3]) {\n"
                    "          %2 = add %0, %1 : f64[3]\n"
                    "          return %2\n"
                    "        }\n"
                    "      %6 = sub %1, %3 : i64[]\n"
                    "      return %6, %5\n"
                    "    }\n"
                    "  return %4, %5, %2\n"
                    "}\n");
    close_scope();
}

/* (c, d, a, k; xs, zs): a + sum(sqrt(c) * d * x); k is a literal that stays; ys: a, and x
 * twice, of which one is unused. */
static pithp_program *scanning(int64_t length) {
    pithp_program *body = pithp_program_make(s), *p = pithp_program_make(s);
    const pithp_value c = vector(body), d = vector(body), a = vector(body),
                      k = vector(body), x = vector(body);
    vector(body);
    const pithp_value root = graph_op(s, body, PITHP_OP_SQRT, c, -1, NULL);
    const pithp_value product = op2(body, PITHP_OP_MUL, root, d);
    const pithp_value moved = op2(body, PITHP_OP_MUL, product, x);
    output(body, op2(body, PITHP_OP_ADD, op2(body, PITHP_OP_ADD, a, moved), k));
    output(body, k);
    output(body, a);
    output(body, x);
    output(body, x);
    const double two[N] = {2, 2, 2};
    const int64_t rows[2] = {length, N};
    const pith_spec *spec = pithp_spec(s, PITH_F64, 2, rows);
    const pithp_value outer[3] = {vector(p), vector(p), vector(p)},
                      xs = pithp_program_input(s, p, spec),
                      zs = pithp_program_input(s, p, spec),
                      literal =
                          pithp_program_literal(s, p, graph_spec(s, PITH_F64, N), two),
                      in[6] = {outer[0], outer[1], outer[2], literal, xs, zs};
    const pithp_loop_params params = {.length = length, .constants = 2, .carries = 2};
    const pithp_value v = graph_control(s, p, PITHP_OP_SCAN, &params, 6, in, 1, &body);
    output(p, v);
    output(p, v + 1);
    output(p, v + 2);
    output(p, v + 4);
    return p;
}

Test(control_pass, scans_compute_what_changes) {
    open_scope();
    expect_after(
        scanning(4),
        "program(%0: f64[3], %1: f64[3], %2: f64[3], %3: f64[4,3], %4: f64[4,3]) {\n"
        "  %5 = constant f64[3] 2, 2, 2\n"
        "  %6 = sqrt %0 : f64[3]\n"
        "  %7 = mul %6, %1 : f64[3]\n"
        "  %8, %9, %10 = scan %7, %2, %3 {length=4, constants=1, carries=1, unroll=0} : f64[3], f64[4,3], f64[4,3]\n"
        "    0: program(%0: f64[3], %1: f64[3], %2: f64[3]) {\n"
        "      %3 = constant f64[3] 2, 2, 2\n"
        "      %4 = mul %0, %2 : f64[3]\n"
        "      %5 = add %1, %4 : f64[3]\n"
        "      %6 = add %5, %3 : f64[3]\n"
        "      return %6, %1, %2\n"
        "    }\n"
        "  return %8, %5, %9, %10\n"
        "}\n");
    close_scope();
}

Test(control_pass, a_scan_of_no_rows_is_what_it_begins_with) {
    open_scope();
    expect_after(
        scanning(0),
        "program(%0: f64[3], %1: f64[3], %2: f64[3], %3: f64[0,3], %4: f64[0,3]) {\n"
        "  %5 = constant f64[3] 2, 2, 2\n"
        "  %6 = full {dtype=f64, shape=[0,3]} : f64[0,3]\n"
        "  return %2, %5, %6, %6\n"
        "}\n");
    close_scope();
}

/* What a known branch computes may be there already. */
Test(control_pass, a_branch_taken_in_shares_what_is_computed) {
    open_scope();
    pithp_program *p = pithp_program_make(s), *branches[2];
    for (int b = 0; b < 2; b++) {
        pithp_program *q = branches[b] = pithp_program_make(s);
        const pithp_value x = vector(q), y = vector(q);
        output(q, op2(q, PITHP_OP_SUB, op2(q, PITHP_OP_MUL, x, y), x));
    }
    const pithp_value x = vector(p), y = vector(p),
                      in[3] = {graph_integer(s, p, 1), x, y};
    output(p, op2(p, PITHP_OP_MUL, x, y));
    output(p, graph_control(s, p, PITHP_OP_COND, NULL, 3, in, 2, branches));
    expect_after(p, "program(%0: f64[3], %1: f64[3]) {\n"
                    "  %2 = mul %0, %1 : f64[3]\n"
                    "  %3 = sub %2, %0 : f64[3]\n"
                    "  return %2, %3\n"
                    "}\n");
    close_scope();
}

/* Unrolled or not, forward or in reverse: the same bits, in fewer iterations. */
Test(control_pass, scans_are_unrolled_where_they_ask_for_it) {
    open_scope();
    static const int64_t lengths[] = {1, 2, 3, 4, 7, 12, 30},
                         left[] = {1, 1, 1, 1, 7, 3, 10};
    static double xs[30 * N];
    const double c[N] = {1, 1.5, -2}, a[N] = {0, 0.25, 3};
    for (int k = 0; k < 30 * N; k++)
        xs[k] = 1.0 / (k + 1);
    for (size_t turn = 0; turn < 2 * sizeof lengths / sizeof *lengths; turn++) {
        const int64_t length = lengths[turn / 2], rows[2] = {length, N};
        pithp_program *body = pithp_program_make(s), *p = pithp_program_make(s);
        const pithp_value factor = vector(body), sum = vector(body), x = vector(body);
        output(body, op2(body, PITHP_OP_ADD, op2(body, PITHP_OP_MUL, sum, factor), x));
        const pithp_value in[3] = {
            vector(p), vector(p),
            pithp_program_input(s, p, pithp_spec(s, PITH_F64, 2, rows))};
        const pithp_loop_params params = {.length = length,
                                          .constants = 1,
                                          .carries = 1,
                                          .unroll = 4,
                                          .reverse = turn & 1};
        output(p, graph_control(s, p, PITHP_OP_SCAN, &params, 3, in, 1, &body));
        double plain[N], got[N];
        graph_run(s, p, -1, (const void *[]){c, a, xs}, (void *[]){plain});
        graph_run(s, p, PITHP_PASS_ALL, (const void *[]){c, a, xs}, (void *[]){got});
        cr_assert(!memcmp(plain, got, sizeof got), "%d rows", (int)length);
        pithp_program *better = pithp_program_optimise(s, p, PITHP_PASS_ALL);
        pt_ok(s, better);
        char wanted[32];
        snprintf(wanted, sizeof wanted, "{length=%d,", (int)left[turn / 2]);
        cr_assert(strstr(graph_text(better), wanted), "%s", graph_text(better));
        pithp_program_release(better);
        pithp_program_release(p);
    }
    close_scope();
}
