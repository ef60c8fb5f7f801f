/* Within assert: how the checks of a trace are kept. */
#ifndef PITH_ASSERT_RECORDED_H
#define PITH_ASSERT_RECORDED_H

#include "assert/record.h"

typedef enum pithp_recorded_kind {
    PITHP_RECORDED_CHECK,
    PITHP_RECORDED_REPORT,
    PITHP_RECORDED_GUARD
} pithp_recorded_kind;

/* One of a list, with its values in the list's. */
typedef struct pithp_recorded {
    pithp_recorded_kind kind;
    bool merges;  /* CHECK: its fix arguments are the greatest; REPORT: its words are */
    bool of_part; /* its values are results of an instruction of control flow */
    int64_t first, count;
    /* CHECK: values are the predicate, the arguments, the leaves of fix arguments. */
    pith_assertion *check;         /* without values */
    const pith_treedef *structure; /* of fix arguments; NULL: they are an array */
    int64_t leaves;                /* of fix arguments */
    /* REPORT */
    pithp_check_describe describe;
    const void *subject;
    const char *site;
    /* GUARD */
    pithp_guard *guard;
} pithp_recorded;

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
    int64_t check_count, guard_count; /* of the list */
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
/* Whether an entry that fails may be repaired: what is computed after it means nothing.
 */
bool pithp_recorded_repairs(const pithp_recorded *r);
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

/* The fix arguments that a run gave, in memory of owner; values are those of r. NULL:
 * there are none, or the error is set. */
const void *pithp_recorded_fix_args(pith_scope *s,
                                    pith_scope *owner,
                                    const pithp_recorded *r,
                                    const pith_array *const *values);

#endif
