/* Radix sort by keys of one type, M_KEY. sort.h includes this header once for each
 * unsigned type, after sort_by.h. */
#define M_BY__(name, key) name##_##key
#define M_BY_(name, key)  M_BY__(name, key)
#define M_BY(name)        M_BY_(name, M_KEY)
#define M_RADIX_TILE      M_BY(m_radix_keys)
#define M_RADIX_OWN       M_BY(m_radix_own)
/* M_BLOCK_KERNEL with a name made by M_BY. */
#define M_BY_BLOCK_KERNEL(name, args, shared_type, own_type, steps)                      \
    M_BLOCK_KERNEL(name, args, shared_type, own_type, steps)

/* Key i of a tile. */
M_FN M_KEY M_BY(m_radix_key)(const pithp_cuda_sort_args *a,
                             const m_radix_tile *x,
                             i32 i) {
    return a->shift == 0
               ? M_BY(m_sort_key)(a->from, a->dtype,
                                  x->elements + (x->begin + i) * a->inner, a->descending)
               : ((const M_KEY *)a->keys)[x->line * a->length + x->begin + i];
}
M_FN i32 M_BY(m_radix_digit)(M_KEY key, i32 shift, i32 values) {
    return (i32)(key >> shift) & (values - 1);
}

/* ---- Counts of digits ---- */

M_BY_BLOCK_KERNEL(M_BY(pithp_k_radix_count),
                  pithp_cuda_sort_args,
                  m_radix_sums,
                  m_radix_tile,
                  3) {
    const i32 thread = (i32)(t % M_BLOCK);
    if (step == 0)
        *own = m_radix_tile_of(a, t / M_BLOCK);
    if (own->line < 0)
        return; /* uniform: the whole block */
    if (step == 0) {
        shared->sum[thread] = 0;
    } else if (step == 2) {
        m_radix_counts(a, own)[thread] = shared->sum[thread];
    } else {
        M_UNROLL for (i32 k = 0; k < M_SORT_EACH; k++) {
            const i32 i = k * M_BLOCK + thread;
            if (i < own->count)
                m_count_up(&shared->sum[M_BY(m_radix_digit)(M_BY(m_radix_key)(a, own, i),
                                                            a->shift, M_RADIX)]);
        }
    }
}

/* ---- Moves ---- */

typedef struct M_RADIX_TILE {
    M_KEY key[M_RADIX_SLOT(M_SORT_TILE)];
    u32 index[M_RADIX_SLOT(M_SORT_TILE)];
    u16 counter[M_RADIX_COUNTER(M_ROUND * M_BLOCK)]; /* of a round, [digit, thread] */
    m_radix_prefix counts, totals;
    u32 base[M_RADIX];  /* the place of the tile's first key with the digit */
    u16 first[M_RADIX]; /* the slot of that key, after the rounds */
} M_RADIX_TILE;

typedef struct M_RADIX_OWN {
    m_radix_tile tile;
    M_KEY key[M_SORT_EACH];
    u32 index[M_SORT_EACH];
} M_RADIX_OWN;

/* Number of keys of the thread before key k that have its digit, from `seen`, which has
 * four bits for each digit, and counts key k. */
M_FN i32 M_BY(m_radix_rank)(u64 *seen, M_KEY key, i32 shift) {
    const i32 at = 4 * M_BY(m_radix_digit)(key, shift, M_ROUND);
    const i32 rank = (i32)(*seen >> at) & 15;
    *seen += (u64)1 << at;
    return rank;
}

/* A round: a stable sort of the tile by 4 bits, in M_ROUND_STEPS steps. */
M_FN void M_BY(m_radix_round)(M_RADIX_TILE *shared,
                              M_RADIX_OWN *own,
                              i32 thread,
                              i32 shift,
                              i32 step) {
    u64 seen = 0;
    if (step == 0) { /* count the digits of 8 neighbours */
        M_UNROLL for (i32 k = 0; k < M_SORT_EACH; k++) {
            const i32 slot = M_RADIX_SLOT(thread * M_SORT_EACH + k);
            own->key[k] = shared->key[slot];
            own->index[k] = shared->index[slot];
            M_BY(m_radix_rank)(&seen, own->key[k], shift);
        }
        M_UNROLL for (i32 d = 0; d < M_ROUND; d++)
            shared->counter[M_RADIX_COUNTER(d * M_BLOCK + thread)] =
            (u16)(seen >> 4 * d & 15);
    } else if (step == 1) { /* sums of 16 counters */
        u32 sum = 0;
        M_UNROLL for (i32 k = 0; k < M_ROUND; k++) sum +=
            shared->counter[M_RADIX_COUNTER(thread * M_ROUND + k)];
        shared->counts.sum[thread] = sum;
    } else if (step == 2) {
        m_sum_parts(&shared->counts, thread);
    } else if (step == 3) { /* counters become places */
        u16 *const counters = &shared->counter[M_RADIX_COUNTER(thread * M_ROUND)];
        u16 count[M_ROUND];
        u32 before = m_sum_before(&shared->counts, thread);
        M_UNROLL for (i32 k = 0; k < M_ROUND; k++) count[k] = counters[k];
        M_UNROLL for (i32 k = 0; k < M_ROUND; k++) {
            counters[k] = (u16)before;
            before += count[k];
        }
    } else {
        i32 place[M_SORT_EACH];
        M_UNROLL for (i32 k = 0; k < M_SORT_EACH; k++) {
            const i32 digit = M_BY(m_radix_digit)(own->key[k], shift, M_ROUND);
            place[k] = shared->counter[M_RADIX_COUNTER(digit * M_BLOCK + thread)] +
                       M_BY(m_radix_rank)(&seen, own->key[k], shift);
        }
        M_UNROLL for (i32 k = 0; k < M_SORT_EACH; k++) {
            shared->key[M_RADIX_SLOT(place[k])] = own->key[k];
            shared->index[M_RADIX_SLOT(place[k])] = own->index[k];
        }
    }
}

/* Load the tile; what is beyond the end is greatest, and stability keeps it last. */
M_FN void M_BY(m_radix_load)(const pithp_cuda_sort_args *a,
                             M_RADIX_TILE *shared,
                             const m_radix_tile *x,
                             i32 thread) {
    M_UNROLL for (i32 k = 0; k < M_SORT_EACH; k++) {
        const i32 i = k * M_BLOCK + thread;
        const i64 at = x->line * a->length + x->begin + i;
        if (i < x->count) {
            shared->key[M_RADIX_SLOT(i)] = M_BY(m_radix_key)(a, x, i);
            shared->index[M_RADIX_SLOT(i)] =
                a->shift == 0 ? (u32)(x->begin + i) : ((const u32 *)a->indices)[at];
        } else {
            shared->key[M_RADIX_SLOT(i)] = (M_KEY) ~(M_KEY)0;
        }
    }
}

#undef M_BOUNDS
#define M_BOUNDS M_RESIDENT(4)
M_BY_BLOCK_KERNEL(M_BY(pithp_k_radix_move),
                  pithp_cuda_sort_args,
                  M_RADIX_TILE,
                  M_RADIX_OWN,
                  3 + 2 * M_ROUND_STEPS) {
    const i32 thread = (i32)(t % M_BLOCK);
    m_radix_tile *const x = &own->tile;
    if (step == 0)
        *x = m_radix_tile_of(a, t / M_BLOCK);
    if (x->line < 0)
        return; /* uniform: the whole block */
    if (step == 0) {
        M_BY(m_radix_load)(a, shared, x, thread);
        shared->totals.sum[thread] = a->totals[x->line * M_RADIX + thread];
    } else if (step <= M_ROUND_STEPS) {
        M_BY(m_radix_round)(shared, own, thread, a->shift, step - 1);
        if (step == 1)
            m_sum_parts(&shared->totals, thread);
        else if (step == 2)
            shared->base[thread] =
                m_sum_before(&shared->totals, thread) + m_radix_counts(a, x)[thread];
    } else if (step <= 2 * M_ROUND_STEPS) {
        M_BY(m_radix_round)
        (shared, own, thread, a->shift + M_ROUND_BITS, step - 1 - M_ROUND_STEPS);
    } else {
        M_UNROLL for (i32 k = 0; k < M_SORT_EACH; k++) {
            const i32 i = k * M_BLOCK + thread;
            if (i >= x->count)
                break;
            const M_KEY key = shared->key[M_RADIX_SLOT(i)];
            const i32 digit = M_BY(m_radix_digit)(key, a->shift, M_RADIX);
            if (step == 1 + 2 * M_ROUND_STEPS) {
                if (i == 0 || M_BY(m_radix_digit)(shared->key[M_RADIX_SLOT(i - 1)],
                                                  a->shift, M_RADIX) != digit)
                    shared->first[digit] = (u16)i;
            } else {
                const i64 to =
                    x->line * a->length + shared->base[digit] + i - shared->first[digit];
                ((M_KEY *)a->next_keys)[to] = key;
                ((u32 *)a->next_indices)[to] = shared->index[M_RADIX_SLOT(i)];
            }
        }
    }
}

#undef M_BOUNDS
#define M_BOUNDS
#undef M_BY_BLOCK_KERNEL
#undef M_RADIX_OWN
#undef M_RADIX_TILE
#undef M_BY
#undef M_BY_
#undef M_BY__
