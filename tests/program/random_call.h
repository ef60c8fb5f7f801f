/* Calls of random programs: what they compute, one by one, and how they are chosen. */
#ifndef PITH_TESTS_RANDOM_CALL_H
#define PITH_TESTS_RANDOM_CALL_H

#include "op_list.h"
#include "random_value.h"

static inline void recipe_run(recipe *r, ingredient *x);
static inline void recipe_run_many(recipe *r, ingredient *x);

/* Compute an ingredient from those before it. */
static inline void recipe_compute(recipe *r, ingredient *x) {
    if (x->kind == RECIPE_CONTROL || x->kind == RECIPE_MANY) {
        (x->kind == RECIPE_MANY ? recipe_run_many : recipe_run)(r, x);
        return;
    }
    const pith_spec *specs[RECIPE_OPERANDS];
    const void *data[RECIPE_OPERANDS];
    for (int k = 0; k < x->operand_count; k++) {
        specs[k] = r->list[x->operands[k]].spec;
        data[k] = r->list[x->operands[k]].data;
    }
    const pithp_call call =
        pithp_call_of(x->primitive, x->operand_count, specs, x->params);
    const size_t bytes = pithp_temporary_bytes(&call, x->spec);
    void *temporary = bytes ? aligned_alloc(256, (bytes + 255) & ~(size_t)255) : NULL;
    const pithp_memory memory = {
        .operands = data, .result = x->data, .temporary = temporary};
    pithp_run(r->s, &call, x->spec, &memory);
    pt_ok(r->s);
    pith_wait(r->s);
    free(temporary);
}

/* ---- Calls ---- */

static inline bool recipe_call(recipe *r, ingredient *x) {
    const pith_spec *specs[RECIPE_OPERANDS];
    pith_spec result;
    pithp_refusal refusal;
    for (int k = 0; k < x->operand_count; k++)
        specs[k] = r->list[x->operands[k]].spec;
    pithp_call call = pithp_call_of(x->primitive, x->operand_count, specs, x->params);
    call.max_rank = PITH_MAX_RANK; /* test_rank.c has the larger ranks */
    if (pithp_infer(&call, &result, &refusal) != PITH_OK || result.count > r->largest)
        return false;
    x->kind = RECIPE_CALL;
    x->spec = pithp_spec(r->s, result.dtype, result.rank, result.shape);
    const int at = recipe_add(r, x);
    recipe_compute(r, &r->list[at]);
    return true;
}

static inline void recipe_elementwise(recipe *r, ingredient *x) {
    /* mostly arithmetic, or the rules would seldom meet */
    x->primitive = (pithp_primitive)recipe_random(
        r, recipe_random(r, 2) ? PITHP_OP_IS_NAN : PITHP_ELEMENTWISE_COUNT);
    if (x->primitive == PITHP_OP_SIGNBIT || x->primitive == PITHP_OP_COPYSIGN)
        x->primitive = PITHP_OP_MUL; /* those look at the sign of a NaN */
    x->operand_count = pithp_ops[x->primitive].arity;
}

static inline void recipe_shape(recipe *r, ingredient *x, const pith_spec *from) {
    const int rank = from->rank;
    x->operand_count = 1;
    switch (recipe_random(r, 7)) {
        case 0: {
            pithp_broadcast_params *p = (void *)x->params;
            x->primitive = PITHP_OP_BROADCAST;
            const int lead = rank < 4 ? (int)recipe_random(r, 2) : 0;
            p->rank = rank + lead;
            if (lead)
                p->shape[0] = 1 + (int64_t)recipe_random(r, 4);
            for (int d = 0; d < rank; d++) {
                p->dimensions[d] = d + lead;
                p->shape[d + lead] = from->shape[d] == 1
                                         ? 1 + (int64_t)recipe_random(r, 5)
                                         : from->shape[d];
            }
            break;
        }
        case 1: {
            pithp_reshape_params *p = (void *)x->params;
            x->primitive = PITHP_OP_RESHAPE;
            const bool flat = recipe_random(r, 2) || rank == 0;
            p->rank = flat ? 1 : rank;
            for (int d = 0; d < rank; d++)
                p->shape[d] = from->shape[rank - 1 - d];
            if (flat)
                p->shape[0] = from->count;
            break;
        }
        case 2: {
            pithp_transpose_params *p = (void *)x->params;
            x->primitive = PITHP_OP_TRANSPOSE;
            const int turn = rank ? (int)recipe_random(r, (uint64_t)rank) : 0;
            for (int d = 0; d < rank; d++)
                p->permutation[d] = (d + turn) % rank;
            if (rank > 2 && recipe_random(r, 2)) {
                for (int d = 0; d < rank; d++)
                    p->permutation[d] = d;
                p->permutation[0] = 1;
                p->permutation[1] = 0;
            }
            break;
        }
        case 3: {
            pithp_slice_params *p = (void *)x->params;
            x->primitive = PITHP_OP_SLICE;
            for (int d = 0; d < rank; d++) {
                const int64_t n = from->shape[d];
                const int64_t start = n ? (int64_t)recipe_random(r, (uint64_t)n) : 0;
                const int64_t step = 1 + (int64_t)recipe_random(r, 2);
                const bool back = recipe_random(r, 4) == 0;
                const int64_t room = n ? (back ? start : n - 1 - start) / step : 0;
                const int64_t last =
                    start +
                    (back ? -1 : 1) * step *
                        (room ? (int64_t)recipe_random(r, (uint64_t)room + 1) : 0);
                p->start[d] = start;
                p->step[d] = back ? -step : step;
                p->limit[d] = n ? last + (back ? -1 : 1) : 0;
                if (recipe_random(r, 2)) {
                    p->start[d] = 0;
                    p->limit[d] = n;
                    p->step[d] = 1;
                }
            }
            break;
        }
        case 4:
            x->primitive = PITHP_OP_REVERSE;
            ((pithp_reverse_params *)(void *)x->params)->axes =
                (uint32_t)recipe_random(r, 1u << rank);
            break;
        case 5:
            x->primitive = PITHP_OP_CONCATENATE;
            x->operand_count = 1 + (int)recipe_random(r, 3);
            ((pithp_concatenate_params *)(void *)x->params)->axis =
                rank ? (int32_t)recipe_random(r, (uint64_t)rank) : 0;
            break;
        default: {
            pithp_pad_params *p = (void *)x->params;
            x->primitive = PITHP_OP_PAD;
            x->operand_count = 2;
            for (int d = 0; d < rank; d++) {
                p->low[d] = (int64_t)recipe_random(r, 3) - 1;
                p->high[d] = (int64_t)recipe_random(r, 3);
                p->interior[d] = (int64_t)recipe_random(r, 2);
            }
        }
    }
}

/* A mode in which nothing is reported, and what goes with it. */
static inline void
recipe_index_params(recipe *r, pithp_index_params *p, pith_dtype dtype) {
    p->mode = (pithp_index_mode)recipe_random(r, 4);
    p->no_negative = recipe_random(r, 4) == 0;
    if (recipe_random(r, 2))
        pithp_dtype_encode(dtype, 1, &p->fill);
}

static inline void recipe_other(recipe *r, ingredient *x, const pith_spec *from) {
    x->operand_count = 1;
    switch (recipe_random(r, 7)) {
        case 0:
            x->primitive = PITHP_OP_CAST;
            ((pithp_cast_params *)(void *)x->params)->dtype =
                (pith_dtype)(PITH_BOOL + (int)recipe_random(r, 13));
            break;
        case 1: {
            pithp_full_params *p = (void *)x->params;
            static const double numbers[] = {0, -0.0, 1, 2};
            x->primitive = PITHP_OP_FULL;
            x->operand_count = 0;
            p->dtype = from->dtype;
            p->rank = recipe_random(r, 2) ? from->rank : 0;
            memcpy(p->shape, from->shape, sizeof p->shape);
            pithp_dtype_encode(p->dtype, numbers[recipe_random(r, 4)], &p->value);
            break;
        }
        case 2: {
            pithp_iota_params *p = (void *)x->params;
            x->primitive = PITHP_OP_IOTA;
            x->operand_count = 0;
            p->dtype = from->dtype;
            p->rank = from->rank;
            memcpy(p->shape, from->shape, sizeof p->shape);
            p->axis = from->rank ? (int32_t)recipe_random(r, (uint64_t)from->rank) : 0;
            break;
        }
        case 3:
            x->primitive = op_nth(OP_REDUCTIONS, recipe_random(r, 8));
            ((pithp_reduce_params *)(void *)x->params)->axes =
                (uint32_t)recipe_random(r, 1u << from->rank);
            break;
        case 4: {
            static const pithp_primitive scans[] = {PITHP_OP_CUMSUM, PITHP_OP_CUMPROD,
                                                    PITHP_OP_CUMMIN, PITHP_OP_CUMMAX,
                                                    PITHP_OP_CUMLOGSUMEXP};
            pithp_scan_params *p = (void *)x->params;
            x->primitive = scans[recipe_random(r, PITHP_COUNT(scans))];
            p->axis = from->rank ? (int32_t)recipe_random(r, (uint64_t)from->rank) : 0;
            p->reverse = recipe_random(r, 2);
            break;
        }
        case 5: {
            pithp_sort_params *p = (void *)x->params;
            x->primitive = recipe_random(r, 2) ? PITHP_OP_SORT : PITHP_OP_ARGSORT;
            p->axis = from->rank ? (int32_t)recipe_random(r, (uint64_t)from->rank) : 0;
            p->descending = recipe_random(r, 2);
            break;
        }
        default: {
            pithp_index_params *p = (void *)x->params;
            x->primitive = recipe_random(r, 3) ? PITHP_OP_TAKE : PITHP_OP_TAKE_ALONG;
            x->operand_count = 2;
            p->axis = from->rank ? (int32_t)recipe_random(r, (uint64_t)from->rank) : 0;
            recipe_index_params(r, p, from->dtype);
        }
    }
}

#endif
