/* CUDA graph construction: one explicit node per task; branches and loops are conditional
 * nodes with body graphs. Library calls are captured, each as a child graph. The graph
 * allocates nothing, because conditional nodes do not allow it. */
#include "gpu/graph.h"

#include "gpu/cuda/cuda_internal.h"

#include <stdio.h>
#include <string.h>

enum { WORD = sizeof(uint64_t) };

struct pithp_graph {
    cudaGraph_t graph;    /* must outlive exec, because it owns the conditions */
    cudaGraphExec_t exec; /* NULL: dropped, with the communicators of its moves */
    bool listed;          /* it has moves between ranks, and is in the device's list */
    bool made;            /* else only its maker may destroy it */
    pthread_t maker;
    struct pithp_graph *next;
};

/* The decision word of a conditional node, for the kernels that set it. */
typedef struct condition {
    int32_t word;
    cudaGraphConditionalHandle handle;
} condition;

/* A task list under construction. */
typedef struct list {
    const struct list *outer;
    const pithp_tasks *tasks;
    int64_t first, end; /* the range of tasks that are added */
    int64_t at;         /* index of the current task */
    int body;           /* body index in the outer list's task */
    cudaGraph_t graph;
    cudaGraphNode_t *nodes; /* of the earlier tasks */
    cudaGraphNode_t *after; /* buffer for the dependencies of a task */
    condition *conditions;  /* of the branch and loop tasks */
    int64_t condition_count;
    void *memory;
    size_t bytes;
} list;

typedef struct making {
    pithp_device *device;
    const pithp_graph_plan *plan;
    pithp_error *e;
} making;

/* ---- Errors ---- */

/* Print the position: "task 2 (while), body 0, task 5 (add)". */
static size_t print_position(const list *l, char *text, size_t room) {
    const pithp_task *task = &l->tasks->list[l->at];
    size_t used = 0;
    if (l->outer) {
        used = print_position(l->outer, text, room);
        used += (size_t)snprintf(text + used, room - used, ", body %d, ", l->body);
    }
    if (used < room)
        used += (size_t)snprintf(text + used, room - used, "task %lld (%s)",
                                 (long long)l->at, task->name ? task->name : "?");
    return used < room ? used : room - 1;
}

static bool fail(const making *m, const list *l, cudaError_t code, const char *what) {
    char where[160];
    print_position(l, where, sizeof where);
    pithp_cuda_fail(m->device, code, m->e, "a graph: %s: cannot %s", where, what);
    return false;
}

/* ---- Nodes ---- */

static cudaError_t add_node(cudaGraphNode_t *node,
                            cudaGraph_t graph,
                            const cudaGraphNode_t *after,
                            size_t count,
                            struct cudaGraphNodeParams *params) {
#if CUDART_VERSION >= 13000
    return cudaGraphAddNode(node, graph, after, NULL, count, params);
#else
    return cudaGraphAddNode(node, graph, after, count, params);
#endif
}

/* Collect the dependencies of a task within the range in l->after; returns their number.
 */
static size_t gather(const list *l, const pithp_task *task) {
    size_t count = 0;
    for (int32_t k = 0; k < task->after_count; k++) {
        const int32_t before = l->tasks->edges[task->first_after + k];
        PITH_ASSERT(before >= 0 && before < l->at);
        if (before >= l->first)
            l->after[count++] = l->nodes[before - l->first];
    }
    return count;
}

/* The condition of a decision word, in this list or an outer one. */
static bool find_condition(const making *m,
                           const list *l,
                           int32_t word,
                           cudaGraphConditionalHandle *handle) {
    for (const list *at = l; at; at = at->outer)
        for (int64_t k = at->condition_count; k-- > 0;)
            if (at->conditions[k].word == word) {
                *handle = at->conditions[k].handle;
                return true;
            }
    pithp_error_set(m->e, PITH_E_INTERNAL, NULL, NULL,
                    "a graph: task %lld sets a decision that no task uses",
                    (long long)l->at);
    return false;
}

static bool add_kernel(const making *m, const list *l, const pithp_task *task) {
    pithp_cuda_grid grid;
    void *args = m->plan->memory + (size_t)task->args * WORD;
    cudaGraphConditionalHandle handle = 0;
    void *parameters[] = {&args, &handle};
    const void *kernel = m->plan->kernel(m->plan->closure, task, m->e);
    if (!kernel || (task->decides >= 0 && !task->driven &&
                    !find_condition(m, l, task->decides, &handle)))
        return false;
    if (!pithp_cuda_grid_for(task->threads, &grid)) {
        pithp_error_set(m->e, PITH_E_UNSUPPORTED, NULL, NULL,
                        "%s: %lld indices exceed the threads of one launch", task->name,
                        (long long)task->threads);
        return false;
    }
    struct cudaKernelNodeParams params;
    memset(&params, 0, sizeof params);
    params.func = (void *)(uintptr_t)kernel;
    params.gridDim = (dim3){grid.blocks, 1, 1};
    params.blockDim = (dim3){grid.threads, 1, 1};
    params.kernelParams = parameters; /* copied by the call */
    const cudaError_t code = cudaGraphAddKernelNode(&l->nodes[l->at - l->first], l->graph,
                                                    l->after, gather(l, task), &params);
    return code == cudaSuccess || fail(m, l, code, "add a kernel");
}

/* A library call becomes a child graph, which is inspected before it is added. */
static bool add_gemm(const making *m, const list *l, const pithp_task *task) {
    cudaGraph_t child;
    PITH_ASSERT(m->plan->gemm);
    if (pithp_gemm_capture_cuda(m->device, task->gemm, m->plan->gemm, &child, m->e))
        return false;
    const cudaError_t code = cudaGraphAddChildGraphNode(
        &l->nodes[l->at - l->first], l->graph, l->after, gather(l, task), child);
    if (code != cudaSuccess)
        fail(m, l, code, "add a product");
    pithp_cuda_forget(cudaGraphDestroy(child)); /* the node has a copy */
    return code == cudaSuccess;
}

/* So does a move between ranks. NCCL's nodes record events, which bodies do not allow. */
static bool add_transfer(const making *m, const list *l, const pithp_task *task) {
    cudaGraph_t child;
    pithp_device_move t = *task->transfer;
    PITH_ASSERT(m->plan->moves && !l->outer);
    t.from = m->plan->moves + (uintptr_t)t.from;
    t.to = m->plan->moves + (uintptr_t)t.to;
    if (pithp_transfer_capture_cuda(
            m->device, m->plan->communicator(m->plan->closure, task), &t, &child, m->e))
        return false;
    const cudaError_t code = cudaGraphAddChildGraphNode(
        &l->nodes[l->at - l->first], l->graph, l->after, gather(l, task), child);
    if (code != cudaSuccess)
        fail(m, l, code, "add a move between ranks");
    pithp_cuda_forget(cudaGraphDestroy(child));
    return code == cudaSuccess;
}

static bool add_list(const making *m, const list *l);

static bool add_control(const making *m, const list *l, const pithp_task *task) {
    struct cudaGraphNodeParams params;
    memset(&params, 0, sizeof params); /* reserved members must be zero */
    params.type = cudaGraphNodeTypeConditional;
    params.conditional.type =
        task->kind == PITHP_TASK_WHILE ? cudaGraphCondTypeWhile : cudaGraphCondTypeSwitch;
    params.conditional.size = (unsigned)task->body_count;
    if (!find_condition(m, l, task->decision, &params.conditional.handle))
        return false;
    const cudaError_t code = add_node(&l->nodes[l->at - l->first], l->graph, l->after,
                                      gather(l, task), &params);
    if (code != cudaSuccess)
        return fail(m, l, code, "add a conditional node");
    for (int b = 0; b < task->body_count; b++) {
        const list body = {.outer = l,
                           .tasks = &task->bodies[b],
                           .end = task->bodies[b].count,
                           .body = b,
                           .graph = params.conditional.phGraph_out[b]};
        if (!add_list(m, &body))
            return false;
    }
    return true;
}

static bool add_task(const making *m, const list *l, const pithp_task *task) {
    if (pithp_task_controls(task))
        return add_control(m, l, task);
    if (task->kind == PITHP_TASK_GEMM)
        return add_gemm(m, l, task);
    if (task->kind == PITHP_TASK_TRANSFER)
        return add_transfer(m, l, task);
    if (task->threads)
        return add_kernel(m, l, task);
    const cudaError_t code = cudaGraphAddEmptyNode(&l->nodes[l->at - l->first], l->graph,
                                                   l->after, gather(l, task));
    return code == cudaSuccess || fail(m, l, code, "add an empty node");
}

/* Conditions are created first, because earlier kernels set them. By default a loop ends
 * and a branch runs no body. */
static bool add_conditions(const making *m, list *l) {
    for (l->at = l->first; l->at < l->end; l->at++) {
        const pithp_task *task = &l->tasks->list[l->at];
        if (!pithp_task_controls(task))
            continue;
        condition *c = &l->conditions[l->condition_count];
        const unsigned none =
            task->kind == PITHP_TASK_WHILE ? 0 : (unsigned)task->body_count;
        c->word = task->decision;
        const cudaError_t code = cudaGraphConditionalHandleCreate(
            &c->handle, l->graph, none, cudaGraphCondAssignDefault);
        if (code != cudaSuccess)
            return fail(m, l, code, "make a condition");
        l->condition_count++;
    }
    return true;
}

static bool open_list(const making *m, list *l) {
    int64_t controls = 0, most = 0;
    for (int64_t k = l->first; k < l->end; k++) {
        const pithp_task *task = &l->tasks->list[k];
        controls += pithp_task_controls(task);
        most = task->after_count > most ? task->after_count : most;
    }
    const size_t nodes = (size_t)(l->end - l->first + most);
    l->bytes = nodes * sizeof *l->nodes + (size_t)controls * sizeof *l->conditions + 1;
    l->memory = pithp_allocate(m->device->runtime, l->bytes);
    if (!l->memory) {
        pithp_error_set(m->e, PITH_E_MEMORY, NULL, NULL,
                        "out of memory: %zu bytes of host memory", l->bytes);
        return false;
    }
    _Static_assert(_Alignof(cudaGraphNode_t) >= _Alignof(condition), "conditions follow");
    l->nodes = l->memory;
    l->after = l->nodes + (l->end - l->first);
    l->conditions = (condition *)(void *)(l->nodes + nodes);
    return true;
}

static bool add_list(const making *m, const list *given) {
    list l = *given;
    if (!open_list(m, &l))
        return false;
    bool added = add_conditions(m, &l);
    for (l.at = l.first; l.at < l.end && added; l.at++)
        added = add_task(m, &l, &l.tasks->list[l.at]);
    pithp_release(m->device->runtime, l.memory, l.bytes);
    return added;
}

/* ---- Graphs ---- */

static void destroy(struct pithp_graph *g) {
    if (g->exec)
        pithp_cuda_forget(cudaGraphExecDestroy(g->exec));
    if (g->graph)
        pithp_cuda_forget(cudaGraphDestroy(g->graph));
    g->exec = NULL;
    g->graph = NULL;
}

/* Returns the drops so far. */
static uint64_t enlist(pithp_device *d, struct pithp_graph *g) {
    pithp_cuda_nccl *nccl = &pithp_cuda_device_of(d)->nccl;
    pthread_mutex_lock(&nccl->lock);
    g->listed = true;
    g->maker = pthread_self();
    g->next = nccl->graphs;
    nccl->graphs = g;
    const uint64_t drops = nccl->drops;
    pthread_mutex_unlock(&nccl->lock);
    return drops;
}

static void unlist(pithp_device *d, struct pithp_graph *g) {
    pithp_cuda_nccl *nccl = &pithp_cuda_device_of(d)->nccl;
    pthread_mutex_lock(&nccl->lock);
    for (struct pithp_graph **at = &nccl->graphs; *at; at = &(*at)->next)
        if (*at == g) {
            *at = g->next;
            break;
        }
    pthread_mutex_unlock(&nccl->lock);
}

void pithp_cuda_graphs_drop(pithp_device *d, bool waits) {
    pithp_cuda_nccl *nccl = &pithp_cuda_device_of(d)->nccl;
    pthread_mutex_lock(&nccl->lock);
    if (nccl->graphs && waits)
        pithp_cuda_wait_for_all(d);
    nccl->drops++;
    for (struct pithp_graph *g = nccl->graphs; g; g = g->next)
        if (g->made || pthread_equal(g->maker, pthread_self()))
            destroy(g);
    pthread_mutex_unlock(&nccl->lock);
}

static bool has_moves(const pithp_graph_plan *plan) {
    bool has = false;
    for (int64_t k = 0; k < plan->count && !has; k++)
        has = plan->tasks->list[plan->first + k].kind == PITHP_TASK_TRANSFER;
    return has;
}

static pith_status make(const making *m, pithp_stream *st, struct pithp_graph *g) {
    const list all = {.tasks = m->plan->tasks,
                      .first = m->plan->first,
                      .end = m->plan->first + m->plan->count};
    cudaError_t code = cudaGraphCreate(&g->graph, 0);
    if (code != cudaSuccess)
        return pithp_cuda_fail(m->device, code, m->e, "cannot begin a graph");
    list top = all;
    top.graph = g->graph;
    m->e->code = PITH_OK;
    if (!add_list(m, &top))
        return m->e->code;
    bool retried = false;
    do
        code = cudaGraphInstantiate(&g->exec, g->graph, 0);
    while (pithp_cuda_retry(m->device, code, &retried));
    if (code != cudaSuccess)
        return pithp_cuda_fail(m->device, code, m->e,
                               "cannot instantiate a graph of %lld tasks",
                               (long long)m->plan->count);
    /* upload now, so that the first launch is not slower */
    do
        code = cudaGraphUpload(g->exec, pithp_cuda_stream_of(st)->queue);
    while (pithp_cuda_retry(m->device, code, &retried));
    return code == cudaSuccess
               ? PITH_OK
               : pithp_cuda_fail(m->device, code, m->e, "cannot upload a graph");
}

static pith_status fail_dropped(pithp_error *e) {
    pithp_error_set(e, PITH_E_PEER, NULL, NULL,
                    "the communicators of a graph are closed");
    return PITH_E_PEER;
}

/* The graph is listed before its moves are captured: if one of them fails, the abort of
 * its communicator would wait for those before it. */
static pith_status make_listed(const making *m, pithp_stream *st, struct pithp_graph *g) {
    pithp_cuda_nccl *nccl = &pithp_cuda_device_of(m->device)->nccl;
    const uint64_t drops = enlist(m->device, g);
    pith_status rc = make(m, st, g);
    pthread_mutex_lock(&nccl->lock);
    g->made = true;
    if (rc == PITH_OK && nccl->drops != drops)
        rc = fail_dropped(m->e);
    pthread_mutex_unlock(&nccl->lock);
    if (rc != PITH_OK)
        unlist(m->device, g);
    return rc;
}

pith_status pithp_graph_make_cuda(pithp_stream *st,
                                  const pithp_graph_plan *plan,
                                  struct pithp_graph **graph,
                                  pithp_error *e) {
    pithp_device *d = st->device;
    pithp_caller caller;
    pith_status rc = pithp_cuda_enter(d, &caller, e);
    if (rc != PITH_OK)
        return rc;
    struct pithp_graph *g = pithp_allocate(d->runtime, sizeof *g);
    if (g) {
        const making m = {.device = d, .plan = plan, .e = e};
        *g = (struct pithp_graph){.graph = NULL};
        rc = has_moves(plan) ? make_listed(&m, st, g) : make(&m, st, g);
        if (rc != PITH_OK) {
            destroy(g);
            pithp_release(d->runtime, g, sizeof *g);
        }
    } else {
        pithp_error_set(e, PITH_E_MEMORY, NULL, NULL,
                        "out of memory: %zu bytes of host memory", sizeof *g);
        rc = PITH_E_MEMORY;
    }
    if (rc == PITH_OK)
        *graph = g;
    pithp_cuda_leave(d, &caller);
    return rc;
}

static cudaError_t launch(pithp_device *d, cudaGraphExec_t exec, cudaStream_t queue) {
    bool retried = false;
    cudaError_t code;
    do
        code = cudaGraphLaunch(exec, queue);
    while (pithp_cuda_retry(d, code, &retried));
    return code;
}

/* A graph with moves, in the order of all moves; communicators that are closed meanwhile
 * have dropped it. */
static cudaError_t launch_moves(pithp_device *d,
                                const struct pithp_graph *graph,
                                cudaStream_t queue,
                                bool *dropped) {
    cudaError_t code = pithp_cuda_begin_moves(d, queue);
    *dropped = !graph->exec;
    if (code == cudaSuccess && !*dropped)
        code = launch(d, graph->exec, queue);
    const bool launched = code == cudaSuccess && !*dropped;
    const cudaError_t ended = pithp_cuda_end_moves(d, queue, launched);
    return code == cudaSuccess ? ended : code;
}

pith_status
pithp_graph_launch_cuda(pithp_stream *st, struct pithp_graph *graph, pithp_error *e) {
    pithp_caller caller;
    pithp_device *d = st->device;
    pith_status rc = pithp_cuda_enter(d, &caller, e);
    if (rc != PITH_OK)
        return rc;
    bool dropped = false;
    cudaStream_t queue = pithp_cuda_stream_of(st)->queue;
    const cudaError_t code = graph->listed ? launch_moves(d, graph, queue, &dropped)
                                           : launch(d, graph->exec, queue);
    if (code != cudaSuccess) {
        rc = pithp_cuda_fail(d, code, e, "cannot launch a graph");
    } else if (dropped) {
        rc = fail_dropped(e);
    }
    pithp_cuda_leave(d, &caller);
    return rc;
}

void pithp_graph_free_cuda(pithp_device *d, struct pithp_graph *graph) {
    pithp_error ignored; /* a dead device has no graphs */
    pithp_caller caller;
    if (graph->listed)
        unlist(d, graph);
    if (pithp_cuda_enter(d, &caller, &ignored) == PITH_OK) {
        pithp_cuda_wait_for_all(d);
        destroy(graph);
        pithp_cuda_leave(d, &caller);
    }
    pithp_release(d->runtime, graph, sizeof *graph);
}
