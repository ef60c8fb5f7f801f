/* Plans of random programs on a CUDA device that is made of host memory. */
#ifndef PITH_TESTS_REPLAY_FAKE_H
#define PITH_TESTS_REPLAY_FAKE_H

#include "../gpu/fake_cuda/fake_cuda.h"
#include "program/op/thresholds.h"
#include "replay_run.h"

static PT_UNUSED bench begin(const char *when, const char *how) {
    static char directory[320];
    bench b;
    pt_folder(directory);
    setenv("PITH_CACHE_DIR", directory, 0);
    setenv("PITH_JIT", when, 1);
    setenv("PITH_CUDA_GRAPH", how, 1);
    memset(&fake_cuda, 0, sizeof fake_cuda);
    b.host = pith_open(&(pith_open_options){.device = "host"});
    b.device = pith_open(&(pith_open_options){.device = "cuda"});
    b.s = pith_scope_open(b.host);
    b.on = pith_scope_open(b.device);
    pt_ok(b.on);
    cr_assert_str_eq(pith_device_name(b.device), "a fake");
    return b;
}

static PT_UNUSED void end(bench *b) {
    pt_ok(b->s);
    pith_scope_close(b->s);
    pith_scope_close(b->on);
    pith_close(b->device);
    pith_close(b->host);
    cr_assert_eq(fake_cuda_alive(), 0, "%d things are left", fake_cuda_alive());
}

/* The device anew, its allocations counted; and closed with nothing left. */
static PT_UNUSED void device_open(bench *b) {
    b->device = pt_open_on("cuda");
    b->on = pith_scope_open(b->device);
}
static PT_UNUSED void device_close(bench *b) {
    pith_scope_close(b->on);
    pt_close(b->device);
    cr_assert_eq(fake_cuda_alive(), 0, "%d things are left", fake_cuda_alive());
}

/* A run in memory of its own; whether the outputs are right, or the code of the error. */
static PT_UNUSED pith_status run_plan(const bench *b,
                                      const recipe *r,
                                      pithp_executable *exe,
                                      bool *same) {
    void *results[RECIPE_MOST];
    recipe_outputs(r, results);
    for (int k = 0; k < r->output_count; k++) /* of one that is a constant */
        memcpy(results[k], r->list[r->outputs[k]].data,
               r->list[r->outputs[k]].spec->bytes);
    const pith_status rc = run_copied(b, r, exe, results);
    *same = true;
    for (int k = 0; k < r->output_count; k++) {
        *same &= rc != PITH_OK || recipe_is(r, k, results[k]);
        free(results[k]);
    }
    return rc;
}

/* A run that must go well. */
static PT_UNUSED void run_well(const bench *b, const recipe *r, pithp_executable *exe) {
    bool same;
    cr_assert(run_plan(b, r, exe, &same) == PITH_OK, "%s", run_message);
    cr_assert(same);
}

/* ---- One program with a loop or a branch, and many operations ---- */

typedef struct sample {
    recipe *r;
    pithp_program *p;
} sample;

/* Elementwise instructions with elements outside of loops and branches, each primitive
 * once: a run by calls compiles at least as many kernels. */
static PT_UNUSED int count_elementwise(const pithp_program *p) {
    bool seen[PITHP_ELEMENTWISE_COUNT] = {false};
    int count = 0;
    for (int64_t k = 0; k < p->instruction_count; k++) {
        const pithp_instruction *i = &p->instructions[k];
        const pithp_primitive op = i->primitive;
        if (!pithp_is_elementwise(op) || seen[op] ||
            pithp_value_spec(p, i->result)->count == 0)
            continue;
        seen[op] = true;
        count++;
    }
    return count;
}

/* Those of branches and bodies. A run compiles none of a branch that it does not take. */
static PT_UNUSED int count_nested(const pithp_program *p) {
    int count = 0;
    for (int64_t k = 0; k < p->instruction_count; k++)
        for (int n = 0; n < p->instructions[k].program_count; n++)
            count += count_elementwise(p->instructions[k].programs[n]) +
                     count_nested(p->instructions[k].programs[n]);
    return count;
}

/* Whether its schedule has all kinds of nodes. */
static PT_UNUSED bool sample_fits(const bench *b, pithp_program *p) {
    pithp_error e;
    pithp_plan *plan = pithp_plan_make_for(b->on, p, PITHP_PLAN_SCHEDULED);
    pithp_schedule *schedule = pithp_schedule_make(b->on, plan, PITHP_GEMM_NONE, &e);
    cr_assert(schedule, "%s", e.text);
    const bool fits = schedule->control_count && schedule->fused_count &&
                      count_elementwise(p) >= PITHP_ONES_WORTH_CAPTURE &&
                      count_nested(p) < PITHP_ONES_WORTH_CAPTURE;
    pithp_schedule_free(schedule);
    pithp_plan_free(plan);
    return fits;
}

/* The first random program that fits; one in thousands does, so its seed is kept. */
static PT_UNUSED sample sample_make(const bench *b) {
    static uint64_t found;
    for (uint64_t seed = found ? found : 90;; seed++) {
        sample x = {
            .r = recipe_make_for(b->s, seed, 14, (recipe_options){.device = true})};
        x.p = program_of(b, x.r, true);
        if (seed == found || sample_fits(b, x.p)) {
            found = seed;
            return x;
        }
        pithp_program_release(x.p);
        recipe_free(x.r);
    }
}

/* Run it call by call, so that the kernels of its operations are compiled: a plan waits
 * for its graph in the first run otherwise. */
static PT_UNUSED void sample_warm(const bench *b, const sample *x) {
    pithp_executable *calls = pithp_executable_make(b->on, x->p, false);
    pt_ok(b->on, calls);
    run_well(b, x->r, calls);
    pithp_executable_free(calls);
}

static PT_UNUSED void sample_free(sample *x) {
    pithp_program_release(x->p);
    recipe_free(x->r);
}

#endif
