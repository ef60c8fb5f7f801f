/* Typed functions over trees. */
#include "tree/node_internal.h"

#include <stdio.h>

static const pith_type *type_of(const pith_type *(*get)(void)) {
    return get ? get() : NULL;
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
    if (pithp_tree_check(s, tree, f->name, what[i]) != PITH_OK)
        return s->error.code;
    return check_type(s, f, what[i], type_of(f->parameters[i]), tree);
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

const void *pith_call(pith_scope *s,
                      const pith_function *function,
                      int count,
                      const void *const *arguments) {
    if (!pithp_enter(s) || pithp_function_check(s, function, "pith_call") != PITH_OK)
        return pithp_function_nil(function);
    const pith_type *type = type_of(function->result);
    const void *nil = pithp_function_nil(function);
    if (check_arguments(s, function, count, arguments) != PITH_OK)
        return nil;
    const void *result = function->call(function, s, arguments);
    if (s->error.code != PITH_OK)
        return nil;
    if (pithp_tree_check(s, result, function->name, "result") != PITH_OK ||
        check_type(s, function, "result", type, result) != PITH_OK)
        return nil;
    return pithp_keep_slots(s, 1, &result) == PITH_OK ? result : nil;
}
