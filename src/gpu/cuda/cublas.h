/* cuBLAS declarations: the used part of its interface. The library is opened at run time,
 * so a build without it can use it. cublas_check.c compares these declarations with its
 * header. */
#ifndef PITH_CUDA_CUBLAS_H
#define PITH_CUDA_CUBLAS_H

#include "gpu/gpu_internal.h"

#include <cuda_runtime_api.h>

typedef void *pithp_cublas_handle;

enum {
    PITHP_CUBLAS_OK = 0,
    PITHP_CUBLAS_ALLOC_FAILED = 3,
    PITHP_CUBLAS_MAJOR_VERSION = 0, /* a property */
    PITHP_CUBLAS_N = 0,
    PITHP_CUBLAS_T = 1,
    PITHP_CUBLAS_R_32F = 0,
    PITHP_CUBLAS_R_64F = 1,
    PITHP_CUBLAS_COMPUTE_32F_PEDANTIC = 69,
    PITHP_CUBLAS_COMPUTE_64F_PEDANTIC = 71,
    PITHP_CUBLAS_GEMM_DEFAULT = -1,
};

/* X(name, arguments): functions that return a status. */
#define PITHP_CUBLAS_FUNCTIONS(X)                                                        \
    X(GetProperty, (int property, int *value))                                           \
    X(Create_v2, (pithp_cublas_handle * handle))                                         \
    X(Destroy_v2, (pithp_cublas_handle handle))                                          \
    X(SetStream_v2, (pithp_cublas_handle handle, cudaStream_t stream))                   \
    X(SetWorkspace_v2, (pithp_cublas_handle handle, void *memory, size_t bytes))         \
    X(GemmBatchedEx,                                                                     \
      (pithp_cublas_handle handle, int a_operation, int b_operation, int m, int n,       \
       int k, const void *alpha, const void *const *a, int a_type, int lda,              \
       const void *const *b, int b_type, int ldb, const void *beta, void *const *c,      \
       int c_type, int ldc, int count, int compute, int algorithm))

typedef struct pithp_cublas {
#define PITHP_CUBLAS_MEMBER(name, arguments) int(*name) arguments;
    PITHP_CUBLAS_FUNCTIONS(PITHP_CUBLAS_MEMBER)
#undef PITHP_CUBLAS_MEMBER
    const char *(*GetStatusName)(int status);
} pithp_cublas;

/* The library, opened once per process and never closed. Versions of a newer major than
 * the driver's (0: unknown) are refused. NULL sets e. */
const pithp_cublas *pithp_cublas_open(int driver, pithp_error *e);

#endif
