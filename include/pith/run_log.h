/**
 * @file
 * Logs of runs: scalars by step, one JSON object per line.
 *
 *     pith_run_log *log = pith_run_log_open(s, "melt.jsonl", NULL);
 *     pith_run_log_add(s, log, step, PITH_LOG_ROW(PITH_LOG_F64("energy", energy),
 *                                                 PITH_LOG_I64("capacity", capacity)));
 *
 * writes {"step":100,"energy":-4.25,"capacity":160}. Floats are the shortest decimals
 * that read back exactly. A run that resumes from a checkpoint truncates the log to the
 * checkpoint's step, so no row occurs twice.
 */
#ifndef PITH_RUN_LOG_H
#define PITH_RUN_LOG_H

#include <pith/tree.h>

/** A log open for writing, owned by the scope of pith_run_log_open. */
typedef struct pith_run_log pith_run_log;

/** A named scalar of a row; PITH_LOG_F64 and PITH_LOG_I64 make it. */
typedef struct pith_run_log_value {
    const char *name; /**< UTF-8, 1 to 255 bytes; "step" is reserved */
    bool is_integer;
    int64_t i64; /**< value if is_integer */
    double f64;  /**< value otherwise */
} pith_run_log_value;
#define PITH_LOG_F64(name_, value)                                                       \
    { .name = (name_), .f64 = (value) }
#define PITH_LOG_I64(name_, value)                                                       \
    { .name = (name_), .is_integer = true, .i64 = (value) }
/** Make a row: PITH_LOG_ROW(PITH_LOG_F64("energy", e), PITH_LOG_I64("atoms", n)). */
#define PITH_LOG_ROW(...)                                                                \
    ((const pith_run_log_value[]){__VA_ARGS__, PITH_LOG_I64(NULL, 0)})

/** Options of pith_run_log_open; zero is the default. */
typedef struct pith_run_log_options {
    /**
     * Keep the rows up to and including resume_step. Later rows are cut off at the first
     * use of the log. A pith_run with .resume uses the step of its checkpoint instead.
     * Without this option, an existing log is replaced.
     */
    bool resume PITH_DEFAULT;
    /** The step of the state that the run starts from. */
    int64_t resume_step PITH_DEFAULT;
} pith_run_log_options;

PITH_BEGIN

/**
 * Open a log for writing, and create the file if it does not exist.
 *
 * An incomplete last row of a killed process is cut off. A file that is no log, or that
 * another process or log writes, is an error and remains unchanged.
 *
 * If the scope's mesh has several ranks, all of them make the call. Rank 0 has the file;
 * the logs of the others write nothing.
 *
 * @param options NULL for the defaults.
 *
 * @par Errors
 * PITH_E_IO: the system reported an error, or another process or log writes the file.
 * PITH_E_ARG: @p path is NULL, or resume_step is negative. PITH_E_FORMAT: the file is no
 * log; the message has the line.
 *
 * @return The log, owned by @p s, or NULL. The close of @p s closes it.
 */
PITH_API pith_run_log *
pith_run_log_open(pith_scope *s, const char *path, const pith_run_log_options *options);
/**
 * Get the step of the last written row; -1 if there is no row or @p log is no open log.
 */
PITH_API int64_t pith_run_log_last_step(const pith_run_log *log);
/**
 * Append a row. A failure appends nothing.
 *
 * The row survives a kill of the process once the call returns. It survives a power
 * failure after pith_run_log_sync. If a step of pith_run or pith_propagate adds rows to a
 * log from outside the step, the rows are written when the step is committed. Rows of a
 * failed attempt are never written.
 *
 * NaN and infinities are written as the texts "NaN", "Infinity" and "-Infinity".
 *
 * @param step 0 or more, and above the step of the previous row.
 * @param row Values, terminated by a value with the name NULL; see PITH_LOG_ROW.
 *
 * @par Errors
 * PITH_E_ARG: the log is not open, or the step or a name is invalid. PITH_E_IO: the file
 * cannot be written.
 *
 * @return Whether the row was added.
 */
PITH_API bool pith_run_log_add(pith_scope *s,
                               pith_run_log *log,
                               int64_t step,
                               const pith_run_log_value *row);
/**
 * Wait until all rows are on the disk. pith_run does so before it saves; see
 * pith_run_options.log.
 *
 * @par Errors
 * PITH_E_ARG: the log is not open. PITH_E_IO: the file cannot be written.
 *
 * @return Whether all rows are on the disk.
 */
PITH_API bool pith_run_log_sync(pith_scope *s, pith_run_log *log);
/**
 * Read a log as a dict of columns, each an array [rows].
 *
 * "step" is i64. Another column is i64 if every row has an integer of this name, else
 * f64. Rows without the name give NaN. The texts of NaN and infinities give these values.
 * An incomplete last row is skipped, so a log can be read during a run.
 *
 * @par Errors
 * PITH_E_IO: the file cannot be read. PITH_E_FORMAT: the file is no log; the message has
 * the line.
 *
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
