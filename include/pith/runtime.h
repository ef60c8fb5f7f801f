/**
 * @file
 * Runtimes: a device, its memory, its threads, and waiting for it.
 */
#ifndef PITH_RUNTIME_H
#define PITH_RUNTIME_H

#include <pith/base.h>

PITH_BEGIN

/** Options of pith_open; zero is the default. */
typedef struct pith_open_options {
    /**
     * "host", "cuda" or "cuda:1". NULL: PITH_DEVICE of the environment; without it CUDA
     * if a driver and a device exist, else the host. A named device that does not exist
     * is an error.
     */
    const char *device PITH_DEFAULT;
    /**
     * Limit of device memory for arrays, in bytes. 0: on the host PITH_HOST_MEMORY of the
     * environment (such as 2GiB), else all memory of the device. On CUDA a larger value
     * is cut to the memory of the device; the host takes the value as it is.
     */
    size_t memory PITH_DEFAULT;
    int threads PITH_DEFAULT; /**< host threads, at most 1,024; 0: PITH_THREADS, else one
                                 for each core available to the process */
    const pith_allocator *allocator
        PITH_DEFAULT; /**< allocator of host memory; NULL: the C library's; copied */
    /** Receives messages that no call can return. NULL: the default hook, whose level
     * PITH_LOG sets (pith_set_log_hook). */
    pith_log_hook log PITH_DEFAULT;
    void *log_closure PITH_DEFAULT;
    /** Failed checks of level always (capacities, mode error, checks in kernels) are not
     * errors unless a collector takes them. Wrong results are then not reported, as in
     * kUPS. */
    bool silent_checks PITH_DEFAULT;
} pith_open_options;

/**
 * Open a runtime on a device.
 *
 * These variables of the environment apply if the options leave a value open:
 * - PITH_DEVICE, PITH_THREADS: see pith_open_options.
 * - PITH_HOST_MEMORY: memory of the host as a device, a number of bytes with an optional
 *   suffix KiB, MiB, GiB or TiB.
 * - PITH_ISA: base, v3 or v4 limits the instruction set of the host.
 * - PITH_HOST_ASYNC=1: the host defers work to the next waiting call, as a device does.
 *   Tests without a device then find errors of order.
 *
 * A program with elevated rights (setuid, setgid, file capabilities) reads no variable,
 * compiles nothing at run time, and computes on the host
 * (docs/reference/environment.md).
 *
 * After fork() a child may use a runtime on the host if no other thread was in a call of
 * the runtime. It may use it only on the thread that forked. Parent and child both finish
 * compilations that were running. A child cannot use a runtime on CUDA.
 *
 * @param options NULL for the defaults.
 * @return The runtime, never NULL. If opening failed, each of its scopes has the error.
 *
 * @par Errors
 * PITH_E_UNSUPPORTED: the device does not exist or is too old. PITH_E_ARG: an invalid
 * device name, option or variable. PITH_E_DEVICE: the device does not work.
 * PITH_E_MEMORY.
 */
PITH_API pith_runtime *pith_open(const pith_open_options *options);

/** Close a runtime and its scopes; NULL does nothing. If another thread is in a call of
 * the runtime, it stays open, and the call is reported to the log hook
 * (docs/concepts/threads.md). */
PITH_API void pith_close(pith_runtime *rt);

/** The error of opening a runtime; PITH_OK if it is usable; PITH_E_ARG for NULL and for a
 * closed runtime. */
PITH_API pith_status pith_runtime_code(const pith_runtime *rt);
/** The error of pith_runtime_code as one line; "" for PITH_OK. */
PITH_API const char *pith_runtime_message(const pith_runtime *rt);

/** Kind of the device: "host" or "cuda"; "none" if opening failed. */
PITH_API const char *pith_device_kind(const pith_runtime *rt);
/** Name of the device, such as "NVIDIA H200" or "x86-64-v4"; "" without a device. */
PITH_API const char *pith_device_name(const pith_runtime *rt);
/** Number of threads that compute on the host; 0 on CUDA. */
PITH_API int pith_device_threads(const pith_runtime *rt);

/** Memory of a runtime's device, in bytes. */
typedef struct pith_memory_info {
    size_t live; /**< held by buffers of this runtime */
    size_t peak; /**< largest value of `live` */
    size_t pool; /**< free bytes that the pool keeps for reuse */
    /** Available to buffers, with the pool's. On a host without a limit by options or
     * environment: the memory available in the system. */
    size_t free;
    size_t total;       /**< memory of the device, or the limit of the runtime */
    int64_t live_count; /**< number of live blocks */
    int64_t peak_count; /**< largest value of `live_count` */
} pith_memory_info;

/** Memory use of a runtime; all zero if opening failed. */
PITH_API pith_memory_info pith_memory_about(const pith_runtime *rt);

/**
 * Wait until all work enqueued on the scope's stream has run.
 *
 * @par Errors
 * Failed checks inside kernels and failures of the device become the scope's error here.
 */
PITH_API void pith_wait(pith_scope *s);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_wait(s) pith_wait(PITH_AT(s))
#endif
/* End of call sites. */

#endif
