/* Making schedules of plans, and running them on their device. */
#include "program/schedule/replay.h"

#include "gpu/compile/later.h"
#include "program/emit/emit.h"

#include <stdlib.h>
#include <string.h>

enum { RUNS_WORTH_COMPILING = 2 };

typedef enum stage { COUNTING, MAKING, READY, NEVER } stage;
typedef enum way {
    AS_GRAPH,
    DRIVEN,
    STEPPED
} way; /* stepped: with a wait for each task */

/* Whoever makes it has it for himself; then it belongs to those with the lock. */
struct pithp_replay {
    pith_runtime *runtime;
    atomic_int refs;       /* of the plan, and of who makes it */
    atomic_bool abandoned; /* the plan is gone */
    pthread_mutex_t lock;  /* of runs; where they wait for it, also of making it */
    pithp_later_work work; /* to make it */
    atomic_int stage;
    atomic_int runs;
    atomic_size_t bytes; /* 0 before it is READY */
    bool wait;
    way how;
    /* Of the plan that makes calls, for who makes the other: */
    pithp_program *program; /* one reference */
    pithp_place *outputs;
    int64_t *reused; /* behind them; NULL: nothing is */
    size_t wanted_bytes;
    /* READY: */
    pithp_plan *plan; /* for the schedule */
    pithp_schedule *schedule;
    pithp_code *code;     /* NULL: it needs none */
    pithp_buffer *memory; /* the schedule's, on the device */
    const void **fused; /* its kernels; those for the work of many, or NULL, behind them,
                           and the decision's */
    struct pithp_graph *graph;
    uint64_t *table; /* of the run at work */
    pithp_stream *last;
};

static pithp_replay *replay_of(const pithp_plan *plan) {
    return plan->replay;
}

static size_t fused_bytes(const pithp_replay *r) {
    return (2 * (size_t)r->schedule->fused_count + 1) * sizeof *r->fused;
}
static size_t table_bytes(const pithp_replay *r) {
    return (size_t)r->schedule->table_count * sizeof *r->table;
}

static const char *setting(const char *name, const char *usual) {
    const char *set = getenv(name);
    return set && set[0] ? set : usual;
}

void pithp_replay_begin(pithp_plan *plan) {
    const char *when = setting("PITH_JIT", "async");
    const char *how = setting("PITH_CUDA_GRAPH", "on");
    if (strcmp(when, "off") == 0 || strcmp(how, "off") == 0)
        return;
    pithp_replay *r = pithp_allocate(plan->runtime, sizeof *r);
    if (!r)
        return;
    memset(r, 0, sizeof *r);
    r->runtime = plan->runtime;
    atomic_init(&r->refs, 1);
    r->wait = strcmp(when, "wait") == 0;
    r->how = strcmp(how, "drive") == 0 ? STEPPED : AS_GRAPH;
    if (pthread_mutex_init(&r->lock, NULL) == 0)
        plan->replay = r;
    else
        pithp_release(plan->runtime, r, sizeof *r);
}

/* Back to a replay without a schedule. */
static void drop(pith_runtime *rt, pithp_replay *r) {
    if (r->graph)
        pithp_runtime_device(rt)->backend->graph_free(pithp_runtime_device(rt), r->graph);
    if (r->schedule) {
        pithp_release(rt, (void *)(uintptr_t)r->fused, r->fused ? fused_bytes(r) : 0);
        pithp_release(rt, r->table, r->table ? table_bytes(r) : 0);
    }
    pithp_buffer_release(r->memory, 1);
    pithp_code_release(r->code);
    pithp_schedule_free(r->schedule);
    pithp_plan_free(r->plan);
    r->graph = NULL;
    r->fused = NULL;
    r->table = NULL;
    r->memory = NULL;
    r->code = NULL;
    r->schedule = NULL;
    r->plan = NULL;
}

static void forget_wanted(pithp_replay *r) {
    pithp_program_release(r->program);
    pithp_release(r->runtime, r->outputs, r->wanted_bytes);
    r->program = NULL;
    r->outputs = NULL;
}

static void release(pithp_replay *r) {
    if (atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) != 1)
        return;
    drop(r->runtime, r);
    forget_wanted(r);
    pthread_mutex_destroy(&r->lock);
    pithp_release(r->runtime, r, sizeof *r);
}

/* Who makes it ends by himself: nobody may wait for him here, where locks may be held
 * that he needs to make room in memory. */
void pithp_replay_end(pithp_plan *plan) {
    pithp_replay *r = replay_of(plan);
    if (!r)
        return;
    atomic_store(&r->abandoned, true);
    release(r);
}

size_t pithp_replay_bytes(const pithp_plan *plan) {
    const pithp_replay *r = replay_of(plan);
    return r ? atomic_load_explicit(&r->bytes, memory_order_relaxed) : 0;
}

pithp_replay_mode pithp_replay_look(const pithp_plan *plan) {
    const pithp_replay *r = replay_of(plan);
    if (!r || atomic_load_explicit(&r->stage, memory_order_acquire) != READY)
        return PITHP_REPLAY_CALLS;
    return r->graph ? PITHP_REPLAY_GRAPH : PITHP_REPLAY_DRIVEN;
}

/* ---- Making it: the schedule ---- */

static void never(pithp_replay *r) {
    drop(r->runtime, r);
    atomic_store_explicit(&r->stage, NEVER, memory_order_release);
}

/* What is missing is said once a runtime: it will be missing for every plan. */
static void complain(pithp_device *d, const char *text) {
    if (!atomic_exchange(&d->compiler_complained, true))
        pithp_log(d->runtime, PITH_LOG_WARNING, "programs run call by call: %s", text);
}

/* The caller knows outputs by the plan that makes calls: those of the other must be
 * where it thinks they are. */
static bool same_outputs(const pithp_replay *r) {
    for (int64_t k = 0; k < r->program->output_count; k++) {
        const pithp_place x = r->outputs[k], y = pithp_plan_output(r->plan, k);
        if (x.store != y.store || (x.store != PITHP_IN_LITERALS && x.at != y.at))
            return false;
    }
    return true;
}

static pithp_gemm_use gemm_use(pithp_device *d) {
    return d->backend->gemm ? (pithp_gemm_use)d->backend->gemm_use(d) : PITHP_GEMM_NONE;
}

/* Products that are worth a library are its tasks, where it is there: nobody opens it for
 * programs without them. */
static pithp_schedule *
schedule_of(pith_scope *s, const pithp_plan *plan, pithp_error *e) {
    pithp_device *d = pithp_scope_device(s);
    pithp_schedule *made = pithp_schedule_make(
        s, plan, d->backend->gemm ? pithp_gemm_asked() : PITHP_GEMM_NONE, e);
    if (!made || !made->gemm_count || gemm_use(d) != PITHP_GEMM_NONE)
        return made;
    pithp_schedule_free(made);
    return pithp_schedule_make(s, plan, PITHP_GEMM_NONE, e);
}

static bool make_schedule(pith_scope *s, pithp_replay *r) {
    pithp_error e = {.code = PITH_OK};
    r->plan = pithp_plan_make_for(s, r->program, PITHP_PLAN_SCHEDULED);
    if (!r->plan || !same_outputs(r) || !pithp_plan_reuse_as(s, r->plan, r->reused))
        return false;
    r->schedule = schedule_of(s, r->plan, &e);
    if (!r->schedule)
        pithp_log(r->runtime, PITH_LOG_DEBUG, "a program runs call by call: %s", e.text);
    return r->schedule != NULL;
}

/* ---- Its kernels, memory and graph ---- */

static bool has_text(const pithp_replay *r) {
    return r->schedule->fused_count || (r->how == AS_GRAPH && r->schedule->control_count);
}

static pithp_code *compile(pithp_device *d, const pithp_replay *r) {
    const pithp_compile_options options = {.name = "a program",
                                           .contract = r->plan->program->contracts};
    pithp_text text;
    pithp_code *code = NULL;
    pithp_text_begin(&text, d->runtime);
    if (pithp_schedule_cuda_text(&text, r->schedule, r->how == AS_GRAPH))
        code = pithp_compile_later(d, text.bytes, &options, true);
    pithp_text_end(&text);
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
            pithp_step_name(name, k);
        else if (k < 2 * count)
            pithp_many_name(name, k - count);
        r->fused[k] = NULL;
        if (k >= count && k < 2 * count && !r->schedule->many_count)
            continue;
        if (pithp_module_search(r->code->module, name, &launch, e) != PITH_OK)
            return false;
        r->fused[k] = launch.cuda;
    }
    return true;
}

static const void *kernel_of(void *replay, const pithp_task *task, pithp_error *e) {
    const pithp_replay *r = replay;
    const void *kernel = NULL;
    switch (task->source) {
        case PITHP_CODE_BUILTIN:
            kernel = task->decides >= 0 && r->how == AS_GRAPH
                         ? r->fused[2 * r->schedule->fused_count]
                         : pithp_cuda_kernel_at(task->number);
            break;
        case PITHP_CODE_FUSED:
            kernel = r->fused[task->number + (task->many ? r->schedule->fused_count : 0)];
            break;
        case PITHP_CODE_USER:
            kernel = task->kernel->cuda_at ? task->kernel->cuda_at() : NULL;
            break;
    }
    if (!kernel)
        pithp_error_set(e, PITH_E_UNSUPPORTED, NULL, NULL,
                        "%s was not built for CUDA: compile it with nvcc too",
                        task->name);
    return kernel;
}

/* The schedule's memory as it is in the beginning. */
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
                                   .memory = r->memory->data,
                                   .gemm =
                                       pithp_schedule_gemm(r->schedule, r->memory->data),
                                   .kernel = kernel_of,
                                   .closure = r};
    pithp_stream *st = pithp_scope_stream(s);
    return st->device->backend->graph_make(st, &plan, &r->graph, e) == PITH_OK;
}

/* What may go well without a graph. */
static bool is_refusal(const pithp_error *e) {
    return e->code == PITH_E_UNSUPPORTED || e->code == PITH_E_INTERNAL ||
           e->code == PITH_E_COMPILE;
}

/* False: e says why, or memory is short. Runs on any stream find all that was written
 * here: it is waited for. */
static bool get_ready(pith_scope *s, pithp_replay *r, bool *loaded, pithp_error *e) {
    pithp_device *d = pithp_scope_device(s);
    *loaded = false;
    if (has_text(r) && !(r->code = compile(d, r)))
        return false;
    if (r->code && pithp_code_look(r->code) != PITHP_CODE_READY) {
        *e = r->code->error;
        return false;
    }
    if (r->code && !find_kernels(r->runtime, r, e))
        return false;
    *loaded = true;
    return !atomic_load(&r->abandoned) && make_memory(s, r) &&
           (r->how != AS_GRAPH || make_graph(s, r, e)) &&
           d->backend->synchronise(pithp_scope_stream(s), e) == PITH_OK;
}

/* A schedule of the same steps, all by our own kernels; false: there is none. */
static bool leave_library(pith_scope *s, pithp_replay *r, pithp_error *e) {
    pithp_device *d = pithp_scope_device(s);
    pithp_error ignored = {.code = PITH_OK};
    pithp_schedule *made = pithp_schedule_make(s, r->plan, PITHP_GEMM_NONE, &ignored);
    bool loaded;
    if (!made)
        return false;
    if (r->graph)
        d->backend->graph_free(d, r->graph);
    pithp_release(r->runtime, (void *)(uintptr_t)r->fused, r->fused ? fused_bytes(r) : 0);
    pithp_release(r->runtime, r->table, r->table ? table_bytes(r) : 0);
    pithp_schedule_free(r->schedule);
    pithp_buffer_release(r->memory, 1);
    pithp_code_release(r->code);
    r->graph = NULL;
    r->fused = NULL;
    r->table = NULL;
    r->memory = NULL;
    r->code = NULL;
    r->schedule = made;
    e->code = PITH_OK;
    return get_ready(s, r, &loaded, e);
}

/* Without a graph tasks run one by one, with other text if some of them decide. */
static bool fall_back(pith_scope *s, pithp_replay *r, pithp_error *e) {
    bool loaded;
    pithp_log(r->runtime, PITH_LOG_WARNING,
              "a program runs without a graph, task by task: %s", e->text);
    pithp_code_release(r->code);
    r->code = NULL;
    r->how = DRIVEN;
    e->code = PITH_OK;
    return get_ready(s, r, &loaded, e);
}

static size_t
bytes_of(const pithp_schedule *schedule, const pithp_plan *plan, bool graph) {
    enum { NODE_BYTES = 1024 }; /* of the device's and its driver's, about */
    const size_t tasks = (size_t)schedule->task_count;
    return pithp_plan_own_bytes(plan) + 2 * pithp_schedule_bytes(schedule) +
           (size_t)schedule->fused_count * 2 * sizeof(void *) +
           (size_t)schedule->table_count * sizeof(uint64_t) + tasks * sizeof(pithp_task) +
           (graph ? tasks * NODE_BYTES : 0);
}

/* Nothing that reads its memory, or the plan's, is known to their streams. */
static void settle(pithp_replay *r) {
    atomic_store(&r->memory->used_elsewhere, true);
    if (r->plan->literals)
        atomic_store(&r->plan->literals->used_elsewhere, true);
    atomic_store_explicit(&r->bytes, bytes_of(r->schedule, r->plan, r->graph),
                          memory_order_relaxed);
}

/* Once, by one thread. The scope is its own. */
static void make(pith_scope *s, pithp_replay *r) {
    pithp_error e = {.code = PITH_OK};
    bool ready = false, loaded;
    if (pithp_scope_writable(s) && s->error.code == PITH_OK && make_schedule(s, r)) {
        ready = get_ready(s, r, &loaded, &e);
        if (!ready && loaded && r->schedule->gemm_count && is_refusal(&e))
            ready = leave_library(s, r, &e); /* our own kernels have less to refuse */
        if (!ready && r->how == AS_GRAPH && is_refusal(&e) &&
            (loaded || r->schedule->control_count) && !atomic_load(&r->abandoned))
            ready = fall_back(s, r, &e);
        if (!ready && !atomic_load(&r->abandoned) &&
            !pithp_later_ends(pithp_runtime_device(r->runtime)))
            complain(pithp_runtime_device(r->runtime),
                     e.code == PITH_OK ? "memory is short" : e.text);
    }
    forget_wanted(r);
    if (ready) {
        settle(r);
        atomic_store_explicit(&r->stage, READY, memory_order_release);
    } else {
        never(r);
    }
    pith_clear(s);
    pith_scope_close(s);
}

/* ---- Asking for it ---- */

/* What the plan says, which may go while it is made. */
static bool note_wanted(pithp_plan *plan, pithp_replay *r) {
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
    return true;
}

static void make_later(pithp_later_work *work, bool given_up) {
    pithp_replay *r =
        (pithp_replay *)(void *)((char *)work - offsetof(pithp_replay, work));
    if (!given_up && !atomic_load(&r->abandoned))
        make(pith_scope_open(r->runtime), r);
    release(r);
}

/* Only who takes the stage from COUNTING. */
static void ask(pith_scope *s, pithp_plan *plan, pithp_replay *r) {
    pithp_device *d = pithp_scope_device(s);
    if (!d->backend->graph_make && r->how == AS_GRAPH)
        r->how = DRIVEN;
    if (!note_wanted(plan, r)) {
        never(r);
    } else if (r->wait) {
        make(pith_scope_open_in(s), r);
    } else {
        r->work.run = make_later;
        atomic_fetch_add(&r->refs, 1);
        if (!pithp_later_do(d, &r->work)) {
            atomic_fetch_sub(&r->refs, 1);
            never(r);
        }
    }
}

static bool take_stage(pithp_replay *r) {
    int counting = COUNTING;
    return atomic_compare_exchange_strong(&r->stage, &counting, MAKING);
}

/* The library refused in a run that the host drove. */
static stage make_again(pith_scope *s, pithp_replay *r) {
    pithp_error e = {.code = PITH_OK};
    pith_scope *own = pith_scope_open_in(s);
    const bool ready = pithp_scope_writable(own) && leave_library(own, r, &e);
    if (ready)
        settle(r);
    else
        never(r);
    pith_clear(own);
    pith_scope_close(own);
    return ready ? READY : NEVER;
}

/* Whether it is READY; then the lock is held. */
static bool lock_ready(pith_scope *s, pithp_plan *plan, pithp_replay *r) {
    int at = atomic_load_explicit(&r->stage, memory_order_acquire);
    if (at == NEVER)
        return false;
    if (!r->wait && at == COUNTING &&
        atomic_fetch_add_explicit(&r->runs, 1, memory_order_relaxed) + 1 >=
            RUNS_WORTH_COMPILING &&
        take_stage(r))
        ask(s, plan, r);
    if (!r->wait && at != READY)
        return false;
    pthread_mutex_lock(&r->lock);
    if (r->wait && take_stage(r))
        ask(s, plan, r);
    at = atomic_load(&r->stage);
    if (at == READY && !r->graph && r->schedule->gemm_count &&
        gemm_use(pithp_scope_device(s)) == PITHP_GEMM_NONE)
        at = make_again(s, r);
    if (at != READY)
        pthread_mutex_unlock(&r->lock);
    return at == READY;
}

bool pithp_replay_cost(pith_scope *s, const pithp_plan *plan, pithp_replay_costs *costs) {
    const pithp_replay *r = replay_of(plan);
    if (!r || atomic_load_explicit(&r->stage, memory_order_acquire) == NEVER)
        return false;
    pithp_error e = {.code = PITH_OK};
    pithp_device *d = pithp_scope_device(s);
    pith_scope *own = pith_scope_open_in(s); /* its errors are nobody's */
    pithp_plan *scheduled =
        pithp_scope_writable(own)
            ? pithp_plan_make_for(own, plan->program, PITHP_PLAN_SCHEDULED)
            : NULL;
    pithp_schedule *schedule = scheduled ? schedule_of(own, scheduled, &e) : NULL;
    if (schedule)
        *costs = (pithp_replay_costs){
            .launches = pithp_schedule_launches(schedule) + 1,
            .workspace_bytes = scheduled->workspace_bytes,
            .bytes = bytes_of(schedule, scheduled, d->backend->graph_make)};
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

static pith_status launch_task(void *closure, const pithp_task *task, void *args) {
    const driving *d = closure;
    pithp_error e;
    pithp_launch launch = {.name = task->name,
                           .cuda = kernel_of(d->replay, task, &e),
                           .args = &args,
                           .args_bytes = sizeof args,
                           .count = task->threads};
    if (!launch.cuda)
        return pithp_fail_device(d->s, &e);
    pith_status rc = pithp_launch_enqueue(d->s, &launch);
    if (rc == PITH_OK && d->replay->how == STEPPED)
        rc = pithp_synchronise(d->s);
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
    else if (d->replay->how == STEPPED)
        rc = pithp_synchronise(d->s);
    if (rc != PITH_OK)
        pithp_error_context(d->s, "task %s", task->name);
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
    const pithp_driver driver = {
        .launch = launch_task, .gemm = gemm_task, .read = read_word, .closure = &d};
    return pithp_schedule_drive(r->schedule, r->memory->data, &driver);
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
                      pithp_plan *plan,
                      const void *const *inputs,
                      void *const *outputs,
                      pith_status *status) {
    pithp_replay *r = replay_of(plan);
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
