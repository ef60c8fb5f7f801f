/* Reduction kernels over operands in memory: see source/reduce_cuda.h. */
#ifndef PITH_PROGRAM_SOURCE_CUDA_REDUCE_H
#define PITH_PROGRAM_SOURCE_CUDA_REDUCE_H

/* One lane; the switches are outside the loop. */
#define M_LANE(type, load, combine)                                                      \
    {                                                                                    \
        const type *x = (const type *)from + at->first;                                  \
        f64 lane = load(x[0]);                                                           \
        for (i64 i = 1; i < at->count; i++) {                                            \
            const f64 next = load(x[i * at->step]);                                      \
            lane = combine;                                                              \
        }                                                                                \
        return m_bits_f64(lane);                                                         \
    }
M_FN u64 m_lane(const void *from, i32 dtype, i32 operation, const m_elements *at) {
    if (operation == M_OP_SUM && dtype == M_DTYPE_F32)
        M_LANE(f32, M_AS_F64, lane + next)
    if (operation == M_OP_SUM && dtype == M_DTYPE_F64)
        M_LANE(f64, M_AS_F64, lane + next)
    if (operation == M_OP_SUM && dtype == M_DTYPE_F16)
        M_LANE(f16, M_F16_F64, lane + next)
    if (operation == M_OP_SUM && dtype == M_DTYPE_BF16)
        M_LANE(bf16, M_BF_F64, lane + next)
    const i32 accumulator = m_accumulator(operation, dtype);
    u64 lane = m_load_operand(from, dtype, at->first, operation);
    for (i64 i = 1; i < at->count; i++)
        lane =
            m_combine(operation, accumulator, lane,
                      m_load_operand(from, dtype, at->first + i * at->step, operation));
    return lane;
}

M_FN u64 m_operand(const m_reduce_args *a, i64 i) {
    return m_load_operand(a->from, a->dtype, i, a->operation);
}
M_FN u64 m_number(const m_reduce_args *a, i64 i) {
    return m_load_number(a->from, a->dtype, i);
}

M_REDUCE_LINES(pithp_k_reduce_short,
               m_reduce_args,
               m_operand,
               r->operation,
               r->dtype,
               r->to_dtype)

M_FN u64 m_lane_in_memory(const m_reduce_args *a, const m_elements *at) {
    return m_lane(a->from, a->dtype, a->operation, at);
}

M_REDUCE_TEAM(pithp_k_reduce_team,
              m_reduce_args,
              m_lane_in_memory,
              r->operation,
              r->dtype,
              r->to_dtype)

M_REDUCE_LANES(pithp_k_reduce_lanes,
               m_reduce_args,
               m_lane_in_memory,
               r->operation,
               r->dtype,
               r->to_dtype)

/* One level of the tree: each thread combines at most 64 of `count` partial results,
 * [outer, count, inner] to [outer, (count + 63) / 64, inner]. The level from lanes to
 * blocks sets `lanes`; the last block may have fewer. The last level stores the results.
 */
M_KERNEL(pithp_k_reduce_tree, m_reduce_args) {
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
        m_finish(a->to, t, x, accumulator, a->to_dtype);
    else
        a->reduced[t] = x;
}

M_REDUCE_SEARCH(pithp_k_find,
                m_reduce_args,
                m_number,
                r->operation,
                r->dtype,
                r->to_dtype)

M_MANY(pithp_k_reduce_short, m_reduce_args)
M_BLOCK_MANY(pithp_k_reduce_team, m_reduce_args, m_team, m_none, M_TEAM_STEPS)
M_MANY(pithp_k_reduce_lanes, m_reduce_args)
M_MANY(pithp_k_reduce_tree, m_reduce_args)
M_MANY(pithp_k_find, m_reduce_args)

#endif
