/* Untraced functions: functions that need values and always run eagerly. */
#include "trace/jit/jit_internal.h"

/* Set PITH_E_TRACED for the first traced leaf of an argument. */
static pith_status
refuse_traced(pith_scope *s, const pith_function *f, int i, const void *tree) {
    pithp_flat flat;
    pith_status rc = pithp_flat_make(s, &flat, tree, NULL, NULL);
    if (rc != PITH_OK)
        return rc;
    for (int64_t k = 0; k < flat.structure.item_count && rc == PITH_OK; k++)
        if (pithp_array_is_traced(flat.items[k])) {
            pithp_item_fail(s, &flat.structure, k, PITH_E_TRACED,
                            "%s: argument %d: the array is traced, and this function is "
                            "not (pith_no_tracing)",
                            f->name, i + 1);
            rc = pithp_trace_refuse(s, flat.items[k]);
        }
    pithp_flat_end(&flat);
    return rc;
}

const void *
pithp_jit_run_apart(const pith_function *f, pith_scope *s, const void *const *given) {
    pith_scope *work = pith_scope_open_in(s);
    if (!pithp_scope_writable(work))
        return NULL;
    work->room[PITHP_ROOM_TRACE] = NULL;
    const void *result = pithp_function_run(f, work, given);
    if (!pith_failed(work) &&
        (pithp_tree_check(work, result, f->name, "result") != PITH_OK ||
         pithp_keep_slots(s, 1, &result) != PITH_OK))
        result = NULL;
    pith_scope_close(work);
    return result;
}

static const void *
call_untraced(const pith_function *self, pith_scope *s, const void *const *given) {
    const pith_function *base = ((const pithp_closure *)self->closure)->base;
    for (int i = 0; i < self->arity; i++)
        if (refuse_traced(s, self, i, given[i]) != PITH_OK)
            return NULL;
    return pithp_scope_trace(s) ? pithp_jit_run_apart(base, s, given)
                                : base->call(base, s, given);
}

static const pithp_closure_kind kind = {.name = "no_tracing",
                                        .bytes = sizeof(pithp_closure)};

const pith_function *pith_no_tracing(pith_scope *s, const pith_function *function) {
    if (!pithp_enter(s) ||
        pithp_function_check(s, function, "pith_no_tracing") != PITH_OK)
        return NULL;
    pith_function like = *function;
    like.call = call_untraced;
    const pithp_closure c = {.kind = &kind, .base = function};
    const pithp_closure *made = pithp_function_make(s, &like, &c);
    return made ? made->function : NULL;
}
