/* Plan execution on the host, and on a device call by call (within src/program/exec). */
#ifndef PITH_PROGRAM_EXEC_EXEC_H
#define PITH_PROGRAM_EXEC_EXEC_H

#include "program/exec/executable.h"
#include "program/exec/tier.h"
#include "program/plan/plan.h"

/* A run of an executable, at top level or nested in another. */
typedef struct pithp_exec {
    pith_scope *s;
    pithp_executable *x;
    const pithp_plan *plan;            /* of x */
    const struct pithp_compiled *code; /* NULL: interpreted */
    const void *const *inputs;
    void **outputs;
    char *workspace;
    void *host;                /* plan->host_bytes; or NULL */
    const void **forwarded;    /* addresses of forwarded values, plan->forwarded_count */
    const void **pointers;     /* after `forwarded`; plan->pointer_count in all */
    struct pithp_watch *watch; /* times the run, or NULL */
} pithp_exec;

/* The device address of a storage. */
static inline char *pithp_place_start(const pithp_exec *r, pithp_place place) {
    if (PITHP_LIKELY(place.store == PITHP_IN_WORKSPACE)) /* most are */
        return r->workspace + place.at;
    switch (place.store) {
        case PITHP_IN_INPUT:
            return (char *)(uintptr_t)r->inputs[place.at];
        case PITHP_IN_CONSTANT:
            return (char *)(uintptr_t)r->plan->program->constants[place.at].data;
        case PITHP_IN_LITERALS:
            return (char *)r->plan->literals->data + place.at;
        case PITHP_IN_WORKSPACE:
            return r->workspace + place.at;
        case PITHP_IN_OUTPUT:
            return r->outputs[place.at];
        case PITHP_FORWARDED:
            return (char *)(uintptr_t)r->forwarded[place.at];
        case PITHP_NOWHERE:
            break;
    }
    return NULL;
}
static inline void *pithp_place_address(const pithp_exec *r, pithp_place place) {
    char *start = pithp_place_start(r, place);
    return place.offset ? start + place.offset : start;
}
/* The device address of a value that has memory. */
static inline void *pithp_address(const pithp_exec *r, pithp_value v) {
    return pithp_place_address(r, r->plan->places[v]);
}
/* The device address of output k. */
static inline void *pithp_output_address(const pithp_exec *r, int64_t k) {
    return pithp_address(r, r->plan->program->outputs[k]);
}
/* Whether output k is forwarded: its address is that of an input. */
bool pithp_is_forwarded(const pithp_exec *r, int64_t k);
/* Copy output k to its memory if it is an input, a constant or another output. */
pith_status pithp_materialise(const pithp_exec *r, int64_t k);

pith_status pithp_run_steps(const pithp_exec *r);
/* Run step k, which is not a producer, with the steps of its band or horizontal fusion.
 * Returns the number of steps of a horizontal fusion, else 1. */
int64_t pithp_run_step(const pithp_exec *r, int64_t k, pith_status *rc);
/* Run a call of one operation or a kernel on a list of addresses: operands, results,
 * scratch memory. Not for reductions with a fused producer. Not 0: the scope's error is
 * set. */
int32_t pithp_step_call(pith_scope *s, const pithp_step *step, char *const *at);
pith_status pithp_run_control(const pithp_exec *r, const pithp_step *step);

/* Run a kernel call. `results` ends with the address of the report. */
pith_status pithp_run_kernel(pith_scope *s,
                             const pithp_step *step,
                             const void *const *operands,
                             void *const *results);
/* Clear a report before an instruction writes it. */
pith_status pithp_zero_report(pith_scope *s, pith_report *report);

/* Bind a fused step: fill in its arguments with the addresses of a run. Returns their
 * bytes, at most pithp_fused_args_bytes. code: compiled code, or NULL. */
size_t pithp_fused_bind(const pithp_exec *r,
                        const pithp_step *step,
                        pithp_host_loop code,
                        pithp_fused_args *args);
/* Bind compiled map-reduce code: write the addresses of the step's externals; returns
 * their bytes. */
size_t pithp_map_reduce_bind(const pithp_exec *r, const pithp_step *step, char **at);

/* Input fusion: run a fused step with gathers, and a reduction with a fused producer. */
pith_status
pithp_run_gathering(const pithp_exec *r, const pithp_step *step, pithp_host_loop code);
pith_status pithp_run_reduction(const pithp_exec *r,
                                const pithp_step *step,
                                const pithp_call *call,
                                const pithp_memory *memory);

/* Run a reduction with its siblings and their producer. */
pith_status pithp_run_siblings(const pithp_exec *r, const pithp_step *step);

/* Row-wise fusion: run the band whose first step is `first`. */
pith_status pithp_run_band(const pithp_exec *r, int64_t first);

#endif
