/* Within gpu only: memory that instances were given by request. */
#ifndef PITH_GPU_ALLOCATION_H
#define PITH_GPU_ALLOCATION_H

#include "gpu/memory/request.h"

typedef struct pithp_allocation {
    pith_allocation given; /* what the user sees; its label is `label` */
    char label[PITHP_NAME_BYTES];
    pithp_buffer *buffer; /* of device memory */
    pithp_stream *stream; /* whose work uses it */
    uint64_t serial;      /* of the call that made it */
    atomic_int refs;      /* of the instance's list, and of hooks that are being told */
    struct pithp_allocation *next;
} pithp_allocation;

/* Give what was taken from a list back after the work that uses it, once no hook is being
 * told of it; the lock is not held. */
void pithp_allocations_free(pithp_device *d, pithp_allocation *first);
/* One that hooks are told of stays until they have been. */
static inline void pithp_allocation_retain(pithp_allocation *a) {
    atomic_fetch_add_explicit(&a->refs, 1, memory_order_relaxed);
}
void pithp_allocation_release(pithp_device *d, pithp_allocation *a);
/* The instance's list is the caller's from here on. The lock is held. */
pithp_allocation *pithp_allocations_take(pith_instance *i);
/* That of a label alone; NULL: none. The lock is held. */
pithp_allocation *pithp_allocation_take(pith_instance *i, const char *label);
/* All of an instance's. The lock is not held. */
void pithp_instance_free_own(pith_instance *i);

/* Pinned host memory within the budget; NULL with e set. The lock is not held. */
void *pithp_pinned_take(pithp_device *d, size_t bytes, void **mapped, pithp_error *e);
void pithp_pinned_give(pithp_device *d, void *data, size_t bytes);

/* What an instance allocated by these requests, linked in their order: all, or NULL with
 * e set. length NULL: whole. */
pithp_allocation *pithp_allocations_make(pithp_stream *st,
                                         const pithp_request *first,
                                         const int64_t *length,
                                         uint64_t serial,
                                         pithp_error *e);
/* Link what was made for each request into its instance; what was closed meanwhile, and
 * what has the label of a new one, is returned to be freed. The lock is held. */
pithp_allocation *pithp_allocations_link(const pithp_request *first,
                                         pithp_allocation *made);

#endif
