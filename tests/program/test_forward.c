/* What control flow hands on is not copied: results of branches and loops that are
 * operands, wherever those lie, and as long as they are read. */
#include "graph_test.h"
#include "program/emit/emit.h"

enum { N = 300 };

static double xs[N], ys[N];
static pith_runtime *rt;
static pith_scope *s;

static void begin(void) {
    rt = pt_open();
    s = pith_scope_open(rt);
    for (int k = 0; k < N; k++)
        xs[k] = k + 0.5, ys[k] = -k;
}
static void end(void) {
    pt_ok(s);
    pith_scope_close(s);
    pt_close(rt);
}

/* (x, y) -> two of: 0 x, 1 y, 2 x + y. */
static pithp_program *branch(int first, int second) {
    pithp_program *p = pithp_program_make(s);
    const pithp_value x = graph_input(s, p, PITH_F64, N),
                      y = graph_input(s, p, PITH_F64, N),
                      made[3] = {x, y, graph_op2(s, p, PITHP_OP_ADD, x, y)};
    pithp_program_output(s, p, made[first]);
    pithp_program_output(s, p, made[second]);
    return p;
}

static pithp_value choose(pithp_program *p,
                          pithp_value index,
                          pithp_value x,
                          pithp_value y,
                          int count,
                          pithp_program **branches) {
    const pithp_value in[3] = {index, x, y};
    return graph_control(s, p, PITHP_OP_COND, NULL, 3, in, count, branches);
}

/* The element k of what a branch gives as `what`. */
static double wanted(int what, double x, double y) {
    return what == 0 ? x : what == 1 ? y : x + y;
}

static void expect(const char *what, const double *got, double at, int k) {
    cr_assert(got[k] == at, "%s, element %d: expected %g, got %g", what, k, at, got[k]);
}

Test(forward, branches_hand_on_operands) {
    begin();
    static const int ways[][2] = {{0, 1}, {1, 0}, {0, 0}, {2, 1}, {0, 2}, {2, 2}};
    pithp_program *p = pithp_program_make(s), *branches[6];
    const pithp_value i = graph_input(s, p, PITH_I64, -1),
                      x = graph_input(s, p, PITH_F64, N),
                      y = graph_input(s, p, PITH_F64, N);
    for (int k = 0; k < 6; k++)
        branches[k] = branch(ways[k][0], ways[k][1]);
    const pithp_value v = choose(p, i, x, y, 6, branches);
    pithp_program_output(s, p, v);
    pithp_program_output(s, p, v + 1);
    pithp_program_output(s, p, v); /* once more: the same memory */
    pithp_executable *exe = pithp_executable_make(s, p, true);
    pt_ok(s, exe);
    for (int64_t k = 0; k < 12; k++) {
        const int *way = ways[k / 2];
        const int64_t index = k / 2;
        double got[3][N];
        unsigned stayed = 0;
        const bool pass = k % 2;
        graph_run_plan(s, exe, pass, (const void *[]){&index, xs, ys},
                       (void *[]){got[0], got[1], got[2]}, &stayed);
        for (int n = 0; n < N; n++)
            for (int o = 0; o < 3; o++)
                expect("cond", got[o], wanted(way[o == 1], xs[n], ys[n]), n);
        if (exe->plan->runs_fused)
            cr_assert_eq(stayed,
                         pass ? (unsigned)(way[0] < 2) | (unsigned)(way[1] < 2) << 1 : 0);
    }
    pithp_executable_free(exe);
    pithp_program_release(p);
    end();
}

/* What is handed on was made by the program, in memory that others would take. */
Test(forward, operands_live_as_long_as_what_they_may_be) {
    begin();
    pithp_program *p = pithp_program_make(s);
    const pithp_value i = graph_input(s, p, PITH_I64, -1),
                      x = graph_input(s, p, PITH_F64, N),
                      y = graph_input(s, p, PITH_F64, N);
    const pithp_scan_params along = {0};
    const pithp_value sums = graph_op(s, p, PITHP_OP_CUMSUM, x, -1, &along);
    const pithp_value least = graph_op(s, p, PITHP_OP_CUMMIN, y, -1, &along);
    pithp_program *first[2] = {branch(0, 1), branch(2, 0)};
    const pithp_value v = choose(p, i, sums, least, 2, first);
    pithp_program *second[2] = {branch(0, 1), branch(1, 0)};
    const pithp_value w = choose(p, i, v, v + 1, 2, second);
    pithp_value other = y; /* takes and gives memory */
    for (int k = 0; k < 4; k++)
        other = graph_op(s, p, PITHP_OP_CUMSUM, other, -1, &along);
    const pithp_value all = graph_op2(s, p, PITHP_OP_ADD, w, other);
    const pithp_reverse_params turned = {1};
    const pithp_value back = graph_op(s, p, PITHP_OP_REVERSE, w + 1, -1, &turned);
    pithp_program_output(s, p, all);
    pithp_program_output(s, p, graph_op2(s, p, PITHP_OP_ADD, back, other));
    pithp_program_output(s, p, w + 1); /* out of the workspace */
    double a[N], b[N], o[N], sum = 0;
    for (int k = 0; k < N; k++) {
        a[k] = sum += xs[k];
        b[k] = ys[k] < (k ? b[k - 1] : 0) ? ys[k] : k ? b[k - 1] : ys[k];
        o[k] = ys[k];
    }
    for (int turn = 0; turn < 4; turn++)
        for (int k = 1; k < N; k++)
            o[k] += o[k - 1];
    for (int64_t index = 0; index < 2; index++)
        for (int passes = -1; passes < 1; passes++) {
            double got[3][N];
            graph_run(s, p, passes, (const void *[]){&index, xs, ys},
                      (void *[]){got[0], got[1], got[2]});
            for (int k = 0; k < N; k++) {
                const double u = a[k], m = index ? a[k] + b[k] : b[k];
                const double behind = index ? a[N - 1 - k] + b[N - 1 - k] : b[N - 1 - k];
                expect("all", got[0], u + o[k], k);
                expect("back", got[1], behind + o[k], k);
                expect("last", got[2], m, k);
            }
        }
    pithp_program_release(p);
    end();
}

/* A branch hands on what an inner branch does: its own operand, or what it made. */
Test(forward, branches_nest) {
    begin();
    pithp_program *p = pithp_program_make(s), *outer[2];
    for (int b = 0; b < 2; b++) {
        pithp_program *q = outer[b] = pithp_program_make(s);
        const pithp_value i = graph_input(s, q, PITH_I64, -1);
        pithp_value x = graph_input(s, q, PITH_F64, N);
        const pithp_value y = graph_input(s, q, PITH_F64, N);
        const pithp_scan_params along = {0};
        if (b) /* in the branch's own memory */
            x = graph_op(s, q, PITHP_OP_CUMSUM, x, -1, &along);
        pithp_program *inner[2] = {branch(0, 1), branch(1, 2)};
        const pithp_value v = choose(q, i, x, y, 2, inner);
        pithp_program_output(s, q, v);
        pithp_program_output(s, q, v + 1);
    }
    const pithp_value in[4] = {
        graph_input(s, p, PITH_I64, -1), graph_input(s, p, PITH_I64, -1),
        graph_input(s, p, PITH_F64, N), graph_input(s, p, PITH_F64, N)};
    const pithp_value v = graph_control(s, p, PITHP_OP_COND, NULL, 4, in, 2, outer);
    const pithp_value both = graph_op2(s, p, PITHP_OP_SUB, v, v + 1);
    pithp_program_output(s, p, v);
    pithp_program_output(s, p, both);
    pithp_executable *exe = pithp_executable_make(s, p, true);
    for (int64_t way = 0; way < 4; way++) {
        const int64_t o = way / 2, i = way % 2;
        double got[2][N], x = 0;
        unsigned stayed = 0;
        graph_run_plan(s, exe, true, (const void *[]){&o, &i, xs, ys},
                       (void *[]){got[0], got[1]}, &stayed);
        for (int k = 0; k < N; k++) {
            x = o ? x + xs[k] : xs[k];
            const double first = i ? ys[k] : x, second = i ? x + ys[k] : ys[k];
            expect("first", got[0], first, k);
            expect("both", got[1], first - second, k);
        }
        if (exe->plan->runs_fused)
            cr_assert_eq(stayed, way == 2 ? 0u : 1u, "way %d", (int)way);
    }
    pithp_executable_free(exe);
    pithp_program_release(p);
    end();
}

/* Copies of an array in the code of a loop. */
static int copies(pithp_executable *exe) {
    pithp_string text;
    int32_t functions[8];
    bool maths = false;
    int found = 0;
    char size[32];
    snprintf(size, sizeof size, ", %zu);", N * sizeof(double));
    pithp_string_begin(&text, rt);
    cr_assert(exe->plan->step_count <= 8 &&
              pithp_emit_host(&text, exe->plan, functions, &maths));
    for (const char *at = text.bytes; (at = strstr(at, size)); at++)
        found++;
    pithp_string_end(&text);
    return found;
}

/* Loops that are compiled as a whole copy what is small and not always handed on. Of the
 * two carries each may be copied where it moves, and at the end.
 *
 * scan(x, y; i): a branch of x, y or of x + y, y or of y, x in each iteration. */
Test(forward, loops_hand_on_carries) {
    begin();
    pithp_program *body = pithp_program_make(s), *p = pithp_program_make(s);
    pithp_program *ways[3] = {branch(0, 1), branch(2, 1), branch(1, 0)};
    const pithp_value x = graph_input(s, body, PITH_F64, N),
                      y = graph_input(s, body, PITH_F64, N),
                      i = graph_input(s, body, PITH_I64, -1);
    const pithp_value v = choose(body, i, x, y, 3, ways);
    pithp_program_output(s, body, v);
    pithp_program_output(s, body, v + 1);
    enum { T = 5 };
    const pithp_value in[3] = {graph_input(s, p, PITH_F64, N),
                               graph_input(s, p, PITH_F64, N),
                               graph_input(s, p, PITH_I64, T)};
    const pithp_loop_params params = {.length = T, .carries = 2};
    const pithp_value w = graph_control(s, p, PITHP_OP_SCAN, &params, 3, in, 1, &body);
    pithp_program_output(s, p, w);
    pithp_program_output(s, p, w + 1);
    pithp_executable *exe = pithp_executable_make(s, p, true);
    if (exe->plan->runs_fused)
        cr_assert_eq(copies(exe), 4);
    static const int64_t turns[][T] = {{0},    {0, 1},          {1, 1, 0, 0, 1}, {2},
                                       {2, 2}, {0, 2, 1, 2, 0}, {1, 0, 0, 0, 0}};
    for (size_t turn = 0; turn < sizeof turns / sizeof *turns; turn++) {
        double got[2][N];
        unsigned stayed = 0;
        graph_run_plan(s, exe, true, (const void *[]){xs, ys, turns[turn]},
                       (void *[]){got[0], got[1]}, &stayed);
        for (int k = 0; k < N; k++) {
            double a = xs[k], b = ys[k];
            for (int t = 0; t < T; t++) {
                const double old = a;
                a = turns[turn][t] == 0 ? a : turns[turn][t] == 1 ? a + b : b;
                b = turns[turn][t] == 2 ? old : b;
            }
            expect("first", got[0], a, k);
            expect("second", got[1], b, k);
        }
        if (exe->plan->runs_fused && !exe->code && turn < 2)
            cr_assert_eq(stayed, turn == 0 ? 3u : 2u, "turn %d: %x", (int)turn, stayed);
    }
    pithp_executable_free(exe);
    pithp_program_release(p);
    end();
}

/* scan(x; i, y): x, or by an inner branch x or x + y, or y. The row of each iteration is
 * the next carry, and its reverse is read beside work that takes memory. */
static pithp_program *choosing_body(void) {
    static const pithp_scan_params along = {0};
    static const pithp_reverse_params turned = {1};
    pithp_program *inner[2] = {branch(0, 1), branch(2, 1)},
                  *outer = pithp_program_make(s), *body = pithp_program_make(s);
    pithp_value i = graph_input(s, outer, PITH_I64, -1);
    const pithp_value a = graph_input(s, outer, PITH_F64, N),
                      b = graph_input(s, outer, PITH_F64, N);
    i = graph_op2(s, outer, PITHP_OP_SUB, i, graph_integer(s, outer, 1));
    const pithp_value chosen = choose(outer, i, a, b, 2, inner);
    pithp_program_output(s, outer, chosen);
    pithp_program *ways[3] = {pithp_program_make(s), outer, pithp_program_make(s)};
    for (int k = 0; k < 3; k += 2) {
        graph_input(s, ways[k], PITH_I64, -1);
        for (int n = 0; n < 4; n += 2) {
            const pithp_value v = graph_input(s, ways[k], PITH_F64, N);
            if (n == k)
                pithp_program_output(s, ways[k], v);
        }
    }
    const pithp_value x = graph_input(s, body, PITH_F64, N),
                      at = graph_input(s, body, PITH_I64, -1),
                      y = graph_input(s, body, PITH_F64, N);
    const pithp_value in[4] = {at, at, x, y};
    const pithp_value v = graph_control(s, body, PITHP_OP_COND, NULL, 4, in, 3, ways);
    const pithp_value sums = graph_op(s, body, PITHP_OP_CUMSUM, y, -1, &along),
                      back = graph_op(s, body, PITHP_OP_REVERSE, v, -1, &turned);
    pithp_program_output(s, body, v);
    pithp_program_output(s, body, v);
    pithp_program_output(s, body, graph_op2(s, body, PITHP_OP_ADD, back, sums));
    return body;
}

Test(forward, what_iterations_hand_on_is_read) {
    enum { T = 6 };
    static const int64_t turns[T] = {0, 1, 2, 0, 2, 1}; /* 1: the inner branch 0 */
    static double rows[T][N], carry[N], all[T][N], after[T][N];
    begin();
    pithp_program *body = choosing_body(), *p = pithp_program_make(s);
    const pithp_value in[3] = {
        graph_input(s, p, PITH_F64, N), graph_input(s, p, PITH_I64, T),
        pithp_program_input(s, p, pithp_spec(s, PITH_F64, 2, (const int64_t[]){T, N}))};
    const pithp_loop_params params = {.length = T, .carries = 1};
    const pithp_value w = graph_control(s, p, PITHP_OP_SCAN, &params, 3, in, 1, &body);
    for (int k = 0; k < 3; k++)
        pithp_program_output(s, p, w + k);
    for (int t = 0; t < T; t++)
        for (int k = 0; k < N; k++)
            rows[t][k] = ys[k] * (t + 1) + 0.25 * k;
    graph_run(s, p, -1, (const void *[]){xs, turns, rows}, (void *[]){carry, all, after});
    double now[N];
    memcpy(now, xs, sizeof now);
    for (int t = 0; t < T; t++) {
        double sum = 0;
        for (int k = 0; k < N; k++)
            now[k] = turns[t] == 2 ? rows[t][k] : now[k];
        for (int k = 0; k < N; k++) {
            sum += rows[t][k];
            expect("row", all[t], now[k], k);
            expect("read", after[t], now[N - 1 - k] + sum, k);
        }
    }
    for (int k = 0; k < N; k++)
        expect("carry", carry, now[k], k);
    pithp_program_release(p);
    end();
}

/* A while that ends at once, or after some iterations; a carry that stays. */
Test(forward, a_while_hands_on_carries_that_stay) {
    begin();
    pithp_program *cond = pithp_program_make(s), *body = pithp_program_make(s);
    pithp_value i = graph_input(s, cond, PITH_I64, -1);
    graph_input(s, cond, PITH_F64, N);
    graph_input(s, cond, PITH_F64, N);
    pithp_program_output(s, cond,
                         graph_op2(s, cond, PITHP_OP_GT, i, graph_integer(s, cond, 0)));
    i = graph_input(s, body, PITH_I64, -1);
    const pithp_value x = graph_input(s, body, PITH_F64, N),
                      y = graph_input(s, body, PITH_F64, N);
    pithp_program_output(s, body,
                         graph_op2(s, body, PITHP_OP_SUB, i, graph_integer(s, body, 1)));
    pithp_program_output(s, body, graph_op2(s, body, PITHP_OP_ADD, x, y));
    pithp_program_output(s, body, y);
    pithp_program *p = pithp_program_make(s), *programs[2] = {cond, body};
    const pithp_value in[3] = {graph_input(s, p, PITH_I64, -1),
                               graph_input(s, p, PITH_F64, N),
                               graph_input(s, p, PITH_F64, N)};
    const pithp_value v =
        graph_control(s, p, PITHP_OP_WHILE, &(pithp_while_params){0}, 3, in, 2, programs);
    for (int k = 0; k < 3; k++)
        pithp_program_output(s, p, v + k);
    pithp_executable *exe = pithp_executable_make(s, p, true);
    for (int64_t n = 0; n < 4; n++) {
        double got[2][N];
        int64_t left;
        unsigned stayed = 0;
        graph_run_plan(s, exe, true, (const void *[]){&n, xs, ys},
                       (void *[]){&left, got[0], got[1]}, &stayed);
        cr_assert(left == 0);
        for (int k = 0; k < N; k++) {
            expect("sum", got[0], xs[k] + (double)n * ys[k], k);
            expect("stays", got[1], ys[k], k);
        }
        if (exe->plan->runs_fused && !exe->code)
            cr_assert_eq(stayed, 4u, "%d iterations: %x", (int)n, stayed);
    }
    pithp_executable_free(exe);
    pithp_program_release(p);
    end();
}
