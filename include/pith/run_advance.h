/**
 * @file
 * One step of a state, for a loop written by the user.
 *
 * Included by run.h.
 */
#ifndef PITH_RUN_ADVANCE_H
#define PITH_RUN_ADVANCE_H

#include <pith/tree.h>

PITH_BEGIN

/**
 * Step a state once and drop the old one:
 *
 *     state = pith_advance(s, Sim, step, state);
 *
 * The step is attempted, repaired and repeated as by pith_propagate with default options.
 * On success, nodes and leaves of the old state are dropped if @p s owns them and the new
 * state does not share them. A later use of a dropped one is an error. A loop of any
 * length thus holds one state. To keep an old state, first pith_keep it in another scope.
 *
 * To edit a state between two steps, call pith_advance with a function that edits it: the
 * replaced nodes are then dropped. A copy that is edited and frozen in @p s is a separate
 * state. Its original remains until @p s closes.
 *
 * Complexity: linear in the number of nodes and leaves of both states, plus the step.
 *
 * @par Errors
 * All errors of pith_propagate. The old state is then unchanged and still valid.
 *
 * @return The new state, owned by @p s; the type's nil record on failure.
 */
#define pith_advance(s, T, step, state)                                                  \
    ((const T *)pith_advance_any((s), T##_pith_type(), (step),                           \
                                 (1 ? (state) : (const T *)0)))
/**
 * Step a state once and drop the old one, untyped; see pith_advance.
 *
 * @param type Type of the state; NULL: any tree, and the result is NULL on failure.
 */
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
