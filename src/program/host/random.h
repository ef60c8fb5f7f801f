/* What a call that draws comes down to, for the host and for CUDA. */
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

/* A call that draws and has elements, or that counts with keys, as one loop over indices
 * of the host: where operand k's address belongs in its arguments, and the result's. */
enum { PITHP_DRAW_BYTES = 256 };
typedef struct pithp_draw_loop {
    const pithp_host_loop *loops; /* NULL: it is no such call */
    int64_t count, grain;         /* indices; more take threads */
    size_t bytes, operands[2], result;
    _Alignas(8) unsigned char args[PITHP_DRAW_BYTES];
} pithp_draw_loop;
pithp_draw_loop pithp_draw_loop_of(const pithp_call *call, const pith_spec *result);

#endif
