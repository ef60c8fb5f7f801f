/* Collectors: who gets the checks that are made in a scope, in the order of the program.
 * Here checks are addresses; what they say is known above (src/assert). */
#ifndef PITH_GPU_COLLECT_H
#define PITH_GPU_COLLECT_H

#include "gpu/gpu_internal.h"

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
/* A zeroed slot of so many bytes, which begins with a pithp_check_slot, in memory for
 * objects behind a header of `kind` and `shape`. It is part of no collector yet. NULL:
 * error set.
 */
pithp_check_slot *
pithp_check_slot_make(pith_scope *s, pithp_collector *c, const void *shape, size_t bytes);
/* Give a slot to c and to those around it. A predicate that is not known is looked at
 * where that can be done now; otherwise its buffer must be held until its release. */
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
