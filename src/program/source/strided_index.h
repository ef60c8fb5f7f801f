/* Strided index arithmetic of fused kernels: a linear index to offsets by strides, or to
 * a segment of a concatenation or padding. Part of generated text; needs a prologue. */
#ifndef PITH_PROGRAM_SOURCE_STRIDED_INDEX_H
#define PITH_PROGRAM_SOURCE_STRIDED_INDEX_H

#define M_MAX_RANK 12 /* PITHP_MAX_RANK */

#define M_WALK(index)                                                                    \
    index rest = (index)i;                                                               \
    for (i32 d = rank - 1; d >= 0; d--) {                                                \
        const i64 at = (i64)(rest % (index)shape[d]);                                    \
        rest /= (index)shape[d];                                                         \
        for (i32 k = 0; k < count; k++)                                                  \
            offset[k] += at * stride[k][d];                                              \
    }

/* Offsets of element i in `count` operands, in elements. */
M_FN void m_walk(i64 i,
                 i32 rank,
                 const i64 *shape,
                 const i64 (*stride)[M_MAX_RANK],
                 i32 count,
                 i64 *offset) {
    for (i32 k = 0; k < count; k++)
        offset[k] = 0;
    if (i >> 32) { /* 32-bit divisions are several times faster */
        M_WALK(u64)
    } else {
        M_WALK(u32)
    }
}

/* ---- Segments ---- */

/* A segment: a box of the index space whose elements are in one operand; `end` is
 * exclusive. */
typedef struct m_piece {
    const void *at; /* its first element */
    i64 begin[M_MAX_RANK], end[M_MAX_RANK], stride[M_MAX_RANK];
} m_piece;

#define M_INDEX(type)                                                                    \
    type rest = (type)i;                                                                 \
    for (i32 d = rank - 1; d > 0; d--) {                                                 \
        index[d] = (i64)(rest % (type)shape[d]);                                         \
        rest /= (type)shape[d];                                                          \
    }                                                                                    \
    index[0] = (i64)rest;

/* Unravel element i to an index per axis. The rank must be a constant in the text, so
 * that the index stays in registers. */
M_FN void m_index(i64 i, i32 rank, const i64 *shape, i64 *index) {
    if (i >> 32) {
        M_INDEX(u64)
    } else {
        M_INDEX(u32)
    }
}

/* Offset of an element from the segment's first. */
M_FN i64 m_within(const m_piece *piece, i32 rank, const i64 *index) {
    i64 offset = 0;
    for (i32 d = 0; d < rank; d++)
        offset += (index[d] - piece->begin[d]) * piece->stride[d];
    return offset;
}

#endif
