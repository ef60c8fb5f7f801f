/**
 * @file
 * Allocators of device memory: the driver's pool, plain allocations, an arena, or a
 * user's functions.
 *
 * Included by memory.h.
 */
#ifndef PITH_MEMORY_ALLOCATOR_H
#define PITH_MEMORY_ALLOCATOR_H

#include <pith/base.h>

/** Kind of an allocator. */
typedef enum pith_allocator_kind {
    PITH_ALLOCATOR_POOL, /**< the backend's own pool; the default */
    /**
     * Each block comes from the driver and returns to it immediately. On the host, the
     * runtime's allocator takes the driver's part.
     */
    PITH_ALLOCATOR_PLAIN,
    /**
     * One block, allocated at once and divided by best fit. Adjacent free ranges are
     * merged.
     */
    PITH_ALLOCATOR_ARENA,
    PITH_ALLOCATOR_USER /**< functions of the caller */
} pith_allocator_kind;

/** Options of pith_memory_set_allocator; zero is the default. */
typedef struct pith_memory_allocator {
    pith_allocator_kind kind PITH_DEFAULT;
    /**
     * POOL: largest number of bytes kept for reuse after a wait for a stream (host: at
     * any time). 0: all memory ever in use. On CUDA each stream keeps small blocks of its
     * own. A quarter of this value bounds the blocks of one stream, not of all streams.
     */
    size_t keep PITH_DEFAULT;
    /**
     * POOL: reuse depends only on the order of the program, not on the progress of the
     * device. Runs then have equal addresses.
     */
    bool reproducible PITH_DEFAULT;
    /** ARENA: bytes of the block; 0: all free memory. */
    size_t arena PITH_DEFAULT;
    /**
     * USER: allocate @p bytes at a multiple of @p alignment (256), or return NULL.
     *
     * Work that is enqueued on @p stream from now on uses the memory. The stream is as in
     * pith_instance_stream. If the address is not a multiple of @p alignment, it is
     * released and the error is PITH_E_CALLBACK. Any thread may call both functions, also
     * concurrently. They must not call the library.
     */
    void *(*allocate)(void *context, size_t bytes, size_t alignment, void *stream)
        PITH_DEFAULT;
    /** USER: release memory after the work now enqueued on @p stream. */
    void (*release)(void *context,
                    void *data,
                    size_t bytes,
                    size_t alignment,
                    void *stream) PITH_DEFAULT;
    void *context PITH_DEFAULT;
} pith_memory_allocator;

PITH_BEGIN

/**
 * Set the allocator of device memory.
 *
 * The call invalidates all allocations of instances (pith_memory_invalidate_all) and
 * releases memory kept for reuse. Arrays remain valid, and each returns to its own
 * allocator. An arena or a user's functions must therefore remain valid until their last
 * array is freed or the runtime closes. The statistics count the same bytes for every
 * allocator.
 *
 * @param allocator NULL: the backend's pool; copied.
 *
 * @par Errors
 * PITH_E_ARG: the kind is invalid, or a function is missing. PITH_E_MEMORY: no memory for
 * the arena. PITH_E_TRACED: a function is traced. A failure changes nothing.
 *
 * @return Whether the allocator was set.
 */
PITH_API bool pith_memory_set_allocator(pith_scope *s,
                                        const pith_memory_allocator *allocator);
/** Get the kind of the current allocator. */
PITH_API pith_allocator_kind pith_memory_allocator_kind(const pith_runtime *rt);

/**
 * Wait for all streams and return memory kept for reuse to the system.
 *
 * @return The number of returned bytes.
 */
PITH_API size_t pith_memory_trim(pith_runtime *rt);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_memory_set_allocator(s, ...)                                            \
        pith_memory_set_allocator(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
