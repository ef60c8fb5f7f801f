/* Expressions as primitives, with C's types: what is narrower than int is promoted, and
 * two operands are brought to one type by the usual arithmetic conversions. Values of
 * comparisons stay bool, and narrow operands narrow, until something needs an int. */
#include "tree/expression_tree.h"

#include <string.h>

typedef struct binding {
    pith_scope *s;
    const pith_array *const *operands;
    const double *parameters;
} binding;

/* A value: its C type is one of i32, u32, i64, u64, f32, f64, and the array's dtype that
 * type or one that is promoted to it. array NULL: error set. */
typedef struct value {
    const pith_array *array;
    pith_dtype type;
} value;

static const value none = {NULL, PITH_DTYPE_NONE};

static pith_dtype promoted(pith_dtype dtype) {
    if (dtype == PITH_U32 || dtype == PITH_I64 || dtype == PITH_U64 || dtype == PITH_F64)
        return dtype;
    return pith_dtype_is_float(dtype) ? PITH_F32 : PITH_I32;
}

/* C's order of types: what both operands become. */
static pith_dtype joined(pith_dtype a, pith_dtype b) {
    static const uint8_t order[] = {PITH_F64, PITH_F32, PITH_U64,
                                    PITH_I64, PITH_U32, PITH_I32};
    for (int i = 0; i < PITHP_COUNT(order); i++)
        if (a == (pith_dtype)order[i] || b == (pith_dtype)order[i])
            return (pith_dtype)order[i];
    return PITH_I32;
}

static pith_dtype real_type(pith_dtype type) {
    return type == PITH_F32 ? PITH_F32 : PITH_F64;
}

static const pith_array *as(const binding *b, value x, pith_dtype type) {
    return x.array ? pithp_cast(b->s, x.array, type) : NULL;
}

static value apply(const binding *b,
                   pithp_primitive primitive,
                   int count,
                   const pith_array **x,
                   pith_dtype type) {
    for (int i = 0; i < count; i++)
        if (!x[i])
            return none;
    return (value){pithp_bind(b->s, primitive, count, x, NULL), type};
}

static value number(const binding *b, pith_dtype type, uint64_t bits) {
    const pithp_full_params params = {.dtype = type, .value = bits};
    return (value){pithp_bind(b->s, PITHP_OP_FULL, 0, NULL, &params), type};
}

/* x != 0 */
static const pith_array *truth(const binding *b, value x) {
    if (!x.array || pithp_array_spec(x.array)->dtype == PITH_BOOL)
        return x.array;
    const pith_array *both[] = {as(b, x, x.type), number(b, x.type, 0).array};
    return apply(b, PITHP_OP_NE, 2, both, PITH_I32).array;
}

/* p[i]: a float where a is one, else a double */
static value parameter(const binding *b, int index) {
    const pith_dtype type = real_type(promoted(pithp_array_spec(b->operands[0])->dtype));
    const float narrow = (float)b->parameters[index];
    uint64_t bits = 0;
    if (type == PITH_F32)
        memcpy(&bits, &narrow, sizeof narrow);
    else
        memcpy(&bits, &b->parameters[index], sizeof bits);
    return number(b, type, bits);
}

static value operand(const binding *b, int index) {
    const pith_array *a = b->operands[index];
    const pith_dtype dtype = pithp_array_spec(a)->dtype;
    return (value){pith_dtype_is_float(dtype) ? pithp_cast(b->s, a, promoted(dtype)) : a,
                   promoted(dtype)};
}

static value refuse_floats(const binding *b, const pithp_term *term) {
    pithp_fail(b->s, PITH_E_DTYPE, NULL,
               "the expression has %s of a float, which C has of integers only",
               term->kind == PITHP_TERM_BINARY && term->primitive == PITHP_OP_FMOD
                   ? "%"
                   : pithp_rows[term->primitive].name);
    return none;
}

/* Operators and functions of one or two operands of one type. */
static value
alike(const binding *b, const pithp_term *term, const value *x, pith_dtype type) {
    const pith_array *arrays[2];
    for (int i = 0; i < term->count; i++)
        arrays[i] = as(b, x[i], type);
    const bool compares = term->kind == PITHP_TERM_COMPARE;
    const bool whole =
        term->primitive == PITHP_OP_BITWISE_AND ||
        term->primitive == PITHP_OP_BITWISE_OR ||
        term->primitive == PITHP_OP_BITWISE_XOR ||
        term->primitive == PITHP_OP_BITWISE_NOT || term->kind == PITHP_TERM_WHOLE ||
        term->kind == PITHP_TERM_SHIFT ||
        (term->kind == PITHP_TERM_BINARY && term->primitive == PITHP_OP_FMOD);
    if (whole && pith_dtype_is_float(type))
        return refuse_floats(b, term);
    return apply(b, term->primitive, term->count, arrays, compares ? PITH_I32 : type);
}

static value choose(const binding *b, const value *x) {
    const pith_dtype type = joined(x[1].type, x[2].type);
    const pith_array *arrays[] = {truth(b, x[0]), as(b, x[1], type), as(b, x[2], type)};
    return apply(b, PITHP_OP_WHERE, 3, arrays, type);
}

static value cast_to(const binding *b, value x, pith_dtype type) {
    return (value){as(b, x, type), promoted(type)};
}

static value evaluate(const binding *b, const pithp_term *term) {
    value x[3];
    const pith_array *truths[2];
    for (int i = 0; i < term->count; i++) {
        x[i] = evaluate(b, term->operands[i]);
        if (!x[i].array)
            return none;
    }
    switch (term->kind) {
        case PITHP_TERM_NUMBER:
            return number(b, term->type, term->bits);
        case PITHP_TERM_OPERAND:
            return operand(b, term->index);
        case PITHP_TERM_PARAMETER:
            return parameter(b, term->index);
        case PITHP_TERM_CAST:
            return cast_to(b, x[0], term->type);
        case PITHP_TERM_PLUS:
            return x[0];
        case PITHP_TERM_NOT:
        case PITHP_TERM_LOGICAL:
            for (int i = 0; i < term->count; i++)
                truths[i] = truth(b, x[i]);
            return apply(b, term->primitive, term->count, truths, PITH_I32);
        case PITHP_TERM_UNARY:
        case PITHP_TERM_SHIFT:
        case PITHP_TERM_WHOLE:
            return alike(b, term, x, x[0].type);
        case PITHP_TERM_BINARY:
        case PITHP_TERM_COMPARE:
            return alike(b, term, x, joined(x[0].type, x[1].type));
        case PITHP_TERM_REAL:
            return alike(b, term, x, real_type(x[0].type));
        case PITHP_TERM_EXTREME:
            return alike(b, term, x, joined(real_type(x[0].type), real_type(x[1].type)));
        case PITHP_TERM_CHOICE:
            return choose(b, x);
    }
    return none;
}

const pith_array *pithp_expression_bind(pith_scope *s,
                                        const pithp_term *term,
                                        const pith_array *const *operands,
                                        const double *parameters) {
    const binding b = {s, operands, parameters};
    const pith_spec *like = pithp_array_spec(operands[0]);
    const value x = evaluate(&b, term);
    const pith_array *cast = as(&b, x, like->dtype);
    bool fits;
    return cast ? pithp_broadcast(s, cast, like->rank, like->shape, &fits) : NULL;
}
