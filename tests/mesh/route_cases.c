/* Cases of routes. Each rank knows what every rank sends, and finds what it must receive
 * one row after the other. */
#include "mesh/cases.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 200 };

/* What a rank has and sends. */
typedef struct given {
    int64_t rows, entries;
    int32_t row[MOST];
    int64_t to[MOST];
} given;

typedef enum kind {
    ANYWHERE,   /* each row to any rank, several or none */
    NEIGHBOURS, /* to the ranks beside this one, around */
    TO_ITSELF,  /* rows for this rank alone */
    TO_FIRST,   /* all rows to rank 0 */
    NO_RANK,    /* entries that do not count */
    EMPTY_ODDS, /* odd ranks have no rows */
    KINDS
} kind;

static uint64_t next(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* The same on every rank. */
static given give(kind k, uint64_t seed, int64_t rank, int64_t size) {
    given g = {.rows = 0};
    uint64_t state = seed * 7919 + (uint64_t)rank * 104729 + (uint64_t)k * 31 + 17;
    for (int i = 0; i < 8; i++)
        next(&state);
    g.rows = k == EMPTY_ODDS && rank % 2 ? 0 : 1 + (int64_t)(next(&state) % 40);
    if (g.rows)
        g.entries = (int64_t)(next(&state) % MOST);
    for (int64_t i = 0; i < g.entries; i++) {
        g.row[i] = (int32_t)(next(&state) % (uint64_t)g.rows);
        const int64_t any = (int64_t)(next(&state) % (uint64_t)(size + 2)) - 1;
        const int64_t side = next(&state) % 2 ? 1 : size - 1;
        g.to[i] = k == TO_ITSELF    ? rank
                  : k == TO_FIRST   ? 0
                  : k == NO_RANK    ? -1 - (int64_t)(next(&state) % 5)
                  : k == NEIGHBOURS ? (rank + side) % size
                                    : (any == size ? -7 : any);
        if (g.to[i] < 0) /* the row does not count either */
            g.row[i] = (int32_t)(next(&state) % 1000) - 500;
    }
    return g;
}

static const pith_route *make(mesh_test *t, const given *g, const pith_route *room) {
    const pith_array *rows =
        pith_array_copy(t->s, PITH_I32, PITH_SHAPE(g->entries), g->row);
    const pith_array *to = pith_array_copy(t->s, PITH_I64, PITH_SHAPE(g->entries), g->to);
    return pith_route_make(t->s, rows, to, NULL, room);
}

static pith_shape shape_of(int64_t rows, const pith_shape *row) {
    pith_shape shape = {.rank = row->rank + 1, .extents = {rows}};
    memcpy(shape.extents + 1, row->extents, (size_t)row->rank * sizeof *row->extents);
    return shape;
}

/* Row k of an array, as [1, ...]. */
static const pith_array *row_at(mesh_test *t, const pith_array *a, int64_t k) {
    return pith_slice_array(t->s, a, 1, &PITH_SLICE(k, k + 1, 1));
}

/* What this rank receives: the rows of rank 0, then those of rank 1, and so on. */
static const pith_array *expect(mesh_test *t,
                                kind k,
                                uint64_t seed,
                                pith_dtype dtype,
                                const pith_shape *row,
                                int64_t room) {
    const pith_array **parts = malloc((size_t)(MOST * t->size + 1) * sizeof *parts);
    int64_t count = 0;
    for (int64_t from = 0; from < t->size; from++) {
        const given g = give(k, seed, from, t->size);
        const pith_array *data = mesh_data(t, from, dtype, shape_of(g.rows, row));
        for (int64_t i = 0; i < g.entries; i++)
            if (g.to[i] == t->rank)
                parts[count++] = row_at(t, data, g.row[i]);
    }
    parts[count] = pith_zeros(t->s, dtype, shape_of(room - count, row));
    const pith_array *all = pith_concatenate(t->s, count + 1, parts, 0);
    free(parts);
    return all;
}

static const pith_shape row_shapes[] = {{0, {0}}, {1, {3}}, {2, {2, 2}}, {2, {0, 5}}};

#define EACH_DTYPE(dtype)                                                                \
    for (pith_dtype dtype = PITH_BOOL; dtype <= PITH_F64; dtype = (pith_dtype)(dtype + 1))

static void routes_send(mesh_test *t) {
    for (kind k = ANYWHERE; k < KINDS; k++)
        for (uint64_t seed = 1; seed <= 2; seed++) {
            const given g = give(k, seed, t->rank, t->size);
            const pith_route *route = make(t, &g, NULL);
            EACH_DTYPE(dtype)
            for (size_t n = 0; n < sizeof row_shapes / sizeof *row_shapes; n++) {
                if (dtype != PITH_F64 && n > 1)
                    continue;
                const pith_array *data =
                    mesh_data(t, t->rank, dtype, shape_of(g.rows, &row_shapes[n]));
                MESH_CHECK(t, mesh_equal(t, pith_route_send(t->s, route, data),
                                         expect(t, k, seed, dtype, &row_shapes[n],
                                                route->max_receive)));
            }
        }
}

/* The same with room to spare. The needs are the same on all ranks. */
static void routes_with_room(mesh_test *t) {
    const given g = give(ANYWHERE, 5, t->rank, t->size);
    const pith_route *room = pith_route_room(t->s, 20, 400, 3000);
    const pith_route *tight = make(t, &g, NULL), *roomy = make(t, &g, room);
    const pith_shape row = {1, {2}};
    const pith_array *data = mesh_data(t, t->rank, PITH_F32, shape_of(g.rows, &row));
    MESH_CHECK(t, roomy->max_peers == 20 && roomy->max_send == 400 &&
                      roomy->max_receive == 3000);
    MESH_CHECK(t, mesh_equal(t, roomy->need, tight->need));
    MESH_CHECK(t, mesh_equal(t, roomy->need, pith_pmax(t->s, roomy->need, NULL)));
    MESH_CHECK(t, mesh_equal(t, pith_route_send(t->s, roomy, data),
                             expect(t, ANYWHERE, 5, PITH_F32, &row, 3000)));
}

typedef struct Some {
    const pith_array *position, *charge;
    const pith_list *others;
    const pith_array *flag;
} Some;
PITH_NODE(Some,
          PITH_LEAF(position, "float[n,3]"),
          PITH_LEAF(charge, "i16[n]"),
          PITH_LIST(others, Some),
          PITH_LEAF(flag, "bool[n,2]", .optional = true))

/* Trees of several dtypes move in one message; a tree without leaves moves nothing. */
static void routes_of_trees(mesh_test *t) {
    static const pith_shape three = {1, {3}}, none = {0, {0}}, two = {1, {2}};
    const kind k = NEIGHBOURS;
    const given g = give(k, 3, t->rank, t->size);
    const pith_route *route = make(t, &g, NULL);
    const Some inner = {
        .position = mesh_data(t, t->rank, PITH_F32, shape_of(g.rows, &three)),
        .charge = mesh_data(t, t->rank, PITH_I16, shape_of(g.rows, &none)),
        .others = pith_list_make(t->s, 0, NULL)};
    const void *items[] = {pith_freeze(t->s, Some, &inner)};
    Some outer = inner;
    outer.others = pith_list_make(t->s, 1, items);
    outer.flag = mesh_data(t, t->rank, PITH_BOOL, shape_of(g.rows, &two));
    const Some *sent = pith_route_send(t->s, route, pith_freeze(t->s, Some, &outer));
    const int64_t room = route->max_receive;
    const pith_array *x = expect(t, k, 3, PITH_F32, &three, room),
                     *q = expect(t, k, 3, PITH_I16, &none, room);
    MESH_CHECK(t, mesh_equal(t, sent->position, x) && mesh_equal(t, sent->charge, q));
    MESH_CHECK(t, mesh_equal(t, sent->flag, expect(t, k, 3, PITH_BOOL, &two, room)));
    const Some *deep = pith_child(sent->others, 0);
    MESH_CHECK(t, mesh_equal(t, deep->position, x) && mesh_equal(t, deep->charge, q) &&
                      !deep->flag);
    const void *nothing = pith_tuple_make(t->s, 0, NULL);
    MESH_CHECK(t, pith_tree_equal(t->s, pith_route_send(t->s, route, nothing), nothing));
    const pith_dict *dict =
        pith_dict_make(t->s, 1, (const char *[]){"q"}, (const void *[]){inner.charge});
    const void *back = pith_route_send(t->s, route, dict);
    MESH_CHECK(t, mesh_equal(t, pith_dict_get(back, "q"), q));
}

/* What returns to this rank is added one row after the other. */
static const pith_array *expect_back(mesh_test *t,
                                     kind k,
                                     uint64_t seed,
                                     pith_dtype dtype,
                                     const pith_shape *row,
                                     int64_t room,
                                     const pith_array *into) {
    const given own = give(k, seed, t->rank, t->size);
    for (int64_t to = 0; to < t->size; to++) {
        const pith_array *held = mesh_data(t, to + 50, dtype, shape_of(room, row));
        int64_t place = 0; /* of the rows of this rank among those that `to` received */
        for (int64_t from = 0; from < t->rank; from++) {
            const given g = give(k, seed, from, t->size);
            for (int64_t i = 0; i < g.entries; i++)
                place += g.to[i] == to;
        }
        for (int64_t i = 0; i < own.entries; i++) {
            if (own.to[i] != to)
                continue;
            const int64_t r = own.row[i];
            const pith_array *parts[] = {
                pith_slice_array(t->s, into, 1, &PITH_SLICE(0, r, 1)),
                pith_add(t->s, row_at(t, into, r), row_at(t, held, place++)),
                pith_slice_array(t->s, into, 1, &PITH_SLICE(r + 1, INT64_MAX, 1))};
            into = pith_concatenate(t->s, 3, parts, 0);
        }
    }
    return into;
}

static void routes_return(mesh_test *t) {
    static const pith_dtype dtypes[] = {PITH_I8,   PITH_U32, PITH_I64, PITH_F16,
                                        PITH_BF16, PITH_F32, PITH_F64};
    const uint64_t seed = 4;
    for (kind k = ANYWHERE; k < KINDS; k++) {
        const given g = give(k, seed, t->rank, t->size);
        const pith_route *route = make(t, &g, NULL);
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
            for (size_t n = 0; n < 2; n++) {
                const pith_shape *row = &row_shapes[n];
                const int64_t room = route->max_receive;
                const pith_array *into =
                    mesh_data(t, t->rank, dtypes[d], shape_of(g.rows, row));
                const pith_array *held =
                    mesh_data(t, t->rank + 50, dtypes[d], shape_of(room, row));
                MESH_CHECK(
                    t, mesh_equal(t, pith_route_return(t->s, route, held, into),
                                  expect_back(t, k, seed, dtypes[d], row, room, into)));
            }
    }
}

static const pith_array *dot(mesh_test *t, const pith_array *a, const pith_array *b) {
    return pith_psum(t->s, pith_sum(t->s, pith_mul(t->s, a, b), PITH_ALL_AXES), NULL,
                     NULL);
}

/* <send(a), b> over all ranks is <a, return(b, 0)>, in integers; of two leaves. */
static void routes_and_back(mesh_test *t) {
    for (uint64_t seed = 10; seed < 14; seed++) {
        const given g = give(ANYWHERE, seed, t->rank, t->size);
        const pith_route *route = make(t, &g, NULL);
        const int64_t n = g.rows, room = route->max_receive;
        const pith_array *a = mesh_data(t, t->rank, PITH_I64, PITH_SHAPE(n, 3));
        const pith_array *b = mesh_data(t, t->rank + 9, PITH_I64, PITH_SHAPE(room, 3));
        const void *pair = pith_tuple_make(t->s, 2, (const void *[]){a, a});
        const void *other = pith_tuple_make(t->s, 2, (const void *[]){b, b});
        const void *zeros = pith_tree_zeros_like(t->s, pair);
        const pith_array *wide =
            pith_tree_at(t->s, pith_route_send(t->s, route, pair), "[1]");
        const pith_array *back =
            pith_tree_at(t->s, pith_route_return(t->s, route, other, zeros), "[0]");
        MESH_CHECK(t, mesh_equal(t, dot(t, wide, b), dot(t, a, back)));
    }
}

/* Ranks along one of two axes, and along both in another order. */
static void routes_along_axes(mesh_test *t) {
    if (t->size % 2)
        return;
    const int64_t half = t->size / 2, x = t->rank / half, y = t->rank % half;
    MESH_CHECK(t, pith_mesh_open(t->s, PITH_MESH_AXES({"x", 2}, {"y", 0}), NULL));
    const pith_array *number = pith_array_copy(t->s, PITH_I64, PITH_SHAPE(1), &t->rank);
    const pith_array *row = pith_zeros(t->s, PITH_I64, PITH_SHAPE(1));
    /* around along y */
    const int64_t next_y = (y + 1) % half;
    const pith_array *to = pith_array_copy(t->s, PITH_I64, PITH_SHAPE(1), &next_y);
    const pith_array *got =
        pith_route_send(t->s, pith_route_make(t->s, row, to, "y", NULL), number);
    MESH_CHECK(t, pith_array_spec(got)->count == 1 &&
                      pith_read_i64(t->s, pith_reshape(t->s, got, PITH_SCALAR)) ==
                          x * half + (y + half - 1) % half);
    /* "y,x": rank 2 y + x along them, y slowest */
    const int64_t turned = 2 * next_y + 1 - x;
    to = pith_array_copy(t->s, PITH_I64, PITH_SHAPE(1), &turned);
    got = pith_route_send(t->s, pith_route_make(t->s, row, to, "y,x", NULL), number);
    MESH_CHECK(t, pith_read_i64(t->s, pith_reshape(t->s, got, PITH_SCALAR)) ==
                      (1 - x) * half + (y + half - 1) % half);
    const int64_t far = half;
    to = pith_array_copy(t->s, PITH_I64, PITH_SHAPE(1), &far);
    pith_route_make(t->s, row, to, "y", NULL);
    MESH_CHECK(t, mesh_fails(t, PITH_E_INDEX,
                             "pith_route_make: to: entry 0: row 0 goes to rank"));
}

/* ---- Capacities ---- */

typedef struct Owner {
    const pith_array *data, *got;
    const pith_route *route;
    bool states_need;
} Owner;
PITH_NODE(Owner,
          PITH_LEAF(data, "i64[n]"),
          PITH_LEAF(got, "i64[]"),
          PITH_CHILD(route, pith_route),
          PITH_STATIC(states_need))

static const Owner *send_around(pith_scope *s, const Owner *in) {
    const int64_t n = pith_array_spec(in->data)->count, size = pith_axis_size(s, NULL);
    Owner next = *in;
    next.route = pith_route_make(
        s, pith_arange(s, PITH_I64, n),
        pith_remainder(s,
                       pith_add(s, pith_arange(s, PITH_I64, n),
                                pith_cast(s, pith_axis_index(s, NULL), PITH_I64)),
                       pith_i64(s, size)),
        NULL, in->route);
    if (in->states_need)
        pith_route_require(s, next.route, PITH_LENS(Owner, route), 2.0);
    const pith_array *rows = pith_route_send(s, next.route, in->data);
    /* sees the order of rows, but not how much room follows them */
    const pith_array *place = pith_arange(s, PITH_I64, next.route->max_receive);
    next.got = pith_sum(s, pith_mul(s, rows, pith_add(s, place, 1)), PITH_ALL_AXES);
    return pith_freeze(s, Owner, &next);
}
PITH_FUNCTION1(send_around_step, send_around, Owner, Owner)

/* Reports of growth, and of anything else. */
typedef struct reports {
    int grown, others;
} reports;

static void see_growth(pith_scope *s, const pith_repair *r, void *closure) {
    const Owner *before = r->before, *after = r->after;
    reports *seen = closure;
    (void)s;
    if (after->route->max_receive > before->route->max_receive)
        seen->grown++;
    else
        seen->others++;
}

static void routes_grow(mesh_test *t) {
    const int64_t rows = 100; /* compiled functions have equal shapes on all ranks */
    const pith_route *room = pith_route_room(t->s, 1, 1, 1);
    Owner first = {.data = mesh_data(t, t->rank, PITH_I64, PITH_SHAPE(rows)),
                   .got = pith_i64(t->s, 0),
                   .route = room,
                   .states_need = true};
    const Owner *start = pith_freeze(t->s, Owner, &first);
    reports seen = {0};
    const Owner *end = pith_propagate(
        t->s, Owner, &send_around_step, start,
        &(pith_propagate_options){.repaired = see_growth, .closure = &seen});
    MESH_CHECK(t, seen.grown == (t->rank == 0) && seen.others == 0);
    int64_t need[3] = {0};
    pith_read(t->s, end->route->need, need, sizeof need);
    MESH_CHECK(t, end->route->max_peers >= t->size && need[0] == t->size);
    MESH_CHECK(t, end->route->max_receive >= need[2] && need[2] >= 100);
    /* with ample room: the same rows */
    Owner ample = first;
    ample.route = pith_route_room(t->s, 64, 1000, 2000);
    const Owner *same = pith_propagate(t->s, Owner, &send_around_step,
                                       pith_freeze(t->s, Owner, &ample), NULL);
    MESH_CHECK(t, mesh_equal(t, same->got, end->got));
    /* recorded: the same rows, and growth */
    const pith_function *compiled = pith_jit(t->s, &send_around_step, NULL);
    same = pith_propagate(t->s, Owner, compiled, start, NULL);
    MESH_CHECK(t, mesh_equal(t, same->got, end->got));
    MESH_CHECK(t, pith_tree_equal(t->s, same->route, end->route));
    /* a step that does not state its need fails */
    first.states_need = false;
    pith_propagate(t->s, Owner, &send_around_step, pith_freeze(t->s, Owner, &first),
                   NULL);
    MESH_CHECK(t,
               mesh_fails(t, PITH_E_CAPACITY,
                          "the room of a route is too small: it has max_peers, max_send "
                          "and max_receive of 1, 1, 1"));
    /* and so does a call without a collector, by its next wait */
    const pith_route *route = send_around(t->s, start)->route;
    (void)route;
    pith_read(t->s, first.data, &(int64_t[200]){0}, (size_t)rows * sizeof(int64_t));
    MESH_CHECK(t, mesh_fails(t, PITH_E_CAPACITY, "route"));
}

/* ---- Compiled functions ---- */

static const void *there_and_back(pith_scope *s, const void *r, const void *x) {
    return pith_route_return(s, r, pith_route_send(s, r, x), x);
}
PITH_FUNCTION2(there_and_back_of, there_and_back, void, void, void)
static const void *there(pith_scope *s, const void *r, const void *x) {
    return pith_route_send(s, r, x);
}
PITH_FUNCTION2(there_of, there, void, void, void)

/* The same bits as eager calls. */
static void recorded_routes(mesh_test *t) {
    static const pith_shape three = {1, {3}}, none = {0, {0}};
    const pith_route *room = pith_route_room(t->s, 8, 200, 1600);
    for (kind k = ANYWHERE; k < KINDS; k++) {
        given g = give(k, 7, t->rank, t->size);
        g.rows = 40; /* compiled functions have equal shapes on all ranks */
        const pith_route *route = make(t, &g, room);
        Some some = {.position = mesh_data(t, t->rank, PITH_F32, shape_of(40, &three)),
                     .charge = mesh_data(t, t->rank, PITH_I16, shape_of(40, &none)),
                     .others = pith_list_make(t->s, 0, NULL)};
        const void *items[] = {pith_freeze(t->s, Some, &some)};
        some.others = pith_list_make(t->s, 1, items);
        some.position = pith_mul(t->s, some.position, 3);
        const Some *x = pith_freeze(t->s, Some, &some);
        const Some *sent = pith_apply(t->s, pith_jit(t->s, &there_of, NULL), route, x);
        const Some *back =
            pith_apply(t->s, pith_jit(t->s, &there_and_back_of, NULL), route, x);
        MESH_CHECK(t, pith_tree_equal(t->s, sent, pith_route_send(t->s, route, x)));
        MESH_CHECK(t, pith_tree_equal(t->s, back, there_and_back(t->s, route, x)));
    }
    /* what an eager call refuses is a failed check */
    Owner owner = {.data = pith_zeros(t->s, PITH_I64, PITH_SHAPE(3)),
                   .got = pith_i64(t->s, 0),
                   .route = room};
    owner.states_need = false;
    const Owner *one = pith_apply(t->s, pith_jit(t->s, &send_around_step, NULL),
                                  pith_freeze(t->s, Owner, &owner));
    MESH_CHECK(t, pith_read_i64(t->s, one->got) == 0);
}

/* Leaves with more rows than a route has slots. The same bits, also of zeros. Rows go to
 * the next two ranks and this one. */
static const pith_route *route_of_few(mesh_test *t, int64_t rows) {
    const int32_t row[] = {(int32_t)rows - 1, 0, 0, 7};
    const int64_t to[] = {(t->rank + 1) % t->size, (t->rank + 1) % t->size, t->rank,
                          (t->rank + 2) % t->size};
    return pith_route_make(t->s, pith_array_copy(t->s, PITH_I32, PITH_SHAPE(4), row),
                           pith_array_copy(t->s, PITH_I64, PITH_SHAPE(4), to), NULL,
                           pith_route_room(t->s, 5, 5, 12));
}

static const pith_array *
pull(pith_scope *s, const pith_array *x, const pith_array *y, const pith_route *r) {
    const void *pair = pith_tuple_make(s, 2, (const void *[]){x, pith_mul(s, y, y)});
    const void *back = pith_route_return(s, r, pith_route_send(s, r, pair), pair);
    const pith_array *both =
        pith_mul(s, pith_tree_at(s, back, "[0]"), pith_tree_at(s, back, "[1]"));
    return pith_psum(s, pith_sum(s, both, PITH_ALL_AXES), NULL, NULL);
}
PITH_FUNCTION3(pull_of, pull, pith_array, pith_array, pith_array, pith_route)

static void recorded_rows_of_slots(mesh_test *t) {
    static const pith_shape three = {1, {3}}, none = {0, {0}};
    const int64_t n = 50;
    const pith_route *route = route_of_few(t, n);
    static const pith_dtype dtypes[] = {PITH_I8, PITH_F16, PITH_F32, PITH_F64};
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
        Some some = {.position = mesh_data(t, t->rank, PITH_F32, shape_of(n, &three)),
                     .charge = mesh_data(t, t->rank, PITH_I16, shape_of(n, &none)),
                     .others = pith_list_make(t->s, 0, NULL)};
        const void *items[] = {pith_freeze(t->s, Some, &some)};
        some.others = pith_list_make(t->s, 1, items);
        const pith_array *a = mesh_data(t, t->rank, dtypes[d], shape_of(n, &three)),
                         *zeros = pith_zeros(t->s, dtypes[d], shape_of(n, &none));
        const void *leaves[] = {a, pith_freeze(t->s, Some, &some), pith_neg(t->s, zeros)};
        const void *x = pith_tuple_make(t->s, 3, leaves);
        const void *sent = pith_apply(t->s, pith_jit(t->s, &there_of, NULL), route, x),
                   *back = pith_apply(t->s, pith_jit(t->s, &there_and_back_of, NULL),
                                      route, x);
        MESH_CHECK(t, pith_tree_equal(t->s, sent, pith_route_send(t->s, route, x)));
        MESH_CHECK(t,
                   pith_tree_equal(t->s, back, pith_route_return(t->s, route, sent, x)));
        MESH_CHECK(t,
                   mesh_equal(t, pith_tree_at(t->s, back, "[2]"),
                              pith_tree_at(t->s, pith_route_return(t->s, route, sent, x),
                                           "[2]")));
    }
    const pith_array *x = mesh_data(t, t->rank, PITH_F64, shape_of(n, &three)),
                     *y = mesh_data(t, t->rank + 9, PITH_F64, shape_of(n, &three));
    const pith_array *of_ranks =
        pith_apply(t->s, pith_grad(t->s, &pull_of, NULL), x, y, route);
    /* of x0 + R x0, times the other: y0 y0 + R y0 y0, plus R of that; R is symmetric */
    const pith_array *y2 = pith_mul(t->s, y, y);
    const pith_array *other =
        pith_route_return(t->s, route, pith_route_send(t->s, route, y2), y2);
    const pith_array *expected =
        pith_route_return(t->s, route, pith_route_send(t->s, route, other), other);
    const pith_array *rest = pith_abs(t->s, pith_sub(t->s, of_ranks, expected));
    MESH_CHECK(t,
               pith_read_f64(t->s, pith_max(t->s, rest, PITH_ALL_AXES)) <=
                   1e-12 * pith_read_f64(t->s, pith_max(t->s, expected, PITH_ALL_AXES)));
}

/* ---- Derivatives and batches ---- */

/* The squares of rows that were sent, back and added to the rows; times weights. */
static const pith_array *
weigh(pith_scope *s, const pith_array *x, const pith_array *w, const pith_route *r) {
    const pith_array *sent = pith_route_send(s, r, x);
    const pith_array *back = pith_route_return(s, r, pith_mul(s, sent, sent), x);
    return pith_psum(s, pith_sum(s, pith_mul(s, w, back), PITH_ALL_AXES), NULL, NULL);
}
PITH_FUNCTION3(weigh_of, weigh, pith_array, pith_array, pith_array, pith_route)

/* Sending and returning are each other's transpose. */
static void derived_routes(mesh_test *t) {
    static const pith_shape three = {1, {3}};
    const pith_route *room = pith_route_room(t->s, 8, 200, 1600);
    for (kind k = ANYWHERE; k < KINDS; k++) {
        given g = give(k, 11, t->rank, t->size);
        g.rows = 40;
        const pith_route *route = make(t, &g, room);
        const pith_array *x = mesh_data(t, t->rank, PITH_F64, shape_of(40, &three)),
                         *w = mesh_data(t, t->rank + 9, PITH_F64, shape_of(40, &three));
        const pith_array *sent = pith_route_send(t->s, route, x);
        const pith_array *pulled =
            pith_mul(t->s, pith_mul(t->s, sent, 2), pith_route_send(t->s, route, w));
        const pith_array *expected = pith_route_return(t->s, route, pulled, w);
        const pith_array *gradient =
            pith_apply(t->s, pith_grad(t->s, &weigh_of, NULL), x, w, route);
        const pith_array *rest = pith_abs(t->s, pith_sub(t->s, gradient, expected));
        const double most = pith_read_f64(t->s, pith_max(t->s, rest, PITH_ALL_AXES));
        const double large =
            pith_read_f64(t->s, pith_max(t->s, pith_abs(t->s, expected), PITH_ALL_AXES));
        MESH_CHECK(t, !pith_failed(t->s) && large > 0 && most <= 1e-13 * large);
    }
}

static const pith_array *
send_rows(pith_scope *s, const pith_array *x, const pith_route *r) {
    return pith_route_send(s, r, x);
}
PITH_FUNCTION2(send_rows_of, send_rows, pith_array, pith_array, pith_route)

/* A batch of arrays by one route, entry by entry. */
static void batched_routes(mesh_test *t) {
    given g = give(ANYWHERE, 13, t->rank, t->size);
    g.rows = 40;
    const pith_route *route = make(t, &g, NULL);
    const pith_array *x = mesh_data(t, t->rank, PITH_F64, PITH_SHAPE(4, 40, 3));
    const pith_function *batched =
        pith_vmap(t->s, &send_rows_of,
                  &(pith_vmap_options){.in = PITH_MAPPED({"[1]", PITH_NOT_MAPPED})});
    const pith_array *sent = pith_apply(t->s, batched, x, route);
    for (int64_t k = 0; k < 4 && !pith_failed(t->s); k++) {
        const pith_array *entry = pith_reshape(t->s, row_at(t, x, k), PITH_SHAPE(40, 3));
        const pith_array *alone = pith_route_send(t->s, route, entry);
        const pith_array *of_batch =
            pith_reshape(t->s, row_at(t, sent, k), PITH_SHAPE(route->max_receive, 3));
        MESH_CHECK(t, mesh_equal(t, of_batch, alone));
    }
    MESH_CHECK(t, !pith_failed(t->s));
}

const mesh_case mesh_route_cases[] = {
    {"routes_send", routes_send},
    {"routes_with_room", routes_with_room},
    {"routes_of_trees", routes_of_trees},
    {"routes_return", routes_return},
    {"routes_and_back", routes_and_back},
    {"routes_along_axes", routes_along_axes},
    {"routes_grow", routes_grow},
    {"recorded_routes", recorded_routes},
    {"recorded_rows_of_slots", recorded_rows_of_slots},
    {"derived_routes", derived_routes},
    {"batched_routes", batched_routes},
    {NULL, NULL},
};
