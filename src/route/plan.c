/* Routes as the host reads them. A user may have changed or made up a route, so each of
 * its numbers is checked before a rank sends by it. */
#include "route/route_internal.h"

#include <inttypes.h>
#include <string.h>

bool pithp_route_check(pithp_transfer *c, const pith_route *route, const char *name) {
    if (!pithp_transfer_fine(c) ||
        pithp_tree_check(c->w, route, c->function, name) != PITH_OK)
        return false;
    if (pith_is(pith_route, route))
        return true;
    pithp_fail(c->w, PITH_E_TYPE, NULL, "%s: %s: expected a pith_route", c->function,
               name);
    return false;
}

/* ---- Reading ---- */

static void refuse(pithp_transfer *c, const char *path, const char *format, ...)
    PITH_FORMAT(3, 4);
static void refuse(pithp_transfer *c, const char *path, const char *format, ...) {
    char text[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    pithp_fail(c->w, PITH_E_STRUCTURE, path, "%s: route: %s", c->function, text);
}

/* The ranks come first, in ascending order, and their rows fit. */
static void check(pithp_transfer *c, pithp_route_plan *p, int64_t max_peers) {
    const pithp_mesh_group *g = c->group;
    while (p->peers < max_peers && p->peer[p->peers] >= 0)
        p->peers++;
    for (int64_t i = 0; i < max_peers; i++) {
        const int64_t sent = p->sent[i], received = p->received[i];
        const bool used = i < p->peers;
        if (!used && (p->peer[i] >= 0 || sent || received)) {
            refuse(c, ".peer", "entry %" PRId64 " comes after one that is no rank", i);
            return;
        }
        if (used && (p->peer[i] >= g->size || (i && p->peer[i] <= p->peer[i - 1]))) {
            refuse(c, ".peer",
                   "entry %" PRId64 " is %d, expected ranks below %" PRId64
                   " in ascending order",
                   i, (int)p->peer[i], g->size);
            return;
        }
        if (sent < 0 || sent > p->max_send) {
            refuse(c, ".sent", "entry %" PRId64 " is %" PRId64 ", expected 0 to %" PRId64,
                   i, sent, p->max_send);
            return;
        }
        if (received < 0 || received > p->max_receive - p->all_received ||
            (used && p->peer[i] == g->rank && sent != received)) {
            refuse(c, ".received",
                   "entry %" PRId64 " is %" PRId64
                   ": not the rows of this rank, or more than the %" PRId64 " of all",
                   i, received, p->max_receive);
            return;
        }
        p->all_sent += sent;
        p->all_received += received;
    }
}

void pithp_route_plan_read(pithp_transfer *c,
                           pithp_route_plan *p,
                           const pith_route *route) {
    *p = (pithp_route_plan){.peers = 0};
    if (!pithp_route_check(c, route, "route"))
        return;
    const pith_array *const leaves[] = {route->peer, route->send, route->sent,
                                        route->received, route->need};
    static const char *const names[] = {"route.peer", "route.send", "route.sent",
                                        "route.received", "route.need"};
    for (int i = 0; i < 5; i++)
        if (pithp_array_check(c->w, leaves[i], c->function, names[i]) != PITH_OK)
            return;
    if (pithp_synchronise(c->w) != PITH_OK)
        return;
    for (int i = 0; i < 5; i++)
        p->pieces[i] = pithp_piece_of(c, leaves[i], true);
    p->peer = (const int32_t *)(const void *)p->pieces[0].data;
    p->send = (const int32_t *)(const void *)p->pieces[1].data;
    p->sent = (const int64_t *)(const void *)p->pieces[2].data;
    p->received = (const int64_t *)(const void *)p->pieces[3].data;
    p->need = (const int64_t *)(const void *)p->pieces[4].data;
    p->max_send = route->max_send;
    p->max_receive = route->max_receive;
    if (pithp_transfer_fine(c) && pithp_synchronise(c->w) == PITH_OK)
        check(c, p, route->max_peers);
}

void pithp_route_plan_release(pithp_transfer *c, pithp_route_plan *p) {
    for (int i = 0; i < 5; i++)
        pithp_piece_free(c, &p->pieces[i]);
}

const pith_array *
pithp_route_plan_rows(pithp_transfer *c, const pithp_route_plan *p, int64_t *beyond) {
    *beyond = 0;
    const pith_spec *spec =
        pithp_transfer_fine(c) ? pithp_spec(c->w, PITH_I32, 1, &p->all_sent) : NULL;
    const pith_array *rows = spec ? pithp_array_make(c->w, spec) : NULL;
    pithp_piece piece = pithp_piece_of(c, rows, false);
    int32_t *to = (int32_t *)(void *)piece.data;
    for (int64_t i = 0; to && i < p->peers; i++) {
        const int32_t *from = p->send + i * p->max_send;
        for (int64_t k = 0; k < p->sent[i]; k++) {
            if (from[k] < 0) {
                refuse(c, ".send", "row %" PRId64 " to rank %d is %d", k, (int)p->peer[i],
                       (int)from[k]);
                break;
            }
            *beyond = from[k] >= *beyond ? from[k] + 1 : *beyond;
            *to++ = from[k];
        }
    }
    pithp_piece_store(c, &piece);
    return pithp_transfer_fine(c) ? rows : NULL;
}
