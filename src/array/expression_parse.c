/* Expression parser: C's grammar without side effects, to postfix code by the
 * shunting-yard algorithm (Dijkstra, 1961). Pending operators are on a list, so nesting
 * takes no stack. */
#include "array/expression_parts.h"
#include "base/format.h"

#include <stdio.h>

enum { MOST_BYTES = 16 << 20, FEW_WAITING = 16 };

/* Pending operators: they wait for operands, a bracket or a colon. */
typedef enum wait_kind {
    WAIT_INFIX,
    WAIT_PREFIX,
    WAIT_CAST,
    WAIT_QUESTION, /* for its colon */
    WAIT_COLON,    /* for the last operand */
    WAIT_BRACKET,
    WAIT_CALL,
} wait_kind;

typedef struct waiting {
    uint8_t kind;
    uint8_t level;     /* precedence of an infix operator */
    uint8_t dtype;     /* of a cast or a converting call; or PITH_DTYPE_NONE */
    uint8_t arguments; /* of a call: number parsed */
    int32_t at;
    const pithp_operation *operation;
} waiting;

typedef struct reader {
    pith_scope *s;
    const pithp_expression_names *names;
    pithp_expression *to;
    const char *text;
    pithp_token token; /* the next token */
    waiting *list;     /* `few`, or allocated */
    int64_t count, room;
    int64_t values; /* current depth of the evaluation stack */
    bool wants_value;
    waiting few[FEW_WAITING];
} reader;

/* ---- Errors ---- */

static pith_status refuse_at(reader *r, size_t at, const char *format, ...)
    PITH_FORMAT(3, 4);

static pith_status refuse_at(reader *r, size_t at, const char *format, ...) {
    char why[512];
    va_list arguments;
    va_start(arguments, format);
    pithp_format_v(why, sizeof why, format, arguments);
    va_end(arguments);
    pithp_fail_function(r->s, PITH_E_ARG, NULL, "%s", why);
    pithp_error_point(r->s, r->text, at);
    return PITH_E_ARG;
}

/* The token as shown in messages. */
static const char *shown(const reader *r, char room[48]) {
    const pithp_token *t = &r->token;
    if (t->kind == PITHP_TOKEN_END)
        return "the end";
    const char *const first = r->text + t->at;
    size_t length = t->length < 40 ? t->length : 40;
    while (length < 44 && ((unsigned char)first[length] & 0xC0) == 0x80)
        length++; /* the rest of a multi-byte character */
    const unsigned char byte = (unsigned char)*first;
    if (byte < ' ' || byte == 0x7f || (byte > '~' && length == 1))
        snprintf(room, 48, "the byte 0x%02x", byte);
    else
        snprintf(room, 48, "\"%.*s\"", (int)length, first);
    return room;
}

static bool is(const reader *r, const char *mark) {
    return pithp_token_is(r->text, &r->token, mark);
}

/* A hint for users of other languages, or of all of C. */
static const char *hint(const reader *r) {
    const pithp_token *t = &r->token;
    if (t->kind != PITHP_TOKEN_MARK)
        return "";
    if (is(r, "=") || (t->length > 1 && r->text[t->at + t->length - 1] == '=' &&
                       !pithp_infix_find(r->text + t->at, t->length)))
        return ": an expression assigns nothing, and compares with ==";
    if (is(r, "**"))
        return ": powers are pow(x, y)";
    if (is(r, "//"))
        return ": floor_divide(x, y) rounds down";
    if (is(r, "++") || is(r, "--"))
        return ": an expression has no side effects; separate two signs by a space";
    if (is(r, "["))
        return ": an expression works element by element, and has no indices";
    if (is(r, ","))
        return ": a comma separates arguments";
    return "";
}

static pith_status refuse_token(reader *r, const char *expected) {
    char room[48];
    return refuse_at(r, r->token.at, "expected %s, got %s%s", expected, shown(r, room),
                     hint(r));
}

/* The bound names, as many as fit. */
static void list_names(const reader *r, char *list, size_t room) {
    size_t used = 0;
    list[0] = 0;
    for (int64_t k = 0; k < r->names->count && used + 40 < room; k++)
        used += (size_t)snprintf(list + used, room - used, "%s%.32s", k ? ", " : "",
                                 r->names->bindings[k].name);
    if (r->names->parameters > 0)
        snprintf(list + used, room - used, "%sp[0] to p[%d]", used ? ", " : "",
                 r->names->parameters - 1);
}

static pith_status refuse_name(reader *r) {
    char list[320];
    const char *const name = r->text + r->token.at;
    const int n = (int)(r->token.length < 64 ? r->token.length : 64);
    list_names(r, list, sizeof list);
    if (pithp_function_find(name, r->token.length))
        return refuse_at(r, r->token.at, "%.*s is a function: expected %.*s(...)", n,
                         name, n, name);
    return refuse_at(r, r->token.at, "no array is called %.*s; there %s %s", n, name,
                     list[0] ? "are" : "is", list[0] ? list : "none");
}

static pith_status refuse_function(reader *r, const pithp_token *name) {
    pithp_string near;
    const int n = (int)(name->length < 64 ? name->length : 64);
    pithp_string_begin(&near, r->s->runtime);
    pithp_functions_near(&near, r->text + name->at, name->length);
    const pith_status rc =
        refuse_at(r, name->at, "no function is called %.*s%s%s", n, r->text + name->at,
                  near.length ? "; there are " : "", near.bytes);
    pithp_string_end(&near);
    return rc;
}

/* ---- Lists ---- */

/* Grow a list that starts as `few`, to hold one more item. */
static pith_status grow(pith_scope *s,
                        void *list,
                        const void *few,
                        int64_t count,
                        int64_t *room,
                        size_t each) {
    if (count < *room)
        return PITH_OK;
    const size_t before = (size_t)*room * each;
    void *old, *made = pithp_allocate(s->runtime, 2 * before);
    if (!made)
        return pithp_fail_memory(s, 2 * before);
    memcpy(&old, list, sizeof old);
    memcpy(made, old, (size_t)count * each);
    if (old != few)
        pithp_release(s->runtime, old, before);
    memcpy(list, &made, sizeof made);
    *room *= 2;
    return PITH_OK;
}

static pith_status add_term(reader *r, pithp_term term, int operands) {
    pithp_expression *e = r->to;
    const pith_status rc =
        grow(r->s, &e->terms, e->few, e->count, &e->room, sizeof *e->terms);
    if (rc != PITH_OK)
        return rc;
    e->terms[e->count++] = term;
    r->values += 1 - operands;
    e->deepest = r->values > e->deepest ? r->values : e->deepest;
    e->operations += operands > 0;
    return PITH_OK;
}

static pith_status add_operation(reader *r, const waiting *w) {
    if (w->dtype != PITH_DTYPE_NONE)
        return add_term(
            r, (pithp_term){.kind = PITHP_TERM_CAST, .dtype = w->dtype, .at = w->at}, 1);
    return add_term(r,
                    (pithp_term){.kind = PITHP_TERM_OPERATION,
                                 .at = w->at,
                                 .operation = w->operation},
                    w->operation->count);
}

static pith_status wait_for(reader *r, waiting w) {
    const pith_status rc =
        grow(r->s, &r->list, r->few, r->count, &r->room, sizeof *r->list);
    if (rc == PITH_OK)
        r->list[r->count++] = w;
    return rc;
}

static waiting *last(const reader *r) {
    return r->count ? &r->list[r->count - 1] : NULL;
}

/* Emit pending operators of at least this precedence. Level 0 includes a choice after its
 * colon, which ends at a bracket or the end. */
static pith_status settle(reader *r, int level) {
    for (waiting *w; (w = last(r)) != NULL; r->count--) {
        const bool tight = w->kind == WAIT_PREFIX || w->kind == WAIT_CAST ||
                           (w->kind == WAIT_INFIX && w->level >= level) ||
                           (w->kind == WAIT_COLON && level == 0);
        if (!tight)
            return PITH_OK;
        const pith_status rc = add_operation(r, w);
        if (rc != PITH_OK)
            return rc;
    }
    return PITH_OK;
}

static pith_status advance(reader *r) {
    return pithp_token_next(r->s, r->text, r->token.at + r->token.length, &r->token);
}

/* ---- Values ---- */

static pith_status read_number(reader *r) {
    const pithp_token *t = &r->token;
    pithp_term term = {
        .kind = PITHP_TERM_NUMBER, .dtype = (uint8_t)t->dtype, .at = (int32_t)t->at};
    term.bits = t->bits;
    if (!r->names->c_types && !t->suffix) {
        term.weak = true;
        if (t->dtype != PITH_F64)
            term.dtype = t->bits > INT64_MAX ? PITH_U64 : PITH_I64;
    }
    r->wants_value = false;
    const pith_status rc = add_term(r, term, 0);
    return rc == PITH_OK ? advance(r) : rc;
}

static pith_status add_operand(reader *r, int64_t number, size_t at) {
    pithp_term term = {.kind = PITHP_TERM_OPERAND, .at = (int32_t)at};
    term.operand = number;
    r->wants_value = false;
    return add_term(r, term, 0);
}

/* p[0], after its name. */
static pith_status read_parameter(reader *r) {
    const size_t at = r->token.at;
    pith_status rc;
    pithp_token index = {0};
    PITH_TRY(advance(r));
    if (is(r, "[")) {
        PITH_TRY(advance(r));
        index = r->token;
        PITH_TRY(advance(r));
    }
    if (index.kind != PITHP_TOKEN_NUMBER || index.dtype != PITH_I32 || !is(r, "]"))
        return refuse_at(r, at, "p takes an index, from p[0] to p[7]");
    if (index.bits >= (uint64_t)r->names->parameters)
        return refuse_at(r, at, "p[%llu] is used, but %d parameter%s given",
                         (unsigned long long)index.bits, r->names->parameters,
                         r->names->parameters == 1 ? " is" : "s are");
    PITH_TRY(add_operand(r, r->names->count + (int64_t)index.bits, at));
    rc = advance(r);
out:
    return rc;
}

/* A function or dtype, after its opening bracket. */
static pith_status read_call(reader *r, const pithp_token *name) {
    const char *const first = r->text + name->at;
    const pithp_operation *f = pithp_function_find(first, name->length);
    const pith_dtype type =
        f ? PITH_DTYPE_NONE : pithp_element_type_find(first, name->length);
    if (!f && type == PITH_DTYPE_NONE)
        return refuse_function(r, name);
    const pith_status rc = wait_for(r, (waiting){.kind = WAIT_CALL,
                                                 .dtype = (uint8_t)type,
                                                 .at = (int32_t)name->at,
                                                 .operation = f});
    return rc == PITH_OK ? advance(r) : rc;
}

static pith_status read_name(reader *r) {
    const char *const name = r->text + r->token.at;
    const size_t n = r->token.length;
    const pithp_token token = r->token;
    pithp_token next;
    pith_status rc = pithp_token_next(r->s, r->text, token.at + n, &next);
    if (rc != PITH_OK)
        return rc;
    if (pithp_token_is(r->text, &next, "(")) {
        r->token = next;
        return read_call(r, &token);
    }
    if (r->names->parameters >= 0 && n == 1 && name[0] == 'p')
        return read_parameter(r);
    for (int64_t k = 0; k < r->names->count; k++)
        if (strncmp(r->names->bindings[k].name, name, n) == 0 &&
            r->names->bindings[k].name[n] == 0) {
            rc = add_operand(r, k, token.at);
            r->token = next;
            return rc;
        }
    return refuse_name(r);
}

/* An opening bracket, or a cast: a dtype in brackets. */
static pith_status read_bracket(reader *r) {
    const int32_t at = (int32_t)r->token.at;
    pith_status rc;
    waiting made = {.kind = WAIT_BRACKET, .dtype = PITH_DTYPE_NONE, .at = at};
    PITH_TRY(advance(r));
    if (r->token.kind == PITHP_TOKEN_NAME) {
        const pith_dtype type =
            pithp_element_type_find(r->text + r->token.at, r->token.length);
        const pithp_token name = r->token;
        PITH_TRY(advance(r));
        if (type != PITH_DTYPE_NONE && is(r, ")")) {
            made = (waiting){.kind = WAIT_CAST, .dtype = (uint8_t)type, .at = at};
            PITH_TRY(advance(r));
        } else {
            r->token = name;
        }
    }
    rc = wait_for(r, made);
out:
    return rc;
}

static pith_status read_value(reader *r) {
    const pithp_token *t = &r->token;
    if (t->kind == PITHP_TOKEN_NUMBER)
        return read_number(r);
    if (t->kind == PITHP_TOKEN_NAME)
        return read_name(r);
    if (is(r, "("))
        return read_bracket(r);
    const pithp_operation *prefix = t->kind == PITHP_TOKEN_MARK
                                        ? pithp_prefix_find(r->text + t->at, t->length)
                                        : NULL;
    if (!prefix)
        return refuse_token(r, "a value");
    const pith_status rc = wait_for(r, (waiting){.kind = WAIT_PREFIX,
                                                 .dtype = PITH_DTYPE_NONE,
                                                 .at = (int32_t)t->at,
                                                 .operation = prefix});
    return rc == PITH_OK ? advance(r) : rc;
}

/* ---- After values ---- */

static pith_status read_infix(reader *r, const pithp_infix *infix) {
    pith_status rc;
    PITH_TRY(settle(r, infix->level));
    PITH_TRY(wait_for(r, (waiting){.kind = WAIT_INFIX,
                                   .dtype = PITH_DTYPE_NONE,
                                   .level = (uint8_t)infix->level,
                                   .at = (int32_t)r->token.at,
                                   .operation = &infix->operation}));
    r->wants_value = true;
    rc = advance(r);
out:
    return rc;
}

static pith_status read_question(reader *r) {
    pith_status rc;
    PITH_TRY(settle(r, 1));
    PITH_TRY(wait_for(r, (waiting){.kind = WAIT_QUESTION,
                                   .dtype = PITH_DTYPE_NONE,
                                   .at = (int32_t)r->token.at,
                                   .operation = &pithp_choice_operation}));
    r->wants_value = true;
    rc = advance(r);
out:
    return rc;
}

static pith_status read_colon(reader *r) {
    const pith_status rc = settle(r, 0);
    waiting *w = last(r);
    if (rc != PITH_OK)
        return rc;
    if (!w || w->kind != WAIT_QUESTION)
        return refuse_at(r, r->token.at, "a colon without a \"?\" before it");
    w->kind = WAIT_COLON;
    r->wants_value = true;
    return advance(r);
}

static const char *name_of(const waiting *call) {
    return call->operation ? call->operation->name
                           : pith_dtype_name((pith_dtype)call->dtype);
}

/* A comma or a bracket after an argument. */
static pith_status read_end_of_argument(reader *r, bool closes) {
    const pith_status rc = settle(r, 0);
    waiting *w = last(r);
    if (rc != PITH_OK)
        return rc;
    if (w && w->kind == WAIT_QUESTION)
        return refuse_token(r, "\":\"");
    if (!w || (w->kind == WAIT_BRACKET && !closes))
        return refuse_token(r, "an operator");
    if (w->kind == WAIT_CALL) {
        const int takes = w->operation ? w->operation->count : 1;
        w->arguments++;
        if (closes ? w->arguments != takes : w->arguments >= takes)
            return refuse_at(r, (size_t)w->at, "%s takes %d argument%s, got %s%d",
                             name_of(w), takes, takes == 1 ? "" : "s",
                             closes ? "" : "more than ", w->arguments);
    }
    r->wants_value = !closes;
    if (closes) {
        const waiting closed = *w;
        r->count--;
        if (closed.kind == WAIT_CALL && add_operation(r, &closed) != PITH_OK)
            return r->s->error.code;
    }
    return advance(r);
}

static pith_status read_end(reader *r) {
    const pith_status rc = settle(r, 0);
    const waiting *w = last(r);
    if (rc != PITH_OK || !w)
        return rc;
    return refuse_at(r, r->token.at, "expected %s, got the end: the \"%s\" of column %d",
                     w->kind == WAIT_QUESTION ? "\":\"" : "\")\"",
                     w->kind == WAIT_QUESTION ? "?" : "(", w->at + 1);
}

static pith_status read_operator(reader *r) {
    const pithp_token *t = &r->token;
    const pithp_infix *infix =
        t->kind == PITHP_TOKEN_MARK ? pithp_infix_find(r->text + t->at, t->length) : NULL;
    if (infix)
        return read_infix(r, infix);
    if (is(r, "?"))
        return read_question(r);
    if (is(r, ":"))
        return read_colon(r);
    if (is(r, ",") || is(r, ")"))
        return read_end_of_argument(r, is(r, ")"));
    return refuse_token(r, "an operator");
}

static pith_status read_all(reader *r) {
    pith_status rc = advance(r);
    while (rc == PITH_OK) {
        if (r->wants_value)
            rc = read_value(r);
        else if (r->token.kind == PITHP_TOKEN_END)
            return read_end(r);
        else
            rc = read_operator(r);
    }
    return rc;
}

static pith_status
parse(pith_scope *s, pithp_expression *e, const pithp_expression_names *names) {
    reader r;
    if (strnlen(e->text, MOST_BYTES + 1) > MOST_BYTES)
        return pithp_fail_function(s, PITH_E_ARG, NULL,
                                   "the text is longer than %d bytes", MOST_BYTES);
    r.s = s, r.names = names, r.to = e, r.text = e->text;
    r.token = (pithp_token){0};
    r.list = r.few, r.count = 0, r.room = FEW_WAITING;
    r.values = 0, r.wants_value = true;
    const pith_status rc = read_all(&r);
    if (r.list != r.few)
        pithp_release(s->runtime, r.list, (size_t)r.room * sizeof *r.list);
    return rc;
}

pith_status pithp_expression_parse(pith_scope *s,
                                   pithp_expression *e,
                                   const char *text,
                                   const pithp_expression_names *names) {
    e->runtime = s->runtime, e->text = text, e->c_types = names->c_types;
    e->terms = e->few, e->room = PITHP_FEW_TERMS;
    e->count = e->deepest = e->operations = 0;
    if (pithp_expression_recall(e, names))
        return PITH_OK;
    const pith_status rc = parse(s, e, names);
    if (rc == PITH_OK)
        pithp_expression_remember(e, names);
    else
        pithp_expression_end(e);
    return rc;
}

void pithp_expression_end(pithp_expression *e) {
    if (e->terms != e->few)
        pithp_release(e->runtime, e->terms, (size_t)e->room * sizeof *e->terms);
    e->terms = NULL;
}
