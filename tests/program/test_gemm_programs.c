/* Programs whose products cuBLAS makes on a CUDA device that is made of host memory, by
 * graphs and by tasks that the host drives: the bits are those of pith's own kernels,
 * which take over where it is not there or refuses. */
#include "gemm_fake.h"

/* ---- Random programs ---- */

typedef struct way {
    const char *how;
    pithp_replay_mode mode;
    int64_t gemms, inside; /* tasks met, and those in bodies of loops and branches */
} way;

static int64_t count_gemms(const pithp_tasks *tasks) {
    int64_t count = 0;
    for (int64_t k = 0; k < tasks->count; k++) {
        count += tasks->list[k].kind == PITHP_TASK_GEMM;
        for (int n = 0; n < tasks->list[k].body_count; n++)
            count += count_gemms(&tasks->list[k].bodies[n]);
    }
    return count;
}

/* Products that the program's schedule leaves to the library. */
static int64_t gemms_of(const bench *b, pithp_program *p, way *w) {
    pithp_error e;
    pithp_plan *plan = pithp_plan_make_for(b->on, p, PITHP_PLAN_SCHEDULED);
    pithp_schedule *schedule = pithp_schedule_make(b->on, plan, PITHP_GEMM_ALL, &e);
    cr_assert(schedule, "%s", e.text);
    const int64_t all = schedule->gemm_count;
    cr_assert_eq(all, count_gemms(&schedule->tasks));
    w->gemms += all;
    w->inside += all;
    for (int64_t k = 0; k < schedule->tasks.count; k++)
        w->inside -= schedule->tasks.list[k].kind == PITHP_TASK_GEMM;
    pithp_schedule_free(schedule);
    pithp_plan_free(plan);
    return all;
}

static void
run_copies(const bench *b, const recipe *r, pithp_executable *exe, void **results) {
    for (int k = 0; k < r->output_count; k++) /* of one that is a constant */
        memcpy(results[k], r->list[r->outputs[k]].data,
               r->list[r->outputs[k]].spec->bytes);
    cr_assert(run_copied(b, r, exe, results) == PITH_OK, "%s", run_message);
}

/* The replay of a recipe by the library, in several orders, and by the own kernels. */
static bool gemm_differs(const recipe *r, void *closure) {
    way *w = closure;
    void *want[RECIPE_MOST], *got[RECIPE_MOST];
    bool same = true;
    recipe_outputs(r, want);
    recipe_outputs(r, got);
    for (int on = 0; on < 2; on++) {
        bench b = begin(w->how, on ? "on" : "off");
        pithp_program *p = program_of(&b, r, true);
        pithp_executable *exe = pithp_executable_make(b.on, p, true);
        const long long before = fake_cuda.gemms;
        const int64_t gemms = on ? gemms_of(&b, p, w) : 0;
        pt_ok(b.on, exe);
        for (uint64_t runs = 0; runs < (on ? 3 : 1) && same; runs++) {
            fake_cuda_order(runs ? 77 + runs : 0);
            run_copies(&b, r, exe, on ? got : want);
            for (int k = 0; k < r->output_count && on; k++)
                same &= recipe_same(r->list[r->outputs[k]].spec, got[k], want[k]);
        }
        cr_assert_eq((int)pithp_replay_look(exe->replay), (int)w->mode);
        if (w->mode == PITHP_REPLAY_GRAPH) /* each was captured once */
            cr_assert_eq(fake_cuda.gemms - before, gemms);
        pithp_executable_free(exe);
        pithp_program_release(p);
        end(&b);
    }
    for (int k = 0; k < r->output_count; k++) {
        free(want[k]);
        free(got[k]);
    }
    return !same;
}

static bool has_product(const recipe *r) {
    bool has = false;
    for (int k = 0; k < r->count; k++) {
        const ingredient *x = &r->list[k];
        has |= x->kind >= RECIPE_CALL && x->primitive == PITHP_OP_DOT_GENERAL &&
               pith_dtype_is_float(x->spec->dtype);
        for (int b = 0; x->kind == RECIPE_CONTROL && b < x->body_count; b++)
            has |= has_product(x->bodies[b]);
    }
    return has;
}

/* Whether its schedule has what is looked for. */
static bool fits(const recipe *r, bool inside) {
    way found = {.how = "on"};
    if (!has_product(r))
        return false;
    bench b = begin("on", "off");
    pithp_program *p = program_of(&b, r, true);
    gemms_of(&b, p, &found);
    pithp_program_release(p);
    end(&b);
    return inside ? found.inside > 0 : found.gemms > found.inside;
}

static recipe *find(pith_scope *s, uint64_t *seed, int steps, bool inside) {
    recipe *r = recipe_make(s, (*seed)++, steps);
    while (!fits(r, inside)) {
        recipe_free(r);
        r = recipe_make(s, (*seed)++, steps);
    }
    return r;
}

/* Programs with products, every other one with one in a body. */
static void run_programs(way *w, int64_t usual) {
    const int64_t programs = pt_series(usual);
    uint64_t seed = 8080;
    reset();
    pith_runtime *rt = pith_open(&(pith_open_options){.device = "host"});
    pith_scope *s = pith_scope_open(rt);
    for (int64_t n = 0; n < programs; n++) {
        recipe *r = find(s, &seed, 20, n % 2 == 0);
        if (gemm_differs(r, w)) {
            recipe_shrink(r, gemm_differs, w);
            recipe_fail(r, "multiplied");
        }
        recipe_free(r);
    }
    pith_scope_close(s);
    pith_close(rt);
}

Test(gemm_programs, graphs_of_random_programs_give_the_bits, .timeout = 600) {
    way w = {.how = "on", .mode = PITHP_REPLAY_GRAPH};
    run_programs(&w, 4);
    cr_assert(w.gemms > 2 && w.inside > 0, "%lld products, %lld in bodies",
              (long long)w.gemms, (long long)w.inside);
}

Test(gemm_programs, tasks_that_the_host_drives_give_them_too, .timeout = 600) {
    way w = {.how = "drive", .mode = PITHP_REPLAY_DRIVEN};
    run_programs(&w, 2);
    cr_assert(w.gemms > 0);
}

/* ---- Where there is no library, or it refuses ---- */

/* A program with a product outside of bodies, or with one in a body, and its results by
 * the own kernels. */
typedef struct sample {
    recipe *r;
    void *want[RECIPE_MOST], *got[RECIPE_MOST];
    pith_runtime *rt;
    pith_scope *s;
} sample;

static sample sample_make(bool inside) {
    sample x;
    uint64_t seed = 4000;
    reset();
    x.rt = pith_open(&(pith_open_options){.device = "host"});
    x.s = pith_scope_open(x.rt);
    x.r = find(x.s, &seed, 8, inside);
    recipe_outputs(x.r, x.want);
    recipe_outputs(x.r, x.got);
    bench b = begin("on", "off");
    pithp_program *p = program_of(&b, x.r, true);
    pithp_executable *exe = pithp_executable_make(b.on, p, true);
    run_copies(&b, x.r, exe, x.want);
    pithp_executable_free(exe);
    pithp_program_release(p);
    end(&b);
    reset();
    return x;
}

static void sample_free(sample *x) {
    for (int k = 0; k < x->r->output_count; k++) {
        free(x->want[k]);
        free(x->got[k]);
    }
    recipe_free(x->r);
    pith_scope_close(x->s);
    pith_close(x->rt);
}

/* A run of the sample: its code; the results, where there are any, are right. */
static pith_status run_sample(const bench *b, sample *x, pithp_executable *exe) {
    for (int k = 0; k < x->r->output_count; k++)
        memcpy(x->got[k], x->r->list[x->r->outputs[k]].data,
               x->r->list[x->r->outputs[k]].spec->bytes);
    const pith_status rc = run_copied(b, x->r, exe, x->got);
    for (int k = 0; k < x->r->output_count && rc == PITH_OK; k++)
        cr_assert(recipe_same(x->r->list[x->r->outputs[k]].spec, x->got[k], x->want[k]));
    return rc;
}

static int count_of(const char *text, const char *part) {
    int count = 0;
    for (const char *at = text; (at = strstr(at, part)); at++)
        count++;
    return count;
}

Test(gemm_programs, without_the_library_own_kernels_run, .timeout = 300) {
    sample x = sample_make(true);
    for (int on = 0; on < 2; on++) {
        fake_cuda.no_cublas = true;
        bench b = begin("on", on ? "on" : NULL);
        pithp_program *p = program_of(&b, x.r, true);
        for (int k = 0; k < 2; k++) {
            pithp_executable *exe = pithp_executable_make(b.on, p, true);
            cr_assert(run_sample(&b, &x, exe) == PITH_OK, "%s", run_message);
            cr_assert_eq((int)pithp_replay_look(exe->replay), (int)PITHP_REPLAY_GRAPH);
            pithp_executable_free(exe);
        }
        pithp_program_release(p);
        /* it is not opened without a large product */
        cr_assert_eq(count_of(said, "cuBLAS is not found"), on, "%s", said);
        cr_assert_eq(fake_cuda.gemms, 0);
        end(&b);
    }
    sample_free(&x);
}

/* A capture that takes memory is no node of a body, nor one that a body might need. */
Test(gemm_programs, what_a_graph_cannot_hold_own_kernels_do, .timeout = 300) {
    for (int inside = 0; inside < 2; inside++) {
        sample x = sample_make(inside);
        fake_cuda.gemm_allocates = true;
        bench b = begin("on", "on");
        pithp_program *p = program_of(&b, x.r, true);
        pithp_executable *exe = pithp_executable_make(b.on, p, true);
        for (int k = 0; k < 2; k++)
            cr_assert(run_sample(&b, &x, exe) == PITH_OK, "%s", run_message);
        cr_assert_eq((int)pithp_replay_look(exe->replay), (int)PITHP_REPLAY_GRAPH);
        cr_assert_eq(count_of(said, "own kernels from here on"), 1, "%s", said);
        pithp_executable_free(exe);
        pithp_program_release(p);
        end(&b);
        sample_free(&x);
    }
}

/* The workspace and the pointers are memory of the runtime's, counted, and go with the
 * program. */
Test(gemm_programs, its_memory_is_counted, .timeout = 300) {
    sample x = sample_make(false);
    bench b = begin("on", "on");
    pithp_program *p = program_of(&b, x.r, true);
    const size_t before = pith_memory_about(b.device).live;
    pithp_executable *exe = pithp_executable_make(b.on, p, true);
    cr_assert(run_sample(&b, &x, exe) == PITH_OK);
    cr_assert_geq(pith_memory_about(b.device).live, before + PITHP_GEMM_WORKSPACE);
    pithp_executable_free(exe);
    cr_assert_lt(pith_memory_about(b.device).live, before + PITHP_GEMM_WORKSPACE);
    pithp_program_release(p);
    end(&b);
    sample_free(&x);
}

/* Each call that can fail does, under sanitizers some: the run gives the bits or says why
 * not, the next one gives them, and nothing is left. */
static void fail_each(const char *how, cudaError_t with, int begin_at) {
    sample x = sample_make(true);
    bool failed = true;
    for (long long at = 1 + begin_at % pt_apart(); failed; at += pt_apart()) {
        bench b = begin(how, "on");
        pithp_program *p = program_of(&b, x.r, true);
        pithp_executable *exe = pithp_executable_make(b.on, p, true);
        pt_ok(b.on, exe);
        fake_cuda.fail_with = with;
        fake_cuda.failed = NULL;
        fake_cuda.fail_at = fake_cuda.calls + at;
        const pith_status rc = run_sample(&b, &x, exe);
        failed = fake_cuda.failed != NULL;
        fake_cuda.fail_at = 0;
        cr_assert(failed || rc == PITH_OK, "%s", run_message);
        const bool dead = pith_runtime_code(b.device) != PITH_OK;
        cr_assert(!dead || rc != PITH_OK);
        if (!dead)
            cr_assert(run_sample(&b, &x, exe) == PITH_OK, "%s: %s", fake_cuda.failed,
                      run_message);
        pithp_executable_free(exe);
        pithp_program_release(p);
        pith_scope_close(b.s);
        pith_scope_close(b.on);
        pith_close(b.host);
        pith_close(b.device);
        if (!dead) /* what a dead device has cannot be given back */
            cr_assert_eq(fake_cuda_alive(), 0, "%s left %d things", fake_cuda.failed,
                         fake_cuda_alive());
        else
            reset();
    }
    sample_free(&x);
}

Test(gemm_programs, every_refusal_of_a_call_is_survived, .timeout = 600) {
    fail_each("on", cudaErrorNotSupported, 0);
}
Test(gemm_programs, also_where_the_host_drives, .timeout = 600) {
    fail_each("drive", cudaErrorNotSupported, 1);
}
Test(gemm_programs, a_device_that_dies_anywhere_is_told_of, .timeout = 600) {
    fail_each("on", cudaErrorIllegalAddress, 2);
}
