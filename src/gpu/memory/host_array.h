/* Private interface of gpu: host arrays without a content. */
#ifndef PITH_GPU_HOST_ARRAY_H
#define PITH_GPU_HOST_ARRAY_H

#include "pith/memory_host.h"

/* pith_host_make without `like`, of arbitrary content: the caller must overwrite all of
 * it before a user can see the array. */
const pith_host_array *pithp_host_array_make(pith_scope *s,
                                             pith_dtype dtype,
                                             pith_shape shape,
                                             const pith_host_options *options);

#endif
