/* Reductions over a set of axes. The operand is viewed as [outer, length, inner] with the
 * middle reduced; if the axes are not adjacent, it is transposed first. A first launch
 * reduces blocks of the length, or groups of their lanes. A second one combines several
 * blocks.
 */
#include "program/host/reduce.h"

#include "program/host/move.h"
#include "program/op/thresholds.h"

#include <string.h>

enum {
    BLOCK = PITHP_REDUCE_BLOCK,
    TILE = PITHP_REDUCE_TILE,
    WIDEST = PITHP_REDUCE_WIDEST,
    LANES = PITHP_REDUCE_LANES,
    LANE_BYTES = 1024, /* of a lane, at most: all lanes stay in the L2 cache */
    LANE_GROUPS = 8,   /* of the lanes, if they are computed one by one */
    GROUP_TREES = 4,   /* subtrees of 4, 2 and 1 lanes, and a lane */
    ROW_BYTES = 4096,  /* of adjacent columns, at most: four such rows and */
    WIDE_BYTES = 8192, /* their accumulators, at most, stay in the L1 cache */
    LEAST_WIDE = 256,  /* minimum columns, */
    LEAST_LONG = 256   /* and minimum rows, for lanes one by one */
};

const pithp_reduce_table *const pithp_reduce_tables[PITHP_ISA_COUNT] = {
    &pithp_reduce_base,
#ifdef __x86_64__
    &pithp_reduce_v3, &pithp_reduce_v4
#else
    &pithp_reduce_base, &pithp_reduce_base
#endif
};

/* ---- Specs ---- */

pithp_reduction pithp_reduction_of(pithp_primitive primitive) {
    switch ((int)pithp_ops[primitive].combine) {
        case PITHP_OP_ADD:
            return PITHP_REDUCE_SUM;
        case PITHP_OP_MUL:
            return PITHP_REDUCE_PROD;
        case PITHP_OP_MIN:
            return PITHP_REDUCE_MIN;
        case PITHP_OP_MAX:
            return PITHP_REDUCE_MAX;
        case PITHP_OP_LOGICAL_OR:
            return PITHP_REDUCE_ANY;
        case PITHP_OP_LOGICAL_AND:
            return PITHP_REDUCE_ALL;
        default:
            return PITHP_REDUCTIONS;
    }
}

pith_status
pithp_infer_reduce(const pithp_call *call, pith_spec *result, pithp_refusal *refusal) {
    const pithp_reduce_params *p = call->params;
    const pith_spec *x = call->operands[0];
    char text[PITHP_SPEC_TEXT_BYTES];
    if (p->axes >> x->rank)
        return pithp_refuse(call, refusal, PITH_E_ARG, "axes beyond rank %d", x->rank);
    if (!pithp_reduce_is_arg(call) &&
        !pithp_reduce_base.reducers[pithp_reduction_of(call->primitive)][x->dtype].rows)
        return pithp_refuse(call, refusal, PITH_E_DTYPE, "expected numbers, got %s",
                            pithp_spec_print(x, text));
    int64_t shape[PITHP_MAX_RANK] = {0}, length = 1;
    int rank = 0;
    for (int d = 0; d < x->rank; d++) {
        if (p->axes >> d & 1)
            length *= x->shape[d] != 0;
        else
            shape[rank++] = x->shape[d];
    }
    const pithp_primitive combine = pithp_ops[call->primitive].combine;
    const bool logical = pithp_ops[combine].predicate;
    const bool sums = combine == PITHP_OP_ADD || combine == PITHP_OP_MUL;
    const pith_dtype dtype = pithp_reduce_is_arg(call) ? PITH_I64
                             : logical                 ? PITH_BOOL
                                                       : x->dtype;
    const pith_status rc = pithp_spec_fill(call, refusal, result, dtype, rank, shape);
    if (rc == PITH_OK && length == 0 && !sums && !logical)
        return pithp_refuse(call, refusal, PITH_E_SHAPE,
                            "no extreme of an empty axis of %s",
                            pithp_spec_print(x, text));
    return rc;
}

/* ---- View of the operand ---- */

pithp_reduce_view pithp_reduce_view_of(const pithp_call *call) {
    const pithp_reduce_params *p = call->params;
    const pith_spec *x = call->operands[0];
    pithp_reduce_view v = {1, 1, 1, 1, false};
    int groups = 0;
    bool reducing = false;
    for (int d = 0; d < x->rank; d++) {
        const bool reduced = p->axes >> d & 1;
        if (x->shape[d] == 1)
            continue;
        groups += reduced && !reducing;
        reducing = reduced;
        *(reduced ? &v.length : groups ? &v.inner : &v.outer) *= x->shape[d];
    }
    v.moved = groups > 1;
    if (v.moved) {
        v.outer *= v.inner;
        v.inner = 1;
    }
    if (v.length > BLOCK)
        v.blocks = (v.length + BLOCK - 1) / BLOCK;
    return v;
}

static size_t moved_bytes(const pithp_call *call, const pithp_reduce_view *v) {
    return v->moved ? (call->operands[0]->bytes + 63) / 64 * 64 : 0;
}

/* Whether blocks are reduced first and then combined. */
static bool in_blocks(const pithp_call *call, const pithp_reduce_view *v) {
    return v->blocks > 1 && (v->inner == 1 || !pithp_reduce_is_arg(call));
}

/* Whether lanes of long rows are computed one by one. */
static bool is_wide(const pithp_call *call, const pithp_reduce_view *v) {
    return !pithp_reduce_is_arg(call) && v->inner >= LEAST_WIDE &&
           v->length >= LEAST_LONG;
}

size_t pithp_temporary_reduce(const pithp_call *call, const pith_spec *result) {
    const pithp_reduce_view v = pithp_reduce_view_of(call);
    size_t bytes = moved_bytes(call, &v);
    if (in_blocks(call, &v) || is_wide(call, &v))
        bytes +=
            (size_t)(v.blocks * (is_wide(call, &v) ? LANE_GROUPS : 1) * result->count) *
            WIDEST;
    return bytes;
}

/* ---- Loops ---- */

/* Inner extent 1. Indices are rows, or blocks of rows with several blocks. */
static inline void
reduce_rows(pithp_isa isa, const void *args, int64_t begin, int64_t end) {
    const pithp_reduce_args *a = args;
    const pithp_reducer *f = &pithp_reduce_tables[isa]->reducers[a->operation][a->dtype];
    if (a->partial) {
        for (int64_t i = begin; i < end; i++) {
            const int64_t row = i / a->blocks, block = i % a->blocks;
            f->rows(a->partial + i * a->accumulator_size,
                    a->from + (row * a->length + block * BLOCK) * a->size,
                    pithp_reduce_block_length(a, block), 1, (end - i - 1) * BLOCK);
        }
        return;
    }
    const pithp_block_function finish =
        pithp_cast_block(isa, f->accumulator, a->to_dtype);
    _Alignas(64) char some[TILE * WIDEST];
    for (int64_t i = begin; i < end; i += TILE) {
        const int64_t n = end - i < TILE ? end - i : TILE;
        f->rows(some, a->from + i * a->length * a->size, a->length, n,
                (end - i - n) * a->length);
        finish(a->to + i * a->to_size, some, NULL, NULL, n);
    }
}
PITHP_LOOPS(reduce_rows)
const pithp_host_loop pithp_reduce_row_loops[PITHP_ISA_COUNT] = {
    reduce_rows_base, reduce_rows_v3, reduce_rows_v4};

/* Indices are tiles of columns within blocks within outer indices. Adjacent tiles are
 * reduced together while their lanes fit, because the hardware prefetches longer runs
 * better. */
static inline void
reduce_columns(pithp_isa isa, const void *args, int64_t begin, int64_t end) {
    const pithp_reduce_args *a = args;
    const pithp_reducer *f = &pithp_reduce_tables[isa]->reducers[a->operation][a->dtype];
    const pithp_block_function finish =
        pithp_cast_block(isa, f->accumulator, a->to_dtype);
    const int64_t most = LANE_BYTES / a->accumulator_size / TILE;
    _Alignas(64) char lanes[LANES * LANE_BYTES], some[LANE_BYTES];
    for (int64_t i = begin, n; i < end; i += n) {
        const int64_t first = i % a->tiles, column = first * TILE, at = i / a->tiles;
        const int64_t block = at % a->blocks, outer = at / a->blocks;
        n = end - i < a->tiles - first ? end - i : a->tiles - first;
        n = n < most ? n : most;
        const int64_t left = a->inner - column, width = left < n * TILE ? left : n * TILE;
        const char *from =
            a->from + ((outer * a->length + block * BLOCK) * a->inner + column) * a->size;
        char *partial = a->partial
                            ? a->partial + (at * a->inner + column) * a->accumulator_size
                            : some;
        f->columns(partial, from, a->inner, pithp_reduce_block_length(a, block), width,
                   lanes);
        if (!a->partial)
            finish(a->to + (outer * a->inner + column) * a->to_size, some, NULL, NULL,
                   width);
    }
}
PITHP_LOOPS(reduce_columns)
const pithp_host_loop pithp_reduce_column_loops[PITHP_ISA_COUNT] = {
    reduce_columns_base, reduce_columns_v3, reduce_columns_v4};

/* ---- Lanes, one by one ---- */

void pithp_add_lane(pithp_lane_trees *t) {
    t->waiting++;
    for (int joined = t->lanes++; joined & 1; joined >>= 1, t->waiting--)
        t->reducer->tree(t->trees + (t->waiting - 2) * t->bytes, t->width, 2, t->width);
}

void pithp_join_lanes(pithp_lane_trees *t) {
    for (; t->waiting > 1; t->waiting--)
        t->reducer->tree(t->trees + (t->waiting - 2) * t->bytes, t->width, 2, t->width);
}

/* Long rows: the rows of a lane are read one after the other, and its accumulators stay
 * in the L1 cache. Indices are tiles of columns within groups of lanes within blocks
 * within outer indices. A group without rows gives the identity. */
static inline void
reduce_lanes(pithp_isa isa, const void *args, int64_t begin, int64_t end) {
    const pithp_reduce_args *a = args;
    const pithp_reducer *f = &pithp_reduce_tables[isa]->reducers[a->operation][a->dtype];
    const int64_t most = pithp_reduce_tile_width(a), row = a->inner * a->size;
    _Alignas(64) char trees[GROUP_TREES * WIDE_BYTES];
    for (int64_t i = begin; i < end; i++) {
        const int64_t column = i % a->tiles * most, at = i / a->tiles;
        const int64_t lane_group = at % LANE_GROUPS, block = at / LANE_GROUPS % a->blocks,
                      outer = at / LANE_GROUPS / a->blocks;
        const int64_t rows = pithp_reduce_block_length(a, block),
                      left = a->inner - column, width = left < most ? left : most;
        const char *from =
            a->from + (outer * a->length + block * BLOCK) * row + column * a->size;
        char *to = a->partial + (at * a->inner + column) * a->accumulator_size;
        pithp_lane_trees lanes = {.reducer = f,
                                  .trees = trees,
                                  .width = width,
                                  .bytes = width * a->accumulator_size};
        const int64_t first = lane_group * (LANES / LANE_GROUPS);
        for (int64_t k = first; k < first + LANES / LANE_GROUPS && k < rows; k++) {
            f->lane(pithp_next_lane(&lanes), from + k * row, LANES * a->inner,
                    (rows - k + LANES - 1) / LANES, width, a->inner);
            pithp_add_lane(&lanes);
        }
        pithp_join_lanes(&lanes);
        if (lanes.lanes)
            f->finish(to, trees, 1, width);
        else
            f->columns(to, from, a->inner, 0, width, trees);
    }
}
PITHP_LOOPS(reduce_lanes)

/* The tree over blocks. Indices are tiles of columns within outer indices. */
static inline void
reduce_blocks(pithp_isa isa, const void *args, int64_t begin, int64_t end) {
    const pithp_reduce_args *a = args;
    const pithp_reducer *f = &pithp_reduce_tables[isa]->reducers[a->operation][a->dtype];
    const pithp_block_function finish =
        pithp_cast_block(isa, f->accumulator, a->to_dtype);
    for (int64_t i = begin; i < end; i++) {
        const int64_t column = i % a->tiles * TILE, outer = i / a->tiles;
        const int64_t left = a->inner - column, width = left < TILE ? left : TILE;
        char *partial =
            a->partial + (outer * a->blocks * a->inner + column) * a->accumulator_size;
        f->tree(partial, a->inner, a->blocks, width);
        finish(a->to + (outer * a->inner + column) * a->to_size, partial, NULL, NULL,
               width);
    }
}
PITHP_LOOPS(reduce_blocks)

/* argmin and argmax of rows of several blocks with known extremes: the first block with
 * the best, and the first index of it there. */
static inline void
find_blocks(pithp_isa isa, const void *args, int64_t begin, int64_t end) {
    const pithp_reduce_args *a = args;
    const pithp_finder *finders = pithp_reduce_tables[isa]->finders[a->finder];
    const pith_dtype of_extremes =
        pithp_reduce_tables[isa]->reducers[a->operation][a->dtype].accumulator;
    int64_t *to = (int64_t *)(void *)a->to;
    for (int64_t i = begin; i < end; i++) {
        const int64_t block = finders[of_extremes].row(
            a->partial + i * a->blocks * a->accumulator_size, a->blocks);
        const int64_t first = block * BLOCK;
        to[i] = first + finders[a->dtype].row(a->from + (i * a->length + first) * a->size,
                                              pithp_reduce_block_length(a, block));
    }
}
PITHP_LOOPS(find_blocks)

/* argmin and argmax: indices as in reduce_columns, or rows. */
static inline void
find_rows(pithp_isa isa, const void *args, int64_t begin, int64_t end) {
    const pithp_reduce_args *a = args;
    const pithp_finder *f = &pithp_reduce_tables[isa]->finders[a->finder][a->dtype];
    int64_t *to = (int64_t *)(void *)a->to;
    for (int64_t i = begin; i < end; i++)
        to[i] = f->row(a->from + i * a->length * a->size, a->length);
}
PITHP_LOOPS(find_rows)

static inline void
find_columns(pithp_isa isa, const void *args, int64_t begin, int64_t end) {
    const pithp_reduce_args *a = args;
    const pithp_finder *f = &pithp_reduce_tables[isa]->finders[a->finder][a->dtype];
    for (int64_t i = begin; i < end; i++) {
        const int64_t column = i % a->tiles * TILE, outer = i / a->tiles;
        const int64_t left = a->inner - column, width = left < TILE ? left : TILE;
        f->columns((int64_t *)(void *)a->to + outer * a->inner + column,
                   a->from + (outer * a->length * a->inner + column) * a->size, a->inner,
                   a->length, width);
    }
}
PITHP_LOOPS(find_columns)

/* ---- Lowering ---- */

pith_status pithp_reduce_launch_moving(const pithp_call *call,
                                       void *to,
                                       const pithp_sink *sink,
                                       const pithp_memory *memory) {
    const pithp_reduce_params *p = call->params;
    const pith_spec *x = call->operands[0];
    int64_t stride[PITHP_MAX_RANK];
    pithp_move m = {.to = to,
                    .from = memory->operands[0],
                    .size = (int32_t)pith_dtype_size(x->dtype)};
    pithp_c_strides(x->rank, x->shape, m.size, stride);
    for (int reduced = 0; reduced < 2; reduced++) {
        for (int d = 0; d < x->rank; d++) {
            if ((int)(p->axes >> d & 1) != reduced)
                continue;
            m.shape[m.rank] = x->shape[d];
            m.from_stride[m.rank++] = stride[d];
        }
    }
    pithp_c_strides(m.rank, m.shape, m.size, m.to_stride);
    return pithp_launch_move(sink, pithp_ops[call->primitive].name, &m);
}

pith_status pithp_lower_reduce(const pithp_call *call,
                               const pith_spec *result,
                               const pithp_memory *memory,
                               const pithp_sink *sink) {
    return pithp_lower_reduce_of(call, result, memory, sink, NULL);
}

pithp_reduce_args pithp_reduce_args_of(const pithp_call *call,
                                       const pith_spec *result,
                                       const pithp_memory *memory,
                                       const pithp_reduce_view *v) {
    const pith_spec *x = call->operands[0];
    pithp_reduce_args a = {.from = memory->operands[0],
                           .to = memory->result,
                           .size = (int32_t)pith_dtype_size(x->dtype),
                           .to_size = (int32_t)pith_dtype_size(result->dtype),
                           .dtype = x->dtype,
                           .to_dtype = result->dtype,
                           .finder = call->primitive == PITHP_OP_ARGMAX,
                           .outer = v->outer,
                           .length = v->length,
                           .inner = v->inner,
                           .blocks = v->blocks,
                           .tiles = (v->inner + TILE - 1) / TILE};
    a.operation = (int)pithp_reduction_of(call->primitive);
    a.accumulator_size = (int32_t)pith_dtype_size(
        pithp_reduce_base.reducers[a.operation][x->dtype].accumulator);
    return a;
}

/* The launch that reduces groups of lanes of blocks. */
static pith_status
launch_lanes(const char *name, const pithp_reduce_args *reduce, const pithp_sink *sink) {
    pithp_reduce_args a = *reduce;
    const int64_t row = ROW_BYTES / a.size, wide = WIDE_BYTES / a.accumulator_size,
                  most = row < wide ? row : wide;
    a.tiles = (a.inner + most - 1) / most;
    const int64_t work = a.length / a.blocks / LANE_GROUPS * pithp_reduce_tile_width(&a);
    return pithp_launch_loops(sink, name, reduce_lanes_loops, &a, sizeof a,
                              a.outer * a.blocks * LANE_GROUPS * a.tiles,
                              16384 / (work + 1) + 1);
}

pith_status pithp_reduce_launch_tree(const char *name,
                                     const pithp_reduce_args *a,
                                     const pithp_sink *sink) {
    return pithp_launch_loops(sink, name, reduce_blocks_loops, a, sizeof *a,
                              a->outer * a->tiles, 16384 / (a->blocks + 1) + 1);
}

pith_status pithp_lower_reduce_of(const pithp_call *call,
                                  const pith_spec *result,
                                  const pithp_memory *memory,
                                  const pithp_sink *sink,
                                  const pithp_producer *producer) {
    const char *name = pithp_ops[call->primitive].name;
    const pithp_reduce_view v = pithp_reduce_view_of(call);
    pithp_reduce_args a = pithp_reduce_args_of(call, result, memory, &v);
    if (result->count == 0)
        return PITH_OK;
    if (v.moved) {
        const pith_status rc =
            pithp_reduce_launch_moving(call, memory->temporary, sink, memory);
        if (rc)
            return rc;
        a.from = memory->temporary;
    }
    const int64_t work = v.length * (v.inner < TILE ? v.inner : TILE);
    const bool rows = v.inner == 1, arg = pithp_reduce_is_arg(call);
    if (arg && !in_blocks(call, &v))
        return pithp_launch_loops(sink, name, rows ? find_rows_loops : find_columns_loops,
                                  &a, sizeof a, a.outer * a.tiles,
                                  16384 / (work + 1) + 1);
    const bool wide = !producer && is_wide(call, &v);
    if (v.blocks > 1 || wide)
        a.partial = (char *)memory->temporary + moved_bytes(call, &v);
    const int64_t grain =
        PITHP_REDUCE_GRAIN / ((v.blocks > 1 ? work / v.blocks : work) + 1) + 1;
    const pith_status rc =
        producer ? pithp_reduce_launch_fused(name, &a, producer, sink, grain)
        : wide   ? launch_lanes(name, &a, sink)
                 : pithp_launch_loops(sink, name,
                                    rows ? reduce_rows_loops : reduce_columns_loops, &a,
                                      sizeof a, a.outer * a.blocks * a.tiles, grain);
    if (rc || !a.partial)
        return rc;
    if (wide)
        a.blocks *= LANE_GROUPS;
    return arg ? pithp_launch_loops(sink, name, find_blocks_loops, &a, sizeof a,
                                    a.outer * a.tiles, 16384 / (a.blocks + 1) + 1)
               : pithp_reduce_launch_tree(name, &a, sink);
}
