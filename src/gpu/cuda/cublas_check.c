/* Static checks of cublas.h against the header of cuBLAS, compiled where that is
 * installed. */
#include "gpu/cuda/cublas.h"

#include <cublas_v2.h>

#define SAME(ours, theirs)                                                               \
    _Static_assert((int)PITHP_CUBLAS_##ours == (int)theirs, "cublas.h: " #ours)
SAME(OK, CUBLAS_STATUS_SUCCESS);
SAME(N, CUBLAS_OP_N);
SAME(T, CUBLAS_OP_T);
SAME(R_32F, CUDA_R_32F);
SAME(R_64F, CUDA_R_64F);
SAME(COMPUTE_32F_PEDANTIC, CUBLAS_COMPUTE_32F_PEDANTIC);
SAME(COMPUTE_64F_PEDANTIC, CUBLAS_COMPUTE_64F_PEDANTIC);
SAME(ALLOC_FAILED, CUBLAS_STATUS_ALLOC_FAILED);
SAME(MAJOR_VERSION, MAJOR_VERSION);
SAME(GEMM_DEFAULT, CUBLAS_GEMM_DEFAULT);

_Static_assert(sizeof(cublasHandle_t) == sizeof(pithp_cublas_handle) &&
                   sizeof(cublasStatus_t) == sizeof(int) &&
                   sizeof(cublasOperation_t) == sizeof(int) &&
                   sizeof(cudaDataType) == sizeof(int) &&
                   sizeof(cublasComputeType_t) == sizeof(int) &&
                   sizeof(cublasGemmAlgo_t) == sizeof(int),
               "enumerations are passed as int");

typedef cublasStatus_t gemm_batched(cublasHandle_t,
                                    cublasOperation_t,
                                    cublasOperation_t,
                                    int,
                                    int,
                                    int,
                                    const void *,
                                    const void *const *,
                                    cudaDataType,
                                    int,
                                    const void *const *,
                                    cudaDataType,
                                    int,
                                    const void *,
                                    void *const *,
                                    cudaDataType,
                                    int,
                                    int,
                                    cublasComputeType_t,
                                    cublasGemmAlgo_t);
_Static_assert(_Generic(&cublasGemmBatchedEx, gemm_batched * : 1, default : 0) &&
                   _Generic(&cublasSetWorkspace_v2,
                            cublasStatus_t (*)(cublasHandle_t, void *, size_t) : 1,
                            default : 0) &&
                   _Generic(&cublasSetStream_v2,
                            cublasStatus_t (*)(cublasHandle_t, cudaStream_t) : 1,
                            default : 0) &&
                   _Generic(&cublasCreate_v2,
                            cublasStatus_t (*)(cublasHandle_t *) : 1,
                            default : 0) &&
                   _Generic(&cublasGetProperty,
                            cublasStatus_t (*)(libraryPropertyType, int *) : 1,
                            default : 0) &&
                   _Generic(&cublasGetStatusName,
                            const char *(*)(cublasStatus_t) : 1,
                            default : 0),
               "the functions have the types that cublas.h declares");
