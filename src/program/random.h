/* What a call that draws comes down to, for the host and for CUDA. */
#ifndef PITH_PROGRAM_RANDOM_H
#define PITH_PROGRAM_RANDOM_H

#include "program/cuda/args.h"
#include "program/rules.h"

/* result has elements. Launches have keys * pairs indices. */
pithp_cuda_random_args pithp_random_args_of(const pithp_call *call,
                                            const pith_spec *result,
                                            const pithp_memory *memory);
pithp_cuda_threefry_args pithp_threefry_args_of(const pithp_call *call,
                                                const pith_spec *result,
                                                const pithp_memory *memory);

#endif
