/* MPI_Init and MPI_Finalize, which run once in a process: a runtime that closes leaves
 * MPI initialised for the next one, until the process exits. MPI_Finalize waits for the
 * other processes: not for one that is gone, nor longer than for a rank of a mesh. */
#include "mesh/mpi/mpi_internal.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PERIOD_MS = 200, GONE_MS = 5000, END_CODE = 70, MOST_PEERS = 1024 };

static pid_t initialised_by;        /* 0: not by this library */
static int64_t timeout_ms = 300000; /* negative: no limit */
static int peers[MOST_PEERS];       /* process numbers on this node, its own among them */
static int peer_count;

/* ---- The end ---- */

void pith_mpi_end_within(int64_t timeout_ns) {
    timeout_ms = timeout_ns < 0 ? -1 : timeout_ns / 1000000;
}

pith_status pith_mpi_know_peers(MPI_Comm node, int ranks, pithp_transport_trouble *t) {
    const int own = (int)getpid();
    pith_status rc = PITH_OK;
    peer_count = 0;
    if (ranks > MOST_PEERS) /* of which the launcher tells */
        return PITH_OK;
    CHECK(MPI_Allgather(&own, 1, MPI_INT, peers, 1, MPI_INT, node));
    peer_count = ranks;
out:
    return rc;
}

/* Replace the process numbers of the peers by descriptors that become readable when they
 * end. Whether one has ended before. */
static bool open_peers(void) {
    bool gone = false;
#ifdef SYS_pidfd_open
    for (int i = 0; i < peer_count; i++) {
        peers[i] = (int)syscall(SYS_pidfd_open, (pid_t)peers[i], 0);
        gone |= peers[i] < 0 && errno == ESRCH;
    }
#else
    peer_count = 0;
#endif
    return gone;
}

static bool has_lost_peer(void) {
    for (int i = 0; i < peer_count; i++) {
        struct pollfd p = {.fd = peers[i], .events = POLLIN};
        if (peers[i] >= 0 && poll(&p, 1, 0) > 0)
            return true;
    }
    return false;
}

/* A process ends after its own MPI_Finalize, so that this one follows soon. Otherwise it
 * has left it out. */
static void *give_up_waiting(void *closure) {
    bool gone = open_peers();
    int64_t waited = 0, since = 0;
    (void)closure;
    while ((timeout_ms < 0 || waited < timeout_ms) && since < GONE_MS) {
        poll(NULL, 0, PERIOD_MS);
        gone = gone || has_lost_peer();
        waited += PERIOD_MS;
        since += gone ? PERIOD_MS : 0;
    }
    char line[120];
    const int n =
        snprintf(line, sizeof line,
                 "pith: MPI_Finalize waits for a process of this job %s %lld s\n",
                 since >= GONE_MS ? "that is gone for" : "for longer than",
                 (long long)((since >= GONE_MS ? since : waited) / 1000));
    if (write(STDERR_FILENO, line, (size_t)n) >= 0)
        _exit(END_CODE);
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
}

/* ---- The start ---- */

pith_status pith_mpi_begin(pithp_transport_trouble *t) {
    int initialised = 0, finalized = 0, level = MPI_THREAD_SINGLE;
    pith_status rc = PITH_OK;
    CHECK(MPI_Initialized(&initialised));
    CHECK(MPI_Finalized(&finalized));
    if (finalized)
        return pith_mpi_refuse(t, PITH_E_UNSUPPORTED,
                               "MPI was finalized: it cannot be used again");
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
