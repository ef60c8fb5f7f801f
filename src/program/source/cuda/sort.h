/* Sort and binary search kernels.
 *
 * Merge sort: each block of threads sorts a tile, then tiles are merged pairwise. Radix
 * sort (radix.h): for long lines of short keys. Both sort keys, as wide as elements,
 * together with the indices of elements. */
#ifndef PITH_PROGRAM_SOURCE_CUDA_SORT_H
#define PITH_PROGRAM_SOURCE_CUDA_SORT_H

/* Bits of infinity; only NaN has a greater magnitude. */
M_FN u64 m_infinity(i32 dtype) {
    return dtype == M_DTYPE_F16    ? 0x7C00
           : dtype == M_DTYPE_BF16 ? 0x7F80
           : dtype == M_DTYPE_F32  ? 0x7F800000
                                   : (u64)0x7FF << 52;
}

M_FN i64 m_line_element(const pithp_cuda_sort_args *a, i64 line, i64 i) {
    return (line / a->inner * a->length + i) * a->inner + line % a->inner;
}

/* Indices along a line, as i64 if a->wide is set, else as u32. */
M_FN i64 m_load_index(const void *indices, i32 wide, i64 i) {
    return wide ? ((const i64 *)indices)[i] : (i64)((const u32 *)indices)[i];
}
M_FN void m_store_index(void *indices, i32 wide, i64 i, i64 index) {
    if (wide)
        ((i64 *)indices)[i] = index;
    else
        ((u32 *)indices)[i] = (u32)index;
}

#define M_SORT_TILE PITHP_SORT_TILE
#define M_SORT_EACH (M_SORT_TILE / M_BLOCK)

/* Line of slot i of a tile, or -1. A tile is a subrange of a line. If lines are short it
 * has several lines, in segments of a->run slots, a power of two. */
M_FN i64 m_tile_line(const pithp_cuda_sort_args *a, i64 tile, i32 i) {
    const i64 tiles = (a->length + M_SORT_TILE - 1) / M_SORT_TILE;
    const i64 line =
        tiles > 1 ? tile / tiles : tile * (M_SORT_TILE / a->run) + i / a->run;
    return line < a->outer * a->inner ? line : -1;
}
/* Index of the slot's element along the line; it may be beyond the end. */
M_FN i64 m_tile_index(const pithp_cuda_sort_args *a, i64 tile, i32 i) {
    const i64 tiles = (a->length + M_SORT_TILE - 1) / M_SORT_TILE;
    return tile % tiles * M_SORT_TILE + i % a->run;
}

/* Steps of a tile: load, sort by thread, then for each merge up to a->run two, store. */
M_FN i32 m_tile_steps(i64 run) {
    i32 steps = 3;
    for (i64 width = M_SORT_EACH; width < run; width *= 2)
        steps += 2;
    return steps;
}

#include "program/source/cuda/radix.h"
/* clang-format off */
#define M_KEY u8
#include "program/source/cuda/sort_by.h"
#include "program/source/cuda/radix_by.h"
#undef M_KEY
#define M_KEY u16
#include "program/source/cuda/sort_by.h"
#include "program/source/cuda/radix_by.h"
#undef M_KEY
#define M_KEY u32
#include "program/source/cuda/sort_by.h"
#include "program/source/cuda/radix_by.h"
#undef M_KEY
#define M_KEY u64
#include "program/source/cuda/sort_by.h"
#include "program/source/cuda/radix_by.h"
#undef M_KEY
/* clang-format on */

M_KERNEL(pithp_k_sort_end, pithp_cuda_sort_args) {
    const i64 line = t / a->length, i = t % a->length;
    if (line >= a->outer * a->inner)
        return;
    const i64 index = m_load_index(a->indices, a->wide, line * a->length + i),
              to = m_line_element(a, line, i);
    if (a->argsort)
        ((i64 *)a->to)[to] = index;
    else
        m_move((char *)a->to + to * a->size,
               (const char *)a->from + m_line_element(a, line, index) * a->size, a->size);
}

/* As m_sort_key, for keys of any width. */
M_FN u64 m_search_key(const void *from, i32 dtype, i64 i) {
    switch (dtype) {
        case M_DTYPE_BOOL:
        case M_DTYPE_I8:
        case M_DTYPE_U8:
            return m_sort_key_u8(from, dtype, i, 0);
        case M_DTYPE_I16:
        case M_DTYPE_U16:
        case M_DTYPE_F16:
        case M_DTYPE_BF16:
            return m_sort_key_u16(from, dtype, i, 0);
        case M_DTYPE_I32:
        case M_DTYPE_U32:
        case M_DTYPE_F32:
            return m_sort_key_u32(from, dtype, i, 0);
        default:
            return m_sort_key_u64(from, dtype, i, 0);
    }
}

/* Number of elements before each value in its sorted array. */
M_KERNEL(pithp_k_search, pithp_cuda_search_args) {
    if (t >= a->count)
        return;
    const u64 value = m_search_key(a->values, a->dtype, t);
    const i64 first = t / a->each * a->sorted_count;
    i64 low = 0, high = a->sorted_count;
    while (low < high) {
        const i64 middle = low + (high - low) / 2;
        const u64 here = m_search_key(a->sorted, a->dtype, first + middle);
        if (here < value || (a->right && here == value))
            low = middle + 1;
        else
            high = middle;
    }
    a->to[t] = low;
}

#endif
