/* Warnings of the memory manager: collected while locks are held, reported without
 * locks. */
#ifndef PITH_GPU_WARNING_H
#define PITH_GPU_WARNING_H

#include "pith/memory.h"

#include "gpu/gpu_internal.h"

typedef struct pithp_warnings {
    int count;
    struct {
        pith_warning what;
        char text[256];
    } told[4];
} pithp_warnings;

void pithp_warning_add(pithp_warnings *w, pith_warning what, const char *format, ...)
    PITH_FORMAT(3, 4);
void pithp_warnings_tell(pithp_device *d, const pithp_warnings *w);

#endif
