/* Private interface of the MPI plugin. Its global names begin with pith_mpi_. */
#ifndef PITH_MESH_MPI_MPI_INTERNAL_H
#define PITH_MESH_MPI_MPI_INTERNAL_H

#include "mesh/mpi/mailbox.h"
#include "mesh/transport.h"

#include <mpi.h>

typedef struct pith_mpi_world pith_mpi_world;

struct pithp_transport_link {
    MPI_Comm comm;
    pith_mpi_world *world;
    int rank, size;
    struct pith_mpi_place **places; /* where its ranks meet; NULL: on several nodes */
    uint64_t meetings;
    MPI_Win window;  /* of the places */
    uint32_t number; /* among those of the world, the same on all ranks */
    int *node_ranks; /* of each rank: its number on this node, or -1 */
};

struct pith_mpi_world {
    pithp_transport_link all;
    MPI_Comm node;
    MPI_Win window;                   /* of the shared memory */
    void **shared;                    /* of each rank of the node; NULL: not shared */
    int node_rank, node_size, number; /* number: of the node */
    uint32_t links;                   /* that were made */
    MPI_Win mail;                     /* window of the mailboxes */
    pith_mpi_mailboxes mailboxes;     /* memory NULL: none */
    int most;                         /* greatest count of an MPI call */
    int ending; /* key of the attribute that tells of MPI_Finalize */
    void (*engine_ends)(void *world);
    void *ends; /* what engine_ends takes; NULL: it was called, or need not be */
    bool polls; /* waits give way to other processes */
};

/* PITH_E_PEER, with the text of an error code of MPI. */
pith_status pith_mpi_fail(int code, const char *call, pithp_transport_trouble *t);

/* Within a function with `rc` and the label out. */
#define CHECK(call)                                                                      \
    do {                                                                                 \
        const int code_ = (int)(call);                                                   \
        if (code_ != MPI_SUCCESS) {                                                      \
            rc = pith_mpi_fail(code_, #call, t);                                         \
            goto out;                                                                    \
        }                                                                                \
    } while (0)

/* Sets t, and returns the code. */
pith_status
pith_mpi_refuse(pithp_transport_trouble *t, pith_status code, const char *text);

/* Initialise MPI, unless it is; the exit of the process finalises it (process.c). hydra:
 * the connection that a keeper keeps; NULL: none. */
pith_status pith_mpi_begin(const char *hydra, pithp_transport_trouble *t);
/* The processes of a node, of which one may be gone when the others finalise MPI. rank:
 * of this process in the world. */
pith_status
pith_mpi_know_peers(MPI_Comm node, int ranks, int rank, pithp_transport_trouble *t);
/* The mesh is closed. The longest wait for other processes at the end; negative: no
 * limit. */
void pith_mpi_end_within(int64_t timeout_ns);

/* A process that keeps Hydra from ending the job before the others do (keeper.c). */
void pith_mpi_keeper_start(const char *hydra);
enum { PITH_MPI_MOST_PEERS = 1024 };
/* Keep it so long after this process, while one of some others lives. */
void pith_mpi_keeper_keep(int tenths, int count, const int64_t *others);
void pith_mpi_keeper_stop(void);

/* Meetings of the ranks of a link in memory of their node (node.c). */
enum { PITH_MPI_SHORT = 4096 }; /* bytes of a message, at most */
enum { PITH_MPI_TAG = 27, PITH_MPI_NO_TAG = 28 };
/* Memory that a node shares, of each of its ranks, which begins with zeros; NULL: none.
 */
void **
pith_mpi_share(MPI_Comm node, int ranks, size_t bytes, size_t zeros, MPI_Win *window);
size_t pith_mpi_place_bytes(void);
/* Wait until all ranks have come, each with a message. */
void pith_mpi_meet(pithp_transport_link *l, const void *message, size_t bytes);
/* That of a rank, which is there until the next meeting. */
const void *pith_mpi_message(const pithp_transport_link *l, int rank);

/* The moves of the table (move.c). */
pith_status pith_mpi_agree(pithp_transport_link *l,
                           uint64_t words[PITHP_AGREE_WORDS],
                           pithp_transport_trouble *t);
pith_status pith_mpi_reduce(pithp_transport_link *l,
                            pithp_combine how,
                            pith_dtype dtype,
                            void *data,
                            int64_t count,
                            pithp_transport_trouble *t);
pith_status pith_mpi_scan(pithp_transport_link *l,
                          pith_dtype dtype,
                          const void *from,
                          void *to,
                          int64_t count,
                          pithp_transport_trouble *t);
pith_status pith_mpi_broadcast(pithp_transport_link *l,
                               int64_t root,
                               void *data,
                               size_t bytes,
                               pithp_transport_trouble *t);
pith_status pith_mpi_gather(pithp_transport_link *l,
                            const void *from,
                            void *to,
                            size_t bytes,
                            pithp_transport_trouble *t);
pith_status pith_mpi_transpose(pithp_transport_link *l,
                               const void *from,
                               void *to,
                               size_t bytes,
                               pithp_transport_trouble *t);
pith_status pith_mpi_exchange(pithp_transport_link *l,
                              const pithp_exchange *x,
                              pithp_transport_trouble *t);

/* The entry of the plugin. */
__attribute__((visibility("default"))) pithp_transport_entry pith_transport_of_plugin;

#endif
