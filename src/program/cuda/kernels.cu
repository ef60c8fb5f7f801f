/* The kernels built with the library, and their handles. */
/* clang-format off */
#define M_BOTH /* by value for eager calls, by address for graphs */
#include "program/emit/prologue_cuda.h"
#include "program/emit/helpers.h"
#include "program/emit/shell.h"
#include "program/cuda/kernels.h"
/* clang-format on */

static const void *const handles[] = {
#define PITHP_CUDA_KERNEL(name) (const void *)pithp_k_##name,
#include "program/cuda/kernels.def"
};

static const void *const handles_at[] = {
#define PITHP_CUDA_KERNEL(name) (const void *)pithp_k_##name##_at,
#include "program/cuda/kernels.def"
};

extern "C" const void *pithp_cuda_kernel_at(int id) {
    return handles_at[id];
}

extern "C" const void *pithp_cuda_kernel(int id) {
    return handles[id];
}
