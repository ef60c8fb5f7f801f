/* accuracy [--only NAME] [--stride N] [--samples N] [--list] [--bounds] [--fast-bounds]
 *
 * Measures how far float functions are from the truth, and fails where one is beyond the
 * bound that accuracy.def states. f32 functions of one argument: every N-th of all 2^32
 * inputs (--stride, default 1) against f64 of the C library; the others: --samples
 * samples (default 2^28) against 128-bit floats. The best instruction set of the machine
 * is measured; tests see to it that all give the same bits.
 *
 * A function named fast_<name> is the form that fast_math takes.
 *
 * --list prints names, for scripts/accuracy; --bounds the bounds, for the check of docs,
 * and --fast-bounds those of the forms that fast_math takes.
 */
#include "pith/runtime.h"

#include "program/pass/pass.h"

#include <math.h>
#include <quadmath.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef __float128 f128;

enum { BLOCK = 4096 };

typedef struct bound {
    const char *name;
    pithp_primitive primitive;
    bool fast;                         /* the form of it that fast_math takes */
    double f32, f64;                   /* in units in the last place, */
    double absolute_f32, absolute_f64; /* or within that of the truth */
} bound;

static const bound bounds[] = {
#define PITHP_BOUND(name, ENUM, f32, f64, near32, near64)                                \
    {#name, PITHP_OP_##ENUM, false, f32, f64, near32, near64},
#define PITHP_BOUND_FAST(name, ENUM, f32, f64)                                           \
    {"fast_" #name, PITHP_OP_##ENUM, true, f32, f64, 0, 0},
#include "accuracy.def"
};

/* ---- The truth ---- */

/* Newton's steps on erf, or beyond 1/2 on erfc of what is left to 1. */
static f128 erf_inv128(f128 x) {
    double start = 0;
    const double at = (double)x;
    pithp_elementwise_block(PITHP_ISA_BASE, PITHP_OP_ERF_INV, PITH_F64)(&start, &at, NULL,
                                                                        NULL, 1);
    const f128 size = fabsq(x);
    f128 y = fabsq((f128)start);
    if (!(size < 1))
        return (f128)start;
    const f128 half = 0.5, slope = 2 / sqrtq(acosq(-1));
    for (int i = 0; i < 3; i++) {
        const f128 beyond = size < half ? erfq(y) - size : 1 - size - erfcq(y);
        y -= beyond / (slope * expq(-y * y));
    }
    return copysignq(y, x);
}

static f128 logistic128(f128 x) {
    return 1 / (1 + expq(-x));
}
static f128 rsqrt128(f128 x) {
    return 1 / sqrtq(x);
}

static const struct {
    pithp_primitive primitive;
    f128 (*one)(f128);
    f128 (*two)(f128, f128);
} truths[] = {
    {PITHP_OP_RSQRT, rsqrt128, NULL},
    {PITHP_OP_CBRT, cbrtq, NULL},
    {PITHP_OP_EXP, expq, NULL},
    {PITHP_OP_EXP2, exp2q, NULL},
    {PITHP_OP_EXPM1, expm1q, NULL},
    {PITHP_OP_LOG, logq, NULL},
    {PITHP_OP_LOG2, log2q, NULL},
    {PITHP_OP_LOG10, log10q, NULL},
    {PITHP_OP_LOG1P, log1pq, NULL},
    {PITHP_OP_SIN, sinq, NULL},
    {PITHP_OP_COS, cosq, NULL},
    {PITHP_OP_TAN, tanq, NULL},
    {PITHP_OP_ASIN, asinq, NULL},
    {PITHP_OP_ACOS, acosq, NULL},
    {PITHP_OP_ATAN, atanq, NULL},
    {PITHP_OP_SINH, sinhq, NULL},
    {PITHP_OP_COSH, coshq, NULL},
    {PITHP_OP_TANH, tanhq, NULL},
    {PITHP_OP_ASINH, asinhq, NULL},
    {PITHP_OP_ACOSH, acoshq, NULL},
    {PITHP_OP_ATANH, atanhq, NULL},
    {PITHP_OP_ERF, erfq, NULL},
    {PITHP_OP_ERFC, erfcq, NULL},
    {PITHP_OP_ERF_INV, erf_inv128, NULL},
    {PITHP_OP_LGAMMA, lgammaq, NULL},
    {PITHP_OP_TGAMMA, tgammaq, NULL},
    {PITHP_OP_LOGISTIC, logistic128, NULL},
    {PITHP_OP_POWER, NULL, powq},
    {PITHP_OP_ATAN2, NULL, atan2q},
    {PITHP_OP_HYPOT, NULL, hypotq},
};

static double erf_inv64(double x) {
    return (double)erf_inv128((f128)x);
}
static double logistic64(double x) {
    return 1 / (1 + exp(-x));
}
static double rsqrt64(double x) {
    return 1 / sqrt(x);
}

/* Of f32 arguments f64 is truth enough. */
static const struct {
    pithp_primitive primitive;
    double (*one)(double);
} quick[] = {
    {PITHP_OP_RSQRT, rsqrt64}, {PITHP_OP_CBRT, cbrt},     {PITHP_OP_EXP, exp},
    {PITHP_OP_EXP2, exp2},     {PITHP_OP_EXPM1, expm1},   {PITHP_OP_LOG, log},
    {PITHP_OP_LOG2, log2},     {PITHP_OP_LOG10, log10},   {PITHP_OP_LOG1P, log1p},
    {PITHP_OP_SIN, sin},       {PITHP_OP_COS, cos},       {PITHP_OP_TAN, tan},
    {PITHP_OP_ASIN, asin},     {PITHP_OP_ACOS, acos},     {PITHP_OP_ATAN, atan},
    {PITHP_OP_SINH, sinh},     {PITHP_OP_COSH, cosh},     {PITHP_OP_TANH, tanh},
    {PITHP_OP_ASINH, asinh},   {PITHP_OP_ACOSH, acosh},   {PITHP_OP_ATANH, atanh},
    {PITHP_OP_ERF, erf},       {PITHP_OP_ERFC, erfc},     {PITHP_OP_ERF_INV, erf_inv64},
    {PITHP_OP_LGAMMA, lgamma}, {PITHP_OP_TGAMMA, tgamma}, {PITHP_OP_LOGISTIC, logistic64},
};

/* ---- Errors ---- */

/* |got - want| in units in the last place of `want`, in a format with these digits and
 * least and greatest exponents; infinity counts as the number after the greatest. */
static double apart(f128 got, f128 want, int digits, int least, int greatest) {
    const f128 beyond = scalbnq(1, greatest + 1);
    if (isnanq(want) || isnanq(got))
        return isnanq(want) && isnanq(got) ? 0 : (double)INFINITY;
    got = fminq(fmaxq(got, -beyond), beyond);
    want = fminq(fmaxq(want, -beyond), beyond);
    int exponent = want == 0 ? least : ilogbq(want);
    exponent = exponent < least ? least : exponent > greatest ? greatest : exponent;
    return (double)(fabsq(got - want) / scalbnq(1, exponent - digits + 1));
}

static double apart_f32(double got, double want) {
    const double beyond = 0x1p128;
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got) ? 0 : (double)INFINITY;
    got = fmin(fmax(got, -beyond), beyond);
    want = fmin(fmax(want, -beyond), beyond);
    int exponent = -126;
    if (fabs(want) >= 0x1p-126)
        frexp(want, &exponent), exponent--;
    return ldexp(fabs(got - want), 23 - (exponent > 127 ? 127 : exponent));
}

typedef struct worst {
    double error, x, y;
    int64_t inputs;
} worst;

/* error in units in the last place, or off by `distance`, of which `allowed` is no error.
 */
static void
note(worst *w, double error, double distance, double allowed, double x, double y) {
    w->inputs++;
    if (error > w->error && !(distance <= allowed)) {
        w->error = error;
        w->x = x;
        w->y = y;
    }
}

/* ---- Samples ---- */

static uint64_t state = 88172645463325252u;
static uint64_t noise(void) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

/* All bits, numbers of like size, and neighbours of whole numbers and of 1. */
static double sample(bool single) {
    const uint64_t kind = noise() % 4, bits = noise();
    double x;
    if (kind == 0) {
        if (single) {
            const uint32_t low = (uint32_t)bits;
            float f;
            memcpy(&f, &low, sizeof f);
            return (double)f;
        }
        memcpy(&x, &bits, sizeof x);
        return x;
    }
    x = (double)(int64_t)bits * 0x1p-63;
    if (kind == 1)
        x *= bits % 2 ? 20 : 200;
    else if (kind == 2)
        x = (double)((int64_t)(noise() % 40) - 20) + x * ldexp(1, -(int)(noise() % 50));
    else
        x = copysign(1, x) * (1 - fabs(x) * ldexp(1, -(int)(noise() % 50)));
    return single ? (double)(float)x : x;
}

/* ---- Measuring ---- */

/* The instruction set that calls use here. */
static pithp_isa best_isa(void) {
    static pithp_isa isa = PITHP_ISA_COUNT;
    if (isa == PITHP_ISA_COUNT) {
        pith_runtime *rt = pith_open(&(pith_open_options){.device = "host"});
        pith_scope *s = pith_scope_open(rt);
        isa = pithp_scope_device(s)->isa;
        pith_scope_close(s);
        pith_close(rt);
    }
    return isa;
}

static pithp_block_function block_of(const bound *b, pith_dtype dtype) {
    return pithp_elementwise_block(
        best_isa(), b->fast ? pithp_fast_form(b->primitive) : b->primitive, dtype);
}

static worst all_f32(const bound *b, double (*truth)(double), int64_t stride) {
    static float x[BLOCK], y[BLOCK];
    const pithp_block_function f = block_of(b, PITH_F32);
    worst w = {0};
    int n = 0;
    for (int64_t bits = 0; bits < (int64_t)1 << 32 || n > 0; bits += stride) {
        if (bits < (int64_t)1 << 32) {
            const uint32_t one = (uint32_t)bits;
            memcpy(&x[n++], &one, sizeof one);
            if (n < BLOCK)
                continue;
        }
        f(y, x, NULL, NULL, n);
        for (int i = 0; i < n; i++) {
            const double got = (double)y[i], want = truth((double)x[i]);
            note(&w, apart_f32(got, want), fabs(got - want), b->absolute_f32,
                 (double)x[i], 0);
        }
        n = 0;
    }
    return w;
}

/* Numbers next to multiples of pi/2, the hardest arguments of sin, cos and tan. To other
 * functions they are numbers as good as any. */
static const double angles[] = {
#include "angles.def"
};

/* Arguments of functions of one: the angles, with either sign, then samples. */
static double sample_at(int64_t i, bool single) {
    const int64_t of_angle = i / 2;
    if (single || of_angle >= PITHP_COUNT(angles))
        return sample(single);
    return i % 2 ? -angles[of_angle] : angles[of_angle];
}

static worst samples(const bound *b, int at, pith_dtype dtype, int64_t count) {
    static double x[2][BLOCK], z[BLOCK];
    static float single[3][BLOCK];
    const pithp_block_function f = block_of(b, dtype);
    const bool is_single = dtype == PITH_F32;
    worst w = {0};
    for (int64_t done = 0; done < count; done += BLOCK) {
        for (int i = 0; i < BLOCK; i++)
            for (int k = 0; k < 2; k++)
                single[k][i] = (float)(x[k][i] = sample_at(done + i, is_single));
        if (is_single)
            f(single[2], single[0], single[1], NULL, BLOCK);
        else
            f(z, x[0], x[1], NULL, BLOCK);
        for (int i = 0; i < BLOCK; i++) {
            const f128 want = truths[at].one
                                  ? truths[at].one((f128)x[0][i])
                                  : truths[at].two((f128)x[0][i], (f128)x[1][i]);
            const f128 got = is_single ? (f128)single[2][i] : (f128)z[i];
            const double error = is_single ? apart(got, want, 24, -126, 127)
                                           : apart(got, want, 53, -1022, 1023);
            note(&w, error, (double)fabsq(got - want),
                 is_single ? b->absolute_f32 : b->absolute_f64, x[0][i],
                 truths[at].one ? 0 : x[1][i]);
        }
    }
    return w;
}

static bool tell(const char *name, const char *dtype, worst w, double most) {
    printf("%-10s %s  %8.4f ulp, bound %.1f, %lld inputs, worst at %a %a%s\n", name,
           dtype, w.error, most, (long long)w.inputs, w.x, w.y,
           w.error > most ? "  BEYOND ITS BOUND" : "");
    fflush(stdout);
    return w.error <= most;
}

static bool measure(const bound *b, int64_t stride, int64_t count) {
    int at = 0;
    bool good = true, done = false;
    while (truths[at].primitive != b->primitive)
        at++;
    for (int i = 0; i < PITHP_COUNT(quick); i++)
        if (quick[i].primitive == b->primitive) {
            good &= tell(b->name, "f32", all_f32(b, quick[i].one, stride), b->f32);
            done = true;
        }
    if (!done)
        good &= tell(b->name, "f32", samples(b, at, PITH_F32, count), b->f32);
    return tell(b->name, "f64", samples(b, at, PITH_F64, count), b->f64) && good;
}

int main(int argc, char **argv) {
    const char *only = NULL;
    int64_t stride = 1, count = (int64_t)1 << 28;
    bool list = false, state_bounds = false, state_fast = false, good = true;
    for (int i = 1; i < argc; i++) {
        const bool more = i + 1 < argc;
        if (!strcmp(argv[i], "--only") && more)
            only = argv[++i];
        else if (!strcmp(argv[i], "--stride") && more)
            stride = strtoll(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--samples") && more)
            count = strtoll(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--list"))
            list = true;
        else if (!strcmp(argv[i], "--bounds"))
            state_bounds = true;
        else if (!strcmp(argv[i], "--fast-bounds"))
            state_fast = true;
        else
            stride = 0;
    }
    if (stride < 1) {
        fprintf(stderr, "accuracy [--only NAME] [--stride N] [--samples N] [--list] "
                        "[--bounds] [--fast-bounds]\n");
        return 2;
    }
    for (int i = 0; i < PITHP_COUNT(bounds); i++) {
        const bound *b = &bounds[i];
        if (only && strcmp(only, b->name) != 0)
            continue;
        if (list)
            printf("%s\n", b->name);
        else if (!state_bounds && !state_fast)
            good &= measure(b, stride, count);
        else if (b->fast == state_fast)
            printf("%s%s %.1f %.1f\n", b->fast ? "" : "pith_", b->name, b->f32, b->f64);
    }
    return good ? 0 : 1;
}
