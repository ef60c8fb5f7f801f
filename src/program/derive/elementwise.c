/* Tangents of the elementwise rows: primitives.def has a formula for each operand, which
 * the macros below record as calls. */
#include "program/derive/rules.h"

#include <math.h>

/* What a formula may call. The first argument of the builder is in scope as d. */
#define CALL1(OP, x)           pithp_derive_1(d, PITHP_OP_##OP, x)
#define CALL2(OP, x, y)        pithp_derive_2(d, PITHP_OP_##OP, x, y)
#define num(x)                 pithp_derive_number(d, x)
#define add(x, y)              CALL2(ADD, x, y)
#define sub(x, y)              CALL2(SUB, x, y)
#define mul(x, y)              CALL2(MUL, x, y)
#define div(x, y)              CALL2(DIV, x, y)
#define mul_strong(x, y)       CALL2(MUL_STRONG, x, y)
#define div_strong(x, y)       CALL2(DIV_STRONG, x, y)
#define power(x, y)            CALL2(POWER, x, y)
#define max(x, y)              CALL2(MAX, x, y)
#define eq(x, y)               CALL2(EQ, x, y)
#define gt(x, y)               CALL2(GT, x, y)
#define copysign(x, y)         CALL2(COPYSIGN, x, y)
#define ldexp(x, y)            CALL2(LDEXP, x, y)
#define hypot(x, y)            CALL2(HYPOT, x, y)
#define where(c, x, y)         pithp_derive_3(d, PITHP_OP_WHERE, c, x, y)
#define neg(x)                 CALL1(NEG, x)
#define square(x)              CALL1(SQUARE, x)
#define sign(x)                CALL1(SIGN, x)
#define sqrt(x)                CALL1(SQRT, x)
#define floor(x)               CALL1(FLOOR, x)
#define trunc(x)               CALL1(TRUNC, x)
#define frexp_exponent(x)      CALL1(FREXP_EXPONENT, x)
#define exp(x)                 CALL1(EXP, x)
#define log(x)                 CALL1(LOG, x)
#define sin(x)                 CALL1(SIN, x)
#define cos(x)                 CALL1(COS, x)
#define sinh(x)                CALL1(SINH, x)
#define cosh(x)                CALL1(COSH, x)
#define digamma(x)             CALL1(DIGAMMA, x)
#define polygamma(n, x)        CALL2(POLYGAMMA, n, x)
#define share(x, other, r)     share_of(d, x, other, r)
#define slope_of_power(a, b)   slope_of(d, a, b)
#define rise_of_power(a, b, r) rise_of(d, a, b, r)
#define cosine(a, r)           cosine_of(d, a, r)
#define weight(a, b, r)        weight_of(d, a, b, r)
enum { OFF = PITHP_ABSENT, CUT_HERE = PITHP_ABSENT };

/* Of a minimum or maximum r of x and another: 1 if x is the result, 1/2 if both are, else
 * 0. */
static pithp_value
share_of(pithp_derivation *d, pithp_value x, pithp_value other, pithp_value r) {
    return where(eq(x, r), where(eq(x, other), num(0.5), num(1)), num(0));
}

/* The terms below are finite in branches that a where does not take, too: in reverse mode
 * their cotangents are 0, and 0 times infinity would be NaN. */

/* b a^(b-1), which is 0 where b is 0. Its derivative by b is not 0 there. */
static pithp_value slope_of(pithp_derivation *d, pithp_value a, pithp_value b) {
    const pithp_value p = power(a, sub(b, num(1)));
    return where(eq(b, num(0)), mul_strong(b, p), mul(b, p));
}

/* r log(a) of a power r. Where a is 0, it is 0 or negative infinity. */
static pithp_value
rise_of(pithp_derivation *d, pithp_value a, pithp_value b, pithp_value r) {
    const pithp_value zero = eq(a, num(0));
    return where(zero, where(gt(b, num(0)), num(0), num(-INFINITY)),
                 mul(r, log(where(zero, num(1), a))));
}

/* a / r, 0 where r is 0. */
static pithp_value cosine_of(pithp_derivation *d, pithp_value a, pithp_value r) {
    const pithp_value zero = eq(r, num(0));
    return where(zero, num(0), div(a, where(zero, num(1), r)));
}

/* exp(a - r) of the logarithm r of a sum of exp(a) and exp(b); 1/2 where all are
 * infinite. */
static pithp_value
weight_of(pithp_derivation *d, pithp_value a, pithp_value b, pithp_value r) {
    const pithp_value same = eq(a, r);
    return where(same, where(eq(a, b), num(0.5), num(1)),
                 exp(where(same, num(0), sub(a, r))));
}

#define TERM_0(e, ...)       e
#define TERM_1(a, e, ...)    e
#define TERM_2(a, b, e, ...) e

#define PITHP_ELEMENTWISE(ENUM, text, arity, types, result, real, integer, traits, KIND, \
                          ...)                                                           \
    TERMS_##KIND(ENUM, __VA_ARGS__)
#define TERMS_NONE(...)
#define TERMS_CUT(...)
#define TERMS_REFUSED(...)
#define TERMS_EACH(ENUM, ...)                                                            \
    static pithp_value term_##ENUM(pithp_derivation *d, const pithp_value operands[3],   \
                                   pithp_value r, pithp_value t, int k) {                \
        const pithp_value a = operands[0], b = operands[1], c = operands[2];             \
        (void)d, (void)a, (void)b, (void)c, (void)r, (void)t;                            \
        switch (k) {                                                                     \
            case 0:                                                                      \
                return TERM_0(__VA_ARGS__, OFF, OFF, OFF);                               \
            case 1:                                                                      \
                return TERM_1(__VA_ARGS__, OFF, OFF, OFF);                               \
            default:                                                                     \
                return TERM_2(__VA_ARGS__, OFF, OFF, OFF);                               \
        }                                                                                \
    }
#include "program/op/primitives.def"

#define PITHP_ELEMENTWISE(ENUM, text, arity, types, result, real, integer, traits, KIND, \
                          ...)                                                           \
    [PITHP_OP_##ENUM] = {.kind = PITHP_TANGENT_##KIND,                                   \
                         .term = TERM_OF_##KIND(ENUM),                                   \
                         .cut = CUTS_OF(__VA_ARGS__, OFF, OFF, OFF)},
#define TERM_OF_NONE(ENUM)    NULL
#define TERM_OF_CUT(ENUM)     NULL
#define TERM_OF_REFUSED(ENUM) NULL
#define TERM_OF_EACH(ENUM)    term_##ENUM
/* IS_CUT(e): 1 if e is CUT_HERE; other terms begin with another name. */
#define CUTS_OF(a, b, c, ...) (IS_CUT(a) | IS_CUT(b) << 1 | IS_CUT(c) << 2)
#define IS_CUT(e)             SECOND(AT_##e, 0, )
#define AT_CUT_HERE           ~, 1
#define SECOND(...)           SECOND_OF(__VA_ARGS__)
#define SECOND_OF(a, b, ...)  b
const pithp_tangent_row pithp_elementwise_tangents[PITHP_ELEMENTWISE_COUNT] = {
#include "program/op/primitives.def"
};
