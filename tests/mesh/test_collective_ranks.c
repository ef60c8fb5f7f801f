/* Collectives of several ranks on a device that the host does not reach: arrays are
 * staged, and command buffers are driven by the host. */
#include "mesh/cases.h"
#include "mesh/fake/jobs.h"

static void run_cases(fake_rank *r) {
    r->failures += mesh_run_cases(r->s, r->closure);
}

static void passes(const char *only, int size) {
    const pith_open_options cuda = {.device = "cuda", .threads = 1};
    const fake_result result =
        fake_run(&(fake_options){.size = size,
                                 .timeout = 200,
                                 .closure = (void *)(uintptr_t)only,
                                 .open = {&cuda, &cuda, &cuda}},
                 run_cases);
    cr_assert(result.failures == 0 && !result.ended, "%s on %d: %s", only, size,
              result.report);
}

Test(collective_ranks, eager) {
    passes("sums", 2);
    passes("blocks", 3);
    passes("rows", 3);
}

Test(collective_ranks, call_by_call) {
    setenv("PITH_JIT", "off", 1);
    passes("compiled", 3);
    passes("control", 2);
}

Test(collective_ranks, command_buffers) {
    passes("compiled", 2);
    passes("control", 3);
    passes("programs_differ", 2);
    passes("programs_fail", 2);
}

/* ---- Memory ---- */

static const pith_array *
move_rows(pith_scope *s, const pith_route *route, const pith_array *a) {
    const pith_array *wide = pith_halo(s, a, 0, "x", 1, 2, true);
    const pith_array *sent = pith_route_send(s, route, a);
    const pith_array *sum =
        pith_add(s, pith_sum(s, wide, PITH_ALL_AXES), pith_sum(s, sent, PITH_ALL_AXES));
    return pith_add(s, pith_route_return(s, route, sent, a),
                    pith_psum(s, sum, "x", NULL));
}
PITH_FUNCTION2(move_rows_function, move_rows, pith_array, pith_route, pith_array)

/* Allocations of ten steps, compiled and eager. */
static long long allocations_of(fake_rank *r,
                                const pith_function *f,
                                const pith_route *route,
                                const pith_array *a) {
    const pt_heap *heaps = r->closure, *heap = &heaps[r->rank];
    const long long before = atomic_load(&heap->allocations);
    for (int step = 0; step < 10; step++) {
        pith_scope *in = pith_scope_open_in(r->s);
        FAKE_CHECK(r, pith_apply(in, f, route, a));
        FAKE_CHECK(r, pith_route_send(in, route, a));
        FAKE_CHECK(r, pith_halo(in, a, 1, "x", 1, 1, true));
        pith_scope_close(in);
    }
    return atomic_load(&heap->allocations) - before;
}

static void steps_of_ranks(fake_rank *r) {
    const pith_function *f = pith_jit(r->s, &move_rows_function, NULL);
    const pith_array *to = pith_full(r->s, PITH_I64, PITH_SHAPE(6), 1 - r->rank);
    const pith_route *route =
        pith_route_make(r->s, pith_arange(r->s, PITH_I64, 6), to, NULL, NULL);
    const pith_array *a = pith_iota(r->s, PITH_F32, PITH_SHAPE(6, 2), 0);
    for (int warm = 0; warm < 8; warm++)
        allocations_of(r, f, route, a);
    const long long calls = allocations_of(r, f, route, a);
    if (calls != 0)
        fprintf(stderr, "rank %d: %lld allocations in ten steps\n", r->rank, calls);
    FAKE_CHECK(r, calls == 0);
}

Test(collective_ranks, a_step_allocates_nothing) {
    setenv("PITH_JIT", "wait", 1); /* no code comes late */
    fake_with_heaps("cuda", steps_of_ranks);
}
