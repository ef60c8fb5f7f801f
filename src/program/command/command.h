/* Command buffers (schedules): a plan as kernels in an order, for a device that runs all
 * of them as one graph. Made once; a run only says where inputs, outputs and workspace
 * are.
 *
 * Every kernel reads its arguments from memory of the schedule, of 64-bit words. A run
 * fills in the first of them, the table of addresses; a kernel `bind` then writes the
 * addresses into all other arguments. Loops and branches have lists of tasks of their
 * own, which begin with a bind that writes what differs from one iteration to the next.
 * So no task depends on where memory is, and nothing but the table comes from the host.
 *
 * What a schedule says is plain data, of which a device can make a graph.
 * pithp_schedule_drive runs it task by task. */
#ifndef PITH_PROGRAM_COMMAND_COMMAND_H
#define PITH_PROGRAM_COMMAND_COMMAND_H

#include "gpu/graph.h"
#include "program/cuda/cuda.h"
#include "program/emit/emit.h"
#include "program/plan/plan.h"

typedef struct pithp_schedule {
    pith_runtime *runtime;
    char prefix[PITHP_PREFIX_BYTES]; /* of the names of its functions */
    pithp_tasks tasks;
    /* The memory in the beginning: words, then the list of writes that binds do. Words
     * whose number is in `own` are addresses within it: the word counts bytes from its
     * beginning. */
    uint64_t *words;
    pithp_cuda_write *writes;
    int32_t *own;
    int64_t word_count, word_room, write_count, write_room, own_count, own_room;
    /* Fused steps, and reductions of what they make, that differ, in the order of their
       numbers. */
    pithp_kernel_work *fused;
    bool reduces; /* some are reductions */
    int64_t fused_count, fused_room;
    int64_t many_count;    /* tasks that do the work of many equal steps */
    int64_t task_count;    /* of all lists */
    int64_t control_count; /* tasks that branch or loop */
    int64_t gemm_count;    /* products by a library */
    int64_t host_count;    /* tasks of the host: there is no graph with them */
    int32_t gemm_word;     /* holds the address of the memory that all of them work in */
    size_t gemm_bytes;     /* of that memory; 0: there are none */
    int64_t table_count; /* words that a run fills in, from word PITHP_WORD_WORKSPACE on:
                            workspace, inputs, outputs */
} pithp_schedule;

enum { PITHP_WORD_NULL, PITHP_WORD_WORKSPACE };

/* The schedule of a plan that was made for one (pithp_plan_make_for). It points into the
 * plan. gemm: which products are tasks for a library. NULL: e says why,
 * PITH_E_UNSUPPORTED where the plan has what no schedule can do.
 */
pithp_schedule *pithp_schedule_make(pith_scope *s,
                                    const pithp_plan *plan,
                                    pithp_gemm_use gemm,
                                    pithp_error *e);
void pithp_schedule_free(pithp_schedule *schedule); /* NULL does nothing */

/* Bytes of its memory on a device, PITHP_ALIGNMENT aligned: the image, then what products
 * by a library work in (pithp_schedule_gemm; NULL: there are none). */
size_t pithp_schedule_bytes(const pithp_schedule *schedule);
size_t pithp_schedule_image_bytes(const pithp_schedule *schedule);
void *pithp_schedule_gemm(const pithp_schedule *schedule, void *memory);
/* What that memory is in the beginning where it lies at `address`; `image` has
 * pithp_schedule_image_bytes. */
void pithp_schedule_image(const pithp_schedule *schedule, void *image, uintptr_t address);
/* Kernels and calls of libraries that a run takes: a loop's as often as it is known to
 * run, else once, and those of the larger branch. */
int64_t pithp_schedule_launches(const pithp_schedule *schedule);

/* The table of a run; `table` has table_count words, to be copied to word
 * PITHP_WORD_WORKSPACE. */
void pithp_schedule_table(const pithp_schedule *schedule,
                          const pithp_plan *plan,
                          const void *workspace,
                          const void *const *inputs,
                          void *const *outputs,
                          uint64_t *table);

/* The text of its fused steps behind a prologue (pithp_text_cuda, pithp_text_host);
 * maths: as that of pithp_emit_host. False: there are none, or no memory. */
bool pithp_schedule_text(pithp_text *t,
                         const char *prologue,
                         const pithp_schedule *schedule,
                         bool *maths);

/* "pith_step_3_many": the name of a fused function's kernel for the work of many. */
void pithp_many_name(char name[PITHP_STEP_NAME_BYTES],
                     const char *prefix,
                     int64_t function);

/* The whole text of its module for CUDA: fused steps, and, for a graph with control flow,
 * pith_decide, which takes the place of the built-in kernel that leaves a decision in
 * memory. False: there is nothing to compile, or no memory. */
bool pithp_schedule_cuda_text(pithp_text *t, const pithp_schedule *schedule, bool graph);

/* ---- Running it task by task ---- */

typedef struct pithp_driver {
    /* args: where the arguments are. */
    pith_status (*launch)(void *closure, const pithp_task *task, void *args);
    /* A product by a library, in memory of the schedule. */
    pith_status (*gemm)(void *closure, const pithp_task *task, void *memory);
    /* A step that the host runs, with the addresses at args; may wait. */
    pith_status (*host)(void *closure, const pithp_task *task, const void *args);
    /* Read a word that a task left; may wait. */
    pith_status (*read)(void *closure, const void *from, int64_t *word);
    /* A loop or branch begins. (optional) */
    void (*enter)(void *closure, const pithp_task *task);
    void *closure;
} pithp_driver;
/* memory: where the schedule's image lies, with the run's table. */
pith_status pithp_schedule_drive(const pithp_schedule *schedule,
                                 char *memory,
                                 const pithp_driver *driver);

#endif
