/* Variance of a loop before it becomes an instruction: what its carries vary over, and
 * whether derivations in its body were recorded without knowing it. */
#include "program/vary/area.h"

#include <string.h>

/* The spec of an operand; of one that is not known yet, that in the body. */
static const pith_spec *
operand_spec(const pithp_program *around, const pithp_new_instruction *loop, int k) {
    const pithp_regions layout =
        pithp_regions_of_call(loop->primitive, loop->params, loop->operand_count);
    const pithp_program *body = loop->programs[layout.body];
    return loop->operands[k] >= 0
               ? pithp_value_spec(around, loop->operands[k])
               : pithp_value_spec(
                     body, body->inputs[pithp_region_input(&layout, layout.body, k)]);
}

/* A program whose inputs are the operands, with the loop alone. NULL: error set. */
static pithp_program *
alone(pith_scope *s, const pithp_program *around, const pithp_new_instruction *loop) {
    const size_t bytes = ((size_t)loop->operand_count + 1) * sizeof(pithp_value);
    pithp_value *operands = pithp_scope_allocate(s, bytes);
    pithp_program *p = operands ? pithp_program_make(s) : NULL;
    bool fine = p;
    for (int32_t k = 0; k < loop->operand_count && fine; k++)
        fine =
            (operands[k] = pithp_program_input(s, p, operand_spec(around, loop, k))) >= 0;
    pithp_new_instruction copy = *loop;
    copy.operands = operands;
    copy.max_rank = PITHP_MAX_RANK;
    if (fine && pithp_program_add_many(s, p, &copy) >= 0)
        return p;
    pithp_program_release(p);
    return NULL;
}

/* Whether an expectation does not hold, at any depth. */
static bool is_mistaken(const pithp_area *a) {
    const pithp_area *inner = a->inner;
    for (int64_t n = 0; n < a->program->instruction_count; n++) {
        const pithp_instruction *i = &a->program->instructions[n];
        if (pithp_area_mistakes(a, i) && !pithp_is_choice(i))
            return true;
        for (int32_t k = 0; k < i->program_count; k++)
            if (is_mistaken(&inner[k]))
                return true;
        inner += i->program_count;
    }
    return false;
}

static bool analyse(pith_scope *s,
                    const pithp_program *p,
                    const pithp_axis_set *operands,
                    pithp_loop_variance *loop) {
    const pithp_instruction *i = &p->instructions[0];
    pithp_area area = {.program = NULL};
    if (!pithp_area_analyse(s, &area, p, operands))
        return false;
    const size_t bytes = (size_t)i->result_count * sizeof *loop->results;
    loop->mistaken = is_mistaken(&area);
    loop->decision = pithp_area_decision(&area, i, area.inner);
    memcpy(loop->results, area.varies + i->result, bytes);
    return true;
}

bool pithp_loop_find_variance(pith_scope *s,
                              const pithp_program *around,
                              const pithp_new_instruction *given,
                              const pithp_axis_set *operands,
                              pithp_loop_variance *loop) {
    pith_scope *work = pith_scope_open_in(s);
    if (!pithp_scope_writable(work)) {
        pithp_fail_memory(s, PITHP_BLOCK_BYTES);
        return false;
    }
    pithp_program *p = alone(work, around, given);
    const bool fine = p && analyse(work, p, operands, loop);
    pithp_program_release(p);
    pith_scope_close(work); /* its error moves to s */
    return fine;
}
