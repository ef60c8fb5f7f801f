/* Agreements of ranks: layouts, equal calls, differences, failures, and the ends of
 * waits, over a transport of threads. */
#include "mesh/fake/fake.h"
#include "pith_test.h"

#include <pith/mesh.h>
#include <unistd.h>

#define OPEN(r, ...) fake_open((r), PITH_AT((r)->s), PITH_MESH_AXES(__VA_ARGS__))

static bool says(const fake_rank *r, const char *text) {
    return strstr(pith_message(r->s), text) != NULL;
}

static fake_result run(int size, uint64_t seed, void (*body)(fake_rank *r)) {
    return fake_run(&(fake_options){.size = size, .seed = seed, .timeout = 60}, body);
}

static void passes(int size, void (*body)(fake_rank *r)) {
    for (uint64_t seed = 0; seed < 3; seed++) {
        const fake_result result = run(size, seed, body);
        cr_assert(result.failures == 0, "seed %d", (int)seed);
        cr_assert(result.ended == 0, "%s", result.report);
    }
}

/* ---- Layouts ---- */

static void lays_out(fake_rank *r) {
    const pith_mesh *mesh = OPEN(r, {"x", 2}, {"y", 0});
    FAKE_CHECK(r,
               mesh && pith_axis_size(r->s, "x") == 2 && pith_axis_size(r->s, "y") == 3);
    FAKE_CHECK(r, pith_axis_rank(r->s, "x") == r->rank / 3);
    FAKE_CHECK(r, pith_axis_rank(r->s, "y") == r->rank % 3);
    FAKE_CHECK(r, pith_axis_rank(r->s, NULL) == r->rank);
    FAKE_CHECK(r, pith_axis_rank(r->s, "y,x") == r->rank % 3 * 2 + r->rank / 3);
    FAKE_CHECK(r, OPEN(r, {"x", 2}, {"y", 3}) == mesh);
    FAKE_CHECK(r, OPEN(r, {"a", 0}, {"b", 0}, {"c", 0}));
    FAKE_CHECK(r, pith_axis_size(r->s, "a") == 3 && pith_axis_size(r->s, "b") == 2);
    FAKE_CHECK(r, pith_axis_size(r->s, "c") == 1);
    FAKE_CHECK(r, !OPEN(r, {"x", 4}, {"y", 0}));
    FAKE_CHECK(
        r,
        says(
            r,
            "the sizes x=4, y=0 give 4 times the axes of size 0, but there are 6 ranks"));
    pith_clear(r->s);
    FAKE_CHECK(r, pith_agree(r->s));
}
Test(mesh_agree, lays_out_axes) {
    passes(6, lays_out);
}

static void balances(fake_rank *r) {
    FAKE_CHECK(r, OPEN(r, {"x", 0}, {"y", 0}, {"z", 0}));
    for (int i = 0; i < 3; i++)
        FAKE_CHECK(r, pith_axis_size(r->s, (const char *[]){"x", "y", "z"}[i]) == 2);
}
Test(mesh_agree, balances_eight_ranks) {
    passes(8, balances);
}

static void knows_nodes(fake_rank *r) {
    const pith_mesh_info info = pith_mesh_about(pith_mesh_of(r->s));
    FAKE_CHECK(r, info.node == r->rank / 2 && info.nodes == 2 && info.node_size == 2);
}
Test(mesh_agree, tells_nodes) {
    const fake_result result =
        fake_run(&(fake_options){.size = 4, .nodes = 2, .timeout = 60}, knows_nodes);
    cr_assert(result.failures == 0 && !result.ended);
}

/* ---- Failures and differences ---- */

static void one_fails(fake_rank *r) {
    for (int round = 0; round < 3; round++) {
        FAKE_CHECK(r, pith_agree(r->s));
        if (r->rank == 1)
            pith_fail(r->s, PITH_E_SHAPE, ".brick", "ghosts overlap");
        FAKE_CHECK(r, !pith_agree(r->s));
        FAKE_CHECK(r, pith_code(r->s) == (r->rank == 1 ? PITH_E_SHAPE : PITH_E_PEER));
        FAKE_CHECK(r, says(r, "ghosts overlap"));
        if (r->rank != 1)
            FAKE_CHECK(r, says(r, "pith_agree: rank 1 of 4 (") &&
                              says(r, ") failed: PITH_E_SHAPE: .brick: "));
        FAKE_CHECK(r, !pith_agree(r->s)); /* until all have cleared it */
        pith_clear(r->s);
    }
    FAKE_CHECK(r, pith_agree(r->s));
}
Test(mesh_agree, a_failure_reaches_all_ranks) {
    passes(4, one_fails);
}

static void calls_differ(fake_rank *r) {
    if (r->rank == 2)
        OPEN(r, {"x", 0});
    else
        pith_agree(r->s);
    FAKE_CHECK(r, pith_code(r->s) == PITH_E_DIVERGED);
    FAKE_CHECK(r, says(r, "rank 2 (") &&
                      says(r, ") calls pith_mesh_open of x=3 at test_agree.c:"));
    FAKE_CHECK(r,
               says(r, "but rank 0 (") && says(r, ") calls pith_agree at test_agree.c:"));
    pith_clear(r->s);
    FAKE_CHECK(r, pith_agree(r->s));
}
Test(mesh_agree, other_calls_are_told) {
    passes(3, calls_differ);
}

/* As of two threads of each rank, whose calls meet in another order. */
static void scopes_differ(fake_rank *r) {
    pith_scope *other = pith_scope_open(r->runtime), *s = r->rank == 1 ? other : r->s;
    FAKE_CHECK(r, fake_open(r, PITH_AT(other), PITH_MESH_AXES({"x", 0})));
    pith_scope *child = pith_scope_open_in(s);
    FAKE_CHECK(r, !pith_agree(child) && pith_code(child) == PITH_E_DIVERGED);
    FAKE_CHECK(r, strstr(pith_message(child), "in a scope of another pith_mesh_open"));
    pith_clear(child);
    pith_scope_close(child);
    FAKE_CHECK(r, pith_agree(other) && pith_agree(r->s));
    pith_scope_close(other);
}
Test(mesh_agree, calls_on_other_scopes_are_told) {
    passes(3, scopes_differ);
}

static void sites_differ(fake_rank *r) {
    if (r->rank)
        pith_agree(r->s);
    else
        pith_agree(r->s);
    FAKE_CHECK(r, pith_code(r->s) == PITH_E_DIVERGED && says(r, "rank 1 ("));
    pith_clear(r->s);
}
Test(mesh_agree, other_sites_are_told) {
    passes(2, sites_differ);
}

static void one_closes(fake_rank *r) {
    if (r->rank == 0)
        return; /* to pith_close, which waits for the others */
    FAKE_CHECK(r, !pith_agree(r->s) && pith_code(r->s) == PITH_E_DIVERGED);
    FAKE_CHECK(r, says(r, "calls pith_close"));
    pith_clear(r->s);
    FAKE_CHECK(r, !pith_agree(r->s));
}
Test(mesh_agree, a_closing_rank_is_told) {
    passes(3, one_closes);
}

static void opens_with_an_error(fake_rank *r) {
    if (r->rank == 1)
        pith_fail(r->s, PITH_E_IO, NULL, "no input");
    FAKE_CHECK(r, !OPEN(r, {"x", 0}));
    FAKE_CHECK(r, pith_code(r->s) == (r->rank == 1 ? PITH_E_IO : PITH_E_PEER));
    FAKE_CHECK(r, says(r, "no input"));
    pith_clear(r->s);
    FAKE_CHECK(r, OPEN(r, {"x", 0}) && pith_agree(r->s));
}
Test(mesh_agree, a_failed_rank_joins) {
    for (uint64_t seed = 0; seed < 4; seed++) {
        const fake_result result = fake_run(
            &(fake_options){.size = 3, .seed = seed, .timeout = 60, .open_late = true},
            opens_with_an_error);
        cr_assert(result.failures == 0 && !result.ended, "%s", result.report);
    }
}

/* ---- Random interleavings ---- */

/* Ranks may be some agreements apart. */
static void come_together(fake_rank *r) {
    int tries = 0;
    while (!pith_agree(r->s) && tries++ < 20)
        pith_clear(r->s);
    FAKE_CHECK(r, !pith_failed(r->s));
}

/* Each rank fails, calls the wrong function, or does right, by chance: all agree on what
 * happened, and go on. */
static void errs_at_random(fake_rank *r) {
    uint64_t shared = (uint64_t)(uintptr_t)r->closure;
    for (int step = 0; step < 40; step++) {
        shared = shared * 6364136223846793005u + 1442695040888963407u;
        const int failing = (int)(shared >> 33) % 12, wrong = (int)(shared >> 41) % 12;
        if (failing == r->rank)
            pith_fail(r->s, PITH_E_CHECK, NULL, "by chance");
        const bool good = wrong == r->rank ? OPEN(r, {"x", 0}) != NULL : pith_agree(r->s);
        const pith_status code = pith_code(r->s);
        if (failing < 4)
            FAKE_CHECK(r, code == (failing == r->rank ? PITH_E_CHECK : PITH_E_PEER));
        else
            FAKE_CHECK(r, code == (wrong < 4 ? PITH_E_DIVERGED : PITH_OK));
        FAKE_CHECK(r, good == (code == PITH_OK));
        pith_clear(r->s);
        if (failing < 4 && wrong < 4) /* the failed one waits for the wrong one */
            come_together(r);
    }
}
Test(mesh_agree, random_errors_are_the_same_on_all_ranks) {
    for (uint64_t seed = 1; seed < 5; seed++) {
        const fake_result result =
            fake_run(&(fake_options){.size = 4,
                                     .seed = seed,
                                     .timeout = 60,
                                     .closure = (void *)(uintptr_t)(seed * 977)},
                     errs_at_random);
        cr_assert(result.failures == 0 && !result.ended, "%s", result.report);
    }
}

/* ---- Ends of waits ---- */

static void one_dies(fake_rank *r) {
    pith_agree(r->s);
    if (r->rank == 2) {
        fake_die(r);
        return;
    }
    FAKE_CHECK(r, !pith_agree(r->s) && pith_code(r->s) == PITH_E_PEER);
    FAKE_CHECK(r, !pith_agree(r->s)); /* without a wait */
}
Test(mesh_agree, a_death_ends_the_job) {
    const fake_result result =
        fake_run(&(fake_options){.size = 4, .timeout = 60}, one_dies);
    cr_assert(result.failures == 0 && result.ended == 70);
    cr_assert(strstr(result.report, "rank 2: its process ended without pith_close after "
                                    "collective "),
              "%s", result.report);
    cr_assert(strstr(result.report, "(pith_agree, test_agree.c:"), "%s", result.report);
}

static void one_hangs(fake_rank *r) {
    pith_agree(r->s);
    if (r->rank == 1)
        usleep(1200000);
    pith_agree(r->s);
    FAKE_CHECK(r, pith_code(r->s) == PITH_E_PEER);
}
Test(mesh_agree, a_hang_ends_the_job) {
    const fake_result result =
        fake_run(&(fake_options){.size = 4, .timeout = 0.3}, one_hangs);
    cr_assert(result.failures == 0 && result.ended == 70);
    cr_assert(strstr(result.report, "rank 1: in user code since collective "), "%s",
              result.report);
    cr_assert(strstr(result.report, " s; ranks 0, 2, 3 wait in "), "%s", result.report);
    cr_assert(strstr(result.report, "rank 0: waits in collective "), "%s", result.report);
}

static void engine_refuses(fake_rank *r) {
    for (int i = 0; i < 30; i++)
        if (!pith_agree(r->s))
            FAKE_CHECK(r, pith_code(r->s) == PITH_E_PEER);
    FAKE_CHECK(r, pith_failed(r->s));
}
Test(mesh_agree, a_refusing_engine_ends_the_job) {
    for (int at = 10; at < 30; at += 5) {
        const fake_result result = fake_run(&(fake_options){.size = 3,
                                                            .seed = (uint64_t)at,
                                                            .timeout = 60,
                                                            .refuse_rank = 1,
                                                            .refuse_at = at},
                                            engine_refuses);
        cr_assert(result.failures == 0 && result.ended == 70);
        cr_assert(strstr(result.report, "rank 1: the fake engine refuses"), "%s",
                  result.report);
    }
}
