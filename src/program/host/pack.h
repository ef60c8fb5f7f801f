/* Packing: copies a strided view block by block into contiguous buffers that stay in
 * cache. */
#ifndef PITH_PROGRAM_HOST_PACK_H
#define PITH_PROGRAM_HOST_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Coalesce dimensions: drop extents of 1 and merge neighbours that every one of `walks`
 * strided accesses treats as one. Changes shape and stride[0..walks - 1] in place;
 * entries beyond the new rank become 0. Bit d of `cut` prevents merging dimension d with
 * the one before it. to: the new position of each dimension, -1 if it is dropped; may be
 * NULL. Returns the new rank, at least 1. Inline: the callers know the number of
 * accesses. */
static inline int pithp_coalesce(int rank,
                                 int64_t *shape,
                                 int walks,
                                 int64_t *const *stride,
                                 unsigned cut,
                                 int *to) {
    int count = 0;
    for (int d = 0; d < rank; d++) {
        const int64_t extent = shape[d];
        if (to)
            to[d] = -1;
        if (extent == 1)
            continue;
        bool joins = count > 0 && !(cut >> d & 1);
        for (int k = 0; k < walks && joins; k++)
            joins = stride[k][count - 1] == stride[k][d] * extent;
        const int at = joins ? count - 1 : count++;
        shape[at] = joins ? shape[at] * extent : extent;
        for (int k = 0; k < walks; k++)
            stride[k][at] = stride[k][d];
        if (to)
            to[d] = at;
    }
    for (int d = count; d < rank; d++) {
        shape[d] = 0;
        for (int k = 0; k < walks; k++)
            stride[k][d] = 0;
    }
    if (count == 0) {
        shape[count++] = 1;
        for (int k = 0; k < walks; k++)
            stride[k][0] = 0;
    }
    return count;
}

/* Strides in elements of a C-ordered operand that is broadcast to `rank` dimensions; the
 * first rank - operand_rank are not written. */
void pithp_broadcast_strides(int rank,
                             int64_t *stride,
                             int operand_rank,
                             const int64_t *operand_shape);

/* Pack n elements from position `begin` of an index space (C order, rank at least 1).
 * Element i is at `from` plus i . stride elements. */
void pithp_stage_view(char *to,
                      const char *from,
                      int32_t size,
                      int rank,
                      const int64_t *shape,
                      const int64_t *stride,
                      int64_t begin,
                      int64_t n);

/* Period of a view in elements of the index space; 0: it is not periodic as a whole. */
int64_t pithp_period(int rank, const int64_t *shape, const int64_t *stride);

#endif
