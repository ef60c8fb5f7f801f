/* Transactional stepping: a step is committed only if its checks pass (attempt.c).
 * Otherwise the state before it is repaired and the step is repeated.
 *
 * An attempt of several steps reads their checks once. If one fails, the steps before it
 * are repeated and committed, and the remaining attempt starts with the failing step. */
#include "base/in_flight.h"
#include "mesh/mesh_internal.h"
#include "run/attempt.h"
#include "run/monitor.h"
#include "run/run_internal.h"

#include <string.h>

/* ---- Repairing ---- */

/* The state to try next. */
typedef struct {
    pith_scope *scope; /* of the repaired state; NULL: the committed state */
    const void *state;
    int64_t repeats; /* of the next step */
} candidate;

static void forget(candidate *c) {
    pithp_close_quietly(c->scope);
    c->scope = NULL;
}

/* Report a repair to the caller, on one rank. */
static bool tell(const pithp_stepper *p, pith_scope *s, const pith_repair *repair) {
    if (!p->report || !pithp_ranks_write(s))
        return true;
    pith_scope *work = pith_scope_open_in(s);
    p->report(work, repair, p->closure);
    pithp_synchronise(work);
    pith_scope_close(work);
    return !pith_failed(s);
}

/* The failures to repair, on several ranks those of all. false: the error of fixed is
 * set. */
static bool find_failures(const pithp_stepper *p,
                          const pithp_attempt *t,
                          int64_t repeats,
                          pith_scope *fixed,
                          pithp_outcome *outcome) {
    const bool may_repair = repeats < p->max_repeats;
    pithp_outcome_read(fixed, t->scope, t->collector, t->calls[t->failing].checks,
                       outcome);
    if (pithp_attempts_joint(fixed))
        pithp_outcome_unite(fixed, "pith_propagate", t->collector, outcome, may_repair);
    else if (!pith_failed(fixed) && !pithp_outcome_raise_unfixable(fixed, outcome) &&
             !may_repair)
        pithp_assertion_raise(fixed, outcome->failed[0]);
    if (pith_failed(fixed) && !may_repair && repeats)
        pithp_error_context(fixed, "it still fails after %lld repeat%s",
                            (long long)repeats, repeats == 1 ? "" : "s");
    return !pith_failed(fixed);
}

/* Apply a fix, and tell it. User code runs within. */
static const void *apply(const pithp_stepper *p,
                         pith_scope *fixed,
                         const pith_assertion *a,
                         const candidate *c) {
    pith_repair one = {
        .assertion = a, .before = c->state, .step = p->number + 1, .repeat = c->repeats};
    pithp_decisions_nest(fixed, 1);
    one.after = pithp_assertion_fix(fixed, a, c->state);
    pithp_decisions_nest(fixed, -1);
    pithp_synchronise(fixed); /* checks of the fix that nothing collects */
    if (!pithp_fix_agreed(fixed, "pith_propagate", one.after))
        return NULL;
    pithp_decisions_nest(fixed, 1);
    if (!a->fix.defers)
        tell(p, fixed, &one);
    pithp_decisions_nest(fixed, -1);
    /* also without a callback: other ranks may have one */
    return pithp_fix_agreed(fixed, "pith_propagate", one.after) ? one.after : NULL;
}

/* Apply the fixes of the checks that failed in the first step. On failure the error of s
 * is set. */
static bool
repair(const pithp_stepper *p, const pithp_attempt *t, candidate *c, pith_scope *fixed) {
    pithp_outcome outcome;
    if (!find_failures(p, t, c->repeats, fixed, &outcome))
        return false;
    c->repeats++;
    for (int64_t i = 0; i < outcome.counting_count; i++) {
        const void *after = apply(p, fixed, outcome.counting[i], c);
        if (!after)
            return false;
        c->state = after;
    }
    return true;
}

/* Replace the candidate by the repaired state. */
static bool
repair_in_scope(const pithp_stepper *p, const pithp_attempt *t, candidate *c) {
    pith_scope *fixed = pith_scope_open_in(p->s);
    candidate next = {.scope = fixed, .state = c->state, .repeats = c->repeats};
    const bool open = pithp_scope_writable(fixed);
    bool fine = open && repair(p, t, &next, fixed);
    if (fine && c->scope) { /* the scope of the previous repair closes */
        pithp_keep_slots(fixed, 1, &next.state);
        fine = pithp_ranks_fine(fixed, "pith_propagate");
    }
    if (!fine) {
        if (pithp_scope_writable(fixed))
            pithp_error_move(p->s, fixed);
        else
            pithp_fail(p->s, pith_code(fixed), NULL, "%s", pith_message(fixed));
        if (!open)
            pithp_ranks_fine(p->s, "pith_propagate"); /* others are about to repair */
        forget(&next);
        return false;
    }
    forget(c);
    *c = next;
    return true;
}

/* ---- A window of steps ---- */

/* Repeat and commit steps that have passed before. until: the last one ends the run. */
static bool commit_again(pithp_stepper *p, candidate *c, int64_t steps, bool until) {
    pithp_attempt again;
    bool (*pause)(void *closure) = p->pause;
    p->pause = NULL;
    const bool tried = pithp_attempt_steps(p, &again, c->state, p->number + steps);
    p->pause = pause;
    if (!tried)
        return false;
    const bool as_before =
        until ? again.trouble == PITHP_TROUBLE_UNTIL && again.failing == again.ran - 1
              : again.failing < 0;
    if (!as_before) {
        if (again.trouble == PITHP_TROUBLE_ERROR)
            pithp_error_move(p->s, again.scope);
        else
            pithp_fail(p->s, PITH_E_CALLBACK, NULL,
                       "a step that passed fails when repeated: it depends on more "
                       "than its state");
        pithp_attempt_end(&again);
        return false;
    }
    if (!pithp_attempt_commit(p, &again))
        return false;
    forget(c);
    *c = (candidate){.state = p->state};
    p->met = until;
    return true;
}

/* The number of the last call. On several ranks, of which one may have failed in it: of
 * the last one that began. */
static int64_t last_call(const pithp_stepper *p, const pithp_attempt *t) {
    return (pithp_attempts_joint(p->s) ? t->attempted : t->ran) - 1;
}

/* Set the error for a non-finite state. If a later call has overwritten the state, repeat
 * the step as the last one of an attempt. */
static bool refuse_value(pithp_stepper *p, pithp_attempt *t) {
    if (t->failing < last_call(p, t)) {
        p->barrier = p->number + t->calls[t->failing].steps;
        return true;
    }
    if (pithp_attempts_joint(p->s))
        pithp_attempt_raise_value(t);
    else
        pithp_finite_fail(t->scope, t->result);
    pithp_error_move(p->s, t->scope);
    return false;
}

/* Handle a failed call of one step, after the steps before it are committed. */
static bool settle_step(pithp_stepper *p, pithp_attempt *t, candidate *c) {
    switch (t->trouble) {
        case PITHP_TROUBLE_NONE:
        case PITHP_TROUBLE_CHECK:
            return repair_in_scope(p, t, c);
        case PITHP_TROUBLE_FINITE:
            return refuse_value(p, t);
        case PITHP_TROUBLE_UNTIL:
            return commit_again(p, c, t->calls[t->failing].steps, true);
        case PITHP_TROUBLE_ERROR:
            break;
    }
    pithp_error_move(p->s, t->scope);
    return false;
}

/* Steps of the call that failed. Without memory for its record it has not begun. */
static int64_t failed_steps(const pithp_stepper *p, const pithp_attempt *t) {
    return t->failing < t->begun ? t->calls[t->failing].steps : pithp_stride_of(p);
}

/* Handle a failed attempt; false: p->s has the error. */
static bool settle(pithp_stepper *p, pithp_attempt *t, candidate *c) {
    const int64_t before = pithp_attempt_steps_before(t, t->failing);
    const int64_t steps = failed_steps(p, t);
    const bool loop = steps > pithp_stride_of(p);
    if (t->trouble == PITHP_TROUBLE_UNTIL && !loop && t->failing == last_call(p, t))
        return p->met = pithp_attempt_commit(p, t);
    if (before > 0 && !commit_again(p, c, before, false))
        return false;
    if (!loop)
        return settle_step(p, t, c);
    p->single = p->number + steps; /* repeat one by one to find the step */
    return true;
}

/* Whether an attempt that passed was paused. */
static bool paused(const pithp_stepper *p) {
    return pithp_attempts_joint(p->s) ? p->asked : p->pause && p->pause(p->closure);
}

bool pithp_stepper_advance(pithp_stepper *p, int64_t steps) {
    const int64_t end = p->number + steps;
    candidate c = {.state = p->state};
    bool fine = true;
    while (fine && !p->met && p->number < end) {
        pithp_attempt t;
        const bool limited = p->barrier > p->number && p->barrier < end;
        fine = pithp_attempt_steps(p, &t, c.state, limited ? p->barrier : end);
        if (!fine)
            break;
        if (t.failing >= 0) {
            fine = settle(p, &t, &c);
            pithp_attempt_end(&t);
            continue;
        }
        fine = pithp_attempt_commit(p, &t);
        if (!fine)
            break;
        forget(&c);
        c = (candidate){.state = p->state};
        if (paused(p))
            break;
    }
    forget(&c);
    if (!fine)
        pithp_error_context(p->s, "step %lld", (long long)(p->number + 1));
    return fine;
}

/* ---- pith_propagate ---- */

/* Options that all ranks must have in common. */
static uint64_t digest_of(const pith_propagate_options *o) {
    const int64_t numbers[] = {o->steps, o->check_every, o->first_step, o->max_tries};
    return pithp_hash(0, numbers, sizeof numbers);
}

static void describe(const void *options, char what[]) {
    const pith_propagate_options *o = options;
    pithp_describe_number(what, "steps", o->steps);
    pithp_describe_number(what, "check_every", o->check_every);
    pithp_describe_number(what, "first_step", o->first_step);
    pithp_describe_number(what, "max_tries", o->max_tries);
}

static bool options_fit(pith_scope *s, const pith_propagate_options *o) {
    if (o->steps >= 0 && o->check_every >= 0)
        return pithp_step_numbers_fit(s, o->first_step, o->steps ? o->steps : 1,
                                      "pith_propagate");
    pithp_fail(s, PITH_E_ARG, NULL,
               "pith_propagate: steps and check_every must not be negative");
    return false;
}

const void *pith_propagate_any(pith_scope *s,
                               const pith_type *type,
                               const pith_function *step,
                               const void *state,
                               const pith_propagate_options *options) {
    PITHP_IN_FLIGHT(s, "pith_propagate");
    static const pith_propagate_options defaults;
    const pith_propagate_options *o = options ? options : &defaults;
    uint64_t digest = digest_of(o);
    const bool fits = pithp_enter_untraced(s, "pith_propagate") && options_fit(s, o) &&
                      pithp_step_fits(s, type, step, state, "pith_propagate");
    if (!pithp_attempt_digest(s, step, state, &digest) || !fits) {
        pithp_attempt_refuse(s);
        return type ? pithp_nil(type) : NULL;
    }
    pithp_stepper p = {.s = s,
                       .step = step,
                       .max_repeats = pithp_repeats(o->max_tries),
                       .report = o->repaired,
                       .closure = o->closure,
                       .state = state,
                       .number = o->first_step,
                       .digest = digest,
                       .describe = describe,
                       .options = o,
                       .any_result = !type && o->steps < 2};
    const int64_t every = o->check_every ? o->check_every : 1;
    bool fine = true;
    for (int64_t left = o->steps ? o->steps : 1; left > 0 && fine; left -= every)
        fine = pithp_stepper_advance(&p, left < every ? left : every);
    const void *final = fine ? pith_keep_any(s, p.state) : NULL;
    if (p.holder)
        pith_scope_close(p.holder);
    return final ? final : type ? pithp_nil(type) : NULL;
}
