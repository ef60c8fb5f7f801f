/**
 * @file
 * Drivers: run a step many times, and measure its time.
 */
#ifndef PITH_RUN_H
#define PITH_RUN_H

#include <pith/assert.h>
#include <pith/checkpoint.h>
#include <pith/derive.h>
#include <pith/lens.h>
#include <pith/run_advance.h>
#include <pith/run_chunked.h>
#include <pith/run_host.h>
#include <pith/run_log.h>
#include <pith/tree.h>

/**
 * Receives a committed state.
 *
 * Objects that the callback makes in @p s are freed on return. An error of @p s ends the
 * run.
 *
 * @param step Number of completed steps, options.first_step included.
 */
typedef void (*pith_run_callback)(pith_scope *s,
                                  const void *state,
                                  int64_t step,
                                  void *closure);

/** A repair: the fix of a failed assertion, applied before its step is repeated. */
typedef struct pith_repair {
    const pith_assertion *assertion;
    const void *before; /**< the argument of the fix */
    const void *after;  /**< the result of the fix */
    /**
     * Number of the failed step; 1 is the first step of a run with first_step 0. If one
     * call does several steps, the first step of the call.
     */
    int64_t step;
    int64_t repeat; /**< number of the repeat that follows; 1 is the first */
} pith_repair;
/** Receives a repair. An error of @p s ends the run. */
typedef void (*pith_repair_callback)(pith_scope *s,
                                     const pith_repair *repair,
                                     void *closure);

/** Reason for the end of a run. */
typedef enum pith_run_reason {
    PITH_RUN_NONE,     /**< no run has ended in the scope */
    PITH_RUN_FINISHED, /**< all steps are done */
    PITH_RUN_UNTIL,    /**< `until` is true for the state */
    PITH_RUN_TIME,     /**< `until_seconds` have passed */
    PITH_RUN_REQUEST,  /**< pith_run_request requested the end */
    PITH_RUN_SIGNAL,   /**< a signal requested the end */
    PITH_RUN_FAILED    /**< the scope carries the error */
} pith_run_reason;

/** End of a run. */
typedef struct pith_run_end {
    pith_run_reason reason;
    int signal;   /**< SIGTERM or SIGINT if the reason is PITH_RUN_SIGNAL; else 0 */
    int64_t step; /**< number of the last committed step */
} pith_run_end;

/** Requests to pith_run_request; combine them by |. */
enum {
    PITH_RUN_SAVE = 1, /**< save the next committed state and continue */
    PITH_RUN_STOP = 2  /**< finish the current call, save, and return */
};

/** Options of pith_run; zero is the default. */
typedef struct pith_run_options {
    /**
     * Number of steps; 0: none. With resume, the number includes steps before the resume.
     */
    int64_t steps PITH_DEFAULT;
    /**
     * Number of steps per compiled loop. pith builds the loop from the step, and the
     * results equal those of single steps. The step, until and log_row must be functions
     * that pith_jit can compile. A loop is shorter before a state that is reported or
     * saved, before a row with log_every above 1, and at the last step. 0: call the step
     * without a loop.
     */
    int64_t steps_per_launch PITH_DEFAULT;
    /**
     * Number of steps that one call of the step does, for a step with a pith_fori inside.
     * steps, save_every and each_every must be multiples of it. 0: 1. It excludes
     * steps_per_launch.
     */
    int64_t steps_per_call PITH_DEFAULT;
    /**
     * Number of the given state, 0 or more: the count of steps before it. With resume,
     * the number of the state at the start of the whole run.
     */
    int64_t first_step PITH_DEFAULT;
    /**
     * Function from the state to a bool of rank 0, evaluated with the checks. The run
     * ends at the first step with the result true, for any check_every and
     * steps_per_launch. The given state is tested if its number is above 0.
     *
     * @par Errors
     * PITH_E_ARG: the result is no bool of rank 0.
     */
    const pith_function *until PITH_DEFAULT;
    /**
     * Time limit in seconds: the run ends after the first call that completes past it. 0:
     * no limit.
     */
    double until_seconds PITH_DEFAULT;
    /**
     * Check that the float leaves of the state have no NaN or infinity. A failure is
     * PITH_E_CHECK with path, index and step. The device reduces the leaves to one flag.
     * The state before the step is kept.
     */
    bool finite PITH_DEFAULT;
    /**
     * Handle signals during the run. SIGUSR1 saves. SIGTERM and SIGINT finish the current
     * call, save, and return. After the first SIGTERM or SIGINT, another one has its
     * original effect. Signal handlers belong to the process. They are restored when the
     * last run with this option ends.
     */
    bool signals PITH_DEFAULT;
    /**
     * Load the newest valid checkpoint of `save`, if one exists, start at its step, and
     * truncate `log` to it. Without a checkpoint, the run starts from the given state.
     * With a checkpoint, the given state declares the dtypes and nodes. `each` is not
     * called for the loaded state.
     */
    bool resume PITH_DEFAULT;
    /**
     * Path of the checkpoint, or name of the series. NULL: the run saves nothing, and
     * save_part, save_options, save_every, save_every_seconds and resume must be zero.
     */
    const char *save PITH_DEFAULT;
    /**
     * Function from the state to the tree that is saved: what a run cannot compute again.
     * All ranks call it at each save. NULL: the state. It excludes resume, because it
     * does not make a state; the tree may be loaded, and given to the run.
     */
    const pith_function *save_part PITH_DEFAULT;
    /**
     * Options of each save; NULL: the defaults. Their step must be 0, because a
     * checkpoint stores the number of its state. A background save is complete when the
     * run returns.
     */
    const pith_save_options *save_options PITH_DEFAULT;
    /**
     * Number of steps between saves, counted from first_step; 0: no periodic save. The
     * last state is always saved.
     */
    int64_t save_every PITH_DEFAULT;
    /** Save also after this time in seconds; 0: no. */
    double save_every_seconds PITH_DEFAULT;
    /**
     * Log for log_row and for rows that the callback adds. Its rows are on the disk
     * before a checkpoint is.
     */
    pith_run_log *log PITH_DEFAULT;
    /**
     * Function from the state to a record of scalars. Each step adds a row to `log` with
     * the values by name. Leaves are bool, integers and floats of rank 0. Statics are
     * numbers. u64 values above INT64_MAX are rounded to f64. Rows that the log already
     * has are not written again. It requires `log`.
     *
     * @par Errors
     * PITH_E_ARG: the result is another kind of tree.
     */
    const pith_function *log_row PITH_DEFAULT;
    /** A row at steps that are multiples; requires log_row; 0: 1. */
    int64_t log_every PITH_DEFAULT;
    /**
     * Stream for progress: a progress bar on a terminal, else one line every
     * progress_seconds. NULL: no progress.
     */
    FILE *progress PITH_DEFAULT;
    double progress_seconds PITH_DEFAULT; /**< seconds between lines; 0: 30 */
    /**
     * Path of a JSON file with step, rate, time left, memory, capacities, repairs, last
     * save and outcome. Capacities are sizes by path: sizes named by extents of the
     * state, and sizes behind capacities of a recent step. The file is replaced
     * atomically about once per second and at the end of the run. NULL: no file. On
     * several ranks rank 0 writes it, and others need not have the path.
     */
    const char *status_file PITH_DEFAULT;
    /** Called before the first step and after steps. */
    pith_run_callback each PITH_DEFAULT;
    /**
     * Call `each` if the number of the step is a multiple; 0: 1. `each` is also called
     * before the first step, after the last step, and at an end by `until`.
     */
    int64_t each_every PITH_DEFAULT;
    int64_t max_tries PITH_DEFAULT; /**< see pith_propagate_options.max_tries */
    /**
     * See pith_propagate_options.check_every. States are checked before they are reported
     * or saved.
     */
    int64_t check_every PITH_DEFAULT;
    pith_repair_callback repaired PITH_DEFAULT; /**< called for each repair */
    void *closure PITH_DEFAULT;                 /**< argument of each and of repaired */
    /** Receives the last committed state in @p s, even if the run fails. */
    const void **last PITH_DEFAULT;
    /** Receives the time of the steps in seconds, without saves and callbacks. */
    double *seconds PITH_DEFAULT;
} pith_run_options;

PITH_BEGIN

/**
 * Run a step repeatedly: state = step(state). The options come last:
 *
 *     pith_run(s, Sim, step, sim, &(pith_run_options){.steps = 100, .save = "sim.json"})
 *
 * Each step is attempted as by pith_propagate: its checks are collected, failures are
 * repaired, and the step is repeated. Only committed states are saved or reported. A
 * failed step changes nothing: the scope carries its error with the number of the step,
 * and options->last the state before it.
 *
 * The result of a step has the nodes, dtypes and ranks of the state. Its extents also
 * equal those of the state unless a static changes with them.
 *
 * If the scope's mesh has several ranks, all of them make the call with the same options.
 * A request, signal or timer of one ends or saves the run on all, at one step. Rank 0
 * writes the log, progress and the status file. A sharded tree is saved by all ranks
 * (shard.h); of another one rank 0 saves what must be the same on all ranks
 * (PITH_E_DIVERGED). `each` is called on all ranks.
 *
 * @par Errors
 * PITH_E_DTYPE, PITH_E_STRUCTURE and PITH_E_SHAPE: the result of a step differs from the
 * state; the message has the path of the first such leaf. PITH_E_ARG, before the first
 * step: an option is negative, conflicts with another option, or requires a missing
 * option; the step, until or log_row is no function of one tree. PITH_E_OVERFLOW:
 * first_step plus steps overflows. PITH_E_TYPE: the state is no T. PITH_E_IO: no
 * checkpoint can be written at options.save. PITH_E_UNSUPPORTED: the system rejects
 * signal handlers. PITH_E_TRACED: a function is traced. Also all errors of
 * pith_propagate.
 *
 * @return The final state, owned by @p s; the type's nil record on failure.
 */
#define pith_run(s, T, step, state, ...)                                                 \
    ((const T *)pith_run_any((s), T##_pith_type(), (step), (1 ? (state) : (const T *)0), \
                             __VA_ARGS__))
/**
 * Get the end of the last pith_run in @p s; PITH_RUN_NONE before the first run. A run
 * rejected for its arguments, or for an earlier error of @p s, has the reason
 * PITH_RUN_FAILED.
 */
PITH_API pith_run_end pith_run_outcome(const pith_scope *s);
/**
 * Request a save or a stop of the runs of a runtime.
 *
 * The call is safe in signal handlers and in any thread while @p rt is open. All current
 * runs obey; if there is none, the next run does. Such an end is no error. A run without
 * options.save saves nothing.
 *
 * @param what PITH_RUN_SAVE, PITH_RUN_STOP, or both combined by |.
 */
PITH_API void pith_run_request(pith_runtime *rt, unsigned what);
/**
 * Run a step repeatedly, untyped; see pith_run for behaviour and errors.
 *
 * @param type Type of the state; NULL: any tree, and the result is NULL on failure.
 */
PITH_API const void *pith_run_any(pith_scope *s,
                                  const pith_type *type,
                                  const pith_function *step,
                                  const void *state,
                                  const pith_run_options *options);

/** Options of pith_propagate; zero is the default. */
typedef struct pith_propagate_options {
    int64_t steps PITH_DEFAULT; /**< number of steps; 0: 1 */
    /**
     * Number of the given state, for messages and repairs; -1: the next step prepares
     * step 0.
     */
    int64_t first_step PITH_DEFAULT;
    /** Largest number of repeats of one step; 0: 10; negative: no repeat. */
    int64_t max_tries PITH_DEFAULT;
    /** Number of steps per evaluation of the checks; 0: 1. */
    int64_t check_every PITH_DEFAULT;
    pith_repair_callback repaired PITH_DEFAULT; /**< called for each repair */
    void *closure PITH_DEFAULT;
} pith_propagate_options;

/**
 * Step a state of type T; if checks fail, repair the state and repeat the step:
 *
 *     sim = pith_propagate(s, Sim, step, sim, &(pith_propagate_options){.steps = 10});
 *
 * pith_propagate_any describes the attempts, the repairs and the errors.
 *
 * @return The final state, owned by @p s; the type's nil record on failure.
 */
#define pith_propagate(s, T, step, state, ...)                                           \
    ((const T *)pith_propagate_any((s), T##_pith_type(), (step),                         \
                                   (1 ? (state) : (const T *)0), __VA_ARGS__))
/**
 * Step a state; if checks fail, repair the state and repeat the step.
 *
 * Each attempt runs in a scope of its own. This scope collects the checks of the attempt
 * and hides them from outer collectors. A failed check is no error of @p s. A failed
 * attempt has no effect: its log rows are not written, and its result is dropped.
 *
 * After a failed attempt, all failures are examined. If one failure has no fix, its
 * assertion becomes the error, and no fix runs. Otherwise the fixes are applied in order
 * to the state before the step, each to the result of the previous one. The step is then
 * repeated on the result. The random keys are part of the state, so the repeat uses the
 * same keys. External side effects of a step (files, printing, variables) are not undone.
 *
 * With check_every = k, one wait evaluates the checks of k steps. If a step failed, the
 * steps before it are repeated from the last checked state. The failed step is then
 * repaired and repeated. The states equal those of check_every = 1, bit for bit.
 *
 * If the scope's mesh has several ranks, all of them make the call, and decide together
 * at the end of each attempt. A failed check is the same error on all ranks. All ranks
 * apply the same fixes, also where the check has passed: needs are the greatest of all
 * ranks, other fixes take the arguments of the first rank that failed. An error of one
 * rank is PITH_E_PEER on the others. Rank 0 calls `repaired`.
 *
 * @param type Type of the state; NULL: any tree.
 * @param step A function of one tree. For one step without @p type it may return any
 * tree.
 * @param state The first state; it remains unchanged.
 * @param options NULL for the defaults.
 *
 * @par Errors
 * A step or a fix adds its own errors. The first failed assertion without a fix is an
 * error with its code. So is the first assertion that still fails after the last repeat.
 * All these errors carry the number of the step. PITH_E_DTYPE, PITH_E_STRUCTURE and
 * PITH_E_SHAPE: the result differs from the state, as in pith_run. PITH_E_ARG: steps or
 * check_every is negative, or the step is no function of one tree. PITH_E_OVERFLOW:
 * first_step plus steps overflows. PITH_E_TYPE: the state has another type than @p type.
 * PITH_E_TRACED: a function is traced.
 *
 * @return The final state, owned by @p s. On failure the nil record of @p type, or NULL
 *        without a type.
 */
PITH_API const void *pith_propagate_any(pith_scope *s,
                                        const pith_type *type,
                                        const pith_function *step,
                                        const void *state,
                                        const pith_propagate_options *options);

/**
 * Apply a function to the part of a state at a lens, and replace the part by the result.
 *
 * Fixes of checks inside the call concern the part. They become fixes of the state, and
 * the lens precedes their paths. Calls may nest.
 *
 * @param function A function of one tree.
 *
 * @par Errors
 * PITH_E_ARG: @p function is no function of one tree. Also all errors of the lens and of
 * the function.
 *
 * @return A state like @p state, owned by @p s. On failure the nil record of its type, or
 *        NULL.
 */
#define pith_at_lens(s, lens, function, state)                                           \
    ((__typeof__(state))pith_at_lens_any((s), (lens), (function), (state)))
/** Apply a function to the part of a state at a lens, untyped; see pith_at_lens. */
PITH_API const void *pith_at_lens_any(pith_scope *s,
                                      const pith_lens *lens,
                                      const pith_function *function,
                                      const void *state);

/** Options of pith_bench; zero is the default. */
typedef struct pith_bench_options {
    int repeats PITH_DEFAULT; /**< number of samples, at most 1,000; 0: 15 */
    /** Minimum time of one sample, finite; calls are repeated to reach it. 0: 0.01. */
    double sample_seconds PITH_DEFAULT;
    /**
     * Bytes moved by one call, for bytes_per_second; 0: the bytes of arguments and
     * result.
     */
    size_t bytes PITH_DEFAULT;
} pith_bench_options;

/** Result of pith_bench: seconds per call, the wait for the device included. */
typedef struct pith_bench_result {
    double median, least, greatest;
    double spread;           /**< interquartile range divided by the median */
    double bytes_per_second; /**< at the median */
    int64_t calls;           /**< number of calls per sample */
    int repeats;
} pith_bench_result;

/**
 * Measure the time of a function over trees.
 *
 * Each sample is a batch of calls with one wait. A first batch for warm-up is not
 * counted.
 *
 * If the function makes collectives, all ranks make the call with the same repeats. They
 * make as many calls as the rank that needs most of them for a sample.
 *
 * @par Errors
 * PITH_E_ARG: @p function is no function, or an option is out of range. PITH_E_TRACED: a
 * function is traced. Also all errors of pith_call.
 *
 * @return The result; all zero on failure.
 */
PITH_API pith_bench_result pith_bench(pith_scope *s,
                                      const pith_function *function,
                                      int64_t count,
                                      const void *const *arguments,
                                      const pith_bench_options *options);

/** Options of pith_check_gradient; zero is the default. */
typedef struct pith_gradient_check {
    /** 1: first derivatives; 2: second derivatives too, those of the gradient. 0: 1. */
    int order PITH_DEFAULT;
    /** Relative tolerance, of the largest derivative in a leaf of the value. 0: by dtype,
     * 1e-7 (f64), 1e-3 (f32), 3e-2 (f16), 1e-1 (bf16). */
    double rtol PITH_DEFAULT;
    double atol PITH_DEFAULT; /**< absolute tolerance; 0: none */
    /** Step of the differences for elements of size 1, reduced to a power of two. It is
     * smaller for a leaf of smaller elements. 0: by dtype, 2^-11 (f64), 2^-6 (f32), 2^-3
     * (f16), 2^-2 (bf16). */
    double step PITH_DEFAULT;
    /** Key of the random directions. NULL: that of seed 0. */
    const pith_array *key PITH_DEFAULT;
    /** Selection and other options of the derivatives; NULL: argument 0. */
    const pith_derive_options *derive PITH_DEFAULT;
} pith_gradient_check;

/**
 * Check the derivatives of a function at its arguments: a test of rules, of kernels with
 * rules, and of functions with pith_stop_gradient.
 *
 * Each selected float leaf moves alone, along a random direction. The tangent of the
 * value by forward mode is compared with central differences of two steps, extrapolated
 * (Richardson). Reverse mode is compared with forward mode: the gradient times the
 * direction, and a random cotangent times the tangent. The function is called four times
 * for each leaf. The bound of differences is rtol, atol, and the rounding of the value
 * divided by the step. The bound of products is rtol of the sum of their magnitudes, and
 * atol.
 *
 * Differences belong to a smooth function. At a point with a kink within the step they
 * differ from any derivative, and the message says so; a smaller step or another point
 * helps.
 *
 * Arguments and value may have sharded leaves (shard.h). Then, and if the function makes
 * collectives, all ranks of the mesh make the check together: they take the least of
 * their steps, products are sums over the arrays that each rank has for itself, and all
 * ranks have the error of the worst comparison.
 *
 * @return Whether the check passed.
 *
 * @par Errors
 * PITH_E_CHECK: a derivative is wrong: the path is that of the selected leaf with the
 * largest error relative to its bound, and the message has both numbers and the bound.
 * PITH_E_ARG: an option is invalid. PITH_E_STRUCTURE: the structure of the value depends
 * on the arguments. PITH_E_TRACED: a function is traced. Also all errors of pith_vjp and
 * pith_jvp, and with order 2 of pith_grad.
 */
PITH_API bool pith_check_gradient(pith_scope *s,
                                  const pith_function *function,
                                  int64_t count,
                                  const void *const *arguments,
                                  const pith_gradient_check *options);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_run_any(s, ...)        pith_run_any(PITH_AT(s), __VA_ARGS__)
#    define pith_propagate_any(s, ...)  pith_propagate_any(PITH_AT(s), __VA_ARGS__)
#    define pith_at_lens_any(s, ...)    pith_at_lens_any(PITH_AT(s), __VA_ARGS__)
#    define pith_bench(s, ...)          pith_bench(PITH_AT(s), __VA_ARGS__)
#    define pith_check_gradient(s, ...) pith_check_gradient(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
