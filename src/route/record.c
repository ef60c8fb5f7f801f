/* Routes in functions that are recorded: rows of the table (program/op/params.h), and
 * checks of what an eager call would refuse. */
#include "assert/assert_internal.h"
#include "program/op/route.h"
#include "route/route_internal.h"

#include <stdio.h>
#include <string.h>

const pith_array *pithp_transfer_bind(pithp_transfer *c,
                                      pithp_primitive primitive,
                                      int count,
                                      const pith_array *const *operands,
                                      const pithp_collective_params *params) {
    const pith_array *made = NULL;
    for (int i = 0; i < count; i++)
        if (!operands[i] || !pithp_transfer_fine(c))
            return NULL;
    return pithp_trace_bind_many(c->w, primitive, count, operands, params, &made) ==
                   PITH_OK
               ? made
               : NULL;
}

/* ---- Making ---- */

/* Elements begin to end of the list that the row gives, in another shape. */
static const pith_array *part(pithp_transfer *c,
                              const pith_array *all,
                              int64_t begin,
                              pith_dtype dtype,
                              pith_shape shape) {
    int64_t count = 1;
    for (int d = 0; d < shape.rank; d++)
        count *= shape.extents[d];
    const pith_array *list =
        all ? pith_slice_array(c->w, all, 1, &PITH_SLICE(begin, begin + count, 1)) : NULL;
    list = list ? pithp_cast(c->w, list, dtype) : NULL;
    return list ? pith_reshape(c->w, list, shape) : NULL;
}

/* Check that no entry is bad. The route tells the first one: a check of whole lists would
 * carry them out of the branch of a rebuild. */
static void check_none(pithp_transfer *c,
                       const pith_array *bad,
                       const pith_array *list,
                       const char *message) {
    static const pith_take_options clip = {.mode = PITH_INDEX_CLIP};
    if (!pithp_transfer_fine(c))
        return;
    const pith_array *entry = pith_reshape(c->w, bad, PITH_SCALAR);
    pithp_check(
        c->w, pith_less(c->w, entry, pith_i64(c->w, 0)),
        &(pith_check_options){
            .message = message,
            .args = {{"entry", entry}, {"value", pith_take(c->w, list, entry, &clip)}},
            .level = PITH_CHECK_ALWAYS,
            .code = PITH_E_INDEX},
        NULL);
}

bool pithp_route_record_make(pithp_transfer *c,
                             const pith_array *rows,
                             const pith_array *to,
                             const int64_t sizes[3],
                             pith_route *route) {
    const int64_t peers = sizes[0], need = 2 * peers, bad = need + PITHP_ROUTE_NEEDS,
                  peer = need + PITHP_ROUTE_NUMBERS;
    const pithp_collective_params params = {
        .group = c->group, .axis = peers, .join = sizes[1], .root = sizes[2]};
    const pith_array *all = pithp_transfer_bind(
        c, PITHP_OP_ROUTE_MAKE, 2, (const pith_array *const[]){rows, to}, &params);
    *route = (pith_route){
        .received = part(c, all, 0, PITH_I64, PITH_SHAPE(peers)),
        .sent = part(c, all, peers, PITH_I64, PITH_SHAPE(peers)),
        .need = part(c, all, need, PITH_I64, PITH_SHAPE(PITHP_ROUTE_NEEDS)),
        .peer = part(c, all, peer, PITH_I32, PITH_SHAPE(peers)),
        .send = part(c, all, peer + peers, PITH_I32, PITH_SHAPE(peers, sizes[1])),
        .max_peers = sizes[0],
        .max_send = sizes[1],
        .max_receive = sizes[2]};
    if (pithp_transfer_fine(c) && pithp_array_spec(to)->count) {
        check_none(c, part(c, all, bad, PITH_I64, PITH_SHAPE(1)), to,
                   "pith_route_make: to: entry {entry} goes to rank {value}, which does "
                   "not exist");
        check_none(c, part(c, all, bad + 1, PITH_I64, PITH_SHAPE(1)), rows,
                   "pith_route_make: rows: entry {entry} is {value}, expected 0 to "
                   "2147483646");
    }
    return pithp_transfer_fine(c);
}

/* ---- Moving ---- */

/* One leaf by the route: sent, or (into) returned. NULL: error set. */
static const pith_array *record_one(pithp_transfer *c,
                                    const pith_route *r,
                                    const pith_array *a,
                                    const pith_array *into) {
    const pithp_collective_params params = {.group = c->group, .root = r->max_receive};
    const pith_array *const returned[] = {a,       into,    r->peer,
                                          r->send, r->sent, r->received};
    const pith_array *const sent[] = {a, r->peer, r->send, r->sent, r->received};
    return into ? pithp_transfer_bind(c, PITHP_OP_ROUTE_RETURN, 6, returned, &params)
                : pithp_transfer_bind(c, PITHP_OP_ROUTE_SEND, 5, sent, &params);
}

bool pithp_route_record(pithp_transfer *c,
                        const pith_route *r,
                        int64_t count,
                        const pith_array *const *leaves,
                        const pith_array *const *into,
                        const pith_array **to) {
    for (int64_t i = 0; i < count && pithp_transfer_fine(c); i++)
        to[i] = record_one(c, r, leaves[i], into ? into[i] : NULL);
    return pithp_transfer_fine(c);
}
