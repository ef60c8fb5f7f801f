/* Unrolled calls of structural operations: reductions, gathers and scatters, dynamic
 * slices, and data movement. The order and results are those of their host loops. */
#include "program/emit/inline.h"
#include "program/emit/reducers.h"
#include "program/host/boxes.h"
#include "program/host/gather.h"
#include "program/host/reduce.h"

#include <stdio.h>
#include <string.h>

/* A call with the data that its text depends on. */
typedef struct call_text {
    const pithp_frame *f; /* NULL: test only whether it fits */
    pithp_string *t;
    const pithp_program *p;
    const pithp_instruction *i;
    pithp_call call;
    const pith_spec *x, *result;
} call_text;

static call_text
call_text_of(const pithp_frame *f, const pithp_plan *plan, const pithp_step *step) {
    const pithp_instruction *i = step->call;
    return (call_text){
        .f = f,
        .t = f ? f->x->t : NULL,
        .p = plan->program,
        .i = i,
        .call = pithp_call_of(i->primitive, i->operand_count, step->specs, i->params),
        .x = i->operand_count ? step->specs[0] : NULL,
        .result = step->spec};
}

static const char *type_of(const pith_spec *spec) {
    return pithp_dtype_spelling(spec->dtype);
}

static void add_operand(const call_text *c, int k) {
    pithp_frame_address(c->f, pithp_operands(c->p, c->i)[k]);
}

/* Declare: const T *const name = operand k; */
static void add_from(const call_text *c, const char *name, int k) {
    const char *type = type_of(c->call.operands[k]);
    pithp_string_print(c->t, "        const %s *const %s = (const %s *)(", type, name,
                       type);
    add_operand(c, k);
    pithp_string_add(c->t, ");\n");
}

static void add_to(const call_text *c) {
    const char *type = type_of(c->result);
    pithp_string_print(c->t, "        %s *const to = (%s *)(", type, type);
    pithp_frame_address(c->f, c->i->result);
    pithp_string_add(c->t, ");\n");
}

/* ---- Reductions ---- */

static int reducer_of(const call_text *c) {
    return pithp_text_reducer_of((pithp_primitive)c->i->primitive, c->x->dtype);
}

/* Suffix of the loop macro of a reducer, by its dependence on the order of elements. */
static const char *way_of(const pithp_text_reducer *r) {
    return pithp_text_reducer_is_truth_of_bytes(r) ? "_BYTES"
           : !pithp_text_reducer_is_ordered(r)     ? "_FREELY"
           : pithp_text_reducer_chooses(r)         ? "_EXTREME"
                                                   : "";
}

static void define_reduction(pithp_inlining *x, const call_text *c) {
    const int k = reducer_of(c);
    const pithp_text_reducer *r = &pithp_text_reducers[k];
    if (!(x->ops->reducers >> k & 1))
        pithp_string_print(x->t, "M_REDUCE%s(%s, %s, %s, %s, %s, %s)\n", way_of(r),
                           r->name, r->type, r->accumulator, r->loaded, r->identity,
                           r->combine);
    x->ops->reducers |= 1ull << k;
}

static void add_reduction(const call_text *c) {
    const pithp_reduce_view v = pithp_reduce_view_of(&c->call);
    const pithp_text_reducer *r = &pithp_text_reducers[reducer_of(c)];
    pithp_string_print(c->t, "        const %s *const x = (const %s *)(", r->type,
                       r->type);
    add_operand(c, 0);
    pithp_string_add(c->t, ");\n");
    add_to(c);
    pithp_inline_loops(c->t, 2, (const int64_t[]){v.outer, v.inner}, false);
    pithp_string_print(
        c->t,
        "            to[j0 * %lld + j1] = m_to_%s(LOAD_%s(reduce_%s(x + j0 * "
        "%lld + j1, %lld, %lld)));\n",
        (long long)v.inner, type_of(c->result), r->accumulator, r->name,
        (long long)(v.length * v.inner), (long long)v.inner, (long long)v.length);
}

/* ---- Gathers, scatters and dynamic slices ---- */

/* Compute `at`: the row that index j of all index arrays selects; -1: out of range. */
static void add_index(const call_text *c, const pithp_index_args *a) {
    const int mode =
        a->rule[0].mode == PITHP_INDEX_ERROR ? PITHP_INDEX_DROP : (int)a->rule[0].mode;
    pithp_string_add(c->t, "            i64 at = 0, here;\n");
    for (int k = 0; k < a->arrays; k++)
        pithp_string_print(
            c->t,
            "            here = m_position((i64)index%d[j], %lld, %d, %d, %d);\n"
            "            at = at < 0 || here < 0 ? -1 : at * %lld + here;\n",
            k, (long long)a->rule[k].extent, mode, !a->rule[k].no_negative,
            a->rule[k].unsigned64, (long long)a->rule[k].extent);
}

static void add_indices(const call_text *c, const pithp_index_args *a) {
    for (int k = 0; k < a->arrays; k++) {
        char name[24];
        snprintf(name, sizeof name, "index%d", k);
        add_from(c, name, 1 + k);
    }
}

/* Emit an element from its bits. */
static void add_bits(pithp_string *t, pith_dtype dtype, uint64_t bits) {
    const int unused = 64 - 8 * (int)pith_dtype_size(dtype);
    const unsigned long long value = (unsigned long long)(bits << unused >> unused);
    if (dtype == PITH_F32)
        pithp_string_print(t, "m_from_bits_u32(0x%llxu)", value);
    else if (dtype == PITH_F64)
        pithp_string_print(t, "m_from_bits_u64(0x%llxu)", value);
    else
        pithp_string_print(t, "(%s)0x%llxu", pithp_dtype_spelling(dtype), value);
}

static pithp_index_args index_args(const call_text *c, const void **operands) {
    memset(operands, 0, (size_t)c->i->operand_count * sizeof *operands);
    return pithp_index_args_of(&c->call, &(pithp_memory){.operands = operands},
                               pithp_index_arrays(&c->call), c->call.operands[1]->count);
}

static void add_take(const call_text *c) {
    const void *operands[PITHP_MAX_RANK + 2];
    const pithp_index_args a = index_args(c, operands);
    add_from(c, "x", 0);
    add_indices(c, &a);
    add_to(c);
    pithp_string_print(c->t, "%s        for (i64 j = 0; j < %lld; j++) {\n",
                       a.outer * a.inner == 1 ? "        M_LOOP\n" : "",
                       (long long)a.count);
    add_index(c, &a);
    pithp_inline_loops(c->t, a.outer * a.inner == 1 ? 0 : 2,
                       (const int64_t[]){a.outer, a.inner}, a.inner > 1);
    if (a.outer * a.inner == 1)
        pithp_string_add(c->t, "            to[j] = at < 0 ? ");
    else
        pithp_string_print(c->t,
                           "            to[(j0 * %lld + j) * %lld + j1] = at < 0 ? ",
                           (long long)a.count, (long long)a.inner);
    add_bits(c->t, c->result->dtype, a.fill);
    if (a.outer * a.inner == 1)
        pithp_string_add(c->t, " : x[at];\n        }\n");
    else
        pithp_string_print(c->t, " : x[j0 * %lld + at * %lld + j1];\n        }\n",
                           (long long)a.pitch, (long long)a.inner);
}

static void add_scatter(const call_text *c) {
    const void *operands[PITHP_MAX_RANK + 2];
    const pithp_index_args a = index_args(c, operands);
    const pithp_primitive combine = pithp_ops[c->i->primitive].combine;
    const char *type = type_of(c->result);
    add_from(c, "x", 0);
    add_from(c, "updates", c->i->operand_count - 1);
    add_indices(c, &a);
    add_to(c);
    pithp_string_print(c->t,
                       "        if (to != x)\n            __builtin_memcpy(to, x, %zu);\n"
                       "        for (i64 j0 = 0; j0 < %lld; j0++)\n"
                       "        for (i64 j = 0; j < %lld; j++) {\n",
                       c->result->bytes, (long long)a.outer, (long long)a.count);
    add_index(c, &a);
    pithp_string_print(c->t,
                       "            if (at < 0)\n                continue;\n"
                       "            %s *const row = to + j0 * %lld + at * %lld;\n"
                       "            const %s *const from = updates + (j0 * %lld + j) * "
                       "%lld;\n",
                       type, (long long)a.pitch, (long long)a.inner, type,
                       (long long)a.count, (long long)a.inner);
    pithp_string_print(c->t, "            for (i64 j1 = 0; j1 < %lld; j1++)\n",
                       (long long)a.inner);
    if (combine == PITHP_OP_WHERE)
        pithp_string_add(c->t, "                row[j1] = from[j1];\n        }\n");
    else
        pithp_string_print(c->t,
                           "                row[j1] = op_%s_%s(row[j1], from[j1]);\n"
                           "        }\n",
                           pithp_ops[combine].name, type);
}

/* The first element of a box in its array; e is the number of the box. */
static void add_first(const call_text *c, const pithp_boxes *b) {
    const bool wide = c->call.operands[c->i->operand_count - 1]->dtype == PITH_U64;
    int64_t step = 1;
    pithp_string_print(c->t, "        (void)starts;\n        const i64 first = e * %lld",
                       (long long)b->next);
    for (int d = b->rank - 1; d >= 0; d--) {
        pithp_string_print(
            c->t, " + m_start((i64)starts[e * %d + %d], %lld, %lld, %d) * %lld", b->rank,
            d, (long long)b->whole[d], (long long)b->shape[d], wide, (long long)step);
        step *= b->whole[d];
    }
    pithp_string_add(c->t, ";\n");
}

/* dynamic_slice and dynamic_update_slice */
static void add_box(const call_text *c) {
    const bool updates = c->i->primitive == PITHP_OP_DYNAMIC_UPDATE_SLICE;
    const pithp_boxes b =
        pithp_boxes_of(&c->call, updates ? c->call.operands[1] : c->result);
    int64_t stride[PITHP_MAX_RANK], around[PITHP_MAX_RANK];
    pithp_c_strides(b.rank, b.shape, 1, stride);
    pithp_c_strides(b.rank, b.whole, 1, around);
    add_from(c, "x", 0);
    add_to(c);
    if (updates) {
        add_from(c, "box", 1);
        pithp_string_print(c->t,
                           "        if (to != x)\n"
                           "            __builtin_memcpy(to, x, %zu);\n",
                           c->result->bytes);
    }
    add_from(c, "starts", c->i->operand_count - 1);
    pithp_string_print(c->t, "        for (i64 e = 0; e < %lld; e++) {\n",
                       (long long)b.count);
    add_first(c, &b);
    pithp_inline_loops(c->t, b.rank, b.shape, true);
    pithp_string_add(c->t, updates ? "            to[first + " : "            to[");
    pithp_inline_index(c->t, b.rank, updates ? around : stride);
    if (!updates)
        pithp_string_print(c->t, " + e * %lld", (long long)b.box);
    pithp_string_add(c->t, updates ? "] = box[" : "] = x[first + ");
    pithp_inline_index(c->t, b.rank, updates ? stride : around);
    if (updates)
        pithp_string_print(c->t, " + e * %lld", (long long)b.box);
    pithp_string_add(c->t, "];\n        }\n");
}

/* ---- Data movement ---- */

/* Copy a view of an operand, element by element. */
static void add_view(const call_text *c,
                     int operand,
                     const char *into,
                     const pithp_view *v,
                     const pith_spec *spec,
                     const int64_t *to_stride) {
    add_from(c, "x", operand);
    pithp_inline_loops(c->t, spec->rank, spec->shape, true);
    pithp_string_print(c->t, "            %s[", into);
    pithp_inline_index(c->t, spec->rank, to_stride);
    pithp_string_print(c->t, "] = x[%lld + ", (long long)v->offset);
    pithp_inline_index(c->t, spec->rank, v->stride);
    pithp_string_add(c->t, "];\n");
}

static void whole_strides(const pith_spec *spec, int64_t *stride) {
    pithp_c_strides(spec->rank, spec->shape, 1, stride);
}

static void add_move(const call_text *c) {
    int64_t stride[PITHP_MAX_RANK], inner[PITHP_MAX_RANK];
    pithp_view view = {.base = 0};
    whole_strides(c->x, inner);
    whole_strides(c->result, stride);
    view.offset = pithp_view_strides(c->i->primitive, c->i->params, c->x, inner, 1,
                                     c->result, view.stride);
    add_to(c);
    add_view(c, 0, "to", &view, c->result, stride);
}

static void add_concatenate(const call_text *c) {
    const pithp_concatenate_params *p = c->i->params;
    int64_t stride[PITHP_MAX_RANK], at = 0;
    whole_strides(c->result, stride);
    add_to(c);
    for (int k = 0; k < c->i->operand_count; k++) {
        const pith_spec *operand = c->call.operands[k];
        pithp_view whole = {.base = 0};
        whole_strides(operand, whole.stride);
        if (operand->count > 0) {
            pithp_string_print(c->t, "        {\n        %s *const slice = to + %lld;\n",
                               type_of(c->result), (long long)(at * stride[p->axis]));
            add_view(c, k, "slice", &whole, operand, stride);
            pithp_string_add(c->t, "        }\n");
        }
        at += operand->shape[p->axis];
    }
}

static void add_full(const call_text *c) {
    const pithp_full_params *p = c->i->params;
    add_to(c);
    pithp_inline_loops(c->t, 1, &c->result->count, true);
    pithp_string_add(c->t, "            to[j0] = ");
    add_bits(c->t, p->dtype, p->value);
    pithp_string_add(c->t, ";\n");
}

/* Fill the result, then copy the operand's elements that negative padding does not cut
 * off. */
static void add_pad(const call_text *c) {
    const pithp_pad_params *p = c->i->params;
    const int rank = c->result->rank;
    pithp_view from = {.base = 0}, to = {.base = 0};
    int64_t some[PITHP_MAX_RANK];
    whole_strides(c->x, from.stride);
    whole_strides(c->result, to.stride);
    for (int d = 0; d < rank; d++) {
        const pithp_pad_range kept = pithp_pad_kept(p, d, c->x, c->result);
        some[d] = kept.count;
        from.offset += kept.first * from.stride[d];
        to.offset += kept.to * to.stride[d];
        to.stride[d] *= kept.step;
    }
    add_from(c, "x", 0);
    add_from(c, "fill", 1);
    add_to(c);
    pithp_inline_loops(c->t, 1, &c->result->count, true);
    pithp_string_add(c->t, "            to[j0] = fill[0];\n");
    pithp_inline_loops(c->t, rank, some, true);
    pithp_string_print(c->t, "            to[%lld + ", (long long)to.offset);
    pithp_inline_index(c->t, rank, to.stride);
    pithp_string_print(c->t, "] = x[%lld + ", (long long)from.offset);
    pithp_inline_index(c->t, rank, from.stride);
    pithp_string_add(c->t, "];\n");
}

/* ---- Dispatch ---- */

typedef enum kind {
    NONE,
    REDUCTION,
    TAKE,
    SCATTER,
    BOX,
    MOVE,
    CONCATENATE,
    PAD,
    FULL,
    DOT
} kind;

static kind kind_of(const pithp_instruction *i) {
    if (pithp_op_has(i->primitive, PITHP_TRAIT_REDUCTION))
        return REDUCTION;
    if (pithp_op_has(i->primitive, PITHP_TRAIT_SCATTER))
        return SCATTER;
    if (pithp_op_has(i->primitive, PITHP_TRAIT_STRIDED))
        return MOVE;
    switch ((int)i->primitive) {
        case PITHP_OP_TAKE:
            return TAKE;
        case PITHP_OP_DYNAMIC_SLICE:
        case PITHP_OP_DYNAMIC_UPDATE_SLICE:
            return BOX;
        case PITHP_OP_CONCATENATE:
            return CONCATENATE;
        case PITHP_OP_PAD:
            return PAD;
        case PITHP_OP_DOT_GENERAL:
            return DOT;
        case PITHP_OP_FULL:
            return FULL;
        default:
            return NONE;
    }
}

bool pithp_inline_call_fits(const pithp_plan *plan, const pithp_step *step) {
    const call_text c = call_text_of(NULL, plan, step);
    const kind k = step->kind == PITHP_STEP_KERNEL ? NONE : kind_of(c.i);
    if (k == DOT)
        return pithp_inline_dot_fits(step);
    if (k == NONE || c.i->primitive == PITHP_OP_CHECKED ||
        c.result->count > PITHP_INLINE_ELEMENTS || pithp_call_reports(&c.call))
        return false;
    if (k == REDUCTION) {
        const pithp_reduce_view v = pithp_reduce_view_of(&c.call);
        return !v.moved && c.x->count <= PITHP_INLINE_ELEMENTS && reducer_of(&c) >= 0;
    }
    return k != SCATTER ||
           c.call.operands[c.i->operand_count - 1]->count <= PITHP_INLINE_ELEMENTS;
}

void pithp_inline_call_define(pithp_inlining *x,
                              const pithp_plan *plan,
                              const pithp_step *step) {
    const call_text c = call_text_of(NULL, plan, step);
    const kind k = kind_of(c.i);
    const pithp_primitive combine = pithp_ops[c.i->primitive].combine;
    if (k == DOT)
        pithp_inline_dot_define(x, step);
    else if (k == REDUCTION)
        define_reduction(x, &c);
    else if (k == SCATTER && combine != PITHP_OP_WHERE)
        pithp_emit_op_function(x->t, x->ops, combine, c.x->dtype);
}

void pithp_inline_call(const pithp_frame *f, const pithp_step *step) {
    static void (*const add[])(const call_text *) = {[REDUCTION] = add_reduction,
                                                     [TAKE] = add_take,
                                                     [SCATTER] = add_scatter,
                                                     [BOX] = add_box,
                                                     [MOVE] = add_move,
                                                     [CONCATENATE] = add_concatenate,
                                                     [PAD] = add_pad,
                                                     [FULL] = add_full};
    const call_text c = call_text_of(f, f->plan, step);
    if (c.result->count == 0)
        return;
    if (kind_of(c.i) == DOT) {
        pithp_inline_dot(f, step);
        return;
    }
    pithp_string_add(c.t, "        {\n");
    add[kind_of(c.i)](&c);
    pithp_string_add(c.t, "        }\n");
}
