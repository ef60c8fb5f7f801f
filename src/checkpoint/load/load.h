/* Loading trees: a checkpoint by its path, or the newest member of a series. */
#ifndef PITHP_CHECKPOINT_LOAD_H
#define PITHP_CHECKPOINT_LOAD_H

#include "checkpoint/store/open.h"

/* As pith_load_any of checked arguments; NULL on failure. Sets the step that the
 * checkpoint states (load.c). */
const void *pithp_load_step(pith_scope *s,
                            const pith_type *type,
                            const char *path,
                            const pith_load_options *options,
                            int64_t *step);
/* Sees an open checkpoint; leaves an error in s where it could not be read. */
typedef void pithp_series_visit(pith_scope *s, pith_checkpoint *c, void *closure);
/* Let the newest member be visited, and, as long as the error is that what was visited is
 * damaged, the one before it. What was passed over is told and logged. */
void pithp_series_newest(pith_scope *s,
                         const char *path,
                         const pith_load_options *options,
                         pithp_series_visit *visit,
                         void *closure);

/* Checkpoints of a name: members of a series, and a single document. */
typedef struct pithp_present {
    bool series, single;
} pithp_present;
pith_status
pithp_checkpoint_present(pith_scope *s, const char *path, pithp_present *present);

#endif
