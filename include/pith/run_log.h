/**
 * @file
 * Logs of runs: scalars by step, a JSON object a line, beside the checkpoints.
 *
 *     pith_run_log *log = pith_run_log_open(s, "melt.jsonl", NULL);
 *     pith_run_log_add(s, log, step, PITH_LOG_ROW(PITH_LOG_F64("energy", energy),
 *                                                 PITH_LOG_I64("capacity", capacity)));
 *
 * writes {"step":100,"energy":-4.25,"capacity":160}. Floats are the shortest decimals
 * that read back exactly. A run that goes on from a checkpoint cuts the file back to its
 * step, so that no row comes twice.
 */
#ifndef PITH_RUN_LOG_H
#define PITH_RUN_LOG_H

#include <pith/tree.h>

/** A log that is open to be written. It belongs to the scope that it was opened in. */
typedef struct pith_run_log pith_run_log;

/** A named scalar of a row; made by PITH_LOG_F64 and PITH_LOG_I64. */
typedef struct pith_run_log_value {
    const char *name; /**< UTF-8, 1 to 255 bytes, and not "step" */
    bool is_integer;
    int64_t i64; /**< where it is an integer */
    double f64;  /**< else */
} pith_run_log_value;
#define PITH_LOG_F64(name_, value)                                                       \
    { .name = (name_), .f64 = (value) }
#define PITH_LOG_I64(name_, value)                                                       \
    { .name = (name_), .is_integer = true, .i64 = (value) }
/** PITH_LOG_ROW(PITH_LOG_F64("energy", e), PITH_LOG_I64("atoms", n)) */
#define PITH_LOG_ROW(...)                                                                \
    ((const pith_run_log_value[]){__VA_ARGS__, PITH_LOG_I64(NULL, 0)})

/** Options of pith_run_log_open; zero is the default. */
typedef struct pith_run_log_options {
    /** Keep the rows up to and including resume_step; later ones are cut off when the log
     * is first used. A pith_run with .resume uses the step of its checkpoint instead.
     * Otherwise an existing log is replaced. */
    bool resume PITH_DEFAULT;
    int64_t resume_step
        PITH_DEFAULT; /**< the step of the state that the run goes on from */
} pith_run_log_options;

PITH_BEGIN

/**
 * Open a log to write rows. The file is made where there is none.
 *
 * What a killed process left of its last row is cut off. A file that is no log is left as
 * it is, and so is one that another process writes to: both are errors.
 *
 * Errors: PITH_E_IO (with the system's reason), PITH_E_FORMAT (no log; the line).
 * @return The log, owned by @p s, whose close closes it, or NULL.
 */
PITH_API pith_run_log *
pith_run_log_open(pith_scope *s, const char *path, const pith_run_log_options *options);
/** Step of the last row that was written; -1 where there is none, and where @p log is no
 * open log. */
PITH_API int64_t pith_run_log_last_step(const pith_run_log *log);
/**
 * Append a row: all of it, or an error and nothing.
 *
 * It survives a kill as soon as this returns, and a power cut after pith_run_log_sync.
 * Rows that a step of pith_run or pith_propagate adds to a log that was opened outside
 * are written when the step is committed; those of a try that fails never are.
 * @param step From 0 on, and above that of the row before.
 * @param row Values, the last one with the name NULL: PITH_LOG_ROW.
 * NaN and infinities are written as the texts "NaN", "Infinity" and "-Infinity".
 * Errors: PITH_E_ARG (the step, a name), PITH_E_IO.
 */
PITH_API bool pith_run_log_add(pith_scope *s,
                               pith_run_log *log,
                               int64_t step,
                               const pith_run_log_value *row);
/** Wait until all rows are on the disk. pith_run does so before it saves, see
 * pith_run_options.log. */
PITH_API bool pith_run_log_sync(pith_scope *s, pith_run_log *log);
/**
 * Read a log: a dict of columns, each an array [rows].
 *
 * "step" is i64. Other columns are i64 where every row has an integer of that name, and
 * else f64, with NaN where a row has none, and NaN and
 * infinities from their texts. An unfinished last row is passed over, so a
 * log can be read while it is written.
 *
 * Errors: PITH_E_IO, PITH_E_FORMAT (no log; the line).
 * @return The dict, owned by @p s, or NULL.
 */
PITH_API const pith_dict *pith_run_log_read(pith_scope *s, const char *path);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_run_log_open(s, ...) pith_run_log_open(PITH_AT(s), __VA_ARGS__)
#    define pith_run_log_add(s, ...)  pith_run_log_add(PITH_AT(s), __VA_ARGS__)
#    define pith_run_log_sync(s, ...) pith_run_log_sync(PITH_AT(s), __VA_ARGS__)
#    define pith_run_log_read(s, ...) pith_run_log_read(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
