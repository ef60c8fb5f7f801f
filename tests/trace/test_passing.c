/* pith_fori_passing and pith_scan_passing: loops that end where a check fails, call by
 * call, compiled, and compiled within other loops. */
#include "pith/pith.h"

#include "both.h"

/* Sums of rows; a sum has to stay below a bound. */
typedef struct {
    const pith_array *sum, *steps, *bound;
} Sum;
PITH_NODE(Sum,
          PITH_LEAF(sum, "i64[]"),
          PITH_LEAF(steps, "i64[]"),
          PITH_LEAF(bound, "i64[]"))
typedef struct {
    const pith_array *sum, *half;
} Seen;
PITH_NODE(Seen, PITH_LEAF(sum, "i64[]"), PITH_LEAF(half, "f32[2]"))
typedef struct {
    const Sum *carry;
    const Seen *out;
} Row;
PITH_NODE(Row, PITH_CHILD(carry, Sum), PITH_CHILD(out, Seen))
/* What a loop gives. */
typedef struct {
    const Sum *last;
    const pith_array *sums, *halves;
} Result;
PITH_NODE(Result,
          PITH_CHILD(last, Sum),
          PITH_LEAF(sums, "i64[n]"),
          PITH_LEAF(halves, "f32[n,2]"))

enum { ROWS = 12, NEVER = 1000000 };

static pith_check_level level = PITH_CHECK_DEBUG;
static int runs; /* of the body, call by call */

static void set_level(pith_runtime *rt, pith_check_level wanted) {
    level = wanted;
    pith_jit_clear(rt); /* it is no part of the key of a program */
}

static const Sum *add(pith_scope *s, const pith_array *x, const Sum *in) {
    Sum next = *in;
    runs++;
    next.sum = pith_add(s, in->sum, x);
    next.steps = pith_add(s, in->steps, pith_i64(s, 1));
    pith_check(s, pith_less(s, next.sum, in->bound), "{sum} after {x}",
               .args = {{"sum", next.sum}, {"x", x}}, .level = level);
    return pith_freeze(s, Sum, &next);
}
PITH_FUNCTION2(add_body, add, Sum, pith_array, Sum)

static const Row *add_row(pith_scope *s, const Sum *in, const pith_array *x) {
    const Sum *next = add(s, x, in);
    const pith_array *half =
        pith_mul(s, pith_cast(s, next->sum, PITH_F32), pith_f32(s, 0.5f));
    const Seen seen = {.sum = next->sum,
                       .half = pith_broadcast_to(s, half, PITH_SHAPE(2))};
    const Row row = {.carry = next, .out = pith_freeze(s, Seen, &seen)};
    return pith_freeze(s, Row, &row);
}
PITH_FUNCTION2(add_row_body, add_row, Row, Sum, pith_array)

/* ---- The loops; ranges give no rows ---- */

static const Result *of_range(pith_scope *s, const Sum *last) {
    const Result r = {.last = last,
                      .sums = pith_zeros(s, PITH_I64, PITH_SHAPE(ROWS)),
                      .halves = pith_zeros(s, PITH_F32, PITH_SHAPE(ROWS, 2))};
    return pith_freeze(s, Result, &r);
}
static const Result *fori(pith_scope *s, const Sum *in) {
    return of_range(s, pith_fori_passing(s, 1, 1 + ROWS, &add_body, in));
}
static const Result *between(pith_scope *s, const Sum *in) {
    const pith_array *one = pith_add(s, in->steps, pith_i64(s, 1)),
                     *end = pith_add(s, one, pith_i64(s, ROWS));
    return of_range(s, pith_fori_between_passing(s, one, end, &add_body, in));
}
static const Result *scan_rows(pith_scope *s, const Sum *in, bool reverse) {
    const void *outs;
    const pith_array *xs = pith_add(s, pith_arange(s, PITH_I64, ROWS), pith_i64(s, 1));
    const Sum *last =
        pith_scan_passing(s, &add_row_body, in, xs, &outs,
                          &(pith_loop_options){.reverse = reverse, .unroll = 3});
    if (pith_failed(s))
        return NULL;
    const Seen *seen = outs;
    const Result r = {.last = last, .sums = seen->sum, .halves = seen->half};
    return pith_freeze(s, Result, &r);
}
static const Result *scan(pith_scope *s, const Sum *in) {
    return scan_rows(s, in, false);
}
static const Result *scan_reverse(pith_scope *s, const Sum *in) {
    return scan_rows(s, in, true);
}
PITH_FUNCTION1(fori_function, fori, Result, Sum)
PITH_FUNCTION1(between_function, between, Result, Sum)
PITH_FUNCTION1(scan_function, scan, Result, Sum)
PITH_FUNCTION1(reverse_function, scan_reverse, Result, Sum)

/* A scan within a branch of a loop of three iterations, which is taken once. */
static const Result *leave(pith_scope *s, const Result *r) {
    (void)s;
    return r;
}
static const Result *again(pith_scope *s, const Result *r) {
    return scan(s, r->last);
}
PITH_FUNCTION1(leave_function, leave, Result, Result)
PITH_FUNCTION1(again_function, again, Result, Result)
static const Result *perhaps(pith_scope *s, const pith_array *i, const Result *r) {
    return pith_cond(s, pith_equal(s, i, pith_i64(s, 1)), &again_function,
                     &leave_function, r);
}
PITH_FUNCTION2(perhaps_body, perhaps, Result, pith_array, Result)
static const Result *within(pith_scope *s, const Sum *in) {
    return pith_fori(s, 0, 3, &perhaps_body, of_range(s, in));
}
PITH_FUNCTION1(within_function, within, Result, Sum)

static const struct {
    const pith_function *f;
    bool scans, reverse;
} loops[] = {{&fori_function, false, false},
             {&between_function, false, false},
             {&scan_function, true, false},
             {&reverse_function, true, true},
             {&within_function, true, false}};
enum { LOOPS = sizeof loops / sizeof *loops };

/* ---- What is expected ---- */

static const Sum *start(pith_scope *s, int64_t bound) {
    const Sum sum = {
        .sum = pith_i64(s, 0), .steps = pith_i64(s, 0), .bound = pith_i64(s, bound)};
    return pith_freeze(s, Sum, &sum);
}

typedef struct {
    int64_t sum, steps, sums[ROWS];
    float halves[ROWS][2];
    bool failed;
    char text[64];
} outcome;

static outcome expected(size_t loop, int64_t bound) {
    outcome o = {0};
    for (int k = 0; k < ROWS && !o.failed; k++) {
        const int i = loops[loop].reverse ? ROWS - 1 - k : k;
        o.sum += i + 1;
        o.steps++;
        if (loops[loop].scans) {
            o.sums[i] = o.sum;
            o.halves[i][0] = o.halves[i][1] = (float)o.sum / 2;
        }
        o.failed = o.sum >= bound;
        if (o.failed)
            snprintf(o.text, sizeof o.text, "%lld after %d", (long long)o.sum, i + 1);
    }
    return o;
}

static void expect_values(pith_scope *s, const Result *r, const outcome *o) {
    int64_t sums[ROWS];
    float halves[ROWS][2];
    pt_ok(s, r);
    cr_assert(pith_read_i64(s, r->last->sum) == o->sum &&
              pith_read_i64(s, r->last->steps) == o->steps);
    cr_assert(pith_read(s, r->sums, sums, sizeof sums) &&
              pith_read(s, r->halves, halves, sizeof halves));
    cr_assert_arr_eq(sums, o->sums, sizeof sums);
    cr_assert_arr_eq(halves, o->halves, sizeof halves);
}

static void expect(pith_scope *s, size_t loop, const pith_function *f, int64_t bound) {
    const outcome o = expected(loop, bound);
    const Sum *in = start(s, bound);
    runs = 0;
    const pith_result *r = pith_as_result(s, f, PITH_ITEMS(in));
    pt_ok(s, r);
    cr_assert(f != loops[loop].f || runs == o.steps, "loop %zu ran %d times", loop, runs);
    expect_values(s, pith_result_value(r), &o);
    cr_assert(pith_result_failed(s, r) == o.failed, "loop %zu, bound %lld", loop,
              (long long)bound);
    if (o.failed)
        cr_assert_str_eq(pith_assertion_message(s, pith_result_get_failed(s, r, 0)),
                         o.text);
}

/* Bounds that the first sum, a middle one, the last one and none of them reaches. */
BOTH(passing, loops_end_after_the_iteration_that_failed) {
    static const int64_t bounds[] = {1, 12, 20, 78, NEVER};
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    for (size_t loop = 0; loop < LOOPS; loop++) {
        const pith_function *compiled = pith_jit(s, loops[loop].f, NULL);
        for (size_t b = 0; b < sizeof bounds / sizeof *bounds; b++) {
            expect(s, loop, loops[loop].f, bounds[b]);
            expect(s, loop, compiled, bounds[b]);
        }
    }
    pt_ok(s);
    pith_scope_close(s);
    pt_close(rt);
}

/* Without a collector debug checks end nothing, and others are the error. */
BOTH(passing, without_a_collector_checks_of_level_always_count) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    for (size_t loop = 0; loop < LOOPS; loop++)
        for (int way = 0; way < 4; way++) {
            set_level(rt, way & 2 ? PITH_CHECK_ALWAYS : PITH_CHECK_DEBUG);
            const pith_function *f =
                way & 1 ? pith_jit(s, loops[loop].f, NULL) : loops[loop].f;
            const void *const given[] = {start(s, 12)};
            runs = 0;
            if (way & 2) {
                const outcome o = expected(loop, 12);
                pt_fails(PITH_E_CHECK, s, (pith_call(s, f, 1, given), pith_wait(s)));
                pt_says(o.text);
                cr_assert(way & 1 || runs == o.steps, "loop %zu ran %d times", loop,
                          runs);
                continue;
            }
            const outcome o = expected(loop, NEVER);
            expect_values(s, pith_call(s, f, 1, given), &o);
        }
    set_level(rt, PITH_CHECK_DEBUG);
    pt_ok(s);
    pith_scope_close(s);
    pt_close(rt);
}

/* Checks around a loop do not end it. */
BOTH(passing, loops_end_for_their_own_checks_alone) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    for (size_t loop = 0; loop < LOOPS; loop++)
        for (int way = 0; way < 2; way++) {
            const pith_function *f =
                way ? pith_jit(s, loops[loop].f, NULL) : loops[loop].f;
            const outcome o = expected(loop, NEVER);
            pith_collect_begin(s);
            pith_check(s, pith_bool(s, false), "before");
            const void *const given[] = {start(s, NEVER)};
            const Result *r = pith_call(s, f, 1, given);
            pith_check(s, pith_bool(s, false), "after");
            const pith_result *all = pith_collect_end(s, r);
            expect_values(s, r, &o);
            cr_assert(pith_result_failed(s, all) == 2);
        }
    pt_ok(s);
    pith_scope_close(s);
    pt_close(rt);
}

/* ---- Edges ---- */

static const Sum *no_iteration(pith_scope *s, const Sum *in) {
    const void *outs;
    const Sum *last = pith_fori_passing(s, 5, 5, &add_body, in);
    return pith_scan_passing(s, &add_row_body, last,
                             pith_zeros(s, PITH_I64, PITH_SHAPE(0)), &outs, NULL);
}
PITH_FUNCTION1(no_iteration_function, no_iteration, Sum, Sum)

BOTH(passing, loops_of_no_iteration_and_without_checks_are_like_others) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    for (int way = 0; way < 2; way++) {
        const pith_function *f =
            way ? pith_jit(s, &no_iteration_function, NULL) : &no_iteration_function;
        const Sum *last = pith_call(s, f, PITH_ITEMS(start(s, 0)));
        pt_ok(s, last);
        cr_assert(pith_read_i64(s, last->steps) == 0);
        set_level(rt, PITH_CHECK_OFF);
        for (size_t loop = 0; loop < LOOPS; loop++) {
            const outcome o = expected(loop, NEVER);
            const pith_function *g =
                way ? pith_jit(s, loops[loop].f, NULL) : loops[loop].f;
            const void *const given[] = {start(s, 0)};
            expect_values(s, pith_call(s, g, 1, given), &o);
        }
        set_level(rt, PITH_CHECK_DEBUG);
    }
    pt_ok(s);
    pith_scope_close(s);
    pt_close(rt);
}

BOTH(passing, errors_name_the_call) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const Sum *in = start(s, 0);
    pt_fails(PITH_E_ARG, s, pith_fori_passing(s, 0, 3, NULL, in));
    pt_says("pith_fori_passing: body: expected a function, got NULL");
    pt_fails(PITH_E_DTYPE, s,
             pith_fori_between_passing(s, pith_i64(s, 0), pith_i32(s, 3), &add_body, in));
    pt_says("pith_fori_between_passing: upper: expected i64 like lower, got i32");
    pt_fails(PITH_E_ARG, s, pith_scan_passing(s, &add_row_body, in, NULL, NULL, NULL));
    pt_says("pith_scan_passing: xs has no leaves: expected a length in the options");
    pith_scope_close(s);
    pt_close(rt);
}

Test(passing, every_failure_of_memory_is_survived) {
    setenv("PITH_JIT", "off", 1); /* a compiler in the background allocates, too */
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    for (size_t loop = 0; loop < LOOPS - 1; loop++)
        for (int way = 0; way < 2; way++) {
            const outcome o = expected(loop, 12);
            bool failed = true;
            pith_as_result(s, loops[loop].f, PITH_ITEMS(start(s, 12))); /* compiles */
            for (long long at = 1; failed && at < 6000; at += 3) {
                pith_scope *inner = pith_scope_open_in(s);
                const Sum *in = start(inner, 12);
                pith_jit_clear(rt);
                atomic_store(&pt_default_heap.fail_at,
                             atomic_load(&pt_default_heap.allocations) + at);
                const pith_function *f =
                    way ? pith_jit(inner, loops[loop].f, NULL) : loops[loop].f;
                const pith_result *r =
                    f ? pith_as_result(inner, f, PITH_ITEMS(in)) : NULL;
                const Result *value = r ? pith_result_value(r) : NULL;
                const int64_t sum = value ? pith_read_i64(inner, value->last->sum) : -1;
                failed = pith_failed(inner);
                cr_assert(failed ? pith_code(inner) == PITH_E_MEMORY : sum == o.sum,
                          "%lld: %s", at, pith_message(inner));
                atomic_store(&pt_default_heap.fail_at, 0);
                pith_clear(inner);
                pith_scope_close(inner);
                pith_clear(s);
            }
            cr_assert(!failed);
        }
    pith_scope_close(s);
    pt_close(rt);
}
