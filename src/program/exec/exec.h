/* Running plans on the host, and on a device call by call: what the files of this folder
 * share. */
#ifndef PITH_PROGRAM_EXEC_EXEC_H
#define PITH_PROGRAM_EXEC_EXEC_H

#include "program/exec/executable.h"
#include "program/exec/tier.h"
#include "program/plan/plan.h"

/* A run of an executable, as the program or as one within another. */
typedef struct pithp_exec {
    pith_scope *s;
    pithp_executable *x;
    const pithp_plan *plan;            /* of x */
    const struct pithp_compiled *code; /* NULL: interpreted */
    const void *const *inputs;
    void **outputs;
    char *workspace;
    const void **passed;       /* where that is, plan->passed_count */
    const void **pointers;     /* behind it: room for plan->pointer_count in all */
    struct pithp_watch *watch; /* that times it; NULL: nothing does */
} pithp_exec;

/* The device address of a place. */
static inline void *pithp_place_address(const pithp_exec *r, pithp_place place) {
    switch (place.store) {
        case PITHP_IN_INPUT:
            return (void *)(uintptr_t)r->inputs[place.at];
        case PITHP_IN_CONSTANT:
            return (void *)(uintptr_t)r->plan->program->constants[place.at].data;
        case PITHP_IN_LITERALS:
            return (char *)r->plan->literals->data + place.at;
        case PITHP_IN_WORKSPACE:
            return r->workspace + place.at;
        case PITHP_IN_OUTPUT:
            return r->outputs[place.at];
        case PITHP_IN_PASSED:
            return (void *)(uintptr_t)r->passed[place.at];
        case PITHP_NOWHERE:
            break;
    }
    return NULL;
}
/* The device address of a value that has memory. */
static inline void *pithp_address(const pithp_exec *r, pithp_value v) {
    return pithp_place_address(r, r->plan->places[v]);
}
/* Where output k is. */
static inline void *pithp_output_address(const pithp_exec *r, int64_t k) {
    return pithp_address(r, r->plan->program->outputs[k]);
}
/* Whether that is where an input is that the output may be. */
bool pithp_is_handed_on(const pithp_exec *r, int64_t k);
/* Copy output k to its memory where it is not there yet, for it is an input, a constant
 * or another output. */
pith_status pithp_settle(const pithp_exec *r, int64_t k);

pith_status pithp_run_steps(const pithp_exec *r);
/* Run step k, which is not a source, with those behind it that run as one with it;
 * returns how many. */
int64_t pithp_run_piece(const pithp_exec *r, int64_t k, pith_status *rc);
/* Run a step that is a call of one row or a kernel, and no reduction of another step, on
 * these addresses: the operands, the results, the temporary memory. Not 0: the scope's
 * error is set. */
int32_t pithp_step_call(pith_scope *s, const pithp_step *step, char *const *at);
pith_status pithp_run_control(const pithp_exec *r, const pithp_step *step);

/* The addresses of its results are followed by that of the report. */
pith_status pithp_run_kernel(pith_scope *s,
                             const pithp_step *step,
                             const void *const *operands,
                             void *const *results);
/* Before an instruction reports. */
pith_status pithp_zero_report(pith_scope *s, pith_report *report);

/* Arguments of a fused step with the addresses of a run; code: compiled, or NULL. Returns
 * their bytes, for which args has room (pithp_fused_args_bytes). */
size_t pithp_fused_bind(const pithp_exec *r,
                        const pithp_step *step,
                        pithp_host_loop code,
                        pithp_fused_args *args);
/* The addresses of its externals for code that folds; returns their bytes. */
size_t pithp_fold_bind(const pithp_exec *r, const pithp_step *step, char **at);

/* A fused step that gathers what it reads, and a reduction of what a fused step makes. */
pith_status
pithp_run_taking(const pithp_exec *r, const pithp_step *step, pithp_host_loop code);
pith_status pithp_run_reduction(const pithp_exec *r,
                                const pithp_step *step,
                                const pithp_call *call,
                                const pithp_memory *memory);

/* A band, whose first step is `first`. */
pith_status pithp_run_band(const pithp_exec *r, int64_t first);

#endif
