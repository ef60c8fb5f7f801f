/**
 * @file
 * Drivers: running a step many times, and timing it.
 */
#ifndef PITH_RUN_H
#define PITH_RUN_H

#include <pith/assert.h>
#include <pith/lens.h>
#include <pith/run_chunked.h>
#include <pith/run_host.h>
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

/** What was done about an assertion that failed, before its step is repeated. */
typedef struct pith_repair {
    const pith_assertion *assertion;
    const void *before; /**< the state that its fix was given */
    const void *after;  /**< what the fix made of it */
    int64_t step;       /**< number of the step that failed: 1 is the first of a run whose
                           first_step is 0; of several in one call, the first */
    int64_t repeat;     /**< which repeat of the step follows: 1 is the first */
} pith_repair;
/** Sees a repair. What fails in @p s ends the run. */
typedef void (*pith_repair_callback)(pith_scope *s,
                                     const pith_repair *repair,
                                     void *closure);

/** How to run; everything zero is the default. */
typedef struct pith_run_options {
    int64_t steps PITH_DEFAULT; /**< how many; 0: none */
    /** Steps that one call of the step does, as one with a pith_fori in it: steps,
     * save_every and each_every are multiples of it. 0: 1. */
    int64_t steps_per_call PITH_DEFAULT;
    int64_t first_step
        PITH_DEFAULT; /**< steps done before, 0 or more, for what is shown and saved */
    const char *save PITH_DEFAULT; /**< checkpoint file; NULL: none, and no keep,
                                       incremental, compress or background */
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
    int64_t max_tries PITH_DEFAULT;   /**< as pith_propagate_options.max_tries */
    int64_t check_every PITH_DEFAULT; /**< as pith_propagate_options.check_every; states
                                         that are shown or saved are checked before */
    pith_repair_callback repaired PITH_DEFAULT; /**< called for each repair */
    void *closure PITH_DEFAULT;                 /**< of each and of repaired */
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
 * Each step is tried as pith_propagate does: its checks are collected, what failed is
 * repaired, and the step repeated. Only committed states are saved or shown. A step that
 * fails leaves everything as it was: the scope carries its error, with the number of the
 * step, and options->last the state before it.
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

/** How to propagate; everything zero is the default. */
typedef struct pith_propagate_options {
    int64_t steps PITH_DEFAULT;       /**< how many; 0: 1 */
    int64_t first_step PITH_DEFAULT;  /**< steps done before, for messages and
                                         repairs; -1: the next one prepares step 0 */
    int64_t max_tries PITH_DEFAULT;   /**< how often one step is repeated at most; 0: 10;
                                         negative: never */
    int64_t check_every PITH_DEFAULT; /**< look at the checks of so many steps at once; 0:
                                         of each */
    pith_repair_callback repaired PITH_DEFAULT; /**< called for each repair */
    void *closure PITH_DEFAULT;
} pith_propagate_options;

/**
 * Step a state, and where checks fail, repair it and try again: pith_propagate(s, Sim,
 * step, sim, NULL).
 *
 * A try runs in a scope of its own, which collects the checks made in it (and hides them
 * from collectors around the call). A failed check is no error of the scope. A try that
 * fails leaves no trace: its rows of logs are not written, and its result is dropped.
 * Then all failures are looked at: if one has no fix, it is raised, and no fix runs. Else
 * the fixes are applied to the state before the step, in order, each to what the one
 * before gave, and the step is repeated on that, with the same random keys, as these are
 * part of the state. What a step does to the world outside by itself (files, printing,
 * variables) is not undone.
 *
 * With check_every k steps go unchecked until one wait for all of them. Where one failed,
 * the steps before it are done again from the last state that was checked, and it is
 * repaired and repeated as if each had been checked: states are the same, bit for bit.
 *
 * Errors: the error of the step or of a fix; the first failed assertion without a fix, or
 * the first that still failed after the last repeat; each with the number of the step.
 * @return The final state, owned by @p s; on failure the type's nil record, and @p state
 * is as it was.
 */
#define pith_propagate(s, T, step, state, ...)                                           \
    ((const T *)pith_propagate_as((s), T##_pith_type(), (step),                          \
                                  (1 ? (state) : (const T *)0), __VA_ARGS__))
/** As pith_propagate; @p type NULL: any tree, and NULL on failure. */
PITH_API const void *pith_propagate_as(pith_scope *s,
                                       const pith_type *type,
                                       const pith_function *step,
                                       const void *state,
                                       const pith_propagate_options *options);

/**
 * Call a function on the part of a state that a lens finds, and give the state with the
 * part replaced by its result. Fixes of checks made in the call, which are of the part,
 * become fixes of the state; their paths get the lens in front. It nests.
 *
 * @param function A function of one tree.
 * Errors: those of the lens and of the function.
 * @return A state like @p state; its type's nil record, or NULL, on failure.
 */
#define pith_at_lens(s, lens, function, state)                                           \
    ((__typeof__(state))pith_at_lens_any((s), (lens), (function), (state)))
PITH_API const void *pith_at_lens_any(pith_scope *s,
                                      const pith_lens *lens,
                                      const pith_function *function,
                                      const void *state);

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
#    define pith_run_as(s, ...)       pith_run_as(PITH_AT(s), __VA_ARGS__)
#    define pith_propagate_as(s, ...) pith_propagate_as(PITH_AT(s), __VA_ARGS__)
#    define pith_at_lens_any(s, ...)  pith_at_lens_any(PITH_AT(s), __VA_ARGS__)
#    define pith_bench(s, ...)        pith_bench(PITH_AT(s), __VA_ARGS__)
#endif

#endif
