/* Routes of rows between ranks in programs (params.h describes the rows): making one, and
 * moving rows by it, there and back.
 *
 * Between devices that are connected only the numbers of rows come to the host, which has
 * to know them and the ranks for each message.
 *
 * A route in a program was made by route_make, or is an argument. A rank that finds one
 * in which it cannot send has no way to tell the others, which wait for its rows: the job
 * ends. */
#include "program/collective/move.h"
#include "program/op/route_numbers.h"
#include "program/source/args/library.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The arrays of a route on the host. */
typedef struct route {
    const int32_t *peer, *send;
    const int64_t *sent, *received;
    int64_t max_peers, max_send, max_receive;
    int64_t peers;   /* in use */
    int32_t *index;  /* on the device: the row of each slot of send; -1: not in use */
    int64_t *result; /* on the device: the numbers, [3, max_peers], and a word */
} route;

/* ---- Errors ---- */

static bool refuse(pithp_mover *m, const char *format, ...) PITH_FORMAT(2, 3);
static bool refuse(pithp_mover *m, const char *format, ...) {
    char text[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    pithp_mesh_group_break(m->s, m->group, text);
    m->rc = m->s->error.code;
    return false;
}

/* ---- Reading ---- */

static const void *operand_on_host(pithp_mover *m, int k) {
    return pithp_mover_reach(m, m->memory->operands[k], m->call->operands[k]->bytes, true)
        .host;
}

/* Peer, send, sent and received are operands from `first` on. */
static route read_route(pithp_mover *m, int first) {
    const pith_spec *send = m->call->operands[first + 1];
    route r = {.max_peers = send->shape[0], .max_send = send->shape[1]};
    r.peer = operand_on_host(m, first);
    r.send = operand_on_host(m, first + 1);
    r.sent = operand_on_host(m, first + 2);
    r.received = operand_on_host(m, first + 3);
    return r;
}

/* Count the ranks in use. False: the numbers are not those of a route, and the job ends.
 * Zeros are an empty route: a batch runs a branch also for entries that have not taken
 * it, with residuals of zeros. */
static bool check(pithp_mover *m, route *r) {
    int64_t all = 0;
    int32_t last = -1;
    while (r->peers < r->max_peers && r->peer[r->peers] >= 0)
        r->peers++;
    for (int64_t i = 0; i < r->peers; i++) {
        const bool own = r->peer[i] == m->group->rank;
        if (!r->sent[i] && !r->received[i])
            continue;
        if (r->peer[i] >= m->group->size || r->peer[i] <= last)
            return refuse(m, "a route: rank %d is no rank, or out of order",
                          (int)r->peer[i]);
        if (r->sent[i] < 0 || r->sent[i] > r->max_send || r->received[i] < 0 ||
            r->received[i] > r->max_receive - all ||
            (own && r->sent[i] != r->received[i]))
            return refuse(m,
                          "a route: %" PRId64 " rows to rank %d and %" PRId64
                          " from there do not fit",
                          r->sent[i], (int)r->peer[i], r->received[i]);
        all += r->received[i];
        last = r->peer[i];
    }
    return true;
}

/* ---- Messages ---- */

/* Where the rows for a rank, or of a rank, are. */
typedef struct side {
    char *data;
    const int64_t *rows;
    bool apart; /* those of each rank begin at a multiple of max_send; else together */
} side;

static char *
next_message(const route *r, const side *s, int64_t i, char *at, size_t row) {
    return at + (size_t)(s->apart ? r->max_send : s->rows[i]) * row;
}

/* What a rank does while messages are under way: it copies rows for itself, and clears
 * rows that it does not receive. */
typedef struct aside {
    pithp_mover *m;
    char *to, *rest;
    const char *from;
    size_t bytes, rest_bytes;
} aside;

static void do_aside(void *closure) {
    const aside *a = closure;
    if (a->m->direct) {
        pithp_mover_copy(a->m, a->to, a->from, a->bytes);
        pithp_mover_zero(a->m, a->rest, a->rest_bytes);
        return;
    }
    if (a->bytes)
        memcpy(a->to, a->from, a->bytes);
    if (a->rest_bytes)
        memset(a->rest, 0, a->rest_bytes);
}

/* Move rows. parcels: room for 2 max_peers. clear: the bytes of `in`, of which those
 * without a row become zeros; or 0. */
static void exchange(pithp_mover *m,
                     const route *r,
                     size_t row,
                     const side *out,
                     const side *in,
                     size_t clear,
                     pithp_parcel *parcels) {
    pithp_parcel *sends = parcels, *receives = parcels + r->max_peers;
    aside a = {.m = m};
    int to = 0, from = 0;
    char *go = out->data, *come = in->data;
    for (int64_t i = 0; i < r->peers; i++) {
        const size_t bytes = (size_t)out->rows[i] * row, back = (size_t)in->rows[i] * row;
        if (r->peer[i] == m->group->rank) {
            a.to = come;
            a.from = go;
            a.bytes = bytes;
        } else {
            if (bytes)
                sends[to++] = (pithp_parcel){r->peer[i], go, bytes};
            if (back)
                receives[from++] = (pithp_parcel){r->peer[i], come, back};
        }
        go = next_message(r, out, i, go, row);
        come = next_message(r, in, i, come, row);
    }
    a.rest = come;
    a.rest_bytes = clear ? clear - (size_t)(come - in->data) : 0;
    pithp_mover_pass(m, &(pithp_exchange){.sends = to,
                                          .receives = from,
                                          .send = sends,
                                          .receive = receives,
                                          .meanwhile = do_aside,
                                          .closure = &a});
}

static pithp_parcel *take_parcels(pithp_mover *m, const route *r) {
    return pithp_mover_take_host(m, 2 * (size_t)r->max_peers * sizeof(pithp_parcel));
}

static size_t row_bytes(const pith_spec *x) {
    size_t bytes = pith_dtype_size(x->dtype);
    for (int d = 1; d < x->rank; d++)
        bytes *= (size_t)x->shape[d];
    return bytes;
}

static bool refuse_row(pithp_mover *m, int32_t row, int64_t rows) {
    return refuse(m, "a route: row %d of an array of %" PRId64 " rows", (int)row, rows);
}

/* ---- On devices ---- */

/* Pass the arrays of a route through a kernel, which checks that an array of this number
 * of rows has the rows. read_numbers gets what the host needs. */
static route plan_on_device(pithp_mover *m, int first, int64_t rows) {
    const pith_spec *send = m->call->operands[first + 1];
    route r = {.max_peers = send->shape[0], .max_send = send->shape[1]};
    const size_t numbers = 3 * (size_t)r.max_peers;
    r.index = pithp_mover_take(m, send->bytes);
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

/* Wait for the numbers of a route. */
static void read_numbers(pithp_mover *m, route *r, int first, int64_t rows) {
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
    const int32_t *send = m->memory->operands[first + 1];
    pithp_mover_read(m, &row, send + ~beyond, sizeof row);
    if (pithp_mover_runs(m))
        refuse_row(m, row, rows);
}

/* x in the rows of each slot. */
static void pack_on_device(pithp_mover *m, const route *r, void *to) {
    static const pithp_index_params params = {.mode = PITHP_INDEX_DROP,
                                              .no_negative = true};
    const pith_spec *x = pithp_mover_operand(m);
    const int64_t slots = r->max_peers * r->max_send;
    int64_t shape[PITHP_MAX_RANK];
    memcpy(shape, x->shape, sizeof shape);
    shape[0] = slots;
    const pith_spec index = pithp_mover_spec(PITH_I32, 1, &slots),
                    packed = pithp_mover_spec(x->dtype, x->rank, shape);
    const pith_spec *specs[] = {x, &index};
    const void *operands[] = {m->memory->operands[0], r->index};
    pithp_mover_apply(m, PITHP_OP_TAKE, 2, specs, operands, &params, &packed, to);
}

/* ---- There ---- */

/* The first row in a list that x does not have; there is one. */
static int32_t first_beyond(const int32_t *index, int64_t rows) {
    while (*index >= 0 && *index < rows)
        index++;
    return *index;
}

/* Rows of x that are brought together. */
typedef struct rows_of {
    const char *x;
    const int32_t *index;
    int64_t n;
    uint32_t last; /* row of x */
} rows_of;

/* Inlined for some lengths of rows, of which each is a move or two. A row that x does not
 * have is another one; returns whether there is such a row. */
static inline __attribute__((always_inline)) bool
copy_rows(char *to, const rows_of *r, size_t row) {
    uint32_t beyond = 0;
    for (int64_t k = 0; k < r->n; k++) {
        const uint32_t number = (uint32_t)r->index[k],
                       at = number < r->last ? number : r->last;
        beyond |= number ^ at;
        memcpy(to + (size_t)k * row, r->x + (size_t)at * row, row);
    }
    return beyond != 0;
}

/* False: x does not have some row. */
static bool gather_rows(char *to,
                        const char *x,
                        int64_t rows,
                        const int32_t *index,
                        int64_t n,
                        size_t row) {
    const rows_of r = {x, index, n, rows < INT32_MAX ? (uint32_t)rows - 1 : INT32_MAX};
    if (n == 0 || rows == 0)
        return n == 0;
    switch (row) {
        case 4:
            return !copy_rows(to, &r, 4);
        case 8:
            return !copy_rows(to, &r, 8);
        case 12:
            return !copy_rows(to, &r, 12);
        case 16:
            return !copy_rows(to, &r, 16);
        case 24:
            return !copy_rows(to, &r, 24);
        case 32:
            return !copy_rows(to, &r, 32);
        case 48:
            return !copy_rows(to, &r, 48);
        default:
            return !copy_rows(to, &r, row);
    }
}

/* Bring the rows together that go to each rank. */
static bool
pack(pithp_mover *m, const route *r, const char *x, int64_t rows, size_t row, char *to) {
    for (int64_t i = 0; i < r->peers; i++, to += (size_t)r->max_send * row) {
        const int32_t *index = r->send + i * r->max_send;
        if (!gather_rows(to, x, rows, index, r->sent[i], row))
            return refuse_row(m, first_beyond(index, rows), rows);
    }
    return true;
}

static void send_on_device(pithp_mover *m) {
    const pith_spec *x = pithp_mover_operand(m);
    const size_t row = row_bytes(x);
    route r = plan_on_device(m, 1, x->shape[0]);
    r.max_receive = m->result->shape[0];
    char *packed = pithp_mover_take(m, (size_t)(r.max_peers * r.max_send) * row),
         *to = m->memory->result;
    pithp_parcel *parcels = take_parcels(m, &r);
    pack_on_device(m, &r, packed);
    read_numbers(m, &r, 1, x->shape[0]);
    if (!pithp_mover_runs(m) || !check(m, &r))
        return;
    const side out = {packed, r.sent, true}, in = {to, r.received, false};
    exchange(m, &r, row, &out, &in, m->result->bytes, parcels);
}

static void send_by_host(pithp_mover *m) {
    const pith_spec *x = pithp_mover_operand(m);
    route r = read_route(m, 1);
    r.max_receive = m->result->shape[0];
    const size_t row = row_bytes(x), slots = (size_t)(r.max_peers * r.max_send);
    const char *from = operand_on_host(m, 0);
    char *packed = pithp_mover_take_host(m, slots * row);
    pithp_parcel *parcels = take_parcels(m, &r);
    const pithp_reach to =
        pithp_mover_reach(m, m->memory->result, m->result->bytes, false);
    if (pithp_mover_runs(m) && check(m, &r) &&
        pack(m, &r, from, x->shape[0], row, packed)) {
        const side out = {packed, r.sent, true}, in = {to.host, r.received, false};
        exchange(m, &r, row, &out, &in, to.bytes, parcels);
    }
    pithp_mover_store(m, &to);
}

void pithp_mover_route_send(pithp_mover *m) {
    if (m->direct)
        send_on_device(m);
    else
        send_by_host(m);
}

/* ---- And back ---- */

/* The rows that returned, by slots of `send`; slots that are not in use have no row.
 * False: the job ends. */
static bool list_slots(pithp_mover *m, const route *r, int64_t rows, int32_t *index) {
    for (int64_t i = 0; i < r->max_peers; i++) {
        const int32_t *send = r->send + i * r->max_send;
        const int64_t sent = i < r->peers ? r->sent[i] : 0;
        for (int64_t k = 0; k < sent; k++) {
            if (send[k] < 0 || send[k] >= rows)
                return refuse_row(m, send[k], rows);
            *index++ = send[k];
        }
        for (int64_t k = sent; k < r->max_send; k++)
            *index++ = -1;
    }
    return true;
}

/* into, with rows by slots [max_peers, max_send, ...] added to those of the index. */
static void add_rows(pithp_mover *m, const route *r, const void *rows) {
    static const pithp_index_params params = {.mode = PITHP_INDEX_DROP,
                                              .no_negative = true};
    const pith_spec *into = m->call->operands[1];
    const int64_t slots = r->max_peers * r->max_send;
    int64_t shape[PITHP_MAX_RANK];
    memcpy(shape, into->shape, sizeof shape);
    shape[0] = slots;
    const pith_spec index_spec = pithp_mover_spec(PITH_I32, 1, &slots),
                    rows_spec = pithp_mover_spec(into->dtype, into->rank, shape);
    const pith_spec *specs[] = {into, &index_spec, &rows_spec};
    const void *operands[] = {m->memory->operands[1], r->index, rows};
    pithp_mover_apply(m, PITHP_OP_SCATTER_ADD, 3, specs, operands, &params, m->result,
                      m->memory->result);
}

static void return_on_device(pithp_mover *m) {
    const pith_spec *x = pithp_mover_operand(m);
    const int64_t rows = m->call->operands[1]->shape[0];
    const size_t row = row_bytes(x);
    char *from = (char *)(uintptr_t)m->memory->operands[0];
    route r = plan_on_device(m, 2, rows);
    r.max_receive = x->shape[0];
    char *back = pithp_mover_take(m, (size_t)(r.max_peers * r.max_send) * row);
    pithp_parcel *parcels = take_parcels(m, &r);
    read_numbers(m, &r, 2, rows);
    if (pithp_mover_runs(m) && check(m, &r)) {
        const side out = {from, r.received, false}, in = {back, r.sent, true};
        exchange(m, &r, row, &out, &in, 0, parcels);
    }
    add_rows(m, &r, back);
}

static void return_by_host(pithp_mover *m) {
    const pith_spec *x = pithp_mover_operand(m);
    route r = read_route(m, 2);
    r.max_receive = x->shape[0];
    const size_t slots = (size_t)(r.max_peers * r.max_send), row = row_bytes(x);
    char *from = (char *)(uintptr_t)operand_on_host(m, 0);
    void *rows = pithp_mover_take(m, slots * row);
    r.index = pithp_mover_take(m, slots * sizeof *r.index);
    pithp_parcel *parcels = take_parcels(m, &r);
    const pithp_reach back = pithp_mover_reach(m, rows, slots * row, false);
    const pithp_reach places =
        pithp_mover_reach(m, r.index, slots * sizeof *r.index, false);
    if (pithp_mover_runs(m) && check(m, &r) &&
        list_slots(m, &r, m->call->operands[1]->shape[0], places.host)) {
        const side out = {from, r.received, false}, in = {back.host, r.sent, true};
        exchange(m, &r, row, &out, &in, 0, parcels);
    }
    pithp_mover_store(m, &back);
    pithp_mover_store(m, &places);
    add_rows(m, &r, rows);
}

void pithp_mover_route_return(pithp_mover *m) {
    if (m->direct)
        return_on_device(m);
    else
        return_by_host(m);
}

/* ---- Making a route ---- */

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
    const int64_t *rows = operand_on_host(m, 0), *to = operand_on_host(m, 1);
    int64_t *counts = pithp_mover_take_host(m, list),
            *incoming = pithp_mover_take_host(m, list),
            *place = pithp_mover_take_host(m, list);
    const pithp_reach all =
        pithp_mover_reach(m, m->memory->result, m->result->bytes, false);
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
