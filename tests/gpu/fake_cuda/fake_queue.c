/* Streams and events of the fake, and the order in which their work runs. */
#include "fake_queue.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct work {
    struct work *next;
    const char *call;
    fake_task task;   /* NULL: it waits */
    fake_piece piece; /* in the place of the task */
    fake_ready ready;
    cudaStream_t waits_for; /* until so much of it has run */
    uint64_t until;
    max_align_t closure[];
} work;

/* Streams stay when they are destroyed: events may tell of them. */
struct CUstream_st {
    cudaStream_t next;
    work *first, **last;
    uint64_t enqueued, done; /* how many */
    uint64_t needed;         /* how many of them the call at work waits for */
    uint64_t rank;           /* in the call at work */
    bool at_work, destroyed;
    cudaGraph_t capture; /* that its work becomes; NULL: none */
    void *context;       /* that was current when it was made */
};

struct CUevent_st {
    cudaStream_t stream; /* NULL: it was never recorded */
    uint64_t at;
    bool timed;
};

static cudaStream_t streams;

/* ---- Chance ---- */

static uint64_t chances;
static bool at_once, chosen;

void fake_cuda_order(uint64_t seed) {
    chances = seed * 0x9e3779b97f4a7c15u;
    at_once = !seed;
    chosen = true;
}

static bool runs_at_once(void) {
    const char *asked = chosen ? NULL : getenv("FAKE_CUDA_SEED");
    if (!chosen)
        fake_cuda_order(asked ? strtoull(asked, NULL, 10) : 1);
    return at_once;
}

uint64_t fake_queue_chance(uint64_t count) {
    if (runs_at_once())
        return 0;
    chances = chances * 6364136223846793005u + 1442695040888963407u;
    return (chances >> 33) % count;
}

/* ---- Running ---- */

static bool is_ready(const struct CUstream_st *stream) {
    work *w = stream->first;
    return w && !stream->at_work && (!w->waits_for || w->waits_for->done >= w->until) &&
           (!w->ready || w->ready(w->closure));
}

/* Whether a stream waits for other ranks. */
static bool any_communicates(void) {
    for (cudaStream_t s = streams; s; s = s->next)
        if (s->first && s->first->ready)
            return true;
    return false;
}

/* ---- Waits for other threads ---- */

int fake_queue_patience;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

void fake_queue_changed(void) {
    pthread_cond_broadcast(&changed);
}

/* Other threads go on meanwhile. */
static void wait_for_threads(const char *call_name) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += fake_queue_patience ? fake_queue_patience : 120;
    const int rc = pthread_cond_timedwait(&changed, &fake_cuda_lock, &until);
    FAKE_CHECK(rc == 0, "a move between ranks that another rank never enqueues");
}

static void step(cudaStream_t stream) {
    work *w = stream->first;
    stream->at_work = true;
    const bool done = !w->piece || w->piece(w->call, w->closure);
    if (w->task)
        w->task(w->call, w->closure);
    stream->at_work = false;
    if (!done)
        return;
    stream->first = w->next;
    if (!stream->first)
        stream->last = &stream->first;
    stream->done++;
    free(w);
}

/* One that is ready: any, or the first by rank. */
static cudaStream_t choose(bool needed, bool by_rank) {
    cudaStream_t best = NULL;
    uint64_t ready = 0;
    for (cudaStream_t s = streams; s; s = s->next) {
        if (!is_ready(s) || (needed && s->done >= s->needed))
            continue;
        ready++;
        if (!best ||
            (by_rank ? s->rank > best->rank : fake_queue_chance(ready) == ready - 1))
            best = s;
    }
    return best;
}

static void need(cudaStream_t stream, uint64_t until) {
    if (until <= stream->done || until <= stream->needed)
        return;
    stream->needed = until;
    uint64_t at = stream->done;
    for (const work *w = stream->first; w && at < until; w = w->next, at++)
        if (w->waits_for)
            need(w->waits_for, w->until);
}

static void need_again(cudaStream_t stream, uint64_t until) {
    for (cudaStream_t s = streams; s; s = s->next)
        s->needed = 0;
    need(stream, until);
}

/* What is needed alone, or with all else that could run as well. */
static void run_until(const char *call_name, cudaStream_t stream, uint64_t until) {
    for (cudaStream_t s = streams; s; s = s->next)
        s->rank = fake_queue_chance(1 << 20);
    const bool needed = fake_queue_chance(2), by_rank = fake_queue_chance(2);
    need_again(stream, until);
    while (stream->done < until) {
        cudaStream_t next = choose(needed, by_rank);
        if (!next && any_communicates()) /* with a stream of another rank */
            next = choose(false, by_rank);
        if (next) {
            step(next);
            continue;
        }
        FAKE_CHECK(any_communicates(), "work that waits for itself");
        wait_for_threads(call_name);
        need_again(stream, until);
    }
}

void fake_queue_run(const char *call, cudaStream_t stream) {
    run_until(call, stream, stream->enqueued);
}

void fake_queue_between(void) {
    if (fake_queue_chance(4) == 1) {
        cudaStream_t other = choose(false, false);
        if (other)
            step(other);
    }
}

/* The device may be quick. */
static void run_some(void) {
    for (uint64_t more = fake_queue_chance(8) == 1 ? fake_queue_chance(16) : 0; more;
         more--) {
        cudaStream_t next = choose(false, false);
        if (!next)
            return;
        step(next);
    }
}

/* ---- What waits ---- */

static work *append(const char *call, cudaStream_t stream, size_t bytes) {
    work *w = calloc(1, sizeof *w + bytes);
    w->call = call;
    *stream->last = w;
    stream->last = &w->next;
    stream->enqueued++;
    return w;
}

static work *
add(const char *call_name, cudaStream_t stream, const void *closure, size_t bytes) {
    FAKE_CHECK(stream && !stream->destroyed && !stream->capture, "no stream");
    FAKE_CHECK(stream->context == fake_cuda_context(), "a stream of another context");
    fake_nccl_check_behind(call_name, stream);
    work *w = append(call_name, stream, bytes);
    memcpy(w->closure, closure, bytes);
    return w;
}

void fake_queue_add(const char *call_name,
                    cudaStream_t stream,
                    fake_task task,
                    const void *closure,
                    size_t bytes) {
    add(call_name, stream, closure, bytes)->task = task;
    if (runs_at_once())
        fake_queue_run(call_name, stream);
    else
        run_some();
}

/* It never runs at once: the thread must go on to its other enqueues. */
void fake_queue_add_pieces(const char *call_name,
                           cudaStream_t stream,
                           fake_piece piece,
                           fake_ready ready,
                           const void *closure,
                           size_t bytes) {
    work *w = add(call_name, stream, closure, bytes);
    w->piece = piece;
    w->ready = ready;
    fake_queue_changed();
}

bool fake_queue_captures(cudaStream_t stream) {
    return stream->capture != NULL;
}
cudaGraph_t fake_queue_graph(cudaStream_t stream) {
    return stream->capture;
}
void *fake_queue_context(cudaStream_t stream) {
    return stream->context;
}

void fake_queue_capture(const char *call_name,
                        cudaStream_t stream,
                        fake_task task,
                        const void *closure,
                        size_t bytes) {
    if (!stream->capture)
        fake_queue_add(call_name, stream, task, closure, bytes);
    else
        fake_graph_add_work(call_name, stream->capture,
                            fake_cuda.gemm_allocates ? cudaGraphNodeTypeMemAlloc
                                                     : cudaGraphNodeTypeKernel,
                            task, closure, bytes);
}

static void wait_until(const char *call_name,
                       cudaStream_t stream,
                       cudaStream_t other,
                       uint64_t until) {
    FAKE_CHECK(stream && !stream->destroyed && !stream->capture, "no stream");
    if (other == stream || other->done >= until)
        return;
    work *w = append(call_name, stream, 0);
    w->waits_for = other;
    w->until = until;
}

void fake_queue_wait(const char *call, cudaStream_t stream, cudaStream_t other) {
    wait_until(call, stream, other, other->enqueued);
}

bool fake_queue_has(fake_task task,
                    fake_piece piece,
                    bool (*fits)(const void *closure, const void *what),
                    const void *what) {
    for (cudaStream_t s = streams; s; s = s->next)
        for (const work *w = s->first; w; w = w->next)
            if ((w->task ? w->task == task : piece && w->piece == piece) &&
                fits(w->closure, what))
                return true;
    return false;
}

void fake_queue_drop(void) {
    for (cudaStream_t s = streams; s; s = s->next) {
        while (s->first) {
            work *gone = s->first;
            s->first = gone->next;
            free(gone);
        }
        s->last = &s->first;
        s->done = s->enqueued;
    }
}

void fake_queue_finish(void) {
    for (cudaStream_t s = streams; s; s = s->next)
        fake_queue_run("DeviceSynchronize", s);
}

/* ---- Streams ---- */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
    FAKE_BEGIN("StreamCreateWithFlags");
    FAKE_CHECK(flags == cudaStreamNonBlocking, "a stream that blocks");
    *stream = calloc(1, sizeof **stream);
    (*stream)->last = &(*stream)->first;
    (*stream)->context = fake_cuda_context();
    (*stream)->next = streams;
    streams = *stream;
    fake_cuda.streams++;
    return fake_cuda_end(cudaSuccess);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    FAKE_SURE("StreamDestroy");
    FAKE_CHECK(stream && !stream->destroyed && !stream->capture, "no stream");
    stream->destroyed = true; /* what waits will still run */
    fake_cuda.streams--;
    return fake_cuda_end(cudaSuccess);
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    FAKE_BEGIN("StreamSynchronize");
    FAKE_CHECK(stream && !stream->destroyed && !stream->capture, "no stream");
    fake_nccl_check_behind(call_name, stream);
    fake_queue_run(call_name, stream);
    return fake_cuda_end(cudaSuccess);
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
    FAKE_BEGIN("StreamQuery");
    FAKE_UNSAFE();
    FAKE_CHECK(stream && !stream->destroyed && !stream->capture, "no stream");
    return fake_cuda_end(stream->first ? cudaErrorNotReady : cudaSuccess);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
    FAKE_BEGIN("StreamWaitEvent");
    FAKE_CHECK(stream && event && !flags, "no stream, or no event");
    if (event->stream)
        wait_until(call_name, stream, event->stream, event->at);
    return fake_cuda_end(cudaSuccess);
}

/* ---- Captures ---- */

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
    FAKE_BEGIN("StreamBeginCapture");
    FAKE_CHECK(stream && !stream->destroyed && !stream->capture,
               "no stream, or one that is captured");
    FAKE_CHECK(mode == cudaStreamCaptureModeRelaxed,
               "a library could not load its kernels");
    stream->capture = fake_graph_new();
    return fake_cuda_end(cudaSuccess);
}
/* A failure ends the capture too. */
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
    FAKE_SURE("StreamEndCapture");
    FAKE_CHECK(stream && stream->capture, "a stream that is not captured");
    fake_nccl_check_behind(call_name, stream);
    *graph = stream->capture;
    stream->capture = NULL;
    if (!fake_cuda_fails("StreamEndCapture"))
        return fake_cuda_end(cudaSuccess);
    (void)cudaGraphDestroy(*graph);
    *graph = NULL;
    return fake_cuda_end(fake_cuda.fail_with);
}

/* ---- Events ---- */

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) {
    FAKE_BEGIN("EventCreateWithFlags");
    FAKE_CHECK(flags == cudaEventDisableTiming || flags == cudaEventDefault,
               "an event that blocks");
    *event = calloc(1, sizeof **event);
    (*event)->timed = flags == cudaEventDefault;
    fake_cuda.events++;
    return fake_cuda_end(cudaSuccess);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    FAKE_SURE("EventDestroy");
    free(event);
    fake_cuda.events -= event != NULL;
    return fake_cuda_end(cudaSuccess);
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    FAKE_BEGIN("EventRecord");
    FAKE_CHECK(event && stream && !stream->destroyed, "no event, or no stream");
    fake_nccl_check_behind(call_name, stream);
    *event = (struct CUevent_st){stream, stream->enqueued, event->timed};
    return fake_cuda_end(cudaSuccess);
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    FAKE_BEGIN("EventSynchronize");
    FAKE_CHECK(event, "no event");
    if (event->stream)
        run_until(call_name, event->stream, event->at);
    return fake_cuda_end(cudaSuccess);
}
/* All work takes a millisecond. */
cudaError_t
cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end) {
    FAKE_BEGIN("EventElapsedTime");
    FAKE_CHECK(start && end && start->timed && end->timed, "an event without a time");
    FAKE_CHECK(start->stream && start->stream == end->stream, "events of other streams");
    FAKE_CHECK(end->stream->done >= end->at && start->at <= end->at, "too early");
    *milliseconds = (float)(end->at - start->at);
    return fake_cuda_end(cudaSuccess);
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
    FAKE_BEGIN("EventQuery");
    FAKE_UNSAFE();
    FAKE_CHECK(event, "no event");
    run_some();
    const bool ready = !event->stream || event->stream->done >= event->at;
    return fake_cuda_end(ready ? cudaSuccess : cudaErrorNotReady);
}
