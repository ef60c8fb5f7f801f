/* Scatter on the host: rows of updates are combined with the elements at index arrays, in
 * index order, also for repeated indices. */
#include "program/host/gather.h"
#include "program/host/move.h"
#include "program/host/vector/vector.h"
#include "program/op/thresholds.h"

#include <string.h>

pith_status
pithp_infer_scatter(const pithp_call *call, pith_spec *result, pithp_refusal *refusal) {
    const pith_spec *x = call->operands[0];
    int rank;
    int64_t shape[2 * PITHP_MAX_RANK];
    if (call->operand_count < 3)
        return pithp_refuse(call, refusal, PITH_E_ARG, "no index array or no updates");
    const pith_status rc = pithp_infer_gathered(call, refusal, &rank, shape);
    if (rc)
        return rc;
    const pith_spec *updates = call->operands[call->operand_count - 1];
    char wanted[PITHP_SPEC_TEXT_BYTES], got[PITHP_SPEC_TEXT_BYTES];
    if (updates->rank != rank ||
        memcmp(updates->shape, shape, (size_t)rank * sizeof *shape) != 0)
        return pithp_refuse(
            call, refusal, PITH_E_SHAPE, "expected updates of shape %s, got %s",
            pithp_shape_print(rank, shape, wanted), pithp_spec_print(updates, got));
    const int takes = pithp_ops[pithp_ops[call->primitive].combine].dtypes;
    if (updates->dtype != x->dtype || !(takes >> x->dtype & 1))
        return pithp_refuse(call, refusal, PITH_E_DTYPE,
                            "expected %s of one dtype, got %s and %s",
                            !(takes >> PITH_BOOL & 1)  ? "numbers"
                            : !(takes >> PITH_F32 & 1) ? "integers or bool"
                                                       : "operands",
                            pithp_spec_print(x, wanted), pithp_spec_print(updates, got));
    return pithp_spec_fill(call, refusal, result, x->dtype, x->rank, x->shape);
}
PITHP_NO_TEMPORARY(scatter)

/* ---- scatter ---- */

#define POINTS_OF(name, dt, I, expression)                                               \
    static int64_t name##_##dt##_##I(void *to, const void *from, const void *index,      \
                                     int64_t n, int64_t extent) {                        \
        dt *d = to;                                                                      \
        const dt *x = from;                                                              \
        _Pragma("GCC unroll 4") for (int64_t i = 0; i < n; i++) {                        \
            const int64_t at = ((const I *)index)[i];                                    \
            if ((uint64_t)at >= (uint64_t)extent)                                        \
                return i;                                                                \
            const T_##dt a = LOAD_##dt(d[at]), b = LOAD_##dt(x[i]);                      \
            (void)a;                                                                     \
            d[at] = STORE_##dt(expression);                                              \
        }                                                                                \
        return n;                                                                        \
    }
#define POINTS(name, dt, expression)                                                     \
    POINTS_OF(name, dt, i32, expression)                                                 \
    POINTS_OF(name, dt, i64, expression)

#define WORDS(name, COMBINE)                                                             \
    POINTS(name, u8, COMBINE((U_u8)a, (U_u8)b))                                          \
    POINTS(name, u16, COMBINE((U_u16)a, (U_u16)b))                                       \
    POINTS(name, u32, COMBINE(a, b))                                                     \
    POINTS(name, u64, COMBINE(a, b))
#define INTEGERS(name, COMBINE)                                                          \
    WORDS(name, COMBINE)                                                                 \
    POINTS(name, b8, COMBINE(a, b))                                                      \
    POINTS(name, i8, COMBINE(a, b))                                                      \
    POINTS(name, i16, COMBINE(a, b))                                                     \
    POINTS(name, i32, COMBINE(a, b))                                                     \
    POINTS(name, i64, COMBINE(a, b))
#define FLOATS(name, COMBINE)                                                            \
    POINTS(name, f16, COMBINE(a, b))                                                     \
    POINTS(name, bf16, COMBINE(a, b))                                                    \
    POINTS(name, f32, COMBINE(a, b))                                                     \
    POINTS(name, f64, COMBINE(a, b))
#define UPDATE(a, b) (b)
WORDS(set, UPDATE)
WORDS(add, M_SUM)
FLOATS(add, M_SUM)
WORDS(mul, M_PROD)
FLOATS(mul, M_PROD)
WORDS(and, M_BOTH)
WORDS(or, M_EITHER)
INTEGERS(min, M_MIN)
FLOATS(min, M_MIN_REAL)
INTEGERS(max, M_MAX)
FLOATS(max, M_MAX_REAL)

/* The same for ascending indices: runs of equal indices are summed in a register, which
 * avoids store-to-load latency. */
#define RUNS_OF(dt, I)                                                                   \
    static int64_t add_runs_##dt##_##I(void *to, const void *from, const void *index,    \
                                       int64_t n, int64_t extent) {                      \
        dt *d = to;                                                                      \
        const dt *x = from;                                                              \
        const I *indices = index;                                                        \
        for (int64_t i = 0; i < n;) {                                                    \
            const I at = indices[i];                                                     \
            if ((uint64_t)at >= (uint64_t)extent)                                        \
                return i;                                                                \
            dt sum = d[at];                                                              \
            do                                                                           \
                sum += x[i++];                                                           \
            while (i < n && indices[i] == at);                                           \
            d[at] = sum;                                                                 \
        }                                                                                \
        return n;                                                                        \
    }
#define RUNS(dt)                                                                         \
    RUNS_OF(dt, i32)                                                                     \
    RUNS_OF(dt, i64)
RUNS(u32)
RUNS(u64)
RUNS(f32)
RUNS(f64)

#define EITHER(name, dt)                                                                 \
    { name##_##dt##_i32, name##_##dt##_i64 }
#define SIZES(name)                                                                      \
    [PITH_I8] = EITHER(name, u8), [PITH_U8] = EITHER(name, u8),                          \
    [PITH_I16] = EITHER(name, u16), [PITH_U16] = EITHER(name, u16),                      \
    [PITH_I32] = EITHER(name, u32), [PITH_U32] = EITHER(name, u32),                      \
    [PITH_I64] = EITHER(name, u64), [PITH_U64] = EITHER(name, u64)
#define REALS(name)                                                                      \
    [PITH_F16] = EITHER(name, f16), [PITH_BF16] = EITHER(name, bf16),                    \
    [PITH_F32] = EITHER(name, f32), [PITH_F64] = EITHER(name, f64)
#define SIGNS(name)                                                                      \
    [PITH_BOOL] = EITHER(name, b8), [PITH_I8] = EITHER(name, i8),                        \
    [PITH_I16] = EITHER(name, i16), [PITH_I32] = EITHER(name, i32),                      \
    [PITH_I64] = EITHER(name, i64), [PITH_U8] = EITHER(name, u8),                        \
    [PITH_U16] = EITHER(name, u16), [PITH_U32] = EITHER(name, u32),                      \
    [PITH_U64] = EITHER(name, u64)

/* By the row that combines (WHERE sets), and whether indices are i64. */
static const pithp_direct points[PITHP_ELEMENTWISE_COUNT][PITH_DTYPE_COUNT][2] = {
    [PITHP_OP_WHERE] = {SIZES(set), [PITH_BOOL] = EITHER(set, u8),
                        [PITH_F16] = EITHER(set, u16), [PITH_BF16] = EITHER(set, u16),
                        [PITH_F32] = EITHER(set, u32), [PITH_F64] = EITHER(set, u64)},
    [PITHP_OP_ADD] = {SIZES(add), REALS(add)},
    [PITHP_OP_MUL] = {SIZES(mul), REALS(mul)},
    [PITHP_OP_MIN] = {SIGNS(min), REALS(min)},
    [PITHP_OP_MAX] = {SIGNS(max), REALS(max)},
    [PITHP_OP_BITWISE_AND] = {SIZES(and), [PITH_BOOL] = EITHER(and, u8)},
    [PITHP_OP_BITWISE_OR] = {SIZES(or), [PITH_BOOL] = EITHER(or, u8)},
};

/* Sums by ascending indices, and whether indices are i64. */
static const pithp_direct sums_of_runs[PITH_DTYPE_COUNT][2] = {
    [PITH_I32] = EITHER(add_runs, u32), [PITH_U32] = EITHER(add_runs, u32),
    [PITH_I64] = EITHER(add_runs, u64), [PITH_U64] = EITHER(add_runs, u64),
    [PITH_F32] = EITHER(add_runs, f32), [PITH_F64] = EITHER(add_runs, f64),
};

/* The loop over single elements in range. The end of each run is a mispredicted branch,
 * so runs pay off from about 16 elements on. */
static pithp_direct points_of(const pithp_index_args *a) {
    enum { LONG_RUN = 24 };
    const bool wide = a->index_size == 8;
    const pithp_direct runs = sums_of_runs[a->dtype][wide];
    const bool long_runs = a->sorted && a->count / LONG_RUN >= a->pitch / a->inner;
    return runs && long_runs && a->combine == PITHP_OP_ADD
               ? runs
               : points[a->combine][a->dtype][wide];
}

/* n elements to the offsets `where` that are not -1. */
static void scatter_points(pithp_isa isa,
                           const pithp_index_args *a,
                           char *to,
                           const char *from,
                           const int64_t *where,
                           int64_t n,
                           bool some) {
    (void)isa, (void)some;
    const pithp_direct add = points[a->combine][a->dtype][true];
    for (int64_t i = 0; i < n; i++)
        i += add(to, from + i * a->size, where + i, n - i, INT64_MAX);
}

/* Sums of rows of a few elements: a call for each row takes longer than its sums. */
#define SUMS_OF_ROWS(dt, width)                                                          \
    static void add_rows_##dt##_##width(char *to, const char *from,                      \
                                        const int64_t *where, int64_t n) {               \
        const dt *x = (const void *)from;                                                \
        for (int64_t i = 0; i < n; i++, x += width) {                                    \
            if (where[i] < 0)                                                            \
                continue;                                                                \
            dt *d = (dt *)(void *)to + where[i] * width;                                 \
            _Pragma("GCC unroll 4") for (int k = 0; k < width; k++) d[k] += x[k];        \
        }                                                                                \
    }
SUMS_OF_ROWS(f32, 2)
SUMS_OF_ROWS(f32, 3)
SUMS_OF_ROWS(f32, 4)
SUMS_OF_ROWS(f64, 2)
SUMS_OF_ROWS(f64, 3)
SUMS_OF_ROWS(f64, 4)

typedef void (*row_sums)(char *to, const char *from, const int64_t *where, int64_t n);
#define WIDTHS(dt)                                                                       \
    { [2] = add_rows_##dt##_2, [3] = add_rows_##dt##_3, [4] = add_rows_##dt##_4 }
enum { NARROW = 4 };
static const row_sums sums_of_rows[PITH_DTYPE_COUNT][NARROW + 1] =
    {[PITH_F32] = WIDTHS(f32), [PITH_F64] = WIDTHS(f64)};

/* The sums for rows of `inner` elements, or NULL. */
static row_sums row_sums_of(const pithp_index_args *a) {
    return a->combine == PITHP_OP_ADD && a->inner <= NARROW
               ? sums_of_rows[a->dtype][a->inner]
               : NULL;
}

/* n rows of `width` elements, at a distance of `inner` on both sides. */
static void scatter_rows(pithp_isa isa,
                         const pithp_index_args *a,
                         char *to,
                         const char *from,
                         const int64_t *where,
                         int64_t n,
                         int64_t width) {
    const int64_t bytes = a->inner * a->size;
    const row_sums sums = width == a->inner ? row_sums_of(a) : NULL;
    if (a->inner == 1) {
        scatter_points(isa, a, to, from, where, n, true);
    } else if (sums) {
        sums(to, from, where, n);
    } else if (a->combine == PITHP_OP_WHERE) {
        for (int64_t i = 0; i < n; i++)
            if (where[i] >= 0)
                memcpy(to + where[i] * bytes, from + i * bytes,
                       (size_t)(width * a->size));
    } else {
        const pithp_block_function combine =
            pithp_elementwise_block(isa, a->combine, a->dtype);
        for (int64_t i = 0; i < n; i++) {
            char *row = to + where[i] * bytes;
            if (where[i] >= 0)
                combine(row, row, from + i * bytes, NULL, width);
        }
    }
}

/* The updates at..at + n of one outer index, for `width` elements of each. */
static void scatter_run(pithp_isa isa,
                        const pithp_index_args *a,
                        char *to,
                        const char *from,
                        int64_t at,
                        int64_t n,
                        int64_t width) {
    int64_t where[PITHP_INDEX_BLOCK];
    if (a->inner == 1 && pithp_index_is_direct(a)) {
        const pithp_index_points single = {points_of(a), scatter_points, 0, a->size};
        pithp_index_move(isa, a, &single, to, from, at, n);
        return;
    }
    for (int64_t rows; n > 0; n -= rows, at += rows) {
        rows = n < PITHP_INDEX_BLOCK ? n : PITHP_INDEX_BLOCK;
        pithp_index_resolve(isa, a, at, rows, where);
        scatter_rows(isa, a, to, from, where, rows, width);
        from += rows * a->inner * a->size;
    }
}

/* Indices are chunks of inner within outer indices; each applies all updates to its
 * chunk. */
static inline void scatter(pithp_isa isa, const void *args, int64_t begin, int64_t end) {
    const pithp_index_args *a = args;
    const int64_t chunks = (a->inner + a->chunk - 1) / a->chunk;
    int64_t where[PITHP_INDEX_BLOCK];
    /* the offsets are the same for every chunk */
    const bool once = a->count <= PITHP_INDEX_BLOCK && end - begin > 1;
    if (once)
        pithp_index_resolve(isa, a, 0, a->count, where);
    for (int64_t i = begin; i < end; i++) {
        const int64_t outer = i / chunks, first = i % chunks * a->chunk;
        const int64_t left = a->inner - first, width = left < a->chunk ? left : a->chunk;
        char *to = a->to + (outer * a->pitch + first) * a->size;
        const char *from = a->updates + (outer * a->count * a->inner + first) * a->size;
        if (once)
            scatter_rows(isa, a, to, from, where, a->count, width);
        else
            scatter_run(isa, a, to, from, 0, a->count, width);
    }
}
PITHP_LOOPS(scatter)

/* ---- Parts ---- */

static inline void
scatter_parts(pithp_isa isa, const void *args, int64_t begin, int64_t end) {
    const pithp_scatter_part *parts = args;
    for (const pithp_scatter_part *p = parts + begin; p < parts + end; p++)
        scatter_run(isa, &p->of, p->of.to, p->of.updates, p->at, p->n, p->of.inner);
}
PITHP_LOOPS(scatter_parts)

pith_status pithp_launch_scatter_parts(const char *name,
                                       const pithp_scatter_part *parts,
                                       int count,
                                       const pithp_sink *sink) {
    const bool few = parts->n * parts->of.inner < PITHP_GRAIN;
    return pithp_launch_loops(sink, name, scatter_parts_loops, parts,
                              (size_t)count * sizeof *parts, count, few ? count : 1);
}

/* ---- Promised indices: ranges of positions write disjoint elements ---- */

/* The first position from `at` on whose offset differs from that of the one before. */
static int64_t
after_equals(pithp_isa isa, const pithp_index_args *a, int64_t at, int64_t end) {
    int64_t where[PITHP_INDEX_BLOCK], same;
    pithp_index_resolve(isa, a, at - 1, 1, &same);
    for (; at < end; at += PITHP_INDEX_BLOCK) {
        const int64_t left = end - at,
                      n = left < PITHP_INDEX_BLOCK ? left : PITHP_INDEX_BLOCK;
        pithp_index_resolve(isa, a, at, n, where);
        for (int64_t i = 0; i < n; i++)
            if (where[i] != same)
                return at + i;
    }
    return end;
}

/* Whether the ascending indices of an entry begin with some that count from the end.
 * Later indices may select the same elements. */
static bool starts_from_end(const pithp_index_args *a, int64_t first) {
    const int own = a->arrays - 1; /* after the numbers of entries */
    int64_t index;
    if (!pithp_dtype_is_signed(a->index_dtype) || a->rule[own].no_negative)
        return false;
    pithp_cast_block(PITHP_ISA_BASE, a->index_dtype, PITH_I64)(
        &index, a->index[own] + first * a->index_size, NULL, NULL, 1);
    return index < 0;
}

static int64_t least(int64_t x, int64_t y) {
    return x < y ? x : y;
}

/* The number of parts of a length. */
static int64_t parts(int64_t all, int64_t each) {
    return (all + each - 1) / each;
}

/* Indices are ranges of entries within outer indices. Sorted positions with equal offset
 * belong to the range of the first of them. If some of an entry count from the end, all
 * belong to its first range. */
static inline void
scatter_ranges(pithp_isa isa, const void *args, int64_t begin, int64_t end) {
    const pithp_index_args *a = args;
    const int64_t entries = parts(a->count, a->apart), ranges = parts(a->apart, a->range);
    for (int64_t i = begin; i < end; i++) {
        const int64_t outer = i / ranges / entries,
                      first = i / ranges % entries * a->apart,
                      limit = least(first + a->apart, a->count);
        int64_t at = first + i % ranges * a->range, last = least(at + a->range, limit);
        if (a->sorted && starts_from_end(a, first)) {
            last = at > first ? at : limit;
        } else if (a->sorted) {
            if (at > first)
                at = after_equals(isa, a, at, limit);
            if (at < last)
                last = after_equals(isa, a, last, limit);
        }
        if (at < last)
            scatter_run(isa, a, a->to + outer * a->pitch * a->size,
                        a->updates + (outer * a->count + at) * a->inner * a->size, at,
                        last - at, a->inner);
    }
}
PITHP_LOOPS(scatter_ranges)

/* Choose what may run at the same time. Promised indices: ranges of the positions of an
 * entry, or of all if there is no batch; otherwise entries, small ones together. False:
 * all positions are one range. */
static bool choose_ranges(const pithp_call *call, pithp_index_args *a) {
    const pithp_index_params *p = call->params;
    const bool promised = p->unique || pithp_index_ascends(call);
    const int64_t entry = p->numbers ? (int64_t)p->apart : a->count;
    a->apart = entry;
    a->range = PITHP_SCATTER_RANGE;
    if (promised && entry >= 2 * PITHP_SCATTER_RANGE)
        return true;
    a->sorted = false;
    a->range = a->apart = parts(PITHP_GRAIN / a->inner + 1, entry) * entry;
    return a->count > a->apart;
}

/* ---- Lowering ---- */

pithp_index_args pithp_scatter_args_of(const pithp_call *call,
                                       const pithp_memory *memory) {
    pithp_index_args a = pithp_index_args_of(call, memory, pithp_index_arrays(call),
                                             call->operands[1]->count);
    a.combine = pithp_ops[call->primitive].combine;
    return a;
}

pith_status pithp_lower_scatter(const pithp_call *call,
                                const pith_spec *result,
                                const pithp_memory *memory,
                                const pithp_sink *sink) {
    const pithp_index_params *p = call->params;
    const char *name = pithp_ops[call->primitive].name;
    pithp_index_args a = pithp_scatter_args_of(call, memory);
    a.updates = memory->operands[call->operand_count - 1];
    a.chunk = a.inner == 1 ? 1 : PITHP_SCATTERED_ROW;
    a.sorted = p->sorted && !p->unique;
    pith_status rc = pithp_launch_copy(sink, name, memory->result, memory->operands[0],
                                       a.size, result->count);
    if (rc || a.outer * a.count * a.inner == 0)
        return rc;
    const int64_t chunks = parts(a.inner, a.chunk);
    if (a.outer * chunks < 64 && choose_ranges(call, &a))
        rc = pithp_launch_loops(
            sink, name, scatter_ranges_loops, &a, sizeof a,
            a.outer * parts(a.count, a.apart) * parts(a.apart, a.range), 1);
    else
        rc = pithp_launch_loops(
            sink, name, scatter_loops, &a, sizeof a, a.outer * chunks,
            PITHP_GRAIN / (a.count * (a.inner < a.chunk ? a.inner : a.chunk)) + 1);
    return rc ? rc : pithp_index_explain(name, &a, sink);
}
