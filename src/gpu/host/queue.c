/* Deferred execution on the host, so that tests without a GPU see the order of a device.
 * Work runs only when a caller waits, and only as far as it waits for.
 *
 * One lock guards all queues of a device and is held while work runs. A queue waits for
 * another up to an operation enqueued before the wait, so waits form no cycle. */
#include "gpu/host/host.h"

#include <string.h>

/* A queue with this many operations runs them, which bounds memory. */
enum { MOST_WAITING = 4096 };

typedef enum { LAUNCH, COPY, COPY_IN, FILL, WAIT, RELEASE } kind;

typedef struct operation {
    struct operation *next;
    kind kind;
    size_t size; /* of this struct and its payload */
    union {
        struct {
            pithp_host_loop loop;
            int64_t count, grain;
        } launch; /* payload: its arguments */
        struct {
            void *to;
            const void *from; /* COPY_IN: the payload */
            size_t bytes;
        } copy;
        struct {
            void *to;
            size_t width;
            int64_t count;
            unsigned char pattern[8];
        } fill;
        struct {
            pithp_stream *other;
            uint64_t until;
        } wait;
        struct {
            void *data;
            size_t bytes;
        } release;
    };
    _Alignas(16) unsigned char payload[];
} operation;

struct pithp_queue {
    operation *first, **last;
    uint64_t enqueued, done; /* total number of operations */
};

pithp_queue *pithp_queue_make(pith_runtime *rt) {
    pithp_queue *q = pithp_allocate(rt, sizeof *q);
    if (q)
        *q = (pithp_queue){.last = &q->first};
    return q;
}

/* ---- Execution; the caller holds the lock ---- */

static void run_until(pithp_stream *st, uint64_t until);

static void run_one(pithp_stream *st, operation *op) {
    pithp_host *h = pithp_host_of(st);
    switch (op->kind) {
        case LAUNCH:
            pithp_threads_run(h->threads, op->launch.loop, op->payload, op->launch.count,
                              op->launch.grain);
            return;
        case COPY:
            pithp_host_copy(h, op->copy.to, op->copy.from, op->copy.bytes);
            return;
        case COPY_IN:
            pithp_host_copy(h, op->copy.to, op->payload, op->copy.bytes);
            return;
        case FILL:
            pithp_host_fill(h, op->fill.to, op->fill.pattern, op->fill.width,
                            op->fill.count);
            return;
        case WAIT:
            run_until(op->wait.other, op->wait.until);
            return;
        case RELEASE:
            pithp_host_pool_give(h->pool, op->release.data, op->release.bytes);
            return;
    }
}

static void run_until(pithp_stream *st, uint64_t until) {
    pithp_queue *q = st->state;
    while (q->done < until) {
        operation *op = q->first;
        q->first = op->next;
        if (!q->first)
            q->last = &q->first;
        run_one(st, op);
        q->done++;
        pithp_release(st->device->runtime, op, op->size);
    }
}

void pithp_queue_run(pithp_stream *st) {
    pithp_host *h = pithp_host_of(st);
    pthread_mutex_lock(&h->queues);
    run_until(st, ((pithp_queue *)st->state)->enqueued);
    pthread_mutex_unlock(&h->queues);
}

void pithp_queue_free(pithp_stream *st) {
    pithp_queue_run(st);
    pithp_release(st->device->runtime, st->state, sizeof(pithp_queue));
}

/* ---- Enqueueing ---- */

/* NULL if memory is short. */
static operation *new_operation(pithp_stream *st, kind what, size_t payload) {
    size_t size;
    if (pithp_add_overflows(sizeof(operation), payload, &size))
        return NULL;
    operation *op = pithp_allocate(st->device->runtime, size);
    if (!op)
        return NULL;
    memset(op, 0, sizeof *op);
    op->kind = what;
    op->size = size;
    return op;
}

static void append(pithp_stream *st, operation *op) {
    pithp_host *h = pithp_host_of(st);
    pithp_queue *q = st->state;
    pthread_mutex_lock(&h->queues);
    *q->last = op;
    q->last = &op->next;
    q->enqueued++;
    if (q->enqueued - q->done >= MOST_WAITING)
        run_until(st, q->enqueued);
    pthread_mutex_unlock(&h->queues);
}

bool pithp_queue_launch(pithp_stream *st, const pithp_launch *l) {
    operation *op = new_operation(st, LAUNCH, l->args_bytes);
    if (!op)
        return false;
    op->launch.loop = pithp_loop_for(l, st->device->isa);
    op->launch.count = l->count;
    op->launch.grain = l->grain ? l->grain : PITHP_GRAIN;
    if (l->args_bytes)
        memcpy(op->payload, l->args, l->args_bytes);
    append(st, op);
    return true;
}

bool pithp_queue_copy(pithp_stream *st, void *to, const void *from, size_t bytes) {
    operation *op = new_operation(st, COPY, 0);
    if (!op)
        return false;
    op->copy.to = to;
    op->copy.from = from;
    op->copy.bytes = bytes;
    append(st, op);
    return true;
}

bool pithp_queue_copy_in(pithp_stream *st, void *to, const void *host, size_t bytes) {
    operation *op = new_operation(st, COPY_IN, bytes);
    if (!op)
        return false;
    op->copy.to = to;
    op->copy.bytes = bytes;
    memcpy(op->payload, host, bytes);
    append(st, op);
    return true;
}

bool pithp_queue_fill(pithp_stream *st,
                      void *to,
                      const void *pattern,
                      size_t width,
                      int64_t count) {
    operation *op = new_operation(st, FILL, 0);
    if (!op)
        return false;
    op->fill.to = to;
    op->fill.width = width;
    op->fill.count = count;
    memcpy(op->fill.pattern, pattern, width);
    append(st, op);
    return true;
}

bool pithp_queue_wait(pithp_stream *st, pithp_stream *other) {
    pithp_host *h = pithp_host_of(st);
    operation *op = new_operation(st, WAIT, 0);
    if (!op)
        return false;
    op->wait.other = other;
    pthread_mutex_lock(&h->queues);
    op->wait.until = ((pithp_queue *)other->state)->enqueued;
    pthread_mutex_unlock(&h->queues);
    append(st, op);
    return true;
}

bool pithp_queue_release(pithp_stream *st, void *data, size_t bytes) {
    operation *op = new_operation(st, RELEASE, 0);
    if (!op)
        return false;
    op->release.data = data;
    op->release.bytes = bytes;
    append(st, op);
    return true;
}
