/* Task graphs: kernels, and loops and branches decided by values on the device. Plain
 * data, from which a backend makes one launch (graph_make). Every kernel has one
 * parameter, the address of its arguments in memory of the graph's owner; new arguments
 * need no new graph. */
#ifndef PITH_GPU_GRAPH_H
#define PITH_GPU_GRAPH_H

#include "gpu/communicator.h"
#include "gpu/gemm.h"

typedef enum pithp_task_kind {
    PITHP_TASK_KERNEL,
    PITHP_TASK_GEMM,     /* a product by a library, in the plan's memory */
    PITHP_TASK_TRANSFER, /* a move between ranks, within the plan's memory; only in the
                            list of a graph, not in bodies */
    PITHP_TASK_SWITCH,   /* runs the body with the number of the decision */
    PITHP_TASK_WHILE,    /* runs its body while the decision is not 0 */
    PITHP_TASK_HOST,     /* the owner's host work between the others; never in a graph */
} pithp_task_kind;

/* The source of a kernel's code. */
typedef enum pithp_code_source {
    PITHP_CODE_BUILTIN, /* number: among the library's kernels */
    PITHP_CODE_FUSED,   /* number: of a function in the owner's text */
    PITHP_CODE_USER,    /* kernel */
} pithp_code_source;

typedef struct pithp_tasks pithp_tasks;

typedef struct pithp_task {
    pithp_task_kind kind;
    const char *name; /* for messages; lives as long as the owner */
    /* Dependencies, earlier tasks of the same list: */
    int32_t first_after, after_count; /* range of the list's edges; ascending */
    /* Kernels: */
    pithp_code_source source;
    int32_t number;
    bool many; /* fused: the function's other kernel, for many work items */
    const pith_kernel_variant *kernel;
    const void *step;            /* HOST: its work, with the addresses in its arguments */
    int64_t threads;             /* 0: no work */
    int32_t args;                /* index of the first word of the arguments */
    int32_t decides;             /* word of the decision that it sets, or -1 */
    bool driven;                 /* its decision, set or used, is for the host */
    pithp_gemm *gemm;            /* GEMM: owned; its pointers are set when it runs */
    pithp_device_move *transfer; /* TRANSFER: owned; its addresses are offsets */
    /* Control: */
    int32_t decision; /* word of its decision, set by an earlier task (and, for WHILE,
                         again by a task at the end of the body) */
    int32_t body_count;
    pithp_tasks *bodies;
    int64_t repeats; /* WHILE: number of iterations; -1: unknown */
    /* Profile entry that the task belongs to, for the driver of the tasks. */
    int64_t entry, entry_count; /* count 0: no entry */
    bool begins;                /* first task of the entry */
    /* The first of a range that is a graph of its own: its number, from 1; or 0. */
    int32_t segment;
    int64_t segment_count;
} pithp_task;

static inline bool pithp_task_controls(const pithp_task *task) {
    return task->kind == PITHP_TASK_SWITCH || task->kind == PITHP_TASK_WHILE;
}

/* A task list, in a valid order of execution. */
struct pithp_tasks {
    pithp_task *list;
    int32_t *edges;
    int64_t count, room, edge_count, edge_room;
};

/* Input of graph_make. Words have 64 bits and start at `memory`, which is on the device
 * and outlives the graph. */
typedef struct pithp_graph_plan {
    const pithp_tasks *tasks;
    char *memory;
    int64_t first, count; /* range of the list, which is launched in order after the
                             tasks before it */
    void *gemm;  /* memory shared by all products, which never run at once; or NULL */
    char *moves; /* memory shared by all moves between ranks, in the same way */
    pithp_communicator *(*communicator)(void *closure, const pithp_task *task);
    /* The kernel of a task. It gets the address of its arguments; a deciding kernel also
     * gets the handle of its condition, 64 bits, for cudaGraphSetConditional. NULL sets
     * e. */
    const void *(*kernel)(void *closure, const pithp_task *task, pithp_error *e);
    void *closure;
} pithp_graph_plan;

#endif
