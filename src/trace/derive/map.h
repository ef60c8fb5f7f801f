/* What a linear map of pith_vjp knows of the ranks of its mesh. */
#ifndef PITH_TRACE_DERIVE_MAP_H
#define PITH_TRACE_DERIVE_MAP_H

#include "pith/tree_function.h"

#include <stdint.h>

/* The axes of the mesh along which ranks have leaves of their own; along the others the
 * leaf is one value of all ranks. Without a mesh: none. */
uint32_t pithp_map_own_value(const pith_function *map, int64_t leaf);
/* The same for a leaf of the gradient, which is that of the argument. */
uint32_t pithp_map_own_argument(const pith_function *map, int64_t leaf);

#endif
