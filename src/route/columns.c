/* Several leaves by a route in a function that is recorded. Those of one dtype and number
 * of rows move as columns of one array, which is one message to each rank.
 *
 * Mostly few rows travel, ghosts for example, and a route has fewer slots than a leaf has
 * rows. Then the columns are made of the rows of the slots alone, and move by a route
 * that sends them: what travels is the same. */
#include "route/route_internal.h"

#include <string.h>

/* Elements of a row. */
static int64_t width_of(const pith_spec *spec) {
    int64_t width = 1;
    for (int d = 1; d < spec->rank; d++)
        width *= spec->shape[d];
    return width;
}

/* Leaves of one dtype with one number of rows. */
typedef struct columns {
    int64_t count, width, rows;
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
    g->rows = first->shape[0];
    for (int64_t k = i; k < count; k++) {
        const pith_spec *spec = pithp_array_spec(owned[k]);
        if (done[k] || spec->dtype != first->dtype || spec->shape[0] != first->shape[0])
            continue;
        done[k] = true;
        g->leaf[g->count] = k;
        g->end[g->count++] = g->width += width_of(spec);
    }
}

/* The leaves of a group side by side; rows: those rows of each, or NULL. NULL: error set.
 */
static const pith_array *join(pithp_transfer *c,
                              columns *g,
                              const pith_array *const *leaves,
                              const pith_array *rows) {
    static const pith_take_options clip = {.mode = PITH_INDEX_CLIP};
    for (int64_t k = 0; k < g->count; k++) {
        const pith_array *leaf = leaves[g->leaf[k]];
        const pith_spec *spec = pithp_array_spec(leaf);
        leaf = pith_reshape(c->w, leaf, PITH_SHAPE(spec->shape[0], width_of(spec)));
        if (!(g->parts[k] = rows && leaf ? pith_take(c->w, leaf, rows, &clip) : leaf))
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

/* ---- Whole leaves ---- */

static void move_columns(pithp_transfer *c,
                         const pith_route *r,
                         columns *g,
                         const pith_array *const *leaves,
                         const pith_array *const *into,
                         const pith_array **to) {
    const pith_array *all = join(c, g, leaves, NULL),
                     *base = into && all ? join(c, g, into, NULL) : NULL;
    all = all && (base || !into) ? pithp_route_record_one(c, r, all, base) : NULL;
    part_columns(c, g, all, into ? into : leaves, to);
}

/* ---- Rows of the slots ---- */

/* The slots of the list `send` of a route. */
typedef struct slots {
    int64_t count;
    const pith_array *rows; /* i32 [count]: the row of each slot; the leaf has none:
                               beyond its end */
    pith_route route;       /* of rows by slots */
} slots;

static int64_t slots_of(const pith_route *r) {
    int64_t count = 0;
    return __builtin_mul_overflow(r->max_peers, r->max_send, &count) ? INT64_MAX : count;
}

/* Of leaves with more rows than there are slots. A slot in use whose row no leaf has
 * keeps the number of the row, which is that of no slot: sending refuses it. */
static bool find_slots(pithp_transfer *c, const pith_route *r, int64_t rows, slots *t) {
    t->count = slots_of(r);
    t->route = *r;
    const pith_array *send = pith_reshape(c->w, r->send, PITH_SHAPE(t->count)),
                     *numbers = pith_arange(c->w, PITH_I32, t->count),
                     *end = pith_full(c->w, PITH_I32, PITH_SCALAR, (double)rows);
    const pith_array *fits = pith_logical_and(c->w, pith_greater_equal(c->w, send, 0),
                                              pith_less(c->w, send, end));
    t->rows = pith_where(c->w, fits, send, end);
    t->route.send = pith_reshape(c->w, pith_where(c->w, fits, numbers, send),
                                 PITH_SHAPE(r->max_peers, r->max_send));
    return pithp_transfer_fine(c);
}

static void send_slots(pithp_transfer *c,
                       const pith_route *r,
                       columns *g,
                       const pith_array *const *leaves,
                       const pith_array **to) {
    slots t;
    if (!find_slots(c, r, g->rows, &t))
        return;
    const pith_array *all = join(c, g, leaves, t.rows);
    all = all ? pithp_route_record_one(c, &t.route, all, NULL) : NULL;
    part_columns(c, g, all, leaves, to);
}

/* Rows that return come by slots, added to what changes no number: -0. */
static void return_slots(pithp_transfer *c,
                         const pith_route *r,
                         columns *g,
                         const pith_array *const *leaves,
                         const pith_array *const *into,
                         const pith_array **to) {
    static const pith_scatter_options drop = {.mode = PITH_INDEX_DROP};
    slots t;
    if (!find_slots(c, r, g->rows, &t))
        return;
    const pith_dtype dtype = pithp_array_spec(into[g->leaf[0]])->dtype;
    const double nothing = pith_dtype_is_float(dtype) ? -0.0 : 0;
    const pith_array *base =
        pith_full(c->w, dtype, PITH_SHAPE(t.count, g->width), nothing);
    const pith_array *all = join(c, g, leaves, NULL);
    all = all && base ? pithp_route_record_one(c, &t.route, all, base) : NULL;
    const bool parted = part_columns(c, g, all, into, to);
    for (int64_t k = 0; parted && k < g->count; k++)
        to[g->leaf[k]] =
            pith_scatter_add(c->w, into[g->leaf[k]], t.rows, to[g->leaf[k]], &drop);
}

/* ---- Any leaves ---- */

static void move_group(pithp_transfer *c,
                       const pith_route *r,
                       columns *g,
                       const pith_array *const *leaves,
                       const pith_array *const *into,
                       const pith_array **to) {
    const int64_t i = g->leaf[0];
    if (g->count == 1)
        to[i] = pithp_route_record_one(c, r, leaves[i], into ? into[i] : NULL);
    else if (slots_of(r) >= g->rows || g->rows > INT32_MAX)
        move_columns(c, r, g, leaves, into, to);
    else if (into)
        return_slots(c, r, g, leaves, into, to);
    else
        send_slots(c, r, g, leaves, to);
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
        move_group(c, r, &g, leaves, into, to);
    }
    return pithp_transfer_fine(c);
}
