/* Cases of routes that are refused: wrong arguments, routes that a user has changed,
 * ranks that differ. */
#include "mesh/cases.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static void wrong_routes(mesh_test *t) {
    const pith_array *two = pith_zeros(t->s, PITH_I32, PITH_SHAPE(2)),
                     *far = pith_full(t->s, PITH_I32, PITH_SHAPE(2), (double)t->size),
                     *minus = pith_full(t->s, PITH_I32, PITH_SHAPE(2), -3);
    char text[100];
    pith_route_make(t->s, two, far, "x", NULL);
    snprintf(text, sizeof text,
             "to: entry 0: row 0 goes to rank %d, expected less than the %d along x",
             (int)t->size, (int)t->size);
    MESH_CHECK(t, mesh_fails(t, PITH_E_INDEX, text));
    pith_route_make(t->s, minus, two, "x", NULL);
    MESH_CHECK(
        t, mesh_fails(t, PITH_E_INDEX, "rows: entry 0 is -3, expected 0 to 2147483646"));
    /* as i64 they would be negative, and go nowhere */
    pith_route_make(t->s, two, pith_full(t->s, PITH_U64, PITH_SHAPE(2), 0x1p63), "x",
                    NULL);
    MESH_CHECK(t, mesh_fails(t, PITH_E_INDEX, "to: entry 0: row 0 goes to rank 46"));
    pith_route_make(t->s, two, pith_zeros(t->s, PITH_I32, PITH_SHAPE(3)), "x", NULL);
    MESH_CHECK(t, mesh_fails(t, PITH_E_SHAPE, "2 rows, but 3 ranks that they go to"));
    pith_route_make(t->s, pith_zeros(t->s, PITH_F32, PITH_SHAPE(2)), two, "x", NULL);
    MESH_CHECK(t, mesh_fails(t, PITH_E_DTYPE, "rows: expected integers, got f32[2]"));
    pith_route_make(t->s, two, pith_i32(t->s, 1), "x", NULL);
    MESH_CHECK(t, mesh_fails(t, PITH_E_SHAPE, "to: expected a list, got i32"));
    pith_route_make(t->s, NULL, two, "x", NULL);
    MESH_CHECK(t, mesh_fails(t, PITH_E_ARG, "pith_route_make: rows"));
    pith_route_make(t->s, two, two, "q", NULL);
    MESH_CHECK(t, mesh_fails(t, PITH_E_ARG, "no such axis"));
    pith_route_send(t->s, NULL, two);
    MESH_CHECK(t, mesh_fails(t, PITH_E_ARG, "pith_route_send: route"));
    pith_route_room(t->s, 2, -1, 4);
    MESH_CHECK(t, mesh_fails(t, PITH_E_SHAPE, "max_send"));

    const pith_array *self = pith_full(t->s, PITH_I32, PITH_SHAPE(1), (double)t->rank);
    const pith_array *one = pith_ones(t->s, PITH_I32, PITH_SHAPE(1));
    const pith_route *route = pith_route_make(t->s, one, self, "x", NULL);
    pith_route_send(t->s, route, pith_f64(t->s, 1));
    MESH_CHECK(t, mesh_fails(t, PITH_E_SHAPE, "a leaf of rank 0 has no rows"));
    pith_route_send(t->s, route, pith_tuple_make(t->s, 2, (const void *[]){two, one}));
    MESH_CHECK(t, strncmp(pith_message(t->s), "[1]", 3) == 0);
    MESH_CHECK(t, mesh_fails(t, PITH_E_INDEX, "the route has row 1, the leaf 1 rows"));
    pith_route_send(t->s, route, NULL);
    MESH_CHECK(t, mesh_fails(t, PITH_E_ARG, "pith_route_send: tree"));
    pith_route_return(t->s, route, pith_zeros(t->s, PITH_I32, PITH_SHAPE(2)), two);
    MESH_CHECK(t, mesh_fails(t, PITH_E_SHAPE, "expected i32[1] of the max_receive"));
    pith_route_return(t->s, route, pith_zeros(t->s, PITH_F32, PITH_SHAPE(1)), two);
    MESH_CHECK(t, mesh_fails(t, PITH_E_SHAPE, "got f32[1]"));
    const pith_array *flags = pith_zeros(t->s, PITH_BOOL, PITH_SHAPE(2));
    pith_route_return(t->s, route, pith_zeros(t->s, PITH_BOOL, PITH_SHAPE(1)), flags);
    MESH_CHECK(t, mesh_fails(t, PITH_E_DTYPE, "rows of bool cannot be added"));
    pith_route_return(t->s, route, pith_tuple_make(t->s, 0, NULL), two);
    MESH_CHECK(t, mesh_fails(t, PITH_E_STRUCTURE, "pith_route_return"));
    MESH_CHECK(t, pith_route_send(t->s, route, two));
}

/* Routes that a user has changed or made up: one leaf has other values, and sending is
 * an error. */
#define LEAF(member) offsetof(pith_route, member)
static const struct {
    size_t leaf;
    pith_dtype dtype;
    const void *values;
    const char *text;
} hostile[] = {
    {LEAF(peer), PITH_I32, (const int32_t[]){1000, -1},
     "route: entry 0 is 1000, expected ranks below"},
    {LEAF(peer), PITH_I32, (const int32_t[]){0, 0},
     "route: entry 1 is 0, expected ranks below"},
    {LEAF(peer), PITH_I32, (const int32_t[]){-1, 0},
     "route: entry 0 comes after one that is no rank"},
    {LEAF(sent), PITH_I64, (const int64_t[]){4, 0},
     "route: entry 0 is 4, expected 0 to 3"},
    {LEAF(sent), PITH_I64, (const int64_t[]){-1, 0},
     "route: entry 0 is -1, expected 0 to 3"},
    {LEAF(sent), PITH_I64, (const int64_t[]){2, 1},
     "route: entry 1 comes after one that is no rank"},
    {LEAF(received), PITH_I64, (const int64_t[]){1, 0},
     "route: entry 0 is 1: not the rows of this rank"},
    {LEAF(received), PITH_I64, (const int64_t[]){INT64_MAX, INT64_MAX},
     "more than the 4 of all"},
    {LEAF(send), PITH_I32, (const int32_t[]){0, -1, -1, -1, -1, -1},
     "route: row 1 to rank"},
};

static void hostile_routes(mesh_test *t) {
    const pith_array *self = pith_full(t->s, PITH_I32, PITH_SHAPE(2), (double)t->rank);
    const pith_array *rows = pith_arange(t->s, PITH_I32, 2);
    const pith_route *room = pith_route_room(t->s, 2, 3, 4);
    const pith_route *good = pith_route_make(t->s, rows, self, "x", room);
    const pith_array *sent = pith_zeros(t->s, PITH_F32, PITH_SHAPE(8));
    pith_route r = *good;
    MESH_CHECK(t, pith_route_send(t->s, pith_freeze(t->s, pith_route, &r), sent));
    for (size_t k = 0; k < sizeof hostile / sizeof *hostile; k++) {
        r = *good;
        const pith_array **leaf =
            (const pith_array **)(void *)((char *)&r + hostile[k].leaf);
        const pith_spec *spec = pith_array_spec(*leaf);
        MESH_CHECK(t, spec->dtype == hostile[k].dtype);
        const pith_shape shape = {spec->rank, {spec->shape[0], spec->shape[1]}};
        *leaf = pith_array_copy(t->s, spec->dtype, shape, hostile[k].values);
        pith_route_send(t->s, pith_freeze(t->s, pith_route, &r), sent);
        MESH_CHECK(t, mesh_fails(t, PITH_E_STRUCTURE, hostile[k].text));
    }
}

/* Ranks that do not do the same, or of which one has failed. */
static void routes_differ(mesh_test *t) {
    if (t->size == 1)
        return;
    const bool odd = t->rank == t->size - 1;
    const pith_array *self = pith_full(t->s, PITH_I32, PITH_SHAPE(1), (double)t->rank);
    const pith_array *row = pith_zeros(t->s, PITH_I32, PITH_SHAPE(1));
    const pith_array *a = pith_zeros(t->s, PITH_F32, PITH_SHAPE(2, 3)),
                     *b = pith_zeros(t->s, PITH_F32, PITH_SHAPE(2, 4));
    const pith_route *route = pith_route_make(t->s, row, self, "x", NULL);
    pith_route_send(t->s, route, odd ? a : b);
    MESH_CHECK(t, mesh_fails(t, PITH_E_DIVERGED, "pith_route_send"));
    pith_route_send(t->s, route, odd ? a : pith_cast(t->s, a, PITH_I32));
    MESH_CHECK(t, mesh_fails(t, PITH_E_DIVERGED, "pith_route_send"));
    const pith_route *room = pith_route_room(t->s, 2, 3 + odd, 4);
    pith_route_make(t->s, row, self, "x", room);
    MESH_CHECK(t, mesh_fails(t, PITH_E_DIVERGED, "rows over x, room 2, 3, 4"));
    pith_route_make(t->s, odd ? NULL : row, self, "x", NULL);
    MESH_CHECK(t, mesh_fails(t, odd ? PITH_E_ARG : PITH_E_PEER, "pith_route_make: rows"));
    pith_route_send(t->s, odd ? NULL : route, a);
    MESH_CHECK(t,
               mesh_fails(t, odd ? PITH_E_ARG : PITH_E_PEER, "pith_route_send: route"));
    pith_route_return(t->s, route, odd ? NULL : a, a);
    pith_clear(t->s);
    MESH_CHECK(t, pith_agree(t->s));
    MESH_CHECK(t, pith_route_send(t->s, route, a));
}

static const pith_array *
count_route(pith_scope *s, const pith_array *rows, const pith_array *to) {
    const pith_route *room = pith_route_room(s, 1, 3, 3);
    return pith_sum(s, pith_route_make(s, rows, to, "x", room)->sent, PITH_ALL_AXES);
}
PITH_FUNCTION2(count_route_of, count_route, pith_array, pith_array, pith_array)

/* In a compiled function a check tells the first entry that is wrong, on all ranks.
 * Entries that go nowhere may have any row. */
static void wrong_entries_compiled(mesh_test *t) {
    const pith_function *count = pith_jit(t->s, &count_route_of, NULL);
    const int64_t to_self[] = {t->rank, -1, t->rank},
                  too_far[] = {-1, t->size, t->size + 4}, rows[] = {0, -7, 1},
                  minus[] = {-7, -1, -2};
    const pith_array *self = pith_array_copy(t->s, PITH_I64, PITH_SHAPE(3), to_self),
                     *far = pith_array_copy(t->s, PITH_I64, PITH_SHAPE(3), too_far),
                     *good = pith_array_copy(t->s, PITH_I64, PITH_SHAPE(3), rows),
                     *bad = pith_array_copy(t->s, PITH_I64, PITH_SHAPE(3), minus);
    char text[100];
    snprintf(text, sizeof text, "to: entry 1 goes to rank %d, which does not exist",
             (int)t->size);
    for (int k = 0; k < 3; k++) {
        pith_apply(t->s, count, good, k == 1 ? self : far);
        pith_wait(t->s);
        MESH_CHECK(t, k == 1 ? !pith_failed(t->s) : mesh_fails(t, PITH_E_INDEX, text));
    }
    pith_apply(t->s, count, bad, self);
    pith_wait(t->s);
    MESH_CHECK(t, mesh_fails(t, PITH_E_INDEX, "rows: entry 0 is -7"));
    static const int64_t large[][3] = {{1, 0, INT32_MAX}, {1, 0, (int64_t)1 << 32}};
    for (int k = 0; k < 2; k++) { /* as i32 the latter is row 0 */
        const pith_array *beyond =
            pith_array_copy(t->s, PITH_I64, PITH_SHAPE(3), large[k]);
        pith_apply(t->s, count, beyond, self);
        pith_wait(t->s);
        MESH_CHECK(t, mesh_fails(t, PITH_E_INDEX,
                                 k == 0 ? "rows: entry 2 is 2147483647"
                                        : "rows: entry 2 is 4294967296"));
    }
    MESH_CHECK(t, pith_read_i64(t->s, pith_apply(t->s, count, good, self)) == 2);
    pith_apply(t->s, count, good, pith_full(t->s, PITH_U64, PITH_SHAPE(3), 0x1p63));
    pith_wait(t->s);
    MESH_CHECK(t, mesh_fails(t, PITH_E_INDEX, "to: entry 0 goes to rank 46"));
}

const mesh_case mesh_route_error_cases[] = {
    {"wrong_routes", wrong_routes},
    {"wrong_entries_compiled", wrong_entries_compiled},
    {"hostile_routes", hostile_routes},
    {"routes_differ", routes_differ},
    {NULL, NULL},
};
