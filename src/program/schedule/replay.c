/* Making schedules of plans, and running them on their device. */
#include "program/schedule/replay.h"

#include "gpu/compile/later.h"
#include "program/emit/emit.h"

#include <stdlib.h>
#include <string.h>

enum { RUNS_WORTH_COMPILING = 2 };

typedef enum stage { COUNTING, ASKED, READY, NEVER } stage;
typedef enum way {
    AS_GRAPH,
    DRIVEN,
    STEPPED
} way; /* stepped: with a wait for each task */

struct pithp_replay {
    pthread_mutex_t lock; /* guards what follows, but for one that only polls */
    atomic_int stage;
    atomic_int runs;
    bool wait;
    way how;
    pithp_plan *plan; /* for the schedule */
    pithp_schedule *schedule;
    pithp_code *code; /* NULL: it needs none */
    /* READY: */
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

void pithp_replay_end(pithp_plan *plan) {
    pithp_replay *r = replay_of(plan);
    if (!r)
        return;
    drop(plan->runtime, r);
    pthread_mutex_destroy(&r->lock);
    pithp_release(plan->runtime, r, sizeof *r);
}

pithp_replay_mode pithp_replay_look(const pithp_plan *plan) {
    const pithp_replay *r = replay_of(plan);
    if (!r || atomic_load_explicit(&r->stage, memory_order_acquire) != READY)
        return PITHP_REPLAY_CALLS;
    return r->graph ? PITHP_REPLAY_GRAPH : PITHP_REPLAY_DRIVEN;
}

/* ---- With the lock held: asking ---- */

static void never(pith_runtime *rt, pithp_replay *r) {
    drop(rt, r);
    atomic_store_explicit(&r->stage, NEVER, memory_order_release);
}

/* What is missing is said once a runtime: it will be missing for every plan. */
static void complain(pithp_device *d, const char *text) {
    if (!atomic_exchange(&d->compiler_complained, true))
        pithp_log(d->runtime, PITH_LOG_WARNING, "programs run call by call: %s", text);
}

/* The caller knows outputs by the plan that makes calls: those of the other must be
 * where it thinks they are. */
static bool same_outputs(const pithp_plan *a, const pithp_plan *b) {
    for (int64_t k = 0; k < a->program->output_count; k++) {
        const pithp_place x = pithp_plan_output(a, k), y = pithp_plan_output(b, k);
        if (x.store != y.store || (x.store != PITHP_IN_LITERALS && x.at != y.at))
            return false;
    }
    return true;
}

static pithp_code *compile(pithp_device *d, const pithp_replay *r) {
    pithp_text text;
    pithp_code *code = NULL;
    pithp_text_begin(&text, d->runtime);
    if (pithp_schedule_cuda_text(&text, r->schedule, r->how == AS_GRAPH))
        code = pithp_compile_later(d, text.bytes, "a program", r->wait);
    pithp_text_end(&text);
    return code;
}

static bool has_text(const pithp_replay *r) {
    return r->schedule->fused_count || (r->how == AS_GRAPH && r->schedule->control_count);
}

static pithp_gemm_use gemm_use(pithp_device *d) {
    return d->backend->gemm ? (pithp_gemm_use)d->backend->gemm_use(d) : PITHP_GEMM_NONE;
}

static bool make_schedule(pith_scope *s, pithp_plan *plan, pithp_replay *r) {
    pithp_error e = {.code = PITH_OK};
    r->plan = pithp_plan_make_for(s, plan->program, PITHP_PLAN_SCHEDULED);
    if (!r->plan || !same_outputs(plan, r->plan) ||
        !pithp_plan_reuse_as(s, r->plan, plan))
        return false;
    r->schedule = pithp_schedule_make(s, r->plan, gemm_use(pithp_scope_device(s)), &e);
    if (!r->schedule)
        pithp_log(plan->runtime, PITH_LOG_DEBUG, "a program runs call by call: %s",
                  e.text);
    return r->schedule != NULL;
}

static void ask(pith_scope *s, pithp_plan *plan, pithp_replay *r) {
    pithp_device *d = pithp_scope_device(s);
    pith_scope *own = pith_scope_open_in(s); /* its errors are nobody's */
    if (!d->backend->graph_make && r->how == AS_GRAPH)
        r->how = DRIVEN;
    const bool made = pithp_scope_writable(own) && make_schedule(own, plan, r);
    if (made)
        r->code = compile(d, r);
    if (made && (r->code || !has_text(r)))
        atomic_store(&r->stage, ASKED);
    else
        never(plan->runtime, r);
    pith_clear(own);
    pith_scope_close(own);
}

/* ---- With the lock held: getting ready ---- */

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

/* No graph: its tasks run one by one, with other text if some of them decide. */
static void fall_back(pithp_device *d, pithp_replay *r, const char *reason) {
    pithp_log(d->runtime, PITH_LOG_WARNING,
              "a program runs without a graph, task by task: %s", reason);
    pithp_code_release(r->code);
    r->how = DRIVEN;
    r->code = compile(d, r);
    if (!r->code && has_text(r))
        never(d->runtime, r);
}

/* A schedule of the same steps, all by our own kernels; false: there is none. */
static bool leave_library(pith_scope *s, pithp_replay *r) {
    pithp_error e = {.code = PITH_OK};
    pithp_device *d = pithp_scope_device(s);
    pith_scope *own = pith_scope_open_in(s);
    pithp_schedule *made = pithp_scope_writable(own)
                               ? pithp_schedule_make(own, r->plan, PITHP_GEMM_NONE, &e)
                               : NULL;
    if (made) {
        if (r->graph)
            d->backend->graph_free(d, r->graph);
        pithp_schedule_free(r->schedule);
        pithp_buffer_release(r->memory, 1);
        r->graph = NULL;
        r->memory = NULL;
        r->schedule = made;
    }
    pith_clear(own);
    pith_scope_close(own);
    return made != NULL;
}

/* What may go well without a graph. */
static bool is_refusal(const pithp_error *e) {
    return e->code == PITH_E_UNSUPPORTED || e->code == PITH_E_INTERNAL ||
           e->code == PITH_E_COMPILE;
}

static void get_ready(pith_scope *s, pithp_replay *r) {
    pithp_device *d = pithp_scope_device(s);
    pithp_error e = {.code = PITH_OK};
    if (r->code && pithp_code_look(r->code) == PITHP_CODE_WAITING)
        return;
    bool ready = !r->code || pithp_code_look(r->code) == PITHP_CODE_READY;
    if (!ready)
        e = r->code->error;
    ready = ready && (!r->code || find_kernels(d->runtime, r, &e));
    const bool loaded = ready;
    pith_scope *own = pith_scope_open_in(s);
    ready = ready && pithp_scope_writable(own) && make_memory(own, r) &&
            (r->how != AS_GRAPH || make_graph(own, r, &e));
    pith_clear(own);
    pith_scope_close(own);
    if (ready) {
        atomic_store_explicit(&r->stage, READY, memory_order_release);
    } else if (loaded && r->schedule->gemm_count && is_refusal(&e) &&
               leave_library(s, r)) {
        get_ready(s, r); /* without it there is nothing left to refuse */
    } else if (r->how == AS_GRAPH && is_refusal(&e) &&
               (loaded || r->schedule->control_count)) {
        fall_back(d, r, e.text);
        if (atomic_load(&r->stage) == ASKED)
            get_ready(s, r);
    } else {
        complain(d, e.code == PITH_OK ? "memory is short" : e.text);
        never(d->runtime, r);
    }
}

/* The stage now; READY: the lock is held. */
static bool lock_ready(pith_scope *s, pithp_plan *plan, pithp_replay *r) {
    const int at = atomic_load_explicit(&r->stage, memory_order_acquire);
    if (at == NEVER || (at == COUNTING && !r->wait &&
                        atomic_fetch_add_explicit(&r->runs, 1, memory_order_relaxed) + 1 <
                            RUNS_WORTH_COMPILING))
        return false;
    if (r->wait || at == READY) /* others wait too */
        pthread_mutex_lock(&r->lock);
    else if (pthread_mutex_trylock(&r->lock) != 0)
        return false;
    if (atomic_load(&r->stage) == COUNTING)
        ask(s, plan, r);
    if (atomic_load(&r->stage) == ASKED)
        get_ready(s, r);
    if (atomic_load(&r->stage) == READY && !r->graph && r->schedule->gemm_count &&
        gemm_use(pithp_scope_device(s)) == PITHP_GEMM_NONE) {
        /* the library refused in a run that the host drove */
        atomic_store(&r->stage, ASKED);
        if (leave_library(s, r))
            get_ready(s, r);
        else
            never(plan->runtime, r);
    }
    if (atomic_load(&r->stage) == READY)
        return true;
    pthread_mutex_unlock(&r->lock);
    return false;
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
    return pithp_buffer_read(s, r->memory);
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
    pith_status rc = bytes && !workspace ? s->error.code : pithp_plan_await(s, r->plan);
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
