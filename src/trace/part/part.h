/* Functions recorded into programs of their own, in the trace of an outer scope (within
 * src/trace). */
#ifndef PITHP_TRACE_PART_H
#define PITHP_TRACE_PART_H

#include "array/checks/checks.h"
#include "program/ir/program.h"
#include "tree/tree_internal.h"

/* ---- Returned trees (returned.c) ---- */

/* A tree returned by a function, for error messages: "pith_scan: body f's out". */
typedef struct pithp_returned {
    const char *function;   /* of the user: "pith_scan" */
    const char *role;       /* its role there: "body", "on_true", "branch 2" */
    const pith_function *f; /* the body */
    const char *part;       /* "result", or its member */
} pithp_returned;
enum { PITHP_RETURNED_BYTES = 200 };
/* The trees in two members of a record that a function returned. */
pith_status pithp_returned_members(pith_scope *s,
                                   const pithp_returned *r,
                                   const char *const names[2],
                                   const void *result,
                                   const void *parts[2]);
/* Check that a returned tree is like another: structure, statics, leaf specs. */
pith_status pithp_returned_check(pith_scope *s,
                                 const pithp_returned *r,
                                 const void *expected,
                                 const pithp_flat *wanted,
                                 const void *got);

/* ---- Paths of parts of arguments (path.c) ---- */

/* A path in its only spelling. */
typedef struct pithp_part_path {
    int argument;
    const char *inside; /* in memory of the scope, or of the text that was read */
} pithp_part_path;
/* Read "[0].atoms.charge", of an argument of f. */
pith_status pithp_part_path_read(pith_scope *s,
                                 const char *function,
                                 const pith_function *f,
                                 const char *path,
                                 pithp_part_path *read);
/* Normalize the path in the argument. PITH_E_PATH: it is malformed. */
pith_status pithp_part_path_normal(pith_scope *s,
                                   const char *function,
                                   const pith_function *f,
                                   pithp_part_path *path);
/* Whether a part is in both. */
bool pithp_part_path_overlap(const pithp_part_path *a, const pithp_part_path *b);

/* ---- Recording (part.c) ---- */

/* Traced leaves of trees bound in functions, captured from the outer trace. */
typedef struct pithp_captured {
    const pith_array **arrays; /* in memory of the scope */
    int64_t count, room;
} pithp_captured;
/* Add the captured arrays of f. */
pith_status
pithp_part_capture(pith_scope *s, pithp_captured *captured, const pith_function *f);

enum { PITHP_PART_ARGUMENTS = PITHP_MOST_PARAMETERS, PITHP_PART_RESULTS = 2 };

/* A request to record a sub-program. */
typedef struct pithp_part_call pithp_part_call;
struct pithp_part_call {
    const char *function; /* of the user: "pith_scan" */
    const pith_function *body;
    const pithp_captured *captured; /* the first inputs of the program */
    int64_t first_captured;         /* index of the body's own captures */
    int argument_count;
    const pithp_flat *arguments[PITHP_PART_ARGUMENTS];
    const bool *known[PITHP_PART_ARGUMENTS]; /* leaves that are passed on as they are, and
                                                are no inputs; NULL: none */
    const bool *zeros[PITHP_PART_ARGUMENTS]; /* leaves that are zeros, and no inputs;
                                                NULL: none */
    const pith_spec *const *specs[PITHP_PART_ARGUMENTS]; /* of the leaves in the body;
                                                            NULL: their own */
    bool counts;               /* argument 1 is an index, and output 1 the next index */
    bool derived;              /* the program will be derived */
    size_t derived_bytes;      /* and then keep at most these; 0: as the trace around */
    const pith_array *decides; /* whether it runs; NULL: it does */
    uint32_t varies;           /* axes over which all inputs vary at least */
    /* The parts of the result, in its scope s. NULL: the result is the only one. */
    pith_status (*split)(pith_scope *s,
                         const pithp_part_call *call,
                         const void *result,
                         const void *parts[2]);
    const void *alone;   /* for split */
    int sharded_results; /* of these first ones leaves may be sharded */
};

/* A sub-program: inputs are the captured arrays and the leaves of the arguments, outputs
 * are the leaves of the results. */
typedef struct pithp_part {
    pith_scope *scope;      /* of the results; open until pithp_part_end */
    pithp_program *program; /* one reference */
    pithp_checks *checks;   /* of the body; their values are the last outputs; or NULL */
    pithp_value *check_values; /* these outputs */
    size_t derived_bytes;      /* of the budget of the call, those not yet used */
    int refused; /* 1 + the argument whose records do not hold `specs`; 0: none */
    int result_count;
    const void *results[PITHP_PART_RESULTS];
    pithp_flat flats[PITHP_PART_RESULTS];
} pithp_part;

/* On failure the error is set; pithp_part_end is required in any case. */
pith_status
pithp_part_record(pith_scope *s, pithp_part *part, const pithp_part_call *call);
void pithp_part_end(pithp_part *part);

/* Traced arrays of values, in memory of the scope. NULL: error set. */
const pith_array **
pithp_trace_arrays(pith_scope *s, int64_t count, const pithp_value *values);
/* A traced array of zeros. NULL: error set. */
const pith_array *pithp_trace_zeros(pith_scope *s, const pith_spec *spec);
/* A tree of s with new leaves, placed as those of `like`. NULL: error set. */
const void *
pithp_part_build(pith_scope *s, const pithp_flat *like, const pith_array *const *items);
/* The same without hooks, which are for values: for tangents, gradients, batches. */
const void *pithp_part_build_quiet(pith_scope *s,
                                   const pithp_structure *like,
                                   const pith_array *const *items);
/* The same of leaves that have their placements, other than those of `like`. */
const void *pithp_part_build_placed(pith_scope *s,
                                    const pithp_structure *like,
                                    const pith_array *const *items);

#endif
