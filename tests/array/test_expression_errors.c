/* Errors of formulas: the text with a caret, what was expected, and which names there
 * are. */
#include "expression_test.h"

/* The caret stands below a column of the text. */
static void refused(const char *of,
                    const pith_array *x,
                    pith_status code,
                    const char *why,
                    int column) {
    char want[512];
    pt_fails(code, s, pith_expression(s, of, PITH_BIND({"x", x}, {"box", x})));
    pt_says(why);
    pt_says("pith_expression: ");
    snprintf(want, sizeof want, "\n    %s\n    %*s^", of, column, "");
    const char *tail = strchr(pt_error.message, '\n');
    cr_assert(tail && strcmp(tail, want) == 0, "%s: expected%s", pt_error.message, want);
}

Test(expression_errors, points_into_the_text) {
    open_scope();
    const pith_array *x = values(PITH_F32, FEW, 0), *n = values(PITH_I32, FEW, 0);
    refused("x - L * floor(x)", x, PITH_E_ARG, "no array is called L; there are x, box",
            4);
    refused("x - flor(x)", x, PITH_E_ARG, "no function is called flor; there are floor",
            4);
    refused("min(x, 1)", x, PITH_E_ARG, "there are fmin, minimum", 0);
    refused("frobnicate(x)", x, PITH_E_ARG, "no function is called frobnicate", 0);
    refused("sin + x", x, PITH_E_ARG, "sin is a function: expected sin(...)", 0);
    refused("2 * sin(x, x)", x, PITH_E_ARG, "sin takes 1 argument, got more than 1", 4);
    refused("2 * pow(x)", x, PITH_E_ARG, "pow takes 2 arguments, got 1", 4);
    refused("sin()", x, PITH_E_ARG, "expected a value, got \")\"", 4);
    refused("x +", x, PITH_E_ARG, "expected a value, got the end", 3);
    refused("", x, PITH_E_ARG, "expected a value, got the end", 0);
    refused("(x + 1", x, PITH_E_ARG, "expected \")\", got the end: the \"(\" of column 1",
            6);
    refused("x + 1)", x, PITH_E_ARG, "expected an operator, got \")\"", 5);
    refused("x ? 1", x, PITH_E_ARG, "expected \":\", got the end", 5);
    refused("(x ? 1)", x, PITH_E_ARG, "expected \":\"", 6);
    refused("x : 1", x, PITH_E_ARG, "a colon without", 2);
    refused("x x", x, PITH_E_ARG, "expected an operator, got \"x\"", 2);
    refused("x = 1", x, PITH_E_ARG, "compares with ==", 2);
    refused("x += 1", x, PITH_E_ARG, "assigns nothing", 2);
    refused("x ** 2", x, PITH_E_ARG, "powers are pow(x, y)", 2);
    refused("x // 2", x, PITH_E_ARG, "floor_divide", 2);
    refused("x--x", x, PITH_E_ARG, "separate two signs by a space", 1);
    refused("x[0]", x, PITH_E_ARG, "no indices", 1);
    refused("x, x", x, PITH_E_ARG, "a comma separates arguments", 1);
    refused("x.y", x, PITH_E_ARG, "expected an operator", 1);
    refused("1x", x, PITH_E_ARG, "expected an operator after the number", 1);
    refused("0x", x, PITH_E_ARG, "after the number", 1);
    refused("1.2.3", x, PITH_E_ARG, "after the number", 3);
    refused("x + 010", x, PITH_E_ARG, "octal", 4);
    refused("99999999999999999999 * x", x, PITH_E_ARG, "does not fit 64 bits", 0);
    refused("x * 1e999", x, PITH_E_ARG, "too large", 4);
    refused("x + -18446744073709551615", x, PITH_E_DTYPE, "more than 64 bits", 4);
    refused("3 - 18446744073709551615", x, PITH_E_DTYPE, "more than 64 bits", 2);
    refused("4294967296 * 4294967296", x, PITH_E_DTYPE, "more than 64 bits", 11);
    refused("x + pow(2, 64)", x, PITH_E_DTYPE, "more than 64 bits", 4);
    refused("x + square(4294967296)", x, PITH_E_DTYPE, "more than 64 bits", 4);
    refused("x * (1 << 64)", x, PITH_E_DTYPE, "more than 64 bits", 7);
    refused("(x > 1 ? 1 : 4) * 9223372036854775807", x, PITH_E_DTYPE, "more than 64 bits",
            16);
    refused("(x > 1 ? 1 : 2) * 9223372036854775807", x, PITH_E_DTYPE, "cast one", 16);
    refused("x & 1", x, PITH_E_DTYPE, "expected integers or bool, got f32", 2);
    refused("x < 1 < x", x, PITH_E_DTYPE, "bool and f32 have no common dtype", 6);
    refused("n + x", n, PITH_E_ARG, "no array is called n", 0);
    refused("x / 2", n, PITH_E_DTYPE, "floor_divide(x, y) and trunc_divide(x, y)", 2);
    refused("x * 0.5", n, PITH_E_DTYPE,
            "with a point or exponent cannot be combined with i32", 2);
    refused("x * 2.0", n, PITH_E_DTYPE, "cannot be combined with i32", 2);
    refused("x + 3000000000", n, PITH_E_DTYPE, "3000000000 does not fit i32", 2);
    refused("x + (x > 0 ? 3000000000 : 1)", n, PITH_E_DTYPE, "does not fit i32", 2);
    refused("x + (x > 0 ? 1 : 2) * 2000000000", n, PITH_E_DTYPE,
            "4000000000 does not fit i32", 2);
    refused("x + (x > 0 ? 9 : 4) % 5", n, PITH_E_DTYPE, "may not fit i32: cast them", 2);
    refused("(x > 1) + 1", n, PITH_E_DTYPE, "combined with bool", 8);
    refused("sin(x)", n, PITH_E_DTYPE, "expected floats, got i32", 0);
    pt_fails(PITH_E_SHAPE, s,
             pith_expression(
                 s, "x + y",
                 PITH_BIND({"x", x}, {"y", pith_zeros(s, PITH_F32, PITH_SHAPE(7))})));
    pt_says("cannot broadcast [24] with [7]");
    pt_says("\n    x + y\n      ^");
    pt_fails(PITH_E_ARG, s, pith_expression(s, "x + \xc3", PITH_BIND({"x", x})));
    pt_says("expected a value, got the byte 0xc3");
    pt_says("\n    x + ?\n        ^");
    const pith_array *const row = pith_zeros(s, PITH_F32, PITH_SHAPE(3)),
                            *const square = pith_zeros(s, PITH_F32, PITH_SHAPE(2, 2)),
                            *const four = pith_zeros(s, PITH_BOOL, PITH_SHAPE(4));
    pt_fails(PITH_E_SHAPE, s, pith_add(s, row, square));
    pt_says("cannot broadcast [3] with [2,2]"); /* as given, not as far as they fit */
    pt_fails(PITH_E_SHAPE, s, pith_where(s, four, four, pith_greater(s, row, row)));
    pt_says("cannot broadcast [4] with [4] and [3]");
    pt_fails(PITH_E_ARG, s, pith_expression(s, "x \xc3\x97 2", PITH_BIND({"x", x})));
    pt_says("got \"\xc3\x97\""); /* a whole character */
    close_scope();
}

Test(expression_errors, shows_a_window_of_long_texts) {
    open_scope();
    const pith_array *x = pith_f64(s, 1);
    char of[4000];
    memset(of, ' ', sizeof of);
    memcpy(of, "x + ", 4);
    memcpy(of + 2000, "oops * x", 9);
    pt_fails(PITH_E_ARG, s, pith_expression(s, of, PITH_BIND({"x", x})));
    const char *line = strchr(pt_error.message, '\n'),
               *caret = strrchr(pt_error.message, '\n');
    cr_assert(strlen(line) < 250 && strncmp(line, "\n    ...", 8) == 0, "%s", line);
    cr_assert(strncmp(line + (strlen(caret) - 1), "oops", 4) == 0, "%s",
              pt_error.message);
    pt_says("test_expression_errors.c:");
    memset(of + 3, 'y', 3000), of[3003] = 0; /* a name as long as the text */
    pt_fails(PITH_E_ARG, s, pith_expression(s, of, PITH_BIND({"x", x})));
    pt_fails(PITH_E_ARG, s, pith_expression(s, "x + \xc3\xa9\n\t", PITH_BIND({"x", x})));
    pt_says("\n    x + ????\n        ^");
    close_scope();
}

Test(expression_errors, refuses_bindings_that_are_none) {
    open_scope();
    const pith_array *x = pith_f64(s, 1);
    static const char *const bad[] = {"",    "1x",  "a b",  "x.y",
                                      "f32", "int", "bool", "\xc3\xa9"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pt_fails(PITH_E_ARG, s, pith_expression(s, "1", PITH_BIND({bad[i], x})));
        pt_says("cannot be a name");
    }
    pt_fails(PITH_E_ARG, s, pith_expression(s, "x", PITH_BIND({"x", x}, {"x", x})));
    pt_says("\"x\" is bound twice");
    pt_fails(PITH_E_ARG, s, pith_expression(s, "x", PITH_BIND({"x", NULL})));
    pt_fails(PITH_E_ARG, s, pith_expression(s, NULL, NULL));
    pt_fails(PITH_E_ARG, s, pith_expression(s, "x", NULL));
    pt_says("there is none");
    cr_assert(
        same_bits(pith_expression(s, "exp(exp)", PITH_BIND({"exp", x})), pith_exp(s, x)));
    close_scope();
}
