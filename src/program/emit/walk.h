/* Where an element of an index space lies in memory that is walked in another way: part
 * of the texts of fused kernels, after a prologue. */
#ifndef PITHP_WALK_H
#define PITHP_WALK_H

#define M_WALK(index)                                                                    \
    index rest = (index)i;                                                               \
    for (i32 d = rank - 1; d >= 0; d--) {                                                \
        const i64 at = (i64)(rest % (index)shape[d]);                                    \
        rest /= (index)shape[d];                                                         \
        for (i32 k = 0; k < count; k++)                                                  \
            place[k] += at * stride[k][d];                                               \
    }

/* The places of element i in `count` memories, in elements. */
M_FN void
m_walk(i64 i, i32 rank, const i64 *shape, const i64 (*stride)[8], i32 count, i64 *place) {
    for (i32 k = 0; k < count; k++)
        place[k] = 0;
    if (i >> 32) { /* narrow divisions are several times faster */
        M_WALK(u64)
    } else {
        M_WALK(u32)
    }
}

#endif
