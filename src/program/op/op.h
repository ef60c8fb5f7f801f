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
    PITHP_PRIMITIVE_COUNT,
    PITHP_OP_NONE = PITHP_PRIMITIVE_COUNT
} pithp_primitive;

/* Traits: the questions that the table answers about a primitive, one bit each. A row
 * names its traits without the prefix. Ask with pithp_op_has; the number of a primitive
 * says nothing. */
/* clang-format off */
#define PITHP_TRAITS(X)                                                                  \
    X(PURE)           /* no effect but the result */                                     \
    X(COMMUTATIVE)    /* the first two operands may be exchanged */                      \
    X(IDEMPOTENT)     /* of x and x, the result is x */                                  \
    X(INVOLUTION)     /* applied twice, the result is the operand, if it has its dtype */ \
    X(QUIET)          /* an f32 or f64 result is no signalling NaN */                    \
    X(MATHS)          /* the expression for floats calls the library of mathematics */   \
    X(SCALAR_REAL)    /* compilers do not vectorise the expression for floats */         \
    X(SCALAR_INTEGER) /* compilers do not vectorise the expression for integers */       \
    X(POINTWISE)      /* an element of the result is made of one of each operand */      \
    X(VIEW)           /* the operand's elements in another shape or order */             \
    X(STRIDED)        /* a view by strides, whatever strides the operand has */          \
    X(JOIN)           /* several operands, or one and its padding, side by side */       \
    X(SELECT)         /* reads as many elements of the first operand as it makes */      \
    X(REDUCTION)      /* combines elements along axes that the result lacks */           \
    X(ARG_REDUCTION)  /* the index of the least or greatest element along such axes */   \
    X(INDEXED)        /* takes index arrays; the parameters are pithp_index_params */    \
    X(SCATTER)        /* combines updates with the elements that indices choose */       \
    X(UPDATE)         /* the first operand with some elements changed */                 \
    X(RANDOM)         /* draws from keys, or derives keys */                             \
    X(REGIONS)        /* runs programs of the instruction: branches, or a loop's body */ \
    X(REPORT)         /* the last result is a report */
/* clang-format on */

typedef enum pithp_trait_bit {
#define PITHP_TRAIT_BIT(NAME) PITHP_TRAIT_BIT_##NAME,
    PITHP_TRAITS(PITHP_TRAIT_BIT)
#undef PITHP_TRAIT_BIT
        PITHP_TRAIT_BITS
} pithp_trait_bit;
typedef enum pithp_trait {
#define PITHP_TRAIT(NAME) PITHP_TRAIT_##NAME = 1 << PITHP_TRAIT_BIT_##NAME,
    PITHP_TRAITS(PITHP_TRAIT)
#undef PITHP_TRAIT
} pithp_trait;
_Static_assert(PITHP_TRAIT_BITS <= 31, "a trait is a positive int");

enum { PITHP_VARIADIC = -1 };

typedef struct pithp_row {
    const char *name;
    uint32_t traits; /* pithp_trait */
    int8_t arity;    /* operands, or PITHP_VARIADIC */
    bool predicate;  /* elementwise: the result is bool */
    uint16_t dtypes; /* elementwise: bit d set where operands of dtype d are taken */
    /* Structural: the elementwise row that combines two elements, where WHERE keeps the
     * later one; or PITHP_OP_NONE. */
    pithp_primitive combine;
    const char *real, *integer; /* elementwise: the expressions as text */
} pithp_row;

extern const pithp_row pithp_rows[PITHP_PRIMITIVE_COUNT];

/* Whether a primitive has one of the traits. */
static inline bool pithp_op_has(pithp_primitive p, uint32_t traits) {
    return pithp_rows[p].traits & traits;
}

/* The kinds of rows, each with a macro of its own in primitives.def, are numbered one
 * after the other: elementwise, structural, control. */
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
