/* A CUDA device made of host memory: the functions that src/gpu/cuda calls, with checks
 * of what they are given, queues of streams (fake_queue.c), and kernels run by the host.
 * Programs of tests that have these files and those of src/gpu/cuda have it as the device
 * "cuda": built-in kernels run by the bodies that CUDA has (program/cuda_target.c),
 * compiled ones by their text behind the host's prologue. Streams and graphs run in an
 * order that events and edges leave open, chosen by a seed.
 *
 * An argument that CUDA forbids ends the program with a message. */
#ifndef PITH_TESTS_FAKE_CUDA_H
#define PITH_TESTS_FAKE_CUDA_H

#include "gpu/gpu_internal.h"

#include <pthread.h>

#include <cuda_runtime_api.h>

/* ---- What tests set and look at ---- */

typedef struct fake_cuda_state {
    /* The call of that number fails, counted by `calls`; 0: none does. Calls that only
     * give back or ask do not count. */
    long long calls, fail_at;
    cudaError_t fail_with;
    const char *failed; /* the call that did */
    long long
        fail_launch;    /* number of the launch from now that is not supported; 0: none */
    bool no_conditions; /* conditional nodes are not supported */
    bool no_decisions;  /* modules that decide do not load */
    bool no_cublas;     /* there is none to open */
    bool gemm_allocates; /* what it captures takes memory */
    long long gemms;     /* calls of it that multiplied, or were captured */
    long long gemm_sums; /* of these, that added to what was there */
    int handles;         /* of it, alive */
    long long launches;  /* kernels, of graphs and others */
    long long graph_launches, graphs_made;
    /* The machine. */
    int devices;             /* 0: one */
    int driver;              /* version that it serves; 0: the runtime's */
    cudaError_t load_with;   /* what loading code gives, the library's own and compiled */
    cudaError_t kernel_with; /* what looking for users' kernels gives */
    int contexts;            /* that were ever made */
    bool foreign_capture;    /* another library captures in global mode */
    long long captures_broken; /* calls that it forbade */
    size_t budget;             /* bytes of the device for all; 0: what the device has */
    int pools, streams, events, libraries, graphs, execs, pinned, allocations; /* alive */
} fake_cuda_state;
extern fake_cuda_state fake_cuda;

/* The next call of that name on the calling thread fails; NULL: none does. */
extern _Thread_local const char *fake_cuda_fail_here;

/* Work of streams waits in queues until a call must not return before it has run. Then it
 * runs in one of the orders that streams and events allow, and nodes of a graph in one
 * that its edges allow, which the seed chooses; 0: work runs when it is enqueued, and
 * nodes as they were made. Without this call FAKE_CUDA_SEED is the seed, and 1 without
 * that. */
void fake_cuda_order(uint64_t seed);

/* The calling thread's context, as the driver knows it; NULL: none. */
void *fake_cuda_context(void);
void fake_cuda_context_set(void *context);
/* A context that is not primary, current from here on: a program's own. */
void *fake_cuda_context_make(int device);
/* The calling thread's mode of captures; 0: global, as it begins. */
int fake_cuda_capture_mode(void);

/* All of what is alive, once all work has run. */
int fake_cuda_alive(void);

/* ---- What the files of this folder share ---- */

typedef struct CUkern_st {
    uint32_t magic;
    bool by_address; /* its one parameter is the address of its arguments */
    bool decides;
    bool is_user; /* a host's loop, which does not look whether an index is one of all */
    cudaLibrary_t library; /* that it was found in, or NULL */
    pithp_host_loop loop;
    const char *name;
    struct CUkern_st *next;
} fake_kernel;

enum { FAKE_KERNEL = 0x6b65726e };

extern pthread_mutex_t fake_cuda_lock; /* recursive; every call holds it */
/* Whether this call is to fail. */
bool fake_cuda_fails(const char *call);
_Noreturn void fake_cuda_abort(const char *call, const char *what);
/* Whether bytes from there on lie in memory of the device that is not freed. */
bool fake_cuda_is_device(const void *at, size_t bytes);
/* A kernel by its handle, or the end of the program. */
const fake_kernel *fake_cuda_kernel(const char *call, const void *handle);
void fake_cuda_run(const fake_kernel *kernel, const void *args, int64_t threads);

/* What every launch is given, of a stream or in a graph, looked at: or the end of the
 * program. */
typedef struct fake_launch {
    const fake_kernel *kernel;
    const void *args; /* where they are; by address: in memory of the device */
    int64_t threads;
} fake_launch;
fake_launch fake_cuda_launch_of(const char *call,
                                const void *handle,
                                dim3 grid,
                                dim3 block,
                                void **parameters,
                                size_t shared);
/* Whether the launch of a graph that has yet to run needs code of the library. */
bool fake_graph_needs(cudaLibrary_t library);

/* The runtime makes the primary context of device 0 current on threads that have none. */
void fake_cuda_touch(void);
/* Whether a capture forbids the thread calls that allocate or ask. */
bool fake_cuda_forbids(void);
/* Allocate bytes of the device for contexts, code and graphs; false: out of memory. */
bool fake_cuda_take(size_t bytes);
void fake_cuda_give(size_t bytes);
size_t fake_cuda_taken(void);

#define FAKE_DEVICE_BYTES  ((size_t)4 << 30)
#define FAKE_LIBRARY_BYTES ((size_t)2 << 20)
#define FAKE_GRAPH_BYTES   ((size_t)1 << 20)

/* Every call is
 *     cudaError_t cudaX(...) { FAKE_BEGIN("X"); ...; return fake_cuda_end(code); } */
#define FAKE_BARE(call)                                                                  \
    static const char call_name[] = call;                                                \
    (void)call_name;                                                                     \
    pthread_mutex_lock(&fake_cuda_lock)
#define FAKE_SURE(call)                                                                  \
    FAKE_BARE(call);                                                                     \
    fake_cuda_touch()
#define FAKE_UNSAFE()                                                                    \
    do {                                                                                 \
        if (fake_cuda_forbids())                                                         \
            return fake_cuda_end(cudaErrorStreamCaptureUnsupported);                     \
    } while (0)
#define FAKE_BEGIN(call)                                                                 \
    FAKE_SURE(call);                                                                     \
    if (fake_cuda_fails(call))                                                           \
    return fake_cuda_end(fake_cuda.fail_with)
#define FAKE_CHECK(condition, what)                                                      \
    do {                                                                                 \
        if (!(condition))                                                                \
            fake_cuda_abort(call_name, what);                                            \
    } while (0)
cudaError_t fake_cuda_end(cudaError_t code);

#endif
