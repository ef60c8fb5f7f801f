/**
 * @file
 * One step of a state, for loops of one's own.
 *
 * Included by run.h.
 */
#ifndef PITH_RUN_ADVANCE_H
#define PITH_RUN_ADVANCE_H

#include <pith/tree.h>

PITH_BEGIN

/**
 * Step a state once and drop the old one: state = pith_advance(s, Sim, step, state).
 *
 * The step is tried, repaired and repeated as by pith_propagate with default options. If
 * it succeeds, the nodes and leaves of the old state that @p s owns, and that the new
 * state does not share, are dropped: a later use of one is an error. A loop of any length
 * keeps one state. To keep an old state, pith_keep it in another scope first.
 *
 * Edit a state between two steps by a function that pith_advance calls, too: it drops
 * what the edit replaces. A copy that is edited and frozen in @p s is a state of its own,
 * and the state that it was made of stays until @p s closes.
 *
 * Complexity: proportional to the nodes and leaves of both states, beside the step.
 * Errors: those of pith_propagate. The old state is as it was then, and still valid.
 * @return The new state, owned by @p s; the type's nil record on failure.
 */
#define pith_advance(s, T, step, state)                                                  \
    ((const T *)pith_advance_any((s), T##_pith_type(), (step),                           \
                                 (1 ? (state) : (const T *)0)))
/** As pith_advance; @p type NULL: any tree, and NULL on failure. */
PITH_API const void *pith_advance_any(pith_scope *s,
                                      const pith_type *type,
                                      const pith_function *step,
                                      const void *state);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_advance_any(s, ...) pith_advance_any(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
