/* Grouped copies (multi-tensor): many small copies in one launch. */
#ifndef PITH_PROGRAM_EXEC_COPY_MANY_H
#define PITH_PROGRAM_EXEC_COPY_MANY_H

#include "program/host/move.h"
#include "program/source/args/library.h"

typedef struct pithp_copies {
    pith_scope *s;
    pithp_copy_rows *list;
    int64_t count, room;
    int64_t elements, longest; /* elements of all copies, and of the longest one */
} pithp_copies;

/* Begin an empty list. room: expected number of copies, or 0. */
pith_status pithp_copies_begin(pith_scope *s, pithp_copies *p, int64_t room);
/* Add a copy of `rows` rows of `row_bytes` bytes. */
pith_status pithp_copies_add(pithp_copies *p,
                             void *to,
                             const void *from,
                             int64_t rows,
                             int64_t row_bytes,
                             int64_t to_pitch,
                             int64_t from_pitch);
/* Add a strided move, which is simplified, as copies of rows. A move that needs too many
 * of them runs at once, in a launch of its own. */
pith_status pithp_copies_add_move(pithp_copies *p, const char *name, pithp_move *move);
/* Run all copies of the list; their destinations do not overlap. */
pith_status pithp_copies_run(pithp_copies *p, const char *name);
void pithp_copies_end(pithp_copies *p);

/* Launch a list in memory that the device can read. */
pith_status pithp_launch_copies(const pithp_sink *sink,
                                const char *name,
                                const pithp_cuda_copy_many_args *args);
/* log2 of the chunk size for a number of copies. */
int64_t pithp_copies_shift(int64_t count, int64_t elements);

#endif
