/* The parser of signatures: one pass, by recursive descent. */
#include "trace/vmap/signature.h"

#include <ctype.h>
#include <string.h>

typedef struct parser {
    pith_scope *s;
    const char *function, *f; /* for messages */
    const char *text, *next;
    pithp_signature *to;
    bool results; /* after "->" */
} parser;

/* ---- Messages ---- */

static pith_status expected(const parser *p, const char *what) {
    return pithp_fail(p->s, PITH_E_ARG, NULL,
                      "%s: %s: invalid signature '%s': expected %s at character %d",
                      p->function, p->f, p->text, what, (int)(p->next - p->text) + 1);
}

/* ---- Characters ---- */

static char peek(parser *p) {
    while (*p->next == ' ')
        p->next++;
    return *p->next;
}

static bool accept(parser *p, char c) {
    if (peek(p) != c)
        return false;
    p->next++;
    return true;
}

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

/* ---- Dimensions ---- */

/* The digits as a number; -1: it is too large. */
static int64_t number_of(const char *text, int length) {
    int64_t value = 0;
    for (int k = 0; k < length; k++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, text[k] - '0', &value))
            return -1;
    return value;
}

/* The number in the list of a dimension with this text, which is added once. */
static int find(const parser *p, const pithp_dimension *wanted) {
    pithp_signature *to = p->to;
    for (int64_t k = 0; k < to->dimension_count; k++)
        if (to->dimensions[k].length == wanted->length &&
            !memcmp(to->dimensions[k].text, wanted->text, (size_t)wanted->length))
            return (int)k;
    to->dimensions[to->dimension_count] = *wanted;
    return (int)to->dimension_count++;
}

static pith_status parse_dimension(parser *p, pithp_core *core) {
    pithp_dimension d = {.size = -1};
    const bool digit = isdigit((unsigned char)peek(p));
    const char *end = p->next;
    if (!is_word(*end))
        return expected(p, "a name or a number");
    if (core->rank == PITH_MAX_RANK)
        return expected(p, "at most 8 axes: ')'");
    _Static_assert(PITH_MAX_RANK == 8, "of the message");
    while (digit ? isdigit((unsigned char)*end) : is_word(*end))
        end++;
    d.text = p->next;
    d.length = (int)(end - p->next);
    if (digit && (d.size = number_of(d.text, d.length)) < 0)
        return expected(p, "a number below 2^63");
    p->next = end;
    core->dimensions[core->rank++] = find(p, &d);
    return PITH_OK;
}

/* ---- Cores ---- */

static pith_status parse_core(parser *p) {
    pithp_signature *to = p->to;
    pithp_core *core = &to->cores[to->input_count + to->output_count];
    *core = (pithp_core){0};
    if (!accept(p, '('))
        return expected(p, "'('");
    for (bool more = peek(p) != ')'; more; more = accept(p, ','))
        if (parse_dimension(p, core) != PITH_OK)
            return p->s->error.code;
    if (!accept(p, ')'))
        return expected(p, "',' or ')'");
    *(p->results ? &to->output_count : &to->input_count) += 1;
    return PITH_OK;
}

static pith_status parse_cores(parser *p) {
    do {
        if (parse_core(p) != PITH_OK)
            return p->s->error.code;
    } while (accept(p, ','));
    return PITH_OK;
}

static pith_status parse(parser *p) {
    pith_status rc;
    PITH_TRY(parse_cores(p));
    peek(p);
    if (p->next[0] != '-' || p->next[1] != '>')
        return expected(p, "',' or '->'");
    p->next += 2;
    p->results = true;
    PITH_TRY(parse_cores(p));
    if (peek(p))
        return expected(p, "',' or the end");
out:
    return rc;
}

pith_status pithp_signature_parse(pith_scope *s,
                                  const char *function,
                                  const char *f,
                                  const char *text,
                                  pithp_signature *signature) {
    const size_t most = strlen(text) + 1; /* cores, and dimensions */
    *signature = (pithp_signature){
        .cores = pithp_scope_allocate(s, most * sizeof *signature->cores),
        .dimensions = pithp_scope_allocate(s, most * sizeof *signature->dimensions)};
    if (!signature->cores || !signature->dimensions)
        return s->error.code;
    parser p = {s, function, f, text, text, signature, false};
    return parse(&p);
}

void pithp_core_print(const pithp_signature *signature,
                      const pithp_core *core,
                      pithp_string *text) {
    pithp_string_add(text, "(");
    for (int k = 0; k < core->rank; k++) {
        const pithp_dimension *d = &signature->dimensions[core->dimensions[k]];
        pithp_string_print(text, "%s%.*s", k ? "," : "", d->length, d->text);
    }
    pithp_string_add(text, ")");
}
