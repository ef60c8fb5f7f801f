/* Dtypes: names, sizes, kinds and element conversion, generated from the list in
 * base.h. */
#include "base/base_internal.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *name;
    size_t size;
    char kind;
} dtypes[PITH_DTYPE_COUNT] = {[PITH_DTYPE_NONE] = {"none", 0, 0},
#define ROW(name, NAME, ctype, bytes, kind) [PITH_##NAME] = {#name, bytes, kind},
                              PITH_DTYPE_LIST(ROW)
#undef ROW
};

#define ROW(name, NAME, ctype, bytes, kind)                                              \
    _Static_assert(sizeof(ctype) == (bytes), "storage of " #name);
PITH_DTYPE_LIST(ROW)
#undef ROW

static bool known(pith_dtype dtype) {
    return (size_t)dtype < PITH_DTYPE_COUNT;
}

const char *pith_dtype_name(pith_dtype dtype) {
    return known(dtype) ? dtypes[dtype].name : "none";
}

size_t pith_dtype_size(pith_dtype dtype) {
    return known(dtype) ? dtypes[dtype].size : 0;
}

pith_dtype pith_dtype_parse(const char *name) {
    if (!name)
        return PITH_DTYPE_NONE;
    for (int i = 1; i < PITH_DTYPE_COUNT; i++)
        if (strcmp(dtypes[i].name, name) == 0)
            return (pith_dtype)i;
    return PITH_DTYPE_NONE;
}

bool pith_dtype_is_float(pith_dtype dtype) {
    return known(dtype) && dtypes[dtype].kind == 'f';
}

bool pith_dtype_is_integer(pith_dtype dtype) {
    return known(dtype) && (dtypes[dtype].kind == 'i' || dtypes[dtype].kind == 'u');
}

bool pithp_dtype_is_signed(pith_dtype dtype) {
    return known(dtype) && dtypes[dtype].kind == 'i';
}

/* ---- Conversion of an element to and from double ---- */

/* Round a double once, to nearest even, to a float format with the given fraction bits
 * and least exponent of normal numbers. The result is exact in double. */
static double round_to(double value, int fraction_bits, int least_exponent) {
    int exponent;
    if (value == 0 || !isfinite(value))
        return value;
    frexp(value, &exponent); /* |value| in [2^(exponent - 1), 2^exponent) */
    exponent = exponent - 1 < least_exponent ? least_exponent : exponent - 1;
    return ldexp(nearbyint(ldexp(value, fraction_bits - exponent)),
                 exponent - fraction_bits);
}

static uint16_t pack_half(double value, int fraction_bits, int bias) {
    const unsigned sign = signbit(value) ? 0x8000u : 0;
    const unsigned infinity = (0x7fffu >> fraction_bits) << fraction_bits;
    if (isnan(value))
        return (uint16_t)(sign | infinity | 1u << (fraction_bits - 1));
    const double rounded = fabs(round_to(value, fraction_bits, 1 - bias));
    if (rounded >= ldexp(1, bias + 1))
        return (uint16_t)(sign | infinity);
    if (rounded < ldexp(1, 1 - bias)) /* subnormal, or zero */
        return (uint16_t)(sign | (unsigned)ldexp(rounded, fraction_bits + bias - 1));
    int exponent;
    const double fraction = frexp(rounded, &exponent); /* in [0.5, 1) */
    return (uint16_t)(sign | (unsigned)(exponent - 1 + bias) << fraction_bits |
                      ((unsigned)ldexp(fraction, fraction_bits + 1) &
                       ((1u << fraction_bits) - 1)));
}

static double unpack_half(unsigned bits, int fraction_bits, int bias) {
    const int exponent = (int)((bits & 0x7fffu) >> fraction_bits);
    const double fraction = bits & ((1u << fraction_bits) - 1);
    double value;
    if (exponent == (0x7fff >> fraction_bits))
        value = fraction != 0 ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        value = ldexp(fraction, 1 - bias - fraction_bits);
    else
        value =
            ldexp(fraction + ldexp(1, fraction_bits), exponent - bias - fraction_bits);
    return bits & 0x8000u ? -value : value;
}

enum { F16_FRACTION = 10, F16_BIAS = 15, BF16_FRACTION = 7, BF16_BIAS = 127 };

/* Saturating conversion by truncation to [low, high]; NaN gives 0. */
#define SATURATE(ctype, low, high)                                                       \
    do {                                                                                 \
        const ctype x = isnan(value)              ? 0                                    \
                        : value <= (double)(low)  ? (low)                                \
                        : value >= (double)(high) ? (high)                               \
                                                  : (ctype)value;                        \
        memcpy(element, &x, sizeof x);                                                   \
    } while (0)

static void encode(pith_dtype dtype, double value, void *element) {
    switch (dtype) {
        case PITH_DTYPE_NONE:
            break;
        case PITH_BOOL:
            *(uint8_t *)element = value != 0;
            break;
        case PITH_I8:
            SATURATE(int8_t, INT8_MIN, INT8_MAX);
            break;
        case PITH_I16:
            SATURATE(int16_t, INT16_MIN, INT16_MAX);
            break;
        case PITH_I32:
            SATURATE(int32_t, INT32_MIN, INT32_MAX);
            break;
        case PITH_I64:
            SATURATE(int64_t, INT64_MIN, INT64_MAX);
            break;
        case PITH_U8:
            SATURATE(uint8_t, 0, UINT8_MAX);
            break;
        case PITH_U16:
            SATURATE(uint16_t, 0, UINT16_MAX);
            break;
        case PITH_U32:
            SATURATE(uint32_t, 0, UINT32_MAX);
            break;
        case PITH_U64:
            SATURATE(uint64_t, 0, UINT64_MAX);
            break;
        case PITH_F16: {
            const uint16_t bits = pack_half(value, F16_FRACTION, F16_BIAS);
            memcpy(element, &bits, sizeof bits);
            break;
        }
        case PITH_BF16: {
            const uint16_t bits = pack_half(value, BF16_FRACTION, BF16_BIAS);
            memcpy(element, &bits, sizeof bits);
            break;
        }
        case PITH_F32: {
            const float x = (float)value;
            memcpy(element, &x, sizeof x);
            break;
        }
        case PITH_F64:
            memcpy(element, &value, sizeof value);
            break;
    }
}

double pithp_dtype_decode(pith_dtype dtype, const void *element) {
    uint16_t half;
    switch (dtype) {
        case PITH_DTYPE_NONE:
            return 0;
        case PITH_F16:
            memcpy(&half, element, sizeof half);
            return unpack_half(half, F16_FRACTION, F16_BIAS);
        case PITH_BF16:
            memcpy(&half, element, sizeof half);
            return unpack_half(half, BF16_FRACTION, BF16_BIAS);
#define PLAIN(NAME, ctype)                                                               \
    case PITH_##NAME: {                                                                  \
        ctype x;                                                                         \
        memcpy(&x, element, sizeof x);                                                   \
        return (double)x;                                                                \
    }
            PLAIN(BOOL, uint8_t)
            PLAIN(I8, int8_t)
            PLAIN(I16, int16_t)
            PLAIN(I32, int32_t)
            PLAIN(I64, int64_t)
            PLAIN(U8, uint8_t)
            PLAIN(U16, uint16_t)
            PLAIN(U32, uint32_t)
            PLAIN(U64, uint64_t)
            PLAIN(F32, float)
            PLAIN(F64, double)
#undef PLAIN
    }
    return 0;
}

bool pithp_dtype_encode(pith_dtype dtype, double value, void *element) {
    encode(dtype, value, element);
    if (isnan(value))
        return pith_dtype_is_float(dtype);
    /* 2^63 and 2^64 saturate to a neighbour that decodes to the same double, but they are
     * not exact. */
    if ((dtype == PITH_I64 && value >= 0x1p63) || (dtype == PITH_U64 && value >= 0x1p64))
        return false;
    return pithp_dtype_decode(dtype, element) == value;
}
