/* Opening runtimes: which device, with what settings, and what a failed one says. */
#include "gpu_test.h"

#include <pith/runtime.h>

TestSuite(open, .init = gt_reset);

Test(open, defaults_to_a_working_device) {
    pith_runtime *rt = pith_open(NULL);
    cr_assert_eq(pith_runtime_code(rt), PITH_OK, "%s", pith_runtime_message(rt));
    cr_assert_str_eq(pith_runtime_message(rt), "");
    cr_assert_str_neq(pith_device_kind(rt), "none");
    cr_assert_str_neq(pith_device_name(rt), "");
    cr_assert_gt(pith_memory_about(rt).total, 0);
    pith_close(rt);
}

Test(open, takes_the_device_and_threads_from_options_then_environment) {
    setenv("PITH_DEVICE", "host", 1);
    setenv("PITH_THREADS", "3", 1);
    pith_runtime *rt = pith_open(NULL);
    cr_assert_str_eq(pith_device_kind(rt), "host");
    cr_assert_eq(pith_device_threads(rt), 3);
    pith_close(rt);
    setenv("PITH_DEVICE", "nonsense", 1);
    rt = pith_open(&(pith_open_options){.device = "host", .threads = 5});
    cr_assert_eq(pith_device_threads(rt), 5);
    pith_close(rt);
}

static void
refused(const pith_open_options *options, pith_status code, const char *says) {
    pith_runtime *rt = pith_open(options);
    cr_assert_not_null(rt);
    cr_assert_eq(pith_runtime_code(rt), code, "%s", pith_runtime_message(rt));
    cr_assert(strstr(pith_runtime_message(rt), says), "%s", pith_runtime_message(rt));
    cr_assert_str_eq(pith_device_kind(rt), "none");
    cr_assert_str_eq(pith_device_name(rt), "");
    cr_assert_eq(pith_device_threads(rt), 0);
    cr_assert_eq(pith_memory_about(rt).total, 0);
    /* Every scope carries the reason, and keeps it. */
    pith_scope *s = pith_scope_open(rt), *child = pith_scope_open_in(s);
    cr_assert_eq(pith_code(s), code);
    pith_clear(s);
    pith_clear(child);
    cr_assert_eq(pith_code(s), code);
    cr_assert_eq(pith_code(child), code);
    cr_assert(strstr(pith_message(child), says));
    pith_wait(s);
    pith_scope_close(s);
    pith_close(rt);
}

Test(open, refuses_devices_that_are_not_there) {
    refused(&(pith_open_options){.device = "tpu"}, PITH_E_ARG, "\"tpu\"");
    refused(&(pith_open_options){.device = ""}, PITH_E_ARG, "expected host");
    refused(&(pith_open_options){.device = "cuda:"}, PITH_E_ARG, "cuda:N");
    refused(&(pith_open_options){.device = "cuda:1x"}, PITH_E_ARG, "cuda:1x");
    refused(&(pith_open_options){.device = "cuda:99999999999"}, PITH_E_ARG, "cuda:N");
    refused(&(pith_open_options){.device = "cuda:1023"}, PITH_E_UNSUPPORTED, "cuda:1023");
    setenv("PITH_DEVICE", "abacus", 1);
    refused(NULL, PITH_E_ARG, "abacus");
}

Test(open, refuses_options_and_variables_it_cannot_follow) {
    const pith_allocator half = {.allocate = pt_heap_allocate};
    refused(&(pith_open_options){.device = "host", .threads = -1}, PITH_E_ARG, "threads");
    refused(&(pith_open_options){.allocator = &half}, PITH_E_ARG, "allocator");
    const pith_open_options host = {.device = "host"};
    setenv("PITH_THREADS", "many", 1);
    refused(&host, PITH_E_ARG, "PITH_THREADS");
    setenv("PITH_THREADS", "0", 1);
    refused(&host, PITH_E_ARG, "PITH_THREADS");
    setenv("PITH_THREADS", "1025", 1);
    refused(&host, PITH_E_ARG,
            "PITH_THREADS is \"1025\", expected a number from 1 to 1024");
    refused(&(pith_open_options){.device = "host", .threads = 2}, PITH_E_ARG,
            "PITH_THREADS");
    unsetenv("PITH_THREADS");
    setenv("PITH_CUBLAS", "no", 1);
    refused(&host, PITH_E_ARG, "PITH_CUBLAS is \"no\", expected on or off");
    unsetenv("PITH_CUBLAS");
    setenv("PITH_NCCL", "0", 1);
    refused(&host, PITH_E_ARG, "PITH_NCCL is \"0\", expected on or off");
    unsetenv("PITH_NCCL");
    setenv("PITH_ISA", "v9", 1);
    refused(&host, PITH_E_ARG, "PITH_ISA");
    unsetenv("PITH_ISA");
    setenv("PITH_HOST_ASYNC", "yes", 1);
    refused(&host, PITH_E_ARG, "PITH_HOST_ASYNC");
    unsetenv("PITH_HOST_ASYNC");
    setenv("PITH_JIT", "sometimes", 1);
    refused(&host, PITH_E_ARG,
            "PITH_JIT is \"sometimes\", expected async, wait, off or eager");
    unsetenv("PITH_JIT");
    setenv("PITH_CUDA_GRAPH", "yes", 1);
    refused(&host, PITH_E_ARG, "PITH_CUDA_GRAPH");
}

Test(open, lowers_the_instruction_set_when_told) {
    static const char *const names[] = {"base", "v3", "v4"};
    pith_runtime *rt = pt_open();
    const pithp_isa best = pithp_runtime_device(rt)->isa;
    pt_close(rt);
    for (int i = 0; i < PITHP_ISA_COUNT; i++) {
        setenv("PITH_ISA", names[i], 1);
        rt = pt_open();
        const int expected = i < (int)best ? i : (int)best;
        cr_assert_eq((int)pithp_runtime_device(rt)->isa, expected);
        if (expected > 0)
            cr_assert(strstr(pith_device_name(rt), names[expected]));
        pt_close(rt);
    }
}

Test(open, falls_back_to_weaker_loops) {
    const pithp_host_loop loops[PITHP_ISA_COUNT] = {gt_loop, NULL, NULL};
    const pithp_launch l = {.loops = loops};
    cr_assert_eq(pithp_loop_for(&l, PITHP_ISA_V4), gt_loop);
    const pithp_host_loop both[PITHP_ISA_COUNT] = {NULL, gt_loop, NULL};
    cr_assert_eq(pithp_loop_for(&(pithp_launch){.loops = both}, PITHP_ISA_V4), gt_loop);
}

Test(open, closing_nothing_and_what_is_no_runtime_does_nothing) {
    char stack[4096] = {0};
    pith_close(NULL);
    pith_close((pith_runtime *)(void *)stack);
    cr_assert_eq(pith_runtime_code(NULL), PITH_E_ARG);
    cr_assert_str_neq(pith_runtime_message(NULL), "");
    cr_assert_eq(pith_code(pith_scope_open(NULL)), PITH_E_ARG);
}

Test(open, a_closed_runtime_is_known_as_such) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt), *child = pith_scope_open_in(s);
    pt_close(rt);
    cr_assert_eq(pith_code(s), PITH_E_SCOPE);
    cr_assert_eq(pith_code(child), PITH_E_SCOPE);
    cr_assert_eq(pith_runtime_code(rt), PITH_E_ARG);
    pith_close(rt);
}

static int told;
static char last_told[256];
static void listen(pith_log_level level, const char *message, void *closure) {
    (void)closure;
    told += level == PITH_LOG_ERROR;
    snprintf(last_told, sizeof last_told, "%s", message);
}

Test(open, logs_unread_errors) {
    told = 0;
    pith_runtime *rt = pith_open(&(pith_open_options){.device = "host", .log = listen});
    pith_scope *s = pith_scope_open(rt);
    pith_fail(s, PITH_E_SHAPE, NULL, "unread\nerror");
    pith_scope_close(s);
    cr_assert_eq(told, 1);
    cr_assert(strstr(last_told, "unread error"), "%s", last_told);
    s = pith_scope_open(rt);
    pith_fail(s, PITH_E_SHAPE, NULL, "read");
    cr_assert(pith_failed(s));
    pith_scope_close(s);
    cr_assert_eq(told, 1);
    pith_close(rt);
}
