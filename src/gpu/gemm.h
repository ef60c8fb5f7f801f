/* Matrix products by a vendor library, opened on first use. A product is plain data: a
 * backend runs it at once (gemm), or makes it a task of a graph (gpu/graph.h). */
#ifndef PITH_GPU_GEMM_H
#define PITH_GPU_GEMM_H

#include "gpu/gpu_internal.h"

/* The workspace of the library, at the start of a product's memory. Products are split
 * into short sums (program/cuda/gemm.c), so the library has little reason to split them
 * further and accumulate in memory. Its documentation requires at least this size. */
#define PITHP_GEMM_WORKSPACE ((size_t)4 << 20)

/* Maximum matrices per call: the limit of blocks along the last axis of a grid. */
enum { PITHP_GEMM_MOST = 65535 };

/* For each of `count` triples of pointers: c[m, n] = a[m, k] b[k, n], or c += a b. lda,
 * ldb and ldc are the distances of columns in elements (of rows, for transposed a and b).
 * The order of the k terms is unspecified; the precision is at least the dtype's. */
typedef struct pithp_gemm {
    pith_dtype dtype; /* PITH_F32 or PITH_F64 */
    bool a_transposed, b_transposed;
    bool adds; /* accumulate into c */
    int32_t m, n, k;
    int32_t lda, ldb, ldc;
    int32_t first, count; /* range of the pointers */
    int32_t all;          /* pointers of each of a, b and c, which are consecutive */
} pithp_gemm;

/* Bytes of memory for products: the workspace, then pointers to `all` matrices a, b and
 * c. */
static inline size_t pithp_gemm_bytes(int64_t all) {
    return PITHP_GEMM_WORKSPACE + 3 * (size_t)all * sizeof(void *);
}
static inline void *pithp_gemm_pointers(void *memory) {
    return (char *)memory + PITHP_GEMM_WORKSPACE;
}

/* Which products use the library. */
typedef enum pithp_gemm_use {
    PITHP_GEMM_NONE,
    PITHP_GEMM_LARGE, /* if it is faster */
    PITHP_GEMM_ALL,   /* wherever it can */
} pithp_gemm_use;

/* The setting in PITH_CUBLAS; does not open the library. */
pithp_gemm_use pithp_gemm_asked(void);

#endif
