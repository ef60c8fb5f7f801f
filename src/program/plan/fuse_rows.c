/* Row-wise fusion (bands): neighbouring steps that work row by row, some of them
 * reductions of rows, run a few rows at a time: a softmax reads its operand once, and
 * values between its steps stay in cache. The order within a row is that of the steps, so
 * bits are the same. A band may begin with gathers that its first fused step reads.
 *
 * A band has `rows` rows of `length` elements. Its steps have as many elements, or one a
 * row, and read values of the band at the current row. */
#include "program/plan/fuse_rows.h"

#include "program/host/gather.h"
#include "program/host/reduce.h"
#include "program/op/thresholds.h"
#include "program/plan/fuse_input.h"

#include <string.h>

typedef struct band {
    pithp_planning *g;
    int64_t rows, length;
    int32_t first, end; /* steps */
    size_t bytes;       /* of arguments, at most */
} band;

/* ---- Planning: which steps ---- */

/* Whether an operand depends on a value made in the band before step k. */
static bool is_made(const band *b, pithp_value operand, int32_t k) {
    const pithp_planning *g = b->g;
    const pithp_bases from = pithp_plan_bases(g, operand);
    bool made = false;
    for (int n = 0; n < from.count; n++) {
        const pithp_value base = from.list[n];
        made |= !g->is_virtual[base] && g->step[base] >= b->first && g->step[base] < k;
    }
    return made;
}

/* Whether step k reads an operand only at the current row, elementwise or as one uniform
 * element. Values made before the band may be read anywhere. */
static bool
is_row_wise(const band *b, pithp_value operand, const pith_spec *to, int32_t k) {
    const pithp_planning *g = b->g;
    if (!is_made(b, operand, k))
        return true;
    if (g->is_pieced[operand])
        return false;
    const pithp_view own = pithp_plan_view(g, operand),
                     view = pithp_view_broadcast(&own, g->p->values[operand].spec, to);
    const int64_t count = g->p->values[view.base].spec->count, row = to->count / b->rows;
    const bool whole = count == to->count;
    int64_t behind = 1; /* elements of the dimensions after d */
    bool row_wise = view.offset == 0 && (whole || count == b->rows);
    for (int d = to->rank - 1; d >= 0 && row_wise; behind *= to->shape[d--]) {
        if (to->shape[d] == 1)
            continue;
        if (whole || behind >= row)
            row_wise = view.stride[d] == (whole ? behind : behind / row);
        else
            row_wise = view.stride[d] == 0 && row % (behind * to->shape[d]) == 0;
    }
    return row_wise;
}

/* Number and length of the rows of a step that reduces rows of one block. */
static bool
reduces_rows(const pithp_planning *g, int32_t k, int64_t *rows, int64_t *length) {
    const pith_spec *specs[1];
    const pithp_instruction *i = g->plan->steps[k].call;
    if (!i || !pithp_op_has(i->primitive, PITHP_TRAIT_REDUCTION))
        return false;
    const pithp_call call = pithp_instruction_call(g->p, i, specs);
    const pithp_reduce_view v = pithp_reduce_view_of(&call);
    *rows = v.outer;
    *length = v.length;
    return specs[0]->count >= PITHP_INPUT_LEAST_ELEMENTS && v.blocks == 1 &&
           v.inner == 1 && v.length > 1 && v.outer > 1 && pithp_reduce_can_fuse(&call);
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

/* Whether a fused step works row by row and, unless it begins the band, reads values of
 * the band. */
static bool fused_fits(const band *b, int32_t k) {
    const pithp_planning *g = b->g;
    const pithp_step *step = &g->plan->steps[k];
    bool fits = step->spec->count == b->rows || step->spec->count == b->rows * b->length;
    bool linked = k < b->first;
    for (pithp_value v = step->first; v >= 0 && fits; v = g->next[v]) {
        const pithp_instruction *i = pithp_maker(g->p, v);
        for (int o = 0; o < i->operand_count && fits; o++) {
            const pithp_value operand = pithp_operands(g->p, i)[o];
            linked |= is_made(b, operand, k);
            fits = is_row_wise(b, operand, step->spec, k);
        }
    }
    return fits && linked;
}

static pithp_value reduced_by(const band *b, int32_t k) {
    const pithp_instruction *i = b->g->plan->steps[k].call;
    return i ? b->g->root[pithp_operands(b->g->p, i)[0]] : -1;
}

/* Whether a step reduces rows of values of the band. */
static bool reduction_fits(const band *b, int32_t k) {
    int64_t rows, length;
    if (!reduces_rows(b->g, k, &rows, &length) || rows != b->rows || length != b->length)
        return false;
    const pithp_value operand = reduced_by(b, k);
    bool linked = is_made(b, operand, k);
    for (int32_t n = b->first; n < k && !linked; n++)
        linked = reduced_by(b, n) == operand;
    return linked;
}

static bool fits(const band *b, int32_t k) {
    const pithp_step *step = &b->g->plan->steps[k];
    return !step->band && !step->runs_in_consumer &&
           b->bytes + bytes_of(step) <= sizeof((pithp_band_args *)0)->members &&
           (step->kind != PITHP_STEP_FUSED ? reduction_fits(b, k) : fused_fits(b, k));
}

/* Whether step k, before the band, gathers elements for its first fused step alone. */
static bool take_fits(const band *b, int32_t reader, int32_t k) {
    const pithp_planning *g = b->g;
    const pithp_step *step = &g->plan->steps[k];
    if (step->kind != PITHP_STEP_CALL || step->band || step->runs_in_consumer)
        return false;
    bool before = true; /* operands are made before the band */
    for (int o = 0; o < step->call->operand_count; o++)
        before &= !is_made(b, pithp_operands(g->p, step->call)[o], reader);
    const int64_t row = pithp_plan_gathered_row(g, step->call);
    return row && b->length % row == 0 && before &&
           step->spec->count == b->rows * b->length &&
           pithp_plan_is_read_flat(g, step->call->result, reader) &&
           b->bytes + bytes_of(step) <= sizeof((pithp_band_args *)0)->members;
}

/* ---- Planning: memory ---- */

/* A value used only in the band. */
static bool is_inner(const band *b, pithp_value v) {
    return b->g->in_memory[v] && b->g->last_use[v] < b->end && !b->g->is_output[v];
}

static void choose_buffers(const band *b) {
    int64_t room = PITHP_BAND_BUFFER_BYTES;
    int count = 0;
    for (int32_t k = b->first; k < b->end && count < PITHP_BAND_BUFFERS; k++) {
        pithp_step *step = &b->g->plan->steps[k];
        pithp_value v = step->call ? step->call->result : step->first;
        while (v >= 0 && !is_inner(b, v))
            v = step->call ? -1 : b->g->next[v];
        if (v < 0)
            continue;
        const int64_t bytes =
            pithp_band_buffer_bytes(pithp_band_rows_at_once(b->length),
                                    (int64_t)b->g->p->values[v].spec->bytes / b->rows);
        if (bytes > room)
            continue;
        room -= bytes;
        step->unmaterialised = v;
        count++;
    }
}

static void prolong(const band *b, pithp_value v) {
    int32_t *last = &b->g->last_use[v];
    *last = *last < b->end - 1 ? b->end - 1 : *last;
}

/* Extend the lifetimes of a step's values over the band. */
static void prolong_all(const band *b, const pithp_instruction *i) {
    pithp_prolong_operands(b->g, i, b->end - 1);
    prolong(b, i->result);
}

/* Whether a reduction is the only reader of the preceding step's value. */
static bool is_map_reduce(const band *b, int32_t k) {
    const pithp_planning *g = b->g;
    const pithp_value made = k > b->first ? g->plan->steps[k - 1].unmaterialised : -1;
    return made >= 0 && g->plan->steps[k].kind != PITHP_STEP_FUSED &&
           g->plan->steps[k - 1].kind == PITHP_STEP_FUSED && reduced_by(b, k) == made &&
           g->uses[g->latest_use[made]].step == k;
}

static void make_band(const band *b) {
    pithp_planning *g = b->g;
    choose_buffers(b);
    g->plan->steps[b->first].band = b->end - b->first;
    for (int32_t k = b->first; k < b->end; k++) {
        pithp_step *step = &g->plan->steps[k];
        step->runs_in_consumer = k > b->first;
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

/* Form a band around a reduction: the step before it, if that makes its operand, gathers
 * before that, and all fitting steps after it. Returns the step after the band. */
static int32_t band_about(pithp_planning *g, int32_t k) {
    band b = {.g = g, .first = k, .end = k};
    reduces_rows(g, k, &b.rows, &b.length);
    if (k > 0 && g->step[reduced_by(&b, k)] == k - 1 &&
        g->plan->steps[k - 1].kind == PITHP_STEP_FUSED && fits(&b, k - 1)) {
        b.first = k - 1;
        b.bytes = bytes_of(&g->plan->steps[k - 1]);
    }
    do
        b.bytes += bytes_of(&g->plan->steps[b.end++]);
    while (b.end < g->plan->step_count && fits(&b, b.end));
    if (b.end - b.first < 2)
        return k + 1;
    for (const int32_t reader = b.first;
         b.first > 0 && g->plan->steps[reader].kind == PITHP_STEP_FUSED &&
         take_fits(&b, reader, b.first - 1);
         b.first--)
        b.bytes += bytes_of(&g->plan->steps[b.first - 1]);
    make_band(&b);
    return b.end;
}

bool pithp_plan_fuse_rows(pithp_planning *g) {
    int64_t rows, length;
    if (!g->plan->runs_fused || g->plan->scheduled)
        return true;
    for (int32_t k = 0; k < g->plan->step_count;)
        k = reduces_rows(g, k, &rows, &length) ? band_about(g, k) : k + 1;
    return true;
}
