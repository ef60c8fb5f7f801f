/* Arguments of a kernel that reduces. Part of texts, so the names of types are those of
 * the prologues. They have no padding: equal arguments are equal bytes. */
#ifndef PITH_PROGRAM_SOURCE_ARGS_REDUCE_H
#define PITH_PROGRAM_SOURCE_ARGS_REDUCE_H

/* Of [outer, length, inner], the middle one reduced. dtypes are those of pith_dtype. */
typedef struct m_reduce_args {
    const void *from; /* NULL: the kernel makes the elements */
    void *to;
    i64 outer, length, inner;
    i64 blocks;        /* of 4,096 elements of the length */
    i64 count;         /* fold, find: what is left of the length */
    u64 *partial;      /* lanes writes it, fold reads it */
    u64 *folded;       /* fold: what is left after it */
    const i64 *places; /* find: candidates; NULL: every element */
    i64 *found;        /* find: what is left after it */
    i32 dtype, to_dtype;
    i32 operation; /* pithp_reduction; find: 0 least, 1 greatest */
    i32 lanes;     /* fold: partial results are lanes */
} m_reduce_args;

/* Parts of a result that threads of a block make: its 64 lanes, or, where columns are
 * many, eight lanes each, so that neighbours read neighbours. */
#define M_TEAM_PARTS(outer, inner) ((inner) >= 32 && (outer) * (inner) >= 4096 ? 8 : 64)

#endif
