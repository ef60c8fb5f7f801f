/* Kernel calls in programs: users' kernels as instructions. */
#ifndef PITH_PROGRAM_OP_KERNEL_CALL_H
#define PITH_PROGRAM_OP_KERNEL_CALL_H

#include "gpu/kernel/kernel_internal.h"
#include "program/op/call.h"

/* The bits of a caller's number in pithp_kernel_params. */
uint64_t pithp_kernel_value(const pith_kernel_arg *arg, const pith_operand *operand);

/* A kernel call, bound: everything that the launch needs, except addresses. It points
 * into itself. */
typedef struct pithp_kernel_call {
    pithp_kernel_binding binding;
    pith_operand operands[PITH_KERNEL_MAX_ARGS]; /* the values */
    bool is_small; /* set by a plan: one thread runs it, and no output is filled first */
    _Alignas(16) unsigned char args[PITHP_KERNEL_ARGS_BYTES]; /* of a small call; without
                                                                 addresses */
} pithp_kernel_call;

/* Kind and dtype of an array argument; specs of outs are incomplete. */
pith_status
pithp_kernel_call_bind(const pithp_call *call, pithp_kernel_call *k, pithp_error *e);

#endif
