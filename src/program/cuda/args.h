/* Arguments of the kernels that are built with the library, for C and CUDA alike. */
#ifndef PITH_PROGRAM_CUDA_ARGS_H
#define PITH_PROGRAM_CUDA_ARGS_H

#include <stdint.h>

#define PITHP_CUDA_RANK 8

/* Element i of the index space goes from `from` + i . from_stride to `to` + i .
 * to_stride. */
typedef struct pithp_cuda_move_args {
    char *to;
    const char *from;
    int64_t count;
    int32_t size; /* bytes of an element: 1, 2, 4, 8 or 16 */
    int32_t rank; /* at least 1 */
    int64_t shape[PITHP_CUDA_RANK];
    int64_t to_stride[PITHP_CUDA_RANK], from_stride[PITHP_CUDA_RANK]; /* bytes */
} pithp_cuda_move_args;

typedef struct pithp_cuda_fill_args {
    char *to;
    uint64_t value;
    int64_t count;
    int32_t size;
} pithp_cuda_fill_args;

/* dtypes are those of pith_dtype. */
typedef struct pithp_cuda_cast_args {
    void *to;
    const void *from;
    int64_t count;
    int32_t to_dtype, from_dtype;
} pithp_cuda_cast_args;

typedef struct pithp_cuda_iota_args {
    void *to;
    int64_t count;
    int64_t extent, inner; /* of the axis; elements that share an index along it */
    int32_t dtype;
} pithp_cuda_iota_args;

#endif
