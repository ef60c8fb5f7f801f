/* Elementwise rows against golden values, in every instruction set and range split. */
#include "call.h"

/* The row for a golden operation on a dtype; the table names some differently. */
static pithp_primitive row_of(const char *op) {
    static const char *const names[][2] = {{"round_half_even", "round"},
                                           {"trunc_divide", "div"},
                                           {"trunc_remainder", "fmod"},
                                           {"power_negative", "power"},
                                           {"frexp", "frexp_mantissa"}};
    for (int i = 0; i < PITHP_COUNT(names); i++)
        if (!strcmp(op, names[i][0]))
            return call_primitive(names[i][1]);
    return call_primitive(op);
}

/* ldexp's exponents are integers in the cases, of the mantissas' dtype in the row. */
static void convert_exponents(call *c, call *cast, pithp_cast_params *to) {
    to->dtype = c->specs[0]->dtype;
    *cast = (call){.primitive = PITHP_OP_CAST,
                   .count = 1,
                   .specs = {c->specs[1]},
                   .data = {c->data[1]},
                   .params = to};
    cr_assert(call_run(cast) == PITH_OK);
    c->specs[1] = &cast->result;
    c->data[1] = cast->out;
}

static int run_family(const char *family, int *ran) {
    const golden_family *g = golden_open(family);
    int failed = 0;
    for (const golden_json *one = golden_next(g, NULL); one; one = golden_next(g, one)) {
        const char *op = golden_text(one, "op");
        const bool wide = !strcmp(op, "shift_wide") || !strcmp(op, "divide_by_zero");
        call c = {.primitive =
                      row_of(wide ? golden_text(golden_get(one, "params"), "of") : op)};
        if (c.primitive == PITHP_PRIMITIVE_COUNT || !golden_get(one, "out"))
            continue;
        for (c.count = 0; golden_tensor_of(g, one, "in", c.count); c.count++) {
            const golden_tensor *t = golden_tensor_of(g, one, "in", c.count);
            c.specs[c.count] = &t->spec;
            c.data[c.count] = t->data;
        }
        pithp_cast_params to;
        call exponents = {0};
        if (c.primitive == PITHP_OP_LDEXP)
            convert_exponents(&c, &exponents, &to);
        for (int isa = 0; isa < PITHP_ISA_COUNT; isa++) {
            static const int64_t splits[] = {0, 1, 7, 100};
            for (int k = 0; k < 4 && call_isa_runs((pithp_isa)isa); k++) {
                c.isa = (pithp_isa)isa;
                c.split = splits[k];
                call_run(&c);
                failed += !call_agrees(&c, g, one, 0);
                call_free(&c);
            }
        }
        call_free(&exponents);
        ++*ran;
    }
    return failed;
}

Test(elementwise, gives_the_golden_values_exactly) {
    int ran = 0;
    cr_expect(run_family("elementwise", &ran) == 0);
    cr_expect(ran > 600, "only %d cases ran", ran);
}

Test(elementwise, keeps_transcendentals_within_their_bounds) {
    int ran = 0;
    cr_expect(run_family("transcendental", &ran) == 0);
    cr_expect(ran > 250, "only %d cases ran", ran);
}
