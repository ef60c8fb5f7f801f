/* Tests that run twice. */
#ifndef BOTH_H
#define BOTH_H

#include "pith_test.h"

/* name() with work that runs when it is enqueued, and name_deferred with work that runs
 * at the next wait. */
#define BOTH(suite, name)                                                                \
    static void suite##_##name(void);                                                    \
    Test(suite, name) {                                                                  \
        unsetenv("PITH_HOST_ASYNC");                                                     \
        suite##_##name();                                                                \
    }                                                                                    \
    Test(suite, name##_deferred) {                                                       \
        setenv("PITH_HOST_ASYNC", "1", 1);                                               \
        suite##_##name();                                                                \
    }                                                                                    \
    static void suite##_##name(void)

#endif
