/* Attempts: steps in a child scope, whose checks are read by one wait. Flags of the
 * monitor (monitor.h) become slots of the same collector. */
#include "run/attempt.h"

#include "assert/assert_internal.h"
#include "mesh/mesh_internal.h"
#include "run/monitor.h"
#include "run/run_internal.h"

#include <string.h>

void pithp_close_quietly(pith_scope *s) {
    if (s) {
        pith_clear(s);
        pith_scope_close(s);
    }
}

void pithp_attempt_end(pithp_attempt *t) {
    if (t->log.scope)
        pithp_attempt_log_discard(&t->log);
    pithp_close_quietly(t->holder);
    pithp_close_quietly(t->scope);
    *t = (pithp_attempt){.failing = -1};
}

int64_t pithp_attempt_steps_before(const pithp_attempt *t, int64_t call) {
    int64_t steps = 0;
    for (int64_t i = 0; i < call; i++)
        steps += t->calls[i].steps;
    return steps;
}

/* ---- Steps per call ---- */

static int64_t lesser(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* Loops have the requested length or a power of two, which limits the number of programs.
 * A loop ends at the next log row, unless each step has a row. */
static int64_t length_of(const pithp_stepper *p, int64_t number, int64_t end) {
    const pithp_monitor *w = p->watch;
    if (!w || !w->launch)
        return pithp_stride_of(p);
    if (number < p->single)
        return 1;
    int64_t left = end - number, power = 1;
    if (w->row && w->row_every > 1)
        left = lesser(left, w->row_every - number % w->row_every);
    if (left >= w->launch)
        return w->launch;
    while (2 * power <= left)
        power *= 2;
    return power;
}

static pithp_row_mode rows_of(const pithp_monitor *w, int64_t number) {
    return !w->row                      ? PITHP_ROWS_NONE
           : w->row_every == 1          ? PITHP_ROWS_ALL
           : number % w->row_every == 0 ? PITHP_ROWS_LAST
                                        : PITHP_ROWS_NONE;
}

/* ---- One call ---- */

/* Add a flag as a check, whatever the level. Returns its slot; -1: none. */
static int64_t
check_flag(pith_scope *work, pithp_attempt *t, const pith_array *flag, const char *text) {
    if (!flag || pith_failed(work))
        return -1;
    const int64_t slot = pithp_collector_mark(t->collector);
    const uint8_t level = work->check_level;
    work->check_level = PITH_CHECK_DEBUG;
    pith_check_with(work, flag, &(pith_check_options){.message = text});
    work->check_level = level;
    return t->collector->count > slot ? slot : -1;
}

/* Record the monitored values until the attempt passes. */
static void watch(pith_scope *work,
                  pithp_attempt *t,
                  pithp_attempt_call *call,
                  pithp_monitored *seen) {
    call->checks = pithp_collector_mark(t->collector);
    call->finite = check_flag(work, t, seen->finite, "the state is finite");
    call->until = check_flag(work, t, seen->go_on, "the run goes on");
    if (!seen->row || pith_failed(work))
        return;
    pithp_monitored *kept = pithp_scope_allocate(t->scope, sizeof *kept);
    if (!kept)
        return;
    *kept = (pithp_monitored){.row = pith_keep_any(t->scope, seen->row),
                              .stacked = seen->stacked};
    call->seen = kept;
}

/* Run one call on a state. The result must have the state's structure. */
static const void *make_call(const pithp_stepper *p,
                             pith_scope *work,
                             const void *state,
                             int64_t number,
                             int64_t steps,
                             pithp_monitored *seen) {
    pithp_monitor *w = p->watch;
    const pithp_row_mode rows = w ? rows_of(w, number + steps) : PITHP_ROWS_NONE;
    if (w && w->launch)
        return pithp_step_loop_run(work, w, p->step, state, steps, rows, seen);
    const void *result = p->call ? p->call(work, state, p->call_closure)
                                 : pith_call(work, p->step, 1, &state);
    if (w && !pith_failed(work))
        pithp_monitor_state(work, w, result, rows, seen);
    return result;
}

static bool is_like(const pithp_stepper *p,
                    pithp_attempt *t,
                    pith_scope *work,
                    const void *state,
                    const void *result) {
    pithp_flat before;
    if (p->any_result || pithp_flat_make(work, &before, state, NULL, NULL) != PITH_OK)
        return !pith_failed(work);
    const pith_status rc = pithp_state_check(work, p->step ? p->step->name : "the step",
                                             &before, state, result, &t->changes);
    pithp_flat_end(&before);
    return rc == PITH_OK;
}

/* Release temporaries at once if more calls follow. false: the scope has an error. */
static bool run_call(const pithp_stepper *p,
                     pithp_attempt *t,
                     const void *state,
                     int64_t number,
                     bool alone) {
    pith_scope *work = alone ? t->scope : pith_scope_open_in(t->scope);
    pith_scope *holder = pith_scope_open_in(p->s);
    pithp_attempt_call *call = &t->calls[t->ran];
    pithp_monitored seen = {.row = NULL};
    const void *result = make_call(p, work, state, number, call->steps, &seen);
    if (!pith_failed(work) && is_like(p, t, work, state, result)) {
        watch(work, t, call, &seen);
        result = pith_keep_any(holder, result);
    }
    pithp_error_move(t->scope, holder);
    pithp_error_move(t->scope, work);
    if (work != t->scope)
        pith_scope_close(work);
    if (pith_failed(t->scope)) {
        pithp_close_quietly(holder);
        return false;
    }
    pithp_close_quietly(t->holder);
    t->holder = holder;
    t->result = result;
    return true;
}

/* ---- Outcome of an attempt ---- */

/* Find the call of the first failed slot. Later calls ran on its result. */
static pith_status find_failing(pithp_attempt *t) {
    bool pass;
    pith_status rc = pithp_collector_all_pass(t->scope, t->collector, &pass);
    if (rc != PITH_OK || pass)
        return rc;
    rc = pithp_collector_read(t->scope, t->collector);
    if (rc != PITH_OK)
        return rc;
    int64_t slot = 0;
    while (t->collector->slots[slot]->seen.first == 0)
        slot++;
    for (t->failing = 0; t->calls[t->failing].end <= slot;)
        t->failing++;
    const pithp_attempt_call *call = &t->calls[t->failing];
    t->trouble = slot == call->finite  ? PITHP_TROUBLE_FINITE
                 : slot == call->until ? PITHP_TROUBLE_UNTIL
                                       : PITHP_TROUBLE_CHECK;
    return PITH_OK;
}

/* Wait, and find the failure. An error after a call with failed checks is a consequence
 * and is cleared; an error in the same call stays. After an error of the wait no call is
 * known to have passed. */
static void judge(pithp_attempt *t) {
    pithp_error error;
    const bool failed = pith_failed(t->scope);
    if (failed) {
        memcpy(&error, &t->scope->error, sizeof error);
        pith_clear(t->scope);
    }
    pith_status rc = pithp_synchronise(t->scope);
    t->failing = -1;
    t->trouble = PITHP_TROUBLE_NONE;
    if (rc == PITH_OK)
        rc = find_failing(t);
    if (rc != PITH_OK) {
        t->trouble = PITHP_TROUBLE_ERROR;
        t->failing = 0;
    } else if (failed && (t->failing < 0 || t->failing == t->ran)) {
        memcpy(&t->scope->error, &error, sizeof error);
        t->trouble = PITHP_TROUBLE_ERROR;
        t->failing = t->ran;
    }
}

static bool begin(const pithp_stepper *p, pithp_attempt *t) {
    *t = (pithp_attempt){.scope = pith_scope_open_in(p->s), .failing = -1};
    if (!pithp_scope_writable(t->scope)) {
        pithp_fail(p->s, pith_code(t->scope), NULL, "%s", pith_message(t->scope));
        t->scope = NULL;
        return false;
    }
    t->collector = pithp_collector_begin(t->scope, true);
    if (t->collector && pithp_attempt_log_begin(&t->log, t->scope) == PITH_OK)
        return true;
    t->log.scope = NULL;
    pithp_error_move(p->s, t->scope);
    pithp_attempt_end(t);
    return false;
}

/* Reserve the next call record. */
static bool next_call(pithp_attempt *t, int64_t steps) {
    if (t->ran == t->room) {
        const int64_t room = t->room ? 2 * t->room : 4;
        pithp_attempt_call *calls =
            pithp_scope_allocate(t->scope, (size_t)room * sizeof *calls);
        if (!calls)
            return false;
        if (t->ran)
            memcpy(calls, t->calls, (size_t)t->ran * sizeof *calls);
        t->calls = calls;
        t->room = room;
    }
    t->calls[t->ran] = (pithp_attempt_call){.steps = steps, .finite = -1, .until = -1};
    t->begun = t->ran + 1;
    return true;
}

/* The calls; user code runs within them. */
static void
run_calls(const pithp_stepper *p, pithp_attempt *t, const void *state, int64_t end) {
    const bool joint = pithp_attempts_joint(p->s);
    int64_t number = p->number;
    pithp_decisions_nest(p->s, 1);
    while (number < end && t->ran < PITHP_ATTEMPT_CALLS) {
        const int64_t steps = length_of(p, number, end);
        if (!next_call(t, steps))
            break;
        const bool alone = t->ran == 0 && number + steps >= end;
        const bool fine = run_call(p, t, state, number, alone);
        pithp_attempt_call *call = &t->calls[t->ran];
        call->end = pithp_collector_mark(t->collector);
        if (call->finite < 0 && call->until < 0)
            call->checks = call->end;
        if (!fine)
            break;
        t->ran++;
        number += steps;
        state = t->result;
        if (!joint && p->pause && number < end && p->pause(p->closure))
            break;
    }
    pithp_decisions_nest(p->s, -1);
    pithp_collector_end(t->collector);
}

bool pithp_attempt_steps(pithp_stepper *p,
                         pithp_attempt *t,
                         const void *state,
                         int64_t end) {
    if (!begin(p, t)) {
        pithp_attempt_refuse(p->s);
        return false;
    }
    run_calls(p, t, state, end);
    if (!t->calls) {
        pithp_error_move(p->s, t->scope);
        pithp_attempt_end(t);
        pithp_attempt_refuse(p->s);
        return false;
    }
    if (t->ran < t->begun && pith_failed(t->scope))
        t->calls[t->ran].end = t->calls[t->ran].checks = t->collector->count;
    t->attempted = t->ran + pith_failed(t->scope);
    judge(t);
    if (pithp_attempts_joint(p->s))
        pithp_attempt_agree(p, t);
    return true;
}

/* ---- Committing ---- */

static pith_status write_rows(const pithp_stepper *p, pithp_attempt *t) {
    int64_t number = p->number;
    pith_status rc = pithp_attempt_log_commit(t->scope, &t->log);
    t->log.scope = NULL;
    for (int64_t i = 0; p->watch && i < t->ran && rc == PITH_OK; i++) {
        const pithp_attempt_call *call = &t->calls[i];
        if (call->seen)
            rc =
                pithp_rows_write(t->scope, p->watch, call->seen, number + 1, call->steps);
        number += call->steps;
    }
    return rc;
}

bool pithp_attempt_commit(pithp_stepper *p, pithp_attempt *t) {
    if (p->passed)
        p->passed(t->scope, t->collector, t->calls[0].checks, p->closure);
    if (pith_failed(t->scope) || write_rows(p, t) != PITH_OK)
        pithp_error_move(p->s, t->scope);
    const bool fine = pithp_attempts_joint(p->s) ? pithp_attempt_agree_commit(p, t)
                                                 : !pith_failed(p->s);
    if (fine) {
        if (p->holder)
            pith_scope_close(p->holder);
        p->holder = t->holder;
        p->state = t->result;
        p->number += pithp_attempt_steps_before(t, t->ran);
        t->holder = NULL;
    }
    pithp_attempt_end(t);
    return fine;
}
