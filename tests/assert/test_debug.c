/* Messages of pith_debug: what they show, and that compiled functions print each of them
 * in order, whatever becomes of the results. */
#include "debug_test.h"
#include "fail_allocator.h"

#include <pthread.h>

/* ---- What is shown ---- */

BOTH(debug, shows_values_at_once) {
    DBG_RUNTIME;
    const pith_array *x = pith_f64(s, 2.5), *i = pith_arange(s, PITH_I32, 12);
    pith_debug(s, "> nothing");
    pith_debug(s, "> x is {x}", {"x", x});
    pith_debug(s, "> {{x}} {x:.3f} {i}", {"x", pith_mul(s, x, x)}, {"i", i});
    pith_debug(s, "> {x} and {x:g}", {"x", x});
    pith_debug(s, "> {b} {e}", {"b", pith_bool(s, true)},
               {"e", pith_zeros(s, PITH_F32, PITH_SHAPE(0))});
    dbg_heard("nothing\nx is 2.5\n{x} 6.250 [0 1 2 ... 9 10 11]\n2.5 and 2.5\nTrue []\n");
    CLOSE;
}

BOTH(debug, errors_name_the_message) {
    DBG_RUNTIME;
    const pith_array *x = pith_f64(s, 1), *i = pith_i32(s, 1);
    pt_fails(PITH_E_ARG, s, pith_debug(s, "> {y}", {"x", x}));
    pt_says("pith_debug: the message \"> {y}\": at \"{y}\": there is no argument");
    pt_fails(PITH_E_ARG, s, pith_debug(s, "> {x}", {"x", x}, {"i", i}));
    pt_says("has no {i}");
    pt_fails(PITH_E_ARG, s, pith_debug(s, "> {x} {x}", {"x", x}, {"x", i}));
    pt_says("two arguments are named \"x\"");
    pt_fails(PITH_E_ARG, s, pith_debug(s, "> {x", {"x", x}));
    pt_says("a { without a }");
    pt_fails(PITH_E_ARG, s, pith_debug(s, "> }", {"x", x}));
    pt_fails(PITH_E_ARG, s, pith_debug(s, "> {index}"));
    pt_says("there is no argument");
    pt_fails(PITH_E_ARG, s, pith_debug(s, "> {i:.2f}{x:d}", {"x", x}, {"i", i}));
    pt_fails(PITH_E_ARG, s, pith_debug(s, "> {x}", {"x", NULL}));
    pt_says("x");
    pt_fails(PITH_E_ARG, s, pith_debug_every(s, -1, "> {x}", {"x", x}));
    pt_says("every is -1");
    pt_fails(PITH_E_ARG, s, pith_debug_with(s, NULL));
    pt_fails(PITH_E_ARG, s, pith_debug_with(s, &(pith_debug_options){.every = 2}));
    pith_debug_options many = {.message = "> {a}{b}{c}{d}{e}{f}{g}{h}{i}"};
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
    for (int k = 0; k < PITHP_COUNT(names); k++)
        many.args[k] = (pith_check_arg){names[k], x};
    pt_fails(PITH_E_ARG, s, pith_debug_with(s, &many));
    pt_says("at most 8");
    dbg_heard("");
    CLOSE;
}

Test(debug, every_counts_the_times_of_a_call_site) {
    DBG_RUNTIME;
    for (int k = 0; k < 7; k++)
        pith_debug_every(s, 3, "> {k}", {"k", pith_i32(s, k)});
    dbg_heard("0\n3\n6\n");
    for (int k = 0; k < 3; k++) { /* another site counts for itself */
        pith_debug_every(s, 3, "> {k}", {"k", pith_i32(s, k)});
        pith_debug(s, "> one");
    }
    dbg_heard("0\none\none\none\n");
    CLOSE;
}

Test(debug, a_missing_hook_is_no_error) {
    DBG_RUNTIME;
    pith_set_log_hook(rt, NULL, NULL);
    pith_debug(s, "> {x}", {"x", pith_f64(s, 1)});
    dbg_heard("");
    CLOSE;
}

/* ---- Compiled functions ---- */

/* Unused results, equal messages, and one of a constant. */
static const pith_array *straight(pith_scope *s, const pith_array *x) {
    const pith_array *unused = pith_sin(s, pith_mul(s, x, x));
    pith_debug(s, "> begin");
    for (int k = 0; k < 2; k++)
        pith_debug(s, "> sin {u:.3f}", {"u", unused});
    const pith_array *y = pith_add(s, x, x);
    pith_debug(s, "> y {y} of {k}", {"y", y}, {"k", pith_i32(s, 7)});
    pith_debug(s, "> x {x}", {"x", x});
    return pith_sum(s, pith_mul(s, y, x), PITH_ALL_AXES);
}
PITH_FUNCTION1(straight_step, straight, pith_array, pith_array)

BOTH(debug, compiled_functions_print_in_order) {
    dbg_all_ways(&straight_step, "begin\nsin [0.000 0.841 -0.757]\nsin [0.000 0.841 "
                                 "-0.757]\ny [0.0 2.0 4.0] of 7\nx [0.0 1.0 2.0]\n");
}

/* A part that is a program of its own, called twice. */
static const pith_array *twice(pith_scope *s, const pith_array *x) {
    const pith_function *inner = pith_jit(s, &straight_step, NULL);
    const pith_array *a = pith_apply(s, inner, x);
    pith_debug(s, "> a {a}", {"a", a});
    return pith_apply(s, inner, pith_mul(s, x, a));
}
PITH_FUNCTION1(twice_step, twice, pith_array, pith_array)

BOTH(debug, parts_print_each_time) {
    dbg_all_ways(&twice_step,
                 "begin\nsin [0.000 0.841 -0.757]\nsin [0.000 0.841 -0.757]\n"
                 "y [0.0 2.0 4.0] of 7\nx [0.0 1.0 2.0]\na 10.0\n"
                 "begin\nsin [0.000 -0.506 -0.851]\nsin [0.000 -0.506 -0.851]\n"
                 "y [0.0 20.0 40.0] of 7\nx [0.0 10.0 20.0]\n");
}

/* ---- Loops and branches ---- */

static const pith_array *
count_body(pith_scope *s, const pith_array *i, const pith_array *c) {
    pith_debug(s, "> i {i} c {c}", {"i", i}, {"c", c});
    return pith_add(s, c, c);
}
PITH_FUNCTION2(count_step, count_body, pith_array, pith_array, pith_array)
static const pith_array *in_fori(pith_scope *s, const pith_array *x) {
    const pith_array *first = pith_add(s, pith_max(s, x, PITH_ALL_AXES), pith_f64(s, 1));
    const pith_array *last = pith_fori(s, 2, 5, &count_step, first);
    pith_debug(s, "> last {last}", {"last", last});
    return x;
}
PITH_FUNCTION1(in_fori_step, in_fori, pith_array, pith_array)

BOTH(debug, fori_prints_each_iteration) {
    dbg_all_ways(&in_fori_step, "i 2 c 3.0\ni 3 c 6.0\ni 4 c 12.0\nlast 24.0\n");
}

static const pith_array *is_small(pith_scope *s, const pith_array *c) {
    pith_debug(s, "> ? {c}", {"c", c});
    return pith_less(s, c, pith_f64(s, 5));
}
PITH_FUNCTION1(is_small_step, is_small, pith_array, pith_array)
static const pith_array *grow(pith_scope *s, const pith_array *c) {
    const pith_array *square = pith_mul(s, c, c); /* of the message alone */
    pith_debug(s, "> ! {square}", {"square", square});
    return pith_add(s, c, pith_f64(s, 2));
}
PITH_FUNCTION1(grow_step, grow, pith_array, pith_array)
static const pith_array *in_while(pith_scope *s, const pith_array *x) {
    return pith_while(s, &is_small_step, &grow_step, pith_sum(s, x, PITH_ALL_AXES));
}
PITH_FUNCTION1(in_while_step, in_while, pith_array, pith_array)

BOTH(debug, while_prints_in_its_condition_too) {
    dbg_all_ways(&in_while_step, "? 3.0\n! 9.0\n? 5.0\n");
}

static const pith_array *left(pith_scope *s, const pith_array *x) {
    pith_debug(s, "> left {x}", {"x", x});
    return pith_neg(s, x);
}
PITH_FUNCTION1(left_step, left, pith_array, pith_array)
static const pith_array *right(pith_scope *s, const pith_array *x) {
    pith_debug(s, "> right {x}", {"x", x});
    return x;
}
PITH_FUNCTION1(right_step, right, pith_array, pith_array)
static const pith_array *
choose_body(pith_scope *s, const pith_array *i, const pith_array *x) {
    const pith_array *odd =
        pith_equal(s, pith_bitwise_and(s, i, pith_like(s, i, 1)), pith_like(s, i, 1));
    return pith_cond(s, odd, &left_step, &right_step, x);
}
PITH_FUNCTION2(choose_step, choose_body, pith_array, pith_array, pith_array)
static const pith_array *in_cond(pith_scope *s, const pith_array *x) {
    return pith_fori(s, 0, 4, &choose_step, x);
}
PITH_FUNCTION1(in_cond_step, in_cond, pith_array, pith_array)

BOTH(debug, only_the_branch_that_is_taken_prints) {
    dbg_all_ways(&in_cond_step, "right [0.0 1.0 2.0]\nleft [0.0 1.0 2.0]\n"
                                "right [-0.0 -1.0 -2.0]\nleft [-0.0 -1.0 -2.0]\n");
}

typedef struct {
    const pith_array *carry, *out;
} Row;
PITH_NODE(Row, PITH_LEAF(carry, "f64[]"), PITH_LEAF(out, "f64[]"))
static const Row *row_body(pith_scope *s, const pith_array *carry, const pith_array *x) {
    const Row row = {pith_add(s, carry, x), pith_mul(s, carry, x)};
    pith_debug(s, "> {c} {x}", {"c", carry}, {"x", x});
    return pith_freeze(s, Row, &row);
}
PITH_FUNCTION2(row_step, row_body, Row, pith_array, pith_array)
static const pith_array *in_scan(pith_scope *s, const pith_array *x) {
    return pith_scan(s, &row_step, pith_f64(s, 10), x, NULL,
                     &(pith_loop_options){.unroll = 3});
}
PITH_FUNCTION1(in_scan_step, in_scan, pith_array, pith_array)

BOTH(debug, scan_prints_each_row) {
    dbg_all_ways(&in_scan_step, "10.0 0.0\n10.0 1.0\n11.0 2.0\n");
}

/* An outer loop whose iterations print before and after an inner one. */
static const pith_array *
outer_body(pith_scope *s, const pith_array *i, const pith_array *c) {
    pith_debug(s, "> in {i}", {"i", i});
    const pith_array *next = pith_fori(s, 0, 2, &count_step, c);
    pith_debug(s, "> out {next}", {"next", next});
    return next;
}
PITH_FUNCTION2(outer_step, outer_body, pith_array, pith_array, pith_array)
static const pith_array *nested(pith_scope *s, const pith_array *x) {
    return pith_fori(s, 0, 2, &outer_step, pith_max(s, x, PITH_ALL_AXES));
}
PITH_FUNCTION1(nested_step, nested, pith_array, pith_array)

BOTH(debug, nested_loops_keep_the_order) {
    dbg_all_ways(&nested_step, "in 0\ni 0 c 2.0\ni 1 c 4.0\nout 8.0\n"
                               "in 1\ni 0 c 8.0\ni 1 c 16.0\nout 32.0\n");
}

/* ---- Every n-th ---- */

static const pith_array *
rare_body(pith_scope *s, const pith_array *i, const pith_array *c) {
    pith_debug_every(s, 4, "> at {i}", {"i", i});
    return pith_add(s, c, pith_f64(s, 1));
}
PITH_FUNCTION2(rare_step, rare_body, pith_array, pith_array, pith_array)
static const pith_array *rare(pith_scope *s, const pith_array *x) {
    return pith_fori(s, 0, 10, &rare_step, x);
}
PITH_FUNCTION1(rare_loop, rare, pith_array, pith_array)

Test(debug, every_counts_on_from_call_to_call) {
    static const char *const ways[] = {"eager", "off", "wait"};
    for (int k = 0; k < PITHP_COUNT(ways); k++) {
        setenv("PITH_JIT", ways[k], 1);
        DBG_RUNTIME;
        const pith_array *x = pith_f64(s, 0);
        const pith_function *f = pith_jit(s, &rare_loop, NULL);
        for (int time = 0; time < 2; time++)
            pith_apply(s, f, x);
        /* another shape is another program of the same call site */
        pith_apply(s, f, pith_zeros(s, PITH_F64, PITH_SHAPE(2)));
        pt_ok(s);
        dbg_heard("at 0\nat 4\nat 8\nat 2\nat 6\nat 0\nat 4\nat 8\n");
        CLOSE;
    }
}

/* ---- What it does not change ---- */

static const pith_array *plain(pith_scope *s, const pith_array *x) {
    return pith_mul(s, pith_sin(s, x), pith_exp(s, pith_neg(s, x)));
}
PITH_FUNCTION1(plain_step, plain, pith_array, pith_array)
static const pith_array *chatty(pith_scope *s, const pith_array *x) {
    const pith_array *a = pith_sin(s, x), *b = pith_exp(s, pith_neg(s, x));
    pith_debug(s, "> {a} {b}", {"a", a}, {"b", b});
    return pith_mul(s, a, b);
}
PITH_FUNCTION1(chatty_step, chatty, pith_array, pith_array)

BOTH(debug, results_keep_their_bits) {
    DBG_RUNTIME;
    const pith_array *x = pith_div(s, pith_arange(s, PITH_F64, 5000), pith_f64(s, 777));
    const pith_function *a = pith_jit(s, &plain_step, NULL);
    const pith_function *b = pith_jit(s, &chatty_step, NULL);
    for (int k = 0; k < 4; k++) {
        const pith_array *u = pith_apply(s, a, x);
        const pith_array *v = pith_apply(s, b, x);
        double one[5000], other[5000];
        cr_assert(pith_read(s, u, one, sizeof one) &&
                  pith_read(s, v, other, sizeof other));
        cr_assert_eq(memcmp(one, other, sizeof one), 0);
    }
    cr_assert_eq(dbg_count, 4);
    CLOSE;
}

static const pith_array *fails(pith_scope *s, const pith_array *x) {
    pith_check(s, pith_less(s, x, pith_f64(s, 0)), "no", .level = PITH_CHECK_ALWAYS);
    pith_debug(s, "> {x}", {"x", x});
    return x;
}
PITH_FUNCTION1(fails_step, fails, pith_array, pith_array)

/* A message neither reports a check that failed before it nor hides it. */
BOTH(debug, checks_stay_as_they_are) {
    DBG_RUNTIME;
    const pith_array *x = pith_f64(s, 1);
    const pith_result *r = pith_as_result(s, pith_jit(s, &fails_step, NULL), ARGS(x));
    pt_ok(s, r);
    cr_assert_eq(pith_result_count(s, r), 1);
    cr_assert_eq(pith_result_failed(s, r), 1);
    dbg_heard("1.0\n");
    CLOSE;
}

/* ---- Programs ---- */

Test(debug, the_text_of_a_program_shows_it) {
    DBG_RUNTIME;
    const pith_array *x = pith_f64(s, 1);
    const char *text = pith_program_text(s, &chatty_step, ARGS(x));
    pt_ok(s, text);
    cr_assert(strstr(text, "debug %") && strstr(text, "> {a} {b}"), "%s", text);
    dbg_heard(""); /* nothing was run */
    CLOSE;
}

Test(debug, abstract_calls_print_nothing) {
    DBG_RUNTIME;
    const pith_array *x = pith_f64(s, 1);
    pt_ok(s, pith_eval_shape(s, &chatty_step, ARGS(x)));
    dbg_heard("");
    CLOSE;
}

/* ---- Short memory, and threads ---- */

/* What cannot be printed for want of memory shows the text, or is an error. */
static pith_status scenario(const pith_open_options *options) {
    pith_runtime *rt = pith_open(options);
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = NULL, *y = NULL;
    const pith_function *f = NULL;
    pith_set_log_hook(rt, dbg_hear, NULL);
    dbg_clear();
    pt_again(s, x = pith_arange(s, PITH_F64, 3));
    if (x && !pith_failed(s))
        pith_debug_every(s, 2, "> {x}", {"x", x});
    if (x && !pith_failed(s))
        pt_again(s, f = pith_jit(s, &twice_step, NULL));
    if (f)
        pt_again(s, y = pith_apply(s, f, x));
    const pith_status code = pith_code(s);
    pith_scope_close(s);
    pith_close(rt);
    return code;
}

Test(debug, memory_may_be_short_anywhere) {
    setenv("PITH_JIT", "off", 1);
    const pt_failures f = pt_fail_each(scenario);
    cr_assert(f.allocations > 5 && f.errors > 0, "%d, %d", f.allocations, f.errors);
}

enum { THREADS = 4, ROUNDS = 100 };
static atomic_int heard_in_threads;
static void count_line(pith_log_level level, const char *message, void *closure) {
    (void)closure;
    heard_in_threads += level == PITH_LOG_DEBUG && strncmp(message, "> at", 4) == 0;
}

static void *call_often(void *closure) {
    pith_scope *s = pith_scope_open(closure);
    const pith_array *x = pith_f64(s, 0);
    const pith_function *f = pith_jit(s, &rare_loop, NULL);
    for (int k = 0; k < ROUNDS; k++)
        pith_apply(s, f, x);
    const bool fine = !pith_failed(s);
    pith_scope_close(s);
    return fine ? closure : NULL;
}

/* 10 times a call, and each fourth of all is printed. */
Test(debug, threads_count_together) {
    DBG_RUNTIME;
    pthread_t threads[THREADS];
    pith_set_log_hook(rt, count_line, NULL);
    for (int k = 0; k < THREADS; k++)
        cr_assert_eq(pthread_create(&threads[k], NULL, call_often, rt), 0);
    for (int k = 0; k < THREADS; k++) {
        void *fine = NULL;
        pthread_join(threads[k], &fine);
        cr_assert(fine);
    }
    cr_assert_eq(heard_in_threads, THREADS * ROUNDS * 10 / 4);
    CLOSE;
}
