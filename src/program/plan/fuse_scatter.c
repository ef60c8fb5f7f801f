/* Scatters in a band: updates that a band makes row by row are combined with the array
 * block by block, in the order of rows, so that they are read while they are in cache.
 * Updates that nothing else reads have memory for one block. The forces of pairs are such
 * updates: they are added to the atoms of the list.
 *
 * The array is copied, or begun, before the first row. So no other step of the band may
 * read its memory, and the steps of the band must be there when it is made. */
#include "program/host/gather.h"
#include "program/op/thresholds.h"
#include "program/plan/fuse_rows.h"

bool pithp_plan_scatters(const pithp_planning *g, const pithp_step *step) {
    const pith_spec *specs[PITHP_MAX_RANK + 2];
    if (!pithp_is_band_scatter(step))
        return false;
    const pithp_call call = pithp_instruction_call(g->p, step->call, specs);
    const pithp_index_params *p = call.params;
    return p->axis == 0 && !p->numbers && !p->unique && !pithp_index_ascends(&call) &&
           !pithp_call_reports(&call);
}

static pithp_value updates_of(const pithp_planning *g, const pithp_step *step) {
    return pithp_operands(g->p, step->call)[step->call->operand_count - 1];
}

bool pithp_band_scatters(const pithp_band *b, pithp_value v) {
    const pithp_planning *g = b->g;
    bool scatters = false;
    for (int32_t k = b->end - b->scatters; k < b->end; k++)
        scatters |= g->root[updates_of(g, &g->plan->steps[k])] == v;
    return scatters;
}

/* Whether a scatter reads the memory of v other than as the array. */
static bool
reads_beside(const pithp_planning *g, const pithp_step *step, pithp_value memory) {
    const pithp_instruction *i = step->call;
    bool reads = false;
    for (int o = 1; o < i->operand_count; o++) {
        const pithp_bases from = pithp_plan_bases(g, pithp_operands(g->p, i)[o]);
        for (int n = 0; n < from.count; n++)
            reads |= from.list[n] == memory;
    }
    return reads;
}

/* Whether the band and a scatter that follows it read the array of that scatter alone as
 * arrays of scatters. */
static bool is_array_free(const pithp_band *b, const pithp_step *scatter) {
    const pithp_planning *g = b->g;
    const pithp_bases from = pithp_plan_bases(g, pithp_operands(g->p, scatter->call)[0]);
    if (from.count != 1 || reads_beside(g, scatter, from.list[0]))
        return false;
    bool is_free = true;
    for (int32_t u = g->latest_use[from.list[0]]; u >= 0 && is_free;
         u = g->uses[u].before) {
        const int32_t n = g->uses[u].step;
        const bool inside = n >= b->first && n < b->end;
        is_free = !inside || (n >= b->end - b->scatters &&
                              !reads_beside(g, &g->plan->steps[n], from.list[0]));
    }
    return is_free;
}

/* Whether no scatter of the band has an array that step k reads. */
static bool spares_arrays(const pithp_band *b, const pithp_step *step) {
    const pithp_planning *g = b->g;
    bool spares = true;
    for (int32_t k = b->end - b->scatters; k < b->end && spares; k++) {
        const pithp_instruction *i = g->plan->steps[k].call;
        spares = !reads_beside(g, step,
                               pithp_plan_bases(g, pithp_operands(g->p, i)[0]).list[0]);
    }
    return spares;
}

/* Whether step k, which follows the band, scatters elements that the fused steps of the
 * band make. */
static bool scatter_fits(const pithp_band *b, int32_t k) {
    const pithp_planning *g = b->g;
    const pithp_step *step = &g->plan->steps[k];
    if (step->band || step->runs_in_consumer || !pithp_plan_scatters(g, step))
        return false;
    const pithp_instruction *i = step->call;
    const pithp_value *operands = pithp_operands(g->p, i),
                      updates = operands[i->operand_count - 1], made = g->root[updates];
    const int64_t count = g->p->values[updates].spec->count,
                  positions = g->p->values[operands[1]].spec->count;
    if (g->is_virtual[updates] || !pithp_band_makes(b, updates, b->end - b->scatters) ||
        g->plan->steps[g->step[made]].kind != PITHP_STEP_FUSED || count % b->rows ||
        positions % b->rows || count / positions > PITHP_SCATTERED_ROW)
        return false;
    for (int o = 0; o + 1 < i->operand_count; o++)
        if (pithp_band_makes(b, operands[o], b->end))
            return false;
    return is_array_free(b, step) && spares_arrays(b, step);
}

/* Whether step k fills an array with a number. */
static bool is_fill(const pithp_planning *g, int32_t k) {
    const pithp_step *step = &g->plan->steps[k];
    return step->kind == PITHP_STEP_CALL && step->call->primitive == PITHP_OP_FULL;
}

/* ---- Fills before the band ---- */

/* The number of a step after step `from` has moved before step `to`. */
static int32_t moved(int32_t k, int32_t from, int32_t to) {
    return k == from ? to : k + (k >= to && k < from);
}

/* Move step `from`, which reads nothing, before an earlier one. */
static void advance(pithp_planning *g, int32_t from, int32_t to) {
    const pithp_step step = g->plan->steps[from];
    for (int32_t k = from; k > to; k--)
        g->plan->steps[k] = g->plan->steps[k - 1];
    g->plan->steps[to] = step;
    for (int64_t v = 0; v < g->p->value_count; v++) {
        g->step[v] = moved(g->step[v], from, to);
        g->last_use[v] = moved(g->last_use[v], from, to);
        g->first_reader[v] = moved(g->first_reader[v], from, to);
        for (int32_t u = g->latest_use[v]; u >= 0; u = g->uses[u].before)
            g->uses[u].step = moved(g->uses[u].step, from, to);
    }
}

int32_t pithp_band_after_fills(const pithp_band *b) {
    int32_t k = b->end;
    while (k < b->g->plan->step_count && is_fill(b->g, k))
        k++;
    return k;
}

/* Before the gathers too, which the band may begin with. */
void pithp_band_pass_fills(pithp_band *b, int32_t end) {
    int32_t to = b->first;
    while (to > 0 && pithp_is_band_take(&b->g->plan->steps[to - 1]))
        to--;
    for (; b->end < end; b->first++, b->end++) /* their numbers grow by one */
        advance(b->g, b->end, to);
}

void pithp_band_add_scatters(pithp_band *b) {
    for (;;) {
        const int32_t k = pithp_band_after_fills(b);
        if (k == b->g->plan->step_count || !scatter_fits(b, k))
            return;
        pithp_band_pass_fills(b, k);
        b->end++;
        b->scatters++;
    }
}

/* ---- Memory ---- */

static void prolong(const pithp_band *b, pithp_value v) {
    const pithp_bases from = pithp_plan_bases(b->g, v);
    for (int n = 0; n < from.count; n++) {
        int32_t *last = &b->g->last_use[from.list[n]];
        *last = *last < b->end - 1 ? b->end - 1 : *last;
    }
}

/* Bytes of the updates of all scatters in a row. */
static int64_t updated_bytes(const pithp_band *b) {
    const pithp_planning *g = b->g;
    int64_t bytes = 0;
    for (int32_t k = b->end - b->scatters; k < b->end; k++)
        bytes += pithp_band_row_bytes(b, updates_of(g, &g->plan->steps[k]));
    return bytes;
}

void pithp_band_choose_blocks(const pithp_band *b) {
    pithp_planning *g = b->g;
    pithp_step *lead = &g->plan->steps[b->first];
    if (!b->scatters)
        return;
    const int64_t at_once = lead->band_at_once,
                  fits = PITHP_BAND_BLOCK_BYTES / updated_bytes(b) / at_once * at_once,
                  least = fits < at_once ? at_once : fits;
    lead->band_block = least < b->rows ? least : b->rows;
    lead->concurrent_until = b->end; /* all of its values are there at once */
    for (int32_t k = b->end - b->scatters; k < b->end; k++) {
        pithp_step *step = &g->plan->steps[k];
        const pithp_value v = g->root[updates_of(g, step)];
        step->produced = v;
        if (pithp_band_is_inner(b, v) && !g->buffered[v]) {
            g->buffered[v] = true;
            step->block_bytes =
                pithp_aligned((size_t)(lead->band_block * pithp_band_row_bytes(b, v)));
        }
        for (int o = 1; o < step->call->operand_count; o++)
            prolong(b, pithp_operands(g->p, step->call)[o]);
    }
}
