/* Grouped gather and scatter (multi-tensor): get or set rows of many small leaves at one
 * array of indices in one launch. */
#ifndef PITH_PROGRAM_EXEC_GATHER_MANY_H
#define PITH_PROGRAM_EXEC_GATHER_MANY_H

#include "program/op/rules.h"
#include "program/source/args/library.h"

typedef struct pithp_gather_many {
    pith_scope *s;
    pithp_gather_leaf *list;
    int64_t count, room;
    int64_t elements, longest; /* elements of all results, and of the longest one */
} pithp_gather_many;

/* Begin an empty list. room: maximum number of leaves. */
pith_status pithp_gather_many_begin(pith_scope *s, pithp_gather_many *r, int64_t room);
/* Add a leaf whose result has `elements`. The caller fills in the returned entry, except
 * begin and count. */
pithp_gather_leaf *pithp_gather_many_add(pithp_gather_many *r, int64_t elements);
/* Run the gather or scatter of all leaves. */
pith_status pithp_gather_many_run(pithp_gather_many *r,
                                  const char *name,
                                  const void *index,
                                  pith_dtype index_dtype,
                                  int64_t positions,
                                  bool no_negative);
void pithp_gather_many_end(pithp_gather_many *r);

/* Launch a list in memory that the device can read. */
pith_status pithp_launch_gather_many(const pithp_sink *sink,
                                     const char *name,
                                     const pithp_cuda_gather_many_args *args);

#endif
