/* Typed functions over trees: checks of arguments and results. */
#include "base/in_flight.h"
#include "tree/node_internal.h"

#include <inttypes.h>
#include <stdio.h>

static const pith_type *type_of(const pith_type *(*get)(void)) {
    return get ? get() : NULL;
}

/* Whether a live tree has a type; NULL stands for any type. */
static inline bool is_of_type(const pith_type *type, const void *tree) {
    if (!type)
        return true;
    return pithp_kind_of(tree) == PITHP_KIND_ARRAY
               ? type == pith_array_pith_type()
               : pithp_kind_of(tree) == PITHP_KIND_RECORD &&
                     pithp_node_def_of(tree)->type == type;
}

bool pithp_result_fits(const pith_function *f, const void *tree) {
    return is_of_type(type_of(f->result), tree);
}

/* Check the type of a checked tree; a mismatch sets the error. */
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
    const pith_type *got =
        kind == PITHP_KIND_RECORD ? pithp_node_def_of(tree)->type : NULL;
    const bool array = type == pith_array_pith_type();
    if (is_of_type(type, tree))
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
    if (PITHP_LIKELY(pithp_tree_is_usable(s, tree, &block) && is_of_type(type, tree)))
        return PITH_OK;
    if (pithp_tree_check(s, tree, f->name, what[i]) != PITH_OK)
        return s->error.code;
    return check_type(s, f, what[i], type, tree);
}

pith_status
pithp_arguments_check(pith_scope *s, const pith_function *f, const void *const *trees) {
    pith_status rc = PITH_OK;
    for (int i = 0; i < f->arity && rc == PITH_OK; i++)
        rc = pithp_argument_check(s, f, i, trees[i]);
    return rc;
}

const void *pithp_result_take(pith_scope *s, const pith_function *f, const void *result) {
    const pith_type *type = type_of(f->result);
    pithp_block *block = NULL;
    if (PITHP_UNLIKELY(s->error.code != PITH_OK))
        return NULL;
    if (PITHP_LIKELY(pithp_tree_is_usable(s, result, &block) && block->owner == s &&
                     is_of_type(type, result)))
        return result;
    if (pithp_tree_check(s, result, f->name, "result") != PITH_OK ||
        check_type(s, f, "result", type, result) != PITH_OK)
        return NULL;
    return pithp_keep_slots(s, 1, &result) == PITH_OK ? result : NULL;
}

static pith_status check_count(pith_scope *s,
                               const pith_function *f,
                               int64_t count,
                               const void *const *trees) {
    if (count != f->arity)
        return pithp_fail(s, PITH_E_ARG, NULL, "%s: expected %d argument%s, got %" PRId64,
                          f->name, f->arity, f->arity == 1 ? "" : "s", count);
    if (!trees)
        return pithp_fail(s, PITH_E_ARG, NULL, "%s: the arguments are NULL", f->name);
    return PITH_OK;
}

static const void *
call_plain(pith_scope *s, const pith_function *f, const void *const *trees) {
    return pithp_arguments_check(s, f, trees) == PITH_OK
               ? pithp_result_take(s, f, pithp_function_run(f, s, trees))
               : NULL;
}

/* A call on a scope that has failed, or without such arguments. */
static const void *refuse_call(pith_scope *s, const pith_function *f) {
    const pithp_closure *c =
        pithp_scope_writable(s) && pithp_function_check(s, f, "pith_call") == PITH_OK
            ? f->closure
            : NULL;
    if (c && c->kind->absent)
        c->kind->absent(c, s);
    return pithp_function_nil(f);
}

const void *pith_call(pith_scope *s,
                      const pith_function *function,
                      int64_t count,
                      const void *const *arguments) {
    PITHP_IN_FLIGHT(s, "pith_call");
    if (!pithp_enter(s) || pithp_function_check(s, function, "pith_call") != PITH_OK ||
        check_count(s, function, count, arguments) != PITH_OK)
        return refuse_call(s, function);
    const pithp_closure *c = function->closure;
    const void *result = c && c->kind->call ? c->kind->call(c, s, arguments)
                                            : call_plain(s, function, arguments);
    return PITHP_LIKELY(s->error.code == PITH_OK) ? result : pithp_function_nil(function);
}
