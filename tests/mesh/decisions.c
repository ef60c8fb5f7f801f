/* Cases of decisions: checks, fixes, errors and growth of several ranks, which all of
 * them know by the schedule of a case. */
#include "mesh/cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A buffer that must hold as many numbers as a step of this rank wants. */
typedef struct {
    const pith_array *events; /* of this rank, by step */
    const pith_array *count;  /* of steps */
    const pith_array *sum;    /* over ranks and steps */
    const pith_array *shift;  /* what the last fix of a sign was given */
    const pith_array *buffer;
    int64_t room;
} Part;
PITH_NODE(Part,
          PITH_LEAF(events, "i64[steps]"),
          PITH_LEAF(count, "i64"),
          PITH_LEAF(sum, "f64"),
          PITH_LEAF(shift, "i64"),
          PITH_LEAF(buffer, "f64[room]", .fill = -1),
          PITH_STATIC(room))

enum {
    STEPS = 12,
    ROOM = 4,
    WRONG_SIGN = 1000,
    NO_FIX = 2000,
    ERROR = 3000,
    LEAVE = 4000
};

static _Thread_local int fixes, reports;

static const Part *fix_sign(pith_scope *s, const Part *in, const pith_array *event) {
    Part next = *in;
    fixes++;
    next.shift = event;
    next.events =
        pith_where(s, pith_equal(s, in->events, event), pith_i64(s, 1), in->events);
    return pith_freeze(s, Part, &next);
}
PITH_FUNCTION2(fix_sign_of, fix_sign, Part, Part, pith_array)

/* Needs below 1000 rows; 1000 and more: a wrong sign, which a fix removes; 2000: no fix.
 */
static const Part *check(pith_scope *s, const Part *in) {
    const pith_array *event = pith_take(s, in->events, in->count, NULL);
    const pith_array *small = pith_less(s, event, pith_i64(s, WRONG_SIGN));
    const pith_array *need = pith_where(s, small, event, pith_i64(s, 0));
    pith_capacity_require(s, pith_lens_capacity(s, PITH_LENS(Part, room), in->room, 2),
                          need);
    const pith_array *sign =
        pith_logical_and(s, pith_greater_equal(s, event, pith_i64(s, WRONG_SIGN)),
                         pith_less(s, event, pith_i64(s, NO_FIX)));
    pith_check(s, pith_logical_not(s, sign), "sign {event}", .args = {{"event", event}},
               .path = ".events", .fix = &fix_sign_of, .fix_args = event);
    const pith_array *lost =
        pith_logical_and(s, pith_greater_equal(s, event, pith_i64(s, NO_FIX)),
                         pith_less(s, event, pith_i64(s, ERROR)));
    pith_check(s, pith_logical_not(s, lost), "lost {event}", .args = {{"event", event}},
               .path = ".events", .level = PITH_CHECK_ALWAYS);
    Part next = *in;
    next.count = pith_add(s, in->count, pith_i64(s, 1));
    next.buffer = pith_add(s, in->buffer, pith_cast(s, next.count, PITH_F64));
    return pith_freeze(s, Part, &next);
}
PITH_FUNCTION1(check_step, check, Part, Part)

static const Part *sum_up(pith_scope *s, const Part *checked, const pith_array *event) {
    Part next = *checked;
    const pith_array *own = pith_div(
        s, pith_cast(s, pith_add(s, event, checked->count), PITH_F64), pith_f64(s, 7));
    next.sum = pith_add(s, next.sum, pith_psum(s, own, NULL, NULL));
    return pith_freeze(s, Part, &next);
}

/* Call by call, with sums over the ranks before and after the checks. */
static const Part *
advance_by(pith_scope *s, const pith_function *checks, const Part *in) {
    const pith_array *event = pith_take(s, in->events, in->count, NULL);
    const int64_t e = pith_read_i64(s, event);
    pith_psum(s, in->count, NULL, NULL);
    if (e >= ERROR)
        pith_fail(s, PITH_E_CALLBACK, NULL, "trouble %d", (int)e);
    if (e >= LEAVE)
        return NULL; /* and leaves out what the others do */
    const void *checked = pith_call(s, checks, PITH_ITEMS(in));
    event = pith_where(s, pith_less(s, event, pith_i64(s, WRONG_SIGN)), event,
                       pith_i64(s, 1));
    return sum_up(s, checked, event);
}

/* The checks of steps; NULL: call by call. */
static _Thread_local const pith_function *compiled;

static const Part *advance(pith_scope *s, const Part *in) {
    return advance_by(s, compiled ? compiled : &check_step, in);
}
PITH_FUNCTION1(advance_step, advance, Part, Part)

/* The same in one program. */
static const Part *whole(pith_scope *s, const Part *in) {
    const pith_array *event = pith_take(s, in->events, in->count, NULL);
    pith_psum(s, in->count, NULL, NULL);
    const Part *checked = check(s, in);
    event = pith_where(s, pith_less(s, event, pith_i64(s, WRONG_SIGN)), event,
                       pith_i64(s, 1));
    return sum_up(s, checked, event);
}
PITH_FUNCTION1(whole_step, whole, Part, Part)

static _Thread_local const pith_function *stepper; /* NULL: advance_step */

static const Part *start(mesh_test *t, int64_t room, const int64_t events[STEPS]) {
    Part part = pith_initial(Part);
    part.events = pith_array_copy(t->s, PITH_I64, PITH_SHAPE(STEPS), events);
    part.count = pith_i64(t->s, 0);
    part.sum = pith_f64(t->s, 0);
    part.shift = pith_i64(t->s, 0);
    part.room = room;
    fixes = reports = 0;
    return pith_make(t->s, Part, &part, NULL);
}

static void count_report(pith_scope *s, const pith_repair *r, void *closure) {
    (void)s;
    (void)closure;
    reports += r->after != NULL;
}

static const Part *run(mesh_test *t, const Part *in, int64_t steps, int64_t every) {
    /* only rank 0 reports, and the others need no callback */
    return pith_propagate(
        t->s, Part, stepper ? stepper : &advance_step, in,
        &(pith_propagate_options){.steps = steps,
                                  .check_every = every,
                                  .repaired = t->rank ? NULL : count_report});
}

/* The numbers of two parts are the same; one may have more room. */
static bool same(mesh_test *t, const Part *a, const Part *b) {
    return pith_tree_equal(t->s, a->count, b->count) && mesh_equal(t, a->sum, b->sum) &&
           mesh_equal(t, pith_slice_at(t->s, a->buffer, 0, 0),
                      pith_slice_at(t->s, b->buffer, 0, 0));
}

static bool alike(mesh_test *t, int64_t value) {
    const int64_t most =
        pith_read_i64(t->s, pith_pmax(t->s, pith_i64(t->s, value), NULL));
    return most == value &&
           pith_read_i64(t->s, pith_pmin(t->s, pith_i64(t->s, value), NULL)) == value;
}

/* ---- Growth ---- */

static void grows(mesh_test *t) {
    int64_t events[STEPS] = {1, 2, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    for (int64_t every = 1; every < 6; every += 2) {
        events[2] = t->rank == 1 ? 9 : 2;                      /* one rank needs more */
        events[5] = t->rank == 0 ? 17 : t->rank == 1 ? 20 : 3; /* two need more */
        events[9] = 40 + t->rank;                              /* all need more */
        const Part *in = start(t, ROOM, events);
        const Part *out = run(t, in, STEPS, every);
        MESH_CHECK(t, out && pith_read_i64(t->s, out->count) == STEPS);
        const int64_t made = reports;
        MESH_CHECK(t, made == (t->rank == 0 ? 3 : 0));
        MESH_CHECK(t, out->room == 64 && alike(t, out->room));
        const Part *ample = run(t, start(t, 1000, events), STEPS, every);
        MESH_CHECK(t, ample && reports == 0 && same(t, out, ample));
        MESH_CHECK(t, in->room == ROOM);
    }
}

bool mesh_grow(mesh_test *t) {
    int64_t events[STEPS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    events[1] = t->rank == 1 ? 9 : 2;
    events[2] = t->rank == 0 ? WRONG_SIGN + 1 : 1;
    const Part *in = start(t, ROOM, events);
    const Part *out = run(t, in, 3, 2);
    return !pith_failed(t->s) && out->room == 16 && fixes == 1;
}

/* ---- Fixes of the user ---- */

/* Every rank takes the arguments of the first one that failed, also if it passed. */
static void takes_arguments_of_the_first(mesh_test *t) {
    int64_t events[STEPS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    events[3] = t->rank == 0 ? 1 : WRONG_SIGN + 7; /* the same on those that fail */
    events[6] = t->rank == t->size - 1 ? WRONG_SIGN + 8 : 1;
    for (int64_t every = 1; every < 6; every += 4) {
        const Part *out = run(t, start(t, ROOM, events), STEPS, every);
        MESH_CHECK(t, out && fixes == 2);
        MESH_CHECK(t, out && pith_read_i64(t->s, out->shift) == WRONG_SIGN + 8);
        MESH_CHECK(t, reports == (t->rank == 0 ? 2 : 0));
    }
}

/* One failure without a fix: no fix runs, and the message is the same on all ranks. */
static void one_without_a_fix(mesh_test *t) {
    int64_t events[STEPS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    events[4] = t->rank == 0 ? 9 : NO_FIX + 3;
    const Part *in = start(t, ROOM, events);
    MESH_CHECK(t, !run(t, in, STEPS, 1) || pith_failed(t->s));
    MESH_CHECK(t, fixes == 0 && in->room == ROOM);
    char text[200];
    static const char *const others[] = {"", ", also 2", ", also 2, 3", ", also 2-4"};
    snprintf(text, sizeof text, ".events: step 5: rank 1 of %d (x=1)%s: lost 2003 (",
             (int)t->size, others[t->size - 2]);
    MESH_CHECK(t, strncmp(pith_message(t->s), text, strlen(text)) == 0);
    MESH_CHECK(t, strstr(pith_message(t->s), "(decisions.c:") != NULL);
    MESH_CHECK(t, mesh_fails(t, PITH_E_CHECK, "lost 2003"));
    MESH_CHECK(t, pith_agree(t->s) && run(t, in, 4, 2));
}

static void compiled_checks(mesh_test *t) {
    compiled = pith_jit(t->s, &check_step, NULL);
    grows(t);
    takes_arguments_of_the_first(t);
    one_without_a_fix(t);
    compiled = NULL;
}

static void compiled_steps(mesh_test *t) {
    stepper = pith_jit(t->s, &whole_step, NULL);
    grows(t);
    takes_arguments_of_the_first(t);
    one_without_a_fix(t);
    stepper = NULL;
}

/* Checks of a compiled function without a collector: no rank goes on with what another
 * one's lost data gave. */
static void compiled_calls(mesh_test *t) {
    const pith_function *step = pith_jit(t->s, &whole_step, NULL);
    int64_t events[STEPS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    const Part *fine = start(t, ROOM, events);
    events[0] = t->rank == t->size - 1 ? NO_FIX + 3 : 1;
    const Part *lost = start(t, ROOM, events);
    for (int round = 0; round < 3; round++) {
        const Part *out = pith_call(t->s, step, PITH_ITEMS(fine));
        MESH_CHECK(t, out && pith_read_i64(t->s, out->count) == 1);
        pith_call(t->s, step, PITH_ITEMS(lost));
        char text[80];
        snprintf(text, sizeof text,
                 ".events: rank %d of %d (x=%d): lost 2003 (decisions.c:",
                 (int)t->size - 1, (int)t->size, (int)t->size - 1);
        MESH_CHECK(t, strncmp(pith_message(t->s), text, strlen(text)) == 0);
        pith_call(t->s, step, PITH_ITEMS(fine)); /* of a failed scope */
        MESH_CHECK(t, mesh_fails(t, PITH_E_CHECK, "lost 2003"));
        if (t->rank == 0)
            pith_fail(t->s, PITH_E_IO, NULL, "before the call");
        pith_call(t->s, step, PITH_ITEMS(fine));
        MESH_CHECK(t,
                   mesh_fails(t, t->rank ? PITH_E_PEER : PITH_E_IO, "before the call"));
    }
    MESH_CHECK(t, pith_agree(t->s));
}

static void repeats_end(mesh_test *t) {
    int64_t events[STEPS] = {1, 9, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    events[1] = t->rank == 1 ? 9 : 1;
    const Part *in = start(t, ROOM, events);
    pith_propagate(t->s, Part, stepper ? stepper : &advance_step, in,
                   &(pith_propagate_options){.steps = 3, .max_tries = -1});
    MESH_CHECK(t, strstr(pith_message(t->s), "step 2: rank 1 of ") != NULL);
    MESH_CHECK(t, mesh_fails(t, PITH_E_CAPACITY, ".room: "));
    MESH_CHECK(t, pith_agree(t->s));
}

/* ---- Results ---- */

/* The documented use of assertions in kUPS's shard_map, whose attempts raise NameError: a
 * predicate that differs between shards, and one that is reduced over them. Both are
 * repaired on all. */
static const Part *in_shards(pith_scope *s, const Part *in) {
    const pith_array *event = pith_take(s, in->events, in->count, NULL);
    const pith_array *most = pith_pmax(s, event, NULL);
    pith_capacity_require(s, pith_lens_capacity(s, PITH_LENS(Part, room), in->room, 2),
                          event);
    pith_check(s, pith_less(s, most, pith_i64(s, WRONG_SIGN)), "reduced {most}",
               .args = {{"most", most}}, .path = ".events", .fix = &fix_sign_of,
               .fix_args = most);
    return in;
}
PITH_FUNCTION1(in_shards_of, in_shards, Part, Part)

static void results(mesh_test *t) {
    int64_t events[STEPS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    events[0] = t->rank == 1 ? 9 : 2;
    const Part *in = start(t, ROOM, events);
    const pith_result *r = pith_as_result(t->s, &in_shards_of, PITH_ITEMS(in));
    MESH_CHECK(t, !pith_result_all_pass(t->s, r) && !pith_failed(t->s));
    MESH_CHECK(t, pith_result_failed(t->s, r) == (t->rank == 1));
    const Part *out = pith_result_fix_or_raise(t->s, r, in);
    MESH_CHECK(t, out && out->room == 16 && in->room == ROOM);
    r = pith_as_result(t->s, &in_shards_of, PITH_ITEMS(out));
    MESH_CHECK(t, pith_result_all_pass(t->s, r) && pith_result_raise(t->s, r) == PITH_OK);
    MESH_CHECK(t, pith_result_fix_or_raise(t->s, r, out) == out);

    events[0] = t->rank == 1 ? WRONG_SIGN + 9 : 2;
    in = start(t, 2000, events);
    r = pith_as_result(t->s, &in_shards_of, PITH_ITEMS(in));
    out = pith_result_fix_or_raise(t->s, r, in);
    MESH_CHECK(t, out && fixes == 1 && pith_read_i64(t->s, out->shift) == WRONG_SIGN + 9);
    pith_result_raise(t->s, r);
    MESH_CHECK(t, mesh_fails(t, PITH_E_CHECK, "reduced 1009"));
}

static const Part *raises(pith_scope *s, const Part *in) {
    return check(s, in);
}
PITH_FUNCTION1(raises_of, raises, Part, Part)

static void raised_results(mesh_test *t) {
    int64_t events[STEPS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    events[0] = t->rank == t->size - 1 ? NO_FIX + 1 : 2;
    const Part *in = start(t, ROOM, events);
    const pith_result *r = pith_as_result(t->s, &raises_of, PITH_ITEMS(in));
    char text[80];
    snprintf(text, sizeof text, ".events: rank %d of %d (x=%d): lost 2001 (",
             (int)t->size - 1, (int)t->size, (int)t->size - 1);
    pith_result_raise(t->s, r);
    MESH_CHECK(t, mesh_fails(t, PITH_E_CHECK, text));
    pith_result_fix_or_raise(t->s, r, in);
    MESH_CHECK(t, mesh_fails(t, PITH_E_CHECK, text));
    if (t->rank == 0)
        pith_fail(t->s, PITH_E_IO, NULL, "before the result");
    MESH_CHECK(t, !pith_result_all_pass(t->s, r));
    MESH_CHECK(t, mesh_fails(t, t->rank ? PITH_E_PEER : PITH_E_IO, "before the result"));
    MESH_CHECK(t, pith_agree(t->s));
}

/* ---- Errors ---- */

static void errors_of_one_rank(mesh_test *t) {
    for (int kind = 0; kind < 2; kind++)
        for (int64_t every = 1; every < 6; every += 2) {
            int64_t events[STEPS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
            events[3] = t->rank == 1 ? (kind ? LEAVE : ERROR) : 1;
            events[5] = t->rank == 0 ? ERROR + 5 : 1; /* which no rank comes to */
            const Part *in = start(t, ROOM, events);
            run(t, in, STEPS, every);
            MESH_CHECK(t, strstr(pith_message(t->s), "trouble ") != NULL);
            MESH_CHECK(t, t->rank == 1 || strstr(pith_message(t->s), ": rank 1 of "));
            MESH_CHECK(
                t, mesh_fails(t, t->rank == 1 ? PITH_E_CALLBACK : PITH_E_PEER, "step "));
            MESH_CHECK(t, pith_agree(t->s) && run(t, in, 3, every));
        }
}

/* ---- Loops that end at a failed check, call by call ---- */

static const pith_array *goes_on(pith_scope *s, const Part *in) {
    return pith_less(s, in->count, pith_i64(s, STEPS));
}
PITH_FUNCTION1(goes_on_of, goes_on, pith_array, Part)
static const Part *advance_at(pith_scope *s, const pith_array *i, const Part *in) {
    (void)i;
    return advance(s, in);
}
PITH_FUNCTION2(advance_at_of, advance_at, Part, pith_array, Part)
static const Part *by_while(pith_scope *s, const Part *in) {
    return pith_while_passing(s, &goes_on_of, &advance_step, in);
}
PITH_FUNCTION1(by_while_step, by_while, Part, Part)
static const Part *by_range(pith_scope *s, const Part *in) {
    return pith_fori_passing(s, 0, STEPS, &advance_at_of, in);
}
PITH_FUNCTION1(by_range_step, by_range, Part, Part)

typedef struct {
    const Part *carry;
    const pith_array *out;
} Advanced;
PITH_NODE(Advanced, PITH_CHILD(carry, Part), PITH_LEAF(out, "f64"))
static const Advanced *advance_row(pith_scope *s, const Part *in, const pith_array *x) {
    (void)x;
    const Part *next = advance(s, in);
    return pith_record(s, Advanced, .carry = next, .out = next->sum);
}
PITH_FUNCTION2(advance_row_of, advance_row, Advanced, Part, pith_array)
static const Part *by_scan(pith_scope *s, const Part *in) {
    const void *outs;
    return pith_scan_passing(s, &advance_row_of, in, in->events, &outs, NULL);
}
PITH_FUNCTION1(by_scan_step, by_scan, Part, Part)

/* Sums of every iteration bring the ranks together: a check of one of them ends the loop
 * on all, is repaired on all, or is the error of all. */
static void loops_end_together(mesh_test *t) {
    const pith_function *const loops[] = {&by_while_step, &by_range_step, &by_scan_step};
    int64_t events[STEPS] = {1, 2, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    events[2] = t->rank == 1 ? 9 : 2;
    events[5] = t->rank == 0 ? 17 : t->rank == 1 ? 20 : 3;
    events[7] = t->rank == 0 ? 1 : WRONG_SIGN + 7;
    const Part *ample = run(t, start(t, 1000, events), STEPS, 1);
    for (int k = 0; k < 3; k++) {
        stepper = loops[k];
        const Part *out = run(t, start(t, ROOM, events), 1, 1);
        MESH_CHECK(t, out && same(t, out, ample) && out->room == 32 && fixes == 1);
    }
    events[4] = t->rank == 0 ? 9 : NO_FIX + 3;
    const Part *in = start(t, ROOM, events), *wide = start(t, 1000, events);
    char text[40];
    snprintf(text, sizeof text, ".events: step 1: rank 1 of %d (x=1)", (int)t->size);
    for (int k = 0; k < 3; k++) {
        stepper = loops[k];
        run(t, in, 1, 1);
        MESH_CHECK(t, strncmp(pith_message(t->s), text, strlen(text)) == 0);
        MESH_CHECK(t, mesh_fails(t, PITH_E_CHECK, "lost 2003") && fixes == 0);
        pith_call(t->s, stepper, PITH_ITEMS(wide)); /* without a collector: of one rank */
        pith_agree(t->s);
        MESH_CHECK(t, t->rank || strstr(pith_message(t->s), "rank 1 of "));
        MESH_CHECK(t, mesh_fails(t, t->rank ? PITH_E_CHECK : PITH_E_PEER, "lost 2003"));
    }
    stepper = NULL;
    MESH_CHECK(t, pith_agree(t->s));
}

static _Thread_local int64_t limit;

/* Only later iterations have sums. */
static const Part *add_within(pith_scope *s, const Part *in) {
    Part next = *in;
    next.count = pith_add(s, in->count, pith_i64(s, 1));
    pith_check(s, pith_less(s, next.count, pith_i64(s, limit)), "too many");
    if (pith_read_i64(s, in->count) > 4)
        next.sum = pith_psum(s, in->sum, NULL, NULL);
    return pith_freeze(s, Part, &next);
}
PITH_FUNCTION1(add_within_of, add_within, Part, Part)
static const Part *add_while_passing(pith_scope *s, const Part *in) {
    return pith_while_passing(s, &goes_on_of, &add_within_of, in);
}
PITH_FUNCTION1(add_while_passing_of, add_while_passing, Part, Part)

/* A loop ends early on a rank whose check fails, and the others wait in the sum of an
 * iteration that it does not make. */
static void loops_end_early(mesh_test *t) {
    static const char *const differ[] = {
        ", on which the check at decisions.c:", "calls pith_propagate of Part (",
        "calls pith_psum of f64[] over x at decisions.c:"};
    const int64_t events[STEPS] = {0};
    const Part *in = start(t, ROOM, events);
    for (int64_t odd = 0; odd < t->size && t->size > 1; odd++) {
        limit = t->rank == odd ? 3 : STEPS + 1;
        MESH_CHECK(t, !pith_failed(t->s));
        pith_propagate_any(t->s, NULL, &add_while_passing_of, in, NULL);
        for (int k = 0; k < 3; k++)
            MESH_CHECK(t, strstr(pith_message(t->s), differ[k]));
        MESH_CHECK(t, mesh_fails(t, PITH_E_DIVERGED, "step 1: "));
        const pith_result *r =
            pith_as_result(t->s, &add_while_passing_of, PITH_ITEMS(in));
        MESH_CHECK(t, (r != NULL) == (t->rank == odd));
        pith_result_raise(t->s, r);
        MESH_CHECK(t,
                   mesh_fails(t, PITH_E_DIVERGED, ", on which a check failed, calls "));
        MESH_CHECK(t, pith_agree(t->s));
    }
}

static void refuses_on_one_rank(mesh_test *t) {
    const int64_t events[STEPS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    const Part *in = start(t, ROOM, events);
    run(t, in, t->rank == 1 ? -1 : 2, 1);
    MESH_CHECK(t, mesh_fails(t, t->rank == 1 ? PITH_E_ARG : PITH_E_PEER,
                             "steps and check_every must not be negative"));
    if (t->rank == 1)
        pith_fail(t->s, PITH_E_IO, NULL, "before the run");
    run(t, in, 2, 1);
    MESH_CHECK(t,
               mesh_fails(t, t->rank == 1 ? PITH_E_IO : PITH_E_PEER, "before the run"));
    MESH_CHECK(t, pith_agree(t->s));
}

static void structures_differ(mesh_test *t) {
    const int64_t events[STEPS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    run(t, start(t, ROOM + (t->rank == 1), events), 2, 1);
    MESH_CHECK(t, mesh_fails(t, PITH_E_DIVERGED, "rank 1 ("));
    MESH_CHECK(t, pith_agree(t->s));
}

/* ---- Schedules by chance ---- */

typedef struct {
    uint64_t state;
} chance;

static int64_t draw(chance *c, int64_t below) {
    c->state = c->state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(c->state >> 33) % below;
}

/* What must come of a schedule: the step that fails, and how. */
typedef struct {
    int64_t events[8][STEPS];
    int64_t failing, rank, kind; /* -1; the first rank; its event */
    int64_t most;                /* rows that any step needs before that */
} schedule;

static void make_schedule(schedule *p, int64_t size, chance *c) {
    const int64_t rare = 3 + draw(c, 40);
    *p = (schedule){.failing = -1, .most = ROOM};
    for (int64_t step = 0; step < STEPS; step++)
        for (int64_t rank = 0; rank < size; rank++) {
            const int64_t what = draw(c, rare) ? 0 : 1 + draw(c, 8);
            p->events[rank][step] = what == 0   ? 1
                                    : what < 5  ? 2 + draw(c, 60)
                                    : what == 5 ? WRONG_SIGN + step
                                    : what == 6 ? NO_FIX + step
                                    : what == 7 ? ERROR + step
                                                : LEAVE + step;
        }
    for (int64_t step = 0; step < STEPS && p->failing < 0; step++)
        for (int kind = ERROR; kind >= NO_FIX && p->failing < 0; kind -= ERROR - NO_FIX)
            for (int64_t rank = 0; rank < size && p->failing < 0; rank++)
                if (p->events[rank][step] >= kind) {
                    p->failing = step;
                    p->rank = rank;
                    p->kind = kind;
                }
    for (int64_t step = 0; step < (p->failing < 0 ? STEPS : p->failing); step++)
        for (int64_t rank = 0; rank < size; rank++)
            if (p->events[rank][step] < WRONG_SIGN && p->events[rank][step] > p->most)
                p->most = p->events[rank][step];
}

static void look_at(mesh_test *t, const schedule *p, const Part *in, const Part *out) {
    if (p->failing < 0) {
        int64_t room = ROOM;
        while (room < p->most)
            room *= 2;
        MESH_CHECK(t, !pith_failed(t->s) && pith_read_i64(t->s, out->count) == STEPS);
        MESH_CHECK(t, out->room == room);
        return;
    }
    const int64_t step = p->failing;
    const bool error = p->kind == ERROR, own = p->events[t->rank][step] >= ERROR;
    const pith_status code = pith_code(t->s);
    MESH_CHECK(t, code == (!error ? PITH_E_CHECK : own ? PITH_E_CALLBACK : PITH_E_PEER));
    char text[64];
    snprintf(text, sizeof text, "step %d: ", (int)step + 1);
    MESH_CHECK(t, strstr(pith_message(t->s), text) != NULL);
    bool named = error && own;
    for (int64_t rank = 0; rank < t->size; rank++) {
        snprintf(text, sizeof text, "rank %d of ", (int)rank);
        const bool fails = error ? p->events[rank][step] >= ERROR : rank == p->rank;
        named |= fails && strstr(pith_message(t->s), text);
    }
    MESH_CHECK(t, named);
    MESH_CHECK(t, in->room == ROOM);
    pith_clear(t->s);
}

static void by_chance(mesh_test *t) {
    const char *rounds = getenv("MESH_ROUNDS");
    chance c = {(uint64_t)(uintptr_t)t->closure * 977 + 3};
    for (int round = rounds ? atoi(rounds) : 4; round > 0; round--) {
        schedule p;
        make_schedule(&p, t->size, &c);
        const int64_t every = 1 + draw(&c, 6);
        const Part *in = start(t, ROOM, p.events[t->rank]);
        look_at(t, &p, in, run(t, in, STEPS, every));
        MESH_CHECK(t, pith_agree(t->s));
    }
}

const mesh_case mesh_decision_cases[] = {
    {"grows", grows},
    {"compiled_checks", compiled_checks},
    {"takes_arguments_of_the_first", takes_arguments_of_the_first},
    {"one_without_a_fix", one_without_a_fix},
    {"compiled_steps", compiled_steps},
    {"compiled_calls", compiled_calls},
    {"repeats_end", repeats_end},
    {"results", results},
    {"raised_results", raised_results},
    {"errors_of_one_rank", errors_of_one_rank},
    {"loops_end_early", loops_end_early},
    {"loops_end_together", loops_end_together},
    {"refuses_on_one_rank", refuses_on_one_rank},
    {"structures_differ", structures_differ},
    {"by_chance", by_chance},
    {NULL, NULL},
};
