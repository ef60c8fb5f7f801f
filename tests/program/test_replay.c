/* Programs as graphs of a CUDA device that is made of host memory (gpu/fake_cuda): the
 * bits of the calls in every order that edges leave open, new memory without a new graph,
 * and what happens where a device refuses. */
#include "random_messages.h"
#include "replay_fake.h"

#include <unistd.h>
#ifdef __SANITIZE_ADDRESS__
#    include <sanitizer/lsan_interface.h>
#    define LET_THE_DEAD_LEAK() __lsan_disable()
#else
#    define LET_THE_DEAD_LEAK() ((void)0)
#endif

/* ---- Random programs ---- */

typedef struct way {
    const bench *b;
    bool passes;
    pithp_replay_mode mode;
    int64_t control; /* programs that had control flow */
} way;

/* In the order that the graph was made in, and in three others. */
static bool replay_differs(const recipe *r, void *closure) {
    way *w = closure;
    const bench *b = w->b;
    const long long made = fake_cuda.graphs_made, launched = fake_cuda.graph_launches;
    pithp_program *p = program_of(b, r, w->passes);
    pithp_executable *exe = pithp_executable_make(b->on, p, true);
    pt_ok(b->on, exe);
    bool same = true;
    uint64_t runs = 0;
    for (; runs < 4 && same; runs++) {
        fake_cuda_order(runs ? 31 + runs : 0);
        cr_assert(run_plan(b, r, exe, &same) == PITH_OK, "%s", run_message);
    }
    cr_assert_eq(pithp_replay_look(exe->replay), w->mode);
    const bool graph = w->mode == PITHP_REPLAY_GRAPH;
    cr_assert_eq(fake_cuda.graphs_made - made, graph);
    cr_assert_eq((uint64_t)(fake_cuda.graph_launches - launched), graph ? runs : 0);
    bool any = false;
    for (int64_t k = 0; k < exe->plan->step_count; k++)
        any |= exe->plan->steps[k].kind == PITHP_STEP_CONTROL;
    w->control += any;
    pithp_executable_free(exe);
    pithp_program_release(p);
    return !same;
}

static void run_programs(way *w, int64_t programs) {
    for (int64_t n = 0; n < programs; n++) {
        recipe *r = recipe_make_for(w->b->s, 5150 + (uint64_t)n, 12 + (int)(n % 40),
                                    (recipe_options){.device = true});
        w->passes = n % 2;
        if (replay_differs(r, w)) {
            recipe_shrink(r, replay_differs, w);
            recipe_fail(r, "replayed");
        }
        recipe_free(r);
    }
}

Test(replay, random_programs_give_the_bits_of_the_calls, .timeout = 600) {
    bench b = begin("wait", "on");
    const int64_t programs = pt_series(30);
    way w = {.b = &b, .mode = PITHP_REPLAY_GRAPH};
    run_programs(&w, programs);
    cr_assert_gt(w.control, programs / 4);
    end(&b);
}

Test(replay, tasks_that_the_host_drives_give_them_too, .timeout = 600) {
    bench b = begin("wait", "drive");
    way w = {.b = &b, .mode = PITHP_REPLAY_DRIVEN};
    run_programs(&w, pt_series(6));
    end(&b);
}

/* What an executable that is made now prints, and how it runs. */
static pithp_replay_mode
print_by_plan(const bench *b, const recipe *r, pithp_program *p, const char *jit) {
    void *outputs[RECIPE_MOST];
    setenv("PITH_JIT", jit, 1);
    recipe_outputs(r, outputs);
    pithp_executable *exe = pithp_executable_make(b->on, p, true);
    pt_ok(b->on, exe);
    for (int time = 0; time < 2; time++) {
        now.count = 0;
        cr_assert(run_copied(b, r, exe, outputs) == PITH_OK, "%s", run_message);
    }
    const pithp_replay_mode mode = pithp_replay_look(exe->replay);
    for (int k = 0; k < r->output_count; k++)
        free(outputs[k]);
    pithp_executable_free(exe);
    return mode;
}

/* The host starts the kernels of such programs, also where it may have graphs. */
Test(replay, messages_are_printed_between_the_tasks, .timeout = 600) {
    bench b = begin("wait", "on");
    for (uint64_t n = 0; n < (uint64_t)pt_series(20); n++) {
        recipe *r = recipe_make_for(b.s, 8200 + n, 12 + (int)(n % 40),
                                    (recipe_options){.device = true});
        adding a = {.s = b.s, .state = n};
        pithp_program *plain = program_of(&b, r, n % 2), *p = with_messages(&a, plain);
        cr_assert_eq(print_by_plan(&b, r, p, "off"), PITHP_REPLAY_CALLS);
        memcpy(&expected, &now, sizeof now);
        const pithp_replay_mode mode = print_by_plan(&b, r, p, "wait");
        cr_assert_eq(mode, a.count ? PITHP_REPLAY_DRIVEN : PITHP_REPLAY_GRAPH);
        expect_same(n, "driven", 0);
        pithp_program_release(p);
        pithp_program_release(plain);
        recipe_free(r);
    }
    end(&b);
}

/* ---- One program with a loop or a branch ---- */

Test(replay, a_run_is_a_copy_and_a_launch) {
    bench b = begin("wait", "on");
    sample x = sample_make(&b);
    pithp_executable *exe = pithp_executable_make(b.on, x.p, true);
    run_well(&b, x.r, exe);
    enum { MOST = 8 };
    const void *inputs[RECIPE_MOST] = {NULL};
    void *outputs[RECIPE_MOST] = {NULL};
    pithp_buffer *all = pithp_buffer_make(b.on, (size_t)4 << 20);
    for (int k = 0; k < RECIPE_MOST; k++) {
        inputs[k] = (char *)all->data;
        outputs[k] = (char *)all->data + ((size_t)k + 1) * 65536;
    }
    long long fewest = INT64_MAX;
    for (int k = 0; k < 3; k++) { /* the first may take memory for the workspace */
        const long long before = fake_cuda.calls;
        cr_assert(pithp_executable_run(b.on, exe, inputs, outputs) == PITH_OK);
        const long long calls = fake_cuda.calls - before;
        fewest = calls < fewest ? calls : fewest;
    }
    /* each asks for the current device; the workspace may be taken from a pool */
    cr_assert_leq(fewest, MOST, "%lld calls", fewest);
    pithp_buffer_release(all, 1);
    pithp_executable_free(exe);
    sample_free(&x);
    end(&b);
}

static char said[1024];

static void hear(pith_log_level level, const char *text, void *closure) {
    (void)closure;
    if (level >= PITH_LOG_WARNING)
        snprintf(said, sizeof said, "%s", text);
}

/* A device that refuses says so in the log, and the tasks go one by one. */
static void refuse(bool conditions, bool decisions, const char *word) {
    bench b = begin("wait", "on");
    pith_set_log_hook(b.device, hear, NULL);
    fake_cuda.no_conditions = conditions;
    fake_cuda.no_decisions = decisions;
    sample x = sample_make(&b);
    pithp_executable *exe = pithp_executable_make(b.on, x.p, true);
    said[0] = 0;
    for (int k = 0; k < 3; k++)
        run_well(&b, x.r, exe);
    cr_assert_eq(pithp_replay_look(exe->replay), PITHP_REPLAY_DRIVEN);
    cr_assert(strstr(said, "task by task") && strstr(said, word), "%s", said);
    pithp_executable_free(exe);
    sample_free(&x);
    end(&b);
}

Test(replay, a_device_without_conditional_nodes_runs_task_by_task) {
    refuse(true, false, "make a condition: cudaErrorNotSupported");
}
Test(replay, so_does_one_that_cannot_load_decisions) {
    refuse(false, true, "compiled code");
}

/* ---- Failures ---- */

/* Every call that can fail does, with every kind of error: the run gives the bits, or
 * says why not, and nothing is left. */
static void fail_each(cudaError_t with, bool is_fatal) {
    for (long long at = 1;; at++) {
        bench b = begin("wait", "on");
        sample x = sample_make(&b);
        pithp_executable *exe = pithp_executable_make(b.on, x.p, true);
        pt_ok(b.on, exe);
        fake_cuda.fail_with = with;
        fake_cuda.failed = NULL;
        fake_cuda.fail_at = fake_cuda.calls + at;
        bool same;
        const pith_status first = run_plan(&b, x.r, exe, &same);
        const bool failed = fake_cuda.failed != NULL;
        fake_cuda.fail_at = 0;
        const bool dead = pith_runtime_code(b.device) != PITH_OK;
        cr_assert(failed || first == PITH_OK, "%s", pith_message(b.on));
        cr_assert(first != PITH_OK || same);
        cr_assert(is_fatal || !dead || strstr(fake_cuda.failed, "Synchronize") ||
                      strstr(fake_cuda.failed, "Memcpy") ||
                      strstr(fake_cuda.failed, "Event"),
                  "%s ended the runtime", fake_cuda.failed);
        if (!dead)
            run_well(&b, x.r, exe);
        pithp_executable_free(exe);
        sample_free(&x);
        pt_ok(b.s);
        pith_scope_close(b.s);
        pith_scope_close(b.on);
        pith_close(b.host);
        pith_close(b.device);
        if (!dead) /* what a dead device has cannot be given back */
            cr_assert_eq(fake_cuda_alive(), 0, "%s left %d things", fake_cuda.failed,
                         fake_cuda_alive());
        if (!failed)
            break;
    }
}

Test(replay, every_refusal_of_a_call_is_survived, .timeout = 600) {
    fail_each(cudaErrorNotSupported, false);
}
Test(replay, every_lack_of_memory_is_survived, .timeout = 600) {
    fail_each(cudaErrorMemoryAllocation, false);
}
Test(replay, a_device_that_dies_anywhere_is_told_of, .timeout = 600) {
    LET_THE_DEAD_LEAK();
    fail_each(cudaErrorIllegalAddress, true);
}

/* Each allocation of the host in a first run fails in turn: it gives the bits, perhaps
 * call by call, or says that memory is short, and nothing is left. */
Test(replay, every_failure_of_host_memory_is_survived, .timeout = 600) {
    bench b = begin("wait", "on");
    sample x = sample_make(&b);
    pith_scope_close(b.on);
    pith_close(b.device);
    bool reached = true;
    for (long long at = 1; reached; at += 1 + at / 100) {
        device_open(&b);
        pithp_executable *exe = pithp_executable_make(b.on, x.p, true);
        pt_ok(b.on, exe);
        bool same;
        const long long limit = atomic_load(&pt_default_heap.allocations) + at;
        atomic_store(&pt_default_heap.fail_at, limit);
        const pith_status rc = run_plan(&b, x.r, exe, &same);
        atomic_store(&pt_default_heap.fail_at, 0);
        reached = atomic_load(&pt_default_heap.allocations) >= limit;
        cr_assert(rc == PITH_OK ? same : rc == PITH_E_MEMORY, "%d: %s", (int)rc,
                  run_message);
        cr_assert(reached || rc == PITH_OK);
        run_well(&b, x.r, exe);
        pithp_executable_free(exe);
        device_close(&b);
    }
    sample_free(&x);
    pith_scope_close(b.s);
    pith_close(b.host);
}

/* ---- When it is made ---- */

Test(replay, calls_run_until_the_graph_is_ready, .timeout = 600) {
    bench b = begin("async", "on");
    sample x = sample_make(&b);
    sample_warm(&b, &x);
    pithp_executable *exe = pithp_executable_make(b.on, x.p, true);
    run_well(&b, x.r, exe);
    cr_assert_eq(pithp_replay_look(exe->replay), PITHP_REPLAY_CALLS);
    for (int k = 0; k < 6000 && pithp_replay_look(exe->replay) == PITHP_REPLAY_CALLS;
         k++) {
        run_well(&b, x.r, exe);
        usleep(10000);
    }
    cr_assert_eq(pithp_replay_look(exe->replay), PITHP_REPLAY_GRAPH);
    run_well(&b, x.r, exe);
    pithp_executable_free(exe);
    sample_free(&x);
    end(&b);
}

/* One module for the graph, instead of one for each operation. */
Test(replay, the_first_run_makes_the_graph_if_calls_are_not_compiled, .timeout = 600) {
    bench b = begin("async", "on");
    sample x = sample_make(&b);
    pithp_executable *exe = pithp_executable_make(b.on, x.p, true);
    const int before = fake_cuda.libraries;
    run_well(&b, x.r, exe);
    cr_assert_eq(pithp_replay_look(exe->replay), PITHP_REPLAY_GRAPH);
    cr_assert_eq(fake_cuda.libraries, before + 1);
    sample_warm(&b, &x);
    cr_assert_gt(fake_cuda.libraries, before + 1);
    pithp_executable_free(exe);
    sample_free(&x);
    end(&b);
}

Test(replay, it_is_not_made_where_that_is_asked_for) {
    for (int k = 0; k < 2; k++) {
        bench b = begin(k ? "off" : "wait", k ? "on" : "off");
        sample x = sample_make(&b);
        pithp_executable *exe = pithp_executable_make(b.on, x.p, true);
        cr_assert(exe && !exe->replay);
        pithp_executable_free(exe);
        sample_free(&x);
        end(&b);
    }
}
