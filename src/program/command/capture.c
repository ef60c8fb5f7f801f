/* Capture: build a command buffer, compile its kernels, and make its memory and graph. */
#include "gpu/kernel/kernel_internal.h"
#include "program/command/collective.h"
#include "program/command/replay_internal.h"
#include "program/emit/emit.h"

#include <string.h>

/* Free the command buffer and what was made from it. */
static void drop_schedule(pithp_replay *r) {
    pithp_device *d = pithp_runtime_device(r->tier.runtime);
    if (r->graph)
        d->backend->graph_free(d, r->graph);
    pithp_segments_free(r);
    if (r->schedule) {
        pithp_release(r->tier.runtime, (void *)(uintptr_t)r->fused,
                      r->fused ? fused_bytes(r) : 0);
        pithp_release(r->tier.runtime, r->table, r->table ? table_bytes(r) : 0);
    }
    pithp_buffer_release(r->memory, 1);
    pithp_code_release(r->code);
    pithp_schedule_free(r->schedule);
    r->graph = NULL;
    r->fused = NULL;
    r->table = NULL;
    r->memory = NULL;
    r->code = NULL;
    r->schedule = NULL;
}

void pithp_replay_drop(pithp_replay *r) {
    drop_schedule(r);
    pithp_timing_free(r->timing);
    pithp_plan_free(r->plan);
    pithp_profile_free(r->profile);
    r->timing = NULL;
    r->profile = NULL;
    r->plan = NULL;
}

/* ---- The command buffer ---- */

/* Whether both plans store their outputs in the same places. The caller finds outputs by
 * the plan that makes calls. */
static bool same_outputs(const pithp_replay *r) {
    for (int64_t k = 0; k < r->calls->program->output_count; k++) {
        const pithp_place x = pithp_plan_output(r->calls, k),
                          y = pithp_plan_output(r->plan, k);
        if (x.store != y.store || (x.store != PITHP_IN_LITERALS && x.at != y.at))
            return false;
    }
    return true;
}

pithp_gemm_use pithp_replay_gemm_use(pithp_device *d) {
    return d->backend->gemm ? (pithp_gemm_use)d->backend->gemm_use(d) : PITHP_GEMM_NONE;
}

/* Large products become library calls, if the library exists. It is opened only for
 * programs with such products. */
pithp_schedule *
pithp_replay_schedule(pith_scope *s, const pithp_plan *plan, pithp_error *e) {
    pithp_device *d = pithp_scope_device(s);
    pithp_schedule *made = pithp_schedule_make(
        s, plan, d->backend->gemm ? pithp_gemm_asked() : PITHP_GEMM_NONE, e);
    if (!made || !made->gemm_count || pithp_replay_gemm_use(d) != PITHP_GEMM_NONE)
        return made;
    pithp_schedule_free(made);
    return pithp_schedule_make(s, plan, PITHP_GEMM_NONE, e);
}

/* Attach a profile before the tasks are built. If memory is short, there is none. */
static void time_steps(pithp_replay *r) {
    pithp_profile *profile = NULL;
    if (r->enrols)
        pithp_profile_begin(r->plan);
    else if ((r->profile = pithp_profile_make(r->tier.runtime, r->plan)) != NULL)
        pithp_profile_attach(r->plan, r->profile);
    profile = r->plan->profile;
    if (profile)
        r->timing = pithp_timing_make(pithp_runtime_device(r->tier.runtime), profile);
}

/* Graphs of a program with collectives. */
static bool has_segments(const pithp_replay *r) {
    return r->how == AS_GRAPH && r->plan->program->has_collectives;
}

static bool make_schedule(pith_scope *s, pithp_replay *r, pithp_error *e) {
    r->plan = pithp_plan_make_for(s, r->calls->program, PITHP_PLAN_SCHEDULED);
    if (r->plan)
        pithp_plan_set_name(r->plan, r->calls->name);
    if (r->plan && r->timed)
        time_steps(r);
    if (!r->plan || !same_outputs(r) ||
        !pithp_plan_reuse_as(s, r->plan, r->calls->reused))
        return false;
    r->schedule = pithp_replay_schedule(s, r->plan, e);
    if (!r->schedule)
        pithp_log(r->tier.runtime, PITH_LOG_DEBUG, "a program runs call by call: %s",
                  e->text);
    else if (r->schedule->host_count && !has_segments(r) && r->how == AS_GRAPH)
        r->how = DRIVEN;
    return r->schedule != NULL;
}

/* ---- Kernels, memory and graph ---- */

static bool has_text(const pithp_replay *r) {
    return r->schedule->fused_count || (r->how == AS_GRAPH && r->schedule->control_count);
}

static pithp_code *compile(pithp_device *d, const pithp_replay *r) {
    pithp_compile_options options = {.name = "a program"};
    pithp_string text;
    pithp_code *code = NULL;
    pithp_string_begin(&text, d->runtime);
    if (pithp_schedule_cuda_text(&text, r->schedule, r->how == AS_GRAPH) &&
        pithp_debug_directives(&text, r->schedule->prefix, ".cu", options.file,
                               sizeof options.file))
        code = pithp_code_compiled(d, text.bytes, &options);
    pithp_string_end(&text);
    return code;
}

static bool find_kernels(pith_runtime *rt, pithp_replay *r, pithp_error *e) {
    const int64_t count = r->schedule->fused_count;
    const bool decides = r->how == AS_GRAPH && r->schedule->control_count;
    if (!r->fused && !(r->fused = pithp_allocate(rt, fused_bytes(r)))) {
        pithp_error_set(e, PITH_E_MEMORY, NULL, NULL, "out of memory: %zu bytes",
                        fused_bytes(r));
        return false;
    }
    for (int64_t k = 0; k < 2 * count + decides; k++) {
        char name[PITHP_STEP_NAME_BYTES] = "pith_decide";
        pithp_launch launch = {.cuda = NULL};
        if (k < count)
            pithp_step_name(name, r->schedule->prefix, k);
        else if (k < 2 * count)
            pithp_many_name(name, r->schedule->prefix, k - count);
        r->fused[k] = NULL;
        if (k >= count && k < 2 * count && !r->schedule->many_count)
            continue;
        if (pithp_module_search(r->code->module, name, &launch, e) != PITH_OK)
            return false;
        r->fused[k] = launch.cuda;
    }
    return true;
}

const void *pithp_replay_kernel(void *replay, const pithp_task *task, pithp_error *e) {
    const pithp_replay *r = replay;
    const void *kernel = NULL;
    switch (task->source) {
        case PITHP_CODE_BUILTIN:
            kernel = task->decides >= 0 && !task->driven && r->how == AS_GRAPH
                         ? r->fused[2 * r->schedule->fused_count]
                         : pithp_cuda_kernel_at(task->number);
            break;
        case PITHP_CODE_FUSED:
            kernel = r->fused[task->number + (task->many ? r->schedule->fused_count : 0)];
            break;
        case PITHP_CODE_USER:
            (void)pithp_kernel_handle(pithp_runtime_device(r->tier.runtime), task->kernel,
                                      true, &kernel, e);
            return kernel;
    }
    if (!kernel)
        pithp_error_set(e, PITH_E_UNSUPPORTED, NULL, NULL,
                        "%s was not built for CUDA: compile it with nvcc too",
                        task->name);
    return kernel;
}

/* Make the device memory of the command buffer, with its initial contents. */
static bool make_memory(pith_scope *s, pithp_replay *r) {
    pith_runtime *rt = s->runtime;
    const size_t bytes = pithp_schedule_image_bytes(r->schedule);
    if (!r->memory)
        r->memory = pithp_buffer_make(s, pithp_schedule_bytes(r->schedule));
    if (!r->table)
        r->table = pithp_allocate(rt, table_bytes(r));
    void *image = pithp_allocate(rt, bytes);
    bool made = r->memory && r->table && image;
    if (made) {
        pithp_schedule_image(r->schedule, image, (uintptr_t)r->memory->data);
        made = pithp_copy_in(s, r->memory->data, image, bytes) == PITH_OK;
    }
    pithp_release(rt, image, bytes);
    return made;
}

static bool make_graph(pith_scope *s, pithp_replay *r, pithp_error *e) {
    const pithp_graph_plan plan = {.tasks = &r->schedule->tasks,
                                   .count = r->schedule->tasks.count,
                                   .memory = r->memory->data,
                                   .gemm =
                                       pithp_schedule_gemm(r->schedule, r->memory->data),
                                   .kernel = pithp_replay_kernel,
                                   .closure = r};
    pithp_stream *st = pithp_scope_stream(s);
    return st->device->backend->graph_make(st, &plan, &r->graph, e) == PITH_OK;
}

/* If there are ranks, they make the graphs together, before a run (replay.c). */
static bool make_graphs(pith_scope *s, pithp_replay *r, pithp_error *e) {
    if (!has_segments(r))
        return make_graph(s, r, e);
    if (!pithp_segments_find(r)) {
        pithp_error_set(e, PITH_E_MEMORY, NULL, NULL,
                        "out of memory: no room for graphs");
        return false;
    }
    return pithp_has_ranks(s) || pithp_segments_make(s, r, e);
}

/* Whether an attempt without a graph, or without the library, may succeed. */
static bool is_refusal(const pithp_error *e) {
    return e->code == PITH_E_UNSUPPORTED || e->code == PITH_E_INTERNAL ||
           e->code == PITH_E_COMPILE;
}

/* Compile, load and upload. Waits for the copies, so that runs on any stream see them.
 * False: the reason is in e, or memory is short. */
static bool get_ready(pith_scope *s, pithp_replay *r, bool *loaded, pithp_error *e) {
    pithp_device *d = pithp_scope_device(s);
    *loaded = false;
    if (has_text(r) && !(r->code = compile(d, r))) {
        pithp_error_set(e, PITH_E_MEMORY, NULL, NULL, "out of memory: no room for code");
        return false;
    }
    if (r->code && pithp_code_look(r->code) != PITHP_CODE_READY) {
        *e = r->code->error;
        return false;
    }
    if (r->code && !find_kernels(r->tier.runtime, r, e))
        return false;
    *loaded = true;
    return !atomic_load(&r->tier.abandoned) && make_memory(s, r) &&
           (r->how != AS_GRAPH || make_graphs(s, r, e)) &&
           d->backend->synchronise(pithp_scope_stream(s), e) == PITH_OK;
}

/* Build the command buffer again without library calls. False: that failed. */
static bool leave_library(pith_scope *s, pithp_replay *r, pithp_error *e) {
    pithp_error ignored = {.code = PITH_OK};
    pithp_schedule *made = pithp_schedule_make(s, r->plan, PITHP_GEMM_NONE, &ignored);
    bool loaded;
    if (!made)
        return false;
    drop_schedule(r);
    r->schedule = made;
    e->code = PITH_OK;
    return get_ready(s, r, &loaded, e);
}

/* Use no graph: tasks run one by one. Kernels of decisions have another text then. */
static bool fall_back(pith_scope *s, pithp_replay *r, pithp_error *e) {
    bool loaded;
    pithp_log(r->tier.runtime, PITH_LOG_WARNING,
              "a program runs without a graph, task by task: %s", e->text);
    pithp_code_release(r->code);
    r->code = NULL;
    r->how = DRIVEN;
    e->code = PITH_OK;
    return get_ready(s, r, &loaded, e);
}

size_t
pithp_replay_size(const pithp_schedule *schedule, const pithp_plan *plan, bool graph) {
    enum { NODE_BYTES = 1024 }; /* estimate of the device's and the driver's memory */
    const size_t tasks = (size_t)schedule->task_count;
    return pithp_plan_own_bytes(plan) + 2 * pithp_schedule_bytes(schedule) +
           (size_t)schedule->fused_count * 2 * sizeof(void *) +
           (size_t)schedule->table_count * sizeof(uint64_t) + tasks * sizeof(pithp_task) +
           (graph ? tasks * NODE_BYTES : 0);
}

/* Streams do not track the accesses of a graph to its memory and to the plan's literals:
 * mark both as used elsewhere. */
static void settle(pithp_replay *r) {
    atomic_store(&r->memory->used_elsewhere, true);
    if (r->plan->literals)
        atomic_store(&r->plan->literals->used_elsewhere, true);
    atomic_store_explicit(&r->bytes, pithp_replay_size(r->schedule, r->plan, r->graph),
                          memory_order_relaxed);
}

/* The stage after a failure, with the reason in the log. */
static pithp_tier_stage give_up(const pith_scope *s, pithp_replay *r, pithp_error *e) {
    pithp_tier_stage stage = PITHP_TIER_NEVER;
    if (e->code == PITH_OK || s->error.code == PITH_E_MEMORY)
        *e = s->error;
    if (r->schedule || e->code == PITH_E_MEMORY)
        stage = pithp_tier_failed(&r->tier, e, "run call by call");
    pithp_replay_drop(r);
    return stage;
}

pithp_tier_stage pithp_replay_capture(pith_scope *s, pithp_replay *r) {
    pithp_error e = {.code = PITH_OK};
    bool ready = false, loaded;
    if (pithp_scope_writable(s) && s->error.code == PITH_OK && make_schedule(s, r, &e)) {
        ready = get_ready(s, r, &loaded, &e);
        if (!ready && loaded && r->schedule->gemm_count && is_refusal(&e))
            ready = leave_library(s, r, &e); /* the library may be the reason */
        if (!ready && r->how == AS_GRAPH && is_refusal(&e) &&
            (loaded || r->schedule->control_count) && !pithp_tier_is_over(&r->tier))
            ready = fall_back(s, r, &e);
    }
    const pithp_tier_stage stage = ready ? PITHP_TIER_READY : give_up(s, r, &e);
    if (ready)
        settle(r);
    pith_clear(s);
    pith_scope_close(s);
    return stage;
}

pithp_tier_stage pithp_replay_capture_again(pith_scope *s, pithp_replay *r) {
    pithp_error e = {.code = PITH_OK};
    pith_scope *own = pith_scope_open_in(s);
    const bool ready = pithp_scope_writable(own) && leave_library(own, r, &e);
    const pithp_tier_stage stage = ready ? PITHP_TIER_READY : give_up(own, r, &e);
    if (ready)
        settle(r);
    pithp_tier_settle(&r->tier, stage);
    pith_clear(own);
    pith_scope_close(own);
    return stage;
}
