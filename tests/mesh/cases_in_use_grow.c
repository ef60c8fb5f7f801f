/* Cases of rows in use that outgrow an array, whose capacity grows in pith_propagate: the
 * number of rows needs no limit, since its failure follows from that of the capacity. */
#include "mesh/cases.h"

#include <stdio.h>
#include <string.h>

/* Rows of this rank, of which each step uses more. */
typedef struct {
    const pith_array *count; /* in use */
    const pith_array *more;  /* of a step */
    const pith_array *extra; /* that are claimed without being there */
    const pith_array *sum;   /* over ranks, rows and steps */
    const pith_array *buffer;
    int64_t room, columns;
} GrowingRows;
PITH_NODE(GrowingRows,
          PITH_LEAF(count, "i64"),
          PITH_LEAF(more, "i64"),
          PITH_LEAF(extra, "i64"),
          PITH_LEAF(sum, "f64"),
          PITH_LEAF(buffer, "f64[room,columns]"),
          PITH_STATIC(room),
          PITH_STATIC(columns))

enum { STEPS = 7, ROOM = 4, AMPLE = 200 };

/* ---- Steps ---- */

static const pith_array *
move(pith_scope *s, int kind, const pith_array *a, const pith_array *rows) {
    const pith_collective_options how = {.rows = rows};
    switch (kind) {
        case 0:
            return pith_psum(s, a, NULL, &how);
        case 1:
            return pith_reduce_scatter(s, a, NULL, -1, &how);
        case 2:
            return pith_all_to_all(s, a, NULL, -1, 0, &how);
        case 3:
            return pith_pshift(s, a, "x", 1, true, &how);
        case 4:
            return pith_tree_psum(s, a, NULL, &how);
        default:
            return pith_psum_rows(s, a, NULL, &how);
    }
}
enum { KINDS = 6 };

static _Thread_local int kind;
static _Thread_local bool late; /* the capacity is checked after the collective */

static void require(pith_scope *s, const GrowingRows *in, const pith_array *count) {
    pith_capacity_require(
        s, pith_lens_capacity(s, PITH_LENS(GrowingRows, room), in->room, 2), count);
}

static const GrowingRows *use_more(pith_scope *s, const GrowingRows *in) {
    GrowingRows next = *in;
    const pith_shape column = {.rank = 2, .extents = {in->room, 1}};
    next.count = pith_add(s, in->count, in->more);
    const pith_array *number = pith_iota(s, PITH_I64, column, 0);
    next.buffer = pith_where(s, pith_less(s, number, next.count),
                             pith_add(s, in->buffer, pith_f64(s, 1)), in->buffer);
    if (!late)
        require(s, in, next.count);
    const pith_array *moved =
        move(s, kind, next.buffer, pith_add(s, next.count, in->extra));
    next.sum = pith_add(s, in->sum, pith_sum(s, moved, PITH_ALL_AXES));
    if (late)
        require(s, in, next.count);
    return pith_freeze(s, GrowingRows, &next);
}
PITH_FUNCTION1(use_more_step, use_more, GrowingRows, GrowingRows)

static const GrowingRows *start(mesh_test *t, int64_t room, int64_t more, int64_t extra) {
    const GrowingRows rows = {.count = pith_i64(t->s, 0),
                              .more = pith_i64(t->s, more),
                              .extra = pith_i64(t->s, extra),
                              .sum = pith_f64(t->s, 0),
                              .buffer =
                                  pith_zeros(t->s, PITH_F64, PITH_SHAPE(room, t->size)),
                              .room = room,
                              .columns = t->size};
    return pith_make(t->s, GrowingRows, &rows, NULL);
}

typedef struct way {
    const pith_function *step;
    int64_t every;
} way;

static const GrowingRows *
run(mesh_test *t, const way *w, const GrowingRows *in, int64_t max_tries) {
    return pith_propagate(t->s, GrowingRows, w->step, in,
                          &(pith_propagate_options){.steps = STEPS,
                                                    .check_every = w->every,
                                                    .max_tries = max_tries});
}

/* ---- Growth ---- */

/* The numbers are those of ample room, bit for bit. */
static void compare(mesh_test *t, const way *w, int64_t more) {
    const GrowingRows *in = start(t, ROOM, more, 0), *out = run(t, w, in, 0);
    if (pith_failed(t->s))
        fprintf(stderr, "kind %d, every %d: %s\n", kind, (int)w->every,
                pith_message(t->s));
    const GrowingRows *ample = run(t, w, start(t, AMPLE, more, 0), 0);
    MESH_CHECK(t, !pith_failed(t->s) && in->room == ROOM && ample->room == AMPLE);
    if (pith_failed(t->s)) {
        pith_clear(t->s);
        return;
    }
    MESH_CHECK(t, out->room >= STEPS * 2 && out->room < AMPLE);
    MESH_CHECK(t, pith_read_i64(t->s, out->count) == STEPS * more);
    MESH_CHECK(t, mesh_equal(t, out->sum, ample->sum));
}

/* Each way to run steps, with the capacity checked before and after the collective. */
static void all_ways(mesh_test *t, void (*check)(mesh_test *t, const way *w)) {
    for (int k = 0; k < 2 * KINDS; k++) {
        pith_scope *outer = t->s;
        t->s = pith_scope_open_in(outer);
        kind = k / 2;
        late = k % 2;
        pith_jit_clear(pith_scope_runtime(t->s));
        const pith_function *compiled = pith_jit(t->s, &use_more_step, NULL);
        check(t, &(way){&use_more_step, 1});
        check(t, &(way){compiled, 1});
        check(t, &(way){compiled, 3});
        pith_scope_close(t->s);
        t->s = outer;
    }
}

static void grow_everywhere(mesh_test *t, const way *w) {
    compare(t, w, 2 + t->rank % 2);
}

static void grow_on_one_rank(mesh_test *t, const way *w) {
    compare(t, w, t->rank == t->size - 1 ? 2 : 0);
}

static void rows_outgrow_their_array(mesh_test *t) {
    all_ways(t, grow_everywhere);
}

/* The other ranks have passed all of their checks. */
static void rows_of_one_rank_outgrow_it(mesh_test *t) {
    all_ways(t, grow_on_one_rank);
}

/* ---- What is no consequence ---- */

/* A number that is wrong on its own account is an error, also in a step that has grown.
 */
static void refuse_extra(mesh_test *t, const way *w) {
    for (int grows = 0; grows < 2; grows++) {
        const GrowingRows *in = start(t, grows ? ROOM : AMPLE, 2, 1000);
        run(t, w, in, 0);
        MESH_CHECK(t, strstr(pith_message(t->s), "step 1"));
        MESH_CHECK(t, mesh_fails(t, PITH_E_INDEX, ": rows: 1002 rows in use, expected"));
        MESH_CHECK(t, in->room == (grows ? ROOM : AMPLE));
    }
}

static void a_wrong_number_stays_one(mesh_test *t) {
    all_ways(t, refuse_extra);
}

/* Without repairs the capacity is the failure. */
static void name_capacity(mesh_test *t, const way *w) {
    run(t, w, start(t, ROOM, 3, 0), -1);
    MESH_CHECK(t, strstr(pith_message(t->s), "step 2"));
    MESH_CHECK(t, mesh_fails(t, PITH_E_CAPACITY, ".room: "));
}

static void the_capacity_is_the_failure(mesh_test *t) {
    all_ways(t, name_capacity);
}

const mesh_case mesh_in_use_grow_cases[] = {
    {"rows_outgrow_their_array", rows_outgrow_their_array},
    {"rows_of_one_rank_outgrow_it", rows_of_one_rank_outgrow_it},
    {"a_wrong_number_stays_one", a_wrong_number_stays_one},
    {"the_capacity_is_the_failure", the_capacity_is_the_failure},
    {NULL, NULL},
};
