/* The table of primitives, and of the block functions that work for its elementwise rows.
 * Block functions include no more than this and params.h: they take long to compile. */
#ifndef PITH_PROGRAM_OP_OP_H
#define PITH_PROGRAM_OP_OP_H

#include "pith/base.h"

#include "gpu/isa.h"

typedef enum pithp_primitive {
#define PITHP_ELEMENTWISE(ENUM, ...) PITHP_OP_##ENUM,
#include "program/op/primitives.def"
    PITHP_ELEMENTWISE_COUNT,
    PITHP_ELEMENTWISE_LAST =
        PITHP_ELEMENTWISE_COUNT - 1, /* so that the next row is _COUNT */
#define PITHP_STRUCTURAL(ENUM, ...) PITHP_OP_##ENUM,
#include "program/op/primitives.def"
    PITHP_LOWERED_COUNT, /* of rows that pithp_lower runs */
    PITHP_LOWERED_LAST = PITHP_LOWERED_COUNT - 1,
#define PITHP_CONTROL(ENUM, ...) PITHP_OP_##ENUM,
#include "program/op/primitives.def"
    PITHP_PRIMITIVE_COUNT
} pithp_primitive;

typedef enum pithp_primitive_flag {
    PITHP_PURE = 1,        /* no effect but the result */
    PITHP_COMMUTATIVE = 2, /* the first two operands may be exchanged */
} pithp_primitive_flag;

enum { PITHP_VARIADIC = -1 };

typedef struct pithp_row {
    const char *name;
    int8_t arity;    /* operands, or PITHP_VARIADIC */
    uint8_t flags;   /* pithp_primitive_flag */
    bool predicate;  /* elementwise: the result is bool */
    uint16_t dtypes; /* elementwise: bit d set where operands of dtype d are taken */
    const char *real, *integer; /* elementwise: the expressions as text */
} pithp_row;

extern const pithp_row pithp_rows[PITHP_PRIMITIVE_COUNT];

static inline bool pithp_is_elementwise(pithp_primitive p) {
    return (unsigned)p < PITHP_ELEMENTWISE_COUNT;
}

/* Whether a row has one result and is run by pithp_lower. */
static inline bool pithp_is_lowered(pithp_primitive p) {
    return (unsigned)p < PITHP_LOWERED_COUNT;
}

/* ---- Block functions: the unit that eager calls, launches and interpreters share ----
 */

/* n elements side by side; unused operands are NULL. `to` may be one of the operands. */
typedef void (*pithp_block_function)(void *to,
                                     const void *a,
                                     const void *b,
                                     const void *c,
                                     int64_t n);

/* By instruction set, then primitive and operand dtype (the last operand's for WHERE);
 * by source and result dtype for casts. NULL where the row does not take the dtype. */
typedef const pithp_block_function (*pithp_elementwise_table)[PITH_DTYPE_COUNT];
extern const pithp_elementwise_table pithp_elementwise_tables[PITHP_ISA_COUNT];
extern const pithp_elementwise_table pithp_cast_tables[PITHP_ISA_COUNT];

static inline pithp_block_function
pithp_elementwise_block(pithp_isa isa, pithp_primitive p, pith_dtype dtype) {
    return pithp_elementwise_tables[isa][p][dtype];
}
static inline pithp_block_function
pithp_cast_block(pithp_isa isa, pith_dtype from, pith_dtype to) {
    return pithp_cast_tables[isa][from][to];
}

/* The name a_b, where a and b may be macros. */
#define PITHP_PASTE_(a, b) a##_##b
#define PITHP_PASTE(a, b)  PITHP_PASTE_(a, b)

#endif
