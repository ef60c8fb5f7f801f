/* Elements as JSON text and back: every bit, whatever the locale. */
#include "checkpoint/checkpoint_internal.h"
#include "comma_test.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a reader of JSON makes of a number's text: jansson's strtod, or a string. */
static bool read_back(pith_dtype dtype, const char *text, void *element) {
    char inner[PITHP_ELEMENT_TEXT];
    if (text[0] == '"') {
        snprintf(inner, sizeof inner, "%.*s", (int)strlen(text) - 2, text + 1);
        return pithp_element_from_text(dtype, inner, element);
    }
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0) {
        *(unsigned char *)element = text[0] == 't';
        return dtype == PITH_BOOL;
    }
    if (strpbrk(text, ".e"))
        return pithp_element_from_f64(dtype, strtod(text, NULL), element);
    return pithp_element_from_i64(dtype, strtoll(text, NULL, 10), element);
}

static void check_bits(pith_dtype dtype, uint64_t bits) {
    char text[PITHP_ELEMENT_TEXT];
    uint64_t again = 0;
    const size_t n = pithp_element_to_json(dtype, &bits, text);
    cr_assert(n == strlen(text) && n < PITHP_ELEMENT_TEXT - 4);
    cr_assert(read_back(dtype, text, &again), "%s %s is refused", pith_dtype_name(dtype),
              text);
    cr_assert(again == bits, "%s %016" PRIx64 " becomes %s becomes %016" PRIx64,
              pith_dtype_name(dtype), bits, text, again);
}

static const char *print_f64(double x) {
    static char text[PITHP_ELEMENT_TEXT];
    pithp_element_to_json(PITH_F64, &x, text);
    return text;
}
static const char *print_f32(float x) {
    static char text[PITHP_ELEMENT_TEXT];
    pithp_element_to_json(PITH_F32, &x, text);
    return text;
}

static uint64_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state ^ (*state >> 29);
}

Test(number, round_trips_every_half_float) {
    for (uint64_t bits = 0; bits < 65536; bits++) {
        check_bits(PITH_F16, bits);
        check_bits(PITH_BF16, bits);
    }
}

Test(number, round_trips_floats_of_all_sizes) {
    uint64_t state = 7;
    for (int i = 0; i < 200000; i++) {
        check_bits(PITH_F64, next_random(&state));
        check_bits(PITH_F32, next_random(&state) >> 32);
    }
    const uint64_t edges[] = {0,
                              1,
                              2,
                              0x000fffffffffffff,
                              0x0010000000000000,
                              0x7fefffffffffffff,
                              0x7ff0000000000000,
                              0x7ff0000000000001,
                              0x7ff8000000000000,
                              0x7ff8000000000001,
                              0x7fffffffffffffff,
                              0x3ff0000000000000,
                              0x4340000000000000,
                              0x4340000000000001};
    for (int i = 0; i < PITHP_COUNT(edges); i++) {
        check_bits(PITH_F64, edges[i]);
        check_bits(PITH_F64, edges[i] | (uint64_t)1 << 63);
    }
    for (uint64_t bits = 0; bits < (uint64_t)1 << 32; bits += 40961)
        check_bits(PITH_F32, bits);
}

Test(number, round_trips_integers_and_their_extremes) {
    static const pith_dtype dtypes[] = {PITH_I8, PITH_I16, PITH_I32, PITH_I64,
                                        PITH_U8, PITH_U16, PITH_U32, PITH_U64};
    uint64_t state = 3;
    check_bits(PITH_BOOL, 0);
    check_bits(PITH_BOOL, 1);
    for (int i = 0; i < PITHP_COUNT(dtypes); i++) {
        const int width = 8 * (int)pith_dtype_size(dtypes[i]);
        const uint64_t mask = UINT64_MAX >> (64 - width),
                       top = (uint64_t)1 << (width - 1);
        const uint64_t edges[] = {0, 1, 2, top - 1, top, top + 1, mask - 1, mask};
        for (int j = 0; j < PITHP_COUNT(edges); j++)
            check_bits(dtypes[i], edges[j] & mask);
        for (int j = 0; j < 2000; j++)
            check_bits(dtypes[i], next_random(&state) & mask);
    }
}

Test(number, is_written_as_short_as_it_can_be) {
    cr_assert_str_eq(print_f64(0.1), "0.1");
    cr_assert_str_eq(print_f64(1), "1.0");
    cr_assert_str_eq(print_f64(-0.0), "-0.0");
    cr_assert_str_eq(print_f64(1e22), "1e+22");
    cr_assert_str_eq(print_f64(5e-324), "5e-324");
    cr_assert_str_eq(print_f64(0.1 + 0.2), "0.30000000000000004");
    cr_assert_str_eq(print_f32(0.1f), "0.1");
    cr_assert_str_eq(print_f32(16777216), "16777216.0");
    cr_assert_str_eq(print_f64((double)NAN), "\"nan\"");
    cr_assert_str_eq(print_f64(-(double)INFINITY), "\"-inf\"");
    const uint64_t payload = 0xfff8000000000123;
    double x;
    memcpy(&x, &payload, sizeof x);
    cr_assert_str_eq(print_f64(x), "\"nan:0xfff8000000000123\"");
}

Test(number, refuses_what_is_no_element) {
    uint64_t e = 0;
    cr_assert(!pithp_element_from_i64(PITH_I8, 128, &e) &&
              pithp_element_from_i64(PITH_I8, -128, &e));
    cr_assert(!pithp_element_from_i64(PITH_U8, -1, &e) &&
              !pithp_element_from_i64(PITH_U8, 256, &e));
    cr_assert(!pithp_element_from_i64(PITH_U64, -1, &e));
    for (int i = -1; i <= 257; i++)
        cr_assert(!pithp_element_from_i64(PITH_BOOL, i, &e), "%d", i);
    /* jansson has lost the sign of -0, and an integer may be no double */
    cr_assert(!pithp_element_from_i64(PITH_F64, 0, &e) &&
              !pithp_element_from_i64(PITH_F32, 1, &e));
    cr_assert(!pithp_element_from_f64(PITH_I32, 1.0, &e));
    cr_assert(!pithp_element_from_f64(PITH_F32, 1e39, &e) &&
              !pithp_element_from_f64(PITH_F16, 1e5, &e));
    static const char *const texts[] = {"",
                                        "NaN",
                                        "nan:",
                                        "nan:0x",
                                        "nan:0x7ff8",
                                        "+inf",
                                        "1.0",
                                        "nan:0x7ff0000000000000",
                                        "nan:0x3ff0000000000000",
                                        "nan:0x7ff80000000000zz",
                                        "nan:0x7FF8000000000000"};
    for (int i = 0; i < PITHP_COUNT(texts); i++)
        cr_assert(!pithp_element_from_text(PITH_F64, texts[i], &e), "%s", texts[i]);
    cr_assert(!pithp_element_from_text(PITH_U64, "18446744073709551616", &e));
    cr_assert(!pithp_element_from_text(PITH_U64, "12", &e) &&
              !pithp_element_from_text(PITH_U64, "-1", &e));
    cr_assert(!pithp_element_from_text(PITH_I64, "9223372036854775808", &e));
}

Test(number, does_not_depend_on_the_decimal_point_of_the_locale) {
    uint64_t again = 0;
    if (!pt_use_comma())
        cr_skip("localedef made no locale");
    cr_assert(localeconv()->decimal_point[0] == ',');
    cr_assert_str_eq(print_f64(0.1), "0.1");
    cr_assert_str_eq(print_f64(1234.5), "1234.5");
    cr_assert_str_eq(print_f64(-1e300), "-1e+300");
    cr_assert_str_eq(print_f32(0.25f), "0.25");
    for (double x = 1e-300; x < 1e300; x *= 13.7) {
        const char *text = print_f64(x);
        cr_assert(!strchr(text, ','), "%s", text);
        setlocale(LC_NUMERIC, "C");
        cr_assert(read_back(PITH_F64, text, &again) && memcmp(&again, &x, sizeof x) == 0);
        setlocale(LC_NUMERIC, "xx_XX");
    }
}
