/* C emitter of fused steps: loops over elements whose body is the step's instructions.
 *
 * The text does not depend on the number of elements, so that a step keeps its text when
 * its arrays grow. Literals are loaded from memory for the same reason.
 *
 * Loop distribution: an operation that compilers do not vectorise gets its own loop,
 * because it would make the whole loop scalar. The step is cut into segments, which run
 * block by block; values between segments are stored in buffers. */
#include "program/emit/fused.h"

#include "program/op/thresholds.h"

#include <stdio.h>
#include <string.h>

#define INDENT "            "

/* ---- Operations ---- */

static bool is_where(const pithp_fused_op *op) {
    return !op->cast && op->operation == PITHP_OP_WHERE;
}

static int arity_of(const pithp_fused_op *op) {
    return op->cast ? 1 : pithp_ops[op->operation].arity;
}

/* Storage dtype of operand k. */
static pith_dtype operand_dtype(const pithp_fused_op *op, int k) {
    if (op->cast)
        return (pith_dtype)op->operation;
    return is_where(op) && k == 0 ? PITH_BOOL : (pith_dtype)op->dtype;
}

static pith_dtype result_dtype(const pithp_fused_op *op) {
    return !op->cast && pithp_ops[op->operation].predicate ? PITH_BOOL
                                                           : (pith_dtype)op->dtype;
}

static void add_function_name(pithp_string *t, const pithp_fused_op *op) {
    const char *to = pithp_dtype_spelling((pith_dtype)op->dtype);
    if (op->cast)
        pithp_string_print(t, "cast_%s_%s",
                           pithp_dtype_spelling((pith_dtype)op->operation), to);
    else
        pithp_string_print(t, "op_%s_%s", pithp_ops[op->operation].name, to);
}

static void add_operation(pithp_string *t, const pithp_fused_op *op) {
    const pith_dtype dtype = (pith_dtype)op->dtype;
    const pithp_op_info *info = &pithp_ops[op->operation];
    const char *name = pithp_dtype_spelling(dtype);
    pithp_string_print(t, "M_FN %s ", info->predicate ? "b8" : name);
    add_function_name(t, op);
    for (int k = 0; k < info->arity; k++)
        pithp_string_print(t, "%s%s %c", k ? ", " : "(",
                           pithp_dtype_spelling(operand_dtype(op, k)),
                           (is_where(op) ? 'a' : 'x') + k);
    if (is_where(op)) { /* copies bits */
        pithp_string_print(t, ") {\n    return %s;\n}\n", info->real);
        return;
    }
    pithp_string_add(t, ") {\n");
    pithp_dtype_scope(t, "    ", dtype);
    for (int k = 0; k < info->arity; k++)
        pithp_string_print(t, "    const T %c = LOAD_%s(%c);\n", 'a' + k, name, 'x' + k);
    pithp_string_print(t,
                       info->predicate ? "    return (b8)%s(" : "    return STORE_%s((",
                       info->predicate ? "" : name);
    pithp_string_add(t, pith_dtype_is_float(dtype) ? info->real : info->integer);
    pithp_string_add(t, info->predicate ? ");\n}\n" : "));\n}\n");
}

static void add_cast(pithp_string *t, const pithp_fused_op *op) {
    const char *from = pithp_dtype_spelling((pith_dtype)op->operation),
               *to = pithp_dtype_spelling((pith_dtype)op->dtype);
    pithp_string_print(t,
                       "M_FN %s cast_%s_%s(%s x) {\n    return m_to_%s(LOAD_%s(x));\n}\n",
                       to, from, to, from, to, from);
}

bool pithp_op_calls_maths(const pithp_fused_op *op) {
    if (op->cast || !pith_dtype_is_float((pith_dtype)op->dtype))
        return false;
    return pithp_op_has((pithp_primitive)op->operation, PITHP_TRAIT_MATHS);
}

/* ---- Operations as macros, which have no lines of their own ---- */

static void macro_operand(pithp_string *t, const pithp_fused_op *op, int k) {
    pithp_string_print(
        t, "const %s m_%c = (%c); ",
        pithp_dtype_spelling(op->cast ? (pith_dtype)op->operation : operand_dtype(op, k)),
        'x' + k, 'X' + k);
}

/* Emit the declarations of a dtype's scope on the line of the macro. */
static void macro_scope(pithp_string *t, pith_dtype dtype) {
    pithp_string scope;
    pithp_string_begin(&scope, t->rt);
    pithp_dtype_scope(&scope, "", dtype);
    for (const char *at = scope.bytes; *at; at++)
        pithp_string_add_n(t, *at == '\n' ? " " : at, 1);
    t->failed |= scope.failed;
    pithp_string_end(&scope);
}

static void macro_operation(pithp_string *t, const pithp_fused_op *op) {
    const pith_dtype dtype = (pith_dtype)op->dtype;
    const pithp_op_info *info = &pithp_ops[op->operation];
    const char *name = pithp_dtype_spelling(dtype);
    for (int k = 0; k < info->arity; k++)
        macro_operand(t, op, k);
    if (!is_where(op))
        macro_scope(t, dtype);
    for (int k = 0; k < info->arity; k++)
        if (is_where(op))
            pithp_string_print(t, "const %s %c = m_%c; ",
                               pithp_dtype_spelling(operand_dtype(op, k)), 'a' + k,
                               'x' + k);
        else
            pithp_string_print(t, "const T %c = LOAD_%s(m_%c); ", 'a' + k, name, 'x' + k);
    if (is_where(op))
        pithp_string_add(t, info->real);
    else
        pithp_string_print(t, info->predicate ? "(b8)(%s%s)" : "STORE_%s((%s))",
                           info->predicate ? "" : name,
                           pith_dtype_is_float(dtype) ? info->real : info->integer);
}

static void add_macro(pithp_string *t, const pithp_fused_op *op) {
    static const char *const parameters[] = {"()", "(X)", "(X, Y)", "(X, Y, Z)"};
    pithp_string_add(t, "#define ");
    add_function_name(t, op);
    pithp_string_print(t, "%s ({ ",
                       parameters[op->cast ? 1 : pithp_ops[op->operation].arity]);
    if (op->cast) {
        macro_operand(t, op, 0);
        pithp_string_print(t, "m_to_%s(LOAD_%s(m_x))",
                           pithp_dtype_spelling((pith_dtype)op->dtype),
                           pithp_dtype_spelling((pith_dtype)op->operation));
    } else {
        macro_operation(t, op);
    }
    pithp_string_add(t, "; })\n");
}

static void
add_function(pithp_string *t, pithp_emitted_ops *emitted, const pithp_fused_op *op) {
    uint16_t *bits =
        op->cast ? &emitted->casts[op->operation] : &emitted->ops[op->operation];
    const uint16_t bit = (uint16_t)(1u << op->dtype);
    emitted->maths |= pithp_op_calls_maths(op);
    if (*bits & bit)
        return;
    *bits |= bit;
    if (emitted->as_macros)
        add_macro(t, op);
    else if (op->cast)
        add_cast(t, op);
    else
        add_operation(t, op);
}

void pithp_emit_op_functions(pithp_string *t,
                             pithp_emitted_ops *emitted,
                             const pithp_fused_step *step) {
    for (int k = 0; k < step->op_count; k++)
        add_function(t, emitted, &step->ops[k]);
}

void pithp_emit_op_function(pithp_string *t,
                            pithp_emitted_ops *emitted,
                            pithp_primitive operation,
                            pith_dtype dtype) {
    add_function(
        t, emitted,
        &(pithp_fused_op){.operation = (uint16_t)operation, .dtype = (uint8_t)dtype});
}

/* ---- Steps ---- */

/* The external of a slot; negative: a temporary. */
static int external_of(const pithp_step_text *x, int slot) {
    return slot - x->a->temporary_count;
}

/* Whether gcc does not vectorise an operation. */
static bool is_scalar(const pithp_fused_op *op) {
    const bool real = pith_dtype_is_float((pith_dtype)op->dtype);
    return !op->cast &&
           pithp_op_has((pithp_primitive)op->operation,
                        real ? PITHP_TRAIT_SCALAR_REAL : PITHP_TRAIT_SCALAR_INTEGER);
}

/* Clear the analysis: no op reads or writes. */
static void clear(pithp_step_text *x, pithp_string *t, const pithp_fused_step *a) {
    const size_t ops = (size_t)a->op_count, externals = (size_t)a->external_count;
    x->t = t;
    x->a = a;
    x->multiplies = x->chooses = false;
    memset(x->writer, -1, ((size_t)a->temporary_count + externals) * sizeof *x->writer);
    memset(x->operands, 0, ops * sizeof *x->operands);
    memset(x->crosses, 0, ops * sizeof *x->crosses);
    memset(x->is_read, 0, externals * sizeof *x->is_read);
    memset(x->reader, 0, externals * sizeof *x->reader);
    memset(x->is_hoisted, 0, externals * sizeof *x->is_hoisted);
    memset(x->dtype, 0, externals * sizeof *x->dtype);
}

/* Elements at a time: values between segments must fit into the cache, so blocks are
 * short if there are many of them. */
static int32_t block_of(const pithp_step_text *x) {
    int32_t kept = 0;
    for (int k = 0; k < x->a->op_count; k++)
        kept += x->crosses[k];
    if (kept <= PITHP_SEGMENT_KEPT)
        return PITHP_SEGMENT_BLOCK;
    const int32_t fits = PITHP_SEGMENT_BLOCK * PITHP_SEGMENT_KEPT / kept;
    return fits < PITHP_FUSED_LEAST_BLOCK
               ? PITHP_FUSED_LEAST_BLOCK
               : fits / PITHP_FUSED_LEAST_BLOCK * PITHP_FUSED_LEAST_BLOCK;
}

/* The share of an op in the work of a segment. */
static int work_of(const pithp_fused_op *op) {
    const bool is_half = pith_dtype_is_float((pith_dtype)op->dtype) &&
                         pith_dtype_size((pith_dtype)op->dtype) == 2;
    return is_half || pithp_op_calls_maths(op) ? PITHP_SEGMENT_CALL : 1;
}

/* Record that op k reads its operand o. */
static void note_read(pithp_step_text *x, int k, int o) {
    const pithp_fused_op *op = &x->a->ops[k];
    const int16_t from = x->writer[op->from[o]];
    const int e = external_of(x, op->from[o]);
    x->operands[k][o] = from;
    if (from >= 0) {
        x->crosses[from] |= x->segment[from] != x->segment[k];
        return;
    }
    x->dtype[e] = (uint8_t)operand_dtype(op, o);
    if (!x->is_read[e])
        x->reader[e] = (int16_t)k;
    x->is_read[e] = true;
}

/* Analyse a step: definitions, uses and segments. */
void pithp_step_text_begin(pithp_step_text *x,
                           pithp_string *t,
                           const pithp_fused_step *a) {
    int work = 0;
    clear(x, t, a);
    for (int k = 0; k < a->op_count; k++) {
        const pithp_fused_op *op = &a->ops[k];
        const bool alone = is_scalar(op);
        const bool ends = k > 0 && (alone || is_scalar(op - 1) ||
                                    work + work_of(op) > PITHP_SEGMENT_WORK);
        work = (ends ? 0 : work) + work_of(op);
        x->segment[k] = (int16_t)(k ? x->segment[k - 1] + ends : 0);
        for (int o = 0; o < arity_of(op); o++)
            note_read(x, k, o);
        x->writer[op->to] = (int16_t)k;
        if (external_of(x, op->to) >= 0)
            x->dtype[external_of(x, op->to)] = (uint8_t)result_dtype(op);
    }
    x->segments = a->op_count ? x->segment[a->op_count - 1] + 1 : 0;
    x->block = block_of(x);
}

/* Attribute the next statements to the call site of an op. A step that only loads the
 * operand of a reduction has no op. */
static void begin_op(const pithp_step_text *x, int op) {
    const bool is_known = x->a->sites && op < x->a->op_count;
    pithp_line_begin(x->t, is_known ? x->a->sites[op] : NULL);
}
static void end_op(const pithp_step_text *x) {
    if (x->a->sites)
        pithp_line_end(x->t);
}

/* Load an external for an op, which provides the line. */
static void add_load(const pithp_step_text *x,
                     const char *indent,
                     int e,
                     int op,
                     const pithp_elements *m) {
    begin_op(x, op);
    pithp_string_print(x->t, "%sconst %s x%d = ", indent,
                       pithp_dtype_spelling(x->dtype[e]), e);
    m->add(m->closure, e);
    pithp_string_add(x->t, ";\n");
    end_op(x);
}

static void add_store(const pithp_step_text *x,
                      const char *indent,
                      int e,
                      int op,
                      const pithp_elements *m) {
    begin_op(x, op);
    pithp_string_add(x->t, indent);
    m->add(m->closure, e);
    pithp_string_print(x->t, " = v%d;\n", op);
    end_op(x);
}

/* Load the operands of a segment, once each, from memory or from a buffer of an earlier
 * segment. */
static void
add_loads(const pithp_step_text *x, int segment, const pithp_elements *memory) {
    bool loaded[PITHP_FUSED_EXTERNALS], buffered[PITHP_FUSED_OPS];
    memset(loaded, false, (size_t)x->a->external_count);
    memset(buffered, false, (size_t)x->a->op_count);
    for (int k = 0; k < x->a->op_count; k++) {
        const pithp_fused_op *op = &x->a->ops[k];
        for (int o = 0; x->segment[k] == segment && o < arity_of(op); o++) {
            const int from = x->operands[k][o], e = external_of(x, op->from[o]);
            if (from < 0 && !loaded[e] && !x->is_hoisted[e]) {
                loaded[e] = true;
                add_load(x, INDENT, e, k, memory);
            } else if (from >= 0 && x->segment[from] != segment && !buffered[from]) {
                buffered[from] = true;
                pithp_string_print(x->t, INDENT "const %s v%d = kept%d[i - from];\n",
                                   pithp_dtype_spelling(result_dtype(&x->a->ops[from])),
                                   from, from);
            }
        }
    }
}

/* Whether an op divides a loaded operand by a uniform one. */
static bool divides(const pithp_step_text *x, int k) {
    const pithp_fused_op *op = &x->a->ops[k];
    if (op->cast || op->operation != PITHP_OP_DIV || x->operands[k][0] >= 0 ||
        x->operands[k][1] >= 0)
        return false;
    return (op->dtype == PITH_F32 || op->dtype == PITH_F64) &&
           !x->is_hoisted[external_of(x, op->from[0])] &&
           x->is_hoisted[external_of(x, op->from[1])];
}

static void add_op(const pithp_step_text *x, const char *indent, int k) {
    const pithp_fused_op *op = &x->a->ops[k];
    const bool inverse = x->multiplies && divides(x, k);
    begin_op(x, k);
    pithp_string_add(x->t, indent);
    pithp_string_print(x->t, "const %s v%d = ", pithp_dtype_spelling(result_dtype(op)),
                       k);
    if (inverse)
        pithp_string_print(x->t, "m_divided_%s",
                           pithp_dtype_spelling((pith_dtype)op->dtype));
    else
        add_function_name(x->t, op);
    for (int o = 0; o < arity_of(op); o++) {
        const int from = x->operands[k][o];
        pithp_string_print(x->t, "%s%c%d", o ? ", " : "(", from < 0 ? 'x' : 'v',
                           from < 0 ? external_of(x, op->from[o]) : from);
    }
    if (inverse)
        pithp_string_print(x->t, ", inverse%d", k);
    pithp_string_add(x->t, ");\n");
    end_op(x);
}

/* Stores come last, because an output may share memory with an operand. */
static void
add_stores(const pithp_step_text *x, int segment, const pithp_elements *memory) {
    for (int k = 0; k < x->a->op_count; k++) {
        const int e = external_of(x, x->a->ops[k].to);
        if (x->segment[k] != segment)
            continue;
        if (e >= 0)
            add_store(x, INDENT, e, k, memory);
        if (x->crosses[k])
            pithp_string_print(x->t, INDENT "kept%d[i - from] = v%d;\n", k, k);
    }
}

static void
add_segment(const pithp_step_text *x, int segment, const pithp_elements *memory) {
    pithp_string_add(x->t, "        M_LOOP\n        for (i64 i = from; i < to; i++) {\n");
    add_loads(x, segment, memory);
    for (int k = 0; k < x->a->op_count; k++)
        if (x->segment[k] == segment)
            add_op(x, INDENT, k);
    add_stores(x, segment, memory);
    pithp_string_add(x->t, "        }\n");
}

static void begin_blocks(const pithp_step_text *x, const char *begin, const char *end) {
    pithp_string_print(x->t,
                       "        for (i64 from = %s; from < %s; from += %d) {\n"
                       "        const i64 to = %s - from < %d ? %s : from + %d;\n",
                       begin, end, x->block, end, x->block, end, x->block);
}

/* ---- Division by an invariant: multiplication by the inverse (source/divide.h) ---- */

static bool divides_by_one(const pithp_step_text *x) {
    bool any = false;
    for (int k = 0; k < x->a->op_count; k++)
        any |= divides(x, k);
    return any && x->segments == 1;
}

/* Declare the inverses, and `fit`: all divisors are in the range in which inverses give
 * exact quotients. */
static void add_inverses(const pithp_step_text *x) {
    pithp_string_add(x->t, "        b8 fit = 1;\n");
    for (int k = 0; k < x->a->op_count; k++) {
        const pithp_fused_op *op = &x->a->ops[k];
        const char *type = pithp_dtype_spelling((pith_dtype)op->dtype);
        const int by = external_of(x, op->from[1]);
        if (divides(x, k))
            pithp_string_print(x->t,
                               "        const %s inverse%d = 1 / x%d;\n"
                               "        fit &= m_divides_%s(x%d);\n",
                               type, k, by, type, by);
    }
}

static void add_look(const pithp_step_text *x, int k, const pithp_elements *memory) {
    const pithp_fused_op *op = &x->a->ops[k];
    const char *type = pithp_dtype_spelling((pith_dtype)op->dtype);
    pithp_string_print(x->t,
                       "        if (!beyond) {\n"
                       "        %s any = 0;\n"
                       "#pragma omp simd reduction(| : any)\n"
                       "        for (i64 i = from; i < to; i++)\n"
                       "            any |= m_beyond_%s(",
                       op->dtype == PITH_F32 ? "u32" : "u64", type);
    memory->add(memory->closure, external_of(x, op->from[0]));
    pithp_string_add(x->t, ");\n        beyond = any != 0;\n        }\n");
}

/* Run each block with the inverses if they are exact for its elements ("beyond" is 0), or
 * with divisions. */
static void add_dividing(const pithp_step_text *x,
                         const char *begin,
                         const char *end,
                         const pithp_elements *memory) {
    pithp_step_text quick = *x;
    quick.multiplies = true;
    add_inverses(x);
    begin_blocks(x, begin, end);
    pithp_string_add(x->t, "        b8 beyond = !fit;\n");
    for (int k = 0; k < x->a->op_count; k++)
        if (divides(x, k))
            add_look(x, k, memory);
    pithp_string_add(x->t, "        if (!beyond) {\n");
    add_segment(&quick, 0, memory);
    pithp_string_add(x->t, "        } else {\n");
    add_segment(x, 0, memory);
    pithp_string_add(x->t, "        }\n        }\n");
}

bool pithp_step_text_is_plain(const pithp_step_text *x) {
    return x->segments == 1 && !divides_by_one(x);
}

void pithp_step_text_loops(const pithp_step_text *x,
                           const char *begin,
                           const char *end,
                           const pithp_elements *memory) {
    if (divides_by_one(x)) {
        add_dividing(x, begin, end, memory);
        return;
    }
    for (int k = 0; k < x->a->op_count; k++)
        if (x->crosses[k])
            pithp_string_print(x->t, "        %s kept%d[%d];\n",
                               pithp_dtype_spelling(result_dtype(&x->a->ops[k])), k,
                               x->block);
    if (x->segments == 1)
        pithp_string_print(x->t, "        const i64 from = %s, to = %s;\n", begin, end);
    else
        begin_blocks(x, begin, end);
    for (int segment = 0; segment < x->segments; segment++)
        add_segment(x, segment, memory);
    pithp_string_add(x->t, x->segments == 1 ? "" : "        }\n");
}

void pithp_step_text_values(const pithp_step_text *x,
                            const char *indent,
                            const pithp_elements *memory) {
    for (int e = 0; e < x->a->external_count; e++)
        if (x->is_read[e] && !x->is_hoisted[e])
            add_load(x, indent, e, x->reader[e], memory);
    for (int k = 0; k < x->a->op_count; k++)
        add_op(x, indent, k);
}

void pithp_step_text_stores(const pithp_step_text *x,
                            const char *indent,
                            const pithp_elements *memory,
                            const bool *except) {
    for (int k = 0; k < x->a->op_count; k++) {
        const int e = external_of(x, x->a->ops[k].to);
        if (e >= 0 && !(except && except[e]))
            add_store(x, indent, e, k, memory);
    }
}
void pithp_step_text_index(const pithp_step_text *x,
                           const char *indent,
                           const pithp_elements *memory) {
    pithp_step_text_values(x, indent, memory);
    pithp_step_text_stores(x, indent, memory, NULL);
}

bool pithp_step_text_writes(const pithp_step_text *x, int external) {
    return x->writer[x->a->temporary_count + external] >= 0;
}

void pithp_step_text_element(const pithp_step_text *x,
                             int external,
                             char name[PITHP_ELEMENT_NAME_BYTES]) {
    const int op = x->writer[x->a->temporary_count + external];
    snprintf(name, PITHP_ELEMENT_NAME_BYTES, "%c%d", op < 0 ? 'x' : 'v',
             op < 0 ? external : op);
}

/* ---- Direct steps: contiguous or uniform memory ---- */

static void add_flat(const void *closure, int e) {
    const pithp_step_text *x = closure;
    pithp_string_print(x->t, "e%d[i]", e);
}

static void emit_direct(pithp_step_text *x) {
    pithp_string_add(x->t, "(const void *args, i64 begin, i64 end) {\n"
                           "    char *const *const at = (char *const *)args;\n");
    for (int e = 0; e < x->a->external_count; e++) {
        const char *type = pithp_dtype_spelling(x->dtype[e]);
        x->is_hoisted[e] = pithp_is_uniform(x->a, &x->a->externals[e]);
        pithp_string_print(x->t,
                           x->is_hoisted[e] ? "    const %s x%d = *(const %s *)at[%d];\n"
                                            : "    %s *const e%d = (%s *)at[%d];\n",
                           type, e, type, e);
    }
    pithp_step_text_loops(x, "begin", "end", &(pithp_elements){add_flat, x});
    pithp_string_add(x->t, "}\n");
}

void pithp_emit_fused(pithp_string *t, const char *name, const pithp_fused_step *step) {
    pithp_step_text x;
    pithp_step_text_begin(&x, t, step);
    if (!pithp_is_direct(step)) {
        pithp_emit_nest(&x, name);
        return;
    }
    pithp_string_print(t, "void %s", name);
    emit_direct(&x);
}
