/* Open checkpoints, and reading leaves from them (open.c). */
#ifndef PITHP_CHECKPOINT_OPEN_H
#define PITHP_CHECKPOINT_OPEN_H

#include "checkpoint/store/array_digest.h"
#include "checkpoint/store/file.h"
#include "checkpoint/store/sidecar.h"

/* A sidecar of an open checkpoint, or the reason why it cannot be read. */
typedef struct pithp_open_sidecar {
    int file;            /* descriptor; -1: not open */
    pith_status trouble; /* PITH_OK: readable */
    char text[512];
    int64_t leaf_count; /* leaves of the checkpoint in this sidecar */
    size_t leaf_bytes;  /* their bytes in the sidecar */
} pithp_open_sidecar;

struct pith_checkpoint {
    pithp_document document;
    pith_checkpoint_info info;
    pithp_hold *hold; /* of the owning scope */
    pithp_open_sidecar sidecars[PITHP_SIDECARS];
    int64_t *order; /* leaves in sidecars, by sidecar and offset */
    int64_t order_count;
    pithp_decompressor *decompressor; /* NULL: no leaf is compressed */
    int folder;                       /* of the parts; -1: there are none */
    struct pith_checkpoint **parts;   /* by rank; NULL: not open */
    int64_t *open_parts, open_count;  /* the ranks whose parts are, the oldest first */
    char shown[256];                  /* path as the user gave it, truncated */
};

/* ---- Where the elements of a parted leaf lie (placement.c) ---- */

typedef struct pithp_parted {
    const pithp_doc_leaf *leaf;
    int64_t pieces[PITH_MAX_RANK]; /* along each axis */
    const int64_t *counts;         /* rows in use by piece of axis 0; NULL: all */
} pithp_parted;

/* Check what the document says. */
pith_status pithp_parted_find(pith_scope *s,
                              const pith_checkpoint *c,
                              const pithp_doc_leaf *leaf,
                              pithp_parted *x);
/* The ranks along the axes of a list; 0: an axis that the mesh did not have. */
int64_t pithp_document_ranks_along(const pithp_document *d, const char *list);
/* The first rank that has the piece with these numbers along the axes of a leaf: 0 along
 * the axes of the mesh that the leaf does not name. */
int64_t pithp_parted_rank(const pithp_document *d,
                          const pithp_doc_leaf *leaf,
                          const int64_t *numbers);
/* The numbers of the piece that a rank has. False: it is not the first one with it. */
bool pithp_parted_numbers(const pithp_document *d,
                          const pithp_doc_leaf *leaf,
                          int64_t rank,
                          int64_t numbers[PITH_MAX_RANK]);

/* ---- Parts (parts.c) ---- */

/* The piece of a leaf that has these numbers along its axes: an open part and the row of
 * the leaf there, verified. NULL: the error is set, and names the part. */
const pith_checkpoint *pithp_parted_piece(pith_scope *s,
                                          const pith_checkpoint *c,
                                          const pithp_parted *x,
                                          const int64_t *numbers,
                                          int64_t *row);
/* Whether the pieces of a leaf, or the first one, are there in the shape that the
 * document states; without reading elements. Call it before allocation. */
pith_status pithp_parted_check(pith_scope *s,
                               const pith_checkpoint *c,
                               const pithp_doc_leaf *leaf,
                               bool all);
/* Bytes of a parted leaf as if it were whole. */
pith_status pithp_parted_read(pith_scope *s,
                              const pith_checkpoint *c,
                              const pithp_doc_leaf *leaf,
                              size_t offset,
                              void *to,
                              size_t n);
/* Whether the pieces of a leaf lie behind each other in the whole. Then it can be read in
 * one pass that verifies them: to `to` if it is not NULL, and to the sink if that is
 * not. */
bool pithp_parted_is_joined(const pithp_doc_leaf *leaf);
pith_status pithp_parted_stream(pith_scope *s,
                                const pith_checkpoint *c,
                                const pithp_doc_leaf *leaf,
                                void *to,
                                pithp_chunk_sink sink,
                                void *closure);
void pithp_parts_close(pith_runtime *rt, pith_checkpoint *c);
/* Open a checkpoint without an owning scope, and close it. NULL: the error is set. */
pith_checkpoint *pithp_checkpoint_part_open(pith_scope *s,
                                            const pithp_location *location);
void pithp_checkpoint_part_close(pith_runtime *rt, pith_checkpoint *c);

/* Whether a pointer is an open checkpoint; safe for any. */
bool pithp_checkpoint_valid(const pith_checkpoint *c);
/* Open a checkpoint, owned by s. NULL: the scope's error is set. */
pith_checkpoint *pithp_checkpoint_open(pith_scope *s, const char *path);
pith_checkpoint *pithp_checkpoint_open_at(pith_scope *s, const pithp_location *location);
/* Parse a document in memory, which has no sidecar. */
pith_checkpoint *pithp_checkpoint_parse(pith_scope *s, const char *text, size_t bytes);
/* Close a checkpoint before its scope closes. */
void pithp_checkpoint_close(pith_scope *s, pith_checkpoint *c);
/* PITH_OK, or the scope's error is the reason why a leaf (NULL: any of them) cannot be
 * read. Call it before allocation: the leaf's size is only a claim of the document. */
pith_status pithp_checkpoint_trouble(pith_scope *s,
                                     const pith_checkpoint *c,
                                     const pithp_doc_leaf *leaf);
/* Read bytes of a leaf without verifying the checksum. */
pith_status pithp_leaf_read_bytes(pith_scope *s,
                                  const pith_checkpoint *c,
                                  const pithp_doc_leaf *leaf,
                                  size_t offset,
                                  void *to,
                                  size_t n);
/* The first element of a bool leaf that is neither 0 nor 1 (bools.c). */
typedef struct pithp_stray_bool {
    bool found;
    uint8_t byte;
    size_t element;
} pithp_stray_bool;
/* Search n elements that start at `offset`. */
void pithp_stray_bool_find(pithp_stray_bool *stray,
                           const void *elements,
                           size_t offset,
                           size_t n);
/* PITH_E_FORMAT with the path if one was found. */
pith_status pithp_stray_bool_refuse(pith_scope *s,
                                    const pithp_document *d,
                                    const pithp_doc_leaf *leaf,
                                    const pithp_stray_bool *stray);
/* Search and refuse, for a leaf of any dtype. */
pith_status pithp_leaf_check_bools(pith_scope *s,
                                   const pith_checkpoint *c,
                                   const pithp_doc_leaf *leaf,
                                   size_t offset,
                                   const void *elements,
                                   size_t n);
/* Fill an array with a verified leaf. staging: PITHP_CHUNK_BYTES; NULL if the host can
 * write the device's memory (read_leaf.c). */
pith_status pithp_leaf_fill(pith_scope *s,
                            const pith_checkpoint *c,
                            int64_t leaf,
                            const pith_array *array,
                            void *staging);
/* A verified leaf as an array of s. NULL: the scope's error is set (read_leaf.c). */
const pith_array *pithp_leaf_load(pith_scope *s, const pith_checkpoint *c, int64_t leaf);
/* Read a leaf and verify its checksum. The leaf goes to `to`, or if that is NULL, piece
 * by piece through `staging` of PITHP_CHUNK_BYTES. A non-NULL `sink` receives every
 * piece. */
pith_status pithp_leaf_read(pith_scope *s,
                            const pith_checkpoint *c,
                            int64_t leaf,
                            void *to,
                            void *staging,
                            pithp_chunk_sink sink,
                            void *closure);

#endif
