/* Algebraic simplification. Each gives the same bits as what it replaces, for every
 * operand:
 *
 *   1. x + 0, 0 + x, x - 0, x * 1, 1 * x, x / 1, x | 0, x ^ 0, x & ~0, x << 0, x >> 0 are
 *      x, for integers and bool.
 *   2. x * 1, x / 1, x - 0, x + (-0) are x, for f32 and f64, where x is the result of
 *      arithmetic: then it is no signalling NaN, which arithmetic would make quiet.
 *      x + 0 is not x: it is 0 where x is -0. For any x, arithmetic on one of them is
 *      arithmetic on x, since it makes NaN quiet itself.
 *   3. -(-x), ~~x, !!x (of bool), |-x| and ||x|| (of f32, f64 and signed integers).
 *   4. min(x, x), max(x, x), x & x, x | x are x.
 *   5. where(c, x, y) is x or y where c is known, and x where y is x.
 *   6. A cast of an integer to a type that holds it, cast again, is one cast; so is a
 * cast from a float to a wider one and then to an integer.
 *   7. A reshape of a reshape, transposition of a transposition, slice of a slice,
 * reversal of a reversal, broadcast of a broadcast are one; those that change nothing are
 * x.
 *   8. A concatenation of one array and a padding by nothing are x.
 *
 * f16 and bf16 are left alone where a value would no longer pass through f32. */
#include "program/op/index_map.h"
#include "program/pass/pass.h"

#include <string.h>

/* The bits of the element if all elements of a value are equal; false: unknown. */
static bool uniform_element(const pithp_program *p, pithp_value v, uint64_t *element) {
    const pith_spec *spec = pithp_value_spec(p, v);
    const size_t size = pith_dtype_size(spec->dtype);
    const char *data = pithp_literal_of(p, v);
    *element = 0;
    if (data) {
        for (int64_t i = 1; i < spec->count; i++)
            if (memcmp(data, data + (size_t)i * size, size) != 0)
                return false;
        if (spec->count)
            memcpy(element, data, size);
        return spec->count > 0;
    }
    const pithp_instruction *i = pithp_maker(p, v);
    if (!i)
        return false;
    if (i->primitive == PITHP_OP_FULL) {
        memcpy(element, &((const pithp_full_params *)i->params)->value, size);
        return true;
    }
    const bool moves =
        i->primitive == PITHP_OP_BROADCAST || i->primitive == PITHP_OP_RESHAPE;
    return moves && uniform_element(p, pithp_operands(p, i)[0], element);
}

/* ---- Constants ---- */

static bool is_integer(pith_dtype dtype) { /* or bool */
    return !pith_dtype_is_float(dtype);
}
static bool is_half(pith_dtype dtype) {
    return dtype == PITH_F16 || dtype == PITH_BF16;
}

/* Whether all elements of v equal that number, bit for bit. */
static bool is_number(const pithp_program *p, pithp_value v, double number) {
    uint64_t element, wanted = 0;
    pithp_dtype_encode(pithp_value_spec(p, v)->dtype, number, &wanted);
    return uniform_element(p, v, &element) && element == wanted;
}

static bool is_all_ones(const pithp_program *p, pithp_value v) {
    const pith_dtype dtype = pithp_value_spec(p, v)->dtype;
    const uint64_t ones =
        dtype == PITH_BOOL ? 1 : UINT64_MAX >> (64 - 8 * pith_dtype_size(dtype));
    uint64_t element;
    return uniform_element(p, v, &element) && element == ones;
}

/* Whether a value is the result of arithmetic, and so no signalling NaN. */
static bool is_quiet(const pithp_program *p, pithp_value v) {
    const pithp_instruction *i = pithp_maker(p, v);
    if (!i || is_half(pithp_value_spec(p, v)->dtype))
        return false;
    return pithp_op_has(i->primitive, PITHP_TRAIT_QUIET);
}

/* Whether `x op c` is x, for a c on the right. */
static bool is_neutral(const pithp_program *p, pithp_primitive op, pithp_value c) {
    const bool integer = is_integer(pithp_value_spec(p, c)->dtype);
    switch ((int)op) {
        case PITHP_OP_ADD:
            return is_number(p, c, integer ? 0.0 : -0.0);
        case PITHP_OP_SUB:
            return is_number(p, c, 0.0);
        case PITHP_OP_MUL:
        case PITHP_OP_DIV:
            return is_number(p, c, 1.0);
        case PITHP_OP_BITWISE_OR:
        case PITHP_OP_BITWISE_XOR:
        case PITHP_OP_SHIFT_LEFT:
        case PITHP_OP_SHIFT_RIGHT:
        case PITHP_OP_SHIFT_RIGHT_LOGICAL:
            return is_number(p, c, 0.0);
        case PITHP_OP_BITWISE_AND:
            return is_all_ones(p, c);
        default:
            return false;
    }
}

/* ---- Elementwise rules ---- */

static bool give(const pithp_program *p,
                 const pithp_proposal *call,
                 pithp_value v,
                 pithp_value *same) {
    if (pithp_value_spec(p, v) != call->spec) /* it is broadcast */
        return false;
    *same = v;
    return true;
}

/* The operand x of v = `x op c` with a neutral c, or v itself. */
static pithp_value without_neutral(const pithp_program *p, pithp_value v) {
    const pithp_instruction *i = pithp_maker(p, v);
    if (!i || i->operand_count != 2 || !pithp_is_elementwise(i->primitive))
        return v;
    const pithp_value *of = pithp_operands(p, i);
    const bool exchange = pithp_op_has(i->primitive, PITHP_TRAIT_COMMUTATIVE);
    for (int k = 0; k < 1 + exchange; k++)
        if (is_neutral(p, i->primitive, of[1 - k]) &&
            pithp_value_spec(p, of[k]) == pithp_value_spec(p, v))
            return of[k];
    return v;
}

static bool
simplify_binary(const pithp_program *p, pithp_proposal *call, pithp_value *same) {
    if (pithp_op_has(call->primitive, PITHP_TRAIT_QUIET) && !is_half(call->spec->dtype)) {
        const pithp_value a = without_neutral(p, call->operands[0]),
                          b = without_neutral(p, call->operands[1]);
        call->new_operands[0] = a;
        call->new_operands[1] = b;
        call->operands = call->new_operands;
    }
    const pithp_value x = call->operands[0], y = call->operands[1];
    const pith_dtype dtype = pithp_value_spec(p, x)->dtype;
    const bool exchange = pithp_op_has(call->primitive, PITHP_TRAIT_COMMUTATIVE);
    if (is_neutral(p, call->primitive, y) && (is_integer(dtype) || is_quiet(p, x)))
        return give(p, call, x, same);
    if (exchange && is_neutral(p, call->primitive, x) &&
        (is_integer(dtype) || is_quiet(p, y)))
        return give(p, call, y, same);
    return x == y && !is_half(dtype) &&
           pithp_op_has(call->primitive, PITHP_TRAIT_IDEMPOTENT) &&
           give(p, call, x, same);
}

static bool
simplify_unary(const pithp_program *p, pithp_proposal *call, pithp_value *same) {
    const pithp_value x = call->operands[0];
    const pith_dtype dtype = pithp_value_spec(p, x)->dtype;
    const pithp_instruction *inner = pithp_maker(p, x);
    if (!inner || is_half(dtype))
        return false;
    const bool twice = inner->primitive == call->primitive;
    const pithp_value *under = pithp_operands(p, inner);
    if (pithp_op_has(call->primitive, PITHP_TRAIT_INVOLUTION))
        return twice && give(p, call, under[0], same);
    if (call->primitive != PITHP_OP_ABS ||
        !(pith_dtype_is_float(dtype) || pithp_dtype_is_signed(dtype)))
        return false;
    if (twice)
        return give(p, call, x, same);
    if (inner->primitive != PITHP_OP_NEG)
        return false;
    call->new_operands[0] = under[0];
    call->operands = call->new_operands;
    return true;
}

static bool
simplify_where(const pithp_program *p, pithp_proposal *call, pithp_value *same) {
    const pithp_value *x = call->operands;
    uint64_t condition;
    if (uniform_element(p, x[0], &condition))
        return give(p, call, condition & 1 ? x[1] : x[2], same);
    return x[1] == x[2] && give(p, call, x[1], same);
}

/* ---- Casts ---- */

/* Whether every integer (or bool) of one dtype is one of another dtype. */
static bool holds(pith_dtype wide, pith_dtype narrow) {
    static const int8_t mantissa[PITH_DTYPE_COUNT] = {
        [PITH_F16] = 11, [PITH_BF16] = 8, [PITH_F32] = 24, [PITH_F64] = 53};
    const int bits = narrow == PITH_BOOL ? 1
                                         : (int)(8 * pith_dtype_size(narrow)) -
                                               pithp_dtype_is_signed(narrow);
    if (pith_dtype_is_float(wide))
        return mantissa[wide] >= bits;
    if (wide == PITH_BOOL)
        return narrow == PITH_BOOL;
    const int room = (int)(8 * pith_dtype_size(wide)) - pithp_dtype_is_signed(wide);
    return room >= bits &&
           (pithp_dtype_is_signed(wide) || !pithp_dtype_is_signed(narrow));
}

static bool
simplify_cast(const pithp_program *p, pithp_proposal *call, pithp_value *same) {
    const pithp_value x = call->operands[0];
    const pith_dtype middle = pithp_value_spec(p, x)->dtype, to = call->spec->dtype;
    if (middle == to)
        return !is_half(to) && give(p, call, x, same);
    const pithp_instruction *inner = pithp_maker(p, x);
    if (!inner || inner->primitive != PITHP_OP_CAST)
        return false;
    const pithp_value under = pithp_operands(p, inner)[0];
    const pith_dtype from = pithp_value_spec(p, under)->dtype;
    bool exact;
    if (is_integer(from)) /* floats saturate where integers wrap */
        exact = holds(middle, from) &&
                (is_integer(middle) || pith_dtype_is_float(to) || holds(to, from));
    else
        exact = pith_dtype_is_float(middle) && is_integer(to) &&
                pith_dtype_size(middle) > pith_dtype_size(from);
    if (!exact)
        return false;
    call->new_operands[0] = under;
    call->operands = call->new_operands;
    return true;
}

/* ---- Shapes ---- */

/* Replace the operand by that of the inner call. */
static bool take_over(const pithp_program *p,
                      const pithp_instruction *inner,
                      pithp_proposal *call,
                      const void *params,
                      size_t bytes) {
    call->new_operands[0] = pithp_operands(p, inner)[0];
    call->operands = call->new_operands;
    PITH_ASSERT(bytes <= sizeof call->new_params);
    memmove(call->new_params, params, bytes);
    call->params = call->new_params;
    return true;
}

static bool join_broadcasts(const pithp_program *p,
                            const pithp_instruction *i,
                            pithp_proposal *call) {
    const pithp_broadcast_params *first = i->params;
    pithp_broadcast_params both = *(const pithp_broadcast_params *)call->params;
    const int32_t *outer = ((const pithp_broadcast_params *)call->params)->dimensions;
    const int rank = pithp_value_spec(p, pithp_operands(p, i)[0])->rank;
    memset(both.dimensions, 0, sizeof both.dimensions);
    for (int d = 0; d < rank; d++)
        both.dimensions[d] = outer[first->dimensions[d]];
    return take_over(p, i, call, &both, sizeof both);
}

static bool join_transpositions(const pithp_program *p,
                                const pithp_instruction *i,
                                pithp_proposal *call) {
    const pithp_transpose_params *first = i->params;
    pithp_transpose_params both = {{0}};
    for (int d = 0; d < call->spec->rank; d++)
        both.permutation[d] =
            first->permutation[((const pithp_transpose_params *)call->params)
                                   ->permutation[d]];
    return take_over(p, i, call, &both, sizeof both);
}

static bool
join_slices(const pithp_program *p, const pithp_instruction *i, pithp_proposal *call) {
    const pithp_slice_params *first = i->params, *second = call->params;
    pithp_slice_params both = {{0}, {0}, {0}};
    if (call->spec->count == 0)
        return false; /* its start does not matter */
    for (int d = 0; d < call->spec->rank; d++) {
        both.start[d] = first->start[d] + second->start[d] * first->step[d];
        const int64_t last = call->spec->shape[d] - 1;
        if (last == 0) {
            both.step[d] = 1;
        } else if (__builtin_mul_overflow(first->step[d], second->step[d],
                                          &both.step[d])) {
            return false;
        }
        both.limit[d] = both.start[d] + last * both.step[d] + (both.step[d] > 0 ? 1 : -1);
    }
    return take_over(p, i, call, &both, sizeof both);
}

static bool
join_reversals(const pithp_program *p, const pithp_instruction *i, pithp_proposal *call) {
    const pithp_reverse_params both = {
        ((const pithp_reverse_params *)i->params)->axes ^
        ((const pithp_reverse_params *)call->params)->axes};
    return take_over(p, i, call, &both, sizeof both);
}

/* Whether a view by strides reads each element of its operand, of the same spec, at its
 * own index. Extents of 1 may go anywhere. */
static bool is_identity(const pithp_proposal *call) {
    const pith_spec *spec = call->spec;
    int64_t own[PITHP_MAX_RANK], stride[PITHP_MAX_RANK];
    pithp_c_strides(spec->rank, spec->shape, 1, own);
    bool same = pithp_view_strides(call->primitive, call->params, spec, own, 1, spec,
                                   stride) == 0;
    for (int d = 0; d < spec->rank; d++)
        same &= spec->shape[d] == 1 || stride[d] == own[d];
    return same;
}

/* Whether a shape call with equal specs of operand and result is the identity. */
static bool moves_nothing(const pithp_proposal *call) {
    const pithp_pad_params *pad = call->params;
    bool still = true;
    switch ((int)call->primitive) {
        case PITHP_OP_PAD:
            for (int d = 0; d < call->spec->rank; d++)
                still &= pad->low[d] == 0 && pad->interior[d] == 0;
            return still;
        case PITHP_OP_CONCATENATE:
            return call->count == 1;
        default:
            return is_identity(call);
    }
}

static bool
simplify_shape(const pithp_program *p, pithp_proposal *call, pithp_value *same) {
    if (call->count == 0)
        return false;
    if (pithp_value_spec(p, call->operands[0]) == call->spec && moves_nothing(call))
        return give(p, call, call->operands[0], same);
    const pithp_instruction *inner = pithp_maker(p, call->operands[0]);
    if (!inner || inner->primitive != call->primitive)
        return false;
    switch ((int)call->primitive) {
        case PITHP_OP_BROADCAST:
            return join_broadcasts(p, inner, call);
        case PITHP_OP_RESHAPE:
            return take_over(p, inner, call, call->params, sizeof(pithp_reshape_params));
        case PITHP_OP_TRANSPOSE:
            return join_transpositions(p, inner, call);
        case PITHP_OP_SLICE:
            return join_slices(p, inner, call);
        case PITHP_OP_REVERSE:
            return join_reversals(p, inner, call);
        default:
            return false;
    }
}

bool pithp_simplify(const pithp_program *p, pithp_proposal *call, pithp_value *same) {
    *same = -1;
    if (call->primitive == PITHP_OP_WHERE)
        return simplify_where(p, call, same);
    if (call->primitive == PITHP_OP_CAST)
        return simplify_cast(p, call, same);
    if (pithp_op_has(call->primitive, PITHP_TRAIT_VIEW | PITHP_TRAIT_JOIN))
        return simplify_shape(p, call, same);
    if (!pithp_is_elementwise(call->primitive))
        return false;
    return call->count == 1   ? simplify_unary(p, call, same)
           : call->count == 2 ? simplify_binary(p, call, same)
                              : false;
}
