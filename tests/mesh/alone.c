/* Cases of what one rank alone finds out: by its clock, in its fix, in its chunks, of its
 * files, or of a static that only its step changes; and of calls that it leaves out. All
 * ranks end alike. */
#include "mesh/cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    const pith_array *x, *count, *need, *buffer;
    int64_t room;
} Alone;
PITH_NODE(Alone,
          PITH_LEAF(x, "f64"),
          PITH_LEAF(count, "i64"),
          PITH_LEAF(need, "i64"),
          PITH_LEAF(buffer, "f64[room]"),
          PITH_STATIC(room, .initial = 4))

static _Thread_local int64_t rank, size;

static const Alone *start(mesh_test *t, int64_t need) {
    Alone part = pith_initial(Alone);
    rank = t->rank;
    size = t->size;
    part.x = pith_f64(t->s, 0);
    part.count = pith_i64(t->s, 0);
    part.need = pith_i64(t->s, need);
    return pith_make(t->s, Alone, &part, NULL);
}

static const Alone *add(pith_scope *s, const Alone *in) {
    Alone next = *in;
    next.x = pith_add(s, in->x, pith_psum(s, pith_f64(s, 1), NULL, NULL));
    next.count = pith_add(s, in->count, 1);
    return pith_freeze(s, Alone, &next);
}
PITH_FUNCTION1(add_step, add, Alone, Alone)

static const char *name_of(mesh_test *t, const char *name, char path[200]) {
    const char *folder = getenv("MESH_FOLDER");
    MESH_CHECK(t, folder != NULL);
    snprintf(path, 200, "%s/%s", folder ? folder : ".", name);
    return path;
}

/* ---- Statics ---- */

/* The second step resizes the state, on all ranks or on the last one. */
static _Thread_local bool all_resize;

static const Alone *resize(pith_scope *s, const Alone *in) {
    Alone next = *in;
    next.count = pith_add(s, in->count, 1);
    if (pith_read_i64(s, in->count) != 1 || (rank < size - 1 && !all_resize))
        return pith_freeze(s, Alone, &next);
    next.room = 9;
    return pith_tree_resize(s, Alone, &next, NULL);
}
PITH_FUNCTION1(resize_step, resize, Alone, Alone)

/* Capacities of ranks are equal: a step that resizes the state of one is an error of all,
 * at the end of its try. */
static void one_resizes(mesh_test *t) {
    const Alone *in = start(t, 0);
    for (int64_t every = 1; every < 6; every += 2)
        for (int64_t steps = 2; steps < 5; steps += 2) {
            const pith_propagate_options o = {.steps = steps, .check_every = every};
            all_resize = true;
            const Alone *out = pith_propagate(t->s, Alone, &resize_step, in, &o);
            MESH_CHECK(t, out && out->room == 9);
            all_resize = false;
            pith_propagate(t->s, Alone, &resize_step, in, &o);
            MESH_CHECK(t, strstr(pith_message(t->s), "of Alone (") != NULL);
            MESH_CHECK(t, mesh_fails(t, PITH_E_DIVERGED, ", room=9, steps="));
            MESH_CHECK(t, pith_agree(t->s));
        }
    pith_run(t->s, Alone, &resize_step, in, &(pith_run_options){.steps = 2});
    MESH_CHECK(t, mesh_fails(t, PITH_E_DIVERGED, "step 2: "));
    MESH_CHECK(t, pith_run_outcome(t->s).step == 1 && pith_agree(t->s));
}

/* ---- Checks of fixes ---- */

static const Alone *checked_fix(pith_scope *s, const Alone *in, const pith_array *need) {
    Alone next = *in;
    pith_check(s, pith_bool(s, rank < size - 1), "no room for {need}",
               .args = {{"need", need}}, .level = PITH_CHECK_ALWAYS);
    next.need = pith_i64(s, 0);
    return pith_freeze(s, Alone, &next);
}
PITH_FUNCTION2(checked_fix_of, checked_fix, Alone, Alone, pith_array)

static const Alone *needs(pith_scope *s, const Alone *in) {
    pith_check(s, pith_less_equal(s, in->need, pith_i64(s, 5)), "too many",
               .fix = &checked_fix_of, .fix_args = in->need);
    return add(s, in);
}
PITH_FUNCTION1(needs_step, needs, Alone, Alone)

/* A check that fails within a fix, and that nothing collects, is not lost. */
static void checks_of_fixes(mesh_test *t) {
    const Alone *in = start(t, t->rank == 0 ? 7 : 1);
    const bool own = t->rank == t->size - 1;
    pith_propagate(t->s, Alone, &needs_step, in, NULL);
    MESH_CHECK(t, strstr(pith_message(t->s), "step 1: ") != NULL);
    MESH_CHECK(t, mesh_fails(t, own ? PITH_E_CHECK : PITH_E_PEER, "no room for 7"));
    MESH_CHECK(t, pith_agree(t->s));
    const pith_result *r = pith_as_result(t->s, &needs_step, PITH_ITEMS(in));
    pith_result_fix_or_raise(t->s, r, in);
    MESH_CHECK(t, mesh_fails(t, own ? PITH_E_CHECK : PITH_E_PEER, "no room for 7"));
    MESH_CHECK(t, pith_agree(t->s));
}

/* ---- Checks that nothing has read ---- */

static const Alone *count_up(pith_scope *s, const pith_array *i, const Alone *in) {
    (void)i;
    const Alone *out = add(s, in);
    pith_check(s, pith_less(s, out->count, in->need), "{count} is too many",
               .args = {{"count", out->count}}, .level = PITH_CHECK_ALWAYS);
    return out;
}
PITH_FUNCTION2(count_up_body, count_up, Alone, pith_array, Alone)

/* They are errors of pith_agree, also if several have failed: none is left after it. */
static void unread_checks(mesh_test *t) {
    const bool own = t->rank == t->size - 1;
    for (int way = 0; way < 2; way++) {
        const Alone *in = start(t, own ? 4 : 20);
        if (way)
            pith_fori(t->s, 0, 10, &count_up_body, in);
        for (int i = 0; i < 3 && !way; i++)
            pith_check(t->s, pith_bool(t->s, !own), "4 is too many",
                       .level = PITH_CHECK_ALWAYS);
        MESH_CHECK(t, !pith_agree(t->s));
        MESH_CHECK(t, mesh_fails(t, own ? PITH_E_CHECK : PITH_E_PEER, "4 is too many"));
        for (int i = 0; i < 2; i++) {
            const pith_array *one = pith_i64(t->s, 1);
            MESH_CHECK(t,
                       pith_read_i64(t->s, pith_psum(t->s, one, NULL, NULL)) == t->size);
        }
        MESH_CHECK(t, pith_agree(t->s));
    }
}

/* ---- Files ---- */

/* Rank 0 writes files: it alone may name the status file, and save in the background. */
static void files_of_one(mesh_test *t) {
    char status[200], path[200];
    const pith_save_options background = {.background = true};
    name_of(t, "alone.status", status);
    name_of(t, "alone.json", path);
    for (int64_t writer = 0; writer < t->size; writer += t->size - 1)
        for (int64_t every = 1; every < 4; every += 2) {
            const bool writes = t->rank == writer;
            const Alone *out =
                pith_run(t->s, Alone, &add_step, start(t, 0),
                         &(pith_run_options){.steps = 4,
                                             .check_every = every,
                                             .save = path,
                                             .save_every = 2,
                                             .save_options = writes ? &background : NULL,
                                             .status_file = writes ? status : NULL});
            MESH_CHECK(t, !pith_failed(t->s));
            MESH_CHECK(t, pith_read_f64(t->s, out->x) == 4.0 * (double)t->size);
            MESH_CHECK(t, pith_agree(t->s) && access(path, F_OK) == 0);
            MESH_CHECK(t, pith_agree(t->s)); /* all have looked */
        }
}

/* ---- Chunks ---- */

typedef struct {
    const pith_array *x, *total;
} RunsOfOne;
PITH_NODE(RunsOfOne, PITH_LEAF(x, "f64[n]"), PITH_LEAF(total, "f64"))

/* The total depends on the chunk, on one rank. */
static const RunsOfOne *total_of(pith_scope *s, const RunsOfOne *in) {
    RunsOfOne next = *in;
    if (rank == size - 1)
        next.total = pith_sum(s, in->x, PITH_ALL_AXES);
    return pith_freeze(s, RunsOfOne, &next);
}
PITH_FUNCTION1(total_step, total_of, RunsOfOne, RunsOfOne)

static void chunks_of_one(mesh_test *t) {
    const bool own = t->rank == t->size - 1;
    start(t, 0);
    const RunsOfOne in = {.x = pith_iota(t->s, PITH_F64, PITH_SHAPE(6), 0),
                          .total = pith_f64(t->s, 0)};
    const RunsOfOne *state = pith_freeze(t->s, RunsOfOne, &in);
    for (int64_t steps = 1; steps < 3; steps++) {
        pith_run_chunked(t->s, RunsOfOne, &total_step, state, 0,
                         &(pith_chunked_options){.length = 2, .steps = steps});
        MESH_CHECK(t, strstr(pith_message(t->s), ".total: ") != NULL);
        MESH_CHECK(t, mesh_fails(t, own ? PITH_E_CHECK : PITH_E_PEER,
                                 "an unsplit leaf of the result differs"));
        MESH_CHECK(t, pith_agree(t->s));
    }
}

/* ---- Clocks ---- */

static const pith_array *slow_sum(pith_scope *s, const pith_array *a) {
    if (rank == 0)
        usleep(300);
    return pith_psum(s, a, NULL, NULL);
}
PITH_FUNCTION1(slow_sum_of, slow_sum, pith_array, pith_array)

static const pith_array *own_sum(pith_scope *s, const pith_array *a) {
    return pith_sum(s, a, PITH_ALL_AXES);
}
PITH_FUNCTION1(own_sum_of, own_sum, pith_array, pith_array)

static const pith_array *failing_sum(pith_scope *s, const pith_array *a) {
    const pith_array *sum = pith_psum(s, a, NULL, NULL);
    if (rank == size - 1)
        pith_fail(s, PITH_E_CALLBACK, NULL, "enough");
    return sum;
}
PITH_FUNCTION1(failing_sum_of, failing_sum, pith_array, pith_array)

/* Ranks measure a function with collectives by equally many calls, whatever their clocks
 * say, and one without on their own. */
static void measures(mesh_test *t) {
    start(t, 0);
    const pith_array *a = pith_ones(t->s, PITH_F64, PITH_SHAPE(3));
    const double seconds = 0.0005 * (double)(1 + t->rank);
    const pith_bench_options o = {.repeats = 3, .sample_seconds = seconds};
    const pith_bench_result r = pith_bench(t->s, &slow_sum_of, PITH_ITEMS(a), &o);
    MESH_CHECK(t, !pith_failed(t->s) && r.repeats == 3);
    const pith_array *calls = pith_i64(t->s, r.calls);
    MESH_CHECK(t, mesh_equal(t, pith_pmax(t->s, calls, NULL), calls));
    pith_bench(t->s, &failing_sum_of, PITH_ITEMS(a), &o);
    MESH_CHECK(t,
               mesh_fails(t, rank == size - 1 ? PITH_E_CALLBACK : PITH_E_PEER, "enough"));
    MESH_CHECK(t, pith_agree(t->s));
    if (t->rank == 0)
        MESH_CHECK(t, pith_bench(t->s, &own_sum_of, PITH_ITEMS(a), &o).calls > 0);
    MESH_CHECK(t, pith_agree(t->s));
}

/* ---- What a failed rank leaves out ---- */

static const pith_array *joint_sum(pith_scope *s, const pith_array *a) {
    return pith_psum(s, a, NULL, NULL);
}
PITH_FUNCTION1(joint_sum_of, joint_sum, pith_array, pith_array)

static void look(pith_scope *s, const void *part, int64_t k, void *closure) {
    (void)part;
    (void)k;
    (void)closure;
    pith_agree(s);
}

enum { CALLS = 5 };

static void call_one(pith_scope *s, int k, const Alone *in) {
    if (k == 0)
        pith_psum(s, in->x, NULL, NULL);
    else if (k == 1)
        pith_call(s, pith_jit(s, &joint_sum_of, NULL), PITH_ITEMS(in->x));
    else if (k == 2)
        pith_propagate(s, Alone, &add_step, in, NULL);
    else if (k == 3)
        pith_run(s, Alone, &add_step, in, &(pith_run_options){.steps = 1, .each = look});
    else
        pith_result_all_pass(s, pith_as_result(s, &add_step, PITH_ITEMS(in)));
}

/* The last rank fails before a call, and returns; the others do so when they know. */
static void return_early(mesh_test *t, int first, int fails_at) {
    pith_scope *s = t->s;
    const Alone *in = start(t, 0);
    for (int i = 0; i < CALLS && !pith_failed(s); i++) {
        if (i == fails_at && t->rank == t->size - 1)
            pith_fail(s, PITH_E_CALLBACK, NULL, "enough");
        else
            call_one(s, (first + i) % CALLS, in);
    }
}

/* Then all ranks meet in pith_agree, and go on with right numbers. */
static void meet(mesh_test *t) {
    pith_scope *s = t->s;
    MESH_CHECK(t, !pith_agree(s));
    MESH_CHECK(t, mesh_fails(t, t->rank == t->size - 1 ? PITH_E_CALLBACK : PITH_E_PEER,
                             "enough"));
    const double sum = pith_read_f64(s, pith_psum(s, pith_f64(s, 1), NULL, NULL));
    MESH_CHECK(t, sum == (double)t->size && !pith_failed(s));
}

static _Thread_local int first_call;

static void return_early_within(pith_scope *s, const void *part, int64_t k, void *test) {
    mesh_test t = *(mesh_test *)test;
    (void)part;
    t.s = s;
    return_early(&t, first_call, (int)k);
    meet(&t);
    ((mesh_test *)test)->failures += t.failures;
}

/* In any of the calls, called by itself and within a callback of a run. */
static void leaves_early(mesh_test *t) {
    for (int first = 0; first < CALLS; first++) {
        for (int at = 0; at < CALLS; at++) {
            return_early(t, first, at);
            meet(t);
        }
        first_call = first;
        pith_run(t->s, Alone, &add_step, start(t, 0),
                 &(pith_run_options){
                     .steps = CALLS - 1, .each = return_early_within, .closure = t});
        MESH_CHECK(t, !pith_failed(t->s) && pith_agree(t->s));
    }
}

const mesh_case mesh_alone_cases[] = {
    {"leaves_early", leaves_early}, {"unread_checks", unread_checks},
    {"one_resizes", one_resizes},   {"checks_of_fixes", checks_of_fixes},
    {"files_of_one", files_of_one}, {"chunks_of_one", chunks_of_one},
    {"measures", measures},         {NULL, NULL},
};
