/* The code of fused steps: slots for what instructions read and write, and how memory
 * outside the step is walked. */
#include "program/interpret/plan.h"

#include <string.h>

/* While the number of temporaries is not known, the slots of externals count from here.
 */
enum { NONE = UINT8_MAX, EXTERNAL = 128 };

enum { SHORTEST_ROW = 64, LONGEST_PERIOD = 64, LEAST_BLOCK = 64 };

typedef struct fusing {
    pithp_planning *g;
    pithp_step *step;
    pithp_fused_args *args;
    uint8_t free_slots[PITHP_FUSED_OPS]; /* temporaries given back */
    int free_count;
} fusing;

/* ---- Externals ---- */

/* The external with that view over the step's shape; a new one where there is none. */
static uint8_t find_external(fusing *f, const pithp_view *view, size_t size) {
    pithp_fused_args *a = f->args;
    const size_t bytes = (size_t)f->step->spec->rank * sizeof view->stride[0];
    for (int e = 0; e < a->external_count; e++)
        if (f->step->external[e] == view->base && f->step->offset[e] == view->offset &&
            a->externals[e].size == size &&
            memcmp(a->externals[e].stride, view->stride, bytes) == 0)
            return (uint8_t)(EXTERNAL + e);
    const int e = a->external_count++;
    PITH_ASSERT(e < PITHP_FUSED_EXTERNALS);
    f->step->external[e] = view->base;
    f->step->offset[e] = view->offset;
    a->externals[e] = (pithp_external){.size = (uint8_t)size};
    memcpy(a->externals[e].stride, view->stride, bytes);
    return (uint8_t)(EXTERNAL + e);
}

/* A value in memory, broadcast to the step's shape from the right. */
static uint8_t memory_slot(fusing *f, pithp_value v) {
    const pith_spec *spec = f->g->p->values[v].spec, *to = f->step->spec;
    const pithp_view own = pithp_plan_view(f->g, v);
    pithp_view view = {.base = own.base, .offset = own.offset};
    for (int d = 0, at = to->rank - spec->rank; d < spec->rank; d++, at++)
        view.stride[at] = spec->shape[d] == 1 ? 0 : own.stride[d];
    return find_external(f, &view, pith_dtype_size(spec->dtype));
}

/* ---- Instructions ---- */

/* Whether a value is a temporary of the step. */
static bool is_temporary(const fusing *f, pithp_value v) {
    const pithp_planning *g = f->g;
    return pithp_maker(g->p, v) && !g->is_virtual[v] && g->root[v] == v &&
           !g->in_memory[v] && &g->plan->steps[g->step[v]] == f->step;
}

/* Members note the last one that reads them, in scratch. */
static void find_last_reads(fusing *f) {
    const pithp_program *p = f->g->p;
    int32_t number = 0;
    for (pithp_value v = f->step->first; v >= 0; v = f->g->next[v], number++) {
        const pithp_instruction *i = pithp_maker(p, v);
        f->g->scratch[v] = number;
        for (int k = 0; k < i->operand_count; k++)
            if (is_temporary(f, pithp_operands(p, i)[k]))
                f->g->scratch[pithp_operands(p, i)[k]] = number;
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
            f->g->scratch[v] == number)
            f->free_slots[f->free_count++] = f->g->slot[v];
    }
}

static void add_op(fusing *f, const pithp_instruction *i) {
    const pithp_program *p = f->g->p;
    const int32_t number = f->args->op_count++;
    const pithp_value *operands = pithp_operands(p, i);
    const pith_dtype last = p->values[operands[i->operand_count - 1]].spec->dtype;
    pithp_fused_op *op = &f->args->ops[number];
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
    if (!f->g->in_memory[i->result] && f->g->scratch[i->result] == number)
        f->free_slots[f->free_count++] = op->to; /* nobody reads it */
}

/* ---- How externals are walked ---- */

/* Drop extents of 1 and merge neighbours that every external walks as one. */
static void merge_dimensions(pithp_fused_args *a, const pith_spec *spec) {
    int rank = 0;
    for (int d = 0; d < spec->rank; d++) {
        const int64_t extent = spec->shape[d];
        if (extent == 1)
            continue;
        bool joins = rank > 0;
        for (int e = 0; e < a->external_count && joins; e++)
            joins =
                a->externals[e].stride[rank - 1] == a->externals[e].stride[d] * extent;
        const int at = joins ? rank - 1 : rank++;
        a->shape[at] = joins ? a->shape[at] * extent : extent;
        for (int e = 0; e < a->external_count; e++)
            a->externals[e].stride[at] = a->externals[e].stride[d];
    }
    if (rank == 0) {
        a->shape[rank++] = 1;
        for (int e = 0; e < a->external_count; e++)
            a->externals[e].stride[0] = 0;
    }
    a->rank = rank;
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

/* Choose how each external is read, and the length of blocks. */
static void choose_access(pithp_fused_args *a) {
    const int last = a->rank - 1;
    int64_t period = 1;
    int buffers = a->temporary_count;
    for (int e = 0; e < a->external_count; e++)
        a->by_rows |= a->shape[last] >= SHORTEST_ROW && !is_flat(a, &a->externals[e]) &&
                      period_of(a, &a->externals[e]) != 1;
    for (int e = 0; e < a->external_count; e++) {
        pithp_external *x = &a->externals[e];
        const int64_t own = period_of(a, x);
        if (is_flat(a, x))
            x->access = PITHP_ACCESS_FLAT;
        else if (own == 1 || (own && !a->by_rows && own <= LONGEST_PERIOD))
            x->access = PITHP_ACCESS_ONCE;
        else
            x->access = a->by_rows && x->stride[last] == 1 ? PITHP_ACCESS_ROWS
                                                           : PITHP_ACCESS_STRIDED;
        if (x->access == PITHP_ACCESS_ONCE && own > period)
            period = own; /* shorter ones divide it */
        buffers += x->access == PITHP_ACCESS_ONCE || x->access == PITHP_ACCESS_STRIDED;
    }
    int64_t block = PITHP_FUSED_BYTES / (int)sizeof(uint64_t) / (buffers ? buffers : 1);
    block =
        block > PITHP_FUSED_BLOCK ? PITHP_FUSED_BLOCK : block / LEAST_BLOCK * LEAST_BLOCK;
    a->block = (int32_t)(block / period * period);
}

bool pithp_plan_fuse(pithp_planning *g, pithp_step *step) {
    pithp_fused_args all, *a = &all;
    memset(a, 0, offsetof(pithp_fused_args, ops)); /* the rest is written as it is used */
    fusing f = {.g = g, .step = step, .args = a};
    find_last_reads(&f);
    for (pithp_value v = step->first; v >= 0; v = g->next[v])
        add_op(&f, pithp_maker(g->p, v));
    for (int k = 0; k < a->op_count; k++) {
        pithp_fused_op *op = &a->ops[k];
        for (int o = 0; o < 3; o++)
            if (op->from[o] != NONE && op->from[o] >= EXTERNAL)
                op->from[o] = (uint8_t)(op->from[o] - EXTERNAL + a->temporary_count);
        if (op->to >= EXTERNAL)
            op->to = (uint8_t)(op->to - EXTERNAL + a->temporary_count);
    }
    merge_dimensions(a, step->spec);
    choose_access(a);
    step->fused = pithp_allocate(g->plan->runtime, pithp_fused_bytes(a));
    if (step->fused)
        memcpy(step->fused, a, pithp_fused_bytes(a));
    else
        pithp_fail_memory(g->s, pithp_fused_bytes(a));
    return step->fused;
}
