/* JSON reader: strings with their escapes, and sizes. */
#include "json_read.h"

#include "tool.h"

#include <stdlib.h>
#include <string.h>

static void skip_spaces(json_reader *r) {
    while (r->at < r->end &&
           (*r->at == ' ' || *r->at == '\n' || *r->at == '\r' || *r->at == '\t'))
        r->at++;
}

bool json_take(json_reader *r, char c) {
    skip_spaces(r);
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

bool json_at_end(json_reader *r) {
    skip_spaces(r);
    return r->at == r->end;
}

bool json_take_size(json_reader *r, int64_t *value) {
    skip_spaces(r);
    const char *begin = r->at;
    *value = 0;
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++)
        if (__builtin_mul_overflow(*value, 10, value) ||
            __builtin_add_overflow(*value, *r->at - '0', value))
            return false;
    return r->at > begin;
}

/* The four digits of \uXXXX; negative: malformed. */
static int32_t take_unit(json_reader *r) {
    int32_t unit = 0;
    if (r->end - r->at < 4)
        return -1;
    for (int i = 0; i < 4; i++, r->at++) {
        const char c = *r->at;
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
        if (digit < 0)
            return -1;
        unit = 16 * unit + digit;
    }
    return unit;
}

/* The character of \u, with a second unit for a surrogate pair; 0: malformed, or 0. */
static int32_t take_character(json_reader *r) {
    const int32_t unit = take_unit(r);
    if (unit < 0xD800 || unit > 0xDFFF)
        return unit < 0 ? 0 : unit;
    if (unit > 0xDBFF || r->end - r->at < 6 || r->at[0] != '\\' || r->at[1] != 'u')
        return 0;
    r->at += 2;
    const int32_t low = take_unit(r);
    return low < 0xDC00 || low > 0xDFFF
               ? 0
               : 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
}

static char *put_utf8(char *to, int32_t c) {
    if (c < 0x80) {
        *to++ = (char)c;
    } else if (c < 0x800) {
        *to++ = (char)(0xC0 | c >> 6);
        *to++ = (char)(0x80 | (c & 63));
    } else if (c < 0x10000) {
        *to++ = (char)(0xE0 | c >> 12);
        *to++ = (char)(0x80 | (c >> 6 & 63));
        *to++ = (char)(0x80 | (c & 63));
    } else {
        *to++ = (char)(0xF0 | c >> 18);
        *to++ = (char)(0x80 | (c >> 12 & 63));
        *to++ = (char)(0x80 | (c >> 6 & 63));
        *to++ = (char)(0x80 | (c & 63));
    }
    return to;
}

/* Decode an escape after a backslash. False: malformed. */
static bool take_escape(json_reader *r, char **to) {
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    if (r->at == r->end)
        return false;
    const char c = *r->at++;
    if (c == 'u') {
        const int32_t character = take_character(r);
        *to = put_utf8(*to, character);
        return character;
    }
    const char *found = c ? strchr(from, c) : NULL;
    if (!found)
        return false;
    *(*to)++ = into[found - from];
    return true;
}

char *json_take_string(json_reader *r) {
    if (!json_take(r, '"'))
        return NULL;
    const char *end = r->at; /* an upper bound of the decoded length */
    while (end < r->end && *end != '"')
        end += *end == '\\' && end + 1 < r->end ? 2 : 1;
    if (end >= r->end)
        return NULL;
    char *text = room_for((size_t)(end - r->at) + 1, 1), *to = text;
    while (r->at < end) {
        const char c = *r->at++;
        if (c == '\\' ? take_escape(r, &to) : (unsigned char)c >= ' ') {
            if (c != '\\')
                *to++ = c;
            continue;
        }
        free(text);
        return NULL;
    }
    r->at = end + 1;
    return text;
}
