/* Where an index leads, in emitted text: what block/index.c and dynamic.c do with one,
 * whose functions are for many. After a prologue. */
#ifndef PITH_PROGRAM_SOURCE_GATHER_INDEX_H
#define PITH_PROGRAM_SOURCE_GATHER_INDEX_H

/* The modes, as numbers of pithp_index_mode. */
enum { M_DROP, M_CLIP, M_WRAP, M_PROMISE };

/* The place of an index within an extent, or -1: it is out of range, and dropped.
 * from_end: negative ones count from there; wide: it was an u64. */
M_FN i64 m_place(i64 given, i64 extent, i32 mode, b8 from_end, b8 wide) {
    if (extent == 0)
        return -1;
    if (mode == M_DROP) {
        const i64 x = given < 0 && from_end && !wide ? given + extent : given;
        return x < 0 || x >= extent ? -1 : x;
    }
    if (mode == M_WRAP) {
        const i64 rest = wide ? (i64)((u64)given % (u64)extent) : given % extent;
        return rest < 0 ? rest + extent : rest;
    }
    const i64 low = given >= 0 ? given
                    : wide     ? extent
                    : from_end ? given + extent
                               : given;
    return low < 0 ? 0 : low >= extent ? extent - 1 : low;
}

/* Whether n indices all lead to where they say, whatever the mode: neither they nor what
 * is left of the extent behind them has the highest bit. */
#define M_INSIDE(type)                                                                   \
    M_FN b8 m_inside_##type(const type *x, i64 n, i64 extent) {                          \
        i64 outside = 0;                                                                 \
        _Pragma("omp simd reduction(| : outside)") for (i64 i = 0; i < n; i++) {         \
            const u64 at = (u64)(i64)x[i];                                               \
            outside |= (i64)(at | ((u64)extent - 1 - at));                               \
        }                                                                                \
        return outside >= 0;                                                             \
    }
M_INSIDE(i8)
M_INSIDE(i16)
M_INSIDE(i32)
M_INSIDE(i64)
M_INSIDE(u8)
M_INSIDE(u16)
M_INSIDE(u32)
M_INSIDE(u64)

/* What is taken from a place, or the fill; x has an element. */
#define M_TAKEN(type)                                                                    \
    M_FN type m_taken_##type(const type *x, i64 at, type fill) {                         \
        const type taken = x[at < 0 ? 0 : at];                                           \
        return at < 0 ? fill : taken;                                                    \
    }
M_TAKEN(b8)
M_TAKEN(i8)
M_TAKEN(i16)
M_TAKEN(i32)
M_TAKEN(i64)
M_TAKEN(u8)
M_TAKEN(u16)
M_TAKEN(u32)
M_TAKEN(u64)
M_TAKEN(f16)
M_TAKEN(bf16)
M_TAKEN(f32)
M_TAKEN(f64)

/* Where a box begins that starts at an index and fits. */
M_FN i64 m_start(i64 given, i64 whole, i64 box, b8 wide) {
    const i64 most = whole - box, x = given < 0 ? given + whole : given;
    return wide && given < 0 ? most : x < 0 ? 0 : x > most ? most : x;
}

#endif
