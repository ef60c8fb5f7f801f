/* Kernels and libraries of the fake. */
#include "fake_cuda.h"

#include "../../program/cuda_target.h"
#include "fake_kernels.h"
#include "fake_queue.h"
#include "gpu/cuda/fill.h"
#include "gpu/kernel/kernel_internal.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

fake_cuda_state fake_cuda;
pthread_mutex_t fake_cuda_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

int fake_cuda_alive(void) {
    fake_queue_finish();
    fake_memory_check();
    return fake_cuda.pools + fake_cuda.streams + fake_cuda.events + fake_cuda.libraries +
           fake_cuda.graphs + fake_cuda.execs + fake_cuda.pinned + fake_cuda.allocations +
           fake_cuda.handles;
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
#include "program/source/cuda/kernels.def"
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

const void *
fake_cuda_user(const pith_kernel_variant *kernel, bool by_address, int *code) {
    static struct {
        const pith_kernel_variant *of;
        fake_kernel kernels[2];
    } known[64];
    if (!fake_cuda_context())
        fake_cuda_abort("cudaGetKernel", "no context is current");
    *code = (int)fake_cuda.kernel_with;
    if (*code != 0)
        return NULL;
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
    const int64_t entries = kernel->is_user && frame->entries ? frame->entries : 1;
    const int64_t all = kernel->is_user ? frame->n * frame->m * entries : threads;
    fake_cuda.launches++;
    (kernel->is_user && frame->entries
         ? pithp_kernel_loops(frame->kernel, args)[0]
         : kernel->loop)(args, 0, all < threads ? all : threads);
}

fake_launch fake_cuda_launch_of(const char *call_name,
                                const void *handle,
                                dim3 grid,
                                dim3 block,
                                void **parameters,
                                size_t shared) {
    fake_launch l = {.kernel = fake_cuda_kernel(call_name, handle)};
    FAKE_CHECK(grid.x && grid.x <= 2147483647u && grid.y == 1 && grid.z == 1 && block.x &&
                   block.x <= 1024 && block.y == 1 && block.z == 1,
               "a grid that cannot be launched");
    FAKE_CHECK(!shared, "shared memory");
    l.threads = (int64_t)grid.x * block.x;
    l.args = parameters[0];
    if (l.kernel->by_address) {
        memcpy(&l.args, parameters[0], sizeof l.args);
        FAKE_CHECK(fake_cuda_is_device(l.args, 8), "arguments outside of the device");
    }
    return l;
}

/* A launch that waits. */
typedef struct launching {
    fake_launch launch;
    _Alignas(16) uint64_t args[PITHP_LAUNCH_ARGS / sizeof(uint64_t)]; /* by value */
} launching;

static void run_launch(const char *call_name, const void *closure) {
    const launching *l = closure;
    const bool by_address = l->launch.kernel->by_address;
    FAKE_CHECK(!by_address || fake_memory_lives(l->launch.args, 8),
               "arguments that were freed");
    fake_cuda_run(l->launch.kernel, by_address ? l->launch.args : l->args,
                  l->launch.threads);
}

/* Only a kernel knows how many bytes its arguments have: as many as there may be, up to
 * the end of the memory that they lie in. */
__attribute__((no_sanitize("address", "thread", "undefined"))) static void
take_args(uint64_t *to, const void *from) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const uintptr_t next = ((uintptr_t)from + page) & ~(uintptr_t)(page - 1);
    const size_t left = next - (uintptr_t)from;
    unsigned char unused;
    const bool beyond = mincore((void *)next, 1, &unused) == 0;
    const size_t bytes = left < PITHP_LAUNCH_ARGS && !beyond ? left : PITHP_LAUNCH_ARGS;
    const volatile unsigned char *bytes_from = from;
    volatile unsigned char *bytes_to = (unsigned char *)to;
    for (size_t k = 0; k < bytes; k++)
        bytes_to[k] = bytes_from[k];
}

cudaError_t cudaLaunchKernel(const void *handle,
                             dim3 grid,
                             dim3 block,
                             void **parameters,
                             size_t shared,
                             cudaStream_t stream) {
    FAKE_BEGIN("LaunchKernel");
    launching l = {.launch = fake_cuda_launch_of(call_name, handle, grid, block,
                                                 parameters, shared)};
    FAKE_CHECK(!l.launch.kernel->decides, "decides outside of a graph");
    if (!l.launch.kernel->by_address)
        take_args(l.args, l.launch.args);
    if (fake_cuda.fail_launch && --fake_cuda.fail_launch == 0)
        return fake_cuda_end(cudaErrorNotSupported);
    fake_queue_add(call_name, stream, run_launch, &l, sizeof l);
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
    memcpy(&bytes, image + 3, sizeof bytes);
    const int file = mkstemp(path);
    const bool written =
        file >= 0 && write(file, image + 3 + sizeof bytes, bytes) == (ssize_t)bytes;
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
    FAKE_UNSAFE();
    int driver = 0;
    (void)cudaDriverGetVersion(&driver);
    const char *bytes = image;
    const struct CUlib_st loaded = {.by_address = bytes[0] == 'A',
                                    .decides = bytes[1] == 'D'};
    if (loaded.decides && fake_cuda.no_decisions)
        return fake_cuda_end(cudaErrorSharedObjectSymbolNotFound);
    if (fake_cuda.load_with)
        return fake_cuda_end(fake_cuda.load_with);
    if (10 + bytes[2] - '0' > driver / 1000)
        return fake_cuda_end(cudaErrorInvalidKernelImage);
    if (!fake_cuda_take(FAKE_LIBRARY_BYTES))
        return fake_cuda_end(cudaErrorMemoryAllocation);
    void *handle = load(image);
    FAKE_CHECK(handle, "it does not load");
    pithp_host_loop link;
    void *symbol = find(handle, "pithp_math_link");
    memcpy(&link, &symbol, sizeof link);
    fake_rtc_link(link);
    *library = malloc(sizeof **library);
    **library = loaded;
    (*library)->handle = handle;
    fake_cuda.libraries++;
    return fake_cuda_end(cudaSuccess);
}

static bool is_of(const void *closure, const void *library) {
    return ((const launching *)closure)->launch.kernel->library == library;
}

/* CUDA does not say what becomes of kernels that have yet to run. */
cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
    FAKE_SURE("LibraryUnload");
    FAKE_CHECK(!fake_queue_has(run_launch, NULL, is_of, library) &&
                   !fake_graph_needs(library),
               "work that has yet to run needs its code");
    while (library->kernels) {
        fake_kernel *gone = library->kernels;
        library->kernels = gone->next;
        free(gone);
    }
    dlclose(library->handle);
    free(library);
    fake_cuda_give(FAKE_LIBRARY_BYTES);
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
                         .library = library,
                         .next = library->kernels};
    void *symbol = find(library->handle, name);
    memcpy(&found.loop, &symbol, sizeof found.loop);
    if (!symbol && !found.decides)
        return fake_cuda_end(cudaErrorSymbolNotFound);
    *kernel = library->kernels = malloc(sizeof found);
    **kernel = found;
    return fake_cuda_end(cudaSuccess);
}
