/* Matrix product (GEMM) on the host: tiling and packing.
 *
 * The results of a batch of matrices are cut into tiles, which any thread computes. A
 * launch before packs columns of large matrices into panels. It also packs rows whose
 * terms are not contiguous. */
#include "program/host/dot.h"
#include "program/host/move.h"
#include "program/host/vector/dot.h"
#include "program/host/vector/fetch.h"
#include "program/op/thresholds.h"

#include <string.h>

enum {
    DIRECT_BYTES = 524288, /* of a matrix that stays in a near cache while it is reread */
    TILE_ROWS = 128,
    TALL_ROWS = 256, /* of one span; they stay in the L2 cache */
    TILE_COLUMNS = 768,
    FETCHED_BYTES = 4096,   /* maximum bytes of a prefetched matrix */
    CACHED_BYTES = 1 << 25, /* of a batch that may be in the last-level cache */
};

static const char name[] = "dot_general";

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* ---- Loops ---- */

static const pithp_product *const tables[PITHP_ISA_COUNT] = {pithp_product_base,
#ifdef __x86_64__
                                                             pithp_product_v3,
                                                             pithp_product_v4
#else
                                                             pithp_product_base,
                                                             pithp_product_base
#endif
};

/* A factor of a batch of products. The free dimension is the rows of the first factor, or
 * the columns of the second. */
typedef struct product_factor {
    const char *data;
    char *panels; /* of all the terms; NULL if it is read in place */
    int64_t batch[PITHP_MAX_RANK], extent, free, term;
    int64_t group, groups; /* of panels: rows or columns per group, number of groups */
} product_factor;

/* A launch over tiles: batch, then column tiles, then row tiles. */
typedef struct product_args {
    char *c;
    product_factor a, b;
    int32_t size, rank;
    pithp_product_kind kind;
    int64_t batch[PITHP_MAX_RANK];
    int64_t terms;
    int64_t rows, columns;           /* of a tile */
    int64_t row_tiles, column_tiles; /* of a matrix */
} product_args;

/* Address of a matrix of a batch. */
static const char *
matrix_of(const product_args *p, const product_factor *x, int64_t index) {
    int64_t at = 0;
    for (int d = p->rank - 1; d > 0; d--) {
        at += index % p->batch[d] * x->batch[d];
        index /= p->batch[d];
    }
    if (p->rank > 0)
        at += index * x->batch[0];
    return x->data + at * p->size;
}

/* Address of the rows or columns of a matrix from `first` on. */
static const char *
rows_of(const product_args *p, const product_factor *x, int64_t index, int64_t first) {
    if (x->panels)
        return x->panels + (index * x->groups * x->group + first) * p->terms * p->size;
    return matrix_of(p, x, index) + first * x->free * p->size;
}

/* Tiles computed in one call: consecutive row tiles of a thread, so that all reuse the
 * loaded part of b. */
typedef struct tile {
    int64_t tiles, batch, i, j, m, n;
    char *c;
    pithp_matrix a, b;
} tile;

static void find_tile(const product_args *p, int64_t index, int64_t end, tile *it) {
    const int64_t row = index % p->row_tiles, tall = TALL_ROWS / p->rows;
    it->i = row * p->rows;
    it->j = index / p->row_tiles % p->column_tiles * p->columns;
    it->batch = index / p->row_tiles / p->column_tiles;
    it->tiles = smaller(end - index, smaller(p->row_tiles - row, tall));
}

static tile tile_of(const product_args *p, int64_t index, int64_t end) {
    tile it = {.tiles = 1, .batch = index};
    if (p->row_tiles > 1 || p->column_tiles > 1)
        find_tile(p, index, end, &it);
    it.m = smaller(p->a.extent - it.i, it.tiles * p->rows);
    it.n = smaller(p->b.extent - it.j, p->columns);
    it.c = p->c + ((it.batch * p->a.extent + it.i) * p->b.extent + it.j) * p->size;
    const int last = p->rank > 0 ? p->rank - 1 : 0;
    it.a = (pithp_matrix){rows_of(p, &p->a, it.batch, it.i), p->a.free, p->a.term,
                          p->a.batch[last], p->a.panels != NULL};
    it.b = (pithp_matrix){rows_of(p, &p->b, it.batch, it.j), p->b.term, p->b.free,
                          p->b.batch[last], p->b.panels != NULL};
    return it;
}

#define TILES(name, work)                                                                \
    static inline void name(pithp_isa isa, const void *args, int64_t begin,              \
                            int64_t end) {                                               \
        const product_args *p = args;                                                    \
        const pithp_product *f = &tables[isa][p->kind];                                  \
        tile it;                                                                         \
        for (int64_t index = begin; index < end; index += it.tiles) {                    \
            it = tile_of(p, index, end);                                                 \
            work;                                                                        \
        }                                                                                \
    }                                                                                    \
    PITHP_LOOPS(name)
TILES(multiply_tiles, f->tiles(it.c, p->b.extent, it.m, it.n, p->terms, &it.a, &it.b))
TILES(multiply_dots, f->dots(it.c, 1, it.b.data, it.b.column, it.n, it.a.data, p->terms))

/* Whole matrices, with a software prefetch of the next one. They are not read in memory
 * order, so the hardware prefetcher fails. */
static inline void
multiply_streamed(pithp_isa isa, const void *args, int64_t begin, int64_t end) {
    const product_args *p = args;
    for (int64_t index = begin; index < end; index++) {
        const tile it = tile_of(p, index, end);
        for (int which = 0; which < 2 && index + 1 < end; which++) {
            const product_factor *next = which ? &p->b : &p->a;
            pithp_fetch(matrix_of(p, next, index + 1), 0,
                        next->extent * p->terms * p->size);
        }
        tables[isa][p->kind].tiles(it.c, p->b.extent, it.m, it.n, p->terms, &it.a, &it.b);
    }
}
PITHP_LOOPS(multiply_streamed)

/* Number of matrices from `index` on, before `end`, with equal strides. */
static int64_t count_equal_strides(const product_args *p, int64_t index, int64_t end) {
    const int64_t last = p->rank > 0 ? p->batch[p->rank - 1] : 1;
    return smaller(end - index, last - index % last);
}

static inline void
multiply_small(pithp_isa isa, const void *args, int64_t begin, int64_t end) {
    const product_args *p = args;
    const bool whole = p->row_tiles == 1;
    for (int64_t index = begin; index < end;) {
        const tile it = tile_of(p, index, end);
        const int64_t count = whole ? count_equal_strides(p, index, end) : 1;
        tables[isa][p->kind].small(it.c, count, it.m, it.n, p->terms, &it.a, &it.b);
        index += whole ? count : it.tiles;
    }
}
PITHP_LOOPS(multiply_small)

/* Pack one group of a matrix's rows or columns into panels `width` wide. */
static void pack_group(const product_args *p,
                       const pithp_product *f,
                       const product_factor *x,
                       int64_t width,
                       const char *matrix,
                       int64_t first,
                       char *to) {
    for (int64_t i = first; i < first + x->group; i += width) {
        const int64_t left = x->extent - i > 0 ? x->extent - i : 0;
        f->pack(to + (i - first) * p->terms * p->size,
                left ? matrix + i * x->free * p->size : matrix, width, x->free, x->term,
                smaller(left, width), p->terms);
    }
}

/* For each matrix: groups of the first factor's rows, then of the second's columns. */
static inline void
pack_panels(pithp_isa isa, const void *args, int64_t begin, int64_t end) {
    const product_args *p = args;
    const pithp_product *f = &tables[isa][p->kind];
    const int64_t of_a = p->a.panels ? p->a.groups : 0, each = of_a + p->b.groups;
    for (int64_t index = begin; index < end; index++) {
        const int64_t batch = index / each, group_at = index % each;
        const bool first = group_at < of_a;
        const product_factor *x = first ? &p->a : &p->b;
        const int64_t group = first ? group_at : group_at - of_a;
        pack_group(p, f, x, first ? f->rows : f->columns, matrix_of(p, x, batch),
                   group * x->group,
                   x->panels +
                       (batch * x->groups + group) * x->group * p->terms * p->size);
    }
}
PITHP_LOOPS(pack_panels)

/* ---- Memory and tiles ---- */

static pithp_product_kind kind_of(pith_dtype dtype) {
    static const pithp_product_kind kinds[PITH_DTYPE_COUNT] = {
        [PITH_BOOL] = PITHP_PRODUCT_BOOL, [PITH_I8] = PITHP_PRODUCT_U8,
        [PITH_U8] = PITHP_PRODUCT_U8,     [PITH_I16] = PITHP_PRODUCT_U16,
        [PITH_U16] = PITHP_PRODUCT_U16,   [PITH_I32] = PITHP_PRODUCT_U32,
        [PITH_U32] = PITHP_PRODUCT_U32,   [PITH_I64] = PITHP_PRODUCT_U64,
        [PITH_U64] = PITHP_PRODUCT_U64,   [PITH_F32] = PITHP_PRODUCT_F32,
        [PITH_F64] = PITHP_PRODUCT_F64};
    return kinds[dtype];
}

static bool is_half(const pith_spec *x) {
    return x->dtype == PITH_F16 || x->dtype == PITH_BF16;
}

static int64_t ceil_div(int64_t extent, int64_t each) {
    return extent / each + (extent % each != 0);
}

static size_t aligned(int64_t bytes) {
    return ((size_t)bytes + 63) / 64 * 64;
}

/* Packing pays off if a matrix is reread more often than packing reads it, or if columns
 * are not contiguous, so that vector loads are impossible. */
static bool packs(const pithp_product_view *v, int64_t size) {
    if (v->small || v->dots)
        return false;
    return v->b.free != 1 ||
           (v->m >= 4 * PITHP_PRODUCT_ROWS && (v->terms * v->n * size > DIRECT_BYTES ||
                                               v->m * v->terms * size > DIRECT_BYTES));
}

/* Which factors are packed, and offsets in the temporary memory. */
typedef struct layout {
    bool packed[2];
    size_t moved[2], panels[2], bytes;
} layout;

/* Rows or columns of a group of panels. */
static int64_t group_of(int factor, int64_t size) {
    return factor == 0 ? PITHP_PRODUCT_ROWS : PITHP_PRODUCT_ROW_BYTES / size;
}

/* Rows with contiguous terms are read in place. */
static layout
layout_of(const pithp_call *call, const pithp_product_view *v, int64_t size) {
    const bool packed = packs(v, size);
    layout l = {.packed = {packed && v->a.term != 1, packed}};
    const pithp_factor *factors[] = {&v->a, &v->b};
    const int64_t extents[] = {v->m, v->n};
    for (int k = 0; k < 2; k++) {
        const int64_t group = group_of(k, size);
        l.moved[k] = l.bytes;
        if (factors[k]->moved)
            l.bytes += aligned(call->operands[factors[k]->operand]->count * size);
        l.panels[k] = l.bytes;
        if (l.packed[k])
            l.bytes += aligned(v->batches * ceil_div(extents[k], group) * group *
                               v->terms * size);
    }
    return l;
}

/* Choose tile sizes that give enough tiles for the threads. */
static void choose_tiles(product_args *p, bool dots) {
    if (dots) {
        p->rows = 1;
        p->columns = PITHP_DOT_GRAIN / (p->terms + 1) / 8 * 8 + 8;
    } else {
        const int64_t some = ceil_div(p->a.extent, 16 * PITHP_PRODUCT_ROWS);
        p->rows = smaller(some < 4 ? 32 : some * PITHP_PRODUCT_ROWS, TILE_ROWS);
        p->columns = TILE_COLUMNS / p->b.group * p->b.group;
    }
    p->row_tiles = ceil_div(p->a.extent, p->rows);
    p->column_tiles = ceil_div(p->b.extent, p->columns);
}

static pith_status
launch_packing(const product_args *p, int64_t batches, const pithp_sink *sink) {
    const int64_t groups = (p->a.panels ? p->a.groups : 0) + p->b.groups;
    return pithp_launch_loops(sink, name, pack_panels_loops, p, sizeof *p,
                              batches * groups, 4096 / (p->terms * 8) + 1);
}

/* Whether matrices stream from memory one by one. */
static bool streams_matrices(const pithp_product_view *v, const product_args *p) {
    const int64_t a = v->m * v->terms * p->size, b = v->terms * v->n * p->size,
                  c = v->m * v->n * p->size;
    return p->row_tiles == 1 && p->column_tiles == 1 && !p->a.panels && !p->b.panels &&
           a <= FETCHED_BYTES && b <= FETCHED_BYTES &&
           v->batches > CACHED_BYTES / (a + b + c);
}

static pith_status
launch_tiles(const pithp_product_view *v, product_args *p, const pithp_sink *sink) {
    choose_tiles(p, v->dots);
    const int64_t rows = smaller(p->a.extent, p->rows),
                  columns = smaller(p->b.extent, p->columns),
                  grain = PITHP_DOT_GRAIN / (rows * columns * p->terms + 1) + 1;
    return pithp_launch_loops(sink, name,
                              v->small                 ? multiply_small_loops
                              : v->dots                ? multiply_dots_loops
                              : streams_matrices(v, p) ? multiply_streamed_loops
                                                       : multiply_tiles_loops,
                              p, sizeof *p, v->batches * p->row_tiles * p->column_tiles,
                              grain);
}

/* ---- Lowering ---- */

/* Prepare a factor for the launches; transpose it if necessary. */
static pith_status lower_factor(const pithp_call *call,
                                const pithp_factor *f,
                                const pithp_memory *memory,
                                int64_t size,
                                char *moved,
                                product_factor *to,
                                const pithp_sink *sink) {
    const char *data = memory->operands[f->operand];
    to->data = f->moved ? moved : data;
    to->free = f->free;
    to->term = f->term;
    memcpy(to->batch, f->batch, sizeof to->batch);
    return f->moved ? pithp_product_launch_moving(call, f, size, data, moved, sink)
                    : PITH_OK;
}

/* For element types other than f16 and bf16. */
static pith_status lower(const pithp_call *call,
                         const pith_spec *result,
                         const pithp_memory *memory,
                         const pithp_sink *sink) {
    const pithp_product_view v = pithp_product_view_of(call);
    const int64_t size = (int64_t)pith_dtype_size(result->dtype);
    if (v.terms == 0)
        return pithp_launch_fill(sink, name, memory->result, (int32_t)size, 0,
                                 result->count);
    product_args p = {.c = memory->result,
                      .a.extent = v.m,
                      .b.extent = v.n,
                      .size = (int32_t)size,
                      .rank = v.rank,
                      .kind = kind_of(result->dtype),
                      .terms = v.terms};
    memcpy(p.batch, v.batch, sizeof p.batch);
    const layout l = layout_of(call, &v, size);
    const pithp_factor *factors[] = {&v.a, &v.b};
    product_factor *sides[] = {&p.a, &p.b};
    pith_status rc = PITH_OK;
    for (int k = 0; k < 2 && !rc; k++) {
        char *temporary = memory->temporary;
        sides[k]->group = group_of(k, size);
        sides[k]->groups = ceil_div(sides[k]->extent, sides[k]->group);
        sides[k]->panels = l.packed[k] ? temporary + l.panels[k] : NULL;
        rc = lower_factor(call, factors[k], memory, size, temporary + l.moved[k],
                          sides[k], sink);
    }
    if (!rc && p.b.panels)
        rc = launch_packing(&p, v.batches, sink);
    return rc ? rc : launch_tiles(&v, &p, sink);
}

/* f16 and bf16 operands cast to f32, and the f32 result before rounding. */
typedef struct widened {
    pith_spec specs[3];
    const pith_spec *operands[2];
    size_t at[3], bytes;
} widened;

static void widen(const pithp_call *call, const pith_spec *result, widened *w) {
    w->bytes = 0;
    for (int k = 0; k < 3; k++) {
        w->specs[k] = k < 2 ? *call->operands[k] : *result;
        w->specs[k].dtype = PITH_F32;
        w->specs[k].bytes = (size_t)w->specs[k].count * sizeof(float);
        w->at[k] = w->bytes;
        w->bytes += aligned((int64_t)w->specs[k].bytes);
    }
    w->operands[0] = &w->specs[0];
    w->operands[1] = &w->specs[1];
}

static pith_status launch_cast(const pith_spec *from,
                               const void *data,
                               const pith_spec *to,
                               void *result,
                               const pithp_sink *sink) {
    const pithp_cast_params params = {to->dtype};
    const pithp_call cast = pithp_call_of(PITHP_OP_CAST, 1, &from, &params);
    return pithp_lower(&cast, to, &(pithp_memory){.operands = &data, .result = result},
                       sink);
}

static pith_status lower_halves(const pithp_call *call,
                                const pith_spec *result,
                                const pithp_memory *memory,
                                const pithp_sink *sink) {
    widened w;
    widen(call, result, &w);
    char *temporary = memory->temporary;
    const void *data[2];
    for (int k = 0; k < 2; k++) {
        data[k] = temporary + w.at[k];
        const pith_status rc = launch_cast(call->operands[k], memory->operands[k],
                                           &w.specs[k], temporary + w.at[k], sink);
        if (rc)
            return rc;
    }
    const pithp_call wide = pithp_call_of(call->primitive, 2, w.operands, call->params);
    const pith_status rc = lower(&wide, &w.specs[2],
                                 &(pithp_memory){.operands = data,
                                                 .result = temporary + w.at[2],
                                                 .temporary = temporary + w.bytes},
                                 sink);
    return rc ? rc
              : launch_cast(&w.specs[2], temporary + w.at[2], result, memory->result,
                            sink);
}

size_t pithp_temporary_product(const pithp_call *call, const pith_spec *result) {
    widened w = {.bytes = 0};
    pithp_call inner = *call;
    int64_t size = (int64_t)pith_dtype_size(result->dtype);
    if (is_half(result)) {
        widen(call, result, &w);
        inner.operands = w.operands;
        size = sizeof(float);
    }
    const pithp_product_view v = pithp_product_view_of(&inner);
    return w.bytes + layout_of(&inner, &v, size).bytes;
}

pith_status pithp_lower_product(const pithp_call *call,
                                const pith_spec *result,
                                const pithp_memory *memory,
                                const pithp_sink *sink) {
    if (result->count == 0)
        return PITH_OK;
    return is_half(result) ? lower_halves(call, result, memory, sink)
                           : lower(call, result, memory, sink);
}
