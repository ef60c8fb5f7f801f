/* Name tables of expressions: operators, functions and dtypes. */
#include "array/expression_parts.h"

#define ROW(name, count, RULE, PRIMITIVE)                                                \
    { name, count, PITHP_OPERANDS_##RULE, PITHP_OP_##PRIMITIVE, NULL, NULL }

const pithp_operation pithp_choice_operation = ROW("?:", 3, CHOICE, WHERE);

/* ---- Operators ---- */

static const pithp_infix infixes[] = {
    {ROW("||", 2, TRUTHS, LOGICAL_OR), 1}, {ROW("&&", 2, TRUTHS, LOGICAL_AND), 2},
    {ROW("|", 2, WHOLE, BITWISE_OR), 3},   {ROW("^", 2, WHOLE, BITWISE_XOR), 4},
    {ROW("&", 2, WHOLE, BITWISE_AND), 5},  {ROW("==", 2, JOINED, EQ), 6},
    {ROW("!=", 2, JOINED, NE), 6},         {ROW("<", 2, JOINED, LT), 7},
    {ROW("<=", 2, JOINED, LE), 7},         {ROW(">", 2, JOINED, GT), 7},
    {ROW(">=", 2, JOINED, GE), 7},         {ROW("<<", 2, SHIFT, SHIFT_LEFT), 8},
    {ROW(">>", 2, SHIFT, SHIFT_RIGHT), 8}, {ROW("+", 2, JOINED, ADD), 9},
    {ROW("-", 2, JOINED, SUB), 9},         {ROW("*", 2, JOINED, MUL), 10},
    {ROW("/", 2, DIVIDE, DIV), 10},        {ROW("%", 2, WHOLE, FMOD), 10},
};

/* Unary + only promotes: it has no primitive. */
static const pithp_operation prefixes[] = {
    ROW("-", 1, JOINED, NEG),
    {"+", 1, PITHP_OPERANDS_JOINED, PITHP_PRIMITIVE_COUNT, NULL, NULL},
    ROW("!", 1, ASIS, LOGICAL_NOT),
    ROW("~", 1, WHOLE, BITWISE_NOT),
};

static bool is_called(const char *known, const char *name, size_t n) {
    return known[0] == name[0] && strncmp(known, name, n) == 0 && known[n] == 0;
}

const pithp_infix *pithp_infix_find(const char *name, size_t n) {
    for (int i = 0; i < PITHP_COUNT(infixes); i++)
        if (is_called(infixes[i].operation.name, name, n))
            return &infixes[i];
    return NULL;
}

const pithp_operation *pithp_prefix_find(const char *name, size_t n) {
    for (int i = 0; i < PITHP_COUNT(prefixes); i++)
        if (is_called(prefixes[i].name, name, n))
            return &prefixes[i];
    return NULL;
}

/* ---- Functions ---- */

static const pithp_operation functions[] = {
#define PITHP_UNARY(name, PRIMITIVE, rule)  ROW(#name, 1, rule, PRIMITIVE),
#define PITHP_BINARY(name, PRIMITIVE, rule) ROW(#name, 2, rule, PRIMITIVE),
#define PITHP_FORMULA(name, count, rule, PRIMITIVE, one, two)                            \
    {#name, count, PITHP_OPERANDS_##rule, PITHP_OP_##PRIMITIVE, one, two},
#include "array/elementwise.def"
};

const pithp_operation *pithp_function_find(const char *name, size_t n) {
    for (int i = 0; i < PITHP_COUNT(functions); i++)
        if (is_called(functions[i].name, name, n))
            return &functions[i];
    return NULL;
}

/* Dtypes by name, and C's types of one word. */
pith_dtype pithp_element_type_find(const char *name, size_t n) {
    static const struct {
        const char *name;
        uint8_t type;
    } words[] = {{"float", PITH_F32},    {"double", PITH_F64}, {"int", PITH_I32},
                 {"unsigned", PITH_U32}, {"long", PITH_I64},   {"short", PITH_I16}};
    for (pith_dtype d = PITH_BOOL; d < PITH_DTYPE_COUNT; d++)
        if (is_called(pith_dtype_name(d), name, n))
            return d;
    for (int i = 0; i < PITHP_COUNT(words); i++)
        if (is_called(words[i].name, name, n))
            return (pith_dtype)words[i].type;
    return PITH_DTYPE_NONE;
}

/* ---- Similar names ---- */

enum { LONGEST_NAME = 32 };

/* The Levenshtein distance: insertions, deletions and substitutions of a letter. */
static int distance(const char *a, size_t m, const char *b) {
    const size_t n = strlen(b);
    int row[LONGEST_NAME + 1];
    if (m > LONGEST_NAME || n > LONGEST_NAME)
        return LONGEST_NAME;
    for (size_t k = 0; k <= n; k++)
        row[k] = (int)k;
    for (size_t i = 1; i <= m; i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t k = 1; k <= n; k++) {
            int least = diagonal + (a[i - 1] != b[k - 1]);
            diagonal = row[k];
            least = row[k] + 1 < least ? row[k] + 1 : least;
            row[k] = row[k - 1] + 1 < least ? row[k - 1] + 1 : least;
        }
    }
    return row[n];
}

/* Whether a function's name starts with it, optionally after an f: minimum and fmin. */
static bool is_part(const char *name, size_t n, const char *function) {
    return n >= 3 && (strncmp(function, name, n) == 0 ||
                      (function[0] == 'f' && strncmp(function + 1, name, n) == 0));
}

void pithp_functions_near(pithp_string *t, const char *name, size_t n) {
    enum { MOST = 6 };
    int nearest = n < 4 ? 1 : 2, found = 0;
    for (int i = 0; i < PITHP_COUNT(functions); i++) {
        const int d = distance(name, n, functions[i].name);
        nearest = d < nearest ? d : nearest;
    }
    for (int i = 0; i < PITHP_COUNT(functions) && found < MOST; i++)
        if (distance(name, n, functions[i].name) <= nearest ||
            is_part(name, n, functions[i].name))
            pithp_string_print(t, "%s%s", found++ ? ", " : "", functions[i].name);
}
