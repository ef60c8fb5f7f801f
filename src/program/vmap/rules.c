/* The batch column of primitives.def. A row without it does not compile. */
#include "program/vmap/rules.h"

#define PITHP_STRUCTURAL(ENUM, text, arity, rule, traits, combine, batch, ...)           \
    DECLARE_##batch
#define PITHP_CONTROL(ENUM, text, arity, rule, traits, batch, ...) DECLARE_##batch
#define DECLARE_POINTWISE
#define DECLARE_NO_OPERAND
#define DECLARE_SHIFT(rule)                                                              \
    pithp_value pithp_vmap_##rule(pithp_batching *b, const pithp_batched_call *c);
#define DECLARE_FLOW(rule)                                                               \
    bool pithp_vmap_##rule(pithp_batching *b, const pithp_batched_call *c,               \
                           pithp_value *results, bool *batched);
#include "program/op/primitives.def"

#define ROW_OF_POINTWISE                                                                 \
    { .kind = PITHP_BATCH_POINTWISE }
#define ROW_OF_NO_OPERAND                                                                \
    { .kind = PITHP_BATCH_NO_OPERAND }
#define ROW_OF_SHIFT(rule)                                                               \
    { .kind = PITHP_BATCH_SHIFT, .shift = pithp_vmap_##rule }
#define ROW_OF_FLOW(rule)                                                                \
    { .kind = PITHP_BATCH_FLOW, .flow = pithp_vmap_##rule }

static const pithp_batch_row rows[PITHP_PRIMITIVE_COUNT - PITHP_ELEMENTWISE_COUNT] = {
#define PITHP_STRUCTURAL(ENUM, text, arity, rule, traits, combine, batch, ...)           \
    [PITHP_OP_##ENUM - PITHP_ELEMENTWISE_COUNT] = ROW_OF_##batch,
#define PITHP_CONTROL(ENUM, text, arity, rule, traits, batch, ...)                       \
    [PITHP_OP_##ENUM - PITHP_ELEMENTWISE_COUNT] = ROW_OF_##batch,
#include "program/op/primitives.def"
};

pithp_batch_row pithp_batch_of(pithp_primitive p) {
    return pithp_is_elementwise(p) ? (pithp_batch_row)ROW_OF_POINTWISE
                                   : rows[p - PITHP_ELEMENTWISE_COUNT];
}
