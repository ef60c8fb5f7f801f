/* Fences that one side pays for: who seldom looks at what threads note makes all of them
 * pass one, so that a note costs its thread a plain store. */
#ifndef PITH_BASE_MEMBARRIER_H
#define PITH_BASE_MEMBARRIER_H

#include <stdbool.h>

/* Whether the system can do that; the same answer each time. Any thread. */
bool pithp_membarrier_possible(void);
/* All threads of the process pass a full fence, before this returns. */
void pithp_membarrier_all(void);

#endif
