/* Compiled plans give the bits of interpreted ones: every row and dtype over values that
 * tell, random programs, every way to walk memory; and they come and fail as they
 * should. */
#include "emit_test.h"
#include "program/emit/loop.h"
#include "program/pass/pass.h"

#include <unistd.h>

/* ---- Rows ---- */

/* Values that tell, and for small dtypes all there are. */
static void fill(recipe *r, pith_dtype dtype, int64_t n, void *data) {
    const pith_spec *spec = pithp_spec(r->s, dtype, 1, &n);
    recipe_fill(r, spec, data);
}

static void every_row(pith_dtype dtype) {
    enum { N = 3000 };
    const int64_t n = N;
    static double a[N], b_[N], c[N];
    static uint8_t condition[N];
    bench b = begin();
    recipe r = {.s = b.s, .state = 77 + (uint64_t)dtype};
    fill(&r, dtype, n, a);
    fill(&r, dtype, n, b_);
    fill(&r, dtype, n, c);
    fill(&r, PITH_BOOL, n, condition);
    const pithp_value x[3] = {input(&b, dtype, 1, &n, a), input(&b, dtype, 1, &n, b_),
                              input(&b, dtype, 1, &n, c)};
    const pithp_value when = input(&b, PITH_BOOL, 1, &n, condition);
    for (int p = 0; p < PITHP_ELEMENTWISE_COUNT; p++)
        if (pithp_ops[p].dtypes >> dtype & 1)
            pithp_program_output(b.s, b.p,
                                 op(&b, (pithp_primitive)p, pithp_ops[p].arity,
                                    p == PITHP_OP_WHERE ? when : x[0], x[1], x[2]));
    for (int to = PITH_BOOL; to < PITH_DTYPE_COUNT; to++) {
        const pithp_cast_params params = {(pith_dtype)to};
        if (to != (int)dtype)
            pithp_program_output(
                b.s, b.p,
                pithp_program_add(b.s, b.p, PITHP_OP_CAST, 1, x, &params, NULL));
    }
    expect_same(&b, pith_dtype_name(dtype));
    end(&b);
}

Test(emit, every_row_gives_the_bits_of_the_interpreter, .timeout = 300) {
    use_cache();
    for (int d = PITH_BOOL; d < PITH_DTYPE_COUNT; d++)
        every_row((pith_dtype)d);
}

/* ---- Walks ---- */

/* x * row + column, reversed, and what repeats: each way to read memory, with rows from
 * none to many elements, and enough of them for two threads. */
Test(emit, every_walk_gives_the_bits_of_the_interpreter, .timeout = 300) {
    static const int64_t shapes[][2] = {{0, 7},  {1, 1},   {5, 1},     {1, 500},
                                        {40, 3}, {17, 64}, {300, 517}, {3, 5000}};
    static double x[160000], row[5000], column[300], small[3];
    use_cache();
    for (int k = 0; k < 160000; k++)
        x[k] = k * 0.25 - 100;
    for (int k = 0; k < 5000; k++)
        row[k] = 1.0 / (k + 1);
    for (int k = 0; k < 300; k++)
        column[k] = -k;
    for (int k = 0; k < 3; k++)
        small[k] = k + 0.5;
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        bench b = begin();
        const int64_t *n = shapes[k], upright[2] = {n[0], 1}, one = 1;
        const pithp_value v = input(&b, PITH_F64, 2, n, x);
        const pithp_value w = input(&b, PITH_F64, 1, &n[1], row);
        const pithp_value u = input(&b, PITH_F64, 2, upright, column);
        const pithp_value t = input(&b, PITH_F64, 1, &one, small);
        const pithp_value mixed =
            op(&b, PITHP_OP_ADD, 2,
               op(&b, PITHP_OP_MUL, 2, op(&b, PITHP_OP_MUL, 2, v, w), t), u);
        const pithp_reverse_params turned = {3};
        const pithp_value back =
            pithp_program_add(b.s, b.p, PITHP_OP_REVERSE, 1, &v, &turned, NULL);
        pithp_program_output(b.s, b.p, mixed);
        pithp_program_output(b.s, b.p, op(&b, PITHP_OP_SUB, 2, back, mixed));
        pithp_program_output(b.s, b.p, op(&b, PITHP_OP_LT, 2, back, u));
        pithp_program_output(b.s, b.p,
                             op(&b, PITHP_OP_FMOD, 2, op(&b, PITHP_OP_EXP, 1, w), t));
        expect_same(&b, "walk");
        end(&b);
    }
}

/* ---- Loops ---- */

/* carries a [n] and i, which counts, with one that stays: a c + x, i + 1; ys: a c, i */
static pithp_program *stepping(bench *b, int64_t n, bool scans) {
    pithp_program *p = pithp_program_make(b->s);
    const pithp_value c = input_of(b, p, PITH_F64, n), a = input_of(b, p, PITH_F64, n),
                      i = input_of(b, p, PITH_I64, 0),
                      stays = input_of(b, p, PITH_F64, n),
                      x = scans ? input_of(b, p, PITH_F64, n) : stays;
    const int64_t one = 1;
    const pithp_value unit =
        pithp_program_literal(b->s, p, pithp_spec(b->s, PITH_I64, 0, NULL), &one);
    const pithp_value product = op_in(b, p, PITHP_OP_MUL, a, c);
    const pithp_value next = op_in(b, p, PITHP_OP_ADD, product, x);
    const pithp_value counted = op_in(b, p, PITHP_OP_ADD, i, unit);
    pithp_program_output(b->s, p, next);
    pithp_program_output(b->s, p, counted);
    pithp_program_output(b->s, p, stays);
    if (scans) {
        pithp_program_output(b->s, p, product);
        pithp_program_output(b->s, p, op_in(b, p, PITHP_OP_MUL, counted, counted));
    }
    pt_ok(b->s);
    return p;
}

Test(emit, scans_of_small_steps_are_compiled_whole) {
    static const int64_t lengths[] = {0, 1, 2, 7, 100}, extents[] = {0, 1, 5, 64};
    static double c[64], a[64], stays[64], x[6400];
    static const int64_t start = 40;
    use_cache();
    for (int k = 0; k < 6400; k++)
        x[k] = k * 0.5;
    for (int k = 0; k < 64; k++)
        c[k] = 1.0 / (k + 2), a[k] = k, stays[k] = -k;
    for (int turn = 0; turn < 40; turn++) {
        const int64_t length = lengths[turn / 2 % 5], n = extents[turn / 10];
        bench b = begin();
        const int64_t rows[2] = {length, n};
        const pithp_value in[5] = {
            input(&b, PITH_F64, n > 0, &n, c), input(&b, PITH_F64, n > 0, &n, a),
            input(&b, PITH_I64, 0, NULL, &start), input(&b, PITH_F64, n > 0, &n, stays),
            input(&b, PITH_F64, 1 + (n > 0), rows, x)};
        pithp_program *body = stepping(&b, n, true);
        const pithp_loop_params params = {
            .length = length, .constants = 1, .carries = 3, .reverse = turn & 1};
        const pithp_value v = control(&b, PITHP_OP_SCAN, &params, 5, in, 1, &body);
        for (int k = 0; k < 5; k++)
            pithp_program_output(b.s, b.p, v + k);
        expect_compiled_loop(&b);
        end(&b);
    }
}

Test(emit, whiles_of_small_steps_are_compiled_whole) {
    static double c[64], a[64], stays[64];
    int64_t start, limit = 40;
    const int64_t n = 64;
    use_cache();
    for (int k = 0; k < 64; k++)
        c[k] = 1.0 / (k + 2), a[k] = k, stays[k] = -k;
    for (start = 41; start >= 0; start -= start > 35 ? 1 : 35) {
        bench b = begin();
        pithp_program *cond = pithp_program_make(b.s), *body = stepping(&b, n, false);
        const pithp_value most = input_of(&b, cond, PITH_I64, 0);
        input_of(&b, cond, PITH_F64, n);
        const pithp_value at = input_of(&b, cond, PITH_I64, 0);
        input_of(&b, cond, PITH_F64, n);
        pithp_program_output(b.s, cond, op_in(&b, cond, PITHP_OP_LT, at, most));
        pithp_program *programs[2] = {cond, body};
        const pithp_value in[5] = {
            input(&b, PITH_I64, 0, NULL, &limit), input(&b, PITH_F64, 1, &n, c),
            input(&b, PITH_F64, 1, &n, a), input(&b, PITH_I64, 0, NULL, &start),
            input(&b, PITH_F64, 1, &n, stays)};
        const pithp_value v = control(&b, PITHP_OP_WHILE, &(pithp_while_params){1, 1, 0},
                                      5, in, 2, programs);
        for (int k = 0; k < 3; k++)
            pithp_program_output(b.s, b.p, v + k);
        expect_compiled_loop(&b);
        end(&b);
    }
}

/* ---- Coming and failing ---- */

static void small_program(bench *b, int64_t n, const double *x) {
    const pithp_value v = input(b, PITH_F64, 1, &n, x);
    pithp_program_output(b->s, b->p,
                         op(b, PITHP_OP_EXP, 1, op(b, PITHP_OP_MUL, 2, v, v)));
}

static double numbers[4096], results[4096];

Test(emit, code_is_swapped_in_while_the_interpreter_runs) {
    void *const outputs[] = {results};
    use_fresh_cache();
    bench b = begin();
    small_program(&b, 1000, numbers);
    pithp_executable *exe = plan_of(&b, "async");
    run(&b, exe, outputs);
    cr_assert(pithp_compile_counted(b.rt).compiled == 0); /* once is not worth it */
    int runs = 1;
    for (; !exe->code && runs < 300000; runs++) {
        memset(results, 0xA5, sizeof results);
        run(&b, exe, outputs);
        cr_assert(results[999] == 1.0);
        usleep(200);
    }
    cr_assert(exe->code, "%s", said);
    cr_assert(runs > 2 && pithp_compile_counted(b.rt).compiled == 1);
    memset(results, 0xA5, sizeof results);
    run(&b, exe, outputs);
    cr_assert(results[0] == 1.0 && results[999] == 1.0 && times_said == 0);
    pithp_executable_free(exe);
    end(&b);
}

Test(emit, a_plan_may_go_before_its_code_comes) {
    void *const outputs[] = {results};
    use_fresh_cache();
    for (int k = 0; k < 3; k++) {
        bench b = begin();
        small_program(&b, 100 + k, numbers);
        pithp_executable *exe = plan_of(&b, "async"), *other = plan_of(&b, "async");
        for (int again = 0; again < 2; again++) {
            run(&b, exe, outputs);
            run(&b, other, outputs);
        }
        pithp_executable_free(exe);
        if (k == 1)
            usleep(100000);
        pithp_executable_free(other);
        end(&b);
    }
}

Test(emit, arrays_that_grew_need_no_compiler) {
    void *const outputs[] = {results};
    use_fresh_cache();
    bench b = begin();
    for (int64_t n = 1000; n < 4000; n += 1000) {
        pithp_program_release(b.p);
        b.p = pithp_program_make(b.s);
        b.input_count = 0;
        small_program(&b, n, numbers);
        pithp_executable *exe = plan_of(&b, "wait");
        run(&b, exe, outputs);
        cr_assert(exe->code && results[n - 1] == 1.0, "%s", said);
        pithp_executable_free(exe);
    }
    const pithp_compile_counts counts = pithp_compile_counted(b.rt);
    cr_assert(counts.compiled == 1 && counts.in_memory == 2);
    end(&b);
}

/* Many small leaves with the same work: what is compiled does not grow with them. */
Test(emit, steps_that_do_the_same_share_a_function) {
    enum { LEAVES = 100, N = 64 };
    static float leaves[LEAVES][2][N], results_of[LEAVES][N];
    const int64_t n = N;
    const void *inputs[2 * LEAVES];
    void *outputs[LEAVES];
    use_cache();
    bench b = begin();
    pithp_value names[2 * LEAVES];
    for (int k = 0; k < 2 * LEAVES; k++) {
        inputs[k] = leaves[k / 2][k % 2];
        names[k] = pithp_program_input(b.s, b.p, pithp_spec(b.s, PITH_F32, 1, &n));
    }
    for (int k = 0; k < LEAVES; k++) {
        const pithp_value x = names[2 * k], g = names[2 * k + 1];
        const pithp_value y = op(&b, PITHP_OP_ADD, 2, op(&b, PITHP_OP_MUL, 2, g, g), x);
        pithp_program_output(b.s, b.p, op(&b, PITHP_OP_SQRT, 1, y));
        outputs[k] = results_of[k];
        for (int j = 0; j < N; j++)
            leaves[k][0][j] = (float)k, leaves[k][1][j] = (float)j;
    }
    pithp_executable *exe = plan_of(&b, "wait");
    pithp_executable_run(b.s, exe, inputs, outputs);
    pt_ok(b.s);
    pith_wait(b.s);
    const pithp_compiled *code = exe->code;
    int different = 0;
    for (int64_t k = 0; code && k < code->count; k++)
        different += k == 0 || code->steps[k].loops[0] != code->steps[k - 1].loops[0];
    cr_assert(exe->plan->step_count > 5 && code && different <= 2,
              "%lld steps, %d functions", (long long)exe->plan->step_count, different);
    for (int k = 0; k < LEAVES; k++)
        for (int j = 0; j < N; j++)
            cr_assert(results_of[k][j] == sqrtf((float)(j * j + k)));
    pithp_executable_free(exe);
    end(&b);
}

Test(emit, without_a_compiler_the_interpreter_runs_and_says_so_once) {
    static const char *const compilers[] = {"/nowhere/cc", "/bin/false", "/bin/true"};
    void *const outputs[] = {results};
    use_fresh_cache();
    for (size_t k = 0; k < sizeof compilers / sizeof *compilers; k++) {
        setenv("PITH_CC", compilers[k], 1);
        bench b = begin();
        small_program(&b, 1000, numbers);
        for (int plans = 0; plans < 3; plans++) {
            pithp_executable *exe = plan_of(&b, "wait");
            for (int again = 0; again < 3; again++) {
                memset(results, 0xA5, sizeof results);
                run(&b, exe, outputs);
                cr_assert(!exe->code && results[999] == 1.0);
            }
            pithp_executable_free(exe);
        }
        cr_assert(times_said == 1 && strstr(said, "interpreter"), "%d: %s", times_said,
                  said);
        end(&b);
    }
    unsetenv("PITH_CC");
}

/* For a run: the next one asks for the code again, and gets it. */
Test(emit, every_failure_of_memory_leaves_the_interpreter_for_a_run) {
    void *const outputs[] = {results};
    use_fresh_cache();
    bench b = begin();
    small_program(&b, 1000, numbers);
    bool compiled = false;
    for (long long at = 1; !compiled; at++) {
        pithp_executable *exe = plan_of(&b, "wait");
        memset(results, 0xA5, sizeof results);
        atomic_store(&pt_default_heap.fail_at,
                     atomic_load(&pt_default_heap.allocations) + at);
        pithp_executable_run(b.s, exe, b.inputs, outputs);
        atomic_store(&pt_default_heap.fail_at, 0);
        pt_ok(b.s);
        cr_assert(results[0] == 1.0 && results[999] == 1.0);
        compiled = exe->code != NULL;
        memset(results, 0xA5, sizeof results);
        run(&b, exe, outputs);
        cr_assert(exe->code, "allocation %lld", at);
        cr_assert(results[0] == 1.0 && results[999] == 1.0);
        pithp_executable_free(exe);
        cr_assert(at < 1000);
    }
    cr_assert_eq(times_said, 0, "%s", said);
    end(&b);
}

Test(emit, off_is_off) {
    void *const outputs[] = {results};
    use_fresh_cache();
    bench b = begin();
    small_program(&b, 1000, numbers);
    pithp_executable *exe = plan_of(&b, "off");
    for (int again = 0; again < 5; again++)
        run(&b, exe, outputs);
    cr_assert(!exe->tier && !exe->code && results[999] == 1.0);
    cr_assert(pithp_compile_counted(b.rt).compiled == 0);
    pithp_executable_free(exe);
    end(&b);
}

typedef struct caller {
    pthread_t thread;
    const bench *b;
    pithp_executable *exe;
    double results[1000];
} caller;

static void *call_often(void *closure) {
    caller *c = closure;
    pith_scope *s = pith_scope_open(c->b->rt);
    void *const outputs[] = {c->results};
    for (int k = 0; k < 2000; k++)
        pithp_executable_run(s, c->exe, c->b->inputs, outputs);
    pith_wait(s);
    pt_ok(s);
    pith_scope_close(s);
    return NULL;
}

Test(emit, threads_share_a_plan_while_it_is_compiled) {
    enum { CALLERS = 3 };
    static caller callers[CALLERS];
    use_fresh_cache();
    static const char *const whens[] = {"async", "wait"};
    for (int when = 0; when < 2; when++) {
        bench b = begin();
        small_program(&b, 1000, numbers);
        pithp_executable *exe = plan_of(&b, whens[when]);
        for (int k = 0; k < CALLERS; k++) {
            callers[k].b = &b;
            callers[k].exe = exe;
            pthread_create(&callers[k].thread, NULL, call_often, &callers[k]);
        }
        for (int k = 0; k < CALLERS; k++) {
            pthread_join(callers[k].thread, NULL);
            cr_assert(callers[k].results[0] == 1.0 && callers[k].results[999] == 1.0);
        }
        pithp_executable_free(exe);
        end(&b);
    }
}
