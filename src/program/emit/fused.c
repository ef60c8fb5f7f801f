/* Text of fused steps: loops over elements whose body is the step's instructions.
 *
 * What does not depend on the number of elements is all that the text says, so that a
 * step whose arrays grew has the same text. Literals are read from memory for the same
 * reason. A row that compilers do not vectorise is a loop of its own, or all others would
 * be scalar with it: the step is cut into segments, block by block, and what goes from
 * one to the next lies in a buffer. */
#include "program/emit/fused.h"

#include "program/emit/emit.h"
#include "program/emit/shell.h"

#include <string.h>

enum { SEGMENT_OPS = 24, BLOCK = 512 };

/* ---- dtypes ---- */

const char *pithp_dtype_spelling(pith_dtype dtype) {
    return dtype == PITH_BOOL ? "b8" : pith_dtype_name(dtype);
}

void pithp_dtype_scope(pithp_text *t, const char *indent, pith_dtype dtype) {
    const char *name = pithp_dtype_spelling(dtype);
    pithp_text_print(t, "%stypedef T_%s T;\n%stypedef U_%s U;\n%stypedef V_%s V;\n",
                     indent, name, indent, name, indent, name);
    pithp_text_print(t, "%senum { HALF = HALF_%s };\n", indent, name);
}

/* ---- Rows ---- */

static bool is_where(const pithp_fused_op *op) {
    return !op->cast && op->row == PITHP_OP_WHERE;
}

static int arity_of(const pithp_fused_op *op) {
    return op->cast ? 1 : pithp_rows[op->row].arity;
}

/* Of operand k, as it is stored. */
static pith_dtype operand_dtype(const pithp_fused_op *op, int k) {
    if (op->cast)
        return (pith_dtype)op->row;
    return is_where(op) && k == 0 ? PITH_BOOL : (pith_dtype)op->column;
}

static pith_dtype result_dtype(const pithp_fused_op *op) {
    return !op->cast && pithp_rows[op->row].predicate ? PITH_BOOL
                                                      : (pith_dtype)op->column;
}

static void add_function_name(pithp_text *t, const pithp_fused_op *op) {
    const char *to = pithp_dtype_spelling((pith_dtype)op->column);
    if (op->cast)
        pithp_text_print(t, "cast_%s_%s", pithp_dtype_spelling((pith_dtype)op->row), to);
    else
        pithp_text_print(t, "row_%s_%s", pithp_rows[op->row].name, to);
}

static void add_row(pithp_text *t, const pithp_fused_op *op) {
    const pith_dtype dtype = (pith_dtype)op->column;
    const pithp_row *row = &pithp_rows[op->row];
    const char *name = pithp_dtype_spelling(dtype);
    pithp_text_print(t, "M_FN %s ", row->predicate ? "b8" : name);
    add_function_name(t, op);
    for (int k = 0; k < row->arity; k++)
        pithp_text_print(t, "%s%s %c", k ? ", " : "(",
                         pithp_dtype_spelling(operand_dtype(op, k)),
                         (is_where(op) ? 'a' : 'x') + k);
    if (is_where(op)) { /* moves bits */
        pithp_text_print(t, ") {\n    return %s;\n}\n", row->real);
        return;
    }
    pithp_text_add(t, ") {\n");
    pithp_dtype_scope(t, "    ", dtype);
    for (int k = 0; k < row->arity; k++)
        pithp_text_print(t, "    const T %c = LOAD_%s(%c);\n", 'a' + k, name, 'x' + k);
    pithp_text_print(t, row->predicate ? "    return (b8)%s(" : "    return STORE_%s((",
                     row->predicate ? "" : name);
    pithp_text_add(t, pith_dtype_is_float(dtype) ? row->real : row->integer);
    pithp_text_add(t, row->predicate ? ");\n}\n" : "));\n}\n");
}

static void add_cast(pithp_text *t, const pithp_fused_op *op) {
    const char *from = pithp_dtype_spelling((pith_dtype)op->row),
               *to = pithp_dtype_spelling((pith_dtype)op->column);
    pithp_text_print(t,
                     "M_FN %s cast_%s_%s(%s x) {\n    return m_to_%s(LOAD_%s(x));\n}\n",
                     to, from, to, from, to, from);
}

/* Whether a row's expression calls a function of math.def. */
static bool calls_maths(const pithp_fused_op *op) {
    if (op->cast || !pith_dtype_is_float((pith_dtype)op->column))
        return false;
    return op->row >= PITHP_OP_CBRT || op->row == PITHP_OP_POWER;
}

static void
add_function(pithp_text *t, pithp_emitted_rows *emitted, const pithp_fused_op *op) {
    uint16_t *bits = op->cast ? &emitted->casts[op->row] : &emitted->rows[op->row];
    const uint16_t bit = (uint16_t)(1u << op->column);
    emitted->maths |= calls_maths(op);
    if (*bits & bit)
        return;
    *bits |= bit;
    if (op->cast)
        add_cast(t, op);
    else
        add_row(t, op);
}

void pithp_emit_row_functions(pithp_text *t,
                              pithp_emitted_rows *emitted,
                              const pithp_fused_args *step) {
    for (int k = 0; k < step->op_count; k++)
        add_function(t, emitted, &step->ops[k]);
}

void pithp_emit_row(pithp_text *t,
                    pithp_emitted_rows *emitted,
                    pithp_primitive row,
                    pith_dtype dtype) {
    add_function(t, emitted,
                 &(pithp_fused_op){.row = (uint16_t)row, .column = (uint8_t)dtype});
}

/* ---- Steps ---- */

bool pithp_is_uniform(const pithp_fused_args *step, const pithp_external *e) {
    bool uniform = e->access == PITHP_ACCESS_ONCE;
    for (int d = 0; d < step->rank; d++)
        uniform &= e->stride[d] == 0;
    return uniform;
}

bool pithp_is_one_a_row(const pithp_fused_args *step, const pithp_external *e) {
    return step->by_rows && e->access == PITHP_ACCESS_STRIDED &&
           e->stride[step->rank - 1] == 0;
}

/* One element for all that a call on the host gets. */
static bool is_one(const pithp_step_text *x, int e) {
    const pithp_external *external = &x->a->externals[e];
    return pithp_is_uniform(x->a, external) || pithp_is_one_a_row(x->a, external);
}

bool pithp_is_direct(const pithp_fused_args *step) {
    bool direct = true;
    for (int e = 0; e < step->external_count; e++)
        direct &= step->externals[e].access == PITHP_ACCESS_FLAT ||
                  pithp_is_uniform(step, &step->externals[e]);
    return direct;
}

/* The number of the external in a slot; negative: a temporary. */
static int external_of(const pithp_step_text *x, uint8_t slot) {
    return slot - (int)x->a->temporary_count;
}

/* Rows that gcc leaves scalar. */
static bool is_scalar(const pithp_fused_op *op) {
    if (op->cast)
        return false;
    const bool real = pith_dtype_is_float((pith_dtype)op->column);
    switch ((int)op->row) {
        case PITHP_OP_FLOOR_DIVIDE:
        case PITHP_OP_REMAINDER:
        case PITHP_OP_FMOD:
            return true;
        case PITHP_OP_DIV:
        case PITHP_OP_POWER:
            return !real;
        default:
            return false;
    }
}

/* Who reads what, and where segments end. */
void pithp_step_text_begin(pithp_step_text *x, pithp_text *t, const pithp_fused_args *a) {
    memset(x, 0, sizeof *x);
    memset(x->writer, -1, sizeof x->writer);
    x->t = t;
    x->a = a;
    int length = 0;
    for (int k = 0; k < a->op_count; k++) {
        const pithp_fused_op *op = &a->ops[k];
        const bool alone = is_scalar(op);
        const bool ends = k > 0 && (alone || is_scalar(op - 1) || length == SEGMENT_OPS);
        length = ends ? 1 : length + 1;
        x->segment[k] = (uint8_t)(k ? x->segment[k - 1] + ends : 0);
        for (int o = 0; o < arity_of(op); o++) {
            const int16_t from = x->writer[op->from[o]];
            x->operands[k][o] = from;
            if (from >= 0) {
                x->crosses[from] |= x->segment[from] != x->segment[k];
            } else {
                x->dtype[external_of(x, op->from[o])] = operand_dtype(op, o);
                x->is_read[external_of(x, op->from[o])] = true;
            }
        }
        x->writer[op->to] = (int16_t)k;
        if (external_of(x, op->to) >= 0)
            x->dtype[external_of(x, op->to)] = result_dtype(op);
    }
    x->segments = (uint8_t)(a->op_count ? x->segment[a->op_count - 1] + 1 : 0);
}

static void add_pointers(const pithp_step_text *x) {
    for (int e = 0; e < x->a->external_count; e++) {
        const char *type = pithp_dtype_spelling(x->dtype[e]);
        if (is_one(x, e))
            pithp_text_print(x->t, "    const %s x%d = *(const %s *)at[%d];\n", type, e,
                             type, e);
        else
            pithp_text_print(x->t, "    %s *const e%d = (%s *)at[%d];\n", type, e, type,
                             e);
    }
    for (int k = 0; k < x->a->op_count; k++)
        if (x->crosses[k])
            pithp_text_print(x->t, "    %s b%d[%d];\n",
                             pithp_dtype_spelling(result_dtype(&x->a->ops[k])), k, BLOCK);
}

/* What a segment reads, once each: memory first, then what others left. */
static void add_loads(const pithp_step_text *x, int segment) {
    bool loaded[PITHP_FUSED_EXTERNALS] = {false}, passed[PITHP_FUSED_OPS] = {false};
    for (int k = 0; k < x->a->op_count; k++) {
        const pithp_fused_op *op = &x->a->ops[k];
        for (int o = 0; x->segment[k] == segment && o < arity_of(op); o++) {
            const int from = x->operands[k][o], e = external_of(x, op->from[o]);
            if (from < 0 && !loaded[e] && !is_one(x, e)) {
                loaded[e] = true;
                pithp_text_print(x->t, "        const %s x%d = e%d[i];\n",
                                 pithp_dtype_spelling(x->dtype[e]), e, e);
            } else if (from >= 0 && x->segment[from] != segment && !passed[from]) {
                passed[from] = true;
                pithp_text_print(x->t, "        const %s v%d = b%d[i - from];\n",
                                 pithp_dtype_spelling(result_dtype(&x->a->ops[from])),
                                 from, from);
            }
        }
    }
}

static void add_op(const pithp_step_text *x, int k) {
    const pithp_fused_op *op = &x->a->ops[k];
    pithp_text_print(x->t, "const %s v%d = ", pithp_dtype_spelling(result_dtype(op)), k);
    add_function_name(x->t, op);
    for (int o = 0; o < arity_of(op); o++) {
        const int from = x->operands[k][o];
        pithp_text_print(x->t, "%s%c%d", o ? ", " : "(", from < 0 ? 'x' : 'v',
                         from < 0 ? external_of(x, op->from[o]) : from);
    }
    pithp_text_add(x->t, ");\n");
}

/* The stores come last, since memory may be written in place. */
static void add_stores(const pithp_step_text *x, int segment) {
    for (int k = 0; k < x->a->op_count; k++) {
        const int e = external_of(x, x->a->ops[k].to);
        if (x->segment[k] != segment)
            continue;
        if (e >= 0)
            pithp_text_print(x->t, "        e%d[i] = v%d;\n", e, k);
        if (x->crosses[k])
            pithp_text_print(x->t, "        b%d[i - from] = v%d;\n", k, k);
    }
}

static void add_segment(const pithp_step_text *x, int segment) {
    pithp_text_add(x->t, "    M_LOOP\n    for (i64 i = from; i < to; i++) {\n");
    add_loads(x, segment);
    for (int k = 0; k < x->a->op_count; k++)
        if (x->segment[k] == segment) {
            pithp_text_add(x->t, "        ");
            add_op(x, k);
        }
    add_stores(x, segment);
    pithp_text_add(x->t, "    }\n");
}

void pithp_emit_fused(pithp_text *t, const pithp_fused_args *step) {
    pithp_step_text x;
    pithp_step_text_begin(&x, t, step);
    pithp_text_add(t, "(const void *args, i64 begin, i64 end) {\n"
                      "    char *const *const at = (char *const *)args;\n");
    add_pointers(&x);
    if (x.segments == 1)
        pithp_text_add(t, "    const i64 from = begin, to = end;\n");
    else
        pithp_text_print(t,
                         "    for (i64 from = begin; from < end; from += %d) {\n"
                         "    const i64 to = end - from < %d ? end : from + %d;\n",
                         BLOCK, BLOCK, BLOCK);
    for (int segment = 0; segment < x.segments; segment++)
        add_segment(&x, segment);
    pithp_text_add(t, x.segments == 1 ? "}\n" : "    }\n}\n");
}

void pithp_step_text_index(const pithp_step_text *x,
                           const char *indent,
                           void (*element)(const void *closure, int external),
                           const void *closure) {
    for (int e = 0; e < x->a->external_count; e++)
        if (x->is_read[e]) {
            pithp_text_print(x->t, "%sconst %s x%d = ", indent,
                             pithp_dtype_spelling(x->dtype[e]), e);
            element(closure, e);
            pithp_text_add(x->t, ";\n");
        }
    for (int k = 0; k < x->a->op_count; k++) {
        pithp_text_add(x->t, indent);
        add_op(x, k);
    }
    for (int k = 0; k < x->a->op_count; k++)
        if (external_of(x, x->a->ops[k].to) >= 0) {
            pithp_text_add(x->t, indent);
            element(closure, external_of(x, x->a->ops[k].to));
            pithp_text_print(x->t, " = v%d;\n", k);
        }
}

/* ---- Kernels ---- */

/* Its number among those that have strides, or -1: it is one element, or lies flat. */
static int walk_of(const pithp_fused_args *a, int external) {
    int count = 0;
    for (int e = 0; e < external; e++)
        count += a->externals[e].access != PITHP_ACCESS_FLAT &&
                 !pithp_is_uniform(a, &a->externals[e]);
    const pithp_external *own = &a->externals[external];
    return external == a->external_count      ? count
           : own->access == PITHP_ACCESS_FLAT ? -1
           : pithp_is_uniform(a, own)         ? -1
                                              : count;
}

static int walks_of(const pithp_fused_args *a) {
    return walk_of(a, a->external_count);
}

static void add_element(const void *closure, int e) {
    const pithp_step_text *x = closure;
    const char *type = pithp_dtype_spelling(x->dtype[e]);
    const int walk = walk_of(x->a, e);
    pithp_text_print(x->t, "((%s *)a->at[%d])", type, e);
    if (pithp_is_uniform(x->a, &x->a->externals[e]))
        pithp_text_add(x->t, "[0]");
    else if (walk < 0)
        pithp_text_add(x->t, "[i]");
    else
        pithp_text_print(x->t, "[place[%d]]", walk);
}

static void add_arguments(const pithp_step_text *x, const char *name) {
    const int walks = walks_of(x->a);
    pithp_text_print(x->t,
                     "typedef struct %s_args {\n    i64 count;\n    i32 rank;\n"
                     "    i64 shape[8];\n    void *at[%d];\n",
                     name, x->a->external_count);
    if (walks)
        pithp_text_print(x->t, "    i64 stride[%d][8];\n", walks);
    pithp_text_print(x->t, "} %s_args;\n", name);
}

void pithp_emit_kernel(pithp_text *t, const char *name, const pithp_fused_args *step) {
    pithp_step_text x;
    pithp_step_text_begin(&x, t, step);
    const int walks = walks_of(step);
    add_arguments(&x, name);
    pithp_text_print(t,
                     "M_KERNEL(%s, %s_args) {\n"
                     "    for (i32 k = 0; k < M_EACH; k++) {\n"
                     "        const i64 i = M_ELEMENT(t, k);\n"
                     "        if (i >= a->count)\n"
                     "            break;\n",
                     name, name);
    if (walks)
        pithp_text_print(t,
                         "        i64 place[%d];\n"
                         "        m_walk(i, a->rank, a->shape, a->stride, %d, place);\n",
                         walks, walks);
    pithp_step_text_index(&x, "        ", add_element, &x);
    pithp_text_add(t, "    }\n}\n");
}

void pithp_kernel_launch(pithp_launch *launch,
                         const pithp_fused_args *step,
                         int64_t count,
                         void *memory) {
    pithp_kernel_args *args = memory;
    char **at = (char **)(void *)(args + 1);
    int64_t(*stride)[PITH_MAX_RANK] =
        (int64_t(*)[PITH_MAX_RANK])(void *)(at + step->external_count);
    *args = (pithp_kernel_args){.count = count, .rank = step->rank};
    memcpy(args->shape, step->shape, sizeof args->shape);
    for (int e = 0; e < step->external_count; e++) {
        const int walk = walk_of(step, e);
        at[e] = step->externals[e].data;
        if (walk >= 0)
            memcpy(stride[walk], step->externals[e].stride, sizeof stride[walk]);
    }
    const int64_t block = M_BLOCK * M_EACH;
    launch->name = "fused";
    launch->args = memory;
    launch->args_bytes = (size_t)((char *)(stride + walks_of(step)) - (char *)memory);
    launch->count = (count / block + (count % block != 0)) * M_BLOCK;
}
