/* Devices, streams, memory, copies, launches and libraries of the fake. Work runs when it
 * is enqueued. */
#include "fake_cuda.h"

#include "../../program/cuda_target.h"
#include "fake_kernels.h"
#include "gpu/cuda/fill.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

fake_cuda_state fake_cuda;
pthread_mutex_t fake_cuda_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static cudaError_t last_error;
static _Thread_local int current_device;

int fake_cuda_alive(void) {
    return fake_cuda.pools + fake_cuda.streams + fake_cuda.events + fake_cuda.libraries +
           fake_cuda.graphs + fake_cuda.execs + fake_cuda.pinned + fake_cuda.allocations;
}

void fake_cuda_abort(const char *call, const char *what) {
    fprintf(stderr, "fake CUDA: cuda%s: %s\n", call, what);
    abort();
}

bool fake_cuda_fails(const char *call) {
    if (++fake_cuda.calls != fake_cuda.fail_at)
        return false;
    fake_cuda.failed = call;
    return true;
}

cudaError_t fake_cuda_end(cudaError_t code) {
    if (code != cudaSuccess)
        last_error = code;
    pthread_mutex_unlock(&fake_cuda_lock);
    return code;
}

/* ---- Machine ---- */

cudaError_t cudaDriverGetVersion(int *version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int *version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int *count) {
    *count = 1;
    return cudaSuccess;
}
cudaError_t cudaGetLastError(void) {
    FAKE_SURE("GetLastError");
    const cudaError_t code = last_error;
    fake_cuda_end(cudaSuccess);
    last_error = cudaSuccess;
    return code;
}
const char *cudaGetErrorName(cudaError_t code) {
    return code == cudaErrorNotSupported       ? "cudaErrorNotSupported"
           : code == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation"
           : code == cudaErrorInvalidValue     ? "cudaErrorInvalidValue"
                                               : "cudaErrorOfTheFake";
}
const char *cudaGetErrorString(cudaError_t code) {
    (void)code;
    return "the fake says so";
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr which, int device) {
    FAKE_BEGIN("DeviceGetAttribute");
    FAKE_CHECK(device == 0, "no such device");
    *value = which == cudaDevAttrComputeCapabilityMajor   ? 9
             : which == cudaDevAttrComputeCapabilityMinor ? 0
                                                          : 1;
    return fake_cuda_end(cudaSuccess);
}
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *to, const void *function) {
    FAKE_BEGIN("FuncGetAttributes");
    fake_cuda_kernel(call_name, function);
    to->numRegs = 1;
    return fake_cuda_end(cudaSuccess);
}
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *to, int device) {
    FAKE_BEGIN("GetDeviceProperties");
    FAKE_CHECK(device == 0, "no such device");
    memset(to, 0, sizeof *to);
    snprintf(to->name, sizeof to->name, "a fake");
    to->totalGlobalMem = (size_t)4 << 30;
    return fake_cuda_end(cudaSuccess);
}
cudaError_t cudaGetDevice(int *device) {
    FAKE_BEGIN("GetDevice");
    *device = current_device;
    return fake_cuda_end(cudaSuccess);
}
cudaError_t cudaSetDevice(int device) {
    FAKE_BEGIN("SetDevice");
    FAKE_CHECK(device == 0, "no such device");
    current_device = device;
    return fake_cuda_end(cudaSuccess);
}

/* ---- Memory ---- */

typedef struct allocation {
    char *data;
    size_t bytes;
    struct allocation *next;
} allocation;
static allocation *blocks;
static size_t in_use;

bool fake_cuda_is_device(const void *at, size_t bytes) {
    const uintptr_t from = (uintptr_t)at;
    for (const allocation *b = blocks; b; b = b->next)
        if (from >= (uintptr_t)b->data && from + bytes <= (uintptr_t)b->data + b->bytes)
            return true;
    return false;
}

static cudaError_t take(void **data, size_t bytes) {
    allocation *b = bytes > (size_t)1 << 32 ? NULL : malloc(sizeof *b);
    void *taken = b ? aligned_alloc(256, (bytes + 511) & ~(size_t)255) : NULL;
    if (!taken) {
        free(b);
        return cudaErrorMemoryAllocation;
    }
    memset(taken, 0xcd, bytes);
    *b = (allocation){taken, bytes, blocks};
    blocks = b;
    in_use += bytes;
    fake_cuda.allocations++;
    *data = taken;
    return cudaSuccess;
}

static void give(const char *call, void *data) {
    allocation **at = &blocks;
    while (*at && (*at)->data != data)
        at = &(*at)->next;
    if (!*at)
        fake_cuda_abort(call, "not memory of the device");
    allocation *gone = *at;
    *at = gone->next;
    in_use -= gone->bytes;
    fake_cuda.allocations--;
    free(gone->data);
    free(gone);
}

struct CUmemPoolHandle_st {
    int unused;
};

cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *props) {
    static const unsigned char zero[sizeof props->reserved];
    FAKE_BEGIN("MemPoolCreate");
    FAKE_CHECK(!memcmp(props->reserved, zero, sizeof zero), "reserved is not zero");
    *pool = calloc(1, sizeof **pool);
    fake_cuda.pools++;
    return fake_cuda_end(cudaSuccess);
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
    FAKE_SURE("MemPoolDestroy");
    free(pool);
    fake_cuda.pools--;
    return fake_cuda_end(cudaSuccess);
}
cudaError_t
cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr which, void *value) {
    FAKE_BEGIN("MemPoolSetAttribute");
    FAKE_CHECK(pool && value, "nothing was given");
    (void)which;
    return fake_cuda_end(cudaSuccess);
}
cudaError_t
cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr which, void *value) {
    FAKE_SURE("MemPoolGetAttribute");
    FAKE_CHECK(pool && which == cudaMemPoolAttrReservedMemCurrent, "not asked for here");
    memcpy(value, &(uint64_t){in_use}, sizeof(uint64_t));
    return fake_cuda_end(cudaSuccess);
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes) {
    (void)pool, (void)bytes;
    return cudaSuccess;
}
cudaError_t cudaDeviceGraphMemTrim(int device) {
    (void)device;
    return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t *available, size_t *total) {
    FAKE_SURE("MemGetInfo");
    *total = (size_t)4 << 30;
    *available = *total - in_use;
    return fake_cuda_end(cudaSuccess);
}
cudaError_t cudaMallocFromPoolAsync(void **data,
                                    size_t bytes,
                                    cudaMemPool_t pool,
                                    cudaStream_t stream) {
    FAKE_BEGIN("MallocFromPoolAsync");
    FAKE_CHECK(pool && stream, "no pool, or no stream");
    return fake_cuda_end(take(data, bytes));
}
cudaError_t cudaFreeAsync(void *data, cudaStream_t stream) {
    FAKE_SURE("FreeAsync");
    FAKE_CHECK(stream, "no stream");
    give(call_name, data);
    return fake_cuda_end(cudaSuccess);
}
cudaError_t cudaMalloc(void **data, size_t bytes) {
    FAKE_BEGIN("Malloc");
    return fake_cuda_end(take(data, bytes));
}
cudaError_t cudaFree(void *data) {
    FAKE_SURE("Free");
    if (data)
        give(call_name, data);
    return fake_cuda_end(cudaSuccess);
}
cudaError_t cudaHostAlloc(void **data, size_t bytes, unsigned flags) {
    FAKE_BEGIN("HostAlloc");
    (void)flags;
    *data = malloc(bytes);
    fake_cuda.pinned++;
    return fake_cuda_end(cudaSuccess);
}
cudaError_t cudaHostGetDevicePointer(void **mapped, void *data, unsigned flags) {
    FAKE_BEGIN("HostGetDevicePointer");
    (void)flags;
    *mapped = data;
    return fake_cuda_end(cudaSuccess);
}
cudaError_t cudaFreeHost(void *data) {
    FAKE_SURE("FreeHost");
    fake_cuda.pinned -= data != NULL;
    free(data);
    return fake_cuda_end(cudaSuccess);
}

/* ---- Streams and events: all has run already ---- */

struct CUstream_st {
    int unused;
};
struct CUevent_st {
    int unused;
};

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
    FAKE_BEGIN("StreamCreateWithFlags");
    FAKE_CHECK(flags == cudaStreamNonBlocking, "a stream that blocks");
    *stream = calloc(1, sizeof **stream);
    fake_cuda.streams++;
    return fake_cuda_end(cudaSuccess);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    FAKE_SURE("StreamDestroy");
    free(stream);
    fake_cuda.streams--;
    return fake_cuda_end(cudaSuccess);
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    FAKE_BEGIN("StreamSynchronize");
    FAKE_CHECK(stream, "no stream");
    return fake_cuda_end(cudaSuccess);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
    FAKE_BEGIN("StreamWaitEvent");
    FAKE_CHECK(stream && event && !flags, "no stream, or no event");
    return fake_cuda_end(cudaSuccess);
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) {
    FAKE_BEGIN("EventCreateWithFlags");
    FAKE_CHECK(flags == cudaEventDisableTiming, "an event with a time");
    *event = calloc(1, sizeof **event);
    fake_cuda.events++;
    return fake_cuda_end(cudaSuccess);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    FAKE_SURE("EventDestroy");
    free(event);
    fake_cuda.events -= event != NULL;
    return fake_cuda_end(cudaSuccess);
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    FAKE_BEGIN("EventRecord");
    FAKE_CHECK(event && stream, "no event, or no stream");
    return fake_cuda_end(cudaSuccess);
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    FAKE_BEGIN("EventSynchronize");
    FAKE_CHECK(event, "no event");
    return fake_cuda_end(cudaSuccess);
}

/* ---- Copies ---- */

cudaError_t cudaMemcpyAsync(void *to,
                            const void *from,
                            size_t bytes,
                            enum cudaMemcpyKind kind,
                            cudaStream_t stream) {
    FAKE_BEGIN("MemcpyAsync");
    FAKE_CHECK(stream, "no stream");
    FAKE_CHECK(kind == cudaMemcpyDeviceToHost || fake_cuda_is_device(to, bytes),
               "not to memory of the device");
    FAKE_CHECK(kind == cudaMemcpyHostToDevice || fake_cuda_is_device(from, bytes),
               "not from memory of the device");
    memmove(to, from, bytes);
    return fake_cuda_end(cudaSuccess);
}
cudaError_t cudaMemsetAsync(void *to, int byte, size_t bytes, cudaStream_t stream) {
    FAKE_BEGIN("MemsetAsync");
    FAKE_CHECK(stream && fake_cuda_is_device(to, bytes), "not memory of the device");
    memset(to, byte, bytes);
    return fake_cuda_end(cudaSuccess);
}

/* ---- Kernels ---- */

static void fill_loop(const void *args, int64_t begin, int64_t end) {
    const pithp_fill_args *a = args;
    (void)begin, (void)end;
    for (int64_t k = 0; k < a->bytes; k++)
        a->to[k] = (unsigned char)(a->word >> 8 * (k % 8));
}

const void *pithp_fill_kernel(void) {
    static const fake_kernel kernel = {
        .magic = FAKE_KERNEL, .loop = fill_loop, .name = "fill"};
    return &kernel;
}

static const char *const builtin_names[] = {
#define PITHP_CUDA_KERNEL(name) #name,
#include "program/cuda/kernels.def"
};

static const void *builtin(int id, bool by_address) {
    static fake_kernel kernels[PITHP_COUNT(builtin_names)][2];
    pithp_launch launch = {.loops = NULL};
    pthread_mutex_lock(&fake_cuda_lock);
    call_cuda_target.builtin(NULL, (pithp_cuda_kernel_id)id, &launch);
    fake_kernel *kernel = &kernels[id][by_address];
    *kernel = (fake_kernel){.magic = FAKE_KERNEL,
                            .by_address = by_address,
                            .loop = launch.loops[0],
                            .name = builtin_names[id]};
    pthread_mutex_unlock(&fake_cuda_lock);
    return kernel;
}
const void *pithp_cuda_kernel(int id) {
    return builtin(id, false);
}
const void *pithp_cuda_kernel_at(int id) {
    return builtin(id, true);
}

const void *fake_cuda_user(const pith_kernel_variant *kernel, bool by_address) {
    static struct {
        const pith_kernel_variant *of;
        fake_kernel kernels[2];
    } known[64];
    pthread_mutex_lock(&fake_cuda_lock);
    int k = 0;
    while (known[k].of && known[k].of != kernel && k < PITHP_COUNT(known) - 1)
        k++;
    known[k].of = kernel;
    known[k].kernels[by_address] = (fake_kernel){.magic = FAKE_KERNEL,
                                                 .by_address = by_address,
                                                 .is_user = true,
                                                 .loop = kernel->loops[0],
                                                 .name = kernel->name};
    pthread_mutex_unlock(&fake_cuda_lock);
    return &known[k].kernels[by_address];
}

const fake_kernel *fake_cuda_kernel(const char *call, const void *handle) {
    const fake_kernel *kernel = handle;
    if (!kernel || kernel->magic != FAKE_KERNEL)
        fake_cuda_abort(call, "not a kernel");
    return kernel;
}

void fake_cuda_run(const fake_kernel *kernel, const void *args, int64_t threads) {
    const pith_kernel_frame *frame = args;
    const int64_t all = kernel->is_user ? frame->n * frame->m : threads;
    fake_cuda.launches++;
    kernel->loop(args, 0, all < threads ? all : threads);
}

void fake_cuda_check_grid(const char *call, dim3 grid, dim3 block) {
    if (!grid.x || grid.x > 2147483647u || grid.y != 1 || grid.z != 1 || !block.x ||
        block.x > 1024 || block.y != 1 || block.z != 1)
        fake_cuda_abort(call, "a grid that cannot be launched");
}

cudaError_t cudaLaunchKernel(const void *handle,
                             dim3 grid,
                             dim3 block,
                             void **parameters,
                             size_t shared,
                             cudaStream_t stream) {
    FAKE_BEGIN("LaunchKernel");
    const fake_kernel *kernel = fake_cuda_kernel(call_name, handle);
    FAKE_CHECK(stream && !shared, "no stream, or shared memory");
    FAKE_CHECK(!kernel->decides, "decides outside of a graph");
    fake_cuda_check_grid(call_name, grid, block);
    const void *args = parameters[0];
    if (kernel->by_address) {
        memcpy(&args, parameters[0], sizeof args);
        FAKE_CHECK(fake_cuda_is_device(args, 8), "arguments outside of the device");
    }
    if (fake_cuda.fail_launch && --fake_cuda.fail_launch == 0)
        return fake_cuda_end(cudaErrorNotSupported);
    fake_cuda_run(kernel, args, (int64_t)grid.x * block.x);
    return fake_cuda_end(cudaSuccess);
}

/* ---- Libraries: what fake_rtc.c has made ---- */

struct CUlib_st {
    void *handle;
    bool by_address, decides;
    fake_kernel *kernels;
};

static void *load(const char *image) {
    char path[] = P_tmpdir "/pith_fake_cuda_XXXXXX";
    uint64_t bytes;
    memcpy(&bytes, image + 2, sizeof bytes);
    const int file = mkstemp(path);
    const bool written =
        file >= 0 && write(file, image + 2 + sizeof bytes, bytes) == (ssize_t)bytes;
    void *handle = written ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (file >= 0)
        close(file);
    unlink(path);
    return handle;
}

static void *find(void *handle, const char *name) {
    return handle ? dlsym(handle, name) : NULL;
}

void fake_rtc_link(void (*link)(const void *args, int64_t begin, int64_t end));

cudaError_t cudaLibraryLoadData(cudaLibrary_t *library,
                                const void *image,
                                enum cudaJitOption *jit_options,
                                void **jit_values,
                                unsigned jit_count,
                                enum cudaLibraryOption *options,
                                void **values,
                                unsigned count) {
    FAKE_BEGIN("LibraryLoadData");
    FAKE_CHECK(!jit_options && !jit_values && !jit_count && !options && !values && !count,
               "options");
    const char *bytes = image;
    const struct CUlib_st loaded = {.by_address = bytes[0] == 'A',
                                    .decides = bytes[1] == 'D'};
    if (loaded.decides && fake_cuda.no_decisions)
        return fake_cuda_end(cudaErrorSharedObjectSymbolNotFound);
    void *handle = load(image);
    FAKE_CHECK(handle, "it does not load");
    pithp_host_loop link;
    void *symbol = find(handle, "pith_math_link");
    memcpy(&link, &symbol, sizeof link);
    fake_rtc_link(link);
    *library = malloc(sizeof **library);
    **library = loaded;
    (*library)->handle = handle;
    fake_cuda.libraries++;
    return fake_cuda_end(cudaSuccess);
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
    FAKE_SURE("LibraryUnload");
    while (library->kernels) {
        fake_kernel *gone = library->kernels;
        library->kernels = gone->next;
        free(gone);
    }
    dlclose(library->handle);
    free(library);
    fake_cuda.libraries--;
    return fake_cuda_end(cudaSuccess);
}

cudaError_t
cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library, const char *name) {
    FAKE_BEGIN("LibraryGetKernel");
    fake_kernel found = {.magic = FAKE_KERNEL,
                         .by_address = library->by_address,
                         .decides = library->decides && strcmp(name, "pith_decide") == 0,
                         .name = "compiled",
                         .next = library->kernels};
    void *symbol = find(library->handle, name);
    memcpy(&found.loop, &symbol, sizeof found.loop);
    if (!symbol && !found.decides)
        return fake_cuda_end(cudaErrorSymbolNotFound);
    *kernel = library->kernels = malloc(sizeof found);
    **kernel = found;
    return fake_cuda_end(cudaSuccess);
}
