/* Tier-up: compiled code of a plan. It is requested when the plan has run often enough,
 * compiled in the background while the interpreter runs, and swapped in when it is ready.
 *
 * PITH_JIT selects when (pithp_code_when). Without a compiler, or if it fails, the
 * interpreter stays. If memory is short, a later run asks again. */
#ifndef PITH_PROGRAM_EXEC_TIER_H
#define PITH_PROGRAM_EXEC_TIER_H

#include "program/exec/executable.h"

/* Compiled functions of a plan's steps; immutable. */
typedef struct pithp_horizontal pithp_horizontal;
typedef struct pithp_compiled_step {
    pithp_host_loop loops[PITHP_ISA_COUNT]; /* the first is set, except for calls */
    bool direct;      /* no staging: the launch's arguments are addresses */
    bool map_reduces; /* the loop gets m_map_reduce_args: it includes a reduction */
    int64_t first_address;
    struct pithp_horizontal *horizontal; /* horizontal fusion of this step and later ones
                                            (horizontal.h); or NULL */
} pithp_compiled_step;

/* Location of an external: element `index` of a table, plus an offset in bytes. */
enum {
    PITHP_TABLE_INPUTS,
    PITHP_TABLE_OUTPUTS,
    PITHP_TABLE_FORWARDED,
    PITHP_TABLE_FIXED,
    PITHP_TABLE_COUNT
};
enum { PITHP_FIXED_WORKSPACE, PITHP_FIXED_NULL, PITHP_FIXED_COUNT };
typedef struct pithp_compiled_address {
    int32_t table, index;
    uintptr_t offset; /* with PITHP_FIXED_NULL: the address */
} pithp_compiled_address;

/* Externals of a plan's only step, at most, for addresses on the stack. */
enum { PITHP_ALONE_EXTERNALS = 64 };

typedef struct pithp_compiled {
    int64_t count, address_count;
    /* The only step of a plan with few externals that needs no memory other than inputs,
     * outputs and constants; else -1. */
    int64_t alone;
    pithp_compiled_address *addresses; /* of the externals of direct steps */
    pithp_compiled_step steps[];
} pithp_compiled;

/* Slow path of pithp_executable_code. */
const pithp_compiled *pithp_compiled_poll(pith_scope *s, pithp_executable *x);

/* The compiled code, or NULL. It lives as long as the executable. Called once a run. */
static inline const pithp_compiled *pithp_executable_code(pith_scope *s,
                                                          pithp_executable *x) {
    const pithp_compiled *code = atomic_load_explicit(&x->code, memory_order_acquire);
    return code || !x->tier ? code : pithp_compiled_poll(s, x);
}

/* Compile new plans, which no other thread uses, in one run of the compiler, and wait.
 * False: the code of a plan is missing. */
bool pithp_compiled_together(pith_scope *s, pithp_executable *const *list, int64_t count);

/* Begin tier-up of a new plan, if the runtime compiles plans. False if memory is short;
 * no error is set. */
bool pithp_compiled_begin(pithp_executable *x);
/* Make the first run wait for the code, whatever PITH_JIT selects. */
void pithp_compiled_wait(pithp_executable *x);
void pithp_compiled_end(pithp_executable *x);
/* Bytes of the code, which plans of the same text share; 0 without code. */
size_t pithp_compiled_bytes(const pithp_executable *x);

#endif
