/* Fast maths: a product and the sum it is added to are rounded once, and functions take
 * forms within 4 ulp, in every tier alike and nowhere else. */
#include "scope_test.h"

#include <math.h>
#include <string.h>

enum { LENGTH = 1000, ONCE = 1, TWICE = 2, ONES = 10 };

static double x[LENGTH], y[LENGTH], z[LENGTH];

static const pith_array *
madd(pith_scope *scope, const pith_array *a, const pith_array *b, const pith_array *c) {
    return pith_add(scope, pith_mul(scope, a, b), c);
}
PITH_FUNCTION3(madd_function, madd, pith_array, pith_array, pith_array, pith_array)

/* Numbers whose product and sum cancel but for what the first rounding drops. */
static void fill(void) {
    for (int i = 0; i < LENGTH; i++) {
        x[i] = 1 + i * 0x1p-40;
        y[i] = 1 - i * 0x1p-41;
        z[i] = -(x[i] * y[i]);
    }
}

static const pith_array *vector(const double *values) {
    return pith_array_copy(s, PITH_F64, PITH_SHAPE(LENGTH), values);
}

/* How often all of the results were rounded; 0: none of both. */
static int roundings(const pith_function *f) {
    double is[LENGTH];
    int once = 0, twice = 0;
    const pith_array *r = pith_call(s, f, PITH_ITEMS(vector(x), vector(y), vector(z)));
    pt_ok(s, pith_read(s, r, is, sizeof is));
    for (int i = 0; i < LENGTH; i++) {
        volatile double product = x[i] * y[i];
        once += is[i] == fma(x[i], y[i], z[i]);
        twice += is[i] == product + z[i];
    }
    return once == LENGTH ? ONCE : twice == LENGTH ? TWICE : 0;
}

static void begin(void) {
    setenv("PITH_JIT", "wait", 1);
    open_scope();
    fill();
}

static bool has_fma(void) {
#if defined(__x86_64__)
    return __builtin_cpu_supports("fma");
#else
    return true;
#endif
}

static void begin_interpreted(void) {
    setenv("PITH_JIT", "off", 1);
    open_scope();
    fill();
}

Test(fast_math, the_interpreter_rounds_once_too, .init = begin_interpreted) {
    const pith_function *fast =
        pith_jit(s, &madd_function, &(pith_jit_options){.fast_math = true});
    if (has_fma())
        cr_assert(roundings(fast) == ONCE);
    close_scope();
}

Test(fast_math, products_and_sums_are_rounded_once_on_request_alone, .init = begin) {
    const pith_function *exact = pith_jit(s, &madd_function, NULL);
    const pith_function *fast =
        pith_jit(s, &madd_function, &(pith_jit_options){.fast_math = true});
    cr_assert(roundings(&madd_function) == TWICE);
    cr_assert(roundings(exact) == TWICE);
    if (has_fma())
        cr_assert(roundings(fast) == ONCE);
    cr_assert(roundings(exact) == TWICE);
    cr_assert(pith_jit_about(rt).programs == 2);
    close_scope();
}

/* As a part of another function it does as that does. */
static const pith_array *
outer(pith_scope *scope, const pith_array *a, const pith_array *b, const pith_array *c) {
    const pith_function *inner =
        pith_jit(scope, &madd_function, &(pith_jit_options){.fast_math = true});
    return pith_call(scope, inner, PITH_ITEMS(a, b, c));
}
PITH_FUNCTION3(outer_function, outer, pith_array, pith_array, pith_array, pith_array)

Test(fast_math, the_outermost_function_decides, .init = begin) {
    cr_assert(roundings(pith_jit(s, &outer_function, NULL)) == TWICE);
    close_scope();
}

Test(fast_math, nothing_else_is_given_up, .init = begin) {
    const double a[] = {INFINITY, NAN, -0.0, 1e308};
    double is[4];
    const pith_array *v = pith_array_copy(s, PITH_F64, PITH_SHAPE(4), a);
    const pith_array *r =
        pith_call(s, pith_jit(s, &madd_function, &(pith_jit_options){.fast_math = true}),
                  PITH_ITEMS(v, pith_f64(s, 1), pith_f64(s, -0.0)));
    pt_ok(s, pith_read(s, r, is, sizeof is));
    cr_assert(is[0] == (double)INFINITY && isnan(is[1]) && is[3] == 1e308);
    cr_assert(is[2] == 0 && signbit(is[2]));
    close_scope();
}

/* ---- Functions ---- */

typedef struct {
    const pith_array *log, *log2, *sin, *cos, *asin, *acos, *atan, *tanh, *pow, *madd;
} Values;
PITH_NODE(Values,
          PITH_LEAF(log, "float[n]"),
          PITH_LEAF(log2, "float[n]"),
          PITH_LEAF(sin, "float[n]"),
          PITH_LEAF(cos, "float[n]"),
          PITH_LEAF(asin, "float[n]"),
          PITH_LEAF(acos, "float[n]"),
          PITH_LEAF(atan, "float[n]"),
          PITH_LEAF(tanh, "float[n]"),
          PITH_LEAF(pow, "float[n]"),
          PITH_LEAF(madd, "float[n]"))

static const Values *values(pith_scope *scope, const pith_array *a, const pith_array *b) {
    const Values v = {.log = pith_log(scope, a),
                      .log2 = pith_log2(scope, a),
                      .sin = pith_sin(scope, a),
                      .cos = pith_cos(scope, a),
                      .asin = pith_asin(scope, a),
                      .acos = pith_acos(scope, a),
                      .atan = pith_atan(scope, a),
                      .tanh = pith_tanh(scope, a),
                      .pow = pith_pow(scope, a, b),
                      .madd = pith_sub(scope, b, pith_mul(scope, a, b))};
    return pith_freeze(scope, Values, &v);
}
PITH_FUNCTION2(values_function, values, Values, pith_array, pith_array)

static const double special[] = {0.0,  -0.0, INFINITY, -INFINITY, NAN,    1e-310, 1,
                                 -1,   2,    -2,       0.5,       3,      1e22,   -1e300,
                                 1e17, 20,   -800,     0x1p-1022, 0x1p28, 1e-30};

/* All special numbers with all, then others, in f64; f32 cuts them. */
static const pith_array *operand(pith_dtype dtype, int which) {
    static double of[LENGTH];
    const int count = (int)(sizeof special / sizeof *special);
    for (int i = 0; i < LENGTH; i++)
        of[i] = i < count * count
                    ? special[which ? i % count : i / count]
                    : (which ? 30 * sin(i) : exp(8 * cos(i)) * (i % 7 ? 1 : -1));
    return pith_cast(s, pith_array_copy(s, PITH_F64, PITH_SHAPE(LENGTH), of), dtype);
}

static const Values *
called(const char *jit, bool fast, const pith_array *a, const pith_array *b) {
    setenv("PITH_JIT", jit, 1);
    const pith_function *f =
        pith_jit(s, &values_function, &(pith_jit_options){.fast_math = fast});
    const Values *v = pith_call(s, f, PITH_ITEMS(a, b));
    pt_ok(s);
    return v;
}

static const pith_array *leaf(const Values *v, int k) {
    const pith_array *all[ONES] = {v->log,  v->log2, v->sin,  v->cos, v->asin,
                                   v->acos, v->atan, v->tanh, v->pow, v->madd};
    return all[k];
}

static void read_f64(const pith_array *a, double to[LENGTH]) {
    pt_ok(s, pith_read(s, pith_cast(s, a, PITH_F64), to, LENGTH * sizeof *to));
}

/* Equal but for the bits of nan. */
static bool same(const pith_array *a, int64_t skip, const pith_array *b) {
    double x_of[LENGTH], y_of[LENGTH];
    const int64_t n = pith_array_spec(b)->count;
    read_f64(a, x_of);
    pt_ok(s, pith_read(s, pith_cast(s, b, PITH_F64), y_of, (size_t)n * sizeof *y_of));
    for (int64_t i = 0; i < n; i++)
        if (memcmp(&x_of[i + skip], &y_of[i], sizeof *y_of) &&
            !(isnan(x_of[i + skip]) && isnan(y_of[i])))
            return false;
    return true;
}

Test(fast_math, every_tier_and_place_has_the_same_bits, .init = begin) {
    static const pith_dtype dtypes[] = {PITH_F16, PITH_BF16, PITH_F32, PITH_F64};
    for (int d = 0; d < 4; d++) {
        const pith_array *a = operand(dtypes[d], 0), *b = operand(dtypes[d], 1);
        const Values *compiled = called("wait", true, a, b);
        const Values *interpreted = called("off", true, a, b);
        for (int k = 0; k < ONES; k++)
            cr_expect(same(leaf(compiled, k), 0, leaf(interpreted, k)), "%s, function %d",
                      pith_dtype_name(dtypes[d]), k);
        for (int64_t skip = 1; skip < 40; skip += 6) {
            const pith_slice part = PITH_SLICE(skip, skip + 401, 1);
            const Values *cut = called("wait", true, pith_slice_array(s, a, 1, &part),
                                       pith_slice_array(s, b, 1, &part));
            for (int k = 0; k < ONES; k++)
                cr_expect(same(leaf(compiled, k), skip, leaf(cut, k)), "%s, function %d",
                          pith_dtype_name(dtypes[d]), k);
        }
    }
    close_scope();
}

/* What is special has the exact forms' result. */
Test(fast_math, functions_are_near_and_keep_special_results, .init = begin) {
    for (int d = 0; d < 2; d++) {
        const pith_dtype dtype = d ? PITH_F64 : PITH_F32;
        const double ulp = d ? 0x1p-52 : 0x1p-23;
        const pith_array *a = operand(dtype, 0), *b = operand(dtype, 1);
        const Values *fast = called("wait", true, a, b);
        const Values *exact = called("wait", false, a, b);
        int others = 0;
        for (int k = 0; k < ONES - 1; k++) {
            double got[LENGTH], want[LENGTH];
            read_f64(leaf(fast, k), got);
            read_f64(leaf(exact, k), want);
            for (int i = 0; i < LENGTH; i++) {
                const bool plain = isfinite(want[i]) && want[i] != 0;
                others += got[i] != want[i];
                if (plain)
                    cr_expect(fabs(got[i] - want[i]) <=
                                  5 * ulp * fabs(want[i]) + 0x1p-1070,
                              "function %d of %d: %a, not %a", k, i, got[i], want[i]);
                else
                    cr_expect((isnan(got[i]) && isnan(want[i])) ||
                                  !memcmp(&got[i], &want[i], sizeof *got),
                              "function %d of %d: %a, not %a", k, i, got[i], want[i]);
            }
        }
        cr_expect(others > 0 || !has_fma());
    }
    close_scope();
}

static const pith_array *tanh_of(pith_scope *scope, const pith_array *a) {
    return pith_tanh(scope, a);
}
PITH_FUNCTION1(tanh_function, tanh_of, pith_array, pith_array)

/* So the root of 1 - tanh^2 is never NaN. */
Test(fast_math, tanh_is_at_most_one_and_reaches_it, .init = begin) {
    const pith_function *f =
        pith_jit(s, &tanh_function, &(pith_jit_options){.fast_math = true});
    double of[LENGTH], is[LENGTH];
    for (int i = 0; i < LENGTH; i++)
        of[i] = (i - LENGTH / 2) * (i % 5 ? 0.0431 : 2.5);
    for (int d = 0; d < 2; d++) {
        const double most = d ? 19.2 : 9.1;
        read_f64(pith_call(s, f,
                           PITH_ITEMS(pith_cast(s, vector(of), d ? PITH_F64 : PITH_F32))),
                 is);
        for (int i = 0; i < LENGTH; i++) {
            cr_expect(fabs(is[i]) <= 1, "tanh(%g) is %a", of[i], is[i]);
            cr_expect(fabs(of[i]) < most || is[i] == copysign(1, of[i]), "tanh(%g) is %a",
                      of[i], is[i]);
        }
    }
    close_scope();
}

/* ---- Loops ---- */

static const pith_array *
next_of(pith_scope *scope, const pith_array *i, const pith_array *now) {
    (void)i;
    return pith_sub(scope, pith_mul(scope, now, now), now);
}
PITH_FUNCTION2(next_function, next_of, pith_array, pith_array, pith_array)
static const pith_array *repeated(pith_scope *scope, const pith_array *a) {
    return pith_fori(scope, 0, 3, &next_function, a);
}
PITH_FUNCTION1(repeated_function, repeated, pith_array, pith_array)

Test(fast_math, bodies_of_loops_are_contracted_too, .init = begin) {
    static const char *const tiers[] = {"off", "wait"};
    double is[LENGTH];
    for (int t = 0; t < 2 && has_fma(); t++) {
        setenv("PITH_JIT", tiers[t], 1);
        const pith_array *r = pith_call(
            s, pith_jit(s, &repeated_function, &(pith_jit_options){.fast_math = true}),
            PITH_ITEMS(vector(x)));
        pt_ok(s, pith_read(s, r, is, sizeof is));
        for (int i = 0; i < LENGTH; i++) {
            double now = x[i];
            for (int k = 0; k < 3; k++)
                now = fma(now, now, -now);
            cr_assert(is[i] == now, "%s: %a, not %a", tiers[t], is[i], now);
        }
    }
    close_scope();
}
