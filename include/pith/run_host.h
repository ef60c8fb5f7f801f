/**
 * @file
 * Run a step over chunks of a state in host memory. State and result may exceed the
 * memory of the device.
 *
 * Included by run.h.
 */
#ifndef PITH_RUN_HOST_H
#define PITH_RUN_HOST_H

#include <pith/memory_host.h>
#include <pith/run_chunked.h>

/**
 * A tree whose leaves lie in host memory. A treedef states no shapes of leaves, so the
 * structure of one run is also that of all runs.
 */
typedef struct pith_host_tree {
    const pith_treedef *def;              /**< structure of the tree */
    int64_t count;                        /**< number of leaves */
    const pith_host_array *const *leaves; /**< in the order of pith_tree_flatten */
} pith_host_tree;

PITH_BEGIN

/**
 * Copy the leaves of a tree to host arrays. The call waits for the device.
 *
 * @param options Options of pith_host_make without `like`; NULL for the defaults.
 *
 * @return The host tree, owned by @p s, or NULL.
 */
PITH_API const pith_host_tree *
pith_host_tree_copy(pith_scope *s, const void *tree, const pith_host_options *options);
/**
 * Copy a host tree to the device.
 *
 * @return The tree, owned by @p s, or NULL.
 */
PITH_API const void *pith_host_tree_load(pith_scope *s, const pith_host_tree *tree);

/**
 * Run a step over chunks of a state in host memory; the result is also in host memory.
 *
 * The rules of pith_run_chunked apply. The device holds one chunk at a time, and the
 * complete leaves. All steps of a chunk run before the next chunk is copied. @p state
 * remains unchanged.
 *
 * Each chunk is propagated separately (pith_propagate). Fixes receive the chunk and must
 * not change the structure of one chunk only. For leaves of the state, options->whole
 * receives NULL, because they are no device arrays yet.
 *
 * @param host_options Options of the result's leaves, as for pith_host_tree_copy.
 *
 * @par Errors
 * PITH_E_ARG: a leaf is no host array, or its dtype, shape or size is inconsistent. Also
 * all errors of pith_run_chunked, and of pith_host_make for the result.
 *
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
