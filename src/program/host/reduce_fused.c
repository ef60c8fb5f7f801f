/* Input fusion: reductions of elements that a program produces on demand, in registers or
 * a small buffer. The operand is never written to memory. */
#include "program/host/reduce.h"

#include <string.h>

typedef uint8_t b8;
typedef int64_t i64;
#include "program/source/args/map_reduce.h"

enum {
    BLOCK = PITHP_REDUCE_BLOCK,
    TILE = PITHP_REDUCE_TILE,
    WIDEST = PITHP_REDUCE_WIDEST,
    LANES = PITHP_REDUCE_LANES,
    FUSED_AT_ONCE = 2048, /* elements, usually */
    ROWS_AT_ONCE = 512,   /* rows */
    FUSED_TILE = 512,     /* columns of a tile */
    LEAST_WIDE = 256,     /* minimum columns with lanes one by one */
    MOST_TREES = 7,       /* subtrees of 32, 16, ... lanes, and a lane */
    LEAST_FUSED =
        1024 /* minimum elements of a tile: below, calls cost more than memory accesses */
};

/* ---- Rows ---- */

/* Indices are rows of one block. */
static void reduce_fused_rows(pithp_isa isa,
                              const pithp_fused_reduce_args *m,
                              char *state,
                              int64_t begin,
                              int64_t end) {
    const pithp_reduce_args *a = &m->reduce;
    const pithp_reducer *f = &pithp_reduce_tables[isa]->reducers[a->operation][a->dtype];
    const pithp_block_function finish =
        pithp_cast_block(isa, f->accumulator, a->to_dtype);
    const int64_t at_once = a->length < FUSED_AT_ONCE ? FUSED_AT_ONCE / a->length : 1;
    _Alignas(64) char buffer[BLOCK * WIDEST], some[TILE * WIDEST];
    for (int64_t i = begin; i < end; i += at_once) {
        const int64_t rows = end - i < at_once ? end - i : at_once;
        const char *from = m->make(isa, state, i * a->length, rows * a->length, buffer);
        for (int64_t k = 0; k < rows; k += TILE) {
            const int64_t n = rows - k < TILE ? rows - k : TILE;
            f->rows(some, from + k * a->length * a->size, a->length, n, 0);
            finish(a->to + (i + k) * a->to_size, some, NULL, NULL, n);
        }
    }
}

/* The same by compiled code: indices are rows of one block, or blocks of rows
 * (map_reduce_blocks). */
static void map_reduce_rows(pithp_isa isa,
                            const pithp_fused_reduce_args *m,
                            char *state,
                            int64_t begin,
                            int64_t end) {
    const pithp_reduce_args *a = &m->reduce;
    const pithp_reducer *f = &pithp_reduce_tables[isa]->reducers[a->operation][a->dtype];
    const pithp_block_function finish =
        pithp_cast_block(isa, f->accumulator, a->to_dtype);
    _Alignas(64) char some[ROWS_AT_ONCE * WIDEST];
    const m_map_reduce_args args = {
        .at = (char *const *)(const void *)state, .to = some, .length = a->length};
    for (int64_t i = begin, n; i < end; i += n) {
        n = end - i < ROWS_AT_ONCE ? end - i : ROWS_AT_ONCE;
        m->map_reduce(&args, i, i + n);
        finish(a->to + i * a->to_size, some, NULL, NULL, n);
    }
}

static void map_reduce_blocks(const pithp_fused_reduce_args *m,
                              const char *state,
                              int64_t begin,
                              int64_t end) {
    const pithp_reduce_args *a = &m->reduce;
    for (int64_t i = begin; i < end; i++) {
        const int64_t block = i % a->blocks;
        const m_map_reduce_args args = {.at = (char *const *)(const void *)state,
                                        .to = a->partial + i * a->accumulator_size,
                                        .first =
                                            i / a->blocks * a->length + block * BLOCK,
                                        .length = pithp_reduce_block_length(a, block)};
        m->map_reduce(&args, 0, 1);
    }
}

/* A tile of columns within a block within an outer index. */
typedef struct fused_tile {
    int64_t first, width; /* elements of the operand, columns */
    int64_t rows;
    int64_t to; /* of the block's results */
} fused_tile;

static fused_tile tile_at(const pithp_reduce_args *a, int64_t i) {
    const int64_t most = pithp_reduce_tile_width(a), column = i % a->tiles * most,
                  at = i / a->tiles;
    const int64_t block = at % a->blocks, outer = at / a->blocks;
    const int64_t left = a->inner - column;
    return (fused_tile){.first = (outer * a->length + block * BLOCK) * a->inner + column,
                        .width = left < most ? left : most,
                        .rows = pithp_reduce_block_length(a, block),
                        .to = at * a->inner + column};
}

/* Combine the used lanes to the tile's results. With a single block they are cast to the
 * result's dtype. */
static void finish_tile(const pithp_reduce_args *a,
                        pithp_isa isa,
                        const fused_tile *t,
                        void *lanes,
                        int64_t used) {
    const pithp_reducer *f = &pithp_reduce_tables[isa]->reducers[a->operation][a->dtype];
    _Alignas(64) char some[FUSED_TILE * WIDEST];
    f->finish(a->partial ? a->partial + t->to * a->accumulator_size : some, lanes, used,
              t->width);
    if (!a->partial)
        pithp_cast_block(isa, f->accumulator, a->to_dtype)(a->to + t->to * a->to_size,
                                                           some, NULL, NULL, t->width);
}

/* Rows of a tile that are produced at once. They fit in the L1 cache beside their
 * operands. If possible they are as many as lanes, so that they form one long row of
 * lanes. */
static int64_t rows_at_once(int64_t width) {
    const int64_t rows = FUSED_AT_ONCE / width;
    return rows >= LANES            ? rows / LANES * LANES
           : width * LANES <= BLOCK ? LANES
                                    : BLOCK / width;
}

/* Compiled code combines rows r to r + n of a tile with the accumulators, which are
 * uninitialised if it `begins`. */
static void map_reduce_columns(const pithp_fused_reduce_args *m,
                               const char *state,
                               const fused_tile *t,
                               int64_t r,
                               int64_t n,
                               bool begins,
                               void *to) {
    const int64_t first = t->first + r * m->reduce.inner;
    const m_map_reduce_args args = {
        .at = (char *const *)(const void *)state, .to = to, .begins = begins};
    m->map_reduce(&args, first, first + n * t->width);
}

/* Rows in order, over all lanes of the tile. */
static void reduce_fused_tile(pithp_isa isa,
                              const pithp_fused_reduce_args *m,
                              char *state,
                              const fused_tile *t) {
    const pithp_reduce_args *a = &m->reduce;
    const pithp_reducer *f = &pithp_reduce_tables[isa]->reducers[a->operation][a->dtype];
    const int64_t at_once = m->map_reduce ? LANES : rows_at_once(t->width);
    _Alignas(64) char lanes[LANES * LEAST_WIDE * WIDEST], buffer[BLOCK * WIDEST];
    for (int64_t r = 0, n; r < t->rows; r += n) {
        n = t->rows - r < at_once ? t->rows - r : at_once;
        if (m->map_reduce)
            map_reduce_columns(m, state, t, r, n, r == 0, lanes);
        else
            f->accumulate(
                lanes, m->make(isa, state, t->first + r * a->inner, n * t->width, buffer),
                t->width, r, n, t->width);
    }
    finish_tile(a, isa, t, lanes, t->rows < LANES ? t->rows : LANES);
}

/* Lane by lane, each over all its rows, so that its accumulators stay in the L1 cache. A
 * lane's rows are combined as if they were the only ones. */
static void reduce_fused_wide(pithp_isa isa,
                              const pithp_fused_reduce_args *m,
                              char *state,
                              const fused_tile *t) {
    const pithp_reduce_args *a = &m->reduce;
    const pithp_reducer *f = &pithp_reduce_tables[isa]->reducers[a->operation][a->dtype];
    _Alignas(64) char trees[MOST_TREES * FUSED_TILE * WIDEST],
        buffer[FUSED_TILE * WIDEST];
    pithp_lane_trees lanes = {.reducer = f,
                              .trees = trees,
                              .width = t->width,
                              .bytes = t->width * a->accumulator_size};
    for (int64_t lane = 0; lane < LANES && lane < t->rows; lane++) {
        char *tree = pithp_next_lane(&lanes);
        for (int64_t r = lane; r < t->rows; r += LANES)
            if (m->map_reduce)
                map_reduce_columns(m, state, t, r, 1, r == lane, tree);
            else
                f->accumulate(
                    tree, m->make(isa, state, t->first + r * a->inner, t->width, buffer),
                    t->width, r - lane, 1, t->width);
        pithp_add_lane(&lanes);
    }
    pithp_join_lanes(&lanes);
    finish_tile(a, isa, t, trees, 1);
}

static inline void
reduce_fused(pithp_isa isa, const void *args, int64_t begin, int64_t end) {
    const pithp_fused_reduce_args *m = args;
    const pithp_reduce_args *a = &m->reduce;
    _Alignas(16) char state[PITHP_PRODUCER_BYTES];
    memcpy(state, m->state, m->state_bytes);
    if (a->inner == 1 && m->map_reduce && a->partial)
        map_reduce_blocks(m, state, begin, end);
    else if (a->inner == 1 && !a->partial)
        (m->map_reduce ? map_reduce_rows : reduce_fused_rows)(isa, m, state, begin, end);
    else
        for (int64_t i = begin; i < end; i++) {
            const fused_tile t = tile_at(a, i);
            (a->inner < LEAST_WIDE ? reduce_fused_tile : reduce_fused_wide)(isa, m, state,
                                                                            &t);
        }
}
PITHP_LOOPS(reduce_fused)
const pithp_host_loop pithp_reduce_fused_loops[PITHP_ISA_COUNT] = {
    reduce_fused_base, reduce_fused_v3, reduce_fused_v4};

/* ---- Lowering ---- */

bool pithp_reduce_can_fuse(const pithp_call *call) {
    const pithp_reduce_view v = pithp_reduce_view_of(call);
    const int64_t tile = v.inner < FUSED_TILE ? v.inner : FUSED_TILE;
    return !pithp_reduce_is_arg(call) && !v.moved && v.length > 0 && v.outer > 0 &&
           v.inner > 0 && (v.inner == 1 || v.length * tile >= LEAST_FUSED);
}

pith_status pithp_reduce_launch_fused(const char *name,
                                      const pithp_reduce_args *a,
                                      const pithp_producer *producer,
                                      const pithp_sink *sink,
                                      int64_t grain) {
    pithp_fused_reduce_args m;
    PITH_ASSERT(producer->bytes <= sizeof m.state);
    m.reduce = *a;
    m.make = producer->make;
    m.map_reduce = producer->map_reduce;
    m.state_bytes = producer->bytes;
    memcpy(m.state, producer->state, producer->bytes);
    m.reduce.tiles = (a->inner + FUSED_TILE - 1) / FUSED_TILE;
    return pithp_launch_loops(sink, name, reduce_fused_loops, &m,
                              offsetof(pithp_fused_reduce_args, state) + producer->bytes,
                              a->outer * a->blocks * m.reduce.tiles, grain);
}
