/* All internal headers of checkpoint, for rooms above it and for tests. Its folders are
 * floors, lowest first; an include never leads to a higher one:
 *
 *     document/  tables in memory, their text, capture of trees, comparison with types
 *     store/     files, folders, series, sidecars, open checkpoints and their leaves
 *     save/      commit of a save, incremental and background saves
 *     migrate/   renames, upgrades, missing and extra fields
 *     load/      trees from checkpoints, and inspection without C types */
#ifndef PITH_CHECKPOINT_INTERNAL_H
#define PITH_CHECKPOINT_INTERNAL_H

#include "checkpoint/document/capture.h"
#include "checkpoint/document/compare.h"
#include "checkpoint/document/document.h"
#include "checkpoint/load/load.h"
#include "checkpoint/save/saving.h"
#include "checkpoint/store/array_digest.h"
#include "checkpoint/store/file.h"
#include "checkpoint/store/open.h"
#include "checkpoint/store/sidecar.h"

#endif
