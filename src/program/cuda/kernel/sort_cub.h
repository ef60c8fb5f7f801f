/* Sorting a tile by CUB's block-wide radix sort, which is stable. CUB's sorts of whole
 * arrays take addresses by value and memory as large as the array at a place that does
 * not change, which a graph would hold on to between its launches; within a kernel
 * addresses come from the table, and bodies of loops may hold it. */
#ifndef PITH_PROGRAM_CUDA_SORT_CUB_H
#define PITH_PROGRAM_CUDA_SORT_CUB_H

M_FN void
m_sort_tile(const pithp_cuda_sort_args *a, i64 line, i64 first, i32 n, i32 thread) {
    enum { EACH = M_SORT_TILE / M_BLOCK };
    typedef cub::BlockRadixSort<u64, M_BLOCK, EACH, i32> sorter;
    __shared__ typename sorter::TempStorage memory;
    u64 keys[EACH];
    i32 places[EACH];
    for (i32 k = 0; k < EACH; k++) {
        const i32 i = thread * EACH + k;
        /* what is beyond the end stays there: nothing is greater, and equals keep order
         */
        keys[k] = i < n ? m_sort_key(a->from, a->dtype,
                                     m_line_element(a, line, first + i), a->descending)
                        : ~(u64)0;
        places[k] = i;
    }
    sorter(memory).SortBlockedToStriped(keys, places);
    const i64 base = line * a->length + first;
    for (i32 k = 0; k < EACH; k++) {
        const i32 i = k * M_BLOCK + thread;
        if (i < n) {
            a->keys[base + i] = keys[k];
            a->places[base + i] = first + places[k];
        }
    }
}

#endif
