/* Sticky errors: the first failure stays on the scope, as one bounded line with path and
 * call site. Errors in a source text add an excerpt of it with a caret. */
#include "base/base_internal.h"
#include "base/format.h"
#include "base/private.h"

#include <stdio.h>
#include <string.h>

/* Copy text, with "..." at the end if it does not fit. Control characters become spaces,
 * so that the message stays one line. */
static void copy_line(char *to, size_t room, const char *from) {
    size_t n = strlen(from);
    const bool cut = n >= room;
    if (cut)
        n = room - 1;
    for (size_t i = 0; i < n; i++)
        to[i] = (unsigned char)from[i] < ' ' ? ' ' : from[i];
    to[n] = 0;
    if (cut)
        memcpy(to + room - 4, "...", 3);
}

const char *pithp_site_name(const char *site) {
    const char *slash = strrchr(site, '/');
    return slash ? slash + 1 : site;
}

/* "path: text (site)" and the excerpt. Only the text is shortened if the message is too
 * long. */
static void compose(pithp_error *e) {
    char text[PITHP_MESSAGE_BYTES], line[2 * PITHP_MESSAGE_BYTES];
    const size_t excerpt = strlen(e->excerpt), room = sizeof e->message - excerpt;
    const size_t around = strlen(e->path) + strlen(e->site) + sizeof ": " + sizeof " ()";
    copy_line(text, room > around + 4 ? room - around : 4, e->text);
    snprintf(line, sizeof line, "%s%s%s%s%s%s", e->path, e->path[0] ? ": " : "", text,
             e->site[0] ? " (" : "", e->site, e->site[0] ? ")" : "");
    copy_line(e->message, room, line);
    memcpy(e->message + strlen(e->message), e->excerpt, excerpt + 1);
}

void pithp_line_print(char line[PITHP_MESSAGE_BYTES],
                      const char *format,
                      va_list arguments) {
    char text[PITHP_MESSAGE_BYTES + 1];
    if (pithp_format_v(text, sizeof text, format, arguments) < 0)
        text[0] = 0;
    copy_line(line, PITHP_MESSAGE_BYTES, text);
}

static void set(pithp_error *e,
                pith_status code,
                const char *path,
                const char *site,
                const char *format,
                va_list arguments) PITH_FORMAT(5, 0);

static void set(pithp_error *e,
                pith_status code,
                const char *path,
                const char *site,
                const char *format,
                va_list arguments) {
    pithp_line_print(e->text, format, arguments);
    copy_line(e->path, sizeof e->path, path ? path : "");
    copy_line(e->site, sizeof e->site, site ? pithp_site_name(site) : "");
    e->excerpt[0] = 0;
    e->code = code;
    compose(e);
}

void pithp_error_set(pithp_error *e,
                     pith_status code,
                     const char *path,
                     const char *site,
                     const char *format,
                     ...) {
    va_list arguments;
    va_start(arguments, format);
    set(e, code, path, site, format, arguments);
    va_end(arguments);
}

pith_status pithp_fail_v(pith_scope *s,
                         pith_status code,
                         const char *path,
                         const char *site,
                         const char *format,
                         va_list arguments) {
    if (pithp_scope_writable(s) && s->error.code == PITH_OK) {
        set(&s->error, code, path, site, format, arguments);
        s->error_read = false;
    }
    return code;
}

pith_status
pithp_fail(pith_scope *s, pith_status code, const char *path, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    pithp_fail_v(s, code, path, pithp_scope_writable(s) ? s->site : NULL, format,
                 arguments);
    va_end(arguments);
    return code;
}

const char *pithp_function_of(const pith_scope *s, const char *otherwise) {
    return s->caller ? s->caller : s->function ? s->function : otherwise;
}

pith_status pithp_fail_function(pith_scope *s,
                                pith_status code,
                                const char *otherwise,
                                const char *format,
                                ...) {
    char text[PITHP_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    pithp_line_print(text, format, arguments);
    va_end(arguments);
    const char *name = pithp_function_of(s, otherwise);
    return pithp_fail(s, code, NULL, "%s%s%s", name ? name : "", name ? ": " : "", text);
}

pith_status pithp_fail_at(pith_scope *s,
                          pith_status code,
                          const char *path,
                          const char *site,
                          const char *format,
                          ...) {
    va_list arguments;
    va_start(arguments, format);
    pithp_fail_v(s, code, path, site, format, arguments);
    va_end(arguments);
    return code;
}

pith_status pithp_fail_as(pith_scope *s, const pithp_error *e) {
    if (s->error.code == PITH_OK && e->code != PITH_OK) {
        s->error = *e;
        s->error_read = false;
    }
    return s->error.code;
}

void pithp_error_move(pith_scope *to, pith_scope *from) {
    if (to == from || from->error.code == PITH_OK)
        return;
    pithp_fail_as(to, &from->error);
    if (pithp_scope_writable(from) &&
        !from->broken) /* errors of static scopes are permanent */
        from->error.code = PITH_OK;
}

pith_status pithp_fail_memory(pith_scope *s, size_t bytes) {
    return pithp_fail(s, PITH_E_MEMORY, NULL, "out of memory: %zu bytes of host memory",
                      bytes);
}

void pithp_error_prefix(pith_scope *s, const char *segment) {
    if (!pithp_scope_writable(s) || s->error.code == PITH_OK)
        return;
    char path[PITHP_PATH_BYTES + 64];
    snprintf(path, sizeof path, "%s%s", segment, s->error.path);
    copy_line(s->error.path, sizeof s->error.path, path);
    compose(&s->error);
}

void pithp_error_context(pith_scope *s, const char *format, ...) {
    if (!pithp_scope_writable(s) || s->error.code == PITH_OK)
        return;
    char context[256], text[PITHP_MESSAGE_BYTES + sizeof context + 2];
    va_list arguments;
    va_start(arguments, format);
    pithp_format_v(context, sizeof context, format, arguments);
    va_end(arguments);
    snprintf(text, sizeof text, "%s: %s", context, s->error.text);
    copy_line(s->error.text, sizeof s->error.text, text);
    compose(&s->error);
}

/* The excerpt is a window of at most WIDTH bytes of the source around the position. Every
 * byte takes one column, so that the caret stands below the right one. */
void pithp_error_point(pith_scope *s, const char *source, size_t at) {
    enum { WIDTH = 76, BEFORE = 48 };
    if (!pithp_scope_writable(s) || s->error.code == PITH_OK || s->error.excerpt[0])
        return;
    const size_t first = at > BEFORE ? at - BEFORE : 0;
    const size_t length = strnlen(source + first, WIDTH + 1);
    const bool cut = length > WIDTH;
    char window[WIDTH + 1];
    for (size_t i = 0; i < WIDTH && i < length; i++) {
        const unsigned char c = (unsigned char)source[first + i];
        window[i] = c < ' ' || c > '~' ? '?' : (char)c;
    }
    window[cut ? WIDTH : length] = 0;
    const char *const before = first ? "..." : "";
    snprintf(s->error.excerpt, sizeof s->error.excerpt, "\n    %s%s%s\n    %*s^", before,
             window, cut ? "..." : "", (int)(strlen(before) + at - first), "");
    compose(&s->error);
}

/* ---- Public functions ---- */

bool pith_failed(const pith_scope *s) {
    return pith_code(s) != PITH_OK;
}

pith_status pith_code(const pith_scope *s) {
    if (!pithp_scope_valid(s))
        return PITH_E_SCOPE;
    pithp_scope_mark_read(s);
    return s->error.code;
}

const char *pith_message(const pith_scope *s) {
    if (!pithp_scope_valid(s))
        return pith_status_text(PITH_E_SCOPE);
    pithp_scope_mark_read(s);
    return s->error.code == PITH_OK ? "" : s->error.message;
}

const char *pith_error_path(const pith_scope *s) {
    return pithp_scope_valid(s) && s->error.code != PITH_OK ? s->error.path : "";
}

const char *pith_error_site(const pith_scope *s) {
    return pithp_scope_valid(s) && s->error.code != PITH_OK ? s->error.site : "";
}

void pith_clear(pith_scope *s) {
    if (!pithp_scope_writable(s) || s->broken)
        return;
    if (s->error.code == PITH_OK)
        return;
    pithp_tell_rooms_clearing(s);
    memcpy(s->cleared_site, s->error.site, sizeof s->cleared_site);
    s->error.code = PITH_OK;
}

void pith_fail(pith_scope *s,
               pith_status code,
               const char *path,
               const char *format,
               ...) {
    if (!pithp_enter(s))
        return;
    if (code == PITH_OK || !format) {
        pithp_fail(s, PITH_E_ARG, NULL,
                   "pith_fail: expected a code other than PITH_OK, and a format");
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    pithp_fail_v(s, code, path, s->site, format, arguments);
    va_end(arguments);
}
