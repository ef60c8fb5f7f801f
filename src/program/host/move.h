/* Strided copy and fill: the common lowering of all shape primitives. */
#ifndef PITH_PROGRAM_HOST_MOVE_H
#define PITH_PROGRAM_HOST_MOVE_H

#include "program/op/index_map.h"
#include "program/op/rules.h"

/* Element i of the index space moves from `from` + i . from_stride to `to` + i .
 * to_stride. */
typedef struct pithp_move {
    char *to;
    const char *from;
    int32_t size; /* bytes of an element: 1, 2, 4 or 8 */
    int32_t rank;
    int64_t shape[PITHP_MAX_RANK];
    int64_t to_stride[PITHP_MAX_RANK], from_stride[PITHP_MAX_RANK]; /* bytes */
} pithp_move;

/* Coalesce: drop extents of 1 and merge neighbours that both sides access as one
 * dimension; the rank is at least 1. */
void pithp_move_simplify(pithp_move *move);
/* Copy all elements; the two views do not overlap. */
pith_status
pithp_launch_move(const pithp_sink *sink, const char *name, const pithp_move *move);

/* Copy `count` contiguous elements, unless source and destination are the same (an update
 * in place). */
pith_status pithp_launch_copy(const pithp_sink *sink,
                              const char *name,
                              void *to,
                              const void *from,
                              int32_t size,
                              int64_t count);

/* Fill: write `count` copies of an element. */
pith_status pithp_launch_fill(const pithp_sink *sink,
                              const char *name,
                              void *to,
                              int32_t size,
                              uint64_t value,
                              int64_t count);

#endif
