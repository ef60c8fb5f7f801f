/* pith_advance: one step, after which the old state is released. Each new state lives in
 * a child scope of the caller's scope, which closes when that state is stepped. */
#include "pith/run.h"

#include "base/in_flight.h"
#include "run/attempt.h"
#include "run/run_internal.h"
#include "tree/drop.h"

/* The state in a scope of pith_advance; NULL: another scope. */
static const void *state_of(const pith_scope *holder) {
    const pithp_run_room *room = holder->room[PITHP_ROOM_RUN];
    return room ? room->advanced : NULL;
}

/* Whether objects of a scope may be dropped with an old state of s. */
static bool may_drop(const pith_scope *owner, void *s) {
    return owner == s || (owner->parent == s && state_of(owner));
}

/* Close the scope of an old state. If the old state is only a part of the scope's state,
 * the scope stays open. */
static void close_holder(const pith_scope *s, const void *state) {
    pith_scope *holder = pithp_owner_of(state);
    if (holder && holder->parent == s && state_of(holder) == state)
        pith_scope_close(holder);
}

/* Replace the old state by the stepper's. false: s has the error, and nothing changed. */
static bool replace(pith_scope *s, const pithp_stepper *p, const void *state) {
    pithp_doomed doomed;
    if (pithp_doomed_make(s, &doomed, state, p->state, may_drop, s) != PITH_OK)
        return false;
    pithp_doomed_drop(&doomed);
    pithp_doomed_end(&doomed);
    close_holder(s, state);
    return true;
}

const void *pith_advance_any(pith_scope *s,
                             const pith_type *type,
                             const pith_function *step,
                             const void *state) {
    PITHP_IN_FLIGHT(s, "pith_advance");
    const void *nil = type ? pithp_nil(type) : NULL;
    uint64_t digest = 0;
    const bool fits = pithp_enter_untraced(s, "pith_advance") &&
                      pithp_step_fits(s, type, step, state, "pith_advance");
    if (!pithp_attempt_digest(s, step, state, &digest) || !fits) {
        pithp_attempt_refuse(s);
        return nil;
    }
    pithp_stepper p = {.s = s,
                       .step = step,
                       .max_repeats = pithp_repeats(0),
                       .state = state,
                       .digest = digest};
    if (!pithp_stepper_advance(&p, 1))
        return nil;
    pithp_run_room *room = pithp_run_room_of(p.holder);
    if (room)
        room->advanced = p.state;
    else
        pithp_error_move(s, p.holder);
    const bool fine = room && replace(s, &p, state);
    if (!fine || pithp_owner_of(p.state) != p.holder)
        pith_scope_close(p.holder);
    return fine ? p.state : nil;
}
