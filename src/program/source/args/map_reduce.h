/* Arguments of compiled code that makes elements and reduces them in one loop. Part of
 * texts, so the names of types are those of the prologues. */
#ifndef PITH_PROGRAM_SOURCE_ARGS_MAP_REDUCE_H
#define PITH_PROGRAM_SOURCE_ARGS_MAP_REDUCE_H

typedef struct m_fold_args {
    char *const *at; /* where the step's externals are */
    void *to;        /* accumulators */
    i64 first;       /* rows: the element that the first one begins with */
    i64 length;      /* rows: of each; at most a block */
    b8 begins;       /* columns: nothing was folded yet */
} m_fold_args;

#endif
