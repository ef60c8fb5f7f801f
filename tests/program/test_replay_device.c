/* Random programs on a CUDA device: as a graph, and task by task, with the bits that the
 * device gives call by call. */
#include "pith_test.h"
#include "replay_run.h"

static pith_runtime *open_device(const char *when, const char *how) {
    setenv("PITH_JIT", when, 1);
    setenv("PITH_CUDA_GRAPH", how, 1);
    pith_runtime *rt = pith_open(&(pith_open_options){.device = "cuda"});
    if (pith_runtime_code(rt) == PITH_E_UNSUPPORTED) {
        cr_log_warn("%s", pith_runtime_message(rt));
        pith_close(rt);
        cr_skip_test("there is no CUDA device");
    }
    return rt;
}

typedef struct way {
    bench *b;
    bool passes;
    pithp_replay_mode mode;
} way;

static pithp_executable *plan_of(const way *w, pithp_program *p, const char *when) {
    setenv("PITH_JIT", when, 1); /* looked at when an executable is made */
    pithp_executable *exe = pithp_executable_make(w->b->on, p, true);
    pt_ok(w->b->on, exe);
    return exe;
}

static bool device_differs(const recipe *r, void *closure) {
    const way *w = closure;
    void *calls[RECIPE_MOST], *replayed[RECIPE_MOST];
    bool same = true;
    recipe_outputs(r, calls);
    recipe_outputs(r, replayed);
    pithp_program *p = program_of(w->b, r, w->passes);
    pithp_executable *slow = plan_of(w, p, "off"), *fast = plan_of(w, p, "wait");
    cr_assert(run_copied(w->b, r, slow, calls) == PITH_OK, "%s", run_message);
    for (int n = 0; n < 3 && same; n++) {
        cr_assert(run_copied(w->b, r, fast, replayed) == PITH_OK, "%s", run_message);
        for (int k = 0; k < r->output_count; k++)
            same &= recipe_same(r->list[r->outputs[k]].spec, replayed[k], calls[k]);
    }
    cr_assert_eq((int)pithp_replay_look(fast->replay), (int)w->mode);
    for (int k = 0; k < r->output_count; k++) {
        free(calls[k]);
        free(replayed[k]);
    }
    pithp_executable_free(slow);
    pithp_executable_free(fast);
    pithp_program_release(p);
    return !same;
}

static void run_programs(const char *how, pithp_replay_mode mode, int64_t usual) {
    const int64_t programs = pt_series(usual);
    bench b = {.device = open_device("wait", how)};
    b.host = pith_open(&(pith_open_options){.device = "host"});
    b.s = pith_scope_open(b.host);
    b.on = pith_scope_open(b.device);
    for (int64_t n = 0; n < programs; n++) {
        way w = {.b = &b, .passes = n % 2, .mode = mode};
        recipe *r = recipe_make_for(b.s, 31337 + (uint64_t)n, 12 + (int)(n % 40),
                                    (recipe_options){.device = true});
        if (device_differs(r, &w)) {
            recipe_shrink(r, device_differs, &w);
            recipe_fail(r, how);
        }
        recipe_free(r);
    }
    pt_ok(b.s);
    pith_scope_close(b.s);
    pith_scope_close(b.on);
    pith_close(b.host);
    pith_close(b.device);
}

Test(replay_device, graphs_give_the_bits_of_the_calls, .timeout = 600) {
    run_programs("on", PITHP_REPLAY_GRAPH, 60);
}

Test(replay_device, tasks_one_by_one_give_them_too, .timeout = 600) {
    run_programs("drive", PITHP_REPLAY_DRIVEN, 10);
}
