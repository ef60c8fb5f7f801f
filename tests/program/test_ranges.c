/* Loops whose iterations threads share: the same bits as one iteration after the other,
 * whatever the number of threads. */
#include "array/array_internal.h"
#include "pith_test.h"
#include "program/exec/executable.h"
#include "program/pass/pass.h"

#include <pith/pith.h>

enum { WIDE = 512, MOST = 100 };

/* ---- The loop ---- */

static const pith_array *halve(pith_scope *s, const pith_array *i, const pith_array *y) {
    return pith_add(s, pith_mul(s, y, 0.5), pith_cast(s, i, PITH_F64));
}
PITH_FUNCTION2(halve_step, halve, pith_array, pith_array, pith_array)

/* (c f64[WIDE], row f64[WIDE]) -> f64[WIDE], f64[]: fused steps, a library call, a loop.
 */
static pithp_program *body_of(pith_scope *s) {
    const int64_t n = WIDE;
    const pith_spec *spec = pithp_spec(s, PITH_F64, 1, &n);
    pithp_trace *t = pithp_trace_begin(s);
    const pith_array *c = pithp_trace_input(s, t, spec),
                     *row = pithp_trace_input(s, t, spec);
    const pith_array *y = pith_sort(s, pith_mul(s, pith_sin(s, row), c), 0, NULL);
    y = pith_fori(s, 0, 5, &halve_step, y);
    const pith_array *total = pith_sum(s, pith_mul(s, y, row), PITH_ALL_AXES);
    pt_ok(s, total);
    pithp_program_output(s, t->program, pithp_trace_value(s, t, y));
    pithp_program_output(s, t->program, pithp_trace_value(s, t, total));
    return pithp_trace_end(s, t);
}

static pithp_executable *
loop_of(pith_scope *s, int64_t length, bool concurrent, bool back) {
    const int64_t shape[2] = {length, WIDE};
    pithp_program *p = pithp_program_make(s), *body = body_of(s);
    const pithp_value in[2] = {
        pithp_program_input(s, p, pithp_spec(s, PITH_F64, 1, shape + 1)),
        pithp_program_input(s, p, pithp_spec(s, PITH_F64, 2, shape))};
    const pithp_loop_params params = {.length = length,
                                      .constants = 1,
                                      .unroll = 1,
                                      .reverse = back,
                                      .concurrent = concurrent};
    const pithp_new_instruction scan = {.primitive = PITHP_OP_SCAN,
                                        .operand_count = 2,
                                        .operands = in,
                                        .params = &params,
                                        .program_count = 1,
                                        .programs = &body};
    const pithp_value v = pithp_program_add_many(s, p, &scan);
    pt_ok(s, v >= 0);
    pithp_program_output(s, p, v);
    pithp_program_output(s, p, v + 1);
    pithp_program *optimised = pithp_program_optimise(s, p, PITHP_PASS_ALL);
    pithp_executable *x = pithp_executable_make(s, optimised, true);
    pt_ok(s, x);
    pithp_program_release(optimised);
    pithp_program_release(p);
    pithp_program_release(body);
    return x;
}

static int ranges_of(const pithp_executable *x) {
    for (int64_t k = 0; k < x->plan->step_count; k++)
        if (x->plan->steps[k].kind == PITHP_STEP_CONTROL)
            return x->plan->steps[k].ranges;
    return 0;
}

/* ---- Runs ---- */

static pith_scope *open_with(int threads, pith_runtime **rt) {
    *rt = pith_open(&(pith_open_options){.device = "host", .threads = threads});
    pith_scope *s = pith_scope_open(*rt);
    pt_ok(s);
    return s;
}

/* Ys, then totals. The runtime's executables are compiled from the second run on. */
static void run(pith_scope *s, pithp_executable *x, int64_t length, double *made) {
    double c[WIDE], *rows = malloc((size_t)length * sizeof c);
    for (int64_t i = 0; i < length * WIDE; i++)
        rows[i] = (double)(i * 7919 % 10007) / 977;
    for (int i = 0; i < WIDE; i++)
        c[i] = 1 + i * 0.25;
    const void *inputs[2] = {c, rows};
    void *outputs[2] = {made, made + length * WIDE};
    memset(made, 0xff, (size_t)length * (WIDE + 1) * sizeof *made);
    pithp_executable_run(s, x, inputs, outputs);
    pt_ok(s);
    free(rows);
}

static double expected[MOST * (WIDE + 1)], got[MOST * (WIDE + 1)];

static void compare(int64_t length, int threads, bool back) {
    const size_t bytes = (size_t)length * (WIDE + 1) * sizeof *got;
    pith_runtime *rt;
    pith_scope *s = open_with(threads, &rt);
    pithp_executable *plain = loop_of(s, length, false, back),
                     *shared = loop_of(s, length, true, back);
    const int64_t most = length < threads ? length : threads;
    cr_assert(ranges_of(plain) == 1 && ranges_of(shared) == most, "%d ranges",
              ranges_of(shared));
    run(s, plain, length, expected);
    for (int again = 0; again < 4; again++) {
        run(s, shared, length, got);
        cr_assert(memcmp(got, expected, bytes) == 0, "%d rows, %d threads, run %d",
                  (int)length, threads, again);
    }
    pithp_executable_free(plain);
    pithp_executable_free(shared);
    pith_scope_close(s);
    pith_close(rt);
}

Test(ranges, have_the_bits_of_one_iteration_after_the_other) {
    static const int64_t lengths[] = {6, 7, 20, MOST};
    for (int k = 0; k < PITHP_COUNT(lengths); k++)
        for (int threads = 1; threads <= 7; threads += 2)
            compare(lengths[k], threads, k % 2);
}

Test(ranges, are_one_where_there_is_little_work) {
    pith_runtime *rt;
    pith_scope *s = open_with(4, &rt);
    pithp_executable *x = loop_of(s, 1, true, false);
    cr_assert_eq(ranges_of(x), 1);
    run(s, x, 1, got);
    pithp_executable_free(x);
    pith_scope_close(s);
    pith_close(rt);
}

/* An executable belongs to no thread: several run it at the same time. */
typedef struct {
    pith_runtime *rt;
    pithp_executable *x;
    double made[20 * (WIDE + 1)];
} errand;
static void *run_often(void *argument) {
    errand *e = argument;
    pith_scope *s = pith_scope_open(e->rt);
    for (int k = 0; k < 20; k++)
        run(s, e->x, 20, e->made);
    pith_scope_close(s);
    return NULL;
}

Test(ranges, of_several_callers_do_not_meet) {
    enum { CALLERS = 4 };
    static errand errands[CALLERS];
    pthread_t threads[CALLERS];
    pith_runtime *rt;
    pith_scope *s = open_with(3, &rt);
    pithp_executable *x = loop_of(s, 20, true, false),
                     *plain = loop_of(s, 20, false, false);
    run(s, plain, 20, expected);
    for (int k = 0; k < CALLERS; k++) {
        errands[k].rt = rt;
        errands[k].x = x;
        cr_assert_eq(pthread_create(&threads[k], NULL, run_often, &errands[k]), 0);
    }
    for (int k = 0; k < CALLERS; k++) {
        pthread_join(threads[k], NULL);
        cr_assert(memcmp(errands[k].made, expected, sizeof errands[k].made) == 0);
    }
    pithp_executable_free(x);
    pithp_executable_free(plain);
    pith_scope_close(s);
    pith_close(rt);
}
