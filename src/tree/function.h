/* Typed functions, as they are passed, bound and called (function.c, partial.c). */
#ifndef PITHP_TREE_FUNCTION_H
#define PITHP_TREE_FUNCTION_H

#include "tree/node_def.h"

enum { PITHP_MOST_PARAMETERS = 4 };

struct pithp_closure;

typedef struct pithp_closure_kind {
    const char *name;
    size_t bytes; /* of the closure, which begins with a pithp_closure */
    /* A closure was copied into an object of s, its base and tree kept: what else it
     * points to must outlive s too. (optional) */
    pith_status (*made)(pith_scope *s, struct pithp_closure *closure);
    /* Append what tells such functions apart, besides base and tree. (optional) */
    void (*identity)(const struct pithp_closure *closure, pithp_text *text);
    /* What pith_call does with a function of the kind: nobody has looked at the trees, of
     * which there are as many as parameters, nor will at the result. NULL: error set.
     * (optional) */
    const void *(*call)(const struct pithp_closure *closure,
                        pith_scope *s,
                        const void *const *given);
} pithp_closure_kind;

/* What a function that was made at run time is made of: pith_function.closure. */
typedef struct pithp_closure {
    const pithp_closure_kind *kind;
    const pith_function *function; /* the function itself */
    const pith_function *base;     /* that it calls */
    const void *bound;             /* a tree that it passes on; NULL: none */
} pithp_closure;

/* A function that a user passed: made by PITH_FUNCTION, or live and of this runtime. */
extern const pithp_class pithp_function_class;
pith_status
pithp_function_check_slow(pith_scope *s, const pith_function *f, const char *function);
static inline pith_status
pithp_function_check(pith_scope *s, const pith_function *f, const char *function) {
    pithp_block *block = NULL;
    return PITHP_LIKELY(pithp_pointer_check(f, &block) == PITHP_POINTER_OK &&
                        pithp_header_of(f)->shape == &pithp_function_class &&
                        block->runtime == s->runtime)
               ? PITH_OK
               : pithp_function_check_slow(s, f, function);
}
/* The same of one that takes one tree. */
pith_status pithp_step_check(pith_scope *s, const pith_function *f, const char *function);
/* What a call of it returns where it fails; safe for pointers to no function. */
const void *pithp_function_nil(const pith_function *f);
/* Trees that are to be its arguments, one a parameter. */
pith_status
pithp_arguments_check(pith_scope *s, const pith_function *f, const void *const *trees);
/* The user's code. */
static inline const void *
pithp_function_run(const pith_function *f, pith_scope *s, const void *const *trees) {
    const pithp_call_site call = pithp_user_begins(s);
    const void *result = f->call(f, s, trees);
    pithp_user_ends(s, call);
    return result;
}
/* What it returned as what the caller gets: a tree of its type, of s. NULL: error set. */
const void *pithp_result_take(pith_scope *s, const pith_function *f, const void *result);
/* Whether a live tree is of the type of its results. */
bool pithp_result_fits(const pith_function *f, const void *tree);
/* Whether a pointer is a live tree that s may use: all is well, or pithp_tree_check says
 * what is not. */
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
/* A tree that is to be argument i of a checked function: a tree of its type. */
pith_status
pithp_argument_check(pith_scope *s, const pith_function *f, int i, const void *tree);
/* A function of s like `like`, with a copy of that closure, whose base and tree are kept.
 * NULL: error set. */
pithp_closure *pithp_function_make(pith_scope *s,
                                   const pith_function *like,
                                   const pithp_closure *closure);
/* A checked function, in outer where it would not outlive it. NULL: error set. */
const pith_function *pithp_function_keep(pith_scope *outer, const pith_function *f);
/* The trees that are bound in a checked function and in those that it is made of,
 * outermost first, as far as there is room; returns how many there are. Traced leaves and
 * statics of a function that is called are in its arguments and in these. */
int64_t pithp_function_bound(const pith_function *f, int64_t room, const void **trees);
/* Append equal bytes for functions that do the same, bound trees aside. */
void pithp_function_identity(const pith_function *f, pithp_text *text);
/* The same function in s with other trees bound, as many. NULL: error set. */
const pith_function *
pithp_function_rebind(pith_scope *s, const pith_function *f, const void *const *trees);

#endif
