/* MPI_Init and MPI_Finalize, which run once in a process: a runtime that closes leaves
 * MPI initialised for the next one, until the process exits. MPI_Finalize waits for the
 * other processes: not for one that is gone, nor longer than for a rank of a mesh. */
#include "mesh/process.h"

#include "mesh/mpi/mpi_internal.h"

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PERIOD_MS = 200, GONE_MS = 3000, END_CODE = 70 };
/* In tenths of a second: how long other processes need to end a job, and most of a time
 * without limit. */
enum { KEEP = 30, MOST_KEEP = 36000 };

static pid_t initialised_by;                     /* 0: not by this library */
static int64_t timeout_ms = 300000;              /* negative: no limit */
static pithp_process peers[PITH_MPI_MOST_PEERS]; /* of this node, its own among them */
static int peer_count, own_rank = -1;

/* ---- The end ---- */

/* The peers of which a number is known here. */
static void keep_for_peers(int tenths) {
    const pithp_process own = pithp_process_own();
    int64_t others[PITH_MPI_MOST_PEERS];
    int count = 0;
    for (int i = 0; i < peer_count; i++)
        if (peers[i].number != own.number && peers[i].space == own.space)
            others[count++] = peers[i].number;
    pith_mpi_keeper_keep(count ? tenths : KEEP, count, others);
}

void pith_mpi_end_within(int64_t timeout_ns) {
    timeout_ms = timeout_ns < 0 ? -1 : timeout_ns / 1000000;
    const int64_t most = timeout_ms < 0 ? MOST_KEEP : KEEP + timeout_ms / 100;
    if (initialised_by) /* peers may be in user code until they wait in MPI_Finalize */
        keep_for_peers(most < MOST_KEEP ? (int)most : MOST_KEEP);
    else /* the program finalises MPI */
        pith_mpi_keeper_stop();
}

pith_status
pith_mpi_know_peers(MPI_Comm node, int ranks, int rank, pithp_transport_trouble *t) {
    const pithp_process own = pithp_process_own();
    pith_status rc = PITH_OK;
    peer_count = 0;
    own_rank = rank;
    if (ranks > PITH_MPI_MOST_PEERS) /* of which the launcher tells */
        return PITH_OK;
    CHECK(MPI_Allgather(&own, sizeof own, MPI_BYTE, peers, sizeof own, MPI_BYTE, node));
    peer_count = ranks;
    keep_for_peers(KEEP);
out:
    return rc;
}

/* Descriptors of the peers. Whether one has ended before. */
static bool open_peers(struct pollfd *p) {
    bool gone = false;
    for (int i = 0; i < peer_count; i++) {
        p[i] = (struct pollfd){pithp_process_open(peers[i]), POLLIN, 0};
        gone |= p[i].fd == PITHP_PROCESS_ENDED;
    }
    return gone;
}

/* A process ends after its own MPI_Finalize, so that this one follows soon. Otherwise it
 * has left it out. */
static void *give_up_waiting(void *closure) {
    static struct pollfd processes[PITH_MPI_MOST_PEERS];
    bool gone = open_peers(processes);
    int64_t waited = 0, since = 0;
    (void)closure;
    while ((timeout_ms < 0 || waited < timeout_ms) && since < GONE_MS) {
        poll(NULL, 0, PERIOD_MS);
        gone = gone || poll(processes, (nfds_t)peer_count, 0) > 0;
        waited += PERIOD_MS;
        since += gone ? PERIOD_MS : 0;
    }
    char line[120];
    const int n = snprintf(
        line, sizeof line,
        "pith: rank %d: MPI_Finalize waits for a process of this job %s %lld s\n",
        own_rank, since >= GONE_MS ? "that is gone for" : "for longer than",
        (long long)((since >= GONE_MS ? since : waited) / 1000));
    if (write(STDERR_FILENO, line, (size_t)n) >= 0)
        poll(NULL, 0, PERIOD_MS); /* those of the others, which this exit ends */
    pith_mpi_keeper_stop();
    _exit(END_CODE);
}

static void finalize(void) {
    int finalized = 0;
    pthread_t thread;
    if (initialised_by != getpid() || MPI_Finalized(&finalized) != MPI_SUCCESS ||
        finalized)
        return;
    if (pthread_create(&thread, NULL, give_up_waiting, NULL) == 0)
        pthread_detach(thread);
    MPI_Finalize();
    pith_mpi_keeper_stop();
}

/* ---- The start ---- */

pith_status pith_mpi_begin(const char *hydra, pithp_transport_trouble *t) {
    int initialised = 0, finalized = 0, level = MPI_THREAD_SINGLE;
    pith_status rc = PITH_OK;
    CHECK(MPI_Initialized(&initialised));
    CHECK(MPI_Finalized(&finalized));
    if (finalized)
        return pith_mpi_refuse(t, PITH_E_UNSUPPORTED,
                               "MPI was finalized: it cannot be used again");
    if (hydra)
        pith_mpi_keeper_start(hydra);
    if (!initialised) {
        CHECK(MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level));
        initialised_by = getpid();
        atexit(finalize);
    }
    CHECK(MPI_Query_thread(&level));
    if (level < MPI_THREAD_SERIALIZED && initialised_by)
        return pith_mpi_refuse(t, PITH_E_UNSUPPORTED,
                               "MPI does not provide MPI_THREAD_SERIALIZED");
out:
    return rc;
}
