/* Tangent columns of the structural and control rows of primitives.def. */
#include "program/derive/rules.h"

#define PITHP_STRUCTURAL(ENUM, text, arity, rule, traits, combine, batch, KIND, ...)     \
    DECLARE_##KIND(__VA_ARGS__)
#define PITHP_CONTROL(ENUM, text, arity, rule, traits, batch, KIND, ...)                 \
    DECLARE_##KIND(__VA_ARGS__)
#define DECLARE_NONE(...)
#define DECLARE_CUT(...)
#define DECLARE_STOPPED(...)
#define DECLARE_PASSED(...)
#define DECLARE_REFUSED(...)
#define DECLARE_RULE(...)
#define DECLARE_FLOW(...)
#define DECLARE_BY(rule)                                                                 \
    pithp_value pithp_tangent_##rule(pithp_derivation *d, const pithp_moving_call *c);
#define DECLARE_LINEAR(set, rule)                                                        \
    pithp_value pithp_transpose_##rule(pithp_derivation *d, const pithp_moving_call *c,  \
                                       pithp_value ct, int k);
#define DECLARE_BILINEAR(set, rule) DECLARE_LINEAR(set, rule)
#define DECLARE_BY_LINEAR(set, rule)                                                     \
    DECLARE_BY(rule)                                                                     \
    DECLARE_LINEAR(set, rule)
#include "program/op/primitives.def"

#define ROW_OF_NONE(...)                                                                 \
    { .kind = PITHP_TANGENT_NONE }
#define ROW_OF_CUT(...)                                                                  \
    { .kind = PITHP_TANGENT_CUT }
#define ROW_OF_STOPPED(...)                                                              \
    { .kind = PITHP_TANGENT_STOPPED }
#define ROW_OF_PASSED(...)                                                               \
    { .kind = PITHP_TANGENT_PASSED }
#define ROW_OF_REFUSED(...)                                                              \
    { .kind = PITHP_TANGENT_REFUSED }
#define ROW_OF_RULE(...)                                                                 \
    { .kind = PITHP_TANGENT_RULE }
#define ROW_OF_FLOW(...)                                                                 \
    { .kind = PITHP_TANGENT_FLOW }
#define ROW_OF_BY(rule)                                                                  \
    { .kind = PITHP_TANGENT_BY, .by = pithp_tangent_##rule }
#define ROW_OF_LINEAR(SET, rule)                                                         \
    {                                                                                    \
        .kind = PITHP_TANGENT_LINEAR, .set = PITHP_OPERANDS_##SET,                       \
        .transpose = pithp_transpose_##rule                                              \
    }
#define ROW_OF_BILINEAR(SET, rule)                                                       \
    {                                                                                    \
        .kind = PITHP_TANGENT_BILINEAR, .set = PITHP_OPERANDS_##SET,                     \
        .transpose = pithp_transpose_##rule                                              \
    }
#define ROW_OF_BY_LINEAR(SET, rule)                                                      \
    {                                                                                    \
        .kind = PITHP_TANGENT_BY, .set = PITHP_OPERANDS_##SET,                           \
        .by = pithp_tangent_##rule, .transpose = pithp_transpose_##rule                  \
    }

static const pithp_tangent_row rows[PITHP_PRIMITIVE_COUNT - PITHP_ELEMENTWISE_COUNT] = {
#define PITHP_STRUCTURAL(ENUM, text, arity, rule, traits, combine, batch, KIND, ...)     \
    [PITHP_OP_##ENUM - PITHP_ELEMENTWISE_COUNT] = ROW_OF_##KIND(__VA_ARGS__),
#define PITHP_CONTROL(ENUM, text, arity, rule, traits, batch, KIND, ...)                 \
    [PITHP_OP_##ENUM - PITHP_ELEMENTWISE_COUNT] = ROW_OF_##KIND(__VA_ARGS__),
#include "program/op/primitives.def"
};

pithp_tangent_row pithp_tangent_of(pithp_primitive p) {
    return pithp_is_elementwise(p) ? pithp_elementwise_tangents[p]
                                   : rows[p - PITHP_ELEMENTWISE_COUNT];
}
