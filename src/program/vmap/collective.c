/* Batching of collectives: one for all entries, whose operand has the batch axis in
 * front. The bits of an entry are those of a collective of its own. */
#include "program/op/route.h"
#include "program/vmap/control.h"

bool pithp_vmap_collective(pithp_batching *b,
                           const pithp_batched_call *c,
                           pithp_value *results,
                           bool *batched);

/* The axes of an entry are those after the batch axis. */
static pithp_value shifted(pithp_batching *b, const pithp_batched_call *c) {
    pithp_collective_params to = *(const pithp_collective_params *)c->i->params;
    const pithp_primitive op = c->i->primitive;
    const bool blocks = op == PITHP_OP_ALL_TO_ALL;
    if (blocks || op == PITHP_OP_ALL_GATHER || op == PITHP_OP_REDUCE_SCATTER ||
        op == PITHP_OP_HALO)
        to.axis++;
    if (blocks)
        to.join++;
    return pithp_batch_same(b, c, c->operands, &to);
}

/* The axis of the ranks comes after the batch axis. */
static pithp_value stacked(pithp_batching *b, const pithp_batched_call *c) {
    const pithp_value v = pithp_batch_same(b, c, c->operands, c->i->params);
    return v < 0 ? -1 : pithp_batch_move_axis(b, v, 1, 0);
}

/* The collective of the operand with axes [rows, batch, ...]: a row holds the entries of
 * the whole batch. */
static pithp_value by_rows(pithp_batching *b,
                           const pithp_batched_call *c,
                           const pithp_collective_params *params) {
    const pithp_value operands[] = {pithp_batch_move_axis(b, c->operands[0], 0, 1),
                                    c->i->operand_count > 1 ? c->operands[1] : -1};
    return operands[0] < 0 ? -1 : pithp_batch_same(b, c, operands, params);
}

/* The axes after that of the rows come after the batch axis, too. */
static pithp_value in_use(pithp_batching *b, const pithp_batched_call *c) {
    pithp_collective_params to = *(const pithp_collective_params *)c->i->params;
    to.axis += to.axis > 0;
    to.join += to.join > 0;
    const pithp_value v = by_rows(b, c, &to);
    return v < 0 ? -1 : pithp_batch_move_axis(b, v, 1, 0);
}

static pithp_value add(pithp_batching *b, const pithp_batched_call *c) {
    switch ((int)c->i->primitive) {
        case PITHP_OP_ALL_STACK:
            return stacked(b, c);
        case PITHP_OP_PSUM_ROWS:
            return by_rows(b, c, c->i->params);
        default:
            return c->i->operand_count > 1 ? in_use(b, c) : shifted(b, c);
    }
}

/* ---- Routes ---- */

/* One route for all entries: a row holds those of the whole batch. */
static pithp_value by_route(pithp_batching *b, const pithp_batched_call *c) {
    const int arrays = c->i->operand_count - PITHP_ROUTE_OPERANDS;
    for (int k = 0; k < c->i->operand_count; k++)
        c->scratch[k] = k < arrays
                            ? pithp_batch_move_axis(b, pithp_batch_operand(b, c, k), 0, 1)
                            : c->operands[k];
    const pithp_value v = pithp_batch_same(b, c, c->scratch, c->i->params);
    return v < 0 ? -1 : pithp_batch_move_axis(b, v, 1, 0);
}

/* Whether entries have numbers of rows or routes of their own, or make a route. */
static bool has_own_rows(const pithp_batched_call *c) {
    const pithp_primitive op = c->i->primitive;
    const int first =
        pithp_moves_by_route(op) ? c->i->operand_count - PITHP_ROUTE_OPERANDS : 1;
    bool own = op == PITHP_OP_ROUTE_MAKE;
    for (int k = first; k < c->i->operand_count; k++)
        own |= c->batched[k];
    return own;
}

/* Entries with their own numbers of rows sum them one after the other, as their routes
 * are made and used. */
bool pithp_vmap_collective(pithp_batching *b,
                           const pithp_batched_call *c,
                           pithp_value *results,
                           bool *batched) {
    if (has_own_rows(c))
        return pithp_batch_in_turn(b, c, results, batched);
    results[0] = pithp_moves_by_route(c->i->primitive) ? by_route(b, c) : add(b, c);
    batched[0] = true;
    return results[0] >= 0;
}
