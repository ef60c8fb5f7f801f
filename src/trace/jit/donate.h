/* Within src/trace/jit: shared by the two files of donation. */
#ifndef PITH_DONATE_H
#define PITH_DONATE_H

#include "trace/jit/jit_internal.h"

/* Bits on handles while donations are decided; disjoint from those of
 * array_internal.h. */
enum {
    PITHP_GIVEN = 1 << 15,
    PITHP_GIVEN_TWICE = 1 << 14,
    PITHP_GIVEN_SHARED = 1 << 13,
    PITHP_GIVEN_COUNTED = 1 << 12
};

/* In pithp_jit_program.written. */
enum { PITHP_NOT_WRITTEN = -1, PITHP_RETURNED = -2 };

#endif
