/* Reading routes in programs (route.h). */
#include "program/collective/route.h"

#include "program/source/args/library.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- Errors ---- */

bool pithp_mover_refuse(pithp_mover *m, const char *format, ...) {
    char text[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    pithp_mesh_group_break(m->s, m->group, text);
    m->rc = m->s->error.code;
    return false;
}

bool pithp_mover_refuse_row(pithp_mover *m, int32_t row, int64_t rows) {
    return pithp_mover_refuse(m, "a route: row %d of an array of %" PRId64 " rows",
                              (int)row, rows);
}

/* ---- On the host ---- */

const void *pithp_mover_in_on_host(pithp_mover *m, int k) {
    return pithp_mover_reach(m, pithp_mover_in(m, k), m->call->operands[k]->bytes, true)
        .host;
}

/* The leaves of the route are the last operands. */
static int first_of(const pithp_mover *m) {
    return m->call->operand_count - PITHP_ROUTE_OPERANDS;
}

static pithp_mover_route sizes_of(const pithp_mover *m) {
    const pith_spec *send = m->call->operands[first_of(m) + 1];
    return (pithp_mover_route){.max_peers = send->shape[0],
                               .max_send = send->shape[1],
                               .max_receive = m->call->primitive == PITHP_OP_ROUTE_SEND
                                                  ? m->params->root
                                                  : pithp_mover_operand(m)->shape[0]};
}

pithp_mover_route pithp_mover_route_read(pithp_mover *m) {
    const int first = first_of(m);
    pithp_mover_route r = sizes_of(m);
    r.peer = pithp_mover_in_on_host(m, first);
    r.send = pithp_mover_in_on_host(m, first + 1);
    r.sent = pithp_mover_in_on_host(m, first + 2);
    r.received = pithp_mover_in_on_host(m, first + 3);
    return r;
}

bool pithp_mover_route_check(pithp_mover *m, pithp_mover_route *r) {
    int64_t all = 0;
    int32_t last = -1;
    while (r->peers < r->max_peers && r->peer[r->peers] >= 0)
        r->peers++;
    for (int64_t i = 0; i < r->peers; i++) {
        const bool own = r->peer[i] == m->group->rank;
        if (!r->sent[i] && !r->received[i])
            continue;
        if (r->peer[i] >= m->group->size || r->peer[i] <= last)
            return pithp_mover_refuse(m, "a route: rank %d is no rank, or out of order",
                                      (int)r->peer[i]);
        if (r->sent[i] < 0 || r->sent[i] > r->max_send || r->received[i] < 0 ||
            r->received[i] > r->max_receive - all ||
            (own && r->sent[i] != r->received[i]))
            return pithp_mover_refuse(m,
                                      "a route: %" PRId64 " rows to rank %d and %" PRId64
                                      " from there do not fit",
                                      r->sent[i], (int)r->peer[i], r->received[i]);
        all += r->received[i];
        last = r->peer[i];
    }
    return true;
}

/* ---- On devices ---- */

pithp_mover_route pithp_mover_route_on_device(pithp_mover *m, int64_t rows) {
    const int first = first_of(m);
    pithp_mover_route r = sizes_of(m);
    const size_t numbers = 3 * (size_t)r.max_peers;
    r.index = pithp_mover_take(m, (size_t)(r.max_peers * r.max_send) * sizeof *r.index);
    r.result = pithp_mover_take(m, (numbers + 1) * sizeof *r.result);
    if (!m->s)
        return r;
    const void *const *at = m->memory->operands + first;
    const pithp_cuda_route_args args = {.peer = at[0],
                                        .send = at[1],
                                        .sent = at[2],
                                        .received = at[3],
                                        .rows = r.index,
                                        .numbers = r.result,
                                        .beyond = (uint64_t *)(r.result + numbers),
                                        .peers = r.max_peers,
                                        .most = r.max_send,
                                        .extent = rows};
    pithp_mover_zero(m, args.beyond, sizeof *args.beyond);
    pithp_mover_launch(m, PITHP_CUDA_route, "route", &args, sizeof args,
                       r.max_peers * (r.max_send > 1 ? r.max_send : 1));
    return r;
}

void pithp_mover_route_numbers(pithp_mover *m, pithp_mover_route *r, int64_t rows) {
    const size_t peers = (size_t)r->max_peers, bytes = (3 * peers + 1) * sizeof(int64_t);
    int64_t *numbers = pithp_mover_take_host(m, bytes);
    int32_t *peer = pithp_mover_take_host(m, peers * sizeof *peer), row;
    pithp_mover_read(m, numbers, r->result, bytes);
    pithp_mover_give_up(m);
    if (!pithp_mover_runs(m))
        return;
    for (size_t i = 0; i < peers; i++)
        peer[i] = (int32_t)numbers[i];
    r->peer = peer;
    r->sent = numbers + peers;
    r->received = numbers + 2 * peers;
    const uint64_t beyond = (uint64_t)numbers[3 * peers];
    if (!beyond)
        return;
    const int32_t *send = pithp_mover_in(m, first_of(m) + 1);
    pithp_mover_read(m, &row, send + ~beyond, sizeof row);
    if (pithp_mover_runs(m))
        pithp_mover_refuse_row(m, row, rows);
}
