/* Steps that are laid out as calls of the library: sorts, products, draws, kernels of
 * users, and whatever else has no text of its own or many elements. One function, whose
 * address the table has, runs any step on addresses. */
#include "program/emit/inline.h"

bool pithp_inline_library_fits(const pithp_plan *plan, const pithp_step *step) {
    return step->call && !step->plans && !step->is_source && step->source < 0 &&
           (step->kernel || !pithp_inline_call_fits(plan, step));
}

static void add_address(const pithp_frame *f, pithp_value v) {
    pithp_frame_address(f, v);
    pithp_text_add(f->x->t, ", ");
}

void pithp_inline_library(const pithp_frame *f, const pithp_step *step) {
    const pithp_instruction *i = step->call;
    pithp_text *t = f->x->t;
    pithp_text_add(t, "        {\n        char *const at[] = {");
    for (int k = 0; k < i->operand_count; k++)
        add_address(f, pithp_operands(f->plan->program, i)[k]);
    for (int k = 0; k < i->result_count; k++)
        add_address(f, i->result + k);
    pithp_text_print(t,
                     "w%d + %lld};\n"
                     "        if (call(scope, a%d, at))\n            return;\n"
                     "        }\n",
                     f->number, (long long)step->temporary, f->x->slot++);
}
