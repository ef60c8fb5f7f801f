/* Within checkpoint: the state of a save. */
#ifndef PITH_SAVE_INTERNAL_H
#define PITH_SAVE_INTERNAL_H

#include "checkpoint/save/saving.h"
#include "checkpoint/store/sidecar.h"

#include <pthread.h>

struct pithp_saving {
    pith_scope *s;
    pith_save_options options; /* the metadata is stored in the document */
    pithp_location location;
    pithp_document d;
    const pith_array **arrays; /* by leaf; NULL: the stream has its elements */
    pithp_leaf_stream *stream;
    void *source;
    pithp_writer sidecar, document;
    const pithp_doc_sidecar *fresh; /* the sidecar that this save writes; NULL: none */
    int64_t *order;                 /* its leaves, in the order of their data */
    int64_t order_count;
    pithp_string header;
    void *staging; /* NULL: the device's memory is readable by the host */
    pithp_compressor compressor;
    bool lost;    /* another writer removed a sidecar that was to be shared */
    bool is_part; /* of a checkpoint of many ranks */
    struct pithp_parted_job *job; /* of a part of several ranks; NULL: of one */
    int packed;       /* of such a part: the file with compressed shards; -1: none */
    off_t records_at; /* of such a part: where the records of its ranks begin */
};

/* Pass on all elements of a leaf, or at least its first chunk (only_first). */
pith_status pithp_saving_elements(pithp_saving *v,
                                  int64_t leaf,
                                  bool only_first,
                                  pithp_chunk_sink sink,
                                  void *closure);

/* Write the remaining leaves to a new, unnamed sidecar, and add its row as the last one.
 * v->fresh is NULL if no leaf remains (save_sidecar.c). */
pith_status pithp_saving_write_sidecar(pithp_saving *v);

/* Decide whether a leaf is compressed, by its first chunk, and name its tensor. */
pith_status pithp_saving_try_to_pack(pithp_saving *v, int64_t number);
/* Make the table of frames of a compressed leaf. */
pith_status pithp_saving_frames(pithp_saving *v, pithp_doc_leaf *leaf);
/* Compress a chunk: the frame is v->compressor.compressed until the next call. */
pith_status pithp_saving_frame(pithp_saving *v,
                               pithp_doc_leaf *leaf,
                               int64_t number,
                               const void *chunk,
                               size_t n);

/* A part of several ranks. First each of them compresses its shards, and learns the sizes
 * of those of the others; then it writes its shards at their places. The first one of
 * them waits for the others, and has a complete sidecar then (node_part.c). */
pith_status pithp_node_part_sizes(pithp_saving *v);
pith_status pithp_node_part_write(pithp_saving *v);

/* Start a thread of the runtime that handles no signals. 0, or errno (background.c). */
int pithp_background_thread(pthread_t *thread,
                            void *(*body)(void *closure),
                            void *closure);
/* Keep the job of a save by many ranks until it is settled. NULL: out of memory. */
struct pithp_parted_job **pithp_background_parted(pith_scope *s);
#endif
