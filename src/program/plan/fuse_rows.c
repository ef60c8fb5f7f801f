/* Row-wise fusion (bands): neighbouring steps that work row by row, some of them
 * reductions of rows, run a few rows at a time: a softmax reads its operand once, and
 * values between its steps stay in cache. The order within a row is that of the steps, so
 * bits are the same. A band may begin with gathers that its first fused step reads, and
 * end with scatters of its values (fuse_scatter.c).
 *
 * A band has a number of rows. Every step of it computes consecutive elements of each
 * row, as many for every row, and reads values of the band at the current row alone. A
 * band begins with the rows of a reduction. Later reductions may have longer rows, which
 * hold several of those: the sum over pairs of what is summed over coordinates. */
#include "program/plan/fuse_rows.h"

#include "program/host/gather.h"
#include "program/host/reduce.h"
#include "program/op/thresholds.h"
#include "program/plan/fuse_input.h"

#include <string.h>

/* ---- Planning: which steps ---- */

bool pithp_band_makes(const pithp_band *b, pithp_value operand, int32_t k) {
    const pithp_planning *g = b->g;
    const pithp_bases from = pithp_plan_bases(g, operand);
    bool made = false;
    for (int n = 0; n < from.count; n++) {
        const pithp_value base = from.list[n];
        made |= !g->is_virtual[base] && g->step[base] >= b->first && g->step[base] < k;
    }
    return made;
}

/* Whether a view over `to` stays in the current row, of `row` elements of `to` and `from`
 * elements of the base. */
static bool
stays_in_row(const pithp_view *view, const pith_spec *to, int64_t row, int64_t from) {
    int64_t behind = 1,
            last = 0; /* elements of the dimensions after d; offset in a row */
    for (int d = to->rank - 1; d >= 0; behind *= to->shape[d--]) {
        const int64_t extent = to->shape[d], stride = view->stride[d];
        if (extent == 1)
            continue;
        /* elements of the dimension in a row, and rows that a step along it skips */
        const int64_t inside = behind >= row           ? 1
                               : row / behind < extent ? row / behind
                                                       : extent;
        const int64_t rows = behind >= row ? behind / row : 1;
        if (stride < 0 || (behind < row && row % (behind * inside)) ||
            (behind >= row && behind % row) || extent % inside)
            return false;
        if (inside < extent && stride * inside != rows * from)
            return false;
        last += (inside - 1) * stride;
    }
    return last < from;
}

/* Whether step k reads an operand only at the current row. Values made before the band
 * may be read anywhere. */
static bool
is_row_wise(const pithp_band *b, pithp_value operand, const pith_spec *to, int32_t k) {
    const pithp_planning *g = b->g;
    if (!pithp_band_makes(b, operand, k))
        return true;
    if (g->is_pieced[operand])
        return false;
    const pithp_view own = pithp_plan_view(g, operand),
                     view = pithp_view_broadcast(&own, g->p->values[operand].spec, to);
    const int64_t count = g->p->values[view.base].spec->count;
    return view.offset == 0 && count % b->rows == 0 &&
           stays_in_row(&view, to, to->count / b->rows, count / b->rows);
}

bool pithp_plan_reduces_many(const pithp_planning *g, int32_t k, pithp_reduce_view *v) {
    const pith_spec *specs[1];
    const pithp_instruction *i = g->plan->steps[k].call;
    if (!i || !pithp_op_has(i->primitive, PITHP_TRAIT_REDUCTION) ||
        g->p->values[pithp_operands(g->p, i)[0]].spec->count < PITHP_INPUT_LEAST_ELEMENTS)
        return false;
    const pithp_call call = pithp_instruction_call(g->p, i, specs);
    *v = pithp_reduce_view_of(&call);
    return true;
}

bool pithp_plan_reduces_lines(const pithp_planning *g, int32_t k, pithp_reduce_view *v) {
    return pithp_plan_reduces_many(g, k, v) && v->blocks == 1 && !v->moved &&
           v->length > 1 && v->outer > 1;
}

bool pithp_plan_reduces_rows(const pithp_planning *g, int32_t k, pithp_reduce_view *v) {
    return pithp_plan_reduces_lines(g, k, v) && v->inner == 1;
}

static size_t bytes_of(const pithp_step *step) {
    const bool fused = step->kind == PITHP_STEP_FUSED;
    const int32_t memories = fused ? step->reads : 2;
    return pithp_band_args_at(memories) +
           pithp_band_aligned(fused ? sizeof(pithp_fused_args) +
                                          (size_t)memories * sizeof(char *)
                              : pithp_is_band_take(step) ? sizeof(pithp_index_args)
                                                         : sizeof(pithp_reduce_args));
}

/* Whether the rows of a step with `count` elements are of equal and moderate length. */
static bool has_rows(const pithp_band *b, int64_t count) {
    return count > 0 && count % b->rows == 0 && count / b->rows <= PITHP_REDUCE_BLOCK;
}

/* Whether a fused step works row by row and, unless it begins the band, reads values of
 * the band. */
static bool fused_fits(const pithp_band *b, int32_t k) {
    const pithp_planning *g = b->g;
    const pithp_step *step = &g->plan->steps[k];
    bool fits = has_rows(b, step->spec->count);
    bool linked = k < b->first;
    for (pithp_value v = step->first; v >= 0 && fits; v = g->next[v]) {
        const pithp_instruction *i = pithp_maker(g->p, v);
        for (int o = 0; o < i->operand_count && fits; o++) {
            const pithp_value operand = pithp_operands(g->p, i)[o];
            linked |= pithp_band_makes(b, operand, k);
            fits = is_row_wise(b, operand, step->spec, k);
        }
    }
    return fits && linked;
}

static pithp_value reduced_by(const pithp_band *b, int32_t k) {
    const pithp_instruction *i = b->g->plan->steps[k].call;
    return i ? b->g->root[pithp_operands(b->g->p, i)[0]] : -1;
}

/* Whether a step reduces lines of values of the band. The rows become longer if a line
 * needs it. */
static bool reduction_fits(pithp_band *b, int32_t k) {
    pithp_reduce_view v;
    if (!pithp_plan_reduces_lines(b->g, k, &v))
        return false;
    const pithp_value operand = reduced_by(b, k);
    bool linked = pithp_band_makes(b, operand, k);
    for (int32_t n = b->first; n < k && !linked; n++)
        linked = reduced_by(b, n) == operand;
    const int64_t rows = v.outer < b->rows ? v.outer : b->rows;
    if (!linked || b->rows % rows || v.outer % rows ||
        b->rows / rows * b->length > PITHP_REDUCE_BLOCK ||
        v.outer / rows * v.length * v.inner > PITHP_REDUCE_BLOCK)
        return false;
    b->length *= b->rows / rows;
    b->rows = rows;
    return true;
}

static bool fits(pithp_band *b, int32_t k) {
    const pithp_step *step = &b->g->plan->steps[k];
    return !step->band && !step->runs_in_consumer &&
           b->bytes + bytes_of(step) <= sizeof((pithp_band_args *)0)->members &&
           (step->kind != PITHP_STEP_FUSED ? reduction_fits(b, k) : fused_fits(b, k));
}

/* Whether step k, before the band, gathers elements for its first fused step alone. */
static bool take_fits(const pithp_band *b, int32_t reader, int32_t k) {
    const pithp_planning *g = b->g;
    const pithp_step *step = &g->plan->steps[k];
    if (step->kind != PITHP_STEP_CALL || step->band || step->runs_in_consumer)
        return false;
    bool before = true; /* operands are made before the band */
    for (int o = 0; o < step->call->operand_count; o++)
        before &= !pithp_band_makes(b, pithp_operands(g->p, step->call)[o], reader);
    const int64_t row = pithp_plan_gathered_row(g, step->call);
    return row && before && has_rows(b, step->spec->count) &&
           step->spec->count / b->rows % row == 0 &&
           pithp_plan_is_read_flat(g, step->call->result, reader) &&
           b->bytes + bytes_of(step) <= sizeof((pithp_band_args *)0)->members;
}

/* ---- Planning: memory ---- */

/* Whether a value may be in a buffer of each thread. */
static bool is_buffered(const pithp_band *b, const pithp_step *step, pithp_value v) {
    return pithp_band_is_inner(b, v) && !pithp_band_scatters(b, v) &&
           !pithp_is_band_scatter(step);
}

/* Rows at a time, if the buffers of a row have `bytes`. */
static int64_t rows_at_once(int64_t length, int64_t bytes) {
    const int64_t elements =
                      length < PITHP_BAND_AT_ONCE ? PITHP_BAND_AT_ONCE / length : 1,
                  fits = bytes * elements > PITHP_BAND_BYTES ? PITHP_BAND_BYTES / bytes
                                                             : elements,
                  rows = fits ? fits : 1;
    return rows > PITHP_BAND_ALIGNED ? rows / PITHP_BAND_ALIGNED * PITHP_BAND_ALIGNED
                                     : rows;
}

/* Keep the values that are used only in the band in buffers, while there is room. Returns
 * the rows at a time. */
static int64_t choose_buffers(const pithp_band *b) {
    pithp_planning *g = b->g;
    int64_t bytes = 0, room = PITHP_BAND_BUFFER_BYTES;
    int count = 0;
    for (int32_t k = b->first; k < b->end; k++)
        for (const pithp_instruction *i = pithp_step_next(g, &g->plan->steps[k], NULL); i;
             i = pithp_step_next(g, &g->plan->steps[k], i))
            bytes += is_buffered(b, &g->plan->steps[k], i->result)
                         ? pithp_band_row_bytes(b, i->result)
                         : 0;
    const int64_t rows = rows_at_once(b->length, bytes);
    for (int32_t k = b->first; k < b->end; k++)
        for (const pithp_instruction *i = pithp_step_next(g, &g->plan->steps[k], NULL); i;
             i = pithp_step_next(g, &g->plan->steps[k], i)) {
            const pithp_value v = i->result;
            const int64_t own = pithp_band_buffer_bytes(rows, pithp_band_row_bytes(b, v));
            if (!is_buffered(b, &g->plan->steps[k], v) || own > room ||
                count == PITHP_BAND_BUFFERS)
                continue;
            room -= own;
            count++;
            g->buffered[v] = true;
        }
    return rows;
}

static void prolong(const pithp_band *b, pithp_value v) {
    int32_t *last = &b->g->last_use[v];
    *last = *last < b->end - 1 ? b->end - 1 : *last;
}

/* Extend the lifetimes of a step's values over the band. */
static void prolong_all(const pithp_band *b, const pithp_instruction *i) {
    pithp_prolong_operands(b->g, i, b->end - 1);
    prolong(b, i->result);
}

/* Whether a reduction is the only reader of the preceding step's value. */
static bool is_map_reduce(const pithp_band *b, int32_t k) {
    const pithp_planning *g = b->g;
    const pithp_value made = reduced_by(b, k);
    pithp_reduce_view v;
    return k > b->first && made >= 0 && g->step[made] == k - 1 && g->buffered[made] &&
           g->plan->steps[k].kind != PITHP_STEP_FUSED &&
           g->plan->steps[k - 1].kind == PITHP_STEP_FUSED &&
           g->uses[g->latest_use[made]].step == k && pithp_plan_reduces_rows(g, k, &v);
}

static void make_band(const pithp_band *b) {
    pithp_planning *g = b->g;
    pithp_step *lead = &g->plan->steps[b->first];
    lead->band = b->end - b->first;
    lead->band_rows = b->rows;
    lead->band_at_once = (int32_t)choose_buffers(b);
    pithp_band_choose_blocks(b);
    for (int32_t k = b->first; k < b->end; k++) {
        pithp_step *step = &g->plan->steps[k];
        step->runs_in_consumer = k > b->first;
        if (pithp_is_band_scatter(step))
            continue;
        if (is_map_reduce(b, k))
            step[-1].fused_reduction = k;
        if (step->kind != PITHP_STEP_FUSED) {
            prolong_all(b, step->call);
            if (!pithp_is_band_take(step))
                step->produced = g->root[pithp_operands(g->p, step->call)[0]];
        }
        for (pithp_value v = step->first; step->kind == PITHP_STEP_FUSED && v >= 0;
             v = g->next[v])
            prolong_all(b, pithp_maker(g->p, v));
    }
}

/* Add step k to an end of the band. */
static void add_step(pithp_band *b, int32_t k) {
    const pithp_step *step = &b->g->plan->steps[k];
    const bool reduces = step->kind != PITHP_STEP_FUSED && !pithp_is_band_take(step);
    const pith_spec *spec =
        reduces ? b->g->p->values[reduced_by(b, k)].spec : step->spec; /* the longer */
    b->bytes += bytes_of(step);
    b->length = spec->count / b->rows > b->length ? spec->count / b->rows : b->length;
}

/* Whether the next step that fills no array fits, and is the next one now. */
static bool next_fits(pithp_band *b) {
    const int32_t k = pithp_band_after_fills(b);
    if (k == b->g->plan->step_count || !fits(b, k))
        return false;
    pithp_band_pass_fills(b, k);
    return true;
}

/* Form a band around a reduction: the step before it, if that makes its operand, gathers
 * before that, and all fitting steps after it. Returns the step after the band. */
static int32_t band_about(pithp_planning *g, int32_t k, const pithp_reduce_view *v) {
    pithp_band b = {.g = g, .rows = v->outer, .length = v->length, .first = k, .end = k};
    if (k > 0 && g->step[reduced_by(&b, k)] == k - 1 &&
        g->plan->steps[k - 1].kind == PITHP_STEP_FUSED && fits(&b, k - 1)) {
        b.first = k - 1;
        add_step(&b, k - 1);
    }
    do
        add_step(&b, b.end++);
    while (next_fits(&b));
    if (b.end - b.first < 2)
        return k + 1;
    for (const int32_t reader = b.first;
         b.first > 0 && g->plan->steps[reader].kind == PITHP_STEP_FUSED &&
         take_fits(&b, reader, b.first - 1);
         b.first--)
        add_step(&b, b.first - 1);
    pithp_band_add_scatters(&b);
    make_band(&b);
    return b.end;
}

bool pithp_plan_fuse_rows(pithp_planning *g) {
    pithp_reduce_view v;
    if (!g->plan->runs_fused || g->plan->scheduled)
        return true;
    for (int32_t k = 0; k < g->plan->step_count;)
        k = pithp_plan_reduces_rows(g, k, &v) ? band_about(g, k, &v) : k + 1;
    return true;
}
