/* Communicators by NCCL. They are nonblocking: every wait for the library is a poll with
 * a limit. After trouble a communicator is aborted, and every later move fails.
 *
 * NCCL frees a communicator only after the graphs that captured moves of it, so the
 * graphs of the device that hold moves are destroyed before the first is closed. */
#include "gpu/communicator.h"

#include "base/environment.h"
#include "gpu/cuda/cuda_internal.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct pithp_communicator {
    const pithp_nccl *library;
    pithp_nccl_comm comm; /* NULL: aborted */
    int64_t size, timeout_ns;
    pthread_mutex_t lock; /* of calls with comm, and of the members below */
    cudaStream_t queue;   /* for captures; NULL until the first */
    char what[64];        /* "communicator over x,y" */
    char trouble[200];    /* that it was aborted after */
};

/* ---- The library ---- */

static bool is_off(void) {
    const char *set = pithp_environment("PITH_NCCL");
    return set && strcmp(set, "off") == 0;
}

/* The library if it can be used. NULL: e has the reason. */
static const pithp_nccl *open_library(int *version, pithp_error *e) {
    const pithp_nccl *library = NULL;
    if (is_off())
        pithp_error_set(e, PITH_E_UNSUPPORTED, NULL, NULL, "PITH_NCCL is off");
    else if ((library = pithp_nccl_open(e)) &&
             (library->GetVersion(version) != PITHP_NCCL_OK ||
              *version < PITHP_NCCL_OLDEST)) {
        char text[PITHP_NCCL_VERSION_BYTES];
        pithp_nccl_version_text(*version, text);
        pithp_error_set(e, PITH_E_UNSUPPORTED, NULL, NULL,
                        "NCCL is version %s, and 2.27.0 or newer is needed", text);
        library = NULL;
    }
    return library;
}

int pithp_communicator_version_cuda(pithp_device *d) {
    pithp_cuda_nccl *state = &pithp_cuda_device_of(d)->nccl;
    pithp_error e;
    pthread_mutex_lock(&state->lock);
    if (!state->looked) {
        int version = 0;
        state->library = open_library(&version, &e);
        state->version = state->library ? version : 0;
        state->looked = true;
        if (!state->library)
            pithp_log(d->runtime, is_off() ? PITH_LOG_INFO : PITH_LOG_WARNING,
                      "collectives go through memory of the host: %s", e.text);
    }
    const int version = state->version;
    pthread_mutex_unlock(&state->lock);
    return version;
}

/* ---- Waits and failures ---- */

enum { TIMED_OUT = -1, SPIN_NS = 100000, POLL_NS = 20000 };

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The result of a call, once the library has done what it began. A thread of the library
 * does it, mostly within tens of microseconds: less than the least sleep. */
static int settle(const pithp_communicator *c, int result) {
    const int64_t begin = now_ns();
    while (result == PITHP_NCCL_IN_PROGRESS) {
        const int rc = c->library->CommGetAsyncError(c->comm, &result);
        if (rc != PITHP_NCCL_OK)
            return rc;
        if (result != PITHP_NCCL_IN_PROGRESS)
            break;
        const int64_t waited = now_ns() - begin;
        if (c->timeout_ns >= 0 && waited > c->timeout_ns)
            return TIMED_OUT;
        if (waited < SPIN_NS)
            sched_yield();
        else
            nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
    }
    return result;
}

/* Set e, and abort: no rank may use the communicator after trouble. */
static pith_status fail(pithp_device *d,
                        pithp_communicator *c,
                        int result,
                        const char *doing,
                        pithp_error *e) {
    const char *last = c->comm ? c->library->GetLastError(c->comm) : NULL;
    if (result == TIMED_OUT)
        pithp_error_set(e, PITH_E_PEER, NULL, NULL,
                        "NCCL, %s: cannot %s within %.0f s: another rank does not come",
                        c->what, doing, (double)c->timeout_ns * 1e-9);
    else
        pithp_error_set(e, PITH_E_PEER, NULL, NULL, "NCCL, %s: cannot %s: %s%s%s",
                        c->what, doing, c->library->GetErrorString(result),
                        last && last[0] ? ": " : "", last ? last : "");
    snprintf(c->trouble, sizeof c->trouble, "%.199s", e->text);
    if (c->comm) {
        pithp_cuda_graphs_drop(d, false);
        (void)c->library->CommAbort(c->comm);
    }
    c->comm = NULL;
    return PITH_E_PEER;
}

/* ---- Opening and closing ---- */

pith_status
pithp_communicator_id_cuda(pithp_device *d, unsigned char *id, pithp_error *e) {
    const pithp_nccl *library = pithp_cuda_device_of(d)->nccl.library;
    pithp_nccl_id made;
    memset(&made, 0, sizeof made);
    const int result = library->GetUniqueId(&made);
    if (result == PITHP_NCCL_OK) {
        memcpy(id, made.bytes, sizeof made.bytes);
        return PITH_OK;
    }
    const char *last = library->GetLastError(NULL);
    pithp_error_set(e, PITH_E_PEER, NULL, NULL, "NCCL: cannot make an id: %s: %s",
                    library->GetErrorString(result), last ? last : "");
    return PITH_E_PEER;
}

static int begin(pithp_communicator *c, const pithp_communicator_start *how) {
    pithp_nccl_config config = {.size = sizeof config,
                                .magic = PITHP_NCCL_MAGIC,
                                .version = PITHP_NCCL_OLDEST,
                                .blocking = 0,
                                .cga_cluster_size = PITHP_NCCL_UNDEFINED,
                                .least_ctas = PITHP_NCCL_UNDEFINED,
                                .most_ctas = PITHP_NCCL_UNDEFINED,
                                .split_share = PITHP_NCCL_UNDEFINED,
                                .traffic_class = PITHP_NCCL_UNDEFINED,
                                .name = c->what,
                                .collnet = PITHP_NCCL_UNDEFINED,
                                .cta_policy = PITHP_NCCL_UNDEFINED,
                                .shrink_share = PITHP_NCCL_UNDEFINED,
                                .nvls_ctas = PITHP_NCCL_UNDEFINED};
    pithp_nccl_id id;
    memcpy(id.bytes, how->id, sizeof id.bytes);
    const int result = c->library->CommInitRankConfig(&c->comm, (int)how->size, id,
                                                      (int)how->rank, &config);
    return c->comm ? settle(c, result) : result;
}

static void forget(pithp_device *d, pithp_communicator *c) {
    pthread_mutex_destroy(&c->lock);
    pithp_release(d->runtime, c, sizeof *c);
}

pith_status pithp_communicator_make_cuda(pithp_device *d,
                                         const char *axes,
                                         int64_t timeout_ns,
                                         pithp_communicator **made,
                                         pithp_error *e) {
    pithp_communicator *c = pithp_allocate(d->runtime, sizeof *c);
    if (c)
        *c = (pithp_communicator){.library = pithp_cuda_device_of(d)->nccl.library,
                                  .timeout_ns = timeout_ns};
    if (!c || pthread_mutex_init(&c->lock, NULL) != 0) {
        pithp_release(d->runtime, c, c ? sizeof *c : 0);
        pithp_error_set(e, PITH_E_MEMORY, NULL, NULL,
                        "out of memory: %zu bytes of host memory", sizeof *c);
        return PITH_E_MEMORY;
    }
    snprintf(c->what, sizeof c->what, "communicator over %.40s", axes);
    *made = c;
    return PITH_OK;
}

pith_status pithp_communicator_open_cuda(pithp_device *d,
                                         pithp_communicator *c,
                                         const pithp_communicator_start *how,
                                         pithp_error *e) {
    pithp_caller caller;
    pith_status rc = pithp_cuda_enter(d, &caller, e);
    if (rc != PITH_OK)
        return rc;
    c->size = how->size;
    const int result = begin(c, how);
    if (result != PITHP_NCCL_OK)
        rc = fail(d, c, result, "be opened", e);
    pithp_cuda_leave(d, &caller);
    return rc;
}

/* NCCL destroys a nonblocking communicator once it is finalised, by all ranks. */
static void end(pithp_device *d, pithp_communicator *c, bool aborts) {
    pithp_error ignored;
    if (aborts)
        (void)c->library->CommAbort(c->comm);
    else if (settle(c, c->library->CommFinalize(c->comm)) == PITHP_NCCL_OK)
        (void)c->library->CommDestroy(c->comm);
    else
        fail(d, c, TIMED_OUT, "be closed", &ignored);
    c->comm = NULL;
}

void pithp_communicator_close_cuda(pithp_device *d, pithp_communicator *c, bool aborts) {
    pithp_error ignored; /* a dead device has no communicators */
    pithp_caller caller;
    if (pithp_cuda_enter(d, &caller, &ignored) == PITH_OK) {
        pithp_cuda_graphs_drop(d, !aborts);
        if (c->comm)
            end(d, c, aborts);
        if (c->queue)
            pithp_cuda_forget(cudaStreamDestroy(c->queue));
        pithp_cuda_leave(d, &caller);
    }
    forget(d, c);
}

/* A thread that works with the communicator will see the trouble itself. */
pith_status
pithp_communicator_look_cuda(pithp_device *d, pithp_communicator *c, pithp_error *e) {
    int result = PITHP_NCCL_OK;
    (void)d;
    if (pthread_mutex_trylock(&c->lock) != 0)
        return PITH_OK;
    const int rc = c->comm ? c->library->CommGetAsyncError(c->comm, &result) : 0;
    const bool fine = rc == PITHP_NCCL_OK &&
                      (result == PITHP_NCCL_OK || result == PITHP_NCCL_IN_PROGRESS);
    if (!fine)
        pithp_error_set(e, PITH_E_PEER, NULL, NULL, "NCCL, %s: %s", c->what,
                        c->library->GetErrorString(rc ? rc : result));
    pthread_mutex_unlock(&c->lock);
    return fine ? PITH_OK : PITH_E_PEER;
}

/* ---- Moves ---- */

static int dtype_of(pith_dtype dtype) {
    switch (dtype) {
        case PITH_I8:
            return PITHP_NCCL_I8;
        case PITH_I32:
            return PITHP_NCCL_I32;
        case PITH_U32:
            return PITHP_NCCL_U32;
        case PITH_I64:
            return PITHP_NCCL_I64;
        case PITH_U64:
            return PITHP_NCCL_U64;
        case PITH_F32:
            return PITHP_NCCL_F32;
        case PITH_F64:
            return PITHP_NCCL_F64;
        case PITH_BOOL:
        case PITH_U8:
        case PITH_I16:
        case PITH_U16:
        case PITH_F16:
        case PITH_BF16:
        case PITH_DTYPE_NONE:
            break;
    }
    return PITHP_NCCL_U8;
}

static int
reduce(const pithp_communicator *c, const pithp_device_move *t, cudaStream_t queue) {
    const int operation = t->kind == PITHP_TRANSFER_SUM   ? PITHP_NCCL_SUM
                          : t->kind == PITHP_TRANSFER_MIN ? PITHP_NCCL_MIN
                                                          : PITHP_NCCL_MAX;
    PITH_ASSERT(pithp_transfer_reduces(t->kind, t->dtype));
    return c->library->AllReduce(t->from, t->to, t->bytes / pith_dtype_size(t->dtype),
                                 dtype_of(t->dtype), operation, c->comm, queue);
}

/* Messages of one group. Within it calls only queue; a library may answer that it is in
 * progress, which is no failure. */
typedef struct messages {
    const pithp_communicator *c;
    cudaStream_t queue;
    int result;
} messages;

static void queued(messages *m, int result) {
    if (result != PITHP_NCCL_IN_PROGRESS)
        m->result = result;
}

static void send(messages *m, int64_t peer, const void *data, size_t bytes) {
    if (m->result == PITHP_NCCL_OK)
        queued(m, m->c->library->Send(data, bytes, PITHP_NCCL_U8, (int)peer, m->c->comm,
                                      m->queue));
}

static void receive(messages *m, int64_t peer, void *data, size_t bytes) {
    if (m->result == PITHP_NCCL_OK)
        queued(m, m->c->library->Recv(data, bytes, PITHP_NCCL_U8, (int)peer, m->c->comm,
                                      m->queue));
}

/* The block for each rank, or one; or messages as they are listed. */
static void list(messages *m, const pithp_device_move *t) {
    const bool all = t->kind == PITHP_TRANSFER_TRANSPOSE;
    const bool listed = t->kind == PITHP_TRANSFER_MESSAGES;
    for (int i = 0; listed && i < t->send_count; i++)
        send(m, t->sends[i].peer, t->sends[i].data, t->sends[i].bytes);
    for (int i = 0; listed && i < t->receive_count; i++)
        receive(m, t->receives[i].peer, t->receives[i].data, t->receives[i].bytes);
    for (int64_t rank = 0; !listed && rank < m->c->size; rank++) {
        const size_t at = all ? (size_t)rank * t->bytes : 0;
        if (all || rank == t->receiver)
            send(m, rank, (const char *)t->from + at, t->bytes);
        if (all || rank == t->sender)
            receive(m, rank, (char *)t->to + at, t->bytes);
    }
}

/* Messages between pairs of ranks, in one group. */
static int
exchange(const pithp_communicator *c, const pithp_device_move *t, cudaStream_t queue) {
    messages m = {c, queue, c->library->GroupStart()};
    if (m.result != PITHP_NCCL_OK)
        return m.result;
    list(&m, t);
    const int ended = c->library->GroupEnd(); /* also after a failure */
    return m.result == PITHP_NCCL_OK ? ended : m.result;
}

static int
enqueue(const pithp_communicator *c, const pithp_device_move *t, cudaStream_t queue) {
    switch (t->kind) {
        case PITHP_TRANSFER_SUM:
        case PITHP_TRANSFER_MIN:
        case PITHP_TRANSFER_MAX:
            return reduce(c, t, queue);
        case PITHP_TRANSFER_GATHER:
            return c->library->AllGather(t->from, t->to, t->bytes, PITHP_NCCL_U8, c->comm,
                                         queue);
        case PITHP_TRANSFER_BROADCAST:
            return c->library->Broadcast(t->from, t->to, t->bytes, PITHP_NCCL_U8,
                                         (int)t->root, c->comm, queue);
        case PITHP_TRANSFER_TRANSPOSE:
        case PITHP_TRANSFER_PERMUTE:
        case PITHP_TRANSFER_MESSAGES:
            break;
    }
    return exchange(c, t, queue);
}

static pith_status closed(const pithp_communicator *c, pithp_error *e) {
    pithp_error_set(e, PITH_E_PEER, NULL, NULL, "NCCL, %s: it was aborted: %s", c->what,
                    c->trouble);
    return PITH_E_PEER;
}

/* ---- Order ---- */

cudaError_t pithp_cuda_begin_moves(pithp_device *d, cudaStream_t queue) {
    pithp_cuda_nccl *nccl = &pithp_cuda_device_of(d)->nccl;
    pthread_mutex_lock(&nccl->lock);
    if (!nccl->moved)
        return cudaEventCreateWithFlags(&nccl->moved, cudaEventDisableTiming);
    return nccl->last == queue ? cudaSuccess : cudaStreamWaitEvent(queue, nccl->moved, 0);
}

cudaError_t pithp_cuda_end_moves(pithp_device *d, cudaStream_t queue, bool moved) {
    pithp_cuda_nccl *nccl = &pithp_cuda_device_of(d)->nccl;
    const cudaError_t code = moved ? cudaEventRecord(nccl->moved, queue) : cudaSuccess;
    if (moved && code == cudaSuccess)
        nccl->last = queue;
    pthread_mutex_unlock(&nccl->lock);
    return code;
}

void pithp_cuda_nccl_close(pithp_device *d) {
    pithp_cuda_nccl *nccl = &pithp_cuda_device_of(d)->nccl;
    pithp_error ignored; /* a dead device has no events */
    pithp_caller caller;
    if (nccl->moved && pithp_cuda_enter(d, &caller, &ignored) == PITH_OK) {
        pithp_cuda_forget(cudaEventDestroy(nccl->moved));
        pithp_cuda_leave(d, &caller);
    }
    pthread_mutex_destroy(&nccl->lock);
}

/* ---- On streams ---- */

/* A failure drops the graphs, under the lock that end_moves gives back. */
static pith_status move_in_order(pithp_device *d,
                                 pithp_communicator *c,
                                 const pithp_device_move *t,
                                 cudaStream_t queue,
                                 pithp_error *e) {
    const cudaError_t begun = pithp_cuda_begin_moves(d, queue);
    const int result = begun == cudaSuccess ? settle(c, enqueue(c, t, queue)) : 0;
    const bool moved = begun == cudaSuccess && result == PITHP_NCCL_OK;
    const cudaError_t ended = pithp_cuda_end_moves(d, queue, moved);
    const cudaError_t code = begun == cudaSuccess ? ended : begun;
    if (result != PITHP_NCCL_OK)
        return fail(d, c, result, "move data", e);
    return code == cudaSuccess
               ? PITH_OK
               : pithp_cuda_fail(d, code, e, "cannot order moves between ranks");
}

pith_status pithp_transfer_cuda(pithp_stream *st,
                                pithp_communicator *c,
                                const pithp_device_move *t,
                                pithp_error *e) {
    pithp_caller caller;
    pith_status rc = pithp_cuda_enter(st->device, &caller, e);
    if (rc != PITH_OK)
        return rc;
    pthread_mutex_lock(&c->lock);
    rc = c->comm ? move_in_order(st->device, c, t, pithp_cuda_stream_of(st)->queue, e)
                 : closed(c, e);
    pthread_mutex_unlock(&c->lock);
    pithp_cuda_leave(st->device, &caller);
    return rc;
}

/* ---- Graphs ---- */

static cudaError_t begin_capture(pithp_communicator *c) {
    cudaError_t code = cudaSuccess;
    if (!c->queue)
        code = cudaStreamCreateWithFlags(&c->queue, cudaStreamNonBlocking);
    /* relaxed: NCCL connects ranks and allocates on first use */
    if (code == cudaSuccess)
        code = cudaStreamBeginCapture(c->queue, cudaStreamCaptureModeRelaxed);
    return code;
}

/* An abort waits for graphs that hold moves, so a capture that has failed goes first. */
static void drop(cudaGraph_t *graph) {
    if (*graph)
        pithp_cuda_forget(cudaGraphDestroy(*graph));
    *graph = NULL;
}

pith_status pithp_transfer_capture_cuda(pithp_device *d,
                                        pithp_communicator *c,
                                        const pithp_device_move *t,
                                        cudaGraph_t *graph,
                                        pithp_error *e) {
    pith_status rc = PITH_OK;
    int result = PITHP_NCCL_OK;
    *graph = NULL;
    pthread_mutex_lock(&c->lock);
    cudaError_t code = c->comm ? begin_capture(c) : cudaSuccess;
    if (c->comm && code == cudaSuccess) {
        result = settle(c, enqueue(c, t, c->queue));
        code = cudaStreamEndCapture(c->queue, graph);
        pithp_cuda_forget(code);
        if (result != PITHP_NCCL_OK)
            drop(graph);
    }
    if (result != PITHP_NCCL_OK)
        rc = fail(d, c, result, "be captured", e);
    else if (!c->comm)
        rc = closed(c, e);
    else if (code != cudaSuccess)
        rc = pithp_cuda_fail(d, code, e, "cannot capture a move between ranks");
    pthread_mutex_unlock(&c->lock);
    return rc;
}
