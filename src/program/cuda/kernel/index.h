/* Kernels that take and scatter at index arrays. */
#ifndef PITH_PROGRAM_CUDA_INDEX_H
#define PITH_PROGRAM_CUDA_INDEX_H

enum { M_DROP, M_CLIP, M_WRAP, M_PROMISE, M_ERROR }; /* as pithp_index_mode */
enum { M_SET, M_ADD, M_MUL, M_LEAST, M_GREATEST, M_AND, M_OR };

#ifdef __CUDACC__
M_FN void m_raise(uint64_t *word, u64 value) {
    atomicMax((unsigned long long *)word, (unsigned long long)value);
}
#else
M_FN void m_raise(uint64_t *word, u64 value) { /* the host runs it on one thread */
    *word = *word > value ? *word : value;
}
#endif

/* The index in range, by the mode; -1: it is not. */
M_FN i64 m_choose(i32 mode, i32 index_dtype, i32 no_negative, i64 given, i64 extent) {
    const i32 beyond = given < 0 && index_dtype == 9; /* a u64 */
    const i64 x = given < 0 && !no_negative && !beyond ? given + extent : given;
    if (extent == 0)
        return -1;
    switch (mode) {
        case M_DROP:
        case M_ERROR:
            return x < 0 || x >= extent ? -1 : x;
        case M_WRAP: {
            const i64 rest = beyond ? (i64)((u64)given % (u64)extent) : given % extent;
            return rest < 0 ? rest + extent : rest;
        }
        default:
            return beyond || x >= extent ? extent - 1 : x < 0 ? 0 : x;
    }
}

M_FN i64 m_in_range(const pithp_cuda_index_args *a, i64 given, i64 extent) {
    return m_choose(a->mode, a->index_dtype, a->no_negative, given, extent);
}

M_FN i64 m_index(const pithp_cuda_index_args *a, i32 k, i64 position) {
    return (i64)m_load_number(a->index[k], a->index_dtype, position);
}

/* Where position i points, in rows of inner; -1: out of range. */
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

M_FN void m_take(const pithp_cuda_index_args *a, i64 i, i64 place) {
    m_move(a->to + i * a->size,
           place < 0 ? (const char *)&a->fill : a->from + place * a->size, a->size);
}

M_KERNEL(pithp_k_take, pithp_cuda_index_args) {
    const i64 column = t % a->inner, row = t / a->inner;
    if (row >= a->outer * a->count)
        return;
    const i64 offset = m_offset(a, row % a->count);
    m_take(a, t,
           offset < 0 ? -1 : row / a->count * a->pitch + offset * a->inner + column);
}

/* Rows of many leaves at one array of indices: where the thread's element of a leaf's
 * result comes from. Of updates that set it the last one counts. */
M_KERNEL(pithp_k_rows, pithp_cuda_rows_args) {
    if (t >= a->total)
        return;
    const pithp_row_leaf *p = &a->list[t >> a->shift];
    i64 i = t - (t >> a->shift << a->shift);
    if (i >= p->count)
        return;
    i += p->begin;
    const i64 column = i % p->inner, row = i / p->inner;
    const char *from = p->from + i * p->size;
    if (p->updates) {
        const i64 outer = row / p->extent, wanted = row % p->extent;
        for (i64 k = 0; k < a->positions; k++)
            if (m_choose(p->mode, a->index_dtype, a->no_negative,
                         (i64)m_load_number(a->index, a->index_dtype, k),
                         p->extent) == wanted)
                from = p->updates +
                       ((outer * a->positions + k) * p->inner + column) * p->size;
    } else {
        const i64 x = m_choose(
            p->mode, a->index_dtype, a->no_negative,
            (i64)m_load_number(a->index, a->index_dtype, row % a->positions), p->extent);
        from =
            x < 0 ? (const char *)&p->fill
                  : p->from + ((row / a->positions * p->extent + x) * p->inner + column) *
                                  p->size;
    }
    m_move(p->to + i * p->size, from, p->size);
}

/* An index for every element of the result, [outer, count, inner]. */
M_KERNEL(pithp_k_take_along, pithp_cuda_index_args) {
    const i64 column = t % a->inner, outer = t / a->inner / a->count;
    if (outer >= a->outer)
        return;
    const i64 offset = m_offset(a, t);
    m_take(a, t, offset < 0 ? -1 : outer * a->pitch + offset * a->inner + column);
}

M_KERNEL(pithp_k_offsets, pithp_cuda_index_args) {
    if (t < a->count)
        a->offsets[t] = m_offset(a, t);
}

/* Element i of `to` and element j of the updates become one. */
#define M_JOIN(number, type, load, store, T, W, least, greatest, both, either)           \
    case number: {                                                                       \
        type *d = (type *)(void *)a->to + i;                                             \
        const T x = load(*d), y = load(((const type *)(const void *)a->from)[j]);        \
        switch (a->operation) {                                                          \
            case M_ADD:                                                                  \
                *d = store((W)x + (W)y);                                                 \
                break;                                                                   \
            case M_MUL:                                                                  \
                *d = store((W)x * (W)y);                                                 \
                break;                                                                   \
            case M_LEAST:                                                                \
                *d = store(least ? x : y);                                               \
                break;                                                                   \
            case M_AND:                                                                  \
                *d = store(both);                                                        \
                break;                                                                   \
            case M_OR:                                                                   \
                *d = store(either);                                                      \
                break;                                                                   \
            default:                                                                     \
                *d = store(greatest ? x : y);                                            \
        }                                                                                \
        break;                                                                           \
    }
#define M_JOIN_INTEGER(number, type, W)                                                  \
    M_JOIN(number, type, (type), (type), type, W, x<y, x> y, (W)x &(W)y, (W)x | (W)y)
#define M_JOIN_REAL(number, type, load, store, T)                                        \
    M_JOIN(number, type, load, store, T, T, (x < y) | (x != x), (x > y) | (x != x), x, x)
M_FN void m_join(const pithp_cuda_index_args *a, i64 i, i64 j) {
    switch (a->dtype) {
        M_JOIN_INTEGER(1, u8, u32)
        M_JOIN_INTEGER(2, i8, u32)
        M_JOIN_INTEGER(3, i16, u32)
        M_JOIN_INTEGER(4, i32, u32)
        M_JOIN_INTEGER(5, i64, u64)
        M_JOIN_INTEGER(6, u8, u32)
        M_JOIN_INTEGER(7, u16, u32)
        M_JOIN_INTEGER(8, u32, u32)
        M_JOIN_INTEGER(9, u64, u64)
        M_JOIN_REAL(10, f16, m_load_f16, m_store_f16, f32)
        M_JOIN_REAL(11, bf16, m_load_bf16, m_store_bf16, f32)
        M_JOIN_REAL(12, f32, (f32), (f32), f32)
        M_JOIN_REAL(13, f64, (f64), (f64), f64)
        default:
            break;
    }
}

M_FN i64 m_place(const pithp_cuda_index_args *a, i64 k) {
    return a->places ? a->places[k] : k;
}

/* Positions that point to one place are neighbours in keys and in order; the thread of
 * the first one (set: of the last one) does them all. */
M_KERNEL(pithp_k_scatter, pithp_cuda_index_args) {
    const i64 column = t % a->inner, row = t / a->inner, k = row % a->count,
              outer = row / a->count;
    if (outer >= a->outer || a->keys[k] == ~(u64)0)
        return;
    const i64 to = outer * a->pitch + (i64)a->keys[k] * a->inner + column;
    const i64 from = outer * a->count;
    if (a->operation == M_SET) {
        if (k + 1 == a->count || a->keys[k + 1] != a->keys[k])
            m_move(a->to + to * a->size,
                   a->from + ((from + m_place(a, k)) * a->inner + column) * a->size,
                   a->size);
        return;
    }
    if (k > 0 && a->keys[k - 1] == a->keys[k])
        return;
    for (i64 j = k; j < a->count && a->keys[j] == a->keys[k]; j++)
        m_join(a, to, (from + m_place(a, j)) * a->inner + column);
}

/* As m_join where other threads may be at element i too: what does not depend on their
 * order, or was left to it. */
#ifdef __CUDACC__
#    define M_MEET(number, type, word)                                                   \
        case number: {                                                                   \
            word *d = (word *)(void *)((type *)(void *)a->to + i);                       \
            const type y = ((const type *)(const void *)a->from)[j];                     \
            switch (a->operation) {                                                      \
                case M_LEAST:                                                            \
                    atomicMin((type##_atomic *)(void *)d, (type##_atomic)y);             \
                    break;                                                               \
                case M_GREATEST:                                                         \
                    atomicMax((type##_atomic *)(void *)d, (type##_atomic)y);             \
                    break;                                                               \
                case M_AND:                                                              \
                    atomicAnd(d, (word)y);                                               \
                    break;                                                               \
                case M_OR:                                                               \
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
        M_MEET(4, i32, u32_atomic)
        M_MEET(5, i64, u64_atomic)
        M_MEET(8, u32, u32_atomic)
        M_MEET(9, u64, u64_atomic)
        case 12:
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

/* A thread an update, in no order. */
M_KERNEL(pithp_k_scatter_free, pithp_cuda_index_args) {
    const i64 column = t % a->inner, row = t / a->inner, outer = row / a->count;
    if (outer >= a->outer)
        return;
    const i64 offset = m_offset(a, row % a->count);
    const i64 to = outer * a->pitch + offset * a->inner + column;
    if (offset < 0)
        return;
    if (a->operation == M_SET)
        m_move(a->to + to * a->size, a->from + t * a->size, a->size);
    else if (a->meet)
        m_meet(a, to, t);
    else
        m_join(a, to, t);
}

/* ---- Boxes at places known when the work runs ---- */

/* The start of one axis: negative ones count from the end, and the box fits. */
M_FN i64 m_box_start(const pithp_cuda_box_args *a, i32 d) {
    const i64 most = a->whole[d] - a->shape[d];
    i64 start = (i64)m_load_number(a->starts, a->index_dtype, d);
    if (start < 0 && a->index_dtype == 9) /* a u64 */
        return most;
    start += start < 0 ? a->whole[d] : 0;
    return start < 0 ? 0 : start > most ? most : start;
}

M_KERNEL(pithp_k_box, pithp_cuda_box_args) {
    if (t >= a->count)
        return;
    i64 rest = t, offset = 0, step = 1;
    for (i32 d = a->rank - 1; d >= 0; d--) {
        offset += (m_box_start(a, d) + rest % a->shape[d]) * step;
        rest /= a->shape[d];
        step *= a->whole[d];
    }
    m_move(a->to + (a->update ? offset : t) * a->size,
           a->from + (a->update ? t : offset) * a->size, a->size);
}

/* What the first index out of range was: one thread, after the others. */
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
