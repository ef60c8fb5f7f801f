/* A plan on a device that runs calls one by one, run as its schedule instead: made and
 * compiled in the background when the plan has run often enough to be worth it, while
 * calls run, and swapped in when it is ready. Then a run is one copy, of the table of
 * addresses, and one launch of a graph.
 *
 * PITH_JIT says when, as for compiled code of the host. PITH_CUDA_GRAPH says how: `on`
 * (the default), `drive` (task by task, decisions read by the host, which waits after
 * each task, so that an error names it) or `off`. Where a device refuses the graph, tasks
 * go one by one, which is said in the log; without NVRTC, calls do. So they do for a
 * profile (pithp_replay_time). */
#ifndef PITH_PROGRAM_COMMAND_REPLAY_H
#define PITH_PROGRAM_COMMAND_REPLAY_H

#include "program/command/command.h"

typedef struct pithp_replay pithp_replay;

/* Called when a plan that makes calls was made. NULL: it is never replayed. No error is
 * set: a plan can do without. */
pithp_replay *pithp_replay_make(const pithp_plan *plan);
void pithp_replay_free(pithp_replay *r); /* NULL does nothing */
/* From the first run on it is driven by the host, and timed for a profile of its steps,
 * which is another one than that of the plan that makes calls.
 *
 * @param enrols Its runs are counted in the profile of the whole run. */
void pithp_replay_time(pithp_replay *r, bool enrols);
/* That profile; NULL: there is none (yet). It goes with the replay. */
struct pithp_profile *pithp_replay_profile(const pithp_replay *r);

/* A run of the plan by its schedule; as pithp_executable_run. plan: the one that makes
 * calls. False: there is no schedule (yet), and nothing was done. */
bool pithp_replay_run(pith_scope *s,
                      pithp_replay *r,
                      const pithp_plan *plan,
                      const void *const *inputs,
                      void *const *outputs,
                      pith_status *status);

/* What a run takes by its schedule, which is made anew to be looked at. */
typedef struct pithp_replay_costs {
    int64_t launches;       /* kernels, calls of libraries, and the copy of the table */
    size_t workspace_bytes; /* of a run */
    size_t bytes;           /* as pithp_replay_bytes, also where that is not made yet */
} pithp_replay_costs;
/* False: it is run call by call, or memory is short. */
bool pithp_replay_cost(pith_scope *s,
                       const pithp_replay *r,
                       const pithp_plan *plan,
                       pithp_replay_costs *costs);

/* Bytes that the schedule, its memory on the device and its graph take, about; 0 where
 * there is none (yet). */
size_t pithp_replay_bytes(const pithp_replay *r);

/* How it runs now, for tests. */
typedef enum pithp_replay_mode {
    PITHP_REPLAY_CALLS, /* not (yet) by its schedule */
    PITHP_REPLAY_GRAPH,
    PITHP_REPLAY_DRIVEN,
} pithp_replay_mode;
pithp_replay_mode pithp_replay_look(const pithp_replay *r);

#endif
