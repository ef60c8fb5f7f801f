/* Executables: a plan with what runs it. The interpreter runs it first; compiled code of
 * the host, or a replay on a device that runs calls one by one, takes its place when it
 * is ready. */
#ifndef PITH_PROGRAM_EXEC_EXECUTABLE_H
#define PITH_PROGRAM_EXEC_EXECUTABLE_H

#include "program/command/replay.h"
#include "program/plan/plan.h"

typedef struct pithp_executable {
    pithp_plan *plan;
    struct pithp_tier *tier; /* of tier.h; NULL: it is never compiled */
    _Atomic(const struct pithp_compiled *) code; /* NULL: none (yet) */
    pithp_replay *replay;                        /* NULL: it is never replayed */
    size_t pointer_count; /* addresses that a run writes down, those of programs too */
    /* Of the plans of its steps, plan->program_count, by their numbers; they share the
     * plans of the steps. */
    struct pithp_executable *programs;
} pithp_executable;

/* Plan a program for the scope's device; the program is retained. NULL: the scope's error
 * is set.
 *
 * @param fuse False: every instruction is a step of its own, as on devices that do not
 * run host loops. */
pithp_executable *pithp_executable_make(pith_scope *s, pithp_program *p, bool fuse);
void pithp_executable_free(pithp_executable *x); /* NULL does nothing */

/* Bytes of memory that it takes with its program, about; its workspace and its code are
 * not counted. What a device keeps to replay it is, from when that is made. */
size_t pithp_executable_bytes(const pithp_executable *x);

/* Called for one that was made, and named: with PITH_PROFILE its runs are counted in the
 * profile of the whole run. */
void pithp_executable_profile(pithp_executable *x);
/* From now on its runs are counted in p, which outlives it. */
void pithp_executable_attach(pithp_executable *x, struct pithp_profile *p);

/* Run it on the scope's stream.
 *
 * @param inputs Device addresses, readable on the stream.
 * @param outputs Memory for those outputs that are PITHP_IN_OUTPUT of their own number.
 * Set to the address of an input where an output is that input: nothing is written then.
 *
 * Any thread; several at once.
 */
pith_status pithp_executable_pass(pith_scope *s,
                                  pithp_executable *x,
                                  const void *const *inputs,
                                  void **outputs);
/* The same, but all outputs are written.
 */
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
