/* Moving rows by a route: the rows of a rank are brought together for each other rank,
 * and one message to each has the rows of all leaves, leaf by leaf. Devices that are
 * connected pass the rows of each leaf on by themselves, in one group of messages. */
#include "base/in_flight.h"
#include "route/route_internal.h"

#include <inttypes.h>
#include <string.h>

/* The rows of one leaf, rank by rank: those that go, and those that come. */
typedef struct lane {
    const pith_array *out, *in;
    pithp_piece from, to;
    size_t row; /* bytes */
} lane;

/* Messages under way, to and from the ranks of the plan. */
typedef struct moving {
    pithp_transfer c;
    pithp_route_plan plan;
    bool returns;                      /* from receivers to senders */
    const int64_t *out_rows, *in_rows; /* to and from each rank */
    int64_t out_all, in_all;           /* their sums */
    const pith_array *rows;            /* that are sent: i32 [plan.all_sent] */
    int64_t beyond;                    /* number of rows that has them all */
    int64_t count;
    lane *lanes;
    uint64_t digest; /* of the leaves, equal on all ranks */
    bool in_place;   /* of one leaf, the arrays are the messages */
    void *room;      /* of parcels and messages */
    size_t room_bytes;
    pithp_parcel *out, *in;         /* of each rank */
    pithp_parcel *sends, *receives; /* without empty ones and those of this rank: one of
                                       each rank, direct: of each lane and rank */
} moving;

/* ---- Messages ---- */

/* Parts of a message are aligned. */
static size_t part(const lane *l, int64_t rows) {
    return (l->row * (size_t)rows + 15) & ~(size_t)15;
}

static size_t message_bytes(const moving *m, int64_t rows) {
    if (m->in_place)
        return m->lanes->row * (size_t)rows;
    size_t bytes = 0;
    for (int64_t i = 0; rows && i < m->count; i++)
        bytes += part(&m->lanes[i], rows);
    return bytes;
}

/* Lay out messages of these rows from `data` on; returns their end. */
static char *
lay_out(const moving *m, pithp_parcel *parcels, const int64_t *rows, char *data) {
    for (int64_t i = 0; i < m->plan.peers; i++) {
        const size_t bytes = message_bytes(m, rows[i]);
        parcels[i] = (pithp_parcel){m->plan.peer[i], data, bytes};
        data += bytes;
    }
    return data;
}

/* The parcels for other ranks. */
static int list(const moving *m, const pithp_parcel *parcels, pithp_parcel *listed) {
    int count = 0;
    for (int64_t i = 0; i < m->plan.peers; i++)
        if (parcels[i].bytes && parcels[i].peer != m->c.group->rank)
            listed[count++] = parcels[i];
    return count;
}

/* Whether messages are made of the lanes by the host. */
static bool packs(const moving *m) {
    return m->c.staged || pithp_scope_device(m->c.w)->backend->addressable;
}

static void make_parcels(moving *m) {
    const int64_t peers = m->plan.peers;
    const size_t lists = (size_t)peers * (size_t)(m->count > 1 ? m->count : 1);
    size_t bytes = 2 * ((size_t)peers + lists) * sizeof *m->out;
    if (!pithp_transfer_fine(&m->c))
        return;
    m->in_place = m->count == 1 || !packs(m);
    for (int64_t i = 0; i < peers && !m->in_place; i++)
        bytes += message_bytes(m, m->out_rows[i]) + message_bytes(m, m->in_rows[i]);
    m->room_bytes = bytes;
    if (!(m->room = pithp_transfer_room(&m->c, bytes)))
        return;
    m->out = m->room;
    m->in = m->out + peers;
    m->sends = m->in + peers;
    m->receives = m->sends + lists;
    char *messages = (char *)(m->receives + lists);
    if (!packs(m))
        return;
    messages =
        lay_out(m, m->out, m->out_rows, m->in_place ? m->lanes->from.data : messages);
    lay_out(m, m->in, m->in_rows, m->in_place ? m->lanes->to.data : messages);
}

/* Copy from the lanes to messages, or from messages to the lanes. */
static void copy_messages(const moving *m, bool pack) {
    const pithp_parcel *parcels = pack ? m->out : m->in;
    const int64_t *rows = pack ? m->out_rows : m->in_rows;
    int64_t before = 0;
    for (int64_t i = 0; i < m->plan.peers; before += rows[i++]) {
        char *message = parcels[i].data;
        for (int64_t k = 0; rows[i] && k < m->count; k++) {
            const lane *l = &m->lanes[k];
            const size_t at = l->row * (size_t)before, n = l->row * (size_t)rows[i];
            if (n && pack)
                memcpy(message, l->from.data + at, n);
            else if (n)
                memcpy(l->to.data + at, message, n);
            message += part(l, rows[i]);
        }
    }
}

static void copy_own(const moving *m) {
    for (int64_t i = 0; i < m->plan.peers; i++)
        if (m->out[i].peer == m->c.group->rank && m->out[i].bytes)
            memcpy(m->in[i].data, m->out[i].data, m->out[i].bytes);
}

/* Rows that do not come are zeros. */
static void clear_rest(const moving *m) {
    for (int64_t k = 0; k < m->count; k++) {
        const lane *l = &m->lanes[k];
        const size_t used = l->row * (size_t)m->in_all,
                     bytes = pithp_array_spec(l->in)->bytes;
        if (bytes > used)
            memset(l->to.data + used, 0, bytes - used);
    }
}

/* ---- Messages of devices ---- */

/* The rows of all lanes to or from the other ranks, a message a lane. */
static int list_lanes(const moving *m, bool out, pithp_parcel *listed) {
    const int64_t *rows = out ? m->out_rows : m->in_rows;
    int64_t before = 0;
    int count = 0;
    for (int64_t i = 0; i < m->plan.peers; before += rows[i++])
        for (int64_t k = 0; k < m->count && m->plan.peer[i] != m->c.group->rank; k++) {
            const lane *l = &m->lanes[k];
            char *data = out ? l->out->data : l->in->data;
            const size_t bytes = l->row * (size_t)rows[i];
            if (bytes)
                listed[count++] = (pithp_parcel){m->plan.peer[i],
                                                 data + l->row * (size_t)before, bytes};
        }
    return count;
}

/* The rows of this rank itself. */
static void copy_own_lanes(moving *m) {
    int64_t from = 0, to = 0;
    for (int64_t i = 0; i < m->plan.peers; from += m->out_rows[i], to += m->in_rows[i++])
        for (int64_t k = 0; k < m->count && m->plan.peer[i] == m->c.group->rank; k++) {
            const lane *l = &m->lanes[k];
            pithp_transfer_copy(&m->c, (char *)l->in->data + l->row * (size_t)to,
                                (const char *)l->out->data + l->row * (size_t)from,
                                l->row * (size_t)m->out_rows[i]);
        }
}

static void pass_lanes(moving *m) {
    pithp_transfer *c = &m->c;
    const int sends = list_lanes(m, true, m->sends),
              receives = list_lanes(m, false, m->receives);
    pithp_transfer_pass(c, &(pithp_exchange){.sends = sends,
                                             .receives = receives,
                                             .send = m->sends,
                                             .receive = m->receives});
    copy_own_lanes(m);
    for (int64_t k = 0; k < m->count; k++) {
        const lane *l = &m->lanes[k];
        const size_t used = l->row * (size_t)m->in_all;
        pithp_transfer_clear(c, (char *)l->in->data + used,
                             pithp_array_spec(l->in)->bytes - used);
    }
}

/* ---- A move ---- */

/* What this rank does while messages are under way. */
static void fill_in(void *closure) {
    copy_own(closure);
    clear_rest(closure);
}

static void pass_messages(moving *m) {
    const int sends = list(m, m->out, m->sends), receives = list(m, m->in, m->receives);
    pithp_transfer_pass(&m->c, &(pithp_exchange){.sends = sends,
                                                 .receives = receives,
                                                 .send = m->sends,
                                                 .receive = m->receives,
                                                 .meanwhile = fill_in,
                                                 .closure = m});
}

/* Move the rows of all lanes. False: error set, or the ranks do not agree. */
static bool exchange(moving *m) {
    pithp_transfer *c = &m->c;
    for (int64_t i = 0; i < m->count && pithp_transfer_fine(c); i++) {
        m->lanes[i].from = pithp_row_piece_of(c, m->lanes[i].out, true);
        m->lanes[i].to = pithp_row_piece_of(c, m->lanes[i].in, false);
    }
    make_parcels(m);
    if (pithp_transfer_fine(c) && !m->in_place && pithp_synchronise(c->w) == PITH_OK)
        copy_messages(m, true);
    const bool agreed = pithp_transfer_agree(c, m->digest);
    if (agreed) {
        if (c->direct)
            pass_lanes(m);
        else
            pass_messages(m);
        pithp_collective_end(c->w);
        if (!c->direct && !m->in_place)
            copy_messages(m, false);
    }
    for (int64_t i = 0; i < m->count && m->lanes; i++) {
        pithp_piece_free(c, &m->lanes[i].from);
        pithp_row_piece_store(c, &m->lanes[i].to);
    }
    return agreed && pithp_transfer_fine(c);
}

/* ---- Leaves ---- */

/* Read the route, and make lanes for this number of leaves. */
static void prepare(moving *m, const pith_route *route, int64_t count) {
    pithp_transfer *c = &m->c;
    pithp_route_plan *p = &m->plan;
    pithp_route_plan_read(c, p, route);
    m->rows = pithp_route_plan_rows(c, p, &m->beyond);
    if (!pithp_transfer_fine(c))
        return;
    m->out_rows = m->returns ? p->received : p->sent;
    m->in_rows = m->returns ? p->sent : p->received;
    m->out_all = m->returns ? p->all_received : p->all_sent;
    m->in_all = m->returns ? p->all_sent : p->all_received;
    m->lanes = pithp_scope_allocate(c->w, ((size_t)count + 1) * sizeof *m->lanes);
    if (!m->lanes)
        return;
    memset(m->lanes, 0, ((size_t)count + 1) * sizeof *m->lanes);
    m->count = count;
    m->digest = pithp_hash((uint64_t)count, p->need, 3 * sizeof *p->need);
    m->digest = pithp_hash(m->digest, &p->max_send, sizeof p->max_send);
    m->digest = pithp_hash(m->digest, &p->max_receive, sizeof p->max_receive);
}

/* A new array with a number of rows of a leaf. NULL: error set. */
static const pith_array *
make_like(pithp_transfer *c, const pith_array *leaf, int64_t rows) {
    int64_t shape[PITHP_MAX_RANK];
    const pith_spec *spec = pithp_array_spec(leaf);
    memcpy(shape, spec->shape, sizeof shape);
    shape[0] = rows;
    spec = pithp_spec(c->w, spec->dtype, spec->rank, shape);
    return spec ? pithp_array_make(c->w, spec) : NULL;
}

/* Check the leaf on the side of the owners, which has the rows of the route. Ranks agree
 * on its dtype and on the shape of a row. */
static void check_owned(moving *m, const pithp_structure *t, int64_t i, lane *l) {
    const pith_spec *spec = t->specs[i];
    pithp_transfer *c = &m->c;
    if (spec->rank == 0) {
        pithp_item_fail(c->w, t, i, PITH_E_SHAPE, "%s: a leaf of rank 0 has no rows",
                        c->function);
        return;
    }
    if (m->beyond > spec->shape[0]) {
        pithp_item_fail(c->w, t, i, PITH_E_INDEX,
                        "%s: the route has row %" PRId64 ", the leaf %" PRId64 " rows",
                        c->function, m->beyond - 1, spec->shape[0]);
        return;
    }
    l->row = pith_dtype_size(spec->dtype);
    for (int d = 1; d < spec->rank; d++)
        l->row *= (size_t)spec->shape[d];
    const int32_t kind[] = {(int32_t)spec->dtype, spec->rank};
    m->digest = pithp_hash(m->digest, kind, sizeof kind);
    if (spec->rank > 1)
        m->digest = pithp_hash(m->digest, spec->shape + 1,
                               (size_t)(spec->rank - 1) * sizeof *spec->shape);
}

/* A returned leaf has rows like those of the leaf that it is added to. */
static void
check_returned(moving *m, const pithp_structure *t, int64_t i, const pith_array *a) {
    pithp_transfer *c = &m->c;
    const pith_spec *into = t->specs[i], *spec = pithp_array_spec(a);
    char expected[PITHP_SPEC_TEXT_BYTES], got[PITHP_SPEC_TEXT_BYTES];
    pith_spec like = *into;
    like.shape[0] = m->plan.max_receive;
    if (into->dtype == PITH_BOOL)
        pithp_item_fail(c->w, t, i, PITH_E_DTYPE, "%s: rows of bool cannot be added",
                        c->function);
    else if (spec->dtype != into->dtype || spec->rank != into->rank ||
             memcmp(spec->shape, like.shape, (size_t)spec->rank * sizeof *spec->shape) !=
                 0)
        pithp_item_fail(c->w, t, i, PITH_E_SHAPE,
                        "%s: expected %s of the max_receive of the route, got %s",
                        c->function, pithp_spec_print(&like, expected),
                        pithp_spec_print(spec, got));
}

/* End a call: a tree like `like` of these leaves, in s; they are replaced. */
static const void *
leave(moving *m, const pithp_structure *t, const void *like, const pith_array **leaves) {
    pithp_transfer *c = &m->c;
    const void *made = NULL;
    pithp_route_plan_release(c, &m->plan);
    pithp_transfer_give_back(c, m->room, m->room_bytes);
    if (leaves && pithp_transfer_fine(c)) {
        for (int64_t i = 0; i < t->item_count; i++)
            leaves[i] = pithp_temporaries_keep(c->s, leaves[i]);
        if (c->s->error.code == PITH_OK)
            made = pithp_build(c->s, t, pithp_owner_of(like), leaves);
    }
    pithp_transfer_leave(c, NULL);
    return pith_failed(c->s) ? NULL : made;
}

/* Move the leaves of a function that is being recorded; into: they return, and are added
 * to those. The first ones are replaced. False: error set. */
static bool record(moving *m,
                   const pith_route *route,
                   const pithp_structure *t,
                   const pith_array **leaves,
                   const pith_array *const *into) {
    pithp_transfer *c = &m->c;
    if (!pithp_route_check(c, route, "route"))
        return false;
    m->plan.max_receive = route->max_receive;
    for (int64_t i = 0; i < t->item_count && pithp_transfer_fine(c); i++) {
        lane unused = {.row = 0};
        check_owned(m, t, i, &unused);
        if (into && pithp_transfer_fine(c))
            check_returned(m, t, i, leaves[i]);
    }
    return pithp_transfer_fine(c) &&
           pithp_route_record(c, route, t->item_count, leaves, into, leaves);
}

/* ---- To other ranks ---- */

/* The rows of each leaf that go, and room for those that come. */
static void take_rows(moving *m, const pithp_flat *f) {
    static const pith_take_options valid = {.mode = PITH_INDEX_PROMISE};
    pithp_transfer *c = &m->c;
    for (int64_t i = 0; i < m->count && pithp_transfer_fine(c); i++) {
        lane *l = &m->lanes[i];
        check_owned(m, &f->structure, i, l);
        if (!pithp_transfer_fine(c) ||
            pithp_array_check(c->w, f->items[i], c->function, "leaf") != PITH_OK)
            return;
        l->out = pith_take(c->w, f->items[i], m->rows, &valid);
        l->in = l->out ? make_like(c, f->items[i], m->plan.max_receive) : NULL;
    }
}

const void *pith_route_send(pith_scope *s, const pith_route *route, const void *tree) {
    static const char function[] = "pith_route_send";
    PITHP_IN_FLIGHT(s, function);
    moving m = {.returns = false};
    pithp_transfer *c = &m.c;
    pithp_flat f;
    if (!pithp_transfer_enter(c, s, function, NULL))
        return pithp_nil_for(tree);
    const bool flat = pithp_transfer_fine(c) &&
                      pithp_tree_check(c->w, tree, function, "tree") == PITH_OK &&
                      pithp_flat_make(c->w, &f, tree, NULL, NULL) == PITH_OK;
    bool moved = false;
    if (c->recorded) {
        moved = flat && record(&m, route, &f.structure, f.items, NULL);
    } else {
        prepare(&m, route, flat ? f.structure.item_count : 0);
        if (flat)
            take_rows(&m, &f);
        moved = exchange(&m);
        for (int64_t i = 0; moved && i < m.count; i++)
            f.items[i] = m.lanes[i].in;
    }
    const void *made =
        leave(&m, flat ? &f.structure : NULL, tree, moved ? f.items : NULL);
    if (flat)
        pithp_flat_end(&f);
    return made ? made : pithp_nil_for(tree);
}

/* ---- And back ---- */

static void pair_leaves(moving *m, const pithp_zip *zip) {
    pithp_transfer *c = &m->c;
    const pithp_structure *t = &zip->first.structure;
    const pith_array **returned = pithp_zip_items(zip, 1);
    for (int64_t i = 0; i < m->count && pithp_transfer_fine(c); i++) {
        lane *l = &m->lanes[i];
        check_owned(m, t, i, l);
        if (!pithp_transfer_fine(c))
            return;
        check_returned(m, t, i, returned[i]);
        if (!pithp_transfer_fine(c) ||
            pithp_array_check(c->w, zip->first.items[i], c->function, "into") !=
                PITH_OK ||
            pithp_array_check(c->w, returned[i], c->function, "tree") != PITH_OK)
            return;
        l->out = returned[i];
        l->in = make_like(c, returned[i], m->in_all);
    }
}

/* The leaves of the first tree with what has returned. False: error set. */
static bool add_rows(moving *m, const pithp_zip *zip) {
    static const pith_scatter_options valid = {.mode = PITH_INDEX_PROMISE};
    for (int64_t i = 0; i < m->count; i++) {
        const pith_array **leaf = &zip->first.items[i];
        if (!(*leaf = pith_scatter_add(m->c.w, *leaf, m->rows, m->lanes[i].in, &valid)))
            return false;
    }
    return true;
}

const void *pith_route_return(pith_scope *s,
                              const pith_route *route,
                              const void *tree,
                              const void *into) {
    static const char function[] = "pith_route_return";
    PITHP_IN_FLIGHT(s, function);
    moving m = {.returns = true};
    pithp_transfer *c = &m.c;
    pithp_zip zip;
    if (!pithp_transfer_enter(c, s, function, NULL))
        return pithp_nil_for(into);
    const pithp_trees trees = {
        .function = function, .count = 2, .at = (const void *[]){into, tree}};
    const bool zipped =
        pithp_transfer_fine(c) && pithp_zip_make(c->w, &zip, &trees) == PITH_OK;
    bool moved = false;
    if (c->recorded) {
        moved = zipped && record(&m, route, &zip.first.structure,
                                 pithp_zip_items(&zip, 1), zip.first.items);
        for (int64_t i = 0; moved && i < zip.first.structure.item_count; i++)
            zip.first.items[i] = pithp_zip_items(&zip, 1)[i];
    } else {
        prepare(&m, route, zipped ? zip.first.structure.item_count : 0);
        if (zipped)
            pair_leaves(&m, &zip);
        moved = exchange(&m) && add_rows(&m, &zip);
    }
    const void *made = leave(&m, zipped ? &zip.first.structure : NULL, into,
                             moved ? zip.first.items : NULL);
    if (zipped)
        pithp_zip_end(&zip);
    return made ? made : pithp_nil_for(into);
}
