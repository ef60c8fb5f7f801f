/* Number formatting of Python: shortest decimals without a type, otherwise as the type
 * says. */
#include "assert/format.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_BYTES = 512 }; /* 309 digits, a point and the precision */

/* ---- Parsing ---- */

/* Number of bytes of the UTF-8 character. */
static int character(const char *text, const char *end) {
    int n = 1;
    while (text + n < end && n < 4 && ((unsigned char)text[n] & 0xc0) == 0x80)
        n++;
    return n;
}

static bool is_align(char c) {
    return c && strchr("<>^=", c);
}

static const char *parse_number(const char *text, const char *end, int *number) {
    for (*number = 0; text < end && *text >= '0' && *text <= '9'; text++)
        if (*number <= 10 * PITHP_FORMAT_WIDTH)
            *number = 10 * *number + (*text - '0');
    return text;
}

const char *pithp_format_parse(pithp_format *f, const char *text, const char *end) {
    *f = (pithp_format){.fill = " ", .precision = -1};
    if (text == end)
        return NULL;
    const int fill = character(text, end);
    if (text + fill < end && is_align(text[fill])) {
        memcpy(f->fill, text, (size_t)fill);
        f->fill[fill] = 0;
        f->align = text[fill];
        text += fill + 1;
    } else if (is_align(*text)) {
        f->align = *text++;
    }
    if (text < end && (*text == '+' || *text == '-' || *text == ' ')) {
        f->sign = *text == '-' ? 0 : *text;
        text++;
    }
    if (text < end && *text == '#') {
        f->alternate = true;
        text++;
    }
    if (text < end && *text == '0') {
        if (!f->align) {
            f->align = '=';
            strcpy(f->fill, "0");
        }
        text++;
    }
    text = parse_number(text, end, &f->width);
    if (text < end && *text == '.') {
        const char *digits = ++text;
        text = parse_number(text, end, &f->precision);
        if (text == digits)
            return "there is no precision after the point";
    }
    if (f->width > PITHP_FORMAT_WIDTH || f->precision > PITHP_FORMAT_PRECISION)
        return "the width is 200 at most, the precision 100";
    if (text < end)
        f->type = *text++;
    if (text < end || (f->type && !strchr("deEfFgGxXobs%", f->type)))
        return "expected [[fill]align][sign][#][0][width][.precision][type], the type "
               "one of b d e E f F g G o s x X %";
    return NULL;
}

const char *pithp_format_refuses(const pithp_format *f, pith_dtype dtype) {
    const bool integer_type = f->type && strchr("dxXob", f->type);
    if (dtype == PITH_DTYPE_NONE) {
        if (f->type && f->type != 's')
            return "a text has the type s";
        return f->sign || f->alternate || f->align == '='
                   ? "a text has no sign, no # and no padding after a sign"
                   : NULL;
    }
    if (f->type == 's')
        return "s is for texts";
    if (pith_dtype_is_float(dtype))
        return integer_type ? "the type is for integers" : NULL;
    return f->precision >= 0 && (integer_type || !f->type) ? "an integer has no precision"
                                                           : NULL;
}

/* ---- Digits ---- */

/* Replace the locale's decimal point by '.'. */
static void point(char *text) {
    const char *locale = localeconv()->decimal_point;
    char *at = *locale && strcmp(locale, ".") != 0 ? strstr(text, locale) : NULL;
    if (!at)
        return;
    const size_t n = strlen(locale);
    *at = '.';
    memmove(at + 1, at + n, strlen(at + n) + 1);
}

/* The fewest digits that round-trip to the element, as "d.ddde+xx". */
static void
shortest(pith_dtype dtype, double value, const void *element, char text[NUMBER_BYTES]) {
    for (int digits = 0; digits < 17; digits++) {
        uint64_t again = 0;
        snprintf(text, NUMBER_BYTES, "%.*e", digits, value);
        pithp_dtype_encode(dtype, strtod(text, NULL), &again);
        if (memcmp(&again, element, pith_dtype_size(dtype)) == 0)
            break;
    }
    point(text);
}

/* Layout of Python's repr: without an exponent from 1e-4 to below 1e16. */
static void lay_out(char text[NUMBER_BYTES]) {
    char digits[32], *to = text;
    int n = 0;
    const char *e = strchr(text, 'e');
    const int exponent = atoi(e + 1);
    for (const char *p = text; p < e; p++)
        if (*p != '.')
            digits[n++] = *p;
    if (exponent < -4 || exponent >= 16)
        return;
    if (exponent < 0) {
        *to++ = '0';
        *to++ = '.';
        for (int i = -1; i > exponent; i--)
            *to++ = '0';
    }
    for (int i = 0; i < n || i <= exponent; i++) {
        *to++ = i < n ? digits[i] : '0';
        if (i == exponent) {
            *to++ = '.';
            if (i + 1 >= n)
                *to++ = '0';
        }
    }
    *to = 0;
}

/* The digits of a non-negative float. */
static void float_digits(const pithp_format *f,
                         pith_dtype dtype,
                         double value,
                         const void *element,
                         char text[NUMBER_BYTES]) {
    char format[8];
    const bool percent = f->type == '%';
    if (!isfinite(value)) {
        const bool upper = f->type && strchr("EFG", f->type);
        strcpy(text, isnan(value) ? (upper ? "NAN" : "nan") : (upper ? "INF" : "inf"));
    } else if (!f->type && f->precision < 0) {
        shortest(dtype, value, element, text);
        lay_out(text);
    } else {
        const char type = percent ? 'f' : f->type ? f->type : 'g';
        snprintf(format, sizeof format, "%%%s.*%c", f->alternate ? "#" : "", type);
        const int precision = f->precision < 0 ? 6 : f->precision;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(text, NUMBER_BYTES, format, precision, percent ? 100 * value : value);
#pragma GCC diagnostic pop
        point(text);
        if (!f->type && !strpbrk(text, ".e"))
            strcat(text, ".0");
    }
    if (percent)
        strcat(text, "%");
}

static void integer_digits(const pithp_format *f, uint64_t value, char *text) {
    char reversed[72];
    int n = 0;
    const unsigned base = f->type == 'b'                     ? 2
                          : f->type == 'o'                   ? 8
                          : f->type == 'x' || f->type == 'X' ? 16
                                                             : 10;
    do
        reversed[n++] =
            (f->type == 'X' ? "0123456789ABCDEF" : "0123456789abcdef")[value % base];
    while ((value /= base) > 0);
    while (n > 0)
        *text++ = reversed[--n];
    *text = 0;
}

/* ---- Padding ---- */

static int columns(const char *text) {
    int n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static void add_fill(const pithp_format *f, int count, pithp_string *t) {
    for (int i = 0; i < count; i++)
        pithp_string_add(t, f->fill);
}

static void pad(const pithp_format *f,
                char align,
                const char *sign,
                const char *digits,
                pithp_string *t) {
    const int room = f->width - columns(sign) - columns(digits);
    const int all = room > 0 ? room : 0;
    const int before = align == '>' ? all : align == '^' ? all / 2 : 0;
    add_fill(f, before, t);
    pithp_string_add(t, sign);
    if (align == '=')
        add_fill(f, all, t);
    pithp_string_add(t, digits);
    if (align == '<' || align == '^')
        add_fill(f, all - before, t);
}

void pithp_format_element(const pithp_format *f,
                          pith_dtype dtype,
                          const void *element,
                          pithp_string *t) {
    char digits[NUMBER_BYTES], sign[4] = ""; /* with the prefix of a base */
    bool negative = false;
    if (dtype == PITH_BOOL && !f->type && f->width == 0 && !f->sign) {
        pithp_string_add(t, *(const uint8_t *)element ? "True" : "False");
        return;
    }
    const bool integer = !pith_dtype_is_float(dtype);
    if (integer && (!f->type || strchr("dxXob", f->type))) {
        uint64_t bits = 0;
        const size_t bytes = pith_dtype_size(dtype);
        memcpy(&bits, element, bytes);
        if (pithp_dtype_is_signed(dtype)) {
            const int shift = 64 - 8 * (int)bytes;
            const int64_t value = (int64_t)(bits << shift) >> shift;
            negative = value < 0;
            bits = negative ? 0 - (uint64_t)value : (uint64_t)value;
        }
        integer_digits(f, bits, digits);
    } else {
        const double value = pithp_dtype_decode(dtype, element);
        uint64_t magnitude = 0; /* absolute value of the element */
        negative = signbit(value) != 0 && !isnan(value);
        pithp_dtype_encode(integer ? PITH_F64 : dtype, fabs(value), &magnitude);
        float_digits(f, integer ? PITH_F64 : dtype, fabs(value), &magnitude, digits);
    }
    sign[0] = negative ? '-' : f->sign;
    if (f->alternate && integer && f->type && strchr("xXob", f->type))
        memcpy(sign + (sign[0] != 0), (const char[]){'0', f->type}, 2);
    pad(f, f->align ? f->align : '>', sign, digits, t);
}

void pithp_format_text(const pithp_format *f, const char *text, pithp_string *t) {
    const char *end = text;
    for (int n = 0; *end && (f->precision < 0 || n < f->precision); n++)
        end += character(end, end + strlen(end));
    pithp_string cut;
    pithp_string_begin(&cut, t->rt);
    pithp_string_add_n(&cut, text, (size_t)(end - text));
    pad(f, f->align ? f->align : '<', "", cut.bytes, t);
    t->failed |= cut.failed;
    pithp_string_end(&cut);
}
