/* Schema migration: a document in memory is changed into what the program expects. */
#ifndef PITHP_CHECKPOINT_MIGRATE_H
#define PITHP_CHECKPOINT_MIGRATE_H

#include "checkpoint/document/compare.h"

/* Apply the options of pith_load and the upgrade hooks of types to the document. What is
 * made on the way lives in `scope`, which the caller opened in r->s for it. */
pith_status pithp_migrate(pith_scope *scope,
                          pith_checkpoint *c,
                          const pith_type *type,
                          pithp_mismatches *r);

#endif
