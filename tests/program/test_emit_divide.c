/* Divisions by one number, which compiled code does by its inverse, give the bits of the
 * processor's: dividends of every size, next to the middle between two quotients, and
 * blocks with one dividend out of range; divisors that have no inverse to serve. */
#include "emit_test.h"

#include <float.h>
#include <math.h>

enum { LENGTH = 3 * 512 + 100, DIVISORS = 24, FEW = 5 };

static uint64_t state;

static uint64_t draw(void) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

/* A number with an exponent up to `most`, with many digits or few. */
static double number(int most) {
    const double fraction = 1 + ldexp((double)(draw() >> (12 + draw() % 50)), -52);
    return ldexp(draw() % 2 ? fraction : 2 - (fraction - 1) / 2,
                 (int)(draw() % (uint64_t)(2 * most)) - most);
}

static double divisor(int k, bool wide) {
    static const double some[] = {3,        -7,      1,    0.1,     0,       -0.0,
                                  INFINITY, NAN,     1e38, 1e-38,   DBL_MAX, 4e-320,
                                  0x1p20,   0x1p-20, 1e7,  0x1p400, 0x1p-400};
    const int count = sizeof some / sizeof *some;
    return k < count ? some[k] : number(wide ? 390 : 19) * (k % 2 ? -1 : 1);
}

/* One that is out of range, or as near to its ends as can be. */
static double special(bool wide) {
    static const double some[] = {-0.0,    INFINITY, -INFINITY, NAN,     DBL_MAX, 4e-320,
                                  0x1p501, 0x1p-501, 0x1p61,    0x1p-61, 1e-45};
    const double x = some[draw() % (sizeof some / sizeof *some)];
    return wide ? x : (double)(float)x;
}

/* Next to b times what has one digit more than a quotient: q and half a unit. */
static double next_to_the_middle(double b, bool wide) {
    const double q = 1 + ldexp((double)(draw() >> 12), -52);
    const double a = wide ? fma(b, q, ldexp(b, -53)) : b * ((double)(float)q + 0x1p-24);
    const double step = wide ? nextafter(a, draw() % 2 ? INFINITY : 0)
                             : (double)nextafterf((float)a, draw() % 2 ? INFINITY : 0);
    return draw() % 2 ? a : step;
}

static double dividend(int64_t j, double b, bool wide) {
    const int64_t block = j / 512;
    if (j % 7 == 0)
        return 0;
    if (block == 1 ? j % 512 == 511 : block == 3 && j % 5 == 0)
        return special(wide);
    const bool ordinary = fabs(b) < (wide ? 0x1p390 : 0x1p20);
    return j % 2 && ordinary && b != 0 ? next_to_the_middle(b, wide)
                                       : number(wide ? 499 : 59);
}

static void quotients(pith_dtype dtype) {
    const bool wide = dtype == PITH_F64;
    static double a[DIVISORS * LENGTH], by[DIVISORS];
    static float narrow[DIVISORS * LENGTH], narrow_by[DIVISORS];
    const int64_t shape[2] = {DIVISORS, LENGTH}, upright[2] = {DIVISORS, 1},
                  length = LENGTH, one = 1;
    state = 88172645463325252u;
    for (int k = 0; k < DIVISORS; k++) {
        by[k] = divisor(k, wide);
        narrow_by[k] = (float)by[k];
        for (int64_t j = 0; j < LENGTH; j++) {
            a[k * LENGTH + j] = dividend(j, by[k], wide);
            narrow[k * LENGTH + j] = (float)a[k * LENGTH + j];
        }
    }
    bench b = begin();
    const void *from = wide ? (void *)a : narrow, *below = wide ? (void *)by : narrow_by;
    const size_t size = wide ? 8 : 4;
    const pithp_value x = input(&b, dtype, 2, shape, from),
                      column = input(&b, dtype, 2, upright, below);
    pithp_value v[FEW], d[FEW];
    for (int k = 0; k < FEW; k++) {
        const size_t row = 5 * (size_t)k;
        v[k] = input(&b, dtype, 1, &length, (const char *)from + row * LENGTH * size);
        d[k] = input(&b, dtype, 1, &one, (const char *)below + row * size);
    }
    pithp_program_output(b.s, b.p, op(&b, PITHP_OP_DIV, 2, x, column));
    for (int k = 0; k < FEW; k++) { /* flat, and with more in the step */
        const pithp_value quotient = op(&b, PITHP_OP_DIV, 2, v[k], d[k]);
        const pithp_value other =
            op(&b, PITHP_OP_DIV, 2, v[k], op(&b, PITHP_OP_NEG, 1, d[k]));
        pithp_program_output(b.s, b.p, quotient);
        if (k % 2)
            pithp_program_output(b.s, b.p, op(&b, PITHP_OP_SUB, 2, quotient, other));
    }
    expect_same(&b, pith_dtype_name(dtype));
    end(&b);
}

Test(emit_divide, quotients_by_one_number_are_those_of_the_processor, .timeout = 300) {
    use_cache();
    quotients(PITH_F64);
    quotients(PITH_F32);
}
