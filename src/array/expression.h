/* Expressions: elementwise formulas as text, parsed once to postfix code, then recorded
 * as primitives for each set of operands.
 *
 * pith_expression and pith_tree_map_expression share the text. They differ in the dtypes
 * of operations: those of array operations, or C's types. */
#ifndef PITH_ARRAY_EXPRESSION_INTERNAL_H
#define PITH_ARRAY_EXPRESSION_INTERNAL_H

#include "array/array_internal.h"

/* ---- Postfix code (expression_parse.c) ---- */

typedef enum pithp_term_kind {
    PITHP_TERM_NUMBER,
    PITHP_TERM_OPERAND,
    PITHP_TERM_CAST,      /* of the last value */
    PITHP_TERM_OPERATION, /* of the last values */
} pithp_term_kind;

/* Every byte is written: equal code is equal bytes. */
typedef struct pithp_term {
    uint8_t kind, dtype; /* of a number, or of the result of a cast */
    uint8_t weak;        /* a number takes the dtype of its neighbour */
    uint8_t unused;
    int32_t at; /* byte offset in the text */
    union {
        int64_t operand;
        uint64_t bits;
        const struct pithp_operation *operation;
    };
} pithp_term;

enum { PITHP_FEW_TERMS = 16 };

typedef struct pithp_expression {
    pith_runtime *runtime;
    const char *text;  /* owned by the caller */
    pithp_term *terms; /* `few`, or allocated; so the struct must not be moved */
    int64_t count, room;
    int64_t deepest;    /* maximum number of live values */
    int64_t operations; /* including casts */
    bool c_types;
    pithp_term few[PITHP_FEW_TERMS];
} pithp_expression;

/* Names of a text. Operands are numbered by their bindings, whose arrays are not read;
 * parameters follow them, p[0] and so on. */
typedef struct pithp_expression_names {
    const pith_binding *bindings;
    int64_t count;
    int parameters;
    bool c_types; /* C's types; false: those of arrays */
} pithp_expression_names;

/* On failure the error points into the text, and pithp_expression_end is not needed. */
pith_status pithp_expression_parse(pith_scope *s,
                                   pithp_expression *e,
                                   const char *text,
                                   const pithp_expression_names *names);
void pithp_expression_end(pithp_expression *e);

/* Short expressions recently parsed by the thread (expression_recent.c). */
bool pithp_expression_recall(pithp_expression *e, const pithp_expression_names *names);
void pithp_expression_remember(const pithp_expression *e,
                               const pithp_expression_names *names);

/* ---- Recording (expression_record.c) ---- */

/* Record the operations over checked operands, which may be traced; the result is in s,
 * or one of the operands. `as`: dtype of a final cast, or PITH_DTYPE_NONE. NULL: error
 * set. */
const pith_array *pithp_expression_record(pith_scope *s,
                                          const pithp_expression *e,
                                          const pith_array *const *operands,
                                          pith_dtype as);

/* ---- Fused evaluation, over contiguous elements (expression_fused.c) ---- */

enum { PITHP_FUSED_OPERANDS = 16 };

/* Cache key of a fused expression. */
typedef struct pithp_fused_key {
    int count;       /* number of operands */
    uint32_t scalar; /* bit k: operand k has a single element */
    uint8_t dtypes[PITHP_FUSED_OPERANDS];
    uint8_t as; /* dtype of the result; PITH_DTYPE_NONE: that of the value */
} pithp_fused_key;

/* A plan for every number of elements. */
typedef struct pithp_fused_code pithp_fused_code;

/* *code: NULL if the expression cannot be fused, or the device does not run such plans.
 * The caller releases it. Not PITH_OK: the error is set. */
pith_status pithp_expression_fuse(pith_scope *s,
                                  const pithp_expression *e,
                                  const pithp_fused_key *key,
                                  pithp_fused_code **code);
pith_dtype pithp_fused_dtype(const pithp_fused_code *code); /* of the result */
pith_status pithp_fused_code_run(pith_scope *s,
                                 pithp_fused_code *code,
                                 const void *const *operands,
                                 void *result,
                                 int64_t count);
void pithp_fused_code_release(pithp_fused_code *code); /* NULL is accepted */
int pithp_fused_cached(pith_scope *s);                 /* for tests */

/* ---- Joined evaluation, over many leaves on a device (expression_joined.c) ---- */

/* Checked operands of each leaf; a result has the spec of the first operand. */
typedef struct pithp_leaf_operands {
    int64_t count;
    int operand_count;
    const pith_array *const *operands; /* [count][operand_count] */
    int64_t *order;                    /* [count]: set by pithp_leaf_operands_sort */
    int64_t *refused; /* set by pithp_expression_join: the leaf that has the error */
} pithp_leaf_operands;

/* Choose an order in which leaves with the same kernel are adjacent: they become one
 * launch. */
void pithp_leaf_operands_sort(const pithp_leaf_operands *leaves);

/* For sorted leaves. *code: NULL if the leaves must be evaluated one by one: the device
 * does not run such plans, the expression cannot be joined, or this is its first use. The
 * caller releases it. Not PITH_OK: the error is set. */
pith_status pithp_expression_join(pith_scope *s,
                                  const pithp_expression *e,
                                  const pithp_leaf_operands *leaves,
                                  pithp_fused_code **code);
/* For the leaves that the code was made for, or equal ones. */
pith_status pithp_joined_run(pith_scope *s,
                             pithp_fused_code *code,
                             const pithp_leaf_operands *leaves,
                             const pith_array *const *results);

#endif
