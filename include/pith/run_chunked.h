/**
 * @file
 * Running a step over chunks of its runs, where the memory does not do for all at once.
 *
 * Included by run.h.
 */
#ifndef PITH_RUN_CHUNKED_H
#define PITH_RUN_CHUNKED_H

#include <pith/memory.h>
#include <pith/memory_hint.h>
#include <pith/tree.h>

/** How to run in chunks; everything zero is the default. */
typedef struct pith_chunked_options {
    int64_t steps PITH_DEFAULT;  /**< how many; 0: 1 */
    int64_t length PITH_DEFAULT; /**< runs of a chunk at most; 0: as many as fit */
    /** What a step takes besides its chunk and the result, a sample being a run. Zero: as
     * much as the chunk and its result again. */
    pith_memory_hint hint PITH_DEFAULT;
    /** Whether a leaf of the state, or of the result, that has the axis is whole in every
     * chunk all the same: a table. NULL: none is. */
    bool (*whole)(const char *path, const pith_array *leaf, void *closure) PITH_DEFAULT;
    void *closure PITH_DEFAULT;
    int64_t max_tries PITH_DEFAULT; /**< as pith_propagate_options.max_tries */
    pith_chunks *chunks
        PITH_DEFAULT; /**< set, unless the call fails, to how the runs of the last
                         step were split: the number of chunks, the most runs of one */
} pith_chunked_options;

PITH_BEGIN

/**
 * Run a step over chunks of a state's runs, which lie along @p axis of its leaves
 * (negative: counted from the last): pith_run_chunked(s, Sweep, step, sweep, 0, NULL).
 *
 * A leaf that does not have the axis, or that options->whole names, is whole in every
 * chunk; all others have the same number of runs along it. What a step makes of a run
 * must depend on this run and on what is whole alone: the result is then that of the step
 * on the whole state, bit for bit (a NaN is a NaN), however the runs are split. So is a
 * leaf of the result that is whole: the same in every chunk, which is verified.
 *
 * Chunks are equal, but for a short last one, and as long as fits what the scope may
 * still allocate, the whole result having its place. Where memory is short all the same,
 * runs not yet done are split into chunks of half the length (PITH_WARNING_SHRUNK). One
 * chunk is a plain call.
 *
 * Each step is tried as pith_propagate does, checks of all chunks together: fixes get the
 * whole state, and all chunks are done again.
 *
 * Errors: PITH_E_ARG for negative steps or length, or a step that is no function of one
 * tree; PITH_E_TYPE if the state is no T; PITH_E_SHAPE with the path of a leaf that has
 * another number of runs, or where no leaf has the axis; PITH_E_STRUCTURE, PITH_E_DTYPE
 * where chunks give other trees;
 * PITH_E_CHECK where a whole leaf of the result differs between chunks; PITH_E_TRACED;
 * PITH_E_MEMORY; and those of pith_propagate.
 *
 * @return The state after the steps, owned by @p s; the type's nil record on failure.
 */
#define pith_run_chunked(s, T, step, state, axis, ...)                                   \
    ((const T *)pith_run_chunked_any((s), T##_pith_type(), (step),                       \
                                     (1 ? (state) : (const T *)0), (axis), __VA_ARGS__))
/** As pith_run_chunked; @p type NULL: any tree, and NULL on failure. */
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
