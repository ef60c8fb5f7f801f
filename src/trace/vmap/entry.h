/* Within src/trace/vmap: what calls of batched and of vectorized functions share. The
 * function is recorded for one entry as a program of its own; leaves that all entries
 * share and that have values stay as they are, so that the function may read them. */
#ifndef PITHP_TRACE_VMAP_ENTRY_H
#define PITHP_TRACE_VMAP_ENTRY_H

#include "trace/derive/rule_checks.h"
#include "trace/vmap/vmap_internal.h"

typedef struct pithp_entry_call pithp_entry_call;

/* How a kind of batch takes its arguments. */
typedef struct pithp_entry_rules {
    const char *function; /* of messages */
    bool sharded;         /* arguments and results may have sharded leaves */
    /* The refusal of a record whose leaves have specs that it cannot hold. */
    const char *refusal;
    /* The spec of a leaf in one entry; *shared: all entries have the same one. NULL sets
     * the error. */
    const pith_spec *(*spec)(pithp_entry_call *c,
                             int argument,
                             int64_t item,
                             bool *shared);
    /* The leaf as input number `at` of the program of all entries. NULL sets the error.
     */
    const pith_array *(*input)(pithp_entry_call *c,
                               int argument,
                               int64_t item,
                               int64_t at);
} pithp_entry_rules;

/* A call. Arrays are in memory of s. */
struct pithp_entry_call {
    pith_scope *s;
    pithp_trace *trace;
    const pithp_entry_rules *rules;
    const pith_function *f; /* the base function */
    pithp_flat arguments[PITHP_MOST_PARAMETERS];
    int argument_count;
    bool *known[PITHP_MOST_PARAMETERS];             /* by leaf: passed on as it is */
    const pith_spec **specs[PITHP_MOST_PARAMETERS]; /* by leaf: of an entry */
    pithp_captured captured;
    pithp_part part;               /* of one entry */
    bool recorded;                 /* part is to be ended */
    pithp_value *inputs;           /* by input of the part's program: in the trace; */
    pithp_value *outputs;          /* the same by output, */
    pithp_rule_checks rule_checks; /* of the program that was added */
};

/* Begin a call in the trace of s, in zeroed memory of s. pithp_entry_end is required. */
void pithp_entry_begin(pithp_entry_call *c,
                       pith_scope *s,
                       const pithp_entry_rules *rules,
                       const pith_function *f);
void pithp_entry_end(pithp_entry_call *c);

/* Set arguments[i]. */
pith_status pithp_entry_flatten(pithp_entry_call *c, int i, const void *tree);
/* Set known[i] and specs[i]. */
pith_status pithp_entry_describe(pithp_entry_call *c, int i);
/* Record the function for one entry. */
pith_status pithp_entry_record(pithp_entry_call *c);
/* List the inputs of the program: captured arrays, and leaves that are not known. Makes
 * room for the outputs. */
pith_status pithp_entry_inputs(pithp_entry_call *c);
/* The batch of a program: at most `chunk` entries at a time; 0: as many as are best, or
 * all in a trace that is derived. One reference; NULL sets the error. */
pithp_program *pithp_entry_batch(const pithp_entry_call *c,
                                 const pithp_program *p,
                                 int64_t size,
                                 int64_t chunk,
                                 const bool *batched,
                                 bool *outputs_batched);
/* Add the program of all entries to the trace, of which it takes a reference; NULL: its
 * error is set. Sets the outputs. */
pith_status pithp_entry_add(pithp_entry_call *c, pithp_program *all);

/* ---- Sharded leaves (sharded.c) ---- */

/* The placement of one entry of a leaf, whose batch axis is not sharded. entry: its plain
 * spec. NULL: the error is set, without names. */
const pith_spec *pithp_entry_unbatch(pith_scope *s,
                                     const pith_spec *batch,
                                     int axis,
                                     const pith_spec *entry);
/* The placement of all entries. batch: their plain spec. NULL: the error is set, without
 * names. */
const pith_spec *pithp_entry_rebatch(pith_scope *s,
                                     const pith_spec *entry,
                                     int axis,
                                     const pith_spec *batch);

/* Prefix the path of an error at a leaf by its argument. Returns the code. */
pith_status pithp_entry_prefix(pith_scope *s, int argument);

#endif
