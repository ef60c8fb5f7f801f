/* Expressions: elementwise formulas as text, read once into postfix code and then
 * recorded as primitives, as often as there are operands for it.
 *
 * pith_expression and pith_tree_map_expression share the text, and differ in the dtypes
 * that operations have: those of the array operations, or C's types. */
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
    uint8_t weak;        /* a number takes the dtype of what stands beside it */
    uint8_t unused;
    int32_t at; /* byte of the text */
    union {
        int64_t operand;
        uint64_t bits;
        const struct pithp_operation *operation;
    };
} pithp_term;

enum { PITHP_FEW_TERMS = 16 };

typedef struct pithp_expression {
    pith_runtime *runtime;
    const char *text;  /* the caller's */
    pithp_term *terms; /* `few`, or allocated; so it stays where it was parsed */
    int64_t count, room;
    int64_t deepest;    /* values that are there at the same time, at most */
    int64_t operations; /* casts included */
    bool c_types;
    pithp_term few[PITHP_FEW_TERMS];
} pithp_expression;

/* What a text may name. Operands are numbered by their bindings, whose arrays are not
 * looked at; those behind them are parameters, p[0] and so on. */
typedef struct pithp_expression_names {
    const pith_binding *bindings;
    int64_t count;
    int parameters;
    bool c_types; /* C's; false: those of arrays */
} pithp_expression_names;

/* On failure the error points into the text, and there is nothing to end. */
pith_status pithp_expression_parse(pith_scope *s,
                                   pithp_expression *e,
                                   const char *text,
                                   const pithp_expression_names *names);
void pithp_expression_end(pithp_expression *e);

/* Short expressions that the thread parsed last (expression_recent.c). */
bool pithp_expression_recall(pithp_expression *e, const pithp_expression_names *names);
void pithp_expression_remember(const pithp_expression *e,
                               const pithp_expression_names *names);

/* ---- Recording (expression_record.c) ---- */

/* The value over checked operands, which may be traced, operation by operation; in s, or
 * one of the operands. `as`: the dtype it is cast to, or PITH_DTYPE_NONE. NULL: error
 * set.
 */
const pith_array *pithp_expression_record(pith_scope *s,
                                          const pithp_expression *e,
                                          const pith_array *const *operands,
                                          pith_dtype as);

/* ---- Fused, over elements that lie side by side (expression_fused.c) ---- */

enum { PITHP_FUSED_OPERANDS = 12 };

/* What an expression is fused for. */
typedef struct pithp_fused_key {
    int count;       /* operands */
    uint32_t scalar; /* bit k: operand k is one element for all */
    uint8_t dtypes[PITHP_FUSED_OPERANDS];
    uint8_t as; /* dtype of the result; PITH_DTYPE_NONE: that of the value */
} pithp_fused_key;

/* A plan that serves every count of elements. */
typedef struct pithp_fused_code pithp_fused_code;

/* *code: NULL where the expression cannot be fused, or the device does not run such
 * plans. To be released. Not PITH_OK: the error is set. */
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
void pithp_fused_code_release(pithp_fused_code *code); /* NULL does nothing */
int pithp_fused_cached(pith_scope *s);                 /* for tests */

/* ---- Joined, over many places on a device (expression_joined.c) ---- */

/* Checked operands of each place; results are like the first of them. */
typedef struct pithp_places {
    int64_t count;
    int operand_count;
    const pith_array *const *operands; /* [count][operand_count] */
    int64_t *order;                    /* [count]: set by pithp_places_sort */
} pithp_places;

/* Choose an order in which places that are worked on alike are neighbours: those become
 * one launch. */
void pithp_places_sort(const pithp_places *places);

/* For sorted places. *code: NULL if the places are to be done one by one: the device runs
 * no such plans, the expression is none for them, or it was not asked for before. To be
 * released. Not PITH_OK: the error is set. */
pith_status pithp_expression_join(pith_scope *s,
                                  const pithp_expression *e,
                                  const pithp_places *places,
                                  pithp_fused_code **code);
/* Of the places that it was made for, or such. */
pith_status pithp_joined_run(pith_scope *s,
                             pithp_fused_code *code,
                             const pithp_places *places,
                             const pith_array *const *results);

#endif
