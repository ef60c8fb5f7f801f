/* Common code of the benches: a clock, medians of interleaved repeats, and rows of JSON.
 *
 * A row has an entry for pith and one for each peer that the program measures itself
 * ("c": the plainest good C for the same work). Peers from other programs are added by
 * bench/run. */
#ifndef BENCH_H
#define BENCH_H

#include <pith/pith.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
    const char *name;    /* "pith", "c", ... */
    void (*run)(void *); /* the work, once */
    void *closure;
} bench_entry;

enum { BENCH_REPEATS = 9, BENCH_ENTRIES = 8 };

static inline double bench_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline int bench_by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline double bench_median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, bench_by_size);
    return count % 2 ? values[count / 2]
                     : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* Whether the row is wanted: its name begins with what --only gave. */
static inline bool bench_wanted(const char *row, const char *only) {
    return !only || strncmp(row, only, strlen(only)) == 0;
}

static inline void bench_print(const char *row,
                               const char *unit,
                               int count,
                               const bench_entry *entries,
                               const double *values) {
    printf("{\"row\": \"%s\", \"unit\": \"%s\", \"pith\": %.6g, \"peers\": {", row, unit,
           values[0]);
    for (int i = 1; i < count; i++)
        printf("%s\"%s\": %.6g", i > 1 ? ", " : "", entries[i].name, values[i]);
    printf("}}\n");
    fflush(stdout);
}

/* Threads of a peer may look for work for some time after their last, on a core that the
 * next entry needs: milliseconds before each sample. Set by benches with such peers.
 */
static int bench_rest_ms = 0;

static inline void bench_rest(const bench_entry *e, int64_t calls) {
    if (!bench_rest_ms)
        return;
    const struct timespec rest = {.tv_nsec = bench_rest_ms * 1000000L};
    nanosleep(&rest, NULL);
    for (int64_t k = 0; k < calls / 4 + 1; k++) /* threads of its own are awake again */
        e->run(e->closure);
}

/* The device of rows that a GPU can run as well: the host, or what BENCH_DEVICE names. */
static inline const char *bench_device(void) {
    const char *device = getenv("BENCH_DEVICE");
    return device ? device : "host";
}
static inline bool bench_on_host(void) {
    return strcmp(bench_device(), "host") == 0;
}
/* Sides of squares and lengths are this many times those on the host: BENCH_SCALE. */
static inline int64_t bench_scale(void) {
    const char *scale = getenv("BENCH_SCALE");
    return scale ? atoll(scale) : 1;
}

/* Time entries in turn, the first of which is pith's, and print seconds times `scale` (or
 * its inverse where the unit is a rate: scale negative) as one row. Each sample is
 * repeated until it takes 5 ms. On another device than the host the peers of the program,
 * which are C, are left out. */
static inline void bench_row(const char *row,
                             const char *unit,
                             double scale,
                             int count,
                             const bench_entry *entries) {
    double samples[BENCH_ENTRIES][BENCH_REPEATS], values[BENCH_ENTRIES];
    count = bench_on_host() ? count : 1;
    int64_t calls[BENCH_ENTRIES];
    for (int i = 0; i < count; i++) {
        calls[i] = 1;
        for (;;) { /* not counted: warms up and finds how many calls make a sample */
            const double start = bench_seconds();
            for (int64_t k = 0; k < calls[i]; k++)
                entries[i].run(entries[i].closure);
            if (bench_seconds() - start > 0.005)
                break;
            calls[i] *= 2;
        }
    }
    for (int r = 0; r < BENCH_REPEATS; r++)
        for (int i = 0; i < count; i++) {
            if (calls[i] < 8) /* else the others' memory would be in the cache */
                entries[i].run(entries[i].closure);
            bench_rest(&entries[i], calls[i]);
            const double start = bench_seconds();
            for (int64_t k = 0; k < calls[i]; k++)
                entries[i].run(entries[i].closure);
            samples[i][r] = (bench_seconds() - start) / (double)calls[i];
        }
    for (int i = 0; i < count; i++) {
        const double median = bench_median(samples[i], BENCH_REPEATS);
        values[i] = scale > 0 ? median * scale : -scale / median;
    }
    bench_print(row, unit, count, entries, values);
}

/* The scope must be without error: a bench that failed measures nothing. */
static inline void bench_check(pith_scope *s) {
    if (!pith_failed(s))
        return;
    fprintf(stderr, "bench: %s\n", pith_message(s));
    exit(EXIT_FAILURE);
}

/* One call of a function in a scope of its own, waited for. */
static inline void bench_call(pith_scope *in,
                              const pith_function *f,
                              int count,
                              const void *const *arguments) {
    pith_scope *s = pith_scope_open_in(in);
    pith_call(s, f, count, arguments);
    pith_wait(s);
    bench_check(s);
    pith_scope_close(s);
}

static inline const char *bench_only(int argc, char **argv) {
    return argc > 2 && strcmp(argv[1], "--only") == 0 ? argv[2] : NULL;
}
/* Open a runtime whose functions are compiled as PITH_JIT says, for some rows. */
static inline void bench_compiled(const char *jit,
                                  void (*rows)(pith_scope *, const char *),
                                  const char *only) {
    setenv("PITH_JIT", jit, 1);
    pith_runtime *rt =
        pith_open(&(pith_open_options){.device = bench_device(), .threads = 1});
    pith_scope *s = pith_scope_open(rt);
    rows(s, only);
    bench_check(s);
    pith_scope_close(s);
    pith_close(rt);
}

#endif
