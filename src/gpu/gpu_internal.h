/* Where bytes live and work runs, for the rooms above: buffers, streams, copies,
 * launches. No room above needs to know which backend serves them. */
#ifndef PITH_GPU_INTERNAL_H
#define PITH_GPU_INTERNAL_H

#include "pith/kernel_macros.h"
#include "pith/runtime.h"

#include "base/base_internal.h"
#include "gpu/isa.h"

typedef struct pithp_device pithp_device;
typedef struct pithp_stream pithp_stream;
typedef struct pithp_buffer pithp_buffer;
typedef struct pithp_module pithp_module;
typedef struct pithp_function pithp_function;
struct pithp_graph_plan; /* of gpu/graph.h */
struct pithp_graph;
struct pithp_gemm; /* of gpu/gemm.h */

enum { PITHP_ALIGNMENT = 256 };     /* of device memory, in bytes */
enum { PITHP_CACHED_MOST = 65536 }; /* bytes of buffers that every device keeps */

/* Work on the indices begin..end of a launch. args is a plain struct of device addresses
 * and numbers. */
typedef void (*pithp_host_loop)(const void *args, int64_t begin, int64_t end);

/* One unit of work: the host runs loops[isa] over ranges of 0..count on its threads, CUDA
 * runs the kernel over count threads. Bytes of args are copied when it is enqueued. */
typedef struct pithp_launch {
    const char *name; /* for messages */
    const pithp_host_loop
        *loops; /* one an instruction set; a NULL entry falls back to a weaker one */
    const void *cuda; /* handle for cudaLaunchKernel; NULL: not built for CUDA */
    const void *args;
    size_t args_bytes; /* at most PITHP_LAUNCH_ARGS */
    int64_t count;     /* indices; 0 is no work */
    int64_t grain;     /* fewest indices worth a thread of their own (about 2 us of work);
                          0: PITHP_GRAIN */
} pithp_launch;

enum { PITHP_LAUNCH_ARGS = 4000, PITHP_GRAIN = 4096 };

/* What a backend changed in the state of the calling thread, to restore it. */
typedef struct pithp_caller {
    void *context;         /* CUDA: that was current; NULL: none was */
    int mode;              /* CUDA: of stream captures */
    bool entered, relaxed; /* what has to be restored: the context, the mode */
} pithp_caller;

/* What a backend can do. Every slot is required unless it says otherwise; all may be
 * called from any thread, but one stream is used by one thread at a time unless the slot
 * says so. A slot that fails fills `e` and returns its code: PITH_E_DEVICE where the
 * device is of no use from here on (the runtime is dead then), any other where it is. */
typedef struct pithp_backend {
    int version; /* PITHP_BACKEND_VERSION */
    const char *kind;
    bool
        addressable; /* device memory can be read and written by the host where it lies */
    /* d->total says how much memory the user grants, 0: all there is. */
    pith_status (*open)(pithp_device *d, int ordinal, int threads, pithp_error *e);
    void (*close)(pithp_device *d);
    /* Make the device current on the calling thread, for functions of the user's that
     * work on it; `leave` restores the thread, and does nothing after an `enter` that
     * failed. Any thread. (optional, both or none) */
    pith_status (*enter)(pithp_device *d, pithp_caller *caller, pithp_error *e);
    void (*leave)(const pithp_device *d, const pithp_caller *caller);
    pith_status (*stream_open)(pithp_stream *st, pithp_error *e);
    void (*stream_close)(pithp_stream *st);
    /* Wait until all that was enqueued has run. Any thread. */
    pith_status (*synchronise)(pithp_stream *st, pithp_error *e);
    /* What is enqueued on st from here on runs after what is enqueued on other now. Any
     * thread. */
    pith_status (*wait_for)(pithp_stream *st, pithp_stream *other, pithp_error *e);
    /* Memory usable by work enqueued on st from here on; NULL with e set when short. */
    void *(*allocate)(pithp_stream *st, size_t bytes, pithp_error *e);
    /* Returned after what is enqueued on st now. Any thread. */
    void (*release)(pithp_stream *st, void *data, size_t bytes);
    /* Host memory that the device reads and writes where it lies; *mapped gets its
     * address on the device. Any thread. (optional, default memory of the runtime's
     * allocator) */
    void *(*pin)(pithp_device *d, size_t bytes, void **mapped, pithp_error *e);
    void (*unpin)(pithp_device *d, void *data, size_t bytes);
    /* host memory may be reused by the caller when copy_in returns */
    pith_status (*copy_in)(pithp_stream *st,
                           void *to,
                           const void *host,
                           size_t bytes,
                           pithp_error *e);
    /* returns when the bytes have arrived */
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
    /* count copies of a pattern of 1, 2, 4 or 8 bytes */
    pith_status (*fill)(pithp_stream *st,
                        void *to,
                        const void *pattern,
                        size_t width,
                        int64_t count,
                        pithp_error *e);
    pith_status (*launch)(pithp_stream *st, const pithp_launch *l, pithp_error *e);
    /* Fills pool (all that is reserved, live or not), total, and free (bytes that the
     * device has left beyond the pool); the rest is counted by the ledger. */
    void (*memory)(const pithp_device *d, pith_memory_info *info);
    /* Return what the pool holds for reuse to the system. Any thread. (optional) */
    void (*trim)(pithp_device *d);
    /* What users of the backend's own API know a stream as. (optional, default its
     * address) */
    void *(*native_stream)(const pithp_stream *st);
    /* Compiled code (src/gpu/compile makes the image: a shared library's path, or a
     * cubin). */
    pith_status (*module_load)(pithp_device *d,
                               const void *image,
                               size_t bytes,
                               pithp_module *m,
                               pithp_error *e);
    void (*module_unload)(pithp_device *d, pithp_module *m);
    /* Fills f->loops[0] or f->cuda for the function of that name. */
    pith_status (*module_find)(pithp_device *d,
                               const pithp_module *m,
                               const char *name,
                               pithp_function *f,
                               pithp_error *e);
    /* The handle of a user's kernel. (optional: they run by their loops) */
    pith_status (*kernel_find)(pithp_device *d,
                               pith_kernel_entry entry,
                               const char *name,
                               const void **handle,
                               pithp_error *e);
    /* Tasks that run as one launch (gpu/graph.h). graph_make: ready to be launched on any
     * stream, by one thread at a time; launches wait for each other. graph_free: what is
     * under way ends first. (optional, all or none) */
    pith_status (*graph_make)(pithp_stream *st,
                              const struct pithp_graph_plan *plan,
                              struct pithp_graph **graph,
                              pithp_error *e);
    pith_status (*graph_launch)(pithp_stream *st,
                                struct pithp_graph *graph,
                                pithp_error *e);
    void (*graph_free)(pithp_device *d, struct pithp_graph *graph);
    /* Marks: the time at which the work before them has run. mark_elapsed waits for `to`,
     * which was set after `from`. mark_make: NULL sets e. (optional, all or none) */
    void *(*mark_make)(pithp_device *d, pithp_error *e);
    void (*mark_free)(pithp_device *d, void *mark);
    pith_status (*mark_set)(pithp_stream *st, void *mark, pithp_error *e);
    pith_status (*mark_elapsed)(pithp_device *d,
                                void *from,
                                void *to,
                                double *seconds,
                                pithp_error *e);
    /* Products by a library (gpu/gemm.h). gemm_use: a pithp_gemm_use; opens it. gemm:
     * PITH_E_UNSUPPORTED where the library refuses, which it is not asked again then;
     * `memory` as the product says, until the work has run. (optional, both or none) */
    int (*gemm_use)(pithp_device *d);
    pith_status (*gemm)(pithp_stream *st,
                        const struct pithp_gemm *gemm,
                        void *memory,
                        pithp_error *e);
} pithp_backend;

enum { PITHP_BACKEND_VERSION = 1 };

extern const pithp_backend pithp_backend_host;
/* NULL where the library was built without CUDA. */
extern const pithp_backend *const pithp_backend_cuda;

/* What buffers take of a device, exact at every moment. One lock guards it, the accounts
 * of its instances and the buffers that are kept for reuse (memory/ledger.h): a buffer
 * that is kept is taken, or kept again, and counted under one locked instruction. */
typedef struct pithp_ledger {
    pithp_biased_lock lock;
    size_t owned, lent; /* bytes in memory of the device's, and of the user's */
    size_t reserved;    /* bytes that libraries hold beside buffers */
    size_t peak;        /* the most that both ever were */
    int64_t buffers, peak_buffers; /* how many, and the most that there ever were */
} pithp_ledger;

struct pithp_device {
    const pithp_backend *backend;
    pith_runtime *runtime;
    void *state; /* the backend's */
    char name[128];
    int ordinal; /* among those of the backend */
    int threads;
    pithp_isa isa;    /* that host loops are chosen for */
    int arch;         /* CUDA: 10 major + minor of the compute capability */
    int driver;       /* CUDA: newest version that the driver serves; 0: unknown */
    bool immediate;   /* a stream runs work when it is enqueued: the host, without
                         PITH_HOST_ASYNC */
    bool poison;      /* freed memory is overwritten, in the order of the stream */
    atomic_bool dead; /* a sticky device error: every later call says so */
    size_t total;     /* bytes that buffers may take together */
    pithp_ledger ledger;
    struct pithp_cache *cache; /* of all streams where work runs when it is enqueued;
                                  else NULL, and every stream has its own */
    struct pithp_memory_manager *memory; /* the manager: instances, groups */
    pthread_mutex_t lock;                /* guards the lists of streams and their users */
    pithp_stream *streams, *idle;        /* all; those without a scope */
    _Atomic(struct pithp_compiler *) compiler; /* src/gpu/compile; NULL until it is used,
                                                  closed by pithp_compiler_close */
    _Atomic(struct pithp_background *) background; /* of the same room: compiling in the
                                             background */
    atomic_bool compiler_complained;               /* of what it lacks: once is enough */
    atomic_bool said_unchecked;                    /* of checked kernels, likewise */
};

/* A queue of work in order. Streams are pooled and live as long as the runtime. */
struct pithp_stream {
    pithp_device *device;
    void *state; /* the backend's */
    pithp_stream *next, *next_idle;
    int users;                          /* root scopes and groups; idle without one */
    struct pithp_pending_list *pending; /* of kernels enqueued and not yet examined */
    struct pithp_cache *cache;          /* buffers kept for reuse */
};

/* Device memory, counted. Immutable contents once the work that writes it is enqueued. */
struct pithp_buffer {
    atomic_int refs;
    bool foreign;                  /* memory of the user's: given back to `release` */
    atomic_bool used_elsewhere;    /* read on other streams: freeing waits for them */
    pithp_stream *stream;          /* that wrote it */
    struct pithp_account *account; /* of the instance that it is counted for */
    void *data;
    size_t bytes; /* asked for, and counted by the ledger */
    size_t room;  /* taken from the backend, at least bytes */
    void (*release)(void *closure, void *data); /* foreign only; NULL: borrowed */
    void *closure;
    pithp_buffer *next; /* in a list of free ones */
    int class;          /* of sizes; -1: too large to be kept with its data */
    /* A hash of the data, for who asks more than once. Whoever writes to the memory of a
     * buffer again makes it unknown. */
    atomic_int content_state; /* PITHP_CONTENT_ */
    uint64_t content[2];
};

enum { PITHP_CONTENT_UNKNOWN, PITHP_CONTENT_CHANGING, PITHP_CONTENT_KNOWN };

/* False: it is not known. */
static inline bool pithp_buffer_content(const pithp_buffer *b, uint64_t content[2]) {
    if (atomic_load_explicit(&b->content_state, memory_order_acquire) !=
        PITHP_CONTENT_KNOWN)
        return false;
    content[0] = b->content[0];
    content[1] = b->content[1];
    return true;
}
/* The first who states it is believed; any thread. */
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
/* What users of the backend's own API know a stream as. */
static inline void *pithp_stream_native(const pithp_stream *st) {
    const pithp_backend *backend = st->device->backend;
    return backend->native_stream ? backend->native_stream(st) : (void *)(uintptr_t)st;
}
/* The instance whose account an open scope's buffers go to. */
static inline struct pith_instance *pithp_scope_instance(const pith_scope *s) {
    return s->room[PITHP_ROOM_MEMORY];
}
static inline pithp_device *pithp_scope_device(const pith_scope *s) {
    return pithp_scope_stream(s)->device;
}

/* ---- Buffers: NULL or a code other than PITH_OK means the scope's error is set ---- */

pithp_buffer *pithp_buffer_make(pith_scope *s, size_t bytes); /* one reference */
/* Host memory of the user's as a buffer of a host device; release NULL: borrowed. */
pithp_buffer *pithp_buffer_wrap(pith_scope *s,
                                void *data,
                                size_t bytes,
                                void (*release)(void *closure, void *data),
                                void *closure);
/* As many buffers as there are sizes, with one reference each: all, or none with the
 * scope's error set. */
pith_status pithp_buffers_make(pith_scope *s,
                               int64_t count,
                               const size_t *bytes,
                               pithp_buffer **buffers);
void pithp_buffer_retain(pithp_buffer *b, int count);
void pithp_buffer_release(pithp_buffer *b, int count); /* NULL does nothing */
/* Work on the scope's stream is about to read b: wait for its writer where that is
 * another stream. */
pith_status pithp_buffer_await(pith_scope *s, pithp_buffer *b);
static inline pith_status pithp_buffer_read(pith_scope *s, pithp_buffer *b) {
    return PITHP_LIKELY(b->stream == pithp_scope_stream(s)) ? PITH_OK
                                                            : pithp_buffer_await(s, b);
}

/* Bytes that buffers of an open scope can still take: of the device, and of its
 * instance's cap (memory/share.c). */
size_t pithp_memory_left(const pith_scope *s);

/* ---- Work on the scope's stream ---- */

pith_status pithp_copy_in(pith_scope *s, void *to, const void *host, size_t bytes);
pith_status pithp_copy_out(pith_scope *s, void *host, const void *from, size_t bytes);
pith_status pithp_copy(pith_scope *s, void *to, const void *from, size_t bytes);
pith_status
pithp_fill(pith_scope *s, void *to, const void *pattern, size_t width, int64_t count);
pith_status pithp_launch_enqueue(pith_scope *s, const pithp_launch *l);
/* Wait, then turn failed checks and device errors into the scope's error. */
pith_status pithp_synchronise(pith_scope *s);

/* The host loop that the device's instruction set calls for. */
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

/* pith_open on a given backend; tests bring their own. */
pith_runtime *pithp_open_backend(const pithp_backend *backend,
                                 int ordinal,
                                 const pith_open_options *options);
/* The device of a runtime; NULL where it could not be opened. */
static inline pithp_device *pithp_runtime_device(const pith_runtime *rt) {
    return rt->room[PITHP_ROOM_GPU];
}
/* What a backend said becomes the scope's error; PITH_E_DEVICE ends the runtime. */
pith_status pithp_fail_device(pith_scope *s, const pithp_error *e);

/* ---- Checks inside kernels: what a launch leaves behind and what becomes of it ---- */

/* Turns the report of a failed check into an error; subject and site are those given to
 * pithp_check_make. */
typedef void (*pithp_check_describe)(const void *subject,
                                     const pith_report *report,
                                     const char *site,
                                     pithp_error *e);

/* A report for one launch on the scope's stream: device memory, all zero, raised by
 * kernels (pith_require). It goes to the collectors of the scope (gpu/collect.h); without
 * one it is examined at the next synchronising call, where a failure becomes the error of
 * the scope (or of its parent, once it is closed). The subject must live as long as the
 * runtime; the call site of the scope is kept. NULL: error set. */
pith_report *
pithp_check_make(pith_scope *s, pithp_check_describe describe, const void *subject);

/* Elements that must all be nonzero. */
typedef struct pithp_predicate {
    const void *data; /* in device memory */
    int64_t count;
    pith_report *report; /* `first` gets ~index of the first zero */
    int32_t width;       /* bytes of an element: 1, 2, 4 or 8 */
    int32_t unused;
} pithp_predicate;

/* Enqueue the evaluation of predicates; one of width 0 is a report that was written
 * already. flag, unless NULL: its `first` is raised to ~(base + i) where the i-th fails.
 */
typedef pith_status (*pithp_evaluate)(pithp_stream *st,
                                      const pithp_predicate *list,
                                      int64_t count,
                                      pith_report *flag,
                                      int64_t base,
                                      pithp_error *e);

/* A predicate that nobody collects; it is told of like a launch. */
typedef struct pithp_pending {
    pithp_check_describe describe;
    const void *subject;
    void (*release)(const void *subject); /* once it was told of, or never will be */
    uint64_t first; /* where work runs when it is enqueued: ~index of the first failure */
    pithp_predicate predicate; /* elsewhere; its data live until the release */
    pithp_evaluate evaluate;
} pithp_pending;
pith_status pithp_check_pend(pith_scope *s, const pithp_pending *pending);
/* Whether checks that were enqueued on a stream are not yet examined. */
bool pithp_pending_any(const pithp_stream *st);

#endif
