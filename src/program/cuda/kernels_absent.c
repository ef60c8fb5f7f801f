/* Stubs of the kernel handles for a library built without CUDA. */
#include "program/cuda/cuda.h"

const void *pithp_cuda_kernel(int id) {
    (void)id;
    return NULL;
}

const void *pithp_cuda_kernel_at(int id) {
    (void)id;
    return NULL;
}
