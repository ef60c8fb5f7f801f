/* Static checks of nccl.h against the header of NCCL, compiled where that is installed.
 */
#include "gpu/cuda/nccl.h"

#include <nccl.h>

#define SAME(ours, theirs)                                                               \
    _Static_assert((int)PITHP_NCCL_##ours == (int)(theirs), "nccl.h: " #ours)
SAME(OK, ncclSuccess);
SAME(IN_PROGRESS, ncclInProgress);
SAME(I8, ncclInt8);
SAME(U8, ncclUint8);
SAME(I32, ncclInt32);
SAME(U32, ncclUint32);
SAME(I64, ncclInt64);
SAME(U64, ncclUint64);
SAME(F32, ncclFloat32);
SAME(F64, ncclFloat64);
SAME(SUM, ncclSum);
SAME(MAX, ncclMax);
SAME(MIN, ncclMin);
SAME(UNDEFINED, NCCL_CONFIG_UNDEF_INT);
SAME(OLDEST, NCCL_VERSION(2, 27, 0));

_Static_assert(sizeof(ncclUniqueId) == sizeof(pithp_nccl_id) &&
                   sizeof(ncclComm_t) == sizeof(pithp_nccl_comm) &&
                   sizeof(ncclResult_t) == sizeof(int) &&
                   sizeof(ncclDataType_t) == sizeof(int) &&
                   sizeof(ncclRedOp_t) == sizeof(int),
               "identifiers are passed by value, enumerations as int");

#define AT(ours, theirs)                                                                 \
    _Static_assert(offsetof(pithp_nccl_config, ours) == offsetof(ncclConfig_t, theirs),  \
                   "nccl.h: the place of " #theirs)
AT(size, size);
AT(magic, magic);
AT(version, version);
AT(blocking, blocking);
AT(cga_cluster_size, cgaClusterSize);
AT(least_ctas, minCTAs);
AT(most_ctas, maxCTAs);
AT(net_name, netName);
AT(split_share, splitShare);
AT(traffic_class, trafficClass);
AT(name, commName);
AT(collnet, collnetEnable);
AT(cta_policy, CTAPolicy);
AT(shrink_share, shrinkShare);
AT(nvls_ctas, nvlsCTAs);

#define TYPE(function, ...)                                                              \
    _Static_assert(_Generic(&function, __VA_ARGS__ : 1, default : 0),                    \
                   "nccl.h: the type of " #function)
TYPE(ncclGetVersion, ncclResult_t (*)(int *));
TYPE(ncclGetUniqueId, ncclResult_t (*)(ncclUniqueId *));
TYPE(ncclCommInitRankConfig,
     ncclResult_t (*)(ncclComm_t *, int, ncclUniqueId, int, ncclConfig_t *));
TYPE(ncclCommFinalize, ncclResult_t (*)(ncclComm_t));
TYPE(ncclCommDestroy, ncclResult_t (*)(ncclComm_t));
TYPE(ncclCommAbort, ncclResult_t (*)(ncclComm_t));
TYPE(ncclCommGetAsyncError, ncclResult_t (*)(ncclComm_t, ncclResult_t *));
TYPE(ncclSend,
     ncclResult_t (
             *)(const void *, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t));
TYPE(ncclRecv,
     ncclResult_t (*)(void *, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t));
TYPE(ncclBroadcast,
     ncclResult_t (*)(const void *,
                      void *,
                      size_t,
                      ncclDataType_t,
                      int,
                      ncclComm_t,
                      cudaStream_t));
TYPE(ncclAllGather,
     ncclResult_t (
             *)(const void *, void *, size_t, ncclDataType_t, ncclComm_t, cudaStream_t));
TYPE(ncclAllReduce,
     ncclResult_t (*)(const void *,
                      void *,
                      size_t,
                      ncclDataType_t,
                      ncclRedOp_t,
                      ncclComm_t,
                      cudaStream_t));
TYPE(ncclGetErrorString, const char *(*)(ncclResult_t));
TYPE(ncclGetLastError, const char *(*)(ncclComm_t));
