/* The part of Criterion that our tests use, for what it cannot do itself:
 * ThreadSanitizer, under which it aborts, and tests on a device. Each test runs in a
 * process of its own, as there, or, with PITH_TEST_ONE_PROCESS, all in one, so that they
 * share a device context. Exit status 0, 1, or 77 when every test was skipped.
 *
 * ParameterizedTest, Theory and redirections are not here: such a test is registered with
 * CRITERION_ONLY. */
#ifndef PITH_TEST_PLAIN_H
#define PITH_TEST_PLAIN_H
#pragma GCC system_header /* as Criterion's: Test(suite, name) leaves its ... empty */

#include <fnmatch.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct pt_plain_options {
    int sentinel_;
    void (*init)(void);
    void (*fini)(void);
    int signal;
    int exit_code;
    bool disabled;
    double timeout;
    const char *description;
    void *data;
} pt_plain_options;

typedef struct pt_plain_test {
    const char *suite, *name;
    void (*run)(void); /* NULL: the options of a suite */
    pt_plain_options options;
    struct pt_plain_test *next;
} pt_plain_test;

enum { PT_PLAIN_PASSED, PT_PLAIN_FAILED, PT_PLAIN_SKIPPED };

static pt_plain_test *pt_plain_tests, **pt_plain_last = &pt_plain_tests;
static struct {
    jmp_buf leave;
    pthread_t thread;
    int verdict;
} pt_plain_state;

static void pt_plain_add(pt_plain_test *test) {
    *pt_plain_last = test;
    pt_plain_last = &test->next;
}

static void pt_plain_leave(int verdict) {
    if (verdict > pt_plain_state.verdict || verdict == PT_PLAIN_FAILED)
        pt_plain_state.verdict = verdict;
    if (!pthread_equal(pthread_self(), pt_plain_state.thread))
        abort();
    longjmp(pt_plain_state.leave, 1);
}

#define Test(suite_, name_, ...) PT_PLAIN_TEST_(suite_, name_, __VA_ARGS__)
#define PT_PLAIN_TEST_(suite_, name_, ...)                                               \
    static void suite_##_##name_##_body(void);                                           \
    __attribute__((constructor)) static void suite_##_##name_##_register(void) {         \
        static pt_plain_test test = {#suite_,                                            \
                                     #name_,                                             \
                                     suite_##_##name_##_body,                            \
                                     {.sentinel_ = 0, __VA_ARGS__},                      \
                                     NULL};                                              \
        pt_plain_add(&test);                                                             \
    }                                                                                    \
    static void suite_##_##name_##_body(void)

#define TestSuite(suite_, ...)                                                           \
    __attribute__((constructor)) static void suite_##_suite_register(void) {             \
        static pt_plain_test test = {                                                    \
            #suite_, "", NULL, {.sentinel_ = 0, __VA_ARGS__}, NULL};                     \
        pt_plain_add(&test);                                                             \
    }                                                                                    \
    extern int suite_##_suite_needs_a_semicolon

#define PT_PLAIN_CHECK_(fatal, condition, text, ...)                                     \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            fprintf(stderr, "%s:%d: failed: %s\n    ", __FILE__, __LINE__, text);        \
            fprintf(stderr, "" __VA_ARGS__);                                             \
            fputc('\n', stderr);                                                         \
            if (fatal)                                                                   \
                pt_plain_leave(PT_PLAIN_FAILED);                                         \
            pt_plain_state.verdict = PT_PLAIN_FAILED;                                    \
        }                                                                                \
    } while (0)

#define PT_PLAIN_STREQ_(a, b)   (strcmp((a), (b)) == 0)
#define PT_PLAIN_NEAR_(a, b, e) (fabs((double)((a) - (b))) <= (double)(e))

#define cr_assert(c, ...)     PT_PLAIN_CHECK_(true, c, #c, __VA_ARGS__)
#define cr_assert_not(c, ...) PT_PLAIN_CHECK_(true, !(c), "not " #c, __VA_ARGS__)
#define cr_assert_eq(a, b, ...)                                                          \
    PT_PLAIN_CHECK_(true, (a) == (b), #a " == " #b, __VA_ARGS__)
#define cr_assert_neq(a, b, ...)                                                         \
    PT_PLAIN_CHECK_(true, (a) != (b), #a " != " #b, __VA_ARGS__)
#define cr_assert_lt(a, b, ...) PT_PLAIN_CHECK_(true, (a) < (b), #a " < " #b, __VA_ARGS__)
#define cr_assert_leq(a, b, ...)                                                         \
    PT_PLAIN_CHECK_(true, (a) <= (b), #a " <= " #b, __VA_ARGS__)
#define cr_assert_gt(a, b, ...) PT_PLAIN_CHECK_(true, (a) > (b), #a " > " #b, __VA_ARGS__)
#define cr_assert_geq(a, b, ...)                                                         \
    PT_PLAIN_CHECK_(true, (a) >= (b), #a " >= " #b, __VA_ARGS__)
#define cr_assert_null(p, ...)     PT_PLAIN_CHECK_(true, !(p), #p " == NULL", __VA_ARGS__)
#define cr_assert_not_null(p, ...) PT_PLAIN_CHECK_(true, (p), #p " != NULL", __VA_ARGS__)
#define cr_assert_str_eq(a, b, ...)                                                      \
    PT_PLAIN_CHECK_(true, PT_PLAIN_STREQ_(a, b), #a " equals " #b, __VA_ARGS__)
#define cr_assert_str_neq(a, b, ...)                                                     \
    PT_PLAIN_CHECK_(true, !PT_PLAIN_STREQ_(a, b), #a " differs from " #b, __VA_ARGS__)
#define cr_assert_float_eq(a, b, e, ...)                                                 \
    PT_PLAIN_CHECK_(true, PT_PLAIN_NEAR_(a, b, e), #a " near " #b, __VA_ARGS__)
#define cr_assert_float_neq(a, b, e, ...)                                                \
    PT_PLAIN_CHECK_(true, !PT_PLAIN_NEAR_(a, b, e), #a " far from " #b, __VA_ARGS__)
#define cr_assert_arr_eq(a, b, n, ...)                                                   \
    PT_PLAIN_CHECK_(true, memcmp((a), (b), (n)) == 0, #a " equals " #b, __VA_ARGS__)
#define cr_assert_arr_neq(a, b, n, ...)                                                  \
    PT_PLAIN_CHECK_(true, memcmp((a), (b), (n)) != 0, #a " differs from " #b, __VA_ARGS__)
#define cr_assert_fail(...) PT_PLAIN_CHECK_(true, false, "unreachable", __VA_ARGS__)
#define cr_fatal(...)       cr_assert_fail(__VA_ARGS__)

#define cr_expect(c, ...)     PT_PLAIN_CHECK_(false, c, #c, __VA_ARGS__)
#define cr_expect_not(c, ...) PT_PLAIN_CHECK_(false, !(c), "not " #c, __VA_ARGS__)
#define cr_expect_eq(a, b, ...)                                                          \
    PT_PLAIN_CHECK_(false, (a) == (b), #a " == " #b, __VA_ARGS__)
#define cr_expect_neq(a, b, ...)                                                         \
    PT_PLAIN_CHECK_(false, (a) != (b), #a " != " #b, __VA_ARGS__)
#define cr_expect_lt(a, b, ...)                                                          \
    PT_PLAIN_CHECK_(false, (a) < (b), #a " < " #b, __VA_ARGS__)
#define cr_expect_leq(a, b, ...)                                                         \
    PT_PLAIN_CHECK_(false, (a) <= (b), #a " <= " #b, __VA_ARGS__)
#define cr_expect_gt(a, b, ...)                                                          \
    PT_PLAIN_CHECK_(false, (a) > (b), #a " > " #b, __VA_ARGS__)
#define cr_expect_geq(a, b, ...)                                                         \
    PT_PLAIN_CHECK_(false, (a) >= (b), #a " >= " #b, __VA_ARGS__)
#define cr_expect_null(p, ...)     PT_PLAIN_CHECK_(false, !(p), #p " == NULL", __VA_ARGS__)
#define cr_expect_not_null(p, ...) PT_PLAIN_CHECK_(false, (p), #p " != NULL", __VA_ARGS__)
#define cr_expect_str_eq(a, b, ...)                                                      \
    PT_PLAIN_CHECK_(false, PT_PLAIN_STREQ_(a, b), #a " equals " #b, __VA_ARGS__)
#define cr_expect_str_neq(a, b, ...)                                                     \
    PT_PLAIN_CHECK_(false, !PT_PLAIN_STREQ_(a, b), #a " differs from " #b, __VA_ARGS__)
#define cr_expect_float_eq(a, b, e, ...)                                                 \
    PT_PLAIN_CHECK_(false, PT_PLAIN_NEAR_(a, b, e), #a " near " #b, __VA_ARGS__)
#define cr_expect_arr_eq(a, b, n, ...)                                                   \
    PT_PLAIN_CHECK_(false, memcmp((a), (b), (n)) == 0, #a " equals " #b, __VA_ARGS__)
#define cr_expect_fail(...) PT_PLAIN_CHECK_(false, false, "unreachable", __VA_ARGS__)
#define cr_fail(...)        cr_expect_fail(__VA_ARGS__)

#define PT_PLAIN_LOG_(...) (fprintf(stderr, "" __VA_ARGS__), fputc('\n', stderr), (void)0)
#define cr_log_info(...)   PT_PLAIN_LOG_(__VA_ARGS__)
#define cr_log_warn(...)   PT_PLAIN_LOG_(__VA_ARGS__)
#define cr_log_error(...)  PT_PLAIN_LOG_(__VA_ARGS__)
#define cr_skip_test(...)                                                                \
    do {                                                                                 \
        PT_PLAIN_LOG_(__VA_ARGS__);                                                      \
        pt_plain_leave(PT_PLAIN_SKIPPED);                                                \
    } while (0)
#define cr_skip(...) cr_skip_test(__VA_ARGS__)

static const pt_plain_options *pt_plain_suite(const char *suite) {
    static const pt_plain_options none;
    for (const pt_plain_test *t = pt_plain_tests; t; t = t->next)
        if (!t->run && strcmp(t->suite, suite) == 0)
            return &t->options;
    return &none;
}

static int pt_plain_run(const pt_plain_test *test) {
    const pt_plain_options *suite = pt_plain_suite(test->suite), *own = &test->options;
    pt_plain_state.verdict = PT_PLAIN_PASSED;
    if (!setjmp(pt_plain_state.leave)) {
        if (suite->init)
            suite->init();
        if (own->init)
            own->init();
        test->run();
    }
    if (!setjmp(pt_plain_state.leave)) { /* a failure here counts, unlike in Criterion */
        if (own->fini)
            own->fini();
        if (suite->fini)
            suite->fini();
    }
    return pt_plain_state.verdict;
}

#ifdef PITH_TEST_ONE_PROCESS
extern char **environ;

static char **pt_plain_environment(void) {
    size_t count = 0;
    while (environ && environ[count])
        count++;
    char **copy = calloc(count + 1, sizeof *copy);
    for (size_t i = 0; copy && i < count; i++)
        copy[i] = strdup(environ[i]);
    return copy;
}

/* Make a copy the environment again. Its variables are not freed: they are in use. */
static void pt_plain_restore(char **copy) {
    clearenv();
    for (size_t i = 0; copy && copy[i]; i++)
        putenv(copy[i]);
    free(copy);
}

/* A test begins with the variables of the process, whatever the ones before have set. */
static int pt_plain_start(const pt_plain_test *test) {
    if (test->options.signal || test->options.exit_code)
        return PT_PLAIN_SKIPPED;
    char **before = pt_plain_environment();
    const int verdict = pt_plain_run(test);
    pt_plain_restore(before);
    return verdict;
}
#else
/* Run a test in a child, whose end says how it went: a sanitizer that found something
 * exits with a status of its own. */
static int pt_plain_start(const pt_plain_test *test) {
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        const int verdict = pt_plain_run(test);
        exit(verdict == PT_PLAIN_PASSED ? 0 : verdict == PT_PLAIN_SKIPPED ? 77 : 1);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return PT_PLAIN_FAILED;
    if (WIFSIGNALED(status)) {
        if (WTERMSIG(status) == test->options.signal)
            return PT_PLAIN_PASSED;
        fprintf(stderr, "died of signal %d\n", WTERMSIG(status));
        return PT_PLAIN_FAILED;
    }
    if (!test->options.signal && WEXITSTATUS(status) == test->options.exit_code)
        return PT_PLAIN_PASSED;
    return WEXITSTATUS(status) == 77 ? PT_PLAIN_SKIPPED : PT_PLAIN_FAILED;
}
#endif

/* --filter PATTERN: the tests whose suite/name matches, as with Criterion. */
static bool pt_plain_chosen(const pt_plain_test *test, int argc, char **argv) {
    char name[256];
    snprintf(name, sizeof name, "%s/%s", test->suite, test->name);
    bool chosen = true;
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], "--filter") == 0)
            chosen = fnmatch(argv[i + 1], name, 0) == 0;
    return chosen;
}

int main(int argc, char **argv) {
    int counts[3] = {0, 0, 0};
    pt_plain_state.thread = pthread_self();
    for (const pt_plain_test *t = pt_plain_tests; t; t = t->next) {
        if (!t->run || !pt_plain_chosen(t, argc, argv))
            continue;
        static const char *const words[] = {"PASS", "FAIL", "SKIP"};
        const bool disabled = t->options.disabled || pt_plain_suite(t->suite)->disabled;
        const int verdict = disabled ? PT_PLAIN_SKIPPED : pt_plain_start(t);
        counts[verdict]++;
        if (verdict != PT_PLAIN_PASSED)
            fprintf(stderr, "[%s] %s::%s\n", words[verdict], t->suite, t->name);
    }
    fprintf(stderr, "[====] %d passed, %d failed, %d skipped\n", counts[PT_PLAIN_PASSED],
            counts[PT_PLAIN_FAILED], counts[PT_PLAIN_SKIPPED]);
    if (counts[PT_PLAIN_FAILED])
        return 1;
    return counts[PT_PLAIN_SKIPPED] && !counts[PT_PLAIN_PASSED] ? 77 : 0;
}

#endif
