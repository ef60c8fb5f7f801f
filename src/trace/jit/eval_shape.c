/* pith_eval_shape: dtypes and shapes of a function's result. The function is traced and
 * the trace discarded, except for cached parts of compiled functions that it calls. */
#include "base/in_flight.h"
#include "trace/jit/jit_internal.h"

static const char *const name = "pith_eval_shape";

/* A tree of this structure with traced leaves. NULL: error set. */
static const void *trace_structure(pith_scope *s,
                                   pithp_trace *t,
                                   const pithp_structure *structure,
                                   const pith_scope *owner) {
    const size_t bytes = (size_t)structure->item_count * sizeof(pith_array *);
    const pith_array **leaves = pithp_scope_allocate(s, bytes + 1);
    for (int64_t k = 0; leaves && k < structure->item_count; k++)
        leaves[k] = pithp_trace_input(s, t, structure->specs[k]);
    return s->error.code == PITH_OK ? pithp_build_made(s, structure, owner, leaves)
                                    : NULL;
}

/* The same of a tree. */
static const void *trace_tree(pith_scope *s, pithp_trace *t, const void *tree) {
    pithp_flat f;
    if (pithp_flat_make(s, &f, tree, NULL, NULL) != PITH_OK)
        return NULL;
    const void *traced = trace_structure(s, t, &f.structure, pithp_owner_of(tree));
    pithp_flat_end(&f);
    return traced;
}

/* The same for an argument, which may be a structure. */
static const void *trace_argument(pith_scope *s, pithp_trace *t, const void *argument) {
    pithp_block *block = NULL;
    if (pithp_pointer_check(argument, &block) != PITHP_POINTER_OK ||
        pithp_kind_of(argument) != PITHP_KIND_TREEDEF)
        return pithp_tree_check(s, argument, name, "argument") == PITH_OK
                   ? trace_tree(s, t, argument)
                   : NULL;
    const pithp_structure *structure = pithp_treedef_check(s, argument, name, "argument");
    if (structure && structure->picked) {
        pithp_fail(s, PITH_E_ARG, NULL,
                   "%s: argument: the structure has places for any "
                   "tree",
                   name);
        return NULL;
    }
    return structure ? trace_structure(s, t, structure, pithp_owner_of(argument)) : NULL;
}

/* The trees for the function: arguments, then bound trees. */
static const void **trace_trees(pith_scope *s,
                                pithp_trace *t,
                                const pith_function *f,
                                const void *const *arguments) {
    const int64_t bound = pithp_function_bound(f, 0, NULL), count = f->arity + bound;
    const bool hooks = pithp_hooks_run(s);
    const void **trees = pithp_scope_allocate(s, ((size_t)count + 1) * sizeof *trees);
    if (!trees)
        return NULL;
    pithp_function_bound(f, bound, trees + f->arity);
    pith_scope_set_validation(s, false); /* the trees were checked when they were made */
    for (int64_t k = 0; k < count && s->error.code == PITH_OK; k++)
        trees[k] = k < f->arity ? trace_argument(s, t, arguments[k])
                                : trace_tree(s, t, trees[k]);
    pith_scope_set_validation(s, hooks);
    return s->error.code == PITH_OK ? trees : NULL;
}

/* The function's result for traced trees. NULL: error set. */
static const void *call_traced(pith_scope *s,
                               pithp_trace *t,
                               const pith_function *f,
                               const void *const *arguments) {
    const void **trees = trace_trees(s, t, f, arguments);
    const pith_function *rebound =
        trees ? pithp_function_rebind(s, f, trees + f->arity) : NULL;
    if (!rebound)
        return NULL;
    const void *result = pith_call(pithp_on_behalf(s), rebound, f->arity, trees);
    return pithp_trace_settle(s, t) == PITH_OK ? result : NULL;
}

/* The structure, in `to`, of the function's result in `work`, which traces. */
static const pith_treedef *evaluate(pith_scope *to,
                                    pith_scope *work,
                                    const pith_function *f,
                                    const void *const *arguments) {
    pithp_trace *t = pithp_trace_begin(work);
    if (!t)
        return NULL;
    const pith_treedef *def = NULL;
    const void *result = call_traced(work, t, f, arguments);
    pithp_flat flat;
    if (result && pithp_flat_make(work, &flat, result, NULL, NULL) == PITH_OK) {
        def = pithp_treedef_make(to, &flat.structure);
        pithp_flat_end(&flat);
    }
    pithp_program_release(pithp_trace_end(work, t));
    return def;
}

const pith_treedef *pith_eval_shape(pith_scope *s,
                                    const pith_function *function,
                                    int64_t count,
                                    const void *const *arguments) {
    PITHP_IN_FLIGHT(s, "pith_eval_shape");
    if (!pithp_enter(s) ||
        pithp_jit_check_count(s, function, count, arguments, name) != PITH_OK ||
        pithp_trace_check_depth(s, name) != PITH_OK)
        return NULL;
    pith_scope *work = pithp_temporaries_open(s);
    if (!work)
        return NULL;
    const pith_treedef *def = evaluate(s, work, function, arguments);
    pith_scope_close(work);
    return s->error.code == PITH_OK ? def : NULL;
}
