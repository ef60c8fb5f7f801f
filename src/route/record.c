/* Routes in functions that are recorded: rows of the table (program/op/params.h), and
 * checks of what an eager call would refuse. */
#include "assert/assert_internal.h"
#include "program/op/route_numbers.h"
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

/* One array by the route: sent, or (into) returned. NULL: error set. */
static const pith_array *move_one(pithp_transfer *c,
                                  const pith_route *r,
                                  const pith_array *a,
                                  const pith_array *into) {
    const pithp_collective_params params = {.group = c->group, .root = r->max_receive};
    const pith_array *const operands[] = {a,       into,    r->peer,
                                          r->send, r->sent, r->received};
    const pith_array *const sent[] = {a, r->peer, r->send, r->sent, r->received};
    return into ? pithp_transfer_bind(c, PITHP_OP_ROUTE_RETURN, 6, operands, &params)
                : pithp_transfer_bind(c, PITHP_OP_ROUTE_SEND, 5, sent, &params);
}

/* Elements of a row. */
static int64_t width_of(const pith_spec *spec) {
    int64_t width = 1;
    for (int d = 1; d < spec->rank; d++)
        width *= spec->shape[d];
    return width;
}

/* Leaves that move as columns of one array, which is one message to each rank. */
typedef struct columns {
    int64_t count, width;
    int64_t *leaf, *end; /* numbers of leaves; where their columns end */
    const pith_array **parts;
} columns;

/* The leaves like leaf i that are not done: of its dtype, with its number of rows. */
static void gather_columns(columns *g,
                           int64_t i,
                           int64_t count,
                           const pith_array *const *owned,
                           bool *done) {
    const pith_spec *first = pithp_array_spec(owned[i]);
    g->count = g->width = 0;
    for (int64_t k = i; k < count; k++) {
        const pith_spec *spec = pithp_array_spec(owned[k]);
        if (done[k] || spec->dtype != first->dtype || spec->shape[0] != first->shape[0])
            continue;
        done[k] = true;
        g->leaf[g->count] = k;
        g->end[g->count++] = g->width += width_of(spec);
    }
}

/* The leaves of a group side by side. NULL: error set. */
static const pith_array *
join(pithp_transfer *c, columns *g, const pith_array *const *leaves) {
    for (int64_t k = 0; k < g->count; k++) {
        const pith_spec *spec = pithp_array_spec(leaves[g->leaf[k]]);
        if (!(g->parts[k] = pith_reshape(c->w, leaves[g->leaf[k]],
                                         PITH_SHAPE(spec->shape[0], width_of(spec)))))
            return NULL;
    }
    return pith_concatenate(c->w, g->count, g->parts, 1);
}

/* The columns of a group as leaves with the shapes of rows that `like` has. */
static bool part_columns(pithp_transfer *c,
                         const columns *g,
                         const pith_array *all,
                         const pith_array *const *like,
                         const pith_array **to) {
    const int64_t rows = all ? pithp_array_spec(all)->shape[0] : 0;
    for (int64_t k = 0; all && k < g->count; k++) {
        const pith_spec *spec = pithp_array_spec(like[g->leaf[k]]);
        pith_shape shape = {.rank = spec->rank};
        memcpy(shape.extents, spec->shape, sizeof shape.extents);
        shape.extents[0] = rows;
        const pith_slice slices[] = {PITH_WHOLE,
                                     PITH_SLICE(k ? g->end[k - 1] : 0, g->end[k], 1)};
        const pith_array *own = pith_slice_array(c->w, all, 2, slices);
        to[g->leaf[k]] = own ? pith_reshape(c->w, own, shape) : NULL;
    }
    return pithp_transfer_fine(c);
}

bool pithp_route_record(pithp_transfer *c,
                        const pith_route *r,
                        int64_t count,
                        const pith_array *const *leaves,
                        const pith_array *const *into,
                        const pith_array **to) {
    const size_t n = (size_t)count + 1;
    columns g = {.leaf = pithp_scope_allocate(c->w, n * sizeof *g.leaf),
                 .end = pithp_scope_allocate(c->w, n * sizeof *g.end),
                 .parts = pithp_scope_allocate(c->w, n * sizeof *g.parts)};
    bool *done = pithp_scope_allocate(c->w, n * sizeof *done);
    const pith_array *const *owned = into ? into : leaves;
    if (!g.leaf || !g.end || !g.parts || !done)
        return false;
    memset(done, 0, n * sizeof *done);
    for (int64_t i = 0; i < count && pithp_transfer_fine(c); i++) {
        if (done[i])
            continue;
        gather_columns(&g, i, count, owned, done);
        if (g.count == 1) {
            to[i] = move_one(c, r, leaves[i], into ? into[i] : NULL);
            continue;
        }
        const pith_array *all = join(c, &g, leaves),
                         *base = into && all ? join(c, &g, into) : NULL;
        all = all && (base || !into) ? move_one(c, r, all, base) : NULL;
        part_columns(c, &g, all, owned, to);
    }
    return pithp_transfer_fine(c);
}
