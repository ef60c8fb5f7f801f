/* Loops that draw random numbers, one set an instruction set. */
#ifndef PITHP_BLOCK_RANDOM_H
#define PITHP_BLOCK_RANDOM_H

#include "program/cuda/args.h"

/* Loops of launches: args are a pithp_cuda_random_args. */
extern void pithp_random_base(const void *args, int64_t begin, int64_t end);
extern void pithp_random_v3(const void *args, int64_t begin, int64_t end);
extern void pithp_random_v4(const void *args, int64_t begin, int64_t end);

#endif
