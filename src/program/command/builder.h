/* Command buffer construction (within src/program/command).
 *
 * Lowering a call needs addresses, which are unknown at this time. It gets false ones:
 * each memory with a word in the table has a region in a space of false addresses. A call
 * is lowered twice, with the space at two bases. Argument words that differ by the
 * distance of the bases are addresses; they identify the region and so the word. All
 * other words are equal both times. */
#ifndef PITH_PROGRAM_COMMAND_BUILDER_H
#define PITH_PROGRAM_COMMAND_BUILDER_H

#include "base/hash_index.h"
#include "program/command/command.h"

typedef struct pithp_region {
    uint64_t begin, bytes; /* offset in the space */
    uint64_t alignment;    /* of the memory it stands for */
    int32_t word;          /* word with its address */
} pithp_region;

typedef struct pithp_writes {
    pithp_cuda_write *list;
    int64_t count, room;
} pithp_writes;

/* A memory access of a step. */
typedef struct pithp_touch {
    int64_t buffer;      /* 0: the workspace; then inputs, outputs, the workspace of
                            library products, and the memory of moves between ranks */
    uint64_t begin, end; /* bytes; of other buffers than the workspace all are accessed */
    bool writes;
} pithp_touch;

/* Tasks that accessed memory last. Those up to the barrier do not matter. */
typedef struct pithp_accessed {
    int32_t writer;  /* or -1 */
    int32_t readers; /* the latest reader since then, or -1 */
} pithp_accessed;

typedef struct pithp_reader {
    int32_t task;
    int32_t before; /* an earlier reader of the same memory, or -1 */
} pithp_reader;

/* A range of the workspace whose last accesses are the same. */
typedef struct pithp_workspace_range {
    uint64_t begin, end;
    pithp_accessed last;
} pithp_workspace_range;

enum {
    PITHP_TOUCHES_OF_STEP = 64
}; /* a step with more accesses waits for all tasks before */

/* Dependence analysis: tasks run in any order that the hazards allow. */
typedef struct pithp_order {
    pithp_accessed *buffers; /* by the numbers of touches */
    int64_t buffer_count;
    pithp_workspace_range *ranges; /* of the workspace, in ascending order */
    int64_t range_count, range_room;
    pithp_reader *readers;
    int64_t reader_count, reader_room;
    pithp_touch now[PITHP_TOUCHES_OF_STEP]; /* of the current step */
    int32_t now_count;
    bool all;           /* the step waits for all tasks before */
    int32_t first;      /* first task of the current step */
    int32_t barrier;    /* the last task that waited for all before it; -1: none */
    int32_t *waits_for; /* dependences of one task */
    int64_t waits_count, waits_room;
} pithp_order;

/* A frame: a list of tasks under construction for a plan. */
typedef struct pithp_making_frame {
    const pithp_plan *plan;
    pithp_tasks *tasks;
    int32_t first;  /* word of the workspace; those of inputs and outputs follow */
    int64_t region; /* region of the workspace; those of inputs and outputs follow */
    pithp_cuda_write *slots; /* writes of those words; NULL: the table of the run */
    pithp_writes writes;     /* of the bind at the begin of the list */
    int32_t bind;            /* the bind's task */
    pithp_order order;
    struct pithp_stamps *stamps; /* for horizontal fusion: last accesses of fused steps;
                                    NULL: memory is short, and steps run one by one */
} pithp_making_frame;

typedef struct pithp_scheduling {
    pith_scope *s;
    pithp_schedule *to;
    pithp_error *e;
    uint64_t base;  /* base of the space of false addresses */
    uint64_t space; /* its used bytes */
    pithp_region *regions;
    int64_t region_count, region_room;
    pithp_hash_index functions; /* of to->fused, by the hashes of their steps */
    pithp_gemm_use gemm;
    int64_t gemm_region; /* workspace of library products; -1: none yet */
    int64_t move_region; /* memory of moves between ranks; -1: none yet */
} pithp_scheduling;

/* Functions here that return bool set e if they return false. */
bool pithp_making_fail(pithp_scheduling *g, pith_status code, const char *format, ...)
    PITH_FORMAT(3, 4);
/* Grow a list of `count` elements by `more`. */
bool pithp_making_grow(pithp_scheduling *g,
                       void *list,
                       int64_t count,
                       int64_t more,
                       int64_t *room,
                       size_t each);

/* Add `count` zeroed words; -1 sets the error. */
int32_t pithp_words(pithp_scheduling *g, int64_t count);
/* Add a region for the memory of a word; alignment: a power of two. */
bool pithp_region_add(pithp_scheduling *g,
                      int32_t word,
                      uint64_t bytes,
                      uint64_t alignment);
bool pithp_write_add(pithp_scheduling *g, pithp_writes *to, pithp_cuda_write write);

/* ---- Frames ---- */

/* Addresses that a plan gets. */
typedef struct pithp_making_interface {
    pithp_cuda_write
        *slots; /* workspace, inputs, outputs, without `to`; NULL: the table of the run */
    uint64_t *alignments; /* of inputs and outputs */
    int64_t inputs;
    size_t bytes;
} pithp_making_interface;
int64_t pithp_making_slots(const pithp_plan *plan);

/* Open a frame: add words and regions for a plan's memory, and a bind at the end of its
 * list. after: the preceding frame of the list; NULL: the list is empty. */
bool pithp_making_open(pithp_scheduling *g,
                       pithp_making_frame *f,
                       const pithp_plan *plan,
                       pithp_tasks *tasks,
                       const pithp_making_interface *in,
                       const pithp_making_frame *after);
/* Close a frame: fill in its bind, and free its lists. */
bool pithp_making_close(pithp_scheduling *g, pithp_making_frame *f);

/* The false address of a value with memory (the real one if it is known). */
void *pithp_false_address(const pithp_scheduling *g,
                          const pithp_making_frame *f,
                          pithp_value v);
/* Alignment of the memory of a false address: a power of two, at most PITHP_ALIGNMENT. */
uint64_t pithp_false_alignment(const pithp_scheduling *g, const void *address);
/* Alignment of an offset. */
uint64_t pithp_alignment_of(uint64_t offset);
/* A write of a value's address; the caller sets the word. */
pithp_cuda_write pithp_write_address(const pithp_making_frame *f, pithp_value v);

/* ---- Recording ---- */

/* Lower `what`: pass launches to the sink, with the current addresses of g. */
typedef pith_status (*pithp_lowering)(const pithp_scheduling *g,
                                      const pithp_sink *sink,
                                      const void *what);
/* Add tasks for the launches of a lowering to the frame; references go to `writes`. */
bool pithp_record(pithp_scheduling *g,
                  pithp_making_frame *f,
                  pithp_writes *writes,
                  pithp_lowering lower,
                  const void *what);
/* For lowering callbacks: a launch of a kernel outside the library. */
pith_status pithp_record_launch(const pithp_sink *sink,
                                pithp_code_source source,
                                int32_t number,
                                const pith_kernel_variant *kernel,
                                const pithp_launch *launch);
/* The same for a move between ranks, whose addresses are offsets. */
pith_status pithp_record_transfer(const pithp_sink *sink,
                                  const pithp_step *step,
                                  const pithp_device_move *given);
/* Add a bind, and fill in its writes. */
bool pithp_bind_add(pithp_scheduling *g, pithp_making_frame *f);
bool pithp_bind_fill(pithp_scheduling *g, pithp_task *task, const pithp_writes *writes);
/* Make a word the address of another word of the schedule. */
bool pithp_own_address(pithp_scheduling *g, int32_t word, int32_t of);

/* ---- Horizontal fusion ---- */

/* Number of steps from `first` on that are independent equal fused steps or reductions;
 * 1: not worth a combined task. */
int64_t pithp_many_steps(const pithp_making_frame *f, int64_t first);
/* Schedule such steps: equal work becomes one task. */
bool pithp_schedule_many(pithp_scheduling *g,
                         pithp_making_frame *f,
                         int64_t first,
                         int64_t steps);

/* ---- Order ---- */

/* Begin the order of a frame whose plan is set. barrier: the last barrier of its list of
 * tasks, or -1. False: f->order may be closed. */
bool pithp_order_open(pithp_scheduling *g, pithp_making_frame *f, int32_t barrier);
void pithp_order_close(pith_runtime *rt, pithp_order *o);
void pithp_order_begin(pithp_making_frame *f); /* begin the tasks of a step */
void pithp_order_touch(pithp_making_frame *f, const pithp_touch *touch);
bool pithp_order_end(pithp_scheduling *g, pithp_making_frame *f);
/* Barrier: the tasks since pithp_order_begin run in order, after all earlier and before
 * all later tasks. */
bool pithp_order_barrier(pithp_scheduling *g, pithp_making_frame *f);

/* Record accesses of a step: a value with memory, and its temporary memory. */
void pithp_touch_value(pithp_making_frame *f, pithp_value v, bool writes);
void pithp_touch_temporary(pithp_making_frame *f, const pithp_step *step);

/* ---- Steps ---- */

/* Schedule all steps of the frame's plan. */
bool pithp_schedule_steps(pithp_scheduling *g, pithp_making_frame *f);
/* Schedule a fused step, a fused reduction, another call. */
bool pithp_schedule_fused(pithp_scheduling *g,
                          pithp_making_frame *f,
                          const pithp_step *step);
bool pithp_schedule_reduction(pithp_scheduling *g,
                              pithp_making_frame *f,
                              const pithp_step *step);
bool pithp_schedule_call(pithp_scheduling *g,
                         pithp_making_frame *f,
                         const pithp_step *step);
/* Schedule a collective that needs no host. */
bool pithp_schedule_collective(pithp_scheduling *g,
                               pithp_making_frame *f,
                               const pithp_step *step);
/* What a plan has that a conditional node cannot hold. */
enum { PITHP_NEEDS_TOP = 1 /* moves between ranks */, PITHP_NEEDS_HOST = 2 };
int pithp_step_needs(const pithp_instruction *i);
int pithp_plan_needs(const pithp_plan *plan);
bool pithp_schedule_control(pithp_scheduling *g,
                            pithp_making_frame *f,
                            const pithp_step *step);
/* A copy of memory. Addresses are false addresses. */
typedef struct pithp_copying {
    const pithp_making_frame *f;
    pithp_value value; /* the copied value; -1: the memory at `from` */
    uint64_t from, to, bytes;
} pithp_copying;
bool pithp_schedule_copy(pithp_scheduling *g,
                         pithp_making_frame *f,
                         pithp_writes *writes,
                         const pithp_copying *copying);
void pithp_tasks_free(pith_runtime *rt, pithp_tasks *tasks);

#endif
