/* Private interface of gpu: memory that instances request. */
#ifndef PITH_GPU_ALLOCATION_H
#define PITH_GPU_ALLOCATION_H

#include "gpu/memory/request.h"

typedef struct pithp_allocation {
    pith_allocation given; /* the public part; its label points to `label` */
    char label[PITHP_NAME_BYTES];
    pithp_buffer *buffer; /* if it is device memory */
    pithp_stream *stream; /* stream of the work that uses it */
    uint64_t serial;      /* number of the call that made it */
    atomic_int refs;      /* of the instance's list, and of hooks in progress */
    struct pithp_allocation *next;
} pithp_allocation;

/* Free allocations taken from a list, after the work that uses them and after running
 * hooks. The lock is not held. */
void pithp_allocations_free(pithp_device *d, pithp_allocation *first);
/* Retain an allocation that is passed to hooks. */
static inline void pithp_allocation_retain(pithp_allocation *a) {
    atomic_fetch_add_explicit(&a->refs, 1, memory_order_relaxed);
}
void pithp_allocation_release(pithp_device *d, pithp_allocation *a);
/* Take the instance's list. The lock is held. */
pithp_allocation *pithp_allocations_take(pith_instance *i);
/* Take the allocation with a label, or NULL. The lock is held. */
pithp_allocation *pithp_allocation_take(pith_instance *i, const char *label);
/* Free all allocations of an instance. The lock is not held. */
void pithp_instance_free_own(pith_instance *i);

/* Pinned host memory within the budget; NULL sets e. The lock is not held. */
void *pithp_pinned_take(pithp_device *d, size_t bytes, void **mapped, pithp_error *e);
void pithp_pinned_give(pithp_device *d, void *data, size_t bytes);

/* Allocate requests; returns a list in their order, or NULL with e set. length NULL: not
 * chunked. */
pithp_allocation *pithp_allocations_make(pithp_stream *st,
                                         const pithp_request *first,
                                         const int64_t *length,
                                         uint64_t serial,
                                         pithp_error *e);
/* Link the allocation of each request to its instance. Returns the allocations to free:
 * of instances closed meanwhile, and those with the label of a new one. The lock is
 * held. */
pithp_allocation *pithp_allocations_link(const pithp_request *first,
                                         pithp_allocation *made);

#endif
