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

#endif
