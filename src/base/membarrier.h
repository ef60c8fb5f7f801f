/* Asymmetric fence: the rare reader issues a fence in all threads, so that the frequent
 * writers need only a plain store. */
#ifndef PITH_BASE_MEMBARRIER_H
#define PITH_BASE_MEMBARRIER_H

#include <stdbool.h>

/* Whether the kernel supports it; the answer never changes. Any thread. */
bool pithp_membarrier_possible(void);
/* Every thread of the process passes a full fence before this returns. */
void pithp_membarrier_all(void);

#endif
