/* Grouped gather and scatter (multi-tensor): get or set rows of many small leaves at one
 * array of indices in one launch. */
#ifndef PITH_PROGRAM_EXEC_GATHER_MANY_H
#define PITH_PROGRAM_EXEC_GATHER_MANY_H

#include "program/op/rules.h"
#include "program/source/args/library.h"

typedef struct pithp_row_set {
    pith_scope *s;
    pithp_row_leaf *list;
    int64_t count, room;
    int64_t elements, longest; /* elements of all results, and of the longest one */
} pithp_row_set;

/* Begin an empty list. room: maximum number of leaves. */
pith_status pithp_rows_begin(pith_scope *s, pithp_row_set *r, int64_t room);
/* Add a leaf whose result has `elements`. The caller fills in the returned entry, except
 * begin and count. */
pithp_row_leaf *pithp_rows_add(pithp_row_set *r, int64_t elements);
/* Run the gather or scatter of all leaves. */
pith_status pithp_rows_run(pithp_row_set *r,
                           const char *name,
                           const void *index,
                           pith_dtype index_dtype,
                           int64_t positions,
                           bool no_negative);
void pithp_rows_end(pithp_row_set *r);

/* Launch a list in memory that the device can read. */
pith_status pithp_emit_rows(const pithp_sink *sink,
                            const char *name,
                            const pithp_cuda_rows_args *args);

#endif
