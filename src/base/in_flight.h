/* In-flight calls: a runtime is not closed while a thread is in a call on it. */
#ifndef PITH_BASE_IN_FLIGHT_H
#define PITH_BASE_IN_FLIGHT_H

#include "base/base_internal.h"

/* A recorded call. It holds the record of its thread, so that the end needs no
 * look-up. */
typedef struct pithp_in_flight {
    struct pithp_thread_calls *thread;
} pithp_in_flight;

/* First statement of a public function that may take long: it runs a function, waits, or
 * moves many bytes. The runtime stays open until it returns. If the runtime is being
 * closed, it waits until the scope is closed, and pithp_enter then fails. */
#define PITHP_IN_FLIGHT(s, name)                                                         \
    const pithp_in_flight in_flight_                                                     \
        __attribute__((cleanup(pithp_in_flight_end), unused)) =                          \
            pithp_in_flight_begin(s, name)

pithp_in_flight pithp_in_flight_begin(const pith_scope *s, const char *name);
void pithp_in_flight_end(const pithp_in_flight *call);

/* The scope of this thread's innermost call on rt, or NULL. */
pith_scope *pithp_scope_in_flight(const pith_runtime *rt);

/* Number of runtimes that are being closed. */
extern atomic_int pithp_closing_count;
static inline bool pithp_any_closing(void) {
    return atomic_load_explicit(&pithp_closing_count, memory_order_relaxed) != 0;
}
/* If the runtime of s is being closed, its objects may vanish at any time: wait until s
 * is closed. */
void pithp_wait_for_close(const pith_scope *s);
/* Declare that this thread works for a runtime; closing the runtime joins it. */
void pithp_closing_helper(void);

/* A runtime that is being closed, on the stack of the closing thread. */
typedef struct pithp_closing {
    pith_runtime *rt;
    struct pithp_closing *next;
} pithp_closing;

/* From here on, calls on scopes of rt wait for the end. Returns false and changes nothing
 * if a call is in flight (*name is its name) or another thread closes rt (*name is
 * NULL). */
bool pithp_closing_begin(pithp_closing *c, pith_runtime *rt, const char **name);
/* Lock while the scopes of rt are freed: no other thread reads them. */
void pithp_closing_lock(void);
void pithp_closing_end(pithp_closing *c);

#endif
