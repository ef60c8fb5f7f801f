/* Products of arrays: each is a dot_general, or a multiplication if nothing is summed. */
#include "array/array_internal.h"

#include <inttypes.h>
#include <string.h>

/* Two operands, checked and promoted. */
static bool enter(pith_scope *s, const char *function, const pith_array *operands[2]) {
    return pithp_enter_as(s, function) &&
           pithp_operand_check(s, operands[0], function, "a") == PITH_OK &&
           pithp_operand_check(s, operands[1], function, "b") == PITH_OK &&
           pithp_promote_all(s, function, 2, operands) == PITH_OK;
}

static int rank_of(const pith_array *a) {
    return pithp_array_spec(a)->rank;
}

/* a reshaped, with the same number of elements. */
static const pith_array *
under(pith_scope *s, const pith_array *a, int rank, const int64_t *shape) {
    const pith_spec *spec = pithp_spec(s, pithp_array_spec(a)->dtype, rank, shape);
    return spec ? pithp_alias(s, a, spec) : NULL;
}

const pith_array *
pithp_multiply(pith_scope *s, const pith_array *a, const pith_array *b) {
    const pith_array *operands[] = {a, b};
    return pithp_bind(
        s, pithp_array_spec(a)->dtype == PITH_BOOL ? PITHP_OP_BITWISE_AND : PITHP_OP_MUL,
        2, operands, NULL);
}

static const pith_array *multiply_all(pith_scope *s, const pith_array *operands[2]) {
    return pithp_multiply(s, operands[0], operands[1]);
}

/* Contract one axis of each operand. */
static const pith_array *
contract_one(pith_scope *s, const pith_array *operands[2], int first, int second) {
    const pithp_dot_params params = {.contracts = 1,
                                     .contract = {{(int8_t)first}, {(int8_t)second}}};
    return pithp_bind(s, PITHP_OP_DOT_GENERAL, 2, operands, &params);
}

/* ---- matmul ---- */

/* Set the error for shapes that cannot be multiplied; false: they can. */
static bool refuse_matmul(pith_scope *s, const pith_spec *a, const pith_spec *b) {
    char texts[2][PITHP_SPEC_TEXT_BYTES];
    pithp_spec_print(a, texts[0]);
    pithp_spec_print(b, texts[1]);
    if (a->rank == 0 || b->rank == 0) {
        pithp_fail(s, PITH_E_SHAPE, NULL,
                   "pith_matmul: expected ranks of at least 1, got %s and %s", texts[0],
                   texts[1]);
        return true;
    }
    const int64_t of_a = a->shape[a->rank - 1],
                  of_b = b->shape[b->rank > 1 ? b->rank - 2 : 0];
    if (of_a != of_b) {
        pithp_fail(s, PITH_E_SHAPE, NULL,
                   "pith_matmul: %s and %s: rows of %lld and columns of %lld", texts[0],
                   texts[1], (long long)of_a, (long long)of_b);
        return true;
    }
    for (int d = 3; d <= a->rank && d <= b->rank; d++) {
        const int64_t one = a->shape[a->rank - d], two = b->shape[b->rank - d];
        if (one != two && one != 1 && two != 1) {
            pithp_fail(s, PITH_E_SHAPE, NULL,
                       "pith_matmul: %s and %s: the leading axes do not broadcast",
                       texts[0], texts[1]);
            return true;
        }
    }
    return false;
}

/* a with leading axes of extent 1 until it has `leading` of them before its last `matrix`
 * axes. */
static const pith_array *
lead(pith_scope *s, const pith_array *a, int leading, int matrix) {
    const pith_spec *spec = pithp_array_spec(a);
    const int more = leading + matrix - spec->rank;
    if (more <= 0)
        return a;
    int64_t shape[PITHP_MAX_RANK];
    for (int d = 0; d < more; d++)
        shape[d] = 1;
    memcpy(shape + more, spec->shape, (size_t)spec->rank * sizeof *shape);
    return under(s, a, spec->rank + more, shape);
}

const pith_array *pith_matmul(pith_scope *s, const pith_array *a, const pith_array *b) {
    const pith_array *operands[] = {a, b};
    if (!enter(s, "pith_matmul", operands) ||
        refuse_matmul(s, pithp_array_spec(operands[0]), pithp_array_spec(operands[1])))
        return NULL;
    const int of_a = rank_of(operands[0]) > 1 ? 2 : 1,
              of_b = rank_of(operands[1]) > 1 ? 2 : 1;
    const int more_a = rank_of(operands[0]) - of_a, more_b = rank_of(operands[1]) - of_b;
    if (more_b == 0) /* all of a is rows */
        return contract_one(s, operands, rank_of(operands[0]) - 1, 0);
    const int leading = more_a > more_b ? more_a : more_b;
    operands[0] = lead(s, operands[0], leading, of_a);
    operands[1] = operands[0] ? lead(s, operands[1], leading, of_b) : NULL;
    if (!operands[1])
        return NULL;
    pithp_dot_params params = {
        .contracts = 1,
        .batches = leading,
        .contract = {{(int8_t)(leading + of_a - 1)}, {(int8_t)leading}}};
    for (int d = 0; d < leading; d++)
        params.batch[0][d] = params.batch[1][d] = (int8_t)d;
    return pithp_bind(s, PITHP_OP_DOT_GENERAL, 2, operands, &params);
}

/* ---- Other products of NumPy ---- */

const pith_array *pith_dot(pith_scope *s, const pith_array *a, const pith_array *b) {
    const pith_array *operands[] = {a, b};
    if (!enter(s, "pith_dot", operands))
        return NULL;
    const int of_a = rank_of(operands[0]), of_b = rank_of(operands[1]);
    if (of_a == 0 || of_b == 0)
        return multiply_all(s, operands);
    return contract_one(s, operands, of_a - 1, of_b > 1 ? of_b - 2 : 0);
}

const pith_array *pith_inner(pith_scope *s, const pith_array *a, const pith_array *b) {
    const pith_array *operands[] = {a, b};
    if (!enter(s, "pith_inner", operands))
        return NULL;
    const int of_a = rank_of(operands[0]), of_b = rank_of(operands[1]);
    if (of_a == 0 || of_b == 0)
        return multiply_all(s, operands);
    return contract_one(s, operands, of_a - 1, of_b - 1);
}

const pith_array *pith_outer(pith_scope *s, const pith_array *a, const pith_array *b) {
    const pith_array *operands[] = {a, b};
    if (!enter(s, "pith_outer", operands))
        return NULL;
    const int64_t column[] = {pithp_array_spec(operands[0])->count, 1},
                  row[] = {1, pithp_array_spec(operands[1])->count};
    operands[0] = under(s, operands[0], 2, column);
    operands[1] = operands[0] ? under(s, operands[1], 2, row) : NULL;
    return operands[1] ? multiply_all(s, operands) : NULL;
}

const pith_array *
pith_tensordot(pith_scope *s, const pith_array *a, const pith_array *b, int64_t count) {
    const pith_array *operands[] = {a, b};
    if (!enter(s, "pith_tensordot", operands))
        return NULL;
    const int of_a = rank_of(operands[0]), of_b = rank_of(operands[1]);
    if (count < 0 || count > of_a || count > of_b) {
        pithp_fail(s, PITH_E_SHAPE, NULL,
                   "pith_tensordot: %" PRId64 " axes of operands of rank %d and %d",
                   count, of_a, of_b);
        return NULL;
    }
    pithp_dot_params params = {.contracts = (int)count};
    for (int i = 0; i < params.contracts; i++) {
        params.contract[0][i] = (int8_t)(of_a - params.contracts + i);
        params.contract[1][i] = (int8_t)i;
    }
    return pithp_bind(s, PITHP_OP_DOT_GENERAL, 2, operands, &params);
}

/* ---- dot_general ---- */

/* Pairs of normalised axes. */
static bool take_pairs(pith_scope *s,
                       const char *function,
                       const char *what,
                       const pith_axes axes[2],
                       const pith_array *const operands[2],
                       int32_t *count,
                       int8_t pairs[2][PITHP_MAX_RANK]) {
    for (int k = 0; k < 2; k++) {
        if (axes[k].all || axes[k].keep || axes[k].count != axes[0].count ||
            axes[k].count < 0 || axes[k].count > PITH_MAX_RANK) {
            pithp_fail(s, PITH_E_ARG, NULL,
                       "%s: expected as many %s axes of both operands, named one by one, "
                       "got %d and %d",
                       function, what, axes[0].all ? -1 : axes[0].count,
                       axes[1].all ? -1 : axes[1].count);
            return false;
        }
        for (int i = 0; i < axes[k].count; i++) {
            const int axis =
                pithp_axis(s, function, axes[k].axes[i], rank_of(operands[k]));
            if (axis < 0)
                return false;
            pairs[k][i] = (int8_t)axis;
        }
    }
    *count = axes[0].count;
    return true;
}

const pith_array *pith_tensordot_axes(pith_scope *s,
                                      const pith_array *a,
                                      const pith_array *b,
                                      pith_axes a_axes,
                                      pith_axes b_axes) {
    static const char function[] = "pith_tensordot_axes";
    const pith_array *operands[] = {a, b};
    const pith_axes axes[] = {a_axes, b_axes};
    pithp_dot_params params = {0};
    if (!enter(s, function, operands) ||
        !take_pairs(s, function, "summed", axes, operands, &params.contracts,
                    params.contract))
        return NULL;
    return pithp_bind(s, PITHP_OP_DOT_GENERAL, 2, operands, &params);
}

/* Batch extents must be equal: only pith_matmul broadcasts extent 1. */
static bool
batches_agree(pith_scope *s, const pithp_dot_params *p, const pith_array *operands[2]) {
    for (int i = 0; i < p->batches; i++) {
        const int one = p->batch[0][i], two = p->batch[1][i];
        const int64_t of_a = pithp_array_spec(operands[0])->shape[one],
                      of_b = pithp_array_spec(operands[1])->shape[two];
        if (of_a == of_b)
            continue;
        pithp_fail(s, PITH_E_SHAPE, NULL,
                   "pith_dot_general: batch axes %d of a and %d of b: extents %lld and "
                   "%lld differ",
                   one, two, (long long)of_a, (long long)of_b);
        return false;
    }
    return true;
}

const pith_array *pith_dot_general(pith_scope *s,
                                   const pith_array *a,
                                   const pith_array *b,
                                   const pith_dot_general_options *options) {
    static const char function[] = "pith_dot_general";
    const pith_dot_general_options o =
        options ? *options : (pith_dot_general_options){.dtype = PITH_DTYPE_NONE};
    const pith_array *operands[] = {a, b};
    pithp_dot_params params = {0};
    if (!pithp_enter(s) || pithp_operand_check(s, a, function, "a") != PITH_OK ||
        pithp_operand_check(s, b, function, "b") != PITH_OK)
        return NULL;
    if (o.dtype < PITH_DTYPE_NONE || o.dtype >= PITH_DTYPE_COUNT) {
        pithp_fail(s, PITH_E_DTYPE, NULL, "%s: invalid dtype %d", function, (int)o.dtype);
        return NULL;
    }
    if (o.dtype == PITH_DTYPE_NONE &&
        pithp_promote_all(s, function, 2, operands) != PITH_OK)
        return NULL;
    for (int k = 0; k < 2 && o.dtype != PITH_DTYPE_NONE; k++)
        if (!(operands[k] = pithp_cast(s, operands[k], o.dtype)))
            return NULL;
    if (!take_pairs(s, function, "summed", o.contract, operands, &params.contracts,
                    params.contract) ||
        !take_pairs(s, function, "batch", o.batch, operands, &params.batches,
                    params.batch) ||
        !batches_agree(s, &params, operands))
        return NULL;
    return pithp_bind(s, PITHP_OP_DOT_GENERAL, 2, operands, &params);
}
