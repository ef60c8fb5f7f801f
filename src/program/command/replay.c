/* Replay: runs of a plan by its command buffer, as a graph or task by task. */
#include "base/environment.h"
#include "program/command/collective.h"
#include "program/command/replay_internal.h"
#include "program/op/debug.h"
#include "program/op/thresholds.h"

#include <string.h>

static pithp_tier_stage make(pithp_tier_up *tier, pith_scope *s) {
    pithp_replay *r = (pithp_replay *)(void *)tier;
    pith_scope *own = s ? pith_scope_open_in(s) : pith_scope_open(tier->runtime);
    return pithp_replay_capture(own, r);
}

static void free_replay(pithp_tier_up *tier) {
    pithp_replay *r = (pithp_replay *)(void *)tier;
    pith_runtime *rt = tier->runtime;
    pithp_replay_drop(r);
    pithp_plan_free(r->calls);
    pithp_release(rt, r, sizeof *r);
}

pithp_replay *pithp_replay_make(pithp_plan *plan) {
    static const pithp_tier_maker maker = {make, free_replay};
    const char *set = pithp_environment("PITH_CUDA_GRAPH"), *how = set ? set : "on";
    const pithp_device *d = pithp_runtime_device(plan->runtime);
    if (pithp_code_when_set() >= PITHP_CODE_OFF || strcmp(how, "off") == 0)
        return NULL;
    pithp_replay *r = pithp_allocate(plan->runtime, sizeof *r);
    if (!r)
        return NULL;
    memset(r, 0, sizeof *r);
    r->how = strcmp(how, "drive") == 0 ? STEPPED
             : d->backend->graph_make  ? AS_GRAPH
                                       : DRIVEN;
    if (!pithp_tier_begin(&r->tier, plan->runtime, &maker)) {
        pithp_release(plan->runtime, r, sizeof *r);
        return NULL;
    }
    pithp_plan_retain(plan);
    r->calls = plan;
    return r;
}

void pithp_replay_time(pithp_replay *r, bool enrols) {
    r->timed = true;
    r->enrols = enrols;
    r->how = DRIVEN;
    pithp_tier_wait(&r->tier);
}

pithp_profile *pithp_replay_profile(const pithp_replay *r) {
    return r && pithp_tier_look(&r->tier) == PITHP_TIER_READY ? r->profile : NULL;
}

void pithp_replay_free(pithp_replay *r) {
    if (r)
        pithp_tier_abandon(&r->tier);
}

size_t pithp_replay_bytes(const pithp_replay *r) {
    return r ? atomic_load_explicit(&r->bytes, memory_order_relaxed) : 0;
}

pithp_replay_mode pithp_replay_look(const pithp_replay *r) {
    if (!r || pithp_tier_look(&r->tier) != PITHP_TIER_READY)
        return PITHP_REPLAY_CALLS;
    return r->graph || r->captured ? PITHP_REPLAY_GRAPH
           : r->how == AS_GRAPH    ? PITHP_REPLAY_CALLS
                                   : PITHP_REPLAY_DRIVEN;
}

/* Kernels of one operation, each once. */
typedef struct ones {
    pith_runtime *rt;
    bool seen[PITHP_ELEMENTWISE_COUNT][PITH_DTYPE_COUNT];
    int missing; /* not compiled yet */
} ones;

static void count_ones(ones *x, const pithp_plan *plan) {
    for (int64_t k = 0; k < plan->step_count; k++) {
        const pithp_step *step = &plan->steps[k];
        if (step->kind == PITHP_STEP_CONTROL)
            for (int p = 0; p < step->call->program_count; p++)
                count_ones(x, step->plans[p]);
        if (step->kind != PITHP_STEP_CALL || step->spec->count == 0 ||
            !pithp_is_elementwise(step->call->primitive))
            continue;
        const pith_dtype dtype = step->specs[step->call->operand_count - 1]->dtype;
        bool *seen = &x->seen[step->call->primitive][dtype];
        x->missing += !*seen && !pithp_cuda_has_one(x->rt, step->call->primitive, dtype);
        *seen = true;
    }
}

/* Whether a run by calls compiles so much that a command buffer is made sooner. */
static bool needs_many_ones(const pithp_replay *r) {
    ones x = {.rt = r->tier.runtime};
    count_ones(&x, r->calls);
    return x.missing >= PITHP_ONES_WORTH_CAPTURE;
}

/* Whether it is READY; if so, the caller holds the lock. */
static bool lock_ready(pith_scope *s, pithp_replay *r) {
    if (pithp_tier_look(&r->tier) == PITHP_TIER_COUNTING && !r->tier.wait &&
        needs_many_ones(r))
        pithp_tier_make_now(s, &r->tier);
    if (pithp_tier_poll(s, &r->tier) != PITHP_TIER_READY)
        return false;
    pthread_mutex_lock(&r->tier.lock);
    pithp_tier_stage stage = pithp_tier_look(&r->tier);
    if (stage == PITHP_TIER_READY && !r->graph && !r->captured &&
        r->schedule->gemm_count &&
        pithp_replay_gemm_use(pithp_scope_device(s)) == PITHP_GEMM_NONE)
        stage = pithp_replay_capture_again(s, r);
    if (stage != PITHP_TIER_READY)
        pthread_mutex_unlock(&r->tier.lock);
    return stage == PITHP_TIER_READY;
}

bool pithp_replay_cost(pith_scope *s,
                       const pithp_replay *r,
                       const pithp_plan *plan,
                       pithp_replay_costs *costs) {
    if (!r || pithp_tier_look(&r->tier) == PITHP_TIER_NEVER)
        return false;
    pithp_error e = {.code = PITH_OK};
    pithp_device *d = pithp_scope_device(s);
    pith_scope *own = pith_scope_open_in(s); /* its errors are discarded */
    pithp_plan *scheduled =
        pithp_scope_writable(own)
            ? pithp_plan_make_for(own, plan->program, PITHP_PLAN_SCHEDULED)
            : NULL;
    pithp_schedule *schedule =
        scheduled ? pithp_replay_schedule(own, scheduled, &e) : NULL;
    if (schedule)
        *costs = (pithp_replay_costs){
            .launches = pithp_schedule_launches(schedule) + 1,
            .workspace_bytes = scheduled->workspace_bytes,
            .bytes = pithp_replay_size(schedule, scheduled, d->backend->graph_make)};
    const bool made = schedule != NULL;
    pithp_schedule_free(schedule);
    pithp_plan_free(scheduled);
    pith_clear(own);
    pith_scope_close(own);
    return made;
}

/* ---- Task by task ---- */

typedef struct driving {
    pith_scope *s;
    pithp_replay *replay;
    void *host; /* memory of collectives */
} driving;

/* After a task was enqueued: wait for it or time it, if that is asked for. */
static pith_status after_task(const driving *d, const pithp_task *task) {
    pithp_error e;
    pith_status rc = PITH_OK;
    if (d->replay->how == STEPPED)
        rc = pithp_synchronise(d->s);
    if (rc == PITH_OK && d->replay->timing &&
        pithp_timing_task(d->replay->timing, task, &e) != PITH_OK)
        rc = pithp_fail_device(d->s, &e);
    return rc;
}

static void enter_task(void *closure, const pithp_task *task) {
    const driving *d = closure;
    if (d->replay->timing)
        pithp_timing_enter(d->replay->timing, task);
}

static pith_status launch_task(void *closure, const pithp_task *task, void *args) {
    const driving *d = closure;
    pithp_error e;
    pithp_launch launch = {.name = task->name,
                           .cuda = pithp_replay_kernel(d->replay, task, &e),
                           .args = &args,
                           .args_bytes = sizeof args,
                           .count = task->threads};
    if (!launch.cuda)
        return pithp_fail_device(d->s, &e);
    pith_status rc = pithp_launch_enqueue(d->s, &launch);
    if (rc == PITH_OK)
        rc = after_task(d, task);
    if (rc != PITH_OK)
        pithp_error_context(d->s, "task %s", task->name);
    return rc;
}

static pith_status gemm_task(void *closure, const pithp_task *task, void *memory) {
    const driving *d = closure;
    pithp_stream *st = pithp_scope_stream(d->s);
    pithp_error e;
    pith_status rc = st->device->backend->gemm(st, task->gemm, memory, &e);
    if (rc != PITH_OK)
        rc = pithp_fail_device(d->s, &e);
    else
        rc = after_task(d, task);
    if (rc != PITH_OK)
        pithp_error_context(d->s, "task %s", task->name);
    return rc;
}

static pith_status host_task(void *closure, const pithp_task *task, const void *args) {
    const driving *d = closure;
    const pithp_step *step = task->step;
    const pithp_instruction *i = step->call;
    const size_t bytes = pithp_task_host_bytes(i), kept = pithp_task_kept_bytes(i);
    void *few[PITHP_FEW_ADDRESSES], **at = kept ? d->host : few;
    void *const host = kept ? (char *)d->host + kept : d->host;
    const bool own = bytes > sizeof few && !kept;
    if (own && !(at = pithp_allocate(d->s->runtime, bytes)))
        return pithp_fail_memory(d->s, bytes);
    const void *const *operands = (const void *const *)at;
    void *const *results = at + i->operand_count;
    pith_status rc = pithp_copy_out(d->s, at, args, bytes);
    if (rc == PITH_OK && i->primitive == PITHP_OP_DEBUG)
        pithp_debug_print(d->s, i->params, step->specs, operands);
    else if (rc == PITH_OK)
        rc = pithp_run_collective(d->s, step,
                                  &(pithp_collective_memory){
                                      operands, results, results[i->result_count], host});
    if (own)
        pithp_release(d->s->runtime, at, bytes);
    return rc;
}

static pith_status transfer_task(void *closure, const pithp_task *task, char *memory) {
    const driving *d = closure;
    const pithp_step *step = task->step;
    const pithp_collective_params *params = step->call->params;
    pithp_device_move t = *task->transfer;
    t.from = memory + (uintptr_t)t.from;
    t.to = memory + (uintptr_t)t.to;
    pithp_collective_resume(d->s, pithp_ops[step->call->primitive].name,
                            step->call->site);
    pithp_mesh_group_transfer(d->s, params->group, &t);
    pithp_collective_end(d->s);
    return d->s->error.code == PITH_OK ? after_task(d, task) : d->s->error.code;
}

static pith_status launch_segment(void *closure, const pithp_task *task) {
    const driving *d = closure;
    pithp_stream *st = pithp_scope_stream(d->s);
    pithp_error e;
    const pith_status rc =
        st->device->backend->graph_launch(st, d->replay->segments[task->segment - 1], &e);
    return rc == PITH_OK ? PITH_OK : pithp_fail_device(d->s, &e);
}

static pith_status read_word(void *closure, const void *from, int64_t *word) {
    const driving *d = closure;
    return pithp_copy_out(d->s, word, from, sizeof *word);
}

/* ---- Running ---- */

static pith_status start(pith_scope *s, pithp_replay *r, void *host) {
    pithp_stream *st = pithp_scope_stream(s);
    pithp_error e;
    if (r->graph) {
        const pith_status rc = st->device->backend->graph_launch(st, r->graph, &e);
        return rc == PITH_OK ? PITH_OK : pithp_fail_device(s, &e);
    }
    driving d = {s, r, host};
    const pithp_driver driver = {.launch = launch_task,
                                 .gemm = gemm_task,
                                 .transfer = transfer_task,
                                 .segment = r->captured ? launch_segment : NULL,
                                 .host = host_task,
                                 .read = read_word,
                                 .enter = enter_task,
                                 .closure = &d};
    if (r->timing && pithp_timing_begin(r->timing, st, &e) != PITH_OK)
        return pithp_fail_device(s, &e);
    const pith_status rc = pithp_schedule_drive(r->schedule, r->memory->data, &driver);
    if (r->timing && pithp_timing_end(r->timing, &e) != PITH_OK && rc == PITH_OK)
        return pithp_fail_device(s, &e);
    return rc;
}

/* Wait for runs on other streams: all runs share the memory of the command buffer. */
static pith_status take_turn(pith_scope *s, pithp_replay *r) {
    pithp_stream *st = pithp_scope_stream(s);
    pithp_error e;
    if (r->last && r->last != st && st->device->backend->wait_for(st, r->last, &e))
        return pithp_fail_device(s, &e);
    r->last = st;
    return PITH_OK;
}

/* Memory of a run. */
typedef struct memory {
    pithp_buffer *workspace;
    void *host; /* of collectives */
} memory;

/* Take the memory of a run, and write its table. */
static pith_status take_memory(pith_scope *s,
                               pithp_replay *r,
                               pithp_plan *plan,
                               const void *const *inputs,
                               void *const *outputs,
                               memory *m) {
    const size_t bytes = r->plan->workspace_bytes, host_bytes = r->plan->host_bytes;
    if (bytes && !(m->workspace = pithp_buffer_make(s, bytes)))
        return s->error.code;
    if (host_bytes && !(m->host = pithp_kept_allocate(s->runtime, host_bytes)))
        return pithp_fail_memory(s, host_bytes);
    /* both plans have the same constants; the other one's literals are ready */
    pith_status rc = pithp_plan_await(s, plan);
    if (rc == PITH_OK)
        rc = take_turn(s, r);
    if (rc != PITH_OK)
        return rc;
    pithp_schedule_table(r->schedule, r->plan, m->workspace ? m->workspace->data : NULL,
                         inputs, outputs, r->table);
    return pithp_copy_in(s, (uint64_t *)r->memory->data + PITHP_WORD_WORKSPACE, r->table,
                         table_bytes(r));
}

static void release_memory(pith_scope *s, const pithp_replay *r, memory *m) {
    pithp_kept_release(s->runtime, m->host, r->plan->host_bytes);
    pithp_buffer_release(m->workspace, 1);
}

bool pithp_replay_run(pith_scope *s,
                      pithp_replay *r,
                      pithp_plan *plan,
                      const void *const *inputs,
                      void *const *outputs,
                      pith_status *status) {
    memory m = {NULL};
    if (!lock_ready(s, r))
        return false;
    *status = take_memory(s, r, plan, inputs, outputs, &m);
    if (*status == PITH_OK)
        *status = start(s, r, m.host);
    release_memory(s, r, &m);
    pthread_mutex_unlock(&r->tier.lock);
    return true;
}

/* ---- On ranks ---- */

/* What a rank is ready for. Moves between ranks are captured on all of them or on none,
 * and the graphs are those of one capture. */
typedef enum readiness { CALLS, UNCAPTURED, CAPTURED, DRIVABLE } readiness;

/* At the first run the groups are not connected yet, and so no command buffer is made. If
 * the rank is ready for more than calls, it holds the lock. */
static readiness look(pith_scope *s, pithp_replay *r, const pithp_plan *plan) {
    if (!r || s->error.code != PITH_OK || !pithp_ranks_have_met(plan) ||
        !lock_ready(s, r))
        return CALLS;
    return r->how != AS_GRAPH ? DRIVABLE : r->captured ? CAPTURED : UNCAPTURED;
}

/* All ranks capture. If it fails on one, they drive their tasks from here on. */
static void capture_together(pith_scope *s, pithp_replay *r) {
    pithp_error e = {.text = "another rank cannot"};
    int64_t least = pithp_segments_make(s, r, &e), most = least;
    pithp_collective_range(s, &least, &most);
    if (least)
        return;
    pithp_log(r->tier.runtime, PITH_LOG_WARNING,
              "a program runs without a graph, task by task: %s", e.text);
    pithp_segments_drop(r);
    r->how = DRIVEN;
}

/* The readiness that all ranks have in common; else, and where they failed, CALLS. */
static readiness agree(pith_scope *s, pithp_replay *r, pithp_plan *plan, readiness own) {
    int64_t least = own, most = own;
    if (!pithp_ranks_meet(s, plan))
        return CALLS;
    pithp_collective_range(s, &least, &most);
    if (least != most && own == CAPTURED)
        pithp_segments_drop(r);
    if (least == UNCAPTURED && most == UNCAPTURED)
        capture_together(s, r);
    pithp_collective_end(s);
    return least == most ? own : CALLS;
}

bool pithp_replay_run_ranks(pith_scope *s,
                            pithp_replay *r,
                            pithp_plan *plan,
                            const void *const *inputs,
                            void *const *outputs,
                            pith_status *status) {
    memory m = {NULL};
    const readiness own = look(s, r, plan);
    if (own >= CAPTURED)
        (void)take_memory(s, r, plan, inputs, outputs, &m); /* agree reports its error */
    const readiness all = agree(s, r, plan, own);
    const bool runs = s->error.code == PITH_OK && all >= CAPTURED;
    *status = runs ? start(s, r, m.host) : s->error.code;
    if (own >= CAPTURED)
        release_memory(s, r, &m);
    if (own != CALLS)
        pthread_mutex_unlock(&r->tier.lock);
    return runs || *status != PITH_OK;
}
