/* Collectives of devices that move data without the host, by a stand-in for NCCL. */
#include "fake_cuda.h"
#undef FAKE_CHECK /* of the fake device; that of ranks follows */
#include "fail_allocator.h"
#include "fake_nccl.h"
#include "mesh/cases.h"
#include "mesh/fake/fake.h"
#include "pith_test.h"
#include "series.h"

#include <stdatomic.h>

static const pith_open_options cuda = {.device = "cuda", .threads = 1};

static fake_result
run(int size, double timeout, void *closure, void (*body)(fake_rank *r)) {
    return fake_run(&(fake_options){.size = size,
                                    .timeout = timeout,
                                    .closure = closure,
                                    .open = {&cuda, &cuda, &cuda, &cuda}},
                    body);
}

static void run_cases(fake_rank *r) {
    r->failures += mesh_run_cases(r->s, r->closure);
}

static void passes(const char *only, int size) {
    const fake_result result = run(size, 200, (void *)(uintptr_t)only, run_cases);
    cr_assert(result.failures == 0 && !result.ended, "%s on %d: %s", only, size,
              result.report);
    cr_assert_eq(fake_nccl.communicators, 0, "%d are open", fake_nccl.communicators);
    cr_assert_eq(fake_nccl.aborted, 0);
}

static atomic_int messages;

static void count_messages(pith_log_level level, const char *text, void *closure) {
    (void)closure, (void)level;
    messages += strstr(text, "memory of the host") != NULL;
}

/* ---- Moves ---- */

Test(nccl, eager) {
    passes("sums", 2);
    cr_assert_gt(fake_nccl.moves, 0);
    passes("blocks", 3);
    passes("rows", 3);
    passes("sums", 4);
}

Test(nccl, one_rank_needs_no_library) {
    passes("sums", 1);
    passes("blocks", 1);
    cr_assert_eq(fake_nccl.moves, 0);
}

Test(nccl, call_by_call) {
    setenv("PITH_JIT", "off", 1);
    passes("compiled", 3);
    cr_assert_gt(fake_nccl.moves, 0);
    passes("control", 2);
}

/* ---- Graphs ---- */

Test(nccl, graphs) {
    setenv("PITH_JIT", "wait", 1);
    passes("compiled", 2);
    cr_assert_gt(fake_nccl.captured, 0);
    cr_assert_gt(fake_cuda.graph_launches, 0);
    passes("control", 3);
    passes("programs_differ", 2);
    passes("programs_fail", 3);
    passes("another_mesh", 4);
    passes("some_ranks", 4);
}

/* Rows of routes, halos and sums of rows go from device to device. */
static void stays_on_devices(const char *only, int size) {
    fake_nccl.messages = fake_parcels = 0;
    passes(only, size);
    cr_assert_gt(fake_nccl.messages, 0, "%s", only);
    cr_assert_eq(fake_parcels, 0, "%s: %lld", only, (long long)fake_parcels);
}

Test(nccl, halos_routes_and_rows) {
    stays_on_devices("halos", 3);
    stays_on_devices("sums_of_halos", 2);
    stays_on_devices("halos_and_sums_of_halos", 3);
    stays_on_devices("routes_send", 3);
    stays_on_devices("routes_of_trees", 2);
    stays_on_devices("routes_return", 4);
    stays_on_devices("routes_and_back", 3);
    stays_on_devices("routes_along_axes", 4);
    stays_on_devices("rows", 3);
    passes("hostile_routes", 2);
    passes("routes_differ", 2);
    passes("routes_send", 1);
    passes("halos", 1);
}

/* Routes and sums of rows are driven by the host, between graphs of what is around them.
 */
Test(nccl, compiled_halos_routes_and_rows) {
    setenv("PITH_JIT", "wait", 1);
    passes("recorded_halos", 2);
    passes("halos_of_programs", 3);
    stays_on_devices("recorded_routes", 2);
    stays_on_devices("recorded_routes", 4);
    passes("recorded_routes", 1);
    stays_on_devices("derived_routes", 3);
    stays_on_devices("batched_routes", 2);
    stays_on_devices("trees_around", 3);
    stays_on_devices("trees_of_many_leaves", 2);
    stays_on_devices("trees_pulled", 2);
    stays_on_devices("trees_in_a_loop", 3);
    stays_on_devices("routes_grow", 2);
}

Test(nccl, routes_without_it_go_through_the_host) {
    setenv("PITH_NCCL", "off", 1);
    setenv("PITH_JIT", "wait", 1);
    fake_parcels = 0;
    passes("routes_of_trees", 2);
    passes("recorded_routes", 3);
    passes("trees_around", 3);
    passes("trees_of_many_leaves", 2);
    passes("rows", 2);
    cr_assert_gt(fake_parcels, 0);
    cr_assert_eq(fake_nccl.messages, 0);
}

Test(nccl, graphs_of_one_rank_move_nothing) {
    setenv("PITH_JIT", "wait", 1);
    passes("compiled", 1);
    passes("control", 1);
    cr_assert_gt(fake_cuda.graph_launches, 0);
    cr_assert_eq(fake_nccl.captured, 0);
}

/* Ranks are ready for graphs at other times; they use them together. */
Test(nccl, graphs_that_are_made_in_the_background) {
    const uint64_t seeds = PT_SANITIZED && pt_share() > 1 ? 1 : 3;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        fake_cuda_order(seed);
        passes("compiled", 2);
        passes("control", 2);
    }
}

enum { ROUNDS = 6 };

static const pith_array *
add_round(pith_scope *s, const pith_array *i, const pith_array *x) {
    const pith_array *all = pith_psum(s, x, "x", NULL);
    return pith_add(s, all, pith_cast(s, i, PITH_I64));
}
PITH_FUNCTION2(add_round_function, add_round, pith_array, pith_array, pith_array)

static const pith_array *rounds(pith_scope *s, const pith_array *a) {
    return pith_fori(s, 0, ROUNDS, &add_round_function, a);
}
PITH_FUNCTION1(rounds_function, rounds, pith_array, pith_array)

static const pith_array *is_small(pith_scope *s, const pith_array *x) {
    return pith_less(s, x, pith_i64(s, 100));
}
PITH_FUNCTION1(is_small_function, is_small, pith_array, pith_array)
static const pith_array *twice(pith_scope *s, const pith_array *x) {
    return pith_psum(s, x, "x", NULL);
}
PITH_FUNCTION1(twice_function, twice, pith_array, pith_array)
static const pith_array *doubled(pith_scope *s, const pith_array *a) {
    const pith_array *equal = pith_pmax(s, a, "x"); /* so is the number of iterations */
    return pith_while(s, &is_small_function, &twice_function, equal);
}
PITH_FUNCTION1(doubled_function, doubled, pith_array, pith_array)

Test(nccl, messages_that_are_in_progress_are_all_sent) {
    fake_nccl.queues = true;
    stays_on_devices("routes_send", 3);
    passes("blocks", 3);
}

/* Two communicators on two streams: their moves follow each other on the device. */
static void alternate(fake_rank *r) {
    pith_scope *s = r->s, *other = pith_scope_open(r->runtime);
    FAKE_CHECK(r, fake_open(r, other, PITH_MESH_AXES({"y", 0})));
    const pith_function *f = pith_jit(s, r->closure, NULL);
    const pith_array *a = pith_i64(s, 1), *b = pith_i64(other, 1);
    for (int k = 0; k < 8; k++) {
        a = k % 2 ? pith_psum(s, a, "x", NULL) : pith_call(s, f, PITH_ITEMS(a));
        b = pith_psum(other, b, "y", NULL);
    }
    FAKE_CHECK(r, pith_read_i64(s, a) == 256 && pith_read_i64(other, b) == 256);
    pith_scope_close(other);
}

Test(nccl, moves_of_two_communicators_follow_each_other) {
    setenv("PITH_JIT", "wait", 1);
    for (uint64_t seed = 1; seed <= 5; seed++) {
        fake_cuda_order(seed);
        const fake_result result =
            run(2, 200, (void *)(uintptr_t)&twice_function, alternate);
        cr_assert(result.failures == 0 && !result.ended, "%s", result.report);
    }
    cr_assert_gt(fake_nccl.captured, 0);
}

/* A compiled function of an i64, which two ranks call several times. */
typedef struct repeated {
    const pith_function *function;
    int64_t from, to;
    const char *fails; /* the call of CUDA that fails on rank 1 */
} repeated;

enum { CALLS = 6 };

static void repeat(fake_rank *r) {
    const repeated *t = r->closure;
    const pith_function *f = pith_jit(r->s, t->function, NULL);
    pith_set_log_hook(r->runtime, count_messages, NULL);
    if (r->rank == 1)
        fake_cuda_fail_here = t->fails;
    for (int k = 0; k < CALLS; k++) {
        const pith_array *made = pith_call(r->s, f, PITH_ITEMS(pith_i64(r->s, t->from)));
        FAKE_CHECK(r, pith_read_i64(r->s, made) == t->to);
    }
}

static void repeats(repeated t) {
    const fake_result result = run(2, 200, &t, repeat);
    cr_assert(result.failures == 0 && !result.ended, "%s", result.report);
    cr_assert_eq(fake_nccl.communicators, 0);
}

/* ((1 * 2 + 0) * 2 + 1) * 2 + 2 ... */
static int64_t after_rounds(void) {
    int64_t x = 1;
    for (int64_t i = 0; i < ROUNDS; i++)
        x = 2 * x + i;
    return x;
}

/* The first call connects the ranks, the second captures, and the others are one launch
 * each. */
Test(nccl, a_loop_of_known_length_is_laid_out) {
    setenv("PITH_JIT", "wait", 1);
    repeats((repeated){&rounds_function, 1, after_rounds(), NULL});
    cr_assert_eq(fake_nccl.captured, 2 * ROUNDS, "%lld", fake_nccl.captured);
    cr_assert_eq(fake_cuda.graph_launches, 2 * (CALLS - 2), "%lld",
                 fake_cuda.graph_launches);
}

/* Seven iterations of a graph, one before the loop and perhaps one behind it. */
Test(nccl, another_loop_is_driven_over_graphs_of_its_body) {
    setenv("PITH_JIT", "wait", 1);
    repeats((repeated){&doubled_function, 1, 128, NULL});
    cr_assert_eq(fake_nccl.captured, 2 * 2, "%lld", fake_nccl.captured);
    cr_assert_geq(fake_cuda.graph_launches, 2 * (CALLS - 2) * 8);
    cr_assert_leq(fake_cuda.graph_launches, 2 * (CALLS - 2) * 9);
}

/* ---- Copies ---- */

static const pith_array *sum_of_ranks(pith_scope *s, const pith_array *x) {
    return pith_psum(s, x, "x", NULL);
}
PITH_FUNCTION1(sum_of_ranks_function, sum_of_ranks, pith_array, pith_array)
static const pith_array *with_neighbours(pith_scope *s, const pith_array *x) {
    return pith_halo(s, x, 1, "x", 1, 1, true);
}
PITH_FUNCTION1(with_neighbours_function, with_neighbours, pith_array, pith_array)

typedef struct counted {
    const pith_function *function;
    long long launches; /* of one call, of both ranks */
} counted;

static void count_launches(fake_rank *r) {
    counted *t = r->closure;
    pith_scope *s = r->s;
    const pith_function *f = pith_jit(s, t->function, NULL);
    const pith_array *x = pith_ones(s, PITH_F64, PITH_SHAPE(3, 4));
    for (int k = 0; k < CALLS; k++) {
        if (k == CALLS - 1 && pith_agree(s) && r->rank == 0)
            t->launches = fake_cuda.launches;
        FAKE_CHECK(r, pith_agree(s));
        (void)pith_call(s, f, PITH_ITEMS(x));
        FAKE_CHECK(r, pithp_synchronise(s) == PITH_OK);
    }
    if (pith_agree(s) && r->rank == 0)
        t->launches = fake_cuda.launches - t->launches;
}

static long long launches_of(const pith_function *f) {
    counted t = {.function = f};
    const fake_result result = run(2, 200, &t, count_launches);
    cr_assert(result.failures == 0 && !result.ended, "%s", result.report);
    return t.launches / 2;
}

/* Stacks and strips are in the memory of the moves, and are not copied there or back: a
 * bind, the copy of the operand, the sum; a bind, two strips, and what joins them. */
Test(nccl, temporary_memory_is_that_of_the_moves) {
    setenv("PITH_JIT", "wait", 1);
    const long long sum = launches_of(&sum_of_ranks_function),
                    halo = launches_of(&with_neighbours_function);
    cr_assert_eq(sum, 3, "%lld", sum);
    cr_assert_leq(halo, 6, "%lld", halo);
    cr_assert_gt(fake_nccl.captured, 0);
}

Test(nccl, a_capture_that_fails_on_one_rank_is_left_on_all) {
    setenv("PITH_JIT", "wait", 1);
    fake_cuda.fail_with = cudaErrorNotSupported;
    repeats((repeated){&rounds_function, 1, after_rounds(), "GraphInstantiate"});
    cr_assert_eq(fake_cuda.graph_launches, 0);
    cr_assert_eq(fake_nccl.moves, 2 * CALLS * ROUNDS, "%lld", fake_nccl.moves);
    repeats((repeated){&doubled_function, 1, 128, "GraphInstantiate"});
    cr_assert_eq(fake_cuda.graph_launches, 0);
}

Test(nccl, tasks_are_driven_one_by_one) {
    setenv("PITH_JIT", "wait", 1);
    setenv("PITH_CUDA_GRAPH", "drive", 1);
    repeats((repeated){&rounds_function, 1, after_rounds(), NULL});
    cr_assert_eq(fake_cuda.graph_launches, 0);
    cr_assert_eq(fake_nccl.captured, 0);
}

/* ---- The library ---- */

static void sum_ranks(fake_rank *r) {
    pith_scope *s = r->s;
    pith_set_log_hook(r->runtime, count_messages, NULL);
    for (int k = 0; k < 3; k++) {
        const pith_array *own = pith_i64(s, r->rank + 1);
        FAKE_CHECK(r, pith_read_i64(s, pith_psum(s, own, "x", NULL)) == 3);
        FAKE_CHECK(r, pith_read_i64(s, pith_pbroadcast(s, own, "x", 1)) == 2);
    }
}

/* The same sums, by no move of the library. */
static void falls_back(void) {
    const fake_result result = run(2, 200, NULL, sum_ranks);
    cr_assert(result.failures == 0 && !result.ended, "%s", result.report);
    cr_assert_eq(fake_nccl.moves, 0);
    cr_assert_eq(fake_nccl.communicators, 0);
}

Test(nccl, without_it_data_go_through_the_host) {
    fake_nccl.absent = true;
    falls_back();
    passes("sums", 2);
    passes("compiled", 2);
}

Test(nccl, it_is_switched_off) {
    setenv("PITH_NCCL", "off", 1);
    falls_back();
}

static int versions[2];

static void open_with_versions(fake_rank *r) {
    pith_scope *s = pith_scope_open(r->runtime);
    fake_nccl_version = versions[r->rank];
    const bool opened = fake_open(r, s, PITH_MESH_AXES({"x", 0})) != NULL;
    FAKE_CHECK(r, opened == (versions[0] == versions[1]));
    if (!opened) {
        FAKE_CHECK(r, pith_code(s) == PITH_E_DIVERGED);
        FAKE_CHECK(r, strstr(pith_message(s), "NCCL 2.28.9"));
        FAKE_CHECK(r, strstr(pith_message(s), "NCCL 2.27.3"));
    } else {
        FAKE_CHECK(r, pith_read_i64(s, pith_psum(s, pith_i64(s, 1), "x", NULL)) == 2);
    }
    pith_clear(s);
    pith_scope_close(s);
}

static void open_versions(int first, int second) {
    versions[0] = first;
    versions[1] = second;
    const fake_result result = fake_run(
        &(fake_options){
            .size = 2, .timeout = 200, .open = {&cuda, &cuda}, .open_late = true},
        open_with_versions);
    cr_assert_eq(result.failures, 0);
}

Test(nccl, ranks_compare_versions) {
    open_versions(22703, 22809);
}

Test(nccl, an_old_one_is_not_used) {
    open_versions(22605, 22605);
    cr_assert_eq(fake_nccl.moves, 0);
    open_versions(22700, 22700);
    cr_assert_gt(fake_nccl.moves, 0);
}

/* ---- One rank without memory ---- */

enum { FAR = 1000000 }; /* allocations that no runtime makes here */

/* Rank 1 has no memory once: opening a communicator, compiling, capturing, running. What
 * succeeds is right, and no rank waits for another. */
static void sum_with_little_memory(fake_rank *r) {
    pt_heap *heap = r->closure;
    pith_scope *s = r->s;
    const long long n = atomic_load(&heap->fail_at);
    const pith_function *f = pith_jit(s, &rounds_function, NULL);
    FAKE_CHECK(r, pith_call(s, f, PITH_ITEMS(pith_i64(s, 1)))); /* records it */
    pith_scope *other = pith_scope_open_in(s);
    FAKE_CHECK(r, fake_open(r, other, PITH_MESH_AXES({"y", 0})));
    FAKE_CHECK(r, pith_agree(s));
    if (r->rank == 1)
        atomic_store(&heap->fail_at, atomic_load(&heap->allocations) + n - FAR);
    for (int call = 0; call < CALLS; call++) {
        pith_scope *in = call ? s : other; /* whose ranks are not connected yet */
        const pith_array *one = pith_i64(in, 1), *made;
        made = call ? pith_call(in, f, PITH_ITEMS(one)) : pith_psum(in, one, "y", NULL);
        const pith_status code = pith_code(in);
        FAKE_CHECK(r, code == PITH_OK || code == PITH_E_MEMORY || code == PITH_E_PEER);
        FAKE_CHECK(r, code != PITH_OK ||
                          pith_read_i64(in, made) == (call ? after_rounds() : 2));
        pith_clear(in);
    }
    pith_scope_close(other);
    FAKE_CHECK(r, pith_agree(s));
}

Test(nccl, a_rank_without_memory_holds_up_no_other) {
    bool reached = true;
    int n = 1;
    setenv("PITH_JIT", "wait", 1);
    for (; reached; n++) {
        pt_heap heap = {.fail_at = FAR + n};
        const pith_allocator allocator = pt_allocator(&heap);
        const pith_open_options little = {
            .device = "cuda", .threads = 1, .allocator = &allocator};
        const fake_result result = fake_run(
            &(fake_options){
                .size = 2, .timeout = 60, .closure = &heap, .open = {&cuda, &little}},
            sum_with_little_memory);
        cr_assert(result.failures == 0 && !result.ended, "allocation %d: %s", n,
                  result.report);
        reached = atomic_load(&heap.allocations) >= atomic_load(&heap.fail_at);
        cr_assert_eq(fake_nccl.communicators, 0);
        pt_no_leak(&heap);
    }
    cr_assert_gt(n, 20);
}

/* ---- Trouble ---- */

Test(nccl, a_communicator_that_cannot_be_opened_is_replaced_on_all_ranks) {
    fake_nccl.fail_call = "CommInitRankConfig";
    fake_nccl.fail_rank = 1;
    falls_back();
    cr_assert_gt(messages, 0);
    cr_assert_eq(fake_nccl.aborted, 2);
}

static void meet_trouble(fake_rank *r) {
    pith_scope *s = r->s;
    (void)pith_psum(s, pith_i64(s, 1), "x", NULL);
    FAKE_CHECK(r, !pith_failed(s));
    if (r->rank == 1) /* whose next call fails; rank 0 may still be in its first */
        fake_nccl.fail_call = r->closure;
    (void)pith_agree(s);
    (void)pith_psum(s, pith_i64(s, 1), "x", NULL);
    (void)pith_agree(s);
    FAKE_CHECK(r, pith_code(s) == PITH_E_PEER);
}

/* The job ends, and says what the library said. */
static void ends(double timeout, const char *call, const char *text) {
    const fake_result result = run(2, timeout, (void *)(uintptr_t)call, meet_trouble);
    cr_assert_eq(result.failures, 0);
    cr_assert_eq(result.ended, 70);
    cr_assert(strstr(result.report, text), "%s", result.report);
    cr_assert_eq(fake_nccl.communicators, 0);
    cr_assert_gt(fake_nccl.aborted, 0);
}

Test(nccl, a_move_that_fails_ends_the_job) {
    fake_nccl.fail_rank = 1;
    ends(200, "AllReduce",
         "communicator over x: cannot move data: unhandled system error");
}

Test(nccl, a_move_that_never_begins_ends_the_job) {
    fake_nccl.fail_rank = 1;
    fake_nccl.hangs = true;
    ends(1, "AllReduce", " 1 s"); /* by its own limit, or that of the watch */
}

/* Rank 1 fails in its capture, once it has run by calls. */
static void capture_trouble(fake_rank *r) {
    pith_scope *s = r->s;
    const pith_function *f = pith_jit(s, &rounds_function, NULL);
    (void)pith_call(s, f, PITH_ITEMS(pith_i64(s, 1)));
    FAKE_CHECK(r, pith_agree(s));
    if (r->rank == 1) {
        const int *after = r->closure;
        fake_nccl.fail_after = *after;
        fake_nccl.fail_call = "AllReduce";
    }
    (void)pith_call(s, f, PITH_ITEMS(pith_i64(s, 1)));
    (void)pith_agree(s);
    FAKE_CHECK(r, pith_code(s) == PITH_E_PEER);
}

static void capture_ends(double timeout, int after, const char *text) {
    setenv("PITH_JIT", "wait", 1);
    fake_nccl.fail_rank = 1;
    const fake_result result = run(2, timeout, &after, capture_trouble);
    cr_assert_eq(result.failures, 0);
    cr_assert_eq(result.ended, 70);
    cr_assert(strstr(result.report, text), "%s", result.report);
    cr_assert_eq(fake_nccl.communicators, 0);
}

Test(nccl, a_move_that_fails_in_a_capture_ends_the_job) {
    capture_ends(200, 0, "cannot be captured: unhandled system error");
}

/* The moves that were captured before it are given up before the communicator is. */
Test(nccl, a_later_move_that_fails_in_a_capture_ends_the_job) {
    capture_ends(200, ROUNDS / 2, "cannot be captured: unhandled system error");
}

Test(nccl, a_move_that_never_settles_in_a_capture_ends_the_job) {
    fake_nccl.hangs = true;
    capture_ends(1, 0, " 1 s");
}

/* ---- Routes that do not fit ---- */

static const pith_array *
send_rows(pith_scope *s, const pith_route *r, const pith_array *x) {
    return pith_route_send(s, r, x);
}
PITH_FUNCTION2(send_rows_of, send_rows, pith_array, pith_route, pith_array)
static const pith_array *
return_rows(pith_scope *s, const pith_route *r, const pith_array *x) {
    return pith_route_return(s, r, pith_zeros(s, PITH_F32, PITH_SHAPE(r->max_receive)),
                             x);
}
PITH_FUNCTION2(return_rows_of, return_rows, pith_array, pith_route, pith_array)

/* Routes with a row that the array does not have. */
static void send_beyond(fake_rank *r) {
    pith_scope *s = r->s;
    const int32_t rows[] = {1, 6};
    const pith_array *to = pith_zeros(s, PITH_I32, PITH_SHAPE(2));
    const pith_route *room = pith_route_room(s, 2, 3, 4);
    const pith_route *route = pith_route_make(
        s, pith_array_copy(s, PITH_I32, PITH_SHAPE(2), rows), to, "x", room);
    const pith_array *x = pith_zeros(s, PITH_F32, PITH_SHAPE(5));
    const pith_function *f = pith_jit(s, r->closure, NULL);
    (void)pith_call(s, f, PITH_ITEMS(route, x));
    (void)pith_agree(s);
    FAKE_CHECK(r, pith_code(s) == PITH_E_PEER);
}

static void refuses_row(const pith_function *f) {
    const fake_result result = run(2, 200, (void *)(uintptr_t)f, send_beyond);
    cr_assert_eq(result.failures, 0);
    cr_assert_eq(result.ended, 70);
    cr_assert(strstr(result.report, "a route: row 6 of an array of 5 rows"), "%s",
              result.report);
}

Test(nccl, a_row_that_an_array_does_not_have_ends_the_job) {
    refuses_row(&send_rows_of);
    refuses_row(&return_rows_of);
    setenv("PITH_NCCL", "off", 1);
    refuses_row(&send_rows_of);
    refuses_row(&return_rows_of);
}

static void wait_for_end(fake_rank *r) {
    pith_scope *s = r->s;
    (void)pith_psum(s, pith_i64(s, 1), "x", NULL);
    fake_nccl.lost_rank = 1;
    fake_nccl.loses = true;
    while (pith_agree(s))
        ;
    FAKE_CHECK(r, pith_code(s) == PITH_E_PEER);
}

Test(nccl, trouble_in_the_background_ends_the_job) {
    const fake_result result = run(2, 200, NULL, wait_for_end);
    cr_assert_eq(result.failures, 0);
    cr_assert_eq(result.ended, 70);
    cr_assert(strstr(result.report, "NCCL, communicator over x"), "%s", result.report);
}
