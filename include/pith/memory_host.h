/**
 * @file
 * Arrays in host memory: pinned within a budget, plain, or spilled to a file if memory is
 * short.
 *
 * Included by memory.h.
 */
#ifndef PITH_MEMORY_HOST_H
#define PITH_MEMORY_HOST_H

#include <pith/base.h>

/** Kind of a host array, from the fastest to copy to the largest. */
typedef enum pith_host_kind {
    PITH_HOST_PINNED, /**< counted against the pinned budget (memory_request.h) */
    PITH_HOST_PLAIN,  /**< plain memory; large arrays use huge pages */
    PITH_HOST_SPILLED /**< in an unnamed file, mapped into memory */
} pith_host_kind;

/** Options of pith_host_make; zero is the default. */
typedef struct pith_host_options {
    pith_host_kind kind PITH_DEFAULT; /**< first kind of memory to try */
    const void *like PITH_DEFAULT;    /**< data to copy; NULL: zeros */
    /**
     * An existing directory for the file of a spilled array. NULL: never spill. If memory
     * is short, the error is then PITH_E_MEMORY. The kind PITH_HOST_SPILLED is then
     * PITH_E_ARG.
     */
    const char *spill PITH_DEFAULT;
    /**
     * Try no other kind than `kind`. Without enough memory the error is PITH_E_MEMORY;
     * for PITH_HOST_SPILLED it is PITH_E_IO.
     */
    bool only PITH_DEFAULT;
} pith_host_options;

/** An array in host memory. */
typedef struct pith_host_array {
    pith_host_kind kind; /**< actual kind */
    pith_dtype dtype;
    pith_shape shape;
    size_t bytes;
    void *data; /**< aligned to 256 bytes; the caller may read and write it */
} pith_host_array;

PITH_BEGIN

/**
 * Make a host array in C order.
 *
 * A pinned array falls back to plain memory if the pinned budget or the memory is
 * exhausted. A plain array is spilled if the options name a directory and it exceeds
 * pith_host_available, or the allocator has no memory. The disk space of the file is
 * reserved at once. The file is deleted with the array, and at any end of the program.
 *
 * @par Errors
 * PITH_E_DTYPE: the dtype is invalid. PITH_E_SHAPE: an extent is negative, or the rank is
 * above 8. PITH_E_OVERFLOW: the size overflows. PITH_E_ARG: the kind is invalid, or
 * PITH_HOST_SPILLED has no directory. PITH_E_MEMORY: no memory; the message has numbers.
 * PITH_E_IO: the directory rejects the file or has no space for it.
 *
 * @return The array, owned by @p s, or NULL.
 */
PITH_API const pith_host_array *pith_host_make(pith_scope *s,
                                               pith_dtype dtype,
                                               pith_shape shape,
                                               const pith_host_options *options);

/**
 * Get the bytes of host memory that programs can take without swapping.
 *
 * These are free memory and memory that the system can reclaim (file caches). If the
 * memory left in the control groups of the process is less, it is the result. 0: unknown.
 */
PITH_API size_t pith_host_available(void);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_host_make(s, ...) pith_host_make(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
