/* Launches for CUDA that move many arrays at once, run on the host, against the host's
 * own and against what they must give. */
#include "cuda_parity.h"
#include "program/exec/copy_many.h"
#include "program/exec/gather_many.h"
#include "program/host/gather.h"

/* ---- Many moves in one launch ---- */

/* Rows of every width at places of every alignment, cut at chunks of 32 elements. */
Test(cuda_moves, copy_many) {
    enum { COPIES = 200, BYTES = 1 << 16, SHIFT = 5 };
    static _Alignas(16) char from[BYTES], got[2][BYTES], want[BYTES];
    static pithp_copy_rows lists[2][COPIES];
    uint64_t seed = 5;
    int64_t at = 0;
    int count = 0;
    for (int i = 0; i < BYTES; i++)
        from[i] = (char)random_bits(&seed);
    while (count < COPIES) {
        const int64_t size = (int64_t)1 << random_bits(&seed) % 5;
        const int64_t row = 1 + (int64_t)(random_bits(&seed) % 12);
        const int64_t pitch = (row + (int64_t)(random_bits(&seed) % 3)) * size;
        const int64_t begin = (int64_t)(random_bits(&seed) % 9);
        const int64_t left = 1 + (int64_t)(random_bits(&seed) % 32);
        const int64_t rows = (begin + left + row - 1) / row;
        at = (at + size - 1) / size * size;
        if (at + rows * pitch > BYTES)
            break;
        for (int64_t e = begin; e < begin + left; e++)
            memcpy(want + at + e / row * pitch + e % row * size, from + at + e * size,
                   (size_t)size);
        for (int k = 0; k < 2; k++)
            lists[k][count] = (pithp_copy_rows){.to = got[k] + at,
                                                .from = from + at,
                                                .begin = begin,
                                                .count = left,
                                                .row = row,
                                                .to_pitch = pitch,
                                                .from_pitch = row * size,
                                                .size = size};
        at += rows * pitch;
        count++;
    }
    cr_assert(count > 100);
    const pithp_sink cuda = {take, NULL, &call_cuda_target};
    const pithp_sink host = {launch_host, NULL, NULL};
    for (int k = 0; k < 2; k++) {
        const pithp_cuda_copy_many_args args = {
            .list = lists[k], .total = (int64_t)count << SHIFT, .shift = SHIFT};
        cr_assert(pithp_launch_copies(k ? &cuda : &host, "copy_many", &args) == PITH_OK);
        cr_assert(memcmp(got[k], want, sizeof want) == 0, "%s", k ? "CUDA" : "host");
    }
}

/* ---- Rows of many leaves in one launch ---- */

enum { ROW_LEAVES = 120, ROW_BYTES = 1 << 17, ROW_SHIFT = 5 };

/* Where an index leads, by the words of pith_index_mode. */
static int64_t row_of(int64_t index, int64_t extent, pithp_index_mode mode) {
    const int64_t x = index < 0 ? index + extent : index;
    switch (mode) {
        case PITHP_INDEX_WRAP:
            return ((index % extent) + extent) % extent;
        case PITHP_INDEX_CLIP:
            return x < 0 ? 0 : x >= extent ? extent - 1 : x;
        case PITHP_INDEX_DROP:
        case PITHP_INDEX_ERROR:
        case PITHP_INDEX_PROMISE:
            break;
    }
    return x < 0 || x >= extent ? -1 : x;
}

/* Leaves of every width, their parts in chunks of 32 elements. */
static void rows_of_leaves(bool set, pith_dtype dtype, int64_t positions) {
    static _Alignas(16) char from[ROW_BYTES], rows[ROW_BYTES], got[2][ROW_BYTES],
        want[ROW_BYTES];
    static pithp_gather_leaf lists[2][4 * ROW_LEAVES];
    static const pithp_index_mode modes[] = {PITHP_INDEX_DROP, PITHP_INDEX_CLIP,
                                             PITHP_INDEX_WRAP};
    uint64_t seed = (uint64_t)positions + dtype;
    int64_t index[PITHP_GATHER_MANY_POSITIONS];
    int32_t narrow[PITHP_GATHER_MANY_POSITIONS];
    int count = 0;
    for (int64_t i = 0; i < positions; i++)
        narrow[i] = (int32_t)(index[i] = (int64_t)(random_bits(&seed) % 13) - 6);
    for (int i = 0; i < ROW_BYTES; i++) {
        from[i] = (char)random_bits(&seed);
        rows[i] = (char)random_bits(&seed);
    }
    memset(got, 0, sizeof got);
    memset(want, 0, sizeof want);
    for (int64_t leaf = 0; leaf < ROW_LEAVES; leaf++) {
        const int64_t at = leaf * 1024, size = (int64_t)1 << random_bits(&seed) % 4;
        const int64_t outer = 1 + (int64_t)(random_bits(&seed) % 2),
                      extent = 1 + (int64_t)(random_bits(&seed) % 5),
                      inner = 1 + (int64_t)(random_bits(&seed) % 3),
                      all = outer * (set ? extent : positions) * inner;
        pithp_gather_leaf p = {.from = from + at,
                               .updates = set ? rows + at : NULL,
                               .fill = 0x0123456789abcdefu,
                               .extent = extent,
                               .inner = inner,
                               .size = (int32_t)size,
                               .mode = modes[random_bits(&seed) % 3]};
        if (set)
            memcpy(want + at, from + at, (size_t)(all * size));
        for (int64_t o = 0; o < outer; o++)
            for (int64_t k = 0; k < positions; k++) {
                const int64_t x = row_of(index[k], extent, (pithp_index_mode)p.mode);
                char *taken = want + at + (o * positions + k) * inner * size;
                const int64_t row = (o * extent + x) * inner * size;
                for (int64_t c = 0; c < inner; c++)
                    if (set && x >= 0)
                        memcpy(want + at + row + c * size,
                               rows + at + ((o * positions + k) * inner + c) * size,
                               (size_t)size);
                    else if (!set)
                        memcpy(taken + c * size,
                               x < 0 ? (const char *)&p.fill : from + at + row + c * size,
                               (size_t)size);
            }
        for (p.begin = 0; p.begin < all; p.begin += p.count, count++) {
            p.count = all - p.begin < 32 ? all - p.begin : 32;
            for (int k = 0; k < 2; k++) {
                lists[k][count] = p;
                lists[k][count].to = got[k] + at;
            }
        }
    }
    const pithp_sink cuda = {take, NULL, &call_cuda_target};
    const pithp_sink host = {launch_host, NULL, NULL};
    for (int k = 0; k < 2; k++) {
        const pithp_cuda_gather_many_args args = {
            .list = lists[k],
            .index = dtype == PITH_I32 ? (const void *)narrow : index,
            .positions = positions,
            .total = (int64_t)count << ROW_SHIFT,
            .shift = ROW_SHIFT,
            .index_dtype = (int32_t)dtype};
        cr_assert(pithp_launch_gather_many(k ? &cuda : &host, "gather_many", &args) ==
                  PITH_OK);
        cr_assert(memcmp(got[k], want, sizeof want) == 0, "%s, %s of %lld",
                  k ? "CUDA" : "host", set ? "set" : "take", (long long)positions);
    }
}

Test(cuda_moves, rows_of_many_leaves) {
    for (int64_t positions = 1; positions <= 16; positions++)
        for (int set = 0; set < 2; set++) {
            rows_of_leaves(set, PITH_I64, positions);
            rows_of_leaves(set, PITH_I32, positions);
        }
}
