/* The fused kernels of many schedules, each once, compiled by NVRTC in a few texts.
 * Shared with the tests. */
#ifndef PITH_ORACLE_KERNELS_H
#define PITH_ORACLE_KERNELS_H

#include "program/command/command.h"

enum { KERNELS_LABEL_BYTES = 128 };

typedef struct kernels_one {
    uint64_t hash;
    pithp_kernel_work work;          /* its step is the list's own */
    char label[KERNELS_LABEL_BYTES]; /* of what had it first */
} kernels_one;

typedef struct kernels {
    pith_runtime *rt;
    kernels_one *list;
    int64_t count, room;
    bool decides; /* some schedule has control flow */
    bool reduces;
    pithp_text *image; /* what the compiler made last; NULL: not wanted */
} kernels;

void kernels_begin(kernels *k, pith_runtime *rt);
void kernels_end(kernels *k);

/* Those that are not there yet. The schedule may go afterwards. */
void kernels_add(kernels *k, const pithp_schedule *schedule, const char *label);

/* Compile those of number first to first + count - 1 as the module of a schedule, where
 * kernel n is pith_step_<n - first>. False: it does not compile, or the compiler has
 * something to say; `log` is what it says.
 *
 * @param resources The log lists registers and spills, and only warnings make it false.
 */
bool kernels_compile(const kernels *k,
                     int64_t first,
                     int64_t count,
                     int arch,
                     bool resources,
                     pithp_text *log);

#endif
