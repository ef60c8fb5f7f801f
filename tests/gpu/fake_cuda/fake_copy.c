/* Copies of the fake. Of memory that is not pinned they may wait for the stream, take the
 * bytes at once, or come to them later: CUDA promises none of it. */
#include "fake_queue.h"

#include <stdlib.h>
#include <string.h>

typedef struct copy {
    unsigned char *to;
    const unsigned char *from; /* NULL: the bytes follow */
    size_t bytes;
    bool to_device, from_device;
    unsigned char taken[];
} copy;

static void run_copy(const char *call_name, const void *closure) {
    const copy *c = closure;
    FAKE_CHECK(!c->to_device || fake_memory_lives(c->to, c->bytes),
               "it writes to memory that is not allocated");
    FAKE_CHECK(!c->from_device || fake_memory_lives(c->from, c->bytes),
               "it reads from memory that is not allocated");
    memmove(c->to, c->from ? c->from : c->taken, c->bytes);
}

static bool overlaps(const unsigned char *a, size_t n, const unsigned char *b, size_t m) {
    return (uintptr_t)a < (uintptr_t)b + m && (uintptr_t)b < (uintptr_t)a + n;
}

typedef struct range {
    const void *at;
    size_t bytes;
} range;

static bool needs(const void *closure, const void *what) {
    const copy *c = closure;
    const range *r = what;
    return overlaps(c->to, c->bytes, r->at, r->bytes) ||
           (c->from && overlaps(c->from, c->bytes, r->at, r->bytes));
}

bool fake_copy_needs(const void *at, size_t bytes) {
    const range all = {at, bytes};
    return fake_queue_has(run_copy, NULL, needs, &all);
}

static void add_taken(const char *call, cudaStream_t stream, const copy *given) {
    copy *c = malloc(sizeof *c + given->bytes);
    *c = *given;
    memcpy(c->taken, given->from, given->bytes);
    c->from = NULL;
    fake_queue_add(call, stream, run_copy, c, sizeof *c + given->bytes);
    free(c);
}

cudaError_t cudaMemcpyAsync(void *to,
                            const void *from,
                            size_t bytes,
                            enum cudaMemcpyKind kind,
                            cudaStream_t stream) {
    FAKE_BEGIN("MemcpyAsync");
    FAKE_CHECK(stream, "no stream");
    FAKE_CHECK(kind == cudaMemcpyDeviceToHost || fake_cuda_is_device(to, bytes),
               "not to memory of the device");
    FAKE_CHECK(kind == cudaMemcpyHostToDevice || fake_cuda_is_device(from, bytes),
               "not from memory of the device");
    const copy c = {.to = to,
                    .from = from,
                    .bytes = bytes,
                    .to_device = kind != cudaMemcpyDeviceToHost,
                    .from_device = kind != cudaMemcpyHostToDevice};
    const bool pageable =
        kind != cudaMemcpyDeviceToDevice &&
        !fake_memory_is_pinned(kind == cudaMemcpyHostToDevice ? from : to, bytes);
    const uint64_t way = pageable ? fake_queue_chance(3) : 0;
    if (way == 1 && kind == cudaMemcpyHostToDevice)
        add_taken(call_name, stream, &c);
    else
        fake_queue_add(call_name, stream, run_copy, &c, sizeof c);
    if (way == 2)
        fake_queue_run(call_name, stream);
    return fake_cuda_end(cudaSuccess);
}

typedef struct setting {
    void *to;
    int byte;
    size_t bytes;
} setting;

static void run_set(const char *call_name, const void *closure) {
    const setting *s = closure;
    FAKE_CHECK(fake_memory_lives(s->to, s->bytes), "memory that is not allocated");
    memset(s->to, s->byte, s->bytes);
}

cudaError_t cudaMemsetAsync(void *to, int byte, size_t bytes, cudaStream_t stream) {
    FAKE_BEGIN("MemsetAsync");
    FAKE_CHECK(stream && fake_cuda_is_device(to, bytes), "not memory of the device");
    const setting s = {to, byte, bytes};
    fake_queue_add(call_name, stream, run_set, &s, sizeof s);
    return fake_cuda_end(cudaSuccess);
}
