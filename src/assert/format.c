/* Messages: text with placeholders, filled in when printed. Braces in inserted values are
 * not parsed. */
#include "assert/format.h"

#include "assert/assert_internal.h"

#include <string.h>

enum {
    EDGE = 3,
    WHOLE = 8
}; /* per axis: items shown at each end of a long axis; a shorter axis is shown in full */

/* A token of a message: text, or a placeholder. */
typedef struct {
    const char *text; /* the text, or the name */
    size_t length;
    bool placeholder;
    const char *format, *format_end;
} piece;

/* The next token; *at moves past it. NULL, or an error text. *done: at the end. */
static const char *next_piece(const char **at, piece *p, bool *done) {
    const char *c = *at;
    *done = !*c;
    *p = (piece){.text = c};
    if (*c == '{' && c[1] != '{') {
        const char *end = c + 1 + strcspn(c + 1, ":{}");
        p->placeholder = true;
        p->text = c + 1;
        p->length = (size_t)(end - p->text);
        p->format = p->format_end = end;
        if (*end == ':') {
            p->format = end + 1;
            end = p->format_end = p->format + strcspn(p->format, "{}");
        }
        if (*end != '}')
            return "a { without a } (a brace is written twice)";
        *at = end + 1;
        return NULL;
    }
    if (*c == '{' || *c == '}') {
        if (c[1] != *c)
            return "a } without a { (a brace is written twice)";
        p->length = 1;
        *at = c + 2;
        return NULL;
    }
    p->length = strcspn(c, "{}");
    *at = c + p->length;
    return NULL;
}

static bool is_name(const char *name, const piece *p) {
    return strlen(name) == p->length && memcmp(name, p->text, p->length) == 0;
}

static const pithp_arg *find_arg(const pithp_wording *w, const piece *p) {
    for (int32_t i = 0; i < w->arg_count; i++)
        if (is_name(w->args[i].name, p))
            return &w->args[i];
    return NULL;
}

static const char *find_info(const pithp_wording *w, const piece *p) {
    for (int32_t i = 0; i < w->info_count; i++)
        if (is_name(w->infos[i].name, p))
            return w->infos[i].text;
    return NULL;
}

static bool asks_for_index(const pithp_wording *w, const piece *p) {
    return w->assertion && p->placeholder && is_name("index", p) && !find_arg(w, p) &&
           !find_info(w, p);
}

static pithp_wording wording_of(const pith_assertion *a) {
    return (pithp_wording){.text = a->message,
                           .args = a->args,
                           .arg_count = a->arg_count,
                           .infos = a->infos,
                           .info_count = a->info_count,
                           .assertion = a};
}

/* ---- Validation ---- */

static const char *check_placeholder(const pithp_wording *w, const piece *p) {
    pithp_format f;
    const pithp_arg *arg = find_arg(w, p);
    if (asks_for_index(w, p))
        return p->format == p->format_end ? NULL : "an index has no format";
    if (!arg && !find_info(w, p))
        return "there is no argument of this name";
    const char *wrong = pithp_format_parse(&f, p->format, p->format_end);
    return wrong ? wrong
                 : pithp_format_refuses(&f, arg ? arg->spec->dtype : PITH_DTYPE_NONE);
}

pith_status
pithp_wording_check(pith_scope *s, const char *function, const pithp_wording *w) {
    const char *at = w->text, *here = strpbrk(at, "{}");
    if (PITHP_LIKELY(!here))
        return PITH_OK;
    for (at = here;;) {
        piece p;
        bool done;
        here = at;
        const char *wrong = next_piece(&at, &p, &done);
        if (!wrong && done)
            return PITH_OK;
        if (!wrong && p.placeholder)
            wrong = check_placeholder(w, &p);
        if (wrong)
            return pithp_fail(s, PITH_E_ARG, NULL,
                              "%s: the message \"%.100s\": at \"%.40s\": %s", function,
                              w->text, here, wrong);
    }
}

pith_status pithp_message_check(pith_scope *s, const pith_assertion *a) {
    const pithp_wording w = wording_of(a);
    return pithp_wording_check(s, "pith_check", &w);
}

bool pithp_wording_names(const pithp_wording *w, const char *name) {
    piece p;
    bool done = false, named = false;
    for (const char *at = w->text; !named && !next_piece(&at, &p, &done) && !done;)
        named = p.placeholder && is_name(name, &p);
    return named;
}

/* ---- Values ---- */

typedef struct {
    pithp_stream *st;
    pithp_string *t;
    pithp_error *e;
    const pithp_format *format;
    const pith_spec *spec;
    const char *data;
} printer;

/* Append elements separated by spaces. */
static pith_status add_elements(const printer *p, int64_t at, int64_t count) {
    unsigned char elements[8 * WHOLE];
    const size_t size = pith_dtype_size(p->spec->dtype);
    const pith_status rc = p->st->device->backend->copy_out(
        p->st, elements, p->data + (size_t)at * size, (size_t)count * size, p->e);
    for (int64_t i = 0; i < count && rc == PITH_OK; i++) {
        if (i)
            pithp_string_add(p->t, " ");
        pithp_format_element(p->format, p->spec->dtype, elements + (size_t)i * size,
                             p->t);
    }
    return rc;
}

static pith_status add_axis(const printer *p, int axis, int64_t at);

static pith_status add_items(const printer *p, int axis, int64_t at, int64_t count) {
    if (count == 0 || p->t->length > 2 * PITHP_MESSAGE_BYTES) /* truncated anyway */
        return PITH_OK;
    if (axis == p->spec->rank - 1)
        return add_elements(p, at, count);
    int64_t stride = 1;
    for (int d = axis + 1; d < p->spec->rank; d++)
        stride *= p->spec->shape[d];
    pith_status rc = PITH_OK;
    for (int64_t i = 0; i < count && rc == PITH_OK; i++) {
        if (i)
            pithp_string_add(p->t, " ");
        rc = add_axis(p, axis + 1, at + i * stride);
    }
    return rc;
}

static pith_status add_axis(const printer *p, int axis, int64_t at) {
    const int64_t extent = p->spec->shape[axis];
    const bool cut = extent > WHOLE;
    int64_t stride = 1;
    for (int d = axis + 1; d < p->spec->rank; d++)
        stride *= p->spec->shape[d];
    pithp_string_add(p->t, "[");
    pith_status rc = add_items(p, axis, at, cut ? EDGE : extent);
    if (rc == PITH_OK && cut) {
        pithp_string_add(p->t, " ... ");
        rc = add_items(p, axis, at + (extent - EDGE) * stride, EDGE);
    }
    pithp_string_add(p->t, "]");
    return rc;
}

static void add_index(const pith_assertion *a, pithp_string *t) {
    int64_t index[PITHP_MAX_RANK] = {0}, first = (int64_t)~a->of->seen.first;
    if (!pithp_assertion_failed(a)) {
        pithp_string_add(t, "none");
        return;
    }
    for (int d = a->spec->rank; d-- > 0; first /= a->spec->shape[d])
        index[d] = first % a->spec->shape[d];
    pithp_string_add(t, "[");
    for (int d = 0; d < a->spec->rank; d++)
        pithp_string_print(t, "%s%lld", d ? ", " : "", (long long)index[d]);
    pithp_string_add(t, "]");
}

static pith_status add_placeholder(const pithp_wording *w, const piece *p, printer *out) {
    pithp_format f;
    const pithp_arg *arg = find_arg(w, p);
    const char *info = find_info(w, p);
    pithp_format_parse(&f, p->format, p->format_end);
    if (!arg) {
        if (info)
            pithp_format_text(&f, info, out->t);
        else
            add_index(w->assertion, out->t);
        return PITH_OK;
    }
    out->format = &f;
    out->spec = arg->spec;
    out->data = arg->data;
    return arg->spec->rank == 0 ? add_elements(out, 0, 1) : add_axis(out, 0, 0);
}

/* Append all tokens; *index: one was the index. */
static pith_status add_pieces(const pithp_wording *w, printer *out, bool *index) {
    bool done = false;
    pith_status rc = PITH_OK;
    for (const char *at = w->text; rc == PITH_OK;) {
        piece p;
        if (next_piece(&at, &p, &done) || done)
            break;
        if (p.placeholder)
            rc = add_placeholder(w, &p, out);
        else
            pithp_string_add_n(out->t, p.text, p.length);
        *index |= asks_for_index(w, &p);
    }
    return rc;
}

pith_status pithp_wording_print(pithp_stream *st,
                                const pithp_wording *w,
                                pithp_string *t,
                                pithp_error *e) {
    printer out = {.st = st, .t = t, .e = e};
    bool index = false;
    return add_pieces(w, &out, &index);
}

pith_status pithp_message_print(pithp_stream *st,
                                const pith_assertion *a,
                                pithp_string *t,
                                pithp_error *e) {
    const pithp_wording w = wording_of(a);
    printer out = {.st = st, .t = t, .e = e};
    bool index = false;
    if (a->fix.print)
        return a->fix.print(st, a, a->fix.closure, t, e);
    pith_status rc = add_pieces(&w, &out, &index);
    if (rc == PITH_OK && !index && a->spec->count > 1 && pithp_assertion_failed(a)) {
        pithp_string_add(t, " (first failing index ");
        add_index(a, t);
        pithp_string_add(t, ")");
    }
    if (rc == PITH_OK && t->failed) {
        rc = PITH_E_MEMORY;
        pithp_error_set(e, rc, NULL, NULL, "out of memory: no room for a message");
    }
    return rc;
}
