/* Products of matrices by a library of the device's vendor, which is opened when it is
 * first asked for. Plain data, which a backend runs at once (gemm) or has in a graph as a
 * task (gpu/graph.h). */
#ifndef PITH_GPU_GEMM_H
#define PITH_GPU_GEMM_H

#include "gpu/gpu_internal.h"

/* What of its memory the library works in, before the pointers. Products are cut into
 * few terms (program/cuda/gemm.c), so that the library has little reason to cut them
 * further and add up in memory; its documents ask for no less. */
#define PITHP_GEMM_WORKSPACE ((size_t)4 << 20)

/* The most matrices of one call: as many blocks as a grid has along its last axis. */
enum { PITHP_GEMM_MOST = 65535 };

/* For each of `count` triples of pointers c[m, n] = a[m, k] b[k, n], or c += a b, their
 * columns lda, ldb and ldc elements apart (of a and b their rows where they lie
 * transposed). Sums of k terms in any order, none of less precision than the dtype's. */
typedef struct pithp_gemm {
    pith_dtype dtype; /* PITH_F32 or PITH_F64 */
    bool a_transposed, b_transposed;
    bool adds; /* to what c holds */
    int32_t m, n, k;
    int32_t lda, ldb, ldc;
    int32_t first, count; /* of the pointers */
    int32_t all;          /* pointers of each of a, b and c, which follow each other */
} pithp_gemm;

/* Bytes of the memory that a product needs: the workspace, then pointers to `all`
 * matrices a, b and c. */
static inline size_t pithp_gemm_bytes(int64_t all) {
    return PITHP_GEMM_WORKSPACE + 3 * (size_t)all * sizeof(void *);
}
static inline void *pithp_gemm_pointers(void *memory) {
    return (char *)memory + PITHP_GEMM_WORKSPACE;
}

/* Which products a device's library is asked to do. */
typedef enum pithp_gemm_use {
    PITHP_GEMM_NONE,
    PITHP_GEMM_LARGE, /* those where it is quicker */
    PITHP_GEMM_ALL,   /* all that it can */
} pithp_gemm_use;

/* What PITH_CUBLAS says; nobody opens the library for it. */
pithp_gemm_use pithp_gemm_asked(void);

#endif
