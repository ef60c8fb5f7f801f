/* Handles of users' kernels, from the runtime that these were linked with: its refusals
 * are reported as what they are. The device is made of host memory. */
#include "../gpu/fake_cuda/fake_cuda.h"
#include "pith_test.h"
#include "random_kernels.h"

#include <pith/pith.h>

typedef struct bench {
    pith_runtime *rt;
    pith_scope *s;
    const pith_array *x;
} bench;

enum { N = 4 };
static const int32_t numbers[N] = {8, 6, 4, 2};

static bench begin(void) {
    bench b;
    setenv("PITH_JIT", "off", 1);
    memset(&fake_cuda, 0, sizeof fake_cuda);
    b.rt = pith_open(&(pith_open_options){.device = "cuda"});
    b.s = pith_scope_open(b.rt);
    b.x = pith_array_copy(b.s, PITH_I32, PITH_SHAPE(N), numbers);
    pt_ok(b.s);
    return b;
}

static void end(bench *b) {
    pith_scope_close(b->s);
    pith_close(b->rt);
    cr_assert_eq(fake_cuda_alive(), 0);
}

/* The kernel halves numbers below 10. */
static void expect_halves(const bench *b) {
    int32_t halves[N];
    const pith_array *y = pith_launch(b->s, random_below, b->x, 10).y;
    pt_ok(b->s, y && pith_read(b->s, y, halves, sizeof halves));
    for (int i = 0; i < N; i++)
        cr_assert_eq(halves[i], numbers[i] / 2);
}

Test(kernel_found, a_refusal_is_reported_and_passes) {
    static const struct {
        cudaError_t code;
        pith_status status;
        const char *says;
    } cases[] = {
        {cudaErrorMemoryAllocation, PITH_E_MEMORY, "cannot find kernel random_below"},
        {cudaErrorNoKernelImageForDevice, PITH_E_UNSUPPORTED, "not built for"},
        {cudaErrorInvalidDeviceFunction, PITH_E_UNSUPPORTED, "not built for"},
        {cudaErrorUnsupportedPtxVersion, PITH_E_UNSUPPORTED, "not built for"},
        {cudaErrorNotPermitted, PITH_E_UNSUPPORTED, "kernel random_below: "},
    };
    for (int k = 0; k < PITHP_COUNT(cases); k++) {
        bench b = begin();
        fake_cuda.kernel_with = cases[k].code;
        const pith_array *y = pith_launch(b.s, random_below, b.x, 10).y;
        cr_assert(!y && pith_code(b.s) == cases[k].status, "%s", pith_message(b.s));
        cr_assert(strstr(pith_message(b.s), cases[k].says), "%s", pith_message(b.s));
        cr_assert_eq(pith_runtime_code(b.rt), PITH_OK);
        pith_clear(b.s);
        fake_cuda.kernel_with = cudaSuccess;
        expect_halves(&b);
        end(&b);
    }
}

/* The fake aborts where a thread looks for a kernel without a context. */
Test(kernel_found, a_kernel_is_looked_for_in_the_context_of_the_device) {
    bench b = begin();
    void *context = fake_cuda_context_make(0);
    expect_halves(&b);
    cr_assert_eq(fake_cuda_context(), context);
    end(&b);
}

Test(kernel_found, a_lost_device_is_reported_as_lost) {
    bench b = begin();
    fake_cuda.kernel_with = cudaErrorIllegalAddress;
    cr_assert(!pith_launch(b.s, random_below, b.x, 10).y);
    cr_assert_eq(pith_code(b.s), PITH_E_DEVICE);
    cr_assert_eq(pith_runtime_code(b.rt), PITH_E_DEVICE);
    pith_scope_close(b.s);
    pith_close(b.rt);
}
