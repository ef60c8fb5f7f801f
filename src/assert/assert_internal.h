/* Assertions, for the rooms above: checks with fixes of the library, and collections for
 * drivers of steps. */
#ifndef PITH_ASSERT_INTERNAL_H
#define PITH_ASSERT_INTERNAL_H

#include "pith/assert.h"

#include "program/exec/predicate_all.h"
#include "tree/tree_internal.h"

/* ---- Fixes ---- */

/* A fix of the library with its callbacks. The closure is copied. call NULL: no fix. */
typedef struct pithp_fix {
    /* The repaired root in s; NULL or a nil record with the error of s set on failure. */
    const void *(*call)(pith_scope *s,
                        const void *root,
                        const void *args,
                        const void *closure);
    const void *closure;
    size_t closure_bytes;
    bool greatest; /* of the arguments of several ranks it takes the greatest */
    bool defers;   /* to the fix of another check: it is no repair to report */
    /* Extend the lifetime of objects in the copied closure to that of the assertion's
     * scope, as pith_keep does. (optional) */
    pith_status (*keep)(pith_scope *owner, void *closure);
    /* Append the message in place of the given one; values are copied from the device on
     * the stream. Without a collector the closure is kept in the root of its scope.
     * (optional) */
    pith_status (*print)(pithp_stream *st,
                         const pith_assertion *a,
                         const void *closure,
                         pithp_string *t,
                         pithp_error *e);
} pithp_fix;

/* As pith_check_with, with this fix in place of options->fix; NULL: no fix. */
void pithp_check(pith_scope *s,
                 const pith_array *predicate,
                 const pith_check_options *options,
                 const pithp_fix *fix);

/* ---- Roots and their parts ---- */

typedef const void *(*pithp_part_function)(pith_scope *s,
                                           const void *part,
                                           void *closure);
/* Turns a function of a part into a function of the whole. */
typedef struct pithp_rebase {
    /* The whole after `function` was applied to its part. */
    const void *(*apply)(pith_scope *s,
                         const void *whole,
                         const void *closure,
                         pithp_part_function function,
                         void *function_closure);
    const void *closure;              /* lives as long as the assertions */
    const char *path;                 /* of the part in the whole; same lifetime */
    const struct pithp_rebase *inner; /* set by pithp_collector_rebase */
} pithp_rebase;
/* Rebase the fixes of the slots of c from `first` on from a part to the whole. The part's
 * path is prefixed to their paths. */
pith_status
pithp_collector_rebase(pith_scope *s, pithp_collector *c, int64_t first, pithp_rebase r);

/* Rebase one path and one fix, in memory of owner. */
pith_status pithp_rebase_one(pith_scope *s,
                             pith_scope *owner,
                             const char **path_of,
                             const pithp_rebase **rebase,
                             const pithp_rebase *r);

/* ---- Guards: fixes of pith_require_capacity in kernels (guard.c) ---- */

/* A fix for launches of a collector that find the size `name` too small. It is called
 * with the need, an i64 of rank 0. If several guards share a name, the latest applies. */
typedef struct pithp_guard {
    const struct pithp_guard *next;
    const char *name, *path;
    pithp_fix fix;
    const pithp_rebase *rebase;
    int64_t first; /* number of slots before the guard */
} pithp_guard;
/* A guard outside any collector; texts are copied. NULL: the error of owner is set. */
pithp_guard *pithp_guard_make(pith_scope *owner,
                              const char *name,
                              const char *path,
                              const pithp_fix *fix);
/* Apply the guard to later launches of the collector. */
void pithp_guard_push(pithp_collector *c, pithp_guard *g);
/* Does nothing without a collector. Texts are copied. */
pith_status
pithp_guard_add(pith_scope *s, const char *name, const char *path, const pithp_fix *fix);
/* Complete the assertion of a failed launch. */
pith_status pithp_guard_apply(pith_scope *s, pith_scope *owner, pith_assertion *a);

/* ---- Assertions ---- */

typedef struct pithp_arg {
    const char *name;
    const pith_spec *spec;
    void *data; /* in device memory */
    pithp_buffer *buffer;
} pithp_arg;

struct pith_assertion {
    pithp_check_slot slot; /* of its own */
    pithp_check_slot *of;  /* the checked slot: its own, or that of a launch */
    const pith_spec *spec; /* of the predicate */
    pithp_buffer *buffer;
    const char *message, *path;
    pith_check_level level;
    pith_status code;
    bool greatest;                 /* of several fix arguments: the greatest */
    const pith_function *function; /* fix of the user */
    pithp_fix fix;                 /* fix of the library; call NULL: none */
    const void *fix_args;
    const pith_treedef
        *fix_structure;         /* of recorded fix arguments; NULL: an array, or none */
    const pithp_rebase *rebase; /* outermost first; NULL: not rebased */
    int32_t arg_count, info_count;
    pithp_arg *args;
    pith_check_info *infos;
    struct pithp_checks *from; /* recorded check: a reference to the owner of its texts */
};

extern const char pithp_assertion_tag[]; /* identifies these objects by its address */
/* Whether a slot is that of a pith_assertion. */
static inline bool pithp_slot_is_assertion(const pithp_check_slot *slot) {
    return pithp_header_of(slot)->descriptor == pithp_assertion_tag;
}
/* An assertion for the failed check of a launch. NULL: error set. */
pith_assertion *
pithp_assertion_of_launch(pith_scope *s, pith_scope *owner, pithp_check_slot *slot);
static inline bool pithp_assertion_failed(const pith_assertion *a) {
    return a->of->seen.first != 0;
}
/* Check that a pointer is an assertion. */
bool pithp_assertion_check(pith_scope *s, const pith_assertion *a, const char *function);
/* Fill e with the error of a known assertion, as if it had failed. Copies values from the
 * device. */
void pithp_assertion_describe(pithp_stream *st, const pith_assertion *a, pithp_error *e);
/* The root with the fix applied. */
const void *pithp_assertion_fix(pith_scope *s, const pith_assertion *a, const void *root);
static inline bool pithp_assertion_has_fix(const pith_assertion *a) {
    return a->function || a->fix.call;
}

/* Whether a failure follows from that of a check with a fix, if there is one: a number of
 * rows in use outgrows an array of a capacity that is too small. Its repair is that of
 * the capacity; if the number is wrong on its own account, the next try finds it. */
bool pithp_assertion_follows(const pith_assertion *a);

/* The guards at the end of a collection, latest first. */
const pithp_guard *pithp_result_guards(const pith_result *result);

/* ---- Collections that were read ---- */

/* Outcome of a collector's slots, all known. */
typedef struct pithp_outcome {
    int64_t count, failed_count, counting_count;
    /* In order; in memory of the scope. counting: the failed checks to repair, or to
     * raise if they have no fix. These are the first ones, up to the end of the loop
     * iteration or branch that contains the first failure. If one has a fix, numbers of
     * rows that an array does not have (pithp_assertion_follows) are in neither list. */
    const pith_assertion **all, **failed, **counting;
} pithp_outcome;
/* Read the outcome of the first `count` slots; waits on the stream of s. The lists are
 * owned by `owner`. */
pith_status pithp_outcome_read(pith_scope *s,
                               pith_scope *owner,
                               pithp_collector *c,
                               int64_t count,
                               pithp_outcome *outcome);
/* Make a known, failed assertion the error of s. */
pith_status pithp_assertion_raise(pith_scope *s, const pith_assertion *a);
/* Make the first counting failure without a fix the error of s; false: none. */
bool pithp_outcome_raise_unfixable(pith_scope *s, const pithp_outcome *outcome);
/* Apply the fixes of the counting failures in order, each to the result of the previous
 * one. A failure without a fix is raised before any fix runs. NULL: error set. */
const void *
pithp_outcome_repair(pith_scope *s, const pithp_outcome *outcome, const void *root);

/* ---- Outcomes of several ranks (ranks.c) ---- */

/* Replace the counting failures by those of all ranks, in program order: on every rank as
 * many, the same checks, with the same arguments of their fixes, also where the check has
 * passed. All ranks call it, each with the outcome of its own collector; s has ranks and
 * owns the new list. false: every rank has an error, the same one if a failure has no fix
 * or may_repair is false. */
bool pithp_outcome_unite(pith_scope *s,
                         const char *operation,
                         const pithp_collector *c,
                         pithp_outcome *o,
                         bool may_repair);
/* Whether checks have passed on all ranks; each tells whether its own have. A scope that
 * has failed takes part. */
bool pithp_pass_joint(pith_scope *s, const char *operation, bool passed);
/* pithp_outcome_repair on all ranks; o NULL: the scope has failed. root NULL: the first
 * failure is raised. */
const void *pithp_repair_joint(pith_scope *s,
                               const char *operation,
                               const pithp_collector *c,
                               const pithp_outcome *o,
                               const void *root);
/* Whether a fix, or the report of one, has succeeded: on all ranks, with roots of one
 * structure. */
bool pithp_fix_agreed(pith_scope *s, const char *operation, const void *root);

/* ---- Hooks of the room on runtimes (room.c) ---- */

/* Register the functions below with the runtime. */
void pithp_assert_room(pith_runtime *rt);
void pithp_collecting_close(pith_scope *s); /* result.c: s is about to close */
void pithp_debug_close(pith_runtime *rt);   /* debug.c: rt is about to close */

/* ---- Messages (format.c) ---- */

/* A text with placeholders, and their arguments. */
typedef struct pithp_wording {
    const char *text;
    const pithp_arg *args;
    const pith_check_info *infos;
    int32_t arg_count, info_count;
    const pith_assertion *assertion; /* gives {index}; NULL: {index} is not allowed */
} pithp_wording;
/* Check a text against its arguments. */
pith_status
pithp_wording_check(pith_scope *s, const char *function, const pithp_wording *w);
/* Whether a valid text has a placeholder of this name. */
bool pithp_wording_names(const pithp_wording *w, const char *name);
/* Append the text with its values, which are copied from the device. */
pith_status pithp_wording_print(pithp_stream *st,
                                const pithp_wording *w,
                                pithp_string *t,
                                pithp_error *e);

/* Check a message against its arguments. */
pith_status pithp_message_check(pith_scope *s, const pith_assertion *a);
/* Append the message with its values, which are copied from the device. */
pith_status pithp_message_print(pithp_stream *st,
                                const pith_assertion *a,
                                pithp_string *t,
                                pithp_error *e);

#endif
