/* Parameters of the lowered primitives: one struct a rule. Axes count from 0 and are in
 * range. */
#ifndef PITH_PROGRAM_OP_PARAMS_H
#define PITH_PROGRAM_OP_PARAMS_H

#include "pith/base.h"

#include "base/spec.h"

typedef struct pithp_cast_params {
    pith_dtype dtype;
} pithp_cast_params;

/* full(): every element is the value. */
typedef struct pithp_full_params {
    pith_dtype dtype;
    int32_t rank;
    int64_t shape[PITHP_MAX_RANK];
    uint64_t value; /* the element's bits, in the low bytes */
} pithp_full_params;

/* iota(): the index along the axis; narrow dtypes wrap. */
typedef struct pithp_iota_params {
    pith_dtype dtype;
    int32_t rank;
    int64_t shape[PITHP_MAX_RANK];
    int32_t axis;
} pithp_iota_params;

/* broadcast(x): dimension d of x becomes dimension dimensions[d] of the result
 * (ascending). There its extent is the result's or 1. Along the other dimensions x
 * repeats. */
typedef struct pithp_broadcast_params {
    int32_t rank;
    int64_t shape[PITHP_MAX_RANK];
    int32_t dimensions[PITHP_MAX_RANK];
} pithp_broadcast_params;

/* reshape(x): the same elements in C order. */
typedef struct pithp_reshape_params {
    int32_t rank;
    int64_t shape[PITHP_MAX_RANK];
} pithp_reshape_params;

/* transpose(x): dimension d of the result is dimension permutation[d] of x. */
typedef struct pithp_transpose_params {
    int32_t permutation[PITHP_MAX_RANK];
} pithp_transpose_params;

/* slice(x): elements start, start + step, ... before limit (after it if step is
 * negative). All of them exist, so a limit of -1 reaches down to index 0. */
typedef struct pithp_slice_params {
    int64_t start[PITHP_MAX_RANK], limit[PITHP_MAX_RANK], step[PITHP_MAX_RANK];
} pithp_slice_params;

/* reverse(x) */
typedef struct pithp_reverse_params {
    uint32_t axes; /* bit d: dimension d is reversed */
} pithp_reverse_params;

/* concatenate(x...) */
typedef struct pithp_concatenate_params {
    int32_t axis;
} pithp_concatenate_params;

/* pad(x, value): `interior` values between neighbours, then `low` before and `high`
 * after. Negative low and high remove elements. */
typedef struct pithp_pad_params {
    int64_t low[PITHP_MAX_RANK], high[PITHP_MAX_RANK], interior[PITHP_MAX_RANK];
} pithp_pad_params;

/* Treatment of an index out of range. */
typedef enum pithp_index_mode {
    PITHP_INDEX_DROP,    /* take: the fill value; scatter: the update is skipped */
    PITHP_INDEX_CLIP,    /* the nearest valid index */
    PITHP_INDEX_WRAP,    /* modulo the extent */
    PITHP_INDEX_PROMISE, /* the caller promises that there is none; it is clipped for
                            memory safety */
    PITHP_INDEX_ERROR,   /* as drop, and memory.report records the first */
} pithp_index_mode;

/* take(x, index...), scatter_*(x, index..., updates): the index arrays have one integer
 * dtype and one shape. They select along dimensions axis, axis + 1, ... of x. Taken
 * elements and updates have the shape x.shape[..axis] + index.shape + x.shape[axis +
 * arrays..].
 *
 * take_along(x, index): index and result have x's extents except along the axis.
 *
 * With repeated indices set keeps the last update; add and mul combine in index order. */
typedef struct pithp_index_params {
    int32_t axis;
    pithp_index_mode mode;
    bool
        no_negative; /* negative indices are out of range; else they count from the end */
    uint64_t fill;   /* drop, error: the element's bits, in the low bytes */
    /* Scatters. Promises of the caller: if one is false, the values at repeated indices
     * are unspecified; nothing else is affected. */
    bool unique;    /* no index in range is repeated */
    bool sorted;    /* indices ascend, lexicographically over the arrays */
    bool unordered; /* on CUDA floats with equal indices may be added in any order */
    /* Batches: the first arrays are the numbers of entries, which ascend. No two entries
     * select one element. */
    uint64_t numbers; /* of these arrays; 0: there is no batch */
    uint64_t apart;   /* positions of an entry */
    /* For messages, if the caller's array or indices were rearranged: */
    uint64_t axes;    /* byte k: 1 + the caller's axis of index array k; 0: axis + k */
    uint64_t repeats; /* adjacent positions that belong to one of the caller's; 0: 1 */
    uint64_t entry;   /* positions of an entry of a batch; 0: there is no batch */
} pithp_index_params;

/* The caller's axis that index array k selects along. */
static inline int pithp_index_axis(const pithp_index_params *p, int k) {
    return p->axes && k < 8 ? (int)(p->axes >> 8 * k & 0xff) - 1 : p->axis + k;
}

/* dynamic_slice(x, starts): a box of extents `shape` of x from starts [rank]. Negative
 * starts count from the end once; then starts are clamped so that the box fits.
 * dynamic_update_slice(x, update, starts): x with the update as that box; no parameters.
 *
 * Starts [..., rank] are those of one box for each index of their leading axes, which x
 * and the box have in front too; a sliced x without them is one for all. */
typedef struct pithp_dynamic_params {
    int64_t shape[PITHP_MAX_RANK];
} pithp_dynamic_params;

/* sum(x), prod, min, max, any, all, argmin, argmax: over a set of axes, which the result
 * lacks. The order of combination is pairwise and depends only on indices: see
 * host/vector/reduce.c. f16, bf16 and f32 are summed and multiplied in f64. argmin and
 * argmax give the C-order index within the reduced axes as i64. It is the first of equal
 * elements, or the first NaN if there is one. */
typedef struct pithp_reduce_params {
    uint32_t axes; /* bit d: dimension d is reduced */
} pithp_reduce_params;

/* cumsum(x), cumprod, cummin, cummax, cumlogsumexp */
typedef struct pithp_scan_params {
    int32_t axis;
    bool reverse; /* from the last element to the first */
    bool strong;  /* of cumlinear alone, below */
} pithp_scan_params;

/* cumlinear(a, b): y[k] = a[k] y[k - 1] + b[k] along an axis, in f64; y[0] is b[0]. A
 * factor 0 begins anew: y[k] is b[k], also after an infinity or NaN. strong: y[k] is b[k]
 * after y[k - 1] = 0 too, whatever the factor. Both operands have one shape and one float
 * dtype; the parameters are pithp_scan_params. */

/* sort(x), argsort(x): stable; NaN last (first if descending); -0 equals 0. argsort gives
 * indices along the axis as i64. */
typedef struct pithp_sort_params {
    int32_t axis;
    bool descending;
} pithp_sort_params;

/* search_sorted(sorted [..., n], values [..., ...]): number of elements less than each
 * value (right: not greater), as i64. NaN equals NaN and is greatest. Each index of the
 * leading axes has a sorted array of its own. */
typedef struct pithp_search_params {
    bool right;
} pithp_search_params;

/* dot_general(x, y): sums of products over `contracts` pairs of dimensions, for each
 * index of `batches` pairs; contract[0] and batch[0] are of x. The result has the batch
 * dimensions, then the free dimensions of x, then those of y. Extents of a pair are
 * equal; an extent 1 of a batch pair is repeated. bool multiplies by and, adds by or. f16
 * and bf16 are computed in f32 and rounded once. The order of sums: host/vector/dot.h. */
typedef struct pithp_dot_params {
    int32_t contracts, batches;
    int8_t contract[2][PITHP_MAX_RANK], batch[2][PITHP_MAX_RANK];
} pithp_dot_params;

/* threefry(key [..., 2], counts [..., 2]): the words of each pair of counts. fold_in(key
 * [..., 2], data [...]): the words of the counts 0 and the datum. All are u32. Leading
 * extents agree, or one key [2] serves all. */

/* random_split(key [..., 2]): keys of that shape, [..., shape..., 2]. random_bits(key),
 * uniform, normal, integers: elements [..., shape...]. Each key is an independent
 * generator. */
typedef struct pithp_random_params {
    pith_dtype dtype; /* ignored by split */
    int32_t rank;
    int64_t shape[PITHP_MAX_RANK];
    bool original;    /* JAX's layout with jax_threefry_partitionable off */
    bool unbiased;    /* integers: unbiased, by rejection */
    double low, high; /* uniform: from low to below high; finite in the dtype */
    uint64_t least,
        greatest; /* integers: bounds, both included; bits of the widened numbers */
} pithp_random_params;

/* clang-format off */
/* Collectives, over a group of ranks of a mesh. All ranks have equal operands' specs and
 * parameters, except that the group is that of the rank:
 *
 *     axis_index()        the number of this rank, i32 []
 *     psum(x, rows)       the sum, as sum(all_stack(x)) over axis 0: the same bits
 *     pmax(x), pmin(x)    as max_of and min_of
 *     pscan(x)            the sum over the ranks before: integers of 4 or 8 bytes, wrapping
 *     pbroadcast(x)       x of the rank `root`
 *     all_stack(x)        x of all P ranks along a new first axis
 *     all_gather(x)       x of all ranks, joined along `axis`
 *     reduce_scatter(x, rows)  this rank's block of psum(x) along `axis`
 *     all_to_all(x, rows) blocks along `axis` go to their ranks, and are joined along `join`
 *     ppermute(x, rows)   x of the rank that `pairs` sends here; zeros if there is none
 *     halo(x)             x with `root` rows of the rank before and `join` rows of the rank
 *                         after along `axis`; `wrap`: the first and the last rank are
 *                         neighbours, otherwise zeros
 *     psum_rows(x, rows)  the sum over the rows (axis 0) in use of all ranks, with the bits
 *                         of one device
 *
 * rows is an i64 [], or absent: the number of rows (axis 0) of x in use on this rank. The
 * others count as zeros and do not travel.
 *
 * Routes (pith/route.h), over the group of all ranks but for route_make; peer, send, sent
 * and received are the leaves of a pith_route:
 *
 *     route_make(rows, to)  i64 lists: received, sent, need[3], bad[2], peer and send in one
 *                         list, for the sizes max_peers `axis`, max_send `join`, max_receive
 *                         `root`; empty if one does not suffice. bad: entries, or -1
 *     route_send(x..., peer, send, sent, received)
 *                         of each x the rows from other ranks, [root, ...]; zeros beyond them
 *     route_return(x..., into..., peer, send, sent, received)
 *                         each into, with the rows of its x [max_receive, ...] back and added
 *
 * A row with several x sends them in one message to each rank. Such rows are made of rows
 * with one x by the last pass of a program (program/pass/messages.c): derivatives, batches
 * and all other passes see only those. */
/* clang-format on */
typedef struct pithp_collective_params {
    struct pithp_mesh_group *group;
    const struct pithp_mesh_pairs *pairs; /* of ppermute */
    int64_t root, axis, join;
    bool unordered; /* floats are added in the order of the engine */
    bool wrap;      /* of halo */
} pithp_collective_params;

/* vary(x), replicated(x): x, which counts as varying over the axes of a group of ranks,
 * or as equal along them: for derivatives (program/vary). */
typedef struct pithp_vary_params {
    struct pithp_mesh_group *group;
    bool expected; /* replicated: a derivation relies on it, and it is to be checked */
    bool mapped;   /* replicated: an argument of a function of pith_shard_map */
} pithp_vary_params;

/* stop_gradient(x), non_differentiable(x): x, without parameters. name(x): x under a
 * name, which ends in zeros. */
enum { PITHP_NAME_BYTES = 64 };
typedef struct pithp_named_params {
    char name[PITHP_NAME_BYTES];
} pithp_named_params;

#endif
