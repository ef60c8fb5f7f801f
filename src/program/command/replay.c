/* Replay: which plans run by command buffers, when these are made, and each run. */
#include "base/environment.h"
#include "program/command/replay_internal.h"
#include "program/op/debug.h"
#include "program/op/thresholds.h"

#include <string.h>

pithp_replay *pithp_replay_make(const pithp_plan *plan) {
    const pithp_code_when when = pithp_code_when_set();
    const char *set = pithp_environment("PITH_CUDA_GRAPH"), *how = set ? set : "on";
    if (when >= PITHP_CODE_OFF || strcmp(how, "off") == 0)
        return NULL;
    pithp_replay *r = pithp_allocate(plan->runtime, sizeof *r);
    if (!r)
        return NULL;
    memset(r, 0, sizeof *r);
    r->runtime = plan->runtime;
    atomic_init(&r->refs, 1);
    r->wait = when == PITHP_CODE_WAIT;
    r->how = strcmp(how, "drive") == 0 ? STEPPED : AS_GRAPH;
    r->pause = PITHP_RUNS_WORTH_COMPILING;
    atomic_init(&r->due, r->wait ? 1 : PITHP_RUNS_WORTH_COMPILING);
    if (pthread_mutex_init(&r->lock, NULL) == 0)
        return r;
    pithp_release(plan->runtime, r, sizeof *r);
    return NULL;
}

void pithp_replay_time(pithp_replay *r, bool enrols) {
    r->timed = r->wait = true;
    r->enrols = enrols;
    r->how = DRIVEN;
    atomic_store(&r->due, 1);
}

pithp_profile *pithp_replay_profile(const pithp_replay *r) {
    return r && atomic_load_explicit(&r->stage, memory_order_acquire) == READY
               ? r->profile
               : NULL;
}

static void release(pithp_replay *r) {
    if (atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) != 1)
        return;
    pithp_replay_drop(r);
    pithp_replay_forget_wanted(r);
    pthread_mutex_destroy(&r->lock);
    pithp_release(r->runtime, r, sizeof *r);
}

/* The thread that makes it ends by itself. Waiting for it here could deadlock: the caller
 * may hold locks that the thread needs to free memory. */
void pithp_replay_free(pithp_replay *r) {
    if (!r)
        return;
    atomic_store(&r->abandoned, true);
    release(r);
}

size_t pithp_replay_bytes(const pithp_replay *r) {
    return r ? atomic_load_explicit(&r->bytes, memory_order_relaxed) : 0;
}

pithp_replay_mode pithp_replay_look(const pithp_replay *r) {
    if (!r || atomic_load_explicit(&r->stage, memory_order_acquire) != READY)
        return PITHP_REPLAY_CALLS;
    return r->graph ? PITHP_REPLAY_GRAPH : PITHP_REPLAY_DRIVEN;
}

/* ---- Asking for it ---- */

/* What the plan says, which may go while it is made. */
static bool note_wanted(const pithp_plan *plan, pithp_replay *r) {
    const size_t outputs = (size_t)plan->program->output_count;
    r->wanted_bytes = outputs * (sizeof *r->outputs + sizeof *r->reused) + 1;
    r->outputs = pithp_allocate(r->runtime, r->wanted_bytes);
    if (!r->outputs)
        return false;
    for (size_t k = 0; k < outputs; k++)
        r->outputs[k] = pithp_plan_output(plan, (int64_t)k);
    r->reused = plan->reused ? (int64_t *)(void *)(r->outputs + outputs) : NULL;
    for (size_t k = 0; r->reused && k < outputs; k++)
        r->reused[k] = plan->reused[k];
    pithp_program_retain(plan->program);
    r->program = plan->program;
    memcpy(r->name, plan->name, sizeof r->name);
    return true;
}

static void make_later(pithp_background_work *work, bool given_up) {
    pithp_replay *r =
        (pithp_replay *)(void *)((char *)work - offsetof(pithp_replay, work));
    if (!given_up && !atomic_load(&r->abandoned))
        pithp_replay_capture(pith_scope_open(r->runtime), r);
    release(r);
}

/* Only who takes the stage from COUNTING. */
static void ask(pith_scope *s, const pithp_plan *plan, pithp_replay *r) {
    pithp_device *d = pithp_scope_device(s);
    if (!d->backend->graph_make && r->how == AS_GRAPH)
        r->how = DRIVEN;
    if (!note_wanted(plan, r)) {
        pithp_replay_postpone(r);
    } else if (r->wait) {
        pithp_replay_capture(pith_scope_open_in(s), r);
    } else {
        r->work.run = make_later;
        atomic_fetch_add(&r->refs, 1);
        if (!pithp_background_do(d, &r->work)) {
            atomic_fetch_sub(&r->refs, 1);
            if (pithp_background_ends(d))
                pithp_replay_never(r);
            else
                pithp_replay_postpone(r);
        }
    }
}

/* Whether this run is the one that makes it. */
static bool take_stage(pithp_replay *r) {
    int counting = COUNTING;
    return atomic_load_explicit(&r->stage, memory_order_acquire) == COUNTING &&
           atomic_fetch_add_explicit(&r->runs, 1, memory_order_relaxed) + 1 >=
               atomic_load_explicit(&r->due, memory_order_relaxed) &&
           atomic_compare_exchange_strong(&r->stage, &counting, MAKING);
}

/* Whether it is READY; then the lock is held. */
static bool lock_ready(pith_scope *s, const pithp_plan *plan, pithp_replay *r) {
    int at = atomic_load_explicit(&r->stage, memory_order_acquire);
    if (at == NEVER)
        return false;
    if (!r->wait && take_stage(r))
        ask(s, plan, r);
    if (!r->wait && at != READY)
        return false;
    pthread_mutex_lock(&r->lock);
    if (r->wait && take_stage(r))
        ask(s, plan, r);
    at = atomic_load(&r->stage);
    if (at == READY && !r->graph && r->schedule->gemm_count &&
        pithp_replay_gemm_use(pithp_scope_device(s)) == PITHP_GEMM_NONE)
        at = pithp_replay_capture_again(s, r);
    if (at != READY)
        pthread_mutex_unlock(&r->lock);
    return at == READY;
}

bool pithp_replay_cost(pith_scope *s,
                       const pithp_replay *r,
                       const pithp_plan *plan,
                       pithp_replay_costs *costs) {
    if (!r || atomic_load_explicit(&r->stage, memory_order_acquire) == NEVER)
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
} driving;

/* It was enqueued: where it is an error to be waited for, or timed. */
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
    const size_t bytes = ((size_t)step->call->operand_count + 1) * sizeof(void *);
    const void **operands = pithp_allocate(d->s->runtime, bytes);
    if (!operands)
        return pithp_fail_memory(d->s, bytes);
    const pith_status rc = pithp_copy_out(d->s, operands, args, bytes);
    if (rc == PITH_OK)
        pithp_debug_print(d->s, step->call->params, step->specs, operands);
    pithp_release(d->s->runtime, operands, bytes);
    return rc;
}

static pith_status read_word(void *closure, const void *from, int64_t *word) {
    const driving *d = closure;
    return pithp_copy_out(d->s, word, from, sizeof *word);
}

/* ---- Running ---- */

static pith_status start(pith_scope *s, pithp_replay *r) {
    pithp_stream *st = pithp_scope_stream(s);
    pithp_error e;
    if (r->graph) {
        const pith_status rc = st->device->backend->graph_launch(st, r->graph, &e);
        return rc == PITH_OK ? PITH_OK : pithp_fail_device(s, &e);
    }
    driving d = {s, r};
    const pithp_driver driver = {.launch = launch_task,
                                 .gemm = gemm_task,
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

/* The memory is one for all runs: those on other streams come first. */
static pith_status take_turn(pith_scope *s, pithp_replay *r) {
    pithp_stream *st = pithp_scope_stream(s);
    pithp_error e;
    if (r->last && r->last != st && st->device->backend->wait_for(st, r->last, &e))
        return pithp_fail_device(s, &e);
    r->last = st;
    return PITH_OK;
}

bool pithp_replay_run(pith_scope *s,
                      pithp_replay *r,
                      const pithp_plan *plan,
                      const void *const *inputs,
                      void *const *outputs,
                      pith_status *status) {
    if (!lock_ready(s, plan, r))
        return false;
    const size_t bytes = r->plan->workspace_bytes;
    pithp_buffer *workspace = bytes ? pithp_buffer_make(s, bytes) : NULL;
    /* of this plan, but for literals, that one has the same to wait for */
    pith_status rc = bytes && !workspace ? s->error.code : pithp_plan_await(s, plan);
    if (rc == PITH_OK)
        rc = take_turn(s, r);
    if (rc == PITH_OK) {
        pithp_schedule_table(r->schedule, r->plan, workspace ? workspace->data : NULL,
                             inputs, outputs, r->table);
        rc = pithp_copy_in(s, (uint64_t *)r->memory->data + PITHP_WORD_WORKSPACE,
                           r->table, table_bytes(r));
    }
    if (rc == PITH_OK)
        rc = start(s, r);
    pthread_mutex_unlock(&r->lock);
    pithp_buffer_release(workspace, 1);
    *status = rc;
    return true;
}
