/* Fails on purpose, one way per program, to show that the plain runner reports it. */
#include "pith_test.h"

#if defined(FAIL_IN_BODY)
Test(plain, failing_body) {
    cr_assert_eq(1, 2, "on %s", "purpose");
}
#elif defined(FAIL_SOFTLY)
Test(plain, failing_expectation) {
    cr_expect(false);
}
#elif defined(FAIL_IN_FINI)
static void fail(void) {
    cr_assert(false);
}
Test(plain, failing_fini, .fini = fail) {}
#elif defined(SKIP_ALL)
Test(plain, skipped) {
    cr_skip_test("on purpose");
}
#endif
