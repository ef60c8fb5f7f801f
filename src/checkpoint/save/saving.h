/* From arrays to files: content, what an older member holds already, and the saving
 * itself. */
#ifndef PITHP_CHECKPOINT_SAVING_H
#define PITHP_CHECKPOINT_SAVING_H

#include "checkpoint/store/file.h"

/* ---- Incremental saving (incremental.c) ---- */

/* Let leaves of d that the newest member of a series holds as they are stay in its
 * sidecars, of which d gets rows; the other leaves of sidecars are left for the row
 * behind these. All that are to go to a sidecar have the name of their tensor. check:
 * leaves are read there and held against their checksums. */
pith_status pithp_incremental_reuse(pith_scope *s,
                                    pithp_document *d,
                                    const pith_array *const *arrays,
                                    const pithp_location *series,
                                    bool check,
                                    void *staging);

/* ---- Saving (saving.c, background.c) ---- */

/* A tree that was captured, to be written. The scope carries what fails. */
typedef struct pithp_saving pithp_saving;
/* Fills the rows of a document from a source, and lists the arrays of its leaves; the
 * list lives with the document. pithp_capture is one, of trees. */
typedef pith_status pithp_capture_function(pith_scope *s,
                                           const void *source,
                                           pithp_document *d,
                                           const pith_array ***arrays);
/* NULL: the scope's error is set. The source has to live until the end. */
pithp_saving *pithp_saving_begin(pith_scope *s,
                                 pithp_capture_function *capture,
                                 const void *source,
                                 const char *path,
                                 const pith_save_options *options);
/* PITH_E_ARG if the options are invalid (probe.c). */
pith_status pithp_save_options_check(pith_scope *s,
                                     const char *function,
                                     const char *path,
                                     const pith_save_options *o);
/* The same, and the error that a temporary file cannot be made in the folder of `path`.
 * For programs that save much later. */
pith_status pithp_save_probe(pith_scope *s,
                             const char *function,
                             const char *path,
                             const pith_save_options *options);
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
