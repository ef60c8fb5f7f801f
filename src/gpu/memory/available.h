/* Within gpu only: how much memory the host still has. */
#ifndef PITH_GPU_AVAILABLE_H
#define PITH_GPU_AVAILABLE_H

#include <stddef.h>

/* pith_host_available of a system whose files lie below `root`; "" for this one's. */
size_t pithp_available_read(const char *root);
/* All memory that the host has, or that control groups let the process use. */
size_t pithp_installed_read(const char *root);

#endif
