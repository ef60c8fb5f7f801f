/* Tier-up: a product of a plan, its compiled code or its command buffer, is made when the
 * plan has run often enough. A thread in the background makes it while the plan runs as
 * before; later runs use it. PITH_JIT selects when (pithp_code_when).
 *
 * The product and the state below are one object with two owners: the executable, and the
 * thread while it works. The executable may be freed at any time. It does not wait for
 * the thread, because its caller may hold locks that the thread needs to free memory; the
 * last owner frees the object. */
#ifndef PITH_PROGRAM_COMMAND_TIER_UP_H
#define PITH_PROGRAM_COMMAND_TIER_UP_H

#include "gpu/compile/background.h"

typedef enum pithp_tier_stage {
    PITHP_TIER_COUNTING, /* runs are counted */
    PITHP_TIER_MAKING,
    PITHP_TIER_READY,
    PITHP_TIER_NEVER, /* it cannot be made */
} pithp_tier_stage;

typedef struct pithp_tier_up pithp_tier_up;
typedef struct pithp_tier_maker {
    /* Make the product and return its stage; COUNTING: memory is short, and a later run
     * tries again. In the child of a fork it may be called again, if the parent's call
     * was waiting for a compiler.
     *
     * @param s The scope of the run that waits for it; NULL on the background thread. */
    pithp_tier_stage (*make)(pithp_tier_up *t, pith_scope *s);
    void (*free)(pithp_tier_up *t); /* after the last owner */
} pithp_tier_maker;

struct pithp_tier_up {
    pith_runtime *runtime;
    const pithp_tier_maker *maker;
    atomic_int refs;
    atomic_bool abandoned; /* the executable is gone */
    atomic_int stage;
    atomic_int runs;      /* counted while COUNTING */
    atomic_int due;       /* number of runs after which it is made */
    int pause;            /* runs before the next attempt */
    bool postponed;       /* an attempt ended for lack of memory */
    bool wait;            /* the first run makes it, and others wait for that */
    pthread_mutex_t lock; /* of runs that wait, and of the product, if its runs exclude
                             each other */
    pithp_background_work work;
};

/* Begin with one owner. False: there is no mutex. */
bool pithp_tier_begin(pithp_tier_up *t, pith_runtime *rt, const pithp_tier_maker *maker);
/* Let the first run make the product and wait for it, whatever PITH_JIT selects. */
void pithp_tier_wait(pithp_tier_up *t);
/* Release the executable's reference. */
void pithp_tier_abandon(pithp_tier_up *t);

static inline pithp_tier_stage pithp_tier_look(const pithp_tier_up *t) {
    return (pithp_tier_stage)atomic_load_explicit(&t->stage, memory_order_acquire);
}
/* Count a run, and make the product if it is due. Returns the stage. */
pithp_tier_stage pithp_tier_poll(pith_scope *s, pithp_tier_up *t);
/* Make the product in this run, whatever the count of runs. Does nothing if it is being
 * made, or if an attempt ended for lack of memory. */
void pithp_tier_make_now(pith_scope *s, pithp_tier_up *t);
/* Set the stage that an attempt ended with. For products that are made otherwise, too. */
void pithp_tier_settle(pithp_tier_up *t, pithp_tier_stage stage);

/* Whether the product is no longer needed. For long work. */
bool pithp_tier_is_over(const pithp_tier_up *t);
/* The stage after a failure. Logs an error of the compiler once a runtime, since it
 * concerns every plan.
 *
 * @param runs How plans run without the product, for the log. */
pithp_tier_stage
pithp_tier_failed(const pithp_tier_up *t, const pithp_error *e, const char *runs);

#endif
