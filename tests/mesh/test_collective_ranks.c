/* Collectives of several ranks on a device that the host does not reach: arrays are
 * staged, and command buffers are driven by the host. */
#include "mesh/cases.h"
#include "mesh/fake/fake.h"
#include "pith_test.h"

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
