/**
 * @file
 * Memory by request: arrays of the memory manager's that a part of a program works in,
 * allocated together for a group of instances and split into chunks where they do not
 * fit.
 *
 * What is allocated here is raw memory with a label, no pith_array: it may be written to,
 * and it goes when its instance is invalidated (pith_invalidate_hook), which pith does to
 * idle instances when memory is short.
 *
 * Included by memory.h.
 */
#ifndef PITH_MEMORY_REQUEST_H
#define PITH_MEMORY_REQUEST_H

#include <pith/base.h>

PITH_BEGIN

/** A part of a program with a share of the device's memory (memory.h). It belongs to the
 * runtime, until it is closed. */
typedef struct pith_instance pith_instance;

/** Where requested memory lies. */
typedef enum pith_memory_kind {
    PITH_MEMORY_DEVICE, /**< on the device */
    PITH_MEMORY_PINNED, /**< on the host, where copies of the device find it fast */
    PITH_MEMORY_MAPPED, /**< the same, with an address on the device too */
    PITH_MEMORY_MANAGED /**< refused (PITH_E_UNSUPPORTED): pages that move by themselves
                           can be neither counted nor bounded */
} pith_memory_kind;

/** One array that an instance asks for. */
typedef struct pith_request {
    const char *label; /**< unique within the instance, 1 to 63 bytes; copied */
    pith_dtype dtype;
    pith_shape shape;
    pith_memory_kind memory PITH_DEFAULT;
    int chunk_axis PITH_DEFAULT;   /**< of the runs; negative: from the last */
    bool unchunkable PITH_DEFAULT; /**< whole in every chunk; so is what has rank 0 */
    int64_t runs PITH_DEFAULT;     /**< 0: the extent of the chunk axis, else equal to it;
                                        ignored where the memory is whole in every chunk */
} pith_request;

/** How runs are split: into `count` chunks of `length` runs each, the last one of what is
 * left. */
typedef struct pith_chunks {
    int64_t runs, count, length;
} pith_chunks;

/** Memory that an instance was given; stays until it is freed. */
typedef struct pith_allocation {
    const char *label;
    pith_memory_kind memory;
    pith_dtype dtype;
    pith_shape shape; /**< of the memory: of one chunk */
    pith_shape whole; /**< as requested */
    int chunk_axis;   /**< -1: whole in every chunk */
    size_t bytes;     /**< of the memory */
    void *data;       /**< address on the device, aligned to 256 bytes; NULL for pinned */
    void *host;       /**< address on the host; NULL for device memory */
} pith_allocation;

/** What an allocation-ready hook is given: what was allocated for the instance, and how
 * the runs of its group are split. */
typedef struct pith_response {
    int64_t count;
    const pith_allocation *const *allocations; /**< in the order of the requests */
    pith_chunks chunks;
} pith_response;

/** Runs of chunk number @p chunk; 0 for a negative number, and beyond the last. */
PITH_API int64_t pith_chunk_runs(pith_chunks chunks, int64_t chunk);

/**
 * Shape of a request's memory when chunks have that many runs: the extent of its chunk
 * axis is replaced, what is unchunkable keeps its shape.
 *
 * Errors: PITH_E_ARG for length < 0, and those of an invalid request (see
 * pith_instance_queue).
 */
PITH_API pith_shape pith_chunk_shape(pith_scope *s,
                                     const pith_request *request,
                                     int64_t length);

/**
 * How a group's runs would be split for these requests now.
 *
 * What is unchunkable is reserved first; then chunks are as long as fits, all equal but a
 * short last one. Memory that is not the device's does not count.
 *
 * If all that is requested is whole in every chunk, this is one chunk of 0 runs.
 *
 * Errors: PITH_E_MEMORY, with numbers, where not even one run fits. PITH_E_ARG: NULL, no
 * such group, requests of different numbers of runs; and those of an invalid request (see
 * pith_instance_queue).
 * Warning: PITH_WARNING_MANY_CHUNKS beyond 20 times what is available.
 */
PITH_API bool pith_memory_chunks(pith_scope *s,
                                 const char *group,
                                 int64_t count,
                                 const pith_request *requests,
                                 pith_chunks *chunks);

/**
 * Queue requests of an instance, for pith_instance_allocate_queue of any instance of its
 * group. A request with the label of a queued one takes its place.
 *
 * Errors: PITH_E_ARG (no request, an invalid label, one label twice, an invalid chunk
 * axis or kind of memory, the instance "default", which is in no group, or no open
 * instance), PITH_E_DTYPE,
 * PITH_E_SHAPE (rank, a negative extent, runs that differ from the extent of the chunk
 * axis), PITH_E_OVERFLOW, PITH_E_UNSUPPORTED (managed memory). Nothing is queued then.
 */
PITH_API bool pith_instance_queue(pith_scope *s,
                                  pith_instance *instance,
                                  int64_t count,
                                  const pith_request *requests);
/**
 * Allocate all that is queued for the group of an instance, split into the same chunks
 * for all, and call the ready hook of every instance that was given something.
 *
 * Allocations whose labels are asked for again are freed first. All is allocated or
 * nothing: where memory is short (PITH_E_MEMORY) the queue stays as it is. Where the
 * device has less room than the ledger says, chunks are halved until they fit
 * (PITH_WARNING_SHRUNK). If even chunks of one run do not fit then, the allocations that
 * were to be replaced are gone. An empty queue is no error.
 *
 * Errors: PITH_E_MEMORY; PITH_E_ARG (queued requests of different numbers of runs,
 * "default", no open instance). The queue stays as it is.
 */
PITH_API bool pith_instance_allocate_queue(pith_scope *s, pith_instance *instance);
/** Forget what an instance has queued. */
PITH_API void pith_instance_clear_queue(pith_instance *instance);

/**
 * Allocate one array, whole. One of the same label is freed afterwards.
 *
 * Errors: those of pith_instance_queue, and PITH_E_MEMORY. Nothing is changed then.
 *
 * @return The allocation, the instance's until it is freed, or NULL.
 */
PITH_API const pith_allocation *pith_instance_allocate(pith_scope *s,
                                                       pith_instance *instance,
                                                       const pith_request *request);
/** Allocate several arrays, whole: all, or nothing. What has one of their labels is freed
 * afterwards. */
PITH_API bool pith_instance_allocate_all(pith_scope *s,
                                         pith_instance *instance,
                                         int64_t count,
                                         const pith_request *requests);
/** The allocation of that label; NULL where there is none. */
PITH_API const pith_allocation *pith_instance_find_allocation(pith_instance *instance,
                                                              const char *label);

/** Free an instance's allocation of that label, after the work that uses it; PITH_E_ARG
 * where there is none. */
PITH_API bool
pith_instance_free(pith_scope *s, pith_instance *instance, const char *label);
/** Free all of an instance's allocations. */
PITH_API void pith_instance_free_all(pith_instance *instance);
/** Free the allocations of that label of all instances; how many there were. */
PITH_API int64_t pith_memory_free(pith_runtime *rt, const char *label);

/** Call the invalidate hook of every instance, then free all allocations of all. */
PITH_API void pith_memory_invalidate_all(pith_runtime *rt);

/** Bytes of pinned and mapped memory that may be allocated together: at first a quarter
 * of the host's memory, or of what its control groups allow. Less than is allocated now
 * frees nothing. */
PITH_API bool pith_memory_set_pinned_budget(pith_scope *s, size_t bytes);
/** Bytes of pinned and mapped memory that are allocated. */
PITH_API size_t pith_memory_pinned(const pith_runtime *rt);

/**
 * Copy from host memory to allocations, or back, each whole and in order on the stream of
 * the instance's group. Host memory may be used again when the call returns.
 *
 * Errors: PITH_E_ARG for NULL, a negative count, or for what is no live allocation of the
 * instance; nothing is copied then.
 */
PITH_API bool pith_instance_to_device(pith_scope *s,
                                      pith_instance *instance,
                                      int64_t count,
                                      const pith_allocation *const *to,
                                      const void *const *host);
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
