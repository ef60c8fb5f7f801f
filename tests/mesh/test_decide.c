/* Decisions and runs over threads, on 2 to 4 ranks, with delays. */
#include "mesh/cases.h"
#include "mesh/fake/fake.h"
#include "pith_test.h"

typedef struct job {
    const mesh_case *list;
    const char *only;
    uint64_t seed;
} job;

static void run_cases(fake_rank *r) {
    const job *j = r->closure;
    r->failures +=
        mesh_run_list(r->s, j->list, j->only, (const void *)(uintptr_t)j->seed);
}

static void passes(const mesh_case *list, const char *only, int size, uint64_t seed) {
    job j = {list, only, seed};
    const fake_result result = fake_run(
        &(fake_options){.size = size, .seed = seed, .timeout = 120, .closure = &j},
        run_cases);
    cr_assert(result.failures == 0 && !result.ended, "%s on %d, seed %d: %s", only, size,
              (int)seed, result.report);
}

#define LIST mesh_decision_cases
#define CASE(name)                                                                       \
    Test(decide, name) {                                                                 \
        passes(LIST, #name, 2, 0);                                                       \
        passes(LIST, #name, 3, 1);                                                       \
        passes(LIST, #name, 4, 2);                                                       \
    }
CASE(grows)
CASE(takes_arguments_of_the_first)
CASE(one_without_a_fix)
CASE(compiled_checks)
CASE(compiled_steps)
CASE(compiled_calls)
CASE(repeats_end)
CASE(results)
CASE(raised_results)
CASE(errors_of_one_rank)
CASE(refuses_on_one_rank)
CASE(structures_differ)

Test(decide, by_chance) {
    for (uint64_t seed = 0; seed < 12; seed++)
        passes(mesh_decision_cases, "by_chance", 2 + (int)(seed % 3), seed);
}

#undef LIST
#define LIST mesh_cases_of_runs
#undef CASE
#define CASE(name)                                                                       \
    Test(decide, name) {                                                                 \
        setenv("MESH_FOLDER", pt_files(), 1);                                            \
        passes(LIST, #name, 2, 0);                                                       \
        passes(LIST, #name, 3, 1);                                                       \
    }
CASE(requests)
CASE(callbacks_fail)
CASE(files_fail)
CASE(states_differ)
CASE(options_differ)
CASE(fits)
CASE(chunks)
CASE(draws)
