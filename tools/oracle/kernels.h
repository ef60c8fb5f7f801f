/* Distinct fused kernels of many schedules, compiled by NVRTC in few texts. Shared with
 * the tests. */
#ifndef PITH_ORACLE_KERNELS_H
#define PITH_ORACLE_KERNELS_H

#include "program/command/command.h"

enum { KERNELS_LABEL_BYTES = 128 };

typedef struct kernels_one {
    uint64_t hash;
    pithp_kernel_work work;          /* its step is owned by the list */
    char label[KERNELS_LABEL_BYTES]; /* of its first schedule */
} kernels_one;

typedef struct kernels {
    pith_runtime *rt;
    kernels_one *list;
    int64_t count, room;
    bool decides; /* some schedule has control flow */
    bool reduces;
    pithp_string *image; /* last output of the compiler; NULL: not wanted */
} kernels;

void kernels_begin(kernels *k, pith_runtime *rt);
void kernels_end(kernels *k);

/* Add kernels not in the list yet. The schedule may be released afterwards. */
void kernels_add(kernels *k, const pithp_schedule *schedule, const char *label);

/* Compile kernels first to first + count - 1 as the module of a schedule, where kernel n
 * is pith_step_<n - first>. False: an error or a warning; `log` receives the compiler's
 * output.
 *
 * @param resources The log lists registers and spills, and only warnings give false. */
bool kernels_compile(const kernels *k,
                     int64_t first,
                     int64_t count,
                     int arch,
                     bool resources,
                     pithp_string *log);

#endif
