/* Storage of the checks of a trace, for recorders. */
#ifndef PITH_ARRAY_CHECK_LIST_H
#define PITH_ARRAY_CHECK_LIST_H

#include "array/checks/checks.h"

typedef enum pithp_recorded_kind {
    PITHP_RECORDED_CHECK,
    PITHP_RECORDED_REPORT,
    PITHP_RECORDED_GUARD
} pithp_recorded_kind;

typedef struct pithp_recorded pithp_recorded;

/* Methods of the room that defines checks and guards (src/assert). */
typedef struct pithp_recorded_methods {
    size_t bytes; /* size of an entry's data, which other lists copy */
    /* Make the check of a run, or the guard for launches of a run. values: of the entry,
     * as arrays of s. */
    pith_status (*make)(pith_scope *s,
                        pithp_checks *c,
                        const pithp_recorded *r,
                        const pith_array *const *values);
    /* CHECK: the predicate of the data has another spec. */
    void (*set_spec)(void *data, const pith_spec *predicate);
    /* CHECK: collect a run in which all checks passed; s has a collector. */
    pith_status (*collect_passed)(pith_scope *s,
                                  pithp_checks *c,
                                  const pithp_run_values *values);
} pithp_recorded_methods;

/* An entry of a list; its values are in the value table of the list. */
struct pithp_recorded {
    pithp_recorded_kind kind;
    bool merges;  /* CHECK: fix arguments merge by the maximum; REPORT: words do */
    bool repairs; /* a failure may be repaired, which makes later results meaningless */
    bool lasts;   /* a failure ends no loop: ranks that passed go on, and would wait */
    bool of_part; /* its values are results of a control-flow instruction */
    /* CHECK: the first value is a flag, whether all of the predicate holds; see batch.c
     */
    bool has_flag;
    int64_t first, count;
    const char *site;
    /* CHECK: values are the flag if it has one, the predicate, the arguments, the leaves
     * of fix arguments. */
    int64_t leaves; /* of fix arguments */
    /* CHECK and GUARD */
    const pithp_recorded_methods *methods;
    void *data; /* in memory of the list */
    /* REPORT: the values are the report and, in a batch, the number of its entry among
     * entries of these sizes. */
    int32_t batch_rank;
    int64_t batch[PITHP_ENTRY_RANK];
    pithp_check_describe describe;
    const void *subject;
};

typedef struct pithp_recorded_value {
    int32_t value; /* its index in the program of the trace */
    int32_t
        recorded; /* the same when it was recorded: later it may pass if others fail */
    bool is_flag; /* a predicate of one bool */
    const pith_spec *spec;
    int64_t place; /* offset in the buffer of a run, or ~index of a separate value */
} pithp_recorded_value;

struct pithp_checks {
    atomic_int refs;
    pith_runtime *rt;
    pith_scope *store; /* owns the data of the list */
    pithp_recorded *list;
    pithp_recorded_value *values;
    pithp_checks *around; /* the outer list, while a part of its trace is recorded */
    bool asked;           /* an operation uses the outcome so far */
    bool has_parts;       /* some belong to a control-flow instruction */
    pithp_checks **inner; /* lists replayed into this one: a reference each */
    int64_t count, room, value_count, value_room, inner_count, inner_room;
    int64_t check_count, guard_count;      /* of the list */
    const pithp_recorded_methods *methods; /* of its checks; NULL: no checks yet */
    int64_t flags;       /* at the start of a run's buffer: one scan tests all */
    int64_t unflagged;   /* number of checks to examine one by one */
    int64_t apart_count; /* values outside a run's buffer */
};

static inline bool pithp_recorded_is_flagged(const pithp_checks *c,
                                             const pithp_recorded *r) {
    if (r->kind != PITHP_RECORDED_CHECK)
        return false;
    const int64_t place = c->values[r->first].place;
    return place >= 0 && place < c->flags;
}

/* The location of a value of a run. */
static inline pithp_held pithp_recorded_held(const pithp_checks *c,
                                             const pithp_run_values *values,
                                             int64_t value) {
    const int64_t place = c->values[value].place;
    return place < 0 ? values->apart[~place]
                     : (pithp_held){(char *)values->buffer->data + place, values->buffer};
}

/* Whether value k of an entry is a flag or a predicate; of a report, the report. */
static inline bool pithp_recorded_decides(const pithp_recorded *r, int64_t k) {
    return k <= r->has_flag;
}
/* Whether value k of an entry, with that spec, is a need, merged by the maximum. */
bool pithp_recorded_grows(const pithp_recorded *r, int64_t k, const pith_spec *spec);
/* Value k of a passing entry, in a tracing scope. NULL: error set. */
const pith_array *pithp_recorded_neutral(pith_scope *s,
                                         const pithp_checks *c,
                                         const pithp_recorded *r,
                                         int64_t k);
/* Whether an entry passed, given its first value: bool []. NULL: error set. */
const pith_array *
pithp_recorded_passed(pith_scope *s, const pithp_recorded *r, const pith_array *value);
/* Let entries of t pass that follow from other failures (follow.c). False: error set. */
bool pithp_checks_follow(pith_scope *s, pithp_trace *t, pithp_checks *c, bool part);

/* ---- Recording, in a tracing scope ---- */

/* The list of the trace of s, for copies of entries of another list, which it holds from
 * now on. part: as for pithp_checks_replay. NULL: error set. */
pithp_checks *pithp_checks_adopt(pith_scope *s, pithp_checks *from, bool part);
/* A copy of an entry, with arrays of the trace as its values. */
typedef struct pithp_recorded_copy {
    int64_t i; /* of the entry */
    int64_t count;
    const pith_array *const *values;
    bool has_flag;  /* the first value is a flag */
    int batch_axes; /* of a report in a batch: the number of the entry is the second */
    const int64_t *batch; /* value; extents of these axes. 0: it is as it is */
    bool part;            /* as for pithp_checks_replay */
} pithp_recorded_copy;
/* Copy an entry of an adopted list. */
pith_status pithp_checks_copy(pith_scope *s,
                              pithp_checks *to,
                              const pithp_checks *from,
                              const pithp_recorded_copy *copy);

/* The list of the trace of s. NULL: error set. */
pithp_checks *pithp_checks_of(pith_scope *s);
/* Memory that lives as long as the list. */
static inline pith_scope *pithp_checks_store(const pithp_checks *c) {
    return c->store;
}
/* Append an entry: its values, then its `leaves` leaves. first and count are filled
 * in. */
pith_status pithp_checks_add(pith_scope *s,
                             const pithp_recorded *entry,
                             int64_t count,
                             const pith_array *const *values,
                             const pith_array *const *leaves);
/* The conjunction of the checks recorded so far. NULL: error set. */
const pith_array *pithp_checks_so_far(pith_scope *s);

#endif
