/* The kernels built with the library, and their handles. */
/* clang-format off */
#define M_BY_BOTH /* by value for eager calls, by address for graphs */
#include "program/source/prologue_cuda.h"
#include "program/source/scalar.h"
#include "program/source/shell.h"
#include "program/source/cuda/kernels.h"
/* clang-format on */

static const void *const handles[] = {
#define PITHP_CUDA_KERNEL(name) (const void *)pithp_k_##name,
#include "program/source/cuda/kernels.def"
};

static const void *const handles_at[] = {
#define PITHP_CUDA_KERNEL(name) (const void *)pithp_k_##name##_at,
#include "program/source/cuda/kernels.def"
};

extern "C" const void *pithp_cuda_kernel_at(int id) {
    return handles_at[id];
}

extern "C" const void *pithp_cuda_kernel(int id) {
    return handles[id];
}
