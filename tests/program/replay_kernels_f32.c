/* The kernels of random programs for a device that is made of host memory, of f32. */
#define PITH_KERNEL_PASS      PITH_PASS_BASE
#define PITH_KERNEL_REAL      f32
#define PITH_KERNEL_WITH_CUDA 1
#define PITH_KERNEL_REALS     3
#include "../gpu/fake_cuda/fake_kernels.h"
#include "random_kernels.h"

FAKE_CUDA_KERNEL(random_grow)
FAKE_CUDA_KERNEL(random_below)
FAKE_CUDA_KERNEL(random_pairs)
FAKE_CUDA_KERNEL(random_count)
