/* Elementwise operations: exact ones and transcendental functions. */
#include "oracle.h"

#include <string.h>

static void run_clip(pith_scope *s, const oracle_row *row, oracle_call *call) {
    (void)row;
    oracle_give(call, pith_clip(s, call->in[0], call->in[1], call->in[2]));
}

static void run_where(pith_scope *s, const oracle_row *row, oracle_call *call) {
    (void)row;
    oracle_give(call, pith_where(s, call->in[0], call->in[1], call->in[2]));
}

static void run_frexp(pith_scope *s, const oracle_row *row, oracle_call *call) {
    (void)row;
    call->out[0] = pith_frexp(s, call->in[0], &call->out[1]);
    call->results = 2;
}

/* Run the operation named by params.of. */
static void run_named(pith_scope *s, const oracle_row *row, oracle_call *call) {
    const char *name = oracle_text(call, "of");
    for (const oracle_row *other = oracle_elementwise; other->op; other++)
        if (other != row && !strcmp(other->op, name)) {
            other->run(s, other, call);
            return;
        }
    oracle_trouble(call, "no operation \"%s\"", name);
}

const oracle_row oracle_elementwise[] = {
    ORACLE_UNARY("neg", pith_neg),
    ORACLE_UNARY("abs", pith_abs),
    ORACLE_UNARY("sign", pith_sign),
    ORACLE_UNARY("floor", pith_floor),
    ORACLE_UNARY("ceil", pith_ceil),
    ORACLE_UNARY("round_half_even", pith_round),
    ORACLE_UNARY("trunc", pith_trunc),
    ORACLE_UNARY("sqrt", pith_sqrt),
    ORACLE_UNARY("square", pith_square),
    ORACLE_UNARY("reciprocal", pith_reciprocal),
    ORACLE_UNARY("is_nan", pith_is_nan),
    ORACLE_UNARY("is_inf", pith_is_inf),
    ORACLE_UNARY("is_finite", pith_is_finite),
    ORACLE_UNARY("signbit", pith_signbit),
    ORACLE_UNARY("nan_to_num", pith_nan_to_num),
    ORACLE_UNARY("logical_not", pith_logical_not),
    ORACLE_UNARY("bitwise_not", pith_bitwise_not),
    ORACLE_UNARY("population_count", pith_population_count),
    ORACLE_UNARY("count_leading_zeros", pith_count_leading_zeros),
    {.op = "frexp", .run = run_frexp},
    ORACLE_BINARY("ldexp", pith_ldexp),
    ORACLE_BINARY("add", pith_add),
    ORACLE_BINARY("sub", pith_sub),
    ORACLE_BINARY("mul", pith_mul),
    ORACLE_BINARY("div", pith_div),
    ORACLE_BINARY("min", pith_minimum),
    ORACLE_BINARY("max", pith_maximum),
    ORACLE_BINARY("fmin", pith_fmin),
    ORACLE_BINARY("fmax", pith_fmax),
    ORACLE_BINARY("remainder", pith_remainder),
    ORACLE_BINARY("fmod", pith_fmod),
    ORACLE_BINARY("floor_divide", pith_floor_divide),
    ORACLE_BINARY("trunc_divide", pith_trunc_divide),
    ORACLE_BINARY("trunc_remainder", pith_fmod),
    {.op = "divide_by_zero", .run = run_named},
    ORACLE_BINARY("copysign", pith_copysign),
    ORACLE_BINARY("nextafter", pith_nextafter),
    ORACLE_BINARY("eq", pith_equal),
    ORACLE_BINARY("ne", pith_not_equal),
    ORACLE_BINARY("lt", pith_less),
    ORACLE_BINARY("le", pith_less_equal),
    ORACLE_BINARY("gt", pith_greater),
    ORACLE_BINARY("ge", pith_greater_equal),
    ORACLE_BINARY("logical_and", pith_logical_and),
    ORACLE_BINARY("logical_or", pith_logical_or),
    ORACLE_BINARY("logical_xor", pith_logical_xor),
    ORACLE_BINARY("bitwise_and", pith_bitwise_and),
    ORACLE_BINARY("bitwise_or", pith_bitwise_or),
    ORACLE_BINARY("bitwise_xor", pith_bitwise_xor),
    ORACLE_BINARY("shift_left", pith_shift_left),
    ORACLE_BINARY("shift_right", pith_shift_right),
    ORACLE_BINARY("shift_right_logical", pith_shift_right_logical),
    {.op = "shift_wide", .run = run_named},
    ORACLE_BINARY("power", pith_pow),
    ORACLE_BINARY("power_negative", pith_pow),
    {.op = "clip", .run = run_clip},
    {.op = "where", .run = run_where},

    ORACLE_UNARY("exp", pith_exp),
    ORACLE_UNARY("exp2", pith_exp2),
    ORACLE_UNARY("expm1", pith_expm1),
    ORACLE_UNARY("log", pith_log),
    ORACLE_UNARY("log2", pith_log2),
    ORACLE_UNARY("log10", pith_log10),
    ORACLE_UNARY("log1p", pith_log1p),
    ORACLE_UNARY("sin", pith_sin),
    ORACLE_UNARY("cos", pith_cos),
    ORACLE_UNARY("tan", pith_tan),
    ORACLE_UNARY("asin", pith_asin),
    ORACLE_UNARY("acos", pith_acos),
    ORACLE_UNARY("atan", pith_atan),
    ORACLE_UNARY("sinh", pith_sinh),
    ORACLE_UNARY("cosh", pith_cosh),
    ORACLE_UNARY("tanh", pith_tanh),
    ORACLE_UNARY("asinh", pith_asinh),
    ORACLE_UNARY("acosh", pith_acosh),
    ORACLE_UNARY("atanh", pith_atanh),
    ORACLE_UNARY("cbrt", pith_cbrt),
    ORACLE_UNARY("rsqrt", pith_rsqrt),
    ORACLE_UNARY("erf", pith_erf),
    ORACLE_UNARY("erfc", pith_erfc),
    ORACLE_UNARY("erf_inv", pith_erf_inv),
    ORACLE_UNARY("lgamma", pith_lgamma),
    ORACLE_UNARY("digamma", pith_digamma),
    ORACLE_UNARY("logistic", pith_logistic),
    ORACLE_BINARY("polygamma", pith_polygamma),
    ORACLE_BINARY("atan2", pith_atan2),
    ORACLE_BINARY("hypot", pith_hypot),
    ORACLE_BINARY("logaddexp", pith_logaddexp),
    {.op = NULL},
};
