/* Long series of random cases, and of cases that differ little.
 *
 *   PITH_TEST_SHARE=n      one run makes one of n cases; .ci/run sets it
 *   PITH_TEST_PROGRAMS=n   n random cases in place of the usual number
 *   PITH_TEST_FIRST=n      random cases from number n on */
#ifndef PITH_TEST_SERIES_H
#define PITH_TEST_SERIES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#    define PT_SANITIZED 1
#else
#    define PT_SANITIZED 0
#endif

static inline int64_t pt_share(void) {
    const char *share = getenv("PITH_TEST_SHARE");
    return share && atoll(share) > 1 ? atoll(share) : 1;
}

/* Whether case number n of like cases is made. */
static inline bool pt_in_share(int64_t n) {
    return n % pt_share() == 0;
}

/* How many random cases are made: a share of the usual number, but ten of those if there
 * are as many. */
static inline int64_t pt_series(int64_t usual) {
    const char *asked = getenv("PITH_TEST_PROGRAMS");
    if (asked)
        return atoll(asked);
    const int64_t least = usual < 10 ? usual : 10, some = usual / pt_share();
    return some > least ? some : least;
}

/* Failures that a test strikes with, one after the other, are this far apart: none is
 * left out, but by sanitizers, where each takes ten times as long. */
static inline int pt_apart(void) {
    return PT_SANITIZED ? (int)pt_share() : 1;
}

/* The number of the first one. */
static inline uint64_t pt_series_first(uint64_t usual) {
    const char *asked = getenv("PITH_TEST_FIRST");
    return usual + (asked ? strtoull(asked, NULL, 10) : 0);
}

#endif
