/* Fast math: a product and the sum it is added to are rounded once (FMA
 * contraction), and functions take forms within 4 ulp. As this is a pass, the
 * interpreter, compiled code and CUDA compute the same. f16 and bf16 keep their products,
 * which are rounded to them. */
#include "program/host/math/math.h"
#include "program/pass/pass.h"

static const struct {
    pithp_primitive exact, fast;
} forms[] = {
    {PITHP_OP_LOG, PITHP_OP_FAST_LOG},     {PITHP_OP_LOG2, PITHP_OP_FAST_LOG2},
    {PITHP_OP_SIN, PITHP_OP_FAST_SIN},     {PITHP_OP_COS, PITHP_OP_FAST_COS},
    {PITHP_OP_ASIN, PITHP_OP_FAST_ASIN},   {PITHP_OP_ACOS, PITHP_OP_FAST_ACOS},
    {PITHP_OP_ATAN, PITHP_OP_FAST_ATAN},   {PITHP_OP_TANH, PITHP_OP_FAST_TANH},
    {PITHP_OP_POWER, PITHP_OP_FAST_POWER},
};

pithp_primitive pithp_fast_form(pithp_primitive exact) {
    for (int i = 0; i < PITHP_COUNT(forms); i++)
        if (forms[i].exact == exact)
            return forms[i].fast;
    return exact;
}

/* The product that a value is, with the call's shape; false: it is not a product. */
static bool is_product(const pithp_program *p,
                       const pithp_proposal *c,
                       pithp_value v,
                       pithp_value factors[2]) {
    const pithp_instruction *i = pithp_maker(p, v);
    if (!i || pithp_value_spec(p, v) != c->spec ||
        (i->primitive != PITHP_OP_MUL && i->primitive != PITHP_OP_SQUARE))
        return false;
    factors[0] = pithp_operands(p, i)[0];
    factors[1] = pithp_operands(p, i)[i->primitive == PITHP_OP_MUL];
    return true;
}

static void contract(pithp_proposal *c,
                     pithp_primitive to,
                     pithp_value factors[2],
                     pithp_value other) {
    c->new_operands[0] = factors[0];
    c->new_operands[1] = factors[1];
    c->new_operands[2] = other;
    c->operands = c->new_operands;
    c->primitive = to;
    c->count = 3;
}

void pithp_relax(const pithp_program *p, pithp_proposal *c) {
    const bool adds = c->primitive == PITHP_OP_ADD,
               subtracts = c->primitive == PITHP_OP_SUB;
    pithp_value factors[2];
    if (!c->spec || !pith_dtype_is_float(c->spec->dtype))
        return;
    c->primitive = pithp_fast_form(c->primitive);
    if ((!adds && !subtracts) || pith_dtype_size(c->spec->dtype) < sizeof(float) ||
        !pithp_math_has_fma())
        return;
    const pithp_value x = c->operands[0], y = c->operands[1];
    if (is_product(p, c, x, factors))
        contract(c, adds ? PITHP_OP_FMA : PITHP_OP_FMS, factors, y);
    else if (is_product(p, c, y, factors))
        contract(c, adds ? PITHP_OP_FMA : PITHP_OP_FNMA, factors, x);
}
