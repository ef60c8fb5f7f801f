/* Fill kernel, for C and CUDA. */
#ifndef PITH_CUDA_FILL_H
#define PITH_CUDA_FILL_H

#include <stdint.h>

typedef struct pithp_fill_args {
    unsigned char *to;
    uint64_t word; /* the pattern repeated over 8 bytes, in memory order at `to` */
    int64_t bytes;
} pithp_fill_args;

#ifdef __cplusplus
extern "C"
#endif
    /* Handle of the kernel. It needs one thread per 16 bytes; with fewer threads it
     * loops. */
    const void *
    pithp_fill_kernel(void);

#endif
