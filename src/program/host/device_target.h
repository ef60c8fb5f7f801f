/* The target of a sink for a device: how it finds kernels, and what it launches in
 * another way than the host. The room's lower floors know a device by this alone. */
#ifndef PITH_PROGRAM_HOST_DEVICE_TARGET_H
#define PITH_PROGRAM_HOST_DEVICE_TARGET_H

#include "gpu/gemm.h"
#include "program/op/rules.h"

/* Kernels that are built with the library. */
typedef enum pithp_cuda_kernel_id {
#define PITHP_CUDA_KERNEL(name) PITHP_CUDA_##name,
#include "program/source/cuda/kernels.def"
    PITHP_CUDA_KERNEL_COUNT
} pithp_cuda_kernel_id;

struct pithp_move;

/* Launches of shape primitives on a device. */
typedef struct pithp_device_encoder {
    /* A move of `count` elements whose dimensions are merged. tiled: transpose through
     * tiles (make_tiled in move.c). */
    pith_status (*move)(const pithp_sink *sink,
                        const char *name,
                        const struct pithp_move *move,
                        int64_t count,
                        bool tiled);
    pith_status (*fill)(const pithp_sink *sink,
                        const char *name,
                        void *to,
                        int32_t size,
                        uint64_t value,
                        int64_t count);
    /* The box of a dynamic slice or update, after the copy around it. */
    pith_status (*box)(const pithp_call *call,
                       const pith_spec *box,
                       const pithp_memory *memory,
                       const pithp_sink *sink);
} pithp_device_encoder;

/* What makes a sink one for CUDA: it fills launch->cuda (or, to run the same texts on the
 * host, launch->loops). The closure is the sink's. */
struct pithp_cuda_target {
    const pithp_device_encoder *encode;
    pith_status (*builtin)(void *closure, pithp_cuda_kernel_id id, pithp_launch *launch);
    pith_status (*one)(void *closure, const pithp_call *call, pithp_launch *launch);
    /* A power of two that an address is a multiple of. (optional, default the address's
     * own) */
    uint64_t (*alignment)(void *closure, const void *address);
    /* A product by a library; called where a call has memory for it. (optional) */
    pith_status (*gemm)(void *closure,
                        const char *name,
                        const pithp_gemm *gemm,
                        void *memory);
};

#endif
