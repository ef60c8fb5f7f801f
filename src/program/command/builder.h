/* Within command: a command buffer that is being built.
 *
 * What lowers a call wants addresses, and there are none yet. It gets false ones: every
 * memory that a word of the table stands for has a region of its own in a space of false
 * addresses. A call is lowered twice, with that space in two places. Words of arguments
 * that differ by just the distance are addresses, which name their region and so their
 * word; all others are the same both times. */
#ifndef PITH_PROGRAM_COMMAND_BUILDER_H
#define PITH_PROGRAM_COMMAND_BUILDER_H

#include "program/command/command.h"

typedef struct pithp_region {
    uint64_t begin, bytes; /* from the beginning of the space */
    uint64_t alignment;    /* of what it stands for */
    int32_t word;          /* that holds its address */
} pithp_region;

typedef struct pithp_writes {
    pithp_cuda_write *list;
    int64_t count, room;
} pithp_writes;

/* Memory that a task touches. */
typedef struct pithp_touch {
    uint64_t begin, end; /* in the space of false addresses */
    int32_t task;
    bool writes;
} pithp_touch;

enum { PITHP_TOUCHES_OF_STEP = 64 }; /* a step that touches more waits for all before */

/* Tasks that run in whatever order memory allows. */
typedef struct pithp_order {
    pithp_touch
        *touches; /* what tasks since the barrier touched, and no later one wrote */
    int64_t count, room;
    pithp_touch now[PITHP_TOUCHES_OF_STEP]; /* of the step at work */
    int32_t now_count;
    bool all;           /* the step touches more than that: it waits for all before */
    int32_t first;      /* task of the step at work */
    int32_t barrier;    /* the last task that waited for all before; -1: none */
    int32_t *waits_for; /* of one task */
    int64_t waits_count, waits_room;
} pithp_order;

/* A list of tasks that is being made for a plan. */
typedef struct pithp_making_frame {
    const pithp_plan *plan;
    pithp_tasks *tasks;
    int32_t first;  /* word of the workspace; those of inputs and outputs follow */
    int64_t region; /* of it; the others likewise */
    pithp_cuda_write *slots; /* what makes those words; NULL: the table of the run */
    pithp_writes writes;     /* of the bind that the list begins with */
    int32_t bind;            /* that task */
    pithp_order order;
} pithp_making_frame;

typedef struct pithp_scheduling {
    pith_scope *s;
    pithp_schedule *to;
    pithp_error *e;
    uint64_t base;  /* of the space of false addresses */
    uint64_t space; /* bytes of it in use */
    pithp_region *regions;
    int64_t region_count, region_room;
    pithp_gemm_use gemm;
    int64_t gemm_region; /* what products by a library work in; -1: none does yet */
} pithp_scheduling;

/* All functions here that answer bool set e where they answer false. */
bool pithp_making_fail(pithp_scheduling *g, pith_status code, const char *format, ...)
    PITH_FORMAT(3, 4);
/* Room for `more` behind the first `count` of a list. */
bool pithp_making_grow(pithp_scheduling *g,
                       void *list,
                       int64_t count,
                       int64_t more,
                       int64_t *room,
                       size_t each);

/* `count` zeroed words; -1: error set. */
int32_t pithp_words(pithp_scheduling *g, int64_t count);
/* A region for the memory that a word tells of; alignment: a power of two. */
bool pithp_region_add(pithp_scheduling *g,
                      int32_t word,
                      uint64_t bytes,
                      uint64_t alignment);
bool pithp_write_add(pithp_scheduling *g, pithp_writes *to, pithp_cuda_write write);

/* ---- Frames ---- */

/* Addresses that a plan gets. */
typedef struct pithp_making_interface {
    pithp_cuda_write *slots; /* workspace, inputs, outputs, all but `to`; NULL: the table
                                of the run */
    uint64_t *alignments;    /* of inputs and outputs */
    int64_t inputs;
    size_t bytes;
} pithp_making_interface;
int64_t pithp_making_slots(const pithp_plan *plan);

/* Words and regions for a plan's memory, and a bind at the end of its list. after: the
 * frame whose tasks it follows in the list; NULL: it is empty. */
bool pithp_making_open(pithp_scheduling *g,
                       pithp_making_frame *f,
                       const pithp_plan *plan,
                       pithp_tasks *tasks,
                       const pithp_making_interface *in,
                       const pithp_making_frame *after);
/* The bind gets its writes, and the lists of the frame are freed. */
bool pithp_making_close(pithp_scheduling *g, pithp_making_frame *f);

/* The false address of a value that has memory (a real one where that is known). */
void *pithp_false_address(const pithp_scheduling *g,
                          const pithp_making_frame *f,
                          pithp_value v);
/* A power of two that what such an address stands for is a multiple of, at most
 * PITHP_ALIGNMENT. */
uint64_t pithp_false_alignment(const pithp_scheduling *g, const void *address);
/* That of a number. */
uint64_t pithp_alignment_of(uint64_t offset);
/* A write of a value's address, to a word that is set by the caller. */
pithp_cuda_write pithp_write_address(const pithp_making_frame *f, pithp_value v);

/* ---- Recording ---- */

/* Lower something: hand launches to the sink, with addresses that g gives now. */
typedef pith_status (*pithp_emission)(const pithp_scheduling *g,
                                      const pithp_sink *sink,
                                      const void *what);
/* Tasks at the end of the frame's list for what is emitted; references go to `writes`. */
bool pithp_record(pithp_scheduling *g,
                  pithp_making_frame *f,
                  pithp_writes *writes,
                  pithp_emission emit,
                  const void *what);
/* For emissions: a launch of a kernel that is not built in. */
pith_status pithp_record_launch(const pithp_sink *sink,
                                pithp_code_source source,
                                int32_t number,
                                const pith_kernel_variant *kernel,
                                const pithp_launch *launch);
/* A task that binds, and what it writes. */
bool pithp_bind_add(pithp_scheduling *g, pithp_making_frame *f);
bool pithp_bind_fill(pithp_scheduling *g, pithp_task *task, const pithp_writes *writes);
/* A word that is the address of another one of the schedule's memory. */
bool pithp_own_address(pithp_scheduling *g, int32_t word, int32_t of);

/* ---- Work of many ---- */

/* How many steps from `first` on are work that nothing puts in order, fused steps that do
 * the same or reductions; 1: they are not worth tasks of their own kind. */
int64_t pithp_many_steps(pithp_scheduling *g, const pithp_plan *plan, int64_t first);
/* Such steps: what is equal work becomes one task. */
bool pithp_schedule_many(pithp_scheduling *g,
                         pithp_making_frame *f,
                         int64_t first,
                         int64_t steps);

/* ---- Order ---- */

void pithp_order_begin(pithp_making_frame *f); /* a step's tasks follow */
void pithp_order_touch(pithp_making_frame *f, const pithp_touch *touch);
bool pithp_order_end(pithp_scheduling *g, pithp_making_frame *f);
/* The tasks since pithp_order_begin run one by one after all others, and before them. */
bool pithp_order_barrier(pithp_scheduling *g, pithp_making_frame *f);

/* What a step reads or writes, where it has memory; and what it works in. */
void pithp_touch_value(const pithp_scheduling *g,
                       pithp_making_frame *f,
                       pithp_value v,
                       bool writes);
void pithp_touch_temporary(const pithp_scheduling *g,
                           pithp_making_frame *f,
                           const pithp_step *step);

/* ---- Steps ---- */

/* All steps of the frame's plan. */
bool pithp_schedule_steps(pithp_scheduling *g, pithp_making_frame *f);
/* One fused step; a reduction with a source; another call. */
bool pithp_schedule_fused(pithp_scheduling *g,
                          pithp_making_frame *f,
                          const pithp_step *step);
bool pithp_schedule_reduction(pithp_scheduling *g,
                              pithp_making_frame *f,
                              const pithp_step *step);
bool pithp_schedule_call(pithp_scheduling *g,
                         pithp_making_frame *f,
                         const pithp_step *step);
bool pithp_schedule_control(pithp_scheduling *g,
                            pithp_making_frame *f,
                            const pithp_step *step);
/* A copy of whole memory. Places are in the space of false addresses. */
typedef struct pithp_copying {
    const pithp_making_frame *f;
    pithp_value value; /* that is copied; -1: what lies at `from` */
    uint64_t from, to, bytes;
} pithp_copying;
bool pithp_schedule_copy(pithp_scheduling *g,
                         pithp_making_frame *f,
                         pithp_writes *writes,
                         const pithp_copying *copying);
void pithp_tasks_free(pith_runtime *rt, pithp_tasks *tasks);

#endif
