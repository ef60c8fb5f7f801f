/* Programs as text, for people and for tests. */
#include "program/graph/graph.h"

enum { MOST_ELEMENTS = 4 };

static void add_spec(const pith_spec *spec, pithp_text *text) {
    char buffer[PITHP_SPEC_TEXT_BYTES];
    pithp_text_add(text, pithp_spec_print(spec, buffer));
}

static void add_inputs(const pithp_program *p, pithp_text *text) {
    pithp_text_add(text, "program(");
    for (int64_t i = 0; i < p->input_count; i++) {
        pithp_text_print(text, "%s%%%d: ", i ? ", " : "", p->inputs[i]);
        add_spec(p->values[p->inputs[i]].spec, text);
    }
    pithp_text_add(text, ") {\n");
}

/* The first elements of a literal, so that they read back as the same bits. */
static void add_literal(const pith_spec *spec, const char *data, pithp_text *text) {
    const int64_t shown = spec->count < MOST_ELEMENTS ? spec->count : MOST_ELEMENTS;
    for (int64_t i = 0; i < shown; i++)
        pithp_text_print(
            text, "%s%.17g", i ? ", " : " ",
            pithp_dtype_decode(spec->dtype,
                               data + (size_t)i * pith_dtype_size(spec->dtype)));
    if (spec->count > shown)
        pithp_text_add(text, ", ...");
}

static void
add_constant(const pithp_program *p, const pithp_constant *c, pithp_text *text) {
    const pith_spec *spec = p->values[c->value].spec;
    pithp_text_print(text, "  %%%d = constant ", c->value);
    add_spec(spec, text);
    if (c->buffer)
        pithp_text_add(text, " in a buffer");
    else
        add_literal(spec, c->data, text);
    pithp_text_add(text, "\n");
}

static void
add_instruction(const pithp_program *p, const pithp_instruction *i, pithp_text *text) {
    pithp_text_print(text, "  %%%d = %s", i->result, pithp_rows[i->primitive].name);
    for (int k = 0; k < i->operand_count; k++)
        pithp_text_print(text, "%s%%%d", k ? ", " : " ", pithp_operands(p, i)[k]);
    if (i->params) {
        const pith_spec *first =
            i->operand_count ? p->values[pithp_operands(p, i)[0]].spec : NULL;
        const pithp_call call = {i->primitive, i->operand_count, &first, i->params};
        pithp_text_add(text, " ");
        pithp_params_text(&call, text);
    }
    pithp_text_add(text, " : ");
    add_spec(p->values[i->result].spec, text);
    pithp_text_add(text, "\n");
}

void pithp_program_text(const pithp_program *p, pithp_text *text) {
    add_inputs(p, text);
    for (int64_t v = 0; v < p->value_count; v++) {
        const pithp_node *n = &p->values[v];
        if (n->origin == PITHP_FROM_CONSTANT)
            add_constant(p, &p->constants[n->at], text);
        else if (n->origin == PITHP_FROM_INSTRUCTION)
            add_instruction(p, &p->instructions[n->at], text);
    }
    pithp_text_add(text, "  return");
    for (int64_t i = 0; i < p->output_count; i++)
        pithp_text_print(text, "%s%%%d", i ? ", " : " ", p->outputs[i]);
    pithp_text_add(text, "\n}\n");
}
