/* Fill kernel: repeats a pattern in 16-byte stores, with byte stores at the ends. */
#include "gpu/cuda/fill.h"

/* `to` is aligned to the width of the pattern, so the word is the same at every multiple
 * of 8. */
extern "C" __global__ void pithp_fill_shell(pithp_fill_args a) {
    const int64_t thread = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    const int64_t threads = gridDim.x * (int64_t)blockDim.x;
    const uintptr_t begin = (uintptr_t)a.to, end = begin + (uintptr_t)a.bytes;
    uintptr_t first = (begin + 15) / 16 * 16, last = end / 16 * 16;
    if (first > last)
        first = last = end;
    const ulonglong2 wide = make_ulonglong2(a.word, a.word);
    for (uintptr_t p = first + 16 * (uintptr_t)thread; p < last;
         p += 16 * (uintptr_t)threads)
        *(ulonglong2 *)p = wide;
    /* at most 15 bytes before, and 15 after, or 31 in total */
    if (thread < 32) {
        const uintptr_t head = begin + (uintptr_t)thread, tail = last + (uintptr_t)thread;
        if (head < first)
            *(unsigned char *)head = (unsigned char)(a.word >> 8 * (head - begin) % 64);
        if (tail < end)
            *(unsigned char *)tail = (unsigned char)(a.word >> 8 * (tail - begin) % 64);
    }
}

extern "C" const void *pithp_fill_kernel(void) {
    return (const void *)pithp_fill_shell;
}
