/* Saves by many ranks: what the ranks tell each other, the job of one rank, and its
 * thread. */
#ifndef PITH_SAVE_PARTED_H
#define PITH_SAVE_PARTED_H

#include "checkpoint/save/save_internal.h"
#include "tree/shard/shard.h"

#include <pthread.h>

enum { PITHP_PARTED_COUNTERS = 16 };

/* What each rank tells the others before anything is written. */
typedef struct pithp_parted_told {
    uint64_t id; /* of the save; that of rank 0 holds */
    int64_t node;
    char host[64];
    int64_t counts[PITHP_PARTED_COUNTERS]; /* rows in use here, by counting leaf */
} pithp_parted_told;

/* A call of pith_save by all ranks. */
typedef struct pithp_parted_call {
    pith_scope *s, *w; /* of the caller; of temporaries, or NULL */
    const char *path;
    const pith_save_options *options;
    pithp_shard_tree t;
    pithp_mesh_group *all;
    int64_t rank, ranks;
    pithp_parted_told own, *everyone; /* by rank */
    int64_t *counter_number;          /* by leaf: which of the counts; -1: none */
    int64_t leader, node_ranks; /* the ranks of this part: one, or those of the node */
} pithp_parted_call;

/* ---- The document (parted_document.c) ---- */

/* The whole tree, in w: its sharded leaves have shapes and no elements, which nothing
 * reads. NULL: the error of w is set. */
const void *pithp_parted_whole(pithp_parted_call *v);
/* Add to the rows of the whole tree what its shards are. */
pith_status pithp_parted_describe(pithp_parted_call *v, pithp_document *d);

/* ---- Files of parts (part_files.c) ---- */

/* A number for a save, which the names of its parts have. */
uint64_t pithp_part_number(void);
/* "melt.0123456789abcdef.r0007of0016.json". False: too long for a file name. */
bool pithp_part_name(const char *document,
                     uint64_t number,
                     int64_t rank,
                     int64_t ranks,
                     char name[256]);
/* The path of a file beside the document, whose path may be a symbolic link. */
const char *pithp_part_path(pith_scope *s, const char *path, const char *file);
/* Read size and checksum of a part. It has its name only when it is durable. 0, errno, or
 * -1: it is not whole. */
int pithp_part_find(int folder, const char *name, pithp_doc_part *row);
/* The same in words, which may be in `room`. */
const char *pithp_part_trouble(int error, char *room, size_t bytes);
/* The checksums of sharded leaves, which are those of the parts. */
void pithp_parts_digest(pithp_document *d);

/* ---- The job of a rank (parted_job.c) ---- */

/* The work after all arrays have been captured: it makes no MPI calls, so that a thread
 * can do it. */
typedef struct pithp_parted_job {
    pith_runtime *rt;
    pith_scope *s;      /* of its own; it holds the arrays, and has the job's error */
    pith_scope *agreed; /* of agreements, which the thread does not touch */
    pithp_saving *part;
    pithp_saving *document;    /* on rank 0; else NULL */
    int64_t rank, ranks, seen; /* seen: the parts that rank 0 has seen */
    int unseen;                /* why it has not seen the next one, as of part_find */
    uint64_t id;
    int64_t leader, node_ranks; /* the ranks of the part */
    int node_file;              /* that they write; -1: it is this rank's own */
    bool per_node;              /* parts of this save are of nodes */
    const pithp_parted_told *everyone;
    char *path;              /* of the document, as the caller gave it */
    pithp_location location; /* of it, or of its series */
    /* A save in the background. Its lock holds for the members below. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    pid_t process;          /* that has the thread; 0: there is none */
    int stages, all_stages; /* of a part of a node: of this rank, and agreed by all */
    bool written;           /* the part, or it has failed */
    bool durable;           /* all parts are, as all ranks have said */
    bool abandoned;         /* a rank has failed */
    pithp_error part_error;
} pithp_parted_job;

/* The first rank of the part of a rank: it is the one before along ranks of a node. */
int64_t
pithp_parted_leader(const pithp_parted_told *everyone, int64_t rank, bool per_node);
/* Capture the part of this rank, and on rank 0 the document. NULL: the error of w. */
pithp_parted_job *pithp_parted_job_begin(pithp_parted_call *v);
void pithp_parted_job_end(pithp_parted_job *j);
/* Make the part of this rank durable. */
pith_status pithp_parted_write_part(pithp_parted_job *j);
/* Rank 0: whether it sees all parts. */
bool pithp_parted_sees_all(pithp_parted_job *j);
/* Rank 0: name all parts. An error if it does not see one. */
pith_status pithp_parted_write_document(pithp_parted_job *j);
/* Rank 0: remove the parts of this and earlier saves that no document names. */
void pithp_parted_sweep(pithp_parted_job *j);

/* ---- One part for the ranks of a node (node_part.c, node_pack.c) ---- */

/* Open the file that the first rank of the node has made. */
pith_status pithp_node_part_open(pithp_parted_job *j, const char *temporary);
/* The rank whose shard a leaf of the part is. */
int64_t pithp_node_part_rank(const pithp_document *d, int64_t leaf);
/* Compress the shards of this rank into a file without a name, in the order of the
 * leaves: v->packed. */
pith_status pithp_node_part_pack(pithp_saving *v);
/* Copy n bytes of a file to a place in another one. */
pith_status
pithp_node_part_copy(pithp_saving *v, int from, off_t at, size_t n, int to, off_t to_at);
pith_status
pithp_node_part_put(pithp_saving *v, int file, const void *bytes, size_t n, off_t at);

/* ---- Ends of jobs (parted_end.c) ---- */

/* What the ranks of a node do one after the other, each when all have done the one
 * before. */
typedef enum pithp_parted_stage {
    PITHP_STAGE_SIZES,  /* the sizes of compressed shards are known */
    PITHP_STAGE_PLACES, /* the shards are in the part */
    PITHP_STAGES
} pithp_parted_stage;
/* This rank has done its next stage, or has failed. False: a rank has failed, and the job
 * is given up. */
bool pithp_parted_stage_done(pithp_parted_job *j, pith_status rc);
/* Wait for other ranks. False: the job is given up. */
bool pithp_parted_pause(pithp_parted_job *j, int ms);

/* Let a thread do the job. Else the error of j->agreed is set. */
pith_status pithp_parted_job_start(pithp_parted_job *j);
/* Do what no thread does, agree on the outcome with the other ranks, and end the job;
 * every rank calls it. Whether the new checkpoint is on the disk; else the error of s is
 * set, or goes to the log hook if s is NULL. */
bool pithp_parted_job_settle(pith_scope *s, pithp_parted_job *j);
/* End a job that not all ranks have begun. */
void pithp_parted_job_abandon(pithp_parted_job *j);

#endif
