/* Claims: what marks of pith_shard_map say of the values of a program. An argument of a
 * mapped function that its spec calls replicated is equal on all ranks, and so are the
 * values that it was computed from: a walk from the results to the inputs, in loops to a
 * fixed point. Collectives end it. */
#include "program/ir/region.h"
#include "program/vary/vary.h"

#include <string.h>

static bool is_claim(const pithp_instruction *i) {
    return i->primitive == PITHP_OP_REPLICATED && !pithp_is_choice(i) &&
           ((const pithp_vary_params *)i->params)->mapped;
}

/* The axes of the marks in a program and in those within. */
static pithp_axis_set axes_of_marks(const pithp_program *p) {
    pithp_axis_set all = 0;
    for (int64_t k = 0; k < p->instruction_count; k++) {
        const pithp_instruction *i = &p->instructions[k];
        if (is_claim(i))
            all |= pithp_axes_of(i).axes;
        for (int32_t b = 0; b < i->program_count; b++)
            all |= axes_of_marks(i->programs[b]);
    }
    return all;
}

/* ---- Rows ---- */

static void claim_operands(const pithp_program *p,
                           const pithp_instruction *i,
                           pithp_axis_set *equal) {
    const pithp_value *operands = pithp_operands(p, i);
    const pithp_axes_of_row row = pithp_axes_of(i);
    pithp_axis_set claimed = 0;
    for (int32_t k = 0; k < i->result_count; k++)
        claimed |= equal[i->result + k];
    if (row.effect != PITHP_AXES_KEPT && i->primitive != PITHP_OP_REPLICATED)
        claimed &= ~row.axes;
    if (is_claim(i))
        claimed |= row.axes;
    for (int32_t k = 0; k < i->operand_count; k++)
        equal[operands[k]] |= claimed;
}

/* ---- Control flow ---- */

static bool walk(pith_scope *s, const pithp_program *p, pithp_axis_set *equal);

static pithp_axis_set *no_claims(pith_scope *s, const pithp_program *p) {
    const size_t bytes = ((size_t)p->value_count + 1) * sizeof(pithp_axis_set);
    pithp_axis_set *equal = pithp_scope_allocate(s, bytes);
    return equal ? memset(equal, 0, bytes) : NULL;
}

/* A body whose outputs are claimed as the results are. The carry of an iteration is
 * claimed as that of the next one. */
static bool walk_body(pith_scope *s,
                      const pithp_program *body,
                      int first,
                      int carries,
                      pithp_axis_set *equal) {
    for (bool changed = true; changed;) {
        if (!walk(s, body, equal))
            return false;
        changed = false;
        for (int k = 0; k < carries; k++) {
            const pithp_axis_set claimed = equal[body->inputs[first + k]];
            pithp_axis_set *output = &equal[body->outputs[k]];
            changed |= (claimed & ~*output) != 0;
            *output |= claimed;
        }
    }
    return true;
}

/* Program b of an instruction; a condition has no results. */
static bool claim_region(pith_scope *s,
                         const pithp_program *p,
                         const pithp_instruction *i,
                         int b,
                         pithp_axis_set *equal) {
    const pithp_regions layout = pithp_regions_of(i);
    const pithp_value *operands = pithp_operands(p, i);
    const pithp_program *inner = i->programs[b];
    const bool yields = pithp_region_yields(&layout, b);
    const int carries = yields ? layout.carries.count : 0;
    pithp_axis_set *claims = no_claims(s, inner);
    if (!claims)
        return false;
    for (int32_t k = 0; k < i->result_count && yields; k++)
        claims[inner->outputs[k]] |= equal[i->result + k];
    if (!walk_body(s, inner, carries ? pithp_region_first_carry(&layout, b) : 0, carries,
                   claims))
        return false;
    for (int k = 0; k < inner->input_count; k++)
        equal[operands[pithp_region_operand(&layout, b, k)]] |= claims[inner->inputs[k]];
    return true;
}

static bool walk(pith_scope *s, const pithp_program *p, pithp_axis_set *equal) {
    for (int64_t n = p->instruction_count; n-- > 0;) {
        const pithp_instruction *i = &p->instructions[n];
        if (!pithp_op_has(i->primitive, PITHP_TRAIT_REGIONS))
            claim_operands(p, i, equal);
        else
            for (int b = 0; b < i->program_count; b++)
                if (!claim_region(s, p, i, b, equal))
                    return false;
    }
    return true;
}

/* ---- Programs ---- */

static bool find(pith_scope *s, const pithp_program *p, pithp_axis_set *inputs) {
    pithp_axis_set *equal = no_claims(s, p);
    const bool fine = equal && walk(s, p, equal);
    for (int64_t k = 0; k < p->input_count && fine; k++)
        inputs[k] = equal[p->inputs[k]];
    return fine;
}

pithp_axis_set
pithp_program_claims(pith_scope *s, const pithp_program *p, pithp_axis_set *inputs) {
    const pithp_axis_set all = p->has_marks ? axes_of_marks(p) : 0;
    memset(inputs, 0, (size_t)p->input_count * sizeof *inputs);
    if (!all)
        return 0;
    pith_scope *work = pith_scope_open_in(s);
    if (!pithp_scope_writable(work)) {
        pithp_fail_memory(s, PITHP_BLOCK_BYTES);
        return 0;
    }
    const bool fine = find(work, p, inputs);
    pith_scope_close(work); /* its error moves to s */
    return fine ? all : 0;
}
