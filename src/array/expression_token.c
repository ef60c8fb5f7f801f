/* Expression lexer: C's numbers, names and operators. The longest operator matches, as in
 * C, so that a--b is not a difference. */
#include "array/expression_parts.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>

static pith_status
refuse(pith_scope *s, const char *text, const char *at, const char *why) {
    pithp_fail_function(s, PITH_E_ARG, NULL, "%s", why);
    pithp_error_point(s, text, (size_t)(at - text));
    return PITH_E_ARG;
}

/* ---- Numbers ---- */

/* Whether a number has a point or an exponent (hexadecimal: a binary exponent). */
static bool is_real(const char *first, const char *end, bool hex) {
    const char *const marks = hex ? ".pP" : ".eE";
    while (first < end && !strchr(marks, *first))
        first++;
    return first < end;
}

static pith_status
read_real(pith_scope *s, const char *text, pithp_token *token, const char **end) {
    const char *const first = text + token->at;
    /* C's numbers have a point in every locale. */
    const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    const locale_t before = uselocale(c);
    char *behind;
    const double value = strtod(first, &behind);
    const bool narrow = *behind == 'f' || *behind == 'F';
    const float single = narrow ? strtof(first, NULL) : 0;
    uselocale(before);
    freelocale(c);
    token->suffix = narrow;
    token->dtype = narrow ? PITH_F32 : PITH_F64;
    if (narrow)
        memcpy(&token->bits, &single, sizeof single);
    else
        memcpy(&token->bits, &value, sizeof value);
    *end = behind + narrow;
    if (isinf(value) || isinf(single))
        return refuse(s, text, first, "the number is too large for its dtype");
    return PITH_OK;
}

/* The suffixes u, l and ll, and u with one of these. */
static const char *read_suffix(const char *at, bool *is_unsigned, bool *is_long) {
    *is_unsigned = *at == 'u' || *at == 'U';
    at += *is_unsigned;
    *is_long = *at == 'l' || *at == 'L';
    at += *is_long ? 1 + (at[1] == at[0]) : 0;
    if (!*is_unsigned && (*at == 'u' || *at == 'U')) {
        *is_unsigned = true;
        at++;
    }
    return at;
}

static pith_status
read_whole(pith_scope *s, const char *text, pithp_token *token, const char **end) {
    const char *const first = text + token->at;
    const bool hex = first[0] == '0' && (first[1] == 'x' || first[1] == 'X');
    if (first[0] == '0' && pithp_is_digit(first[1]))
        return refuse(
            s, text, first,
            "a number that begins with 0 is octal in C, which is not supported: leave "
            "the 0 out, or begin with 0x");
    char *behind;
    errno = 0;
    const unsigned long long value = strtoull(first, &behind, hex ? 16 : 10);
    if (errno)
        return refuse(s, text, first, "the number does not fit 64 bits");
    bool is_unsigned, is_long;
    *end = read_suffix(behind, &is_unsigned, &is_long);
    token->suffix = *end > behind;
    is_long |= value > UINT32_MAX || (!hex && !is_unsigned && value > INT32_MAX);
    is_unsigned |= hex && value > (is_long ? (uint64_t)INT64_MAX : INT32_MAX);
    is_unsigned |= value > INT64_MAX;
    token->bits = value;
    token->dtype = is_long       ? is_unsigned ? PITH_U64 : PITH_I64
                   : is_unsigned ? PITH_U32
                                 : PITH_I32;
    return PITH_OK;
}

static pith_status read_number(pith_scope *s, const char *text, pithp_token *token) {
    const char *const first = text + token->at;
    const bool hex = first[0] == '0' && (first[1] == 'x' || first[1] == 'X');
    const char *end =
        first + strspn(first, hex ? "xX0123456789abcdefABCDEF." : "0123456789.");
    if (*end && strchr(hex ? "pP" : "eE", *end)) {
        end += end[1] == '+' || end[1] == '-' ? 2 : 1;
        end += strspn(end, "0123456789");
    }
    const bool real = is_real(first, end, hex) || (!hex && (*end == 'f' || *end == 'F'));
    const pith_status rc =
        real ? read_real(s, text, token, &end) : read_whole(s, text, token, &end);
    if (rc != PITH_OK)
        return rc;
    token->kind = PITHP_TOKEN_NUMBER;
    token->length = (size_t)(end - first);
    if (pithp_word_length(end) || *end == '.' || (hex && end <= first + 2))
        return refuse(s, text, end, "expected an operator after the number");
    return PITH_OK;
}

/* ---- Operators ---- */

static size_t mark_length(const char *at) {
    static const char *const marks[] = {
        "<<=", ">>=", "...", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "++", "--",
        "->",  "+=",  "-=",  "*=", "/=", "%=", "&=", "|=", "^=", "**", "//", "/*"};
    for (int i = 0; i < PITHP_COUNT(marks); i++)
        if (at[0] == marks[i][0] && strncmp(at, marks[i], strlen(marks[i])) == 0)
            return strlen(marks[i]);
    return 1;
}

pith_status
pithp_token_next(pith_scope *s, const char *text, size_t at, pithp_token *token) {
    while (text[at] == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == '\n')
        at++;
    const char *const first = text + at;
    *token = (pithp_token){.kind = PITHP_TOKEN_END, .at = at};
    if (*first == 0)
        return PITH_OK;
    if (pithp_is_digit(first[0]) || (first[0] == '.' && pithp_is_digit(first[1])))
        return read_number(s, text, token);
    token->length = pithp_word_length(first);
    token->kind = token->length ? PITHP_TOKEN_NAME : PITHP_TOKEN_MARK;
    if (!token->length)
        token->length = mark_length(first);
    return PITH_OK;
}
