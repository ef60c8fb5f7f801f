/* Random number loops, one set per instruction set. */
#ifndef PITH_PROGRAM_HOST_VECTOR_RANDOM_H
#define PITH_PROGRAM_HOST_VECTOR_RANDOM_H

#include "program/source/args/library.h"

/* Loops of launches: args is a pithp_cuda_random_args. */
extern void pithp_random_base(const void *args, int64_t begin, int64_t end);
extern void pithp_random_v3(const void *args, int64_t begin, int64_t end);
extern void pithp_random_v4(const void *args, int64_t begin, int64_t end);

#endif
