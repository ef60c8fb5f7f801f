/**
 * @file
 * Run a step over chunks of a state, if memory is too small for the whole state.
 *
 * Included by run.h.
 */
#ifndef PITH_RUN_CHUNKED_H
#define PITH_RUN_CHUNKED_H

#include <pith/memory.h>
#include <pith/memory_hint.h>
#include <pith/tree.h>

/** Options of pith_run_chunked; zero is the default. */
typedef struct pith_chunked_options {
    int64_t steps PITH_DEFAULT; /**< number of steps; 0: 1 */
    /** Largest number of runs per chunk; 0: as many as fit. */
    int64_t length PITH_DEFAULT;
    /**
     * Memory of a step in addition to its chunk and result; a sample is a run. Zero: as
     * much as the chunk and its result together.
     */
    pith_memory_hint hint PITH_DEFAULT;
    /**
     * Whether a leaf is not chunked although it has the axis, such as a table. The hook
     * receives leaves of the state and of the result. NULL: all leaves with the axis are
     * chunked.
     */
    bool (*whole)(const char *path, const pith_array *leaf, void *closure) PITH_DEFAULT;
    void *closure PITH_DEFAULT;
    int64_t max_tries PITH_DEFAULT; /**< see pith_propagate_options.max_tries */
    /**
     * Receives the split of the last step, unless the call fails: the number of chunks
     * and the largest number of runs in one.
     */
    pith_chunks *chunks PITH_DEFAULT;
} pith_chunked_options;

PITH_BEGIN

/**
 * Run a step over chunks of a state's runs:
 *
 *     pith_run_chunked(s, Sweep, step, sweep, 0, NULL)
 *
 * The runs lie along @p axis of the leaves; a negative axis counts from the last. A leaf
 * without the axis, or selected by options->whole, is complete in every chunk. All other
 * leaves have the same number of runs along the axis.
 *
 * The result for a run must depend only on this run and on the complete leaves. The
 * result then equals that of the step on the whole state for any split, bit for bit
 * except for the bits of NaNs. A complete leaf of the result must be equal in every
 * chunk. The library verifies this.
 *
 * Chunks have equal length, except for a shorter last one. The length is the largest that
 * fits the memory available to the scope after a reservation for the whole result. If
 * memory still runs out, the remaining runs are split into chunks of half the length
 * (PITH_WARNING_SHRUNK). A single chunk is a plain call.
 *
 * Each step is attempted as by pith_propagate, with the checks of all chunks together.
 * Fixes receive the whole state, and all chunks are repeated.
 *
 * @par Errors
 * PITH_E_ARG: steps or length is negative, or the step is no function of one tree.
 * PITH_E_TYPE: the state is no T. PITH_E_SHAPE: a leaf has another number of runs, with
 * its path, or no leaf has the axis. PITH_E_STRUCTURE and PITH_E_DTYPE: chunks give
 * different trees. PITH_E_CHECK: a complete leaf of the result differs between chunks.
 * PITH_E_MEMORY: one run does not fit. PITH_E_TRACED: a function is traced. Also all
 * errors of pith_propagate.
 *
 * @return The state after the steps, owned by @p s; the type's nil record on failure.
 */
#define pith_run_chunked(s, T, step, state, axis, ...)                                   \
    ((const T *)pith_run_chunked_any((s), T##_pith_type(), (step),                       \
                                     (1 ? (state) : (const T *)0), (axis), __VA_ARGS__))
/**
 * Run a step over chunks of a state's runs, untyped; see pith_run_chunked.
 *
 * @param type Type of the state; NULL: any tree, and the result is NULL on failure.
 */
PITH_API const void *pith_run_chunked_any(pith_scope *s,
                                          const pith_type *type,
                                          const pith_function *step,
                                          const void *state,
                                          int axis,
                                          const pith_chunked_options *options);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_run_chunked_any(s, ...) pith_run_chunked_any(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
