/* Expressions over trees have C's precedence and types, as the compiler of this test has
 * them, and the arithmetic of the operations on arrays where C leaves it open. */
#include "scope_test.h"

enum { COUNT = 64 };

static void holds(const pith_array *a, int64_t count, const double *values) {
    double got[COUNT];
    cr_assert(a && pith_array_spec(a)->count == count, "%s", pith_message(s));
    const pith_array *wide = pith_cast(s, a, PITH_F64);
    cr_assert(pith_read(s, wide, got, (size_t)count * 8), "%s", pith_message(s));
    for (int64_t i = 0; i < count; i++)
        cr_assert(got[i] == values[i], "element %lld: %.17g, expected %.17g",
                  (long long)i, got[i], values[i]);
}
#define HOLDS(a, ...)                                                                    \
    holds((a), sizeof((double[]){__VA_ARGS__}) / 8, (double[]){__VA_ARGS__})

/* ---- As C has it ---- */

typedef int8_t i8;
typedef uint16_t u16;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#ifndef __clang__
#    pragma GCC diagnostic ignored "-Wbool-compare"
#endif
#define EXPRESSIONS(X)                                                                   \
    X(1, b + c * d - b / c % d)                                                          \
    X(2, b - c - d + b * c / d * b)                                                      \
    X(3, b << c + d >> b - -1)                                                           \
    X(4, b < c == c<d != b> d)                                                           \
    X(5, b &c == d | b ^ c & d)                                                          \
    X(6, b | c ^ d & b << 1)                                                             \
    X(7, b &&c - 2 || d && !b || c > d)                                                  \
    X(8, b > 2 ? c : d > 2 ? b : c + 1)                                                  \
    X(9, b > 1 ? c > 1 ? 10 : 20 : d > 1 ? 30 : 40)                                      \
    X(10, -b * -c - ~d + !b)                                                             \
    X(11, - -b + +c - ~-d)                                                               \
    X(12, (i8)(b * 100) + (u16)(c - 9))                                                  \
    X(13, (double)b / c * 3 - 0.5 * d)                                                   \
    X(14, b - 4 < 3u)                                                                    \
    X(15, b == c == d ? b <= c <= d : b >= c >= d)                                       \
    X(16, b * 1.5f + c > d ? b | c : b % c)                                              \
    X(17, 7 - 4 - 2 - b * (c - (d - (b - c))))                                           \
    X(18, 0x7fffffff + 1u > b & 4000000000 - c > 0)                                      \
    X(19, -1 >> b == -1 && 1 << b != 1)
#define FUNCTION(number, ...)                                                            \
    static double value_##number(int b, int c, int d) {                                  \
        (void)b, (void)c, (void)d;                                                       \
        return (double)(__VA_ARGS__);                                                    \
    }
#define ENTRY(number, ...) {#__VA_ARGS__, value_##number},
EXPRESSIONS(FUNCTION)
#pragma GCC diagnostic pop
static const struct {
    const char *text;
    double (*value)(int b, int c, int d);
} expressions[] = {EXPRESSIONS(ENTRY)};

Test(expression_types, are_those_of_c) {
    open_scope();
    static const int32_t numbers[] = {1, 2, 3, 7};
    int32_t x[3][COUNT];
    const void *trees[4] = {pith_zeros(s, PITH_F64, PITH_SHAPE(COUNT))};
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < COUNT; i++)
            x[k][i] = numbers[i >> 2 * k & 3];
        trees[k + 1] = pith_array_copy(s, PITH_I32, PITH_SHAPE(COUNT), x[k]);
    }
    for (size_t e = 0; e < sizeof expressions / sizeof *expressions; e++) {
        double want[COUNT];
        for (int i = 0; i < COUNT; i++)
            want[i] = expressions[e].value(x[0][i], x[1][i], x[2][i]);
        const char *const text = expressions[e].text;
        const pith_array *made = pith_tree_map_expression(s, text, 4, trees, 0, NULL);
        pt_ok(s, made);
        holds(made, COUNT, want);
    }
    close_scope();
}

/* ---- Where C leaves it open ---- */

static const pith_array *map_one(const char *text, const pith_array *a) {
    return pith_tree_map_expression(s, text, PITH_ITEMS(a), 0, NULL);
}

/* The arithmetic of the table, also where C leaves it open. */
Test(expression_types, has_the_arithmetic_of_the_table) {
    open_scope();
    const pith_array *i =
        pith_array_copy(s, PITH_I32, PITH_SHAPE(3), (int32_t[]){INT32_MAX, 5, INT32_MIN});
    const pith_array *d =
        pith_array_copy(s, PITH_F64, PITH_SHAPE(4), (double[]){3e9, 200, -1, NAN});
    const pith_array *u =
        pith_array_copy(s, PITH_I32, PITH_SHAPE(3), (int32_t[]){1, -5, 0});
    HOLDS(map_one("a + 1 > a", i), 0, 1, 1);
    HOLDS(map_one("(int)a", d), INT32_MAX, 200, -1, 0);
    HOLDS(map_one("(i8)a", d), 127, 127, -1, 0);
    HOLDS(map_one("(u32)a", d), 3e9, 200, 0, 0);
    HOLDS(map_one("(i8)200.0 + (a != a)", d), 127, 127, 127, 128);
    HOLDS(map_one("(i8)200", d), -56, -56, -56, -56); /* integers wrap */
    HOLDS(map_one("1 << (a + 32)", u), 0, 1 << 27, 0);
    HOLDS(map_one("-7 >> (a + 40)", u), -1, -1, -1);
    HOLDS(map_one("1 << (a + 4294967296)", u), 0, 0, 0);
    HOLDS(map_one("a / 0", i), 0, 0, 0);
    HOLDS(map_one("a / -1", i), -INT32_MAX, -5, INT32_MIN);
    HOLDS(map_one("7 / a - 7 % a", u), 7, 1 - 2 - 2, 0 - 0);
    HOLDS(map_one("(a / 2) * 2.0", i), INT32_MAX - 1, 4, INT32_MIN);
    close_scope();
}
