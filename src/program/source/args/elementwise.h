/* Arguments of a program of one elementwise operation. Part of its text, so the names of
 * types are those of the prologues. */
#ifndef PITH_PROGRAM_SOURCE_ARGS_ELEMENTWISE_H
#define PITH_PROGRAM_SOURCE_ARGS_ELEMENTWISE_H

/* The result's index space after merging dimensions; rank 0: all lie as the result. */
typedef struct m_one_args {
    void *to;
    const void *from[3];
    i64 count;
    i32 rank;
    i64 shape[8];
    i64 stride[3][8]; /* of the operands, in elements */
} m_one_args;

#endif
