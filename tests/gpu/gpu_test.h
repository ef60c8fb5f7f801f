/* Plain launches for the tests of the gpu room: what a kernel is to the host. */
#ifndef PITH_GPU_TEST_H
#define PITH_GPU_TEST_H

#include "gpu/gpu_internal.h"
#include "pith_test.h"

/* Where tests share a process, one must not see the environment of another. */
static PT_UNUSED void gt_reset(void) {
    static const char *const names[] = {"PITH_DEVICE", "PITH_THREADS", "PITH_ISA",
                                        "PITH_HOST_ASYNC", "PITH_HOST_MEMORY"};
    for (int i = 0; i < PITHP_COUNT(names); i++)
        unsetenv(names[i]);
}

/* to[i] = 3 * from[i] + i; from may be NULL */
typedef struct {
    const int64_t *from;
    int64_t *to;
} gt_args;

static PT_UNUSED void gt_loop(const void *args, int64_t begin, int64_t end) {
    const gt_args *a = (const gt_args *)args;
    for (int64_t i = begin; i < end; i++)
        a->to[i] = 3 * (a->from ? a->from[i] : 0) + i;
}

static PT_UNUSED const pithp_host_loop gt_loops[PITHP_ISA_COUNT] = {gt_loop};

static inline pith_status
gt_launch(pith_scope *s, const int64_t *from, int64_t *to, int64_t count) {
    const gt_args args = {from, to};
    return pithp_launch_run(s, &(pithp_launch){.name = "gt",
                                               .loops = gt_loops,
                                               .args = &args,
                                               .args_bytes = sizeof args,
                                               .count = count});
}

static inline pithp_buffer *gt_buffer(pith_scope *s, int64_t count) {
    pithp_buffer *b = pithp_buffer_make(s, (size_t)count * sizeof(int64_t));
    pt_ok(s, b);
    return b;
}

#endif
