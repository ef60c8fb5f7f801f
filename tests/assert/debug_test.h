/* What tests of messages share: the lines that the log hook gets. */
#ifndef DEBUG_TEST_H
#define DEBUG_TEST_H

#include "assert_test.h"
#include "base/base_internal.h"

#include <pith/control.h>
#include <pith/jit.h>

static char dbg_lines[8000]; /* each message of level debug with "\n" behind it */
static int dbg_count;
/* Messages of the library itself have other words in front. */
static bool dbg_call_by_call; /* a program has no schedule for the device */
static PT_UNUSED void dbg_hear(pith_log_level level, const char *message, void *closure) {
    (void)closure;
    dbg_call_by_call |= strstr(message, "call by call") != NULL;
    if (level != PITH_LOG_DEBUG || strncmp(message, "> ", 2) != 0)
        return;
    const size_t n = strlen(dbg_lines);
    snprintf(dbg_lines + n, sizeof dbg_lines - n, "%s\n", message + 2);
    dbg_count++;
}
static PT_UNUSED void dbg_clear(void) {
    dbg_lines[0] = 0;
    dbg_count = 0;
}
/* What was heard since the last time. */
#define dbg_heard(expected)                                                              \
    do {                                                                                 \
        cr_assert(strcmp(dbg_lines, (expected)) == 0, "expected:\n%sgot:\n%s",           \
                  (expected), dbg_lines);                                                \
        dbg_clear();                                                                     \
    } while (0)

#define DBG_RUNTIME                                                                      \
    RUNTIME;                                                                             \
    pith_set_log_hook(rt, dbg_hear, NULL);                                               \
    dbg_clear()

/* f(x) call by call, then compiled, twice each time; all have to print `expected`. */
static PT_UNUSED void dbg_all_ways(const pith_function *f, const char *expected) {
    static const char *const ways[] = {"eager", "off", "wait"};
    for (int k = 0; k < PITHP_COUNT(ways); k++) {
        setenv("PITH_JIT", ways[k], 1);
        DBG_RUNTIME;
        const pith_array *x = pith_arange(s, PITH_F64, 3);
        const pith_function *jitted = pith_jit(s, f, NULL);
        for (int time = 0; time < 3; time++) {
            const pith_array *y = pith_apply(s, jitted, x);
            pt_ok(s, y);
            pith_wait(s);
            cr_assert(strcmp(dbg_lines, expected) == 0,
                      "PITH_JIT=%s, call %d: expected:\n%sgot:\n%s", ways[k], time,
                      expected, dbg_lines);
            dbg_clear();
        }
        cr_assert(!dbg_call_by_call);
        CLOSE;
    }
    unsetenv("PITH_JIT");
}

#endif
