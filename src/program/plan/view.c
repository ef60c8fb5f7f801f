/* View propagation: data movement done while reading. A view of a value is an offset and
 * strides. A concatenation or padding has several pieces, each a box of the index space
 * with a view. */
#include "program/op/thresholds.h"
#include "program/plan/plan.h"

#include <string.h>

enum { DEEPEST = 64 }; /* a view of views */
enum { DEEPEST_PIECED = 16 };

/* ---- Single views ---- */

/* Whether a view of rows keeps the elements of a row contiguous; otherwise a separate
 * copy is faster. */
static bool is_cheap_view(const pithp_program *p, const pithp_instruction *i) {
    const int rank = p->values[i->result].spec->rank;
    if (i->primitive == PITHP_OP_TRANSPOSE) {
        const pithp_transpose_params *t = i->params;
        return rank == 0 || t->permutation[rank - 1] == rank - 1;
    }
    return i->primitive == PITHP_OP_FULL ||
           pithp_op_has(i->primitive, PITHP_TRAIT_STRIDED);
}

/* Whether a view is contiguous, so that a reshape of it is a view. */
static bool is_contiguous(const pithp_view *view, const pith_spec *spec) {
    int64_t step = 1;
    bool side_by_side = true;
    for (int d = spec->rank - 1; d >= 0; d--) {
        side_by_side &= spec->shape[d] == 1 || view->stride[d] == step;
        step *= spec->shape[d];
    }
    return side_by_side;
}

static pithp_view
whole_view(const pithp_planning *g, pithp_value v, const pith_spec *spec) {
    pithp_view view = {.base = g->root[v]};
    pithp_c_strides(spec->rank, spec->shape, 1, view.stride);
    return view;
}

/* Composition: the view of a data-movement instruction over a view of its operand. */
static pithp_view view_through(const pithp_instruction *i,
                               const pith_spec *inner_spec,
                               const pithp_view *inner,
                               const pith_spec *spec) {
    pithp_view view = {.base = inner->base};
    view.offset = inner->offset + pithp_view_strides(i->primitive, i->params, inner_spec,
                                                     inner->stride, 1, spec, view.stride);
    return view;
}

pithp_view pithp_plan_view(const pithp_planning *g, pithp_value v) {
    /* Inner views come first in the program: walk down, then compose upwards. */
    const pithp_program *p = g->p;
    pithp_value chain[DEEPEST];
    int depth = 0;
    PITH_ASSERT(!g->is_pieced[v]);
    while (g->is_virtual[v] && pithp_maker(p, v)->operand_count) {
        PITH_ASSERT(depth < DEEPEST);
        chain[depth++] = v;
        v = pithp_operands(p, pithp_maker(p, v))[0];
    }
    pithp_view view = whole_view(g, v, p->values[v].spec);
    if (g->is_virtual[v]) /* full: one element for all */
        memset(view.stride, 0, sizeof view.stride);
    while (depth > 0) {
        const pith_spec *inner = p->values[v].spec;
        v = chain[--depth];
        view = view_through(pithp_maker(p, v), inner, &view, p->values[v].spec);
    }
    return view;
}

/* A reshape shares its operand's memory; of a view it may be another view. */
static bool is_reshaped_view(const pithp_planning *g, const pithp_instruction *i) {
    const pithp_value from = i->operand_count ? pithp_operands(g->p, i)[0] : -1;
    if (i->primitive != PITHP_OP_RESHAPE || g->is_pieced[from])
        return false;
    const pithp_view view = pithp_plan_view(g, from);
    return g->is_virtual[from] && is_contiguous(&view, g->p->values[from].spec);
}

/* ---- Pieces ---- */

static pithp_view_piece whole_piece(const pith_spec *spec, const pithp_view *view) {
    pithp_view_piece x = {.view = *view};
    for (int d = 0; d < spec->rank; d++)
        x.box.end[d] = spec->shape[d];
    return x;
}

static bool is_empty(const pithp_view_piece *x, int rank) {
    bool empty = false;
    for (int d = 0; d < rank; d++)
        empty |= x->box.begin[d] >= x->box.end[d];
    return empty;
}

/* Drop empty pieces. False: there are too many. */
static bool add_piece(pithp_view_pieces *all, const pithp_view_piece *x, int rank) {
    if (is_empty(x, rank))
        return true;
    if (all->count == PITHP_PIECES)
        return false;
    all->list[all->count++] = *x;
    return true;
}

/* The numbers k of 0..n-1 for which start + k step lies in [*begin, *end). */
static void
slice_range(int64_t start, int64_t step, int64_t n, int64_t *begin, int64_t *end) {
    const int64_t low = step > 0 ? *begin - start : start - *end + 1;
    const int64_t high = step > 0 ? *end - start : start - *begin + 1;
    const int64_t by = step > 0 ? step : -step;
    const int64_t from = low <= 0 ? 0 : (low - 1) / by + 1;
    const int64_t to = high <= 0 ? 0 : (high - 1) / by + 1;
    *begin = from;
    *end = to < n ? to : n;
}

/* The preimage of a box under data movement. */
static pithp_box box_through(const pithp_instruction *i,
                             const pith_spec *inner,
                             const pithp_box *box,
                             const pith_spec *spec) {
    pithp_index_map map;
    pithp_box to = {{0}, {0}};
    memcpy(to.end, spec->shape, (size_t)spec->rank * sizeof to.end[0]);
    pithp_index_map_of(i->primitive, i->params, inner, spec, &map);
    for (int d = 0; d < map.rank; d++) {
        const pithp_index_map_axis at = map.at[d];
        const int64_t extent = spec->shape[at.axis];
        int64_t begin = box->begin[d], end = box->end[d];
        if (at.step)
            slice_range(at.start, at.step, extent, &begin, &end);
        else
            end = begin < end ? extent : begin;
        to.begin[at.axis] = begin;
        to.end[at.axis] = end;
    }
    return to;
}

static bool
through(const pithp_planning *g, const pithp_instruction *i, pithp_view_pieces *to) {
    const pithp_value from = pithp_operands(g->p, i)[0];
    const pith_spec *inner = g->p->values[from].spec,
                    *spec = g->p->values[i->result].spec;
    pithp_view_pieces all;
    if (!pithp_plan_pieces(g, from, &all))
        return false;
    bool fits = true;
    for (int k = 0; k < all.count && fits; k++) {
        const pithp_view_piece *x = &all.list[k];
        const pithp_view_piece moved = {.view = view_through(i, inner, &x->view, spec),
                                        .box = box_through(i, inner, &x->box, spec)};
        fits = add_piece(to, &moved, spec->rank);
    }
    return fits;
}

/* Shift pieces by `by` along an axis. */
static void shift(pithp_view_piece *x, int axis, int64_t by) {
    x->view.offset -= by * x->view.stride[axis];
    x->box.begin[axis] += by;
    x->box.end[axis] += by;
}

static bool
concatenated(const pithp_planning *g, const pithp_instruction *i, pithp_view_pieces *to) {
    const int axis = ((const pithp_concatenate_params *)i->params)->axis;
    const int rank = g->p->values[i->result].spec->rank;
    int64_t at = 0;
    bool fits = true;
    for (int o = 0; o < i->operand_count && fits; o++) {
        const pithp_value v = pithp_operands(g->p, i)[o];
        const pith_spec *spec = g->p->values[v].spec;
        pithp_view_pieces all;
        fits = spec->count == 0 || pithp_plan_pieces(g, v, &all);
        for (int k = 0; spec->count && fits && k < all.count; k++) {
            shift(&all.list[k], axis, at);
            fits = add_piece(to, &all.list[k], rank);
        }
        at += spec->shape[axis];
    }
    return fits;
}

/* Padding: the operand's elements in the middle, truncated where padding is negative;
 * around them, axis by axis, a uniform value. */
static bool
padded(const pithp_planning *g, const pithp_instruction *i, pithp_view_pieces *to) {
    const pithp_pad_params *p = i->params;
    const pithp_value *operands = pithp_operands(g->p, i);
    const pith_spec *inner = g->p->values[operands[0]].spec,
                    *spec = g->p->values[i->result].spec;
    pithp_view_pieces all, fill;
    if (!pithp_plan_pieces(g, operands[1], &fill) ||
        (inner->count && !pithp_plan_pieces(g, operands[0], &all)))
        return false;
    pithp_view_piece around = whole_piece(spec, &fill.list[0].view);
    memset(around.view.stride, 0, sizeof around.view.stride);
    bool fits = true;
    for (int d = 0; d < spec->rank && fits; d++) {
        const pithp_pad_range kept = pithp_pad_kept(p, d, inner, spec);
        const int64_t n = spec->shape[d], begin = kept.to < n ? kept.to : n;
        pithp_view_piece before = around, behind = around;
        around.box.begin[d] = before.box.end[d] = begin;
        around.box.end[d] = behind.box.begin[d] = begin + kept.count;
        fits = add_piece(to, &before, spec->rank) && add_piece(to, &behind, spec->rank);
    }
    for (int k = 0; inner->count && fits && k < all.count; k++) {
        pithp_view_piece *x = &all.list[k];
        for (int d = 0; d < spec->rank; d++) {
            shift(x, d, p->low[d]);
            if (x->box.begin[d] < 0)
                x->box.begin[d] = 0;
            if (x->box.end[d] > spec->shape[d])
                x->box.end[d] = spec->shape[d];
        }
        fits = add_piece(to, x, spec->rank);
    }
    return fits;
}

bool pithp_plan_pieces(const pithp_planning *g,
                       pithp_value v,
                       pithp_view_pieces *pieces) {
    const pithp_instruction *i = pithp_maker(g->p, v);
    pieces->count = 0;
    if (!g->is_pieced[v]) {
        const pithp_view view = pithp_plan_view(g, v);
        pieces->list[pieces->count++] = whole_piece(g->p->values[v].spec, &view);
        return true;
    }
    return i->primitive == PITHP_OP_CONCATENATE ? concatenated(g, i, pieces)
           : i->primitive == PITHP_OP_PAD       ? padded(g, i, pieces)
                                                : through(g, i, pieces);
}

int pithp_plan_reads(const pithp_planning *g, pithp_value v) {
    pithp_view_pieces pieces;
    return g->is_pieced[v] && pithp_plan_pieces(g, v, &pieces) ? 1 + pieces.count : 1;
}

pithp_bases pithp_plan_bases(const pithp_planning *g, pithp_value v) {
    pithp_bases bases = {.count = 1};
    if (g->is_pieced[v]) {
        pithp_view_pieces pieces;
        pithp_plan_pieces(g, v, &pieces);
        bases.count = pieces.count;
        for (int k = 0; k < pieces.count; k++)
            bases.list[k] = pieces.list[k].view.base;
    } else {
        bases.list[0] = g->is_virtual[v] ? pithp_plan_view(g, v).base : g->root[v];
    }
    return bases;
}

/* ---- Choice of virtual values ---- */

/* Length of contiguous runs in pieces. */
static int64_t run_of(const pith_spec *spec, int axis) {
    int64_t run = 1;
    for (int d = axis; d < spec->rank; d++)
        run *= spec->shape[d];
    return run;
}

/* Whether a concatenation or padding may be read through pieces. */
static bool is_worth_pieces(const pithp_planning *g, const pithp_instruction *i) {
    const pith_spec *spec = g->p->values[i->result].spec;
    int last = 0; /* axis that is cut */
    if (spec->count == 0)
        return false;
    if (i->primitive == PITHP_OP_CONCATENATE)
        last = ((const pithp_concatenate_params *)i->params)->axis;
    for (int d = 0; i->primitive == PITHP_OP_PAD && d < spec->rank; d++) {
        const pithp_pad_params *p = i->params;
        if (p->interior[d])
            return false;
        last = p->low[d] || p->high[d] ? d : last;
    }
    /* a thread of a device finds its piece, however short the run */
    return g->plan->scheduled || spec->count <= PITHP_PIECE_SMALL_ELEMENTS ||
           run_of(spec, last) >= PITHP_PIECE_SHORTEST_RUN;
}

/* Whether a value has pieces, as far as its operands are known. */
static bool is_pieced(const pithp_planning *g, const pithp_instruction *i) {
    return pithp_op_has(i->primitive, PITHP_TRAIT_JOIN) ||
           (i->operand_count > 0 && g->is_pieced[pithp_operands(g->p, i)[0]]);
}

/* Record whether a value may be virtual, and whether it has pieces. */
static void choose_view(pithp_planning *g, pithp_value v) {
    const pithp_instruction *i = pithp_maker(g->p, v);
    pithp_view_pieces pieces;
    g->is_virtual[v] =
        g->plan->runs_fused && i &&
        (is_cheap_view(g->p, i) || is_reshaped_view(g, i) ||
         (pithp_op_has(i->primitive, PITHP_TRAIT_JOIN) && is_worth_pieces(g, i)));
    g->depth[v] = 0;
    for (int o = 0; g->is_virtual[v] && o < i->operand_count; o++) {
        const int32_t depth = g->depth[pithp_operands(g->p, i)[o]] + 1;
        g->depth[v] = depth > g->depth[v] ? depth : g->depth[v];
    }
    g->is_pieced[v] = g->is_virtual[v] && is_pieced(g, i);
    if (g->depth[v] >= (g->is_pieced[v] ? DEEPEST_PIECED : DEEPEST) ||
        (g->is_pieced[v] && (!pithp_plan_pieces(g, v, &pieces) || !pieces.count))) {
        g->is_virtual[v] = g->is_pieced[v] = false;
        g->depth[v] = 0;
    }
}

/* A value is virtual if all its readers can read through the view. */
bool pithp_plan_views(pithp_planning *g) {
    const pithp_program *p = g->p;
    for (int64_t v = 0; v < p->value_count; v++)
        g->root[v] = (pithp_value)v;
    for (int64_t v = 0; v < p->value_count; v++)
        choose_view(g, (pithp_value)v);
    for (int64_t k = 0; k < p->output_count; k++)
        g->is_virtual[p->outputs[k]] = false;
    for (int64_t k = p->instruction_count; k-- > 0;) {
        const pithp_instruction *i = &p->instructions[k];
        if (pithp_can_fuse(i->primitive) || pithp_plan_makes_reduced(g, i) ||
            (i->result_count && g->is_virtual[i->result]))
            continue;
        for (int o = 0; o < i->operand_count; o++)
            g->is_virtual[pithp_operands(p, i)[o]] = false;
    }
    for (int64_t v = 0; v < p->value_count; v++)
        g->is_pieced[v] =
            g->is_virtual[v] && is_pieced(g, pithp_maker(p, (pithp_value)v));
    return true;
}
