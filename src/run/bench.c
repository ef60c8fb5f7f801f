/* Timing of a function over trees: batches of calls with one wait, and the median of
 * several samples. */
#include "run/run_internal.h"

#include <math.h>
#include <stdlib.h>

enum { REPEATS = 15, MOST_REPEATS = 1000 };
static const double sample_seconds = 0.01;

/* Seconds for `calls` calls and one wait; negative on failure. */
static double sample(pith_scope *s,
                     const pith_function *function,
                     int64_t count,
                     const void *const *arguments,
                     int64_t calls,
                     size_t *result_bytes) {
    double seconds = 0;
    for (int64_t i = 0; i < calls && s->error.code == PITH_OK; i++) {
        pith_scope *work = pith_scope_open_in(s);
        const double started = pithp_seconds();
        const void *result = pith_call(work, function, count, arguments);
        if (i + 1 == calls)
            pithp_synchronise(work);
        seconds += pithp_seconds() - started;
        *result_bytes = pith_tree_bytes(result);
        pith_scope_close(work);
    }
    return s->error.code == PITH_OK ? seconds : -1;
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

pith_bench_result pith_bench(pith_scope *s,
                             const pith_function *function,
                             int64_t count,
                             const void *const *arguments,
                             const pith_bench_options *options) {
    static const pith_bench_options defaults;
    const pith_bench_options *o = options ? options : &defaults;
    pith_bench_result r = {0};
    if (!pithp_enter_untraced(s, "pith_bench"))
        return r;
    const int repeats = o->repeats ? o->repeats : REPEATS;
    if (!function || repeats < 1 || repeats > MOST_REPEATS) {
        pithp_fail(s, PITH_E_ARG, NULL,
                   "pith_bench: expected a function and 1 to %d repeats", MOST_REPEATS);
        return r;
    }
    if (!(o->sample_seconds >= 0) || isinf(o->sample_seconds)) {
        pithp_fail(s, PITH_E_ARG, NULL,
                   "pith_bench: sample_seconds: expected a finite number of 0 or more, "
                   "got %g",
                   o->sample_seconds);
        return r;
    }
    const double least = o->sample_seconds > 0 ? o->sample_seconds : sample_seconds;
    double *seconds = pithp_scope_allocate(s, (size_t)repeats * sizeof *seconds);
    if (!seconds)
        return r;
    size_t result_bytes = 0;
    int64_t calls = 1;
    for (;;) { /* warm-up, which also determines the calls per sample */
        const double took = sample(s, function, count, arguments, calls, &result_bytes);
        if (took < 0)
            return r;
        if (took >= least)
            break;
        const double wanted =
            took > 0 ? 1.2 * least / took * (double)calls : 1000 * (double)calls;
        calls = wanted > 10 * (double)calls ? 10 * calls : (int64_t)wanted + 1;
    }
    for (int i = 0; i < repeats; i++) {
        seconds[i] =
            sample(s, function, count, arguments, calls, &result_bytes) / (double)calls;
        if (seconds[i] < 0)
            return r;
    }
    qsort(seconds, (size_t)repeats, sizeof *seconds, by_size);
    size_t bytes = o->bytes;
    for (int i = 0; !o->bytes && i < count; i++)
        bytes += pith_tree_bytes(arguments[i]);
    bytes += o->bytes ? 0 : result_bytes;
    r.median = repeats % 2 ? seconds[repeats / 2]
                           : (seconds[repeats / 2 - 1] + seconds[repeats / 2]) / 2;
    r.least = seconds[0];
    r.greatest = seconds[repeats - 1];
    r.spread = (seconds[3 * repeats / 4] - seconds[repeats / 4]) / r.median;
    r.bytes_per_second = (double)bytes / r.median;
    r.calls = calls;
    r.repeats = repeats;
    return r;
}
