/* Kernels that go along lines: running sums and extremes, and sorting. */
#ifndef PITH_PROGRAM_CUDA_ORDER_H
#define PITH_PROGRAM_CUDA_ORDER_H

enum { M_LOG_SUM = M_ALL + 1 }; /* a scan's, besides those of reductions */

/* ---- Scans: blocks of 480 elements as scan.c says ---- */

#define M_SCANNED 480

M_FN u64 m_scan_step(i32 operation, i32 accumulator, u64 sofar, u64 next) {
    if (operation == M_SUM || operation == M_PROD)
        return m_combine(operation, accumulator, sofar, next);
    if (operation == M_LOG_SUM)
        return m_bits_f64(m_log_add(m_from_bits_u64(sofar), m_from_bits_u64(next)));
    if (accumulator == M_OF_F64) { /* of equals the first stays */
        const f64 x = m_from_bits_u64(sofar), y = m_from_bits_u64(next);
        return ((operation == M_MIN ? x <= y : x >= y) | (x != x)) ? sofar : next;
    }
    return m_combine(operation, accumulator, sofar, next);
}

M_FN u64 m_scan_load(const pithp_cuda_scan_args *a, i64 line, i64 i) {
    const i64 at = a->reverse ? a->length - 1 - i : i;
    return m_load_number(a->from, a->dtype,
                         (line / a->inner * a->length + at) * a->inner + line % a->inner);
}

/* A thread a block: what its elements come to. */
M_KERNEL(pithp_k_scan_blocks, pithp_cuda_scan_args) {
    const i64 line = t / a->blocks, first = t % a->blocks * M_SCANNED;
    const i64 left = a->length - first, n = left < M_SCANNED ? left : M_SCANNED;
    if (line >= a->outer * a->inner)
        return;
    const i32 accumulator = m_accumulator(a->operation, a->dtype);
    u64 sofar = m_scan_load(a, line, first);
    for (i64 i = 1; i < n; i++)
        sofar = m_scan_step(a->operation, accumulator, sofar,
                            m_scan_load(a, line, first + i));
    a->partial[t] = sofar;
}

/* A thread a line: blocks become what all up to them come to. */
M_KERNEL(pithp_k_scan_lines, pithp_cuda_scan_args) {
    if (t >= a->outer * a->inner)
        return;
    const i32 accumulator = m_accumulator(a->operation, a->dtype);
    u64 *blocks = a->partial + t * a->blocks;
    for (i64 b = 1; b < a->blocks; b++)
        blocks[b] = m_scan_step(a->operation, accumulator, blocks[b - 1], blocks[b]);
}

/* A thread a block: its elements, one after the other, and the blocks before. */
M_KERNEL(pithp_k_scan, pithp_cuda_scan_args) {
    const i64 line = t / a->blocks, first = t % a->blocks * M_SCANNED;
    const i64 left = a->length - first, n = left < M_SCANNED ? left : M_SCANNED;
    if (line >= a->outer * a->inner)
        return;
    const i32 accumulator = m_accumulator(a->operation, a->dtype);
    u64 sofar = 0;
    for (i64 i = 0; i < n; i++) {
        const u64 next = m_scan_load(a, line, first + i);
        sofar = i == 0 ? next : m_scan_step(a->operation, accumulator, sofar, next);
        const u64 all =
            first == 0 ? sofar
                       : m_scan_step(a->operation, accumulator, a->partial[t - 1], sofar);
        const i64 along = a->reverse ? a->length - 1 - first - i : first + i;
        const i64 at = (line / a->inner * a->length + along) * a->inner + line % a->inner;
        if (a->dtype == 13)
            ((f64 *)a->to)[at] = m_from_bits_u64(all);
        else if (accumulator == M_OF_F64)
            m_store_any_single(a->to, at, a->dtype, (f32)m_from_bits_u64(all));
        else
            m_store_any_unsigned(a->to, at, a->dtype, all);
    }
}

/* ---- Sorting: runs of 16, or tiles of 2,048 that a block of threads sorts together,
 * then merges in which every element looks up its place ---- */

#define M_RUN 16

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

/* Sort n elements of a line from `first` on, one by one. */
M_FN void m_insert_all(const pithp_cuda_sort_args *a,
                       i64 line,
                       i64 first,
                       i64 n,
                       u64 *keys,
                       i64 *places) {
    for (i64 i = 0; i < n; i++) {
        const u64 key = m_sort_key(a->from, a->dtype, m_line_element(a, line, first + i),
                                   a->descending);
        i64 j = i;
        for (; j > 0 && keys[j - 1] > key; j--) {
            keys[j] = keys[j - 1];
            places[j] = places[j - 1];
        }
        keys[j] = key;
        places[j] = first + i;
    }
}

M_KERNEL(pithp_k_sort_runs, pithp_cuda_sort_args) {
    const i64 runs = (a->length + M_RUN - 1) / M_RUN, line = t / runs,
              first = t % runs * M_RUN, left = a->length - first;
    const i64 n = left < M_RUN ? left : M_RUN;
    if (line >= a->outer * a->inner)
        return;
    u64 keys[M_RUN];
    i64 places[M_RUN];
    m_insert_all(a, line, first, n, keys, places);
    for (i64 i = 0; i < n; i++) {
        a->keys[line * a->length + first + i] = keys[i];
        a->places[line * a->length + first + i] = places[i];
    }
}

#define M_SORT_TILE 2048

#ifdef PITHP_HAVE_CUB
#    include "program/cuda/kernel/sort_cub.h"
#else /* what stands for a block where threads run one after the other */
M_FN void
m_sort_tile(const pithp_cuda_sort_args *a, i64 line, i64 first, i32 n, i32 thread) {
    if (thread == 0)
        m_insert_all(a, line, first, n, a->keys + line * a->length + first,
                     a->places + line * a->length + first);
}
#endif

/* A block of threads a tile. */
M_KERNEL(pithp_k_sort_tiles, pithp_cuda_sort_args) {
    const i64 tiles = (a->length + M_SORT_TILE - 1) / M_SORT_TILE,
              line = t / M_BLOCK / tiles, first = t / M_BLOCK % tiles * M_SORT_TILE,
              left = a->length - first;
    if (line < a->outer * a->inner) /* alike for all threads of a block: they may meet */
        m_sort_tile(a, line, first, (i32)(left < M_SORT_TILE ? left : M_SORT_TILE),
                    (i32)(t % M_BLOCK));
}

/* How many of n sorted keys go before key: those that are less, or not greater. */
M_FN i64 m_rank(const u64 *keys, i64 n, u64 key, i32 equals_too) {
    i64 low = 0;
    while (low < n) {
        const i64 middle = low + (n - low) / 2;
        if (equals_too ? keys[middle] <= key : keys[middle] < key)
            low = middle + 1;
        else
            n = middle;
    }
    return low;
}

M_KERNEL(pithp_k_sort_merge, pithp_cuda_sort_args) {
    const i64 line = t / a->length, i = t % a->length, base = line * a->length;
    if (line >= a->outer * a->inner)
        return;
    const i64 pair = i / (2 * a->run) * (2 * a->run), middle = pair + a->run;
    const i64 end = middle + a->run < a->length ? middle + a->run : a->length;
    const u64 *keys = a->keys + base, key = keys[i];
    i64 place = i; /* a run without a partner stays */
    if (i >= middle)
        place = i - a->run + m_rank(keys + pair, a->run, key, 1);
    else if (middle < a->length)
        place = i + m_rank(keys + middle, end - middle, key, 0);
    a->next_keys[base + place] = key;
    a->next_places[base + place] = a->places[base + i];
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
