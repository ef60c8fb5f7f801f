/* Formulas: the bits of the calls written out, eager, fused and traced; C's precedence;
 * numbers without dtype; texts of any depth. */
#include "array/expression_parts.h"
#include "expression_test.h"

enum { MANY = 40000 }; /* elements: fused */

static const char *text; /* of the step below */

static const pith_array *
formula(pith_scope *in, const pith_array *x, const pith_array *y, const pith_array *L) {
    return pith_expression(in, text, PITH_BIND({"x", x}, {"y", y}, {"L", L}));
}
PITH_FUNCTION3(formula_step, formula, pith_array, pith_array, pith_array, pith_array)

static const pith_array *
traced(const pith_array *x, const pith_array *y, const pith_array *L) {
    const void *given[] = {x, y, L};
    const pith_jit_options keep = {.keep_unused = true};
    const pith_array *made = pith_call(s, pith_jit(s, &formula_step, &keep), 3, given);
    pith_jit_clear(rt); /* `text` is no part of the key */
    return made;
}

/* ---- The calls written out ---- */

#define NUMBER(like, v) pith_like(s, (like), (v))

typedef const pith_array *(*written_out)(const pith_array *x,
                                         const pith_array *y,
                                         const pith_array *L);
#define CALLS(name, ...)                                                                 \
    static const pith_array *name(PT_UNUSED const pith_array *x,                         \
                                  PT_UNUSED const pith_array *y,                         \
                                  PT_UNUSED const pith_array *L) {                       \
        return __VA_ARGS__;                                                              \
    }
CALLS(wrap, pith_sub(s, x, pith_mul(s, L, pith_floor(s, pith_div(s, x, L)))))
CALLS(polynomial,
      pith_add(s,
               pith_mul(s, NUMBER(x, 3), pith_mul(s, x, x)),
               pith_sub(s, pith_mul(s, x, y), NUMBER(x, 7))))
CALLS(negated, pith_neg(s, pith_add(s, pith_neg(s, x), y)))
CALLS(chosen,
      pith_where(s, pith_less(s, x, y), x, pith_where(s, pith_greater(s, x, L), L, y)))
CALLS(bits,
      pith_bitwise_or(s,
                      pith_bitwise_and(s, x, y),
                      pith_bitwise_xor(s, pith_bitwise_not(s, x), NUMBER(x, 5))))
CALLS(shifts, pith_shift_right(s, pith_shift_left(s, x, NUMBER(x, 3)), y))
CALLS(logic,
      pith_logical_or(
          s,
          pith_logical_and(s, pith_less_equal(s, x, y), pith_not_equal(s, x, L)),
          pith_logical_not(s, pith_greater_equal(s, x, y))))
CALLS(rests, pith_add(s, pith_fmod(s, x, y), pith_remainder(s, x, y)))
CALLS(divided, pith_add(s, pith_floor_divide(s, x, y), pith_trunc_divide(s, x, y)))
CALLS(library,
      pith_maximum(s,
                   pith_exp(s, pith_neg(s, pith_square(s, x))),
                   pith_minimum(s, pith_atan2(s, x, y), pith_clip(s, x, y, L))))
CALLS(composed, pith_add(s, pith_nan_to_num(s, x), pith_logistic(s, y)))
CALLS(cast_down, pith_cast(s, pith_mul(s, x, NUMBER(x, 2)), PITH_I8))
CALLS(halves, pith_mul(s, pith_sqrt(s, pith_abs(s, x)), NUMBER(x, 0.1)))

enum { REALS = 1, WHOLES = 2, NUMBERS = 3 };
static const struct {
    const char *text;
    written_out calls;
    int of;
} formulas[] = {
    {"x - L * floor(x / L)", wrap, REALS},
    {"3 * (x * x) + (x*y - 7)", polynomial, NUMBERS},
    {"-(-x + y)", negated, NUMBERS},
    {"x < y ? x : x > L ? L : y", chosen, NUMBERS},
    {"x & y | ~x ^ 5", bits, WHOLES},
    {"x << 3 >> y", shifts, WHOLES},
    {"x <= y && x != L || !(x >= y)", logic, NUMBERS},
    {"x % y + remainder(x, y)", rests, NUMBERS},
    {"floor_divide(x, y) + trunc_divide(x, y)", divided, WHOLES},
    {"maximum(exp(-square(x)), minimum(atan2(x, y), clip(x, y, L)))", library, REALS},
    {"nan_to_num(x) + logistic(y)", composed, REALS},
    {"(i8)(x * 2)", cast_down, NUMBERS},
    {"sqrt(abs(x)) * 0.1", halves, REALS},
};

static void check_formulas(pith_dtype d, int64_t count) {
    const pith_array *x = values(d, count, 0), *y = values(d, count, 1);
    const pith_array *L = pith_like(s, x, 3);
    for (size_t i = 0; i < sizeof formulas / sizeof *formulas; i++) {
        if (!(formulas[i].of & (pith_dtype_is_float(d) ? REALS : WHOLES)))
            continue;
        text = formulas[i].text;
        const pith_array *want = formulas[i].calls(x, y, L);
        pt_ok(s, want);
        const pith_array *eager = formula(s, x, y, L), *again = formula(s, x, y, L);
        pt_ok(s, eager);
        cr_assert(same_bits(eager, want) && same_bits(again, want), "%s of %s", text,
                  pith_dtype_name(d));
        cr_assert(same_bits(traced(x, y, L), want), "%s of %s, traced", text,
                  pith_dtype_name(d));
    }
}

Test(expression, gives_the_bits_of_the_calls, .timeout = 300) {
    setenv("PITH_JIT", "off", 1);
    open_scope();
    for (pith_dtype d = PITH_I8; d < PITH_DTYPE_COUNT; d++) {
        check_formulas(d, FEW);
        check_formulas(d, MANY);
    }
    close_scope();
}

Test(expression, gives_the_same_bits_compiled, .timeout = 300) {
    setenv("PITH_JIT", "wait", 1);
    open_scope();
    check_formulas(PITH_F32, MANY);
    close_scope();
}

Test(expression, runs_without_fusion_too) {
    setenv("PITH_JIT", "eager", 1);
    open_scope();
    check_formulas(PITH_F64, MANY);
    check_formulas(PITH_I16, MANY);
    close_scope();
    setenv("PITH_JIT", "off", 1);
    setenv("PITH_HOST_ASYNC", "1", 1);
    open_scope();
    check_formulas(PITH_F64, MANY);
    close_scope();
}

typedef struct function {
    const char *text;
    pithp_operand_rule rule;
    const pith_array *(*one)(pith_scope *, const pith_array *);
    const pith_array *(*two)(pith_scope *, const pith_array *, const pith_array *);
} function;

static void check_function(const function *f, pith_dtype dtype) {
    const pith_array *x = values(dtype, FEW, 0), *y = values(dtype, FEW, 2);
    const pith_array *want = f->one ? f->one(s, x) : f->two(s, x, y);
    text = f->text;
    pt_ok(s, want);
    cr_assert(same_bits(formula(s, x, y, x), want), "%s: %s", text, pith_message(s));
}

/* Every function by its name gives what the call gives. */
Test(expression, has_the_functions_of_the_library) {
    open_scope();
#define PITHP_UNARY(name, PRIMITIVE, rule)                                               \
    {#name "(x)", PITHP_OPERANDS_##rule, (pith_##name), NULL},
#define PITHP_BINARY(name, PRIMITIVE, rule)                                              \
    {#name "(x, y)", PITHP_OPERANDS_##rule, NULL, (pith_##name)},
    static const function functions[] = {
#include "array/elementwise.def"
        {"div(x, y)", PITHP_OPERANDS_REAL, NULL, (pith_div)},
        {"nan_to_num(x)", PITHP_OPERANDS_REAL, pith_nan_to_num, NULL},
        {"trunc_divide(x, y)", PITHP_OPERANDS_WHOLE, NULL, (pith_trunc_divide)},
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        const function *f = &functions[i];
        const bool integers =
            f->rule == PITHP_OPERANDS_WHOLE || f->rule == PITHP_OPERANDS_SHIFT;
        if (!integers)
            check_function(f, PITH_F32);
        if (integers || f->rule == PITHP_OPERANDS_JOINED)
            check_function(f, PITH_I16);
    }
    const pith_array *x = values(PITH_I16, FEW, 0);
    cr_assert(
        same_bits(pith_expression(s, "ldexp(v, n)",
                                  PITH_BIND({"v", values(PITH_F16, FEW, 0)}, {"n", x})),
                  pith_ldexp(s, values(PITH_F16, FEW, 0), x)));
    cr_assert(same_bits(pith_expression(s, "fabs(v) + rint(v) - nearbyint(v)",
                                        PITH_BIND({"v", values(PITH_F64, FEW, 0)})),
                        pith_sub(s,
                                 pith_add(s, pith_abs(s, values(PITH_F64, FEW, 0)),
                                          pith_round(s, values(PITH_F64, FEW, 0))),
                                 pith_round(s, values(PITH_F64, FEW, 0)))));
    close_scope();
}

Test(expression, broadcasts_and_promotes) {
    open_scope();
    const pith_array *column = pith_iota(s, PITH_F32, PITH_SHAPE(3, 1), 0);
    const pith_array *row = pith_iota(s, PITH_F64, PITH_SHAPE(4), 0);
    const pith_array *made =
        pith_expression(s, "c * 10 + r", PITH_BIND({"c", column}, {"r", row}));
    pt_ok(s, made);
    cr_assert(
        same_bits(made, pith_add(s, pith_mul(s, column, pith_like(s, column, 10)), row)));
    cr_assert(pith_array_spec(made)->dtype == PITH_F64 &&
              pith_array_spec(made)->rank == 2);
    const pith_array *wide = pith_iota(s, PITH_F32, PITH_SHAPE(200, 300), 1);
    made = pith_expression(s, "w * w - r",
                           PITH_BIND({"w", wide}, {"r", pith_arange(s, PITH_F32, 300)}));
    cr_assert(same_bits(
        made, pith_sub(s, pith_mul(s, wide, wide), pith_arange(s, PITH_F32, 300))));
    const pith_array *none = pith_zeros(s, PITH_F32, PITH_SHAPE(0, 3));
    cr_assert(
        pith_array_spec(pith_expression(s, "2 * e", PITH_BIND({"e", none})))->count == 0);
    cr_assert(
        same_bits(pith_expression(s, "e", PITH_BIND({"e", row}, {"unused", none})), row));
    close_scope();
}

/* ---- Numbers ---- */

static pith_dtype dtype_of(const char *of, const pith_array *x) {
    const pith_array *made =
        x ? pith_expression(s, of, PITH_BIND({"x", x})) : pith_expression(s, of, NULL);
    pt_ok(s, made);
    return pith_array_spec(made)->dtype;
}

static double value_of(const char *of) {
    const pith_array *made = pith_expression(s, of, NULL);
    pt_ok(s, made);
    return pith_read_f64(s, pith_cast(s, made, PITH_F64));
}

Test(expression, gives_numbers_the_dtype_beside_them) {
    open_scope();
    for (pith_dtype d = PITH_I8; d < PITH_DTYPE_COUNT; d++) {
        const pith_array *x = values(d, FEW, 0);
        cr_assert(dtype_of("2 * x + 1", x) == d);
        cr_assert(dtype_of("x > 1 ? x : 0", x) == d);
        cr_assert(dtype_of("x + (x > 1 ? 1 : 0) * 2", x) == d);
        cr_assert(dtype_of("+x * (3 + 4 * 5)", x) == d);
        cr_assert(dtype_of("maximum(0, x)", x) == d);
        cr_assert(dtype_of("x > 2", x) == PITH_BOOL);
        if (pith_dtype_is_float(d)) {
            cr_assert(dtype_of("0.1 * x / 3 - 1e-2", x) == d);
            cr_assert(dtype_of("x > 1 ? 0.5 : 2", x) == PITH_F64);
            cr_assert(dtype_of("(x > 1 ? 0.5 : 2) * x", x) == d);
        }
    }
    const pith_array *x = values(PITH_F32, FEW, 0);
    cr_assert(dtype_of("x * 2.0f", x) == PITH_F32);
    cr_assert(dtype_of("x * (f64)2", x) == PITH_F64);
    cr_assert(dtype_of("x * f64(2)", x) == PITH_F64);
    cr_assert(dtype_of("0.1f * x", values(PITH_F16, FEW, 0)) == PITH_F32);
    cr_assert(dtype_of("1", NULL) == PITH_I64 && dtype_of("1.", NULL) == PITH_F64);
    cr_assert(dtype_of("3u", NULL) == PITH_U32 && dtype_of("3ull", NULL) == PITH_U64);
    cr_assert(dtype_of("3l", NULL) == PITH_I64 && dtype_of(".5f", NULL) == PITH_F32);
    cr_assert(dtype_of("1 < 2", NULL) == PITH_BOOL);
    cr_assert(value_of("1 / 2") == 0.5 && value_of("7 % 4") == 3);
    cr_assert(value_of("2 * 3 + 0x10 - 1e1 + 0x1p-2") == 12.25);
    cr_assert(value_of("sqrt(2)") == sqrt(2) && value_of("pow(2, 0.5)") == pow(2, 0.5));
    cr_assert(value_of("1 < 2 ? 10 : 20") == 10 && value_of("!3 || 0.5") == 1);
    cr_assert(value_of("0xffffffffffffffff > 5") == 1);
    cr_assert(value_of("(i8)200.0") == 127 && value_of("(i8)200") == -56 &&
              value_of("(u8)-1.5") == 0);
    cr_assert(value_of("trunc_divide(7, 0)") == 0);
    close_scope();
}

/* What i64 cannot hold does not wrap. */
Test(expression, computes_numbers_alone_exactly) {
    open_scope();
    cr_assert(value_of("-9223372036854775808 * 1.0") == -0x1p63);
    cr_assert(value_of("9223372036854775807 + 1") == 0x1p63);
    cr_assert(value_of("18446744073709551615 - 18446744073709551614") == 1);
    cr_assert(dtype_of("18446744073709551615 + -1", NULL) == PITH_U64);
    cr_assert(dtype_of("18446744073709551615 - 18446744073709551614", NULL) == PITH_I64);
    cr_assert(dtype_of("-9223372036854775808", NULL) == PITH_I64);
    cr_assert(value_of("abs(-9223372036854775807 - 1)") == 0x1p63);
    cr_assert(value_of("(1 << 63) + 0.0") == 0x1p63 && value_of("1 << -1") == 0);
    cr_assert(value_of("pow(2, 63)") == 0x1p63 && value_of("pow(-1, 4294967297)") == -1);
    cr_assert(value_of("pow(-2, 63)") == -0x1p63 && value_of("pow(0, 0)") == 1);
    const pith_array *small = pith_full(s, PITH_U8, PITH_SHAPE(1), 7);
    const pith_array *made = pith_expression(
        s, "x + abs(minimum((x > 1 ? -100 : 2) * -2, 240))", PITH_BIND({"x", small}));
    pt_ok(s, made);
    cr_assert(pith_array_spec(made)->dtype == PITH_U8 && pith_read_i64(s, made) == 207);
    close_scope();
}

/* ---- Hostile texts ---- */

/* What a compiler would have run. */
Test(expression, runs_no_code) {
    open_scope();
    const pith_array *x = pith_f64(s, 1);
    static const char *const hostile[] = {
        "x; x",
        "x } {",
        "system(\"id\")",
        "<: x :>",
        "%: x",
        "?\?= x",
        "to[100000000]=1",
        "__builtin_trap()",
        "__builtin_ia32_rdtsc()",
        "x /* */",
        "x // y",
        "#include <x>",
        "({ x; })",
        "sizeof(x)",
        "&x",
        "*x",
        "x->y",
        "(char)x",
        "(void)x",
        "(int*)x",
        "asm(\"nop\")",
        "x ? : x",
        "f(x)(x)",
        "x\\",
        "'x'",
        "@",
        "`x`",
        "$x",
        "...",
        "x...",
        "_Generic(x, int: 1)",
        "1 ? 2 : 3 = x",
        "p[0]",
        "a",
        "at[0]",
        "i",
        "0x1p",
        "1e+",
        "(f32)",
        "(f32",
        "f32",
        "((x)",
        "())",
        "x ?",
        "? x",
        ":",
        ",",
        "sin(,)",
        "sin(x,)",
        "1'000",
        "0b101",
        "1__0",
        "x\x01",
        "\x7f",
        "\xff\xfe",
        "1uu",
        "1lul",
        "1lll",
        "1fl",
    };
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        cr_assert(!pith_expression(s, hostile[i], PITH_BIND({"x", x})) &&
                      pith_code(s) == PITH_E_ARG,
                  "%s: %s", hostile[i], pith_message(s));
        cr_assert(strchr(pith_message(s), '^'), "%s", pith_message(s));
        pith_clear(s);
    }
    char digits[20001];
    memset(digits, '9', 20000), digits[20000] = 0;
    pt_fails(PITH_E_ARG, s, pith_expression(s, digits, NULL));
    memcpy(digits, "0.", 2);
    pt_ok(s, pith_expression(s, digits, NULL)); /* it is 1, or nearly */
    close_scope();
}

/* ---- Size ---- */

/* `count` times `piece` between a head and a tail; freed by the caller. */
static char *repeat(const char *head,
                    const char *piece,
                    int count,
                    const char *tail,
                    const char *piece_after) {
    const size_t n = strlen(piece), m = strlen(piece_after), h = strlen(head),
                 t = strlen(tail);
    char *made = malloc(h + t + (size_t)count * (n + m) + 1), *at = made;
    at = (char *)memcpy(at, head, h) + h;
    for (int i = 0; i < count; i++)
        at = (char *)memcpy(at, piece, n) + n;
    at = (char *)memcpy(at, tail, t) + t;
    for (int i = 0; i < count; i++)
        at = (char *)memcpy(at, piece_after, m) + m;
    *at = 0;
    return made;
}

Test(expression, reads_texts_of_any_depth, .timeout = 300) {
    setenv("PITH_JIT", "off", 1);
    open_scope();
    const pith_array *x = pith_f64(s, 1);
    static const struct {
        const char *head, *piece, *tail, *after;
        int count;
        double value;
    } all[] = {
        {"x", "+x", "", "", 60000, 60001},   {"", "(", "x", ")", 100000, 1},
        {"", "- ", "x", "", 60000, 1},       {"", "abs(", "x", ")", 20000, 1},
        {"", "x+(", "x", ")", 20000, 20001}, {"", "x<0?x:", "x", "", 20000, 1},
        {"", "x>0?", "x", ":0", 20000, 1},   {"", "(f32)", "x", "", 20000, 1},
        {"1", "+1", "", "", 60000, 60001},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char *of =
            repeat(all[i].head, all[i].piece, all[i].count, all[i].tail, all[i].after);
        pith_scope *inner = pith_scope_open_in(s);
        const pith_array *made = pith_expression(inner, of, PITH_BIND({"x", x}));
        pt_ok(inner, made);
        cr_assert(pith_read_f64(inner, pith_cast(inner, made, PITH_F64)) == all[i].value);
        pith_scope_close(inner);
        free(of);
    }
    char *open = repeat("", "(", 100000, "x", "");
    pt_fails(PITH_E_ARG, s, pith_expression(s, open, PITH_BIND({"x", x})));
    pt_says("expected \")\"");
    free(open);
    char *chain = repeat("x", "+y", 60000, "", "");
    text = chain;
    const pith_array *made = traced(x, x, x);
    pt_ok(s, made);
    cr_assert(pith_read_f64(s, made) == 60001);
    free(chain);
    char *huge = malloc((17 << 20) + 1);
    memset(huge, ' ', 17 << 20), huge[17 << 20] = 0;
    pt_fails(PITH_E_ARG, s, pith_expression(s, huge, NULL));
    pt_says("longer than");
    free(huge);
    close_scope();
}

/* Texts that were read lately are not read again: but only for the same text, names and
 * rules. */
Test(expression, knows_texts_by_what_they_say) {
    open_scope();
    char own[] = "x - y";
    const pith_array *two = pith_f64(s, 2), *five = pith_f64(s, 5);
    for (int k = 0; k < 3; k++) {
        strcpy(own, "x - y");
        cr_assert_eq(
            pith_read_f64(s, pith_expression(s, own, PITH_BIND({"x", five}, {"y", two}))),
            3);
        cr_assert_eq(
            pith_read_f64(s, pith_expression(s, own, PITH_BIND({"y", five}, {"x", two}))),
            -3);
        own[2] = '*';
        cr_assert_eq(
            pith_read_f64(s, pith_expression(s, own, PITH_BIND({"y", five}, {"x", two}))),
            10);
        pt_fails(PITH_E_ARG, s, pith_expression(s, own, PITH_BIND({"x", five})));
        pt_says("no array is called y");
        /* numbers have C's types in trees, where 1 / 2 is 0 */
        const pith_array *halves[] = {
            pith_expression(s, "a + 1 / 2", PITH_BIND({"a", two})),
            pith_tree_map_expression(s, "a + 1 / 2", PITH_ITEMS(two), 0, NULL)};
        cr_assert_eq(pith_read_f64(s, halves[0]), 2.5);
        cr_assert_eq(pith_read_f64(s, halves[1]), 2);
        pt_fails(
            PITH_E_DTYPE, s,
            pith_expression(s, "x / y",
                            PITH_BIND({"x", pith_i32(s, k)}, {"y", pith_i32(s, 2)})));
        pt_says("\n    x / y\n      ^");
        cr_assert_eq(
            pith_read_f64(
                s, pith_expression(s, "x / y", PITH_BIND({"x", five}, {"y", two}))),
            2.5);
    }
    const double one = 1;
    pt_ok(s, pith_tree_map_expression(s, "a + p[0]", PITH_ITEMS(two), 1, &one));
    pt_fails(PITH_E_ARG, s,
             pith_tree_map_expression(s, "a + p[0]", PITH_ITEMS(two), 0, NULL));
    close_scope();
}

Test(expression, survives_failing_allocations, .timeout = 300) {
    static const char lengthy[] =
        "3 * x - x / x + x + x + x + x + x + x + x + x + x - "
        "(x - (x - (x - (x - (x - (x - (x - (x - (x - x)))))))))";
    setenv("PITH_JIT", "off", 1);
    pt_heap heap = {0};
    const pith_allocator allocator = pt_allocator(&heap);
    rt = pith_open(
        &(pith_open_options){.device = "host", .threads = 1, .allocator = &allocator});
    bool failed = true;
    for (long long n = 1; failed && n < 2000; n++) {
        s = pith_scope_open(rt);
        const pith_array *x = pith_arange(s, PITH_F64, n % 2 ? 20000 : 20), *made = NULL;
        if (!pith_failed(s)) {
            atomic_store(&heap.fail_at, atomic_load(&heap.allocations) + n);
            made = pith_expression(s, n % 4 < 2 ? "2 * x + x * (x - 1)" : lengthy,
                                   PITH_BIND({"x", x}));
            atomic_store(&heap.fail_at, 0);
            cr_assert(!made == pith_failed(s));
        }
        failed = pith_failed(s) || n < 60;
        cr_assert(!pith_failed(s) || pith_code(s) == PITH_E_MEMORY, "%s",
                  pith_message(s));
        pith_clear(s);
        pith_scope_close(s);
    }
    cr_assert(!failed);
    pith_close(rt);
    pt_no_leak(&heap);
}
