/* Products on the host: a batch of matrices is cut into pieces of the result, which any
 * thread multiplies. Large matrices are packed into panels before, in a launch of their
 * own. */
#include "program/block/product.h"
#include "program/move.h"
#include "program/product.h"

#include <string.h>

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

/* One launch of many pieces: batch, then rows of pieces, then columns of pieces. */
typedef struct product_args {
    char *c;
    const char *a, *b;
    char *panels_a, *panels_b; /* of all the terms; NULL where matrices lie as they are */
    int32_t size, rank;
    pithp_product_kind kind;
    int64_t batch[PITH_MAX_RANK], a_batch[PITH_MAX_RANK], b_batch[PITH_MAX_RANK];
    int64_t m, n, terms, a_free, a_term, b_free, b_term;
    int64_t rows, columns;             /* of a piece */
    int64_t row_pieces, column_pieces; /* of a matrix */
    int64_t a_groups, b_groups;        /* of a matrix's panels */
} product_args;

/* The matrices of a batch index. */
static void
find_batch(const product_args *p, int64_t index, pithp_matrix *a, pithp_matrix *b) {
    int64_t at_a = 0, at_b = 0;
    for (int d = p->rank - 1; d >= 0; d--) {
        const int64_t i = d > 0 ? index % p->batch[d] : index;
        if (d > 0)
            index /= p->batch[d];
        at_a += i * p->a_batch[d];
        at_b += i * p->b_batch[d];
    }
    *a = (pithp_matrix){p->a + at_a * p->size, p->a_free, p->a_term};
    *b = (pithp_matrix){p->b + at_b * p->size, p->b_term, p->b_free};
}

typedef struct piece {
    int64_t batch, i, j, m, n;
    char *c;
} piece;

static piece piece_of(const product_args *p, int64_t index) {
    piece it = {.batch = index};
    if (p->row_pieces > 1 || p->column_pieces > 1) {
        it.j = index % p->column_pieces * p->columns;
        it.i = index / p->column_pieces % p->row_pieces * p->rows;
        it.batch = index / p->column_pieces / p->row_pieces;
    }
    it.m = p->m - it.i < p->rows ? p->m - it.i : p->rows;
    it.n = p->n - it.j < p->columns ? p->n - it.j : p->columns;
    it.c = p->c + ((it.batch * p->m + it.i) * p->n + it.j) * p->size;
    return it;
}

/* The piece's matrices as they lie. */
static void
find_piece(const product_args *p, piece *it, pithp_matrix *a, pithp_matrix *b) {
    find_batch(p, it->batch, a, b);
    a->data = (const char *)a->data + it->i * a->row * p->size;
    b->data = (const char *)b->data + it->j * b->column * p->size;
}

#define PIECES(name, work)                                                               \
    static inline void name(pithp_isa isa, const void *args, int64_t begin,              \
                            int64_t end) {                                               \
        const product_args *p = args;                                                    \
        const pithp_product *f = &tables[isa][p->kind];                                  \
        for (int64_t index = begin; index < end; index++) {                              \
            piece it = piece_of(p, index);                                               \
            pithp_matrix a, b;                                                           \
            find_piece(p, &it, &a, &b);                                                  \
            work;                                                                        \
        }                                                                                \
    }                                                                                    \
    PITHP_LOOPS(name)
PIECES(multiply_small, f->small(it.c, p->n, it.m, it.n, p->terms, &a, &b))
PIECES(multiply_direct, f->direct(it.c, p->n, it.m, it.n, p->terms, &a, &b))
PIECES(multiply_dots, f->dots(it.c, 1, b.data, b.column, it.n, a.data, p->terms))

/* Panels in groups that hold whole tiles of every instruction set: the launch is cut
 * before that is chosen. */
static int64_t group_columns(const product_args *p) {
    return PITHP_PRODUCT_ROW_BYTES / p->size;
}

static inline void
multiply_packed(pithp_isa isa, const void *args, int64_t begin, int64_t end) {
    const product_args *p = args;
    const pithp_product *f = &tables[isa][p->kind];
    for (int64_t index = begin; index < end; index++) {
        const piece it = piece_of(p, index);
        const int64_t row = it.batch * p->a_groups * PITHP_PRODUCT_ROWS + it.i,
                      column = it.batch * p->b_groups * group_columns(p) + it.j;
        f->packed(it.c, p->n, it.m, it.n, p->terms,
                  p->panels_a + row * p->terms * p->size,
                  p->panels_b + column * p->terms * p->size);
    }
}
PITHP_LOOPS(multiply_packed)

/* One group of a matrix with `count` rows (or columns), its panels `width` wide. */
static void pack_group(const product_args *p,
                       const pithp_product *f,
                       const pithp_matrix *x,
                       bool second,
                       int64_t first,
                       char *to) {
    const int64_t group = second ? group_columns(p) : PITHP_PRODUCT_ROWS,
                  width = second ? f->columns : f->rows, count = second ? p->n : p->m,
                  stride = second ? x->column : x->row,
                  step = second ? x->row : x->column;
    const char *from = x->data;
    for (int64_t i = first; i < first + group; i += width) {
        const int64_t left = count - i > 0 ? count - i : 0;
        f->pack(to + (i - first) * p->terms * p->size,
                left ? from + i * stride * p->size : from, width, stride, step,
                left < width ? left : width, p->terms);
    }
}

/* Groups of a matrix's rows, then of its columns. */
static inline void
pack_panels(pithp_isa isa, const void *args, int64_t begin, int64_t end) {
    const product_args *p = args;
    const pithp_product *f = &tables[isa][p->kind];
    const int64_t each = p->a_groups + p->b_groups;
    for (int64_t index = begin; index < end; index++) {
        const int64_t batch = index / each, place = index % each;
        const bool second = place >= p->a_groups;
        const int64_t group = second ? group_columns(p) : PITHP_PRODUCT_ROWS,
                      here = second ? place - p->a_groups : place,
                      groups = second ? p->b_groups : p->a_groups;
        pithp_matrix a, b;
        find_batch(p, batch, &a, &b);
        pack_group(p, f, second ? &b : &a, second, here * group,
                   (second ? p->panels_b : p->panels_a) +
                       (batch * groups + here) * group * p->terms * p->size);
    }
}
PITHP_LOOPS(pack_panels)

/* ---- Memory and pieces ---- */

enum {
    DIRECT_BYTES = 524288, /* of a matrix that stays near while it is read again */
    PIECE_ROWS = 96,       /* of panels that stay in the second cache */
    PIECE_COLUMNS = 768,
    PIECE_WORK = 65536, /* multiplications worth a thread */
};

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

static int64_t pieces(int64_t extent, int64_t each) {
    return extent / each + (extent % each != 0);
}

static size_t aligned(int64_t bytes) {
    return ((size_t)bytes + 63) / 64 * 64;
}

/* Panels pay where a matrix is read more often than packing reads it, or lies so that
 * vectors of columns cannot be loaded. */
static bool packs(const pithp_product_view *v, int64_t size) {
    if (v->small || v->dots)
        return false;
    return v->b.free != 1 ||
           (v->m >= 4 * PITHP_PRODUCT_ROWS && (v->terms * v->n * size > DIRECT_BYTES ||
                                               v->m * v->terms * size > DIRECT_BYTES));
}

/* Where the parts of the temporary memory begin. */
typedef struct layout {
    size_t moved[2], panels[2], bytes; /* by a and b of the view */
} layout;

static layout
layout_of(const pithp_call *call, const pithp_product_view *v, int64_t size) {
    layout l = {.bytes = 0};
    const pithp_factor *factors[] = {&v->a, &v->b};
    for (int k = 0; k < 2; k++) {
        l.moved[k] = l.bytes;
        if (factors[k]->moved)
            l.bytes += aligned(call->operands[factors[k]->operand]->count * size);
    }
    if (packs(v, size)) {
        const int64_t columns = PITHP_PRODUCT_ROW_BYTES / size,
                      a = pieces(v->m, PITHP_PRODUCT_ROWS) * PITHP_PRODUCT_ROWS,
                      b = pieces(v->n, columns) * columns;
        l.panels[0] = l.bytes;
        l.bytes += aligned(v->batches * a * v->terms * size);
        l.panels[1] = l.bytes;
        l.bytes += aligned(v->batches * b * v->terms * size);
    }
    return l;
}

/* How long a piece is, so that there are enough of them for threads. */
static void cut(product_args *p, bool dots, bool packed) {
    const int64_t unit = group_columns(p);
    if (dots) {
        p->rows = 1;
        p->columns = PIECE_WORK / (p->terms + 1) / 8 * 8 + 8;
    } else {
        const int64_t some = pieces(pieces(p->m, 16), PITHP_PRODUCT_ROWS);
        p->rows = some < 4 ? 32 : some * PITHP_PRODUCT_ROWS;
        if (p->rows > PIECE_ROWS)
            p->rows = packed ? PIECE_ROWS : p->m > PIECE_ROWS * 16 ? 256 : PIECE_ROWS;
        p->columns = PIECE_COLUMNS / unit * unit;
        if (p->columns < unit)
            p->columns = unit;
    }
    p->row_pieces = pieces(p->m, p->rows);
    p->column_pieces = pieces(p->n, p->columns);
}

static pith_status emit_pieces(const pithp_product_view *v,
                               product_args *p,
                               int64_t batches,
                               const pithp_sink *sink) {
    static const char name[] = "dot_general";
    const bool packed = p->panels_a != NULL;
    cut(p, v->dots, packed);
    const int64_t rows = p->m < p->rows ? p->m : p->rows,
                  columns = p->n < p->columns ? p->n : p->columns,
                  grain = PIECE_WORK / (rows * columns * p->terms + 1) + 1;
    const pithp_host_loop *loops = v->small  ? multiply_small_loops
                                   : v->dots ? multiply_dots_loops
                                   : packed  ? multiply_packed_loops
                                             : multiply_direct_loops;
    if (packed) {
        p->a_groups = pieces(p->m, PITHP_PRODUCT_ROWS);
        p->b_groups = pieces(p->n, group_columns(p));
        const pith_status rc =
            pithp_emit(sink, name, pack_panels_loops, p, sizeof *p,
                       batches * (p->a_groups + p->b_groups), 4096 / (p->terms * 8) + 1);
        if (rc)
            return rc;
    }
    return pithp_emit(sink, name, loops, p, sizeof *p,
                      batches * p->row_pieces * p->column_pieces, grain);
}

/* ---- Lowering ---- */

/* Of a call whose elements are none of the halves. */
static pith_status lower(const pithp_call *call,
                         const pith_spec *result,
                         const pithp_memory *memory,
                         const pithp_sink *sink) {
    const pithp_product_view v = pithp_product_view_of(call);
    const int64_t size = (int64_t)pith_dtype_size(result->dtype);
    const layout l = layout_of(call, &v, size);
    const pithp_factor *factors[] = {&v.a, &v.b};
    const char *data[2];
    char *temporary = memory->temporary;
    if (v.terms == 0)
        return pithp_emit_fill(sink, "dot_general", memory->result, (int32_t)size, 0,
                               result->count);
    for (int k = 0; k < 2; k++) {
        data[k] = memory->operands[factors[k]->operand];
        if (!factors[k]->moved)
            continue;
        const pith_status rc = pithp_product_emit_moving(call, factors[k], size, data[k],
                                                         temporary + l.moved[k], sink);
        if (rc)
            return rc;
        data[k] = temporary + l.moved[k];
    }
    product_args p = {.c = memory->result,
                      .a = data[0],
                      .b = data[1],
                      .size = (int32_t)size,
                      .rank = v.rank,
                      .kind = kind_of(result->dtype),
                      .m = v.m,
                      .n = v.n,
                      .terms = v.terms,
                      .a_free = v.a.free,
                      .a_term = v.a.term,
                      .b_free = v.b.free,
                      .b_term = v.b.term};
    memcpy(p.batch, v.batch, sizeof p.batch);
    memcpy(p.a_batch, v.a.batch, sizeof p.a_batch);
    memcpy(p.b_batch, v.b.batch, sizeof p.b_batch);
    if (packs(&v, size)) {
        p.panels_a = temporary + l.panels[0];
        p.panels_b = temporary + l.panels[1];
    }
    return emit_pieces(&v, &p, v.batches, sink);
}

/* Halves are multiplied as f32: what they are cast to, and the result before it is
 * rounded. */
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

static pith_status emit_cast(const pith_spec *from,
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
        const pith_status rc = emit_cast(call->operands[k], memory->operands[k],
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
              : emit_cast(&w.specs[2], temporary + w.at[2], result, memory->result, sink);
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
