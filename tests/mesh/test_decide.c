/* Decisions and runs over threads, on 2 to 4 ranks, with delays. */
#include "mesh/fake/jobs.h"

#define LIST mesh_decision_cases
#define CASE(name)                                                                       \
    Test(decide, name) {                                                                 \
        for (int size = 2; size <= 4; size++)                                            \
            if (fake_takes(size, 4))                                                     \
                fake_case_passes(LIST, #name, size, (uint64_t)size - 2);                 \
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
CASE(loops_end_early)
CASE(loops_end_together)
CASE(refuses_on_one_rank)
CASE(structures_differ)

Test(decide, by_chance) {
    for (uint64_t seed = 0; seed < 12; seed++)
        fake_case_passes(mesh_decision_cases, "by_chance", 2 + (int)(seed % 3), seed);
}

#undef LIST
#define LIST mesh_in_use_grow_cases
CASE(rows_outgrow_their_array)
CASE(rows_of_one_rank_outgrow_it)
CASE(a_wrong_number_stays_one)
CASE(the_capacity_is_the_failure)

#undef LIST
#define LIST mesh_cases_of_runs
#undef CASE
#define CASE(name)                                                                       \
    Test(decide, name) {                                                                 \
        setenv("MESH_FOLDER", pt_files(), 1);                                            \
        for (int size = 2; size <= 3; size++)                                            \
            if (fake_takes(size, 3))                                                     \
                fake_case_passes(LIST, #name, size, (uint64_t)size - 2);                 \
    }
CASE(requests)
CASE(callbacks_fail)
CASE(files_fail)
CASE(states_differ)
CASE(folders_differ)
CASE(saves_shards)
CASE(status_files)
CASE(options_differ)
CASE(fits)
CASE(chunks)
CASE(chunks_differ)
CASE(draws)

#undef LIST
#define LIST mesh_alone_cases
CASE(leaves_early)
CASE(unread_checks)
CASE(one_resizes)
CASE(checks_of_fixes)
CASE(files_of_one)
CASE(chunks_of_one)
CASE(measures)

#undef LIST
#define LIST mesh_cases_of_shard_runs
CASE(shards_stop)
CASE(shards_fail)
CASE(shards_differ)

/* ---- Plain arguments that must be equal ---- */

typedef struct {
    const pith_array *a, *b;
} Pair;
PITH_NODE(Pair, PITH_LEAF(a, "f64[n]"), PITH_LEAF(b, "f64[n]"))

static const Pair *add_up(pith_scope *s, const Pair *in) {
    const Pair next = {.a = pith_psum(s, in->a, NULL, NULL), .b = in->b};
    return pith_make(s, Pair, &next, NULL);
}
PITH_FUNCTION1(add_up_of, add_up, Pair, Pair)

static const Pair *pair(fake_rank *r, double b) {
    const double elements[] = {1, b};
    return pith_make(
        r->s, Pair,
        &(Pair){.a = pith_ones(r->s, PITH_F64, PITH_SHAPE(2)),
                .b = pith_array_copy(r->s, PITH_F64, PITH_SHAPE(2), elements)},
        NULL);
}

static void check_refusal(fake_rank *r, const char *text) {
    FAKE_CHECK(r, pith_code(r->s) == PITH_E_DIVERGED);
    FAKE_CHECK(r, strncmp(pith_message(r->s), text, strlen(text)) == 0);
    pith_clear(r->s);
}

static void compares(fake_rank *r) {
    const pith_function *f = pith_jit(r->s, &add_up_of, NULL);
    const Pair *same = pair(r, 0), *other = pair(r, r->rank == 2 ? -0.0 : 0);
    for (int round = 0; round < 3; round++) {
        FAKE_CHECK(r, pith_call(r->s, f, PITH_ITEMS(same)) && !pith_failed(r->s));
        pith_call(r->s, f, PITH_ITEMS(other));
        check_refusal(r, ".b: add_up: rank 2 of 3 (x=2) has other elements than rank 0");
    }
    FAKE_CHECK(r, pith_propagate(r->s, Pair, f, same, NULL) && !pith_failed(r->s));
    pith_propagate(r->s, Pair, f, other, NULL);
    check_refusal(r, ".b: pith_propagate: rank 2 of 3 (x=2) has other");
    FAKE_CHECK(r, pith_agree(r->s));
}

Test(decide, compares_plain_arguments) {
    for (uint64_t seed = 0; seed < 3; seed++) {
        const fake_result result = fake_run(
            &(fake_options){.size = 3, .seed = seed, .timeout = 60, .compare = true},
            compares);
        cr_assert(result.failures == 0 && !result.ended, "%s", result.report);
    }
}

/* ---- One rank without memory ---- */

/* What one rank cannot allocate fails on all; all then go on. */
static void grows_with_little_memory(fake_rank *r) {
    pt_heap *heap = r->closure;
    const long long n = atomic_load(&heap->fail_at) - FAKE_FAR;
    mesh_test t = {.s = r->s, .rank = r->rank, .size = 3};
    FAKE_CHECK(r, mesh_grow(&t) && pith_agree(r->s)); /* what stays in caches */
    if (r->rank == 1)
        atomic_store(&heap->fail_at, atomic_load(&heap->allocations) + n);
    const bool good = mesh_grow(&t);
    const pith_status code = pith_code(t.s);
    FAKE_CHECK(r, good == (code == PITH_OK));
    FAKE_CHECK(r,
               code == PITH_OK || code == (r->rank == 1 ? PITH_E_MEMORY : PITH_E_PEER));
    pith_clear(t.s);
    if (r->rank == 1 && atomic_load(&heap->allocations) < atomic_load(&heap->fail_at))
        atomic_store(&heap->fail_at, 2 * FAKE_FAR); /* not reached */
    FAKE_CHECK(r, mesh_grow(&t) && pith_agree(t.s));
}

Test(decide, a_rank_without_memory_holds_up_no_other) {
    fake_short_memory(grows_with_little_memory, false, 5);
}
