/* Arguments of compiled code that makes elements and reduces them in one loop. Part of
 * texts, so the names of types are those of the prologues. */
#ifndef PITHP_FOLD_ARGS_H
#define PITHP_FOLD_ARGS_H

typedef struct m_fold_args {
    char *const *at; /* where the step's externals are */
    void *to;        /* accumulators */
    i64 first;       /* rows: the element that the first one begins with */
    i64 length;      /* rows: of each; at most a block */
    b8 begins;       /* columns: nothing was folded yet */
} m_fold_args;

#endif
