/* Fails on purpose, one way per program, to show that the plain runner reports it; or
 * passes in a way that needs a process per test. */
#include "pith_test.h"

#include <signal.h>

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
#elif defined(CRASH)
Test(plain, crashing) {
    abort();
}
#elif defined(EXPECTED_SIGNAL_IS_MISSING)
Test(plain, returning, .signal = SIGABRT) {}
#elif defined(EXPECTED_SIGNAL)
Test(plain, aborting, .signal = SIGABRT) {
    abort();
}
static int count;
Test(plain, first_of_two_processes) {
    cr_assert_eq(++count, 1);
}
Test(plain, second_of_two_processes) {
    cr_assert_eq(++count, 1);
}
#elif defined(SKIP_ALL)
Test(plain, skipped) {
    cr_skip_test("on purpose");
}
#endif
