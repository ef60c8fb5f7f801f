/* Staging: elements of a strided view side by side, block by block, in buffers that stay
 * in cache. */
#ifndef PITH_PROGRAM_HOST_PACK_H
#define PITH_PROGRAM_HOST_PACK_H

#include <stdint.h>

/* n / run elements, `stride` elements apart, each written `run` times. */
void pithp_repeat(void *to,
                  const void *from,
                  int32_t size,
                  int64_t stride,
                  int64_t run,
                  int64_t n);

/* Write n elements from position `begin` of an index space (C order, rank at least 1)
 * side by side; element i of it is at `from` plus i . stride elements. */
void pithp_stage_view(char *to,
                      const char *from,
                      int32_t size,
                      int rank,
                      const int64_t *shape,
                      const int64_t *stride,
                      int64_t begin,
                      int64_t n);

/* After how many elements of the index space the same element of a view is met again; 0:
 * it does not repeat as a whole. */
int64_t pithp_period(int rank, const int64_t *shape, const int64_t *stride);

#endif
