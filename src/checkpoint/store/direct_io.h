/* Direct I/O: large files are written past the page cache. */
#ifndef PITH_CHECKPOINT_DIRECT_H
#define PITH_CHECKPOINT_DIRECT_H

#include "checkpoint/store/file.h"

typedef struct pithp_direct pithp_direct;
/* A new file of so many bytes; NULL: it is too small, the file system does not offer it,
 * or something is short, and the file is to be written as any other. */
pithp_direct *pithp_direct_begin(pith_runtime *rt, int file, size_t expected);
int pithp_direct_add(pithp_direct *d, const void *bytes, size_t n); /* 0, or errno */
/* Write what is left, if that is wanted; the file's descriptor is as it was. 0, or errno.
 */
int pithp_direct_end(pithp_direct *d, bool write_rest);
/* Least bytes of a file that is written so, and bytes of a buffer, a multiple of 4096;
 * tests have smaller ones. */
typedef struct pithp_direct_bounds {
    size_t least, piece;
} pithp_direct_bounds;
extern pithp_direct_bounds pithp_direct_limits;

#endif
