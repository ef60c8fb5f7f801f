/* Transports: how ranks reach each other. One table of functions per engine, in pith's
 * own types; a plugin exports one (mpi/transport.c). */
#ifndef PITH_MESH_TRANSPORT_H
#define PITH_MESH_TRANSPORT_H

#include "pith/base.h"

#include "base/parcel.h"

enum { PITHP_TRANSPORT_VERSION = 5, PITHP_AGREE_WORDS = 8 };

/* Ranks that communicate, numbered from 0: all of a job, or a part of them. */
typedef struct pithp_transport_link pithp_transport_link;

typedef enum pithp_combine {
    PITHP_COMBINE_SUM,
    PITHP_COMBINE_MIN,
    PITHP_COMBINE_MAX
} pithp_combine;

/* A failure of an engine: afterwards no call on it is possible. */
typedef struct pithp_transport_trouble {
    pith_status code;
    char text[400];
} pithp_transport_trouble;

/* What to join. */
typedef struct pithp_joining {
    const void *communicator; /* the engine's own, as pith/mpi.h passes it; NULL: all
                                 processes that the launcher started */
    size_t communicator_bytes;
    size_t shared_bytes; /* memory of each rank that its node sees */
    const char *hydra;   /* the descriptor of this process's connection to Hydra, which
                            ends the job when it closes, and forgets the exit codes of
                            others (PMI_FD); NULL: there is none */
    void *closure;       /* of transports in tests */
    /* Called if the program ends the engine while the link is open, in the last moment in
     * which calls on it are possible; closes the link. (optional) */
    void (*engine_ends)(void *world);
    void *world;
} pithp_joining;

/* What was joined. Ranks of a node have consecutive numbers. */
typedef struct pithp_joined {
    pithp_transport_link *all;
    int64_t rank, size, node_rank, node_size, node, nodes;
    int64_t started;   /* processes that the engine finds, in the communicator or not */
    char library[128]; /* "Open MPI 4.1.4" */
} pithp_joined;

/* Every call but `end`, `shared` and `gone` is made by all ranks of the link, in one
 * order, and by one thread at a time. */
typedef struct pithp_transport {
    int version;
    const char *name;
    const char *mpi; /* that a plugin binds, as PITH_MPI names it */
    bool process;    /* a rank is a process, which the end of the job ends */
    pith_status (*open)(const pithp_joining *how,
                        pithp_joined *j,
                        pithp_transport_trouble *t);
    /* timeout_ns: the longest wait for the others when the process exits; negative: no
     * limit. */
    void (*close)(pithp_transport_link *all, int64_t timeout_ns);
    /* End the job with an exit code, from any thread, without a call on the engine. Does
     * not return, except from a transport in a test. all: NULL while it is opened. */
    void (*end)(pithp_transport_link *all, int code);
    /* The same on a thread that may call the engine. */
    void (*abort)(pithp_transport_link *all, int code);
    /* Zeroed memory of a rank of this node; NULL: the node has none. Any thread. */
    void *(*shared)(const pithp_transport_link *all, int64_t node_rank);
    /* Whether a rank of this node is known to be gone. Any thread. (optional, default
     * watching its process) */
    bool (*gone)(const pithp_transport_link *all, int64_t node_rank);
    /* Write a line of the report of a job that ends. (optional, default stderr) */
    void (*report)(const pithp_transport_link *all, const char *line);
    /* Ranks with one colour become a link, in the order of their keys. */
    pith_status (*split)(pithp_transport_link *all,
                         int64_t colour,
                         int64_t key,
                         pithp_transport_link **part,
                         pithp_transport_trouble *t);
    void (*drop)(pithp_transport_link *part);
    /* The least value of each word over all ranks. */
    pith_status (*agree)(pithp_transport_link *l,
                         uint64_t words[PITHP_AGREE_WORDS],
                         pithp_transport_trouble *t);
    /* Combine elements in place: integers, f32 and f64, floats in the engine's order. */
    pith_status (*reduce)(pithp_transport_link *l,
                          pithp_combine how,
                          pith_dtype dtype,
                          void *data,
                          int64_t count,
                          pithp_transport_trouble *t);
    /* Integers: the sum of the ranks before, into `to`, which is zeroed. */
    pith_status (*scan)(pithp_transport_link *l,
                        pith_dtype dtype,
                        const void *from,
                        void *to,
                        int64_t count,
                        pithp_transport_trouble *t);
    pith_status (*broadcast)(pithp_transport_link *l,
                             int64_t root,
                             void *data,
                             size_t bytes,
                             pithp_transport_trouble *t);
    /* to: `bytes` of each rank, in the order of the ranks. */
    pith_status (*gather)(pithp_transport_link *l,
                          const void *from,
                          void *to,
                          size_t bytes,
                          pithp_transport_trouble *t);
    /* from, to: `bytes` for each rank, `bytes` of each rank. */
    pith_status (*transpose)(pithp_transport_link *l,
                             const void *from,
                             void *to,
                             size_t bytes,
                             pithp_transport_trouble *t);
    /* Send and receive parcels; of two between the same ranks the first arrives first. */
    pith_status (*exchange)(pithp_transport_link *l,
                            const pithp_exchange *x,
                            pithp_transport_trouble *t);
} pithp_transport;

/* What a plugin exports: its table. */
typedef const pithp_transport *pithp_transport_entry(void);
#define PITHP_TRANSPORT_ENTRY "pith_transport_of_plugin"

#endif
