/* Tangent and transposition rules, found by the columns of primitives.def (within
 * src/program/derive). */
#ifndef PITH_PROGRAM_DERIVE_RULES_H
#define PITH_PROGRAM_DERIVE_RULES_H

#include "program/derive/builder.h"

/* The kind of the derivative of a row. */
typedef enum pithp_tangent_kind {
    PITHP_TANGENT_NONE,     /* its float operands and results are none, or it has no
                               operands that a derivative concerns */
    PITHP_TANGENT_CUT,      /* constant almost everywhere: the result does not move */
    PITHP_TANGENT_STOPPED,  /* the result does not move, and that is meant */
    PITHP_TANGENT_PASSED,   /* the identity: the tangent is the operand's */
    PITHP_TANGENT_REFUSED,  /* an error as soon as an operand moves */
    PITHP_TANGENT_EACH,     /* elementwise: a sum of one term for each operand */
    PITHP_TANGENT_LINEAR,   /* jointly linear in some operands */
    PITHP_TANGENT_BILINEAR, /* linear in each of two operands */
    PITHP_TANGENT_BY,       /* a function of its own */
    PITHP_TANGENT_RULE,     /* a user's function (user_rule.h) */
    PITHP_TANGENT_FLOW,     /* control flow: nested programs are derived (control.h) */
} pithp_tangent_kind;

/* The operands that a row is linear in. */
typedef enum pithp_operand_set {
    PITHP_OPERANDS_NONE,
    PITHP_OPERANDS_FIRST,
    PITHP_OPERANDS_SECOND,
    PITHP_OPERANDS_FIRST_TWO,
    PITHP_OPERANDS_FIRST_AND_LAST,
    PITHP_OPERANDS_EVERY,
} pithp_operand_set;

/* An instruction whose tangent is asked for, in values of the derived program. */
typedef struct pithp_moving_call {
    const pithp_instruction *i;
    const pithp_program *from;   /* of i */
    const pithp_value *operands; /* of i */
    const pithp_value *tangents; /* of each operand, or PITHP_ABSENT */
    pithp_value result;          /* the first result */
    pithp_value *scratch;        /* room for as many values as operands */
} pithp_moving_call;

typedef struct pithp_tangent_row {
    pithp_tangent_kind kind;
    pithp_operand_set set;
    uint8_t cut; /* EACH: bit k: the row is constant almost everywhere in operand k */
    /* EACH: the term that tangent t of operand k adds to the tangent of result r. */
    pithp_value (*term)(pithp_derivation *d,
                        const pithp_value operands[3],
                        pithp_value r,
                        pithp_value t,
                        int k);
    /* BY: the tangent of the only result. A row whose tangent is made of calls of the row
     * itself, linear in some operands, has `set` and `transpose` too. */
    pithp_value (*by)(pithp_derivation *d, const pithp_moving_call *c);
    /* Of rows with a set: the cotangent of operand k for the result's cotangent ct. */
    pithp_value (*transpose)(pithp_derivation *d,
                             const pithp_moving_call *c,
                             pithp_value ct,
                             int k);
} pithp_tangent_row;

/* The columns of a row. */
pithp_tangent_row pithp_tangent_of(pithp_primitive p);
/* Whether a set has operand k of `count`. */
bool pithp_set_has(pithp_operand_set set, int count, int k);

/* ---- Helpers of rules ---- */

/* A dtype in which counts of elements are finite. */
static inline pith_dtype pithp_wide_dtype(pith_dtype dtype) {
    return pith_dtype_size(dtype) < 4 ? PITH_F32 : dtype;
}
/* Where x is the extreme, or NaN. */
pithp_value
pithp_derive_is_extreme(pithp_derivation *d, pithp_value x, pithp_value extreme);

/* The parameters of an indexed call for tangents and cotangents. Fill values are
 * constants of the row, and reports belong to the row itself: these have neither. */
pithp_index_params pithp_derived_index(const pithp_moving_call *c);
/* An indexed call on the first `arrays` index arrays of c: operands `first` and, unless
 * absent, `last`. */
pithp_value pithp_derive_indexed(pithp_derivation *d,
                                 const pithp_moving_call *c,
                                 int arrays,
                                 pithp_primitive op,
                                 pithp_value first,
                                 pithp_value last);

/* The elementwise rows (elementwise.c); NULL for rows of another kind. */
extern const pithp_tangent_row pithp_elementwise_tangents[PITHP_ELEMENTWISE_COUNT];

#endif
