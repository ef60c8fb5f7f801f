/* Steps over chunks of their runs: the same bits as over all runs at once, whatever the
 * tree, the budget and the split. */
#include "chunked_test.h"
#include "fail_allocator.h"
#include "series.h"

BOTH(chunked, is_the_same_bit_for_bit_for_any_tree_and_split) {
    int64_t split_cases = 0;
    RUNTIME;
    for (uint64_t seed = 1; seed <= (uint64_t)pt_series(120); seed++) {
        pith_scope *work = pith_scope_open_in(s);
        const whole_run w = run_whole(work, seed);
        const int64_t runs = w.runs;
        const int64_t lengths[] = {
            0, 1, 2, runs / 2 + 1, runs - 1 > 0 ? runs - 1 : 1, runs, runs + 5};
        for (int i = 0; i < 7; i++) {
            pith_chunks chunks = {0};
            const pith_chunked_options o = {.steps = w.steps,
                                            .length = lengths[i],
                                            .whole = is_table,
                                            .chunks = &chunks};
            const void *out =
                pith_run_chunked_any(work, NULL, &advance_step, w.state, w.axis, &o);
            pt_ok(work, out);
            same_bits(work, w.whole, work, out);
            const int64_t most = lengths[i] && lengths[i] < runs ? lengths[i] : runs;
            cr_assert(chunks.runs == runs && chunks.length <= most &&
                      chunks.count == (runs + most - 1) / most);
            split_cases += chunks.count > 1;
            /* again, with all that the first run has left in caches */
            same_bits(
                work, w.whole, work,
                pith_run_chunked_any(work, NULL, &advance_step, w.state, w.axis, &o));
        }
        pith_scope_close(work);
    }
    cr_assert(split_cases > 5 * pt_series(120) / 2, "%lld", (long long)split_cases);
    CLOSE;
}

typedef struct {
    int64_t shrunk;
} warned;
static void count_warning(pith_warning what, const char *message, void *closure) {
    cr_assert(message[0]);
    ((warned *)closure)->shrunk += what == PITH_WARNING_SHRUNK;
}

/* What does not fit at once is split, and has the bits of what had all the room. */
BOTH(chunked, fits_budgets_at_random) {
    int64_t split_cases = 0, refused = 0;
    warned seen = {0};
    pith_runtime *big = pt_open_on("host");
    for (uint64_t seed = 1; seed <= (uint64_t)pt_series(100); seed++) {
        pith_scope *t = pith_scope_open(big);
        int64_t runs;
        size_t bytes;
        const int axis = (int)(seed % 3) - 1;
        random_state(t, seed, axis, 2000, &runs, &bytes);
        const pith_allocator allocator = pt_allocator(&pt_default_heap);
        pith_runtime *rt = pith_open(&(pith_open_options){
            .device = "host",
            .allocator = &allocator,
            .memory = bytes * (3 + seed % 5) + 131072 * (1 + seed % 5)});
        pith_memory_set_warning_hook(rt, count_warning, &seen);
        pith_scope *s = pith_scope_open(rt);
        const void *whole = pith_apply(t, &advance_step,
                                       random_state(t, seed, axis, 2000, &runs, &bytes));
        const void *state = random_state(s, seed, axis, 2000, &runs, &bytes);
        const size_t live = pith_memory_about(rt).live;
        pith_chunks chunks;
        /* every third time a hint says that a step takes nothing */
        const pith_chunked_options o = {
            .hint = {.persistent = seed % 3 == 0}, .whole = is_table, .chunks = &chunks};
        pith_scope *work = pith_scope_open_in(s);
        const void *out =
            pith_run_chunked_any(work, NULL, &advance_step, state, axis, &o);
        if (pith_code(work) == PITH_E_MEMORY) {
            pith_clear(work);
            refused++;
        } else {
            pt_ok(work, out);
            same_bits(t, whole, work, out);
            split_cases += chunks.count > 1;
        }
        pith_scope_close(work);
        cr_assert(pith_memory_about(rt).live == live, "what a run took is given back");
        pith_scope_close(s);
        pith_close(rt);
        pith_scope_close(t);
    }
    cr_assert(split_cases > pt_series(100) / 5 && refused < 3 * pt_series(100) / 5,
              "%lld split, %lld refused", (long long)split_cases, (long long)refused);
    cr_assert(seen.shrunk > 0);
    pt_close(big);
}

/* ---- What a step may and may not do ---- */

typedef struct {
    const pith_array *x, *need, *table, *count;
    int64_t room, trouble;
} Sweep;
PITH_NODE(Sweep,
          PITH_LEAF(x, "f64[n, room]", .fill = 1),
          PITH_LEAF(need, "i64[n]"),
          PITH_LEAF(table, "f64[m]"),
          PITH_LEAF(count, "i64"),
          PITH_STATIC(room),
          PITH_STATIC(trouble))

enum { NO_TROUBLE, NO_FIX, COUNT_DEPENDS, OTHER_RUNS, OTHER_SHAPE };

static int64_t fixes, fixed_runs;

static const Sweep *grow(pith_scope *s, const Sweep *in, const pith_array *need) {
    Sweep next = *in;
    const int64_t wanted = pith_read_i64(s, need);
    fixes++;
    fixed_runs = pith_array_spec(in->x)->shape[0];
    next.room = wanted > in->room ? wanted : in->room;
    return pith_tree_resize(s, Sweep, &next, NULL);
}
PITH_FUNCTION2(grow_fix, grow, Sweep, Sweep, pith_array)

static const Sweep *sweep(pith_scope *s, const Sweep *in) {
    Sweep next = *in;
    const int64_t runs = pith_array_spec(in->x)->shape[0];
    const pith_array *need = pith_max(s, in->need, PITH_ALL_AXES);
    step_calls++;
    pith_check(s, pith_less_equal(s, need, pith_i64(s, in->room)), "need {need}",
               .args = {{"need", need}}, .fix = in->trouble == NO_FIX ? NULL : &grow_fix,
               .fix_args = need, .code = PITH_E_CAPACITY, .path = ".room");
    next.x = pith_add(s, in->x, pith_sum(s, in->table, PITH_ALL_AXES));
    next.count =
        pith_add(s, in->count,
                 in->trouble == COUNT_DEPENDS ? pith_sum(s, in->need, PITH_ALL_AXES)
                                              : pith_i64(s, 1));
    if (in->trouble == OTHER_RUNS) {
        next.x = pith_slice_array(s, next.x, 1, (pith_slice[]){PITH_SLICE(0, 1, 1)});
        next.need = pith_slice_array(s, in->need, 1, (pith_slice[]){PITH_SLICE(0, 1, 1)});
    }
    if (in->trouble == OTHER_SHAPE)
        next.table = pith_zeros(s, PITH_F64, PITH_SHAPE(runs));
    return pith_freeze(s, Sweep, &next);
}
PITH_FUNCTION1(sweep_step, sweep, Sweep, Sweep)

static bool is_sweep_table(const char *path, const pith_array *leaf, void *closure) {
    (void)leaf;
    if (closure)
        ++*(int *)closure;
    return strcmp(path, ".table") == 0;
}

static const int64_t needs[] = {1, 2, 1, 5, 1, 1, 3, 9, 1, 1};
enum { RUNS = 10 };

static const Sweep *start(pith_scope *s, int64_t room, int64_t trouble) {
    Sweep state = pith_initial(Sweep);
    state.need = pith_array_copy(s, PITH_I64, PITH_SHAPE(RUNS), needs);
    state.table = pith_ones(s, PITH_F64, PITH_SHAPE(RUNS));
    state.count = pith_i64(s, 0);
    state.room = room;
    state.trouble = trouble;
    step_calls = fixes = 0;
    return pith_make(s, Sweep, &state, NULL);
}

BOTH(chunked, a_fix_gets_the_whole_state_and_all_is_done_again) {
    RUNTIME;
    const Sweep *in = start(s, 2, 0);
    const Sweep *whole =
        pith_propagate(s, Sweep, &sweep_step, in, &(pith_propagate_options){.steps = 3});
    pt_ok(s, whole->room == 9);
    for (int64_t length = 1; length <= RUNS; length++) {
        int asked = 0;
        start(s, 2, 0);
        const Sweep *out =
            pith_run_chunked(s, Sweep, &sweep_step, in, 0,
                             &(pith_chunked_options){.steps = 3,
                                                     .length = length,
                                                     .whole = is_sweep_table,
                                                     .closure = &asked});
        pt_ok(s, out->room == 9 && pith_read_i64(s, out->count) == 3);
        same_bits(s, whole, s, out);
        cr_assert(fixes > 0 && fixed_runs == RUNS && asked > 0);
        cr_assert(in->room == 2, "the state before stays as it was");
    }
    const Sweep *lost = start(s, 2, NO_FIX);
    pt_fails(
        PITH_E_CAPACITY, s,
        pith_run_chunked(s, Sweep, &sweep_step, lost, 0,
                         &(pith_chunked_options){.length = 3, .whole = is_sweep_table}));
    pt_says("step 1");
    CLOSE;
}

BOTH(chunked, what_depends_on_the_split_is_refused) {
    RUNTIME;
    const pith_chunked_options o = {.length = 3, .whole = is_sweep_table};
    pt_fails(PITH_E_CHECK, s,
             pith_run_chunked(s, Sweep, &sweep_step, start(s, 9, COUNT_DEPENDS), 0, &o));
    cr_assert_str_eq(pt_error.path, ".count");
    pt_fails(PITH_E_SHAPE, s,
             pith_run_chunked(s, Sweep, &sweep_step, start(s, 9, OTHER_RUNS), 0, &o));
    pt_says("expected 3 runs");
    cr_assert_str_eq(pt_error.path, ".x");
    pt_fails(PITH_E_SHAPE, s,
             pith_run_chunked(s, Sweep, &sweep_step, start(s, 9, OTHER_SHAPE), 0, &o));
    pt_says("runs 9 to 9 of 10");
    cr_assert_str_eq(pt_error.path, ".table");
    CLOSE;
}

BOTH(chunked, states_that_have_no_common_runs_are_refused) {
    RUNTIME;
    const Sweep *in = start(s, 9, 0);
    pt_fails(PITH_E_SHAPE, s,
             pith_run_chunked(s, Sweep, &sweep_step, in, 1,
                              &(pith_chunked_options){.length = 3}));
    pt_says("room");
    pt_fails(PITH_E_SHAPE, s, pith_run_chunked(s, Sweep, &sweep_step, in, 5, NULL));
    pt_says("no leaf");
    const void *pair =
        pith_list_make(s, PITH_ITEMS(pith_zeros(s, PITH_F64, PITH_SHAPE(3, 2)),
                                     pith_zeros(s, PITH_F64, PITH_SHAPE(4))));
    pt_fails(PITH_E_SHAPE, s,
             pith_run_chunked_any(s, NULL, &advance_step, pair, 0, NULL));
    pt_says("expected 3 runs along axis 0");
    cr_assert_str_eq(pt_error.path, "[1]");
    pt_fails(PITH_E_ARG, s,
             pith_run_chunked(s, Sweep, &sweep_step, in, 0,
                              &(pith_chunked_options){.steps = -1}));
    pt_fails(PITH_E_ARG, s,
             pith_run_chunked(s, Sweep, &sweep_step, in, 0,
                              &(pith_chunked_options){.length = -1}));
    pt_fails(PITH_E_ARG, s, pith_run_chunked(s, Sweep, NULL, in, 0, NULL));
    pt_fails(PITH_E_ARG, s, pith_run_chunked(s, Sweep, &sweep_step, NULL, 0, NULL));
    cr_assert(pith_run_chunked(s, Sweep, NULL, in, 0, NULL)->x == NULL, "the nil record");
    pith_clear(s);
    const void *none = pith_zeros(s, PITH_F64, PITH_SHAPE(0, 3));
    step_axis = 0;
    const pith_array *out = pith_run_chunked_any(s, NULL, &advance_step, none, 0, NULL);
    pt_ok(s, out && pith_array_spec(out)->shape[0] == 0);
    CLOSE;
}

/* ---- What is left when memory is short ---- */

static const pith_array *hungry(pith_scope *s, const pith_array *x) {
    const pith_array *kept[10];
    step_calls++;
    for (int i = 0; i < 10; i++)
        kept[i] = pith_add(s, x, pith_f64(s, i));
    return pith_sub(s, kept[9], kept[0]);
}
PITH_FUNCTION1(hungry_step, hungry, pith_array, pith_array)

Test(chunked, a_step_that_takes_more_than_was_thought_is_split_further) {
    warned seen = {0};
    pith_runtime *rt =
        pith_open(&(pith_open_options){.device = "host", .memory = 6 << 20});
    pith_memory_set_warning_hook(rt, count_warning, &seen);
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = pith_zeros(s, PITH_F64, PITH_SHAPE(1000, 128)); /* 1 MiB */
    pith_chunks chunks;
    step_calls = 0;
    const pith_array *out = pith_run_chunked_any(
        s, NULL, &hungry_step, x, 0, &(pith_chunked_options){.chunks = &chunks});
    pt_ok(s, out);
    cr_assert(seen.shrunk > 0 && chunks.count > 1 && chunks.length < 1000);
    cr_assert(step_calls == chunks.count + seen.shrunk, "what is done is not done again");
    cr_assert(pith_read_f64(s, pith_min(s, out, PITH_ALL_AXES)) == 9);
    pith_drop(s, out);
    /* with the truth about it nothing is tried in vain */
    const int64_t shrunk = seen.shrunk;
    out = pith_run_chunked_any(
        s, NULL, &hungry_step, x, 0,
        &(pith_chunked_options){.hint = {.per_sample = (size_t)12 * 128 * 8}});
    pt_ok(s, out);
    cr_assert(seen.shrunk == shrunk);
    pith_scope_close(s);
    pith_close(rt);
}

/* x + 1 of five leaves, 1 MiB each. */
static const void *add_one(pith_scope *s, const void *in) {
    const pith_array *out[5];
    step_calls++;
    for (int i = 0; i < 5; i++)
        out[i] = pith_add(s, pith_child(in, i), pith_f64(s, 1));
    return pith_list_make(s, 5, (const void *const *)out);
}
PITH_FUNCTION1(add_one_step, add_one, void, void)

static const void *five_leaves(pith_scope *s) {
    const pith_array *in[5];
    for (int i = 0; i < 5; i++)
        in[i] = pith_full(s, PITH_F64, PITH_SHAPE(1024, 128), i);
    return pith_list_make(s, 5, (const void *const *)in);
}

Test(chunked, needs_room_for_the_result_and_a_chunk_not_for_both_twice) {
    pith_runtime *rt =
        pith_open(&(pith_open_options){.device = "host", .memory = 11 << 20});
    pith_scope *s = pith_scope_open(rt);
    const void *in = five_leaves(s);
    pt_ok(s, in);
    for (int compiled = 0; compiled < 2; compiled++) {
        pith_scope *inner = pith_scope_open_in(s);
        const pith_function *step =
            compiled ? pith_jit(inner, &add_one_step, NULL) : &add_one_step;
        pith_chunks chunks;
        const void *out = pith_run_chunked_any(
            inner, NULL, step, in, 0, &(pith_chunked_options){.chunks = &chunks});
        pt_ok(inner, out);
        cr_assert(chunks.count > 1 && chunks.runs == 1024);
        for (int i = 0; i < 5; i++) {
            const pith_array *x = pith_child(out, i);
            cr_assert_eq(pith_read_f64(inner, pith_min(inner, x, PITH_ALL_AXES)), i + 1);
            cr_assert_eq(pith_read_f64(inner, pith_max(inner, x, PITH_ALL_AXES)), i + 1);
        }
        pith_scope_close(inner);
    }
    cr_assert_leq(pith_memory_about(rt).peak, 11 << 20);
    pith_scope_close(s);
    pith_close(rt);
}

Test(chunked, a_result_without_room_is_refused_before_the_work_is_done) {
    pith_runtime *rt =
        pith_open(&(pith_open_options){.device = "host", .memory = 9 << 20});
    pith_scope *s = pith_scope_open(rt);
    const void *in = five_leaves(s);
    step_calls = 0;
    pt_fails(PITH_E_MEMORY, s,
             pith_run_chunked_any(s, NULL, &add_one_step, in, 0,
                                  &(pith_chunked_options){.length = 16}));
    pt_says("runs 0 to 0 of 1024");
    cr_assert_leq(step_calls, 5, "the first chunk, halved");
    pith_scope_close(s);
    pith_close(rt);
}

Test(chunked, keeps_to_the_cap_of_its_instance) {
    pith_runtime *rt =
        pith_open(&(pith_open_options){.device = "host", .memory = 64 << 20});
    pith_scope *s = pith_scope_open(rt);
    pith_instance *i =
        pith_instance_open(s, "part", &(pith_instance_options){.proportion = 0.1});
    pt_ok(s, i && pith_memory_set_limits(s, PITH_LIMITS_ACTIVE));
    pith_scope *t = pith_scope_open_on(rt, i);
    const pith_array *x = pith_zeros(t, PITH_F64, PITH_SHAPE(1000, 128));
    pith_chunks chunks;
    const pith_array *out = pith_run_chunked_any(
        t, NULL, &hungry_step, x, 0, &(pith_chunked_options){.chunks = &chunks});
    pt_ok(t, out);
    cr_assert(chunks.count > 1);
    pith_scope_close(t);
    pith_scope_close(s);
    pith_close(rt);
}

static pith_status scenario(const pith_open_options *options) {
    pith_runtime *rt = pith_open(options);
    pith_scope *s = pith_scope_open(rt);
    const Sweep *in = start(s, 2, 0);
    const Sweep *out = pith_run_chunked(
        s, Sweep, &sweep_step, in, 0,
        &(pith_chunked_options){.steps = 2, .length = 4, .whole = is_sweep_table});
    const pith_status code = pith_code(s);
    if (code == PITH_OK)
        cr_assert(out->room == 9 && pith_read_i64(s, out->count) == 2);
    pith_scope_close(s);
    pith_close(rt);
    return code;
}

BOTH(chunked, every_allocation_may_fail) {
    const pt_failures failures = pt_fail_each(scenario);
    cr_assert(failures.errors > 0);
}
