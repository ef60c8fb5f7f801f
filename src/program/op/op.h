/* Operation table: the primitives as data, and the table of block functions of the
 * elementwise rows.
 *
 * Block functions include only this header and params.h, because they take long to
 * compile. */
#ifndef PITH_PROGRAM_OP_OP_H
#define PITH_PROGRAM_OP_OP_H

#include "pith/base.h"

#include "gpu/isa.h"

typedef enum pithp_primitive {
#define PITHP_ELEMENTWISE(ENUM, ...) PITHP_OP_##ENUM,
#include "program/op/primitives.def"
    PITHP_ELEMENTWISE_COUNT,
    PITHP_ELEMENTWISE_LAST = PITHP_ELEMENTWISE_COUNT -
                             1, /* so that the row after the last has the number _COUNT */
#define PITHP_STRUCTURAL(ENUM, ...) PITHP_OP_##ENUM,
#include "program/op/primitives.def"
    PITHP_LOWERED_COUNT, /* rows that pithp_lower runs */
    PITHP_LOWERED_LAST = PITHP_LOWERED_COUNT - 1,
#define PITHP_CONTROL(ENUM, ...) PITHP_OP_##ENUM,
#include "program/op/primitives.def"
    PITHP_PRIMITIVE_COUNT,
    PITHP_OP_NONE = PITHP_PRIMITIVE_COUNT
} pithp_primitive;

/* Traits: properties of a primitive, one bit each. A row names its traits without the
 * prefix; pithp_op_has tests them. The number of a primitive has no meaning. */
/* clang-format off */
#define PITHP_TRAITS(X)                                                                  \
    X(PURE)           /* no effect except the result */                                     \
    X(COMMUTATIVE)    /* the first two operands may be exchanged */                      \
    X(IDEMPOTENT)     /* op(x, x) is x */                                  \
    X(INVOLUTION)     /* applied twice, gives the operand again, if the dtypes are the same */ \
    X(QUIET)          /* an f32 or f64 result is never a signalling NaN */                    \
    X(MATHS)          /* the expression for floats calls the mathematics library */   \
    X(SCALAR_REAL)    /* compilers do not vectorise the expression for floats */         \
    X(SCALAR_INTEGER) /* compilers do not vectorise the expression for integers */       \
    X(POINTWISE)      /* a result element depends on one element of each operand */      \
    X(VIEW)           /* the operand's elements in another shape or order */             \
    X(STRIDED)        /* a view by strides, whatever the operand's strides */          \
    X(JOIN)           /* concatenates operands, or an operand and its padding */       \
    X(SELECT)         /* reads as many elements of the first operand as the result has */      \
    X(REDUCTION)      /* combines elements along axes that the result lacks */           \
    X(ARG_REDUCTION)  /* index of the least or greatest element along such axes */   \
    X(INDEXED)        /* has index operands; the parameters are pithp_index_params */    \
    X(SCATTER)        /* combines updates with the elements that indices select */       \
    X(UPDATE)         /* the first operand with some elements replaced */                 \
    X(RANDOM)         /* draws from keys, or derives keys */                             \
    X(MARK)           /* the identity, which only derivations see: PITHP_PASS_MARKS */   \
    X(REGIONS)        /* has nested programs: branches, or a loop's body */ \
    X(REPORT)         /* the last result is a report */                                  \
    X(COLLECTIVE)     /* all ranks of a mesh run it together: never PURE */
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

typedef struct pithp_op_info {
    const char *name;
    uint32_t traits; /* pithp_trait */
    int8_t arity;    /* number of operands, or PITHP_VARIADIC */
    bool predicate;  /* elementwise: the result is bool */
    uint16_t dtypes; /* elementwise: bit d is set if operands of dtype d are accepted */
    /* Structural: the elementwise row that combines two elements (WHERE: the later one
     * wins); or PITHP_OP_NONE. */
    pithp_primitive combine;
    const char *real, *integer; /* elementwise: the expressions as text */
} pithp_op_info;

extern const pithp_op_info pithp_ops[PITHP_PRIMITIVE_COUNT];

/* Whether a primitive has one of the traits. */
static inline bool pithp_op_has(pithp_primitive p, uint32_t traits) {
    return pithp_ops[p].traits & traits;
}

/* Rows of one kind (elementwise, structural, control) have consecutive numbers; each kind
 * has its own macro in primitives.def. */
static inline bool pithp_is_elementwise(pithp_primitive p) {
    return (unsigned)p < PITHP_ELEMENTWISE_COUNT;
}

/* Whether a row has one result and is run by pithp_lower. */
static inline bool pithp_is_lowered(pithp_primitive p) {
    return (unsigned)p < PITHP_LOWERED_COUNT;
}

/* Whether a row runs over a group of ranks (op/collective.c). */
static inline bool pithp_is_collective(pithp_primitive p) {
    return p == PITHP_OP_AXIS_INDEX || pithp_op_has(p, PITHP_TRAIT_COLLECTIVE);
}

/* ---- Block functions: the unit shared by eager calls, launches and interpreters ---- */

/* Compute n contiguous elements; unused operands are NULL. `to` may be one of the
 * operands. */
typedef void (*pithp_block_function)(void *to,
                                     const void *a,
                                     const void *b,
                                     const void *c,
                                     int64_t n);

/* By instruction set, then primitive and operand dtype (the last operand's for WHERE).
 * For casts by source and result dtype. NULL if the row does not accept the dtype. */
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

/* The name a_b; a and b may be macros. */
#define PITHP_PASTE_(a, b) a##_##b
#define PITHP_PASTE(a, b)  PITHP_PASTE_(a, b)

#endif
