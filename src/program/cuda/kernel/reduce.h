/* Kernels that reduce the middle of [outer, length, inner]. Elements go to lanes and
 * lanes to blocks as block/reduce.c says: element i of a block of 4,096 to lane i % 64,
 * lanes and blocks by a tree over neighbours. A tree of 64 is one thread's work; three
 * trees reach a billion elements.
 *
 * Accumulators are 8 bytes: u64 for unsigned and wrapping integers and truth, i64 for the
 * extremes of signed integers, f64 for floats. Each holds what the host's narrower ones
 * do, so the bits of the result are the same. */
#ifndef PITH_PROGRAM_CUDA_REDUCE_H
#define PITH_PROGRAM_CUDA_REDUCE_H

#define M_LANES   64
#define M_DEPTH   7 /* of the tree over 64, and one */
#define M_REDUCED 4096

enum { M_SUM, M_PROD, M_MIN, M_MAX, M_ANY, M_ALL }; /* as pithp_reduction */
enum { M_OF_U64, M_OF_I64, M_OF_F64 };

/* How elements of a dtype are accumulated. */
M_FN i32 m_accumulator(i32 operation, i32 dtype) {
    if (operation == M_ANY || operation == M_ALL)
        return M_OF_U64;
    if (dtype >= 10)
        return M_OF_F64;
    return (operation == M_MIN || operation == M_MAX) && dtype >= 2 && dtype <= 5
               ? M_OF_I64
               : M_OF_U64;
}

M_FN f64 m_combine_f64(i32 operation, f64 a, f64 b) {
    switch (operation) {
        case M_SUM:
            return a + b;
        case M_PROD:
            return a * b;
        case M_MIN:
            return (a < b) | (a != a) ? a : b;
        default:
            return (a > b) | (a != a) ? a : b;
    }
}
M_FN u64 m_combine_u64(i32 operation, u64 a, u64 b) {
    switch (operation) {
        case M_SUM:
            return a + b;
        case M_PROD:
            return a * b;
        case M_MIN:
            return a < b ? a : b;
        case M_MAX:
            return a > b ? a : b;
        case M_ANY:
            return a | b;
        default:
            return a & b;
    }
}
M_FN u64 m_combine_i64(i32 operation, u64 a, u64 b) {
    const i64 x = (i64)a, y = (i64)b;
    return operation == M_MIN ? (x < y ? a : b) : (x > y ? a : b);
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
        case M_PROD:
            return accumulator == M_OF_F64 ? m_bits_f64(1.0) : 1;
        case M_MIN:
            return accumulator == M_OF_F64   ? m_bits_f64(infinity)
                   : accumulator == M_OF_I64 ? top - 1
                                             : ~(u64)0;
        case M_MAX:
            return accumulator == M_OF_F64   ? m_bits_f64(-infinity)
                   : accumulator == M_OF_I64 ? top
                                             : 0;
        case M_ALL:
            return 1;
        default:
            return 0;
    }
}

/* ---- Elements as accumulators ---- */

M_FN u64 m_load_number(const void *from, i32 dtype, i64 i) {
    switch (dtype) {
        case 2:
            return (u64)(i64)((const i8 *)from)[i];
        case 3:
            return (u64)(i64)((const i16 *)from)[i];
        case 4:
            return (u64)(i64)((const i32 *)from)[i];
        case 1:
        case 6:
            return ((const u8 *)from)[i];
        case 7:
            return ((const u16 *)from)[i];
        case 8:
            return ((const u32 *)from)[i];
        case 5:
        case 9:
            return ((const u64 *)from)[i];
        case 10:
            return m_bits_f64((f64)m_load_f16(((const f16 *)from)[i]));
        case 11:
            return m_bits_f64((f64)m_load_bf16(((const bf16 *)from)[i]));
        case 12:
            return m_bits_f64((f64)((const f32 *)from)[i]);
        default:
            return m_bits_f64(((const f64 *)from)[i]);
    }
}
M_FN u64 m_load_operand(const void *from, i32 dtype, i64 i, i32 operation) {
    const u64 x = m_load_number(from, dtype, i);
    if (operation != M_ANY && operation != M_ALL)
        return x;
    return dtype >= 10 ? m_from_bits_u64(x) != 0 : x != 0;
}

/* A lane: elements `step` apart, combined in order; the switches are outside the loop. */
#define M_LANE(type, load, combine)                                                      \
    {                                                                                    \
        const type *x = (const type *)from + first;                                      \
        f64 lane = load(x[0]);                                                           \
        for (i64 i = 1; i < count; i++) {                                                \
            const f64 next = load(x[i * step]);                                          \
            lane = combine;                                                              \
        }                                                                                \
        return m_bits_f64(lane);                                                         \
    }
#define M_AS_F64(x)      ((f64)(x))
#define M_F16_AS_F64(x)  ((f64)m_load_f16(x))
#define M_BF16_AS_F64(x) ((f64)m_load_bf16(x))
M_FN u64
m_lane(const void *from, i32 dtype, i32 operation, i64 first, i64 step, i64 count) {
    if (operation == M_SUM && dtype == 12)
        M_LANE(f32, M_AS_F64, lane + next)
    if (operation == M_SUM && dtype == 13)
        M_LANE(f64, M_AS_F64, lane + next)
    if (operation == M_SUM && dtype == 10)
        M_LANE(f16, M_F16_AS_F64, lane + next)
    if (operation == M_SUM && dtype == 11)
        M_LANE(bf16, M_BF16_AS_F64, lane + next)
    const i32 accumulator = m_accumulator(operation, dtype);
    u64 lane = m_load_operand(from, dtype, first, operation);
    for (i64 i = 1; i < count; i++)
        lane = m_combine(operation, accumulator, lane,
                         m_load_operand(from, dtype, first + i * step, operation));
    return lane;
}

/* ---- The tree over neighbours, taken one after the other ---- */

/* Number `place` of them joins those of stack that are whole. */
M_FN void
m_push(u64 *stack, i32 *depth, i64 place, u64 x, i32 operation, i32 accumulator) {
    for (; place & 1; place >>= 1)
        x = m_combine(operation, accumulator, stack[--*depth], x);
    stack[(*depth)++] = x;
}
M_FN u64 m_pop_all(const u64 *stack, i32 depth, i32 operation, i32 accumulator) {
    u64 x = stack[depth - 1];
    for (i32 k = depth - 2; k >= 0; k--)
        x = m_combine(operation, accumulator, stack[k], x);
    return x;
}

/* ---- Reductions ---- */

M_FN void m_finish(const pithp_cuda_reduce_args *a, i64 i, u64 x) {
    switch (m_accumulator(a->operation, a->dtype)) {
        case M_OF_F64:
            m_store_any_real(a->to, i, a->to_dtype, m_from_bits_u64(x));
            break;
        case M_OF_I64:
            m_store_any_signed(a->to, i, a->to_dtype, (i64)x);
            break;
        default:
            m_store_any_unsigned(a->to, i, a->to_dtype, x);
    }
}

/* At most 64 elements: a thread a result. */
M_KERNEL(pithp_k_reduce_short, pithp_cuda_reduce_args) {
    if (t >= a->outer * a->inner)
        return;
    const i32 accumulator = m_accumulator(a->operation, a->dtype);
    const i64 first = t / a->inner * a->length * a->inner + t % a->inner;
    u64 stack[M_DEPTH], x = m_identity(a->operation, accumulator);
    i32 depth = 0;
    for (i64 i = 0; i < a->length; i++)
        m_push(stack, &depth, i,
               m_load_operand(a->from, a->dtype, first + i * a->inner, a->operation),
               a->operation, accumulator);
    if (depth)
        x = m_combine(a->operation, accumulator, x,
                      m_pop_all(stack, depth, a->operation, accumulator));
    m_finish(a, t, x);
}

/* A thread a lane: partial[outer, block, lane, inner]. */
M_KERNEL(pithp_k_reduce_lanes, pithp_cuda_reduce_args) {
    const i64 column = t % a->inner, lane = t / a->inner % M_LANES,
              block = t / a->inner / M_LANES % a->blocks,
              outer = t / a->inner / M_LANES / a->blocks;
    const i64 left = a->length - block * M_REDUCED,
              length = left < M_REDUCED ? left : M_REDUCED;
    if (outer >= a->outer || lane >= length)
        return;
    const i64 first = (outer * a->length + block * M_REDUCED + lane) * a->inner + column;
    a->partial[t] = m_lane(a->from, a->dtype, a->operation, first, M_LANES * a->inner,
                           (length - lane - 1) / M_LANES + 1);
}

/* A thread a tree of at most 64 of `count` partial results: [outer, count, inner] to
 * [outer, (count + 63) / 64, inner]. From lanes to blocks `lanes` is set, and the last
 * block may have fewer; the last step stores the results. */
M_KERNEL(pithp_k_reduce_fold, pithp_cuda_reduce_args) {
    const i64 groups = (a->count + M_LANES - 1) / M_LANES, column = t % a->inner,
              group = t / a->inner % groups, outer = t / a->inner / groups;
    if (outer >= a->outer)
        return;
    const i32 accumulator = m_accumulator(a->operation, a->dtype);
    const i64 left =
        a->lanes ? a->length - group * M_REDUCED : a->count - group * M_LANES;
    const i64 n = left < M_LANES ? left : M_LANES;
    const u64 *from =
        a->partial + (outer * a->count + group * M_LANES) * a->inner + column;
    u64 stack[M_DEPTH];
    i32 depth = 0;
    for (i64 i = 0; i < n; i++)
        m_push(stack, &depth, i, from[i * a->inner], a->operation, accumulator);
    u64 x = m_pop_all(stack, depth, a->operation, accumulator);
    if (a->lanes)
        x = m_combine(a->operation, accumulator, m_identity(a->operation, accumulator),
                      x);
    if (groups == 1)
        m_finish(a, t, x);
    else
        a->folded[t] = x;
}

/* ---- argmin and argmax: the first of the best, nan being better than numbers ---- */

M_FN i32 m_beats(i32 greatest, i32 accumulator, u64 a, u64 b) {
    if (accumulator == M_OF_F64) {
        const f64 x = m_from_bits_u64(a), y = m_from_bits_u64(b);
        return (greatest ? x > y : x < y) | ((x != x) & (y == y));
    }
    if (accumulator == M_OF_I64)
        return greatest ? (i64)a > (i64)b : (i64)a < (i64)b;
    return greatest ? a > b : a < b;
}

/* Candidates: the best of 64 elements, then of 64 candidates, that lie as far apart as
 * there are threads to a line. Ties go to the lower place, so the order in which they
 * meet is free. */
M_KERNEL(pithp_k_find, pithp_cuda_reduce_args) {
    const i64 groups = (a->count + M_LANES - 1) / M_LANES, column = t % a->inner,
              group = t / a->inner % groups, outer = t / a->inner / groups;
    if (outer >= a->outer)
        return;
    const i32 accumulator = m_accumulator(M_MIN, a->dtype);
    i64 best = -1;
    u64 value = 0;
    for (i64 i = group; i < a->count; i += groups) {
        const i64 place =
            a->places ? a->places[(outer * a->count + i) * a->inner + column] : i;
        const u64 here = m_load_number(a->from, a->dtype,
                                       (outer * a->length + place) * a->inner + column);
        if (best < 0 || m_beats(a->operation, accumulator, here, value) ||
            (place < best && !m_beats(a->operation, accumulator, value, here))) {
            best = place;
            value = here;
        }
    }
    (groups == 1 ? (i64 *)a->to : a->found)[t] = best;
}

#endif
