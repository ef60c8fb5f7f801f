/* The names that the traits column of primitives.def uses. Only for files that read it.
 */
#ifndef PITH_PROGRAM_OP_TRAIT_NAMES_H
#define PITH_PROGRAM_OP_TRAIT_NAMES_H

#include "program/op/op.h"

enum {
#define PITHP_SHORT(NAME) NAME = PITHP_TRAIT_##NAME,
    PITHP_TRAITS(PITHP_SHORT)
#undef PITHP_SHORT
        SCALAR = SCALAR_REAL | SCALAR_INTEGER,
    EFFECT = 0
};

#endif
