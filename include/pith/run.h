/**
 * @file
 * Drivers: running a step many times, and timing it.
 */
#ifndef PITH_RUN_H
#define PITH_RUN_H

#include <pith/run_log.h>
#include <pith/tree.h>

/**
 * Sees a committed state. Work done in @p s is freed when it returns; what fails in @p s
 * stops the run.
 *
 * @param step How many steps have been done, options.first_step included.
 */
typedef void (*pith_run_callback)(pith_scope *s,
                                  const void *state,
                                  int64_t step,
                                  void *closure);

/** How to run; everything zero is the default. */
typedef struct pith_run_options {
    int64_t steps PITH_DEFAULT; /**< how many; 0: none */
    int64_t first_step
        PITH_DEFAULT;              /**< steps done before, for what is shown and saved */
    const char *save PITH_DEFAULT; /**< checkpoint file; NULL: none */
    int64_t keep
        PITH_DEFAULT; /**< save a series and keep so many (pith_save_options.keep);
                         0: one checkpoint that is replaced */
    bool incremental PITH_DEFAULT; /**< of a series: write what changed alone
                                      (pith_save_options.incremental) */
    int32_t compress PITH_DEFAULT; /**< level of zstd (pith_save_options.compress) */
    bool background PITH_DEFAULT;  /**< save on another thread while steps go on
                                      (pith_save_options.background) */
    int64_t save_every
        PITH_DEFAULT; /**< steps between saves; 0: only after the last step */
    pith_run_log *log PITH_DEFAULT; /**< what the callback logs to: its rows are on the
                                       disk before a checkpoint is */
    FILE *progress
        PITH_DEFAULT; /**< a progress bar where this is a terminal; NULL: none */
    pith_run_callback each
        PITH_DEFAULT; /**< called before the first step and after steps */
    int64_t each_every
        PITH_DEFAULT; /**< called where first_step plus the steps done is a multiple;
                         0: 1. Before the first step and after the last one always */
    void *closure PITH_DEFAULT;
    const void **last PITH_DEFAULT; /**< set to the last committed state in s, also when
                                       the run fails */
    double *seconds
        PITH_DEFAULT; /**< set to the time of the steps alone: no saves, no callbacks */
} pith_run_options;

PITH_BEGIN

/**
 * Run a step: state = step(state), again and again. The options come last:
 * pith_run(s, Sim, step, sim, &(pith_run_options){.steps = 100, .save = "sim.json"}).
 *
 * Each step runs in a scope of its own. Its result is waited for and its checks are
 * examined before it is committed; only committed states are saved, shown or handed to
 * the next step. A step that fails leaves everything as it was: the scope carries its
 * error, with the number of the step, and options->last the state before it.
 *
 * @return The final state, owned by @p s; the type's nil record on failure.
 */
#define pith_run(s, T, step, state, ...)                                                 \
    ((const T *)pith_run_as((s), T##_pith_type(), (step), (1 ? (state) : (const T *)0),  \
                            __VA_ARGS__))
/** As pith_run; @p type NULL: any tree, and NULL on failure. */
PITH_API const void *pith_run_as(pith_scope *s,
                                 const pith_type *type,
                                 const pith_function *step,
                                 const void *state,
                                 const pith_run_options *options);

/** How to time; everything zero is the default. */
typedef struct pith_bench_options {
    int repeats PITH_DEFAULT;           /**< samples; 0: 15 */
    double sample_seconds PITH_DEFAULT; /**< least time of one sample, calls are repeated
                                           to reach it; 0: 0.01 */
    size_t bytes PITH_DEFAULT; /**< moved by one call, for bytes_per_second; 0: arguments
                                  and result */
} pith_bench_options;

/** What was measured: seconds of one call, waiting for the device included. */
typedef struct pith_bench_result {
    double median, least, greatest;
    double spread;           /**< interquartile range over the median */
    double bytes_per_second; /**< at the median */
    int64_t calls;           /**< in one sample */
    int repeats;
} pith_bench_result;

/**
 * Time a function over trees: calls are made in batches of one wait, after a batch that
 * is not counted.
 *
 * @return All zero on failure; the scope carries the error.
 */
PITH_API pith_bench_result pith_bench(pith_scope *s,
                                      const pith_function *function,
                                      int count,
                                      const void *const *arguments,
                                      const pith_bench_options *options);

PITH_END

#ifndef PITH_NO_SITES
#    define pith_run_as(s, ...) pith_run_as(PITH_AT(s), __VA_ARGS__)
#    define pith_bench(s, ...)  pith_bench(PITH_AT(s), __VA_ARGS__)
#endif

#endif
