/* Memory of a CUDA device that is made of host memory goes back though the device does
 * not say which one is current. */
#include "fake_cuda/fake_cuda.h"
#include "gpu_test.h"

enum { BYTES = 5000 };

/* The next call, which asks for the current device, is refused. */
static void refuse_next(void) {
    fake_cuda.failed = NULL;
    fake_cuda.fail_with = cudaErrorNotSupported;
    fake_cuda.fail_at = fake_cuda.calls + 1;
}

static void expect_refused(void) {
    cr_assert(fake_cuda.failed);
    cr_assert_str_eq(fake_cuda.failed, "CtxGetCurrent");
}

Test(cuda_release, memory_goes_back_where_the_current_device_is_unknown) {
    fake_cuda_order(0);
    pith_runtime *rt = pt_open_on("cuda");
    pith_scope *s = pith_scope_open(rt);
    pithp_stream *st = pithp_scope_stream(s);
    const pithp_backend *backend = st->device->backend;
    pithp_error e;
    void *mapped, *data = backend->allocate(st, BYTES, &e),
                  *pinned = backend->pin(st->device, BYTES, &mapped, &e);
    cr_assert(data && pinned);
    const int allocations = fake_cuda.allocations, pins = fake_cuda.pinned;
    refuse_next();
    backend->release(st, data, BYTES);
    expect_refused();
    cr_assert_eq(fake_cuda.allocations, allocations - 1);
    refuse_next();
    backend->unpin(st->device, pinned, BYTES);
    expect_refused();
    cr_assert_eq(fake_cuda.pinned, pins - 1);
    pith_scope_close(s);
    pt_close(rt);
    cr_assert_eq(fake_cuda_alive(), 0);
}
