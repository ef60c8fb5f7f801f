/* Program printer: text for people and for tests. */
#include "program/ir/program.h"

enum { MOST_ELEMENTS = 4 };

static void add_spec(const pith_spec *spec, pithp_string *text) {
    char buffer[PITHP_SPEC_TEXT_BYTES];
    pithp_string_add(text, pithp_spec_print(spec, buffer));
}

static void add_margin(int depth, pithp_string *text) {
    pithp_string_print(text, "%*s", 2 * depth, "");
}

static void add_inputs(const pithp_program *p, pithp_string *text) {
    pithp_string_add(text, "program(");
    for (int64_t i = 0; i < p->input_count; i++) {
        pithp_string_print(text, "%s%%%d: ", i ? ", " : "", p->inputs[i]);
        add_spec(p->values[p->inputs[i]].spec, text);
    }
    pithp_string_add(text, ") {\n");
}

/* Print the first elements of a literal, with enough digits to read back the same bits.
 */
static void add_literal(const pith_spec *spec, const char *data, pithp_string *text) {
    const int64_t shown = spec->count < MOST_ELEMENTS ? spec->count : MOST_ELEMENTS;
    for (int64_t i = 0; i < shown; i++) {
        pithp_string_add(text, i ? ", " : " ");
        pithp_string_add_element(text, spec->dtype,
                                 data + (size_t)i * pith_dtype_size(spec->dtype));
    }
    if (spec->count > shown)
        pithp_string_add(text, ", ...");
}

static void
add_constant(const pithp_program *p, const pithp_constant *c, pithp_string *text) {
    const pith_spec *spec = p->values[c->value].spec;
    pithp_string_print(text, "%%%d = constant ", c->value);
    add_spec(spec, text);
    if (c->buffer)
        pithp_string_add(text, " in a buffer");
    else
        add_literal(spec, c->data, text);
    pithp_string_add(text, "\n");
}

static void
add_instruction(const pithp_program *p, const pithp_instruction *i, pithp_string *text) {
    for (int k = 0; k < i->result_count; k++)
        pithp_string_print(text, "%s%%%d", k ? ", " : "", i->result + k);
    pithp_string_print(text, "%s%s", i->result_count ? " = " : "",
                       pithp_ops[i->primitive].name);
    for (int k = 0; k < i->operand_count; k++)
        pithp_string_print(text, "%s%%%d", k ? ", " : " ", pithp_operands(p, i)[k]);
    if (i->params) {
        const pith_spec *first =
            i->operand_count ? p->values[pithp_operands(p, i)[0]].spec : NULL;
        const pithp_call call =
            pithp_call_of(i->primitive, i->operand_count, &first, i->params);
        pithp_string_add(text, " ");
        pithp_params_text(&call, text);
    }
    for (int k = 0; k < i->result_count; k++) {
        pithp_string_add(text, k ? ", " : " : ");
        add_spec(p->values[i->result + k].spec, text);
    }
    pithp_string_add(text, "\n");
}

static void add_program(const pithp_program *p, int depth, pithp_string *text) {
    pithp_graph_walk walk = {.program = p};
    const pithp_instruction *i;
    pithp_value v;
    add_inputs(p, text);
    while (pithp_graph_next(&walk, &v, &i)) {
        if (!i && p->values[v].origin == PITHP_FROM_INPUT)
            continue;
        add_margin(depth + 1, text);
        if (i)
            add_instruction(p, i, text);
        else
            add_constant(p, &p->constants[p->values[v].at], text);
        for (int k = 0; i && k < i->program_count; k++) {
            add_margin(depth + 2, text);
            pithp_string_print(text, "%d: ", k);
            add_program(i->programs[k], depth + 2, text);
        }
    }
    add_margin(depth + 1, text);
    pithp_string_add(text, "return");
    for (int64_t k = 0; k < p->output_count; k++)
        pithp_string_print(text, "%s%%%d", k ? ", " : " ", p->outputs[k]);
    pithp_string_add(text, "\n");
    add_margin(depth, text);
    pithp_string_add(text, "}\n");
}

void pithp_program_text(const pithp_program *p, pithp_string *text) {
    add_program(p, 0, text);
}
