/* Memory of the fake. What is allocated or freed in the order of a stream is so where the
 * device comes to it: there its bytes are overwritten, so that who used it too early or
 * too late finds or leaves what is wrong. */
#include "fake_queue.h"

#include <stdlib.h>
#include <string.h>

enum { FRESH = 0xcd, FREED = 0xdb };

typedef struct block {
    unsigned char *data;
    size_t bytes;
    bool made;  /* the device has come to its allocation */
    bool freed; /* by the host */
    bool gone;  /* the device has come there */
    struct block *next;
} block;
static block *blocks;
static size_t in_use; /* as the host sees it */
static size_t held;   /* by blocks that the device has not come to free */
static size_t idle;   /* kept by pools for reuse */

/* Those that are gone are kept for a while. */
enum { KEPT_BYTES = 64 << 20 };
static block *kept, **last_kept = &kept;
static size_t kept_bytes;

static const block *block_of(const void *at, size_t bytes) {
    const uintptr_t from = (uintptr_t)at;
    for (const block *b = blocks; b; b = b->next)
        if (from >= (uintptr_t)b->data && from + bytes <= (uintptr_t)b->data + b->bytes)
            return b;
    return NULL;
}

bool fake_cuda_is_device(const void *at, size_t bytes) {
    const block *b = block_of(at, bytes);
    return b && !b->freed;
}

bool fake_memory_lives(const void *at, size_t bytes) {
    const block *b = block_of(at, bytes);
    return b && b->made && !b->gone;
}

size_t fake_memory_reserved(void) {
    return held + idle;
}

/* Idle bytes of the pool are used first; false: out of memory. */
static bool charge(size_t bytes) {
    const size_t reused = bytes < idle ? bytes : idle;
    if (fake_cuda.budget &&
        held + idle + bytes - reused + fake_cuda_taken() > fake_cuda.budget)
        return false;
    idle -= reused;
    held += bytes;
    return true;
}

static block *take(size_t bytes) {
    block *b = bytes > (size_t)1 << 32 || !charge(bytes) ? NULL : calloc(1, sizeof *b);
    void *taken = b ? aligned_alloc(256, (bytes + 511) & ~(size_t)255) : NULL;
    if (!taken) {
        free(b);
        return NULL;
    }
    *b = (block){.data = taken, .bytes = bytes, .next = blocks};
    blocks = b;
    in_use += bytes;
    fake_cuda.allocations++;
    return b;
}

static void make(const char *call, const void *closure) {
    block *b;
    (void)call;
    memcpy(&b, closure, sizeof b);
    memset(b->data, FRESH, b->bytes);
    b->made = true;
}

/* ---- Freeing ---- */

/* Every byte is the one before it, and the first is right: memcmp goes by words. */
static bool is_as_freed(const block *b) {
    return b->bytes == 0 ||
           (b->data[0] == FREED && memcmp(b->data, b->data + 1, b->bytes - 1) == 0);
}

static void drop_oldest(void) {
    block *b = kept;
    if (!is_as_freed(b))
        fake_cuda_abort("FreeAsync", "memory was written to after it was freed");
    kept = b->next;
    last_kept = kept ? last_kept : &kept;
    kept_bytes -= b->bytes;
    free(b->data);
    free(b);
}

void fake_memory_check(void) {
    while (kept)
        drop_oldest();
}

static void remove_block(const char *call_name, const void *closure) {
    block *b, **at = &blocks;
    memcpy(&b, closure, sizeof b);
    while (*at != b)
        at = &(*at)->next;
    FAKE_CHECK(b->made, "memory is freed before it is allocated");
    *at = b->next;
    b->gone = true;
    held -= b->bytes;
    idle += b->bytes;
    b->next = NULL;
    memset(b->data, FREED, b->bytes);
    *last_kept = b;
    last_kept = &b->next;
    kept_bytes += b->bytes;
    while (kept_bytes > KEPT_BYTES)
        drop_oldest();
}

static block *give(const char *call_name, void *data) {
    block *b = blocks;
    while (b && (b->data != data || b->freed))
        b = b->next;
    FAKE_CHECK(b, "not memory of the device");
    b->freed = true;
    in_use -= b->bytes;
    fake_cuda.allocations--;
    return b;
}

/* ---- Pools ---- */

struct CUmemPoolHandle_st {
    int unused;
};

cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *props) {
    static const unsigned char zero[sizeof props->reserved];
    FAKE_BEGIN("MemPoolCreate");
    FAKE_CHECK(!memcmp(props->reserved, zero, sizeof zero), "reserved is not zero");
    *pool = calloc(1, sizeof **pool);
    fake_cuda.pools++;
    return fake_cuda_end(cudaSuccess);
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
    FAKE_SURE("MemPoolDestroy");
    free(pool);
    fake_cuda.pools--;
    return fake_cuda_end(cudaSuccess);
}
cudaError_t
cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr which, void *value) {
    FAKE_BEGIN("MemPoolSetAttribute");
    FAKE_CHECK(pool && value, "nothing was given");
    (void)which;
    return fake_cuda_end(cudaSuccess);
}
cudaError_t
cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr which, void *value) {
    FAKE_SURE("MemPoolGetAttribute");
    FAKE_CHECK(pool && which == cudaMemPoolAttrReservedMemCurrent, "not asked for here");
    memcpy(value, &(uint64_t){in_use}, sizeof(uint64_t));
    return fake_cuda_end(cudaSuccess);
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes) {
    FAKE_SURE("MemPoolTrimTo");
    FAKE_CHECK(pool && !bytes, "no pool, or bytes to keep");
    idle = 0;
    return fake_cuda_end(cudaSuccess);
}
cudaError_t cudaDeviceGraphMemTrim(int device) {
    (void)device;
    return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t *available, size_t *total) {
    FAKE_SURE("MemGetInfo");
    *total = FAKE_DEVICE_BYTES;
    *available =
        (fake_cuda.budget ? fake_cuda.budget : *total) - held - idle - fake_cuda_taken();
    return fake_cuda_end(cudaSuccess);
}

/* ---- Of the device ---- */

cudaError_t cudaMallocFromPoolAsync(void **data,
                                    size_t bytes,
                                    cudaMemPool_t pool,
                                    cudaStream_t stream) {
    FAKE_BEGIN("MallocFromPoolAsync");
    FAKE_CHECK(pool && stream, "no pool, or no stream");
    block *b = take(bytes);
    if (!b)
        return fake_cuda_end(cudaErrorMemoryAllocation);
    *data = b->data;
    fake_queue_add(call_name, stream, make, &b, sizeof b);
    return fake_cuda_end(cudaSuccess);
}
cudaError_t cudaFreeAsync(void *data, cudaStream_t stream) {
    FAKE_SURE("FreeAsync");
    block *b = give(call_name, data);
    fake_queue_add(call_name, stream, remove_block, &b, sizeof b);
    return fake_cuda_end(cudaSuccess);
}
cudaError_t cudaMalloc(void **data, size_t bytes) {
    FAKE_BEGIN("Malloc");
    FAKE_UNSAFE();
    block *b = take(bytes);
    if (!b)
        return fake_cuda_end(cudaErrorMemoryAllocation);
    *data = b->data;
    make(call_name, &b);
    return fake_cuda_end(cudaSuccess);
}
/* cudaFree may wait for the device; callers must not rely on it. */
cudaError_t cudaFree(void *data) {
    FAKE_SURE("Free");
    FAKE_UNSAFE();
    if (data) {
        block *b = give(call_name, data);
        remove_block(call_name, &b);
    }
    return fake_cuda_end(cudaSuccess);
}

/* ---- Of the host ---- */

typedef struct pinned {
    unsigned char *data;
    size_t bytes;
    struct pinned *next;
} pinned;
static pinned *pinned_ones;

bool fake_memory_is_pinned(const void *at, size_t bytes) {
    const uintptr_t from = (uintptr_t)at;
    for (const pinned *p = pinned_ones; p; p = p->next)
        if (from >= (uintptr_t)p->data && from + bytes <= (uintptr_t)p->data + p->bytes)
            return true;
    return false;
}

cudaError_t cudaHostAlloc(void **data, size_t bytes, unsigned flags) {
    FAKE_BEGIN("HostAlloc");
    FAKE_UNSAFE();
    (void)flags;
    pinned *p = malloc(sizeof *p);
    *p = (pinned){malloc(bytes), bytes, pinned_ones};
    pinned_ones = p;
    *data = p->data;
    fake_cuda.pinned++;
    return fake_cuda_end(cudaSuccess);
}
cudaError_t cudaHostGetDevicePointer(void **mapped, void *data, unsigned flags) {
    FAKE_BEGIN("HostGetDevicePointer");
    (void)flags;
    *mapped = data;
    return fake_cuda_end(cudaSuccess);
}
cudaError_t cudaFreeHost(void *data) {
    FAKE_SURE("FreeHost");
    FAKE_UNSAFE();
    pinned **at = &pinned_ones;
    while (data && *at && (*at)->data != data)
        at = &(*at)->next;
    if (data) {
        pinned *gone = *at;
        FAKE_CHECK(gone, "not pinned memory");
        FAKE_CHECK(!fake_copy_needs(data, gone->bytes), "a copy has yet to use it");
        *at = gone->next;
        memset(data, FREED, gone->bytes);
        free(data);
        free(gone);
        fake_cuda.pinned--;
    }
    return fake_cuda_end(cudaSuccess);
}
