/* Lowering of fused steps: slots for the values that instructions read and write, and
 * access to memory outside the step. */
#include "program/host/pack.h"
#include "program/op/thresholds.h"
#include "program/plan/plan.h"

#include <string.h>

/* Slots of externals start here until the number of temporaries is known. */
enum { EXTERNAL = 1 << 14 };
_Static_assert((int)PITHP_FUSED_OPS <= (int)EXTERNAL &&
                   (int)EXTERNAL + (int)PITHP_FUSED_EXTERNALS <= UINT16_MAX,
               "slots have 16 bits");

/* Externals, or the pieces of all of them. */
typedef struct externals {
    int32_t count, most; /* number, and capacity */
    pithp_external *list;
    int64_t *strides; /* row_length of each */
    pithp_step_operand *operands;
} externals;

typedef struct fusing {
    pithp_planning *g;
    pithp_step *step;
    pithp_fused_step a; /* owner of these arrays: */
    externals externals, pieces;
    pithp_box *boxes;
    pithp_fused_op *ops;
    const char **sites;
    int64_t **stride;     /* strides of all externals */
    uint16_t *free_slots; /* temporaries given back */
    int free_count;
    int64_t shape[PITHP_MAX_RANK]; /* of the index space, axes in order */
} fusing;

/* ---- Externals ---- */

/* Strides of an external: one per axis of the step, and one for a scalar. */
static size_t row_length(const pithp_step *step) {
    return step->spec->rank ? (size_t)step->spec->rank : 1;
}

/* Add an external for the view of a value; returns its index. */
static int32_t
add_external(const fusing *f, externals *to, const pithp_view *view, size_t size) {
    const int32_t e = to->count++;
    const size_t length = row_length(f->step);
    int64_t *stride = to->strides + (size_t)e * length;
    PITH_ASSERT(e < to->most);
    to->operands[e] = (pithp_step_operand){view->base, view->offset};
    to->list[e] = (pithp_external){.size = (uint8_t)size, .stride = stride};
    memcpy(stride, view->stride, length * sizeof *stride);
    return e;
}

/* Find or add the external with a view over the step's shape. */
static uint16_t find_external(fusing *f, const pithp_view *view, size_t size) {
    const externals *all = &f->externals;
    const size_t bytes = (size_t)f->step->spec->rank * sizeof view->stride[0];
    for (int32_t e = 0; e < all->count; e++)
        if (all->operands[e].value == view->base &&
            all->operands[e].offset == view->offset && all->list[e].size == size &&
            memcmp(all->list[e].stride, view->stride, bytes) == 0)
            return (uint16_t)(EXTERNAL + e);
    return (uint16_t)(EXTERNAL + add_external(f, &f->externals, view, size));
}

pithp_view
pithp_view_broadcast(const pithp_view *own, const pith_spec *spec, const pith_spec *to) {
    const int more = to->rank - spec->rank;
    pithp_view view = {.base = own->base, .offset = own->offset};
    for (int d = 0; d < spec->rank; d++)
        view.stride[more + d] = spec->shape[d] == 1 ? 0 : own->stride[d];
    return view;
}

/* The box of a value, broadcast to the shape of the step. */
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
    const pithp_view view = pithp_view_broadcast(&x->view, spec, f->step->spec);
    const int32_t k = add_external(f, &f->pieces, &view, pith_dtype_size(spec->dtype));
    f->boxes[k] = broadcast_box(f, &x->box, spec);
}

/* An external with pieces; its base is the value itself, which has no memory. */
static uint16_t pieced_slot(fusing *f, pithp_value v) {
    const pith_spec *spec = f->g->p->values[v].spec;
    const pithp_view none = {.base = v};
    pithp_view_pieces made;
    pithp_plan_pieces(f->g, v, &made);
    if (made.count == 1) {
        const pithp_view view =
            pithp_view_broadcast(&made.list[0].view, spec, f->step->spec);
        return find_external(f, &view, pith_dtype_size(spec->dtype));
    }
    const uint16_t slot = find_external(f, &none, pith_dtype_size(spec->dtype));
    pithp_external *x = &f->externals.list[slot - EXTERNAL];
    if (x->pieces)
        return slot;
    x->access = PITHP_ACCESS_PIECES;
    x->first_piece = (uint16_t)f->pieces.count;
    x->pieces = (uint16_t)made.count;
    for (int k = 0; k < made.count; k++)
        add_piece(f, &made.list[k], spec);
    return slot;
}

static uint16_t memory_slot(fusing *f, pithp_value v) {
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

/* Record the last reader of each member. */
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

/* Free the slots of temporaries after their last read: before the result takes a slot if
 * it can be written in place, else after. */
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
            f->free_slots[f->free_count++] = (uint16_t)f->g->slot[v];
    }
}

static void add_op(fusing *f, const pithp_instruction *i) {
    const pithp_program *p = f->g->p;
    const int32_t number = f->a.op_count++;
    const pithp_value *operands = pithp_operands(p, i);
    const pith_dtype last = p->values[operands[i->operand_count - 1]].spec->dtype;
    pithp_fused_op *op = &f->ops[number];
    f->sites[number] = i->site;
    op->cast = i->primitive == PITHP_OP_CAST;
    op->operation = (uint16_t)(op->cast ? (int)last : (int)i->primitive);
    op->dtype = (uint8_t)(op->cast ? p->values[i->result].spec->dtype : last);
    for (int k = 0; k < 3; k++)
        op->from[k] = k >= i->operand_count          ? op->from[0]
                      : is_temporary(f, operands[k]) ? (uint16_t)f->g->slot[operands[k]]
                                                     : memory_slot(f, operands[k]);
    give_back(f, i, number, true);
    if (f->g->in_memory[i->result])
        op->to = memory_slot(f, i->result);
    else if (f->free_count)
        op->to = f->free_slots[--f->free_count];
    else
        op->to = (uint16_t)f->a.temporary_count++;
    f->g->slot[i->result] = op->to;
    give_back(f, i, number, false);
    if (!f->g->in_memory[i->result] && f->g->last_read[i->result] == number)
        f->free_slots[f->free_count++] = op->to; /* it has no reader */
}

/* ---- How externals are walked ---- */

/* Whether no piece ends within an axis. */
static bool is_uncut(const fusing *f, int axis) {
    bool uncut = true;
    for (int k = 0; k < f->pieces.count; k++)
        uncut &= f->boxes[k].begin[axis] == 0 && f->boxes[k].end[axis] == f->shape[axis];
    return uncut;
}

static void reorder(int64_t *x, const int *order, int rank) {
    int64_t old[PITHP_MAX_RANK];
    memcpy(old, x, (size_t)rank * sizeof old[0]);
    for (int d = 0; d < rank; d++)
        x[d] = old[order[d]];
}

/* Move the required axes to the end. */
static void order_axes(fusing *f) {
    const int rank = f->step->spec->rank;
    int order[PITHP_MAX_RANK], count = 0;
    for (uint32_t last = 0; last < 2; last++)
        for (int d = 0; d < rank; d++)
            if ((f->step->last_axes >> d & 1) == last)
                order[count++] = d;
    memcpy(f->shape, f->step->spec->shape, (size_t)rank * sizeof f->shape[0]);
    reorder(f->shape, order, rank);
    for (int e = 0; e < f->externals.count + f->pieces.count; e++)
        reorder(f->stride[e], order, rank);
    for (int k = 0; k < f->pieces.count; k++) {
        reorder(f->boxes[k].begin, order, rank);
        reorder(f->boxes[k].end, order, rank);
    }
}

/* Map boxes to the new dimensions: d becomes to[d], or a part of it. */
static void move_boxes(const fusing *f, const int *to) {
    for (int k = 0; k < f->pieces.count; k++) {
        pithp_box *box = &f->boxes[k];
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

static void coalesce(fusing *f) {
    const int count = f->externals.count + f->pieces.count, rank = f->step->spec->rank;
    int to[PITHP_MAX_RANK];
    unsigned cut = 0;
    for (int d = 0; d < rank; d++)
        cut |= (unsigned)!is_uncut(f, d) << d;
    memcpy(f->a.shape, f->shape, (size_t)rank * sizeof f->shape[0]);
    f->a.rank = pithp_coalesce(rank, f->a.shape, count, f->stride, cut, to);
    move_boxes(f, to);
}

static bool is_flat(const pithp_fused_step *a, const pithp_external *e) {
    int64_t step = 1;
    bool flat = true;
    for (int d = a->rank - 1; d >= 0; d--) {
        flat &= e->stride[d] == step || a->shape[d] == 1;
        step *= a->shape[d];
    }
    return flat;
}

static int64_t period_of(const pithp_fused_step *a, const pithp_external *e) {
    return pithp_period(a->rank, a->shape, e->stride);
}

static bool is_pieced(const pithp_external *e) {
    return e->access == PITHP_ACCESS_PIECES;
}

/* Its rows are in several pieces. */
static bool has_rows(const pithp_fused_step *a, const pithp_external *e) {
    return is_pieced(e) || (!is_flat(a, e) && period_of(a, e) != 1);
}

static uint8_t access_by_row(const pithp_fused_step *a, const pithp_external *e) {
    return a->by_rows && e->stride[a->rank - 1] == 1 ? PITHP_ACCESS_ROWS
                                                     : PITHP_ACCESS_STRIDED;
}

/* Access to an external without pieces. */
static uint8_t access_of(const pithp_fused_step *a, const pithp_external *x) {
    const int64_t own = period_of(a, x);
    return is_flat(a, x) ? PITHP_ACCESS_FLAT
           : own == 1 || (own && !a->by_rows && own <= PITHP_FUSED_LONGEST_PERIOD)
               ? PITHP_ACCESS_ONCE
               : access_by_row(a, x);
}

/* Elements of a block whose buffers fit in the first cache. */
static int64_t block_for(int buffers) {
    const int64_t most = PITHP_FUSED_BYTES / (int)sizeof(uint64_t) / (buffers + !buffers);
    const int64_t multiple = most < PITHP_FUSED_LEAST_BLOCK ? PITHP_FUSED_SHORTEST_BLOCK
                                                            : PITHP_FUSED_LEAST_BLOCK;
    return most > PITHP_FUSED_BLOCK ? PITHP_FUSED_BLOCK : most / multiple * multiple;
}

/* Choose the access to each external, and the length of blocks. */
static void choose_access(fusing *f) {
    pithp_fused_step *a = &f->a;
    int64_t period = 1;
    int buffers = a->temporary_count;
    for (int e = 0; e < a->external_count; e++)
        a->by_rows |= a->shape[a->rank - 1] >= PITHP_FUSED_SHORTEST_ROW &&
                      has_rows(a, &f->externals.list[e]);
    for (int p = 0; p < a->piece_count; p++)
        f->pieces.list[p].access = access_by_row(a, &f->pieces.list[p]);
    for (int e = 0; e < a->external_count; e++) {
        pithp_external *x = &f->externals.list[e];
        if (!is_pieced(x))
            x->access = access_of(a, x);
        if (x->access == PITHP_ACCESS_ONCE && period_of(a, x) > period)
            period = period_of(a, x); /* shorter ones divide it */
        buffers += x->access != PITHP_ACCESS_FLAT && x->access != PITHP_ACCESS_ROWS;
    }
    const int64_t block = block_for(buffers);
    for (int e = 0; e < a->external_count && period > block; e++)
        if (f->externals.list[e].access == PITHP_ACCESS_ONCE &&
            period_of(a, &f->externals.list[e]) > 1)
            f->externals.list[e].access = PITHP_ACCESS_STRIDED;
    a->block = (int32_t)(period > block ? block : block / period * period);
}

/* Pieces follow the externals. */
static void add_pieces(fusing *f) {
    externals *all = &f->externals, *pieces = &f->pieces;
    const size_t count = (size_t)pieces->count, length = row_length(f->step);
    f->a.external_count = all->count;
    f->a.piece_count = pieces->count;
    memmove(all->list + all->count, pieces->list, count * sizeof *all->list);
    memmove(all->operands + all->count, pieces->operands, count * sizeof *all->operands);
    pieces->list = all->list + all->count;
    for (int e = 0; e < all->count; e++)
        f->stride[e] = all->strides + (size_t)e * length;
    for (int p = 0; p < pieces->count; p++)
        f->stride[all->count + p] = pieces->strides + (size_t)p * length;
    order_axes(f);
    coalesce(f);
}

/* ---- Memory ---- */

typedef struct layout {
    size_t externals, strides, boxes, ops, end; /* of what launches refer to */
    size_t operands, sites, all;
} layout;

static layout layout_of(const pithp_fused_step *a) {
    const size_t memories = (size_t)(a->external_count + a->piece_count),
                 ops = (size_t)a->op_count;
    layout l = {.externals = sizeof *a};
    l.strides = l.externals + memories * sizeof *a->externals;
    l.boxes = l.strides + memories * (size_t)a->rank * sizeof(int64_t);
    l.ops = l.boxes + (size_t)a->piece_count * sizeof *a->boxes;
    l.end = (l.ops + ops * sizeof *a->ops + 7) & ~(size_t)7;
    l.operands = l.end;
    l.sites = l.operands + memories * sizeof(pithp_step_operand);
    l.all = l.sites + ops * sizeof *a->sites;
    return l;
}

size_t pithp_fused_bytes(const pithp_fused_step *step) {
    return layout_of(step).end;
}
size_t pithp_fused_memory_bytes(const pithp_fused_step *step) {
    return layout_of(step).all;
}

void pithp_fused_copy(const pithp_fused_step *step, void *to, const void *at) {
    const layout l = layout_of(step);
    const char *from = at;
    char *memory = to;
    pithp_fused_step *copy = to;
    pithp_external *list = (pithp_external *)(void *)(memory + l.externals);
    const size_t row = (size_t)step->rank * sizeof(int64_t);
    for (int e = 0; e < step->external_count + step->piece_count; e++) {
        list[e] = step->externals[e];
        memcpy(memory + l.strides + (size_t)e * row, step->externals[e].stride, row);
        list[e].stride =
            (const int64_t *)(const void *)(from + l.strides + (size_t)e * row);
    }
    if (step->piece_count)
        memcpy(memory + l.boxes, step->boxes, l.ops - l.boxes);
    if (step->op_count)
        memcpy(memory + l.ops, step->ops, (size_t)step->op_count * sizeof *step->ops);
    *copy = *step;
    copy->externals = (const pithp_external *)(const void *)(from + l.externals);
    copy->boxes = (const pithp_box *)(const void *)(from + l.boxes);
    copy->ops = (const pithp_fused_op *)(const void *)(from + l.ops);
    copy->sites = NULL;
}

/* Store the result in the step. False sets the error. */
static bool keep(const fusing *f) {
    const layout l = layout_of(&f->a);
    pithp_step *step = f->step;
    char *memory = pithp_allocate(f->g->plan->runtime, l.all);
    if (!memory) {
        pithp_fail_memory(f->g->s, l.all);
        return false;
    }
    step->fused = (pithp_fused_step *)(void *)memory;
    step->launched = step->fused;
    step->operands = (pithp_step_operand *)(void *)(memory + l.operands);
    pithp_fused_copy(&f->a, memory, memory);
    step->fused->sites = (const char *const *)(void *)(memory + l.sites);
    memcpy(memory + l.operands, f->externals.operands, l.sites - l.operands);
    memcpy(memory + l.sites, f->sites, l.all - l.sites);
    return true;
}

/* Allocate for the largest step. */
static size_t room_bytes(const fusing *f) {
    return (size_t)f->externals.most *
               (2 * (sizeof(pithp_external) + sizeof(pithp_step_operand) +
                     row_length(f->step) * sizeof(int64_t) + sizeof(int64_t *)) +
                sizeof(pithp_box)) +
           (size_t)f->step->members *
               (sizeof(char *) + sizeof(pithp_fused_op) + sizeof(uint16_t));
}

static void lay_room(fusing *f, void *memory) {
    const size_t most = (size_t)f->externals.most, members = (size_t)f->step->members,
                 length = row_length(f->step);
    f->externals.list = memory;
    f->pieces.list = f->externals.list + most;
    f->externals.strides = (int64_t *)(void *)(f->pieces.list + most);
    f->pieces.strides = f->externals.strides + most * length;
    f->externals.operands =
        (pithp_step_operand *)(void *)(f->pieces.strides + most * length);
    f->pieces.operands = f->externals.operands + most;
    f->boxes = (pithp_box *)(void *)(f->pieces.operands + most);
    f->stride = (int64_t **)(void *)(f->boxes + most);
    f->sites = (const char **)(void *)(f->stride + 2 * most);
    f->ops = (pithp_fused_op *)(void *)(f->sites + members);
    f->free_slots = (uint16_t *)(void *)(f->ops + members);
    f->a.ops = f->ops;
    f->a.externals = f->externals.list;
    f->a.boxes = f->boxes;
}

static uint16_t final_slot(const fusing *f, uint16_t slot) {
    return (uint16_t)(slot >= EXTERNAL ? slot - EXTERNAL + f->a.temporary_count : slot);
}

static void lower(fusing *f) {
    find_last_reads(f);
    for (pithp_value v = f->step->first; v >= 0; v = f->g->next[v])
        add_op(f, pithp_maker(f->g->p, v));
    if (!f->step->members)
        memory_slot(f, f->step->unmaterialised);
    for (int k = 0; k < f->a.op_count; k++) {
        pithp_fused_op *op = &f->ops[k];
        for (int o = 0; o < 3; o++)
            op->from[o] = final_slot(f, op->from[o]);
        op->to = final_slot(f, op->to);
    }
    add_pieces(f);
    choose_access(f);
}

bool pithp_plan_fuse(pithp_planning *g, pithp_step *step) {
    fusing f = {.g = g, .step = step};
    f.externals.most = f.pieces.most =
        step->members ? step->reads : pithp_plan_reads(g, step->unmaterialised);
    const size_t bytes = room_bytes(&f);
    void *room = pithp_allocate(g->s->runtime, bytes);
    if (!room) {
        pithp_fail_memory(g->s, bytes);
        return false;
    }
    lay_room(&f, room);
    lower(&f);
    const bool kept = keep(&f);
    pithp_release(g->s->runtime, room, bytes);
    return kept;
}

/* ---- What a fused step is ---- */

bool pithp_is_uniform(const pithp_fused_step *step, const pithp_external *e) {
    bool uniform = e->access == PITHP_ACCESS_ONCE;
    for (int d = 0; d < step->rank; d++)
        uniform &= e->stride[d] == 0;
    return uniform;
}

bool pithp_is_direct(const pithp_fused_step *step) {
    bool direct = step->gather_count == 0;
    for (int e = 0; e < step->external_count; e++)
        direct &= step->externals[e].access == PITHP_ACCESS_FLAT ||
                  pithp_is_uniform(step, &step->externals[e]);
    return direct;
}
