/* Private interface of gpu: available host memory. */
#ifndef PITH_GPU_AVAILABLE_H
#define PITH_GPU_AVAILABLE_H

#include <stddef.h>

/* pith_host_available for a system whose files are below `root`; "" for this system. */
size_t pithp_available_read(const char *root);
/* Total host memory, limited by the control groups of the process. */
size_t pithp_installed_read(const char *root);

#endif
