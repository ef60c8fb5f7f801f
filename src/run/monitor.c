/* Monitoring of each state: the `until` condition, non-finite values, and the log row. */
#include "run/monitor.h"

#include "pith/jit.h"

#include "array/array_internal.h"

/* Check that a function returned a bool of rank 0. */
static pith_status check_truth(pith_scope *s, const pith_array *a, const char *option) {
    char got[PITHP_SPEC_TEXT_BYTES];
    const bool array = pith_kind(a) == PITH_NODE_LEAF;
    if (array && pithp_array_spec(a)->dtype == PITH_BOOL && !pithp_array_spec(a)->rank)
        return PITH_OK;
    return pithp_fail(
        s, PITH_E_ARG, NULL, "%s: expected a bool of rank 0, got %s", option,
        array ? pithp_spec_print(pithp_array_spec(a), got) : "another tree");
}

static const pith_array *
not_yet(pith_scope *s, const pithp_monitor *w, const void *state) {
    const pith_array *met = pith_call(s, w->until, 1, &state);
    return !pith_failed(s) && check_truth(s, met, "until") == PITH_OK
               ? pith_logical_not(s, met)
               : NULL;
}

/* Check all leaves by a compiled function in eager mode: one pass over each leaf. */
static const pith_array *finite_now(pith_scope *s, pithp_monitor *w, const void *state);

pith_status pithp_monitor_state(pith_scope *s,
                                pithp_monitor *w,
                                const void *state,
                                pithp_row_mode rows,
                                pithp_monitored *seen) {
    *seen = (pithp_monitored){.row = NULL};
    if (w->row && rows != PITHP_ROWS_NONE) {
        seen->row = pith_call(s, w->row, 1, &state);
        if (pith_failed(s) || pithp_row_check(s, seen->row) != PITH_OK)
            return s->error.code;
    }
    if (w->finite)
        seen->finite = finite_now(s, w, state);
    if (w->until && !pith_failed(s))
        seen->go_on = not_yet(s, w, state);
    return s->error.code;
}

static const pith_array *all_finite(pith_scope *s, const void *tree) {
    return pithp_all_finite(s, tree);
}
PITH_FUNCTION1(all_finite_function, all_finite, pith_array, void)

static const pith_array *finite_now(pith_scope *s, pithp_monitor *w, const void *state) {
    if (pithp_scope_trace(s))
        return pithp_all_finite(s, state);
    if (!w->all_finite) {
        w->all_finite = pith_jit(w->scope, &all_finite_function, NULL);
        pithp_error_move(s, w->scope);
    }
    return w->all_finite ? pith_call(s, w->all_finite, 1, &state) : NULL;
}
