/* Typed functions: passing, binding and calling (function.c, partial.c). */
#ifndef PITHP_TREE_FUNCTION_H
#define PITHP_TREE_FUNCTION_H

#include "tree/node_def.h"

enum { PITHP_MOST_PARAMETERS = 4, PITHP_MORE_BASES = 4 };

struct pithp_closure;

typedef struct pithp_closure_kind {
    const char *name;
    bool traced;  /* the call needs a trace: a compiled function always records it */
    size_t bytes; /* size of the closure, which begins with a pithp_closure */
    /* Called after a closure is copied into an object of s and its base and tree are
     * kept: promotes its other pointers to s. (optional) */
    pith_status (*made)(pith_scope *s, struct pithp_closure *closure);
    /* Append the identity of such a function, apart from base and tree. (optional) */
    void (*identity)(const struct pithp_closure *closure, pithp_string *text);
    /* Implements pith_call for this kind. It gets one tree per parameter, unchecked, and
     * its result is not checked. NULL sets the error. (optional) */
    const void *(*call)(const struct pithp_closure *closure,
                        pith_scope *s,
                        const void *const *given);
    /* In place of a call on a scope that has failed: the other ranks of a mesh may wait
     * for this one. (optional) */
    void (*absent)(const struct pithp_closure *closure, pith_scope *s);
} pithp_closure_kind;

/* Closure of a function made at run time: pith_function.closure. */
typedef struct pithp_closure {
    const pithp_closure_kind *kind;
    const pith_function *function;               /* the function itself */
    const pith_function *base;                   /* the function that it calls */
    const void *bound;                           /* a tree that it passes on, or NULL */
    const pith_function *more[PITHP_MORE_BASES]; /* others that it may call, or NULL */
} pithp_closure;

/* Check a function from the user: made by PITH_FUNCTION, or live and of this runtime. */
extern const pithp_class pithp_function_class;
pith_status
pithp_function_check_slow(pith_scope *s, const pith_function *f, const char *function);
static inline pith_status
pithp_function_check(pith_scope *s, const pith_function *f, const char *function) {
    pithp_block *block = NULL;
    return PITHP_LIKELY(pithp_pointer_check(f, &block) == PITHP_POINTER_OK &&
                        pithp_header_of(f)->descriptor == &pithp_function_class &&
                        block->runtime == s->runtime)
               ? PITH_OK
               : pithp_function_check_slow(s, f, function);
}
/* The same for a function of one tree. */
pith_status pithp_step_check(pith_scope *s, const pith_function *f, const char *function);
/* The failure result of a call of f; safe for invalid pointers. */
const void *pithp_function_nil(const pith_function *f);
/* Check the argument trees, one per parameter. */
pith_status
pithp_arguments_check(pith_scope *s, const pith_function *f, const void *const *trees);
/* Run the user's code. */
static inline const void *
pithp_function_run(const pith_function *f, pith_scope *s, const void *const *trees) {
    const pithp_call_site call = pithp_user_begins(s);
    const void *result = f->call(f, s, trees);
    pithp_user_ends(s, call);
    return result;
}
/* Check a function's result and keep it in s: a tree of the result type. NULL sets the
 * error. */
const void *pithp_result_take(pith_scope *s, const pith_function *f, const void *result);
/* Whether a live tree has the result type. */
bool pithp_result_fits(const pith_function *f, const void *tree);
/* Whether a pointer is a live tree that s may use. If not, pithp_tree_check reports the
 * reason. */
static inline bool
pithp_tree_is_usable(const pith_scope *s, const void *tree, pithp_block **in) {
    if (PITHP_UNLIKELY(pithp_pointer_check(tree, in) != PITHP_POINTER_OK ||
                       (*in)->runtime != s->runtime))
        return false;
    const pithp_header *h = pithp_header_of(tree);
    return h->kind == PITHP_KIND_ARRAY
               ? !(h->extra & PITHP_ARRAY_DONATED)
               : h->kind <= PITHP_KIND_NONE && !(h->flags & PITHP_FLAG_NIL);
}
/* Check a tree as argument i of a checked function: a tree of the parameter's type. */
pith_status
pithp_argument_check(pith_scope *s, const pith_function *f, int i, const void *tree);
/* A function of s like `like`, with a copy of the closure, whose base and tree are kept.
 * NULL sets the error. */
pithp_closure *pithp_function_make(pith_scope *s,
                                   const pith_function *like,
                                   const pithp_closure *closure);
/* A checked function, copied to outer unless it outlives outer. NULL sets the error. */
const pith_function *pithp_function_keep(pith_scope *outer, const pith_function *f);
/* Trees bound in a checked function and in the functions that it calls, outermost first,
 * those of the base before those of others, up to `room`. Returns their total count. All
 * traced leaves and statics of a call are in its arguments and these trees. */
int64_t pithp_function_bound(const pith_function *f, int64_t room, const void **trees);
/* Append an identity: equal bytes for functions with the same behaviour, apart from bound
 * trees. */
void pithp_function_identity(const pith_function *f, pithp_string *text);
/* The same function in s with the same number of other bound trees. NULL sets the
 * error. */
const pith_function *
pithp_function_rebind(pith_scope *s, const pith_function *f, const void *const *trees);

#endif
