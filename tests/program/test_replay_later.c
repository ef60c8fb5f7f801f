/* Graphs that are made on a thread of their own: callers do none of it, and plans, memory
 * and the runtime may go meanwhile. */
#include "gpu/compile/background.h"
#include "replay_fake.h"

#include <unistd.h>

static bench begin_counted(void) {
    bench b = begin("async", "on");
    pith_scope_close(b.on);
    pith_close(b.device);
    device_open(&b);
    return b;
}

/* Runs until its graph is made, at most so many. */
enum { SOME_TIME = 40, LONG = 10000 };
static pith_status
run_until_made(const bench *b, const sample *x, pithp_executable *exe, int most) {
    bool same = true;
    pith_status rc = PITH_OK;
    for (int k = 0; k < most && rc == PITH_OK && same; k++) {
        rc = run_plan(b, x->r, exe, &same);
        if (k >= 2 && pithp_replay_look(exe->replay) != PITHP_REPLAY_CALLS)
            break;
        usleep(k < 10 ? 2000 : 10000);
    }
    cr_assert(same);
    return rc;
}

/* ---- What the caller does ---- */

typedef struct blocker {
    pithp_background_work work;
    atomic_bool go, gone;
} blocker;

static void block(pithp_background_work *work, bool given_up) {
    blocker *x = (blocker *)(void *)work;
    (void)given_up;
    while (!atomic_load(&x->go))
        usleep(1000);
    atomic_store(&x->gone, true);
}

static long long
allocations_of_a_run(const bench *b, const sample *x, pithp_executable *exe) {
    const long long before = atomic_load(&pt_default_heap.allocations);
    run_well(b, x->r, exe);
    return atomic_load(&pt_default_heap.allocations) - before;
}

Test(replay_later, the_caller_makes_nothing, .timeout = 600) {
    bench b = begin_counted();
    sample x = sample_make(&b);
    pithp_executable *plan = pithp_executable_make(b.on, x.p, true);
    blocker line = {.work.run = block};
    sample_warm(&b, &x);
    cr_assert(pithp_background_do(pithp_runtime_device(b.device), &line.work));
    run_well(&b, x.r, plan);
    const long long asks = allocations_of_a_run(&b, &x, plan);
    const long long usual = allocations_of_a_run(&b, &x, plan);
    cr_assert_leq(asks, usual + 20, "%lld allocations, and %lld in the next run", asks,
                  usual);
    cr_assert_eq(pithp_replay_look(plan->replay), PITHP_REPLAY_CALLS);
    cr_assert_eq(pithp_replay_bytes(plan->replay), 0u);
    const size_t before = pithp_executable_bytes(plan);
    atomic_store(&line.go, true);
    cr_assert(run_until_made(&b, &x, plan, LONG) == PITH_OK, "%s", run_message);
    cr_assert_eq(pithp_replay_look(plan->replay), PITHP_REPLAY_GRAPH);
    cr_assert_gt(pithp_executable_bytes(plan), before);
    cr_assert(atomic_load(&line.gone));
    pithp_executable_free(plan);
    sample_free(&x);
    end(&b);
}

/* ---- What goes meanwhile ---- */

Test(replay_later, plans_go_while_their_graphs_are_made, .timeout = 600) {
    bench b = begin("async", "on");
    sample x = sample_make(&b);
    sample_warm(&b, &x);
    for (useconds_t k = 0; k < 60; k++) {
        pithp_executable *exe = pithp_executable_make(b.on, x.p, true);
        run_well(&b, x.r, exe);
        run_well(&b, x.r, exe);
        usleep(k * k * 10);
        if (k % 2)
            run_well(&b, x.r, exe);
        pithp_executable_free(exe);
    }
    sample_free(&x);
    end(&b);
}

Test(replay_later, the_runtime_closes_while_graphs_are_made, .timeout = 600) {
    for (useconds_t k = 0; k < 12; k++) {
        bench b = begin("async", "on");
        sample x = sample_make(&b);
        pithp_executable *plans[4];
        sample_warm(&b, &x);
        for (int n = 0; n < 4; n++) {
            plans[n] = pithp_executable_make(b.on, x.p, true);
            run_well(&b, x.r, plans[n]);
            run_well(&b, x.r, plans[n]);
        }
        usleep(k * k * 100);
        for (int n = 0; n < 4; n++)
            pithp_executable_free(plans[n]);
        sample_free(&x);
        end(&b);
    }
}

/* ---- Memory ---- */

/* Runs go on call by call, and the graph is tried again after some of them. */
Test(replay_later, a_shortage_on_the_device_puts_the_graph_off, .timeout = 600) {
    enum { SHORT_OF_MEMORY = 100 };
    bench b = begin_counted();
    sample x = sample_make(&b);
    pithp_executable *plan = pithp_executable_make(b.on, x.p, true);
    sample_warm(&b, &x);
    fake_cuda.load_with = cudaErrorMemoryAllocation;
    cr_assert(run_until_made(&b, &x, plan, SHORT_OF_MEMORY) == PITH_OK, "%s",
              run_message);
    cr_assert_eq(pithp_replay_look(plan->replay), PITHP_REPLAY_CALLS);
    cr_assert_eq(pith_runtime_code(b.device), PITH_OK);
    fake_cuda.load_with = cudaSuccess;
    cr_assert(run_until_made(&b, &x, plan, LONG) == PITH_OK, "%s", run_message);
    cr_assert_eq(pithp_replay_look(plan->replay), PITHP_REPLAY_GRAPH);
    pithp_executable_free(plan);
    sample_free(&x);
    end(&b);
}

Test(replay_later, every_failure_of_host_memory_is_survived, .timeout = 600) {
    bench b = begin_counted();
    sample x = sample_make(&b);
    pith_scope_close(b.on);
    pith_close(b.device);
    bool reached = true;
    for (long long at = 1; reached; at += 1 + at / 30) {
        device_open(&b);
        sample_warm(&b, &x);
        pithp_executable *exe = pithp_executable_make(b.on, x.p, true);
        run_well(&b, x.r, exe);
        const long long limit = atomic_load(&pt_default_heap.allocations) + at;
        atomic_store(&pt_default_heap.fail_at, limit);
        const pith_status rc = run_until_made(&b, &x, exe, SOME_TIME);
        atomic_store(&pt_default_heap.fail_at, 0);
        reached = atomic_load(&pt_default_heap.allocations) >= limit;
        if (!reached) /* the machine may be busy */
            run_until_made(&b, &x, exe, LONG);
        cr_assert(rc == PITH_OK || rc == PITH_E_MEMORY, "%d: %s", (int)rc, run_message);
        cr_assert(reached || pithp_replay_look(exe->replay) == PITHP_REPLAY_GRAPH);
        run_well(&b, x.r, exe);
        pithp_executable_free(exe);
        device_close(&b);
    }
    sample_free(&x);
    pith_scope_close(b.s);
    pith_close(b.host);
}
