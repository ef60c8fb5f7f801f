/* Arguments of a CUDA program of one elementwise operation. It is part of the program's
 * text, so type names are those of the prologues. */
#ifndef PITH_PROGRAM_SOURCE_ARGS_ELEMENTWISE_H
#define PITH_PROGRAM_SOURCE_ARGS_ELEMENTWISE_H

/* The result's index space after coalescing; rank 0: all operands have the result's
 * layout. */
typedef struct m_elementwise_args {
    void *to;
    const void *from[3];
    i64 count;
    i32 rank;
    i64 shape[12];     /* PITHP_MAX_RANK */
    i64 stride[3][12]; /* of the operands, in elements */
} m_elementwise_args;

#endif
