/* What is compiled for a device of an architecture, by what the compiler knows. */
#include "compile_test.h"

static const int known[] = {75, 80, 86, 90, 100, 120};

Test(compile_target, machine_code_where_the_device_is_known_else_ptx) {
    pithp_rtc_target t;
    cr_assert(pithp_rtc_target_for(90, known, PITHP_COUNT(known), &t));
    cr_assert_str_eq(t.name, "sm_90");
    cr_assert(!t.ptx);
    cr_assert(pithp_rtc_target_for(89, known, PITHP_COUNT(known), &t));
    cr_assert_str_eq(t.name, "compute_86");
    cr_assert(t.ptx);
    cr_assert(pithp_rtc_target_for(130, known, PITHP_COUNT(known), &t));
    cr_assert_str_eq(t.name, "compute_120");
    cr_assert(!pithp_rtc_target_for(70, known, PITHP_COUNT(known), &t));
    cr_assert(!pithp_rtc_target_for(90, known, 0, &t));
}

Test(compile_target, a_missing_nvrtc_is_named) {
    char identity[PITHP_IDENTITY_BYTES];
    pithp_error e;
    setenv("PITH_NVRTC", "/nonexistent/libnvrtc.so", 1);
    cr_assert_eq(pithp_rtc_open(identity, &e), PITH_E_UNSUPPORTED);
    cr_assert(strstr(e.text, "/nonexistent/libnvrtc.so"), "%s", e.text);
    setenv("PITH_NVRTC", "libm.so.6", 1); /* a library, but another one */
    cr_assert_eq(pithp_rtc_open(identity, &e), PITH_E_UNSUPPORTED);
    cr_assert(strstr(e.text, "without nvrtcVersion"), "%s", e.text);
}

Test(compile_target, the_processor_has_one_description) {
    char one[256], two[256];
    pithp_processor_describe(one, sizeof one);
    pithp_processor_describe(two, sizeof two);
    cr_assert_str_eq(one, two);
    cr_assert(strlen(one) > 6);
}
