/* The compiled form of a plan: asked for when the plan has run often enough to be worth
 * it, made in the background while the interpreter runs, and swapped in when it is ready.
 *
 * PITH_JIT says when (pithp_code_when). Without a compiler, or if one fails, the
 * interpreter goes on. If memory is short, a later run asks again. */
#ifndef PITH_PROGRAM_EXEC_TIER_H
#define PITH_PROGRAM_EXEC_TIER_H

#include "program/plan/plan.h"

/* Functions of a plan's steps; constant. */
typedef struct pithp_batch pithp_batch;
typedef struct pithp_compiled_step {
    pithp_host_loop loops[PITHP_ISA_COUNT]; /* the first is set, unless it is a call */
    bool direct; /* memory is read where it lies: addresses are the launch's arguments */
    bool folds;  /* the loop gets m_fold_args: it reduces what the step makes */
    int64_t first_address;
    struct pithp_batch *batch; /* of this step and some behind it (batch.h); or NULL */
} pithp_compiled_step;

/* Where an external is: element `index` of a table, and so many bytes behind it. */
enum {
    PITHP_TABLE_INPUTS,
    PITHP_TABLE_OUTPUTS,
    PITHP_TABLE_PASSED,
    PITHP_TABLE_FIXED,
    PITHP_TABLE_COUNT
};
enum { PITHP_FIXED_WORKSPACE, PITHP_FIXED_NULL, PITHP_FIXED_COUNT };
typedef struct pithp_compiled_address {
    int32_t table, index;
    uintptr_t offset; /* from null: the address */
} pithp_compiled_address;

typedef struct pithp_compiled {
    int64_t count, address_count;
    /* The one step of a plan that needs no memory but inputs, outputs and what lasts; -1:
     * there are others. */
    int64_t alone;
    pithp_compiled_address *addresses; /* of the externals of direct steps */
    pithp_compiled_step steps[];
} pithp_compiled;

/* What a plan has of it; all zero in the beginning. */
struct pithp_compiling;

/* The slow half of pithp_plan_code. */
const pithp_compiled *pithp_compiled_poll(pith_scope *s, pithp_plan *plan);

/* The compiled form if it is there; it stays as long as the plan. Called once a run. */
static inline const pithp_compiled *pithp_plan_code(pith_scope *s, pithp_plan *plan) {
    const pithp_compiled *code =
        atomic_load_explicit(&plan->compiled, memory_order_acquire);
    return code || !plan->compiling ? code : pithp_compiled_poll(s, plan);
}

/* Compile plans that have not run yet, which no other thread knows, by one run of the
 * compiler, and wait for it. False: some have code to compile and did not get it. */
bool pithp_compiled_together(pith_scope *s, pithp_plan *const *plans, int64_t count);

/* Called when a plan was made: it may be compiled, if the runtime compiles plans at all.
 * False if memory is short (no error is set). */
bool pithp_compiled_begin(pithp_plan *plan);
/* The first run waits for the code, whatever PITH_JIT says of when. */
void pithp_compiled_wait(pithp_plan *plan);
void pithp_compiled_end(pithp_plan *plan);
/* Bytes of its code, which plans of the same text share; 0 where there is none (yet). */
size_t pithp_compiled_bytes(const pithp_plan *plan);

#endif
