/* Within the tree room: elementwise C expressions taken apart, so that they can be
 * recorded as primitives where leaves are traced. */
#ifndef PITH_TREE_EXPRESSION_TREE_H
#define PITH_TREE_EXPRESSION_TREE_H

#include "tree/expression.h"

typedef enum pithp_term_kind {
    PITHP_TERM_NUMBER,    /* of that type */
    PITHP_TERM_OPERAND,   /* index: a, b, c, d */
    PITHP_TERM_PARAMETER, /* index: p[0] .. p[7] */
    PITHP_TERM_CAST,      /* to that type */
    PITHP_TERM_PLUS,      /* the promoted operand */
    PITHP_TERM_NOT,       /* !x */
    PITHP_TERM_UNARY,     /* the primitive, of the promoted operand */
    PITHP_TERM_BINARY,    /* the same of the usual conversions of two */
    PITHP_TERM_COMPARE,   /* the same, with an int for a result */
    PITHP_TERM_SHIFT,     /* of the promoted operands, as the first one */
    PITHP_TERM_LOGICAL,   /* && and || */
    PITHP_TERM_CHOICE,    /* x ? y : z */
    PITHP_TERM_REAL,      /* a function of math.h: of the first operand's real type */
    PITHP_TERM_EXTREME,   /* fmin and fmax: of the usual conversions of real types */
    PITHP_TERM_WHOLE,     /* quotient and rest: of the first operand's promoted type */
} pithp_term_kind;

typedef struct pithp_term {
    pithp_term_kind kind;
    pithp_primitive primitive;
    pith_dtype type;
    int index, count;
    uint64_t bits; /* of a number */
    const struct pithp_term *operands[3];
} pithp_term;

/* The function of math.h, or of ours, that expressions know by a name; false: none. */
bool pithp_expression_function(const char *name, size_t n, pithp_term *term);
/* An expression that pithp_expression_check accepts, in memory of the scope; NULL: the
 * error says what was not understood. */
const pithp_term *pithp_expression_parse(pith_scope *s, const char *expression);
/* Its value over operands of one shape, which may be traced: converted to the dtype of
 * the first. NULL: error set. */
const pith_array *pithp_expression_bind(pith_scope *s,
                                        const pithp_term *term,
                                        const pith_array *const *operands,
                                        const double *parameters);

#endif
