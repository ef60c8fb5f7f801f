/* Device target of a sink: device kernels, and operations that a device launches in
 * another way than the host. The lower folders of src/program know a device only through
 * this interface. */
#ifndef PITH_PROGRAM_HOST_DEVICE_TARGET_H
#define PITH_PROGRAM_HOST_DEVICE_TARGET_H

#include "gpu/gemm.h"
#include "program/op/rules.h"

/* Kernels built with the library. */
typedef enum pithp_cuda_kernel_id {
#define PITHP_CUDA_KERNEL(name) PITHP_CUDA_##name,
#include "program/source/cuda/kernels.def"
    PITHP_CUDA_KERNEL_COUNT
} pithp_cuda_kernel_id;

struct pithp_move;

/* Device-specific lowering of shape primitives. */
typedef struct pithp_device_encoder {
    /* A move of `count` elements with coalesced dimensions. tiled: a transpose through
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
    /* The box of a dynamic slice or update, after the copy of the array. */
    pith_status (*box)(const pithp_call *call,
                       const pith_spec *box,
                       const pithp_memory *memory,
                       const pithp_sink *sink);
} pithp_device_encoder;

/* Target of a sink for CUDA. It fills launch->cuda, or launch->loops if the host runs the
 * same texts. The closure belongs to the sink. */
struct pithp_cuda_target {
    const pithp_device_encoder *encode;
    pith_status (*builtin)(void *closure, pithp_cuda_kernel_id id, pithp_launch *launch);
    pith_status (*elementwise)(void *closure,
                               const pithp_call *call,
                               pithp_launch *launch);
    /* A power of two that divides an address. (optional, default that of the address
     * itself) */
    uint64_t (*alignment)(void *closure, const void *address);
    /* A product by a library, for calls with memory for it. (optional) */
    pith_status (*gemm)(void *closure,
                        const char *name,
                        const pithp_gemm *gemm,
                        void *memory);
};

#endif
