/* Parameters of the primitives that are lowered: one struct a rule; axes count from 0 and
 * are in range. */
#ifndef PITH_PROGRAM_OP_PARAMS_H
#define PITH_PROGRAM_OP_PARAMS_H

#include "pith/base.h"

typedef struct pithp_cast_params {
    pith_dtype dtype;
} pithp_cast_params;

/* full(): every element is the value. */
typedef struct pithp_full_params {
    pith_dtype dtype;
    int32_t rank;
    int64_t shape[PITH_MAX_RANK];
    uint64_t value; /* the element's bits, in the low bytes */
} pithp_full_params;

/* iota(): the index along the axis; wraps where the dtype is narrow. */
typedef struct pithp_iota_params {
    pith_dtype dtype;
    int32_t rank;
    int64_t shape[PITH_MAX_RANK];
    int32_t axis;
} pithp_iota_params;

/* broadcast(x): dimension d of x becomes dimension dimensions[d] of the result
 * (ascending), where its extent is the result's or 1; the result's other dimensions
 * repeat x. */
typedef struct pithp_broadcast_params {
    int32_t rank;
    int64_t shape[PITH_MAX_RANK];
    int32_t dimensions[PITH_MAX_RANK];
} pithp_broadcast_params;

/* reshape(x): the same elements in C order. */
typedef struct pithp_reshape_params {
    int32_t rank;
    int64_t shape[PITH_MAX_RANK];
} pithp_reshape_params;

/* transpose(x): dimension d of the result is dimension permutation[d] of x. */
typedef struct pithp_transpose_params {
    int32_t permutation[PITH_MAX_RANK];
} pithp_transpose_params;

/* slice(x): elements start, start + step, ... before (after, where step is negative)
 * limit; all of them exist, so a limit of -1 means down to the first one. */
typedef struct pithp_slice_params {
    int64_t start[PITH_MAX_RANK], limit[PITH_MAX_RANK], step[PITH_MAX_RANK];
} pithp_slice_params;

/* reverse(x) */
typedef struct pithp_reverse_params {
    uint32_t axes; /* bit d: dimension d is turned round */
} pithp_reverse_params;

/* concatenate(x...) */
typedef struct pithp_concatenate_params {
    int32_t axis;
} pithp_concatenate_params;

/* pad(x, value): `interior` values between neighbours, then `low` before and `high`
 * after; negative low and high cut elements off. */
typedef struct pithp_pad_params {
    int64_t low[PITH_MAX_RANK], high[PITH_MAX_RANK], interior[PITH_MAX_RANK];
} pithp_pad_params;

/* What an index that is out of range does. */
typedef enum pithp_index_mode {
    PITHP_INDEX_DROP,    /* take: the fill value; scatter: nothing is written */
    PITHP_INDEX_CLIP,    /* the nearest end */
    PITHP_INDEX_WRAP,    /* modulo the extent */
    PITHP_INDEX_PROMISE, /* there is none (it is clipped, so that memory is safe) */
    PITHP_INDEX_ERROR,   /* as drop, and memory.report says which one was first */
} pithp_index_mode;

/* take(x, index...), scatter_*(x, index..., updates): the index arrays have one integer
 * dtype and one shape, and select along dimensions axis, axis + 1, ... of x. Taken
 * elements and updates have the shape x.shape[..axis] + index.shape + x.shape[axis +
 * arrays..]. take_along(x, index): index has x's extents but along the axis, and so has
 * the result. Where indices repeat, set keeps the last update, and add and mul combine in
 * order. */
typedef struct pithp_index_params {
    int32_t axis;
    pithp_index_mode mode;
    bool
        no_negative; /* negative indices are out of range; else they count from the end */
    uint64_t fill;   /* drop, error: the element's bits, in the low bytes */
    /* Scatters. Promises of the caller: if they are broken, what is stored in places that
     * repeat is left open, and nothing else. */
    bool unique;    /* no place repeats among those in range */
    bool sorted;    /* indices ascend, by the first array, then the next */
    bool unordered; /* floats that meet may add up in any order, on CUDA */
    /* For messages, if the caller's array or indices were rearranged: */
    uint64_t axes;    /* byte k: 1 + the caller's axis of index array k; 0: axis + k */
    uint64_t repeats; /* adjacent positions that share one of the caller's; 0: 1 */
} pithp_index_params;

/* The caller's axis that index array k chooses along. */
static inline int pithp_index_axis(const pithp_index_params *p, int k) {
    return p->axes ? (int)(p->axes >> 8 * k & 0xff) - 1 : p->axis + k;
}

/* dynamic_slice(x, starts): the extents `shape` of x from starts [rank], which count from
 * the end where negative, once, and are then clamped so that the slice fits.
 * dynamic_update_slice(x, update, starts): x with the update there; no parameters. */
typedef struct pithp_dynamic_params {
    int64_t shape[PITH_MAX_RANK];
} pithp_dynamic_params;

/* sum(x), prod, min, max, any, all, argmin, argmax: over a set of axes, which the result
 * lacks. The order of combination depends on indices alone: see host/vector/reduce.c.
 * f16, bf16 and f32 are summed and multiplied in f64. argmin and argmax give the C-order
 * index within the reduced axes as i64: the first of equals, the first nan if there is
 * one. */
typedef struct pithp_reduce_params {
    uint32_t axes; /* bit d: dimension d is reduced */
} pithp_reduce_params;

/* cumsum(x), cumprod, cummin, cummax, cumlogsumexp */
typedef struct pithp_scan_params {
    int32_t axis;
    bool reverse; /* from the end to the front */
} pithp_scan_params;

/* sort(x), argsort(x): stable, nan last (first when descending), -0 equal to 0.
 * argsort gives positions along the axis as i64. */
typedef struct pithp_sort_params {
    int32_t axis;
    bool descending;
} pithp_sort_params;

/* search_sorted(sorted [n], values): how many elements are less than each value (right:
 * not greater), as i64; nan equals nan and is greatest. */
typedef struct pithp_search_params {
    bool right;
} pithp_search_params;

/* dot_general(x, y): sums of products over `contracts` pairs of dimensions, apart for
 * each index of `batches` pairs; contract[0] and batch[0] are of x. The result has the
 * batch dimensions, then the rest of x's, then the rest of y's. Extents of a pair are
 * equal; of a batch pair one may be 1, and is repeated. bool is multiplied by and, added
 * by or; f16 and bf16 are multiplied and added in f32 and rounded once. The order:
 * host/vector/dot.h. */
typedef struct pithp_dot_params {
    int32_t contracts, batches;
    int8_t contract[2][PITH_MAX_RANK], batch[2][PITH_MAX_RANK];
} pithp_dot_params;

/* threefry(key [..., 2], counts [..., 2]): the words of each pair of counts.
 * fold_in(key [..., 2], data [...]): the words of counts 0 and the datum.
 * All are u32, and the leading extents agree, or the key is one for all: [2]. */

/* random_split(key [..., 2]): keys of that shape, [..., shape..., 2].
 * random_bits(key), uniform, normal, integers: elements [..., shape...]. Each key draws
 * on its own. */
typedef struct pithp_random_params {
    pith_dtype dtype; /* split: not looked at */
    int32_t rank;
    int64_t shape[PITH_MAX_RANK];
    bool original;    /* JAX's layout where jax_threefry_partitionable is off */
    bool unbiased;    /* integers: by rejection */
    double low, high; /* uniform: from low to below high; finite in the dtype */
    uint64_t least,
        greatest; /* integers: both may be drawn; bits of the widened numbers */
} pithp_random_params;

#endif
