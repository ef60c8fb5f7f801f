/* Operations with a derivative of their own: a rule around the value, written with calls
 * of operations. Eager calls and programs that are not derived have the value alone. */
#ifndef PITH_ARRAY_OWN_RULE_H
#define PITH_ARRAY_OWN_RULE_H

#include "array/array_internal.h"

enum { PITHP_OWN_OPERANDS = 2 };

typedef struct pithp_own_options {
    bool upper, unit; /* of a triangle */
    double order;     /* of a root */
} pithp_own_options;

/* The functions of an operation are called in a scope for temporaries. They return NULL
 * with the error set. */
typedef struct pithp_own_kind {
    const char *name;
    int count; /* of operands, which have one dtype */
    const pith_array *(*value)(pith_scope *w,
                               const pithp_own_options *o,
                               const pith_array *const *operands);
    /* The tangent of the result. x: operands, then the result. t: tangents of operands,
     * of which one at least is not NULL, a zero. */
    const pith_array *(*tangent)(pith_scope *w,
                                 const pithp_own_options *o,
                                 const pith_array *const *x,
                                 const pith_array *const *t);
    /* The cotangent of operand k for the result's, with the spec of the operand. NULL:
     * reverse mode transposes the tangent. x: as above, of which those in kept[k]. */
    const pith_array *(*cotangent)(pith_scope *w,
                                   const pithp_own_options *o,
                                   const pith_array *const *x,
                                   const pith_array *ct,
                                   int k);
    uint8_t kept[PITHP_OWN_OPERANDS]; /* bits of x. An operand that the result is linear
                                         in does not keep the result or itself. */
} pithp_own_kind;

/* The value, with the rule if an operand is traced. NULL: error set. */
const pith_array *pithp_own_call(pith_scope *w,
                                 const pithp_own_kind *kind,
                                 const pithp_own_options *o,
                                 const pith_array *const *operands);

#endif
