/* Check collectors: receive the checks made in a scope, in program order. A check is an
 * address here; src/assert knows its meaning. */
#ifndef PITH_GPU_COLLECT_H
#define PITH_GPU_COLLECT_H

#include "gpu/gpu_internal.h"

/* An iteration of a loop or a branch that runs call by call, with collected checks.
 * Checks made after a failed iteration see a state that lost data. */
typedef struct pithp_iteration {
    const struct pithp_iteration *around; /* the enclosing iteration, or NULL */
    int32_t depth;                        /* nesting depth of loops, from 1 */
} pithp_iteration;

/* A loop or a branch that runs call by call, in memory of the function that runs it. */
typedef struct pithp_looping {
    struct pithp_collector *collector; /* the outermost collector, or NULL */
    struct pithp_looping *around;
    const pithp_iteration
        *made; /* the current iteration; NULL until a check is collected */
    int32_t depth;
} pithp_looping;

/* One check: a predicate whose elements must all be nonzero, or the report of a launch.
 * It lies in the outermost collector's scope; all collectors that received it share the
 * object. */
typedef struct pithp_check_slot {
    const void *data; /* elements of the predicate, in device memory */
    int64_t count;
    int32_t width;       /* bytes of an element; 0: the report of a launch */
    bool known;          /* `seen` is the outcome */
    bool evaluated;      /* enqueued work has written the outcome to *report */
    pith_report *report; /* in device memory; NULL: the outcome is known */
    pith_report seen;    /* first: 0 if it passed; else ~index of the first failure of a
                            predicate. For launches, the input of `describe` */
    pithp_check_describe
        describe; /* of a launch; its subject lives as long as the runtime */
    const void *subject;
    pithp_entry of; /* the entry of a batch that a report is about; until `number` is read
                       the extents of the batch */
    const int64_t
        *number; /* in device memory: of the entry among all; NULL: it is known */
    const struct pithp_guard *guards; /* of a launch: possible repairs (src/assert) */
    const char *site;
    const pithp_iteration *iteration; /* iteration that made it; NULL: outside loops, or
                                         known to have passed */
    struct pithp_collector *made_for; /* the innermost collector */
    void (*release)(
        struct pithp_check_slot *slot); /* releases references of upper rooms, or NULL */
} pithp_check_slot;

typedef struct pithp_report_block pithp_report_block;

typedef struct pithp_collector {
    pith_scope *scope; /* the scope that it belongs to */
    struct pithp_collector *outer;
    bool ended;
    bool block;                       /* pith_collect_end ends it */
    bool failed;                      /* a slot is known to have failed */
    const struct pithp_guard *guards; /* guards of launches from here on */
    int64_t count, room;
    pithp_check_slot **slots;
    pithp_looping *looping; /* the innermost running loop; of outermost collectors */
    int32_t depth;          /* loop depth at its begin */
    int64_t evaluated;      /* number of slots covered by `flag` */
    pith_report *flag; /* in device memory: `first` is ~number of the first failing slot,
                          or 0; NULL: not needed yet */
    pithp_report_block *blocks; /* reports of slots; of outermost collectors */
} pithp_collector;

/* Begin a collector: it gets the checks made in s and in children opened from now on, as
 * do the current collectors. alone: only the new collector gets them. NULL sets the
 * error. */
pithp_collector *pithp_collector_begin(pith_scope *s, bool alone);
/* Checks collected from here on do not share earlier slots. Returns the number of slots
 * so far. */
int64_t pithp_collector_mark(pithp_collector *c);
/* The collector gets no further checks. */
void pithp_collector_end(pithp_collector *c);
/* The innermost collector of the scope's checks, or NULL. */
static inline pithp_collector *pithp_collector_of(pith_scope *s) {
    pithp_collector *c = s->collector;
    while (PITHP_UNLIKELY(c && c->ended)) /* s was open before the collector ended */
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
/* Begin the next iteration. */
void pithp_looping_next(pithp_looping *l);
void pithp_looping_end(pithp_looping *l);
/* Whether a slot of c was made before the end of the iteration that made `failed`, an
 * earlier slot. Loops that began before c are ignored. */
bool pithp_collector_counts_after(const pithp_collector *c,
                                  const pithp_check_slot *failed,
                                  const pithp_check_slot *slot);
/* As pithp_check_make_of, for an entry whose number among those of a batch of these
 * extents is not known yet: it is to be copied to *number, zeroed device memory. */
pith_report *pithp_check_make_later(pith_scope *s,
                                    pithp_check_describe describe,
                                    const void *subject,
                                    const pithp_entry *extents,
                                    int64_t **number);
/* Replace the extents of a batch by the index of an entry. */
static inline void pithp_entry_set(pithp_entry *of, int64_t number) {
    for (int k = of->rank; k-- > 0;) {
        const int64_t extent = of->index[k];
        of->index[k] = number % extent;
        number /= extent;
    }
}
/* Allocate a zeroed slot of `bytes` bytes, which begins with a pithp_check_slot, in
 * object memory after a header with this descriptor. It is in no collector yet. NULL
 * sets the error. */
pithp_check_slot *pithp_check_slot_make(pith_scope *s,
                                        pithp_collector *c,
                                        const void *descriptor,
                                        size_t bytes);
/* Stamp the slot with the current iteration. */
pith_status
pithp_check_slot_stamp(pith_scope *s, pithp_collector *c, pithp_check_slot *slot);
/* Add a slot to c and its outer collectors; stamp it unless it is known to have passed.
 * An unknown predicate is evaluated now if possible; otherwise the caller holds its
 * buffer until the slot's release. */
pith_status
pithp_check_slot_collect(pith_scope *s, pithp_collector *c, pithp_check_slot *slot);
/* Zeroed reports in device memory. NULL sets the error. */
pith_report *pithp_collector_report(pith_scope *s, pithp_collector *c);
/* The buffer of a report of the collector. */
pithp_buffer *pithp_collector_buffer(pithp_collector *c, const pith_report *report);
/* Wait, and read the outcomes of all unknown slots; they must be evaluated. */
pith_status pithp_collector_read(pith_scope *s, pithp_collector *c);

/* The name of the size that pith_require_capacity found too small in a launch; *need: the
 * need. NULL for any other failure. */
const char *pithp_kernel_lacks(const pithp_check_slot *slot, int64_t *need);

/* The least index of a zero among elements of 1, 2, 4 or 8 bytes, or -1. */
int64_t pithp_first_zero(const void *data, int32_t width, int64_t count);

#endif
