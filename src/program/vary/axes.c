/* The axes that rows work over: a column beside the table of primitives. */
#include "program/vary/axes.h"

typedef struct axes_row {
    pithp_axes_effect effect;
    bool moves_data, widens;
} axes_row;

/* Rows that are not here know no axes. */
static const axes_row rows[PITHP_PRIMITIVE_COUNT] = {
    [PITHP_OP_VARY] = {PITHP_AXES_ADDED, false, false},
    [PITHP_OP_REPLICATED] = {PITHP_AXES_TAKEN, false, false},
    [PITHP_OP_AXIS_INDEX] = {PITHP_AXES_ADDED, false, false},
    [PITHP_OP_PSUM] = {PITHP_AXES_TAKEN, true, true},
    [PITHP_OP_PSUM_ROWS] = {PITHP_AXES_TAKEN, true, true},
    [PITHP_OP_PMAX] = {PITHP_AXES_TAKEN, true, true},
    [PITHP_OP_PMIN] = {PITHP_AXES_TAKEN, true, true},
    [PITHP_OP_PBROADCAST] = {PITHP_AXES_TAKEN, true, true},
    [PITHP_OP_PSCAN] = {PITHP_AXES_ADDED, true, true},
    [PITHP_OP_ALL_STACK] = {PITHP_AXES_ADDED, true, true},
    [PITHP_OP_ALL_GATHER] = {PITHP_AXES_ADDED, true, true},
    [PITHP_OP_REDUCE_SCATTER] = {PITHP_AXES_ADDED, true, true},
    [PITHP_OP_ALL_TO_ALL] = {PITHP_AXES_ADDED, true, true},
    [PITHP_OP_PPERMUTE] = {PITHP_AXES_ADDED, true, true},
    [PITHP_OP_HALO] = {PITHP_AXES_ADDED, true, true},
    [PITHP_OP_ROUTE_MAKE] = {PITHP_AXES_ADDED, true, true},
    [PITHP_OP_ROUTE_SEND] = {PITHP_AXES_ADDED, true, true},
    [PITHP_OP_ROUTE_RETURN] = {PITHP_AXES_ADDED, true, true},
};

static pithp_axis_set axes_of(const pithp_instruction *i) {
    const pithp_mesh_group *group =
        pithp_is_axis_mark(i->primitive)
            ? ((const pithp_vary_params *)i->params)->group
            : ((const pithp_collective_params *)i->params)->group;
    return pithp_mesh_group_axes(group);
}

bool pithp_is_expectation(const pithp_instruction *i) {
    return i->primitive == PITHP_OP_REPLICATED &&
           ((const pithp_vary_params *)i->params)->expected;
}

bool pithp_is_choice(const pithp_instruction *i) {
    return pithp_is_expectation(i) && ((const pithp_vary_params *)i->params)->mapped;
}

pithp_axes_of_row pithp_axes_of(const pithp_instruction *i) {
    const axes_row row = rows[i->primitive];
    return row.effect == PITHP_AXES_KEPT
               ? (pithp_axes_of_row){.effect = PITHP_AXES_KEPT}
               : (pithp_axes_of_row){row.effect, axes_of(i), row.moves_data, row.widens};
}
