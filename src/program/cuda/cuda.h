/* Lowering of primitives for CUDA: to kernels that are built with the library, or, for
 * elementwise operations, to programs of one operation, compiled on first use. Nothing
 * here needs CUDA to build or to test: the sink defines what a kernel is. */
#ifndef PITH_PROGRAM_CUDA_CUDA_H
#define PITH_PROGRAM_CUDA_CUDA_H

#include "program/host/device_target.h"
#include "program/host/move.h"
#include "program/op/rules.h"
#include "program/source/args/library.h"

/* Handle for cudaLaunchKernel; NULL if the library was built without CUDA. */
const void *pithp_cuda_kernel(int id);
/* The variant of the kernel whose only parameter is the address of its arguments. */
const void *pithp_cuda_kernel_at(int id);

/* pithp_lower for a sink for CUDA; `memory->temporary` has pithp_cuda_temporary_bytes. */
pith_status pithp_lower_cuda(const pithp_call *call,
                             const pith_spec *result,
                             const pithp_memory *memory,
                             const pithp_sink *sink);
size_t pithp_cuda_temporary_bytes(const pithp_call *call, const pith_spec *result);
/* Bytes of `memory->gemm` if a library should compute the call's product. 0: it cannot,
 * or would not be faster. use: that of the device. */
size_t pithp_cuda_gemm_bytes(const pithp_call *call, pithp_gemm_use use);
/* Lowering and temporary bytes of such a product. */
pith_status pithp_cuda_lower_gemm(const pithp_call *call,
                                  const pith_spec *result,
                                  const pithp_memory *memory,
                                  const pithp_sink *sink);
size_t pithp_cuda_temporary_gemm(const pithp_call *call);

/* CUDA launches of a sink that differ from the host in more than the kernel. */
extern const pithp_device_encoder pithp_cuda_encoder;

/* Target of a sink on a scope of a CUDA device. */
extern const struct pithp_cuda_target pithp_cuda_on_scope;
/* Run a call on the stream of s, whose device is a CUDA device. */
pith_status pithp_run_cuda(pith_scope *s,
                           const pithp_call *call,
                           const pith_spec *result,
                           const pithp_memory *memory);
/* Bytes of memory that pithp_run_cuda takes for a call beside its operands and result. */
size_t
pithp_run_cuda_bytes(pith_scope *s, const pithp_call *call, const pith_spec *result);

/* Whether the runtime has compiled the kernel of an elementwise operation. dtype: of its
 * last operand. */
bool pithp_cuda_has_one(pith_runtime *rt, pithp_primitive primitive, pith_dtype dtype);

/* Launch a library kernel over a number of threads; none for 0. */
pith_status pithp_cuda_launch(const pithp_sink *sink,
                              pithp_cuda_kernel_id id,
                              const char *name,
                              const void *args,
                              size_t args_bytes,
                              int64_t threads);

/* Rules with another partitioning of work than the host: pithp_cuda_lower_<rule> and
 * pithp_cuda_temporary_<rule>. */
#define PITHP_CUDA_RULE(rule)                                                            \
    pith_status pithp_cuda_lower_##rule(const pithp_call *call, const pith_spec *result, \
                                        const pithp_memory *memory,                      \
                                        const pithp_sink *sink);                         \
    size_t pithp_cuda_temporary_##rule(const pithp_call *call, const pith_spec *result);
PITHP_CUDA_RULE(reduce)
PITHP_CUDA_RULE(scan)
PITHP_CUDA_RULE(cumlinear)
PITHP_CUDA_RULE(sort)
PITHP_CUDA_RULE(search)
PITHP_CUDA_RULE(product)
PITHP_CUDA_RULE(take)
PITHP_CUDA_RULE(take_along)
PITHP_CUDA_RULE(scatter)
PITHP_CUDA_RULE(threefry)
PITHP_CUDA_RULE(random)

/* Launches fused reduction kernels, which produce the elements that they reduce. */
struct m_reduce_args;
typedef struct pithp_cuda_producer {
    pith_status (*launch)(const void *closure,
                          const pithp_sink *sink,
                          const char *name,
                          const struct m_reduce_args *args,
                          int64_t threads);
    const void *closure;
} pithp_cuda_producer;
/* Number of the operation in m_reduce_args. */
int32_t pithp_cuda_reduction(const pithp_call *call);
/* As pithp_cuda_lower_reduce, for an operand that the kernel produces
 * (pithp_reduce_kernel_can_fuse). producer NULL: the operand is in memory. */
pith_status pithp_cuda_lower_reduce_of(const pithp_call *call,
                                       const pith_spec *result,
                                       const pithp_memory *memory,
                                       const pithp_sink *sink,
                                       const pithp_cuda_producer *producer);
size_t pithp_cuda_temporary_reduce_of(const pithp_call *call, const pith_spec *result);

/* Sort one line of keys, u32 if `narrow` is set, else u64, of which only the lowest bits
 * are set. After the launches *keys and *indices are sorted; indices are u32 if `count`
 * fits. */
pith_status pithp_cuda_launch_sort(const pithp_sink *sink,
                                   const char *name,
                                   const void *from,
                                   int64_t count,
                                   bool narrow,
                                   int bits,
                                   void *temporary,
                                   const void **keys,
                                   const void **indices);
/* Bytes of `temporary`. */
size_t pithp_cuda_sort_bytes(int64_t count, bool narrow, int bits);

/* ---- Programs of one elementwise operation ---- */

/* Prologues of program texts for NVRTC and for cc; both define the same functions. */
extern const char pithp_text_cuda[], pithp_text_host[];
/* Text of the kernel that sets a graph's conditional node; follows pithp_text_cuda. */
extern const char pithp_text_graph[];
/* Text that grouped kernels need; follows one of the first two. */
extern const char pithp_text_many[];
/* Text that fused reduction kernels need; follows one of the first two. */
extern const char pithp_text_reduce[];
/* Text of a call's operation, which follows pithp_text_cuda; defines the kernel
 * pithp_elementwise. */
void pithp_elementwise_text(pithp_string *text, const pithp_call *call);

#endif
