/* Direct I/O: large files bypass the page cache. */
#ifndef PITHP_CHECKPOINT_DIRECT_IO_H
#define PITHP_CHECKPOINT_DIRECT_IO_H

#include "checkpoint/store/file.h"

typedef struct pithp_direct_io pithp_direct_io;
/* Begin a new file of `expected` bytes. NULL: too small, not offered by the file system,
 * or out of resources; write the file through the page cache instead. */
pithp_direct_io *pithp_direct_io_begin(pith_runtime *rt, int file, size_t expected);
int pithp_direct_io_add(pithp_direct_io *d,
                        const void *bytes,
                        size_t n); /* 0, or errno */
/* End, after writing the remaining bytes if `write_rest`. The descriptor's flags are
 * restored. 0, or errno. */
int pithp_direct_io_end(pithp_direct_io *d, bool write_rest);
/* Minimum bytes of a file for direct writes, and bytes of a buffer (a multiple of 4096).
 * Tests set smaller ones. */
typedef struct pithp_direct_io_bounds {
    size_t least, piece;
} pithp_direct_io_bounds;
extern pithp_direct_io_bounds pithp_direct_io_limits;

#endif
