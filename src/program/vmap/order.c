/* Batching rules of rows that work along axes (scans, sorts, reductions, products), and
 * of random numbers. */
#include "program/vmap/rules.h"

#include <string.h>

#define RULE(name)                                                                       \
    pithp_value pithp_vmap_##name(pithp_batching *b, const pithp_batched_call *c);       \
    pithp_value pithp_vmap_##name(pithp_batching *b, const pithp_batched_call *c)

RULE(scan) {
    pithp_scan_params p = *(const pithp_scan_params *)c->i->params;
    p.axis++;
    for (int k = 0; k < c->i->operand_count; k++)
        c->scratch[k] = pithp_batch_operand(b, c, k);
    return pithp_batch_same(b, c, c->scratch, &p);
}

RULE(sort) {
    pithp_sort_params p = *(const pithp_sort_params *)c->i->params;
    p.axis++;
    return pithp_batch_same(b, c, c->operands, &p);
}

/* The sorted arrays have the leading axes of the values. */
RULE(search) {
    const bool vector = !c->batched[0] && pithp_entry_spec(b, c, 0)->rank == 1;
    const pithp_value operands[] = {vector ? c->operands[0]
                                           : pithp_batch_operand(b, c, 0),
                                    pithp_batch_operand(b, c, 1)};
    return pithp_batch_same(b, c, operands, c->i->params);
}

RULE(reduce) {
    const pithp_reduce_params *own = c->i->params;
    return pithp_batch_same(b, c, c->operands, &(pithp_reduce_params){own->axes << 1});
}

/* ---- Products ---- */

/* Both operands batched: a pair of batch dimensions more. One: a free dimension more, so
 * that the library computes one larger product; it comes after the batch dimensions and,
 * of y, after the free ones of x. */
RULE(product) {
    const pithp_dot_params *own = c->i->params;
    const bool both = c->batched[0] && c->batched[1];
    pithp_dot_params p = {.contracts = own->contracts, .batches = own->batches + both};
    for (int side = 0; side < 2; side++) {
        const int shift = c->batched[side];
        for (int k = 0; k < own->contracts; k++)
            p.contract[side][k] = (int8_t)(own->contract[side][k] + shift);
        for (int k = 0; k < own->batches; k++)
            p.batch[side][k + both] = (int8_t)(own->batch[side][k] + shift);
    }
    const int first = c->batched[0] ? own->batches
                                    : pithp_entry_spec(b, c, 0)->rank -
                                          own->contracts; /* with batch dimensions */
    const pithp_value v = pithp_batch_same(b, c, c->operands, &p);
    return pithp_batch_move_axis(b, v, both ? 0 : first, 0);
}

/* ---- Random numbers ---- */

/* Keys have leading axes. */
RULE(random) {
    return pithp_batch_same(b, c, c->operands, c->i->params);
}

/* A key [2] for all leading axes of the counts is given these axes if it is batched. */
RULE(threefry) {
    const pith_spec *key = pithp_entry_spec(b, c, 0), *x = pithp_entry_spec(b, c, 1);
    const int leading = x->rank - (c->i->primitive == PITHP_OP_THREEFRY);
    const bool one = key->rank == 1 && !c->batched[0];
    pithp_value operands[] = {one ? c->operands[0] : pithp_batch_operand(b, c, 0),
                              pithp_batch_operand(b, c, 1)};
    if (operands[0] >= 0 && key->rank == 1 && !one && leading > 0) {
        pithp_broadcast_params to = {
            .rank = leading + 2, .shape = {b->size}, .dimensions = {0, leading + 1}};
        memcpy(to.shape + 1, x->shape, (size_t)leading * sizeof *to.shape);
        to.shape[leading + 1] = 2;
        operands[0] = pithp_batch_call(b, PITHP_OP_BROADCAST, 1, operands, &to);
    }
    return pithp_batch_same(b, c, operands, c->i->params);
}
