/* Trees to the rows of a document. */
#ifndef PITHP_CHECKPOINT_CAPTURE_H
#define PITHP_CHECKPOINT_CAPTURE_H

#include "checkpoint/document/document.h"

/* The rows of a tree, with the arrays of its leaves; the list lives with the document. */
pith_status pithp_capture(pith_scope *s,
                          const void *tree,
                          pithp_document *d,
                          const pith_array ***arrays);

/* A static of a frozen record; the row of a static record is not known yet. */
pith_status pithp_capture_static(pith_scope *s,
                                 const pith_field *field,
                                 const char *record,
                                 pith_checkpoint_static *value);

#endif
