/* Index maps of data movement. */
#include "program/op/index_map.h"

#include <string.h>

void pithp_index_map_of(pithp_primitive primitive,
                        const void *params,
                        const pith_spec *operand,
                        const pith_spec *result,
                        pithp_index_map *map) {
    const bool empty = result->count == 0;
    map->rank = operand->rank;
    for (int d = 0; d < operand->rank; d++) {
        pithp_index_map_axis at = {.step = 1, .axis = d};
        if (primitive == PITHP_OP_BROADCAST) {
            at.axis = ((const pithp_broadcast_params *)params)->dimensions[d];
            at.step = operand->shape[d] != 1;
        } else if (primitive == PITHP_OP_SLICE) {
            const pithp_slice_params *slice = params;
            at.start = empty ? 0 : slice->start[d];
            at.step = result->shape[d] > 1 ? slice->step[d] : 1;
        } else if (primitive == PITHP_OP_REVERSE) {
            if (((const pithp_reverse_params *)params)->axes >> d & 1) {
                at.start = empty ? 0 : result->shape[d] - 1;
                at.step = -1;
            }
        } else {
            const int32_t *from = ((const pithp_transpose_params *)params)->permutation;
            for (at.axis = 0; from[at.axis] != d;)
                at.axis++;
        }
        map->at[d] = at;
    }
}

int64_t pithp_view_strides(pithp_primitive primitive,
                           const void *params,
                           const pith_spec *operand,
                           const int64_t *operand_stride,
                           int64_t unit,
                           const pith_spec *result,
                           int64_t stride[PITHP_MAX_RANK]) {
    pithp_index_map map;
    int64_t offset = 0;
    if (primitive == PITHP_OP_RESHAPE) {
        pithp_c_strides(result->rank, result->shape, unit, stride);
        return 0;
    }
    memset(stride, 0, (size_t)result->rank * sizeof *stride);
    pithp_index_map_of(primitive, params, operand, result, &map);
    for (int d = 0; d < map.rank; d++) {
        const pithp_index_map_axis at = map.at[d];
        offset += at.start * operand_stride[d];
        stride[at.axis] = at.step * operand_stride[d];
    }
    return offset;
}

pithp_pad_range pithp_pad_kept(const pithp_pad_params *p,
                               int d,
                               const pith_spec *operand,
                               const pith_spec *result) {
    /* element i moves to low + i * step, if that is within the result */
    const int64_t step = p->interior[d] + 1, low = p->low[d];
    const int64_t first = low < 0 ? (-low + step - 1) / step : 0;
    const int64_t room = result->shape[d] - low;
    int64_t end = room <= 0 ? 0 : (room + step - 1) / step;
    end = end < operand->shape[d] ? end : operand->shape[d];
    return (pithp_pad_range){.first = first,
                             .count = end > first ? end - first : 0,
                             .to = low + first * step,
                             .step = step};
}
