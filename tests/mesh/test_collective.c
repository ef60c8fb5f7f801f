/* Collectives over threads, on 1 to 5 ranks, with delays. */
#include "mesh/fake/jobs.h"

static void passes(const char *only, int size, uint64_t seed) {
    fake_case_passes(NULL, only, size, seed);
}

#define CASE(name)                                                                       \
    Test(collective, name) {                                                             \
        for (int size = 2; size <= 3; size++)                                            \
            if (fake_takes(size, 3))                                                     \
                passes(#name, size, size == 3);                                          \
    }
CASE(sums)
CASE(sums_of_special_numbers)
CASE(sums_in_any_order)
CASE(means_and_extremes)
CASE(sums_of_rows_in_use)
CASE(rows_in_use)
CASE(rows_of_some_ranks)
CASE(rows_of_trees)
CASE(scans)
CASE(gathers)
CASE(blocks)
CASE(permutations)
CASE(trees)
CASE(differences)
CASE(failures)
Test(collective, compiled) {
    passes("compiled", 2, 0);
    passes("compiled", 3, 1);
}
CASE(control)
CASE(programs_differ)
CASE(programs_fail)
CASE(fails_before_recording)
CASE(agreements_of_calls)
CASE(refusals)

Test(collective, groups) {
    passes("groups", 4, 1);
    passes("groups", 6, 2);
}
Test(collective, another_mesh) {
    passes("another_mesh", 4, 1);
}
Test(collective, some_ranks) {
    passes("some_ranks", 4, 1);
    passes("some_ranks", 6, 0);
}
Test(collective, random_sequences) {
    for (int size = 2; size <= 4; size++)
        passes("random_sequences", size, size == 3);
    passes("random_sequences", 6, 0);
}
/* The interpreter alone: without compiled code. */
Test(collective, interpreted) {
    setenv("PITH_JIT", "off", 1);
    passes("compiled", 2, 0);
    passes("control", 4, 2);
    passes("random_sequences", 4, 2);
}
Test(collective, rows) {
    for (int size = 2; size <= 5; size++)
        passes("rows", size, 0);
}

/* Work that the host defers is waited for before data move. */
Test(collective, deferred_work) {
    setenv("PITH_HOST_ASYNC", "1", 1);
    passes("sums", 2, 0);
    passes("permutations", 3, 5);
    passes("rows", 3, 0);
    passes("compiled", 3, 0);
    passes("control", 3, 5);
}

/* ---- What travels ---- */

enum { ROWS = 1000, COLUMNS = 4, ROW_BYTES = COLUMNS * 8, COUNT_BYTES = 8 };

/* Bytes that a rank gives to the moves of a collective of rows in use, of `used` rows. */
static int64_t bytes_sent(fake_rank *r, int kind, int64_t used) {
    const pith_array *a = pith_ones(r->s, PITH_F64, PITH_SHAPE(ROWS, COLUMNS));
    const pith_collective_options how = {.rows = pith_i64(r->s, used),
                                         .unordered = kind == 1};
    const int64_t before = r->sent;
    const void *made = kind <= 1   ? (const void *)pith_psum(r->s, a, NULL, &how)
                       : kind == 2 ? pith_reduce_scatter(r->s, a, NULL, 0, &how)
                       : kind == 3 ? pith_all_to_all(r->s, a, NULL, 0, 1, &how)
                       : kind == 4 ? pith_pshift(r->s, a, NULL, 1, true, &how)
                                   : pith_tree_psum(r->s, a, NULL, &how);
    FAKE_CHECK(r, made);
    return r->sent - before;
}

/* Rank 1 has three rows in use, the other none. Of a sum the rows that some rank has
 * travel; of moves, each rank's own. */
static void sends_rows_in_use(fake_rank *r) {
    const int64_t used = r->rank == 1 ? 3 : 0;
    for (int kind = 0; kind < 2; kind++)
        FAKE_CHECK(r, bytes_sent(r, kind, used) == COUNT_BYTES + 3 * ROW_BYTES);
    FAKE_CHECK(r, bytes_sent(r, 5, used) == COUNT_BYTES + 3 * ROW_BYTES);
    /* rows 0 to 2 belong to rank 0 */
    FAKE_CHECK(r, bytes_sent(r, 2, used) == COUNT_BYTES + used * ROW_BYTES);
    FAKE_CHECK(r, bytes_sent(r, 3, used) == COUNT_BYTES + used * ROW_BYTES);
    FAKE_CHECK(r, bytes_sent(r, 4, used) == COUNT_BYTES + used * ROW_BYTES);
    /* all rows: pieces of the sum, and the sums of the pieces */
    FAKE_CHECK(r, bytes_sent(r, 0, ROWS) ==
                      COUNT_BYTES + ROWS * ROW_BYTES + ROWS * ROW_BYTES / 2);
}

Test(collective, rows_that_are_not_in_use_stay) {
    const fake_result result =
        fake_run(&(fake_options){.size = 2, .timeout = 60}, sends_rows_in_use);
    cr_assert(result.failures == 0 && !result.ended, "%s", result.report);
}

/* Leaves of three dtypes; bools are counted in i64. */
static void sums_a_tree(fake_rank *r) {
    const pith_array *leaves[] = {pith_ones(r->s, PITH_F64, PITH_SHAPE(3)),
                                  pith_ones(r->s, PITH_I32, PITH_SHAPE(7)),
                                  pith_ones(r->s, PITH_F64, PITH_SCALAR),
                                  pith_ones(r->s, PITH_F64, PITH_SHAPE(0)),
                                  pith_ones(r->s, PITH_I32, PITH_SHAPE(2)),
                                  pith_ones(r->s, PITH_BOOL, PITH_SHAPE(5))};
    const void *tree = pith_tuple_make(r->s, 6, (const void *const *)leaves);
    const int64_t messages = r->messages, sent = r->sent;
    FAKE_CHECK(r, pith_tree_psum(r->s, tree, NULL, NULL));
    FAKE_CHECK(r, r->messages - messages == 3);
    FAKE_CHECK(r, r->sent - sent == 4 * 8 + 9 * 4 + 5 * 8);
}

Test(collective, trees_are_one_message_a_dtype) {
    const fake_result result =
        fake_run(&(fake_options){.size = 3, .timeout = 60}, sums_a_tree);
    cr_assert(result.failures == 0 && !result.ended, "%s", result.report);
}

/* ---- Steps without allocations ---- */

typedef struct {
    const pith_array *rows, *grid;
    const pith_route *route;
} Moved;
PITH_NODE(Moved,
          PITH_LEAF(rows, "f64[n,3]"),
          PITH_LEAF(grid, "f64[m,2]"),
          PITH_CHILD(route, pith_route))

/* Ghosts by a route, a halo there and back, and sums, one of them of rows in use. */
static const Moved *move_all(pith_scope *s, const Moved *in) {
    Moved next = *in;
    const pith_array *ghosts = pith_route_send(s, in->route, in->rows);
    const pith_array *wide = pith_halo(s, in->grid, 0, "x", 1, 1, true);
    const pith_array *sum = pith_psum(s, pith_sum(s, ghosts, PITH_ALL_AXES), NULL, NULL);
    const pith_array *used =
        pith_psum(s, in->grid, NULL, &(pith_collective_options){.rows = pith_i64(s, 2)});
    next.rows = pith_route_return(s, in->route, ghosts, in->rows);
    next.rows = pith_div(s, next.rows, pith_add(s, 1.0, pith_abs(s, sum)));
    next.grid =
        pith_mul(s, pith_add(s, pith_halo_add(s, wide, 0, "x", 1, 1, true), used), 0.25);
    return pith_freeze(s, Moved, &next);
}
PITH_FUNCTION1(move_all_step, move_all, Moved, Moved)

static const Moved *things_to_move(fake_rank *r) {
    const pith_array *all = pith_arange(r->s, PITH_I32, 8);
    const pith_array *next = pith_full(r->s, PITH_I32, PITH_SHAPE(8), (r->rank + 1) % 3);
    return pith_make(r->s, Moved,
                     &(Moved){.rows = pith_ones(r->s, PITH_F64, PITH_SHAPE(8, 3)),
                              .grid = pith_ones(r->s, PITH_F64, PITH_SHAPE(6, 2)),
                              .route = pith_route_make(r->s, all, next, "x", NULL)},
                     NULL);
}

/* Allocations of calls, each in a scope; f NULL: of the scopes, whose memory a build for
 * debugging does not use again. */
static long long allocations_of(fake_rank *r, const pith_function *f, const void *in) {
    const pt_heap *heap = r->closure;
    const long long before = atomic_load(&heap->allocations);
    for (int call = 0; call < 20; call++) {
        pith_scope *s = pith_scope_open_in(r->s);
        FAKE_CHECK(r, !f || pith_call(s, f, PITH_ITEMS(in)));
        pith_scope_close(s);
    }
    return atomic_load(&heap->allocations) - before;
}

static void moves_without_memory(fake_rank *r) {
    const pith_function *f = pith_jit(r->s, &move_all_step, NULL);
    const Moved *in = things_to_move(r);
    allocations_of(r, f, in); /* records and compiles it */
    const long long calls = allocations_of(r, f, in),
                    scopes = allocations_of(r, NULL, NULL);
    FAKE_CHECK(r, !pith_failed(r->s));
    if (r->rank == 1 && calls != scopes) {
        fprintf(stderr, "%lld allocations, %lld of scopes\n", calls, scopes);
        FAKE_CHECK(r, false);
    }
}

Test(collective, steps_allocate_nothing) {
    pt_heap heap = {.fail_at = FAKE_FAR};
    const pith_allocator allocator = pt_allocator(&heap);
    const pith_open_options plain = {.device = "host", .threads = 1},
                            counted = {
                                .device = "host", .threads = 1, .allocator = &allocator};
    setenv("PITH_JIT", "wait", 1);
    const fake_result result =
        fake_run(&(fake_options){.size = 3,
                                 .timeout = 60,
                                 .closure = &heap,
                                 .open = {&plain, &counted, &plain}},
                 moves_without_memory);
    cr_assert(result.failures == 0 && !result.ended, "%s", result.report);
}

/* ---- One rank without memory ---- */

/* What one rank cannot allocate fails on all, and no rank waits: a call in which it has
 * memory again succeeds. */
static void sums_with_little_memory(fake_rank *r) {
    pt_heap *heap = r->closure;
    const long long n = atomic_load(&heap->fail_at);
    FAKE_CHECK(r, pith_agree(r->s) || pith_code(r->s) == PITH_E_ARG);
    pith_clear(r->s);
    if (r->rank ==
        1) /* counted from here: a rank without a scope takes part in nothing */
        atomic_store(&heap->fail_at, atomic_load(&heap->allocations) + n - FAKE_FAR);
    if (!fake_open(r, r->s, PITH_MESH_AXES({"x", 0})))
        pith_clear(r->s);
    FAKE_CHECK(r, fake_open(r, r->s, PITH_MESH_AXES({"x", 0})));
    for (int call = 0; call < 4; call++) {
        const pith_array *a = pith_ones(r->s, PITH_F64, PITH_SHAPE(9000));
        const void *made = call == 0   ? (const void *)pith_psum(r->s, a, NULL, NULL)
                           : call == 1 ? (const void *)pith_psum_rows(r->s, a, NULL, NULL)
                           : call == 2 ? pith_tree_psum(r->s, a, NULL, NULL)
                                       : pith_all_to_all(r->s, a, NULL, 0, 0, NULL);
        const pith_status code = pith_code(r->s);
        FAKE_CHECK(r, !made == (code != PITH_OK));
        FAKE_CHECK(r, code == PITH_OK || code == PITH_E_MEMORY || code == PITH_E_PEER);
        pith_clear(r->s);
    }
    FAKE_CHECK(r, pith_agree(r->s));
}

static const pith_array *summed(pith_scope *s, const pith_array *a) {
    const pith_array *sum = pith_psum(s, pith_mul(s, a, 2.0), NULL, NULL);
    return pith_psum_rows(s, pith_add(s, sum, a), NULL, NULL);
}
PITH_FUNCTION1(summed_function, summed, pith_array, pith_array)

/* The same of compiled calls: a call in which a rank has no memory for its run. */
static void runs_with_little_memory(fake_rank *r) {
    pt_heap *heap = r->closure;
    const long long n = atomic_load(&heap->fail_at);
    const pith_function *f = pith_jit(r->s, &summed_function, NULL);
    const pith_array *a = pith_ones(r->s, PITH_F64, PITH_SHAPE(9000));
    FAKE_CHECK(r, pith_call(r->s, f, PITH_ITEMS(a))); /* records it */
    FAKE_CHECK(r, pith_agree(r->s));
    if (r->rank == 1)
        atomic_store(&heap->fail_at, atomic_load(&heap->allocations) + n - FAKE_FAR);
    for (int call = 0; call < 3; call++) {
        pith_scope *in = pith_scope_open_in(r->s);
        const void *made = pith_call(pith_failed(r->s) ? r->s : in, f, PITH_ITEMS(a));
        pith_scope_close(in);
        const pith_status code = pith_code(r->s);
        FAKE_CHECK(r, !made == (code != PITH_OK));
        FAKE_CHECK(r, code == PITH_OK || code == PITH_E_MEMORY || code == PITH_E_PEER);
        pith_clear(r->s);
    }
    FAKE_CHECK(r, pith_agree(r->s));
}

Test(collective, a_rank_without_memory_holds_up_no_other) {
    fake_short_memory(sums_with_little_memory, true, 20);
}
Test(collective, a_rank_without_memory_for_a_run_holds_up_no_other) {
    fake_short_memory(runs_with_little_memory, false, 2);
}
