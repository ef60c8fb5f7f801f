/* Within gpu only: the memory manager's own state. */
#ifndef PITH_GPU_MANAGER_H
#define PITH_GPU_MANAGER_H

#include "pith/memory.h"

#include "gpu/gpu_internal.h"
#include "gpu/memory/ledger.h"
#include "gpu/memory/reclaim.h"
#include "gpu/memory/warning.h"

enum { PITHP_NAME_BYTES = 64 };

/* Instances that share a stream. */
typedef struct pithp_group {
    struct pithp_group *next;
    struct pithp_request *queue; /* in order */
    char name[PITHP_NAME_BYTES];
    pithp_stream *stream; /* NULL until it is asked for; a user of it */
    uint64_t age;         /* resets before the stream was made */
    int members;
} pithp_group;

/* The payload of an object, in memory that stays until the runtime closes. */
struct pith_instance {
    pithp_account account; /* first: buffers know it alone */
    pithp_device *device;
    char name[PITHP_NAME_BYTES];
    bool open;
    bool retired; /* on the list of free ones */
    bool manual;
    /* A part of another one, which counts what is made in a scope between a push and its
     * pop; it has no name and is on no list. NULL: it is none. */
    struct pith_instance *part_of;
    const pith_scope *pushed; /* the scope */
    double proportion;
    pithp_group *group; /* NULL: "default" itself */
    int scopes;         /* roots that are open on it, and calls in progress */
    struct pithp_allocation *allocations; /* the newest first */
    size_t replaced; /* bytes that the call in progress will free first */
    uint64_t used;   /* when it was used last, by the manager's clock */
    uint64_t told;   /* by which clearing its hook was called last */
    pith_invalidate_hook invalidate;
    pith_ready_hook ready;
    void *closure;
    pith_instance *next; /* open ones, or free ones */
};

typedef struct pithp_memory_manager {
    pthread_mutex_t lock; /* guards all that follows; never held while calling a hook */
    struct pithp_instance_chunk *chunks;
    pith_instance *first, **last;           /* open ones but "default", oldest first */
    pith_instance *free_first, **free_last; /* used again first in, first out, so that
                                               what was closed is long known as such */
    pith_instance *standard;                /* "default" */
    pithp_group *groups;
    uint64_t age;      /* resets of streams */
    uint64_t clock;    /* uses and calls, ever */
    size_t gone_total; /* bytes and buffers ever counted for instances that are gone */
    int64_t gone_buffers;
    size_t keep; /* bytes that may be kept for reuse; SIZE_MAX: no bound of the user's;
                    guarded by the ledger's lock */
    size_t pinned, pinned_budget;
    pith_limits limits;
    pithp_reclaimer reclaimers[8];               /* NULL behind the last one */
    _Atomic(struct pithp_allocator *) allocator; /* of memory, where a user has set one */
    struct pithp_allocator
        *allocators; /* that one, and those whose blocks are out still */
    struct pithp_allocator *dead_allocators; /* whose blocks have come back */
    pthread_mutex_t allocator_lock;        /* guards these; no other is taken under it */
    _Atomic(struct pithp_events *) events; /* the log of buffers (event.c); or NULL */
    pthread_mutex_t log_lock;              /* guards what it points at */
    pith_warning_hook warn;
    void *warn_closure;
} pithp_memory_manager;

/* ---- The manager, and instances (registry.c) ---- */

pith_status pithp_memory_open(pithp_device *d, pithp_error *e);
void pithp_memory_close(pithp_device *d); /* no scope is open */
/* The instance a user passed to `function`, of the scope's runtime; NULL: error set. */
pith_instance *
pithp_instance_check(pith_scope *s, const pith_instance *i, const char *function);
/* The same, not "default", in use from here on: it is not idle, and its memory stays. */
pith_instance *
pithp_instance_use(pith_scope *s, const pith_instance *i, const char *function);
void pithp_instance_unuse(pith_instance *i);
/* The same where nothing can fail. */
pith_instance *pithp_instance_of_pointer(const pith_instance *i);
/* A closed instance whose account counts nothing: it may be used again. */
void pithp_instance_retire(pithp_device *d, pithp_account *a);
/* A root scope on it is about to close. */
void pithp_instance_leave(pith_scope *s);
/* The instance that has the name and the share. */
static inline pith_instance *pithp_instance_named(pith_instance *i) {
    while (i->part_of)
        i = i->part_of;
    return i;
}
/* A part of an instance for what a scope makes; NULL when memory is short. */
pith_instance *pithp_part_open(pith_instance *of, const pith_scope *s);
void pithp_part_close(pith_instance *part);
/* Pop what a scope has pushed and not popped (statistics.c). */
void pithp_memory_pop_all(pith_scope *s);

/* ---- Proportions (share.c); the lock is held ---- */

/* Why a proportion cannot be had, besides what `except` has now; NULL: it can. A warning
 * is added where it leaves little. */
bool pithp_share_fits(pithp_memory_manager *m,
                      const pith_instance *except,
                      double proportion,
                      pithp_warnings *w,
                      char why[256]);
/* The same for one more automatic instance. */
bool pithp_share_fits_auto(pithp_memory_manager *m,
                           const pith_instance *except,
                           char why[256]);
/* A proportion of the device's memory. */
size_t pithp_share_bytes(const pithp_device *d, double proportion);
/* Every share and cap anew. */
void pithp_share_balance(pithp_device *d, pithp_warnings *w);

/* What a group can still allocate once idle instances have given up that many bytes. */
size_t pithp_share_available(pithp_device *d,
                             const pithp_group *g,
                             size_t evictable,
                             pithp_warnings *w);

/* ---- Queues (queue.c); the lock is held ---- */

struct pithp_request *pithp_queue_take(pith_instance *i); /* all of an instance's */
void pithp_queue_move(pith_instance *i, pithp_group *to);

/* ---- Room for others (evict.c) ---- */

/* Call the hook of the idle instance that was used least recently, and free its
 * allocations; false: there is none that was not asked in this clearing. *bytes grows by
 * what was freed. The lock is not held. */
bool pithp_evict_one(pithp_device *d, uint64_t clearing, size_t *bytes);
/* Bytes of device memory that idle instances would give up in this clearing. The lock is
 * held. */
size_t pithp_evictable(const pithp_memory_manager *m, uint64_t clearing);
/* A number for a clearing. */
uint64_t pithp_clearing_begin(pithp_device *d);

/* ---- Groups (group.c) ---- */

/* The group of that name, made where there is none; NULL when memory is short. The lock
 * is held. */
pithp_group *pithp_group_join(pithp_device *d, const char *name);
/* A group without members goes; its stream is returned, for pithp_stream_leave without
 * the lock. */
pithp_stream *pithp_group_leave(pithp_device *d, pithp_group *g);
/* The stream of an instance's group with one user more, the caller; NULL: error set. */
pithp_stream *pithp_group_stream(pith_scope *s, pith_instance *i);
pithp_group *pithp_group_find(const pithp_memory_manager *m, const char *name);
/* Why a name is none, for an instance or a group; NULL: it is one. */
const char *pithp_name_mistake(const char *name);

#endif
