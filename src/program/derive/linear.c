/* Linear programs, such as the tangent of a rule of the user. They are not derived: a
 * value that depends on a moving input is the tangent itself, and the row that makes it
 * is applied to tangents. In place of the value there are zeros, which nothing reads. So
 * the program can be split like a derived one, and then be transposed. */
#include "program/derive/control.h"
#include "program/derive/split.h"
#include "program/ir/region.h"

#include <string.h>

const uint64_t *
pithp_dependent(pith_scope *s, const pithp_program *p, const bool *moving) {
    const size_t bytes = ((size_t)p->value_count + 1) * sizeof(uint64_t);
    uint64_t *marks = pithp_scope_allocate(s, bytes);
    if (!marks)
        return NULL;
    memset(marks, 0, bytes);
    for (int64_t k = 0; k < p->input_count; k++)
        marks[p->inputs[k]] = moving[k];
    return pithp_program_follow(s, p, marks) ? marks : NULL;
}

/* ---- Rows ---- */

static bool is_float(const pithp_program *p, pithp_value v) {
    return pith_dtype_is_float(pithp_value_spec(p, v)->dtype);
}

/* The elementwise rows that are linear in operand k. */
static bool elementwise_is_linear(pithp_primitive op, int k) {
    switch ((int)op) {
        case PITHP_OP_ADD:
        case PITHP_OP_SUB:
        case PITHP_OP_NEG:
        case PITHP_OP_MUL:
        case PITHP_OP_MUL_STRONG:
            return true;
        case PITHP_OP_DIV:
        case PITHP_OP_DIV_STRONG:
        case PITHP_OP_LDEXP:
            return k == 0;
        case PITHP_OP_WHERE:
            return k > 0;
        default:
            return false;
    }
}

static bool is_linear_in(const pithp_moving_call *c, int k) {
    const pithp_primitive op = c->i->primitive;
    const pithp_tangent_row row = pithp_tangent_of(op);
    if (!is_float(c->from, pithp_operands(c->from, c->i)[k]) ||
        !is_float(c->from, c->i->result))
        return false;
    if (pithp_is_elementwise(op))
        return elementwise_is_linear(op, k);
    return row.kind == PITHP_TANGENT_PASSED ||
           (row.transpose && pithp_set_has(row.set, c->i->operand_count, k));
}

static bool is_product(pithp_primitive op) {
    return op == PITHP_OP_MUL || op == PITHP_OP_MUL_STRONG ||
           pithp_tangent_of(op).kind == PITHP_TANGENT_BILINEAR;
}

int pithp_not_linear(const pithp_moving_call *c) {
    const pithp_primitive op = c->i->primitive;
    const bool product = is_product(op);
    int before = 0;
    for (int k = 0; k < c->i->operand_count; k++)
        if (c->tangents[k] >= 0 && (!is_linear_in(c, k) || (product && before++)))
            return k;
    return -1;
}

pithp_value
pithp_refuse_nonlinear(pithp_derivation *d, const pithp_moving_call *c, int k) {
    pithp_fail_at(d->s, PITH_E_DERIVATIVE, NULL, c->i->site,
                  "the tangent of a rule is not linear: %s is not linear in operand %d",
                  pithp_ops[c->i->primitive].name, k);
    return -1;
}

pithp_value pithp_linear_row(pithp_derivation *d, const pithp_moving_call *c) {
    pithp_instruction inner = *c->i;
    pithp_moving_call call = *c;
    if (c->i->primitive == PITHP_OP_STOP_GRADIENT) /* the identity */
        return c->tangents[0];
    if (c->i->primitive == PITHP_OP_CHECKED) { /* its report belongs to values alone */
        const pithp_checked_params *params = c->i->params;
        inner.primitive = params->primitive;
        inner.params = &params->index;
    }
    call.i = &inner;
    const int wrong = pithp_not_linear(&call);
    if (wrong >= 0)
        return pithp_refuse_nonlinear(d, &call, wrong);
    for (int k = 0; k < inner.operand_count; k++)
        c->scratch[k] = c->tangents[k] >= 0 ? c->tangents[k] : c->operands[k];
    return pithp_derive_call(d, inner.primitive, inner.operand_count, c->scratch,
                             inner.params);
}

/* ---- Programs ---- */

/* Whether an instruction is a row of its own, and not one that stands for programs. */
static bool is_row(const pithp_instruction *i) {
    return i->result_count && i->primitive != PITHP_OP_RULE &&
           i->primitive != PITHP_OP_STOP_GRADIENT &&
           !pithp_op_has(i->primitive, PITHP_TRAIT_REGIONS);
}

/* False: error set. tangents: scratch. */
static bool check_row(pith_scope *s,
                      const pithp_program *p,
                      const pithp_instruction *i,
                      const uint64_t *linear,
                      pithp_value *tangents) {
    pithp_instruction inner = *i;
    pithp_derivation d = {.s = s};
    const pithp_moving_call c = {.i = &inner, .from = p, .tangents = tangents};
    for (int k = 0; k < i->operand_count; k++)
        tangents[k] = linear[pithp_operands(p, i)[k]] ? 0 : PITHP_ABSENT;
    if (i->primitive == PITHP_OP_CHECKED) {
        const pithp_checked_params *params = i->params;
        inner.primitive = params->primitive;
        inner.params = &params->index;
    }
    const int wrong = pithp_not_linear(&c);
    return wrong < 0 || pithp_refuse_nonlinear(&d, &c, wrong) >= 0;
}

static bool
check_program(pith_scope *s, const pithp_program *p, const bool *inputs, bool all);

static bool refuse_decision(pith_scope *s, const pithp_instruction *i) {
    pithp_fail_at(
        s, PITH_E_DERIVATIVE, NULL, i->site,
        "the tangent of a rule is not linear: it decides how often a loop runs");
    return false;
}

/* Check the program that gives results, or the condition of a while: what depends on a
 * tangent there is what its operands do, and the carries. */
static bool check_region(pith_scope *s,
                         const pithp_program *p,
                         const pithp_instruction *i,
                         const pithp_regions *r,
                         int b,
                         const uint64_t *linear) {
    const pithp_program *inner = i->programs[b];
    bool *inputs = pithp_scope_allocate(s, (size_t)inner->input_count + 1),
         decides = false;
    for (int k = 0; inputs && k < inner->input_count; k++) {
        const int operand = pithp_region_operand(r, b, k),
                  carry = pithp_carry_of(r, operand);
        inputs[k] = linear[pithp_operands(p, i)[operand]] ||
                    (carry >= 0 && linear[i->result + carry]);
    }
    if (!inputs)
        return false;
    if (pithp_region_yields(r, b))
        return check_program(s, inner, inputs, true);
    return pithp_program_reach(s, inner, inputs, &decides) &&
           (!decides || refuse_decision(s, i));
}

static bool check_flow(pith_scope *s,
                       const pithp_program *p,
                       const pithp_instruction *i,
                       const uint64_t *linear) {
    const pithp_regions r = pithp_regions_of(i);
    pithp_derivation d = {.s = s};
    const pithp_moving_call c = {.i = i, .from = p};
    bool fine = i->primitive != PITHP_OP_COND || !linear[pithp_operands(p, i)[0]] ||
                pithp_refuse_nonlinear(&d, &c, 0) >= 0;
    for (int b = 0; b < i->program_count && fine; b++)
        fine = check_region(s, p, i, &r, b, linear);
    return fine;
}

/* Whether an instruction has programs to check: those of scans and branches are
 * linearized, and checked then, but for those in the body of a while without a record,
 * which computes values and tangents together. */
static bool is_mixed(const pithp_instruction *i, bool all) {
    return i->primitive == PITHP_OP_WHILE ||
           (all && pithp_op_has(i->primitive, PITHP_TRAIT_REGIONS));
}

/* What only checks read need not be linear. all: check all programs of control flow. */
static bool
check_program(pith_scope *s, const pithp_program *p, const bool *inputs, bool all) {
    const size_t n = (size_t)p->value_count + 1;
    bool *read = pithp_scope_allocate(s, n);
    const uint64_t *linear = read ? pithp_dependent(s, p, inputs) : NULL;
    pithp_value *tangents =
        pithp_scope_allocate(s, (size_t)pithp_most_operands(p) * sizeof *tangents);
    bool fine = linear && tangents;
    if (!fine)
        return false;
    memset(read, 0, n);
    for (int64_t k = 0; k < p->output_count; k++)
        read[p->outputs[k]] = true;
    for (int64_t k = p->instruction_count; k-- > 0 && fine;) {
        const pithp_instruction *i = &p->instructions[k];
        bool any = false, depends = false;
        for (int r = 0; r < i->result_count; r++) {
            any |= read[i->result + r];
            depends |= linear[i->result + r] != 0;
        }
        for (int o = 0; any && o < i->operand_count; o++)
            read[pithp_operands(p, i)[o]] = true;
        if (any && depends)
            fine = is_row(i)          ? check_row(s, p, i, linear, tangents)
                   : is_mixed(i, all) ? check_flow(s, p, i, linear)
                                      : true;
    }
    return fine;
}

bool pithp_check_linear(pith_scope *s, const pithp_program *p, const bool *inputs) {
    return check_program(s, p, inputs, false);
}

/* ---- Terms ---- */

/* What is known of a value in a program that is to be linear in some inputs: it is 0; it
 * may be; it does not depend on them, and nothing makes it 0; it depends on them. */
typedef enum term { ZERO, MAYBE_ZERO, GIVEN, MOVING } term;

static bool is_zero_literal(const pithp_program *p, pithp_value v) {
    const unsigned char *data = pithp_literal_of(p, v);
    const pith_spec *spec = pithp_value_spec(p, v);
    const size_t bytes = (size_t)spec->count * pith_dtype_size(spec->dtype);
    bool zero = data;
    for (size_t k = 0; k < bytes && zero; k++)
        zero = !(data[k] & 0x7f); /* or -0.0 */
    return zero;
}

static term term_of_constant(const pithp_program *p, pithp_value v) {
    return is_zero_literal(p, v) ? ZERO : pithp_literal_of(p, v) ? GIVEN : MAYBE_ZERO;
}

/* Whether zeros among operands make the result of a row 0. */
static bool
row_is_zero(const pithp_program *p, const pithp_instruction *i, const term *terms) {
    const pithp_moving_call c = {.i = i, .from = p};
    const bool casts =
        i->primitive == PITHP_OP_CAST || i->primitive == PITHP_OP_STOP_GRADIENT;
    bool any = false, all = true;
    for (int k = 0; k < i->operand_count; k++) {
        if (!casts && !is_linear_in(&c, k))
            continue;
        any |= terms[pithp_operands(p, i)[k]] == ZERO;
        all &= terms[pithp_operands(p, i)[k]] == ZERO;
    }
    return any && (all || is_product(i->primitive));
}

/* Of a row of others, whose zeros may have made a zero. */
static term term_of_row(const pithp_program *p,
                        const pithp_instruction *i,
                        const term *terms,
                        bool has_zeros) {
    if (i->primitive == PITHP_OP_FULL)
        return ((const pithp_full_params *)i->params)->value ? GIVEN : ZERO;
    const pithp_value *of = pithp_operands(p, i);
    const bool same = i->operand_count == 2 && of[0] == of[1]; /* a - a */
    return row_is_zero(p, i, terms) ? ZERO : has_zeros || same ? MAYBE_ZERO : GIVEN;
}

/* A row with zeros that is a sum is what its other operands are. */
static term
term_of(const pithp_program *p, const pithp_instruction *i, const term *terms) {
    const pithp_moving_call c = {.i = i, .from = p};
    bool maybe = !is_row(i) || i->primitive == PITHP_OP_KERNEL, zeros = false;
    for (int k = 0; k < i->operand_count; k++) {
        const term of = terms[pithp_operands(p, i)[k]];
        if (of == MOVING)
            return MOVING;
        maybe |= of == MAYBE_ZERO;
        zeros |= of == ZERO && i->result_count && !is_linear_in(&c, k);
    }
    if (i->primitive == PITHP_OP_STOP_GRADIENT)
        return terms[pithp_operands(p, i)[0]];
    return maybe ? is_row(i) && row_is_zero(p, i, terms) ? ZERO : MAYBE_ZERO
                 : term_of_row(p, i, terms, zeros);
}

/* An operand that adds what does not depend on the inputs to what does; or -1. */
static int
added_term(const pithp_program *p, const pithp_instruction *i, const term *terms) {
    const pithp_moving_call c = {.i = i, .from = p};
    for (int k = 0; is_row(i) && !is_product(i->primitive) && k < i->operand_count; k++)
        if (is_linear_in(&c, k) && terms[pithp_operands(p, i)[k]] == GIVEN)
            return k;
    return -1;
}

/* NULL: error set. */
static term *find_terms(pith_scope *s, const pithp_program *p, const bool *inputs) {
    term *terms = pithp_scope_allocate(s, ((size_t)p->value_count + 1) * sizeof *terms);
    pithp_graph_walk w = {p, 0, 0};
    pithp_value v;
    const pithp_instruction *i;
    while (terms && pithp_graph_next(&w, &v, &i)) {
        for (int k = 0; i && k < i->result_count; k++)
            terms[v + k] = term_of(p, i, terms);
        if (!i)
            terms[v] = p->values[v].origin != PITHP_FROM_INPUT ? term_of_constant(p, v)
                       : inputs[p->values[v].at]               ? MOVING
                                                               : GIVEN;
    }
    return terms;
}

bool pithp_check_terms(pith_scope *s,
                       const pithp_program *p,
                       const bool *inputs,
                       int64_t first,
                       const char *site) {
    const term *terms = find_terms(s, p, inputs);
    bool *read = pithp_scope_allocate(s, (size_t)p->value_count + 1),
         fine = terms && read;
    if (!fine)
        return false;
    memset(read, 0, (size_t)p->value_count);
    for (int64_t k = first; k < p->output_count && fine; k++) {
        const pithp_value v = p->outputs[k];
        read[v] = true;
        fine = !is_float(p, v) || terms[v] != GIVEN;
    }
    for (int64_t n = p->instruction_count; n-- > 0 && fine;) {
        const pithp_instruction *i = &p->instructions[n];
        bool any = false;
        for (int k = 0; k < i->result_count; k++)
            any |= read[i->result + k] && terms[i->result + k] == MOVING;
        for (int k = 0; any && k < i->operand_count; k++)
            read[pithp_operands(p, i)[k]] = true;
        if (any && added_term(p, i, terms) >= 0) {
            site = i->site;
            fine = false;
        }
    }
    if (!fine)
        pithp_fail_at(
            s, PITH_E_DERIVATIVE, NULL, site,
            "the tangent of a rule is not linear: it has a term that depends on "
            "no tangent and is not 0");
    return fine;
}

/* ---- Control flow ---- */

/* Whether the condition of a while reads an operand that moves. */
static bool decides(pith_scope *s, const pithp_instruction *i, const bool *operands) {
    const pithp_regions r = pithp_regions_of(i);
    const pithp_program *cond = i->programs[0];
    bool *inputs = pithp_scope_allocate(s, (size_t)cond->input_count + 1), result = true;
    for (int64_t k = 0; inputs && k < cond->input_count; k++)
        inputs[k] = operands[pithp_region_operand(&r, 0, (int)k)];
    return !inputs || !pithp_program_reach(s, cond, inputs, &result) || result;
}

bool pithp_linear_moves(pithp_derivation *d,
                        const pithp_moving_call *c,
                        bool *operands,
                        bool *results) {
    const pithp_regions r = pithp_regions_of(c->i);
    for (int k = 0; k < c->i->result_count; k++)
        results[k] = d->dependent[c->i->result + k] != 0;
    for (int k = 0; k < r.carries.count; k++)
        operands[r.carries.first + k] |= results[k];
    return c->i->primitive != PITHP_OP_WHILE || !decides(d->s, c->i, operands) ||
           refuse_decision(d->s, c->i);
}
