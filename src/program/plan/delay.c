/* Step order: a reduction of all elements that separates row-wise steps is delayed past
 * them, with work on its result, so that they form one band (fuse_rows.c). The loss of a
 * derivative is such a reduction: it ends the values of the pairs, whose cotangents
 * follow. A scatter of what these steps make ends the band.
 *
 * Only fused steps and reductions are passed, which update nothing in place, scatters,
 * and fills before them. */
#include "program/op/thresholds.h"
#include "program/plan/fuse_rows.h"

enum {
    LOOK_BACK = 4, /* steps in which a reduction of rows begins the band */
    PASSES = 8,    /* steps that a reduction is delayed */
};

/* Whether step k reduces all of its many elements, or fuses work on a few. */
static bool may_wait(const pithp_planning *g, int32_t k) {
    const pithp_step *step = &g->plan->steps[k];
    pithp_reduce_view v;
    return step->kind == PITHP_STEP_FUSED
               ? step->spec->count <= PITHP_FUSE_WAITING_ELEMENTS
               : pithp_plan_reduces_many(g, k, &v) && v.outer == 1;
}

/* The number that a step had before steps moved. */
static int32_t old_number(const pithp_planning *g, int32_t k) {
    return g->plan->steps[k].concurrent_until;
}

/* Whether the step reads a value that was made by the steps with old numbers from `first`
 * to the one before `end`. */
static bool
reads(const pithp_planning *g, const pithp_step *step, int32_t first, int32_t end) {
    const pithp_instruction *i = NULL;
    bool reads = false;
    while ((i = pithp_step_next(g, step, i)) != NULL)
        for (int o = 0; o < i->operand_count; o++) {
            const pithp_bases from = pithp_plan_bases(g, pithp_operands(g->p, i)[o]);
            for (int b = 0; b < from.count; b++) {
                const pithp_value v = from.list[b];
                reads |= !g->is_virtual[v] && g->step[v] >= first && g->step[v] < end;
            }
        }
    return reads;
}

/* The reduction of rows of the band that step k may divide; -1: none. */
static int32_t find_rows(const pithp_planning *g, int32_t k, int64_t *rows) {
    pithp_reduce_view v;
    for (int32_t n = k - 1; n >= 0 && n >= k - LOOK_BACK; n--)
        if (pithp_plan_reduces_rows(g, n, &v)) {
            *rows = v.outer;
            return n;
        }
    return -1;
}

/* Whether a step fills an array, which a scatter after it may update. */
static bool is_array(const pithp_step *step) {
    return step->kind == PITHP_STEP_CALL && step->call->primitive == PITHP_OP_FULL;
}

/* Whether step k, which may wait, may be delayed past the next one, which may be in a
 * band with the steps from `first` on. rows: of the band, which become fewer if a
 * reduction needs longer ones. */
static bool may_pass(const pithp_planning *g, int32_t k, int32_t first, int64_t *rows) {
    const pithp_step *next = &g->plan->steps[k + 1];
    pithp_reduce_view v = {.outer = *rows};
    const int32_t own = old_number(g, k);
    if (is_array(next))
        return k + 2 < g->plan->step_count &&
               (is_array(next + 1) || pithp_plan_scatters(g, next + 1));
    if (pithp_plan_scatters(g, next))
        return !reads(g, next, own, own + 1) &&
               reads(g, next, old_number(g, first), INT32_MAX);
    const bool by_rows = next->kind == PITHP_STEP_FUSED
                             ? next->spec->count % *rows == 0
                             : pithp_plan_reduces_lines(g, k + 1, &v);
    if (!by_rows || reads(g, next, own, own + 1) ||
        !reads(g, next, old_number(g, first), INT32_MAX))
        return false;
    *rows = v.outer < *rows ? v.outer : *rows;
    return true;
}

/* Delay step k as far as possible. */
static bool delay(pithp_planning *g, int32_t k) {
    pithp_plan *plan = g->plan;
    int64_t rows = 0;
    const int32_t row_wise = find_rows(g, k, &rows),
                  first = row_wise > 0 ? row_wise - 1 : 0;
    bool moved = false;
    if (row_wise < 0)
        return false;
    for (int n = 0;
         n < PASSES && k + 1 < plan->step_count && may_pass(g, k, first, &rows);
         n++, k++) {
        const pithp_step step = plan->steps[k];
        plan->steps[k] = plan->steps[k + 1];
        plan->steps[k + 1] = step;
        moved = true;
    }
    return moved;
}

/* Tell values the new numbers of their steps. `band` holds the new number of each old
 * one. */
static void renumber(pithp_planning *g) {
    pithp_plan *plan = g->plan;
    for (int32_t k = 0; k < plan->step_count; k++)
        plan->steps[old_number(g, k)].band = k;
    for (int64_t v = 0; v < g->p->value_count; v++)
        if (g->step[v] >= 0)
            g->step[v] = plan->steps[g->step[v]].band;
    for (int64_t k = 0; k < plan->step_count; k++)
        plan->steps[k].band = 0;
}

/* Whether there is a band to divide. */
static bool has_rows(const pithp_planning *g) {
    bool has = false;
    pithp_reduce_view v;
    for (int32_t k = 0; k < g->plan->step_count && !has; k++)
        has = pithp_plan_reduces_rows(g, k, &v);
    return has;
}

bool pithp_plan_delay(pithp_planning *g) {
    pithp_plan *plan = g->plan;
    bool moved = false;
    if (!plan->runs_fused || plan->scheduled || !has_rows(g))
        return true;
    for (int32_t k = 0; k < plan->step_count; k++)
        plan->steps[k].concurrent_until = k;
    for (int32_t k = (int32_t)plan->step_count; k-- > 0;)
        if (may_wait(g, k))
            moved |= delay(g, k);
    if (moved)
        renumber(g);
    for (int64_t k = 0; k < plan->step_count; k++)
        plan->steps[k].concurrent_until = 0;
    return true;
}
