/* Making a route in a program: route_make (params.h). The lists are read on the host. */
#include "program/collective/route.h"

#include <string.h>

/* The result: received, sent, need, bad and peer as i64, then send. */
typedef struct made {
    int64_t *received, *sent, *need, *bad, *peer, *send;
} made;

static made parts_of(const pithp_mover *m, int64_t *all) {
    const int64_t peers = m->params->axis;
    int64_t *need = all + 2 * peers, *peer = need + PITHP_ROUTE_NUMBERS;
    return (made){all, all + peers, need, need + PITHP_ROUTE_NEEDS, peer, peer + peers};
}

/* Rows are i32, as in the list of a route. */
static bool is_row(int64_t row) {
    return row >= 0 && row < INT32_MAX;
}

/* Entries that go nowhere count for nothing, nor do bad ones. */
static void count_rows(const pithp_mover *m,
                       const int64_t *rows,
                       const int64_t *to,
                       int64_t *counts,
                       int64_t bad[2]) {
    const int64_t entries = pithp_mover_operand(m)->count;
    memset(counts, 0, (size_t)m->group->size * sizeof *counts);
    bad[0] = bad[1] = -1;
    for (int64_t k = 0; k < entries; k++) {
        if (to[k] < 0)
            continue;
        if (to[k] >= m->group->size)
            bad[0] = bad[0] < 0 ? k : bad[0];
        else if (!is_row(rows[k]))
            bad[1] = bad[1] < 0 ? k : bad[1];
        else
            counts[to[k]]++;
    }
}

/* The ranks of the whole mesh in ascending order, by their numbers along the axes. */
static int64_t next_partner(const pithp_mover *m,
                            const int64_t *counts,
                            const int64_t *incoming,
                            int64_t after) {
    int64_t best = -1, along = -1;
    for (int64_t i = 0; i < m->group->size; i++) {
        const int64_t rank =
            counts[i] || incoming[i] ? pithp_mesh_group_world_rank(m->group, i) : -1;
        if (rank > after && (best < 0 || rank < best))
            best = rank, along = i;
    }
    return along;
}

static void fill(const pithp_mover *m,
                 const made *r,
                 const int64_t *rows,
                 const int64_t *to,
                 const int64_t *counts,
                 const int64_t *incoming,
                 int64_t *place) {
    const int64_t entries = pithp_mover_operand(m)->count, max_send = m->params->join;
    int64_t peers = 0, rank = -1;
    for (int64_t along; (along = next_partner(m, counts, incoming, rank)) >= 0; peers++) {
        rank = pithp_mesh_group_world_rank(m->group, along);
        r->peer[peers] = rank;
        r->received[peers] = incoming[along];
        place[along] = peers;
    }
    for (int64_t k = 0; k < entries; k++)
        if (to[k] >= 0 && to[k] < m->group->size && is_row(rows[k])) {
            const int64_t p = place[to[k]];
            r->send[p * max_send + r->sent[p]++] = rows[k];
        }
}

void pithp_mover_route_make(pithp_mover *m) {
    const size_t list = (size_t)m->group->size * sizeof(int64_t);
    const int64_t *rows = pithp_mover_in_on_host(m, 0),
                  *to = pithp_mover_in_on_host(m, 1);
    int64_t *counts = pithp_mover_take_host(m, list),
            *incoming = pithp_mover_take_host(m, list),
            *place = pithp_mover_take_host(m, list);
    const pithp_reach all =
        pithp_mover_reach(m, pithp_mover_out(m, 0), m->result->bytes, false);
    if (pithp_mover_runs(m)) {
        const int64_t sizes[] = {m->params->axis, m->params->join, m->params->root};
        const made r = parts_of(m, all.host);
        int64_t need[PITHP_ROUTE_NEEDS] = {0}, bad[2];
        count_rows(m, rows, to, counts, bad);
        memset(incoming, 0, list); /* an engine that refuses leaves it */
        pithp_mesh_group_transpose(m->s, m->group, counts, incoming, sizeof *counts);
        for (int64_t i = 0; i < m->group->size; i++) {
            need[0] += counts[i] || incoming[i];
            need[1] = counts[i] > need[1] ? counts[i] : need[1];
            need[2] += incoming[i];
        }
        pithp_mesh_group_reduce(m->s, pithp_mesh_group_all(m->group), PITHP_COMBINE_MAX,
                                PITH_I64, need, PITHP_ROUTE_NEEDS);
        memset(all.host, 0, all.bytes);
        memset(r.peer, 0xff, (size_t)sizes[0] * sizeof *r.peer);
        memset(r.send, 0xff, (size_t)(sizes[0] * sizes[1]) * sizeof *r.send);
        memcpy(r.need, need, sizeof need);
        memcpy(r.bad, bad, sizeof bad);
        if (need[0] <= sizes[0] && need[1] <= sizes[1] && need[2] <= sizes[2])
            fill(m, &r, rows, to, counts, incoming, place);
    }
    pithp_mover_store(m, &all);
}
