/* CUB's work of a block, for kernels built by nvcc, where the toolkit has it:
 * PITHP_HAVE_CUB. */
#ifndef PITH_CUDA_CUB_H
#define PITH_CUDA_CUB_H

#if __has_include(<cub/block/block_radix_sort.cuh>) &&                                   \
    __has_include(<cuda/std/__cccl/dialect.h>)
#    define PITHP_HAVE_CUB
/* Its constants would be symbols of the library, beside those of programs that have
 * another version of it: on the host they are the object's own. */
#    include <cuda/std/__cccl/dialect.h>
#    ifndef __CUDA_ARCH__
#        undef _CCCL_GLOBAL_CONSTANT
#        define _CCCL_GLOBAL_CONSTANT static constexpr
#    endif
#    include <cub/block/block_radix_sort.cuh>
#endif

#endif
