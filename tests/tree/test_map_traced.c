/* Expressions over traced leaves: recorded as primitives, they give the bits that they
 * give at once. */
#include "comma_test.h"
#include "scope_test.h"

#include <float.h>
#include <math.h>

enum { COUNT = 24 };

static const char *expression; /* of the step below */

static const void *mapped(pith_scope *in, const void *a, const void *b) {
    static const double p[] = {0.1, -3};
    const void *trees[] = {a, b};
    return pith_tree_map_expression(in, expression, 2, trees, 2, p);
}
PITH_FUNCTION2(mapped_step, mapped, void, void, void)

/* Edge cases and ordinary numbers; integers are cut to size by the cast. */
static const pith_array *values(pith_dtype dtype, int from) {
    static const double reals[] = {0,       -0.0,    1,      -1,  2,     3,  0.5,  -0.25,
                                   7.75,    1e-3,    -2.5,   100, 127,   31, 1e10, -1e10,
                                   DBL_MAX, FLT_MAX, 1e-310, -17, 1e-40, 64, 11,   5};
    double x[COUNT];
    const bool real = pith_dtype_is_float(dtype);
    for (int i = 0; i < COUNT; i++) {
        x[i] = reals[(i * (1 + from) + from) % COUNT];
        if (!real)
            x[i] = dtype == PITH_BOOL ? i % 2 : fmod(trunc(x[i]), 120);
        if (!real && dtype >= PITH_U8 && x[i] < 0)
            x[i] = -x[i];
    }
    if (real) {
        x[3] = INFINITY;
        x[9 + from] = NAN;
        x[17] = -INFINITY;
    }
    const pith_array *all = pith_array_copy(s, PITH_F64, PITH_SHAPE(4, COUNT / 4), x);
    return pith_cast(s, all, dtype);
}

/* Bits, but those of NaN: which operand of a sum a NaN comes from is the compiler's. */
static bool same_bits(const pith_array *a, const pith_array *b) {
    const pith_spec *spec = pith_array_spec(a);
    if (spec != pith_array_spec(b))
        return false;
    if (!pith_dtype_is_float(spec->dtype))
        return pith_tree_equal(s, a, b);
    double x[COUNT], y[COUNT];
    if (!pith_read(s, pith_cast(s, a, PITH_F64), x, sizeof x) ||
        !pith_read(s, pith_cast(s, b, PITH_F64), y, sizeof y))
        return false;
    for (int i = 0; i < COUNT; i++)
        if (!(x[i] == y[i] && signbit(x[i]) == signbit(y[i])) &&
            !(isnan(x[i]) && isnan(y[i])))
            return false;
    return true;
}

static const char *name_at(const void *tree, int64_t i) {
    return pith_dtype_name(pith_array_spec(pith_child(tree, i))->dtype);
}

static void same(const char *text, const void *a, const void *b) {
    expression = text;
    const void *given[] = {a, b};
    const void *want = mapped(s, a, b);
    pt_ok(s, want);
    const void *got = pith_call(
        s, pith_jit(s, &mapped_step, &(pith_jit_options){.keep_unused = true}), 2, given);
    pt_ok(s, got);
    for (int64_t i = 0; i < pith_child_count(want); i++)
        cr_assert(same_bits(pith_child(want, i), pith_child(got, i)), "%s of %s, %s",
                  text, name_at(a, i), name_at(b, i));
    pith_jit_clear(rt); /* `expression` is no part of the key */
}

/* One leaf a dtype of a kind, in that place or rotated against it. */
static const void *leaves(bool integers, bool reals, int from, int turn) {
    pith_dtype dtypes[PITH_DTYPE_COUNT];
    const void *made[PITH_DTYPE_COUNT];
    int count = 0;
    for (pith_dtype d = PITH_BOOL; d < PITH_DTYPE_COUNT; d++)
        if (pith_dtype_is_float(d) ? reals : integers)
            dtypes[count++] = d;
    for (int i = 0; i < count; i++)
        made[i] = values(dtypes[(i + turn) % count], from);
    return pith_list_make(s, count, made);
}

/* ---- Every operator ---- */

static const char *const of_all[] = {
    "a",
    "+a",
    "-a",
    "!a",
    "a + b",
    "a - b * a",
    "(a - b) * a",
    "a < b",
    "(a <= b) + (a >= b) * 2 + (a == b) * 4 + (a != b) * 8 + (a > b) * 16",
    "a && b",
    "a || !b",
    "a > b ? a : b",
    "a < 0 ? -a : a > 50 ? 50 : a",
    "a * p[0] + p[1]",
    "a * 0.999f + 0.001f",
    "a * .5 + 1e1 - 0x10 + 0x1p-2",
    "sqrt(fabs(a)) + pow(fabs(a), 0.25f)",
    "fmin(a, b) - fmax(a, 1)",
    "exp(-fabs(a)) * sin(b) + atan2(a, 2)",
    "copysign(a, b) + fmod(b, 3) + hypot(a, 4)",
    "floor(a) + ceil(b) * trunc(a) - rint(b) + nearbyint(a)",
    "(float)a * 2",
    "(int)(float)(a > 1) + 3u",
    "3000000000 - 1",
    "2147483647 > 0xffffffff",
    "1",
};
static const char *const of_integers[] = {
    "a & b",           "a | b ^ a",       "~a",
    "a << 2",          "a >> (b & 3)",    "quotient(a, b) + rest(a, 7)",
    "a * b * 1000003", "a - 200",         "a * 5000000000",
    "a < 100u",        "-1 < a",          "(i8)a + (u16)b",
    "1 << 4 | 3",      "a / b",           "100 / (a - 1) % (b / 2)",
    "a << b * 5",      "a >> 5000000000",
};
static const char *const of_reals[] = {
    "a / b", "1 / 2 + a", "7 % 4 * a", "a / 3", "1 / (1 + exp(-a))",
};

static void
all_same(const char *const *texts, size_t count, bool integers, bool reals, int turn) {
    const void *a = leaves(integers, reals, 0, 0), *b = leaves(integers, reals, 1, turn);
    for (size_t i = 0; i < count; i++)
        same(texts[i], a, b);
}
#define ALL_SAME(texts, ...) all_same(texts, sizeof(texts) / sizeof *(texts), __VA_ARGS__)

Test(map_traced, over_every_dtype) {
    setenv("PITH_JIT", "off", 1);
    open_scope();
    ALL_SAME(of_all, true, true, 0);
    ALL_SAME(of_integers, true, false, 0);
    ALL_SAME(of_reals, false, true, 0);
    close_scope();
}

Test(map_traced, over_trees_of_two_dtypes) {
    setenv("PITH_JIT", "off", 1);
    open_scope();
    static const char *const texts[] = {
        "a + b",    "a < b ? a : b", "b * 2 - a", "fmax(b, a) + pow(fabs(a), fabs(b))",
        "p[0] * b", "a == b",        "!b + a"};
    for (int turn = 1; turn < PITH_DTYPE_COUNT - 1; turn += 5)
        ALL_SAME(texts, true, true, turn);
    ALL_SAME(of_integers, true, false, 4);
    close_scope();
}

Test(map_traced, has_points_in_its_numbers_in_every_locale) {
    if (!pt_use_comma())
        cr_skip("localedef made no locale");
    setenv("PITH_JIT", "off", 1);
    open_scope();
    const void *tree = pith_list_make(s, PITH_ITEMS(values(PITH_F64, 0)));
    same("0.5 * a + fmin(1,5e0) + 0.25f * b", tree, tree);
    cr_assert_eq(localeconv()->decimal_point[0], ',');
    close_scope();
}

/* ---- What is refused ---- */

static void refused(const char *text, const void *a, const void *b, pith_status code) {
    expression = text;
    const void *given[] = {a, b};
    pt_fails(code, s, pith_call(s, pith_jit(s, &mapped_step, NULL), 2, given));
    pith_jit_clear(rt);
}

Test(map_traced, refuses_what_has_no_value_or_effects) {
    open_scope();
    const void *x =
        pith_list_make(s, PITH_ITEMS(values(PITH_F64, 0), values(PITH_F32, 0)));
    static const char *const bad[] = {
        "a = 3",   "a += 1",    "a, b",    "unknown(a)", "a b",
        "a +",     "? a",       "sqrt a",  "pow(a)",     "a ? b",
        "1x",      "sizeof(a)", "(char)a", "&a",         "*a",
        "a++ + 1", "--a - 1",   "p[0",     "a[0]",       "99999999999999999999",
        "f(a)",    "a.b",       "a -> b"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        refused(bad[i], x, x, PITH_E_ARG);
        pt_says("^");
    }
    refused("a == = 3", x, x, PITH_E_ARG);
    refused("a & 1", x, x, PITH_E_DTYPE);
    pt_says("expected integers, got f64");
    cr_assert_str_eq(pt_error.path, "[0]");
    pt_says("\n    a & 1\n      ^");
    refused("a % 2", x, x, PITH_E_DTYPE);
    const void *other = pith_list_make(
        s, PITH_ITEMS(values(PITH_F64, 0), pith_zeros(s, PITH_F64, PITH_SHAPE(7))));
    refused("a + b", x, other, PITH_E_SHAPE);
    cr_assert_str_eq(pt_error.path, "[1]");
    refused("a + b", x, pith_list_make(s, PITH_ITEMS(x)), PITH_E_STRUCTURE);
    close_scope();
}
