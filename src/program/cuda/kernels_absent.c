/* Handles of the CUDA kernels in a library built without CUDA: every kernel is absent. */
#include "program/cuda/cuda.h"

const void *pithp_cuda_kernel(int id) {
    (void)id;
    return NULL;
}

const void *pithp_cuda_kernel_at(int id) {
    (void)id;
    return NULL;
}
