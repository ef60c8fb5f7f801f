/* Rules of the user within src/trace/derive: the rule of a call, and how its functions
 * are recorded when a derivation or a batch reaches it. */
#ifndef PITHP_TRACE_DERIVE_RULE_H
#define PITHP_TRACE_DERIVE_RULE_H

#include "trace/derive/derive_internal.h"

/* ---- Rules ---- */

/* The rule of a call. Structures are in memory of the runtime, and functions made at run
 * time in a scope of the rule, with `none` for each bound tree. */
typedef struct pithp_function_rule {
    pithp_rule rule;
    pith_runtime *runtime;
    pith_scope *store; /* NULL: all functions are static */
    const pith_function *functions[PITHP_MORE_BASES];
    int argument_count, tree_count;
    int first_tree[PITHP_MORE_BASES]; /* of a function's among all */
    pithp_structure *trees;           /* the arguments, then the bound trees */
    pithp_structure primals;          /* the argument, or a tuple of several */
    pithp_structure value;
    pithp_check_id *checks; /* that the function itself makes */
    int64_t check_count;
    uint64_t
        *operands; /* hashes of the operands among their values; NULL without checks */
} pithp_function_rule;

/* Refuse a tangent of bound leaf k: pithp_rule.refuse. Also for the linear row of such a
 * rule, which has the same leaves. */
void pithp_rule_refuse_bound(const pithp_function_rule *u,
                             pith_scope *s,
                             const char *site,
                             int k);
/* Record forward(arguments...), and make the rule of the linear row: pithp_rule.record in
 * reverse (rule_linear.c). */
pithp_program *pithp_rule_record_forward(pithp_function_rule *u,
                                         pith_scope *s,
                                         const bool *zeros,
                                         pithp_rule **linear);
/* Record rule(call): pithp_rule.batch (rule_batch.c). */
pithp_program *
pithp_rule_record_batch(pithp_rule *rule, pith_scope *s, int64_t size, bool *batched);

/* ---- Recording (rule_record.c) ---- */

/* A function of a rule that is recorded, in memory of the scope. */
typedef struct pithp_rule_recording {
    pith_scope *s;
    const pithp_function_rule *rule;
    int which;
    const char *const *members; /* of the record that it returns; NULL: none */
    const pith_array **bound;   /* of the outer trace: in place of bound leaves */
    pithp_part_call call;
    pithp_part part;
} pithp_rule_recording;

/* Add an argument of the function, of this structure; zeros: of each leaf, whether it is
 * a tangent that is zero; or NULL. */
pith_status pithp_rule_add_argument(pithp_rule_recording *r,
                                    const pithp_structure *t,
                                    const bool *zeros);
/* Record the function, with the rows of its checks. */
pith_status pithp_rule_record(pithp_rule_recording *r);
/* Check that a tree that the function returned is like a structure, or like another
 * tree. */
pith_status pithp_rule_check_like(pithp_rule_recording *r,
                                  const pithp_structure *like,
                                  int result,
                                  const char *part);
pith_status pithp_rule_check_tree(pithp_rule_recording *r,
                                  const void *expected,
                                  int result,
                                  const char *part);
/* End the recording: its program if it is right, one reference. NULL: error set. */
pithp_program *pithp_rule_finish(pithp_rule_recording *r, pith_status rc);

#endif
