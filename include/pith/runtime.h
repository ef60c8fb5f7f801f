/**
 * @file
 * Runtimes: which device computes, with what memory, and waiting for it.
 */
#ifndef PITH_RUNTIME_H
#define PITH_RUNTIME_H

#include <pith/base.h>

PITH_BEGIN

/** How to open a runtime; everything zero is the default. */
typedef struct pith_open_options {
    /**
     * "host", "cuda" or "cuda:1". NULL: the environment's PITH_DEVICE, else CUDA where a
     * driver and a device are, else the host. A device asked for by name that is not
     * there is an error.
     */
    const char *device PITH_DEFAULT;
    /**
     * Bytes of the device's memory that arrays may take together. 0: on the host the
     * environment's PITH_HOST_MEMORY (such as 2GiB), else all that the device has. On
     * CUDA more than the device has means all of it; the host takes the number as it is.
     */
    size_t memory PITH_DEFAULT;
    int threads PITH_DEFAULT; /**< host threads, 1,024 at most; 0: PITH_THREADS, else one
                                 for each core that the process may use */
    const pith_allocator *allocator
        PITH_DEFAULT; /**< host memory; NULL: the C library's; copied */
    /** Takes messages that no call can return; NULL: the default hook, which PITH_LOG
     * sets the level of: see pith_set_log_hook. */
    pith_log_hook log PITH_DEFAULT;
    void *log_closure PITH_DEFAULT;
    /** Failed checks of level always (capacities, mode error, checks in kernels) that
     * no collector takes are not errors: wrong results are not reported, as in kUPS. */
    bool silent_checks PITH_DEFAULT;
} pith_open_options;

/**
 * Open a runtime on a device.
 *
 * The environment has a say where the options have none: PITH_DEVICE and PITH_THREADS as
 * above;
 * PITH_HOST_MEMORY, a number of bytes with KiB, MiB, GiB or TiB behind it or nothing, is
 * how much memory the host has as a device; PITH_ISA (base, v3 or v4) keeps the host from
 * using newer instructions; PITH_HOST_ASYNC=1 makes the host defer all work to the next
 * call that waits, as a device does, so that tests without one find mistakes of order.
 * In a program with rights that its caller lacks (setuid, setgid, file capabilities) no
 * variable is read, nothing is compiled at run time, and the host computes:
 * see docs/reference/environment.md.
 *
 * After fork() a child may go on using a runtime on the host, on the thread that forked
 * alone, where no other thread was in a call of it; code that was being compiled is
 * compiled by both. A runtime on CUDA is of no use to a child.
 *
 * @param options NULL for the defaults.
 * @return Never NULL. If opening failed, every scope of the runtime carries the reason:
 * PITH_E_UNSUPPORTED for a device that is not there or too old, PITH_E_ARG for an invalid
 * name, option or variable of the environment, PITH_E_DEVICE for a device that does not
 * work, PITH_E_MEMORY.
 */
PITH_API pith_runtime *pith_open(const pith_open_options *options);

/** Close a runtime and its scopes; NULL does nothing. While a thread is in a call of it
 * the runtime stays open, and the call is reported to the log hook: see
 * docs/concepts/threads.md. */
PITH_API void pith_close(pith_runtime *rt);

/** Why a runtime cannot be used; PITH_OK for one that can. PITH_E_ARG for NULL, and for
 * one that is closed. */
PITH_API pith_status pith_runtime_code(const pith_runtime *rt);
/** The reason of pith_runtime_code as one line; "" for PITH_OK. */
PITH_API const char *pith_runtime_message(const pith_runtime *rt);

/** Kind of device: "host" or "cuda"; "none" for a runtime that could not be opened. */
PITH_API const char *pith_device_kind(const pith_runtime *rt);
/** Name of the device, such as "NVIDIA H200" or "x86-64-v4"; "" where there is none. */
PITH_API const char *pith_device_name(const pith_runtime *rt);
/** Host threads that a runtime on the host computes with; 0 on CUDA. */
PITH_API int pith_device_threads(const pith_runtime *rt);

/** Memory of a runtime's device, in bytes. */
typedef struct pith_memory_info {
    size_t live; /**< held by buffers of this runtime */
    size_t peak; /**< the most that was ever live */
    size_t pool; /**< kept by the pool for reuse, not live */
    /** That buffers can still take, the pool's included. Where the host computes and
     * neither options nor environment bound its memory: what the system has available. */
    size_t free;
    size_t total;       /**< of the device, or what the runtime was granted of it */
    int64_t live_count; /**< blocks that the bytes in `live` are of */
    int64_t peak_count; /**< the most blocks that were ever live */
} pith_memory_info;

/** What the runtime's memory is used for now. All zero for a runtime that could not be
 * opened. */
PITH_API pith_memory_info pith_memory_about(const pith_runtime *rt);

/**
 * Wait until everything enqueued on the scope's stream has run, and report its failures.
 *
 * Failures of checks inside kernels, and of the device, become the scope's error here.
 */
PITH_API void pith_wait(pith_scope *s);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_wait(s) pith_wait(PITH_AT(s))
#endif
/* End of call sites. */

#endif
