/* Keys of one type, M_KEY, and the kernels that sort them. sort.h includes this header
 * once for each unsigned type. */
#define M_BY__(name, key) name##_##key
#define M_BY_(name, key)  M_BY__(name, key)
#define M_BY(name)        M_BY_(name, M_KEY)
#define M_SORTING         M_BY(m_sorting)
#define M_SORTED          M_BY(m_sorted)
#define M_RUNS            M_BY(m_runs)
#define M_MERGING         M_BY(m_merging)
/* M_BLOCK_KERNEL with a name made by M_BY. */
#define M_BY_BLOCK_KERNEL(name, args, shared_type, own_type, steps)                      \
    M_BLOCK_KERNEL(name, args, shared_type, own_type, steps)

/* ---- Keys ---- */

/* Order-preserving key of an element. Equal elements have equal keys: -0 and 0, all NaN.
 */
M_FN M_KEY M_BY(m_sort_key)(const void *from, i32 dtype, i64 i, i32 descending) {
    const M_KEY sign = (M_KEY)((M_KEY)1 << (8 * sizeof(M_KEY) - 1));
    M_KEY key = ((const M_KEY *)from)[i];
    if (M_IS_FLOAT(dtype)) {
        const M_KEY magnitude = (M_KEY)(key & ~sign), infinity = (M_KEY)m_infinity(dtype);
        key = magnitude > infinity ? (M_KEY) ~(M_KEY)0
              : magnitude == 0     ? sign
              : key & sign         ? (M_KEY)~key
                                   : (M_KEY)(key | sign);
    } else if (M_IS_SIGNED(dtype)) {
        key = (M_KEY)(key ^ sign);
    }
    return descending ? (M_KEY)~key : key;
}

/* ---- Merging by merge path (Green, McColl and Bader, "GPU merge path", 2012): each
 * thread makes a few consecutive elements ---- */

/* Number of elements of a among the first `count` of the merged sequence of a and b.
 * Equal elements of a precede those of b. */
M_FN i64
M_BY(m_merge_path)(const M_KEY *a, i64 a_count, const M_KEY *b, i64 b_count, i64 count) {
    i64 low = count > b_count ? count - b_count : 0,
        high = count < a_count ? count : a_count;
    while (low < high) {
        const i64 middle = low + (high - low) / 2;
        if (a[middle] <= b[count - 1 - middle])
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

typedef struct M_SORTING {
    M_KEY key[M_SORT_TILE];
    u16 slot[M_SORT_TILE]; /* slot of the key when the block began */
} M_SORTING;

typedef struct M_SORTED {
    M_KEY key[M_SORT_EACH];
    u16 slot[M_SORT_EACH];
} M_SORTED;

/* The thread's elements, from `first` on, of the merge of a_count keys at `at` with the
 * b_count keys after them. Slots are initialised only if `moved`. */
M_FN void M_BY(m_merge_own)(const M_SORTING *shared,
                            M_SORTED *own,
                            i32 at,
                            i32 a_count,
                            i32 b_count,
                            i32 first,
                            i32 moved) {
    const M_KEY *a = shared->key + at, *b = a + a_count;
    if (first >= a_count + b_count)
        return;
    i32 i = (i32)M_BY(m_merge_path)(a, a_count, b, b_count, first), j = first - i;
    M_UNROLL for (i32 k = 0; k < M_SORT_EACH; k++) {
        if (first + k < a_count + b_count) {
            const i32 is_a = j >= b_count || (i < a_count && a[i] <= b[j]),
                      from = is_a ? at + i : at + a_count + j;
            own->key[k] = shared->key[from];
            own->slot[k] = moved ? shared->slot[from] : (u16)from;
            i += is_a;
            j += !is_a;
        }
    }
}

/* Store the thread's elements from `first` on, of `count`. */
M_FN void M_BY(m_put_own)(M_SORTING *shared, const M_SORTED *own, i32 first, i32 count) {
    M_UNROLL for (i32 k = 0; k < M_SORT_EACH; k++) if (first + k < count) {
        shared->key[first + k] = own->key[k];
        shared->slot[first + k] = own->slot[k];
    }
}

/* ---- Tiles ---- */

/* Odd-even transposition sort of the thread's keys; stable. */
M_FN void M_BY(m_sort_own)(M_SORTING *shared, i32 first) {
    M_KEY key[M_SORT_EACH];
    u16 slot[M_SORT_EACH];
    M_UNROLL for (i32 k = 0; k < M_SORT_EACH; k++) {
        key[k] = shared->key[first + k];
        slot[k] = (u16)(first + k);
    }
    M_UNROLL for (i32 turn = 0; turn < M_SORT_EACH; turn++) {
        M_UNROLL for (i32 k = turn % 2; k + 1 < M_SORT_EACH; k += 2) {
            const i32 swap = key[k] > key[k + 1];
            const M_KEY less = swap ? key[k + 1] : key[k];
            const u16 lesser = swap ? slot[k + 1] : slot[k];
            key[k + 1] = swap ? key[k] : key[k + 1];
            slot[k + 1] = swap ? slot[k] : slot[k + 1];
            key[k] = less;
            slot[k] = lesser;
        }
    }
    M_UNROLL for (i32 k = 0; k < M_SORT_EACH; k++) {
        shared->key[first + k] = key[k];
        shared->slot[first + k] = slot[k];
    }
}

/* Sort a tile, one block of threads each. */
M_BY_BLOCK_KERNEL(M_BY(pithp_k_sort_tiles),
                  pithp_cuda_sort_args,
                  M_SORTING,
                  M_SORTED,
                  m_tile_steps(a->run)) {
    const i64 tile = t / M_BLOCK;
    const i32 thread = (i32)(t % M_BLOCK), first = thread * M_SORT_EACH;
    if (step == 0 || step == m_tile_steps(a->run) - 1) {
        for (i32 k = 0; k < M_SORT_EACH; k++) {
            const i32 i = k * M_BLOCK + thread;
            const i64 line = m_tile_line(a, tile, i), index = m_tile_index(a, tile, i);
            const i32 there = line >= 0 && index < a->length;
            if (step == 0) {
                /* padding beyond the end is greatest, and stability keeps it last */
                shared->key[i] = there ? M_BY(m_sort_key)(a->from, a->dtype,
                                                          m_line_element(a, line, index),
                                                          a->descending)
                                       : (M_KEY) ~(M_KEY)0;
            } else if (there) {
                ((M_KEY *)a->keys)[line * a->length + index] = shared->key[i];
                m_store_index(a->indices, a->wide, line * a->length + index,
                              m_tile_index(a, tile, shared->slot[i]));
            }
        }
    } else if (step == 1) {
        M_BY(m_sort_own)(shared, first);
    } else if (step % 2 == 0) {
        const i32 width = M_SORT_EACH << (step / 2 - 1),
                  pair = first / (2 * width) * 2 * width;
        M_BY(m_merge_own)(shared, own, pair, width, width, first - pair, 1);
    } else {
        M_BY(m_put_own)(shared, own, first, M_SORT_TILE);
    }
}

/* ---- Merges of runs ---- */

/* Two runs of a->run keys, or fewer at the end of the line, and their start. */
typedef struct M_RUNS {
    const M_KEY *a, *b;
    i64 first, a_count, b_count;
} M_RUNS;

/* The runs of element `at` of a line. */
M_FN M_RUNS M_BY(m_runs_of)(const pithp_cuda_sort_args *a, i64 line, i64 at) {
    M_RUNS x;
    x.first = at / (2 * a->run) * (2 * a->run);
    const i64 left = a->length - x.first;
    x.a_count = left < a->run ? left : a->run;
    x.b_count = left - x.a_count < a->run ? left - x.a_count : a->run;
    x.a = (const M_KEY *)a->keys + line * a->length + x.first;
    x.b = x.a + x.a_count;
    return x;
}

typedef struct M_MERGING {
    M_SORTING tile;
    i64 cut[2]; /* elements of the first run before the tile, and before its end */
} M_MERGING;

/* Merge two runs: one block of threads per tile of the result. */
M_BY_BLOCK_KERNEL(M_BY(pithp_k_sort_merge),
                  pithp_cuda_sort_args,
                  M_MERGING,
                  M_SORTED,
                  5) {
    const i64 tiles = (a->length + M_SORT_TILE - 1) / M_SORT_TILE,
              line = t / M_BLOCK / tiles, begin = t / M_BLOCK % tiles * M_SORT_TILE;
    const i32 thread = (i32)(t % M_BLOCK);
    if (line >= a->outer * a->inner)
        return; /* uniform: the whole block */
    const i32 count =
        (i32)(a->length - begin < M_SORT_TILE ? a->length - begin : M_SORT_TILE);
    const M_RUNS runs = M_BY(m_runs_of)(a, line, begin);
    if (step == 0) {
        if (thread < 2)
            shared->cut[thread] =
                M_BY(m_merge_path)(runs.a, runs.a_count, runs.b, runs.b_count,
                                   begin - runs.first + (thread ? count : 0));
        return;
    }
    const i64 a_first = shared->cut[0], b_first = begin - runs.first - a_first;
    const i32 a_count = (i32)(shared->cut[1] - a_first);
    if (step == 1) {
        M_UNROLL for (i32 k = 0; k < M_SORT_EACH; k++) {
            const i32 i = k * M_BLOCK + thread;
            if (i < count)
                shared->tile.key[i] =
                    i < a_count ? runs.a[a_first + i] : runs.b[b_first + i - a_count];
        }
    } else if (step == 2) {
        M_BY(m_merge_own)
        (&shared->tile, own, 0, a_count, count - a_count, thread * M_SORT_EACH, 0);
    } else if (step == 3) {
        M_BY(m_put_own)(&shared->tile, own, thread * M_SORT_EACH, count);
    } else {
        M_UNROLL for (i32 k = 0; k < M_SORT_EACH; k++) {
            const i32 i = k * M_BLOCK + thread;
            if (i >= count)
                break;
            const i64 slot = shared->tile.slot[i],
                      from = slot < a_count ? a_first + slot
                                            : runs.a_count + b_first + slot - a_count;
            ((M_KEY *)a->next_keys)[line * a->length + begin + i] = shared->tile.key[i];
            m_store_index(
                a->next_indices, a->wide, line * a->length + begin + i,
                m_load_index(a->indices, a->wide, line * a->length + runs.first + from));
        }
    }
}

#undef M_BY_BLOCK_KERNEL
#undef M_MERGING
#undef M_RUNS
#undef M_SORTED
#undef M_SORTING
#undef M_BY
#undef M_BY_
#undef M_BY__
