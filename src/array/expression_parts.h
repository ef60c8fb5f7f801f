/* Within the array room: the names and tokens of expressions. */
#ifndef PITH_ARRAY_EXPRESSION_PARTS_H
#define PITH_ARRAY_EXPRESSION_PARTS_H

#include "array/expression.h"

#include <string.h>

/* ---- Operations (expression_table.c) ---- */

/* Which dtypes the operands of an operation are brought to. By the rules of arrays: the
 * one that all promote to, unless it says otherwise. */
typedef enum pithp_operand_rule {
    PITHP_OPERANDS_JOINED,   /* C: by the usual arithmetic conversions */
    PITHP_OPERANDS_WHOLE,    /* C: the same, integers only */
    PITHP_OPERANDS_DIVIDE,   /* C: as JOINED; arrays: floats only, two numbers in f64 */
    PITHP_OPERANDS_QUOTIENT, /* as JOINED, integers only */
    PITHP_OPERANDS_SHIFT,    /* C: integers only, of the promoted type of the first one,
                                after the count is limited */
    PITHP_OPERANDS_REAL,     /* C: the real type of the first one */
    PITHP_OPERANDS_REALS,    /* C: the usual conversions of their real types */
    PITHP_OPERANDS_ASIS,     /* one operand, of any dtype */
    PITHP_OPERANDS_TRUTHS,   /* bool: what is not bool is compared with 0 */
    PITHP_OPERANDS_CHOICE,   /* the first as TRUTHS, the others as JOINED */
    PITHP_OPERANDS_CALL,     /* those that the function below takes */
} pithp_operand_rule;

typedef struct pithp_operation {
    const char *name; /* as the text has it */
    uint8_t count;    /* operands */
    uint8_t rule;     /* pithp_operand_rule */
    uint16_t primitive;
    /* Of CALL: the operation, composed of others. */
    const pith_array *(*one)(pith_scope *s, const pith_array *a);
    const pith_array *(*two)(pith_scope *s, const pith_array *a, const pith_array *b);
} pithp_operation;

/* An operator between two operands; a higher level binds tighter. */
typedef struct pithp_infix {
    pithp_operation operation;
    int level;
} pithp_infix;

extern const pithp_operation pithp_choice_operation; /* ? : */
/* NULL, or PITH_DTYPE_NONE: there is none of that name. */
const pithp_infix *pithp_infix_find(const char *name, size_t n);
const pithp_operation *pithp_prefix_find(const char *name, size_t n);
const pithp_operation *pithp_function_find(const char *name, size_t n);
pith_dtype pithp_element_type_find(const char *name, size_t n);
/* Add those names of functions to a text that resemble the given one, or nothing. */
void pithp_functions_near(pithp_text *t, const char *name, size_t n);

/* ---- Tokens (expression_token.c) ---- */

typedef enum pithp_token_kind {
    PITHP_TOKEN_END,
    PITHP_TOKEN_NUMBER,
    PITHP_TOKEN_NAME,
    PITHP_TOKEN_MARK, /* an operator, a bracket, a comma, or a byte that is nothing */
} pithp_token_kind;

typedef struct pithp_token {
    pithp_token_kind kind;
    size_t at, length; /* in the text */
    uint64_t bits;     /* of a number, in its dtype */
    pith_dtype dtype;  /* C's type of the number */
    bool suffix;       /* which a suffix gave it */
} pithp_token;

static inline bool pithp_is_digit(char c) {
    return c >= '0' && c <= '9';
}
/* How many of the next characters are letters, digits and _: a name, or a number without
 * a point. */
static inline size_t pithp_word_length(const char *at) {
    size_t n = 0;
    while (pithp_is_digit(at[n]) || (at[n] >= 'a' && at[n] <= 'z') ||
           (at[n] >= 'A' && at[n] <= 'Z') || at[n] == '_')
        n++;
    return n;
}

/* The token at or behind a byte of the text. Not PITH_OK: the error of s says which
 * number is invalid. */
pith_status
pithp_token_next(pith_scope *s, const char *text, size_t at, pithp_token *token);
static inline bool
pithp_token_is(const char *text, const pithp_token *token, const char *mark) {
    return token->kind == PITHP_TOKEN_MARK && strlen(mark) == token->length &&
           memcmp(text + token->at, mark, token->length) == 0;
}

/* ---- Whole numbers without dtype (expression_number.c) ---- */

__extension__ typedef __int128 pithp_i128;

/* What an integer without dtype may be: one number, or what an array chooses between. */
typedef struct pithp_range {
    bool known;
    pithp_i128 least, most;
} pithp_range;

typedef enum pithp_range_state {
    PITHP_RANGE_UNKNOWN, /* the operation does not say */
    PITHP_RANGE_KNOWN,   /* i64 or u64 holds each of its numbers */
    PITHP_RANGE_TOO_LARGE,
} pithp_range_state;

/* What the operation gives of such operands. */
pithp_range_state
pithp_range_combine(const pithp_operation *o, const pithp_range *x, pithp_range *to);
/* All of an integer dtype. */
pithp_range pithp_range_of(pith_dtype dtype);
bool pithp_range_within(const pithp_range *x, pith_dtype dtype);
enum { PITHP_RANGE_TEXT = 48 };
/* The number in decimal, somewhere in text. */
const char *pithp_range_print(pithp_i128 number, char text[PITHP_RANGE_TEXT]);

#endif
