/* Steps as transactions: a step is tried in a scope of its own, and lasts only where its
 * checks pass; where they do not, the state before it is repaired and the step repeated.
 *
 * A try of several steps looks at their checks once. Where one fails, the steps before it
 * are done again and committed, and what is left begins with the failing one. */
#include "base/under_way.h"
#include "run/run_internal.h"
#include "run/try.h"

#include <string.h>

/* Steps from a state, in one collector. */
typedef struct {
    pith_scope *scope; /* child of the stepper's, with temporaries and assertions */
    pithp_collector *collector;
    pithp_try_log log;
    int64_t *ends;      /* slots at the end of each step */
    int64_t ran;        /* steps */
    pith_scope *holder; /* of the result; NULL: none */
    const void *result;
    int64_t failing; /* the first step that failed, from 0; -1: all passed */
    bool error;      /* by an error, which the scope has; else by assertions */
} attempt;

/* ---- Trying ---- */

/* Closing a scope must not tell anybody of an error that does not count. */
static void close_quietly(pith_scope *s) {
    if (s) {
        pith_clear(s);
        pith_scope_close(s);
    }
}

static void end_attempt(attempt *t) {
    if (t->log.scope)
        pithp_try_log_discard(&t->log);
    close_quietly(t->holder);
    close_quietly(t->scope);
    *t = (attempt){0};
}

/* One step; its temporaries go at once where others follow. false: the scope has an
 * error. */
static bool run_one(const pithp_stepper *p, attempt *t, const void *state, bool alone) {
    pith_scope *work = alone ? t->scope : pith_scope_open_in(t->scope);
    pith_scope *holder = pith_scope_open_in(p->s);
    const void *result = p->call ? p->call(work, state, p->call_closure)
                                 : pith_call(work, p->step, 1, &state);
    if (!pith_failed(work))
        result = pith_keep_any(holder, result);
    pithp_error_move(t->scope, holder);
    pithp_error_move(t->scope, work);
    if (work != t->scope)
        pith_scope_close(work);
    if (pith_failed(t->scope)) {
        close_quietly(holder);
        return false;
    }
    close_quietly(t->holder);
    t->holder = holder;
    t->result = result;
    return true;
}

/* The step that a failed slot belongs to; those behind it ran on what it left. */
static pith_status find_failing(attempt *t) {
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
    for (t->failing = 0; t->ends[t->failing] <= slot;)
        t->failing++;
    return PITH_OK;
}

/* What was enqueued has run, and it is known what failed. An error in or behind a step
 * whose checks failed is what becomes of that; an error in the same step stays. */
static void judge(attempt *t) {
    pithp_error error;
    const bool failed = pith_failed(t->scope);
    if (failed) {
        memcpy(&error, &t->scope->error, sizeof error);
        pith_clear(t->scope);
    }
    pith_status rc = pithp_synchronise(t->scope);
    t->failing = -1;
    if (rc == PITH_OK)
        rc = find_failing(t);
    if (rc != PITH_OK) {
        t->error = true;
        t->failing = t->ran;
    } else if (failed && (t->failing < 0 || t->failing == t->ran)) {
        memcpy(&t->scope->error, &error, sizeof error);
        t->error = true;
        t->failing = t->ran;
    }
}

static bool begin_attempt(const pithp_stepper *p, attempt *t, int64_t count) {
    *t = (attempt){.scope = pith_scope_open_in(p->s)};
    if (!pithp_scope_writable(t->scope)) {
        pithp_fail(p->s, pith_code(t->scope), NULL, "%s", pith_message(t->scope));
        t->scope = NULL;
        return false;
    }
    t->ends = pithp_scope_allocate(t->scope, (size_t)(count + 1) * sizeof *t->ends);
    t->collector = t->ends ? pithp_collector_begin(t->scope, true) : NULL;
    if (!t->collector) {
        pithp_error_move(p->s, t->scope);
        end_attempt(t);
        return false;
    }
    pithp_try_log_begin(&t->log, t->scope);
    return true;
}

/* false: s has the error, and there is nothing to end. */
static bool
try_steps(const pithp_stepper *p, attempt *t, const void *state, int64_t count) {
    if (!begin_attempt(p, t, count))
        return false;
    while (t->ran < count && run_one(p, t, state, count == 1)) {
        t->ends[t->ran++] = pithp_collector_mark(t->collector);
        state = t->result;
    }
    pithp_collector_end(t->collector);
    if (t->ran < count)
        t->ends[t->ran] = t->collector->count;
    judge(t);
    return true;
}

/* ---- Committing ---- */

static int64_t stride_of(const pithp_stepper *p) {
    return p->stride ? p->stride : 1;
}

/* What passed lasts. false: s has the error of writing its rows. */
static bool commit(pithp_stepper *p, attempt *t) {
    if (pithp_try_log_commit(t->scope, &t->log) != PITH_OK)
        pithp_error_move(p->s, t->scope);
    t->log.scope = NULL;
    const bool fine = !pith_failed(p->s);
    if (fine) {
        if (p->holder)
            pith_scope_close(p->holder);
        p->holder = t->holder;
        p->state = t->result;
        p->number += t->ran * stride_of(p);
        t->holder = NULL;
    }
    end_attempt(t);
    return fine;
}

/* ---- Repairing ---- */

/* A state on its way to be repaired. */
typedef struct {
    pith_scope *scope; /* of the repaired state; NULL: it is the committed one */
    const void *state;
    int64_t repeats; /* of the step that comes first */
} candidate;

static void forget(candidate *c) {
    close_quietly(c->scope);
    c->scope = NULL;
}

/* Tell the caller of a repair. */
static bool tell(const pithp_stepper *p, pith_scope *s, const pith_repair *repair) {
    if (!p->report)
        return true;
    pith_scope *work = pith_scope_open_in(s);
    p->report(work, repair, p->closure);
    pithp_synchronise(work);
    pith_scope_close(work);
    return !pith_failed(s);
}

/* Apply the fixes of all that failed in the first step; the error of s is set on failure.
 */
static bool
repair(const pithp_stepper *p, const attempt *t, candidate *c, pith_scope *fixed) {
    pithp_outcome outcome;
    if (pithp_outcome_read(fixed, t->scope, t->collector, t->ends[t->failing], &outcome))
        return false;
    for (int64_t i = 0; i < outcome.failed_count; i++)
        if (!pithp_assertion_has_fix(outcome.failed[i]))
            return pithp_assertion_raise(fixed, outcome.failed[i]), false;
    if (c->repeats == p->max_repeats) {
        pithp_assertion_raise(fixed, outcome.failed[0]);
        if (c->repeats)
            pithp_error_context(fixed, "it still fails after %lld repeat%s",
                                (long long)c->repeats, c->repeats == 1 ? "" : "s");
        return false;
    }
    c->repeats++;
    for (int64_t i = 0; i < outcome.failed_count; i++) {
        const pith_repair one = {
            .assertion = outcome.failed[i],
            .before = c->state,
            .after = pithp_assertion_fix(fixed, outcome.failed[i], c->state),
            .step = p->number + 1,
            .repeat = c->repeats};
        if (pith_failed(fixed) || !tell(p, fixed, &one))
            return false;
        c->state = one.after;
    }
    return true;
}

/* The state to try next, in the place of the candidate. */
static bool repair_in_scope(const pithp_stepper *p, const attempt *t, candidate *c) {
    pith_scope *fixed = pith_scope_open_in(p->s);
    candidate next = {.scope = fixed, .state = c->state, .repeats = c->repeats};
    bool fine = pithp_scope_writable(fixed) && repair(p, t, &next, fixed);
    if (fine && c->scope) /* what the last repair made goes with its scope */
        fine = pithp_keep_slots(fixed, 1, &next.state) == PITH_OK;
    if (!fine) {
        if (pithp_scope_writable(fixed))
            pithp_error_move(p->s, fixed);
        else
            pithp_fail(p->s, pith_code(fixed), NULL, "%s", pith_message(fixed));
        forget(&next);
        return false;
    }
    forget(c);
    *c = next;
    return true;
}

/* ---- A window of steps ---- */

/* Steps before a failing one passed: do them again, and commit them. */
static bool commit_before(pithp_stepper *p, candidate *c, int64_t count) {
    attempt again;
    if (!try_steps(p, &again, c->state, count))
        return false;
    if (again.failing >= 0) {
        if (again.error)
            pithp_error_move(p->s, again.scope);
        else
            pithp_fail(p->s, PITH_E_CALLBACK, NULL,
                       "a step that passed fails when it is done again: it depends on "
                       "more than its state");
        end_attempt(&again);
        return false;
    }
    if (!commit(p, &again))
        return false;
    forget(c);
    *c = (candidate){.state = p->state};
    return true;
}

/* What is to be done about a try that failed; false: s has the error. */
static bool recover(pithp_stepper *p, attempt *t, candidate *c) {
    const int64_t before = t->failing;
    if (before > 0 && !commit_before(p, c, before))
        return false;
    if (!t->error)
        return repair_in_scope(p, t, c);
    pithp_error_move(p->s, t->scope);
    return false;
}

bool pithp_stepper_advance(pithp_stepper *p, int64_t count) {
    const int64_t end = p->number + count * stride_of(p);
    candidate c = {.state = p->state};
    bool fine = true;
    while (fine && p->number < end) {
        attempt t;
        fine = try_steps(p, &t, c.state, (end - p->number) / stride_of(p));
        if (!fine)
            break;
        if (t.failing < 0) {
            fine = commit(p, &t);
            break;
        }
        fine = recover(p, &t, &c);
        end_attempt(&t);
    }
    forget(&c);
    if (!fine)
        pithp_error_context(p->s, "step %lld", (long long)(p->number + 1));
    return fine;
}

/* ---- pith_propagate ---- */

static bool options_fit(pith_scope *s, const pith_propagate_options *o) {
    if (o->steps >= 0 && o->check_every >= 0)
        return pithp_step_numbers_fit(s, o->first_step, o->steps ? o->steps : 1,
                                      "pith_propagate");
    pithp_fail(s, PITH_E_ARG, NULL,
               "pith_propagate: steps and check_every must not be negative");
    return false;
}

const void *pith_propagate_as(pith_scope *s,
                              const pith_type *type,
                              const pith_function *step,
                              const void *state,
                              const pith_propagate_options *options) {
    PITHP_UNDER_WAY(s, "pith_propagate");
    static const pith_propagate_options defaults;
    const pith_propagate_options *o = options ? options : &defaults;
    if (!pithp_enter_untraced(s, "pith_propagate") || !options_fit(s, o) ||
        !pithp_step_fits(s, type, step, state, "pith_propagate"))
        return type ? pithp_nil(type) : NULL;
    pithp_stepper p = {.s = s,
                       .step = step,
                       .max_repeats = pithp_repeats(o->max_tries),
                       .report = o->repaired,
                       .closure = o->closure,
                       .state = state,
                       .number = o->first_step};
    const int64_t every = o->check_every ? o->check_every : 1;
    bool fine = true;
    for (int64_t left = o->steps ? o->steps : 1; left > 0 && fine; left -= every)
        fine = pithp_stepper_advance(&p, left < every ? left : every);
    const void *final = fine ? pith_keep_any(s, p.state) : NULL;
    if (p.holder)
        pith_scope_close(p.holder);
    return final ? final : type ? pithp_nil(type) : NULL;
}
