/* NCCL declarations: the used part of its interface. The library is opened at run time,
 * so a build without it can use it. nccl_check.c compares these declarations with its
 * header. */
#ifndef PITH_CUDA_NCCL_H
#define PITH_CUDA_NCCL_H

#include "gpu/communicator.h"

#include <cuda_runtime_api.h>

typedef struct pithp_nccl_comm_of_library *pithp_nccl_comm;

typedef struct pithp_nccl_id {
    char bytes[PITHP_COMMUNICATOR_ID_BYTES];
} pithp_nccl_id;

enum {
    PITHP_NCCL_OLDEST = 22700, /* 10000 major + 100 minor + patch */
    /* results */
    PITHP_NCCL_OK = 0,
    PITHP_NCCL_IN_PROGRESS = 7,
    /* dtypes */
    PITHP_NCCL_I8 = 0,
    PITHP_NCCL_U8 = 1,
    PITHP_NCCL_I32 = 2,
    PITHP_NCCL_U32 = 3,
    PITHP_NCCL_I64 = 4,
    PITHP_NCCL_U64 = 5,
    PITHP_NCCL_F32 = 7,
    PITHP_NCCL_F64 = 8,
    /* reductions */
    PITHP_NCCL_SUM = 0,
    PITHP_NCCL_MAX = 2,
    PITHP_NCCL_MIN = 3,
};
#define PITHP_NCCL_MAGIC     0xcafebeefu
#define PITHP_NCCL_UNDEFINED INT_MIN

/* The configuration of 2.27. Newer libraries read as many bytes as `size` says. */
typedef struct pithp_nccl_config {
    size_t size;
    unsigned magic, version;
    int blocking, cga_cluster_size, least_ctas, most_ctas;
    const char *net_name;
    int split_share, traffic_class;
    const char *name;
    int collnet, cta_policy, shrink_share, nvls_ctas;
} pithp_nccl_config;

/* X(name, arguments): functions that return a result. */
#define PITHP_NCCL_FUNCTIONS(X)                                                          \
    X(GetVersion, (int *version))                                                        \
    X(GetUniqueId, (pithp_nccl_id * id))                                                 \
    X(CommInitRankConfig, (pithp_nccl_comm * comm, int size, pithp_nccl_id id, int rank, \
                           pithp_nccl_config *config))                                   \
    X(CommFinalize, (pithp_nccl_comm comm))                                              \
    X(CommDestroy, (pithp_nccl_comm comm))                                               \
    X(CommAbort, (pithp_nccl_comm comm))                                                 \
    X(CommGetAsyncError, (pithp_nccl_comm comm, int *result))                            \
    X(GroupStart, (void))                                                                \
    X(GroupEnd, (void))                                                                  \
    X(Send, (const void *from, size_t count, int dtype, int peer, pithp_nccl_comm comm,  \
             cudaStream_t stream))                                                       \
    X(Recv, (void *to, size_t count, int dtype, int peer, pithp_nccl_comm comm,          \
             cudaStream_t stream))                                                       \
    X(Broadcast, (const void *from, void *to, size_t count, int dtype, int root,         \
                  pithp_nccl_comm comm, cudaStream_t stream))                            \
    X(AllGather, (const void *from, void *to, size_t count, int dtype,                   \
                  pithp_nccl_comm comm, cudaStream_t stream))                            \
    X(AllReduce, (const void *from, void *to, size_t count, int dtype, int operation,    \
                  pithp_nccl_comm comm, cudaStream_t stream))

typedef struct pithp_nccl {
#define PITHP_NCCL_MEMBER(name, arguments) int(*name) arguments;
    PITHP_NCCL_FUNCTIONS(PITHP_NCCL_MEMBER)
#undef PITHP_NCCL_MEMBER
    const char *(*GetErrorString)(int result);
    const char *(*GetLastError)(pithp_nccl_comm comm); /* NULL: of the process */
} pithp_nccl;

/* The library, opened once per process and never closed: libnccl.so.2, or the file that
 * PITH_NCCL_LIBRARY names. NULL sets e. */
const pithp_nccl *pithp_nccl_open(pithp_error *e);

#endif
