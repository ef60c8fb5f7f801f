/* Moves of the fake of NCCL, between its calls (fake_nccl.c) and its device
 * (fake_nccl_move.c). */
#ifndef PITH_TESTS_FAKE_NCCL_MOVE_H
#define PITH_TESTS_FAKE_NCCL_MOVE_H

#include "fake_cuda.h"
#include "fake_nccl.h"
#include "gpu/cuda/nccl.h"

#include <pthread.h>

enum { MOST_RANKS = 8, MOST_PARTS = 32 * MOST_RANKS };

typedef enum move_kind { REDUCE, GATHER, BROADCAST, GROUP } move_kind;

/* A message of a group, and a list of those that wait for the other rank. */
typedef struct part {
    bool sends;
    int peer;
    size_t bytes;
    void *data;
    struct move *in;
    struct part *next;
} part;

/* A move as one rank asks for it: the closure of its work. */
typedef struct move {
    pithp_nccl_comm comm;
    move_kind kind;
    bool captured, arrived;
    int left; /* what it waits for: messages, or 1 */
    int dtype, operation, root, part_count;
    size_t count;
    const void *from;
    void *to;
    part parts[MOST_PARTS];
} move;

/* A move that all ranks make. */
typedef struct meeting {
    struct meeting *next;
    uint64_t number;
    int arrived;
    move *of[MOST_RANKS];
} meeting;

typedef struct group {
    pithp_nccl_id id;
    int size, joined;
    bool broken;
    pithp_nccl_comm ranks[MOST_RANKS];
    meeting *meetings;
    part *waits[MOST_RANKS][MOST_RANKS]; /* from, to: of the rank that came first */
} group;

struct pithp_nccl_comm_of_library {
    group *of;
    int rank, polls;
    bool aborted, finalised, hangs;
    uint64_t ran; /* moves of all ranks */
    int held;     /* by nodes of graphs */
    int waiting;  /* moves that have come to their turn, and wait for other ranks */
    cudaStream_t behind; /* of a move that has not settled */
    void *context;
    pthread_t owner; /* the thread of the rank */
    pithp_nccl_comm next;
};

extern pithp_nccl_comm fake_nccl_comms; /* that live */

size_t fake_nccl_size_of(int dtype);
/* The piece of a queue that is left when a move has met the other ranks: nothing. */
bool fake_nccl_end(const char *call, void *closure);

#endif
