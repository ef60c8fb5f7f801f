/* A target whose launches are those for CUDA, run on the host. */
#ifndef PITH_TESTS_CUDA_TARGET_H
#define PITH_TESTS_CUDA_TARGET_H

#include "program/cuda/cuda.h"

/* Programs of every elementwise row that takes the dtype, as one text to follow a
 * prologue; row p's kernel is pithp_elementwise_<p>. */
void cuda_rows_text(pithp_string *text, pith_dtype dtype);

extern const struct pithp_cuda_target call_cuda_target;

#endif
