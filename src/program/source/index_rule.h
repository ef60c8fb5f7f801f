/* Index rule: the element that an index selects, by mode. One text for the host's loops,
 * generated text and CUDA. Needs a prologue. Loops pass a constant mode. */
#ifndef PITH_PROGRAM_SOURCE_INDEX_RULE_H
#define PITH_PROGRAM_SOURCE_INDEX_RULE_H

enum { M_DROP, M_CLIP, M_WRAP, M_PROMISE, M_ERROR }; /* as pithp_index_mode */

/* Position of an index within an extent. -1: the extent is 0, or the index is out of
 * range and the mode drops or reports it. from_end: negative indices count from the end.
 * wide: the index was a u64, so that a negative one is beyond every extent. */
#define M_POSITION(name, I, U)                                                           \
    M_FN I name(I given, I extent, i32 mode, b8 from_end, b8 wide) {                     \
        const I back = from_end && !wide ? extent : 0;                                   \
        if (mode == M_WRAP) {                                                            \
            if (extent == 0)                                                             \
                return -1;                                                               \
            if (given >= 0 && given < extent) /* avoids the slow division */             \
                return given;                                                            \
            const I rest = wide ? (I)((U)given % (U)extent) : given % extent;            \
            return rest < 0 ? rest + extent : rest;                                      \
        }                                                                                \
        const I x = given < 0 ? given + back : given;                                    \
        if (mode == M_DROP || mode == M_ERROR)                                           \
            return (x < 0) | (x >= extent) ? -1 : x;                                     \
        const I low = x >= 0 ? x : wide ? extent : 0;                                    \
        return low >= extent ? extent - 1 : low;                                         \
    }
M_POSITION(m_position, i64, u64)
M_POSITION(m_position_narrow,
           i32,
           u32) /* for extents that fit; vectors hold twice as many */

/* Clamped start of a box: the box fits in the extent. */
M_FN i64 m_start(i64 given, i64 whole, i64 box, b8 wide) {
    const i64 most = whole - box, x = given < 0 ? given + whole : given;
    return wide && given < 0 ? most : x < 0 ? 0 : x > most ? most : x;
}

#endif
