/* Packing: copies a strided view block by block into contiguous buffers that stay in
 * cache. */
#ifndef PITH_PROGRAM_HOST_PACK_H
#define PITH_PROGRAM_HOST_PACK_H

#include <stdint.h>

/* Coalesce dimensions: drop extents of 1 and merge neighbours that every one of `walks`
 * strided accesses treats as one. Changes shape and stride[0..walks - 1] in place;
 * entries beyond the new rank become 0. Bit d of `cut` prevents merging dimension d with
 * the one before it. to: the new position of each dimension, -1 if it is dropped; may be
 * NULL. Returns the new rank, at least 1. */
int pithp_coalesce(int rank,
                   int64_t *shape,
                   int walks,
                   int64_t *const *stride,
                   unsigned cut,
                   int *to);

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
