/* Within the array room: names and tokens of expressions. */
#ifndef PITH_ARRAY_EXPRESSION_PARTS_H
#define PITH_ARRAY_EXPRESSION_PARTS_H

#include "array/expression.h"

#include <string.h>

/* ---- Operations (expression_table.c) ---- */

/* Conversion of operands. By default, array dtypes promote to a common one. */
typedef enum pithp_operand_rule {
    PITHP_OPERANDS_JOINED,   /* C: by the usual arithmetic conversions */
    PITHP_OPERANDS_WHOLE,    /* C: the same, for integers only */
    PITHP_OPERANDS_DIVIDE,   /* C: as JOINED; arrays: floats only, two numbers in f64 */
    PITHP_OPERANDS_QUOTIENT, /* as JOINED, integers only */
    PITHP_OPERANDS_SHIFT,    /* C: integers only, in the first one's promoted type */
    PITHP_OPERANDS_REAL,     /* C: the real type of the first one */
    PITHP_OPERANDS_REALS,    /* C: the usual conversions of their real types */
    PITHP_OPERANDS_ASIS,     /* one operand, of any dtype */
    PITHP_OPERANDS_TRUTHS,   /* bool; other dtypes are compared with 0 */
    PITHP_OPERANDS_CHOICE,   /* the first as TRUTHS, the others as JOINED */
    PITHP_OPERANDS_CALL,     /* operands of the function below */
} pithp_operand_rule;

typedef struct pithp_operation {
    const char *name; /* as in the text */
    uint8_t count;    /* number of operands */
    uint8_t rule;     /* pithp_operand_rule */
    uint16_t primitive;
    /* CALL: a composed operation. */
    const pith_array *(*one)(pith_scope *s, const pith_array *a);
    const pith_array *(*two)(pith_scope *s, const pith_array *a, const pith_array *b);
} pithp_operation;

/* An infix operator; a higher level binds tighter. */
typedef struct pithp_infix {
    pithp_operation operation;
    int level;
} pithp_infix;

extern const pithp_operation pithp_choice_operation; /* ? : */
/* NULL, or PITH_DTYPE_NONE: unknown name. */
const pithp_infix *pithp_infix_find(const char *name, size_t n);
const pithp_operation *pithp_prefix_find(const char *name, size_t n);
const pithp_operation *pithp_function_find(const char *name, size_t n);
pith_dtype pithp_element_type_find(const char *name, size_t n);
/* Append names of functions similar to the given one, if any. */
void pithp_functions_near(pithp_string *t, const char *name, size_t n);

/* ---- Tokens (expression_token.c) ---- */

typedef enum pithp_token_kind {
    PITHP_TOKEN_END,
    PITHP_TOKEN_NUMBER,
    PITHP_TOKEN_NAME,
    PITHP_TOKEN_MARK, /* an operator, a bracket, a comma, or an invalid byte */
} pithp_token_kind;

typedef struct pithp_token {
    pithp_token_kind kind;
    size_t at, length; /* in the text */
    uint64_t bits;     /* value of a number, in its dtype */
    pith_dtype dtype;  /* C's type of the number */
    bool suffix;       /* the type comes from a suffix */
} pithp_token;

static inline bool pithp_is_digit(char c) {
    return c >= '0' && c <= '9';
}
/* Length of the next word (letters, digits and _): a name, or a number without a
 * point. */
static inline size_t pithp_word_length(const char *at) {
    size_t n = 0;
    while (pithp_is_digit(at[n]) || (at[n] >= 'a' && at[n] <= 'z') ||
           (at[n] >= 'A' && at[n] <= 'Z') || at[n] == '_')
        n++;
    return n;
}

/* The token at or after a byte of the text. Not PITH_OK: the error of s describes an
 * invalid number. */
pith_status
pithp_token_next(pith_scope *s, const char *text, size_t at, pithp_token *token);
static inline bool
pithp_token_is(const char *text, const pithp_token *token, const char *mark) {
    return token->kind == PITHP_TOKEN_MARK && strlen(mark) == token->length &&
           memcmp(text + token->at, mark, token->length) == 0;
}

/* ---- Integers without a dtype (expression_number.c) ---- */

__extension__ typedef __int128 pithp_i128;

/* Range of an integer without a dtype: one number, or the alternatives of a choice. */
typedef struct pithp_range {
    bool known;
    pithp_i128 least, most;
} pithp_range;

typedef enum pithp_range_state {
    PITHP_RANGE_UNKNOWN, /* not defined for the operation */
    PITHP_RANGE_KNOWN,   /* i64 or u64 holds the whole range */
    PITHP_RANGE_TOO_LARGE,
} pithp_range_state;

/* The range of an operation's result. */
pithp_range_state
pithp_range_combine(const pithp_operation *o, const pithp_range *x, pithp_range *to);
/* The range of an integer dtype. */
pithp_range pithp_range_of(pith_dtype dtype);
bool pithp_range_within(const pithp_range *x, pith_dtype dtype);
enum { PITHP_RANGE_TEXT = 48 };
/* The number in decimal, within text. */
const char *pithp_range_print(pithp_i128 number, char text[PITHP_RANGE_TEXT]);

#endif
