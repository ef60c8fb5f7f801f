/* JSON writer for stdout: places commas and quotes, and prints numbers like
 * checkpoints. */
#include "tool.h"

#include <inttypes.h>
#include <string.h>

enum { MOST_DEPTH = 64 };

static bool filled[MOST_DEPTH]; /* the object or array at that depth is not empty */
static int depth;
static bool after_name;
static FILE *out; /* NULL: stdout */

static FILE *to(void) {
    return out ? out : stdout;
}

void json_to(FILE *file) {
    out = file;
}

static void put(const char *text) {
    fputs(text, to());
}

static void separate(void) {
    if (!after_name && depth) {
        if (filled[depth])
            put(",");
        if (depth <= 2 && !out) /* one line each, for human readers */
            printf("\n%*s", 2 * depth, "");
        filled[depth] = true;
    }
    after_name = false;
}

void json_open(char bracket) {
    separate();
    putc(bracket, to());
    depth++;
    filled[depth] = false;
}

void json_close(char bracket) {
    depth--;
    if (depth < 2 && filled[depth + 1] && !out)
        printf("\n%*s", 2 * depth, "");
    putc(bracket, to());
    if (depth == 0 && !out)
        putchar('\n');
}

static void put_string(const char *text) {
    put("\"");
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (*c == '"' || *c == '\\')
            fprintf(to(), "\\%c", *c);
        else if (*c < ' ' || *c == 0x7F)
            fprintf(to(), "\\u%04x", *c);
        else
            putc(*c, to());
    put("\"");
}

void json_name(const char *name) {
    separate();
    put_string(name);
    put(":");
    if (depth <= 2 && !out)
        putchar(' ');
    after_name = true;
}

/* File names may be any bytes, but JSON requires UTF-8. */
static bool is_utf8(const char *text) {
    const unsigned char *c = (const unsigned char *)text;
    while (*c) {
        const int more = *c < 0x80                 ? 0
                         : *c >= 0xC2 && *c < 0xE0 ? 1
                         : *c >= 0xE0 && *c < 0xF0 ? 2
                         : *c >= 0xF0 && *c < 0xF5 ? 3
                                                   : -1;
        if (more < 0)
            return false;
        c++;
        for (int i = 0; i < more; i++, c++)
            if ((*c & 0xC0) != 0x80)
                return false;
    }
    return true;
}

void json_text(const char *text) {
    separate();
    if (!text) {
        put("null");
    } else if (is_utf8(text)) {
        put_string(text);
    } else {
        put("\"");
        for (const unsigned char *c = (const unsigned char *)text; *c; c++)
            if (*c < ' ' || *c >= 0x7F || *c == '"' || *c == '\\')
                fprintf(to(), "\\\\x%02x", *c);
            else
                putc(*c, to());
        put("\"");
    }
}

void json_i64(int64_t value) {
    separate();
    fprintf(to(), "%" PRId64, value);
}

void json_bool(bool value) {
    separate();
    put(value ? "true" : "false");
}

/* Whether an element is a JSON number. */
static bool is_number(pith_dtype dtype, const char *text) {
    if (dtype == PITH_U64) /* JSON readers are limited to int64 */
        return strlen(text) < 19 ||
               (strlen(text) == 19 && strcmp(text, "9223372036854775807") <= 0);
    return dtype == PITH_BOOL || strspn(text, "+-.0123456789e") == strlen(text);
}

void json_element(pith_dtype dtype, const void *elements, int64_t i) {
    const pith_element_text t = pith_element_print(dtype, elements, i);
    separate();
    fprintf(to(), is_number(dtype, t.text) ? "%s" : "\"%s\"", t.text);
}

void json_f64(double value) {
    json_element(PITH_F64, &value, 0);
}

void json_shape(const pith_shape *shape) {
    json_open('[');
    for (int32_t k = 0; k < shape->rank; k++)
        json_i64(shape->extents[k]);
    json_close(']');
}
