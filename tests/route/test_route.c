/* Halos and routes over threads, on 1 to 8 ranks, with delays; and their memory. */
#include "mesh/fake/jobs.h"
#include "series.h"

static void passes(const char *only, int size, uint64_t seed) {
    fake_case_passes(NULL, only, size, seed);
}

#define CASE(name)                                                                       \
    Test(route, name) {                                                                  \
        static const int sizes[] = {1, 2, 3, 4, 8};                                      \
        for (uint64_t i = 0; i < sizeof sizes / sizeof *sizes; i++)                      \
            if (fake_takes(sizes[i], 4))                                                 \
                passes(#name, sizes[i], i);                                              \
    }
CASE(halos)
CASE(sums_of_halos)
CASE(halos_and_sums_of_halos)
CASE(wrong_halos)
CASE(routes_send)
CASE(routes_with_room)
CASE(routes_of_trees)
CASE(routes_return)
CASE(routes_and_back)
CASE(routes_along_axes)
CASE(routes_grow)
CASE(recorded_routes)
CASE(recorded_rows_of_slots)
CASE(recorded_halos)
CASE(halos_of_programs)
CASE(wrong_routes)
CASE(hostile_routes)
CASE(routes_differ)

Test(route, interleavings) {
    for (int64_t seed = 0; seed < pt_series(24); seed++)
        passes("routes_and_back", 2 + (int)(seed % 3), (uint64_t)seed + 1);
}

/* A tree is one message to each rank, there as well as back, in compiled functions, too:
 * three ranks send to two others each. */
static void sends(const char *only, int messages) {
    fake_parcels = 0;
    passes(only, 3, 1);
    cr_assert_eq(fake_parcels, 3 * 2 * messages, "%s: %lld", only,
                 (long long)fake_parcels);
}

static void send_trees(void) {
    sends("trees_around", 4);
    sends("trees_of_many_leaves", 4);
    sends("trees_pushed", 2 + 4);
    sends("trees_pulled", 4 + 4);
    sends("trees_of_a_batch", 2 + 2 * 3);
    sends("trees_in_a_loop", 4 + 4);
}

Test(route, trees_are_one_message) {
    send_trees();
}
Test(route, trees_are_one_message_at_once) {
    setenv("PITH_JIT", "wait", 1);
    send_trees();
}
Test(route, trees_are_one_message_without_compiled_code) {
    setenv("PITH_JIT", "off", 1);
    send_trees();
}
CASE(trees_around)
CASE(trees_pulled_again)
CASE(trees_of_a_batch)

/* Work that the host defers is waited for before data move. */
Test(route, deferred_work) {
    setenv("PITH_HOST_ASYNC", "1", 1);
    passes("halos_and_sums_of_halos", 3, 1);
    passes("routes_and_back", 3, 1);
    passes("routes_return", 2, 0);
}

/* Calls within the arguments of others have a stack of sites, which each call leaves. */
static void make_many_rooms(fake_rank *r) {
    const pith_route *room = NULL;
    for (int k = 0; k < 100; k++)
        room = pith_route_room(r->s, 1, 4, 4);
    FAKE_CHECK(r, room && room->max_send == 4);
    pith_route_room(r->s, 2, -1, 4);
    FAKE_CHECK(r, strstr(pith_message(r->s), "(test_route.c:"));
    pith_clear(r->s);
}

Test(route, rooms_leave_no_call_sites) {
    const fake_result result =
        fake_run(&(fake_options){.size = 1, .timeout = 60}, make_many_rooms);
    cr_assert(result.failures == 0 && !result.ended, "%s", result.report);
}

/* ---- Memory ---- */

/* Rows that go to this rank and to the next one, there and back, and a halo. */
typedef struct around {
    const pith_route *route;
    const void *sent, *back;
    const pith_array *halo, *block;
} around;

static const void *pair_of(pith_scope *s) {
    const pith_array *a = pith_iota(s, PITH_F32, PITH_SHAPE(6, 2), 0);
    return pith_tuple_make(s, 2, (const void *[]){a, pith_cast(s, a, PITH_I32)});
}

static const pith_route *route_around(pith_scope *s) {
    const int64_t next = (pith_axis_rank(s, NULL) + 1) % pith_axis_size(s, NULL);
    const pith_array *to = pith_full(s, PITH_I64, PITH_SHAPE(6), (double)next);
    return pith_route_make(s, pith_arange(s, PITH_I64, 6), to, NULL, NULL);
}

/* Each allocation fails once. */
static pith_status scenario(const pith_open_options *options) {
    pith_runtime *rt = pith_open(options);
    pith_scope *s = pith_scope_open(rt);
    pt_again(s, pith_mesh_open(s, PITH_MESH_AXES({"x", 0}), NULL));
    const void *pair = pair_of(s);
    const pith_route *route = pith_failed(s) ? NULL : route_around(s);
    if (!pith_failed(s)) {
        const void *sent = pith_route_send(s, route, pair);
        pt_again(s,
                 !pith_failed(s) && pith_route_send(s, route, pair) && !pith_failed(s));
        if (sent && !pith_failed(s))
            pt_again(s, pith_route_return(s, route, sent, pair) && !pith_failed(s));
        pt_again(s, pith_halo(s, pith_child(pair, 0), 0, "x", 1, 2, true));
        pt_again(s, pith_halo(s, pith_child(pair, 0), 1, "x", 1, 2, false));
        pt_again(s, pith_halo_add(s, pith_child(pair, 0), 0, "x", 1, 2, true));
    }
    const pith_status code = pith_code(s);
    pith_clear(s);
    pith_scope_close(s);
    pith_close(rt);
    return code;
}

Test(route, survives_short_memory) {
    const pt_failures result = pt_fail_each(scenario);
    cr_assert(result.allocations > 10, "%d", result.allocations);
}

/* Steps allocate nothing of the system, once the runtime has its free blocks. */
Test(route, a_step_allocates_nothing) {
    enum { WARM = 1000 };
    pt_heap heap = {0};
    const pith_allocator allocator = pt_allocator(&heap);
    pith_runtime *rt = pith_open(
        &(pith_open_options){.device = "host", .threads = 1, .allocator = &allocator});
    pith_scope *s = pith_scope_open(rt);
    pt_ok(s, pith_mesh_open(s, PITH_MESH_AXES({"x", 0}), NULL));
    const void *pair = pair_of(s);
    const pith_route *route = route_around(s);
    long long before = 0;
    for (int step = 0; step < WARM + 10; step++) {
        if (step == WARM)
            before = atomic_load(&heap.allocations);
        pith_scope *in = pith_scope_open_in(s);
        const void *sent = pith_route_send(in, route, pair);
        pt_ok(in, pith_route_return(in, route, sent, pair));
        pt_ok(in, pith_route_send(in, route, pith_child(pair, 0)));
        pt_ok(in, pith_halo(in, pith_child(pair, 0), 0, "x", 1, 2, true));
        pith_scope_close(in);
    }
    cr_assert(atomic_load(&heap.allocations) == before, "%lld allocations in ten steps",
              (long long)atomic_load(&heap.allocations) - before);
    pith_scope_close(s);
    pith_close(rt);
}

static const pith_array *
compiled_step(pith_scope *s, const pith_route *route, const pith_array *a) {
    const pith_array *wide = pith_halo(s, a, 0, "x", 1, 2, true);
    const pith_array *sent = pith_route_send(s, route, a);
    const pith_array *sum =
        pith_add(s, pith_sum(s, wide, PITH_ALL_AXES), pith_sum(s, sent, PITH_ALL_AXES));
    return pith_add(s, pith_route_return(s, route, sent, a),
                    pith_psum(s, sum, "x", NULL));
}
PITH_FUNCTION2(compiled_step_function, compiled_step, pith_array, pith_route, pith_array)

static void steps_of_ranks(fake_rank *r) {
    enum { WARM = 200 };
    const pt_heap *heaps = r->closure, *heap = &heaps[r->rank];
    const pith_function *f = pith_jit(r->s, &compiled_step_function, NULL);
    const pith_route *route = route_around(r->s);
    const pith_array *a = pith_iota(r->s, PITH_F32, PITH_SHAPE(6, 2), 0);
    long long before = 0;
    for (int step = 0; step < WARM + 10; step++) {
        if (step == WARM)
            before = atomic_load(&heap->allocations);
        pith_scope *in = pith_scope_open_in(r->s);
        FAKE_CHECK(r, pith_apply(in, f, route, a));
        FAKE_CHECK(r, pith_route_send(in, route, a));
        FAKE_CHECK(r, pith_psum(in, a, "x", NULL));
        pith_scope_close(in);
    }
    FAKE_CHECK(r, atomic_load(&heap->allocations) == before);
}

/* The same of two ranks, in a compiled step and eagerly. */
Test(route, a_step_of_ranks_allocates_nothing) {
    setenv("PITH_JIT", "wait", 1); /* no code comes late */
    fake_with_heaps("host", steps_of_ranks);
}

/* What one rank cannot allocate fails on all, and no rank waits: a call in which it has
 * memory again succeeds. */
static void move_with_little_memory(fake_rank *r) {
    pt_heap *heap = r->closure;
    const long long n = atomic_load(&heap->fail_at);
    const void *pair = pair_of(r->s);
    const pith_route *good = route_around(r->s);
    FAKE_CHECK(r, !pith_failed(r->s));
    if (r->rank == 1)
        atomic_store(&heap->fail_at, atomic_load(&heap->allocations) + n - FAKE_FAR);
    for (int call = 0; call < 8; call++) {
        if (call % 4 == 0)
            route_around(r->s);
        else if (call % 4 == 1)
            pith_route_send(r->s, good, pair);
        else if (call % 4 == 2)
            pith_route_return(r->s, good, pair, pair);
        else
            pith_halo(r->s, pith_child(pair, 0), 0, NULL, 1, 1, true);
        const pith_status code = pith_code(r->s);
        FAKE_CHECK(r, code == PITH_OK || code == PITH_E_MEMORY || code == PITH_E_PEER);
        pith_clear(r->s);
    }
    FAKE_CHECK(r, pith_agree(r->s));
}

Test(route, a_rank_without_memory_holds_up_no_other) {
    fake_short_memory(move_with_little_memory, false, 3);
}
