/**
 * @file
 * Memory hints: estimates of the bytes that a computation takes per sample, and the
 * largest batch that fits a budget.
 *
 * A hint has two parts: bytes per sample, and persistent bytes that do not depend on the
 * number of samples. Hints of nodes combine to hints of whole functions. pith_fit_batch
 * computes a batch from a hint. pith_hint_measured corrects a hint by a measured run.
 *
 * Arithmetic is exact, and fractions of a byte are rounded up. On failure, or in a scope
 * with an error, a function returns a hint or number that fits no budget: all bits set.
 * pith_sample_of and pith_fit_batch return zeros instead.
 *
 * @par Errors
 * PITH_E_OVERFLOW: the result exceeds 64 bits. PITH_E_ARG: a count is negative.
 */
#ifndef PITH_MEMORY_HINT_H
#define PITH_MEMORY_HINT_H

#include <pith/derive.h>

/** Bytes of a computation. */
typedef struct pith_memory_hint {
    size_t per_sample PITH_DEFAULT; /**< for each sample of a batch */
    /** Independent of the number of samples: weights, lists. */
    size_t persistent PITH_DEFAULT;
} pith_memory_hint;

/**
 * Shape of a node's output for one sample: particle_depth axes over the particles, rank
 * axes of dim, and the features. For a depth of 2 and rank 1 the shape is [P, P, dim,
 * features].
 */
typedef struct pith_contract {
    int32_t rank PITH_DEFAULT;           /**< 0 scalars, 1 vectors, 2 matrices */
    int32_t particle_depth PITH_DEFAULT; /**< number of axes over the particles */
    int64_t dim PITH_DEFAULT;      /**< dimension of space; required if rank is not 0 */
    int64_t features PITH_DEFAULT; /**< 0: the node has no output */
    pith_dtype dtype PITH_DEFAULT; /**< PITH_DTYPE_NONE: f32 */
} pith_contract;

/** Known properties of one sample; zero is "unknown". */
typedef struct pith_sample {
    /**
     * Number of particles. An unknown number counts as 1, so a hint is then a lower
     * bound.
     */
    int64_t particles PITH_DEFAULT;
    /** Arity of interactions, 2 for pairs; for the caller's own hints. */
    int64_t arity PITH_DEFAULT;
    bool has_velocity PITH_DEFAULT; /**< velocities are given */
    bool has_mask PITH_DEFAULT;     /**< a mask of particles is given */
} pith_sample;

/** A child: a node that an operation reads, with its output and its own memory. */
typedef struct pith_hint_child {
    pith_contract contract PITH_DEFAULT;
    pith_memory_hint hint PITH_DEFAULT;
} pith_hint_child;

/** A division of samples into batches that fit a budget. */
typedef struct pith_batch_fit {
    /** Samples per batch: the largest number that fits, at most the total. */
    int64_t batch;
    int64_t chunks; /**< number of batches for all samples; 0 if the total is unknown */
    int64_t last;   /**< samples of the last batch; 0 if the total is unknown */
    size_t bytes;   /**< bytes of one full batch, persistent bytes included */
} pith_batch_fit;

PITH_BEGIN

/**
 * Get the properties of a sample from its arrays, without a computation.
 *
 * @param x Positions [particles, dim] or [..., particles, dim]. If the last extent is 1
 *        to 16, it is taken as the dimension of space, and the last extent but one as the
 *        number of particles. Otherwise the shape is ambiguous and the number remains
 *        unknown. NULL: unknown.
 * @param v Velocities, or NULL; sets only has_velocity.
 * @param mask A mask, or NULL; sets only has_mask.
 */
PITH_API pith_sample pith_sample_of(pith_scope *s,
                                    const pith_array *x,
                                    const pith_array *v,
                                    const pith_array *mask);

/**
 * Compute the number of elements of a node's output for one sample: P^depth * dim^rank *
 * features.
 *
 * @param sample NULL: nothing is known.
 *
 * @return The number, or -1 on failure.
 */
PITH_API int64_t pith_hint_output_elements(pith_scope *s,
                                           const pith_contract *contract,
                                           const pith_sample *sample);
/** Compute the bytes of a node's output for one sample; see pith_hint_output_elements. */
PITH_API size_t pith_hint_output_bytes(pith_scope *s,
                                       const pith_contract *contract,
                                       const pith_sample *sample);
/** Make the hint of a node without children: its output. */
PITH_API pith_memory_hint pith_hint_leaf(pith_scope *s,
                                         const pith_contract *contract,
                                         const pith_sample *sample);
/**
 * Compute the bytes per sample of broadcasts along particle axes. They give the outputs
 * of all children the depth of the deepest one. Each child adds (P^difference - 1) times
 * the bytes of its output.
 *
 * @param count Number of children; 0 gives 0.
 */
PITH_API size_t pith_hint_broadcast(pith_scope *s,
                                    int64_t count,
                                    const pith_hint_child *children,
                                    const pith_sample *sample);
/**
 * Make the hint of a node with children, whose outputs exist together with its own: the
 * sum of the children's hints, the broadcasts (pith_hint_broadcast), and its output.
 */
PITH_API pith_memory_hint pith_hint_operation(pith_scope *s,
                                              const pith_contract *contract,
                                              int64_t count,
                                              const pith_hint_child *children,
                                              const pith_sample *sample);
/**
 * Make a hint with memory for tangents and residuals. The bytes per sample are multiplied
 * by @p factor and rounded up. The persistent bytes are unchanged.
 *
 * @param factor 1 or more, finite; 0: 2.
 *
 * @par Errors
 * PITH_E_ARG: @p factor is below 1 or not finite.
 */
PITH_API pith_memory_hint pith_hint_gradient(pith_scope *s,
                                             pith_memory_hint hint,
                                             double factor);
/**
 * Make the exact hint of the gradient of a function (pith_grad) for arguments with a
 * number of samples: the workspace of the gradient and its results, divided by @p samples
 * and rounded up, as bytes per sample. The workspace is that of calls with compiled code
 * or before it is ready, whichever is larger; what the compiled code itself takes on a
 * device (pith_program_costs.program_bytes) is not part of it. The function is recorded,
 * and not run.
 *
 * @param options NULL for the defaults; with kept_bytes the hint is that of a smaller
 *        gradient.
 *
 * @par Errors
 * PITH_E_ARG: @p samples is not positive. Those of pith_grad and of its calls.
 */
PITH_API pith_memory_hint pith_hint_gradient_exact(pith_scope *s,
                                                   const pith_function *function,
                                                   int64_t count,
                                                   const void *const *arguments,
                                                   int64_t samples,
                                                   const pith_derive_options *options);
/** Add two hints, each part separately. */
PITH_API pith_memory_hint pith_hint_add(pith_scope *s,
                                        pith_memory_hint a,
                                        pith_memory_hint b);
/** Add any number of hints; the sum of none is zero. */
PITH_API pith_memory_hint pith_hint_sum(pith_scope *s,
                                        int64_t count,
                                        const pith_memory_hint *hints);
/** Multiply the bytes per sample by @p times. The persistent bytes are unchanged. */
PITH_API pith_memory_hint pith_hint_scaled(pith_scope *s,
                                           pith_memory_hint hint,
                                           int64_t times);
/** Compute the bytes of a batch of @p samples. */
PITH_API size_t pith_hint_bytes(pith_scope *s, pith_memory_hint hint, int64_t samples);

/**
 * Make the exact hint of a tree: all its leaves as persistent bytes (pith_tree_bytes).
 */
PITH_API pith_memory_hint pith_hint_of_tree(pith_scope *s, const void *tree);
/**
 * Make the exact hint of one sample of a batched tree, as bytes per sample. The first
 * axis of every leaf runs over the samples.
 *
 * @par Errors
 * PITH_E_SHAPE: a leaf has rank 0, or a first extent other than that of the first leaf;
 * the message has its path. PITH_E_ARG: the tree has no samples.
 */
PITH_API pith_memory_hint pith_hint_of_batch(pith_scope *s, const void *tree);
/**
 * Get the device memory that a tree holds in bytes, by the rules of pith_memory_about.
 *
 * Padding between leaves in a shared block counts. A block that several leaves share
 * counts once.
 *
 * @par Errors
 * PITH_E_TRACED: a leaf is traced.
 */
PITH_API size_t pith_tree_device_bytes(pith_scope *s, const void *tree);
/**
 * Call a function and measure its peak device memory: the largest number of live bytes,
 * minus the live bytes before the call.
 *
 * Other scopes of the runtime should be idle. The call waits for the device and frees the
 * result. The peak that the runtime reports does not fall; it may rise.
 *
 * @par Errors
 * PITH_E_TRACED: a function is traced. Also all errors of pith_call.
 */
PITH_API size_t pith_measure_peak(pith_scope *s,
                                  const pith_function *function,
                                  int64_t count,
                                  const void *const *arguments);
/**
 * Correct a hint by the measured peak of a batch. The persistent bytes are unchanged. The
 * bytes per sample become the smallest number that explains @p peak; the greatest of all
 * ranks, which make the call together if the scope's mesh has several.
 *
 * @par Errors
 * PITH_E_ARG: @p samples is 0, or @p peak is less than the persistent bytes.
 */
PITH_API pith_memory_hint pith_hint_measured(pith_scope *s,
                                             pith_memory_hint hint,
                                             int64_t samples,
                                             size_t peak);
/**
 * Compute the largest batch that fits a budget in bytes, and the number of batches for @p
 * total samples. If the scope's mesh has several ranks, all of them make the call, and
 * the batch is the least of theirs.
 *
 * @param total 0: unknown; the batch is the largest that fits, at most INT64_MAX.
 *
 * @par Errors
 * PITH_E_MEMORY: the persistent bytes and one sample do not fit.
 *
 * @return The batch; all zero on failure.
 */
PITH_API pith_batch_fit pith_fit_batch(pith_scope *s,
                                       pith_memory_hint hint,
                                       size_t budget,
                                       int64_t total);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_sample_of(s, ...) pith_sample_of(PITH_AT(s), __VA_ARGS__)
#    define pith_hint_output_elements(s, ...)                                            \
        pith_hint_output_elements(PITH_AT(s), __VA_ARGS__)
#    define pith_hint_output_bytes(s, ...) pith_hint_output_bytes(PITH_AT(s), __VA_ARGS__)
#    define pith_hint_leaf(s, ...)         pith_hint_leaf(PITH_AT(s), __VA_ARGS__)
#    define pith_hint_broadcast(s, ...)    pith_hint_broadcast(PITH_AT(s), __VA_ARGS__)
#    define pith_hint_operation(s, ...)    pith_hint_operation(PITH_AT(s), __VA_ARGS__)
#    define pith_hint_gradient(s, ...)     pith_hint_gradient(PITH_AT(s), __VA_ARGS__)
#    define pith_hint_gradient_exact(s, ...)                                             \
        pith_hint_gradient_exact(PITH_AT(s), __VA_ARGS__)
#    define pith_hint_add(s, ...)          pith_hint_add(PITH_AT(s), __VA_ARGS__)
#    define pith_hint_sum(s, ...)          pith_hint_sum(PITH_AT(s), __VA_ARGS__)
#    define pith_hint_scaled(s, ...)       pith_hint_scaled(PITH_AT(s), __VA_ARGS__)
#    define pith_hint_bytes(s, ...)        pith_hint_bytes(PITH_AT(s), __VA_ARGS__)
#    define pith_hint_of_tree(s, ...)      pith_hint_of_tree(PITH_AT(s), __VA_ARGS__)
#    define pith_hint_of_batch(s, ...)     pith_hint_of_batch(PITH_AT(s), __VA_ARGS__)
#    define pith_tree_device_bytes(s, ...) pith_tree_device_bytes(PITH_AT(s), __VA_ARGS__)
#    define pith_measure_peak(s, ...)      pith_measure_peak(PITH_AT(s), __VA_ARGS__)
#    define pith_hint_measured(s, ...)     pith_hint_measured(PITH_AT(s), __VA_ARGS__)
#    define pith_fit_batch(s, ...)         pith_fit_batch(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
