/* Kernel calls of programs: users' kernels as instructions. */
#ifndef PITH_PROGRAM_OP_KERNEL_CALL_H
#define PITH_PROGRAM_OP_KERNEL_CALL_H

#include "gpu/kernel/kernel_internal.h"
#include "program/op/call.h"

/* A number of the caller's as it is kept in pithp_kernel_params. */
uint64_t pithp_kernel_value(const pith_kernel_arg *arg, const pith_operand *operand);

/* A call, bound: what the launch is given but for addresses. Points into itself. */
typedef struct pithp_kernel_call {
    pithp_kernel_binding binding;
    pith_operand operands[PITH_KERNEL_MAX_ARGS]; /* the values */
    bool is_small; /* of a plan: one thread runs all, and nothing is filled before */
    _Alignas(
        16) unsigned char args[PITHP_KERNEL_ARGS_BYTES]; /* then; without addresses */
} pithp_kernel_call;

/* The kind of array that arguments are; specs of outs are not whole. */
pith_status
pithp_kernel_call_bind(const pithp_call *call, pithp_kernel_call *k, pithp_error *e);

#endif
