/* Private interface of mesh: the world of a runtime, its meshes, and the states of ranks.
 */
#ifndef PITH_MESH_WORLD_H
#define PITH_MESH_WORLD_H

#include "base/launcher.h"
#include "mesh/mesh_internal.h"

#include <poll.h>

/* ---- States of ranks, in memory that their node shares ---- */

typedef enum pithp_phase {
    PITHP_PHASE_JOINING, /* zero: shared memory begins so */
    PITHP_PHASE_USER,    /* in user code */
    PITHP_PHASE_WAITING, /* in a collective */
    PITHP_PHASE_CLOSED,  /* has closed its mesh, as all ranks have */
    PITHP_PHASE_LEFT     /* exits without pith_close */
} pithp_phase;

enum { PITHP_STATE_WORDS = 14, PITHP_STATED_BYTES = 40 };

/* Written by its rank, read by the watch threads of the node. */
typedef struct pithp_rank_state {
    _Alignas(64) _Atomic uint32_t phase;
    _Atomic uint32_t ending;       /* of the node's first rank: PITHP_ENDING_ */
    _Atomic int64_t rank, process; /* process: 0 until it is written, after space */
    _Atomic uint64_t space;        /* of the number of the process */
    _Atomic uint64_t number;       /* of the collective, or of the last one */
    _Atomic uint64_t since, seen;  /* by watch threads: see state_note */
    _Atomic uint64_t text[PITHP_STATE_WORDS]; /* "pith_psum, melt.c:120" */
    _Atomic uint64_t device[2];               /* UUID of its GPU; 0: the host */
    _Atomic uint64_t cores;                   /* digest of its affinity mask */
} pithp_rank_state;

/* Only one rank of a node reports why the job ends. */
enum { PITHP_ENDING_NO, PITHP_ENDING_REPORTING, PITHP_ENDING_REPORTED };

uint64_t pithp_nanoseconds(void); /* CLOCK_MONOTONIC */
void pithp_state_begin(pithp_rank_state *own, int64_t rank);
/* What the watch threads of a node do now and then: they note when they see a new state
 * of a rank. So the rank itself reads no clock. */
void pithp_state_note(pithp_rank_state *state, uint64_t now);
/* For how long a rank is in its state, in ns, since a watch thread saw it. */
uint64_t pithp_state_lasts(const pithp_rank_state *state, uint64_t now);
/* This rank waits in a collective, or (operation NULL) is back in user code. */
void pithp_state_set(pithp_world *w, const char *operation, const char *site);
/* The same for an operation of a program, whose name is a literal. */
void pithp_state_resume(pithp_world *w, const char *operation, const char *site);

/* ---- Worlds ---- */

typedef struct pithp_mesh_watch {
    bool running;
    pthread_t thread;
    struct pollfd *processes; /* descriptors of the processes of the node's ranks, -1:
                                 none; and the event by which the thread is ended */
} pithp_mesh_watch;

struct pithp_world {
    pith_runtime *runtime;
    const pithp_transport *transport; /* NULL: this process alone */
    pithp_joined joined;
    pthread_mutex_t lock; /* of the engine: one collective at a time */
    uint64_t number;      /* of collectives so far */
    const char *site;     /* of the last agreement, a text that lives as long */
    uint64_t site_digest;
    uint64_t agreed;           /* the number of the last one in which all agreed */
    bool decides;              /* a decision follows it */
    int depth;                 /* of decisions: tries that enclose this code */
    int64_t timeout_ns;        /* negative: none */
    bool compares;             /* plain arguments */
    _Atomic uint64_t told[16]; /* of messages that are logged once: keys, 0: none */
    bool communicates;         /* devices move data by a library, the same on all ranks */
    pithp_mesh_group *connected; /* groups with communicators; also read by the watch */
    pithp_rank_state *own;
    const char *stated_site;         /* of the text in `own` */
    const char *stated_name;         /* the operation, if it is a literal; or NULL */
    char stated[PITHP_STATED_BYTES]; /* and its operation */
    pithp_mesh_watch watch;
    bool has_watch_memory; /* `own` is seen by the node */
    bool spare;            /* in no memory of the runtime, while joining fails */
    bool broken;           /* the engine has failed, and the job ends */
    bool claims;           /* this process is a rank of it */
    bool left;             /* the program has ended the engine, which closed the mesh */
    bool forked;           /* this process is a child of the rank */
    pith_mesh *meshes;
    char device[32], host[64];
    pithp_world *next; /* in the list of exit.c */
};

struct pith_mesh {
    pithp_world *world;
    uint32_t number; /* among the meshes of the world, from 1 */
    int count;
    struct {
        char name[PITHP_AXIS_BYTES];
        int64_t size, rank;
    } axes[PITHP_MESH_AXES];
    pithp_mesh_group *groups;
    pith_mesh *next;
    pith_mesh *next_alive; /* of the process */
};

/* That a mesh was opened in a scope. Ranks number their openings alike, so that calls of
 * two threads on scopes of their own are told apart. */
typedef struct pithp_opening {
    const pith_mesh *mesh;
    uint64_t number; /* of the agreement */
} pithp_opening;

/* The opening of the mesh that a scope uses; NULL: none. */
static inline const pithp_opening *pithp_opening_of(const pith_scope *s) {
    while (s && !s->room[PITHP_ROOM_MESH])
        s = s->parent;
    return s ? s->room[PITHP_ROOM_MESH] : NULL;
}

/* The meshes of the process: any other pointer is refused, not read. */
void pithp_mesh_begin(pith_mesh *m);
void pithp_mesh_end(pith_mesh *m);

/* The world of a runtime; NULL: not joined. */
static inline pithp_world *pithp_world_of(const pith_runtime *rt) {
    return __atomic_load_n((pithp_world *const *)&rt->room[PITHP_ROOM_MESH],
                           __ATOMIC_ACQUIRE);
}

/* Sizes and names of the axes of a mesh over `ranks` ranks. */
pith_status pithp_axes_lay_out(pith_scope *s,
                               const pith_mesh_axis *axes,
                               int64_t ranks,
                               pith_mesh *m);
/* The numbers of a rank along the axes. */
void pithp_axes_number(pith_mesh *m, int64_t rank);
void pithp_mesh_groups_free(pith_runtime *rt, pith_mesh *m);
void pithp_mesh_pairs_free(pith_runtime *rt, pithp_mesh_group *g);

/* How to join: by a transport of the caller, or the one of the launcher. */
typedef struct pithp_join {
    const pithp_transport *transport; /* NULL: find one */
    const char *library;              /* of the communicator; NULL: none */
    const void *communicator;
    size_t communicator_bytes;
    void *closure;
} pithp_join;

/* Join the world and make it the runtime's. NULL: the error of s is set, on all ranks
 * that were reached. */
pithp_world *
pithp_world_join(pith_scope *s, const pithp_join *how, const pith_mesh_options *options);
void pithp_world_free(pithp_world *w); /* after it was left */
/* Leave the world, when all ranks do. */
void pithp_world_leave(pithp_world *w);

/* The states of the node's ranks; NULL: not shared. */
static inline pithp_rank_state *pithp_world_state(const pithp_world *w,
                                                  int64_t node_rank) {
    return w->transport->shared(w->joined.all, node_rank);
}

/* ---- Agreements, see mesh_internal.h ---- */

/* What a rank gives to an agreement beside its intent, and gets from it. Levels say where
 * ranks are: in a collective (0), in pith_agree, in a decision (the outermost has the
 * least), or in pith_close. */
typedef struct pithp_ballot {
    uint64_t level;    /* in */
    uint64_t trouble;  /* in: the place of a failure, from 1, or 0; out: the least of all
                          ranks, or 0 */
    uint64_t error;    /* in: the place, from 0, if the scope has failed */
    bool checks;       /* in: the failure is that of a check; out: the least is */
    uint64_t least[3]; /* in: a value; out: the least of all ranks */
    uint64_t highest; /* out: of the levels; UINT64_MAX: a rank is in a collective; 0: the
                         engine has failed */
    uint64_t lowest;  /* out: of the levels; 0: the engine has failed */
    bool together;    /* out: all ranks are at one level */
    bool alike;       /* out: those without trouble do the same */
    int64_t first;    /* out: the rank of the least trouble, or -1 */
} pithp_ballot;
enum { PITHP_LEVEL_CLOSE = 1 };
/* Of pith_agree: between both; less by one for each try that encloses the call. */
#define PITHP_LEVEL_AGREE (UINT64_MAX - 1)
#define PITHP_MOST_DEPTH  (UINT64_C(1) << 32) /* of tries within each other */
/* pithp_collective_begin with a ballot; s NULL: of pith_close. The lock is held only
 * after true. */
bool pithp_agree_with(pithp_world *w,
                      pith_scope *s,
                      const pithp_intent *intent,
                      pithp_ballot *b);
/* Whether the engine can be called; *t says why not. */
bool pithp_world_reaches(const pithp_world *w, pithp_transport_trouble *t);
/* The engine has failed: end the job. */
void pithp_world_break(pithp_world *w, pith_scope *s, const pithp_transport_trouble *t);

/* ---- Ends of waits ---- */

/* The processes that the launcher has started on this node (started.c). */
typedef struct pithp_started {
    int64_t launcher, size; /* launcher: its process; 0: not seen */
    int64_t missing_ms;     /* since when there are fewer */
} pithp_started;
void pithp_started_begin(pithp_started *p, const pithp_job *job);
/* Whether one has ended, some seconds ago: others may still be about to start, or to get
 * an error. To be called in periods. */
bool pithp_started_lost(pithp_started *p, int64_t period_ms);

/* The end of a wait of the engine for all processes, if it lasts too long, or one of them
 * has ended (deadline.c). */
typedef struct pithp_deadline {
    const pithp_transport *transport;
    const char *operation, *site; /* site: or NULL */
    int64_t rank, size;           /* -1: not known */
    int64_t timeout_ns;           /* negative: no limit */
    const pithp_job *job;         /* whose processes must all come; NULL: none */
    bool running;
    pthread_t thread;
    int wake; /* an event file descriptor; -1: none */
} pithp_deadline;
/* Without memory for a thread there is none. */
void pithp_deadline_begin(pithp_deadline *d);
void pithp_deadline_end(pithp_deadline *d);

/* A thread that gets no signal: those of the program go to its own. An error number. */
int pithp_thread_start(pthread_t *thread, void *(*run)(void *closure), void *closure);
pith_status pithp_mesh_watch_start(pith_scope *s, pithp_world *w);
void pithp_mesh_watch_stop(pithp_world *w);
enum { PITHP_END_CODE = 70 }; /* exit code of a job that pith ends: EX_SOFTWARE */
/* Report the states of the node's ranks, unless another rank does, and end the job. gone:
 * a rank of the node whose process has ended, or -1. may_call: this thread may call the
 * engine. */
void pithp_world_end(pithp_world *w, int64_t gone, bool may_call);
/* One line to stderr. */
void pithp_world_report(const pithp_world *w, const char *line);
/* End the job if this process exits with w open. */
void pithp_exit_watch(pithp_world *w);
void pithp_exit_forget(pithp_world *w);

/* The link of a group, made by all ranks of the world. NULL: the job ends. */
pithp_transport_link *pithp_mesh_group_link(pith_scope *s, pithp_mesh_group *g);

/* ---- Communicators (connect.c) ---- */

/* ", NCCL 2.28.9": what ranks must have in common; "" on the host. Opens the library. */
void pithp_world_library(pithp_world *w, char *text, size_t room);
/* Whether the library tells of no trouble since then; any thread. Otherwise *e is set. */
bool pithp_world_is_connected(const pithp_world *w, pithp_error *e);
/* Close the communicators, on all ranks, or abort them on this one. */
void pithp_world_disconnect(pithp_world *w, bool aborts);

/* ---- Plugins ---- */

/* The table of the MPI that the process has loaded, that started it, or that PITH_MPI
 * names; or of `library`. NULL: e is set. */
const pithp_transport *
pithp_plugin_find(const pithp_job *job, const char *library, pithp_error *e);
/* PITH_MPI: a name, or a file with a slash; NULL: not set, or not valid. */
const char *pithp_plugin_wish(bool *valid);
/* The build id of the program in hexadecimal; "" without one. */
void pithp_program_id(char *text, size_t room);

#endif
