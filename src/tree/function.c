/* Typed functions over trees. */
#include "tree/node_internal.h"

#include <stdio.h>

static const pith_type *type_of(const pith_type *(*get)(void)) {
    return get ? get() : NULL;
}

/* Whether a pointer is a tree that s may use, of the type: the usual case, seen at once.
 */
static inline bool is_tree_of(const pith_scope *s,
                              const pith_type *type,
                              const void *tree,
                              pithp_block **in) {
    if (PITHP_UNLIKELY(pithp_pointer_check(tree, in) != PITHP_POINTER_OK ||
                       (*in)->runtime != s->runtime))
        return false;
    const pithp_header *h = pithp_header_of(tree);
    if (h->kind == PITHP_KIND_ARRAY)
        return !(h->extra & PITHP_ARRAY_DONATED) &&
               (!type || type == pith_array_pith_type());
    return h->kind <= PITHP_KIND_NONE && !(h->flags & PITHP_FLAG_NIL) &&
           (!type || pithp_shape_of(tree)->type == type);
}

/* Whether a checked tree is of a type; what is wrong is set. */
static pith_status check_type(pith_scope *s,
                              const pith_function *f,
                              const char *what,
                              const pith_type *type,
                              const void *tree) {
    static const char *const kinds[] = {[PITHP_KIND_FREE] = "a dropped object",
                                        [PITHP_KIND_ARRAY] = "an array",
                                        [PITHP_KIND_RECORD] = "a record",
                                        [PITHP_KIND_LIST] = "a list",
                                        [PITHP_KIND_TUPLE] = "a tuple",
                                        [PITHP_KIND_DICT] = "a dict",
                                        [PITHP_KIND_NONE] = "none"};
    const pithp_kind kind = pithp_kind_of(tree);
    const pith_type *got = kind == PITHP_KIND_RECORD ? pithp_shape_of(tree)->type : NULL;
    const bool array = type == pith_array_pith_type();
    if (!type || (array ? kind == PITHP_KIND_ARRAY : got == type))
        return PITH_OK;
    return pithp_fail(s, PITH_E_TYPE, NULL, "%s: %s: expected %s%s, got %s%s", f->name,
                      what, array ? "an " : "", type->name, got ? "a record of " : "",
                      got ? got->name : kinds[kind]);
}

pith_status
pithp_argument_check(pith_scope *s, const pith_function *f, int i, const void *tree) {
    static const char *const what[] = {"argument 1", "argument 2", "argument 3",
                                       "argument 4"};
    _Static_assert(PITHP_COUNT(what) == PITHP_MOST_PARAMETERS, "each has a name");
    const pith_type *type = type_of(f->parameters[i]);
    pithp_block *block = NULL;
    if (PITHP_LIKELY(is_tree_of(s, type, tree, &block)))
        return PITH_OK;
    if (pithp_tree_check(s, tree, f->name, what[i]) != PITH_OK)
        return s->error.code;
    return check_type(s, f, what[i], type, tree);
}

static pith_status check_arguments(pith_scope *s,
                                   const pith_function *f,
                                   int count,
                                   const void *const *arguments) {
    if (count != f->arity)
        return pithp_fail(s, PITH_E_ARG, NULL, "%s: expected %d argument%s, got %d",
                          f->name, f->arity, f->arity == 1 ? "" : "s", count);
    if (!arguments)
        return pithp_fail(s, PITH_E_ARG, NULL, "%s: the arguments are NULL", f->name);
    pith_status rc = PITH_OK;
    for (int i = 0; i < count && rc == PITH_OK; i++)
        rc = pithp_argument_check(s, f, i, arguments[i]);
    return rc;
}

/* A result as what the caller gets. NULL: error set. */
static const void *
take_result(pith_scope *s, const pith_function *f, const void *result) {
    const pith_type *type = type_of(f->result);
    pithp_block *block = NULL;
    if (PITHP_LIKELY(is_tree_of(s, type, result, &block) && block->owner == s))
        return result;
    if (pithp_tree_check(s, result, f->name, "result") != PITH_OK ||
        check_type(s, f, "result", type, result) != PITH_OK)
        return NULL;
    return pithp_keep_slots(s, 1, &result) == PITH_OK ? result : NULL;
}

const void *pith_call(pith_scope *s,
                      const pith_function *function,
                      int count,
                      const void *const *arguments) {
    if (!pithp_enter(s) || pithp_function_check(s, function, "pith_call") != PITH_OK ||
        check_arguments(s, function, count, arguments) != PITH_OK)
        return pithp_function_nil(function);
    const void *result = function->call(function, s, arguments);
    if (PITHP_LIKELY(s->error.code == PITH_OK))
        result = take_result(s, function, result);
    return PITHP_LIKELY(s->error.code == PITH_OK) ? result : pithp_function_nil(function);
}
