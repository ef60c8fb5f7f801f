/* Rewriter: a new program built from an old one, instruction by instruction (within
 * src/program/pass). */
#ifndef PITH_PROGRAM_PASS_REWRITE_H
#define PITH_PROGRAM_PASS_REWRITE_H

#include "program/ir/region.h"
#include "program/pass/pass.h"

/* Hash table of values of the new program by their call, for CSE; open addressing, -1:
 * free. */
typedef struct pithp_known {
    pithp_value *slots;
    uint64_t mask;
} pithp_known;

typedef struct pithp_rebuild {
    pith_scope *s;
    const pithp_program *from;
    pithp_program *to;
    unsigned passes;
    bool shallow;       /* nested programs are not rewritten */
    bool values_only;   /* instructions with effects are not copied */
    bool *live;         /* live values of `from`; all results of an instruction alike */
    bool *wanted;       /* values with readers */
    pithp_value *names; /* of each value of `from` its value in `to`; -1: none yet */
    pithp_known known;
    pithp_remat around; /* of the instructions that are taken over: */
    pithp_taken taken;  /* pithp_remat_within */
} pithp_rebuild;

/* Copy everything that these values of `from` depend on. `names` has room for all values
 * of `from`, and known names are set. False sets the error. */
bool pithp_rebuild_values(pithp_rebuild *r, int64_t count, const pithp_value *values);
/* Copy instruction i, whose first result is v, or the input or constant v. False sets the
 * error. */
bool pithp_rebuild_take(pithp_rebuild *r, pithp_value v, const pithp_instruction *i);
/* Add a call, or find an equal one; -1 sets the error. */
pithp_value pithp_rebuild_call(pithp_rebuild *r, pithp_proposal *c, const char *site);
/* Rewrite a program with passes. NULL sets the error. */
pithp_program *
pithp_rebuild_program(pith_scope *s, const pithp_program *p, unsigned passes);
/* Add a literal, or find an equal one. */
pithp_value pithp_rebuild_literal(pithp_rebuild *r, pithp_value literal);

/* ---- Layout of products (product_layout.c) ---- */

/* Whether the pass would change anything, also in nested programs. */
bool pithp_has_products_to_lay_out(const pithp_program *p);
/* Change the call of an instruction of r->from if it is a product, or the transposition
 * of one. False sets the error. */
bool pithp_lay_out_product(pithp_rebuild *r,
                           const pithp_instruction *i,
                           pithp_proposal *c);

/* ---- Messages (messages.c) ---- */

/* Whether the pass might change anything, also in nested programs. */
bool pithp_has_messages_to_join(const pithp_program *p);
/* Copy a row that moves by a route together with those that join it. False sets the
 * error. */
bool pithp_rebuild_messages(pithp_rebuild *r, const pithp_instruction *i);

/* ---- Control flow (control_simplify.c) ---- */

/* An instruction with nested programs, while passes change it. Lists belong to the scope;
 * programs are references. */
typedef struct pithp_flow {
    pithp_rebuild *r;
    pithp_primitive primitive;
    union {
        pithp_while_params as_while;
        pithp_loop_params as_loop;
    } params;
    int operand_count, result_count, program_count;
    pithp_value *operands; /* of r->to */
    pithp_program **programs;
    bool *wanted; /* of each result */
    /* Of each original result: its current number, or a value of r->to; an unused result
     * may have neither. */
    int first_count;
    int32_t *now;
    pithp_value *instead;
} pithp_flow;

/* The present layout of its operands. */
static inline pithp_regions pithp_flow_regions(const pithp_flow *f) {
    return pithp_regions_of_call(f->primitive, &f->params, f->operand_count);
}

/* Loop-invariant code motion. False sets the error. */
bool pithp_flow_hoist(pithp_flow *f);
/* Unroll a scan that asks for it. False sets the error. */
bool pithp_flow_unroll(pithp_flow *f);
/* Rewrite a control flow instruction; sets the names of its results in r. False sets the
 * error. */
bool pithp_rebuild_control(pithp_rebuild *r,
                           const pithp_instruction *i,
                           const pithp_value *operands);

#endif
