/* Kernels within functions over shards: statics as values, fill that is left alone, and
 * capacities that a kernel of one rank finds too small. */
#include "mesh/fake/fake.h"
#include "mesh/shard_kernels.h"
#include "pith_test.h"

#include <pith/pith.h>
#include <string.h>

typedef struct {
    const pith_array *x, *list, *near, *count, *total;
    int64_t max, room;
    double reach;
} Cells;
PITH_NODE(Cells,
          PITH_LEAF(x, "f64[max]", .shard = "x", .rows = "count"),
          PITH_LEAF(list, "i32[max,room]", .shard = "x", .rows = "count"),
          PITH_LEAF(near, "i32[max]", .shard = "x", .rows = "count"),
          PITH_LEAF(count, "i64[]", .shard = "x"),
          PITH_LEAF(total, "i64[]"),
          PITH_STATIC(max),
          PITH_STATIC(room, .initial = 1),
          PITH_STATIC(reach))

enum { RANKS = 3, ROWS = 31 };

/* Rank 2 has most rows that are near to each other, rank 0 few. */
static const Cells *cells(pith_scope *s, int64_t room) {
    double x[ROWS];
    for (int i = 0; i < ROWS; i++)
        x[i] = i < 11 ? 2.0 * i : i < 21 ? 100 + 0.5 * i : 200 + 0.25 * i;
    const Cells c = {.x = pith_array_copy(s, PITH_F64, PITH_SHAPE(ROWS), x),
                     .list = pith_zeros(s, PITH_I32, PITH_SHAPE(ROWS, room)),
                     .near = pith_zeros(s, PITH_I32, PITH_SHAPE(ROWS)),
                     .count = pith_i64(s, ROWS),
                     .total = pith_i64(s, 0),
                     .max = ROWS,
                     .room = room,
                     .reach = 1.1};
    return pith_freeze(s, Cells, &c);
}

static const Cells *search(pith_scope *s, const Cells *in) {
    pith_capacity_guard(s, pith_lens_capacity(s, PITH_LENS(Cells, room), in->room, 1),
                        "room");
    const list_near_result found =
        pith_launch(s, list_near, in->x, in->count, in->reach, in->room);
    const pith_array *all =
        pith_cast(s, pith_sum(s, found.near, PITH_ALL_AXES), PITH_I64);
    Cells next = *in;
    next.list = found.list;
    next.near = found.near;
    next.total = pith_add(s, in->total, pith_psum(s, all, "x", NULL));
    const pith_array *by =
        pith_mul(s, pith_cast(s, pith_axis_index(s, "x"), PITH_F64), 0.125);
    next.x = pith_launch(s, push, in->x, in->count, by).x;
    return pith_freeze(s, Cells, &next);
}
PITH_FUNCTION1(search_function, search, Cells, Cells)

/* What the lists are, by one rank for all: neighbours within a shard have their number in
 * it. */
static bool is_found(pith_scope *s, const Cells *whole, const Cells *in) {
    int32_t near[ROWS];
    double x[ROWS];
    int64_t total = 0;
    bool same = pith_read(s, whole->near, near, sizeof near) &&
                pith_read(s, in->x, x, sizeof x) && whole->max == ROWS;
    for (int r = 0, begin = 0; same && r < RANKS; r++) {
        const int used = ROWS / RANKS + (r < ROWS % RANKS);
        for (int i = begin; i < begin + used; i++) {
            int found = 0;
            for (int k = begin; k < begin + used; k++)
                found += k != i && fabs(x[i] - x[k]) < 1.1;
            same = same && near[i] == found;
            total += found;
        }
        begin += used;
    }
    return same && pith_read_i64(s, whole->total) == total;
}

static void grows(fake_rank *r) {
    pith_scope *s = r->s;
    const pith_function *map = pith_shard_map(s, &search_function, NULL),
                        *inside =
                            pith_shard_map(s, pith_jit(s, &search_function, NULL), NULL),
                        *ways[] = {map, pith_jit(s, map, NULL), inside,
                                   pith_jit(s, inside, NULL)};
    const Cells *whole = cells(s, 1), *ample = NULL;
    for (int k = 0; k < 4; k++) {
        const Cells *made =
            pith_propagate(s, Cells, ways[k], pith_shard(s, whole, NULL), NULL);
        FAKE_CHECK(r, !pith_failed(s) && made->room == 8 && made->max == 11);
        FAKE_CHECK(r, pith_array_sharding(made->list).whole.extents[0] == 33);
        const Cells *joined = pith_unshard(s, made, -1);
        FAKE_CHECK(r, is_found(s, joined, whole));
        if (!ample) /* with that room from the beginning, and without a collector */
            ample =
                pith_unshard(s, pith_apply(s, map, pith_shard(s, cells(s, 8), NULL)), -1);
        FAKE_CHECK(r, !pith_failed(s) && pith_tree_equal(s, joined, ample));
    }
    /* two steps: the shards move between */
    const Cells *two = pith_run(s, Cells, ways[1], pith_shard(s, whole, NULL),
                                &(pith_run_options){.steps = 2});
    const Cells *again =
        pith_apply(s, map, pith_apply(s, map, pith_shard(s, cells(s, 8), NULL)));
    FAKE_CHECK(r,
               pith_tree_equal(s, pith_unshard(s, two, -1), pith_unshard(s, again, -1)));
}

/* Without a collector the room that one rank lacks is an error of all. */
static void fails(fake_rank *r) {
    pith_scope *s = r->s;
    const pith_function *map = pith_shard_map(s, &search_function, NULL),
                        *compiled = pith_jit(s, map, NULL);
    const Cells *a = pith_shard(s, cells(s, 4), NULL); /* enough for ranks 0 and 1 */
    for (int k = 0; k < 4; k++) {
        pith_apply(s, k % 2 ? compiled : map, a);
        FAKE_CHECK(r, pith_code(s) ==
                          (k % 2 || r->rank == 2 ? PITH_E_CAPACITY : PITH_E_PEER));
        FAKE_CHECK(r, strstr(pith_message(s), "have 4, need 8"));
        pith_clear(s);
        FAKE_CHECK(r, pith_agree(s));
    }
}

static void runs(void (*body)(fake_rank *r)) {
    for (uint64_t seed = 0; seed < 3; seed++) {
        const fake_result result =
            fake_run(&(fake_options){.size = RANKS, .seed = seed, .timeout = 60}, body);
        cr_assert(result.failures == 0 && !result.ended, "%s", result.report);
    }
}

Test(shard_kernels, capacities_grow_on_all_ranks) {
    runs(grows);
}

Test(shard_kernels, room_that_one_rank_lacks_is_an_error_of_all) {
    runs(fails);
}
