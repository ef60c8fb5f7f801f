/* Arguments of a compiled fused map and reduction. It is part of generated text, so type
 * names are those of the prologues. */
#ifndef PITH_PROGRAM_SOURCE_ARGS_MAP_REDUCE_H
#define PITH_PROGRAM_SOURCE_ARGS_MAP_REDUCE_H

typedef struct m_map_reduce_args {
    char *const *at; /* addresses of the step's operands in memory */
    void *to;        /* accumulators */
    i64 first;       /* rows: first element of the first row */
    i64 length;      /* rows: elements of each; at most a block */
    b8 begins;       /* columns: the accumulators are uninitialised */
} m_map_reduce_args;

/* Of a step whose values several reductions read. */
typedef struct m_map_siblings_args {
    char *const *at;    /* addresses of the step's operands in memory */
    void *const *lanes; /* of each reduction: 64 accumulators, or one for each element */
} m_map_siblings_args;

#endif
