/* Programs with some of the outputs of another. */
#include "program/ir/select.h"

pithp_program *pithp_program_select(pith_scope *s,
                                    const pithp_program *from,
                                    const bool *some,
                                    const bool *more) {
    const size_t count = (size_t)(from->input_count + from->output_count) + 1;
    pithp_value *inputs = pithp_scope_allocate(s, count * sizeof *inputs),
                *outputs = inputs + from->input_count;
    pithp_program *to = inputs ? pithp_program_make(s) : NULL;
    bool fine = to;
    for (int64_t k = 0; k < from->input_count && fine; k++)
        fine = (inputs[k] = pithp_program_input(
                    s, to, pithp_value_spec(from, from->inputs[k]))) >= 0;
    fine = fine && pithp_program_inline(s, to, from, inputs, outputs);
    for (int64_t k = 0; k < from->output_count && fine; k++)
        fine = !some[k] || pithp_program_output(s, to, outputs[k]);
    for (int64_t k = 0; k < from->output_count && fine; k++)
        fine = !more || !more[k] || pithp_program_output(s, to, outputs[k]);
    if (fine)
        return to;
    pithp_program_release(to);
    return NULL;
}
