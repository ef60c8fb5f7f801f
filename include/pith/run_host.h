/**
 * @file
 * Running a step over chunks of runs that lie in the host's memory: state and result need
 * not fit in that of the device.
 *
 * Included by run.h.
 */
#ifndef PITH_RUN_HOST_H
#define PITH_RUN_HOST_H

#include <pith/memory_host.h>
#include <pith/run_chunked.h>

/**
 * A tree whose leaves lie in the host's memory. Structures say nothing about the shapes
 * of leaves: that of one run is that of all.
 */
typedef struct pith_host_tree {
    const pith_treedef *def;              /**< its structure */
    int64_t count;                        /**< of leaves */
    const pith_host_array *const *leaves; /**< in the order of pith_tree_flatten */
} pith_host_tree;

PITH_BEGIN

/** A tree's leaves, copied to host arrays. Waits.
 * @param options Of pith_host_make, but for `like`; NULL for the defaults.
 * @return The host tree, owned by @p s, or NULL. */
PITH_API const pith_host_tree *
pith_host_tree_copy(pith_scope *s, const void *tree, const pith_host_options *options);
/** A tree with copies of host arrays as leaves; NULL on failure. */
PITH_API const void *pith_host_tree_load(pith_scope *s, const pith_host_tree *tree);

/**
 * As pith_run_chunked, of a state in the host's memory, with a result there. The device
 * has one chunk at a time, with the leaves that are whole; all steps of a chunk are run
 * before the next one comes.
 *
 * Each chunk is propagated by itself (pith_propagate): fixes get the chunk, and must not
 * change the structure of one chunk alone. The state stays as it is.
 *
 * options->whole is called with NULL for leaves of the state, which are no arrays yet.
 *
 * Errors: as of pith_run_chunked; PITH_E_ARG for leaves that are no host arrays of what
 * they say; and those of pith_host_make for the result.
 *
 * @param host_options How the result's leaves are made, as of pith_host_tree_copy.
 * @return The state after the steps, owned by @p s, or NULL.
 */
PITH_API const pith_host_tree *
pith_run_chunked_host(pith_scope *s,
                      const pith_function *step,
                      const pith_host_tree *state,
                      int axis,
                      const pith_chunked_options *options,
                      const pith_host_options *host_options);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_host_tree_copy(s, ...)   pith_host_tree_copy(PITH_AT(s), __VA_ARGS__)
#    define pith_host_tree_load(s, ...)   pith_host_tree_load(PITH_AT(s), __VA_ARGS__)
#    define pith_run_chunked_host(s, ...) pith_run_chunked_host(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
