/* Timing of a function over trees: batches of calls with one wait, and the median of
 * several samples. */
#include "mesh/mesh_internal.h"
#include "run/run_internal.h"

#include <math.h>
#include <stdlib.h>

enum { REPEATS = 15, MOST_REPEATS = 1000 };
static const double sample_seconds = 0.01;

typedef struct bench {
    pith_scope *s;
    const pith_function *function;
    int64_t count;
    const void *const *arguments;
    int repeats;
    double least; /* seconds of a sample */
    size_t result_bytes;
    bool joint; /* the function makes collectives: all ranks call it equally often */
} bench;

/* Seconds for `calls` calls and one wait; negative on failure. */
static double sample(bench *b, int64_t calls) {
    pith_scope *s = b->s;
    double seconds = 0;
    pithp_decisions_nest(s, 1);
    for (int64_t i = 0; i < calls && s->error.code == PITH_OK; i++) {
        pith_scope *work = pith_scope_open_in(s);
        const double started = pithp_seconds();
        const void *result = pith_call(work, b->function, b->count, b->arguments);
        if (i + 1 == calls)
            pithp_synchronise(work);
        seconds += pithp_seconds() - started;
        b->result_bytes = pith_tree_bytes(result);
        pith_scope_close(work);
    }
    pithp_decisions_nest(s, -1);
    return s->error.code == PITH_OK ? seconds : -1;
}

/* The greatest number that any rank wants. false: a rank has failed. */
static bool agree(const bench *b, int64_t *wanted) {
    pithp_decision d = {.operation = "pith_bench",
                        .extra = (uint64_t)b->repeats,
                        .least = ~(uint64_t)*wanted};
    if (!pithp_decide(b->s, &d))
        return false;
    if (d.first >= 0)
        pithp_decision_tell(b->s, d.operation, d.first);
    *wanted = (int64_t)~d.least;
    return d.first < 0;
}

/* Calls for a sample that was too short. */
static int64_t more_calls(const bench *b, double took, int64_t calls) {
    const double wanted =
        took > 0 ? 1.2 * b->least / took * (double)calls : 1000 * (double)calls;
    return wanted > 10 * (double)calls ? 10 * calls : (int64_t)wanted + 1;
}

/* Warm up, which also determines the calls per sample; 0: an error. Clocks of ranks
 * differ, so that no rank may choose alone. */
static int64_t calls_per_sample(bench *b) {
    const uint64_t before = pithp_collective_count(b->s);
    for (int64_t calls = 1;;) {
        const double took = sample(b, calls);
        int64_t wanted = took < 0 || took >= b->least ? 0 : more_calls(b, took, calls);
        b->joint = pithp_ranks_of(b->s) && pithp_collective_count(b->s) != before;
        if (b->joint ? !agree(b, &wanted) : took < 0)
            return 0;
        if (wanted == 0)
            return calls;
        calls = wanted;
    }
}

/* false: an error. */
static bool take_samples(bench *b, int64_t calls, double *seconds) {
    for (int i = 0; i < b->repeats && b->s->error.code == PITH_OK; i++)
        seconds[i] = sample(b, calls) / (double)calls;
    return b->joint ? pithp_ranks_fine(b->s, "pith_bench") : b->s->error.code == PITH_OK;
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
    double *seconds = pithp_scope_allocate(s, (size_t)repeats * sizeof *seconds);
    if (!seconds)
        return r;
    bench b = {.s = s,
               .function = function,
               .count = count,
               .arguments = arguments,
               .repeats = repeats,
               .least = o->sample_seconds > 0 ? o->sample_seconds : sample_seconds};
    const int64_t calls = calls_per_sample(&b);
    if (!calls || !take_samples(&b, calls, seconds))
        return r;
    qsort(seconds, (size_t)repeats, sizeof *seconds, by_size);
    size_t bytes = o->bytes;
    for (int i = 0; !o->bytes && i < count; i++)
        bytes += pith_tree_bytes(arguments[i]);
    bytes += o->bytes ? 0 : b.result_bytes;
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
