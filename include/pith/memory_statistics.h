/**
 * @file
 * What memory is used for: counts of instances and scopes, tables, logs of events.
 *
 * Included by memory.h.
 */
#ifndef PITH_MEMORY_STATISTICS_H
#define PITH_MEMORY_STATISTICS_H

#include <pith/base.h>
#include <pith/memory_request.h>
#include <stdio.h>

/** Blocks of memory of the device, and their bytes: those of arrays (small arrays of one
 * scope may share a block) and of instances' allocations. */
typedef struct pith_memory_statistics {
    size_t current;        /**< bytes now */
    size_t peak;           /**< the most bytes at one time */
    size_t total;          /**< bytes ever allocated */
    int64_t current_count; /**< blocks now */
    int64_t peak_count;    /**< the most blocks at one time */
    int64_t total_count;   /**< blocks ever allocated */
} pith_memory_statistics;

PITH_BEGIN

/** What counts for an instance; all zero for what is no open instance. */
PITH_API pith_memory_statistics pith_instance_statistics(const pith_instance *instance);

/**
 * Count what is made in a scope, and in children opened from now on, by itself as well.
 * Counts may be pushed on top of each other; one that is left is popped when the scope
 * closes. PITH_E_TRACED while a function is traced.
 */
PITH_API bool pith_memory_push(pith_scope *s);
/**
 * End the count that was pushed last on the scope. What it counted and is still there
 * stays where it is.
 *
 * Errors: PITH_E_ARG where none was pushed; PITH_E_SCOPE where a child that was opened
 * meanwhile is still open.
 * @return What was counted; all zero on failure.
 */
PITH_API pith_memory_statistics pith_memory_pop(pith_scope *s);
/** The innermost count that a scope's arrays go to: pushed on it or on a scope around
 * it; else that of its instance. All zero for what is no open scope. */
PITH_API pith_memory_statistics pith_scope_statistics(const pith_scope *s);

/** Everything as JSON: the device's bytes, and every instance with its share, group and
 * statistics. Owned by @p s; NULL on failure. */
PITH_API const char *pith_memory_json(pith_scope *s);
/** The same as a table. @p out NULL: stdout. */
PITH_API void pith_memory_print(const pith_runtime *rt, FILE *out);

/**
 * Print how many bytes in how many blocks are held, by the place in the program that made
 * them, most bytes first; call it where nothing should be left. Beyond 255 places the
 * rest is one row, "elsewhere". Places are known in debug
 * builds of the library alone: in others, and for what was made without a call site, they
 * are "unknown". In debug builds pith_close tells the log hook of what is left when all
 * scopes are closed.
 *
 * @param out NULL: nothing is printed.
 * @return The number of blocks.
 */
PITH_API int64_t pith_memory_leaks(pith_runtime *rt, FILE *out);

/**
 * Write every allocation and every free from now on to a file of comma-separated values:
 * seconds, action (allocate, free), address, bytes, instance, and the bytes that the
 * device holds afterwards.
 *
 * @param path The file is replaced; NULL: write no more. A log that is open already is
 * closed.
 * Errors: PITH_E_IO with the path if it cannot be opened, or without a path if the log
 * that is closed could not be written in full.
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
