/* Capture: converts trees to the rows of a document. */
#ifndef PITHP_CHECKPOINT_CAPTURE_H
#define PITHP_CHECKPOINT_CAPTURE_H

#include "checkpoint/document/document.h"

/* Capture a tree as rows, and list the arrays of its leaves. The list lives as long as
 * the document. */
pith_status pithp_capture(pith_scope *s,
                          const void *tree,
                          pithp_document *d,
                          const pith_array ***arrays);

/* Capture a static of a frozen record. The row of a static record is assigned later. */
pith_status pithp_capture_static(pith_scope *s,
                                 const pith_field *field,
                                 const char *record,
                                 pith_checkpoint_static *value);

#endif
