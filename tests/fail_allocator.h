/* Makes every allocation of a scenario fail once, one after the other.
 *
 * A scenario opens a runtime with the options it is given, works, closes the runtime, and
 * returns the code of the error it met, or PITH_OK, in which case what it computed must
 * have been right. It may try a call again: only one allocation fails in each run, so
 * pt_again requires that the second try succeeds, which it does only where the first one
 * left everything as it was. */
#ifndef PITH_FAIL_ALLOCATOR_H
#define PITH_FAIL_ALLOCATOR_H

#include "pith_test.h"
#include "series.h"

#include <pith/runtime.h>

typedef pith_status (*pt_scenario)(const pith_open_options *options);

typedef struct pt_failures {
    int allocations; /* of the scenario */
    int errors;      /* runs in which one that failed was told */
    int survived;    /* runs in which it was not needed */
} pt_failures;

/* expr makes something in s, or fails for want of memory and then succeeds when it is
 * tried again. The scenario ends where s cannot work at all. */
#define pt_again(s, expr)                                                                \
    do {                                                                                 \
        const bool pt_made_ = (expr) ? true : false;                                     \
        if (!pith_failed(s)) {                                                           \
            cr_assert(pt_made_, "no error, but false: %s", #expr);                       \
            break;                                                                       \
        }                                                                                \
        cr_assert(!pt_made_, "an error, but made: %s", #expr);                           \
        cr_assert(pith_code(s) == PITH_E_MEMORY, "%s", pith_message(s));                 \
        pith_clear(s);                                                                   \
        if (!pith_failed(s))                                                             \
            cr_assert((expr) && !pith_failed(s), "again: %s: %s", #expr,                 \
                      pith_message(s));                                                  \
    } while (0)

/* From one allocation that fails to the next: all of the first ones do, later ones are
 * pt_apart, and under sanitizers the rarer the later, since each run is as long. */
static inline long long pt_fail_step(long long n) {
    const long long apart = pt_apart();
    return n < 48 || apart == 1 ? 1 : apart * (1 + n / 512);
}

/* Run the scenario without a failure, then with each of its allocations failing. Under
 * sanitizers each of these counts for those before it that are left out. */
static PT_UNUSED pt_failures pt_fail_each(pt_scenario scenario) {
    pt_failures result = {0};
    for (long long n = 0, step = 1;; n += step) {
        pt_heap heap = {.fail_at = n};
        const pith_allocator allocator = pt_allocator(&heap);
        const pith_open_options options = {
            .device = "host", .threads = 2, .allocator = &allocator};
        const pith_status code = scenario(&options);
        pt_no_leak(&heap);
        const bool reached = n > 0 && atomic_load(&heap.allocations) >= n;
        if (!reached) {
            cr_assert(code == PITH_OK, "%s without a failure", pith_status_name(code));
            if (n > 0)
                return result;
            continue;
        }
        cr_assert(code == PITH_OK || code == PITH_E_MEMORY, "allocation %lld: %s", n,
                  pith_status_name(code));
        result.allocations = (int)n;
        result.errors += code != PITH_OK ? (int)step : 0;
        result.survived += code == PITH_OK ? (int)step : 0;
        step = pt_fail_step(n);
    }
}

#endif
