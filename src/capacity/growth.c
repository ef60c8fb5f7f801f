/* Capacity growth: the smallest power of the base that is at least the need,
 * floor(base^k). Powers are kept as 512-bit integers, which avoids rounding drift. */
#include "capacity/capacity_internal.h"

#include <math.h>
#include <string.h>

/* A number >= 1: an integer part in the last limb, a fraction in the others. Products are
 * truncated: the error stays below 2^-320, and powers of integers are exact. */
enum { LIMBS = 8, MOST_SQUARES = 64 };
typedef struct {
    uint64_t limb[LIMBS];
    bool beyond; /* 2^64 or more */
} wide;

static wide wide_of(double base) {
    wide w = {{0}, base >= 0x1p64};
    if (w.beyond)
        return w;
    w.limb[LIMBS - 1] = (uint64_t)base;
    w.limb[LIMBS - 2] = (uint64_t)((base - (double)w.limb[LIMBS - 1]) * 0x1p64);
    return w;
}

static wide times(const wide *a, const wide *b) {
    uint64_t product[2 * LIMBS] = {0};
    wide w = {{0}, a->beyond || b->beyond};
    for (int i = 0; i < LIMBS && !w.beyond; i++) {
        uint64_t carry = 0;
        if (a->limb[i] == 0) /* most limbs are 0 in powers of short numbers */
            continue;
        for (int j = 0; j < LIMBS; j++) {
            const pithp_u128 sum =
                (pithp_u128)a->limb[i] * b->limb[j] + product[i + j] + carry;
            product[i + j] = (uint64_t)sum;
            carry = (uint64_t)(sum >> 64);
        }
        product[i + LIMBS] = carry;
    }
    memcpy(w.limb, product + LIMBS - 1, sizeof w.limb);
    w.beyond |= product[2 * LIMBS - 1] != 0;
    return w;
}

static bool below(const wide *w, int64_t need) {
    return !w->beyond && w->limb[LIMBS - 1] < (uint64_t)need;
}

/* floor(base^k) for the smallest k >= 0 with base^k >= need, need >= 1. Binary
 * exponentiation finds the largest power below need; the result is the next one. */
static int64_t power_from(double base, int64_t need) {
    wide squares[MOST_SQUARES];
    int count = 1;
    wide power = wide_of(1);
    if (!below(&power, need))
        return 1;
    squares[0] = wide_of(base);
    while (count < MOST_SQUARES && below(&squares[count - 1], need)) {
        squares[count] = times(&squares[count - 1], &squares[count - 1]);
        count++;
    }
    for (int i = count - 1; i >= 0; i--) {
        const wide next = times(&power, &squares[i]);
        if (below(&next, need))
            power = next;
    }
    power = times(&power, &squares[0]);
    const uint64_t grown = power.limb[LIMBS - 1];
    return power.beyond || grown > INT64_MAX ? INT64_MAX : (int64_t)grown;
}

/* The same for base 2, the default. */
static int64_t power_of_two_from(int64_t need) {
    if (need > INT64_C(1) << 62)
        return INT64_MAX;
    return need == 1 ? 1 : INT64_C(1) << (64 - __builtin_clzll((uint64_t)need - 1));
}

int64_t pithp_growth(int64_t size, int64_t need, double base) {
    if (need <= size)
        return size;
    if (!(base > 1) || need < 1)
        return need;
    return base == 2 ? power_of_two_from(need) : power_from(base, need);
}

bool pithp_need_of(double value, int64_t *need) {
    const double up = ceil(value);
    if (!(up < 0x1p63)) /* also NaN */
        return false;
    *need = up < -0x1p63 ? INT64_MIN : (int64_t)up;
    return true;
}

int64_t pith_grown_size(pith_scope *s, int64_t size, int64_t need, double base) {
    if (!pithp_enter(s))
        return -1;
    if (size < 0 || !isfinite(base)) {
        pithp_fail(s, PITH_E_ARG, NULL,
                   "pith_grown_size: expected a size of 0 or more and a base that is a "
                   "number, got %lld and %g",
                   (long long)size, base);
        return -1;
    }
    return pithp_growth(size, need, base);
}
