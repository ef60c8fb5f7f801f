/* CUB's work of a block, for kernels built by nvcc, where the toolkit has it:
 * PITHP_HAVE_CUB. */
#ifndef PITH_CUDA_CUB_H
#define PITH_CUDA_CUB_H

#if __has_include(<cub/block/block_radix_sort.cuh>)
#    define PITHP_HAVE_CUB
#    include <cub/block/block_radix_sort.cuh>
#endif

#endif
