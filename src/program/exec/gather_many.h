/* Rows of many small leaves, taken or set at one array of indices in one launch. */
#ifndef PITH_PROGRAM_EXEC_GATHER_MANY_H
#define PITH_PROGRAM_EXEC_GATHER_MANY_H

#include "program/op/rules.h"
#include "program/source/args/library.h"

typedef struct pithp_row_set {
    pith_scope *s;
    pithp_row_leaf *list;
    int64_t count, room;
    int64_t elements, longest; /* of a leaf's result */
} pithp_row_set;

/* room: how many leaves there will be at most. */
pith_status pithp_rows_begin(pith_scope *s, pithp_row_set *r, int64_t room);
/* The place of the next leaf, to be filled but for begin; its result has `elements`. */
pithp_row_leaf *pithp_rows_add(pithp_row_set *r, int64_t elements);
/* Take or set what was added. */
pith_status pithp_rows_run(pithp_row_set *r,
                           const char *name,
                           const void *index,
                           pith_dtype index_dtype,
                           int64_t positions,
                           bool no_negative);
void pithp_rows_end(pithp_row_set *r);

/* The launch of a list that the device can read, for each backend. */
pith_status pithp_emit_rows(const pithp_sink *sink,
                            const char *name,
                            const pithp_cuda_rows_args *args);

#endif
