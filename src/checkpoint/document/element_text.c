/* JSON text of elements, exact in both directions. Floats are printed as the shortest
 * decimal that round-trips. Values without a JSON number become strings. The locale has
 * no effect. */
#include "pith/kernel.h"

#include "checkpoint/document/document.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Floats as bits ---- */

static uint64_t float_bits(pith_dtype dtype, const void *element) {
    uint64_t bits = 0;
    memcpy(&bits, element, pith_dtype_size(dtype));
    return bits;
}

/* The value in f64: exact, except that NaN payloads are lost. */
static double float_value(pith_dtype dtype, const void *element) {
    uint16_t half;
    float single;
    double value;
    if (dtype == PITH_F64) {
        memcpy(&value, element, sizeof value);
        return value;
    }
    if (dtype == PITH_F32) {
        memcpy(&single, element, sizeof single);
    } else {
        memcpy(&half, element, sizeof half);
        single = dtype == PITH_F16 ? pith_f16_load(half) : pith_bf16_load(half);
    }
    return (double)single;
}

/* Store the nearest element, as decimal parsing rounds. False: out of range. */
static bool store_float(pith_dtype dtype, double value, void *element) {
    const float single = (float)value;
    uint16_t half;
    if (dtype == PITH_F64) {
        memcpy(element, &value, sizeof value);
        return true;
    }
    if (dtype == PITH_F32) {
        memcpy(element, &single, sizeof single);
    } else {
        half = dtype == PITH_F16 ? pith_f16_store(single) : pith_bf16_store(single);
        memcpy(element, &half, sizeof half);
    }
    return isfinite(float_value(dtype, element)) || !isfinite(value);
}

/* Sign, quiet bit and payload of the NaN that the text "nan" denotes: the positive quiet
 * NaN. */
static uint64_t usual_nan(pith_dtype dtype) {
    switch ((int)dtype) {
        case PITH_F16:
            return 0x7e00;
        case PITH_BF16:
            return 0x7fc0;
        case PITH_F32:
            return 0x7fc00000;
        default:
            return 0x7ff8000000000000;
    }
}

/* ---- Printing ---- */

/* Normalise a printed decimal. The locale's decimal point, of any length, becomes '.'. An
 * integer gets ".0", so that it is read back as a float and "-0.0" keeps its sign. */
static void normalise(char *text) {
    char *to = text;
    bool real = false;
    for (const char *from = text; *from; from++) {
        if (strchr("0123456789+-", *from)) {
            *to++ = *from;
        } else if (*from == 'e') {
            *to++ = *from;
            real = true;
        } else if (to == text || to[-1] != '.') {
            *to++ = '.';
            real = true;
        }
    }
    if (!real) {
        *to++ = '.';
        *to++ = '0';
    }
    *to = 0;
}

/* Number of significant digits for which every decimal round-trips. Subnormal numbers
 * have fewer. */
static int safe_digits(pith_dtype dtype, double value) {
    const double normal = dtype == PITH_F64   ? DBL_MIN
                          : dtype == PITH_F16 ? 0x1p-14
                                              : (double)FLT_MIN;
    if (fabs(value) < normal)
        return 1;
    return dtype == PITH_F64 ? 15 : dtype == PITH_F32 ? 6 : dtype == PITH_F16 ? 3 : 2;
}

static void print_finite(pith_dtype dtype, const void *element, char *text) {
    const double value = float_value(dtype, element);
    const uint64_t bits = float_bits(dtype, element);
    for (int digits = safe_digits(dtype, value); digits <= 17; digits++) {
        uint64_t again = 0;
        snprintf(text, PITHP_ELEMENT_TEXT - 4, "%.*g", digits, value);
        store_float(dtype, strtod(text, NULL), &again);
        if (again == bits)
            break;
    }
    normalise(text);
}

/* Returns whether the text is a JSON number. */
static bool print_float(pith_dtype dtype, const void *element, char *text) {
    const double value = float_value(dtype, element);
    if (isfinite(value)) {
        print_finite(dtype, element, text);
        return true;
    }
    const uint64_t bits = float_bits(dtype, element);
    if (isinf(value))
        strcpy(text, value > 0 ? "inf" : "-inf");
    else if (bits == usual_nan(dtype))
        strcpy(text, "nan");
    else
        snprintf(text, PITHP_ELEMENT_TEXT - 4, "nan:0x%0*" PRIx64,
                 (int)(2 * pith_dtype_size(dtype)), bits);
    return false;
}

static int64_t signed_value(pith_dtype dtype, const void *element) {
    const int shift = 64 - 8 * (int)pith_dtype_size(dtype);
    return (int64_t)(float_bits(dtype, element) << shift) >> shift;
}

static bool print_element(pith_dtype dtype, const void *element, char *text) {
    if (pith_dtype_is_float(dtype))
        return print_float(dtype, element, text);
    const uint64_t bits = float_bits(dtype, element);
    if (dtype == PITH_BOOL && bits <= 1) {
        strcpy(text, bits ? "true" : "false");
        return true;
    }
    if (dtype >= PITH_I8 && dtype <= PITH_I64)
        snprintf(text, PITHP_ELEMENT_TEXT - 4, "%" PRId64, signed_value(dtype, element));
    else
        snprintf(text, PITHP_ELEMENT_TEXT - 4, "%" PRIu64, bits);
    return bits <= INT64_MAX || dtype != PITH_U64; /* JSON readers are limited to int64 */
}

size_t pithp_element_to_json(pith_dtype dtype,
                             const void *element,
                             char text[PITHP_ELEMENT_TEXT]) {
    const bool number = print_element(dtype, element, text + 1);
    const size_t n = strlen(text + 1);
    if (number) {
        memmove(text, text + 1, n + 1);
        return n;
    }
    text[0] = text[n + 1] = '"';
    text[n + 2] = 0;
    return n + 2;
}

/* ---- Reading ---- */

bool pithp_element_from_i64(pith_dtype dtype, int64_t value, void *element) {
    if (pith_dtype_is_float(dtype)) /* written with a point: jansson reads -0 as 0 */
        return false;
    if (dtype == PITH_BOOL) /* bools are written as false and true only */
        return false;
    const size_t bytes = pith_dtype_size(dtype);
    if (dtype >= PITH_I8 && dtype <= PITH_I64) {
        const int64_t most = INT64_MAX >> (64 - 8 * bytes);
        if (value > most || value < -most - 1)
            return false;
    } else if (value < 0 || (bytes < 8 && (uint64_t)value >> (8 * bytes))) {
        return false;
    }
    memcpy(element, &value, bytes);
    return true;
}

bool pithp_element_from_f64(pith_dtype dtype, double value, void *element) {
    return pith_dtype_is_float(dtype) && store_float(dtype, value, element);
}

static bool parse_unsigned(const char *text, int base, uint64_t *value) {
    if (!*text ||
        strspn(text, base == 16 ? "0123456789abcdef" : "0123456789") != strlen(text))
        return false;
    errno = 0;
    *value = strtoull(text, NULL, base);
    return errno == 0;
}

static bool nan_from_text(pith_dtype dtype, const char *text, void *element) {
    const size_t bytes = pith_dtype_size(dtype);
    uint64_t bits;
    if (strlen(text) != 6 + 2 * bytes || strncmp(text, "nan:0x", 6) != 0 ||
        !parse_unsigned(text + 6, 16, &bits))
        return false;
    memcpy(element, &bits, bytes);
    return isnan(float_value(dtype, element));
}

bool pithp_element_from_text(pith_dtype dtype, const char *text, void *element) {
    uint64_t bits;
    if (!pith_dtype_is_float(dtype)) {
        if (dtype != PITH_U64 || !parse_unsigned(text, 10, &bits) || bits <= INT64_MAX)
            return false;
        memcpy(element, &bits, sizeof bits);
        return true;
    }
    if (strcmp(text, "inf") == 0)
        return store_float(dtype, (double)INFINITY, element);
    if (strcmp(text, "-inf") == 0)
        return store_float(dtype, (double)-INFINITY, element);
    if (strcmp(text, "nan") == 0) {
        bits = usual_nan(dtype);
        memcpy(element, &bits, pith_dtype_size(dtype));
        return true;
    }
    return nan_from_text(dtype, text, element);
}

/* ---- Public functions ---- */

double pith_element_f64(pith_dtype dtype, const void *elements, int64_t i) {
    const size_t bytes = pith_dtype_size(dtype);
    if (!elements || bytes == 0 || i < 0)
        return (double)NAN;
    const char *element = (const char *)elements + (size_t)i * bytes;
    if (pith_dtype_is_float(dtype))
        return float_value(dtype, element);
    if (dtype >= PITH_I8 && dtype <= PITH_I64)
        return (double)signed_value(dtype, element);
    return (double)float_bits(dtype, element);
}

pith_element_text pith_element_print(pith_dtype dtype, const void *elements, int64_t i) {
    const size_t bytes = pith_dtype_size(dtype);
    pith_element_text result = {""};
    if (elements && bytes && i >= 0)
        print_element(dtype, (const char *)elements + (size_t)i * bytes, result.text);
    return result;
}
