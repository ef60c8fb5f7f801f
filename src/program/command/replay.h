/* Replay: a plan as a command buffer, on devices that otherwise run calls one by one. It
 * is made and compiled in the background when the plan has run often enough, and swapped
 * in when it is ready. Then a run is one copy, of the table of addresses, and one launch
 * of a graph.
 *
 * PITH_JIT selects when, as for compiled code of the host. PITH_CUDA_GRAPH selects how:
 * `on` (the default), `drive` (task by task; the host reads decisions and waits after
 * each task, so that errors name it) or `off`. If a device refuses the graph, tasks run
 * one by one, with a message in the log; without NVRTC, calls do. Profiles also run task
 * by task (pithp_replay_time). */
#ifndef PITH_PROGRAM_COMMAND_REPLAY_H
#define PITH_PROGRAM_COMMAND_REPLAY_H

#include "program/command/command.h"

typedef struct pithp_replay pithp_replay;

/* Begin the replay of a new plan. NULL: it is never replayed. Sets no error: a plan runs
 * without a replay too. */
pithp_replay *pithp_replay_make(pithp_plan *plan);
void pithp_replay_free(pithp_replay *r); /* NULL does nothing */
/* Drive it by the host from the first run on, timed for a profile of its steps. This is
 * another profile than that of the plan.
 *
 * @param enrols Count its runs in the profile of the whole run. */
void pithp_replay_time(pithp_replay *r, bool enrols);
/* That profile, or NULL. It lives as long as the replay. */
struct pithp_profile *pithp_replay_profile(const pithp_replay *r);

/* Run the plan by its command buffer, as pithp_executable_run. False: there is no command
 * buffer yet, and nothing was done. */
bool pithp_replay_run(pith_scope *s,
                      pithp_replay *r,
                      pithp_plan *plan,
                      const void *const *inputs,
                      void *const *outputs,
                      pith_status *status);

/* The same for a program with collectives, before the ranks run it in any way. They agree
 * on the way: by command buffers if all of them are ready for the same. replay: or NULL.
 * False: they run the plan by calls. */
bool pithp_replay_run_ranks(pith_scope *s,
                            pithp_replay *r,
                            pithp_plan *plan,
                            const void *const *inputs,
                            void *const *outputs,
                            pith_status *status);

/* Costs of a run by a command buffer, which is built for the answer. */
typedef struct pithp_replay_costs {
    int64_t launches;       /* kernels, library calls, and the copy of the table */
    size_t workspace_bytes; /* of a run */
    size_t bytes;           /* as pithp_replay_bytes, also before it is made */
} pithp_replay_costs;
/* False: it runs call by call, or memory is short. */
bool pithp_replay_cost(pith_scope *s,
                       const pithp_replay *r,
                       const pithp_plan *plan,
                       pithp_replay_costs *costs);

/* Estimated bytes of the command buffer, its device memory and its graph; 0 without one.
 */
size_t pithp_replay_bytes(const pithp_replay *r);

/* Current way of running, for tests. */
typedef enum pithp_replay_mode {
    PITHP_REPLAY_CALLS, /* call by call */
    PITHP_REPLAY_GRAPH,
    PITHP_REPLAY_DRIVEN,
} pithp_replay_mode;
pithp_replay_mode pithp_replay_look(const pithp_replay *r);

#endif
