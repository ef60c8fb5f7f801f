/* Saving: the transaction from arrays to files, and reuse of leaves of older members. */
#ifndef PITHP_CHECKPOINT_SAVING_H
#define PITHP_CHECKPOINT_SAVING_H

#include "checkpoint/store/file.h"

/* ---- Incremental saving (incremental.c) ---- */

/* Reuse unchanged leaves of the newest member of a series: d gets rows for its sidecars.
 * The remaining sidecar leaves belong to the row after these. All sidecar leaves must
 * have tensor names. check: verify reused leaves on disk against their checksums. */
pith_status pithp_incremental_reuse(pith_scope *s,
                                    pithp_document *d,
                                    const pith_array *const *arrays,
                                    const pithp_location *series,
                                    bool check,
                                    void *staging);

/* ---- Saving (saving.c, background.c) ---- */

/* A captured tree to be written. Failures are the scope's error. */
typedef struct pithp_saving pithp_saving;
/* Fills the rows of a document from a source, and lists the arrays of its leaves. The
 * list lives as long as the document. pithp_capture is the one for trees. */
typedef pith_status pithp_capture_function(pith_scope *s,
                                           const void *source,
                                           pithp_document *d,
                                           const pith_array ***arrays);
/* NULL: the scope's error is set. The source must live until the end. */
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
/* The same, and an error if the folder of `path` does not accept a temporary file. For
 * programs that save much later. */
pith_status pithp_save_probe(pith_scope *s,
                             const char *function,
                             const char *path,
                             const pith_save_options *options);
/* Passes on the first bytes of a leaf that is in no array, at most `most`, in pieces of
 * whole chunks (PITHP_CHUNK_BYTES), the last one excepted. */
typedef pith_status pithp_leaf_stream(void *source,
                                      pith_scope *s,
                                      int64_t leaf,
                                      size_t most,
                                      pithp_chunk_sink sink,
                                      void *closure);
/* Let leaves whose array is NULL come from there, once or several times each. */
void pithp_saving_from(pithp_saving *v, pithp_leaf_stream *stream, void *source);
/* Such a stream of the leaves of an open checkpoint, verified if all of a leaf is read
 * (resave.c). */
pith_status pithp_checkpoint_stream(const pith_checkpoint *c,
                                    pith_scope *s,
                                    int64_t leaf,
                                    size_t most,
                                    pithp_chunk_sink sink,
                                    void *closure);
pith_status pithp_saving_write(pithp_saving *v);
/* Remove the parts of the document that a save has replaced, and those of the number of
 * this save (0: it has none) that are not named. */
void pithp_saving_sweep_parts(pithp_saving *v, uint64_t number);
void pithp_saving_end(pithp_saving *v);

/* ---- Sharded trees (sharded.c) ---- */

/* pith_save of such a tree, by all ranks. A failed scope takes part. */
bool pithp_save_sharded(pith_scope *s,
                        const void *tree,
                        const char *path,
                        const pith_save_options *options);

/* Write on a separate thread, after the previous background save has ended. */
pith_status pithp_background_start(pith_scope *s,
                                   const void *tree,
                                   const char *path,
                                   const pith_save_options *options);
/* Make an error of another scope that of s, with its call site. prefix: "" or "context: "
 */
void pithp_saving_take_error(pith_scope *s, const pithp_error *e, const char *prefix);
/* What begins the error of a background save. */
extern const char pithp_in_background[];
/* Wait for the background save, and take over its error. */
pith_status pithp_background_settle(pith_scope *s);
/* The same of a save by many ranks, which all of them call: of the document of that path,
 * or (path NULL) of any. A failed scope takes part. False: the save has failed. */
bool pithp_background_settle_parted(pith_scope *s, const char *path);
/* Wait before a save by this rank alone. PITH_E_ARG if a save of the same document by
 * several ranks is not settled, which one of them cannot do. */
pith_status pithp_background_settle_before(pith_scope *s, const char *path);
/* Whether a save by many ranks is not settled; equal on all of them. */
bool pithp_background_is_parted(pith_scope *s);

#endif
