/**
 * @file
 * Memory statistics: counts of instances and scopes, tables, and logs of events.
 *
 * Included by memory.h.
 */
#ifndef PITH_MEMORY_STATISTICS_H
#define PITH_MEMORY_STATISTICS_H

#include <pith/base.h>
#include <pith/memory_request.h>
#include <stdio.h>

/**
 * Counts of device memory in blocks and bytes. Blocks hold arrays and allocations of
 * instances. Small arrays of one scope may share a block.
 */
typedef struct pith_memory_statistics {
    size_t current;        /**< bytes in use */
    size_t peak;           /**< largest number of bytes in use */
    size_t total;          /**< sum of all bytes allocated */
    int64_t current_count; /**< blocks in use */
    int64_t peak_count;    /**< largest number of blocks in use */
    int64_t total_count;   /**< number of all blocks allocated */
} pith_memory_statistics;

PITH_BEGIN

/** Get the counts of an instance; all zero if @p instance is no open instance. */
PITH_API pith_memory_statistics pith_instance_statistics(const pith_instance *instance);

/**
 * Start an additional count of the memory made in a scope and in children opened later.
 * Counts nest. A count without a pop ends with the scope.
 *
 * @par Errors
 * PITH_E_TRACED: a function is traced.
 *
 * @return Whether the count was started.
 */
PITH_API bool pith_memory_push(pith_scope *s);
/**
 * End the last count that was pushed on a scope. Memory in the count that is still in use
 * remains valid.
 *
 * @par Errors
 * PITH_E_ARG: no count was pushed. PITH_E_SCOPE: a child scope opened after the push is
 * still open.
 *
 * @return The count; all zero on failure.
 */
PITH_API pith_memory_statistics pith_memory_pop(pith_scope *s);
/**
 * Get the innermost count of a scope's arrays. It was pushed on the scope or on an
 * enclosing scope. Without such a count, the result is that of the scope's instance. All
 * zero if @p s is no open scope.
 */
PITH_API pith_memory_statistics pith_scope_statistics(const pith_scope *s);

/**
 * Describe all memory as JSON: the device's bytes, and every instance with its share,
 * group and statistics.
 *
 * @return The text, owned by @p s, or NULL.
 */
PITH_API const char *pith_memory_json(pith_scope *s);
/**
 * Print the content of pith_memory_json as a table.
 *
 * @param out NULL: stdout.
 */
PITH_API void pith_memory_print(const pith_runtime *rt, FILE *out);

/**
 * Print the live bytes and blocks by the call site that made them, most bytes first. Call
 * it where no memory should be in use.
 *
 * More than 255 sites are combined in one row "elsewhere". Only debug builds of the
 * library record sites. In other builds, and for memory made without a call site, the
 * site is "unknown". In debug builds, pith_close reports memory that remains after all
 * scopes are closed to the log hook.
 *
 * @param out NULL: print nothing.
 *
 * @return The number of blocks.
 */
PITH_API int64_t pith_memory_leaks(pith_runtime *rt, FILE *out);

/**
 * Log every later allocation and free to a file of comma-separated values. The columns
 * are seconds, action (allocate, free), address, bytes, instance, and the device's bytes
 * in use after the action. An open log is closed first.
 *
 * @param path The file is replaced. NULL: stop logging.
 *
 * @par Errors
 * PITH_E_IO with a path: the file cannot be opened. PITH_E_IO without a path: the closed
 * log was not written completely.
 *
 * @return Whether no error occurred.
 */
PITH_API bool pith_memory_log(pith_scope *s, const char *path);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_memory_push(s)     pith_memory_push(PITH_AT(s))
#    define pith_memory_pop(s)      pith_memory_pop(PITH_AT(s))
#    define pith_memory_json(s)     pith_memory_json(PITH_AT(s))
#    define pith_memory_log(s, ...) pith_memory_log(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
