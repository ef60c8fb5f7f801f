/* Index maps of data movement: which element of its operand each element of a view reads.
 * The strides, boxes and copies of views are derived from these maps. */
#ifndef PITH_PROGRAM_OP_INDEX_MAP_H
#define PITH_PROGRAM_OP_INDEX_MAP_H

#include "program/op/call.h"

/* Dimension d of the operand has index start + step * (index `axis` of the result). */
typedef struct pithp_index_map_axis {
    int64_t start, step; /* step 0: the operand is repeated along the axis */
    int32_t axis;
} pithp_index_map_axis;

typedef struct pithp_index_map {
    int32_t rank; /* of the operand */
    pithp_index_map_axis at[PITHP_MAX_RANK];
} pithp_index_map;

/* The index map of an accepted view by strides (PITHP_TRAIT_STRIDED).
 *
 * start is 0 if the result has no elements, and step is 1 along a slice's extent of 1: so
 * no product of a stride with start or step overflows. */
void pithp_index_map_of(pithp_primitive primitive,
                        const void *params,
                        const pith_spec *operand,
                        const pith_spec *result,
                        pithp_index_map *map);

/* Compose: the strides of a view (PITHP_TRAIT_VIEW) over its result's shape, given those
 * of its operand, in any unit. Returns the offset of its first element. A reshape needs a
 * contiguous operand; `unit` is the stride of contiguous elements. */
int64_t pithp_view_strides(pithp_primitive primitive,
                           const void *params,
                           const pith_spec *operand,
                           const int64_t *operand_stride,
                           int64_t unit,
                           const pith_spec *result,
                           int64_t stride[PITHP_MAX_RANK]);

/* C-order strides of a shape; `unit`: that of contiguous elements. */
static inline void
pithp_c_strides(int rank, const int64_t *shape, int64_t unit, int64_t *stride) {
    for (int d = rank - 1; d >= 0; d--) {
        stride[d] = unit;
        unit *= shape[d];
    }
}

/* The elements of the operand that padding keeps along a dimension: `count` from `first`
 * on. The first one becomes element `to` of the result, each next one `step` elements
 * later. */
typedef struct pithp_pad_range {
    int64_t first, count, to, step;
} pithp_pad_range;
pithp_pad_range pithp_pad_kept(const pithp_pad_params *p,
                               int d,
                               const pith_spec *operand,
                               const pith_spec *result);

#endif
