/* Graphs of the fake: every argument is checked, and a launch runs the nodes in one of
 * the orders that their edges leave open. */
#include "fake_queue.h"

#include <stdlib.h>
#include <string.h>

typedef int32_t i32;
typedef int64_t i64;
typedef uint64_t u64;
typedef uint32_t u32;
typedef uint8_t u8;
typedef uint16_t u16;
typedef int8_t i8;
typedef int16_t i16;
#define M_FN static
/* clang-format off */
#include "program/source/args/predicate.h"
#include "program/source/predicate.h"
/* clang-format on */

struct CUgraphNode_st {
    cudaGraph_t graph;
    enum cudaGraphNodeType type;
    cudaGraphNode_t next;
    cudaGraphNode_t *after;
    size_t after_count;
    bool done; /* in the launch at work */
    fake_launch launch;
    fake_task task; /* in the place of the launch: of a library */
    void *closure;
    size_t closure_bytes;
    cudaGraphConditionalHandle handle; /* that it decides, or asks */
    bool is_while;
    cudaGraph_t *bodies;
    unsigned body_count;
};

struct CUgraph_st {
    cudaGraph_t outer; /* of a body */
    cudaGraphNode_t first, *last;
    long long count;
    bool instantiated;
};

struct CUgraphExec_st {
    cudaGraph_t graph;
    cudaStream_t last; /* that it was launched on; NULL: it never was */
    bool begun;        /* a launch that goes on by pieces */
    long long left;    /* nodes of it */
};

/* ---- Conditions ---- */

typedef struct condition {
    cudaGraph_t graph; /* NULL: it is gone */
    cudaGraphNode_t asks;
    unsigned usual, value;
} condition;

enum { MOST_CONDITIONS = 65536 };
static condition conditions[MOST_CONDITIONS];

static condition *condition_of(const char *call_name, cudaGraphConditionalHandle handle) {
    FAKE_CHECK(handle && handle < MOST_CONDITIONS && conditions[handle].graph,
               "no condition");
    return &conditions[handle];
}

cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *handle,
                                             cudaGraph_t graph,
                                             unsigned value,
                                             unsigned flags) {
    FAKE_BEGIN("GraphConditionalHandleCreate");
    FAKE_CHECK(graph && flags == cudaGraphCondAssignDefault, "no graph, or no default");
    if (fake_cuda.no_conditions)
        return fake_cuda_end(cudaErrorNotSupported);
    unsigned free_one = 1;
    while (free_one < MOST_CONDITIONS && conditions[free_one].graph)
        free_one++;
    FAKE_CHECK(free_one < MOST_CONDITIONS, "too many conditions");
    conditions[free_one] = (condition){.graph = graph, .usual = value};
    *handle = free_one;
    return fake_cuda_end(cudaSuccess);
}

/* ---- Nodes ---- */

static cudaGraphNode_t add(const char *call_name,
                           cudaGraph_t graph,
                           const cudaGraphNode_t *after,
                           size_t count,
                           enum cudaGraphNodeType type) {
    FAKE_CHECK(graph && !graph->instantiated, "no graph, or one that was made");
    for (size_t k = 0; k < count; k++) {
        FAKE_CHECK(after[k] && after[k]->graph == graph, "waits for no node of its own");
        for (size_t j = 0; j < k; j++)
            FAKE_CHECK(after[j] != after[k], "waits for a node twice");
    }
    cudaGraphNode_t node = calloc(1, sizeof *node);
    node->graph = graph;
    node->type = type;
    node->after = calloc(count + 1, sizeof *node->after);
    node->after_count = count;
    if (count)
        memcpy(node->after, after, count * sizeof *after);
    *graph->last = node;
    graph->last = &node->next;
    graph->count++;
    return node;
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *node,
                                  cudaGraph_t graph,
                                  const cudaGraphNode_t *after,
                                  size_t count) {
    FAKE_BEGIN("GraphAddEmptyNode");
    *node = add(call_name, graph, after, count, cudaGraphNodeTypeEmpty);
    return fake_cuda_end(cudaSuccess);
}

static bool is_around(cudaGraph_t outer, cudaGraph_t graph) {
    while (graph && graph != outer)
        graph = graph->outer;
    return graph != NULL;
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *node,
                                   cudaGraph_t graph,
                                   const cudaGraphNode_t *after,
                                   size_t count,
                                   const struct cudaKernelNodeParams *params) {
    FAKE_BEGIN("GraphAddKernelNode");
    const fake_launch launch =
        fake_cuda_launch_of(call_name, params->func, params->gridDim, params->blockDim,
                            params->kernelParams, params->sharedMemBytes);
    FAKE_CHECK(launch.kernel->by_address, "arguments by value");
    FAKE_CHECK(!params->extra, "extra parameters");
    cudaGraphNode_t added = add(call_name, graph, after, count, cudaGraphNodeTypeKernel);
    added->launch = launch;
    if (launch.kernel->decides) {
        memcpy(&added->handle, params->kernelParams[1], sizeof added->handle);
        FAKE_CHECK(is_around(condition_of(call_name, added->handle)->graph, graph),
                   "decides for a graph that is not around it");
    }
    *node = added;
    return fake_cuda_end(cudaSuccess);
}

static cudaGraph_t new_graph(cudaGraph_t outer) {
    cudaGraph_t graph = calloc(1, sizeof *graph);
    graph->outer = outer;
    graph->last = &graph->first;
    fake_cuda.graphs++;
    return graph;
}

/* ---- Captured work, and graphs as nodes ---- */

cudaGraph_t fake_graph_new(void) {
    return new_graph(NULL);
}

void fake_graph_add_work(const char *call_name,
                         cudaGraph_t graph,
                         enum cudaGraphNodeType type,
                         fake_task task,
                         const void *closure,
                         size_t bytes) {
    cudaGraphNode_t before = graph->first;
    while (before && before->next)
        before = before->next;
    cudaGraphNode_t added = add(call_name, graph, &before, before != NULL, type);
    added->task = task;
    added->closure = malloc(bytes);
    added->closure_bytes = bytes;
    memcpy(added->closure, closure, bytes);
    if (task == fake_nccl_run)
        fake_nccl_hold(closure, 1);
}

/* Its nodes, which are work in a line. */
static void copy_nodes(const char *call_name, cudaGraph_t to, cudaGraph_t from) {
    for (cudaGraphNode_t node = from->first; node; node = node->next) {
        FAKE_CHECK(node->task, "a graph that was not captured");
        fake_graph_add_work(call_name, to, node->type, node->task, node->closure,
                            node->closure_bytes);
    }
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *node,
                                       cudaGraph_t graph,
                                       const cudaGraphNode_t *after,
                                       size_t count,
                                       cudaGraph_t child) {
    FAKE_BEGIN("GraphAddChildGraphNode");
    FAKE_CHECK(child && !child->outer && child->count, "no graph");
    for (cudaGraphNode_t in = child->first; in; in = in->next)
        FAKE_CHECK(in->type == cudaGraphNodeTypeKernel ||
                       (in->task == fake_nccl_run && !graph->outer),
                   "what bodies of conditional nodes do not hold");
    cudaGraphNode_t added = add(call_name, graph, after, count, cudaGraphNodeTypeGraph);
    added->bodies = calloc(1, sizeof *added->bodies);
    added->body_count = 1;
    added->bodies[0] = new_graph(graph);
    copy_nodes(call_name, added->bodies[0], child);
    *node = added;
    return fake_cuda_end(cudaSuccess);
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count) {
    FAKE_BEGIN("GraphGetNodes");
    size_t found = 0;
    for (cudaGraphNode_t node = graph->first; node && found < *count; node = node->next)
        nodes[found++] = node;
    *count = found;
    return fake_cuda_end(cudaSuccess);
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *type) {
    FAKE_BEGIN("GraphNodeGetType");
    *type = node->type;
    return fake_cuda_end(cudaSuccess);
}

cudaError_t cudaGraphAddNode(cudaGraphNode_t *node,
                             cudaGraph_t graph,
                             const cudaGraphNode_t *after,
                             const cudaGraphEdgeData *edges,
                             size_t count,
                             struct cudaGraphNodeParams *params) {
    FAKE_BEGIN("GraphAddNode");
    const struct cudaConditionalNodeParams *given = &params->conditional;
    static const struct cudaGraphNodeParams zero;
    FAKE_CHECK(params->type == cudaGraphNodeTypeConditional && !edges, "another node");
    FAKE_CHECK(!memcmp(params->reserved0, zero.reserved0, sizeof zero.reserved0) &&
                   !params->reserved2 && !given->phGraph_out,
               "what is reserved is not zero");
    FAKE_CHECK(given->type == cudaGraphCondTypeWhile
                   ? given->size == 1
                   : given->type == cudaGraphCondTypeSwitch && given->size > 0,
               "a number of bodies");
    condition *c = condition_of(call_name, given->handle);
    FAKE_CHECK(c->graph == graph, "asks a condition of another graph");
    FAKE_CHECK(!c->asks, "asks a condition that another node asks");
    cudaGraphNode_t added =
        add(call_name, graph, after, count, cudaGraphNodeTypeConditional);
    c->asks = added;
    added->handle = given->handle;
    added->is_while = given->type == cudaGraphCondTypeWhile;
    added->body_count = given->size;
    added->bodies = calloc(given->size, sizeof *added->bodies);
    for (unsigned b = 0; b < given->size; b++)
        added->bodies[b] = new_graph(graph);
    params->conditional.phGraph_out = added->bodies;
    *node = added;
    return fake_cuda_end(cudaSuccess);
}

/* ---- Graphs ---- */

cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned flags) {
    FAKE_BEGIN("GraphCreate");
    FAKE_CHECK(!flags, "flags");
    *graph = new_graph(NULL);
    return fake_cuda_end(cudaSuccess);
}

static void destroy(cudaGraph_t graph) {
    for (cudaGraphNode_t node = graph->first, next; node; node = next) {
        next = node->next;
        for (unsigned b = 0; b < node->body_count; b++)
            destroy(node->bodies[b]);
        if (node->task == fake_nccl_run)
            fake_nccl_hold(node->closure, -1);
        free(node->bodies);
        free(node->closure);
        free(node->after);
        free(node);
    }
    for (int k = 1; k < MOST_CONDITIONS; k++)
        if (conditions[k].graph == graph)
            conditions[k].graph = NULL;
    free(graph);
    fake_cuda.graphs--;
}

static void check_whole(const char *call_name, cudaGraph_t graph) {
    FAKE_CHECK(graph->count, "a graph without a node");
    graph->instantiated = true;
    for (cudaGraphNode_t node = graph->first; node; node = node->next)
        for (unsigned b = 0; b < node->body_count; b++)
            check_whole(call_name, node->bodies[b]);
    for (int k = 1; k < MOST_CONDITIONS; k++)
        FAKE_CHECK(conditions[k].graph != graph || conditions[k].asks,
                   "a condition that no node asks");
}

cudaError_t
cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags) {
    FAKE_BEGIN("GraphInstantiate");
    FAKE_CHECK(graph && !graph->outer && !graph->instantiated && !flags,
               "a body, or a second time");
    if (!fake_cuda_take(FAKE_GRAPH_BYTES))
        return fake_cuda_end(cudaErrorMemoryAllocation);
    check_whole(call_name, graph);
    *exec = calloc(1, sizeof **exec);
    (*exec)->graph = graph;
    fake_cuda.execs++;
    fake_cuda.graphs_made++;
    return fake_cuda_end(cudaSuccess);
}
/* ---- Running ---- */

static void run(const char *call_name, cudaGraph_t graph);

static void run_node(const char *call_name, cudaGraphNode_t node) {
    if (node->type == cudaGraphNodeTypeConditional) {
        const unsigned *value = &conditions[node->handle].value;
        if (node->is_while)
            while (*value)
                run(call_name, node->bodies[0]);
        else if (*value < node->body_count)
            run(call_name, node->bodies[*value]);
    } else if (node->type == cudaGraphNodeTypeGraph) {
        run(call_name, node->bodies[0]);
    } else if (node->task) {
        node->task(call_name, node->closure);
    } else if (node->type == cudaGraphNodeTypeKernel) {
        const fake_launch *l = &node->launch;
        FAKE_CHECK(fake_memory_lives(l->args, 8), "arguments that were freed");
        fake_cuda.launches += l->kernel->decides;
        if (l->kernel->decides)
            conditions[node->handle].value = (unsigned)m_decide(l->args);
        else
            fake_cuda_run(l->kernel, l->args, l->threads);
    }
}

static bool is_ready(cudaGraphNode_t node) {
    for (size_t k = 0; k < node->after_count; k++)
        if (!node->after[k]->done)
            return false;
    return !node->done;
}

static void run(const char *call_name, cudaGraph_t graph) {
    for (cudaGraphNode_t node = graph->first; node; node = node->next)
        node->done = false;
    for (long long n = 0; n < graph->count; n++) {
        cudaGraphNode_t chosen = NULL;
        uint64_t ready = 0;
        for (cudaGraphNode_t node = graph->first; node; node = node->next) {
            if (!is_ready(node))
                continue;
            ready++;
            if (fake_queue_chance(ready) == ready - 1)
                chosen = node;
        }
        FAKE_CHECK(chosen, "nodes wait for each other");
        run_node(call_name, chosen);
        chosen->done = true;
        fake_queue_between();
    }
}

static void set_usual(cudaGraph_t graph) {
    for (cudaGraphNode_t node = graph->first; node; node = node->next) {
        if (node->type != cudaGraphNodeTypeConditional)
            continue;
        conditions[node->handle].value = conditions[node->handle].usual;
        for (unsigned b = 0; b < node->body_count; b++)
            set_usual(node->bodies[b]);
    }
}

static void run_launch(const char *call_name, const void *closure) {
    cudaGraphExec_t exec;
    memcpy(&exec, closure, sizeof exec);
    set_usual(exec->graph);
    run(call_name, exec->graph);
}

/* ---- Moves between ranks: in graphs that are nodes of the launched one ---- */

static bool holds_move(cudaGraphNode_t node) {
    return node->type == cudaGraphNodeTypeGraph &&
           node->bodies[0]->first->task == fake_nccl_run;
}

static bool has_moves(cudaGraphExec_t exec) {
    bool has = false;
    for (cudaGraphNode_t node = exec->graph->first; node && !has; node = node->next)
        has = holds_move(node);
    return has;
}

/* A launch with moves goes on by pieces, from node to node. */
static cudaGraphNode_t next_node(cudaGraphExec_t exec) {
    cudaGraphNode_t chosen = NULL;
    uint64_t ready = 0;
    for (cudaGraphNode_t node = exec->graph->first; node; node = node->next) {
        const bool moves = holds_move(node);
        if (!is_ready(node) ||
            (moves && !fake_nccl_meets(node->bodies[0]->first->closure)))
            continue;
        ready++;
        if (fake_queue_chance(ready) == ready - 1)
            chosen = node;
    }
    return chosen;
}

static cudaGraphExec_t exec_of(const void *closure) {
    cudaGraphExec_t exec;
    memcpy(&exec, closure, sizeof exec);
    return exec;
}

static void begin_pieces(cudaGraphExec_t exec) {
    exec->begun = true;
    exec->left = exec->graph->count;
    set_usual(exec->graph);
    for (cudaGraphNode_t node = exec->graph->first; node; node = node->next) {
        node->done = false;
        if (holds_move(node))
            fake_nccl_begin(node->bodies[0]->first->closure);
    }
}

static bool can_go_on(void *closure) {
    cudaGraphExec_t exec = exec_of(closure);
    if (!exec->begun)
        begin_pieces(exec);
    return next_node(exec) != NULL;
}

static bool go_on(const char *call_name, void *closure) {
    cudaGraphExec_t exec = exec_of(closure);
    for (cudaGraphNode_t node; exec->left && (node = next_node(exec)); exec->left--) {
        if (!holds_move(node))
            run_node(call_name, node);
        node->done = true;
    }
    exec->begun = exec->left != 0;
    return !exec->left;
}

/* Launches of the same graph wait for each other. */
static void follow(const char *call_name, cudaGraphExec_t exec, cudaStream_t stream) {
    FAKE_CHECK(exec && stream, "no graph, or no stream");
    if (exec->last)
        fake_queue_wait(call_name, stream, exec->last);
    exec->last = stream;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
    FAKE_BEGIN("GraphUpload");
    follow(call_name, exec, stream);
    return fake_cuda_end(cudaSuccess);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
    FAKE_BEGIN("GraphLaunch");
    follow(call_name, exec, stream);
    fake_cuda.graph_launches++;
    if (has_moves(exec))
        fake_queue_add_pieces(call_name, stream, go_on, can_go_on, &exec, sizeof exec);
    else
        fake_queue_add(call_name, stream, run_launch, &exec, sizeof exec);
    return fake_cuda_end(cudaSuccess);
}

/* ---- The end ---- */

static bool is_exec(const void *closure, const void *exec) {
    return memcmp(closure, &exec, sizeof exec) == 0;
}

static bool is_graph(const void *closure, const void *graph) {
    cudaGraphExec_t exec;
    memcpy(&exec, closure, sizeof exec);
    return exec->graph == graph;
}

static bool graph_uses(const struct CUgraph_st *graph, const void *library) {
    bool uses = false;
    for (const struct CUgraphNode_st *node = graph->first; node; node = node->next) {
        uses |= node->launch.kernel && node->launch.kernel->library == library;
        for (unsigned b = 0; b < node->body_count; b++)
            uses |= graph_uses(node->bodies[b], library);
    }
    return uses;
}

static bool uses(const void *closure, const void *library) {
    cudaGraphExec_t exec;
    memcpy(&exec, closure, sizeof exec);
    return graph_uses(exec->graph, library);
}

bool fake_graph_needs(cudaLibrary_t library) {
    return fake_queue_has(run_launch, go_on, uses, library);
}

/* CUDA frees what is under way when it has run, and does not say whether the conditions
 * of its graph live as long. */
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
    FAKE_SURE("GraphExecDestroy");
    FAKE_CHECK(!fake_queue_has(run_launch, go_on, is_exec, exec), "it has yet to run");
    free(exec);
    fake_cuda_give(FAKE_GRAPH_BYTES);
    fake_cuda.execs--;
    return fake_cuda_end(cudaSuccess);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    FAKE_SURE("GraphDestroy");
    FAKE_CHECK(graph && !graph->outer, "a body");
    FAKE_CHECK(!fake_queue_has(run_launch, go_on, is_graph, graph), "it has yet to run");
    destroy(graph);
    return fake_cuda_end(cudaSuccess);
}
