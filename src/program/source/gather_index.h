/* Gathers in generated text: range tests of whole index arrays, and loads with a fill.
 * Needs a prologue and source/index_rule.h. */
#ifndef PITH_PROGRAM_SOURCE_GATHER_INDEX_H
#define PITH_PROGRAM_SOURCE_GATHER_INDEX_H

/* Whether n indices are nonnegative and in range, so that every mode gives the same
 * element. Neither they nor extent - 1 - index have the sign bit. */
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

/* The element at an index, or the fill; x has at least one element. */
#define M_GATHERED(type)                                                                 \
    M_FN type m_gathered_##type(const type *x, i64 at, type fill) {                      \
        const type taken = x[at < 0 ? 0 : at];                                           \
        return at < 0 ? fill : taken;                                                    \
    }
M_GATHERED(b8)
M_GATHERED(i8)
M_GATHERED(i16)
M_GATHERED(i32)
M_GATHERED(i64)
M_GATHERED(u8)
M_GATHERED(u16)
M_GATHERED(u32)
M_GATHERED(u64)
M_GATHERED(f16)
M_GATHERED(bf16)
M_GATHERED(f32)
M_GATHERED(f64)

#endif
