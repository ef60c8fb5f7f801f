/* Control flow run by plans: closed forms, carries that change places, nests, memory. */
#include "graph_test.h"

typedef struct bench {
    pith_runtime *rt;
    pith_scope *s;
    const pith_spec *f64, *i64, *flag;
} bench;

static bench begin(void) {
    bench b = {.rt = pt_open()};
    b.s = pith_scope_open(b.rt);
    b.f64 = pithp_spec(b.s, PITH_F64, 0, NULL);
    b.i64 = pithp_spec(b.s, PITH_I64, 0, NULL);
    b.flag = pithp_spec(b.s, PITH_BOOL, 0, NULL);
    pt_ok(b.s);
    return b;
}
static void end(bench *b) {
    pt_ok(b->s);
    pith_scope_close(b->s);
    pt_close(b->rt);
}
/* ---- cond ---- */

/* program(index, x f64[], y f64[]): branches x + y; x * y; y, x + x. */
static pithp_program *three_ways(bench *b, const pith_spec *index, int ways) {
    pithp_program *p = pithp_program_make(b->s), *programs[3];
    pithp_value in[3] = {pithp_program_input(b->s, p, index),
                         pithp_program_input(b->s, p, b->f64),
                         pithp_program_input(b->s, p, b->f64)};
    for (int k = 0; k < ways; k++) {
        pithp_program *q = programs[k] = pithp_program_make(b->s);
        const pithp_value x = pithp_program_input(b->s, q, b->f64);
        const pithp_value y = pithp_program_input(b->s, q, b->f64);
        const pithp_primitive how = k ? PITHP_OP_MUL : PITHP_OP_ADD;
        pithp_program_output(b->s, q, k == 2 ? y : graph_op2(b->s, q, how, x, y));
        pithp_program_output(b->s, q, graph_op2(b->s, q, PITHP_OP_ADD, x, x));
    }
    const pithp_value v =
        graph_control(b->s, p, PITHP_OP_COND, NULL, 3, in, ways, programs);
    pithp_program_output(b->s, p, v);
    pithp_program_output(b->s, p, v + 1);
    return p;
}

Test(control_run, cond_runs_one_branch_and_clamps) {
    bench b = begin();
    const pith_dtype dtypes[] = {PITH_I8, PITH_I64, PITH_U8, PITH_U64, PITH_I32};
    const double x = 3, y = 5, wanted[3] = {8, 15, 5};
    for (int d = 0; d < 5; d++) {
        pithp_program *p = three_ways(&b, pithp_spec(b.s, dtypes[d], 0, NULL), 3);
        for (int64_t index = -3; index < 6; index++) {
            const bool is_signed = pithp_dtype_is_signed(dtypes[d]);
            const int64_t way = index < 0 ? (is_signed ? 0 : 2) : index > 2 ? 2 : index;
            double sum, twice;
            graph_run(b.s, p, -1, (const void *[]){&index, &x, &y},
                      (void *[]){&sum, &twice});
            cr_assert(sum == wanted[way] && twice == 6, "index %d of %s: %g", (int)index,
                      pith_dtype_name(dtypes[d]), sum);
        }
        pithp_program_release(p);
    }
    pithp_program *p = three_ways(&b, b.flag, 2);
    for (int truth = 0; truth < 2; truth++) {
        const bool flag = truth;
        double sum, twice;
        graph_run(b.s, p, PITHP_PASS_ALL, (const void *[]){&flag, &x, &y},
                  (void *[]){&sum, &twice});
        cr_assert(sum == wanted[truth] && twice == 6);
    }
    pithp_program_release(p);
    end(&b);
}

/* ---- while ---- */

/* program(n): (steps, the largest) of the sequence of Collatz from n. */
static pithp_program *collatz(bench *b) {
    pithp_program *cond = pithp_program_make(b->s), *body = pithp_program_make(b->s);
    pithp_value n = pithp_program_input(b->s, cond, b->i64);
    pithp_program_input(b->s, cond, b->i64);
    pithp_program_input(b->s, cond, b->i64);
    pithp_program_output(
        b->s, cond, graph_op2(b->s, cond, PITHP_OP_NE, n, graph_integer(b->s, cond, 1)));

    n = pithp_program_input(b->s, body, b->i64);
    const pithp_value steps = pithp_program_input(b->s, body, b->i64);
    const pithp_value largest = pithp_program_input(b->s, body, b->i64);
    pithp_program *ways[2];
    for (int k = 0; k < 2; k++) {
        pithp_program *q = ways[k] = pithp_program_make(b->s);
        const pithp_value m = pithp_program_input(b->s, q, b->i64);
        if (k == 0)
            pithp_program_output(
                b->s, q, graph_op2(b->s, q, PITHP_OP_DIV, m, graph_integer(b->s, q, 2)));
        else
            pithp_program_output(
                b->s, q,
                graph_op2(b->s, q, PITHP_OP_ADD,
                          graph_op2(b->s, q, PITHP_OP_MUL, m, graph_integer(b->s, q, 3)),
                          graph_integer(b->s, q, 1)));
    }
    const pithp_value odd =
        graph_op2(b->s, body, PITHP_OP_BITWISE_AND, n, graph_integer(b->s, body, 1));
    const pithp_value choose[2] = {odd, n};
    const pithp_value next =
        graph_control(b->s, body, PITHP_OP_COND, NULL, 2, choose, 2, ways);
    pithp_program_output(b->s, body, next);
    pithp_program_output(
        b->s, body,
        graph_op2(b->s, body, PITHP_OP_ADD, steps, graph_integer(b->s, body, 1)));
    pithp_program_output(b->s, body, graph_op2(b->s, body, PITHP_OP_MAX, largest, next));

    pithp_program *p = pithp_program_make(b->s);
    const pithp_value start = pithp_program_input(b->s, p, b->i64);
    const pithp_value in[3] = {start, graph_integer(b->s, p, 0), start};
    pithp_program *programs[2] = {cond, body};
    const pithp_value v = graph_control(b->s, p, PITHP_OP_WHILE, &(pithp_while_params){0},
                                        3, in, 2, programs);
    for (int k = 0; k < 3; k++)
        pithp_program_output(b->s, p, v + k);
    return p;
}

Test(control_run, while_follows_collatz) {
    bench b = begin();
    pithp_program *p = collatz(&b);
    const int passes[] = {-1, 0, PITHP_PASS_ALL};
    for (int64_t n = 1; n < 40; n++) {
        int64_t at = n, steps = 0, largest = n, got[3];
        for (; at != 1; steps++) {
            at = at % 2 ? 3 * at + 1 : at / 2;
            largest = at > largest ? at : largest;
        }
        graph_run(b.s, p, passes[n % 3], (const void *[]){&n},
                  (void *[]){&got[0], &got[1], &got[2]});
        cr_assert(got[0] == 1 && got[1] == steps && got[2] == largest, "%lld: %lld %lld",
                  (long long)n, (long long)got[1], (long long)got[2]);
    }
    pithp_program_release(p);
    end(&b);
}

/* ---- scan ---- */

/* program(c, a, b, x[n]): the body adds c to x, hands the sum out, and a, b become b,
 * a + x; one more carry stays and one becomes a literal; ys: x + c, a, c. */
static pithp_program *swapping(bench *b, int64_t n, bool reverse) {
    pithp_program *body = pithp_program_make(b->s), *p = pithp_program_make(b->s);
    pithp_value in[6];
    for (int k = 0; k < 6; k++) /* c, a, b, stays, literal, x */
        in[k] = pithp_program_input(b->s, body, b->f64);
    const double seven = 7;
    pithp_program_output(b->s, body, in[2]);
    pithp_program_output(b->s, body, graph_op2(b->s, body, PITHP_OP_ADD, in[1], in[5]));
    pithp_program_output(b->s, body, in[3]);
    pithp_program_output(b->s, body, pithp_program_literal(b->s, body, b->f64, &seven));
    pithp_program_output(b->s, body, graph_op2(b->s, body, PITHP_OP_ADD, in[5], in[0]));
    pithp_program_output(b->s, body, in[1]);
    pithp_program_output(b->s, body, in[0]);
    for (int k = 0; k < 5; k++)
        in[k] = pithp_program_input(b->s, p, b->f64);
    in[5] = pithp_program_input(b->s, p, graph_spec(b->s, PITH_F64, n));
    const pithp_loop_params params = {
        .length = n, .constants = 1, .carries = 4, .reverse = reverse};
    const pithp_value v = graph_control(b->s, p, PITHP_OP_SCAN, &params, 6, in, 1, &body);
    for (int k = 0; k < 7; k++)
        pithp_program_output(b->s, p, v + k);
    return p;
}

Test(control_run, scan_carries_stacks_and_reverses) {
    bench b = begin();
    enum { LONGEST = 6 };
    const double x[LONGEST] = {1, 10, 100, 1000, 1e4, 1e5}, c = 0.5,
                 first[4] = {3, 4, 5, 6};
    for (int64_t n = 0; n <= LONGEST; n++)
        for (int way = 0; way < 4; way++) {
            pithp_program *p = swapping(&b, n, way & 1);
            double carry[4], ys[3][LONGEST], a = 3, s = 4, wanted[3][LONGEST];
            for (int64_t t = 0; t < n; t++) {
                const int64_t i = way & 1 ? n - 1 - t : t;
                wanted[0][i] = x[i] + c;
                wanted[1][i] = a;
                wanted[2][i] = c;
                const double sum = a + x[i];
                a = s;
                s = sum;
            }
            graph_run(b.s, p, way & 2 ? PITHP_PASS_ALL : -1,
                      (const void *[]){&c, &first[0], &first[1], &first[2], &first[3], x},
                      (void *[]){&carry[0], &carry[1], &carry[2], &carry[3], ys[0], ys[1],
                                 ys[2]});
            cr_assert(carry[0] == a && carry[1] == s && carry[2] == 5);
            cr_assert(carry[3] == (n ? 7 : 6));
            for (int k = 0; k < 3; k++)
                cr_assert(!memcmp(ys[k], wanted[k], (size_t)n * 8), "y %d of %lld", k,
                          (long long)n);
            pithp_program_release(p);
        }
    end(&b);
}

/* program(x[n][m]): a scan over rows of a scan over elements: the running sum. */
Test(control_run, scans_nest) {
    bench b = begin();
    enum { ROWS = 5, COLUMNS = 7 };
    pithp_program *inner = pithp_program_make(b.s);
    const pithp_value c = pithp_program_input(b.s, inner, b.f64);
    const pithp_value sum =
        graph_op2(b.s, inner, PITHP_OP_ADD, c, pithp_program_input(b.s, inner, b.f64));
    pithp_program_output(b.s, inner, sum);
    pithp_program_output(b.s, inner, sum);
    pithp_program *outer = pithp_program_make(b.s);
    pithp_value in[2] = {
        pithp_program_input(b.s, outer, b.f64),
        pithp_program_input(b.s, outer, graph_spec(b.s, PITH_F64, COLUMNS))};
    const pithp_loop_params across = {.length = COLUMNS, .carries = 1};
    pithp_value v = graph_control(b.s, outer, PITHP_OP_SCAN, &across, 2, in, 1, &inner);
    pithp_program_output(b.s, outer, v);
    pithp_program_output(b.s, outer, v + 1);
    pithp_program *p = pithp_program_make(b.s);
    const int64_t shape[2] = {ROWS, COLUMNS};
    in[0] = pithp_program_input(b.s, p, b.f64);
    in[1] = pithp_program_input(b.s, p, pithp_spec(b.s, PITH_F64, 2, shape));
    const pithp_loop_params down = {.length = ROWS, .carries = 1};
    v = graph_control(b.s, p, PITHP_OP_SCAN, &down, 2, in, 1, &outer);
    pithp_program_output(b.s, p, v);
    pithp_program_output(b.s, p, v + 1);
    double x[ROWS * COLUMNS], got[ROWS * COLUMNS], all = 100, last;
    for (int k = 0; k < ROWS * COLUMNS; k++)
        x[k] = k;
    graph_run(b.s, p, PITHP_PASS_ALL, (const void *[]){&all, x}, (void *[]){&last, got});
    for (int k = 0; k < ROWS * COLUMNS; k++) {
        all += k;
        cr_assert(got[k] == all, "element %d", k);
    }
    cr_assert(last == all);
    pithp_program_release(p);
    end(&b);
}

/* ---- Failures ---- */

Test(control_run, a_run_allocates_as_much_for_any_number_of_iterations) {
    const bool given = getenv("PITH_JIT");
    setenv("PITH_JIT", "off", 0); /* a compiler in the background allocates, too */
    bench b = begin();
    pithp_program *p = collatz(&b);
    pithp_executable *exe = pithp_executable_make(b.s, p, true);
    long long used[2];
    for (int k = 0; k < 4; k++) { /* the first ones fill pools */
        const int64_t n = k % 2 ? 27 : 2;
        int64_t out[3];
        const long long before = atomic_load(&pt_default_heap.allocations);
        pithp_executable_run(b.s, exe, (const void *[]){&n},
                             (void *[]){&out[0], &out[1], &out[2]});
        pt_ok(b.s);
        pith_wait(b.s);
        used[k % 2] = atomic_load(&pt_default_heap.allocations) - before;
    }
    if (pithp_scope_device(b.s)->immediate) /* else launches are queued */
        cr_assert(used[0] == used[1], "%lld and %lld", used[0], used[1]);
    pithp_executable_free(exe);
    pithp_program_release(p);
    end(&b);
    if (!given)
        unsetenv("PITH_JIT");
}

Test(control_run, every_failure_of_memory_is_survived) {
    bench b = begin();
    pithp_program *p = collatz(&b);
    bool failed = true;
    for (long long at = 1; failed; at++) {
        pith_scope *inner = pith_scope_open_in(b.s);
        const int64_t n = 7;
        int64_t out[3] = {0};
        atomic_store(&pt_default_heap.fail_at,
                     atomic_load(&pt_default_heap.allocations) + at);
        pithp_program *better = pithp_program_optimise(inner, p, PITHP_PASS_ALL);
        pithp_executable *exe =
            better ? pithp_executable_make(inner, better, true) : NULL;
        if (exe)
            pithp_executable_run(inner, exe, (const void *[]){&n},
                                 (void *[]){&out[0], &out[1], &out[2]});
        pith_wait(inner);
        atomic_store(&pt_default_heap.fail_at, 0);
        failed = pith_failed(inner);
        cr_assert(failed ? pith_code(inner) == PITH_E_MEMORY : out[1] == 16);
        pithp_executable_free(exe);
        pithp_program_release(better);
        pith_clear(inner);
        pith_scope_close(inner);
        cr_assert(at < 10000);
    }
    pithp_program_release(p);
    end(&b);
}
