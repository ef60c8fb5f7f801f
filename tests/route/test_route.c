/* Halos and routes over threads, on 1 to 8 ranks, with delays; and their memory. */
#include "fail_allocator.h"
#include "mesh/cases.h"
#include "mesh/fake/fake.h"

static void run_cases(fake_rank *r) {
    r->failures += mesh_run_cases(r->s, r->closure);
}

static void passes(const char *only, int size, uint64_t seed) {
    const fake_result result =
        fake_run(&(fake_options){.size = size,
                                 .seed = seed,
                                 .timeout = 120,
                                 .closure = (void *)(uintptr_t)only},
                 run_cases);
    cr_assert(result.failures == 0 && !result.ended, "%s on %d: %s", only, size,
              result.report);
}

#define CASE(name)                                                                       \
    Test(route, name) {                                                                  \
        static const int sizes[] = {1, 2, 3, 4, 8};                                      \
        for (uint64_t i = 0; i < sizeof sizes / sizeof *sizes; i++)                      \
            passes(#name, sizes[i], i);                                                  \
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
CASE(wrong_routes)
CASE(hostile_routes)
CASE(routes_differ)

Test(route, interleavings) {
    for (uint64_t seed = 1; seed < 25; seed++)
        passes("routes_and_back", 2 + (int)(seed % 3), seed);
}

/* Work that the host defers is waited for before data move. */
Test(route, deferred_work) {
    setenv("PITH_HOST_ASYNC", "1", 1);
    passes("halos_and_sums_of_halos", 3, 1);
    passes("routes_and_back", 3, 1);
    passes("routes_return", 2, 0);
}
