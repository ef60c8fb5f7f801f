/* Users' kernels on the fake device: after a kernel file's first pass, which was told of
 * CUDA (PITH_KERNEL_WITH_CUDA), FAKE_CUDA_KERNEL(name) is what nvcc would have made. */
#ifndef PITH_TESTS_FAKE_KERNELS_H
#define PITH_TESTS_FAKE_KERNELS_H

#include <pith/kernel.h>
#include <stdbool.h>

/* The handle of a kernel that takes its arguments by value or by address; NULL: *code is
 * the error of the runtime that it was linked with. */
const void *fake_cuda_user(const pith_kernel_variant *kernel, bool by_address, int *code);

#define FAKE_CUDA_KERNEL(name)                                                           \
    const void *PITH_SYMBOL_(name, _cuda_entry)(int *code) {                             \
        return fake_cuda_user(PITH_SYMBOL_(name, _variant)(), false, code);              \
    }                                                                                    \
    const void *PITH_SYMBOL_(name, _cuda_at_entry)(int *code) {                          \
        return fake_cuda_user(PITH_SYMBOL_(name, _variant)(), true, code);               \
    }

#endif
