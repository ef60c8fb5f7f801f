/* Schedules run by the host: built-in kernels by the bodies that CUDA has, fused steps by
 * the text that CUDA gets, compiled by cc behind another prologue. */
#ifndef PITH_TESTS_SCHEDULE_RUN_H
#define PITH_TESTS_SCHEDULE_RUN_H

#include "cuda_target.h"
#include "gpu/compile/compile_internal.h"
#include "gpu/kernel/kernel_internal.h"
#include "pith_test.h"
#include "program/command/command.h"
#include "program/emit/emit.h"
#include "program/host/math/link.h"

typedef struct schedule_run {
    pith_scope *s;
    pithp_plan *plan;
    pithp_schedule *schedule;
    pithp_module *module; /* NULL: nothing is fused */
    char *memory;
    uint64_t order; /* of tasks: a seed; 0: that of the list */
    int64_t launches;
} schedule_run;

static inline pith_status
schedule_launch(void *closure, const pithp_task *task, void *args) {
    schedule_run *r = closure;
    pithp_launch launch = {.loops = NULL};
    char name[PITHP_STEP_NAME_BYTES];
    switch (task->source) {
        case PITHP_CODE_BUILTIN:
            call_cuda_target.builtin(NULL, (pithp_cuda_kernel_id)task->number, &launch);
            break;
        case PITHP_CODE_FUSED:
            if (task->many)
                pithp_many_name(name, "pith_step", task->number);
            else
                pithp_step_name(name, "pith_step", task->number);
            pithp_module_find(r->s, r->module, name, &launch);
            pt_ok(r->s);
            break;
        case PITHP_CODE_USER:
            launch.loops = pithp_kernel_loops(task->kernel, args);
            break;
    }
    launch.loops[0](args, 0, task->threads);
    r->launches++;
    return PITH_OK;
}

static inline pith_status schedule_read(void *closure, const void *from, int64_t *word) {
    (void)closure;
    memcpy(word, from, sizeof *word);
    return PITH_OK;
}

/* A program of which cc makes the fused steps; the program is the caller's. Some inputs
 * may be overwritten by the outputs chosen for them. */
static inline schedule_run schedule_open_reusing(pith_scope *s,
                                                 pithp_program *p,
                                                 const int64_t *inputs,
                                                 int64_t count,
                                                 int64_t *to) {
    schedule_run r = {.s = s};
    pithp_error e = {.code = PITH_OK};
    pithp_string text;
    bool maths;
    r.plan = pithp_plan_make_for(s, p, PITHP_PLAN_SCHEDULED);
    pt_ok(s, r.plan);
    if (count)
        pithp_plan_reuse(s, r.plan, NULL, inputs, count, to);
    r.schedule = pithp_schedule_make(s, r.plan, PITHP_GEMM_NONE, &e);
    cr_assert(r.schedule, "%s", e.text);
    pithp_string_begin(&text, s->runtime);
    if (pithp_schedule_text(&text, pithp_text_host, r.schedule, &maths)) {
        if (maths)
            pithp_math_text(&text);
        pithp_compile(s, text.bytes, NULL, &r.module);
        pt_ok(s, !maths || pithp_math_link(r.module, &e) == PITH_OK);
    }
    pithp_string_end(&text);
    const size_t bytes = pithp_schedule_bytes(r.schedule);
    r.memory = malloc(bytes);
    pithp_schedule_image(r.schedule, r.memory, (uintptr_t)r.memory);
    return r;
}

static inline schedule_run schedule_open(pith_scope *s, pithp_program *p) {
    return schedule_open_reusing(s, p, NULL, 0, NULL);
}

static inline void schedule_close(schedule_run *r) {
    pithp_module_release(r->module);
    pithp_schedule_free(r->schedule);
    pithp_plan_free(r->plan);
    free(r->memory);
}

/* ---- In some order that the edges leave open ---- */

static inline void shuffled(schedule_run *r, const pithp_tasks *tasks);

static inline void shuffled_task(schedule_run *r, const pithp_task *task) {
    int64_t *decision = (int64_t *)(void *)r->memory + task->decision;
    if (task->kind == PITHP_TASK_SWITCH)
        shuffled(r, &task->bodies[*decision]);
    else if (task->kind == PITHP_TASK_WHILE)
        while (*decision)
            shuffled(r, &task->bodies[0]);
    else if (task->threads)
        schedule_launch(r, task, r->memory + (size_t)task->args * sizeof(uint64_t));
}

static inline bool is_ready(const pithp_tasks *tasks, const bool *done, int64_t t) {
    bool ready = !done[t];
    for (int32_t k = 0; k < tasks->list[t].after_count; k++) {
        const int32_t before = tasks->edges[tasks->list[t].first_after + k];
        cr_assert(before < t, "an edge leads backwards");
        ready &= done[before];
    }
    return ready;
}

static inline void shuffled(schedule_run *r, const pithp_tasks *tasks) {
    bool *done = calloc((size_t)tasks->count + 1, 1);
    for (int64_t n = 0; n < tasks->count; n++) {
        int64_t chosen = -1, ready = 0;
        for (int64_t t = 0; t < tasks->count; t++) {
            if (!is_ready(tasks, done, t))
                continue;
            r->order = r->order * 6364136223846793005u + 1442695040888963407u;
            if ((r->order >> 33) % (uint64_t)++ready == 0)
                chosen = t;
        }
        cr_assert(chosen >= 0, "tasks wait for each other");
        shuffled_task(r, &tasks->list[chosen]);
        done[chosen] = true;
    }
    free(done);
}

/* ---- All ---- */

static inline void
schedule_inputs(schedule_run *r, const void *const *inputs, void *const *outputs) {
    const size_t bytes = r->plan->workspace_bytes;
    void *workspace = aligned_alloc(256, (bytes + 511) & ~(size_t)255);
    memset(workspace, 0xab, bytes);
    pithp_schedule_table(r->schedule, r->plan, workspace, inputs, outputs,
                         (uint64_t *)(void *)r->memory + PITHP_WORD_WORKSPACE);
    const pithp_driver driver = {
        .launch = schedule_launch, .read = schedule_read, .closure = r};
    if (r->order)
        shuffled(r, &r->schedule->tasks);
    else
        cr_assert(pithp_schedule_drive(r->schedule, r->memory, &driver) == PITH_OK);
    pt_ok(r->s);
    free(workspace);
}

#endif
