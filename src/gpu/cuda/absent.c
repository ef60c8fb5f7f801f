/* CUDA backend, built without CUDA: the library has no such backend. */
#include "gpu/memory/backend_pool.h"

const pithp_backend *const pithp_backend_cuda = NULL;
const pithp_pool_ops *const pithp_pool_ops_cuda = NULL;
