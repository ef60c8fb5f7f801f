/* Making routes: the ranks tell each other how many rows they send, and agree on what all
 * of them need. */
#include "assert/assert_internal.h"
#include "base/in_flight.h"
#include "route/route_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ranks that this one sends to or receives from, with numbers of rows. */
typedef struct partner {
    int64_t rank, along; /* over all ranks, and along the axes */
    int64_t sent, received;
    int64_t filled; /* rows listed so far */
} partner;

typedef struct making {
    pithp_transfer c;
    pithp_mesh_group *all;
    const pith_array *lists[2]; /* rows and to, i64 */
    pithp_piece rows, to;
    int64_t entries;
    void *room;
    size_t room_bytes;
    int64_t *counts, *incoming; /* rows to and from each rank along the axes */
    partner *partners;
    int64_t partner_count;
    int64_t need[3], sizes[3];
    bool fits;
} making;

/* ---- Operands ---- */

/* As i64; numbers that only u64 has become 2^62, which no row or rank is. */
static const pith_array *as_signed(pith_scope *s, const pith_array *a) {
    if (pithp_array_spec(a)->dtype == PITH_U64)
        a = pith_minimum(s, a, pith_full(s, PITH_U64, PITH_SCALAR, 0x1p62));
    return pithp_cast(s, a, PITH_I64);
}

/* Integers of rank 1 as i64. NULL: error set. */
static const pith_array *
list_of(pithp_transfer *c, const pith_array *a, const char *name) {
    if (!pithp_transfer_fine(c) ||
        pithp_operand_check(c->w, a, c->function, name) != PITH_OK)
        return NULL;
    const pith_spec *spec = pithp_array_spec(a);
    char text[PITHP_SPEC_TEXT_BYTES];
    if (spec->rank != 1)
        pithp_fail(c->w, PITH_E_SHAPE, NULL, "%s: %s: expected a list, got %s",
                   c->function, name, pithp_spec_print(spec, text));
    else if (!pith_dtype_is_integer(spec->dtype))
        pithp_fail(c->w, PITH_E_DTYPE, NULL, "%s: %s: expected integers, got %s",
                   c->function, name, pithp_spec_print(spec, text));
    else
        return as_signed(c->w, a);
    return NULL;
}

static void read_lists(making *m, const pith_array *rows, const pith_array *to) {
    pithp_transfer *c = &m->c;
    const pith_array *lists[] = {list_of(c, rows, "rows"), list_of(c, to, "to")};
    if (!lists[0] || !lists[1])
        return;
    m->entries = pithp_array_spec(lists[0])->count;
    if (pithp_array_spec(lists[1])->count != m->entries) {
        pithp_fail(c->w, PITH_E_SHAPE, NULL,
                   "%s: %" PRId64 " rows, but %" PRId64 " ranks that they go to",
                   c->function, m->entries, pithp_array_spec(lists[1])->count);
        return;
    }
    m->lists[0] = lists[0];
    m->lists[1] = lists[1];
    if (c->recorded)
        return;
    m->rows = pithp_piece_of(c, lists[0], true);
    m->to = pithp_piece_of(c, lists[1], true);
    pithp_synchronise(c->w);
}

/* The sizes of the room; -1: as needed. */
static void read_room(making *m, const pith_route *room) {
    pithp_transfer *c = &m->c;
    for (int i = 0; i < 3; i++)
        m->sizes[i] = -1;
    if (!room || !pithp_route_check(c, room, "room"))
        return;
    m->sizes[0] = room->max_peers;
    m->sizes[1] = room->max_send;
    m->sizes[2] = room->max_receive;
    const size_t at = strlen(c->what);
    snprintf(c->what + at, sizeof c->what - at,
             ", room %" PRId64 ", %" PRId64 ", %" PRId64, m->sizes[0], m->sizes[1],
             m->sizes[2]);
}

static const int64_t *numbers(const pithp_piece *p) {
    return (const int64_t *)(const void *)p->data;
}

/* Count the rows to each rank. */
static void count_rows(making *m) {
    pithp_transfer *c = &m->c;
    const size_t ranks = pithp_transfer_fine(c) ? (size_t)c->group->size : 0;
    m->room_bytes = ranks * (2 * sizeof *m->counts + sizeof *m->partners);
    if (!pithp_transfer_fine(c) || !(m->room = pithp_transfer_room(c, m->room_bytes)))
        return;
    m->partners = m->room;
    m->counts = (int64_t *)(void *)(m->partners + ranks);
    m->incoming = m->counts + ranks;
    memset(m->room, 0, m->room_bytes);
    const int64_t *rows = numbers(&m->rows), *to = numbers(&m->to);
    for (int64_t k = 0; k < m->entries; k++) {
        if (to[k] < 0)
            continue;
        if (to[k] >= c->group->size) {
            pithp_fail(c->w, PITH_E_INDEX, NULL,
                       "%s: to: entry %" PRId64 ": row %" PRId64 " goes to rank %" PRId64
                       ", expected less than the %" PRId64 " along %s",
                       c->function, k, rows[k], to[k], c->group->size, c->group->axes);
            return;
        }
        if (rows[k] < 0 || rows[k] > INT32_MAX - 1) {
            pithp_fail(c->w, PITH_E_INDEX, NULL,
                       "%s: rows: entry %" PRId64 " is %" PRId64
                       ", expected 0 to 2147483646",
                       c->function, k, rows[k]);
            return;
        }
        m->counts[to[k]]++;
    }
}

/* ---- With the other ranks ---- */

static int by_rank(const void *a, const void *b) {
    const int64_t x = ((const partner *)a)->rank, y = ((const partner *)b)->rank;
    return (x > y) - (x < y);
}

/* Exchange the counts, and find the greatest needs of all ranks. */
static void meet(making *m) {
    pithp_transfer *c = &m->c;
    pithp_mesh_group_transpose(c->w, c->group, m->counts, m->incoming, sizeof *m->counts);
    for (int64_t i = 0; i < c->group->size; i++) {
        if (!m->counts[i] && !m->incoming[i])
            continue;
        m->partners[m->partner_count++] =
            (partner){.rank = pithp_mesh_group_world_rank(c->group, i),
                      .along = i,
                      .sent = m->counts[i],
                      .received = m->incoming[i]};
        m->need[1] = m->counts[i] > m->need[1] ? m->counts[i] : m->need[1];
        m->need[2] += m->incoming[i];
    }
    m->need[0] = m->partner_count;
    pithp_mesh_group_reduce(c->w, m->all, PITHP_COMBINE_MAX, PITH_I64, m->need, 3);
    qsort(m->partners, (size_t)m->partner_count, sizeof *m->partners, by_rank);
    m->fits = true;
    for (int i = 0; i < 3; i++) {
        m->sizes[i] = m->sizes[i] < 0 ? m->need[i] : m->sizes[i];
        m->fits &= m->need[i] <= m->sizes[i];
    }
}

/* ---- The node ---- */

/* Write the leaves of a route that fits, into memory that has their fill. */
static void
fill(making *m, int32_t *peer, int32_t *send, int64_t *sent, int64_t *received) {
    int64_t *place = m->counts; /* of the partner of each rank; no longer counts */
    for (int64_t i = 0; i < m->partner_count; i++) {
        peer[i] = (int32_t)m->partners[i].rank;
        sent[i] = m->partners[i].sent;
        received[i] = m->partners[i].received;
        place[m->partners[i].along] = i;
    }
    const int64_t *rows = numbers(&m->rows), *to = numbers(&m->to);
    for (int64_t k = 0; k < m->entries; k++) {
        if (to[k] < 0)
            continue;
        partner *p = &m->partners[place[to[k]]];
        send[place[to[k]] * m->sizes[1] + p->filled++] = (int32_t)rows[k];
    }
}

/* A leaf of a new route and its elements on the host, each of them `element`. */
static const pith_array *make_leaf(making *m,
                                   pith_dtype dtype,
                                   int rank,
                                   const int64_t *shape,
                                   int element,
                                   pithp_piece *p) {
    pithp_transfer *c = &m->c;
    const pith_spec *spec =
        pithp_transfer_fine(c) ? pithp_spec(c->w, dtype, rank, shape) : NULL;
    const pith_array *a = spec ? pithp_array_make(c->w, spec) : NULL;
    *p = pithp_piece_of(c, a, false);
    if (p->data && spec->bytes)
        memset(p->data, element, spec->bytes); /* 0, or -1 */
    return a;
}

/* The node in s. NULL: error set. */
static const pith_route *make_node(making *m) {
    pithp_transfer *c = &m->c;
    pithp_piece p[5];
    pith_route r = {
        .max_peers = m->sizes[0], .max_send = m->sizes[1], .max_receive = m->sizes[2]};
    r.peer = make_leaf(m, PITH_I32, 1, m->sizes, -1, &p[0]);
    r.send = make_leaf(m, PITH_I32, 2, m->sizes, -1, &p[1]);
    r.sent = make_leaf(m, PITH_I64, 1, m->sizes, 0, &p[2]);
    r.received = make_leaf(m, PITH_I64, 1, m->sizes, 0, &p[3]);
    r.need = make_leaf(m, PITH_I64, 1, (const int64_t[]){3}, 0, &p[4]);
    if (pithp_transfer_fine(c)) {
        memcpy(p[4].data, m->need, sizeof m->need);
        if (m->fits)
            fill(m, (int32_t *)(void *)p[0].data, (int32_t *)(void *)p[1].data,
                 (int64_t *)(void *)p[2].data, (int64_t *)(void *)p[3].data);
    }
    for (int i = 0; i < 5; i++)
        pithp_piece_store(c, &p[i]);
    return pithp_transfer_fine(c) ? pithp_freeze(c->s, pith_route_pith_type(), &r) : NULL;
}

static const void *
leave_as_is(pith_scope *s, const void *root, const void *args, const void *closure) {
    (void)s, (void)args, (void)closure;
    return root;
}

/* The check of the needs. Its fix leaves the sizes to pith_route_require; if that is not
 * called, the check still fails after the repeats, and ends the run. */
static void require(making *m, const pith_route *route) {
    pith_scope *s = m->c.s;
    const pith_array *sizes = pith_array_copy(s, PITH_I64, PITH_SHAPE(3), m->sizes);
    const pith_array *enough = sizes ? pith_less_equal(s, route->need, sizes) : NULL;
    if (!enough)
        return;
    char has[80];
    snprintf(has, sizeof has, "%" PRId64 ", %" PRId64 ", %" PRId64, m->sizes[0],
             m->sizes[1], m->sizes[2]);
    pithp_check(s, enough,
                &(pith_check_options){
                    .message = "the room of a route is too small: it has max_peers, "
                               "max_send and max_receive of {has}, the ranks need {need}",
                    .args = {{"need", route->need}},
                    .info = {{"has", has}},
                    .level = PITH_CHECK_ALWAYS,
                    .code = PITH_E_CAPACITY},
                &(pithp_fix){.call = leave_as_is, .defers = true});
}

/* A route of a function that is being recorded. */
static const pith_route *record(making *m, const pith_route *room) {
    pithp_transfer *c = &m->c;
    pith_route r;
    const pith_route *made = NULL;
    if (pithp_transfer_fine(c) && !room)
        pithp_fail(c->w, PITH_E_ARG, NULL,
                   "%s: room is NULL: compiled functions need the sizes of a route",
                   c->function);
    if (pithp_route_record_make(c, m->lists[0], m->lists[1], m->sizes, &r))
        made = pithp_freeze(c->s, pith_route_pith_type(), &r);
    pithp_transfer_leave(c, NULL);
    if (made)
        require(m, made);
    return made && !pith_failed(c->s) ? made : pithp_nil(pith_route_pith_type());
}

const pith_route *pith_route_make(pith_scope *s,
                                  const pith_array *rows,
                                  const pith_array *to,
                                  const char *axes,
                                  const pith_route *room) {
    static const char function[] = "pith_route_make";
    PITHP_IN_FLIGHT(s, function);
    making m = {.room = NULL};
    pithp_transfer *c = &m.c;
    const pith_route *made = NULL;
    if (!pithp_transfer_enter(c, s, function, axes))
        return pithp_nil(pith_route_pith_type());
    if (pithp_transfer_fine(c)) {
        snprintf(c->what, sizeof c->what, "rows over %.50s", c->group->axes);
        m.all = pithp_mesh_group_of(c->w, NULL);
    }
    read_lists(&m, rows, to);
    read_room(&m, room);
    if (c->recorded)
        return record(&m, room);
    count_rows(&m);
    if (pithp_transfer_agree(c, (uint64_t)(room != NULL))) {
        meet(&m);
        pithp_collective_end(c->w);
        made = make_node(&m);
    }
    pithp_piece_free(c, &m.rows);
    pithp_piece_free(c, &m.to);
    pithp_transfer_give_back(c, m.room, m.room_bytes);
    pithp_transfer_leave(c, NULL);
    if (made && !m.fits)
        require(&m, made);
    return made && !pith_failed(s) ? made : pithp_nil(pith_route_pith_type());
}
