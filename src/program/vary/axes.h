/* Axes that an instruction works over. */
#ifndef PITH_PROGRAM_VARY_AXES_H
#define PITH_PROGRAM_VARY_AXES_H

#include "mesh/mesh_internal.h"
#include "program/ir/program.h"

/* What a row makes of the axes that its operands vary over. */
typedef enum pithp_axes_effect {
    PITHP_AXES_KEPT,  /* it knows no axes */
    PITHP_AXES_TAKEN, /* the result is replicated along its axes */
    PITHP_AXES_ADDED, /* the result varies over its axes */
} pithp_axes_effect;

typedef struct pithp_axes_of_row {
    pithp_axes_effect effect;
    pithp_axis_set axes;
    bool moves_data; /* all ranks along the axes must make the call */
    bool widens;     /* operands that are replicated along the axes count as varying */
} pithp_axes_of_row;

/* Whether a row says that a derivation relies on its operand being replicated. */
bool pithp_is_expectation(const pithp_instruction *i);
/* Whether a row says that the entries of a batch choose between branches with
 * collectives, which all ranks make for all entries: expected and mapped. */
bool pithp_is_choice(const pithp_instruction *i);
/* The rows that only say what their operand varies over. */
static inline bool pithp_is_axis_mark(pithp_primitive p) {
    return p == PITHP_OP_VARY || p == PITHP_OP_REPLICATED;
}

pithp_axes_of_row pithp_axes_of(const pithp_instruction *i);

#endif
