/* Messages between two ranks of a node, in memory that the node shares: without MPI, so
 * that tests have threads as ranks. */
#ifndef PITH_MESH_MPI_MAILBOX_H
#define PITH_MESH_MPI_MAILBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of one rank. */
typedef struct pith_mpi_mailboxes {
    int ranks, own; /* of the node; own: the number of this one */
    size_t most;    /* bytes of a message that travels in a mailbox */
    void **memory;  /* of each rank, at the start of a cache line */
    bool sleeps;    /* waits give way to other processes */
    /* Messages of an engine that other ranks wait for may need calls of this one. */
    void (*progress)(void *closure);
    void *closure;
} pith_mpi_mailboxes;

/* The greatest message that travels in a mailbox, on a node of some ranks; 0: they
 * have too little memory. */
size_t pith_mpi_mailbox_most(int ranks);
/* Memory of each rank, and the bytes at its start that are zeros before any rank writes.
 */
size_t pith_mpi_mailbox_bytes(int ranks);
size_t pith_mpi_mailbox_zeros(int ranks);

/* A message to a rank of the node, or from one. If it is longer than `most`, its length
 * alone goes through the mailbox. */
typedef struct pith_mpi_letter {
    int rank; /* of the node; negative: of another node, and left alone here */
    void *data;
    size_t bytes;
    uint64_t number; /* among those of both ranks in this direction */
} pith_mpi_letter;

/* Messages that are under way together. Those to one rank arrive in their order. */
typedef struct pith_mpi_mail {
    uint32_t link; /* through which they go, the same number on all ranks */
    bool engine;   /* there are messages of the engine, too, which need progress */
    int sends, receives;
    pith_mpi_letter *send, *receive;
    int sent, received; /* of them, from the first one on */
} pith_mpi_mail;

/* What has come in place of an expected message. */
typedef struct pith_mpi_wrong_mail {
    int letter; /* which of `receive` */
    uint64_t bytes;
    bool link; /* of another link */
} pith_mpi_wrong_mail;

/* Send what there is room for. */
void pith_mpi_mail_begin(pith_mpi_mailboxes *m, pith_mpi_mail *x);
/* Wait for the rest. false: *wrong says what has come. */
bool pith_mpi_mail_end(pith_mpi_mailboxes *m,
                       pith_mpi_mail *x,
                       pith_mpi_wrong_mail *wrong);

#endif
