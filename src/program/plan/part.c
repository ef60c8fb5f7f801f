/* Sub-buffer aliasing: consecutive rows of an array, which only loops read as their rows,
 * lie in the memory of the array. So a loop may be divided without copies of its rows. */
#include "program/ir/region.h"
#include "program/op/thresholds.h"
#include "program/plan/plan.h"

#include <string.h>

/* Mark what an instruction reads otherwise than as rows of a loop. A reshape shares the
 * memory of its operand. */
static void
mark_others(const pithp_planning *g, const pithp_instruction *i, bool *other) {
    const pithp_value *of = pithp_operands(g->p, i);
    const pithp_regions r = pithp_regions_of(i);
    for (int o = 0; o < i->operand_count; o++)
        if (i->primitive == PITHP_OP_RESHAPE && !g->is_virtual[i->result])
            other[of[o]] |= other[i->result];
        else if (i->primitive != PITHP_OP_SCAN ||
                 pithp_operand_group_of(&r, o) != PITHP_SCAN_XS)
            other[of[o]] = true;
}

/* Whether a slice is rows one after the other. Small arrays are local variables of
 * compiled code, which have no parts. */
static bool is_run_of_rows(const pithp_planning *g, const pithp_instruction *i) {
    const pithp_slice_params *slice = i->params;
    const pith_spec *spec = pithp_value_spec(g->p, i->result),
                    *from = pithp_value_spec(g->p, pithp_operands(g->p, i)[0]);
    bool whole =
        spec->rank > 0 && slice->step[0] == 1 && spec->bytes > PITHP_INLINE_LOCAL_BYTES;
    for (int d = 1; d < spec->rank; d++)
        whole &= spec->shape[d] == from->shape[d] && slice->step[d] == 1;
    return whole;
}

/* Whether a value has memory whose place does not depend on a run: a result of control
 * flow may be forwarded. */
static bool has_fixed_memory(const pithp_planning *g, pithp_value v) {
    const pithp_instruction *i = pithp_maker(g->p, g->root[v]);
    return !g->is_virtual[v] && (!i || !i->program_count);
}

bool pithp_plan_is_part(const pithp_planning *g, const pithp_instruction *i) {
    return i->primitive == PITHP_OP_SLICE && g->is_part[i->result] &&
           has_fixed_memory(g, pithp_operands(g->p, i)[0]) && is_run_of_rows(g, i);
}

int64_t pithp_part_offset(const pithp_program *p, const pithp_instruction *i) {
    const pith_spec *from = pithp_value_spec(p, pithp_operands(p, i)[0]);
    const int64_t rows = from->shape[0] ? from->shape[0] : 1;
    return ((const pithp_slice_params *)i->params)->start[0] *
           (int64_t)(from->bytes / (size_t)rows);
}

void pithp_plan_parts(pithp_planning *g) {
    const pithp_program *p = g->p;
    bool *other = g->is_part;
    memset(other, g->plan->scheduled || !g->plan->runs_fused, (size_t)p->value_count);
    for (int64_t k = 0; k < p->output_count; k++)
        other[p->outputs[k]] = true;
    for (int64_t k = p->instruction_count; k-- > 0;)
        mark_others(g, &p->instructions[k], other);
    for (int64_t v = 0; v < p->value_count; v++)
        g->is_part[v] = !other[v] && !g->is_virtual[v];
}
