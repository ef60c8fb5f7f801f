/* Launches for CUDA, run on the host, beside the host's own. */
#ifndef PITH_TEST_CUDA_PARITY_H
#define PITH_TEST_CUDA_PARITY_H

#include "cuda_target.h"
#include "pith_test.h"

/* As a device runs it. */
static inline pith_status take(void *closure, const pithp_launch *launch) {
    (void)closure;
    char args[PITHP_LAUNCH_ARGS];
    cr_assert(launch->cuda, "%s has no kernel", launch->name);
    cr_assert(launch->args_bytes <= sizeof args);
    memcpy(args, launch->args, launch->args_bytes);
    const int64_t half = launch->count / 2 + 1; /* backwards: no launch has an order */
    if (half < launch->count)
        launch->loops[0](args, half, launch->count);
    launch->loops[0](args, 0, half < launch->count ? half : launch->count);
    return PITH_OK;
}

static inline pith_status launch_host(void *closure, const pithp_launch *launch) {
    (void)closure;
    launch->loops[0](launch->args, 0, launch->count);
    return PITH_OK;
}

static inline uint64_t random_bits(uint64_t *seed) {
    *seed += 0x9e3779b97f4a7c15u;
    uint64_t z = *seed;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

#endif
