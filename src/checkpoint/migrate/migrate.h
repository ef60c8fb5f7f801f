/* Schema migration: converts a document in memory to the types of the program. */
#ifndef PITHP_CHECKPOINT_MIGRATE_H
#define PITHP_CHECKPOINT_MIGRATE_H

#include "checkpoint/document/compare.h"

/* Apply the options of pith_load and the upgrade hooks of types to the document.
 * Intermediate objects live in `scope`, which the caller opened in r->s. */
pith_status pithp_migrate(pith_scope *scope,
                          pith_checkpoint *c,
                          const pith_type *type,
                          pithp_mismatches *r);

#endif
