/**
 * @file
 * Memory hints: how many bytes a computation takes for one sample, from what is known of
 * its nodes, and the largest batch that fits a budget.
 *
 * A hint has two parts: bytes that grow with the samples, and bytes that are there once.
 * Hints of nodes are composed into those of whole functions; pith_fit_batch turns one
 * into a batch, pith_hint_measured corrects it by what a run was seen to take.
 *
 * Arithmetic is exact: a fraction of a byte is rounded up, and what does not fit 64 bits
 * is PITH_E_OVERFLOW. Calls that fail, or are made in a scope that has failed, return a
 * hint (a number) that fits no budget: all bits set; pith_sample_of and pith_fit_batch
 * return zeros. Negative counts are PITH_E_ARG.
 */
#ifndef PITH_MEMORY_HINT_H
#define PITH_MEMORY_HINT_H

#include <pith/tree.h>

/** Bytes of a computation. */
typedef struct pith_memory_hint {
    size_t per_sample PITH_DEFAULT; /**< for every sample of a batch */
    size_t persistent PITH_DEFAULT; /**< once, however many samples: weights, lists */
} pith_memory_hint;

/**
 * What a node gives for one sample: an array of particle_depth axes of the particles,
 * rank axes of dim, and the features: [P, P, dim, features] for a depth of 2 and rank 1.
 */
typedef struct pith_contract {
    int32_t rank PITH_DEFAULT;           /**< 0 scalars, 1 vectors, 2 matrices */
    int32_t particle_depth PITH_DEFAULT; /**< axes that run over the particles */
    int64_t dim PITH_DEFAULT;      /**< of space; must be given where rank is not 0 */
    int64_t features PITH_DEFAULT; /**< 0: there is no output */
    pith_dtype dtype PITH_DEFAULT; /**< PITH_DTYPE_NONE: f32 */
} pith_contract;

/** What is known of one sample; zero is "not known". */
typedef struct pith_sample {
    int64_t particles PITH_DEFAULT; /**< not known: counted as one, so that a hint is then
                                       a lower bound */
    int64_t arity PITH_DEFAULT;     /**< of interactions, 2 for pairs: for hints of a
                                       caller's own */
    bool has_velocity PITH_DEFAULT; /**< velocities are given */
    bool has_mask PITH_DEFAULT;     /**< a mask of particles is given */
} pith_sample;

/** A node that an operation reads: its output, and what it takes itself. */
typedef struct pith_hint_child {
    pith_contract contract PITH_DEFAULT;
    pith_memory_hint hint PITH_DEFAULT;
} pith_hint_child;

/** How a number of samples is cut into batches that fit. */
typedef struct pith_batch_fit {
    int64_t batch;  /**< samples of a batch: the most that fit, at most the total */
    int64_t chunks; /**< batches for all samples; 0 where the total is not known */
    int64_t last;   /**< samples of the last one; 0 where the total is not known */
    size_t bytes;   /**< of one whole batch, persistent ones included */
} pith_batch_fit;

PITH_BEGIN

/**
 * What can be read off the arrays of one sample, without computing anything.
 *
 * @param x Positions [particles, dim] or [..., particles, dim]: the particles are guessed
 * from the last extent but one where the last is 1 to 16, as a dimension of space is.
 * Else the shape is ambiguous and they stay not known. NULL: not given.
 * @param v Velocities, or NULL: toggles has_velocity alone.
 * @param mask A mask, or NULL: toggles has_mask alone.
 */
PITH_API pith_sample pith_sample_of(pith_scope *s,
                                    const pith_array *x,
                                    const pith_array *v,
                                    const pith_array *mask);

/**
 * Elements of a node's output for one sample: P^depth * dim^rank * features.
 *
 * @param sample NULL: nothing is known.
 * @return -1 on failure.
 */
PITH_API int64_t pith_hint_output_elements(pith_scope *s,
                                           const pith_contract *contract,
                                           const pith_sample *sample);
/** The same in bytes. */
PITH_API size_t pith_hint_output_bytes(pith_scope *s,
                                       const pith_contract *contract,
                                       const pith_sample *sample);
/** A node without children: its output. */
PITH_API pith_memory_hint pith_hint_leaf(pith_scope *s,
                                         const pith_contract *contract,
                                         const pith_sample *sample);
/**
 * Bytes for one sample of what is repeated along particle axes so that outputs of all
 * children have as many as the deepest: (P^difference - 1) times the output of each.
 *
 * @param count Children; 0 gives 0.
 */
PITH_API size_t pith_hint_broadcast(pith_scope *s,
                                    int64_t count,
                                    const pith_hint_child *children,
                                    const pith_sample *sample);
/**
 * A node over others, whose outputs exist side by side while it makes its own: hints of
 * the children, what is repeated (pith_hint_broadcast), and its output.
 */
PITH_API pith_memory_hint pith_hint_operation(pith_scope *s,
                                              const pith_contract *contract,
                                              int64_t count,
                                              const pith_hint_child *children,
                                              const pith_sample *sample);
/**
 * A hint with room for tangents and residuals: the bytes per sample times @p factor,
 * rounded up; persistent ones stay.
 *
 * @param factor 0: 2. Below 1, or not finite: PITH_E_ARG.
 */
PITH_API pith_memory_hint pith_hint_gradient(pith_scope *s,
                                             pith_memory_hint hint,
                                             double factor);
/** Both together, each part by itself. */
PITH_API pith_memory_hint pith_hint_add(pith_scope *s,
                                        pith_memory_hint a,
                                        pith_memory_hint b);
/** All of them together; none: zero. */
PITH_API pith_memory_hint pith_hint_sum(pith_scope *s,
                                        int64_t count,
                                        const pith_memory_hint *hints);
/** The bytes per sample @p times over; persistent ones stay. */
PITH_API pith_memory_hint pith_hint_scaled(pith_scope *s,
                                           pith_memory_hint hint,
                                           int64_t times);
/** Bytes of a batch of @p samples. */
PITH_API size_t pith_hint_bytes(pith_scope *s, pith_memory_hint hint, int64_t samples);

/** What a tree takes, exactly, as persistent bytes: all its leaves (pith_tree_bytes). */
PITH_API pith_memory_hint pith_hint_of_tree(pith_scope *s, const void *tree);
/**
 * What one sample of a batched tree takes, exactly, as bytes per sample: all leaves have
 * the samples along their first axis.
 *
 * Errors: PITH_E_SHAPE with the path of a leaf that has no first axis, or another extent
 * there than the first leaf; PITH_E_ARG where there are no samples to tell from.
 */
PITH_API pith_memory_hint pith_hint_of_batch(pith_scope *s, const void *tree);
/**
 * Device memory that a tree holds, as pith_memory_about counts it: what lies between
 * leaves in a shared block is counted, a block that several leaves share is counted once.
 *
 * Errors: PITH_E_TRACED.
 */
PITH_API size_t pith_tree_device_bytes(pith_scope *s, const void *tree);
/**
 * Call a function and give the most device memory that was live meanwhile, beyond what
 * was live before. Other scopes of the runtime should rest. Waits.
 *
 * The result is freed. What the runtime remembers as its peak stays what it was, or
 * rises. Errors: those of pith_call; PITH_E_TRACED while a function is traced.
 */
PITH_API size_t pith_measure_peak(pith_scope *s,
                                  const pith_function *function,
                                  int64_t count,
                                  const void *const *arguments);
/**
 * Correct a hint by what a batch was measured to take: persistent bytes stay, those per
 * sample become what explains @p peak, rounded up.
 *
 * Errors: PITH_E_ARG where there were no samples, or @p peak is less than the persistent
 * bytes, so that these are wrong.
 */
PITH_API pith_memory_hint pith_hint_measured(pith_scope *s,
                                             pith_memory_hint hint,
                                             int64_t samples,
                                             size_t peak);
/**
 * The largest batch that fits a budget of bytes, and how many it takes for @p total
 * samples.
 *
 * @param total 0: not known; the batch is then what fits, INT64_MAX at most.
 * Errors: PITH_E_MEMORY where the persistent bytes and one sample do not fit.
 * @return All zero on failure.
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
