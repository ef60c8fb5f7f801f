/* Order of cumulative scans: elements are combined in order within a block, blocks within
 * a group, and groups within a line. Shared by the host's loops and CUDA. */
#ifndef PITH_PROGRAM_SOURCE_SCAN_ORDER_H
#define PITH_PROGRAM_SOURCE_SCAN_ORDER_H

#define M_SCANNED                                                                        \
    480 /* elements of a block; for f64 not a multiple of a cache's period */
#define M_GROUPED 512 /* blocks of a group */

#endif
