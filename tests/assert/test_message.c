/* Messages: placeholders, formats as Python has them, and arrays. */
#include "assert_test.h"

/* The message of a failed check. */
#define MESSAGE(...)                                                                     \
    (pith_collect_begin(s), pith_check(s, no, __VA_ARGS__), first_message(s))

static const char *first_message(pith_scope *s) {
    const pith_result *r = pith_collect_end(s, NULL);
    return r ? pith_assertion_message(s, pith_result_get(s, r, 0)) : NULL;
}
#define says(expected, ...)                                                              \
    do {                                                                                 \
        const char *text_ = MESSAGE(__VA_ARGS__);                                        \
        pt_ok(s, text_);                                                                 \
        cr_assert(strcmp(text_, (expected)) == 0, "expected \"%s\", got \"%s\"",         \
                  (expected), text_);                                                    \
    } while (0)

BOTH(message, shows_values) {
    RUNTIME;
    const pith_array *no = pith_bool(s, false), *x = pith_f64(s, 2.5);
    const pith_array *i = pith_i64(s, -42), *f = pith_f32(s, 0.1f);
    says("plain", "plain");
    says("", "");
    says("x is 2.5, i is -42", "x is {x}, i is {i}", .args = {{"x", x}, {"i", i}});
    says("{x} 2.5}", "{{x}} {x}}}", .args = {{"x", x}});
    says("0.1 True", "{f} {t}", .args = {{"f", f}, {"t", pith_bool(s, true)}});
    says("n = 3", "n = {n}", .args = {{"n", pith_full(s, PITH_U8, PITH_SCALAR, 3)}});
    says("half 0.333", "half {h}",
         .args = {{"h", pith_full(s, PITH_F16, PITH_SCALAR, 0.333)}});
    CLOSE;
}

BOTH(message, shows_texts_and_does_not_read_them_again) {
    RUNTIME;
    const pith_array *no = pith_bool(s, false), *x = pith_f64(s, 2);
    char text[] = "{'a': 10, 'b': {x}}";
    pith_collect_begin(s);
    pith_check(s, no, "too small: {sizes}, {x}", .args = {{"x", x}},
               .info = {{"sizes", text}});
    memset(text, '!', sizeof text - 1); /* it was copied */
    const pith_result *r = pith_collect_end(s, NULL);
    const pith_assertion *a = pith_result_get(s, r, 0);
    const char *expected = "too small: {'a': 10, 'b': {x}}, 2.0";
    cr_assert_str_eq(pith_assertion_message(s, a), expected);
    pt_fails(PITH_E_CHECK, s, pith_result_raise(s, r));
    pt_says(expected);
    cr_assert_str_eq(pith_assertion_info(a, "sizes"), "{'a': 10, 'b': {x}}");
    cr_assert_null(pith_assertion_info(a, "x"));
    says("[  ab][ab  ][ab]", "[{t:>4}][{t:4}][{t:.2s}]", .info = {{"t", "ab"}});
    says("[**\xc3\xa4**]", "[{t:*^5}]", .info = {{"t", "\xc3\xa4"}});
    CLOSE;
}

/* What Python prints: format(value, spec). */
Test(message, formats_as_python_does) {
    static const struct {
        double value;
        const char *message, *text;
    } floats[] = {
        {3.14159, "{x:.2f}", "3.14"},
        {3.14159, "{x:8.2f}|", "    3.14|"},
        {3.14159, "{x:<8.2f}|", "3.14    |"},
        {3.14159, "{x:^8.2f}|", "  3.14  |"},
        {-3.14159, "{x:=8.2f}|", "-   3.14|"},
        {-3.14159, "{x:08.2f}|", "-0003.14|"},
        {3.14159, "{x:+.1f}", "+3.1"},
        {3.14159, "{x: .1f}", " 3.1"},
        {3.14159, "{x:*>9.3f}", "****3.142"},
        {1234567.0, "{x:e}", "1.234567e+06"},
        {1234567.0, "{x:.2e}", "1.23e+06"},
        {1234567.0, "{x:g}", "1.23457e+06"},
        {1234567.0, "{x:.3g}", "1.23e+06"},
        {0.0001, "{x:g}", "0.0001"},
        {0.25, "{x:%}", "25.000000%"},
        {0.25, "{x:.0%}", "25%"},
        {1.0, "{x}", "1.0"},
        {100000.0, "{x}", "100000.0"},
        {1e15, "{x}", "1000000000000000.0"},
        {1e16, "{x}", "1e+16"},
        {1.5e300, "{x}", "1.5e+300"},
        {0.0001, "{x}", "0.0001"},
        {0.00001, "{x}", "1e-05"},
        {0.00012345, "{x}", "0.00012345"},
        {123.456, "{x}", "123.456"},
        {-0.0, "{x}", "-0.0"},
        {0.1 + 0.2, "{x}", "0.30000000000000004"},
        {3.0, "{x:.3}", "3.0"},
        {2.0, "{x:10}|", "       2.0|"},
    };
    static const struct {
        int64_t value;
        const char *message, *text;
    } integers[] = {
        {42, "{x:d}", "42"},
        {42, "{x:5d}|", "   42|"},
        {-42, "{x:05d}", "-0042"},
        {255, "{x:x}", "ff"},
        {255, "{x:#X}", "0XFF"},
        {5, "{x:b}", "101"},
        {8, "{x:#o}", "0o10"},
        {42, "{x:+}", "+42"},
        {42, "{x:.1f}", "42.0"},
        {42, "{x:e}", "4.200000e+01"},
        {INT64_MIN, "{x}", "-9223372036854775808"},
        {-255, "{x:#06x}", "-0x0ff"},
        {7, "{x:<3}|", "7  |"},
    };
    RUNTIME;
    const pith_array *no = pith_bool(s, false);
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) {
        pith_collect_begin(s);
        pith_check_with(
            s, no,
            &(pith_check_options){.message = floats[i].message,
                                  .args = {{"x", pith_f64(s, floats[i].value)}}});
        const char *text = first_message(s);
        pt_ok(s, text);
        cr_assert_str_eq(text, floats[i].text, "%s", floats[i].message);
    }
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) {
        pith_collect_begin(s);
        pith_check_with(
            s, no,
            &(pith_check_options){.message = integers[i].message,
                                  .args = {{"x", pith_i64(s, integers[i].value)}}});
        const char *text = first_message(s);
        pt_ok(s, text);
        cr_assert_str_eq(text, integers[i].text, "%s", integers[i].message);
    }
    const pith_array *yes = pith_bool(s, true);
    says("True|1|    1", "{t}|{t:d}|{t:5}", .args = {{"t", yes}});
    says("nan inf -inf", "{a} {b} {c}",
         .args = {{"a", pith_f64(s, (double)NAN)},
                  {"b", pith_f64(s, (double)INFINITY)},
                  {"c", pith_f64(s, (double)-INFINITY)}});
    CLOSE;
}

BOTH(message, shows_arrays_with_their_ends) {
    RUNTIME;
    const pith_array *no = pith_bool(s, false);
    const pith_array *few = pith_arange(s, PITH_I32, 4),
                     *many = pith_arange(s, PITH_I64, 1000);
    says("[0 1 2 3]", "{x}", .args = {{"x", few}});
    says("[0.00 1.00 2.00 3.00]", "{x:.2f}", .args = {{"x", few}});
    says("[0 1 2 ... 997 998 999]", "{x}", .args = {{"x", many}});
    says("[]", "{x}", .args = {{"x", pith_zeros(s, PITH_F32, PITH_SHAPE(0))}});
    says("[[0 1] [2 3]]", "{x}", .args = {{"x", pith_reshape(s, few, PITH_SHAPE(2, 2))}});
    says(
        "[[0 1 2 ... 97 98 99] [100 101 102 ... 197 198 199] [200 201 202 ... 297 298 299]"
        " ... [700 701 702 ... 797 798 799] [800 801 802 ... 897 898 899]"
        " [900 901 902 ... 997 998 999]]",
        "{x}", .args = {{"x", pith_reshape(s, many, PITH_SHAPE(10, 100))}});
    const pith_array *huge = pith_zeros(s, PITH_F64, PITH_SHAPE(7, 7, 7, 7, 7, 7));
    const char *text = MESSAGE("{x}", .args = {{"x", huge}});
    pt_ok(s, text);
    cr_assert(strlen(text) < 1024 && strcmp(text + strlen(text) - 3, "...") == 0, "%s",
              text);
    CLOSE;
}

BOTH(message, names_the_first_failing_index) {
    RUNTIME;
    const pith_array *no = pith_less(s, pith_arange(s, PITH_I32, 10), pith_i32(s, 7));
    says("too large (first failing index [7])", "too large");
    says("row [7] is too large", "row {index} is too large");
    no = pith_reshape(s, no, PITH_SHAPE(2, 5));
    says("too large (first failing index [1, 2])", "too large");
    says("mine: 3 (first failing index [1, 2])", "mine: {index}",
         .args = {{"index", pith_i32(s, 3)}});
    no = pith_bool(s, true);
    says("passes: none", "passes: {index}");
    says("passes", "passes");
    CLOSE;
}

BOTH(message, mistakes_are_told_where_a_collector_is) {
    RUNTIME;
    const pith_array *t = pith_bool(s, true), *x = pith_f64(s, 1), *i = pith_i32(s, 1);
    static const struct {
        const char *message, *says;
    } mistakes[] = {
        {"{y}", "there is no argument of this name"},
        {"{}", "there is no argument of this name"},
        {"{x", "a { without a }"},
        {"{x:{w}}", "a { without a }"},
        {"x}", "a } without a {"},
        {"{", "a { without a }"},
        {"{x:d}", "the type is for integers"},
        {"{x:s}", "s is for texts"},
        {"{i:.2d}", "an integer has no precision"},
        {"{i:.2}", "an integer has no precision"},
        {"{t:f}", "a text has the type s"},
        {"{t:+}", "a text has no sign"},
        {"{x:q}", "expected [[fill]align]"},
        {"{x:.f}", "there is no precision after the point"},
        {"{x:300f}", "the width is 200 at most"},
        {"{x:.2ff}", "expected [[fill]align]"},
        {"{index:d}", "an index has no format"},
    };
    for (size_t k = 0; k < sizeof mistakes / sizeof *mistakes; k++) {
        const pith_check_options o = {.message = mistakes[k].message,
                                      .args = {{"x", x}, {"i", i}},
                                      .info = {{"t", "text"}}};
        pith_check_with(s, t, &o);
        pt_ok(s); /* not collected */
        pith_collect_begin(s);
        pt_fails(PITH_E_ARG, s, pith_check_with(s, t, &o));
        pt_says(mistakes[k].says);
        pith_collect_end(s, NULL);
    }
    CLOSE;
}
