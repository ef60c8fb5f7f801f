/* Kernels that sort lines, and search in them. A block of threads sorts a tile, then
 * tiles are merged pairwise. What is sorted is keys and, with them, the places of
 * elements. */
#ifndef PITH_PROGRAM_CUDA_SORT_H
#define PITH_PROGRAM_CUDA_SORT_H

/* ---- Keys ---- */

/* Unsigned, in whose order elements belong; equal for what is equal: -0 and 0, all nan.
 */
M_FN u64 m_sort_key(const void *from, i32 dtype, i64 i, i32 descending) {
    const u64 sign = (u64)1 << 63;
    u64 key = m_load_number(from, dtype, i);
    if (dtype >= 10) {
        const u64 magnitude = key & ~sign;
        key = magnitude > ((u64)0x7FF << 52) ? ~(u64)0
              : magnitude == 0               ? sign
              : key & sign                   ? ~key
                                             : key | sign;
    } else if (dtype >= 2 && dtype <= 5) {
        key ^= sign;
    }
    return descending ? ~key : key;
}

M_FN i64 m_line_element(const pithp_cuda_sort_args *a, i64 line, i64 i) {
    return (line / a->inner * a->length + i) * a->inner + line % a->inner;
}

/* ---- Merging: as each thread makes a few neighbours of what is merged, by merge path
 * (Green, McColl, Bader, 2012) ---- */

#define M_SORT_TILE 2048
#define M_SORT_EACH (M_SORT_TILE / M_BLOCK)

/* How many of a are among the first `count` of a and b merged, where equals of a go
 * before those of b. */
M_FN i64 m_merge_path(const u64 *a, i64 a_count, const u64 *b, i64 b_count, i64 count) {
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

typedef struct m_sorting {
    u64 key[M_SORT_TILE];
    u16 slot[M_SORT_TILE]; /* where it was when the block began */
} m_sorting;

typedef struct m_sorted {
    u64 key[M_SORT_EACH];
    u16 slot[M_SORT_EACH];
} m_sorted;

/* The thread's part, from `first` on, of what a_count keys from `at` on and b_count
 * behind them merge to; slots that have not been moved are not read. */
M_FN void m_merge_own(const m_sorting *shared,
                      m_sorted *own,
                      i32 at,
                      i32 a_count,
                      i32 b_count,
                      i32 first,
                      i32 moved) {
    const u64 *a = shared->key + at, *b = a + a_count;
    if (first >= a_count + b_count)
        return;
    i32 i = (i32)m_merge_path(a, a_count, b, b_count, first), j = first - i;
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

/* What the thread has becomes elements from `first` on, of `count`. */
M_FN void m_put_own(m_sorting *shared, const m_sorted *own, i32 first, i32 count) {
    M_UNROLL for (i32 k = 0; k < M_SORT_EACH; k++) if (first + k < count) {
        shared->key[first + k] = own->key[k];
        shared->slot[first + k] = own->slot[k];
    }
}

/* ---- Tiles ---- */

/* Slot i of tile `tile` belongs to a line, or to none (-1). A tile is a part of a line,
 * or has several lines in segments of a->run slots, a power of two. */
M_FN i64 m_tile_line(const pithp_cuda_sort_args *a, i64 tile, i32 i) {
    const i64 tiles = (a->length + M_SORT_TILE - 1) / M_SORT_TILE;
    const i64 line =
        tiles > 1 ? tile / tiles : tile * (M_SORT_TILE / a->run) + i / a->run;
    return line < a->outer * a->inner ? line : -1;
}
/* Where it is along the line, perhaps beyond its end. */
M_FN i64 m_tile_place(const pithp_cuda_sort_args *a, i64 tile, i32 i) {
    const i64 tiles = (a->length + M_SORT_TILE - 1) / M_SORT_TILE;
    return tile % tiles * M_SORT_TILE + i % a->run;
}

/* Stable: neighbours change places where they are not in order, in turns. */
M_FN void m_sort_own(m_sorting *shared, i32 first) {
    u64 key[M_SORT_EACH];
    u16 slot[M_SORT_EACH];
    M_UNROLL for (i32 k = 0; k < M_SORT_EACH; k++) {
        key[k] = shared->key[first + k];
        slot[k] = (u16)(first + k);
    }
    M_UNROLL for (i32 turn = 0; turn < M_SORT_EACH; turn++) {
        M_UNROLL for (i32 k = turn % 2; k + 1 < M_SORT_EACH; k += 2) {
            const i32 swap = key[k] > key[k + 1];
            const u64 less = swap ? key[k + 1] : key[k];
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

/* Steps of a tile: load, sort by thread, then for each merge up to a->run two, store. */
M_FN i32 m_tile_steps(i64 run) {
    i32 steps = 3;
    for (i64 width = M_SORT_EACH; width < run; width *= 2)
        steps += 2;
    return steps;
}

/* A block of threads a tile. */
M_BLOCK_KERNEL(pithp_k_sort_tiles,
               pithp_cuda_sort_args,
               m_sorting,
               m_sorted,
               m_tile_steps(a->run)) {
    const i64 tile = t / M_BLOCK;
    const i32 thread = (i32)(t % M_BLOCK), first = thread * M_SORT_EACH;
    if (step == 0 || step == m_tile_steps(a->run) - 1) {
        for (i32 k = 0; k < M_SORT_EACH; k++) {
            const i32 i = k * M_BLOCK + thread;
            const i64 line = m_tile_line(a, tile, i), place = m_tile_place(a, tile, i);
            const i32 there = line >= 0 && place < a->length;
            if (step == 0) {
                /* beyond the end is none less, and equals keep their order */
                shared->key[i] =
                    there ? m_sort_key(a->from, a->dtype, m_line_element(a, line, place),
                                       a->descending)
                          : ~(u64)0;
            } else if (there) {
                a->keys[line * a->length + place] = shared->key[i];
                a->places[line * a->length + place] =
                    m_tile_place(a, tile, shared->slot[i]);
            }
        }
    } else if (step == 1) {
        m_sort_own(shared, first);
    } else if (step % 2 == 0) {
        const i32 width = M_SORT_EACH << (step / 2 - 1),
                  pair = first / (2 * width) * 2 * width;
        m_merge_own(shared, own, pair, width, width, first - pair, 1);
    } else {
        m_put_own(shared, own, first, M_SORT_TILE);
    }
}

/* ---- Merges of runs ---- */

/* Two of a->run keys, or fewer at the end of the line, and where they begin. */
typedef struct m_runs {
    const u64 *a, *b;
    i64 first, a_count, b_count;
} m_runs;

/* Those of element `at` of a line. */
M_FN m_runs m_runs_of(const pithp_cuda_sort_args *a, i64 line, i64 at) {
    m_runs x;
    x.first = at / (2 * a->run) * (2 * a->run);
    const i64 left = a->length - x.first;
    x.a_count = left < a->run ? left : a->run;
    x.b_count = left - x.a_count < a->run ? left - x.a_count : a->run;
    x.a = a->keys + line * a->length + x.first;
    x.b = x.a + x.a_count;
    return x;
}

typedef struct m_merging {
    m_sorting tile;
    i64 cut[2]; /* how many of the first run are before the tile, and its end */
} m_merging;

/* A block of threads a tile of what is merged. */
M_BLOCK_KERNEL(pithp_k_sort_merge, pithp_cuda_sort_args, m_merging, m_sorted, 5) {
    const i64 tiles = (a->length + M_SORT_TILE - 1) / M_SORT_TILE,
              line = t / M_BLOCK / tiles, begin = t / M_BLOCK % tiles * M_SORT_TILE;
    const i32 thread = (i32)(t % M_BLOCK);
    if (line >= a->outer * a->inner)
        return; /* the whole block */
    const i32 count =
        (i32)(a->length - begin < M_SORT_TILE ? a->length - begin : M_SORT_TILE);
    const m_runs runs = m_runs_of(a, line, begin);
    if (step == 0) {
        if (thread < 2)
            shared->cut[thread] = m_merge_path(runs.a, runs.a_count, runs.b, runs.b_count,
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
        m_merge_own(&shared->tile, own, 0, a_count, count - a_count, thread * M_SORT_EACH,
                    0);
    } else if (step == 3) {
        m_put_own(&shared->tile, own, thread * M_SORT_EACH, count);
    } else {
        const i64 *places = a->places + line * a->length + runs.first;
        M_UNROLL for (i32 k = 0; k < M_SORT_EACH; k++) {
            const i32 i = k * M_BLOCK + thread;
            if (i >= count)
                break;
            const i64 slot = shared->tile.slot[i],
                      from = slot < a_count ? a_first + slot
                                            : runs.a_count + b_first + slot - a_count;
            a->next_keys[line * a->length + begin + i] = shared->tile.key[i];
            a->next_places[line * a->length + begin + i] = places[from];
        }
    }
}

M_KERNEL(pithp_k_sort_end, pithp_cuda_sort_args) {
    const i64 line = t / a->length, i = t % a->length;
    if (line >= a->outer * a->inner)
        return;
    const i64 place = a->places[line * a->length + i], to = m_line_element(a, line, i);
    if (a->argsort)
        ((i64 *)a->to)[to] = place;
    else
        m_move((char *)a->to + to * a->size,
               (const char *)a->from + m_line_element(a, line, place) * a->size, a->size);
}

/* How many sorted elements come before each value. */
M_KERNEL(pithp_k_search, pithp_cuda_search_args) {
    if (t >= a->count)
        return;
    const u64 value = m_sort_key(a->values, a->dtype, t, 0);
    i64 low = 0, high = a->sorted_count;
    while (low < high) {
        const i64 middle = low + (high - low) / 2;
        const u64 here = m_sort_key(a->sorted, a->dtype, middle, 0);
        if (here < value || (a->right && here == value))
            low = middle + 1;
        else
            high = middle;
    }
    a->to[t] = low;
}

#endif
