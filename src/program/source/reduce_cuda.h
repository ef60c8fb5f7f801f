/* Reduction of the middle of [outer, length, inner] on CUDA: kernels built with the
 * library, and fused kernels of generated text, which compute the elements. Needs
 * source/dtype_switch.h and source/args/reduce.h.
 *
 * Pairwise summation in the order of host/vector/reduce.c: element i of a block of 4,096
 * belongs to lane i % 64; lanes and blocks combine by a binary tree over neighbours. A
 * team of threads reduces one block. With several blocks, lanes go to memory, and one
 * thread reduces a subtree of 64. Three levels of such trees reach a billion elements.
 *
 * Accumulators have 8 bytes: u64 for unsigned and wrapping integers and truth values, i64
 * for extremes of signed integers, f64 for floats. Each holds the values of the host's
 * narrower ones exactly, so results have the same bits. */
#ifndef PITH_PROGRAM_SOURCE_REDUCE_CUDA_H
#define PITH_PROGRAM_SOURCE_REDUCE_CUDA_H

#define M_LANES   64
#define M_DEPTH   7 /* levels of the tree over 64, plus one */
#define M_REDUCED 4096

enum {
    M_OP_SUM,
    M_OP_PROD,
    M_OP_MIN,
    M_OP_MAX,
    M_OP_ANY,
    M_OP_ALL
}; /* as pithp_reduction */
enum { M_OF_U64, M_OF_I64, M_OF_F64 };

/* Accumulator type of an operation and dtype. */
M_FN i32 m_accumulator(i32 operation, i32 dtype) {
    if (operation == M_OP_ANY || operation == M_OP_ALL)
        return M_OF_U64;
    if (M_IS_FLOAT(dtype))
        return M_OF_F64;
    return (operation == M_OP_MIN || operation == M_OP_MAX) && M_IS_SIGNED(dtype)
               ? M_OF_I64
               : M_OF_U64;
}

M_FN f64 m_combine_f64(i32 operation, f64 a, f64 b) {
    switch (operation) {
        case M_OP_SUM:
            return M_SUM(a, b);
        case M_OP_PROD:
            return M_PROD(a, b);
        case M_OP_MIN:
            return M_MIN_REAL(a, b);
        default:
            return M_MAX_REAL(a, b);
    }
}
M_FN u64 m_combine_u64(i32 operation, u64 a, u64 b) {
    switch (operation) {
        case M_OP_SUM:
            return M_SUM(a, b);
        case M_OP_PROD:
            return M_PROD(a, b);
        case M_OP_MIN:
            return M_MIN(a, b);
        case M_OP_MAX:
            return M_MAX(a, b);
        case M_OP_ANY:
            return M_EITHER(a, b);
        default:
            return M_BOTH(a, b);
    }
}
M_FN u64 m_combine_i64(i32 operation, u64 a, u64 b) {
    const i64 x = (i64)a, y = (i64)b;
    return (u64)(operation == M_OP_MIN ? M_MIN(x, y) : M_MAX(x, y));
}
M_FN u64 m_combine(i32 operation, i32 accumulator, u64 a, u64 b) {
    if (accumulator == M_OF_F64)
        return m_bits_f64(
            m_combine_f64(operation, m_from_bits_u64(a), m_from_bits_u64(b)));
    return accumulator == M_OF_I64 ? m_combine_i64(operation, a, b)
                                   : m_combine_u64(operation, a, b);
}

M_FN u64 m_identity(i32 operation, i32 accumulator) {
    const f64 infinity = m_from_bits_u64((u64)0x7FF << 52);
    const u64 top = (u64)1 << 63;
    switch (operation) {
        case M_OP_PROD:
            return accumulator == M_OF_F64 ? m_bits_f64(1.0) : 1;
        case M_OP_MIN:
            return accumulator == M_OF_F64   ? m_bits_f64(infinity)
                   : accumulator == M_OF_I64 ? top - 1
                                             : ~(u64)0;
        case M_OP_MAX:
            return accumulator == M_OF_F64   ? m_bits_f64(-infinity)
                   : accumulator == M_OF_I64 ? top
                                             : 0;
        case M_OP_ALL:
            return 1;
        default:
            return 0;
    }
}

/* ---- Elements as accumulators ---- */

M_FN u64 m_load_operand(const void *from, i32 dtype, i64 i, i32 operation) {
    const u64 x = m_load_number(from, dtype, i);
    if (operation != M_OP_ANY && operation != M_OP_ALL)
        return x;
    return M_IS_FLOAT(dtype) ? m_from_bits_u64(x) != 0 : x != 0;
}

/* ---- Lanes ---- */

/* Elements of one lane, combined in order; they are `step` apart. */
typedef struct m_elements {
    i64 first, step, count;
} m_elements;

/* Lane t of partial[outer, block, lane, inner]; count 0 if it has no elements. */
M_FN m_elements m_lane_of(const m_reduce_args *a, i64 t) {
    const i64 column = t % a->inner, lane = t / a->inner % M_LANES,
              block = t / a->inner / M_LANES % a->blocks,
              outer = t / a->inner / M_LANES / a->blocks;
    const i64 left = a->length - block * M_REDUCED,
              length = left < M_REDUCED ? left : M_REDUCED;
    m_elements x;
    x.first = (outer * a->length + block * M_REDUCED + lane) * a->inner + column;
    x.step = M_LANES * a->inner;
    x.count = outer >= a->outer || lane >= length ? 0 : (length - lane - 1) / M_LANES + 1;
    return x;
}

/* ---- Whole lines ---- */

/* The elements of result t. */
M_FN m_elements m_line_of(const m_reduce_args *a, i64 t) {
    m_elements x;
    x.first = t / a->inner * a->length * a->inner + t % a->inner;
    x.step = a->inner;
    x.count = a->length;
    return x;
}

M_FN void m_finish(void *to, i64 i, u64 x, i32 accumulator, i32 dtype) {
    switch (accumulator) {
        case M_OF_F64:
            m_store_any_real(to, i, dtype, m_from_bits_u64(x));
            break;
        case M_OF_I64:
            m_store_any_signed(to, i, dtype, (i64)x);
            break;
        default:
            m_store_any_unsigned(to, i, dtype, x);
    }
}

/* ---- Tree over neighbours, evaluated with a stack (pairwise summation) ---- */

/* Push an element by its number, combining completed subtrees. */
M_FN void
m_push(u64 *stack, i32 *depth, i64 number, u64 x, i32 operation, i32 accumulator) {
    for (; number & 1; number >>= 1)
        x = m_combine(operation, accumulator, stack[--*depth], x);
    stack[(*depth)++] = x;
}
M_FN u64 m_pop_all(const u64 *stack, i32 depth, i32 operation, i32 accumulator) {
    u64 x = stack[depth - 1];
    for (i32 k = depth - 2; k >= 0; k--)
        x = m_combine(operation, accumulator, stack[k], x);
    return x;
}

/* Result of a stack of at most 64 elements. */
M_FN u64 m_total(const u64 *stack, i32 depth, i32 operation, i32 accumulator) {
    const u64 x = m_identity(operation, accumulator);
    return depth ? m_combine(operation, accumulator, x,
                             m_pop_all(stack, depth, operation, accumulator))
                 : x;
}

/* ---- Teams: a block of threads reduces several results, lanes then trees ---- */

#define M_TEAM_STEPS 8 /* the lanes, six levels of the tree, the results */

typedef struct m_team {
    u64 partial[M_BLOCK]; /* the threads of a result are contiguous */
} m_team;

/* The lanes of a thread. */
typedef struct m_team_lanes {
    i64 result;
    i32 lane, lanes, slot; /* lanes: 0 if there is no result */
} m_team_lanes;

M_FN m_team_lanes m_team_lanes_of(const m_reduce_args *a, i64 t) {
    const i32 threads = M_TEAM_THREADS(a->outer, a->inner), results = M_BLOCK / threads,
              thread = (i32)(t % M_BLOCK);
    const i32 number = threads == M_LANES ? thread % threads : thread / results,
              which = threads == M_LANES ? thread / threads : thread % results;
    m_team_lanes x;
    x.result = t / M_BLOCK * results + which;
    x.lane = number * (M_LANES / threads);
    x.lanes = x.result < a->outer * a->inner ? M_LANES / threads : 0;
    x.slot = which * threads + number;
    return x;
}

M_FN m_elements m_team_lane(const m_reduce_args *a,
                            const m_team_lanes *own_lanes,
                            i32 number) {
    const i64 lane = own_lanes->lane + number;
    m_elements x;
    x.first = (own_lanes->result / a->inner * a->length + lane) * a->inner +
              own_lanes->result % a->inner;
    x.step = M_LANES * a->inner;
    x.count = (a->length - lane - 1) / M_LANES + 1;
    return x;
}

/* Tree over eight lanes in order; returns the last completed subtree. */
typedef struct m_eight {
    u64 one, two, four;
} m_eight;
M_FN u64 m_join_lane(m_eight *sofar, i32 number, u64 x, i32 operation, i32 accumulator) {
    if (!(number & 1))
        return sofar->one = x;
    x = m_combine(operation, accumulator, sofar->one, x);
    if (!(number & 2))
        return sofar->two = x;
    x = m_combine(operation, accumulator, sofar->two, x);
    if (!(number & 4))
        return sofar->four = x;
    return m_combine(operation, accumulator, sofar->four, x);
}

/* Level `step` of the trees, or the results. */
M_FN void m_team_tree(const m_reduce_args *a,
                      i64 t,
                      m_team *shared,
                      i32 step,
                      i32 operation,
                      i32 accumulator,
                      i32 to_dtype) {
    const i32 threads = M_TEAM_THREADS(a->outer, a->inner), results = M_BLOCK / threads,
              thread = (i32)(t % M_BLOCK), half = 1 << (step - 1);
    const i64 result = t / M_BLOCK * results + thread;
    if (half < threads && thread < M_BLOCK >> step) {
        u64 *const x = shared->partial + (thread << step);
        *x = m_combine(operation, accumulator, *x, x[half]);
    } else if (half == threads && thread < results && result < a->outer * a->inner) {
        m_finish(a->to, result,
                 m_combine(operation, accumulator, m_identity(operation, accumulator),
                           shared->partial[thread * threads]),
                 accumulator, to_dtype);
    }
}

/* ---- argmin and argmax: the first of the best; NaN beats numbers ---- */

M_FN i32 m_beats(i32 greatest, i32 accumulator, u64 a, u64 b) {
    if (accumulator == M_OF_F64) {
        const f64 x = m_from_bits_u64(a), y = m_from_bits_u64(b);
        return (greatest ? x > y : x < y) | ((x != x) & (y == y));
    }
    if (accumulator == M_OF_I64)
        return greatest ? (i64)a > (i64)b : (i64)a < (i64)b;
    return greatest ? a > b : a < b;
}

/* A thread's share of a line: the best of 64 elements, in later launches of 64
 * candidates, at a stride of the threads per line. Ties go to the lower index, so the
 * order of comparison is free. */
typedef struct m_search {
    i64 outer, column, group, groups; /* groups: threads per line */
    i64 best;                         /* index; -1: none yet */
    u64 value;
} m_search;

M_FN m_search m_search_of(const m_reduce_args *a, i64 t) {
    m_search s;
    s.groups = (a->count + M_LANES - 1) / M_LANES;
    s.column = t % a->inner;
    s.group = t / a->inner % s.groups;
    s.outer = t / a->inner / s.groups;
    s.best = -1;
    s.value = 0;
    return s;
}
/* Index of candidate i, and the element there. */
M_FN i64 m_candidate(const m_reduce_args *a, const m_search *s, i64 i) {
    return a->candidates ? a->candidates[(s->outer * a->count + i) * a->inner + s->column]
                         : i;
}
M_FN i64 m_candidate_element(const m_reduce_args *a, const m_search *s, i64 index) {
    return (s->outer * a->length + index) * a->inner + s->column;
}
M_FN void m_consider(m_search *s, i64 index, u64 value, i32 greatest, i32 accumulator) {
    if (s->best < 0 || m_beats(greatest, accumulator, value, s->value) ||
        (index < s->best && !m_beats(greatest, accumulator, s->value, value))) {
        s->best = index;
        s->value = value;
    }
}
M_FN void m_found(const m_reduce_args *a, const m_search *s, i64 t) {
    (s->groups == 1 ? (i64 *)a->to : a->found)[t] = s->best;
}

/* ---- Kernels ---- */

/* Their arguments are m_reduce_args, *r, or begin with them: element(a, i) is element i
 * in the accumulator's type. The operation and dtypes may be expressions of *r. */

/* At most 64 elements: one thread per result. */
#define M_REDUCE_LINES(name, args, element, operation, dtype, to_dtype)                  \
    M_KERNEL(name, args) {                                                               \
        const m_reduce_args *const r = (const m_reduce_args *)a;                         \
        const i32 accumulator = m_accumulator(operation, dtype);                         \
        const m_elements at = m_line_of(r, t);                                           \
        u64 stack[M_DEPTH];                                                              \
        i32 depth = 0;                                                                   \
        if (t >= r->outer * r->inner)                                                    \
            return;                                                                      \
        for (i64 i = 0; i < at.count; i++)                                               \
            m_push(stack, &depth, i, element(a, at.first + i * at.step), operation,      \
                   accumulator);                                                         \
        m_finish(r->to, t, m_total(stack, depth, operation, accumulator), accumulator,   \
                 to_dtype);                                                              \
    }

/* NAME_lane(a, at): the combination of the elements of a lane. */
#define M_LANE_OF(name, args, element, operation, dtype)                                 \
    M_FN u64 name##_lane(const args *a, const m_elements *at) {                          \
        const i32 accumulator = m_accumulator(operation, dtype);                         \
        u64 lane = element(a, at->first);                                                \
        for (i64 i = 1; i < at->count; i++)                                              \
            lane = m_combine(operation, accumulator, lane,                               \
                             element(a, at->first + i * at->step));                      \
        return lane;                                                                     \
    }

/* One thread per lane: partial[outer, block, lane, inner]. */
#define M_REDUCE_LANES(name, args, lane, operation, dtype, to_dtype)                     \
    M_KERNEL(name, args) {                                                               \
        const m_reduce_args *const r = (const m_reduce_args *)a;                         \
        const m_elements at = m_lane_of(r, t);                                           \
        if (at.count)                                                                    \
            r->partial[t] = lane(a, &at);                                                \
    }

/* More than 64 elements, at most 4,096. */
#define M_REDUCE_TEAM(name, args, lane, operation, dtype, to_dtype)                      \
    M_BLOCK_KERNEL(name, args, m_team, m_none, M_TEAM_STEPS) {                           \
        const m_reduce_args *const r = (const m_reduce_args *)a;                         \
        const i32 accumulator = m_accumulator(operation, dtype);                         \
        (void)own;                                                                       \
        if (step > 0) {                                                                  \
            m_team_tree(r, t, shared, step, operation, accumulator, to_dtype);           \
            return;                                                                      \
        }                                                                                \
        const m_team_lanes own_lanes = m_team_lanes_of(r, t);                            \
        m_eight sofar = {0, 0, 0};                                                       \
        for (i32 k = 0; k < own_lanes.lanes; k++) {                                      \
            const m_elements at = m_team_lane(r, &own_lanes, k);                         \
            shared->partial[own_lanes.slot] =                                            \
                m_join_lane(&sofar, k, lane(a, &at), operation, accumulator);            \
        }                                                                                \
    }

/* argmin and argmax: one thread per candidate or result. operation: 1 for the greatest.
 */
#define M_REDUCE_SEARCH(name, args, element, operation, dtype, to_dtype)                 \
    M_KERNEL(name, args) {                                                               \
        const m_reduce_args *const r = (const m_reduce_args *)a;                         \
        const i32 accumulator = m_accumulator(M_OP_MIN, dtype);                          \
        m_search s = m_search_of(r, t);                                                  \
        if (s.outer >= r->outer)                                                         \
            return;                                                                      \
        for (i64 i = s.group; i < r->count; i += s.groups) {                             \
            const i64 index = m_candidate(r, &s, i);                                     \
            m_consider(&s, index, element(a, m_candidate_element(r, &s, index)),         \
                       operation, accumulator);                                          \
        }                                                                                \
        m_found(r, &s, t);                                                               \
    }

#endif
