/* Arguments of a reduction kernel. It is part of generated text, so type names are those
 * of the prologues. They have no padding: equal arguments have equal bytes. */
#ifndef PITH_PROGRAM_SOURCE_ARGS_REDUCE_H
#define PITH_PROGRAM_SOURCE_ARGS_REDUCE_H

/* A reduction of [outer, length, inner] over the middle. dtypes are numbered as
 * pith_dtype. */
typedef struct m_reduce_args {
    const void *from; /* NULL: the kernel computes the elements */
    void *to;
    i64 outer, length, inner;
    i64 blocks;            /* blocks of 4,096 elements of the length */
    i64 count;             /* tree, find: remaining length before the launch */
    u64 *partial;          /* written by lanes, read by tree */
    u64 *reduced;          /* tree: result of one level of the tree */
    const i64 *candidates; /* find: indices of the candidates; NULL: every element */
    i64 *found;            /* find: indices of the remaining candidates */
    i32 dtype, to_dtype;
    i32 operation; /* pithp_reduction; find: 0 least, 1 greatest */
    i32 lanes;     /* tree: the partial results are lanes */
} m_reduce_args;

/* Threads of a block that share a result: one for each of its 64 lanes. With many columns
 * there are eight, with eight lanes each, so that neighbouring threads read neighbours.
 */
#define M_TEAM_THREADS(outer, inner) ((inner) >= 32 && (outer) * (inner) >= 4096 ? 8 : 64)

#endif
