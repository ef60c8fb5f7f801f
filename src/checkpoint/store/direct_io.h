/* Direct I/O: large files are written past the page cache. */
#ifndef PITHP_CHECKPOINT_DIRECT_IO_H
#define PITHP_CHECKPOINT_DIRECT_IO_H

#include "checkpoint/store/file.h"

typedef struct pithp_direct_io pithp_direct_io;
/* A new file of so many bytes; NULL: it is too small, the file system does not offer it,
 * or something is short, and the file is to be written as any other. */
pithp_direct_io *pithp_direct_io_begin(pith_runtime *rt, int file, size_t expected);
int pithp_direct_io_add(pithp_direct_io *d,
                        const void *bytes,
                        size_t n); /* 0, or errno */
/* Write what is left, if that is wanted; the file's descriptor is as it was. 0, or errno.
 */
int pithp_direct_io_end(pithp_direct_io *d, bool write_rest);
/* Least bytes of a file that is written so, and bytes of a buffer, a multiple of 4096;
 * tests have smaller ones. */
typedef struct pithp_direct_io_bounds {
    size_t least, piece;
} pithp_direct_io_bounds;
extern pithp_direct_io_bounds pithp_direct_io_limits;

#endif
