/**
 * @file
 * Where the bytes of the device come from: the driver's pool, plain allocations, one
 * block that is divided, or a user's functions.
 *
 * Included by memory.h.
 */
#ifndef PITH_MEMORY_ALLOCATOR_H
#define PITH_MEMORY_ALLOCATOR_H

#include <pith/base.h>

/** Kinds of allocators. */
typedef enum pith_allocator_kind {
    PITH_ALLOCATOR_POOL,  /**< the backend's own pool; the default */
    PITH_ALLOCATOR_PLAIN, /**< each block from the driver (on the host: from the runtime's
                             allocator), and straight back */
    PITH_ALLOCATOR_ARENA, /**< one block, taken at once, in which the smallest free place
                             that is large enough is used, and free neighbours are joined
                           */
    PITH_ALLOCATOR_USER   /**< functions of the caller's */
} pith_allocator_kind;

/** How to allocate memory of the device; everything zero is the default. */
typedef struct pith_memory_allocator {
    pith_allocator_kind kind PITH_DEFAULT;
    /** POOL: bytes kept for reuse at most, once a stream was waited for (host: at any
     * time); 0: all that was ever in use. Where each stream keeps small blocks of its own
     * (CUDA), a quarter of this bounds those of one stream, not of all. */
    size_t keep PITH_DEFAULT;
    /** POOL: what is reused follows from the order of the program alone, and not from how
     * far the device has come, so that runs find the same addresses. */
    bool reproducible PITH_DEFAULT;
    /** ARENA: bytes of the block; 0: all that is free. */
    size_t arena PITH_DEFAULT;
    /**
     * USER: memory of @p bytes at a multiple of @p alignment (256) for work that is
     * enqueued on @p stream (as pith_instance_stream gives it) from here on; NULL where
     * there is none. An address that is not a multiple of @p alignment is given back, and
     * is PITH_E_CALLBACK. Both functions may be called from any thread, also from several
     * at once, and must not call the library.
     */
    void *(*allocate)(void *context, size_t bytes, size_t alignment, void *stream)
        PITH_DEFAULT;
    /** USER: take it back, after the work that is enqueued on that stream now. */
    void (*release)(void *context,
                    void *data,
                    size_t bytes,
                    size_t alignment,
                    void *stream) PITH_DEFAULT;
    void *context PITH_DEFAULT;
} pith_memory_allocator;

PITH_BEGIN

/**
 * Set where memory of the device comes from.
 *
 * All allocations of instances are invalidated (pith_memory_invalidate_all), and what is
 * kept for reuse goes back. Arrays stay: each goes back to where it came from, and an
 * arena, or the functions of a user, must last until the last of theirs has gone or the
 * runtime closes. The ledger counts the same bytes whatever the allocator.
 *
 * Errors: PITH_E_ARG for an invalid kind, or functions that are missing; PITH_E_MEMORY
 * where there is no room for the arena; PITH_E_TRACED. Nothing is changed then.
 *
 * @param allocator NULL: the backend's pool; copied.
 */
PITH_API bool pith_memory_set_allocator(pith_scope *s,
                                        const pith_memory_allocator *allocator);
/** The kind that is set. */
PITH_API pith_allocator_kind pith_memory_allocator_kind(const pith_runtime *rt);

/** Wait for all streams, and give what is kept for reuse back to the system.
 * @return The bytes that went. */
PITH_API size_t pith_memory_trim(pith_runtime *rt);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_memory_set_allocator(s, ...)                                            \
        pith_memory_set_allocator(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
