/* Batching rules of views and of rows that move elements: their axes are shifted by one.
 */
#include "program/vmap/rules.h"

#include <string.h>

#define RULE(name)                                                                       \
    pithp_value pithp_vmap_##name(pithp_batching *b, const pithp_batched_call *c);       \
    pithp_value pithp_vmap_##name(pithp_batching *b, const pithp_batched_call *c)

RULE(broadcast) {
    const pithp_broadcast_params *own = c->i->params;
    pithp_broadcast_params to = {.rank = own->rank + 1, .shape = {b->size}};
    memcpy(to.shape + 1, own->shape, (size_t)own->rank * sizeof *to.shape);
    for (int k = 0; k < pithp_entry_spec(b, c, 0)->rank; k++)
        to.dimensions[k + 1] = own->dimensions[k] + 1;
    return pithp_batch_same(b, c, c->operands, &to);
}

RULE(reshape) {
    const pithp_reshape_params *own = c->i->params;
    pithp_reshape_params to = {.rank = own->rank + 1, .shape = {b->size}};
    memcpy(to.shape + 1, own->shape, (size_t)own->rank * sizeof *to.shape);
    return pithp_batch_same(b, c, c->operands, &to);
}

RULE(transpose) {
    const pithp_transpose_params *own = c->i->params;
    pithp_transpose_params to = {{0}};
    for (int k = 0; k < pithp_entry_spec(b, c, 0)->rank; k++)
        to.permutation[k + 1] = own->permutation[k] + 1;
    return pithp_batch_same(b, c, c->operands, &to);
}

RULE(slice) {
    const pithp_slice_params *own = c->i->params;
    pithp_slice_params to = {.limit = {b->size}, .step = {1}};
    for (int k = 0; k < pithp_entry_spec(b, c, 0)->rank; k++) {
        to.start[k + 1] = own->start[k];
        to.limit[k + 1] = own->limit[k];
        to.step[k + 1] = own->step[k];
    }
    return pithp_batch_same(b, c, c->operands, &to);
}

RULE(reverse) {
    const pithp_reverse_params *own = c->i->params;
    return pithp_batch_same(b, c, c->operands, &(pithp_reverse_params){own->axes << 1});
}

RULE(concatenate) {
    const pithp_concatenate_params *own = c->i->params;
    for (int k = 0; k < c->i->operand_count; k++)
        c->scratch[k] = pithp_batch_operand(b, c, k);
    return pithp_batch_same(b, c, c->scratch, &(pithp_concatenate_params){own->axis + 1});
}

/* ---- Padding ---- */

/* The elements of an entry's result that are not padding: bool. */
static pithp_value unpadded(pithp_batching *b, const pithp_batched_call *c) {
    const pith_spec *x = pithp_entry_spec(b, c, 0);
    const pithp_full_params outside = {.dtype = PITH_BOOL};
    pithp_full_params inside = {.dtype = PITH_BOOL, .rank = x->rank, .value = 1};
    memcpy(inside.shape, x->shape, sizeof inside.shape);
    const pithp_value operands[] = {
        pithp_batch_call(b, PITHP_OP_FULL, 0, NULL, &inside),
        pithp_batch_call(b, PITHP_OP_FULL, 0, NULL, &outside)};
    return pithp_batch_call(b, PITHP_OP_PAD, 2, operands, c->i->params);
}

/* A value for each entry is chosen where the padding is. */
RULE(pad) {
    const pithp_pad_params *own = c->i->params;
    const pith_spec *value = pithp_entry_spec(b, c, 1);
    const pithp_full_params none = {.dtype = value->dtype};
    pithp_pad_params to = {.low = {0}};
    for (int k = 0; k < pithp_entry_spec(b, c, 0)->rank; k++) {
        to.low[k + 1] = own->low[k];
        to.high[k + 1] = own->high[k];
        to.interior[k + 1] = own->interior[k];
    }
    const pithp_value operands[] = {
        pithp_batch_operand(b, c, 0),
        c->batched[1] ? pithp_batch_call(b, PITHP_OP_FULL, 0, NULL, &none)
                      : c->operands[1]};
    const pithp_value padded = pithp_batch_same(b, c, operands, &to);
    return c->batched[1]
               ? pithp_batch_pointwise(
                     b, PITHP_OP_WHERE, 3,
                     (const pithp_value[]){unpadded(b, c), padded, c->operands[1]},
                     (const bool[]){false, true, true}, NULL)
               : padded;
}
