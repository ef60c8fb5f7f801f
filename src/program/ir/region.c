/* Regions: the layout of operands, results and nested programs of control flow. */
#include "program/ir/region.h"

static pithp_regions of_while(const pithp_while_params *w, int operands) {
    const int fixed = w->cond_operands + w->body_operands;
    const pithp_operand_group carries = {PITHP_OPERAND_CARRY, fixed, operands - fixed,
                                         PITHP_ALL_PROGRAMS};
    return (pithp_regions){
        .groups = {{PITHP_OPERAND_CONSTANT, 0, w->cond_operands, 0},
                   {PITHP_OPERAND_CONSTANT, w->cond_operands, w->body_operands, 1},
                   carries},
        .carries = carries,
        .body = 1};
}

static pithp_regions of_scan(const pithp_loop_params *l, int operands) {
    const int fixed = l->constants + l->carries;
    const pithp_operand_group carries = {PITHP_OPERAND_CARRY, l->constants, l->carries,
                                         0};
    return (pithp_regions){.groups = {{PITHP_OPERAND_CONSTANT, 0, l->constants, 0},
                                      carries,
                                      {PITHP_OPERAND_XS, fixed, operands - fixed, 0}},
                           .carries = carries,
                           .body = 0};
}

static pithp_regions of_cond(int operands) {
    return (pithp_regions){
        .groups = {{PITHP_OPERAND_INDEX, 0, 1, PITHP_NO_PROGRAM},
                   {PITHP_OPERAND_CONSTANT, 1, operands - 1, PITHP_ALL_PROGRAMS}},
        .body = PITHP_ALL_PROGRAMS};
}

pithp_regions
pithp_regions_of_call(pithp_primitive primitive, const void *params, int operand_count) {
    switch ((int)primitive) {
        case PITHP_OP_COND:
            return of_cond(operand_count);
        case PITHP_OP_WHILE:
            return of_while(params, operand_count);
        case PITHP_OP_SCAN:
            return of_scan(params, operand_count);
        default:
            return (pithp_regions){.body = PITHP_NO_PROGRAM};
    }
}

void pithp_regions_resize(pithp_primitive primitive,
                          void *params,
                          const int counts[PITHP_OPERAND_GROUPS]) {
    if (primitive == PITHP_OP_WHILE) {
        pithp_while_params *w = params;
        w->cond_operands = counts[PITHP_WHILE_OF_COND];
        w->body_operands = counts[PITHP_WHILE_OF_BODY];
    } else if (primitive == PITHP_OP_SCAN) {
        pithp_loop_params *l = params;
        l->constants = counts[PITHP_SCAN_CONSTANTS];
        l->carries = counts[PITHP_SCAN_CARRIES];
    }
}

/* ---- Operands ---- */

int pithp_operand_group_of(const pithp_regions *r, int operand) {
    int group = 0;
    while (group < PITHP_OPERAND_GROUPS - 1 &&
           operand >= r->groups[group].first + r->groups[group].count)
        group++;
    return group;
}

int pithp_carry_of(const pithp_regions *r, int operand) {
    const int k = operand - r->carries.first;
    return k >= 0 && k < r->carries.count ? k : -1;
}

static bool takes(const pithp_operand_group *g, int program) {
    return g->program == PITHP_ALL_PROGRAMS || g->program == program;
}

int pithp_region_inputs(const pithp_regions *r, int program) {
    int count = 0;
    for (int g = 0; g < PITHP_OPERAND_GROUPS; g++)
        count += takes(&r->groups[g], program) ? r->groups[g].count : 0;
    return count;
}

bool pithp_region_takes(const pithp_regions *r, int program, int group, int *first) {
    *first = 0;
    for (int g = 0; g < group; g++)
        *first += takes(&r->groups[g], program) ? r->groups[g].count : 0;
    return takes(&r->groups[group], program);
}

int pithp_region_input(const pithp_regions *r, int program, int operand) {
    const int group = pithp_operand_group_of(r, operand);
    int first;
    return pithp_region_takes(r, program, group, &first)
               ? first + operand - r->groups[group].first
               : -1;
}

int pithp_region_operand(const pithp_regions *r, int program, int input) {
    for (int g = 0; g < PITHP_OPERAND_GROUPS; g++) {
        if (!takes(&r->groups[g], program))
            continue;
        if (input < r->groups[g].count)
            return r->groups[g].first + input;
        input -= r->groups[g].count;
    }
    PITH_ASSERT(false); /* no such input */
    return -1;
}

int pithp_region_first_carry(const pithp_regions *r, int program) {
    int first = 0;
    for (int g = 0; g < PITHP_OPERAND_GROUPS; g++)
        if (r->groups[g].role == PITHP_OPERAND_CARRY)
            pithp_region_takes(r, program, g, &first);
    return first;
}

/* ---- Results ---- */

int pithp_region_forwards(const pithp_regions *r, int program, int input, int k) {
    if (!pithp_region_yields(r, program))
        return -1;
    const int operand = pithp_region_operand(r, program, input);
    const bool branch = r->body == PITHP_ALL_PROGRAMS;
    return branch || pithp_carry_of(r, operand) == k ? operand : -1;
}

int pithp_forwarded_operand(const pithp_instruction *i, int k) {
    const pithp_regions r = pithp_regions_of(i);
    if (k >= r.carries.count)
        return -1;
    const pithp_program *body = i->programs[r.body];
    const int input = pithp_region_first_carry(&r, r.body) + k;
    return body->outputs[k] == body->inputs[input] ? r.carries.first + k : -1;
}
