/**
 * @file
 * Drivers: running a step many times, and timing it.
 */
#ifndef PITH_RUN_H
#define PITH_RUN_H

#include <pith/assert.h>
#include <pith/checkpoint.h>
#include <pith/lens.h>
#include <pith/run_advance.h>
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

/** Why a run ended. */
typedef enum pith_run_reason {
    PITH_RUN_NONE,     /**< no run has ended in the scope */
    PITH_RUN_FINISHED, /**< all steps are done */
    PITH_RUN_UNTIL,    /**< `until` is true for the state */
    PITH_RUN_TIME,     /**< `until_seconds` have passed */
    PITH_RUN_REQUEST,  /**< pith_run_request asked for it */
    PITH_RUN_SIGNAL,   /**< a signal asked for it */
    PITH_RUN_FAILED    /**< the scope carries the error */
} pith_run_reason;

/** How a run ended. */
typedef struct pith_run_end {
    pith_run_reason reason;
    int signal;   /**< of PITH_RUN_SIGNAL: SIGTERM or SIGINT; else 0 */
    int64_t step; /**< number of the last committed step */
} pith_run_end;

/** What pith_run_request asks for; to be combined by |. */
enum {
    PITH_RUN_SAVE = 1, /**< save the next committed state, and go on */
    PITH_RUN_STOP = 2  /**< finish the call in progress, save, and return */
};

/** How to run; everything zero is the default. */
typedef struct pith_run_options {
    /** How many; 0: none. With resume, those done before the resume are included. */
    int64_t steps PITH_DEFAULT;
    /** Run that many steps as one compiled loop, which pith builds from the step; results
     * are those of single steps. The step, until and log_row must be functions that
     * pith_jit can compile. The loop is shorter before a state that is shown or saved, a
     * row with log_every above 1, and the last step. 0: the step is called as it is. */
    int64_t steps_per_launch PITH_DEFAULT;
    /** Steps that one call of the step does, as one with a pith_fori in it: steps,
     * save_every and each_every are multiples of it. 0: 1. It excludes steps_per_launch.
     */
    int64_t steps_per_call PITH_DEFAULT;
    /** Number of the state that is given, 0 or more: steps done before. With resume, the
     * number of the state from which the whole run began. */
    int64_t first_step PITH_DEFAULT;
    /** Function from the state to a bool of rank 0, evaluated with the checks: the run
     * ends at the first step for which it is true, whatever check_every and
     * steps_per_launch are. The given state counts if its number is above 0. Any other
     * result is PITH_E_ARG. */
    const pith_function *until PITH_DEFAULT;
    /** End the run at the first call that is done after this time. 0: no limit. */
    double until_seconds PITH_DEFAULT;
    /** NaN or an infinity in a float leaf of the state is PITH_E_CHECK with path, index
     * and step. One flag is reduced on the device; the state before is kept. */
    bool finite PITH_DEFAULT;
    /** While the run lasts, SIGUSR1 saves; SIGTERM and SIGINT finish the call in
     * progress, save, and return. After the first of these two, another one acts as it
     * did before the run. Handlers are of the process; they are put back when the last
     * run that has this option ends. */
    bool signals PITH_DEFAULT;
    /** Load the newest valid checkpoint of `save` if there is one, begin at its step, and
     * cut `log` back to it. The given state is used if there is none, and states its
     * dtypes and nodes otherwise. `each` is not called for the loaded state. */
    bool resume PITH_DEFAULT;
    /** Path of the checkpoint, or name of the series. NULL: the run saves nothing, and
     * save_options, save_every, save_every_seconds and resume must be zero. */
    const char *save PITH_DEFAULT;
    /** How to save; NULL: the defaults. Its step must be 0: a checkpoint has the number
     * of its state. A background save is complete when the run returns. */
    const pith_save_options *save_options PITH_DEFAULT;
    int64_t save_every PITH_DEFAULT; /**< steps between saves, counted from first_step; 0:
                                        none. The last state is saved always */
    double save_every_seconds PITH_DEFAULT; /**< save also after this time; 0: no */
    pith_run_log *log PITH_DEFAULT; /**< of log_row, and of what the callback logs: its
                                       rows are on the disk before a checkpoint is */
    /** Function from the state to a record of scalars: a row of `log` for each step, with
     * the values by name. Leaves are bool, integers and floats of rank 0, statics are
     * numbers; u64 above INT64_MAX is rounded to f64. Rows that the log has already are
     * not written again. Needs log. Any other result is PITH_E_ARG. */
    const pith_function *log_row PITH_DEFAULT;
    int64_t log_every PITH_DEFAULT; /**< rows at the steps that are multiples; needs
                                       log_row; 0: 1 */
    /** A progress bar if this is a terminal, else a line every progress_seconds. NULL:
     * none. */
    FILE *progress PITH_DEFAULT;
    double progress_seconds PITH_DEFAULT; /**< between lines; 0: 30 */
    /** JSON file with step, rate, time left, memory, capacities, repairs, last save and
     * outcome. Capacities are the sizes, by path, that extents of the state name or that
     * capacities of a recent step stand for. It is replaced atomically about once a
     * second, and when the run ends. NULL: none. */
    const char *status_file PITH_DEFAULT;
    pith_run_callback each
        PITH_DEFAULT;                 /**< called before the first step and after steps */
    int64_t each_every PITH_DEFAULT;  /**< called if the number of the step is a multiple;
                                         0: 1. Also before the first step, after the last
                                         one, and at the end by until */
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
 * The result of a step has the nodes, dtypes and ranks of the state, and its extents too
 * unless a static changes with them. PITH_E_DTYPE, PITH_E_STRUCTURE and PITH_E_SHAPE name
 * the path of the first leaf that differs.
 *
 * Errors of arguments, before the first step: PITH_E_ARG naming an option that is
 * negative, does not fit another one, or needs one that is missing; a step, until or
 * log_row that is no function of one tree. PITH_E_OVERFLOW if first_step and steps
 * overflow. PITH_E_TYPE if the state is no T. PITH_E_IO if no checkpoint can be written
 * at options.save. PITH_E_UNSUPPORTED if the system refuses handlers of signals.
 * PITH_E_TRACED.
 *
 * @return The final state, owned by @p s; the type's nil record on failure.
 */
#define pith_run(s, T, step, state, ...)                                                 \
    ((const T *)pith_run_any((s), T##_pith_type(), (step), (1 ? (state) : (const T *)0), \
                             __VA_ARGS__))
/** How the last pith_run in @p s ended; PITH_RUN_NONE before the first one. One that was
 * refused, for its arguments or an error of @p s before it, has failed. */
PITH_API pith_run_end pith_run_outcome(const pith_scope *s);
/**
 * Ask the runs of a runtime to save or to stop: PITH_RUN_SAVE | PITH_RUN_STOP.
 *
 * Safe in signal handlers and from any thread while @p rt is open. All runs in progress
 * obey; if there is none, the next one does. Ending so is no error. A run without
 * options.save has nothing to save.
 */
PITH_API void pith_run_request(pith_runtime *rt, unsigned what);
/** As pith_run; @p type NULL: any tree, and NULL on failure. */
PITH_API const void *pith_run_any(pith_scope *s,
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
 * PITH_E_DTYPE, PITH_E_STRUCTURE or PITH_E_SHAPE if the result is not like the state, as
 * in pith_run. One step of pith_propagate_any without a type may return any tree. Of
 * arguments: PITH_E_ARG for negative steps or check_every, or a step that is no function
 * of one tree; PITH_E_OVERFLOW if first_step and steps overflow; PITH_E_TYPE if the state
 * is no T; PITH_E_TRACED.
 * @return The final state, owned by @p s; on failure the type's nil record, and @p state
 * is as it was.
 */
#define pith_propagate(s, T, step, state, ...)                                           \
    ((const T *)pith_propagate_any((s), T##_pith_type(), (step),                         \
                                   (1 ? (state) : (const T *)0), __VA_ARGS__))
/** As pith_propagate; @p type NULL: any tree, and NULL on failure. */
PITH_API const void *pith_propagate_any(pith_scope *s,
                                        const pith_type *type,
                                        const pith_function *step,
                                        const void *state,
                                        const pith_propagate_options *options);

/**
 * Call a function on the part of a state that a lens finds, and give the state with the
 * part replaced by its result. Fixes of checks made in the call, which are of the part,
 * become fixes of the state; their paths get the lens in front. It nests.
 *
 * @param function A function of one tree; any other is PITH_E_ARG.
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
    int repeats PITH_DEFAULT;           /**< samples, 1,000 at most; 0: 15 */
    double sample_seconds PITH_DEFAULT; /**< least time of one sample, calls are repeated
                                           to reach it; finite; 0: 0.01 */
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
 * Errors: PITH_E_ARG (no function, options outside their ranges), PITH_E_TRACED, those of
 * pith_call.
 * @return All zero on failure; the scope carries the error.
 */
PITH_API pith_bench_result pith_bench(pith_scope *s,
                                      const pith_function *function,
                                      int64_t count,
                                      const void *const *arguments,
                                      const pith_bench_options *options);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_run_any(s, ...)       pith_run_any(PITH_AT(s), __VA_ARGS__)
#    define pith_propagate_any(s, ...) pith_propagate_any(PITH_AT(s), __VA_ARGS__)
#    define pith_at_lens_any(s, ...)   pith_at_lens_any(PITH_AT(s), __VA_ARGS__)
#    define pith_bench(s, ...)         pith_bench(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
