/* String buffer: grows as needed. If memory runs out it keeps its text and sets
 * `failed`. */
#include "base/base_internal.h"
#include "base/format.h"

#include <inttypes.h>
#include <string.h>

static char empty[1];

void pithp_string_begin(pithp_string *t, pith_runtime *rt) {
    *t = (pithp_string){.rt = rt, .bytes = empty};
}

static bool reserve(pithp_string *t, size_t more) {
    if (t->failed)
        return false;
    size_t need;
    if (pithp_add_overflows(t->length, more, &need) ||
        pithp_add_overflows(need, 1, &need))
        return t->failed = true, false;
    if (need <= t->capacity)
        return true;
    size_t capacity = t->capacity ? t->capacity : 64;
    while (capacity < need)
        capacity = capacity > SIZE_MAX / 2 ? need : 2 * capacity;
    char *grown =
        pithp_reallocate(t->rt, t->capacity ? t->bytes : NULL, t->capacity, capacity);
    if (!grown)
        return t->failed = true, false;
    if (!t->capacity)
        grown[0] = 0;
    t->bytes = grown, t->capacity = capacity;
    return true;
}

void pithp_string_add_n(pithp_string *t, const char *text, size_t n) {
    if (!reserve(t, n))
        return;
    memcpy(t->bytes + t->length, text, n);
    t->length += n;
    t->bytes[t->length] = 0;
}

void pithp_string_add(pithp_string *t, const char *text) {
    pithp_string_add_n(t, text, strlen(text));
}

void pithp_string_print(pithp_string *t, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int n = pithp_format_v(NULL, 0, format, arguments);
    va_end(arguments);
    if (n < 0 || !reserve(t, (size_t)n)) {
        t->failed = true;
        return;
    }
    va_start(arguments, format);
    pithp_format_v(t->bytes + t->length, (size_t)n + 1, format, arguments);
    va_end(arguments);
    t->length += (size_t)n;
}

void pithp_string_add_number(pithp_string *t, int digits, double value) {
    char number[32];
    pithp_format(number, sizeof number, "%.*g", digits, value);
    pithp_string_add(t, number);
}

/* 64-bit integers beyond 2^53 are not exact in double. */
void pithp_string_add_element(pithp_string *t, pith_dtype dtype, const void *element) {
    int64_t i;
    uint64_t u;
    if (dtype == PITH_I64) {
        memcpy(&i, element, sizeof i);
        pithp_string_print(t, "%" PRId64, i);
    } else if (dtype == PITH_U64) {
        memcpy(&u, element, sizeof u);
        pithp_string_print(t, "%" PRIu64, u);
    } else {
        pithp_string_add_number(t, 17, pithp_dtype_decode(dtype, element));
    }
}

void pithp_json_string(pithp_string *t, const char *text) {
    static const char digits[] = "0123456789abcdef";
    pithp_string_add_n(t, "\"", 1);
    const char *plain = text;
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c >= ' ' && c != '"' && c != '\\' && c != 0x7F)
            continue;
        pithp_string_add_n(t, plain, (size_t)(text - plain));
        plain = text + 1;
        const char *short_form = strchr("\"\"\\\\\nn\tt\rr\bb\ff", c);
        if (short_form) {
            const char escape[2] = {'\\', short_form[1]};
            pithp_string_add_n(t, escape, 2);
        } else {
            const char escape[6] = {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]};
            pithp_string_add_n(t, escape, 6);
        }
    }
    pithp_string_add_n(t, plain, (size_t)(text - plain));
    pithp_string_add_n(t, "\"", 1);
}

void pithp_string_end(pithp_string *t) {
    if (t->capacity)
        pithp_release(t->rt, t->bytes, t->capacity);
    *t = (pithp_string){.bytes = empty};
}
