/* Programs that are put into others can be taken out again. */
#include "program/ir/program.h"
#include "random_file.h"

/* Put p into another program behind its first value, which is p's first input, and take
 * it out from `since` instructions after the first: NULL where it reads others. */
static pithp_program *put_and_take(pith_scope *s, const pithp_program *p, int64_t since) {
    pithp_program *around = pithp_program_make(s);
    pithp_value inputs[RECIPE_MOST], outputs[RECIPE_MOST];
    for (int64_t k = 0; k < p->input_count; k++)
        inputs[k] = pithp_program_input(s, around, pithp_value_spec(p, p->inputs[k]));
    pithp_program_literal(s, around, pithp_spec(s, PITH_I8, 0, NULL), "");
    pithp_graph_walk from = {around, around->value_count, 0}, w = {p, 0, 0};
    cr_assert(pithp_program_inline(s, around, p, inputs, outputs));
    pithp_value v;
    const pithp_instruction *i;
    while (from.instruction < since && pithp_graph_next(&w, &v, &i))
        if (v >= p->input_count) {
            from.instruction += i != NULL;
            from.value += i ? i->result_count : 1;
        }
    pithp_program *taken =
        pithp_program_extract(s, from, p->input_count, inputs, p->output_count, outputs);
    pt_ok(s);
    pithp_program_release(around);
    return taken;
}

Test(extract, what_is_put_into_another_can_be_taken_out) {
    pith_runtime *rt = pt_open();
    int64_t less = 0;
    for (int k = 0; k < 200; k++) {
        pith_scope *s = pith_scope_open(rt);
        recipe *r = recipe_make(s, pt_series_first(700000) + (uint64_t)k, 6 + k % 50);
        pithp_program *p = recipe_program(r);
        pithp_program *all = put_and_take(s, p, 0), *rest = put_and_take(s, p, 1);
        cr_assert(all && pithp_program_equal(all, p));
        cr_assert(all->has_effects == p->has_effects);
        less += !rest;
        pithp_program_release(rest);
        pithp_program_release(all);
        pithp_program_release(p);
        recipe_free(r);
        pith_scope_close(s);
    }
    cr_assert(less > 20, "programs that read the instruction that was left: %lld",
              (long long)less);
    pt_close(rt);
}
