/* Names, texts and sizes of status codes and dtypes. */
#include "base/base_internal.h"
#include "pith_test.h"

Test(names, every_status_has_a_name_and_a_text) {
#define ROW(name, value, text)                                                           \
    cr_assert_eq((int)PITH_##name, value);                                               \
    cr_assert_str_eq(pith_status_name(PITH_##name), "PITH_" #name);                      \
    cr_assert_str_neq(pith_status_text(PITH_##name), "unknown status");
    PITH_STATUS_LIST(ROW)
#undef ROW
    cr_assert_eq((int)PITH_OK, 0);
}

Test(names, the_version_is_the_one_of_the_headers) {
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", PITH_VERSION_MAJOR, PITH_VERSION_MINOR,
             PITH_VERSION_PATCH);
    cr_assert_str_eq(pith_version(), text);
    cr_assert_str_eq(PITH_VERSION_TEXT, text);
}

Test(names, what_is_no_status_is_called_unknown) {
    cr_assert_str_eq(pith_status_name((pith_status)999), "unknown status");
    cr_assert_str_eq(pith_status_text((pith_status)-1), "unknown status");
}

Test(names, dtypes_parse_what_they_print) {
    for (int i = 1; i < PITH_DTYPE_COUNT; i++) {
        const pith_dtype dtype = (pith_dtype)i;
        cr_assert_eq(pith_dtype_parse(pith_dtype_name(dtype)), dtype);
        cr_assert_gt(pith_dtype_size(dtype), 0);
        cr_assert_not(pith_dtype_is_float(dtype) && pith_dtype_is_integer(dtype));
    }
    cr_assert_eq(PITH_F64 + 1, PITH_DTYPE_COUNT);
    cr_assert_eq(pith_dtype_size(PITH_BF16), 2);
    cr_assert(pith_dtype_is_float(PITH_F16) && pith_dtype_is_integer(PITH_U64));
    cr_assert_not(pith_dtype_is_integer(PITH_BOOL) || pith_dtype_is_float(PITH_BOOL));
}

Test(names, what_is_no_dtype_is_none) {
    static const pith_dtype odd[] = {PITH_DTYPE_NONE, (pith_dtype)-1, (pith_dtype)14,
                                     (pith_dtype)1000};
    for (int i = 0; i < PITHP_COUNT(odd); i++) {
        cr_assert_str_eq(pith_dtype_name(odd[i]), "none");
        cr_assert_eq(pith_dtype_size(odd[i]), 0);
        cr_assert_not(pith_dtype_is_float(odd[i]) || pith_dtype_is_integer(odd[i]));
    }
    cr_assert_eq(pith_dtype_parse("none"), PITH_DTYPE_NONE);
    cr_assert_eq(pith_dtype_parse("F64"), PITH_DTYPE_NONE);
    cr_assert_eq(pith_dtype_parse("f64 "), PITH_DTYPE_NONE);
    cr_assert_eq(pith_dtype_parse(""), PITH_DTYPE_NONE);
    cr_assert_eq(pith_dtype_parse(NULL), PITH_DTYPE_NONE);
}
