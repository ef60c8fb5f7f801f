/* Private interface of gpu: state of the memory manager. */
#ifndef PITH_GPU_MANAGER_H
#define PITH_GPU_MANAGER_H

#include "pith/memory.h"

#include "gpu/gpu_internal.h"
#include "gpu/memory/ledger.h"
#include "gpu/memory/reclaim.h"
#include "gpu/memory/warning.h"

enum { PITHP_NAME_BYTES = 64 };

/* An instance group: its members share a stream. */
typedef struct pithp_group {
    struct pithp_group *next;
    struct pithp_request *queue; /* FIFO */
    char name[PITHP_NAME_BYTES];
    pithp_stream *stream; /* NULL until first used; the group is a user of it */
    uint64_t age;         /* value of the manager's age when the stream was made */
    int members;
} pithp_group;

/* Payload of an object in memory that stays until the runtime closes. */
struct pith_instance {
    pithp_account account; /* first: buffers only know the account */
    pithp_device *device;
    char name[PITHP_NAME_BYTES];
    bool open;
    bool retired; /* in the free list */
    bool manual;
    /* The enclosing instance, or NULL. A part counts the buffers that a scope makes
     * between a push and its pop; it has no name and is in no list. */
    struct pith_instance *part_of;
    const pith_scope *pushed; /* its scope */
    double proportion;
    pithp_group *group;                   /* NULL for "default" */
    int scopes;                           /* open root scopes, and calls in progress */
    struct pithp_allocation *allocations; /* newest first */
    size_t replaced; /* bytes that the call in progress will free first */
    uint64_t used;   /* time of the last use, by the manager's clock */
    uint64_t told;   /* last clearing that called its hook */
    pith_invalidate_hook invalidate;
    pith_ready_hook ready;
    void *closure;
    pith_instance *next; /* in the list of open or of free instances */
};

typedef struct pithp_memory_manager {
    pthread_mutex_t lock; /* guards all members below; never held during a hook */
    struct pithp_instance_chunk *chunks;
    pith_instance *first, **last; /* open instances without "default", oldest first */
    pith_instance *free_first, **free_last; /* FIFO, so that handles of closed instances
                                               stay recognisable for long */
    pith_instance *standard;                /* "default" */
    pithp_group *groups;
    uint64_t age;      /* number of resets of streams */
    uint64_t clock;    /* number of uses and calls */
    size_t gone_total; /* totals of bytes and buffers of freed instances */
    int64_t gone_buffers;
    size_t keep; /* limit of cached bytes, SIZE_MAX: none; guarded by the lock of the
                    ledger */
    size_t pinned, pinned_budget;
    struct pithp_host_pool *host_blocks; /* of host_block.c; has a lock of its own */
    pith_limits limits;
    pithp_reclaimer reclaimers[8];               /* NULL terminates the list */
    _Atomic(struct pithp_allocator *) allocator; /* the current allocator, or NULL */
    struct pithp_allocator
        *allocators; /* current, and replaced ones with blocks in use */
    struct pithp_allocator *dead_allocators; /* replaced, without blocks in use */
    pthread_mutex_t allocator_lock; /* guards these; its holder takes no other lock */
    _Atomic(struct pithp_events *) events; /* the event log (event.c), or NULL */
    pthread_mutex_t log_lock;              /* guards the event log */
    pith_warning_hook warn;
    void *warn_closure;
} pithp_memory_manager;

/* ---- Manager and instances (registry.c) ---- */

pith_status pithp_memory_open(pithp_device *d, pithp_error *e);
void pithp_memory_close(pithp_device *d); /* no scope may be open */
/* Check an instance that the user passed to `function`: of the scope's runtime. NULL sets
 * the error. */
pith_instance *
pithp_instance_check(pith_scope *s, const pith_instance *i, const char *function);
/* The same, except "default", and mark it as in use, so that it is not evicted. */
pith_instance *
pithp_instance_use(pith_scope *s, const pith_instance *i, const char *function);
void pithp_instance_unuse(pith_instance *i);
/* The same without an error: NULL if it is not an instance. */
pith_instance *pithp_instance_of_pointer(const pith_instance *i);
/* Free a closed instance whose account counts nothing. */
void pithp_instance_retire(pithp_device *d, pithp_account *a);
/* Called before a root scope on it closes. */
void pithp_instance_leave(pith_scope *s);
/* The enclosing instance with a name and a share. */
static inline pith_instance *pithp_instance_named(pith_instance *i) {
    while (i->part_of)
        i = i->part_of;
    return i;
}
/* Open a part of an instance for a scope; NULL if memory is short. */
pith_instance *pithp_part_open(pith_instance *of, const pith_scope *s);
void pithp_part_close(pith_instance *part);
/* Pop all parts of a scope that are still pushed (statistics.c). */
void pithp_memory_pop_all(pith_scope *s);

/* ---- Proportions (share.c); the lock is held ---- */

/* Whether a proportion is available, apart from the share of `except`; if not, `why` has
 * the reason. Adds a warning if it leaves little. */
bool pithp_share_fits(pithp_memory_manager *m,
                      const pith_instance *except,
                      double proportion,
                      pithp_warnings *w,
                      char why[256]);
/* The same for one more automatic instance. */
bool pithp_share_fits_auto(pithp_memory_manager *m,
                           const pith_instance *except,
                           char why[256]);
/* Bytes of a proportion of the device's memory. */
size_t pithp_share_bytes(const pithp_device *d, double proportion);
/* Recompute all shares and caps. */
void pithp_share_balance(pithp_device *d, pithp_warnings *w);

/* Bytes that a group can still allocate after idle instances have freed `evictable`
 * bytes. */
size_t pithp_share_available(pithp_device *d,
                             const pithp_group *g,
                             size_t evictable,
                             pithp_warnings *w);

/* ---- Request queues (queue.c); the lock is held ---- */

struct pithp_request *
pithp_queue_take(pith_instance *i); /* all requests of an instance */
void pithp_queue_move(pith_instance *i, pithp_group *to);

/* ---- Eviction (evict.c) ---- */

/* Evict the least recently used idle instance: call its hook and free its allocations.
 * Returns false if every idle instance was asked in this clearing. Adds the freed bytes
 * to *bytes. The lock is not held. */
bool pithp_evict_one(pithp_device *d, uint64_t clearing, size_t *bytes);
/* Bytes of device memory that evicting idle instances would free in this clearing. The
 * lock is held. */
size_t pithp_evictable(const pithp_memory_manager *m, uint64_t clearing);
/* A new clearing number. */
uint64_t pithp_clearing_begin(pithp_device *d);

/* ---- Groups (group.c) ---- */

/* The group of that name, made if necessary; NULL if memory is short. The lock is
 * held. */
pithp_group *pithp_group_join(pithp_device *d, const char *name);
/* Leave a group, and free it without members; returns its stream then, for
 * pithp_stream_leave without the lock. */
pithp_stream *pithp_group_leave(pithp_device *d, pithp_group *g);
/* The stream of an instance's group, with the caller as additional user. NULL sets the
 * error. */
pithp_stream *pithp_group_stream(pith_scope *s, pith_instance *i);
pithp_group *pithp_group_find(const pithp_memory_manager *m, const char *name);
/* Why a name of an instance or group is invalid; NULL if it is valid. */
const char *pithp_name_mistake(const char *name);

#endif
