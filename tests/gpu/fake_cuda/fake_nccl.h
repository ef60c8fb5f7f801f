/* A stand-in for NCCL, over ranks as threads with streams of the fake device. Calls that
 * NCCL forbids, and ranks that do different things, end the program with a message:
 * another order, other arguments, a capture on one rank only, a blocking communicator,
 * an id that no rank made, a call before the one before it has settled, any use after an
 * abort, and the end of a communicator whose moves a graph still holds; work on a stream
 * behind a move that has not settled, moves of two communicators of a rank at once,
 * streams of another device, groups within groups. */
#ifndef PITH_TESTS_FAKE_NCCL_H
#define PITH_TESTS_FAKE_NCCL_H

#include <stdbool.h>

typedef struct fake_nccl_state {
    bool absent;        /* there is none to open */
    bool queues;        /* messages of a group answer that they are in progress */
    int pending;        /* polls after which a call has settled; 0: 2 */
    int communicators;  /* alive */
    int aborted;        /* so far */
    long long moves;    /* enqueued, by calls or launches of graphs, of all ranks */
    long long captured; /* that became nodes of graphs */
    long long messages; /* that were sent to one rank each */
    /* What befalls a rank, a number within its communicator: */
    int fail_rank;         /* whose next call fails: see fail_call */
    const char *fail_call; /* "CommInitRankConfig"; NULL: none does. Cleared by it */
    int fail_after;        /* such calls of the rank pass before */
    bool hangs;            /* it does not fail, but never settles */
    int lost_rank;         /* whose communicators tell of an error in the background */
    bool loses;
} fake_nccl_state;
extern fake_nccl_state fake_nccl;

/* The version that the calling thread opens; 0: 2.27.3. */
extern _Thread_local int fake_nccl_version;

#endif
