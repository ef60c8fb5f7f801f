/* CUDA emitter: a fused step as a device kernel; each thread computes the offsets of its
 * elements. */
#include "program/emit/fused.h"
#include "program/op/thresholds.h"
#include "program/source/shell.h"

#include <string.h>

static bool is_strided(const pithp_fused_step *a, const pithp_external *x) {
    return x->access != PITHP_ACCESS_FLAT && x->access != PITHP_ACCESS_PIECES &&
           !pithp_is_uniform(a, x);
}

int pithp_kernel_strided_before(const pithp_fused_step *a, int before) {
    int count = 0;
    for (int e = 0; e < before; e++)
        count += is_strided(a, &a->externals[e]);
    return count;
}

int pithp_kernel_strided_index(const pithp_fused_step *a, int external) {
    return is_strided(a, &a->externals[external])
               ? pithp_kernel_strided_before(a, external)
               : -1;
}

/* ---- Pieces ---- */

static bool is_chosen(const pithp_step_text *x, int e) {
    return x->chooses && x->a->externals[e].access == PITHP_ACCESS_PIECES;
}

/* The ends of a piece that lie inside an axis, as bits: 1 for the begin, 2 for the end.
 */
static int cuts_of(const pithp_fused_step *a, int piece, int axis) {
    const pithp_box *box = &a->boxes[piece];
    return (box->begin[axis] > 0) + 2 * (box->end[axis] < a->shape[axis]);
}

/* "index[0] >= a->piece[1].begin[0] && index[0] < a->piece[1].end[0]" */
static void add_condition(const pithp_step_text *x, int piece) {
    const char *glue = "";
    for (int d = 0; d < x->a->rank; d++) {
        const int cuts = cuts_of(x->a, piece, d);
        if (cuts & 1)
            pithp_string_print(x->t, "%sindex[%d] >= a->piece[%d].begin[%d]", glue, d,
                               piece, d);
        glue = cuts & 1 ? " && " : glue;
        if (cuts & 2)
            pithp_string_print(x->t, "%sindex[%d] < a->piece[%d].end[%d]", glue, d, piece,
                               d);
        glue = cuts & 2 ? " && " : glue;
    }
}

/* Declare p<external>: the piece with the element. The last piece has every index outside
 * the other ones. */
static void add_choice(const pithp_step_text *x, const char *indent, int e) {
    const pithp_external *external = &x->a->externals[e];
    const int last = external->first_piece + external->pieces - 1;
    pithp_string_print(x->t, "%sconst m_piece *const p%d = &a->piece[", indent, e);
    for (int piece = external->first_piece; piece < last; piece++) {
        add_condition(x, piece);
        pithp_string_print(x->t, " ? %d : ", piece);
    }
    pithp_string_print(x->t, "%d];\n", last);
}

static void add_choices(const pithp_step_text *x, const char *indent) {
    pithp_string_print(x->t,
                       "%si64 index[%d];\n"
                       "%sm_index(i, %d, a->shape, index);\n",
                       indent, x->a->rank, indent, x->a->rank);
    for (int e = 0; e < x->a->external_count; e++)
        if (is_chosen(x, e))
            add_choice(x, indent, e);
}

/* Whether two steps select pieces by the same conditions. */
static bool choose_alike(const pithp_fused_step *a, const pithp_fused_step *b) {
    bool alike =
        a->piece_count == b->piece_count && (a->piece_count == 0 || a->rank == b->rank);
    for (int e = 0; alike && e < a->external_count; e++)
        alike = a->externals[e].pieces == b->externals[e].pieces &&
                a->externals[e].first_piece == b->externals[e].first_piece;
    for (int p = 0; alike && p < a->piece_count; p++)
        for (int d = 0; d < a->rank; d++)
            alike &= cuts_of(a, p, d) == cuts_of(b, p, d);
    return alike;
}

bool pithp_kernel_alike(const pithp_kernel_work *a, const pithp_kernel_work *b) {
    return memcmp(&a->reduction, &b->reduction, sizeof a->reduction) == 0 &&
           pithp_fused_alike(a->step, b->step) && choose_alike(a->step, b->step);
}

uint64_t pithp_kernel_hash(const pithp_kernel_work *work) {
    const pithp_fused_step *a = work->step;
    uint64_t hash =
        pithp_hash(pithp_fused_hash(a), &work->reduction, sizeof work->reduction);
    for (int p = 0; p < a->piece_count; p++)
        for (int d = 0; d < a->rank; d++) {
            const int cuts = cuts_of(a, p, d);
            hash = pithp_hash(hash, &cuts, sizeof cuts);
        }
    return hash;
}

/* ---- Text ---- */

static void add_element(const void *closure, int e) {
    const pithp_step_text *x = closure;
    const char *type = pithp_dtype_spelling(x->dtype[e]);
    const int strided = pithp_kernel_strided_index(x->a, e);
    if (is_chosen(x, e)) {
        pithp_string_print(x->t, "((const %s *)p%d->at)[m_within(p%d, %d, index)]", type,
                           e, e, x->a->rank);
        return;
    }
    pithp_string_print(x->t, "((%s *)a->at[%d])", type, e);
    if (pithp_is_uniform(x->a, &x->a->externals[e]))
        pithp_string_add(x->t, "[0]");
    else if (strided < 0)
        pithp_string_add(x->t, "[i]");
    else
        pithp_string_print(x->t, "[offset[%d]]", strided);
}

void pithp_kernel_text_arguments(const pithp_step_text *x, const char *name) {
    const int strided = pithp_kernel_strided_before(x->a, x->a->external_count);
    pithp_string_print(x->t,
                       "typedef struct %s_args {\n    i64 count;\n    i32 rank;\n"
                       "    i64 shape[%d];\n    void *at[%d];\n",
                       name, PITHP_MAX_RANK, x->a->external_count);
    if (strided)
        pithp_string_print(x->t, "    i64 stride[%d][%d];\n", strided, PITHP_MAX_RANK);
    if (x->a->gather_count)
        pithp_string_print(x->t,
                           "    struct {\n        const void *index;\n"
                           "        i64 extent;\n        u64 fill;\n    } gathers[%d];\n",
                           x->a->gather_count);
    if (x->chooses)
        pithp_string_print(x->t, "    m_piece piece[%d];\n", x->a->piece_count);
    pithp_string_print(x->t, "} %s_args;\n", name);
}

static void add_offsets(const pithp_step_text *x, const char *indent) {
    const int strided = pithp_kernel_strided_before(x->a, x->a->external_count);
    if (strided)
        pithp_string_print(x->t,
                           "%si64 offset[%d];\n"
                           "%sm_walk(i, a->rank, a->shape, a->stride, %d, offset);\n",
                           indent, strided, indent, strided);
}

/* Declare what addresses elements: the offsets of strided externals, and the pieces. */
static void add_addressing(const pithp_step_text *x, const char *indent) {
    add_offsets(x, indent);
    if (x->chooses)
        add_choices(x, indent);
}

void pithp_kernel_text_index(const pithp_step_text *x, const char *indent) {
    add_addressing(x, indent);
    pithp_step_text_index(x, indent, &(pithp_elements){add_element, x});
}

void pithp_kernel_text_values(const pithp_step_text *x, const char *indent) {
    add_addressing(x, indent);
    pithp_step_text_values(x, indent, &(pithp_elements){add_element, x});
}

/* Load ahead: whether a thread loads all of its elements before its first store, so that
 * the loads overlap. Otherwise the compiler must assume that a store changes the next
 * load. It does not pay if an element needs many loads, which overlap anyway, or a long
 * computation, which hides them and needs the registers. It is safe because an output
 * that updates an operand in place reads it at its own index only, as threads run in any
 * order. */
static bool loads_ahead(const pithp_step_text *x) {
    int reads = 0;
    bool heavy = x->a->op_count > PITHP_AHEAD_OPS;
    for (int e = 0; e < x->a->external_count; e++)
        reads += x->is_read[e];
    for (int k = 0; k < x->a->op_count; k++)
        heavy |= pithp_op_calls_maths(&x->a->ops[k]);
    return reads <= PITHP_AHEAD_READS && !heavy;
}

static void add_elements_in_turn(const pithp_step_text *x) {
    pithp_string_add(x->t, "    for (i32 k = 0; k < M_EACH; k++) {\n"
                           "        const i64 i = M_ELEMENT(t, k);\n"
                           "        if (i >= a->count)\n"
                           "            break;\n");
    pithp_kernel_text_index(x, "        ");
    pithp_string_add(x->t, "    }\n");
}

/* Load ahead: the results of a thread wait in the arrays made<external>. */
static void add_elements_together(const pithp_step_text *x) {
    bool strided = false;
    for (int e = 0; e < x->a->external_count; e++) {
        if (!pithp_step_text_writes(x, e))
            continue;
        strided |= pithp_kernel_strided_index(x->a, e) >= 0;
        pithp_string_print(x->t, "    %s made%d[M_EACH];\n",
                           pithp_dtype_spelling(x->dtype[e]), e);
    }
    pithp_string_add(x->t, "    M_UNROLL for (i32 k = 0; k < M_EACH; k++) {\n"
                           "        const i64 i = M_ELEMENT_WITHIN(t, k, a->count);\n");
    pithp_kernel_text_values(x, "        ");
    for (int e = 0; e < x->a->external_count; e++) {
        char element[PITHP_ELEMENT_NAME_BYTES];
        pithp_step_text_element(x, e, element);
        if (pithp_step_text_writes(x, e))
            pithp_string_print(x->t, "        made%d[k] = %s;\n", e, element);
    }
    pithp_string_add(x->t, "    }\n"
                           "    M_UNROLL for (i32 k = 0; k < M_EACH; k++) {\n"
                           "        const i64 i = M_ELEMENT(t, k);\n"
                           "        if (i >= a->count)\n"
                           "            break;\n");
    if (strided)
        add_offsets(x, "        ");
    for (int e = 0; e < x->a->external_count; e++)
        if (pithp_step_text_writes(x, e)) {
            pithp_string_add(x->t, "        ");
            add_element(x, e);
            pithp_string_print(x->t, " = made%d[k];\n", e);
        }
    pithp_string_add(x->t, "    }\n");
}

void pithp_emit_kernel(pithp_string *t, const char *name, const pithp_kernel_work *work) {
    pithp_step_text x;
    pithp_step_text_begin(&x, t, work->step);
    x.chooses = work->step->piece_count > 0;
    if (work->reduction.kind != PITHP_REDUCE_KERNEL_NOTHING) {
        pithp_kernel_text_reduction(&x, name, &work->reduction);
        return;
    }
    pithp_kernel_text_arguments(&x, name);
    pithp_string_print(t,
                       "M_KERNEL(%s, %s_args) {\n"
                       "    if (M_ELEMENT(t, 0) >= a->count)\n"
                       "        return;\n",
                       name, name);
    if (loads_ahead(&x))
        add_elements_together(&x);
    else
        add_elements_in_turn(&x);
    pithp_string_add(t, "}\n");
}

/* ---- Arguments ---- */

/* The strides of an external; zero beyond the rank. */
static void copy_strides(int64_t to[PITHP_MAX_RANK],
                         const pithp_fused_step *step,
                         const pithp_external *x) {
    const size_t rank = (size_t)step->rank;
    memcpy(to, x->stride, rank * sizeof *to);
    memset(to + rank, 0, (PITHP_MAX_RANK - rank) * sizeof *to);
}

size_t pithp_kernel_arguments(const pithp_fused_args *from, int64_t count, void *memory) {
    const pithp_fused_step *step = from->step;
    pithp_kernel_args *args = memory;
    char **at = (char **)(void *)(args + 1);
    int64_t(*stride)[PITHP_MAX_RANK] =
        (int64_t(*)[PITHP_MAX_RANK])(void *)(at + step->external_count);
    *args = (pithp_kernel_args){.count = count, .rank = step->rank};
    memcpy(args->shape, step->shape, sizeof args->shape);
    for (int e = 0; e < step->external_count; e++) {
        at[e] = from->data[e];
        if (is_strided(step, &step->externals[e]))
            copy_strides(*stride++, step, &step->externals[e]);
    }
    pithp_fused_gather_from *gather = (pithp_fused_gather_from *)(void *)stride;
    for (int k = 0; k < step->gather_count; k++) {
        gather[k] = step->gathers_from[k];
        gather[k].index = from->gather_index[k];
    }
    return (size_t)((char *)(gather + step->gather_count) - (char *)memory);
}

static pithp_kernel_piece piece_argument(const pithp_fused_args *from, int piece) {
    const pithp_fused_step *step = from->step;
    const pithp_external *x = pithp_piece_of(step, piece);
    const pithp_box *box = &step->boxes[piece];
    pithp_kernel_piece p = {.at = NULL};
    int64_t first = 0;
    copy_strides(p.stride, step, x);
    for (int d = 0; d < step->rank; d++) {
        p.begin[d] = box->begin[d];
        p.end[d] = box->end[d];
        first += box->begin[d] * x->stride[d];
    }
    p.at = from->data[step->external_count + piece] + first * x->size;
    return p;
}

size_t pithp_kernel_launch_bytes(const pithp_fused_step *step) {
    return sizeof(pithp_kernel_args) +
           (size_t)step->external_count * (1 + PITHP_MAX_RANK) * sizeof(int64_t) +
           step->gather_count * sizeof(pithp_fused_gather_from) +
           (size_t)step->piece_count * sizeof(pithp_kernel_piece);
}

void pithp_kernel_launch(pithp_launch *launch,
                         const pithp_fused_args *args,
                         int64_t count,
                         void *memory) {
    const int64_t block = M_BLOCK * M_EACH;
    launch->name = "fused";
    launch->args = memory;
    launch->args_bytes = pithp_kernel_arguments(args, count, memory);
    for (int p = 0; p < args->step->piece_count; p++) {
        const pithp_kernel_piece piece = piece_argument(args, p);
        memcpy((char *)memory + launch->args_bytes, &piece, sizeof piece);
        launch->args_bytes += sizeof piece;
    }
    launch->count = (count / block + (count % block != 0)) * M_BLOCK;
}
