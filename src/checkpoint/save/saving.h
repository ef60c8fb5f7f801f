/* From arrays to files: content, what an older member holds already, and the saving
 * itself. */
#ifndef PITHP_CHECKPOINT_SAVING_H
#define PITHP_CHECKPOINT_SAVING_H

#include "checkpoint/store/file.h"

/* ---- Content of arrays (content.c) ---- */

/* Receives a leaf piece by piece; pieces are whole elements. */
typedef pith_status (*pithp_leaf_sink)(void *closure,
                                       const void *bytes,
                                       size_t offset,
                                       size_t n);
/* All of an array, piece by piece through `staging`, which has room for a piece; NULL
 * where the device's memory can be read as it is. */
pith_status pithp_content_pieces(pith_scope *s,
                                 const pith_array *a,
                                 void *staging,
                                 size_t piece_bytes,
                                 pithp_leaf_sink sink,
                                 void *closure);
/* Digest of an array's elements; staging: PITHP_STAGING_BYTES, or NULL as above. */
pith_status pithp_content_digest(pith_scope *s,
                                 const pith_array *a,
                                 void *staging,
                                 pithp_digest *digest);
/* So that it is not computed again. */
void pithp_content_remember(const pith_array *a, pithp_digest digest);
/* Whether the digest is remembered: the array was saved or loaded before. */
bool pithp_content_is_known(const pith_array *a);

/* ---- Incremental saving (share.c) ---- */

/* Let leaves of d that the newest member of a series holds as they are stay in its
 * sidecars, of which d gets rows; the other leaves of sidecars are left for the row
 * behind these. All that are to go to a sidecar have the name of their tensor. check:
 * leaves are read there and held against their checksums. */
pith_status pithp_share(pith_scope *s,
                        pithp_document *d,
                        const pith_array *const *arrays,
                        const pithp_place *series,
                        bool check,
                        void *staging);

/* ---- Saving (save.c, background.c) ---- */

/* A tree that was captured, to be written. The scope carries what fails. */
typedef struct pithp_saving pithp_saving;
/* NULL: the scope's error is set. The tree has to live until the end. */
pithp_saving *pithp_saving_begin(pith_scope *s,
                                 const void *tree,
                                 const char *path,
                                 const pith_save_options *options);
/* The structure of a checkpoint with other arrays at its leaves; both have to live until
 * the end. */
typedef struct pithp_rebuilding {
    const pith_checkpoint *checkpoint;
    const pith_array *const *leaves;
} pithp_rebuilding;
pithp_saving *pithp_saving_begin_again(pith_scope *s,
                                       const pithp_rebuilding *from,
                                       const char *path,
                                       const pith_save_options *options);
/* As pithp_capture (rebuild.c). */
pith_status pithp_rebuild(pith_scope *s,
                          const pithp_rebuilding *from,
                          pithp_document *d,
                          const pith_array ***arrays);
/* Whether options and path go together. */
pith_status pithp_saving_check_options(pith_scope *s,
                                       const char *function,
                                       const char *path,
                                       const pith_save_options *o);
pith_status pithp_saving_write(pithp_saving *v);
void pithp_saving_end(pithp_saving *v);

/* Write on a thread of its own; the one before it is waited for. */
pith_status pithp_background_start(pith_scope *s,
                                   const void *tree,
                                   const char *path,
                                   const pith_save_options *options);
/* Wait for what is being written, and take over the failure of what was. */
pith_status pithp_background_settle(pith_scope *s);

#endif
