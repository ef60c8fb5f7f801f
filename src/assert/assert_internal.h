/* Assertions as the rooms above see them: checks with fixes of the library's own, and
 * what drivers of steps do with collections. */
#ifndef PITH_ASSERT_INTERNAL_H
#define PITH_ASSERT_INTERNAL_H

#include "pith/assert.h"

#include "program/exec/predicate_all.h"
#include "tree/tree_internal.h"

/* ---- Fixes ---- */

/* A fix of the library's own, and what else is the library's of such a check. The
 * closure is copied. call NULL: there is no fix. */
typedef struct pithp_fix {
    /* A repaired root in s; NULL or a nil record with the error of s set on failure. */
    const void *(*call)(pith_scope *s,
                        const void *root,
                        const void *args,
                        const void *closure);
    const void *closure;
    size_t closure_bytes;
    /* Make what the copied closure points at outlive the scope of the assertion, as
     * pith_keep does. (optional) */
    pith_status (*keep)(pith_scope *owner, void *closure);
    /* Append the message in the place of the one that was given; values are copied from
     * the device on the stream. Of a check that nobody collects the closure is kept in
     * the root of its scope. (optional) */
    pith_status (*print)(pithp_stream *st,
                         const pith_assertion *a,
                         const void *closure,
                         pithp_text *t,
                         pithp_error *e);
} pithp_fix;

/* As pith_check_with, with such a fix in the place of options->fix; NULL: none. */
void pithp_check(pith_scope *s,
                 const pith_array *predicate,
                 const pith_check_options *options,
                 const pithp_fix *fix);

/* ---- Roots and their parts ---- */

typedef const void *(*pithp_part_function)(pith_scope *s,
                                           const void *part,
                                           void *closure);
/* How a function on a part becomes one on the whole. */
typedef struct pithp_rebase {
    /* The whole in which `function` has been applied to the part. */
    const void *(*apply)(pith_scope *s,
                         const void *whole,
                         const void *closure,
                         pithp_part_function function,
                         void *function_closure);
    const void *closure;              /* as long as the assertions live */
    const char *path;                 /* of the part in the whole; the same */
    const struct pithp_rebase *inner; /* set by pithp_collector_rebase */
} pithp_rebase;
/* Fixes of the slots of c from `first` on were made for a part: make them fixes of the
 * whole. Paths get the part's in front. */
pith_status
pithp_collector_rebase(pith_scope *s, pithp_collector *c, int64_t first, pithp_rebase r);

/* The same of one path and rebase, in memory of owner. */
pith_status pithp_rebase_one(pith_scope *s,
                             pith_scope *owner,
                             const char **path_of,
                             const pithp_rebase **rebase,
                             const pithp_rebase *r);

/* ---- Guards: fixes of pith_require_capacity in kernels (guard.c) ---- */

/* Launches of a collector that find a size of that name too small have a fix, which is
 * called with the need, an i64 of rank 0. The latest guard of a name counts. */
typedef struct pithp_guard {
    const struct pithp_guard *next;
    const char *name, *path;
    pithp_fix fix;
    const pithp_rebase *rebase;
    int64_t first; /* slots that were there before it */
} pithp_guard;
/* One by itself; texts are copied. NULL: the error of owner is set. */
pithp_guard *pithp_guard_make(pith_scope *owner,
                              const char *name,
                              const char *path,
                              const pithp_fix *fix);
/* It counts for launches of the collector from here on. */
void pithp_guard_push(pithp_collector *c, pithp_guard *g);
/* Nothing where nobody collects. Texts are copied. */
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
    pithp_check_slot *of;  /* what was checked: its own slot, or that of a launch */
    const pith_spec *spec; /* of the predicate */
    pithp_buffer *buffer;
    const char *message, *path;
    pith_check_level level;
    pith_status code;
    const pith_function *function; /* fix of the user's */
    pithp_fix fix;                 /* of the library's own; call NULL: none */
    const void *fix_args;
    const pith_treedef *fix_structure; /* of fix arguments of a recorded check; NULL: they
                                          are an array, or there are none */
    const pithp_rebase *rebase;        /* outermost first; NULL: the fix is of the root */
    int32_t arg_count, info_count;
    pithp_arg *args;
    pith_check_info *infos;
    struct pithp_checks *from; /* of a recorded check: who holds its texts; a reference */
};

extern const char pithp_assertion_tag[]; /* the shape of these objects: its address */
/* Whether a slot is that of a pith_assertion. */
static inline bool pithp_slot_is_assertion(const pithp_check_slot *slot) {
    return pithp_header_of(slot)->shape == pithp_assertion_tag;
}
/* An assertion for the check of a launch that failed. NULL: error set. */
pith_assertion *
pithp_assertion_of_launch(pith_scope *s, pith_scope *owner, pithp_check_slot *slot);
static inline bool pithp_assertion_failed(const pith_assertion *a) {
    return a->of->seen.first != 0;
}
/* Sets the error of s unless it is one. */
bool pithp_assertion_check(pith_scope *s, const pith_assertion *a, const char *function);
/* Fill e with the error that a known assertion is, its text as it would be were it to
 * fail. Copies values from the device. */
void pithp_assertion_describe(pithp_stream *st, const pith_assertion *a, pithp_error *e);
/* The root with the fix applied. */
const void *pithp_assertion_fix(pith_scope *s, const pith_assertion *a, const void *root);
static inline bool pithp_assertion_has_fix(const pith_assertion *a) {
    return a->function || a->fix.call;
}

/* The guards that a collection ended with, latest first. */
const pithp_guard *pithp_result_guards(const pith_result *result);

/* ---- Collections that were read ---- */

/* What came of the slots of a collector: all are known. */
typedef struct pithp_outcome {
    int64_t count, failed_count, counting_count;
    /* In order; in memory of the scope. counting: the failed ones that are repaired, or
     * raised where they cannot be: the first ones, up to the end of the iteration of a
     * loop or of the branch in which one failed. */
    const pith_assertion **all, **failed, **counting;
} pithp_outcome;
/* Learn it of the first `count` slots; waits on the stream of s. The lists are owned by
 * `owner`. */
pith_status pithp_outcome_read(pith_scope *s,
                               pith_scope *owner,
                               pithp_collector *c,
                               int64_t count,
                               pithp_outcome *outcome);
/* A known, failed assertion becomes the error of s. */
pith_status pithp_assertion_raise(pith_scope *s, const pith_assertion *a);
/* The first failed one that counts and has no fix becomes the error of s; false: there is
 * none. */
bool pithp_outcome_raise_unfixable(pith_scope *s, const pithp_outcome *outcome);
/* The fixes of failed ones that count, each applied to what the one before gave; one
 * without a fix is raised before any runs. NULL: error set. */
const void *
pithp_outcome_repair(pith_scope *s, const pithp_outcome *outcome, const void *root);

/* ---- What the room hangs on runtimes (room.c) ---- */

/* From here on the runtime calls the functions below. */
void pithp_assert_room(pith_runtime *rt);
void pithp_collecting_close(pith_scope *s); /* result.c: s is about to close */
void pithp_debug_close(pith_runtime *rt);   /* debug.c: rt is about to close */

/* ---- Messages (format.c) ---- */

/* A text with placeholders, and what they name. */
typedef struct pithp_wording {
    const char *text;
    const pithp_arg *args;
    const pith_check_info *infos;
    int32_t arg_count, info_count;
    const pith_assertion *assertion; /* that {index} is of; NULL: there is no {index} */
} pithp_wording;
/* Whether a text fits its arguments; sets the error. */
pith_status
pithp_wording_check(pith_scope *s, const char *function, const pithp_wording *w);
/* Whether a placeholder of a text that fits has this name. */
bool pithp_wording_names(const pithp_wording *w, const char *name);
/* Append the text with its values, which are copied from the device. */
pith_status pithp_wording_print(pithp_stream *st,
                                const pithp_wording *w,
                                pithp_text *t,
                                pithp_error *e);

/* Whether a message fits its arguments; sets the error. */
pith_status pithp_message_check(pith_scope *s, const pith_assertion *a);
/* Append the message with its values, which are copied from the device. */
pith_status pithp_message_print(pithp_stream *st,
                                const pith_assertion *a,
                                pithp_text *t,
                                pithp_error *e);

#endif
