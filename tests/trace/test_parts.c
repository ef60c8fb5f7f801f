/* Compiled functions that are called while others are traced: how often they run, what is
 * kept of them, and that a program is the same whether a part was put in or recorded. */
#include "jit_test.h"

#include <pthread.h>

static const pith_function *inner;
static int64_t times; /* that functions below call it */

/* x, then sin(x) * 2 and so on; y is another leaf. */
static const pith_array *many(pith_scope *in, const pith_array *x, const pith_array *y) {
    for (int64_t k = 0; k < times; k++)
        x = pith_apply(in, inner, x);
    return pith_add(in, x, pith_sum(in, y, PITH_ALL_AXES));
}
PITH_FUNCTION2(many_function, many, pith_array, pith_array, pith_array)

static const pith_array *wave(pith_scope *in, const pith_array *x) {
    runs++;
    return pith_mul(in, pith_sin(in, x), pith_f64(in, 2));
}
PITH_FUNCTION1(wave_function, wave, pith_array, pith_array)

static const pith_array *vector(int64_t n) {
    return pith_arange(s, PITH_F64, n);
}
static const char *text_of(const pith_function *f, const void *a, const void *b) {
    const char *text = pith_program_text(s, f, PITH_ITEMS(a, b));
    pt_ok(s, text);
    return text;
}

/* ---- How often functions run ---- */

Test(parts, run_once_for_equal_leaves, .init = open_scope) {
    const pith_array *x = vector(3), *y = vector(5);
    times = 100;
    inner = &wave_function;
    const char *want = text_of(&many_function, x, y);
    const double value = element(pith_apply(s, &many_function, x, y), 2);
    cr_assert(runs == 200);
    inner = pith_jit(s, &wave_function, NULL);
    const pith_function *f = pith_jit(s, &many_function, NULL);
    pith_jit_clear(rt);
    cr_assert(element(pith_apply(s, f, x, y), 2) == value && runs == 201);
    pith_jit_info info = pith_jit_about(rt);
    cr_assert(info.programs == 1 && info.parts == 1);
    cr_assert(info.part_misses == 1 && info.part_hits == 99);
    cr_assert_str_eq(text_of(f, x, y), want);
    cr_assert(element(pith_apply(s, f, x, vector(6)), 2) == value + 5 && runs == 201,
              "another argument of the outer one");
    pith_jit_clear(rt);
    cr_assert_str_eq(text_of(f, x, y), want);
    cr_assert(runs == 202, "recorded again");
    pith_apply(s, f, vector(4), y);
    cr_assert(runs == 203, "its own argument");
    info = pith_jit_about(rt);
    cr_assert(info.parts == 2 && info.part_misses == 3);
    pith_apply(s, f, x, vector(7));
    pith_apply(s, f, vector(4), vector(7));
    cr_assert(runs == 203, "both are kept");
    close_scope();
}

/* ---- Only what changed is traced again ---- */

typedef struct {
    const pith_array *pairs, *cells;
} Lists;
PITH_NODE(Lists, PITH_LEAF(pairs, "f64[m]"), PITH_LEAF(cells, "f64[n]"))

static int pair_runs, cell_runs, sum_runs;
static const pith_function *on_pairs, *on_cells, *on_sum;

static const pith_array *pairs_of(pith_scope *in, const pith_array *x) {
    pair_runs++;
    return pith_apply(in, on_sum, pith_sum(in, x, PITH_ALL_AXES));
}
PITH_FUNCTION1(pairs_function, pairs_of, pith_array, pith_array)
static const pith_array *cells_of(pith_scope *in, const pith_array *x) {
    cell_runs++;
    return pith_apply(in, on_sum, pith_max(in, x, PITH_ALL_AXES));
}
PITH_FUNCTION1(cells_function, cells_of, pith_array, pith_array)
static const pith_array *sum_of(pith_scope *in, const pith_array *x) {
    sum_runs++;
    return pith_add(in, x, pith_f64(in, 1));
}
PITH_FUNCTION1(sum_function, sum_of, pith_array, pith_array)
static const pith_array *lists_of(pith_scope *in, const Lists *l) {
    runs++;
    return pith_mul(in, pith_apply(in, on_pairs, l->pairs),
                    pith_apply(in, on_cells, l->cells));
}
PITH_FUNCTION1(lists_function, lists_of, pith_array, Lists)

static double lists(const pith_function *f, int64_t pairs, int64_t cells) {
    const Lists l = {.pairs = vector(pairs), .cells = vector(cells)};
    return element(pith_apply(s, f, pith_freeze(s, Lists, &l)), 0);
}

Test(parts, are_traced_again_where_their_leaves_grew, .init = open_scope) {
    on_sum = pith_jit(s, &sum_function, NULL);
    on_pairs = pith_jit(s, &pairs_function, NULL);
    on_cells = pith_jit(s, &cells_function, NULL);
    const pith_function *f = pith_jit(s, &lists_function, NULL);
    cr_assert(lists(f, 3, 5) == 4 * 5);
    cr_assert(runs == 1 && pair_runs == 1 && cell_runs == 1 && sum_runs == 1);
    cr_assert(lists(f, 6, 5) == 16 * 5);
    cr_assert(runs == 2 && pair_runs == 2 && cell_runs == 1 && sum_runs == 1);
    cr_assert_str_eq(pith_explain_miss(s, on_pairs), "[0]: was f64[3], is f64[6]");
    cr_assert_str_eq(pith_explain_miss(s, on_cells), "cells_of: no part was cached");
    cr_assert(lists(f, 6, 7) == 16 * 7);
    cr_assert(runs == 3 && pair_runs == 2 && cell_runs == 2 && sum_runs == 1);
    cr_assert(lists(f, 3, 7) == 4 * 7);
    cr_assert(runs == 4 && pair_runs == 2 && cell_runs == 2, "what grew comes back");
    close_scope();
}

/* ---- Keys ---- */

static const pith_array *dot(pith_scope *in, const pith_array *x, const pith_array *y) {
    runs++;
    return pith_sub(in, pith_mul(in, x, y), pith_add(in, y, y));
}
PITH_FUNCTION2(dot_function, dot, pith_array, pith_array, pith_array)

static const pith_array *dots(pith_scope *in, const pith_array *x, const pith_array *y) {
    const pith_array *a = pith_apply(in, inner, x, x);
    const pith_array *b = pith_apply(in, inner, x, y);
    const pith_array *c = pith_apply(in, inner, a, a);
    return pith_add(in, c, pith_apply(in, inner, b, x));
}
PITH_FUNCTION2(dots_function, dots, pith_array, pith_array, pith_array)

Test(parts, tell_repeated_leaves_apart, .init = open_scope) {
    const pith_array *x = vector(3), *y = pith_add(s, x, pith_f64(s, 0.5));
    inner = pith_jit(s, &dot_function, NULL);
    const pith_array *got = pith_apply(s, pith_jit(s, &dots_function, NULL), x, y);
    pt_ok(s, got && runs == 2);
    cr_assert_str_eq(pith_explain_miss(s, inner),
                     "[1]: was that of another leaf, is an array of its own");
    inner = &dot_function;
    pt_ok(s, pith_tree_equal(s, got, pith_apply(s, &dots_function, x, y)));
    close_scope();
}

static const pith_array *
with_constants(pith_scope *in, const pith_array *x, const pith_array *y) {
    (void)y;
    const int64_t powers[] = {2, 3, 2, 2};
    for (int k = 0; k < 4; k++)
        x = pith_apply(in, inner, x, pith_i64(in, powers[k]));
    return x;
}
PITH_FUNCTION2(constants_function, with_constants, pith_array, pith_array, pith_array)

Test(parts, are_of_the_constants_that_they_read, .init = open_scope) {
    const pith_array *x = pith_f64(s, 2);
    inner = pith_jit(s, &power_function, NULL);
    const pith_function *f = pith_jit(s, &constants_function, NULL);
    cr_assert(pith_read_f64(s, pith_apply(s, f, x, x)) == ldexp(1, 24) && runs == 2);
    cr_assert_str_eq(pith_explain_miss(s, inner), "[1]: the constant was 2, is 3");
    inner = pith_jit(s, &power_function,
                     &(pith_jit_options){.static_arguments = PITH_ARGUMENT(1)});
    pith_apply(s,
               pith_jit(s, &constants_function, &(pith_jit_options){.keep_unused = true}),
               x, x);
    cr_assert(runs == 4, "static arguments are, too");
    pt_fails(PITH_E_TRACED, s,
             pith_apply(s, pith_jit(s, inner, NULL), x, pith_i64(s, 2)));
    close_scope();
}

static const pith_array *scaled_by(pith_scope *in, const pith_array *x, const void *by) {
    runs++;
    return pith_mul(in, x, pith_sum(in, by, PITH_ALL_AXES));
}
PITH_FUNCTION2(scaled_function, scaled_by, pith_array, pith_array, void)
static const pith_array *large;
static const pith_array *with_large(pith_scope *in, const pith_array *x) {
    x = pith_apply(in, inner, x, large);
    return pith_apply(in, inner, x, large);
}
PITH_FUNCTION1(large_function, with_large, pith_array, pith_array)

Test(parts, are_not_kept_for_large_constants, .init = open_scope) {
    large = pith_full(s, PITH_F64, PITH_SHAPE(1000), 0.5);
    inner = pith_jit(s, &scaled_function, NULL);
    const pith_array *y =
        pith_apply(s, pith_jit(s, &large_function, NULL), pith_f64(s, 1));
    cr_assert(pith_read_f64(s, y) == 250000 && runs == 2);
    cr_assert(strstr(pith_explain_miss(s, inner), "are not compared"));
    const pith_jit_info info = pith_jit_about(rt);
    cr_assert(info.parts == 0 && info.part_misses == 2);
    close_scope();
}

static const pith_array *uses_after(pith_scope *in, const pith_array *x) {
    const pith_array *y = pith_apply(in, inner, x);
    return pith_add(in, x, pith_apply(in, inner, y));
}
PITH_FUNCTION1(uses_after_function, uses_after, pith_array, pith_array)

Test(parts, donate_nothing, .init = open_scope) {
    const pith_array *x = vector(1000);
    inner = pith_jit(s, &wave_function,
                     &(pith_jit_options){.donate_arguments = PITH_ARGUMENT(0)});
    const pith_function *f = pith_jit(s, &uses_after_function, NULL);
    const double want = 1 + 2 * sin(2 * sin(1));
    for (int k = 0; k < 2; k++)
        cr_assert(fabs(pith_read_f64(s, pith_slice_at(s, pith_apply(s, f, x), 0, 1)) -
                       want) < 1e-15);
    const pith_jit_info info = pith_jit_about(rt);
    cr_assert(runs == 1 && info.donated == 0 && info.refused == 0);
    pt_ok(s, pith_apply(s, inner, vector(1000)) && runs == 2);
    cr_assert(pith_jit_about(rt).donated == 1, "where it is called by itself it does");
    close_scope();
}

/* ---- Results ---- */

static const pith_list *assorted(pith_scope *in, const pith_array *x) {
    runs++;
    const pith_array *sum = pith_add(in, x, x);
    return pith_list_make(in, PITH_ITEMS(x, sum, sum, pith_f64(in, 7),
                                         pith_full(in, PITH_F32, PITH_SHAPE(2), 3),
                                         pith_reshape(in, x, PITH_SHAPE(2, 2)), large));
}
static const void *assorted_tree(pith_scope *in, const pith_array *x) {
    return assorted(in, x);
}
PITH_FUNCTION1(assorted_function, assorted_tree, void, pith_array)

static const void *two_lists(pith_scope *in, const pith_array *x, const pith_array *y) {
    const void *a = pith_apply(in, inner, x);
    const void *b = pith_apply(in, inner, y);
    for (int k = 0; k < 2; k++) { /* constants of any origin are constants */
        const void *list = k ? b : a;
        pt_ok(in, list);
        cr_assert(pith_read_f64(in, pith_child(list, 3)) == 7);
        cr_assert(!pith_is_traced(pith_child(list, 6)));
        cr_assert(pith_is_traced(pith_child(list, 4)));
        cr_assert(pith_child(list, 0) == (k ? y : x));
    }
    return pith_list_make(in, PITH_ITEMS(a, b));
}
PITH_FUNCTION2(two_lists_function, two_lists, void, pith_array, pith_array)

Test(parts, give_what_the_function_gives, .init = open_scope) {
    const pith_array *x = vector(4), *y = pith_neg(s, x);
    large = vector(2000);
    inner = pith_jit(s, &assorted_function, NULL);
    const void *got = pith_apply(s, pith_jit(s, &two_lists_function, NULL), x, y);
    pt_ok(s, got && runs == 1);
    const size_t bytes = pith_jit_about(rt).bytes;
    cr_assert(bytes > 2000 * sizeof(double), "the constants that it holds are counted");
    for (int k = 0; k < 2; k++) {
        const void *want = assorted(s, k ? y : x);
        pt_ok(s, pith_tree_equal(s, pith_child(got, k), want));
    }
    pith_jit_clear(rt);
    cr_assert(pith_jit_about(rt).bytes == 0 && pith_jit_about(rt).parts == 0);
    close_scope();
}

/* ---- What is not kept ---- */

static const pith_array *around; /* of the function around */
static const pith_array *reads_around(pith_scope *in, const pith_array *x) {
    runs++;
    return pith_mul(in, x, around);
}
PITH_FUNCTION1(reads_around_function, reads_around, pith_array, pith_array)
static const pith_array *captures(pith_scope *in, const pith_array *x) {
    around = pith_add(in, x, x);
    const pith_array *y = pith_apply(in, inner, x);
    around = y;
    return pith_apply(in, inner, x);
}
PITH_FUNCTION1(captures_function, captures, pith_array, pith_array)

Test(parts, are_not_kept_of_what_reads_other_traced_arrays, .init = open_scope) {
    inner = pith_jit(s, &reads_around_function, NULL);
    const pith_array *y =
        pith_apply(s, pith_jit(s, &captures_function, NULL), pith_f64(s, 3));
    cr_assert(pith_read_f64(s, y) == 3 * 3 * 6 && runs == 2);
    cr_assert_str_eq(pith_explain_miss(s, inner),
                     "reads_around: it captures traced arrays that are not arguments");
    cr_assert(pith_jit_about(rt).parts == 0);
    close_scope();
}

static bool fails;
static const pith_array *may_fail(pith_scope *in, const pith_array *x) {
    runs++;
    pith_check(in, pith_less(in, x, pith_f64(in, 10)), "{x} is too much",
               .args = {{"x", x}}, .level = PITH_CHECK_ALWAYS);
    return fails ? pith_reshape(in, x, PITH_SHAPE(2)) : pith_add(in, x, x);
}
PITH_FUNCTION1(may_fail_function, may_fail, pith_array, pith_array)
static const pith_array *tries_twice(pith_scope *in, const pith_array *x) {
    fails = true;
    const pith_array *y = pith_apply(in, inner, x);
    cr_assert(!y && pith_code(in) == PITH_E_SHAPE);
    pith_clear(in);
    fails = false;
    return pith_apply(in, inner, x);
}
PITH_FUNCTION1(tries_twice_function, tries_twice, pith_array, pith_array)

Test(parts, are_not_kept_of_what_failed, .init = open_scope) {
    inner = pith_jit(s, &may_fail_function, NULL);
    const pith_function *f = pith_jit(s, &tries_twice_function, NULL);
    cr_assert(pith_read_f64(s, pith_apply(s, f, pith_f64(s, 4))) == 8 && runs == 2);
    cr_assert(pith_jit_about(rt).parts == 1);
    const pith_result *got = pith_as_result(s, f, PITH_ITEMS(pith_f64(s, 40)));
    cr_assert(pith_result_count(s, got) == 2, "those before the failure count");
    cr_assert(pith_result_failed(s, got) == 2 && runs == 4);
    close_scope();
}

static const pith_array *guesses(pith_scope *in, const pith_array *x) {
    runs++;
    const double value = pith_read_f64(in, x); /* 0, with an error */
    pith_clear(in);
    return pith_mul(in, x, pith_f64(in, value + 1));
}
PITH_FUNCTION1(guesses_function, guesses, pith_array, pith_array)
static const pith_array *calls_inner(pith_scope *in, const pith_array *x) {
    return pith_apply(in, inner, x);
}
PITH_FUNCTION1(calls_inner_function, calls_inner, pith_array, pith_array)

Test(parts, are_not_kept_of_what_cleared_a_refusal, .init = open_scope) {
    inner = pith_jit(s, &guesses_function, NULL);
    const pith_function *f = pith_jit(s, &calls_inner_function, NULL);
    for (int k = 1; k <= 2; k++) {
        pt_fails(PITH_E_TRACED, s, pith_apply(s, f, pith_f64(s, 3)));
        pt_says("pith_read_f64");
        cr_assert(runs == k && pith_jit_about(rt).parts == 0);
    }
    close_scope();
}

/* ---- What is logged ---- */

static int64_t logged;
static void note(pith_log_level level, const char *message, void *closure) {
    (void)closure;
    logged += level == PITH_LOG_DEBUG && strstr(message, "wave was traced in");
}

Test(parts, are_logged_where_they_are_traced, .init = open_scope) {
    pith_set_log_hook(rt, note, NULL);
    times = 3;
    inner = pith_jit(s, &wave_function, NULL);
    const pith_function *f = pith_jit(s, &many_function, NULL);
    pith_apply(s, f, vector(2), vector(2));
    pith_apply(s, f, vector(3), vector(2));
    pith_apply(s, f, vector(3), vector(3));
    cr_assert(logged == 2 && runs == 2);
    close_scope();
}

/* ---- Bounds ---- */

Test(parts, make_room_and_go, .init = open_scope) {
    const pith_array *y = vector(2);
    times = 2;
    inner = pith_jit(s, &wave_function, NULL);
    const pith_function *f = pith_jit(s, &many_function, NULL);
    pith_jit_set_limits(rt, 4, 0);
    for (int64_t n = 1; n <= 3; n++)
        pith_apply(s, f, vector(n), y);
    const pith_jit_info info = pith_jit_about(rt);
    cr_assert(info.parts == 2 && info.programs == 2 && info.evictions == 2);
    pith_apply(s, f, vector(3), vector(3));
    cr_assert(runs == 3, "the newest ones stay");
    pith_apply(s, f, vector(1), vector(3));
    cr_assert(runs == 4);
    pith_jit_set_limits(rt, 0, 1);
    cr_assert(pith_jit_about(rt).parts + pith_jit_about(rt).programs == 1);
    pith_jit_set_limits(rt, 1, 0);
    cr_assert(element(pith_apply(s, f, vector(5), y), 0) == 1,
              "parts that go while they are used");
    close_scope();
}

Test(parts, come_back_where_all_hashes_collide, .init = open_scope) {
    pithp_jit_hash_mask = 0;
    times = 3;
    inner = pith_jit(s, &wave_function, NULL);
    const pith_function *f = pith_jit(s, &many_function, NULL);
    for (int64_t n = 1; n <= 4; n++)
        for (int64_t m = 1; m <= 4; m++)
            pith_apply(s, f, vector(n), vector(m));
    cr_assert(runs == 4 && pith_jit_about(rt).parts == 4);
    pith_apply(s, inner, vector(3));
    cr_assert(runs == 5, "a program is no part");
    close_scope();
}

/* ---- Memory and threads ---- */

static const pith_function *inner_list;
static const pith_array *works(pith_scope *in, const pith_array *x) {
    for (int k = 0; k < 2; k++) {
        const pith_list *list = pith_apply(in, inner_list, x);
        const pith_array *sum = list ? pith_child(list, 1) : NULL;
        x = pith_apply(in, inner, sum ? sum : x);
    }
    return x;
}
PITH_FUNCTION1(works_function, works, pith_array, pith_array)

Test(parts, every_failure_of_memory_is_survived, .init = open_scope) {
    setenv("PITH_JIT", "off", 0); /* a compiler in the background allocates, too */
    const pith_array *x = pith_full(s, PITH_F64, PITH_SHAPE(2, 2), 0.5);
    large = pith_zeros(s, PITH_F64, PITH_SHAPE(1000));
    bool failed = true;
    for (long long at = 1; failed; at++) {
        pith_scope *in = pith_scope_open_in(s);
        inner = pith_jit(in, &may_fail_function, NULL);
        inner_list = pith_jit(in, &assorted_function, NULL);
        const pith_function *f = pith_jit(in, &works_function, NULL);
        pt_ok(in, f);
        atomic_store(&pt_default_heap.fail_at,
                     atomic_load(&pt_default_heap.allocations) + at);
        const pith_result *got = pith_as_result(in, f, PITH_ITEMS(x));
        failed = pith_failed(in);
        cr_assert(!failed || pith_code(in) == PITH_E_MEMORY, "%s", pith_message(in));
        atomic_store(&pt_default_heap.fail_at, 0);
        if (!failed)
            cr_assert(element(pith_result_value(got), 0) == 8 &&
                      pith_result_count(in, got) == 2 &&
                      pith_jit_about(rt).part_hits > 1);
        pith_clear(in);
        pith_scope_close(in);
        failed |= pith_failed(s);
        pith_clear(s);
        pith_jit_clear(rt);
    }
    close_scope();
}

static void *call_many(void *f) {
    pith_scope *in = pith_scope_open(rt);
    for (int64_t n = 1; n <= 12; n++) {
        const pith_array *x = pith_full(in, PITH_F64, PITH_SHAPE(1 + n % 3), 0),
                         *y = pith_full(in, PITH_F64, PITH_SHAPE(n), 1);
        const pith_array *got = pith_apply(in, f, x, y);
        double first[3];
        pith_read(in, got, first, pith_array_spec(got)->bytes);
        pt_ok(in, first[0] == (double)n);
    }
    pith_scope_close(in);
    return NULL;
}

static const pith_array *quiet_wave(pith_scope *in, const pith_array *x) {
    return pith_mul(in, pith_sin(in, x), pith_f64(in, 2));
}
PITH_FUNCTION1(quiet_wave_function, quiet_wave, pith_array, pith_array)

Test(parts, are_shared_by_threads, .init = open_scope) {
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    times = 5;
    inner = pith_jit(s, &quiet_wave_function, NULL);
    const pith_function *f = pith_jit(s, &many_function, NULL);
    pith_jit_set_limits(rt, 6, 0); /* they throw out what others use */
    for (int k = 0; k < THREADS; k++)
        cr_assert(pthread_create(&threads[k], NULL, call_many, (void *)(uintptr_t)f) ==
                  0);
    for (int k = 0; k < THREADS; k++)
        pthread_join(threads[k], NULL);
    close_scope();
}
