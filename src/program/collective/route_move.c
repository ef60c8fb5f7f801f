/* Moving rows by a route, there and back: route_send and route_return (params.h). One
 * message to each rank has the rows of all leaves, leaf by leaf. A message of one leaf is
 * received where its rows belong, and on the way back sent from there, too.
 *
 * Devices that are connected pass the rows of each leaf on by themselves, in one group of
 * messages. */
#include "program/collective/route.h"

#include <string.h>

/* A leaf that moves. Its rows go to each rank from one piece of memory, and come to
 * another, in the order of the ranks. */
typedef struct leaf {
    const char *from;
    char *to;
    size_t row;       /* bytes */
    pithp_reach into; /* memory of the device that gets what is at `to` */
} leaf;

/* Messages under way. */
typedef struct moving {
    pithp_mover *m;
    pithp_mover_route r;
    bool returns;                      /* from receivers to senders */
    const int64_t *out_rows, *in_rows; /* to and from each rank */
    int count;
    leaf *leaves;                   /* NULL while memory is counted */
    pithp_parcel *sends, *receives; /* without empty ones and those of this rank */
    char *out, *in;                 /* messages of the host, rank after rank */
} moving;

static moving moving_of(pithp_mover *m) {
    const pithp_primitive op = m->call->primitive;
    moving v = {.m = m,
                .returns = op == PITHP_OP_ROUTE_RETURN,
                .count = pithp_route_leaves(op, m->call->operand_count)};
    v.leaves = pithp_mover_take_host(m, (size_t)v.count * sizeof *v.leaves);
    return v;
}

/* Take memory for `most` messages to and from ranks. */
static void take_parcels(moving *v, int64_t most) {
    v->sends = pithp_mover_take_host(v->m, (size_t)most * sizeof *v->sends);
    v->receives = pithp_mover_take_host(v->m, (size_t)most * sizeof *v->receives);
}

static size_t row_bytes(const pith_spec *x) {
    size_t bytes = pith_dtype_size(x->dtype);
    for (int d = 1; d < x->rank; d++)
        bytes *= (size_t)x->shape[d];
    return bytes;
}

/* What leaf k sends, or what it is added to: it has the rows of the route. */
static const pith_spec *owned(const moving *v, int k) {
    return v->m->call->operands[v->returns ? v->count + k : k];
}

/* The least number of rows of those. */
static int64_t least_rows(const moving *v) {
    int64_t least = owned(v, 0)->shape[0];
    for (int k = 1; k < v->count; k++)
        least = owned(v, k)->shape[0] < least ? owned(v, k)->shape[0] : least;
    return least;
}

/* An array like one, with another number of rows. */
static pith_spec with_rows(const pith_spec *x, int64_t rows) {
    int64_t shape[PITHP_MAX_RANK];
    memcpy(shape, x->shape, sizeof shape);
    shape[0] = rows;
    return pithp_mover_spec(x->dtype, x->rank, shape);
}

static int64_t slots_of(const moving *v) {
    return v->r.max_peers * v->r.max_send;
}

/* Which rows go, and which come. The route has been read and checked. */
static void set_rows(moving *v) {
    v->out_rows = v->returns ? v->r.received : v->r.sent;
    v->in_rows = v->returns ? v->r.sent : v->r.received;
}

/* ---- Messages of the host ---- */

/* Parts of a message are aligned. */
static size_t part_bytes(const moving *v, const leaf *l, int64_t rows) {
    const size_t bytes = l->row * (size_t)rows;
    return v->count > 1 ? (bytes + 15) & ~(size_t)15 : bytes;
}

static size_t message_bytes(const moving *v, int64_t rows) {
    size_t bytes = 0;
    for (int k = 0; rows && k < v->count; k++)
        bytes += part_bytes(v, &v->leaves[k], rows);
    return bytes;
}

/* Memory for messages with a number of rows in all. */
static char *take_messages(const moving *v, int64_t rows) {
    size_t bytes = 0;
    for (int k = 0; k < v->count; k++)
        bytes += row_bytes(v->m->call->operands[k]) * (size_t)rows +
                 16 * (size_t)v->r.max_peers;
    return pithp_mover_take_host(v->m, bytes);
}

static bool is_own(const moving *v, int64_t i) {
    return v->r.peer[i] == v->m->group->rank;
}

/* List the messages for other ranks, or from them: `at` has those of all ranks one after
 * the other. */
static int list(const moving *v, const int64_t *rows, char *at, pithp_parcel *parcels) {
    int count = 0;
    for (int64_t i = 0; i < v->r.peers; i++) {
        const size_t bytes = message_bytes(v, rows[i]);
        if (bytes && !is_own(v, i))
            parcels[count++] = (pithp_parcel){v->r.peer[i], at, bytes};
        at += bytes;
    }
    return count;
}

/* Copy from messages to the leaves: from that of this rank, which does not travel, or
 * from those of others. Returns the rows of all ranks. */
static int64_t unpack(const moving *v, bool own) {
    const char *out = v->out, *in = v->in;
    int64_t before = 0;
    for (int64_t i = 0; i < v->r.peers; before += v->in_rows[i++]) {
        const char *message = own ? out : in;
        for (int k = 0; v->in_rows[i] && is_own(v, i) == own && k < v->count; k++) {
            const leaf *l = &v->leaves[k];
            const size_t n = l->row * (size_t)v->in_rows[i];
            if (n)
                memcpy(l->to + l->row * (size_t)before, message, n);
            message += part_bytes(v, l, v->in_rows[i]);
        }
        out += message_bytes(v, v->out_rows[i]);
        in += message_bytes(v, v->in_rows[i]);
    }
    return before;
}

/* Rows from `used` on do not come: they are zeros. */
static void clear_rest(const moving *v, int64_t used) {
    for (int k = 0; k < v->count; k++) {
        const leaf *l = &v->leaves[k];
        const size_t n = l->row * (size_t)(v->r.max_receive - used);
        if (n)
            memset(l->to + l->row * (size_t)used, 0, n);
    }
}

/* While messages are under way. */
static void meanwhile(void *closure) {
    const moving *v = closure;
    const int64_t used = unpack(v, true);
    if (!v->returns)
        clear_rest(v, used);
}

/* Exchange the messages, which have been packed. */
static void exchange(moving *v) {
    const int sends = list(v, v->out_rows, v->out, v->sends),
              receives = list(v, v->in_rows, v->in, v->receives);
    pithp_mover_pass(v->m, &(pithp_exchange){.sends = sends,
                                             .receives = receives,
                                             .send = v->sends,
                                             .receive = v->receives,
                                             .meanwhile = meanwhile,
                                             .closure = v});
    if (v->count > 1)
        unpack(v, false);
}

/* Memory of messages. NULL: they are packed nowhere, but are the memory of the leaf. */
static void take_host_memory(moving *v) {
    const bool packs = v->count > 1;
    const int64_t slots = slots_of(v), all = v->r.max_receive;
    take_parcels(v, v->r.max_peers);
    if (packs || !v->returns)
        v->out = take_messages(v, v->returns ? all : slots);
    if (packs)
        v->in = take_messages(v, v->returns ? slots : all);
}

/* A route that has been read and checked, before messages are packed. */
static void begin_messages(moving *v) {
    set_rows(v);
    if (v->count > 1)
        return;
    v->in = v->leaves->to;
    if (v->returns)
        v->out = (char *)(uintptr_t)v->leaves->from;
}

/* What the leaves received. */
static void store_leaves(moving *v) {
    for (int k = 0; v->leaves && k < v->count; k++)
        pithp_mover_store(v->m, &v->leaves[k].into);
}

/* Leaf k, whose rows go from the operand to memory of the device for `rows` of
 * them. */
static void begin_leaf(moving *v, int k, void *to, int64_t rows) {
    const char *from = pithp_mover_in_on_host(v->m, k);
    const size_t row = row_bytes(owned(v, k));
    const pithp_reach into = pithp_mover_reach(v->m, to, row * (size_t)rows, false);
    if (v->leaves)
        v->leaves[k] = (leaf){from, into.host, row, into};
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

/* Bring the rows together that go to each rank. False: the job ends. */
static bool pack_rows(const moving *v) {
    char *to = v->out;
    for (int64_t i = 0; i < v->r.peers; i++) {
        const int32_t *index = v->r.send + i * v->r.max_send;
        const int64_t n = v->r.sent[i];
        for (int k = 0; k < v->count; k++) {
            const leaf *l = &v->leaves[k];
            const int64_t rows = owned(v, k)->shape[0];
            if (!gather_rows(to, l->from, rows, index, n, l->row))
                return pithp_mover_refuse_row(v->m, first_beyond(index, rows), rows);
            to += part_bytes(v, l, n);
        }
    }
    return true;
}

static void send_by_host(pithp_mover *m) {
    moving v = moving_of(m);
    v.r = pithp_mover_route_read(m);
    for (int k = 0; k < v.count; k++)
        begin_leaf(&v, k, pithp_mover_out(m, k), v.r.max_receive);
    take_host_memory(&v);
    if (pithp_mover_runs(m) && pithp_mover_route_check(m, &v.r)) {
        begin_messages(&v);
        if (pack_rows(&v))
            exchange(&v);
    }
    store_leaves(&v);
}

/* ---- And back ---- */

/* The rows that return: what they are added to, in the order in which they come. Slots
 * that are not in use have no row. False: the job ends. */
static bool list_slots(const moving *v, int32_t *index) {
    const int64_t rows = least_rows(v);
    int32_t *const end = index + slots_of(v);
    for (int64_t i = 0; i < v->r.peers; i++) {
        const int32_t *send = v->r.send + i * v->r.max_send;
        for (int64_t k = 0; k < v->r.sent[i]; k++) {
            if (send[k] < 0 || send[k] >= rows)
                return pithp_mover_refuse_row(v->m, send[k], rows);
            *index++ = send[k];
        }
    }
    while (index < end)
        *index++ = -1;
    return true;
}

/* Copy the rows of the leaves to the messages. */
static void pack_leaves(const moving *v) {
    int64_t before = 0;
    char *to = v->out;
    for (int64_t i = 0; i < v->r.peers; before += v->out_rows[i++]) {
        for (int k = 0; k < v->count; k++) {
            const leaf *l = &v->leaves[k];
            const size_t n = l->row * (size_t)v->out_rows[i];
            if (n)
                memcpy(to, l->from + l->row * (size_t)before, n);
            to += part_bytes(v, l, v->out_rows[i]);
        }
    }
}

/* into of leaf k, with rows by slots [max_peers * max_send, ...] added to those of the
 * index. */
static void add_rows(const moving *v, int k, const int32_t *index, const void *slots) {
    static const pithp_index_params params = {.mode = PITHP_INDEX_DROP,
                                              .no_negative = true};
    const pith_spec *into = owned(v, k);
    const int64_t count = slots_of(v);
    const pith_spec index_spec = pithp_mover_spec(PITH_I32, 1, &count),
                    rows_spec = with_rows(into, count);
    const pith_spec *specs[] = {into, &index_spec, &rows_spec};
    const void *operands[] = {pithp_mover_in(v->m, v->count + k), index, slots};
    pithp_mover_apply(v->m, PITHP_OP_SCATTER_ADD, 3, specs, operands, &params, into,
                      pithp_mover_out(v->m, k));
}

static void add_leaves(const moving *v, const int32_t *index) {
    for (int k = 0; k < v->count; k++)
        add_rows(v, k, index, v->leaves ? v->leaves[k].into.device : NULL);
}

static void return_by_host(pithp_mover *m) {
    moving v = moving_of(m);
    v.r = pithp_mover_route_read(m);
    for (int k = 0; k < v.count; k++)
        begin_leaf(&v, k,
                   pithp_mover_take(m, row_bytes(owned(&v, k)) * (size_t)slots_of(&v)),
                   slots_of(&v));
    const size_t bytes = (size_t)slots_of(&v) * sizeof(int32_t);
    const pithp_reach index =
        pithp_mover_reach(m, pithp_mover_take(m, bytes), bytes, false);
    take_host_memory(&v);
    if (pithp_mover_runs(m) && pithp_mover_route_check(m, &v.r) &&
        list_slots(&v, index.host)) {
        begin_messages(&v);
        if (v.count > 1)
            pack_leaves(&v);
        exchange(&v);
    }
    store_leaves(&v);
    pithp_mover_store(m, &index);
    add_leaves(&v, index.device);
}

/* ---- Messages of devices ---- */

/* The rows of memory for rank i: of a list that has room for max_send of each, or those
 * that move. */
static int64_t extent_of(const moving *v, bool out, int64_t i) {
    return out != v->returns ? v->r.max_send : out ? v->out_rows[i] : v->in_rows[i];
}

/* The rows of all leaves to or from the other ranks, a message a leaf. */
static int list_leaves(const moving *v, bool out, pithp_parcel *listed) {
    const int64_t *rows = out ? v->out_rows : v->in_rows;
    int64_t before = 0;
    int count = 0;
    for (int64_t i = 0; i < v->r.peers; before += extent_of(v, out, i++))
        for (int k = 0; rows[i] && !is_own(v, i) && k < v->count; k++) {
            const leaf *l = &v->leaves[k];
            char *data = out ? (char *)(uintptr_t)l->from : l->to;
            if (l->row)
                listed[count++] =
                    (pithp_parcel){v->r.peer[i], data + l->row * (size_t)before,
                                   l->row * (size_t)rows[i]};
        }
    return count;
}

static void pass_own_leaves(const moving *v) {
    int64_t out = 0, in = 0;
    for (int64_t i = 0; i < v->r.peers; i++) {
        for (int k = 0; is_own(v, i) && k < v->count; k++) {
            const leaf *l = &v->leaves[k];
            pithp_mover_copy(v->m, l->to + l->row * (size_t)in,
                             l->from + l->row * (size_t)out,
                             l->row * (size_t)v->out_rows[i]);
        }
        out += extent_of(v, true, i);
        in += extent_of(v, false, i);
    }
}

static void zero_rest(const moving *v) {
    int64_t used = 0;
    for (int64_t i = 0; i < v->r.peers; i++)
        used += v->in_rows[i];
    for (int k = 0; k < v->count; k++) {
        const leaf *l = &v->leaves[k];
        pithp_mover_zero(v->m, l->to + l->row * (size_t)used,
                         l->row * (size_t)(v->r.max_receive - used));
    }
}

static void meanwhile_on_device(void *closure) {
    const moving *v = closure;
    pass_own_leaves(v);
    if (!v->returns)
        zero_rest(v);
}

/* Wait for the numbers of the route, and move the rows of the leaves. */
static void exchange_on_device(moving *v) {
    take_parcels(v, v->r.max_peers * v->count);
    pithp_mover_route_numbers(v->m, &v->r, least_rows(v));
    if (!pithp_mover_runs(v->m) || !pithp_mover_route_check(v->m, &v->r))
        return;
    set_rows(v);
    pithp_mover_pass(v->m,
                     &(pithp_exchange){.sends = list_leaves(v, true, v->sends),
                                       .receives = list_leaves(v, false, v->receives),
                                       .send = v->sends,
                                       .receive = v->receives,
                                       .meanwhile = meanwhile_on_device,
                                       .closure = v});
}

/* x of leaf k in the rows of each slot. */
static void pack_on_device(const moving *v, int k, void *to) {
    static const pithp_index_params params = {.mode = PITHP_INDEX_DROP,
                                              .no_negative = true};
    const pith_spec *x = owned(v, k);
    const int64_t slots = slots_of(v);
    const pith_spec index = pithp_mover_spec(PITH_I32, 1, &slots),
                    packed = with_rows(x, slots);
    const pith_spec *specs[] = {x, &index};
    const void *operands[] = {pithp_mover_in(v->m, k), v->r.index};
    pithp_mover_apply(v->m, PITHP_OP_TAKE, 2, specs, operands, &params, &packed, to);
}

/* The leaves with memory for slots: of what is sent, or of what returns. */
static moving begin_on_device(pithp_mover *m) {
    moving v = moving_of(m);
    v.r = pithp_mover_route_on_device(m, least_rows(&v));
    for (int k = 0; k < v.count; k++) {
        const size_t row = row_bytes(owned(&v, k)), bytes = row * (size_t)slots_of(&v);
        char *slots = pithp_mover_take(m, bytes);
        if (v.leaves && v.returns)
            v.leaves[k] = (leaf){pithp_mover_in(m, k), slots, row, {slots, NULL, bytes}};
        else if (v.leaves)
            v.leaves[k] = (leaf){slots, pithp_mover_out(m, k), row, {.bytes = 0}};
        if (!v.returns)
            pack_on_device(&v, k, slots);
    }
    return v;
}

/* ---- By whom ---- */

void pithp_mover_route_send(pithp_mover *m) {
    if (!m->direct) {
        send_by_host(m);
        return;
    }
    moving v = begin_on_device(m);
    exchange_on_device(&v);
}

void pithp_mover_route_return(pithp_mover *m) {
    if (!m->direct) {
        return_by_host(m);
        return;
    }
    moving v = begin_on_device(m);
    exchange_on_device(&v);
    add_leaves(&v, v.r.index);
}
