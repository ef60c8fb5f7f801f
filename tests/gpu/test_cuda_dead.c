/* A device that fails: a program of its own, since the process loses the device. */
#include "gpu/gpu_internal.h"
#include "pith_test.h"

#include <pith/runtime.h>

Test(cuda_dead, an_illegal_address_ends_the_runtime_and_every_call_says_so) {
    pith_runtime *rt = pith_open(&(pith_open_options){.device = "cuda"});
    if (pith_runtime_code(rt) == PITH_E_UNSUPPORTED) {
        pith_close(rt);
        cr_skip_test("there is no CUDA device");
    }
    pith_scope *s = pith_scope_open(rt), *other = pith_scope_open(rt);
    const uint16_t word = 0x1234;
    pithp_buffer *b = pithp_buffer_make(s, 100);
    pt_ok(s, pithp_fill(s, (void *)(uintptr_t)4096, &word, sizeof word, 1000) == PITH_OK);
    pt_fails(PITH_E_DEVICE, s, (pith_wait)(s));
    pt_says("cudaErrorIllegalAddress");
    cr_assert_eq(pith_runtime_code(rt), PITH_E_DEVICE);
    cr_assert(strstr(pith_runtime_message(rt), "dead"), "%s", pith_runtime_message(rt));
    pt_fails(PITH_E_DEVICE, other, pithp_buffer_make(other, (size_t)1 << 30));
    pt_says("cudaErrorIllegalAddress");
    pt_fails(PITH_E_DEVICE, other, pithp_fill(other, b->data, &word, sizeof word, 10));
    pithp_buffer_release(b, 1);
    pith_scope_close(other);
    pith_scope_close(s);
    pith_scope *late = pith_scope_open(rt);
    cr_assert_eq(pith_code(late), PITH_E_DEVICE);
    pith_scope_close(late);
    pith_close(rt);
}
