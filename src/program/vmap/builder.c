/* Builder of batched programs: calls, and batched values from values of an entry. */
#include "program/vmap/rules.h"

#include <string.h>

pithp_value pithp_batch_call(pithp_batching *b,
                             pithp_primitive op,
                             int count,
                             const pithp_value *operands,
                             const void *params) {
    for (int k = 0; k < count; k++)
        if (operands[k] < 0)
            return -1;
    return pithp_program_add(b->s, b->to, op, count, operands, params, b->site);
}

const pith_spec *pithp_batched_spec(const pithp_batching *b, const pith_spec *entry) {
    int64_t shape[PITHP_MAX_RANK + 1] = {b->size};
    memcpy(shape + 1, entry->shape, (size_t)entry->rank * sizeof *shape);
    return pithp_spec_of_value(b->s, entry->dtype, entry->rank + 1, shape);
}

pithp_value pithp_batch_repeat_at(pithp_batching *b, pithp_value v, int axis) {
    const pith_spec *spec = v >= 0 ? pithp_batch_spec(b, v) : NULL;
    if (!spec)
        return -1;
    if (spec->rank == PITHP_MAX_RANK)
        return pithp_batched_spec(b, spec) ? v : -1; /* refuses */
    pithp_broadcast_params to = {.rank = spec->rank + 1};
    to.shape[axis] = b->size;
    for (int k = 0; k < spec->rank; k++) {
        to.dimensions[k] = k + (k >= axis);
        to.shape[to.dimensions[k]] = spec->shape[k];
    }
    return pithp_batch_call(b, PITHP_OP_BROADCAST, 1, &v, &to);
}

pithp_value pithp_batch_operand(pithp_batching *b, const pithp_batched_call *c, int k) {
    return c->batched[k] ? c->operands[k] : pithp_batch_repeat(b, c->operands[k]);
}

pithp_value
pithp_batch_reshape(pithp_batching *b, pithp_value v, int rank, const int64_t *shape) {
    pithp_reshape_params to = {.rank = rank};
    memcpy(to.shape, shape, (size_t)rank * sizeof *shape);
    return pithp_batch_call(b, PITHP_OP_RESHAPE, 1, &v, &to);
}

pithp_value pithp_batch_align(pithp_batching *b, pithp_value v, int rank) {
    const pith_spec *spec = v >= 0 ? pithp_batch_spec(b, v) : NULL;
    const int missing = spec ? rank + 1 - spec->rank : 0;
    if (missing <= 0)
        return v;
    int64_t shape[PITHP_MAX_RANK];
    shape[0] = spec->shape[0];
    for (int k = 1; k <= rank; k++)
        shape[k] = k <= missing ? 1 : spec->shape[k - missing];
    return pithp_batch_reshape(b, v, rank + 1, shape);
}

pithp_value pithp_batch_pointwise(pithp_batching *b,
                                  pithp_primitive op,
                                  int count,
                                  const pithp_value *operands,
                                  const bool *batched,
                                  const void *params) {
    enum { MOST = 3 };
    pithp_value aligned[MOST];
    int rank = 0;
    PITH_ASSERT(count <= MOST);
    for (int k = 0; k < count; k++) {
        if (operands[k] < 0)
            return -1;
        const int own = pithp_batch_spec(b, operands[k])->rank - batched[k];
        rank = own > rank ? own : rank;
    }
    for (int k = 0; k < count; k++)
        aligned[k] = batched[k] ? pithp_batch_align(b, operands[k], rank) : operands[k];
    return pithp_batch_call(b, op, count, aligned, params);
}

pithp_value pithp_batch_move_axis(pithp_batching *b, pithp_value v, int from, int to) {
    if (v < 0 || from == to)
        return v;
    pithp_transpose_params order = {{0}};
    const int rank = pithp_batch_spec(b, v)->rank;
    for (int k = 0, old = 0; k < rank; k++) {
        if (old == from)
            old++;
        order.permutation[k] = k == to ? from : old++;
    }
    return pithp_batch_call(b, PITHP_OP_TRANSPOSE, 1, &v, &order);
}

pithp_value pithp_batch_iota(pithp_batching *b,
                             pith_dtype dtype,
                             int rank,
                             const int64_t *shape,
                             int axis) {
    pithp_iota_params iota = {.dtype = dtype, .rank = rank, .axis = axis};
    memcpy(iota.shape, shape, (size_t)rank * sizeof *shape);
    return pithp_batch_call(b, PITHP_OP_IOTA, 0, NULL, &iota);
}
