/* Reading expressions by C's grammar, as far as values without effects go: all operators
 * but assignments, the comma, sizeof and those of addresses. */
#include "tree/expression_tree.h"

#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 200 };

typedef struct reader {
    pith_scope *s;
    const char *text, *at;
    int depth;
} reader;

/* ---- Functions ---- */

bool pithp_expression_function(const char *name, size_t n, pithp_term *term) {
    static const struct {
        const char *name;
        uint8_t kind, count;
        uint8_t primitive;
    } functions[] = {
#define REAL(name, ROW, count) {#name, PITHP_TERM_REAL, count, PITHP_OP_##ROW}
        REAL(sqrt, SQRT, 1),
        REAL(cbrt, CBRT, 1),
        REAL(exp, EXP, 1),
        REAL(exp2, EXP2, 1),
        REAL(expm1, EXPM1, 1),
        REAL(log, LOG, 1),
        REAL(log2, LOG2, 1),
        REAL(log10, LOG10, 1),
        REAL(log1p, LOG1P, 1),
        REAL(sin, SIN, 1),
        REAL(cos, COS, 1),
        REAL(tan, TAN, 1),
        REAL(asin, ASIN, 1),
        REAL(acos, ACOS, 1),
        REAL(atan, ATAN, 1),
        REAL(sinh, SINH, 1),
        REAL(cosh, COSH, 1),
        REAL(tanh, TANH, 1),
        REAL(asinh, ASINH, 1),
        REAL(acosh, ACOSH, 1),
        REAL(atanh, ATANH, 1),
        REAL(erf, ERF, 1),
        REAL(erfc, ERFC, 1),
        REAL(lgamma, LGAMMA, 1),
        REAL(tgamma, TGAMMA, 1),
        REAL(fabs, ABS, 1),
        REAL(floor, FLOOR, 1),
        REAL(ceil, CEIL, 1),
        REAL(trunc, TRUNC, 1),
        REAL(rint, ROUND, 1),
        REAL(nearbyint, ROUND, 1),
        REAL(pow, POWER, 2),
        REAL(atan2, ATAN2, 2),
        REAL(hypot, HYPOT, 2),
        REAL(fmod, FMOD, 2),
        REAL(copysign, COPYSIGN, 2),
#undef REAL
        {"fmin", PITHP_TERM_EXTREME, 2, PITHP_OP_FMIN},
        {"fmax", PITHP_TERM_EXTREME, 2, PITHP_OP_FMAX},
        {"quotient", PITHP_TERM_WHOLE, 2, PITHP_OP_DIV},
        {"rest", PITHP_TERM_WHOLE, 2, PITHP_OP_FMOD},
    };
    for (int i = 0; i < PITHP_COUNT(functions); i++)
        if (strncmp(functions[i].name, name, n) == 0 && functions[i].name[n] == 0) {
            *term = (pithp_term){.kind = (pithp_term_kind)functions[i].kind,
                                 .primitive = (pithp_primitive)functions[i].primitive,
                                 .count = functions[i].count};
            return true;
        }
    return false;
}

/* Names of types, as C and the texts of compilers have them. */
static pith_dtype find_type(const char *name, size_t n) {
    static const struct {
        const char *name;
        uint8_t type;
    } types[] = {{"float", PITH_F32},    {"double", PITH_F64}, {"int", PITH_I32},
                 {"unsigned", PITH_U32}, {"long", PITH_I64},   {"short", PITH_I16},
                 {"f32", PITH_F32},      {"f64", PITH_F64},    {"i8", PITH_I8},
                 {"i16", PITH_I16},      {"i32", PITH_I32},    {"i64", PITH_I64},
                 {"u8", PITH_U8},        {"u16", PITH_U16},    {"u32", PITH_U32},
                 {"u64", PITH_U64}};
    for (int i = 0; i < PITHP_COUNT(types); i++)
        if (strncmp(types[i].name, name, n) == 0 && types[i].name[n] == 0)
            return (pith_dtype)types[i].type;
    return PITH_DTYPE_NONE;
}

/* ---- Reading ---- */

static const pithp_term *choice(reader *r);

static const pithp_term *fail(reader *r, const char *expected) {
    if (r->s->error.code == PITH_OK)
        pithp_fail(r->s, PITH_E_ARG, NULL,
                   "a traced leaf: expected %s at \"%.40s\" of the expression "
                   "\"%.100s\"",
                   expected, r->at, r->text);
    return NULL;
}

static void skip_blanks(reader *r) {
    r->at += strspn(r->at, " ");
}

/* The operator is next, and no longer one begins with it. */
static bool accept(reader *r, const char *operator) {
    const size_t n = strlen(operator);
    skip_blanks(r);
    if (strncmp(r->at, operator, n) != 0)
        return false;
    const char next = r->at[n];
    if (n == 1 && strchr("&|<>=!+-*/%^", operator[0]) && next &&
        (next == '=' || (strchr("&|<>+-", operator[0]) && next == operator[0])))
        return false;
    r->at += n;
    return true;
}

static const pithp_term *keep(reader *r, pithp_term term) {
    for (int i = 0; i < term.count; i++)
        if (!term.operands[i])
            return NULL;
    pithp_term *kept = pithp_scope_allocate(r->s, sizeof *kept);
    if (kept)
        *kept = term;
    return kept;
}

static const pithp_term *of_two(reader *r,
                                pithp_term_kind kind,
                                int primitive,
                                const pithp_term *left,
                                const pithp_term *right) {
    return keep(r, (pithp_term){.kind = kind,
                                .primitive = (pithp_primitive)primitive,
                                .count = 2,
                                .operands = {left, right}});
}

/* ---- Numbers ---- */

static const pithp_term *real_number(reader *r, const char *end, double value) {
    const bool single = *end == 'f' || *end == 'F';
    const float narrow = strtof(r->at, NULL);
    pithp_term term = {.kind = PITHP_TERM_NUMBER, .type = single ? PITH_F32 : PITH_F64};
    if (single)
        memcpy(&term.bits, &narrow, sizeof narrow);
    else
        memcpy(&term.bits, &value, sizeof value);
    r->at = end + single;
    return keep(r, term);
}

static const pithp_term *whole_number(reader *r) {
    char *end;
    errno = 0;
    const bool decimal = r->at[0] != '0';
    const unsigned long long value = strtoull(r->at, &end, 0);
    if (errno)
        return fail(r, "a number that fits 64 bits");
    bool is_unsigned = false, is_long = false;
    for (; *end && strchr("uUlL", *end); end++) {
        is_unsigned |= *end == 'u' || *end == 'U';
        is_long |= *end == 'l' || *end == 'L';
    }
    is_long |= value > UINT32_MAX || (decimal && !is_unsigned && value > INT32_MAX);
    is_unsigned |= !decimal && value > (is_long ? (uint64_t)INT64_MAX : INT32_MAX);
    is_unsigned |= value > INT64_MAX;
    r->at = end;
    return keep(r, (pithp_term){.kind = PITHP_TERM_NUMBER,
                                .type = is_long       ? is_unsigned ? PITH_U64 : PITH_I64
                                        : is_unsigned ? PITH_U32
                                                      : PITH_I32,
                                .bits = value});
}

static const pithp_term *number(reader *r) {
    char *end;
    const double value = strtod(r->at, &end);
    const bool hex = r->at[0] == '0' && (r->at[1] == 'x' || r->at[1] == 'X');
    const size_t length = (size_t)(end - r->at);
    const pithp_term *made = strcspn(r->at, hex ? ".pP" : ".eE") < length ||
                                     (!hex && (*end == 'f' || *end == 'F'))
                                 ? real_number(r, end, value)
                                 : whole_number(r);
    const char c = *r->at;
    if (made && ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                 (c >= 'A' && c <= 'Z') || c == '_' || c == '.'))
        return fail(r, "an operator behind a number");
    return made;
}

/* ---- Names ---- */

static size_t name_length(const char *at) {
    return strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
}

static const pithp_term *call(reader *r, pithp_term term) {
    for (int i = 0; i < term.count; i++) {
        if (!accept(r, i ? "," : "("))
            return fail(r, i ? "another argument" : "arguments in parentheses");
        if (!(term.operands[i] = choice(r)))
            return NULL;
    }
    return accept(r, ")") ? keep(r, term) : fail(r, "\")\"");
}

static const pithp_term *parameter(reader *r) {
    pithp_term term = {.kind = PITHP_TERM_PARAMETER};
    if (!accept(r, "["))
        return fail(r, "an index");
    term.index = *r->at - '0'; /* one digit: the expression was checked */
    r->at++;
    return accept(r, "]") ? keep(r, term) : fail(r, "\"]\"");
}

static const pithp_term *name(reader *r) {
    const char *const first = r->at;
    const size_t n = name_length(first);
    pithp_term term = {.kind = PITHP_TERM_OPERAND};
    if (n == 1 && first[0] >= 'a' && first[0] <= 'd') {
        r->at += n;
        term.index = first[0] - 'a';
        return keep(r, term);
    }
    if (n == 1 && first[0] == 'p') {
        r->at += n;
        return parameter(r);
    }
    if (!pithp_expression_function(first, n, &term))
        return fail(r, "an operand, a parameter or a function");
    r->at += n;
    return call(r, term);
}

/* ---- Operators, from the tightest on ---- */

static const pithp_term *primary(reader *r) {
    skip_blanks(r);
    if (accept(r, "(")) {
        const pithp_term *inner = choice(r);
        return !inner || accept(r, ")") ? inner : fail(r, "\")\"");
    }
    if ((*r->at >= '0' && *r->at <= '9') || *r->at == '.')
        return number(r);
    return name_length(r->at) ? name(r) : fail(r, "a value");
}

static const pithp_term *unary(reader *r);

/* A type in parentheses, then what becomes of that type; NULL and `r` as it was: there is
 * no type. */
static const pithp_term *cast(reader *r) {
    const char *const before = r->at;
    skip_blanks(r);
    if (*r->at == '(') {
        r->at++;
        skip_blanks(r);
        const size_t n = name_length(r->at);
        const pith_dtype type = n ? find_type(r->at, n) : PITH_DTYPE_NONE;
        r->at += n;
        if (type != PITH_DTYPE_NONE && accept(r, ")")) {
            const pithp_term *of = unary(r);
            return keep(r, (pithp_term){.kind = PITHP_TERM_CAST,
                                        .type = type,
                                        .count = 1,
                                        .operands = {of}});
        }
    }
    r->at = before;
    return NULL;
}

static const pithp_term *unary(reader *r) {
    static const struct {
        char operator[2];
        uint8_t kind, primitive;
    } all[] = {{"-", PITHP_TERM_UNARY, PITHP_OP_NEG},
               {"+", PITHP_TERM_PLUS, 0},
               {"!", PITHP_TERM_NOT, PITHP_OP_LOGICAL_NOT},
               {"~", PITHP_TERM_UNARY, PITHP_OP_BITWISE_NOT}};
    if (++r->depth > DEEPEST)
        return fail(r, "fewer operators inside one another");
    const pithp_term *made = cast(r);
    for (int i = 0; !made && r->s->error.code == PITH_OK && i < PITHP_COUNT(all); i++)
        if (accept(r, all[i].operator))
            made = keep(r, (pithp_term){.kind = (pithp_term_kind)all[i].kind,
                                        .primitive = (pithp_primitive)all[i].primitive,
                                        .count = 1,
                                        .operands = {unary(r)}});
    if (!made && r->s->error.code == PITH_OK)
        made = primary(r);
    r->depth--;
    return made;
}

/* Operators of two operands; `level` is higher where they bind tighter. */
static const struct {
    char operator[3];
    uint8_t level, kind, primitive;
} binaries[] = {
    {"||", 1, PITHP_TERM_LOGICAL, PITHP_OP_LOGICAL_OR},
    {"&&", 2, PITHP_TERM_LOGICAL, PITHP_OP_LOGICAL_AND},
    {"|", 3, PITHP_TERM_BINARY, PITHP_OP_BITWISE_OR},
    {"^", 4, PITHP_TERM_BINARY, PITHP_OP_BITWISE_XOR},
    {"&", 5, PITHP_TERM_BINARY, PITHP_OP_BITWISE_AND},
    {"==", 6, PITHP_TERM_COMPARE, PITHP_OP_EQ},
    {"!=", 6, PITHP_TERM_COMPARE, PITHP_OP_NE},
    {"<=", 7, PITHP_TERM_COMPARE, PITHP_OP_LE},
    {">=", 7, PITHP_TERM_COMPARE, PITHP_OP_GE},
    {"<<", 8, PITHP_TERM_SHIFT, PITHP_OP_SHIFT_LEFT},
    {">>", 8, PITHP_TERM_SHIFT, PITHP_OP_SHIFT_RIGHT},
    {"<", 7, PITHP_TERM_COMPARE, PITHP_OP_LT},
    {">", 7, PITHP_TERM_COMPARE, PITHP_OP_GT},
    {"+", 9, PITHP_TERM_BINARY, PITHP_OP_ADD},
    {"-", 9, PITHP_TERM_BINARY, PITHP_OP_SUB},
    {"*", 10, PITHP_TERM_BINARY, PITHP_OP_MUL},
    {"/", 10, PITHP_TERM_BINARY, PITHP_OP_DIV},
    {"%", 10, PITHP_TERM_BINARY, PITHP_OP_FMOD},
};

static const pithp_term *binary(reader *r, int level) {
    const pithp_term *left = unary(r);
    for (int i = 0; left && i < PITHP_COUNT(binaries);) {
        const char *const before = r->at;
        if (binaries[i].level < level || !accept(r, binaries[i].operator)) {
            i++;
            continue;
        }
        if (*r->at == '=') {
            r->at = before;
            return fail(r, "no assignment");
        }
        left = of_two(r, (pithp_term_kind)binaries[i].kind, binaries[i].primitive, left,
                      binary(r, binaries[i].level + 1));
        i = 0;
    }
    return left;
}

static const pithp_term *choice(reader *r) {
    if (++r->depth > DEEPEST)
        return fail(r, "fewer operators inside one another");
    pithp_term term = {.kind = PITHP_TERM_CHOICE, .count = 3};
    const pithp_term *made = term.operands[0] = binary(r, 1);
    if (made && accept(r, "?")) {
        term.operands[1] = choice(r);
        if (term.operands[1] && !accept(r, ":"))
            return fail(r, "\":\"");
        term.operands[2] = term.operands[1] ? choice(r) : NULL;
        made = keep(r, term);
    }
    r->depth--;
    return made;
}

const pithp_term *pithp_expression_parse(pith_scope *s, const char *expression) {
    reader r = {.s = s, .text = expression, .at = expression};
    /* C's numbers have a point, whatever the program's locale says */
    const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    const locale_t before = uselocale(c);
    const pithp_term *made = choice(&r);
    skip_blanks(&r);
    uselocale(before);
    freelocale(c);
    return !made || *r.at == 0 ? made : fail(&r, "an operator without effects");
}
