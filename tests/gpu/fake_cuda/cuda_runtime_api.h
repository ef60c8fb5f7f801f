/* What src/gpu/cuda uses of the CUDA runtime, for tests that run it on a machine without
 * a device, toolkit or driver (fake_cuda.c). Values and signatures are those of CUDA 13;
 * builds with a toolkit compile the same sources against its own header. */
#ifndef PITH_FAKE_CUDA_RUNTIME_API_H
#define PITH_FAKE_CUDA_RUNTIME_API_H

#include <stddef.h>

#define CUDART_VERSION 13000

typedef enum cudaError {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorCudartUnloading = 4,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorInvalidSymbol = 13,
    cudaErrorInvalidHostPointer = 16,
    cudaErrorInvalidDevicePointer = 17,
    cudaErrorInvalidMemcpyDirection = 21,
    cudaErrorInsufficientDriver = 35,
    cudaErrorCallRequiresNewerDriver = 36,
    cudaErrorDevicesUnavailable = 46,
    cudaErrorMissingConfiguration = 52,
    cudaErrorInvalidDeviceFunction = 98,
    cudaErrorNoDevice = 100,
    cudaErrorInvalidDevice = 101,
    cudaErrorInvalidKernelImage = 200,
    cudaErrorDeviceUninitialized = 201,
    cudaErrorNoKernelImageForDevice = 209,
    cudaErrorUnsupportedLimit = 215,
    cudaErrorInvalidPtx = 218,
    cudaErrorJitCompilerNotFound = 221,
    cudaErrorUnsupportedPtxVersion = 222,
    cudaErrorJitCompilationDisabled = 223,
    cudaErrorUnsupportedDevSideSync = 225,
    cudaErrorInvalidSource = 300,
    cudaErrorFileNotFound = 301,
    cudaErrorSharedObjectSymbolNotFound = 302,
    cudaErrorSharedObjectInitFailed = 303,
    cudaErrorOperatingSystem = 304,
    cudaErrorInvalidResourceHandle = 400,
    cudaErrorIllegalState = 401,
    cudaErrorLossyQuery = 402,
    cudaErrorSymbolNotFound = 500,
    cudaErrorNotReady = 600,
    cudaErrorIllegalAddress = 700,
    cudaErrorLaunchOutOfResources = 701,
    cudaErrorHostMemoryAlreadyRegistered = 712,
    cudaErrorHostMemoryNotRegistered = 713,
    cudaErrorCooperativeLaunchTooLarge = 720,
    cudaErrorNotPermitted = 800,
    cudaErrorNotSupported = 801,
    cudaErrorStreamCaptureUnsupported = 900,
    cudaErrorStreamCaptureInvalidated = 901,
    cudaErrorStreamCaptureMerge = 902,
    cudaErrorStreamCaptureUnmatched = 903,
    cudaErrorStreamCaptureUnjoined = 904,
    cudaErrorStreamCaptureIsolation = 905,
    cudaErrorStreamCaptureImplicit = 906,
    cudaErrorCapturedEvent = 907,
    cudaErrorStreamCaptureWrongThread = 908,
    cudaErrorGraphExecUpdateFailure = 910,
    cudaErrorInvalidClusterSize = 912,
    cudaErrorFunctionNotLoaded = 913,
    cudaErrorInvalidResourceType = 914,
    cudaErrorInvalidResourceConfiguration = 915,
} cudaError_t;

typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
typedef struct CUmemPoolHandle_st *cudaMemPool_t;
typedef struct CUlib_st *cudaLibrary_t;
typedef struct CUkern_st *cudaKernel_t;
typedef struct CUgraph_st *cudaGraph_t;
typedef struct CUgraphNode_st *cudaGraphNode_t;
typedef struct CUgraphExec_st *cudaGraphExec_t;
typedef unsigned long long cudaGraphConditionalHandle;

typedef struct dim3 {
    unsigned x, y, z;
} dim3;

struct cudaDeviceProp {
    char name[256];
    struct {
        char bytes[16];
    } uuid;
    size_t totalGlobalMem;
};
struct cudaFuncAttributes {
    int numRegs;
};
enum cudaDeviceAttr {
    cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrComputeCapabilityMinor = 76,
    cudaDevAttrMemoryPoolsSupported = 115,
};
enum cudaMemAllocationType { cudaMemAllocationTypePinned = 1 };
enum cudaMemAllocationHandleType { cudaMemHandleTypeNone = 0 };
enum cudaMemLocationType { cudaMemLocationTypeDevice = 1 };
struct cudaMemLocation {
    enum cudaMemLocationType type;
    int id;
};
struct cudaMemPoolProps {
    enum cudaMemAllocationType allocType;
    enum cudaMemAllocationHandleType handleTypes;
    struct cudaMemLocation location;
    unsigned char reserved[64];
};
enum cudaMemPoolAttr {
    cudaMemPoolReuseAllowOpportunistic = 2,
    cudaMemPoolReuseAllowInternalDependencies = 3,
    cudaMemPoolAttrReleaseThreshold = 4,
    cudaMemPoolAttrReservedMemCurrent = 5,
};
enum cudaMemcpyKind {
    cudaMemcpyHostToDevice = 1,
    cudaMemcpyDeviceToHost = 2,
    cudaMemcpyDeviceToDevice = 3,
};
enum {
    cudaStreamNonBlocking = 1,
    cudaEventDefault = 0,
    cudaEventDisableTiming = 2,
    cudaHostAllocDefault = 0,
    cudaHostAllocPortable = 1,
    cudaHostAllocMapped = 2,
    cudaGraphCondAssignDefault = 1,
};

struct cudaKernelNodeParams {
    void *func;
    dim3 gridDim, blockDim;
    unsigned sharedMemBytes;
    void **kernelParams;
    void **extra;
};
enum cudaGraphConditionalNodeType {
    cudaGraphCondTypeIf = 0,
    cudaGraphCondTypeWhile = 1,
    cudaGraphCondTypeSwitch = 2,
};
struct cudaConditionalNodeParams {
    cudaGraphConditionalHandle handle;
    enum cudaGraphConditionalNodeType type;
    unsigned size;
    cudaGraph_t *phGraph_out;
};
enum cudaGraphNodeType {
    cudaGraphNodeTypeKernel = 0,
    cudaGraphNodeTypeMemcpy = 1,
    cudaGraphNodeTypeMemset = 2,
    cudaGraphNodeTypeHost = 3,
    cudaGraphNodeTypeGraph = 4,
    cudaGraphNodeTypeEmpty = 5,
    cudaGraphNodeTypeMemAlloc = 10,
    cudaGraphNodeTypeConditional = 13,
};
enum cudaStreamCaptureMode {
    cudaStreamCaptureModeGlobal = 0,
    cudaStreamCaptureModeThreadLocal = 1,
    cudaStreamCaptureModeRelaxed = 2,
};
struct cudaGraphNodeParams {
    enum cudaGraphNodeType type;
    int reserved0[3];
    union {
        long long reserved1[29];
        struct cudaConditionalNodeParams conditional;
    };
    long long reserved2;
};
typedef struct cudaGraphEdgeData {
    unsigned char from_port, to_port, type, reserved[5];
} cudaGraphEdgeData;
enum cudaDriverEntryPointQueryResult {
    cudaDriverEntryPointSuccess = 0,
    cudaDriverEntryPointSymbolNotFound = 1,
};
enum { cudaEnableDefault = 0 };
enum cudaJitOption { cudaJitFake };
enum cudaLibraryOption { cudaLibraryFake };

/* Not the names of the real ones, which may be linked too. */
#define cudaDeviceGetAttribute           fake_cudaDeviceGetAttribute
#define cudaFuncGetAttributes            fake_cudaFuncGetAttributes
#define cudaGetDeviceProperties          fake_cudaGetDeviceProperties
#define cudaInitDevice                   fake_cudaInitDevice
#define cudaGetDriverEntryPointByVersion fake_cudaGetDriverEntryPointByVersion
#define cudaPeekAtLastError              fake_cudaPeekAtLastError
#define cudaGetDevice                    fake_cudaGetDevice
#define cudaSetDevice                    fake_cudaSetDevice
#define cudaMemPoolCreate                fake_cudaMemPoolCreate
#define cudaMemPoolSetAttribute          fake_cudaMemPoolSetAttribute
#define cudaMallocFromPoolAsync          fake_cudaMallocFromPoolAsync
#define cudaMalloc                       fake_cudaMalloc
#define cudaHostAlloc                    fake_cudaHostAlloc
#define cudaHostGetDevicePointer         fake_cudaHostGetDevicePointer
#define cudaStreamCreateWithFlags        fake_cudaStreamCreateWithFlags
#define cudaStreamSynchronize            fake_cudaStreamSynchronize
#define cudaStreamWaitEvent              fake_cudaStreamWaitEvent
#define cudaEventCreateWithFlags         fake_cudaEventCreateWithFlags
#define cudaEventElapsedTime             fake_cudaEventElapsedTime
#define cudaEventRecord                  fake_cudaEventRecord
#define cudaEventSynchronize             fake_cudaEventSynchronize
#define cudaEventQuery                   fake_cudaEventQuery
#define cudaMemcpyAsync                  fake_cudaMemcpyAsync
#define cudaMemsetAsync                  fake_cudaMemsetAsync
#define cudaLaunchKernel                 fake_cudaLaunchKernel
#define cudaLibraryLoadData              fake_cudaLibraryLoadData
#define cudaLibraryGetKernel             fake_cudaLibraryGetKernel
#define cudaGraphCreate                  fake_cudaGraphCreate
#define cudaGraphConditionalHandleCreate fake_cudaGraphConditionalHandleCreate
#define cudaGraphAddKernelNode           fake_cudaGraphAddKernelNode
#define cudaGraphAddEmptyNode            fake_cudaGraphAddEmptyNode
#define cudaGraphAddNode                 fake_cudaGraphAddNode
#define cudaGraphInstantiate             fake_cudaGraphInstantiate
#define cudaGraphUpload                  fake_cudaGraphUpload
#define cudaGraphLaunch                  fake_cudaGraphLaunch
#define cudaGraphAddChildGraphNode       fake_cudaGraphAddChildGraphNode
#define cudaGraphGetNodes                fake_cudaGraphGetNodes
#define cudaGraphNodeGetType             fake_cudaGraphNodeGetType
#define cudaStreamQuery                  fake_cudaStreamQuery
#define cudaStreamBeginCapture           fake_cudaStreamBeginCapture
#define cudaStreamEndCapture             fake_cudaStreamEndCapture
#define cudaDriverGetVersion             fake_cudaDriverGetVersion
#define cudaRuntimeGetVersion            fake_cudaRuntimeGetVersion
#define cudaGetDeviceCount               fake_cudaGetDeviceCount
#define cudaGetLastError                 fake_cudaGetLastError
#define cudaGetErrorName                 fake_cudaGetErrorName
#define cudaGetErrorString               fake_cudaGetErrorString
#define cudaMemPoolDestroy               fake_cudaMemPoolDestroy
#define cudaMemPoolGetAttribute          fake_cudaMemPoolGetAttribute
#define cudaMemPoolTrimTo                fake_cudaMemPoolTrimTo
#define cudaMemGetInfo                   fake_cudaMemGetInfo
#define cudaDeviceGraphMemTrim           fake_cudaDeviceGraphMemTrim
#define cudaFreeAsync                    fake_cudaFreeAsync
#define cudaFree                         fake_cudaFree
#define cudaFreeHost                     fake_cudaFreeHost
#define cudaStreamDestroy                fake_cudaStreamDestroy
#define cudaEventDestroy                 fake_cudaEventDestroy
#define cudaLibraryUnload                fake_cudaLibraryUnload
#define cudaGraphDestroy                 fake_cudaGraphDestroy
#define cudaGraphExecDestroy             fake_cudaGraphExecDestroy

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr which, int device);
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *to, const void *function);
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *to, int device);
cudaError_t cudaInitDevice(int device, unsigned device_flags, unsigned flags);
cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol,
                                             void **function,
                                             unsigned version,
                                             unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *found);
cudaError_t cudaPeekAtLastError(void);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *props);
cudaError_t
cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr which, void *value);
cudaError_t cudaMallocFromPoolAsync(void **data,
                                    size_t bytes,
                                    cudaMemPool_t pool,
                                    cudaStream_t stream);
cudaError_t cudaMalloc(void **data, size_t bytes);
cudaError_t cudaHostAlloc(void **data, size_t bytes, unsigned flags);
cudaError_t cudaHostGetDevicePointer(void **mapped, void *data, unsigned flags);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaMemcpyAsync(void *to,
                            const void *from,
                            size_t bytes,
                            enum cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemsetAsync(void *to, int byte, size_t bytes, cudaStream_t stream);
cudaError_t cudaLaunchKernel(const void *kernel,
                             dim3 grid,
                             dim3 block,
                             void **parameters,
                             size_t shared,
                             cudaStream_t stream);
cudaError_t cudaLibraryLoadData(cudaLibrary_t *library,
                                const void *image,
                                enum cudaJitOption *jit_options,
                                void **jit_values,
                                unsigned jit_count,
                                enum cudaLibraryOption *options,
                                void **values,
                                unsigned count);
cudaError_t
cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library, const char *name);
cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned flags);
cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *handle,
                                             cudaGraph_t graph,
                                             unsigned value,
                                             unsigned flags);
cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *node,
                                   cudaGraph_t graph,
                                   const cudaGraphNode_t *after,
                                   size_t count,
                                   const struct cudaKernelNodeParams *params);
cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *node,
                                  cudaGraph_t graph,
                                  const cudaGraphNode_t *after,
                                  size_t count);
cudaError_t cudaGraphAddNode(cudaGraphNode_t *node,
                             cudaGraph_t graph,
                             const cudaGraphNode_t *after,
                             const cudaGraphEdgeData *edges,
                             size_t count,
                             struct cudaGraphNodeParams *params);
cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *node,
                                       cudaGraph_t graph,
                                       const cudaGraphNode_t *after,
                                       size_t count,
                                       cudaGraph_t child);
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count);
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *type);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t
cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags);
cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaRuntimeGetVersion(int *version);
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetLastError(void);
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool);
cudaError_t
cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr which, void *value);
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes);
cudaError_t cudaMemGetInfo(size_t *available, size_t *total);
cudaError_t cudaDeviceGraphMemTrim(int device);
cudaError_t cudaFreeAsync(void *data, cudaStream_t stream);
cudaError_t cudaFree(void *data);
cudaError_t cudaFreeHost(void *data);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaLibraryUnload(cudaLibrary_t library);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);
const char *cudaGetErrorName(cudaError_t code);
const char *cudaGetErrorString(cudaError_t code);

#endif
