/**
 * @file
 * Memory requests: work arrays of an instance, allocated together for a group of
 * instances and split into chunks if they do not fit.
 *
 * An allocation is raw memory with a label, not a pith_array. The instance may write to
 * it. The library frees it when it invalidates its instance (pith_invalidate_hook). Idle
 * instances are invalidated if memory is short.
 *
 * Included by memory.h.
 */
#ifndef PITH_MEMORY_REQUEST_H
#define PITH_MEMORY_REQUEST_H

#include <pith/base.h>

PITH_BEGIN

/**
 * A part of a program with a share of the device's memory (memory.h). The runtime owns it
 * until it is closed.
 */
typedef struct pith_instance pith_instance;

/** Location of requested memory. */
typedef enum pith_memory_kind {
    PITH_MEMORY_DEVICE, /**< on the device */
    PITH_MEMORY_PINNED, /**< on the host, page-locked for fast copies */
    PITH_MEMORY_MAPPED, /**< as pinned, and also mapped to a device address */
    /**
     * Rejected (PITH_E_UNSUPPORTED): pages that migrate by themselves can be neither
     * counted nor bounded.
     */
    PITH_MEMORY_MANAGED
} pith_memory_kind;

/** A request of an instance for one array. */
typedef struct pith_request {
    const char *label; /**< unique within the instance, 1 to 63 bytes; copied */
    pith_dtype dtype;
    pith_shape shape;
    pith_memory_kind memory PITH_DEFAULT;
    int chunk_axis PITH_DEFAULT; /**< axis of the runs; negative: counted from the last */
    bool unchunkable PITH_DEFAULT; /**< not chunked; always so for rank 0 */
    /**
     * Number of runs. 0: the extent of the chunk axis; any other value must equal it.
     * Ignored for memory that is not chunked.
     */
    int64_t runs PITH_DEFAULT;
} pith_request;

/**
 * A split of runs into `count` chunks of `length` runs each. The last chunk has the
 * remaining runs.
 */
typedef struct pith_chunks {
    int64_t runs, count, length;
} pith_chunks;

/** An allocation of an instance, valid until it is freed. */
typedef struct pith_allocation {
    const char *label;
    pith_memory_kind memory;
    pith_dtype dtype;
    pith_shape shape; /**< shape of the memory: of one chunk */
    pith_shape whole; /**< shape as requested */
    int chunk_axis;   /**< -1: not chunked */
    size_t bytes;     /**< size of the memory */
    void *data;       /**< address on the device, aligned to 256 bytes; NULL for pinned */
    void *host;       /**< address on the host; NULL for device memory */
} pith_allocation;

/**
 * Argument of an allocation-ready hook: the allocations of the instance, and the split of
 * the runs of its group.
 */
typedef struct pith_response {
    int64_t count;
    const pith_allocation *const *allocations; /**< in the order of the requests */
    pith_chunks chunks;
} pith_response;

/**
 * Get the number of runs of a chunk; 0 if @p chunk is negative or after the last chunk.
 */
PITH_API int64_t pith_chunk_runs(pith_chunks chunks, int64_t chunk);

/**
 * Compute the shape of a request's memory for chunks of @p length runs. The extent of the
 * chunk axis is replaced. The shape of unchunkable memory is unchanged.
 *
 * @par Errors
 * PITH_E_ARG: @p length is negative. Also the errors of an invalid request (see
 * pith_instance_queue).
 */
PITH_API pith_shape pith_chunk_shape(pith_scope *s,
                                     const pith_request *request,
                                     int64_t length);

/**
 * Compute how the runs of a group would be split for these requests now.
 *
 * Unchunkable memory is reserved first. Chunks then have the largest length that fits.
 * All chunks are equal, except for a shorter last one. Memory outside the device does not
 * count. If no requested memory is chunked, the result is one chunk of 0 runs.
 *
 * @par Warnings
 * PITH_WARNING_MANY_CHUNKS: the requests exceed 20 times the available memory.
 *
 * @par Errors
 * PITH_E_MEMORY: one run does not fit; the message has numbers. PITH_E_ARG: a pointer is
 * NULL, there is no such group, or requests differ in their numbers of runs. Also the
 * errors of an invalid request (see pith_instance_queue).
 *
 * @return Whether @p chunks is set.
 */
PITH_API bool pith_memory_chunks(pith_scope *s,
                                 const char *group,
                                 int64_t count,
                                 const pith_request *requests,
                                 pith_chunks *chunks);

/**
 * Queue requests of an instance. pith_instance_allocate_queue of any instance of its
 * group allocates them. A request replaces a queued request with the same label.
 *
 * @par Errors
 * PITH_E_ARG: there is no request; a label is invalid or occurs twice; a chunk axis or
 * kind of memory is invalid; the instance is "default", which is in no group, or is not
 * open. PITH_E_DTYPE: a dtype is invalid. PITH_E_SHAPE: a rank is invalid, an extent is
 * negative, or the runs differ from the extent of the chunk axis. PITH_E_OVERFLOW: a size
 * overflows. PITH_E_UNSUPPORTED: managed memory is requested. A failure queues nothing.
 *
 * @return Whether the requests are queued.
 */
PITH_API bool pith_instance_queue(pith_scope *s,
                                  pith_instance *instance,
                                  int64_t count,
                                  const pith_request *requests);
/**
 * Allocate all queued requests of an instance's group, and call the ready hook of every
 * instance with new allocations. All requests are split into the same chunks.
 *
 * Old allocations with a requested label are freed first. The call allocates all requests
 * or none. If the device has less memory than the statistics say, chunks are halved until
 * they fit (PITH_WARNING_SHRUNK). If chunks of one run do not fit either, the old
 * allocations remain freed. An empty queue is no error.
 *
 * @par Errors
 * PITH_E_MEMORY: one run does not fit. PITH_E_ARG: queued requests differ in their
 * numbers of runs; the instance is "default" or is not open. The queue is then unchanged.
 *
 * @return Whether all requests are allocated.
 */
PITH_API bool pith_instance_allocate_queue(pith_scope *s, pith_instance *instance);
/** Remove all queued requests of an instance. */
PITH_API void pith_instance_clear_queue(pith_instance *instance);

/**
 * Allocate one array without chunks. An old allocation with the same label is freed
 * afterwards.
 *
 * @par Errors
 * PITH_E_MEMORY: no memory. Also all errors of pith_instance_queue. A failure changes
 * nothing.
 *
 * @return The allocation, owned by the instance until it is freed, or NULL.
 */
PITH_API const pith_allocation *pith_instance_allocate(pith_scope *s,
                                                       pith_instance *instance,
                                                       const pith_request *request);
/**
 * Allocate several arrays without chunks: all or none. Old allocations with one of their
 * labels are freed afterwards.
 *
 * @par Errors
 * All errors of pith_instance_allocate.
 *
 * @return Whether all arrays are allocated.
 */
PITH_API bool pith_instance_allocate_all(pith_scope *s,
                                         pith_instance *instance,
                                         int64_t count,
                                         const pith_request *requests);
/** Find an allocation by its label; NULL if the instance has no such allocation. */
PITH_API const pith_allocation *pith_instance_find_allocation(pith_instance *instance,
                                                              const char *label);

/**
 * Free an instance's allocation by its label, after the work that uses it.
 *
 * @par Errors
 * PITH_E_ARG: the instance has no such allocation.
 *
 * @return Whether the allocation was freed.
 */
PITH_API bool
pith_instance_free(pith_scope *s, pith_instance *instance, const char *label);
/** Free all allocations of an instance. */
PITH_API void pith_instance_free_all(pith_instance *instance);
/**
 * Free the allocations with a label in all instances.
 *
 * @return The number of freed allocations.
 */
PITH_API int64_t pith_memory_free(pith_runtime *rt, const char *label);

/**
 * Call the invalidate hook of every instance, then free all allocations of all instances.
 */
PITH_API void pith_memory_invalidate_all(pith_runtime *rt);

/**
 * Set the pinned budget: the largest number of bytes of pinned and mapped memory
 * together.
 *
 * The initial budget is a quarter of the host's memory, or of the limit of its control
 * groups. A budget below the current use frees nothing.
 *
 * @return Whether the budget was set.
 */
PITH_API bool pith_memory_set_pinned_budget(pith_scope *s, size_t bytes);
/** Get the bytes of allocated pinned and mapped memory. */
PITH_API size_t pith_memory_pinned(const pith_runtime *rt);

/**
 * Copy host memory to whole allocations, in order on the stream of the instance's group.
 * The caller may reuse the host memory after the return.
 *
 * @par Errors
 * PITH_E_ARG: a pointer is NULL, @p count is negative, or an element of @p to is no
 * live allocation of the instance. A failure of these checks copies nothing.
 *
 * @return Whether the copies succeeded.
 */
PITH_API bool pith_instance_to_device(pith_scope *s,
                                      pith_instance *instance,
                                      int64_t count,
                                      const pith_allocation *const *to,
                                      const void *const *host);
/**
 * Copy whole allocations to host memory, in order on the stream of the instance's group.
 * The host memory is complete on return.
 *
 * @par Errors
 * As for pith_instance_to_device.
 *
 * @return Whether the copies succeeded.
 */
PITH_API bool pith_instance_from_device(pith_scope *s,
                                        pith_instance *instance,
                                        int64_t count,
                                        const pith_allocation *const *from,
                                        void *const *host);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_chunk_shape(s, ...)    pith_chunk_shape(PITH_AT(s), __VA_ARGS__)
#    define pith_memory_chunks(s, ...)  pith_memory_chunks(PITH_AT(s), __VA_ARGS__)
#    define pith_instance_queue(s, ...) pith_instance_queue(PITH_AT(s), __VA_ARGS__)
#    define pith_instance_allocate_queue(s, ...)                                         \
        pith_instance_allocate_queue(PITH_AT(s), __VA_ARGS__)
#    define pith_instance_allocate(s, ...) pith_instance_allocate(PITH_AT(s), __VA_ARGS__)
#    define pith_instance_allocate_all(s, ...)                                           \
        pith_instance_allocate_all(PITH_AT(s), __VA_ARGS__)
#    define pith_instance_free(s, ...) pith_instance_free(PITH_AT(s), __VA_ARGS__)
#    define pith_memory_set_pinned_budget(s, ...)                                        \
        pith_memory_set_pinned_budget(PITH_AT(s), __VA_ARGS__)
#    define pith_instance_to_device(s, ...)                                              \
        pith_instance_to_device(PITH_AT(s), __VA_ARGS__)
#    define pith_instance_from_device(s, ...)                                            \
        pith_instance_from_device(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
