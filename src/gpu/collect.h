/* Collectors: who gets the checks that are made in a scope, in the order of the program.
 * Here checks are addresses; what they say is known above (src/assert). */
#ifndef PITH_GPU_COLLECT_H
#define PITH_GPU_COLLECT_H

#include "gpu/gpu_internal.h"

/* An iteration of a loop, or a branch, that runs call by call, in which checks were
 * collected. What is made after one that failed runs on a state that lost data. */
typedef struct pithp_iteration {
    const struct pithp_iteration *around; /* that this loop runs in; NULL: none */
    int32_t depth;                        /* of loops in each other, from 1 */
} pithp_iteration;

/* A loop or a branch that runs call by call, in memory of who runs it. */
typedef struct pithp_looping {
    struct pithp_collector *collector; /* the outermost one; NULL: none */
    struct pithp_looping *around;
    const pithp_iteration *made; /* of this iteration; NULL until a check is collected */
    int32_t depth;
} pithp_looping;

/* One check: a predicate, whose elements must all be nonzero, or the report of a launch.
 * It lies in memory of the outermost collector's scope and is the same object for all
 * collectors that received it. */
typedef struct pithp_check_slot {
    const void *data; /* the predicate's elements, in device memory */
    int64_t count;
    int32_t width;       /* bytes of an element; 0: it is the report of a launch */
    bool known;          /* `seen` is what came of it */
    bool evaluated;      /* enqueued work has put what comes of it into *report */
    pith_report *report; /* in device memory; NULL: it is known */
    pith_report seen;    /* first is 0 where it passed, ~index of the first failure of a
                            predicate, and for launches what `describe` reads */
    pithp_check_describe describe; /* of a launch; its subject lives as long as the
                                      runtime */
    const void *subject;
    const struct pithp_guard *guards; /* of a launch: what may repair it (src/assert) */
    const char *site;
    const pithp_iteration *iteration; /* that it was made in; NULL: outside of loops, or
                                         it is known to have passed */
    struct pithp_collector *made_for; /* the innermost one */
    void (*release)(
        struct pithp_check_slot *slot); /* of what upper rooms hold; NULL: none */
} pithp_check_slot;

typedef struct pithp_report_block pithp_report_block;

typedef struct pithp_collector {
    pith_scope *scope; /* it belongs to */
    struct pithp_collector *outer;
    bool ended;
    bool block;                       /* pith_collect_end ends it */
    bool failed;                      /* some slot is known to have failed */
    const struct pithp_guard *guards; /* of launches from here on */
    int64_t count, room;
    pithp_check_slot **slots;
    pithp_looping *looping;     /* the innermost loop that runs; of outermost ones */
    int32_t depth;              /* of the loops that it was begun in */
    int64_t evaluated;          /* slots that `flag` speaks of */
    pith_report *flag;          /* in device memory: `first` is ~ the number of the first
                                   failing slot, 0 while all pass; NULL: not needed yet */
    pithp_report_block *blocks; /* reports of slots; of outermost ones */
} pithp_collector;

/* Checks made in s and in children opened from now on go to a new collector, and to those
 * that get them now. alone: to the new one only. NULL: error set. */
pithp_collector *pithp_collector_begin(pith_scope *s, bool alone);
/* What is collected from here on does not share slots with what was; the slots so far. */
int64_t pithp_collector_mark(pithp_collector *c);
/* It gets no more. */
void pithp_collector_end(pithp_collector *c);
/* The innermost collector of the scope's checks; NULL: none. */
static inline pithp_collector *pithp_collector_of(pith_scope *s) {
    pithp_collector *c = s->collector;
    while (PITHP_UNLIKELY(c && c->ended)) /* s was open before it began to end */
        c = c->outer;
    return c;
}
static inline pithp_collector *pithp_collector_outermost(pithp_collector *c) {
    while (c->outer)
        c = c->outer;
    return c;
}
/* Checks made in s from here on belong to the first iteration of a loop. */
void pithp_looping_begin(pith_scope *s, pithp_looping *l);
/* The next iteration begins. */
void pithp_looping_next(pithp_looping *l);
void pithp_looping_end(pithp_looping *l);
/* Whether a slot of c was made before the iteration ended in which `failed` was, an
 * earlier one. Loops that began before c do not matter. */
bool pithp_collector_counts_after(const pithp_collector *c,
                                  const pithp_check_slot *failed,
                                  const pithp_check_slot *slot);
/* A zeroed slot of so many bytes, which begins with a pithp_check_slot, in memory for
 * objects behind a header of `kind` and `shape`. It is part of no collector yet. NULL:
 * error set.
 */
pithp_check_slot *
pithp_check_slot_make(pith_scope *s, pithp_collector *c, const void *shape, size_t bytes);
/* The slot is made in the iteration that runs. */
pith_status
pithp_check_slot_stamp(pith_scope *s, pithp_collector *c, pithp_check_slot *slot);
/* Give a slot to c and to those around it, stamped unless it is known to have passed. A
 * predicate that is not known is looked at where that can be done now; otherwise its
 * buffer must be held until its release. */
pith_status
pithp_check_slot_collect(pith_scope *s, pithp_collector *c, pithp_check_slot *slot);
/* Zeroed reports in device memory. NULL: error set. */
pith_report *pithp_collector_report(pith_scope *s, pithp_collector *c);
/* The buffer that a report of the collector lies in. */
pithp_buffer *pithp_collector_buffer(pithp_collector *c, const pith_report *report);
/* Wait, and learn what came of every slot that is not known; they have been evaluated. */
pith_status pithp_collector_read(pith_scope *s, pithp_collector *c);

/* The size that pith_require_capacity found too small in a launch, and the need; NULL: it
 * failed otherwise. */
const char *pithp_kernel_lacks(const pithp_check_slot *slot, int64_t *need);

/* The least index of a zero among elements of 1, 2, 4 or 8 bytes; -1: there is none. */
int64_t pithp_first_zero(const void *data, int32_t width, int64_t count);

#endif
