/* Gather and scatter kernels. */
#ifndef PITH_PROGRAM_SOURCE_CUDA_GATHER_H
#define PITH_PROGRAM_SOURCE_CUDA_GATHER_H

#ifdef __CUDACC__
M_FN void m_raise(uint64_t *word, u64 value) {
    atomicMax((unsigned long long *)word, (unsigned long long)value);
}
#else
M_FN void m_raise(uint64_t *word, u64 value) { /* the host runs it on one thread */
    *word = *word > value ? *word : value;
}
#endif

/* The index in range, or -1. */
M_FN i64 m_in_range(const pithp_cuda_index_args *a, i64 given, i64 extent) {
    return m_position(given, extent, a->mode, !a->no_negative,
                      a->index_dtype == M_DTYPE_U64);
}

M_FN i64 m_index(const pithp_cuda_index_args *a, i32 k, i64 position) {
    return (i64)m_load_number(a->index[k], a->index_dtype, position);
}

/* Offset of position i, in rows of inner; -1: out of range. */
M_FN i64 m_offset(const pithp_cuda_index_args *a, i64 i) {
    i64 offset = 0;
    for (i32 k = 0; k < a->arrays; k++) {
        const i64 x = m_in_range(a, m_index(a, k, i), a->extent[k]);
        offset = x < 0 || offset < 0 ? -1 : offset * a->extent[k] + x;
    }
    if (offset < 0 && a->report)
        m_raise(&a->report->first, ~(u64)i);
    return offset;
}

M_FN void m_take(const pithp_cuda_index_args *a, i64 i, i64 element) {
    m_move(a->to + i * a->size,
           element < 0 ? (const char *)&a->fill : a->from + element * a->size, a->size);
}

M_KERNEL(pithp_k_take, pithp_cuda_index_args) {
    const i64 column = t % a->inner, row = t / a->inner;
    if (row >= a->outer * a->count)
        return;
    const i64 offset = m_offset(a, row % a->count);
    m_take(a, t,
           offset < 0 ? -1 : row / a->count * a->pitch + offset * a->inner + column);
}

/* ---- Multi-tensor gather: rows of many leaves at one array of indices ---- */

typedef struct m_gather_many {
    i64 index[PITHP_GATHER_MANY_POSITIONS];
} m_gather_many;

M_FN i64 m_row_index(const pithp_cuda_gather_many_args *a,
                     const pithp_gather_leaf *p,
                     i64 given) {
    return m_position(given, p->extent, p->mode, !a->no_negative,
                      a->index_dtype == M_DTYPE_U64);
}

/* Source of element i of a leaf's result. If several updates set it, the last one wins.
 */
M_FN const char *m_gathered_element(const pithp_cuda_gather_many_args *a,
                                    const pithp_gather_leaf *p,
                                    const m_gather_many *shared,
                                    i64 i) {
    const i64 column = i % p->inner, row = i / p->inner;
    if (p->updates) {
        const i64 outer = row / p->extent, wanted = row % p->extent;
        for (i64 k = a->positions - 1; k >= 0; k--)
            if (m_row_index(a, p, shared->index[k]) == wanted)
                return p->updates +
                       ((outer * a->positions + k) * p->inner + column) * p->size;
        return p->from + i * p->size;
    }
    const i64 x = m_row_index(a, p, shared->index[row % a->positions]);
    return x < 0 ? (const char *)&p->fill
                 : p->from + ((row / a->positions * p->extent + x) * p->inner + column) *
                                 p->size;
}

/* A block of threads reads the indices once. */
M_BLOCK_KERNEL(pithp_k_gather_many,
               pithp_cuda_gather_many_args,
               m_gather_many,
               m_none,
               2) {
    const i32 thread = (i32)(t % M_BLOCK);
    (void)own;
    if (step == 0) {
        if (thread < a->positions)
            shared->index[thread] = (i64)m_load_number(a->index, a->index_dtype, thread);
        return;
    }
    if (t >= a->total)
        return;
    const pithp_gather_leaf *p = &a->list[t >> a->shift];
    const i64 i = t - (t >> a->shift << a->shift);
    if (i < p->count)
        m_move(p->to + (p->begin + i) * p->size,
               m_gathered_element(a, p, shared, p->begin + i), p->size);
}

/* One index for every element of the result, [outer, count, inner]. */
M_KERNEL(pithp_k_take_along, pithp_cuda_index_args) {
    const i64 column = t % a->inner, outer = t / a->inner / a->count;
    if (outer >= a->outer)
        return;
    const i64 offset = m_offset(a, t);
    m_take(a, t, offset < 0 ? -1 : outer * a->pitch + offset * a->inner + column);
}

M_KERNEL(pithp_k_offsets, pithp_cuda_index_args) {
    if (t >= a->count)
        return;
    const i64 offset = m_offset(a, t);
    const u64 key = offset < 0 ? a->beyond : (u64)offset;
    if (a->narrow)
        ((u32 *)a->offsets)[t] = (u32)key;
    else
        ((u64 *)a->offsets)[t] = key;
}

/* ---- Scatters ---- */

/* Combination of elements of a storage type; sums, products and bits are computed in W,
 * which wraps. */
#define M_JOIN(type, load, store, T, W, LEAST, GREATEST, BOTH, EITHER)                   \
    M_FN type m_join_##type(i32 operation, type at, type update) {                       \
        const T x = load(at), y = load(update);                                          \
        switch (operation) {                                                             \
            case M_SCATTER_ADD:                                                          \
                return store(M_SUM((W)x, (W)y));                                         \
            case M_SCATTER_MUL:                                                          \
                return store(M_PROD((W)x, (W)y));                                        \
            case M_SCATTER_MIN:                                                          \
                return store(LEAST(x, y));                                               \
            case M_SCATTER_AND:                                                          \
                return store(BOTH((W)x, (W)y));                                          \
            case M_SCATTER_OR:                                                           \
                return store(EITHER((W)x, (W)y));                                        \
            default:                                                                     \
                return store(GREATEST(x, y));                                            \
        }                                                                                \
    }
#define M_JOIN_INTEGER(type, W)                                                          \
    M_JOIN(type, (type), (type), type, W, M_MIN, M_MAX, M_BOTH, M_EITHER)
#define M_NO_BITS(x, y) (x)
#define M_JOIN_REAL(type, load, store, T)                                                \
    M_JOIN(type, load, store, T, T, M_MIN_REAL, M_MAX_REAL, M_NO_BITS, M_NO_BITS)
#define m_join_b8 m_join_u8
M_JOIN_INTEGER(i8, u32)
M_JOIN_INTEGER(i16, u32)
M_JOIN_INTEGER(i32, u32)
M_JOIN_INTEGER(i64, u64)
M_JOIN_INTEGER(u8, u32)
M_JOIN_INTEGER(u16, u32)
M_JOIN_INTEGER(u32, u32)
M_JOIN_INTEGER(u64, u64)
M_JOIN_REAL(f16, m_load_f16, m_store_f16, f32)
M_JOIN_REAL(bf16, m_load_bf16, m_store_bf16, f32)
M_JOIN_REAL(f32, (f32), (f32), f32)
M_JOIN_REAL(f64, (f64), (f64), f64)

/* Combine element i of `to` with element j of the updates. */
#define M_JOIN_ONE(NAME, type)                                                           \
    case M_DTYPE_##NAME: {                                                               \
        type *const d = (type *)(void *)a->to + i;                                       \
        *d = m_join_##type(a->operation, *d, ((const type *)(const void *)a->from)[j]);  \
        break;                                                                           \
    }
M_FN void m_join(const pithp_cuda_index_args *a, i64 i, i64 j) {
    switch (a->dtype) { M_DTYPES(M_JOIN_ONE) }
}

/* `narrow` is a->narrow, a constant of each of two copies of the code. The greatest key
 * of either width is the greatest u64. */
M_FN u64 m_key(const pithp_cuda_index_args *a, i32 narrow, i64 k) {
    if (!narrow)
        return ((const u64 *)a->keys)[k];
    const u32 key = ((const u32 *)a->keys)[k];
    return key == ~(u32)0 ? ~(u64)0 : key;
}
/* The update of key k. */
M_FN i64 m_update_of(const pithp_cuda_index_args *a, i32 narrow, i64 k) {
    return !a->positions ? k
           : narrow      ? (i64)((const u32 *)a->positions)[k]
                         : ((const i64 *)a->positions)[k];
}

/* Number of keys among the next M_JOIN_AHEAD, from j on, that continue the run of `key`.
 */
#define M_JOIN_AHEAD 8
M_FN i32 m_run_goes_on(const pithp_cuda_index_args *a, i32 narrow, i64 j, u64 key) {
    i32 n = 0, whole = 1;
    M_UNROLL for (i32 e = 0; e < M_JOIN_AHEAD; e++) {
        whole = whole && j + e < a->count && m_key(a, narrow, j + e) == key;
        n += whole;
    }
    return n;
}

/* Combine element i of `to` with the updates of the run of equal keys that begins at k,
 * in order. The thread loads several updates at a time and keeps the result in a
 * register. */
#define M_JOIN_RUN(NAME, type)                                                           \
    case M_DTYPE_##NAME: {                                                               \
        const type *const updates = (const type *)(const void *)a->from;                 \
        type x = ((const type *)(const void *)a->to)[i];                                 \
        i32 n = m_run_goes_on(a, narrow, k, key);                                        \
        for (i64 j = k; n > 0; j += M_JOIN_AHEAD) {                                      \
            type y[M_JOIN_AHEAD];                                                        \
            M_UNROLL for (i32 e = 0; e < M_JOIN_AHEAD; e++) {                            \
                const i64 row = from + m_update_of(a, narrow, e < n ? j + e : j);        \
                y[e] = updates[row * a->inner + column];                                 \
            }                                                                            \
            M_UNROLL for (i32 e = 0; e < M_JOIN_AHEAD; e++) {                            \
                if (e < n)                                                               \
                    x = m_join_##type(a->operation, x, y[e]);                            \
            }                                                                            \
            n = n < M_JOIN_AHEAD ? 0 : m_run_goes_on(a, narrow, j + M_JOIN_AHEAD, key);  \
        }                                                                                \
        ((type *)(void *)a->to)[i] = x;                                                  \
        break;                                                                           \
    }
M_FN void m_join_run(const pithp_cuda_index_args *a,
                     i32 narrow,
                     i64 i,
                     i64 k,
                     i64 from,
                     i64 column) {
    const u64 key = m_key(a, narrow, k);
    switch (a->dtype) { M_DTYPES(M_JOIN_RUN) }
}

/* The end of leading indices that count from the end, among the ascending indices of an
 * entry. Their offsets ascend, and so do those of the remaining indices; the two ranges
 * may overlap. */
M_FN i64 m_turn(const pithp_cuda_index_args *a, i64 low, i64 high) {
    const i32 own = a->arrays - 1; /* after the numbers of entries */
    if (a->positions || a->no_negative || a->index_dtype == M_DTYPE_U64 ||
        m_index(a, own, low) >= 0)
        return low;
    while (low < high) {
        const i64 middle = low + (high - low) / 2;
        if (m_index(a, own, middle) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Binary search: the first position of the key in low .. high - 1, or -1. Keys out of
 * range sort last after the turn. Before it they sort first, which `lift` 1 gives by
 * wrapping. */
M_FN i64 m_find_key(const pithp_cuda_index_args *a,
                    i32 narrow,
                    i64 low,
                    i64 high,
                    u64 key,
                    u64 lift) {
    const i64 end = high;
    while (low < high) {
        const i64 middle = low + (high - low) / 2;
        if (m_key(a, narrow, middle) + lift < key + lift)
            low = middle + 1;
        else
            high = middle;
    }
    return low < end && m_key(a, narrow, low) == key ? low : -1;
}

/* Positions with equal offset are consecutive in keys, in order. The thread of the first
 * one (set: of the last one) combines them all, including those after the turn. */
M_FN void m_scatter(const pithp_cuda_index_args *a, i32 narrow, i64 t) {
    const i64 column = t % a->inner, row = t / a->inner, k = row % a->count,
              outer = row / a->count;
    if (outer >= a->outer || m_key(a, narrow, k) == a->beyond)
        return;
    const i64 first = k / a->apart * a->apart, end = first + a->apart,
              turn = m_turn(a, first, end);
    const u64 key = m_key(a, narrow, k);
    const i64 to = outer * a->pitch + (i64)key * a->inner + column;
    const i64 from = outer * a->count;
    if (a->operation == M_SCATTER_SET) {
        if ((k + 1 == a->count || m_key(a, narrow, k + 1) != key) &&
            (k >= turn || m_find_key(a, narrow, turn, end, key, 0) < 0))
            m_move(a->to + to * a->size,
                   a->from +
                       ((from + m_update_of(a, narrow, k)) * a->inner + column) * a->size,
                   a->size);
        return;
    }
    if ((k > 0 && m_key(a, narrow, k - 1) == key) ||
        (k >= turn && m_find_key(a, narrow, first, turn, key, 1) >= 0))
        return;
    m_join_run(a, narrow, to, k, from, column);
    const i64 again = k < turn ? m_find_key(a, narrow, turn, end, key, 0) : -1;
    if (again >= 0 && m_key(a, narrow, again - 1) != key) /* else it was the same run */
        m_join_run(a, narrow, to, again, from, column);
}

M_KERNEL(pithp_k_scatter, pithp_cuda_index_args) {
    if (a->narrow)
        m_scatter(a, 1, t);
    else
        m_scatter(a, 0, t);
}

/* m_join for concurrent threads at element i, by atomics. The result does not depend on
 * their order, or the caller accepted any order. */
#ifdef __CUDACC__
#    define M_MEET(NAME, type, word)                                                     \
        case M_DTYPE_##NAME: {                                                           \
            word *d = (word *)(void *)((type *)(void *)a->to + i);                       \
            const type y = ((const type *)(const void *)a->from)[j];                     \
            switch (a->operation) {                                                      \
                case M_SCATTER_MIN:                                                      \
                    atomicMin((type##_atomic *)(void *)d, (type##_atomic)y);             \
                    break;                                                               \
                case M_SCATTER_MAX:                                                      \
                    atomicMax((type##_atomic *)(void *)d, (type##_atomic)y);             \
                    break;                                                               \
                case M_SCATTER_AND:                                                      \
                    atomicAnd(d, (word)y);                                               \
                    break;                                                               \
                case M_SCATTER_OR:                                                       \
                    atomicOr(d, (word)y);                                                \
                    break;                                                               \
                default:                                                                 \
                    atomicAdd(d, (word)y);                                               \
            }                                                                            \
            break;                                                                       \
        }
typedef int i32_atomic;
typedef unsigned int u32_atomic;
typedef long long i64_atomic;
typedef unsigned long long u64_atomic;
M_FN void m_meet(const pithp_cuda_index_args *a, i64 i, i64 j) {
    switch (a->dtype) {
        M_MEET(I32, i32, u32_atomic)
        M_MEET(I64, i64, u64_atomic)
        M_MEET(U32, u32, u32_atomic)
        M_MEET(U64, u64, u64_atomic)
        case M_DTYPE_F32:
            atomicAdd((f32 *)(void *)a->to + i, ((const f32 *)(const void *)a->from)[j]);
            break;
        default:
            atomicAdd((f64 *)(void *)a->to + i, ((const f64 *)(const void *)a->from)[j]);
    }
}
#else
M_FN void m_meet(const pithp_cuda_index_args *a, i64 i, i64 j) {
    m_join(a, i, j); /* the host runs it on one thread */
}
#endif

/* One thread per update, in no order. */
M_KERNEL(pithp_k_scatter_free, pithp_cuda_index_args) {
    const i64 column = t % a->inner, row = t / a->inner, outer = row / a->count;
    if (outer >= a->outer)
        return;
    const i64 offset = m_offset(a, row % a->count);
    const i64 to = outer * a->pitch + offset * a->inner + column;
    if (offset < 0)
        return;
    if (a->operation == M_SCATTER_SET)
        m_move(a->to + to * a->size, a->from + t * a->size, a->size);
    else if (a->meet)
        m_meet(a, to, t);
    else
        m_join(a, to, t);
}

/* ---- Boxes at positions known at run time ---- */

M_KERNEL(pithp_k_box, pithp_cuda_box_args) {
    if (t >= a->count)
        return;
    const i64 entry = t / a->box;
    i64 rest = t % a->box, offset = entry * a->next, step = 1;
    for (i32 d = a->rank - 1; d >= 0; d--) {
        const i64 given =
                      (i64)m_load_number(a->starts, a->index_dtype, entry * a->rank + d),
                  start = m_start(given, a->whole[d], a->shape[d],
                                  a->index_dtype == M_DTYPE_U64);
        offset += (start + rest % a->shape[d]) * step;
        rest /= a->shape[d];
        step *= a->whole[d];
    }
    m_move(a->to + (a->update ? offset : t) * a->size,
           a->from + (a->update ? t : offset) * a->size, a->size);
}

/* Record the value of the first index out of range: one thread, after the others. */
M_KERNEL(pithp_k_explain, pithp_cuda_index_args) {
    if (t > 0 || a->report->first == 0)
        return;
    for (i32 k = 0; k < a->arrays; k++) {
        const i64 given = m_index(a, k, (i64)~a->report->first);
        if (m_in_range(a, given, a->extent[k]) >= 0)
            continue;
        a->report->need = (u64)given;
        a->report->have = (u64)a->extent[k];
        a->report->what = a->note[k];
        return;
    }
}

#endif
