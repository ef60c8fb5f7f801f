/* Within gpu/host: the host as a device. */
#ifndef PITH_GPU_HOST_H
#define PITH_GPU_HOST_H

#include "gpu/gpu_internal.h"

/* What options and the environment ask of the host. */
typedef struct pithp_host_settings {
    int threads;
    pithp_isa isa;
    bool asynchronous;
} pithp_host_settings;

/* PITH_THREADS (where threads is 0), PITH_ISA and PITH_HOST_ASYNC; a value that cannot be
 * understood is an error. */
pith_status
pithp_host_settings_read(pithp_host_settings *settings, int threads, pithp_error *e);
/* "x86-64-v3", "aarch64" */
const char *pithp_host_isa_name(pithp_isa isa);

#endif
