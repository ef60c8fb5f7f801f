/* Device interface for the rooms above: buffers, streams, copies and launches,
 * independent of the backend. */
#ifndef PITH_GPU_INTERNAL_H
#define PITH_GPU_INTERNAL_H

#include "pith/kernel_types.h"
#include "pith/runtime.h"

#include "base/base_internal.h"
#include "gpu/isa.h"

typedef struct pithp_device pithp_device;
typedef struct pithp_stream pithp_stream;
typedef struct pithp_buffer pithp_buffer;
typedef struct pithp_module pithp_module;
typedef struct pithp_function pithp_function;
struct pithp_graph_plan; /* in gpu/graph.h */
struct pithp_graph;
struct pithp_gemm;         /* in gpu/gemm.h */
struct pithp_communicator; /* in gpu/communicator.h */
struct pithp_communicator_start;
struct pithp_device_move;

enum { PITHP_ALIGNMENT = 256 };     /* of device memory, in bytes */
enum { PITHP_CACHED_MOST = 65536 }; /* bytes of free buffers that every device may keep */

/* Process the indices begin..end of a launch. args is a plain struct of device addresses
 * and numbers. */
typedef void (*pithp_host_loop)(const void *args, int64_t begin, int64_t end);

/* One launch. The host runs loops[isa] over ranges of 0..count on its threads; CUDA runs
 * the kernel with count threads. Enqueueing copies the bytes of args. */
typedef struct pithp_launch {
    const char *name; /* for messages */
    const pithp_host_loop
        *loops; /* one per instruction set; a NULL entry falls back to a lower one */
    const void *cuda; /* handle for cudaLaunchKernel; NULL: not built for CUDA */
    const void *args;
    size_t args_bytes; /* CUDA: at most PITHP_LAUNCH_ARGS */
    int64_t count;     /* indices; 0: no work */
    int64_t
        grain; /* fewest indices worth a thread (about 2 us of work); 0: PITHP_GRAIN */
} pithp_launch;

/* A CUDA kernel takes at most 4 KiB of parameters. */
enum { PITHP_LAUNCH_ARGS = 4000, PITHP_GRAIN = 4096 };

/* State of the calling thread that a backend changed, to restore it. */
typedef struct pithp_caller {
    void *context;         /* CUDA: the context that was current, or NULL */
    int mode;              /* CUDA: mode of stream captures */
    bool entered, relaxed; /* whether to restore the context, the mode */
} pithp_caller;

/* Operations of a backend. Each is required unless marked optional. All may be called
 * from any thread, but only one thread at a time may use a stream unless stated
 * otherwise. A failure fills `e` and returns its code. PITH_E_DEVICE means that the
 * device is lost and the runtime dead; after other codes it stays usable. */
typedef struct pithp_backend {
    int version; /* PITHP_BACKEND_VERSION */
    const char *kind;
    bool addressable; /* the host can access device memory directly */
    /* d->total: the memory granted by the user, 0: no limit. ordinal -1: the backend
     * chooses, and sets d->ordinal. */
    pith_status (*open)(pithp_device *d, int ordinal, int threads, pithp_error *e);
    void (*close)(pithp_device *d);
    /* Make the device current on the calling thread, for user functions that work on it.
     * `leave` restores the thread, and does nothing after a failed `enter`. Any thread.
     * (optional, both or none) */
    pith_status (*enter)(pithp_device *d, pithp_caller *caller, pithp_error *e);
    void (*leave)(const pithp_device *d, const pithp_caller *caller);
    pith_status (*stream_open)(pithp_stream *st, pithp_error *e);
    void (*stream_close)(pithp_stream *st);
    /* Wait for all enqueued work. Any thread. */
    pith_status (*synchronise)(pithp_stream *st, pithp_error *e);
    /* Order work enqueued on st from now on after the work enqueued on other so far. Any
     * thread. */
    pith_status (*wait_for)(pithp_stream *st, pithp_stream *other, pithp_error *e);
    /* Memory for work enqueued on st from now on; NULL sets e. */
    void *(*allocate)(pithp_stream *st, size_t bytes, pithp_error *e);
    /* Free memory after the work enqueued on st so far. Any thread. */
    void (*release)(pithp_stream *st, void *data, size_t bytes);
    /* Host memory that the device accesses directly; *mapped: its device address. Any
     * thread. (optional, default memory of the runtime's allocator) */
    void *(*pin)(pithp_device *d, size_t bytes, void **mapped, pithp_error *e);
    void (*unpin)(pithp_device *d, void *data, size_t bytes);
    /* the caller may reuse the host memory after copy_in returns */
    pith_status (*copy_in)(pithp_stream *st,
                           void *to,
                           const void *host,
                           size_t bytes,
                           pithp_error *e);
    /* returns after the bytes have arrived */
    pith_status (*copy_out)(pithp_stream *st,
                            void *host,
                            const void *from,
                            size_t bytes,
                            pithp_error *e);
    pith_status (*copy)(pithp_stream *st,
                        void *to,
                        const void *from,
                        size_t bytes,
                        pithp_error *e);
    /* fill with count copies of a pattern of 1, 2, 4 or 8 bytes */
    pith_status (*fill)(pithp_stream *st,
                        void *to,
                        const void *pattern,
                        size_t width,
                        int64_t count,
                        pithp_error *e);
    pith_status (*launch)(pithp_stream *st, const pithp_launch *l, pithp_error *e);
    /* Sets pool (all reserved bytes, live or not), total, and free (bytes of the device
     * outside the pool). The ledger counts the other members. */
    void (*memory)(const pithp_device *d, pith_memory_info *info);
    /* Free the pool's unused memory to the system. Any thread. (optional) */
    void (*trim)(pithp_device *d);
    /* The stream in the backend's own API. (optional, default its address) */
    void *(*native_stream)(const pithp_stream *st);
    /* Compiled code (src/gpu/compile makes the image: a shared library's path, or a
     * cubin). */
    pith_status (*module_load)(pithp_device *d,
                               const void *image,
                               size_t bytes,
                               pithp_module *m,
                               pithp_error *e);
    void (*module_unload)(pithp_device *d, pithp_module *m);
    /* Sets f->loops[0] or f->cuda for the function of that name. */
    pith_status (*module_find)(pithp_device *d,
                               const pithp_module *m,
                               const char *name,
                               pithp_function *f,
                               pithp_error *e);
    /* The handle of a user's kernel. (optional: kernels run by their loops) */
    pith_status (*kernel_find)(pithp_device *d,
                               pith_kernel_entry entry,
                               const char *name,
                               const void **handle,
                               pithp_error *e);
    /* Tasks as one launch (gpu/graph.h). graph_make: a graph for any stream, used by one
     * thread at a time; its launches are ordered. graph_free waits for launches in
     * flight. (optional, all or none) */
    pith_status (*graph_make)(pithp_stream *st,
                              const struct pithp_graph_plan *plan,
                              struct pithp_graph **graph,
                              pithp_error *e);
    pith_status (*graph_launch)(pithp_stream *st,
                                struct pithp_graph *graph,
                                pithp_error *e);
    void (*graph_free)(pithp_device *d, struct pithp_graph *graph);
    /* Time marks: the time at which the work before a mark had run. mark_elapsed waits
     * for `to`, which was set after `from`. mark_make: NULL sets e. (optional, all or
     * none) */
    void *(*mark_make)(pithp_device *d, pithp_error *e);
    void (*mark_free)(pithp_device *d, void *mark);
    pith_status (*mark_set)(pithp_stream *st, void *mark, pithp_error *e);
    pith_status (*mark_elapsed)(pithp_device *d,
                                void *from,
                                void *to,
                                double *seconds,
                                pithp_error *e);
    /* Products by a library (gpu/gemm.h). gemm_use opens the library and returns a
     * pithp_gemm_use. gemm: PITH_E_UNSUPPORTED if the library refuses; it is then
     * disabled. `memory`: see pithp_gemm_bytes; it must live until the work has run.
     * (optional, both or none) */
    int (*gemm_use)(pithp_device *d);
    pith_status (*gemm)(pithp_stream *st,
                        const struct pithp_gemm *gemm,
                        void *memory,
                        pithp_error *e);
    /* Moves between devices of several processes by a library (gpu/communicator.h).
     * communicator_version opens the library; 0: there is none, and the reason is in the
     * log. communicator_make: axes for messages, and the limit of every wait for the
     * library (negative: none). communicator_open waits for all ranks.
     * communicator_close: by all ranks, unless it aborts or opening failed.
     * communicator_look: trouble since then; any thread. After any failure the
     * communicator is aborted, and fails. (optional, all or none) */
    int (*communicator_version)(pithp_device *d);
    pith_status (*communicator_id)(pithp_device *d, unsigned char *id, pithp_error *e);
    pith_status (*communicator_make)(pithp_device *d,
                                     const char *axes,
                                     int64_t timeout_ns,
                                     struct pithp_communicator **made,
                                     pithp_error *e);
    pith_status (*communicator_open)(pithp_device *d,
                                     struct pithp_communicator *c,
                                     const struct pithp_communicator_start *how,
                                     pithp_error *e);
    void (*communicator_close)(pithp_device *d,
                               struct pithp_communicator *c,
                               bool aborts);
    pith_status (*communicator_look)(pithp_device *d,
                                     struct pithp_communicator *c,
                                     pithp_error *e);
    pith_status (*transfer)(pithp_stream *st,
                            struct pithp_communicator *c,
                            const struct pithp_device_move *t,
                            pithp_error *e);
} pithp_backend;

enum { PITHP_BACKEND_VERSION = 1 };

extern const pithp_backend pithp_backend_host;
/* Take an older instruction set, before anything is compiled. */
void pithp_host_take_isa(pithp_device *d, pithp_isa isa);
/* Divide the cores of the process by the ranks that have the same ones, unless a number
 * of threads was asked for. */
void pithp_host_share_cores(pithp_device *d, int ranks);
/* NULL if the library was built without CUDA. */
extern const pithp_backend *const pithp_backend_cuda;

/* Memory ledger: exact bytes of buffers on a device. One lock guards it, the accounts of
 * instances and the caches of free buffers (memory/ledger.h). So one locked instruction
 * takes or returns a cached buffer and counts it. */
typedef struct pithp_ledger {
    pithp_biased_lock lock;
    size_t owned, lent;            /* bytes in memory of the device, and of the user */
    size_t reserved;               /* bytes that libraries hold besides buffers */
    size_t peak;                   /* maximum of owned + lent */
    int64_t buffers, peak_buffers; /* count, and its maximum */
} pithp_ledger;

struct pithp_device {
    const pithp_backend *backend;
    pith_runtime *runtime;
    void *state; /* of the backend */
    char name[128];
    unsigned char uuid[16]; /* CUDA: of the device, also where it has another ordinal */
    int ordinal;            /* within its backend */
    int threads;
    pithp_isa isa;  /* selects the host loops */
    int arch;       /* CUDA: 10 major + minor of the compute capability */
    int driver;     /* CUDA: newest version that the driver supports; 0: unknown */
    bool immediate; /* work runs when it is enqueued: the host without PITH_HOST_ASYNC */
    bool poison;    /* overwrite freed memory, in stream order */
    atomic_bool dead; /* a sticky device error: every later call fails */
    size_t total;     /* limit of the bytes of all buffers */
    pithp_ledger ledger;
    struct pithp_cache *cache; /* shared by all streams if work runs when enqueued; else
                                  NULL, and every stream has its own */
    struct pithp_memory_manager *memory; /* the manager: instances, groups */
    pthread_mutex_t lock;                /* guards the lists of streams and their users */
    pithp_stream *streams, *idle;        /* all; those without users */
    _Atomic(struct pithp_compiler *) compiler; /* src/gpu/compile; NULL until first used,
                                                  freed by pithp_compiler_close */
    _Atomic(struct pithp_background *)
        background;                  /* src/gpu/compile: background compilation */
    atomic_bool compiler_complained; /* a missing compiler was logged */
    atomic_bool said_unchecked;      /* unchecked kernels were logged */
};

/* A stream: a queue of ordered work. Streams are pooled and live as long as the
 * runtime. */
struct pithp_stream {
    pithp_device *device;
    void *state; /* of the backend */
    pithp_stream *next, *next_idle;
    int users;                          /* root scopes and groups; idle without users */
    struct pithp_pending_list *pending; /* kernel checks enqueued and not yet examined */
    struct pithp_cache *cache;          /* free buffers for reuse */
};

/* Device memory, reference-counted. The contents are immutable once the writing work is
 * enqueued. */
struct pithp_buffer {
    atomic_int refs;
    bool foreign;                  /* memory of the user, returned by `release` */
    atomic_bool used_elsewhere;    /* read on other streams: freeing waits for them */
    pithp_stream *stream;          /* the writer's */
    struct pithp_account *account; /* of the instance that it is counted for */
    void *data;
    size_t bytes; /* requested size, as in the ledger */
    size_t room;  /* allocated from the backend, at least bytes */
    void (*release)(void *closure, void *data); /* foreign only; NULL: borrowed */
    void *closure;
    pithp_buffer *next; /* in a free list */
    int class;          /* size class; -1: too large for the cache */
    /* Cached hash of the data. Code that rewrites the buffer's memory must reset it. */
    atomic_int content_state; /* PITHP_CONTENT_ */
    uint64_t content[2];
};

enum { PITHP_CONTENT_UNKNOWN, PITHP_CONTENT_CHANGING, PITHP_CONTENT_KNOWN };

/* Read the cached hash. Returns false if it is unknown. */
static inline bool pithp_buffer_content(const pithp_buffer *b, uint64_t content[2]) {
    if (atomic_load_explicit(&b->content_state, memory_order_acquire) !=
        PITHP_CONTENT_KNOWN)
        return false;
    content[0] = b->content[0];
    content[1] = b->content[1];
    return true;
}
/* Cache the hash; the first caller wins. Any thread. */
static inline void pithp_buffer_set_content(pithp_buffer *b, const uint64_t content[2]) {
    int unknown = PITHP_CONTENT_UNKNOWN;
    if (!atomic_compare_exchange_strong(&b->content_state, &unknown,
                                        PITHP_CONTENT_CHANGING))
        return;
    b->content[0] = content[0];
    b->content[1] = content[1];
    atomic_store_explicit(&b->content_state, PITHP_CONTENT_KNOWN, memory_order_release);
}

/* The stream and device of an open scope whose runtime has a device. */
static inline pithp_stream *pithp_scope_stream(const pith_scope *s) {
    return s->room[PITHP_ROOM_GPU];
}
/* The stream in the backend's own API. */
static inline void *pithp_stream_native(const pithp_stream *st) {
    const pithp_backend *backend = st->device->backend;
    return backend->native_stream ? backend->native_stream(st) : (void *)(uintptr_t)st;
}
/* The instance that accounts for the buffers of an open scope. */
static inline struct pith_instance *pithp_scope_instance(const pith_scope *s) {
    return s->room[PITHP_ROOM_MEMORY];
}
static inline pithp_device *pithp_scope_device(const pith_scope *s) {
    return pithp_scope_stream(s)->device;
}

/* ---- Buffers: NULL or a code other than PITH_OK sets the scope's error ---- */

pithp_buffer *pithp_buffer_make(pith_scope *s, size_t bytes); /* one reference */
/* Wrap the user's host memory as a buffer of a host device; release NULL: borrowed. */
pithp_buffer *pithp_buffer_wrap(pith_scope *s,
                                void *data,
                                size_t bytes,
                                void (*release)(void *closure, void *data),
                                void *closure);
/* Make one buffer per size, with one reference each: all, or none and the scope's error
 * is set. */
pith_status pithp_buffers_make(pith_scope *s,
                               int64_t count,
                               const size_t *bytes,
                               pithp_buffer **buffers);
void pithp_buffer_retain(pithp_buffer *b, int count);
void pithp_buffer_release(pithp_buffer *b, int count); /* NULL is ignored */
/* Prepare a read of b on the scope's stream: wait for its writer on another stream. */
pith_status pithp_buffer_await(pith_scope *s, pithp_buffer *b);
static inline pith_status pithp_buffer_read(pith_scope *s, pithp_buffer *b) {
    return PITHP_LIKELY(b->stream == pithp_scope_stream(s)) ? PITH_OK
                                                            : pithp_buffer_await(s, b);
}

/* Bytes that buffers of an open scope may still take: of the device, and of its
 * instance's cap (memory/share.c). */
size_t pithp_memory_left(const pith_scope *s);

/* ---- Work on the scope's stream ---- */

pith_status pithp_copy_in(pith_scope *s, void *to, const void *host, size_t bytes);
pith_status pithp_copy_out(pith_scope *s, void *host, const void *from, size_t bytes);
pith_status pithp_copy(pith_scope *s, void *to, const void *from, size_t bytes);
pith_status
pithp_fill(pith_scope *s, void *to, const void *pattern, size_t width, int64_t count);
pith_status pithp_launch_enqueue(pith_scope *s, const pithp_launch *l);
/* Wait, then convert failed checks and device errors to the scope's error. */
pith_status pithp_synchronise(pith_scope *s);
/* Wait; failed checks stay pending. */
pith_status pithp_stream_drain(pith_scope *s);

/* The host loop for the device's instruction set. */
static inline pithp_host_loop pithp_loop_for(const pithp_launch *l, pithp_isa isa) {
    for (int i = (int)isa; i > 0; i--)
        if (l->loops[i])
            return l->loops[i];
    return l->loops[0];
}
static inline pith_status pithp_launch_run(pith_scope *s, const pithp_launch *l) {
    const pithp_device *d = pithp_scope_device(s);
    if (PITHP_LIKELY(d->immediate && l->count <= (l->grain ? l->grain : PITHP_GRAIN))) {
        if (l->count > 0)
            pithp_loop_for(l, d->isa)(l->args, 0, l->count);
        return PITH_OK;
    }
    return pithp_launch_enqueue(s, l);
}

/* ---- Runtimes ---- */

/* pith_open on a given backend; tests supply their own. */
pith_runtime *pithp_open_backend(const pithp_backend *backend,
                                 int ordinal,
                                 const pith_open_options *options);
/* The device of a runtime; NULL if opening failed. */
static inline pithp_device *pithp_runtime_device(const pith_runtime *rt) {
    return rt->room[PITHP_ROOM_GPU];
}
/* Convert a backend error to the scope's error; PITH_E_DEVICE ends the runtime. */
pith_status pithp_fail_device(pith_scope *s, const pithp_error *e);

/* ---- Checks inside kernels: reports of launches ---- */

/* Convert the report of a failed check to an error; subject and site are those given to
 * pithp_check_make. */
typedef void (*pithp_check_describe)(const void *subject,
                                     const pith_report *report,
                                     const char *site,
                                     pithp_error *e);

/* The entry of a batch that a report is about, along its batch axes; rank 0: unknown, or
 * no batch. */
enum { PITHP_ENTRY_RANK = 4 };
typedef struct pithp_entry {
    int32_t rank;
    int64_t index[PITHP_ENTRY_RANK];
} pithp_entry;
/* Call `describe`, and add the entry. */
void pithp_report_describe(pithp_check_describe describe,
                           const void *subject,
                           const pithp_entry *of,
                           const pith_report *report,
                           const char *site,
                           pithp_error *e);

/* Make a report for one launch on the scope's stream: zeroed device memory, raised by
 * kernels (pith_require). The collectors of the scope receive it (gpu/collect.h). Without
 * a collector, the next synchronising call examines it; a failure becomes the error of
 * the scope (or of its parent, once it is closed). The subject must live as long as the
 * runtime; the call site of the scope is stored. NULL sets the error. */
pith_report *
pithp_check_make(pith_scope *s, pithp_check_describe describe, const void *subject);
/* The same for an entry of a batch. */
pith_report *pithp_check_make_of(pith_scope *s,
                                 pithp_check_describe describe,
                                 const void *subject,
                                 const pithp_entry *of);

/* A predicate: elements that must all be nonzero. */
typedef struct pithp_predicate {
    const void *data; /* in device memory */
    int64_t count;
    pith_report *report; /* `first` is set to ~index of the first zero */
    int32_t width;       /* bytes of an element: 1, 2, 4 or 8 */
    int32_t unused;
} pithp_predicate;

/* Enqueue the evaluation of predicates; one of width 0 is a written report. flag, unless
 * NULL: its `first` is raised to ~(base + i) if the i-th fails. */
typedef pith_status (*pithp_evaluate)(pithp_stream *st,
                                      const pithp_predicate *list,
                                      int64_t count,
                                      pith_report *flag,
                                      int64_t base,
                                      pithp_error *e);

/* A predicate without a collector; its failure is reported like that of a launch. */
typedef struct pithp_pending {
    pithp_check_describe describe;
    const void *subject;
    void (*release)(
        const void *subject); /* called after the report, or when there will be none */
    uint64_t first; /* if work runs when enqueued: ~index of the first failure */
    pithp_predicate predicate; /* otherwise; its data live until the release */
    pithp_evaluate evaluate;
} pithp_pending;
pith_status pithp_check_pend(pith_scope *s, const pithp_pending *pending);
/* Whether a stream has checks that are not yet examined. */
bool pithp_pending_any(const pithp_stream *st);

#endif
