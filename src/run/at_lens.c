/* pith_call_at: applies a function to the part of a state selected by a lens. */
#include "assert/recorded.h"
#include "run/attempt.h"

#include <string.h>

typedef struct {
    const pith_function *function;
} call;

static const void *call_on_part(pith_scope *s, const void *part, void *closure) {
    const call *c = closure;
    return pith_call(s, c->function, 1, &part);
}

/* As fixes are rebased: the closure is the lens. */
static const void *apply(pith_scope *s,
                         const void *whole,
                         const void *closure,
                         pithp_part_function function,
                         void *function_closure) {
    pith_call_site(s, s->site); /* for the called function */
    return pith_lens_apply_with(s, closure, whole, function, function_closure, NULL);
}

/* Rebase the checks of the function onto the whole tree. The lens and its path must live
 * as long as the checks. */
static pith_status rebase(pith_scope *s,
                          pithp_collector *c,
                          int64_t first,
                          const pith_lens *lens,
                          const char *path) {
    const bool traces = pithp_scope_trace(s);
    if ((traces ? pithp_checks_mark(s) : c ? c->count : 0) == first)
        return PITH_OK;
    pithp_checks *recorded = traces ? pithp_checks_of(s) : NULL;
    pith_scope *owner =
        traces ? pithp_checks_store(recorded) : pithp_collector_outermost(c)->scope;
    pithp_rebase r = {.apply = apply};
    r.closure = pith_keep_any(owner, lens);
    char *copy = r.closure ? pithp_scope_allocate(owner, strlen(path) + 1) : NULL;
    if (!copy) {
        pithp_error_move(s, owner);
        return s->error.code;
    }
    r.path = strcpy(copy, path);
    return traces ? pithp_recorded_rebase(s, first, r)
                  : pithp_collector_rebase(s, c, first, r);
}

const void *pith_at_lens_any(pith_scope *s,
                             const pith_lens *lens,
                             const pith_function *function,
                             const void *state) {
    if (!pithp_enter_as(s, "pith_at_lens"))
        return pithp_nil_for(state);
    if (pithp_step_check(s, function, "pith_at_lens") != PITH_OK)
        return pithp_nil_for(state);
    pith_scope *work = pithp_temporaries_open(s);
    if (!work)
        return pithp_nil_for(state);
    pithp_collector *c = pithp_collector_of(s);
    const int64_t first = pithp_scope_trace(s) ? pithp_checks_mark(s)
                          : c                  ? pithp_collector_mark(c)
                                               : 0;
    const void *result =
        pith_lens_apply_with(work, lens, state, call_on_part, &(call){function}, NULL);
    if (!pith_failed(work))
        rebase(work, c, first, lens, pith_lens_text(work, lens));
    if (!pith_failed(work))
        pithp_keep_slots(s, 1, &result);
    pith_scope_close(work);
    return pith_failed(s) ? pithp_nil_for(state) : result;
}
