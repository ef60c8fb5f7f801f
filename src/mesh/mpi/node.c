/* Ranks of a link that share a node meet in its memory: short messages need no call of
 * MPI, and none of its rounds, of which each waits until other ranks make progress.
 *
 * Each rank writes its message and the number of the meeting to memory of its own, and
 * reads those of the others. A rank writes the message of meeting n + 2 to the place of n
 * only after all have written n + 1, and so have read n. */
#include "mesh/mpi/mpi_internal.h"

#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    LINE = 64,              /* bytes of a cache line */
    LOOKS = 256,            /* at memory, between calls of MPI for progress */
    PATIENCE = 100 * LOOKS, /* 40 us or so, before a rank yields a core of its own: then
                               it may wait for milliseconds until it goes on */
    YIELDS = 4,             /* before a rank sleeps, if there are more ranks than cores */
    SLEEP_NS = 1000000,     /* at most, between calls of MPI for progress */
};

/* The number of a meeting that this rank has come to, and its message, of which a few
 * bytes are in the same cache line. */
typedef struct call {
    _Alignas(LINE) _Atomic uint64_t number;
    unsigned char message[PITH_MPI_SHORT];
} call;

struct pith_mpi_place {
    call calls[2]; /* of even and odd meetings */
    /* Of the first rank's: all ranks count in the first, and sleep at the second. */
    _Alignas(LINE) _Atomic uint64_t come;
    _Alignas(LINE) _Atomic uint32_t met;
};

size_t pith_mpi_place_bytes(void) {
    return sizeof(struct pith_mpi_place);
}

/* ---- Shared memory ---- */

/* The next cache line, which no other rank writes: MPI aligns to less. Processes map the
 * pages of a window, so all of them find the same place. */
static void *next_line(void *p) {
    return (char *)p + (LINE - (uintptr_t)p % LINE) % LINE;
}

void **
pith_mpi_share(MPI_Comm node, int ranks, size_t bytes, size_t zeros, MPI_Win *window) {
    void *own = NULL, **shared = calloc((size_t)ranks, sizeof *shared);
    bytes = (bytes + LINE - 1) / LINE * LINE + LINE;
    zeros += LINE; /* wherever its first line is */
    const int rc =
        MPI_Win_allocate_shared((MPI_Aint)bytes, 1, MPI_INFO_NULL, node, &own, window);
    int good = rc == MPI_SUCCESS && shared, all = 0;
    if (rc != MPI_SUCCESS)
        *window = MPI_WIN_NULL;
    if (good)
        memset(own, 0, zeros);
    for (int i = 0; good && i < ranks; i++) {
        MPI_Aint size = 0;
        int unit = 0;
        good = MPI_Win_shared_query(*window, i, &size, &unit, &shared[i]) == MPI_SUCCESS;
        shared[i] = good ? next_line(shared[i]) : NULL;
    }
    /* also: all memory is zeroed before any rank writes to its own */
    if (MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, node) != MPI_SUCCESS || !all) {
        free(shared);
        shared = NULL;
    }
    return shared;
}

/* ---- Meetings ---- */

/* Messages of MPI that other ranks wait for may need calls of this one. */
static void progress(const pithp_transport_link *l) {
    int found = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, PITH_MPI_NO_TAG, l->comm, &found, MPI_STATUS_IGNORE);
}

/* A core for each rank: wait for each of the others by looking at its number. */
static void look_for_all(const pithp_transport_link *l, uint64_t number) {
    for (int i = 0; i < l->size; i++) {
        const call *other = &l->places[i]->calls[number % 2];
        for (int looks = 1;
             atomic_load_explicit(&other->number, memory_order_acquire) != number;
             looks++)
            if (looks % LOOKS == 0) {
                progress(l);
                if (looks % PATIENCE == 0)
                    sched_yield(); /* the machine may have other work */
            }
    }
}

static void sleep_at(_Atomic uint32_t *met, uint32_t before) {
    const struct timespec most = {.tv_nsec = SLEEP_NS};
    syscall(SYS_futex, met, FUTEX_WAIT, before, &most, NULL, 0);
}

/* Few cores: the last rank that comes wakes the others. */
static void sleep_until_all(const pithp_transport_link *l, uint64_t number) {
    _Atomic uint32_t *met = &l->places[0]->met;
    const uint32_t now = (uint32_t)number;
    if (atomic_fetch_add(&l->places[0]->come, 1) + 1 == number * (uint64_t)l->size) {
        atomic_store(met, now);
        syscall(SYS_futex, met, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
        return;
    }
    for (int waits = 0; atomic_load(met) != now; waits++) {
        if (waits < YIELDS) {
            sched_yield();
            continue;
        }
        sleep_at(met, now - 1);
        progress(l);
    }
}

void pith_mpi_meet(pithp_transport_link *l, const void *message, size_t bytes) {
    const uint64_t number = ++l->meetings;
    call *own = &l->places[l->rank]->calls[number % 2];
    if (bytes)
        memcpy(own->message, message, bytes);
    atomic_store_explicit(&own->number, number, memory_order_release);
    if (l->world->polls)
        sleep_until_all(l, number);
    else
        look_for_all(l, number);
}

const void *pith_mpi_message(const pithp_transport_link *l, int rank) {
    return l->places[rank]->calls[l->meetings % 2].message;
}
