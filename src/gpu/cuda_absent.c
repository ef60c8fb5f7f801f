/* Built where CUDA is not: the library then has no such backend. */
#include "gpu/gpu_internal.h"

const pithp_backend *const pithp_backend_cuda = NULL;
