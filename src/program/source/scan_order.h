/* The order of cumulative scans: elements of a block are combined one after the other,
 * and so are the blocks of a group, and the groups. For the host's loops and CUDA alike.
 */
#ifndef PITH_PROGRAM_SOURCE_SCAN_ORDER_H
#define PITH_PROGRAM_SOURCE_SCAN_ORDER_H

#define M_SCANNED                                                                        \
    480 /* elements of a block; for f64 not a multiple of a cache's period */
#define M_GROUPED 512 /* blocks of a group */

#endif
