/* Builder of derived programs: rules add instructions with it (within
 * src/program/derive). A value is a number in the derived program; PITHP_ABSENT is a zero
 * that is not there, and -1 an error of the scope. Calls of the builder pass errors on,
 * so that rules read as formulas. */
#ifndef PITH_PROGRAM_DERIVE_BUILDER_H
#define PITH_PROGRAM_DERIVE_BUILDER_H

#include "program/derive/derive.h"

enum { PITHP_ABSENT = -2 };

/* A budget of a derivation for its loops. */
typedef struct pithp_kept {
    int levels; /* most levels of the nest of a loop */
    int inner;  /* and of loops inside of it; at most 1: they are part of a step */
    const pithp_program *body; /* the loops are inside of this one, which is a nest
                                  already; NULL: of the derivation */
    bool whole;                /* the loops keep all, also those with a budget */
    size_t bytes;              /* added: what the loops keep */
    bool has_inner;            /* set: a loop has loops inside */
    bool held; /* set: the budget of a loop needs more levels than these */
} pithp_kept;

typedef struct pithp_derivation {
    pith_scope *s;
    pithp_program *to;
    const char *site; /* call site of the instruction that is derived */
    pith_dtype dtype; /* of its result */
    bool split;       /* control flow becomes two instructions, one without tangents */
    bool reverse;     /* the linear one is transposed: rules for reverse mode are used */
    bool no_cuts;     /* refuse rows at which a tangent ends */
    pithp_derive_watches *inside;  /* examines what is inside of control flow; or NULL */
    const char *rule;              /* the function whose rule is derived; or NULL */
    struct pithp_callees *callees; /* the program has rows for calls; or NULL */
    pithp_call_counts *calls;      /* added to; or NULL */
    uint64_t nest;                 /* the divided loop that this is a part of; 0: none */
    pithp_kept *kept;              /* for loops without a budget of their own; or NULL */
    const uint64_t *dependent; /* the program is linear (linear.c): of each of its values,
                                  nonzero if it depends on a moving input; or NULL */
    bool strong_zero; /* products with tangents are those in which 0 wins: then of each */
    bool *linear;     /* value of `to`, below the room, whether it depends on a tangent */
    int64_t linear_room;
} pithp_derivation;

/* Note that a value is a tangent, for strong_zero. False sets the error. */
bool pithp_derive_linear(pithp_derivation *d, pithp_value v);
void pithp_derive_end(pithp_derivation *d);
/* Add a call of one result with strong_zero; no operand is absent or an error
 * (strong.c). */
pithp_value pithp_derive_strong(pithp_derivation *d,
                                pithp_primitive op,
                                int count,
                                const pithp_value *operands,
                                const void *params);
/* Add a call of one result. An absent operand is an error of the caller. */
pithp_value pithp_derive_call(pithp_derivation *d,
                              pithp_primitive op,
                              int count,
                              const pithp_value *operands,
                              const void *params);
/* Elementwise calls of one, two and three operands, which broadcast. */
pithp_value pithp_derive_1(pithp_derivation *d, pithp_primitive op, pithp_value a);
pithp_value
pithp_derive_2(pithp_derivation *d, pithp_primitive op, pithp_value a, pithp_value b);
pithp_value pithp_derive_3(pithp_derivation *d,
                           pithp_primitive op,
                           pithp_value a,
                           pithp_value b,
                           pithp_value c);
/* A number of rank 0 of the derivation's dtype. */
pithp_value pithp_derive_number(pithp_derivation *d, double x);
/* a + b, where either may be absent. */
pithp_value pithp_derive_sum(pithp_derivation *d, pithp_value a, pithp_value b);
/* An array of zeros. */
pithp_value pithp_derive_zeros(pithp_derivation *d, const pith_spec *spec);
/* Broadcast to a spec from the right, as elementwise calls do; the value itself if it has
 * that shape. */
pithp_value
pithp_derive_broadcast(pithp_derivation *d, pithp_value a, const pith_spec *spec);
/* The transpose of pithp_derive_broadcast: sum over the axes that were added or had
 * extent 1. */
pithp_value
pithp_derive_unbroadcast(pithp_derivation *d, pithp_value a, const pith_spec *spec);

static inline const pith_spec *pithp_derived_spec(const pithp_derivation *d,
                                                  pithp_value v) {
    return pithp_value_spec(d->to, v);
}

#endif
