/* Loops with a record (pithp_while_params.most): the first carry is the number of rows
 * that a derivation uses. It is a marked constant 0 as long as none makes the record. */
#include "trace/control/control_internal.h"

#include <string.h>

/* A condition or body with the rows as the first carry, after `fixed` constants. NULL:
 * error set. */
static pithp_program *
with_rows(pith_scope *s, const pithp_program *from, int fixed, bool is_body) {
    const size_t n = (size_t)(from->input_count + from->output_count) + 1;
    pithp_value *in = pithp_scope_allocate(s, n * sizeof *in), rows = -1;
    pithp_program *p = in ? pithp_program_make(s) : NULL;
    const pith_spec *counter = p ? pithp_spec(s, PITH_I64, 0, NULL) : NULL;
    bool fine = counter;
    for (int64_t k = 0; k <= from->input_count && fine; k++) {
        if (k == fixed)
            fine = (rows = pithp_program_input(s, p, counter)) >= 0;
        if (k < from->input_count && fine)
            fine = (in[k] = pithp_program_input(
                        s, p, pithp_value_spec(from, from->inputs[k]))) >= 0;
    }
    pithp_value *out = in ? in + from->input_count : NULL;
    if (fine && is_body) {
        const pithp_value same =
            pithp_program_add(s, p, PITHP_OP_STOP_GRADIENT, 1, &rows, NULL, s->site);
        fine = same >= 0 && pithp_program_output(s, p, same);
    }
    fine = fine && pithp_program_inline(s, p, from, in, out);
    for (int64_t k = 0; k < from->output_count && fine; k++)
        fine = pithp_program_output(s, p, out[k]);
    if (fine)
        return p;
    pithp_program_release(p);
    return NULL;
}

/* The operands with the number of rows before the carries. */
static pithp_value *
operands_with_rows(pith_scope *s, const pithp_new_instruction *given, int fixed) {
    const pithp_full_params zero = {.dtype = PITH_I64};
    const size_t n = (size_t)given->operand_count + 1, after = n - 1 - (size_t)fixed;
    pithp_value *list = pithp_scope_allocate(s, n * sizeof *list);
    if (!list)
        return NULL;
    memcpy(list, given->operands, (size_t)fixed * sizeof *list);
    memcpy(list + fixed + 1, given->operands + fixed, after * sizeof *list);
    list[fixed] = pithp_program_add(s, pithp_scope_trace(s)->program, PITHP_OP_FULL, 0,
                                    NULL, &zero, s->site);
    return list[fixed] >= 0 ? list : NULL;
}

const pith_array **pithp_control_add_while(pith_scope *s,
                                           const pithp_new_instruction *given,
                                           const pithp_record *record) {
    if (!record)
        return pithp_control_add(s, given);
    pithp_while_params params = *(const pithp_while_params *)given->params;
    params.most = record->most;
    const int fixed = params.cond_operands + params.body_operands;
    pithp_new_instruction made = *given;
    pithp_program *programs[2] = {
        with_rows(s, given->programs[0], params.cond_operands, false),
        with_rows(s, given->programs[1], params.body_operands, true)};
    const pith_array **results = NULL;
    made.operands = operands_with_rows(s, given, fixed);
    made.operand_count++;
    made.params = &params;
    made.programs = programs;
    if (made.operands && programs[0] && programs[1])
        results = pithp_control_add(s, &made);
    pithp_program_release(programs[0]);
    pithp_program_release(programs[1]);
    if (results && !record->suffices)
        pithp_trace_length(s, record, results[0]);
    return results && s->error.code == PITH_OK ? results + 1 : NULL;
}
