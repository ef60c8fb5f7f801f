/* Specs: dtype and extents of arrays, interned per runtime. */
#ifndef PITH_BASE_SPEC_H
#define PITH_BASE_SPEC_H

#include "pith/base.h"

#include <stddef.h>

/* Values inside programs have up to this rank: stacked residuals of loops and batches add
 * axes to arrays of the user, whose rank is at most PITH_MAX_RANK. */
enum { PITHP_MAX_RANK = PITH_SPEC_RANK };

/* The interned spec of a dtype and shape. NULL sets the error (rank over max_rank, which
 * is at most PITHP_MAX_RANK; negative extent; overflow of the bytes; out of memory). */
const pith_spec *pithp_spec_within(pith_scope *s,
                                   pith_dtype dtype,
                                   int rank,
                                   const int64_t *shape,
                                   int max_rank);
/* The spec of an array. */
static inline const pith_spec *
pithp_spec(pith_scope *s, pith_dtype dtype, int rank, const int64_t *shape) {
    return pithp_spec_within(s, dtype, rank, shape, PITH_MAX_RANK);
}
/* The spec of a value inside a program. */
static inline const pith_spec *
pithp_spec_of_value(pith_scope *s, pith_dtype dtype, int rank, const int64_t *shape) {
    return pithp_spec_within(s, dtype, rank, shape, PITHP_MAX_RANK);
}
/* "f64[256,3]" */
enum { PITHP_SPEC_TEXT_BYTES = 272 };
const char *pithp_spec_print(const pith_spec *spec, char text[PITHP_SPEC_TEXT_BYTES]);
const char *
pithp_shape_print(int rank, const int64_t *shape, char text[PITHP_SPEC_TEXT_BYTES]);

/* ---- Sharded arrays ---- */

/* How the shards of a sharded array lie on the ranks; interned by array/placement.c. The
 * spec of such an array describes one shard; all have its shape. Shards of rank 0 are one
 * value on each rank, as if along an axis 0. */
typedef struct pith_placement {
    const struct pith_mesh *mesh;
    char axes[64]; /* of the mesh: "x,y;z", without empty ends */
    char rows[64]; /* the leaf that counts the rows in use, or "" */
    /* What follows from these on this rank, by axis: the number of shards along it, and
     * which is the own one. */
    int64_t shards[PITH_MAX_RANK], own[PITH_MAX_RANK];
} pith_placement;

/* Every interned spec, so every spec of an array, follows its placement. */
typedef struct pithp_placed_spec {
    const pith_placement *placement; /* NULL: of plain arrays */
    pith_spec spec;
} pithp_placed_spec;
static inline const pithp_placed_spec *pithp_placed_of(const pith_spec *interned) {
    return (const pithp_placed_spec *)(const void *)((const char *)interned -
                                                     offsetof(pithp_placed_spec, spec));
}
static inline const pith_placement *pithp_placement_of(const pith_spec *interned) {
    return pithp_placed_of(interned)->placement;
}
/* An interned spec under another placement; NULL: that of a plain array. NULL: the error
 * is set. */
const pith_spec *
pithp_spec_placed(pith_scope *s, const pith_spec *spec, const pith_placement *placement);
static inline const pith_spec *pithp_spec_plain(pith_scope *s, const pith_spec *spec) {
    return pithp_placement_of(spec) ? pithp_spec_placed(s, spec, NULL) : spec;
}
/* The spec of a leaf: "f64[256,3]", or "f64[256,3] sharded "x", rows count". */
enum { PITHP_LEAF_TEXT_BYTES = PITHP_SPEC_TEXT_BYTES + 160 };
const char *pithp_leaf_print(const pith_spec *spec, char text[PITHP_LEAF_TEXT_BYTES]);

#endif
