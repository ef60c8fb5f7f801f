/* Launch arguments of random calls, shared by the host and CUDA. */
#ifndef PITH_PROGRAM_HOST_RANDOM_H
#define PITH_PROGRAM_HOST_RANDOM_H

#include "program/op/rules.h"
#include "program/source/args/library.h"

/* result has elements. Launches have keys * pairs indices. */
pithp_cuda_random_args pithp_random_args_of(const pithp_call *call,
                                            const pith_spec *result,
                                            const pithp_memory *memory);
pithp_cuda_threefry_args pithp_threefry_args_of(const pithp_call *call,
                                                const pith_spec *result,
                                                const pithp_memory *memory);

/* A random call as one loop over host indices: where to store the addresses of operand k
 * and of the result in its arguments. For calls that draw and have elements, and for
 * threefry and fold_in. */
enum { PITHP_DRAW_BYTES = 256 };
typedef struct pithp_draw_loop {
    const pithp_host_loop *loops; /* NULL: another call */
    int64_t count, grain;         /* indices; minimum indices for a thread */
    size_t bytes, operands[2], result;
    _Alignas(8) unsigned char args[PITHP_DRAW_BYTES];
} pithp_draw_loop;
pithp_draw_loop pithp_draw_loop_of(const pithp_call *call, const pith_spec *result);

#endif
