/**
 * @file
 * Arrays in the host's memory: pinned within a budget, plain, or in a file where memory
 * is short.
 *
 * Included by memory.h.
 */
#ifndef PITH_MEMORY_HOST_H
#define PITH_MEMORY_HOST_H

#include <pith/base.h>

/** Where a host array lies, from the fastest to copy to the largest. */
typedef enum pith_host_kind {
    PITH_HOST_PINNED, /**< counted against the pinned budget (memory_request.h) */
    PITH_HOST_PLAIN,  /**< memory as any; large ones in huge pages */
    PITH_HOST_SPILLED /**< in a file without a name, mapped into memory */
} pith_host_kind;

/** How to make a host array; everything zero is the default. */
typedef struct pith_host_options {
    pith_host_kind kind PITH_DEFAULT; /**< the first one that is tried */
    const void *like PITH_DEFAULT;    /**< data to copy; NULL: zeros */
    /** An existing folder for the file of an array that is spilled. NULL: nothing is
     * spilled. An array for which there is no memory is then PITH_E_MEMORY, and kind
     * PITH_HOST_SPILLED is PITH_E_ARG. */
    const char *spill PITH_DEFAULT;
    /** No other kind than the first one. If there is no room for it: PITH_E_MEMORY, of
     * PITH_HOST_SPILLED PITH_E_IO. */
    bool only PITH_DEFAULT;
} pith_host_options;

/** An array in the host's memory. */
typedef struct pith_host_array {
    pith_host_kind kind; /**< what it became */
    pith_dtype dtype;
    pith_shape shape;
    size_t bytes;
    void *data; /**< aligned to 256 bytes; the caller's to read and write */
} pith_host_array;

PITH_BEGIN

/**
 * Make a host array, in C order.
 *
 * A pinned array becomes plain if the pinned budget or the memory does not suffice. A
 * plain one is spilled, given a folder, if it takes more than pith_host_available or the
 * allocator has no memory. The file has its room on the disk from the start. It goes when
 * the array does, and when the program ends, however it ends.
 *
 * Errors: PITH_E_DTYPE, PITH_E_SHAPE (a negative extent, a rank above 8),
 * PITH_E_OVERFLOW, PITH_E_ARG (an invalid kind, or PITH_HOST_SPILLED without a folder),
 * PITH_E_MEMORY with numbers, PITH_E_IO with the folder if a file cannot be made there or
 * has no room.
 *
 * @return The array, owned by @p s, or NULL.
 */
PITH_API const pith_host_array *pith_host_make(pith_scope *s,
                                               pith_dtype dtype,
                                               pith_shape shape,
                                               const pith_host_options *options);

/** Bytes of host memory that programs can still take without swapping: what is free and
 * what the system gives up when asked (caches of files), or what is left of the memory of
 * the control groups that the process is in, where that is less. 0: not known. */
PITH_API size_t pith_host_available(void);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_host_make(s, ...) pith_host_make(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
