/* Work of several streams on a CUDA device that is made of host memory, run in every kind
 * of order that its waits allow: first that the device tells missing waits from others,
 * then that pith misses none. */
#include "pith/pith.h"

#include "fake_cuda/fake_cuda.h"
#include "pith_test.h"

#include <signal.h>

/* ---- The device ---- */

enum { SEEDS = 60 };

typedef struct device {
    cudaMemPool_t pool;
    cudaStream_t a, b;
    cudaEvent_t event;
    char *x, *pinned;
} device;

static device device_open(uint64_t seed) {
    device d;
    const struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned};
    void *x, *pinned;
    fake_cuda_order(seed);
    cr_assert_eq(cudaMemPoolCreate(&d.pool, &props), cudaSuccess);
    cr_assert_eq(cudaStreamCreateWithFlags(&d.a, cudaStreamNonBlocking), cudaSuccess);
    cr_assert_eq(cudaStreamCreateWithFlags(&d.b, cudaStreamNonBlocking), cudaSuccess);
    cr_assert_eq(cudaEventCreateWithFlags(&d.event, cudaEventDisableTiming), cudaSuccess);
    cr_assert_eq(cudaMallocFromPoolAsync(&x, 64, d.pool, d.a), cudaSuccess);
    cr_assert_eq(cudaHostAlloc(&pinned, 64, 0), cudaSuccess);
    cr_assert_eq(cudaStreamSynchronize(d.a), cudaSuccess);
    d.x = x;
    d.pinned = memset(pinned, 0, 64);
    return d;
}

static void device_close(device *d) {
    cudaFreeAsync(d->x, d->a);
    cudaStreamSynchronize(d->a);
    cudaStreamSynchronize(d->b);
    cudaFreeHost(d->pinned);
    cudaEventDestroy(d->event);
    cudaStreamDestroy(d->a);
    cudaStreamDestroy(d->b);
    cudaMemPoolDestroy(d->pool);
    cr_assert_eq(fake_cuda_alive(), 0);
}

/* One stream writes 1, the other reads: how often it finds it, in all orders. */
static int found(bool waits) {
    int count = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        device d = device_open(seed);
        cudaMemsetAsync(d.x, 1, 64, d.a);
        cudaEventRecord(d.event, d.a);
        if (waits)
            cudaStreamWaitEvent(d.b, d.event, 0);
        cudaMemcpyAsync(d.pinned, d.x, 64, cudaMemcpyDeviceToHost, d.b);
        cudaStreamSynchronize(d.b);
        count += d.pinned[0] == 1;
        device_close(&d);
    }
    return count;
}

Test(cuda_order, a_missing_wait_of_a_stream_is_seen) {
    const int without = found(false);
    cr_assert(without > SEEDS / 8 && without < SEEDS, "%d", without);
    cr_assert_eq(found(true), SEEDS);
}

Test(cuda_order, the_host_finds_what_it_waited_for) {
    int early = 0, ready = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        device d = device_open(seed);
        cudaMemsetAsync(d.x, 1, 64, d.a);
        cudaMemcpyAsync(d.pinned, d.x, 64, cudaMemcpyDeviceToHost, d.a);
        cudaEventRecord(d.event, d.a);
        const bool there = cudaEventQuery(d.event) == cudaSuccess;
        cr_assert(!there || d.pinned[0] == 1);
        ready += there;
        early += d.pinned[0] == 1;
        cudaEventSynchronize(d.event);
        cr_assert_eq(d.pinned[0], 1);
        device_close(&d);
    }
    cr_assert(early < SEEDS && ready < SEEDS, "%d, %d", early, ready);
}

/* Its memory may be read when the copy is enqueued, or when it runs. */
Test(cuda_order, pageable_memory_is_read_early_or_late) {
    int changed = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        device d = device_open(seed);
        char host[64] = {1};
        cudaMemcpyAsync(d.x, host, 64, cudaMemcpyHostToDevice, d.a);
        host[0] = 2;
        cudaMemcpyAsync(d.pinned, d.x, 64, cudaMemcpyDeviceToHost, d.a);
        cudaStreamSynchronize(d.a);
        cr_assert(d.pinned[0] == 1 || d.pinned[0] == 2);
        changed += d.pinned[0] == 2;
        device_close(&d);
    }
    cr_assert(changed > 0 && changed < SEEDS, "%d", changed);
}

#ifndef PITH_TEST_PLAIN /* what it ends needs a process */

static void write_after_free(bool waits) {
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        device d = device_open(seed);
        void *y;
        cudaMallocFromPoolAsync(&y, 64, d.pool, d.a);
        cudaStreamSynchronize(d.a);
        cudaMemsetAsync(y, 1, 64, d.b);
        cudaEventRecord(d.event, d.b);
        if (waits)
            cudaStreamWaitEvent(d.a, d.event, 0);
        cudaFreeAsync(y, d.a);
        device_close(&d);
    }
}

Test(cuda_order, memory_that_is_freed_too_early_ends_the_program, .signal = SIGABRT) {
    write_after_free(false);
}

#endif

/* ---- pith ---- */

enum { SCOPES = 3, ARRAYS = 12, STEPS = 60, N = 700 };

static uint64_t draws;

static int draw(int count) {
    draws = draws * 6364136223846793005u + 1442695040888963407u;
    return (int)((draws >> 33) % (uint64_t)count);
}

typedef struct {
    const pith_array *x, *y;
} Pair;
PITH_NODE(Pair, PITH_LEAF(x, "f64[n]"), PITH_LEAF(y, "f64[n]"))

static const Pair *mix(pith_scope *in, const Pair *a) {
    Pair next = *a;
    next.x = pith_add(in, pith_mul(in, a->x, pith_f64(in, 0.5)), a->y);
    next.y = pith_sub(in, pith_cumsum(in, next.x, 0, NULL), a->y);
    return pith_freeze(in, Pair, &next);
}
PITH_FUNCTION1(mix_function, mix, Pair, Pair)

/* Arrays of several scopes, each with a stream of its own, made of each other's, dropped
 * and read: the sum of all values that were read. */
static double exchange(const char *name) {
    pith_runtime *rt = pt_open_on(name);
    pith_scope *s[SCOPES];
    const pith_array *arrays[SCOPES][ARRAYS];
    const pith_function *fast[SCOPES];
    double sum = 0, values[N];
    draws = 99;
    for (int k = 0; k < SCOPES; k++) {
        s[k] = pith_scope_open(rt);
        fast[k] = pith_jit(s[k], &mix_function, NULL);
        for (int n = 0; n < ARRAYS; n++)
            arrays[k][n] = pith_full(s[k], PITH_F64, PITH_SHAPE(N), k + 10 * n);
    }
    for (int step = 0; step < STEPS; step++) {
        const int k = draw(SCOPES), n = draw(ARRAYS);
        const pith_array *x = arrays[draw(SCOPES)][draw(ARRAYS)],
                         *y = arrays[draw(SCOPES)][draw(ARRAYS)], *made;
        const int what = draw(4);
        if (what == 0) {
            Pair pair = {.x = x, .y = y};
            const Pair *next = pith_apply(s[k], fast[k], pith_freeze(s[k], Pair, &pair));
            pt_ok(s[k], next);
            made = next->y;
        } else if (what == 1) {
            made = pith_sort(s[k], pith_sub(s[k], x, y), 0, NULL);
        } else {
            made = pith_add(s[k], x, pith_mul(s[k], y, pith_f64(s[k], 0.25)));
        }
        pt_ok(s[k], made);
        pith_drop(s[k], arrays[k][n]);
        arrays[k][n] = made;
        if (what == 3) {
            cr_assert(pith_read(s[k], made, values, sizeof values));
            for (int i = 0; i < N; i++)
                sum += values[i];
        }
    }
    for (int k = 0; k < SCOPES; k++) {
        for (int n = 0; n < ARRAYS; n++) {
            cr_assert(pith_read(s[k], arrays[k][n], values, sizeof values));
            for (int i = 0; i < N; i++)
                sum += values[i];
        }
    }
    for (int k = 0; k < SCOPES; k++) {
        pt_ok(s[k]);
        pith_scope_close(s[k]);
    }
    pt_close(rt);
    return sum;
}

Test(cuda_order, scopes_exchange_arrays_in_every_order, .timeout = 300) {
    static char directory[320];
    pt_folder(directory);
    setenv("PITH_CACHE_DIR", directory, 0);
    setenv("PITH_JIT", "wait", 1);
    const double want = exchange("host");
    for (uint64_t seed = 0; seed < 25; seed++) {
        fake_cuda_order(seed);
        cr_assert_eq(exchange("cuda"), want, "seed %d", (int)seed);
        cr_assert_eq(fake_cuda_alive(), 0);
    }
}

/* The stream that dropped memory takes it again while another has yet to read it. */
Test(cuda_order, memory_is_taken_again_after_its_readers, .timeout = 300) {
    static char directory[320];
    pt_folder(directory);
    setenv("PITH_CACHE_DIR", directory, 0);
    setenv("PITH_JIT", "wait", 1);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        double values[N];
        fake_cuda_order(seed);
        pith_runtime *rt = pt_open_on("cuda");
        pith_scope *a = pith_scope_open(rt), *b = pith_scope_open(rt);
        for (int k = 0; k < 4; k++) {
            const pith_array *x = pith_full(a, PITH_F64, PITH_SHAPE(N), k);
            const pith_array *y = pith_add(b, x, pith_f64(b, 1));
            pith_drop(a, x);
            const pith_array *z = pith_full(a, PITH_F64, PITH_SHAPE(N), -1);
            pith_wait(a);
            cr_assert(pith_read(b, y, values, sizeof values));
            for (int i = 0; i < N; i++)
                cr_assert_eq(values[i], k + 1, "seed %d", (int)seed);
            pith_drop(a, z);
        }
        pith_scope_close(a);
        pith_scope_close(b);
        pt_close(rt);
    }
}
