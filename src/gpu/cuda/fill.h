/* The kernel behind fills, for C and CUDA alike. */
#ifndef PITH_CUDA_FILL_H
#define PITH_CUDA_FILL_H

#include <stdint.h>

typedef struct pithp_fill_args {
    unsigned char *to;
    uint64_t word; /* the pattern over 8 bytes, as it lies at `to` */
    int64_t bytes;
} pithp_fill_args;

#ifdef __cplusplus
extern "C"
#endif
    /* Handle of the kernel: one thread for each 16 bytes, or more than one round. */
    const void *
    pithp_fill_kernel(void);

#endif
