/* Loading trees: a checkpoint by its path, or the newest valid member of a series. */
#ifndef PITHP_CHECKPOINT_LOAD_H
#define PITHP_CHECKPOINT_LOAD_H

#include "checkpoint/store/open.h"

/* pith_load_any after argument checks; NULL on failure. Also returns the step stored in
 * the checkpoint (load.c). */
const void *pithp_load_step(pith_scope *s,
                            const pith_type *type,
                            const char *path,
                            const pith_load_options *options,
                            int64_t *step);
/* ---- Checkpoints of many ranks (sharded.c) ---- */

/* The tree of a checkpoint with this rank's shards in place of parted leaves. root: the
 * tree with their shapes; arrays: its leaves by row. NULL: the error is set. */
const void *pithp_load_shards(pith_scope *s,
                              const pith_checkpoint *c,
                              const pith_array *const *arrays,
                              const void *root);
/* Whether an error is that of a damaged or unreadable file. */
bool pithp_is_damage(pith_status code);
/* Compare with the other ranks what was loaded, and whether all have done it. agreed: a
 * scope in s that was opened before and has not failed. True: the load has failed because
 * some ranks found damage, and for no other reason. */
bool pithp_load_agree(pith_scope *s, pith_scope *agreed, const pith_checkpoint *c);

/* Visits an open checkpoint. Sets the error of s if it could not be read, and returns
 * whether that is damage: on all ranks that visit it together. */
typedef bool pithp_series_visit(pith_scope *s, pith_checkpoint *c, void *closure);
/* Visit the newest member. If the error is damage, visit the previous member, and so on.
 * Each skipped member is reported to the caller's hook and logged. */
void pithp_series_newest(pith_scope *s,
                         const char *path,
                         const pith_load_options *options,
                         pithp_series_visit *visit,
                         void *closure);

/* Checkpoints with a given name: a series, a single document, or both. */
typedef struct pithp_present {
    bool series, single;
} pithp_present;
pith_status
pithp_checkpoint_present(pith_scope *s, const char *path, pithp_present *present);

#endif
