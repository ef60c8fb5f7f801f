/* Log parser: lines are JSON objects with a step and numbers by name. An invalid line is
 * an error with its number. A last line without its newline was truncated by a kill. */
#include "run/log_internal.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIRST_ROOM = 1 << 16 }; /* fits nearly all rows; the buffer grows for others */
static const char head[] = "{\"step\":";

static pith_status refuse(const pithp_log_lines *l, const char *expected) {
    return pithp_fail(l->s, PITH_E_FORMAT, NULL,
                      "\"%s\" is not a log of a run: line %lld: expected %s", l->shown,
                      (long long)l->number, expected);
}

pith_status
pithp_log_lines_begin(pithp_log_lines *l, pith_scope *s, int file, const char *shown) {
    *l = (pithp_log_lines){.s = s, .file = file, .shown = shown, .room = FIRST_ROOM};
    l->buffer = pithp_allocate(s->runtime, l->room);
    return l->buffer ? PITH_OK : pithp_fail_memory(s, l->room);
}

void pithp_log_lines_end(pithp_log_lines *l) {
    pithp_release(l->s->runtime, l->buffer, l->room);
    l->buffer = NULL;
}

/* ---- Lines ---- */

/* Make space at the end of the buffer. */
static pith_status make_room(pithp_log_lines *l) {
    memmove(l->buffer, l->buffer + l->at, l->used - l->at);
    l->offset += l->at;
    l->used -= l->at;
    l->at = 0;
    if (l->used < l->room)
        return PITH_OK;
    if (l->room == PITHP_LOG_LINE)
        return refuse(l, "a shorter line");
    char *grown = pithp_reallocate(l->s->runtime, l->buffer, l->room, 2 * l->room);
    if (!grown)
        return pithp_fail_memory(l->s, 2 * l->room);
    l->buffer = grown;
    l->room *= 2;
    return PITH_OK;
}

static pith_status fill(pithp_log_lines *l) {
    char reason[128];
    const pith_status rc = make_room(l);
    if (rc != PITH_OK)
        return rc;
    ssize_t n;
    do
        n = pread(l->file, l->buffer + l->used, l->room - l->used,
                  (off_t)(l->offset + l->used));
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return pithp_fail(l->s, PITH_E_IO, NULL, "cannot read \"%s\": %s", l->shown,
                          strerror_r(errno, reason, sizeof reason));
    l->ended = n == 0;
    l->used += (size_t)n;
    return PITH_OK;
}

/* Read the next line, zero-terminated. */
static pithp_log_found next_line(pithp_log_lines *l, const char **line) {
    for (size_t seen = 0;;) {
        char *begin = l->buffer + l->at;
        const size_t there = l->used - l->at;
        char *end = there > seen ? memchr(begin + seen, '\n', there - seen) : NULL;
        if (end) {
            *end = 0;
            *line = begin;
            l->at = (size_t)(end + 1 - l->buffer);
            if (memchr(begin, 0, (size_t)(end - begin)))
                return refuse(l, "text"), PITHP_LOG_ERROR;
            return PITHP_LOG_FOUND;
        }
        if (l->ended)
            break;
        seen = there;
        if (fill(l) != PITH_OK)
            return PITHP_LOG_ERROR;
    }
    const size_t rest = l->used - l->at;
    const size_t compared = rest < sizeof head - 1 ? rest : sizeof head - 1;
    if (memcmp(l->buffer + l->at, head, compared) != 0)
        return refuse(l, "a row that begins with {\"step\":"), PITHP_LOG_ERROR;
    return PITHP_LOG_END;
}

/* ---- Numbers ---- */

static const char *digits(const char *text) {
    while (*text >= '0' && *text <= '9')
        text++;
    return text;
}

/* The end of a JSON number; NULL: no number. */
static const char *number_end(const char *text, bool *whole) {
    *whole = true;
    text += *text == '-';
    const char *end = digits(text);
    if (end == text || (*text == '0' && end != text + 1))
        return NULL;
    if (*end == '.') {
        *whole = false;
        text = end + 1;
        end = digits(text);
        if (end == text)
            return NULL;
    }
    if (*end != 'e' && *end != 'E')
        return end;
    *whole = false;
    text = end + 1;
    text += *text == '-' || *text == '+';
    end = digits(text);
    return end == text ? NULL : end;
}

/* strtod expects the decimal point of the locale. */
static double real_of(const char *text, size_t n) {
    char copy[512];
    const char *point = localeconv()->decimal_point;
    size_t to = 0;
    for (size_t i = 0; i < n && to + 8 < sizeof copy; i++) {
        if (text[i] != '.') {
            copy[to++] = text[i];
            continue;
        }
        const size_t wide = strlen(point) < 8 ? strlen(point) : 0;
        memcpy(copy + to, point, wide);
        to += wide;
    }
    copy[to] = 0;
    return strtod(copy, NULL);
}

static bool read_number(const char **at, pith_run_log_value *value) {
    bool whole;
    const char *end = number_end(*at, &whole);
    if (!end || end - *at > 400)
        return false;
    errno = 0;
    value->is_integer = whole;
    value->i64 = whole ? strtoll(*at, NULL, 10) : 0;
    if (errno == ERANGE)
        value->is_integer = false;
    value->f64 = real_of(*at, (size_t)(end - *at));
    *at = end;
    return isfinite(value->f64);
}

/* Read a non-finite number, written as a string. */
static bool read_text(const char **at, pith_run_log_value *value) {
    static const struct {
        const char *text;
        double value;
    } texts[] = {{"\"NaN\"", (double)NAN},
                 {"\"Infinity\"", (double)INFINITY},
                 {"\"-Infinity\"", -(double)INFINITY}};
    for (int i = 0; i < PITHP_COUNT(texts); i++) {
        const size_t n = strlen(texts[i].text);
        if (strncmp(*at, texts[i].text, n) != 0)
            continue;
        value->is_integer = false;
        value->i64 = 0;
        value->f64 = texts[i].value;
        *at += n;
        return true;
    }
    return false;
}

/* ---- Rows ---- */

pithp_log_found pithp_log_next(pithp_log_lines *l, pithp_log_row *row) {
    const char *line = NULL;
    pith_run_log_value step;
    l->number++;
    const pithp_log_found found = next_line(l, &line);
    if (found != PITHP_LOG_FOUND)
        return found;
    if (strncmp(line, head, sizeof head - 1) != 0)
        return refuse(l, "a row that begins with {\"step\":"), PITHP_LOG_ERROR;
    row->rest = line + sizeof head - 1;
    if (!read_number(&row->rest, &step) || !step.is_integer || step.i64 < 0)
        return refuse(l, "a step from 0 on"), PITHP_LOG_ERROR;
    row->step = step.i64;
    return PITHP_LOG_FOUND;
}

/* The position after the closing quote of a string; NULL: no closing quote. */
static const char *string_end(const char *text) {
    for (text++; *text && *text != '"'; text++)
        text += *text == '\\' && text[1];
    return *text ? text + 1 : NULL;
}

pithp_log_found pithp_log_value(const pithp_log_lines *l,
                                pithp_log_row *row,
                                char name[PITHP_LOG_NAME],
                                pith_run_log_value *value) {
    const char *at = row->rest;
    if (strcmp(at, "}") == 0)
        return PITHP_LOG_END;
    if (at[0] != ',' || at[1] != '"')
        return refuse(l, "a comma and a name, or the end of the row"), PITHP_LOG_ERROR;
    const char *end = string_end(at + 1);
    if (!end || *end != ':' ||
        !pithp_json_string_read(at + 1, (size_t)(end - at - 1), name, PITHP_LOG_NAME) ||
        !*name || strcmp(name, "step") == 0)
        return refuse(l, "a name of 1 to 255 bytes that is not \"step\""),
               PITHP_LOG_ERROR;
    at = end + 1;
    value->name = name;
    if (!read_text(&at, value) && !read_number(&at, value))
        return refuse(l, "a number"), PITHP_LOG_ERROR;
    row->rest = at;
    return PITHP_LOG_FOUND;
}
