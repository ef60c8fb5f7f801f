/* Nested programs made from others. */
#include "program/derive/arrange.h"

#include <string.h>

bool pithp_arrange_begin(pithp_arrangement *a,
                         pith_scope *s,
                         const pithp_program *p,
                         int64_t inputs,
                         int64_t outputs) {
    *a = (pithp_arrangement){.s = s, .p = p};
    const size_t bytes = (size_t)inputs * sizeof *a->specs +
                         (size_t)p->input_count * sizeof *a->inputs +
                         (size_t)outputs * sizeof *a->outputs;
    char *memory = pithp_scope_allocate(s, bytes + 1);
    if (!memory)
        return false;
    a->outputs = (pithp_chosen *)(void *)memory;
    a->inputs = (int64_t *)(void *)(a->outputs + outputs);
    a->specs = (const pith_spec **)(void *)(a->inputs + p->input_count);
    memset(a->inputs, 0xFF, (size_t)p->input_count * sizeof *a->inputs);
    return true;
}

int64_t pithp_arrange_input(pithp_arrangement *a, const pith_spec *spec, int64_t of) {
    if (of >= 0)
        a->inputs[of] = a->input_count;
    a->specs[a->input_count] = spec;
    return a->input_count++;
}

void pithp_arrange_output(pithp_arrangement *a, int64_t output, const pith_spec *spec) {
    a->outputs[a->output_count++] = (pithp_chosen){output, spec};
}

static bool add_values(pithp_arrangement *a, pithp_program *to, pithp_value *memory) {
    const pithp_program *p = a->p;
    pithp_derivation d = {.s = a->s, .to = to};
    pithp_value *all = memory, *in = all + a->input_count, *out = in + p->input_count;
    bool fine = true;
    for (int64_t k = 0; k < a->input_count && fine; k++)
        fine = (all[k] = pithp_program_input(a->s, to, a->specs[k])) >= 0;
    for (int64_t k = 0; k < p->input_count; k++)
        if (a->inputs[k] >= 0)
            in[k] = all[a->inputs[k]];
        else if (fine)
            fine =
                (in[k] = pithp_derive_zeros(&d, pithp_value_spec(p, p->inputs[k]))) >= 0;
    fine = fine && pithp_program_inline(a->s, to, p, in, out);
    for (int64_t k = 0; k < a->output_count && fine; k++) {
        const pithp_chosen *c = &a->outputs[k];
        const pithp_value v =
            c->output >= 0 ? out[c->output] : pithp_derive_zeros(&d, c->spec);
        fine = v >= 0 && pithp_program_output(a->s, to, v);
    }
    return fine;
}

pithp_program *pithp_arrange(pithp_arrangement *a) {
    const size_t bytes =
        (size_t)(a->input_count + a->p->input_count + a->p->output_count + 1) *
        sizeof(pithp_value);
    pithp_value *memory = pithp_scope_allocate(a->s, bytes);
    pithp_program *to = memory ? pithp_program_make(a->s) : NULL;
    if (to && add_values(a, to, memory))
        return to;
    pithp_program_release(to);
    return NULL;
}
