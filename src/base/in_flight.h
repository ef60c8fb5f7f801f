/* Calls in flight: a runtime is not closed under a thread that is in one of them. */
#ifndef PITH_BASE_IN_FLIGHT_H
#define PITH_BASE_IN_FLIGHT_H

#include "base/base_internal.h"

/* A call that was begun: the notes of its thread, which its end need not look up again.
 */
typedef struct pithp_in_flight {
    struct pithp_thread_calls *thread;
} pithp_in_flight;

/* First in a public function that may take long, as it runs a function, waits, or moves
 * many bytes: its runtime stays open until it returns. Where the runtime is being closed
 * it waits, and then pithp_enter finds the scope closed. */
#define PITHP_IN_FLIGHT(s, name)                                                         \
    const pithp_in_flight in_flight_                                                     \
        __attribute__((cleanup(pithp_in_flight_end), unused)) =                          \
            pithp_in_flight_begin(s, name)

pithp_in_flight pithp_in_flight_begin(const pith_scope *s, const char *name);
void pithp_in_flight_end(const pithp_in_flight *call);

/* The scope of the call of rt that this thread is in, the innermost one; NULL: none. */
pith_scope *pithp_scope_in_flight(const pith_runtime *rt);

/* How many runtimes are being closed. */
extern atomic_int pithp_closing_count;
static inline bool pithp_any_closing(void) {
    return atomic_load_explicit(&pithp_closing_count, memory_order_relaxed) != 0;
}
/* Where s is of one of them, its objects may go at any time: wait until they have, and it
 * is found closed. */
void pithp_wait_for_close(const pith_scope *s);
/* This thread works for a runtime, and who closes that waits for it. */
void pithp_closing_helper(void);

/* A runtime that is being closed, on the stack of who closes it. */
typedef struct pithp_closing {
    pith_runtime *rt;
    struct pithp_closing *next;
} pithp_closing;

/* From here on calls on scopes of rt wait for the end. False: there is one under way,
 * whose name is in *name, or another thread closes it, *name NULL, and nothing has
 * changed. */
bool pithp_closing_begin(pithp_closing *c, pith_runtime *rt, const char **name);
/* Around what takes the scopes of rt away: no other thread looks at them. */
void pithp_closing_lock(void);
void pithp_closing_end(pithp_closing *c);

#endif
