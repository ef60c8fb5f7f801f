/* Structural equality and hashing of programs. */
#include "program/ir/program.h"

#include <string.h>

static uint64_t hash_constant(uint64_t hash, const pithp_program *p, int64_t at) {
    const pithp_constant *c = &p->constants[at];
    if (c->buffer)
        return pithp_hash(hash, &c->data, sizeof c->data);
    return pithp_hash(hash, c->data, p->values[c->value].spec->bytes);
}

static uint64_t hash_instruction(uint64_t hash, const pithp_program *p, int64_t at) {
    const pithp_instruction *i = &p->instructions[at];
    const int32_t head[4] = {(int32_t)i->primitive, i->operand_count, i->result_count,
                             i->program_count};
    hash = pithp_hash(hash, head, sizeof head);
    if (i->operand_count)
        hash = pithp_hash(hash, pithp_operands(p, i),
                          (size_t)i->operand_count * sizeof(pithp_value));
    for (int k = 0; k < i->program_count; k++) {
        const uint64_t inner = pithp_program_hash(i->programs[k]);
        hash = pithp_hash(hash, &inner, sizeof inner);
    }
    return i->params ? pithp_hash(hash, i->params, pithp_params_bytes(i->primitive))
                     : hash;
}

uint64_t pithp_program_hash(const pithp_program *p) {
    uint64_t hash = (uint64_t)p->value_count;
    for (int64_t v = 0; v < p->value_count; v++) {
        const pithp_value_info *n = &p->values[v];
        hash = pithp_hash(hash, &n->spec, sizeof n->spec); /* interned */
        if (n->origin == PITHP_FROM_CONSTANT)
            hash = hash_constant(hash, p, n->at);
    }
    for (int64_t k = 0; k < p->instruction_count; k++)
        hash = hash_instruction(hash, p, k);
    return p->output_count ? pithp_hash(hash, p->outputs,
                                        (size_t)p->output_count * sizeof *p->outputs)
                           : hash;
}

static bool same_constant(const pithp_program *a, const pithp_program *b, int64_t at) {
    const pithp_constant *x = &a->constants[at], *y = &b->constants[at];
    if (x->buffer || y->buffer)
        return x->buffer == y->buffer && x->data == y->data;
    return memcmp(x->data, y->data, a->values[x->value].spec->bytes) == 0;
}

static bool same_instruction(const pithp_program *a, const pithp_program *b, int64_t at) {
    const pithp_instruction *x = &a->instructions[at], *y = &b->instructions[at];
    if (x->primitive != y->primitive || x->operand_count != y->operand_count ||
        x->result != y->result || x->result_count != y->result_count ||
        x->program_count != y->program_count)
        return false;
    for (int k = 0; k < x->operand_count; k++)
        if (pithp_operands(a, x)[k] != pithp_operands(b, y)[k])
            return false;
    for (int k = 0; k < x->program_count; k++)
        if (x->programs[k] != y->programs[k] &&
            !pithp_program_equal(x->programs[k], y->programs[k]))
            return false;
    return !x->params ||
           memcmp(x->params, y->params, pithp_params_bytes(x->primitive)) == 0;
}

bool pithp_program_equal(const pithp_program *a, const pithp_program *b) {
    if (a->runtime != b->runtime || a->value_count != b->value_count ||
        a->instruction_count != b->instruction_count ||
        a->output_count != b->output_count)
        return false;
    for (int64_t v = 0; v < a->value_count; v++) {
        const pithp_value_info *x = &a->values[v], *y = &b->values[v];
        if (x->spec != y->spec || x->origin != y->origin || x->at != y->at)
            return false;
        if (x->origin == PITHP_FROM_CONSTANT && !same_constant(a, b, x->at))
            return false;
    }
    for (int64_t k = 0; k < a->instruction_count; k++)
        if (!same_instruction(a, b, k))
            return false;
    for (int64_t i = 0; i < a->output_count; i++)
        if (a->outputs[i] != b->outputs[i])
            return false;
    return true;
}
