/* Collectives of devices that move data without the host, by a stand-in for NCCL. */
#include "fake_nccl.h"
#include "mesh/cases.h"
#include "mesh/fake/fake.h"
#include "pith_test.h"

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

/* ---- The library ---- */

static atomic_int messages;

static void count_messages(pith_log_level level, const char *text, void *closure) {
    (void)closure, (void)level;
    messages += strstr(text, "memory of the host") != NULL;
}

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
    if (r->rank == 0)
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
    ends(1, "AllReduce", "within 1 s");
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
