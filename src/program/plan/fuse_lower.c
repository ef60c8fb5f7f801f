/* Lowering of fused steps: slots for the values that instructions read and write, and
 * access to memory outside the step. */
#include "program/host/pack.h"
#include "program/op/thresholds.h"
#include "program/plan/plan.h"

#include <string.h>

/* While the number of temporaries is not known, the slots of externals count from here.
 */
enum { NONE = UINT8_MAX, EXTERNAL = 128 };

/* The pieces of all externals. */
typedef struct pieces {
    int count;
    pithp_value base[PITHP_FUSED_EXTERNALS];
    int64_t offset[PITHP_FUSED_EXTERNALS];
    pithp_external external[PITHP_FUSED_EXTERNALS];
    pithp_box box[PITHP_FUSED_EXTERNALS];
} pieces;

typedef struct fusing {
    pithp_planning *g;
    pithp_step *step;
    pithp_fused_args *args;
    uint8_t free_slots[PITHP_FUSED_OPS]; /* temporaries given back */
    int free_count;
    pieces *pieces;
    const char *sites[PITHP_FUSED_OPS];
    pithp_step_operand operands[PITHP_FUSED_EXTERNALS];
    int64_t shape[PITH_MAX_RANK]; /* of the index space, its axes in order */
} fusing;

/* ---- Externals ---- */

/* The external with that view over the step's shape; a new one where there is none. */
static uint8_t find_external(fusing *f, const pithp_view *view, size_t size) {
    pithp_fused_args *a = f->args;
    const size_t bytes = (size_t)f->step->spec->rank * sizeof view->stride[0];
    for (int e = 0; e < a->external_count; e++)
        if (f->operands[e].value == view->base && f->operands[e].offset == view->offset &&
            a->externals[e].size == size &&
            memcmp(a->externals[e].stride, view->stride, bytes) == 0)
            return (uint8_t)(EXTERNAL + e);
    const int e = a->external_count++;
    PITH_ASSERT(e < PITHP_FUSED_EXTERNALS);
    f->operands[e].value = view->base;
    f->operands[e].offset = view->offset;
    a->externals[e] = (pithp_external){.size = (uint8_t)size};
    memcpy(a->externals[e].stride, view->stride, bytes);
    return (uint8_t)(EXTERNAL + e);
}

pithp_view
pithp_view_broadcast(const pithp_view *own, const pith_spec *spec, const pith_spec *to) {
    const int more = to->rank - spec->rank;
    pithp_view view = {.base = own->base, .offset = own->offset};
    for (int d = 0; d < spec->rank; d++)
        view.stride[more + d] = spec->shape[d] == 1 ? 0 : own->stride[d];
    return view;
}

/* The same of a box. */
static pithp_box
broadcast_box(const fusing *f, const pithp_box *own, const pith_spec *spec) {
    const pith_spec *to = f->step->spec;
    pithp_box box = {{0}, {0}};
    for (int d = 0, from = spec->rank - to->rank; d < to->rank; d++, from++) {
        const bool whole = from < 0 || spec->shape[from] == 1;
        box.begin[d] = whole ? 0 : own->begin[from];
        box.end[d] = whole ? to->shape[d] : own->end[from];
    }
    return box;
}

static void add_piece(fusing *f, const pithp_view_piece *x, const pith_spec *spec) {
    pieces *all = f->pieces;
    const int k = all->count++;
    const pithp_view view = pithp_view_broadcast(&x->view, spec, f->step->spec);
    PITH_ASSERT(k < PITHP_FUSED_EXTERNALS);
    all->base[k] = view.base;
    all->offset[k] = view.offset;
    all->external[k] = (pithp_external){.size = (uint8_t)pith_dtype_size(spec->dtype)};
    memcpy(all->external[k].stride, view.stride, sizeof view.stride);
    all->box[k] = broadcast_box(f, &x->box, spec);
}

/* An external that is of pieces: its base is the value itself, which has no memory. */
static uint8_t pieced_slot(fusing *f, pithp_value v) {
    const pith_spec *spec = f->g->p->values[v].spec;
    const pithp_view none = {.base = v};
    pithp_view_pieces made;
    pithp_plan_pieces(f->g, v, &made);
    if (made.count == 1) {
        const pithp_view view =
            pithp_view_broadcast(&made.list[0].view, spec, f->step->spec);
        return find_external(f, &view, pith_dtype_size(spec->dtype));
    }
    const uint8_t slot = find_external(f, &none, pith_dtype_size(spec->dtype));
    pithp_external *x = &f->args->externals[slot - EXTERNAL];
    if (x->pieces)
        return slot;
    x->access = PITHP_ACCESS_PIECES;
    x->first_piece = (uint8_t)f->pieces->count;
    x->pieces = (uint8_t)made.count;
    for (int k = 0; k < made.count; k++)
        add_piece(f, &made.list[k], spec);
    return slot;
}

static uint8_t memory_slot(fusing *f, pithp_value v) {
    const pith_spec *spec = f->g->p->values[v].spec;
    if (f->g->is_pieced[v])
        return pieced_slot(f, v);
    const pithp_view own = pithp_plan_view(f->g, v);
    const pithp_view view = pithp_view_broadcast(&own, spec, f->step->spec);
    return find_external(f, &view, pith_dtype_size(spec->dtype));
}

/* ---- Instructions ---- */

/* Whether a value is a temporary of the step. */
static bool is_temporary(const fusing *f, pithp_value v) {
    const pithp_planning *g = f->g;
    return pithp_maker(g->p, v) && !g->is_virtual[v] && g->root[v] == v &&
           !g->in_memory[v] && &g->plan->steps[g->step[v]] == f->step;
}

/* Members note the last one that reads them. */
static void find_last_reads(fusing *f) {
    const pithp_program *p = f->g->p;
    int32_t number = 0;
    for (pithp_value v = f->step->first; v >= 0; v = f->g->next[v], number++) {
        const pithp_instruction *i = pithp_maker(p, v);
        f->g->last_read[v] = number;
        for (int k = 0; k < i->operand_count; k++)
            if (is_temporary(f, pithp_operands(p, i)[k]))
                f->g->last_read[pithp_operands(p, i)[k]] = number;
    }
}

/* Temporaries that are read for the last time give their slots back: those in whose place
 * the result can be written before it takes one, the others behind. */
static void
give_back(fusing *f, const pithp_instruction *i, int32_t number, bool in_place) {
    const pithp_program *p = f->g->p;
    const pithp_value *operands = pithp_operands(p, i);
    const size_t size = pith_dtype_size(p->values[i->result].spec->dtype);
    for (int k = 0; k < i->operand_count; k++) {
        const pithp_value v = operands[k];
        bool again = false;
        for (int before = 0; before < k; before++)
            again |= operands[before] == v;
        const bool fits = pith_dtype_size(p->values[v].spec->dtype) == size;
        if (!again && fits == in_place && is_temporary(f, v) &&
            f->g->last_read[v] == number)
            f->free_slots[f->free_count++] = f->g->slot[v];
    }
}

static void add_op(fusing *f, const pithp_instruction *i) {
    const pithp_program *p = f->g->p;
    const int32_t number = f->args->op_count++;
    const pithp_value *operands = pithp_operands(p, i);
    const pith_dtype last = p->values[operands[i->operand_count - 1]].spec->dtype;
    pithp_fused_op *op = &f->args->ops[number];
    f->sites[number] = i->site;
    op->cast = i->primitive == PITHP_OP_CAST;
    op->row = (uint16_t)(op->cast ? (int)last : (int)i->primitive);
    op->column = (uint8_t)(op->cast ? p->values[i->result].spec->dtype : last);
    for (int k = 0; k < 3; k++)
        op->from[k] = k >= i->operand_count          ? NONE
                      : is_temporary(f, operands[k]) ? f->g->slot[operands[k]]
                                                     : memory_slot(f, operands[k]);
    give_back(f, i, number, true);
    if (f->g->in_memory[i->result])
        op->to = memory_slot(f, i->result);
    else if (f->free_count)
        op->to = f->free_slots[--f->free_count];
    else
        op->to = (uint8_t)f->args->temporary_count++;
    f->g->slot[i->result] = op->to;
    give_back(f, i, number, false);
    if (!f->g->in_memory[i->result] && f->g->last_read[i->result] == number)
        f->free_slots[f->free_count++] = op->to; /* nobody reads it */
}

/* ---- How externals are walked ---- */

/* Whether no piece ends within an axis. */
static bool is_uncut(const fusing *f, int axis) {
    bool uncut = true;
    for (int k = 0; k < f->pieces->count; k++)
        uncut &= f->pieces->box[k].begin[axis] == 0 &&
                 f->pieces->box[k].end[axis] == f->shape[axis];
    return uncut;
}

static void reorder(int64_t *x, const int *order, int rank) {
    int64_t old[PITH_MAX_RANK];
    memcpy(old, x, sizeof old);
    for (int d = 0; d < rank; d++)
        x[d] = old[order[d]];
}

/* The axes that are to be last go there. */
static void order_axes(fusing *f) {
    pithp_fused_args *a = f->args;
    const int rank = f->step->spec->rank;
    int order[PITH_MAX_RANK], count = 0;
    for (uint32_t last = 0; last < 2; last++)
        for (int d = 0; d < rank; d++)
            if ((f->step->last_axes >> d & 1) == last)
                order[count++] = d;
    memcpy(f->shape, f->step->spec->shape, sizeof f->shape);
    reorder(f->shape, order, rank);
    for (int e = 0; e < a->external_count + a->piece_count; e++)
        reorder(a->externals[e].stride, order, rank);
    for (int k = 0; k < f->pieces->count; k++) {
        reorder(f->pieces->box[k].begin, order, rank);
        reorder(f->pieces->box[k].end, order, rank);
    }
}

/* Boxes follow the dimensions, of which d becomes to[d], or a part of it. */
static void move_boxes(const fusing *f, const int *to) {
    for (int k = 0; k < f->pieces->count; k++) {
        pithp_box *box = &f->pieces->box[k];
        int last = -1;
        for (int d = 0; d < f->step->spec->rank; d++) {
            const int at = to[d];
            if (at < 0)
                continue;
            const bool joins = at == last;
            box->begin[at] = joins ? box->begin[at] * f->shape[d] : box->begin[d];
            box->end[at] = joins ? box->end[at] * f->shape[d] : box->end[d];
            last = at;
        }
    }
}

static void coalesce(const fusing *f) {
    pithp_fused_args *a = f->args;
    const int externals = a->external_count + a->piece_count, rank = f->step->spec->rank;
    int64_t *stride[PITHP_FUSED_EXTERNALS];
    int to[PITH_MAX_RANK];
    unsigned cut = 0;
    for (int e = 0; e < externals; e++)
        stride[e] = a->externals[e].stride;
    for (int d = 0; d < rank; d++)
        cut |= (unsigned)!is_uncut(f, d) << d;
    memcpy(a->shape, f->shape, sizeof a->shape);
    a->rank = pithp_coalesce(rank, a->shape, externals, stride, cut, to);
    move_boxes(f, to);
}

static bool is_flat(const pithp_fused_args *a, const pithp_external *e) {
    int64_t step = 1;
    bool flat = true;
    for (int d = a->rank - 1; d >= 0; d--) {
        flat &= e->stride[d] == step || a->shape[d] == 1;
        step *= a->shape[d];
    }
    return flat;
}

static int64_t period_of(const pithp_fused_args *a, const pithp_external *e) {
    return pithp_period(a->rank, a->shape, e->stride);
}

static bool is_pieced(const pithp_external *e) {
    return e->access == PITHP_ACCESS_PIECES;
}

/* Rows of it lie in several places. */
static bool has_rows(const pithp_fused_args *a, const pithp_external *e) {
    return is_pieced(e) || (!is_flat(a, e) && period_of(a, e) != 1);
}

static uint8_t access_by_row(const pithp_fused_args *a, const pithp_external *e) {
    return a->by_rows && e->stride[a->rank - 1] == 1 ? PITHP_ACCESS_ROWS
                                                     : PITHP_ACCESS_STRIDED;
}

/* Choose how each external is read, and the length of blocks. */
static void choose_access(pithp_fused_args *a) {
    int64_t period = 1;
    int buffers = a->temporary_count;
    for (int e = 0; e < a->external_count; e++)
        a->by_rows |= a->shape[a->rank - 1] >= PITHP_FUSED_SHORTEST_ROW &&
                      has_rows(a, &a->externals[e]);
    for (int p = 0; p < a->piece_count; p++) {
        pithp_external *x = &a->externals[a->external_count + p];
        x->access = access_by_row(a, x);
    }
    for (int e = 0; e < a->external_count; e++) {
        pithp_external *x = &a->externals[e];
        const int64_t own = period_of(a, x);
        if (is_pieced(x)) {
            buffers++;
            continue;
        }
        if (is_flat(a, x))
            x->access = PITHP_ACCESS_FLAT;
        else if (own == 1 || (own && !a->by_rows && own <= PITHP_FUSED_LONGEST_PERIOD))
            x->access = PITHP_ACCESS_ONCE;
        else
            x->access = access_by_row(a, x);
        if (x->access == PITHP_ACCESS_ONCE && own > period)
            period = own; /* shorter ones divide it */
        buffers += x->access == PITHP_ACCESS_ONCE || x->access == PITHP_ACCESS_STRIDED;
    }
    int64_t block = PITHP_FUSED_BYTES / (int)sizeof(uint64_t) / (buffers ? buffers : 1);
    block = block > PITHP_FUSED_BLOCK
                ? PITHP_FUSED_BLOCK
                : block / PITHP_FUSED_LEAST_BLOCK * PITHP_FUSED_LEAST_BLOCK;
    a->block = (int32_t)(block / period * period);
}

/* The pieces follow the externals that ops name. False: error set. */
static bool add_pieces(fusing *f) {
    pithp_fused_args *a = f->args;
    a->piece_count = (uint16_t)f->pieces->count;
    for (int k = 0; k < f->pieces->count; k++) {
        const int e = a->external_count + k;
        PITH_ASSERT(e < PITHP_FUSED_EXTERNALS);
        f->operands[e].value = f->pieces->base[k];
        f->operands[e].offset = f->pieces->offset[k];
        a->externals[e] = f->pieces->external[k];
    }
    order_axes(f);
    coalesce(f);
    const size_t bytes = a->piece_count * sizeof *f->step->boxes;
    f->step->boxes = bytes ? pithp_allocate(f->g->plan->runtime, bytes) : NULL;
    if (bytes && !f->step->boxes) {
        pithp_fail_memory(f->g->s, bytes);
        return false;
    }
    if (bytes)
        memcpy(f->step->boxes, f->pieces->box, bytes);
    return true;
}

/* What the step keeps of all that. False: error set. */
static bool keep(const fusing *f) {
    pith_runtime *rt = f->g->plan->runtime;
    pithp_step *step = f->step;
    const size_t bytes = pithp_fused_bytes(f->args);
    const size_t sites = f->args->op_count * sizeof *step->sites;
    const size_t operands = pithp_operands_bytes(f->args);
    step->fused = pithp_allocate(rt, bytes);
    step->sites = step->fused ? pithp_allocate(rt, sites) : NULL;
    step->operands = step->sites ? pithp_allocate(rt, operands) : NULL;
    if (step->operands) {
        memcpy(step->fused, f->args, bytes);
        memcpy(step->sites, f->sites, sites);
        memcpy(step->operands, f->operands, operands);
        step->fused->boxes = step->boxes;
        step->fused->sites = step->sites;
        return true;
    }
    pithp_release(rt, step->fused, bytes);
    pithp_release(rt, step->sites, sites);
    pithp_release(rt, step->boxes, f->args->piece_count * sizeof *step->boxes);
    step->fused = NULL;
    step->sites = NULL;
    step->boxes = NULL;
    pithp_fail_memory(f->g->s, bytes + sites + operands);
    return false;
}

bool pithp_plan_fuse(pithp_planning *g, pithp_step *step) {
    pithp_fused_args all, *a = &all;
    pieces cut;
    cut.count = 0;
    memset(a, 0, offsetof(pithp_fused_args, ops)); /* the rest is written as it is used */
    fusing f = {.g = g, .step = step, .args = a, .pieces = &cut};
    find_last_reads(&f);
    for (pithp_value v = step->first; v >= 0; v = g->next[v])
        add_op(&f, pithp_maker(g->p, v));
    if (!step->members)
        memory_slot(&f, step->unplaced);
    for (int k = 0; k < a->op_count; k++) {
        pithp_fused_op *op = &a->ops[k];
        for (int o = 0; o < 3; o++)
            if (op->from[o] != NONE && op->from[o] >= EXTERNAL)
                op->from[o] = (uint8_t)(op->from[o] - EXTERNAL + a->temporary_count);
        if (op->to >= EXTERNAL)
            op->to = (uint8_t)(op->to - EXTERNAL + a->temporary_count);
    }
    if (!add_pieces(&f))
        return false;
    choose_access(a);
    return keep(&f);
}

/* ---- What a fused step is ---- */

bool pithp_is_uniform(const pithp_fused_args *step, const pithp_external *e) {
    bool uniform = e->access == PITHP_ACCESS_ONCE;
    for (int d = 0; d < step->rank; d++)
        uniform &= e->stride[d] == 0;
    return uniform;
}

bool pithp_is_direct(const pithp_fused_args *step) {
    bool direct = step->taken_count == 0;
    for (int e = 0; e < step->external_count; e++)
        direct &= step->externals[e].access == PITHP_ACCESS_FLAT ||
                  pithp_is_uniform(step, &step->externals[e]);
    return direct;
}
