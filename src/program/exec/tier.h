/* Tier-up: the compiled form of a plan, asked for when the plan has run often enough to
 * be worth it, made in the background while the interpreter runs, and swapped in when it
 * is ready.
 *
 * PITH_JIT says when (pithp_code_when). Without a compiler, or if one fails, the
 * interpreter goes on. If memory is short, a later run asks again. */
#ifndef PITH_PROGRAM_EXEC_TIER_H
#define PITH_PROGRAM_EXEC_TIER_H

#include "program/exec/executable.h"

/* Functions of a plan's steps; constant. */
typedef struct pithp_batch pithp_batch;
typedef struct pithp_compiled_step {
    pithp_host_loop loops[PITHP_ISA_COUNT]; /* the first is set, unless it is a call */
    bool direct; /* memory is read where it lies: addresses are the launch's arguments */
    bool folds;  /* the loop gets m_fold_args: it reduces what the step makes */
    int64_t first_address;
    struct pithp_batch *batch; /* of this step and some behind it (batch.h); or NULL */
} pithp_compiled_step;

/* Location of an external: element `index` of a table, plus an offset in bytes. */
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

/* Addresses of a step that is all there is to do: they lie on the stack. */
enum { PITHP_ALONE_EXTERNALS = 64 };

typedef struct pithp_compiled {
    int64_t count, address_count;
    /* The one step of a plan that needs no memory but inputs, outputs and what lasts, and
     * has few externals; -1: there are others. */
    int64_t alone;
    pithp_compiled_address *addresses; /* of the externals of direct steps */
    pithp_compiled_step steps[];
} pithp_compiled;

/* The slow half of pithp_executable_code. */
const pithp_compiled *pithp_compiled_poll(pith_scope *s, pithp_executable *x);

/* The compiled form if it is there; it stays as long as the executable. Called once a
 * run. */
static inline const pithp_compiled *pithp_executable_code(pith_scope *s,
                                                          pithp_executable *x) {
    const pithp_compiled *code = atomic_load_explicit(&x->code, memory_order_acquire);
    return code || !x->tier ? code : pithp_compiled_poll(s, x);
}

/* Compile plans that have not run yet, which no other thread knows, by one run of the
 * compiler, and wait for it. False: some have code to compile and did not get it. */
bool pithp_compiled_together(pith_scope *s, pithp_executable *const *list, int64_t count);

/* Called when a plan was made: it may be compiled, if the runtime compiles plans at all.
 * False if memory is short (no error is set). */
bool pithp_compiled_begin(pithp_executable *x);
/* The first run waits for the code, whatever PITH_JIT says of when. */
void pithp_compiled_wait(pithp_executable *x);
void pithp_compiled_end(pithp_executable *x);
/* Bytes of its code, which plans of the same text share; 0 where there is none (yet). */
size_t pithp_compiled_bytes(const pithp_executable *x);

#endif
