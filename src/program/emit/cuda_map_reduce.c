/* CUDA emitter of map-reduce: the first kernel of a reduction computes the operand's
 * elements, with the bodies that otherwise load them (source/reduce_cuda.h). */
#include "program/emit/fused.h"

#include <stdio.h>

/* Emit M_FN u64 NAME_element(const NAME_args *args, i64 i): element i, converted to the
 * accumulator. */
static void
add_element(pithp_step_text *x, const char *name, const pithp_kernel_reduction *r) {
    char element[PITHP_ELEMENT_NAME_BYTES];
    pithp_string_print(x->t,
                       "M_FN u64 %s_element(const %s_args *args, i64 i) {\n"
                       "    const %s_step_args *const a = &args->step;\n",
                       name, name, name);
    pithp_kernel_text_values(x, "    ");
    pithp_step_text_element(x, r->external, element);
    if (r->kind == PITHP_REDUCE_KERNEL_SEARCH)
        pithp_string_print(x->t, "    return m_load_number(&%s, %d, 0);\n}\n", element,
                           r->dtype);
    else
        pithp_string_print(x->t, "    return m_load_operand(&%s, %d, 0, %d);\n}\n",
                           element, r->dtype, r->operation);
}

void pithp_kernel_text_reduction(pithp_step_text *x,
                                 const char *name,
                                 const pithp_kernel_reduction *r) {
    static const char *const bodies[] = {[PITHP_REDUCE_KERNEL_LINES] = "LINES",
                                         [PITHP_REDUCE_KERNEL_TEAM] = "TEAM",
                                         [PITHP_REDUCE_KERNEL_LANES] = "LANES",
                                         [PITHP_REDUCE_KERNEL_SEARCH] = "SEARCH"};
    char step[PITHP_STEP_NAME_BYTES + sizeof "_step"];
    snprintf(step, sizeof step, "%s_step", name);
    if (x->a->op_count == 0) { /* there are no ops to find it by */
        x->is_read[r->external] = true;
        x->dtype[r->external] = (pith_dtype)r->dtype;
    }
    pithp_kernel_text_arguments(x, step);
    pithp_string_print(x->t,
                       "typedef struct %s_args {\n    m_reduce_args reduce;\n"
                       "    %s_args step;\n} %s_args;\n",
                       name, step, name);
    add_element(x, name, r);
    const bool by_lane =
        r->kind == PITHP_REDUCE_KERNEL_TEAM || r->kind == PITHP_REDUCE_KERNEL_LANES;
    if (by_lane)
        pithp_string_print(x->t, "M_LANE_OF(%s, %s_args, %s_element, %d, %d)\n", name,
                           name, name, r->operation, r->dtype);
    pithp_string_print(x->t, "M_REDUCE_%s(%s, %s_args, %s_%s, %d, %d, %d)\n",
                       bodies[r->kind], name, name, name, by_lane ? "lane" : "element",
                       r->operation, r->dtype, r->to_dtype);
}
