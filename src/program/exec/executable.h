/* Executables: a plan with its interpreter state, compiled code and replay. The
 * interpreter runs the plan first. When it is ready, compiled code replaces the
 * interpreter on the host, and a replay replaces the single calls on a device. */
#ifndef PITH_PROGRAM_EXEC_EXECUTABLE_H
#define PITH_PROGRAM_EXEC_EXECUTABLE_H

#include "program/command/replay.h"
#include "program/plan/plan.h"

typedef struct pithp_executable {
    pithp_plan *plan;
    struct pithp_tier *tier;                     /* see tier.h; NULL: never compiled */
    _Atomic(const struct pithp_compiled *) code; /* NULL: not compiled yet */
    pithp_replay *replay;                        /* NULL: never replayed */
    size_t
        pointer_count; /* addresses that a run records, with those of nested programs */
    /* Executables of the nested programs: plan->program_count of them, by number. They
     * borrow the plans of the steps. */
    struct pithp_executable *programs;
} pithp_executable;

/* Plan a program for the scope's device and retain the program. NULL sets the error.
 *
 * @param fuse False: every instruction is its own step, as on devices that do not run
 * host loops. */
pithp_executable *pithp_executable_make(pith_scope *s, pithp_program *p, bool fuse);
void pithp_executable_free(pithp_executable *x); /* NULL does nothing */

/* Addresses that a range of iterations of a step of control flow records: the inputs and
 * outputs of one of its programs and the addresses that the program records, or the table
 * of the compiled loop. */
size_t pithp_range_pointers(const pithp_executable *x, const pithp_step *step);

/* pithp_plan_reuse for all plans that may run. */
void pithp_executable_reuse(pith_scope *s,
                            pithp_executable *x,
                            const int64_t *inputs,
                            int64_t count,
                            int64_t *outputs);

/* Estimated bytes of an executable with its program, without workspace and code. Includes
 * the memory that a device keeps for the replay, once that exists. */
size_t pithp_executable_bytes(const pithp_executable *x);

/* Most bytes of memory that a run takes at a time while neither compiled code nor a
 * replay is ready: the workspace of the plan, and on a device the memory of one call. */
size_t pithp_executable_first_bytes(pith_scope *s, const pithp_executable *x);

/* Register a new, named executable: with PITH_PROFILE its runs are counted in the profile
 * of the whole run. */
void pithp_executable_profile(pithp_executable *x);
/* Count the runs from now on in p, which must outlive the executable. */
void pithp_executable_attach(pithp_executable *x, struct pithp_profile *p);

/* Run it on the scope's stream. Any number of threads may call it.
 *
 * @param inputs Device addresses, readable on the stream.
 * @param outputs Memory of the outputs whose storage is PITHP_IN_OUTPUT with their own
 * number. An output that forwards an input is set to the address of the input and not
 * written.
 */
pith_status pithp_executable_pass(pith_scope *s,
                                  pithp_executable *x,
                                  const void *const *inputs,
                                  void **outputs);
/* As pithp_executable_pass, but all outputs are written. */
pith_status pithp_executable_run(pith_scope *s,
                                 pithp_executable *x,
                                 const void *const *inputs,
                                 void *const *outputs);

/* Run an executable whose plan is flat (pithp_plan_is_flat) over `count` elements. */
pith_status pithp_executable_run_flat(pith_scope *s,
                                      pithp_executable *x,
                                      const void *const *inputs,
                                      void *const *outputs,
                                      int64_t count);

#endif
