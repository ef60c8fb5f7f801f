/* Work as a graph: kernels, and loops and branches that values on the device decide.
 *
 * Plain data, of which a backend makes one launch (graph_make). Every kernel has one
 * parameter, the address of its arguments in memory of the graph's owner; so new
 * arguments need no new graph. */
#ifndef PITH_GPU_GRAPH_H
#define PITH_GPU_GRAPH_H

#include "gpu/gemm.h"

typedef enum pithp_task_kind {
    PITHP_TASK_KERNEL,
    PITHP_TASK_GEMM,   /* a product by a library, in the plan's memory for it */
    PITHP_TASK_SWITCH, /* runs the body whose number the decision is */
    PITHP_TASK_WHILE,  /* runs its body as long as the decision is not 0 */
    PITHP_TASK_HOST,   /* the owner's own work between the others: no graph has it */
} pithp_task_kind;

/* Whose the code of a kernel is: for who finds it. */
typedef enum pithp_code_source {
    PITHP_CODE_BUILTIN, /* number: of the library's kernels */
    PITHP_CODE_FUSED,   /* number: of a function in the owner's text */
    PITHP_CODE_USER,    /* kernel */
} pithp_code_source;

typedef struct pithp_tasks pithp_tasks;

typedef struct pithp_task {
    pithp_task_kind kind;
    const char *name; /* for messages; lives as long as the owner */
    /* Tasks of the same list that come before: */
    int32_t first_after, after_count; /* in the list's edges; ascending */
    /* Kernels: */
    pithp_code_source source;
    int32_t number;
    bool many; /* fused: of the function's other kernel, for the work of many */
    const pith_kernel_variant *kernel;
    const void *step; /* HOST: what it does, with the addresses in its arguments */
    int64_t threads;  /* 0: it does nothing */
    int32_t args;     /* word where the arguments begin */
    int32_t decides;  /* word that it leaves a decision in; -1: it makes none */
    pithp_gemm *gemm; /* GEMM: the task's own; the pointers are there when it runs */
    /* Control: */
    int32_t decision; /* word of the decision, which a task before has made (and, in a
                         WHILE, one at the end of the body makes again) */
    int32_t body_count;
    pithp_tasks *bodies;
    int64_t repeats; /* WHILE: how often it runs; -1: nobody knows before */
    /* Of a profile, for who drives the tasks: what this one is a part of. */
    int64_t entry, entry_count; /* count 0: of nothing */
    bool begins;                /* it is the first part */
} pithp_task;

static inline bool pithp_task_controls(const pithp_task *task) {
    return task->kind == PITHP_TASK_SWITCH || task->kind == PITHP_TASK_WHILE;
}

/* In an order in which they can run one by one. */
struct pithp_tasks {
    pithp_task *list;
    int32_t *edges;
    int64_t count, room, edge_count, edge_room;
};

/* What a graph is made of. Words are of 64 bits, from `memory` on, which is on the
 * device and outlives the graph. */
typedef struct pithp_graph_plan {
    const pithp_tasks *tasks;
    char *memory;
    void *gemm; /* memory of all products, none of which run at once; NULL: there are none
                 */
    /* The kernel of a task, which gets the address of its arguments; of one that decides,
     * also the handle of what it decides, 64 bits, for cudaGraphSetConditional. NULL: e
     * says why. */
    const void *(*kernel)(void *closure, const pithp_task *task, pithp_error *e);
    void *closure;
} pithp_graph_plan;

#endif
