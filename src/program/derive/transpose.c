/* Transposition of linear programs: a walk from the last instruction to the first adds
 * the cotangents of operands. */
#include "program/derive/control.h"
#include "program/derive/split.h"

#include <string.h>

typedef struct transposition {
    pithp_derivation d;
    const pithp_program *from;
    bool *linear;
    pithp_value *names;      /* of values that depend on no tangent: their copies */
    pithp_value *cotangents; /* of linear values: the sum so far, or PITHP_ABSENT */
    pithp_value *operands;   /* copies of the known operands of an instruction */
} transposition;

/* Tangents of rows are linear; those of a rule of the user may not be. */
static pithp_value refuse(pithp_derivation *d, const pithp_moving_call *c, int k) {
    pithp_fail_at(d->s, PITH_E_DERIVATIVE, NULL, c->i->site,
                  "the tangent of a rule is not linear: %s is not linear in operand %d",
                  pithp_ops[c->i->primitive].name, k);
    return -1;
}

/* ---- Elementwise rows ---- */

/* The rows that tangent formulas use, in an operand that they are linear in. */
static pithp_value
elementwise(pithp_derivation *d, const pithp_moving_call *c, pithp_value ct, int k) {
    const pithp_primitive op = c->i->primitive;
    if (op == PITHP_OP_ADD)
        return ct;
    if (op == PITHP_OP_SUB)
        return k == 0 ? ct : pithp_derive_1(d, PITHP_OP_NEG, ct);
    if (op == PITHP_OP_NEG)
        return pithp_derive_1(d, PITHP_OP_NEG, ct);
    if (op == PITHP_OP_MUL || op == PITHP_OP_MUL_STRONG)
        return pithp_derive_2(d, op, ct, c->operands[1 - k]);
    if (k == 0 &&
        (op == PITHP_OP_DIV || op == PITHP_OP_DIV_STRONG || op == PITHP_OP_LDEXP))
        return pithp_derive_2(d, op, ct, c->operands[1]);
    if (op == PITHP_OP_WHERE && k > 0) {
        const pithp_value zero = pithp_derive_number(d, 0);
        return pithp_derive_3(d, op, c->operands[0], k == 1 ? ct : zero,
                              k == 1 ? zero : ct);
    }
    return refuse(d, c, k);
}

/* The cotangent of operand k, with its spec. */
static pithp_value
cotangent_of(transposition *t, const pithp_moving_call *c, pithp_value ct, int k) {
    pithp_derivation *d = &t->d;
    const pith_spec *spec = pithp_value_spec(t->from, pithp_operands(t->from, c->i)[k]);
    const pithp_tangent_row row = pithp_tangent_of(c->i->primitive);
    d->dtype = spec->dtype;
    if (pithp_is_elementwise(c->i->primitive))
        return pithp_derive_unbroadcast(d, elementwise(d, c, ct, k), spec);
    if (row.kind == PITHP_TANGENT_PASSED)
        return ct;
    if (row.transpose && pithp_set_has(row.set, c->i->operand_count, k))
        return row.transpose(d, c, ct, k);
    return refuse(d, c, k);
}

/* ---- The walk ---- */

static bool copy_known(transposition *t) {
    pithp_graph_walk w = {t->from, 0, 0};
    pithp_value v;
    const pithp_instruction *i;
    bool fine = true;
    while (fine && pithp_graph_next(&w, &v, &i))
        if (i ? i->result_count && !t->linear[v]
              : t->from->values[v].origin == PITHP_FROM_CONSTANT)
            fine =
                pithp_copy_value(t->d.s, t->d.to, t->from, v, i, t->names, t->operands);
    return fine;
}

/* Operands from the last to the first: later uses come first in the sum. */
static bool transpose_instruction(transposition *t, const pithp_instruction *i) {
    const pithp_value ct = i->result_count ? t->cotangents[i->result] : PITHP_ABSENT;
    const pithp_value *of = pithp_operands(t->from, i);
    for (int k = 0; k < i->operand_count; k++)
        t->operands[k] = t->linear[of[k]] ? PITHP_ABSENT : t->names[of[k]];
    const pithp_moving_call c = {.i = i, .from = t->from, .operands = t->operands};
    t->d.site = i->site;
    if (i->result_count && t->linear[i->result] &&
        pithp_op_has(i->primitive, PITHP_TRAIT_REGIONS))
        return pithp_transpose_control(&t->d, &c, t->cotangents);
    if (t->linear[i->result] && i->primitive == PITHP_OP_RULE)
        return pithp_transpose_rule(&t->d, &c, t->cotangents);
    if (ct == PITHP_ABSENT || !t->linear[i->result])
        return true;
    for (int k = i->operand_count; k-- > 0;) {
        if (!t->linear[of[k]])
            continue;
        const pithp_value part = cotangent_of(t, &c, ct, k);
        t->cotangents[of[k]] =
            part == -1 ? -1 : pithp_derive_sum(&t->d, t->cotangents[of[k]], part);
        if (t->cotangents[of[k]] == -1)
            return false;
    }
    return true;
}

static bool begin(transposition *t, const bool *marks) {
    const pithp_program *p = t->from;
    bool fine = true;
    for (pithp_value v = 0; v < p->value_count; v++)
        t->cotangents[v] = PITHP_ABSENT;
    pithp_colour(p, marks, t->linear);
    for (int64_t k = 0; k < p->input_count && fine; k++)
        fine = marks[k] || (t->names[p->inputs[k]] = pithp_program_input(
                                t->d.s, t->d.to, pithp_value_spec(p, p->inputs[k]))) >= 0;
    return fine;
}

/* One cotangent for each output; an output may be a value that others are too. */
static bool add_cotangents(transposition *t) {
    const pithp_program *p = t->from;
    const pithp_value first = (pithp_value)t->d.to->value_count;
    bool fine = true;
    for (int64_t k = 0; k < p->output_count && fine; k++)
        fine =
            pithp_program_input(t->d.s, t->d.to, pithp_value_spec(p, p->outputs[k])) >= 0;
    for (int64_t k = p->output_count; k-- > 0 && fine;) {
        pithp_value *ct = &t->cotangents[p->outputs[k]];
        if (t->linear[p->outputs[k]])
            fine = (*ct = pithp_derive_sum(&t->d, *ct, first + (pithp_value)k)) != -1;
    }
    return fine;
}

static bool run(transposition *t, const bool *marks, bool *reaches) {
    const pithp_program *p = t->from;
    bool fine = begin(t, marks) && add_cotangents(t) && copy_known(t);
    for (int64_t n = p->instruction_count; n-- > 0 && fine;)
        fine = transpose_instruction(t, &p->instructions[n]);
    for (int64_t k = 0; k < p->input_count && fine; k++) {
        const pithp_value ct = marks[k] ? t->cotangents[p->inputs[k]] : PITHP_ABSENT;
        reaches[k] = ct >= 0;
        fine = ct < 0 || pithp_program_output(t->d.s, t->d.to, ct);
    }
    return fine;
}

pithp_program *pithp_program_transpose(pith_scope *s,
                                       const pithp_program *linear,
                                       const bool *marks,
                                       bool *reaches) {
    const size_t n = (size_t)linear->value_count + 1,
                 most = (size_t)pithp_most_operands(linear);
    const size_t bytes = (2 * n + most) * sizeof(pithp_value) + n * sizeof(bool);
    pithp_value *memory = pithp_allocate(s->runtime, bytes);
    if (!memory) {
        pithp_fail_memory(s, bytes);
        return NULL;
    }
    transposition t = {.d = {.s = s, .to = pithp_program_make(s)},
                       .from = linear,
                       .names = memory,
                       .cotangents = memory + n,
                       .operands = memory + 2 * n,
                       .linear = (bool *)(memory + 2 * n + most)};
    const bool fine = t.d.to && run(&t, marks, reaches);
    pithp_release(s->runtime, memory, bytes);
    if (fine) {
        PITHP_VERIFY(t.d.to);
        return t.d.to;
    }
    pithp_program_release(t.d.to);
    return NULL;
}
