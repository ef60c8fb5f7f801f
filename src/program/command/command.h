/* Command buffers (schedules): a plan as an ordered list of kernels, which a device runs
 * as one graph. A command buffer is built once; a run supplies the addresses of inputs,
 * outputs and workspace.
 *
 * Every kernel reads its arguments from memory of the schedule, of 64-bit words. A run
 * fills in the first words, the table of addresses. A kernel `bind` then writes addresses
 * into all other arguments. Loops and branches have their own lists of tasks, which begin
 * with a bind for the words that change between iterations. So tasks do not depend on
 * addresses, and the host supplies only the table.
 *
 * A schedule is plain data, from which a device can make a graph. pithp_schedule_drive
 * runs it task by task. */
#ifndef PITH_PROGRAM_COMMAND_COMMAND_H
#define PITH_PROGRAM_COMMAND_COMMAND_H

#include "gpu/graph.h"
#include "program/cuda/cuda.h"
#include "program/emit/emit.h"
#include "program/plan/plan.h"

typedef struct pithp_schedule {
    pith_runtime *runtime;
    char prefix[PITHP_PREFIX_BYTES]; /* prefix of its function names */
    pithp_tasks tasks;
    /* Initial contents of its memory: words, then the writes of binds. The words whose
     * index is in `own` are addresses within it, as offsets in bytes. */
    uint64_t *words;
    pithp_cuda_write *writes;
    int32_t *own;
    int64_t word_count, word_room, write_count, write_room, own_count, own_room;
    /* Distinct fused steps, and reductions fused with them, in the order of their
       numbers. */
    pithp_kernel_work *fused;
    bool reduces; /* some of them are reductions */
    int64_t fused_count, fused_room;
    int64_t many_count;    /* tasks for many equal steps (horizontal fusion) */
    int64_t task_count;    /* of all lists */
    int64_t control_count; /* tasks that branch or loop */
    int64_t gemm_count;    /* products by a library */
    int64_t host_count;    /* tasks of the host, which prevent a graph */
    int32_t gemm_word;     /* word with the address of the products' workspace */
    size_t gemm_bytes;     /* of that workspace; 0: no products */
    int64_t driven_count;  /* branches and loops that the host drives */
    int32_t move_word;     /* word with the address of the memory that moves between ranks
                              share */
    size_t move_bytes;     /* of that memory; 0: no moves */
    int64_t table_count;   /* words that a run fills in, from PITHP_WORD_WORKSPACE on:
                              workspace, inputs, outputs */
} pithp_schedule;

enum { PITHP_WORD_NULL, PITHP_WORD_WORKSPACE };

/* Build the command buffer of a scheduled plan (pithp_plan_make_for), which it points
 * into. gemm: products that become library calls. NULL: the reason is in e;
 * PITH_E_UNSUPPORTED if the plan cannot be scheduled.
 */
pithp_schedule *pithp_schedule_make(pith_scope *s,
                                    const pithp_plan *plan,
                                    pithp_gemm_use gemm,
                                    pithp_error *e);
void pithp_schedule_free(pithp_schedule *schedule); /* NULL does nothing */

/* Bytes of its device memory, PITHP_ALIGNMENT aligned: the image, then the workspace of
 * library products (pithp_schedule_gemm; NULL without products). */
size_t pithp_schedule_bytes(const pithp_schedule *schedule);
size_t pithp_schedule_image_bytes(const pithp_schedule *schedule);
void *pithp_schedule_gemm(const pithp_schedule *schedule, void *memory);
void *pithp_schedule_moves(const pithp_schedule *schedule, void *memory);
/* The initial contents of that memory at `address`; `image` has
 * pithp_schedule_image_bytes. */
void pithp_schedule_image(const pithp_schedule *schedule, void *image, uintptr_t address);
/* Number of kernels and library calls of a run. A loop counts its known iterations, else
 * one; a branch counts its larger side. */
int64_t pithp_schedule_launches(const pithp_schedule *schedule);

/* Fill in the table of a run: table_count words, to be copied to word
 * PITHP_WORD_WORKSPACE. */
void pithp_schedule_table(const pithp_schedule *schedule,
                          const pithp_plan *plan,
                          const void *workspace,
                          const void *const *inputs,
                          void *const *outputs,
                          uint64_t *table);

/* Emit the text of its fused steps after a prologue (pithp_text_cuda, pithp_text_host).
 * maths: as in pithp_emit_host. False: there are none, or memory is short. */
bool pithp_schedule_text(pithp_string *t,
                         const char *prologue,
                         const pithp_schedule *schedule,
                         bool *maths);

/* "pith_step_3_many": name of the combined kernel for equal steps. */
void pithp_many_name(char name[PITHP_STEP_NAME_BYTES],
                     const char *prefix,
                     int64_t function);

/* Emit its CUDA module: fused steps and, for a graph with control flow, pith_decide,
 * which replaces the built-in kernel that leaves a decision in memory. False: there is
 * nothing to compile, or memory is short. */
bool pithp_schedule_cuda_text(pithp_string *t,
                              const pithp_schedule *schedule,
                              bool graph);

/* ---- Running it task by task ---- */

typedef struct pithp_driver {
    /* args: address of the arguments. */
    pith_status (*launch)(void *closure, const pithp_task *task, void *args);
    /* A library product, in memory of the schedule. */
    pith_status (*gemm)(void *closure, const pithp_task *task, void *memory);
    /* A move between ranks, in memory of the schedule. */
    pith_status (*transfer)(void *closure, const pithp_task *task, char *memory);
    /* A range of tasks that is a graph (task->segment); optional, default its tasks. */
    pith_status (*segment)(void *closure, const pithp_task *task);
    /* A step of the host, with addresses of operands, results and workspace at args; may
     * wait. */
    pith_status (*host)(void *closure, const pithp_task *task, const void *args);
    /* Read a word that a task wrote; may wait. */
    pith_status (*read)(void *closure, const void *from, int64_t *word);
    /* Called when a loop or branch begins; optional. */
    void (*enter)(void *closure, const pithp_task *task);
    void *closure;
} pithp_driver;
/* memory: the schedule's image, with the table of the run. */
pith_status pithp_schedule_drive(const pithp_schedule *schedule,
                                 char *memory,
                                 const pithp_driver *driver);

#endif
