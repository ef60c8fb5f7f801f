/* How the checks of a trace are kept, for those who record them. */
#ifndef PITH_ARRAY_CHECK_LIST_H
#define PITH_ARRAY_CHECK_LIST_H

#include "array/checks/checks.h"

typedef enum pithp_recorded_kind {
    PITHP_RECORDED_CHECK,
    PITHP_RECORDED_REPORT,
    PITHP_RECORDED_GUARD
} pithp_recorded_kind;

typedef struct pithp_recorded pithp_recorded;

/* What the room that defines checks and guards (src/assert) does with its entries. */
typedef struct pithp_recorded_methods {
    size_t bytes; /* of an entry's data, which another list copies */
    /* Make the check of a run, or the guard of the launches of a run. values: arrays of
     * s, those of the entry. */
    pith_status (*make)(pith_scope *s,
                        pithp_checks *c,
                        const pithp_recorded *r,
                        const pith_array *const *values);
    /* CHECK: all checks of the list passed in a run; s has a collector. */
    pith_status (*collect_passed)(pith_scope *s,
                                  pithp_checks *c,
                                  const pithp_run_values *values);
} pithp_recorded_methods;

/* One of a list, with its values in the list's. */
struct pithp_recorded {
    pithp_recorded_kind kind;
    bool merges;  /* CHECK: its fix arguments are the greatest; REPORT: its words are */
    bool repairs; /* a failure may be repaired: what is computed after it means nothing */
    bool of_part; /* its values are results of an instruction of control flow */
    int64_t first, count;
    const char *site;
    /* CHECK: values are the predicate, the arguments, the leaves of fix arguments. */
    int64_t leaves; /* of fix arguments */
    /* CHECK and GUARD */
    const pithp_recorded_methods *methods;
    void *data; /* in memory of the list */
    /* REPORT */
    pithp_check_describe describe;
    const void *subject;
};

typedef struct pithp_recorded_value {
    int32_t value; /* its number in the program of the trace */
    bool is_flag;  /* a predicate of one bool */
    const pith_spec *spec;
    int64_t place; /* byte in the buffer of a run, or ~ its number among those apart */
} pithp_recorded_value;

struct pithp_checks {
    atomic_int refs;
    pith_runtime *rt;
    pith_scope *store; /* of what the list points at */
    pithp_recorded *list;
    pithp_recorded_value *values;
    pithp_checks *around; /* while a part of its trace is recorded: that of the trace */
    bool asked;           /* somebody wanted to know what they came to so far */
    bool has_parts;       /* some are of an instruction of control flow */
    pithp_checks **inner; /* lists that were made again in this one: a reference each */
    int64_t count, room, value_count, value_room, inner_count, inner_room;
    int64_t check_count, guard_count;      /* of the list */
    const pithp_recorded_methods *methods; /* of its checks; NULL while there are none */
    int64_t flags;       /* predicates of one bool each, in the first bytes of a run's
                            buffer: whether all are true is seen at once */
    int64_t unflagged;   /* of the list, that have to be looked at one by one */
    int64_t apart_count; /* values that are not in a run's buffer */
};

static inline bool pithp_recorded_is_flagged(const pithp_checks *c,
                                             const pithp_recorded *r) {
    if (r->kind != PITHP_RECORDED_CHECK)
        return false;
    const int64_t place = c->values[r->first].place;
    return place >= 0 && place < c->flags;
}

/* Where a value of a run is. */
static inline pithp_held pithp_recorded_held(const pithp_checks *c,
                                             const pithp_run_values *values,
                                             int64_t value) {
    const int64_t place = c->values[value].place;
    return place < 0 ? values->apart[~place]
                     : (pithp_held){(char *)values->buffer->data + place, values->buffer};
}

/* Whether value k of an entry, with that spec, is a fix argument that grows. */
bool pithp_recorded_grows(const pithp_recorded *r, int64_t k, const pith_spec *spec);
/* Value k of an entry that passes, in a scope that traces. NULL: error set. */
const pith_array *pithp_recorded_neutral(pith_scope *s,
                                         const pithp_checks *c,
                                         const pithp_recorded *r,
                                         int64_t k);
/* Whether an entry passed, of its first value: bool []. NULL: error set. */
const pith_array *
pithp_recorded_passed(pith_scope *s, const pithp_recorded *r, const pith_array *value);
/* Entries of the list of t that follow from the failure of others pass (follow.c). False:
 * error set. */
bool pithp_checks_follow(pith_scope *s, pithp_trace *t, pithp_checks *c, bool part);

/* ---- Recording, in a scope that traces ---- */

/* The list of the trace of s. NULL: error set. */
pithp_checks *pithp_checks_of(pith_scope *s);
/* Memory that lives as long as the list. */
static inline pith_scope *pithp_checks_store(const pithp_checks *c) {
    return c->store;
}
/* Append an entry to it: its values, then as many leaves as it says. first and count are
 * filled in. */
pith_status pithp_checks_add(pith_scope *s,
                             const pithp_recorded *entry,
                             int64_t count,
                             const pith_array *const *values,
                             const pith_array *const *leaves);
/* How many entries there are. */
int64_t pithp_checks_mark(pith_scope *s);
/* The conjunction of the checks that were recorded so far. NULL: error set. */
const pith_array *pithp_checks_so_far(pith_scope *s);

#endif
