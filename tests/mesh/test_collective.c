/* Collectives over threads, on 1 to 5 ranks, with delays. */
#include "mesh/fake/jobs.h"

static void passes(const char *only, int size, uint64_t seed) {
    fake_case_passes(NULL, only, size, seed);
}

#define CASE(name)                                                                       \
    Test(collective, name) {                                                             \
        passes(#name, 2, 0);                                                             \
        passes(#name, 3, 1);                                                             \
    }
CASE(sums)
CASE(sums_of_special_numbers)
CASE(sums_in_any_order)
CASE(means_and_extremes)
CASE(sums_of_rows_in_use)
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
/* The interpreter alone: without compiled code. */
Test(collective, interpreted) {
    setenv("PITH_JIT", "off", 1);
    passes("compiled", 2, 0);
    passes("control", 4, 2);
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
