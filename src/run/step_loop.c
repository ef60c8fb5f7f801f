/* Compiled loops of steps: a function of a state that does several steps and returns the
 * monitored values of each. */
#include "pith/control.h"
#include "pith/jit.h"

#include "array/array_internal.h"
#include "run/attempt.h"
#include "run/monitor.h"

#include <string.h>

/* Result of the loop body. */
typedef struct {
    const void *carry, *out;
} pith_run_loop;
PITH_NODE(pith_run_loop, PITH_TREE(carry), PITH_TREE(out))

/* Closure of a loop and of its body: the step is the base. Trees bound in until and row
 * are bound here too, in this order, so that they become inputs. */
typedef struct {
    pithp_closure closure;
    const pith_function *until, *row;
    int64_t steps;
    int32_t rows; /* pithp_row_mode */
    bool finite;
} loop_closure;

enum { MOST_BOUND = 64 };

static pith_status keep_functions(pith_scope *s, pithp_closure *closure) {
    loop_closure *l = (loop_closure *)(void *)closure;
    if (l->until)
        l->until = pithp_function_keep(s, l->until);
    if (l->row && !pith_failed(s))
        l->row = pithp_function_keep(s, l->row);
    return s->error.code;
}

static void add_identity(const pithp_closure *closure, pithp_string *text) {
    const loop_closure *l = (const loop_closure *)(const void *)closure;
    const int64_t numbers[] = {l->steps, l->rows, l->finite, l->until != NULL,
                               l->row != NULL};
    pithp_string_add_n(text, (const char *)numbers, sizeof numbers);
    if (l->until)
        pithp_function_identity(l->until, text);
    if (l->row)
        pithp_function_identity(l->row, text);
}

static const pithp_closure_kind loop_kind = {.name = "loop of steps",
                                             .bytes = sizeof(loop_closure),
                                             .made = keep_functions,
                                             .identity = add_identity};

/* The functions for calls in the trace of s, with the trees bound in the loop. */
static bool unpack(pith_scope *s, const loop_closure *l, pithp_monitor *w) {
    const void *trees[2 * MOST_BOUND];
    const int64_t count = pith_child_count(l->closure.bound);
    for (int64_t i = 0; i < count; i++)
        trees[i] = pith_child(l->closure.bound, i);
    const int64_t of_until = l->until ? pithp_function_bound(l->until, 0, NULL) : 0;
    *w = (pithp_monitor){.finite = l->finite, .scope = s};
    if (l->until)
        w->until = pithp_function_rebind(s, l->until, trees);
    if (l->row)
        w->row = pithp_function_rebind(s, l->row, trees + of_until);
    return !pith_failed(s);
}

/* finite, go_on and row as a tree. */
static const void *pack(pith_scope *s, const pithp_monitored *seen) {
    const void *none = pith_none_make(s);
    const void *items[] = {seen->finite ? (const void *)seen->finite : none,
                           seen->go_on ? (const void *)seen->go_on : none,
                           seen->row ? seen->row : none};
    return pith_failed(s) ? NULL : pith_tuple_make(s, 3, items);
}

static const void *step_and_watch(pith_scope *s,
                                  const loop_closure *l,
                                  const void *state,
                                  const void **out) {
    pithp_monitor w;
    pithp_monitored seen;
    const pith_function *step = l->closure.base;
    pithp_flat before;
    if (!unpack(s, l, &w))
        return NULL;
    const void *next = pith_call(s, step, 1, &state);
    if (pith_failed(s) || pithp_flat_make(s, &before, state, NULL, NULL) != PITH_OK)
        return NULL;
    /* Report the dtype to change, and how, before the loop compares carries. */
    pithp_state_check(s, step->name, &before, state, next, NULL);
    pithp_flat_end(&before);
    if (pith_failed(s) ||
        pithp_monitor_state(s, &w, next, (pithp_row_mode)l->rows, &seen) != PITH_OK)
        return NULL;
    *out = pack(s, &seen);
    return next;
}

static const void *
call_body(const pith_function *self, pith_scope *s, const void *const *given) {
    pith_run_loop next = {NULL, NULL};
    next.carry = step_and_watch(s, self->closure, given[0], &next.out);
    return next.carry && next.out ? pith_freeze(s, pith_run_loop, &next) : NULL;
}

/* Reduce a column of flags to one flag; an absent column stays absent. */
static const void *conjunction(pith_scope *s, const void *flags) {
    return pith_kind(flags) == PITH_NODE_LEAF ? pith_all(s, flags, PITH_ALL_AXES) : flags;
}

static const void *run_loop(pith_scope *s, const loop_closure *l, const void *state) {
    const pith_function like = {.name = l->closure.base->name,
                                .call = call_body,
                                .arity = 2,
                                .result = pith_run_loop_pith_type};
    loop_closure c = *l;
    if (c.rows == PITHP_ROWS_LAST)
        c.rows = PITHP_ROWS_NONE;
    const pithp_closure *body = pithp_function_make(s, &like, &c.closure);
    const void *outs = NULL, *last = NULL;
    const bool apart = l->rows == PITHP_ROWS_LAST; /* the last step has the row */
    const int64_t steps = apart ? l->steps - 1 : l->steps;
    if (body)
        last = pith_scan(s, body->function, state, NULL, &outs,
                         &(pith_loop_options){.length = steps});
    if (pith_failed(s) || !outs)
        return NULL;
    const void *items[] = {last, conjunction(s, pith_child(outs, 0)),
                           conjunction(s, pith_child(outs, 1)), pith_child(outs, 2)};
    if (apart) {
        const void *out = NULL;
        items[0] = step_and_watch(s, l, last, &out);
        for (int i = 1; i < 3 && out && !pith_failed(s); i++)
            if (pith_kind(items[i]) == PITH_NODE_LEAF)
                items[i] = pith_logical_and(s, items[i], pith_child(out, i - 1));
        items[3] = out ? pith_child(out, 2) : NULL;
    }
    return pith_failed(s) ? NULL : pith_tuple_make(s, 4, items);
}

static const void *
call_loop(const pith_function *self, pith_scope *s, const void *const *given) {
    const loop_closure *l = self->closure;
    const void *out = NULL;
    if (l->steps > 1)
        return run_loop(s, l, given[0]);
    const void *next = step_and_watch(s, l, given[0], &out);
    if (!next || !out || pith_failed(s))
        return NULL;
    const void *items[] = {next, pith_child(out, 0), pith_child(out, 1),
                           pith_child(out, 2)};
    return pith_tuple_make(s, 4, items);
}

/* ---- The loops of a run ---- */

static const pith_function *
make_loop(pithp_monitor *w, const pith_function *step, loop_closure *c) {
    const void *trees[2 * MOST_BOUND];
    pith_scope *s = w->scope;
    int64_t count = c->until ? pithp_function_bound(c->until, MOST_BOUND, trees) : 0;
    if (count <= MOST_BOUND && c->row)
        count += pithp_function_bound(c->row, MOST_BOUND, trees + count);
    if (count > MOST_BOUND) {
        pithp_fail(s, PITH_E_ARG, NULL, "until and log_row bind more than %d trees",
                   MOST_BOUND);
        return NULL;
    }
    c->closure = (pithp_closure){.kind = &loop_kind, .base = step};
    c->closure.bound = pith_tuple_make(s, count, trees);
    const pith_function like = {.name = step->name,
                                .call = call_loop,
                                .arity = 1,
                                .parameters = {step->parameters[0]}};
    const pithp_closure *made =
        c->closure.bound ? pithp_function_make(s, &like, &c->closure) : NULL;
    return made ? pith_jit(s, made->function, NULL) : NULL;
}

static const pith_function *find_loop(pithp_monitor *w,
                                      const pith_function *step,
                                      int64_t steps,
                                      pithp_row_mode rows) {
    pithp_step_loop *loop = w->loops;
    while (loop && (loop->steps != steps || loop->rows != rows))
        loop = loop->next;
    if (loop)
        return loop->function;
    loop = pithp_scope_allocate(w->scope, sizeof *loop);
    loop_closure c = {.until = w->until,
                      .row = rows == PITHP_ROWS_NONE ? NULL : w->row,
                      .steps = steps,
                      .rows = rows,
                      .finite = w->finite};
    const pith_function *made = loop ? make_loop(w, step, &c) : NULL;
    if (made) {
        *loop = (pithp_step_loop){w->loops, steps, rows, made};
        w->loops = loop;
    }
    return made;
}

static const void *array_or_null(const void *tree) {
    return pith_kind(tree) == PITH_NODE_LEAF ? tree : NULL;
}

const void *pithp_step_loop_run(pith_scope *s,
                                pithp_monitor *w,
                                const pith_function *step,
                                const void *state,
                                int64_t steps,
                                pithp_row_mode rows,
                                pithp_monitored *seen) {
    const pith_function *loop = find_loop(w, step, steps, rows);
    if (!loop) {
        pithp_error_move(s, w->scope);
        return NULL;
    }
    const void *all = pith_call(s, loop, 1, &state);
    *seen = (pithp_monitored){.stacked = rows == PITHP_ROWS_ALL && steps > 1};
    if (pith_failed(s))
        return NULL;
    seen->finite = array_or_null(pith_child(all, 1));
    seen->go_on = array_or_null(pith_child(all, 2));
    const void *row = pith_child(all, 3);
    seen->row = pith_kind(row) == PITH_NODE_RECORD ? row : NULL;
    return pith_child(all, 0);
}
