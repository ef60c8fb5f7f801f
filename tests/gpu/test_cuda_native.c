/* Another library's work on a scope's stream, on a CUDA device that is made of host
 * memory and runs streams in every order that waits allow: a copy stands for a transform.
 */
#include "pith/pith.h"

#include "fake_cuda/fake_cuda.h"
#include "pith_test.h"

enum { N = 64, SEEDS = 40 };

static void check_twice(pith_scope *s, const pith_array *y) {
    double values[N];
    pt_ok(s, pith_read(s, y, values, sizeof values));
    for (int i = 0; i < N; i++)
        cr_assert_eq(values[i], 2.0 * (i + 1));
}

/* y = x as a library computes it. */
static const pith_array *copied(pith_scope *s, const pith_array *x) {
    pith_view from;
    void *to;
    const pith_array *y = pith_array_unwritten(s, PITH_F64, PITH_SHAPE(N), &to);
    pt_ok(s, pith_array_view(s, x, &from) && y);
    cr_assert_str_eq(from.kind, "cuda");
    cr_assert_eq(from.stream, pith_scope_stream(s));
    cr_assert_eq(
        cudaMemcpyAsync(to, from.data, from.bytes, cudaMemcpyDeviceToDevice, from.stream),
        cudaSuccess);
    return y;
}

Test(cuda_native, is_ordered_by_the_stream_of_the_scope) {
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        fake_cuda_order(seed);
        pith_runtime *rt = pith_open(&(pith_open_options){.device = "cuda"});
        pith_scope *s = pith_scope_open(rt);
        const pith_array *x =
            pith_add(s, pith_arange(s, PITH_F64, N), pith_f64(s, 1)); /* before */
        const pith_array *y = copied(s, x);
        pith_drop(s, x); /* the copy still reads it */
        const pith_array *over = pith_full(s, PITH_F64, PITH_SHAPE(N), -1);
        check_twice(s, pith_add(s, y, y)); /* afterwards */
        /* Another scope reads what was written on this one's stream, and back. */
        pith_scope *t = pith_scope_open(rt);
        check_twice(t, pith_add(t, copied(t, y), y));
        pt_ok(s, over);
        pith_scope_close(t);
        pith_scope_close(s);
        pith_close(rt);
    }
    cr_assert_eq(fake_cuda_alive(), 0);
}

/* A stream of the caller's, ordered with events on both sides. */
Test(cuda_native, is_ordered_by_events_on_another_stream) {
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        fake_cuda_order(seed);
        pith_runtime *rt = pith_open(&(pith_open_options){.device = "cuda"});
        pith_scope *s = pith_scope_open(rt);
        cudaStream_t own;
        cudaEvent_t event;
        cr_assert_eq(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking), cudaSuccess);
        cr_assert_eq(cudaEventCreateWithFlags(&event, cudaEventDisableTiming),
                     cudaSuccess);
        const pith_array *x = pith_add(s, pith_arange(s, PITH_F64, N), pith_f64(s, 1));
        pith_view from;
        void *to;
        const pith_array *y = pith_array_unwritten(s, PITH_F64, PITH_SHAPE(N), &to);
        pt_ok(s, pith_array_view(s, x, &from) && y);
        cudaStream_t stream = pith_scope_stream(s);
        cudaEventRecord(event, stream);
        cudaStreamWaitEvent(own, event, 0);
        cudaMemcpyAsync(to, from.data, from.bytes, cudaMemcpyDeviceToDevice, own);
        cudaEventRecord(event, own);
        cudaStreamWaitEvent(stream, event, 0);
        pith_drop(s, x);
        (void)pith_full(s, PITH_F64, PITH_SHAPE(N), -1);
        check_twice(s, pith_add(s, y, y));
        cudaStreamSynchronize(own);
        cudaEventDestroy(event);
        cudaStreamDestroy(own);
        pith_scope_close(s);
        pith_close(rt);
    }
    cr_assert_eq(fake_cuda_alive(), 0);
}

Test(cuda_native, names_the_device) {
    fake_cuda.devices = 2;
    pith_runtime *rt = pith_open(&(pith_open_options){.device = "cuda:1"});
    pith_scope *s = pith_scope_open(rt);
    pith_view view;
    pt_ok(s, pith_array_view(s, pith_f64(s, 1), &view));
    cr_assert_eq(view.device, 1);
    pith_scope_close(s);
    pith_close(rt);
    fake_cuda.devices = 0;
}
