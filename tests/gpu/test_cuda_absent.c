/* What a machine without a CUDA device gets: the host when nothing is asked for, and the
 * reason when CUDA is. Where a device is, there is nothing to see. */
#include "gpu/gpu_internal.h"
#include "pith_test.h"

#include <pith/runtime.h>

static bool have_device(void) {
    pith_runtime *rt = pith_open(&(pith_open_options){.device = "cuda"});
    const bool have = pith_runtime_code(rt) == PITH_OK;
    pith_close(rt);
    return have;
}

Test(cuda_absent, the_host_computes) {
    if (have_device())
        cr_skip_test("there is a device");
    unsetenv("PITH_DEVICE");
    pith_runtime *rt = pith_open(NULL);
    cr_assert_eq(pith_runtime_code(rt), PITH_OK, "%s", pith_runtime_message(rt));
    cr_assert_str_eq(pith_device_kind(rt), "host");
    pith_close(rt);
}

Test(cuda_absent, asking_for_cuda_says_why_not) {
    if (have_device())
        cr_skip_test("there is a device");
    static const char *const names[] = {"cuda", "cuda:0", "cuda:3"};
    for (int i = 0; i < PITHP_COUNT(names); i++) {
        pith_runtime *rt = pith_open(&(pith_open_options){.device = names[i]});
        cr_assert_eq(pith_runtime_code(rt), PITH_E_UNSUPPORTED);
        const char *message = pith_runtime_message(rt);
        cr_assert(strstr(message, names[i]), "%s", message);
        cr_assert(strstr(message, pithp_backend_cuda ? "driver" : "built without CUDA"),
                  "%s", message);
        cr_assert_str_eq(pith_device_kind(rt), "none");
        pith_scope *s = pith_scope_open(rt);
        cr_assert_eq(pith_code(s), PITH_E_UNSUPPORTED);
        cr_assert_str_eq(pith_message(s), message);
        pith_scope_close(s);
        pith_close(rt);
    }
}

Test(cuda_absent, the_table_is_whole) {
    if (!pithp_backend_cuda)
        cr_skip_test("built without CUDA");
    const pithp_backend *b = pithp_backend_cuda;
    cr_assert_eq(b->version, PITHP_BACKEND_VERSION);
    cr_assert_str_eq(b->kind, "cuda");
    cr_assert(!b->addressable);
    cr_assert(b->open && b->close && b->stream_open && b->stream_close && b->synchronise);
    cr_assert(b->wait_for && b->allocate && b->release && b->copy_in && b->copy_out);
    cr_assert(b->copy && b->fill && b->launch && b->memory);
    cr_assert(b->module_load && b->module_unload && b->module_find);
}
