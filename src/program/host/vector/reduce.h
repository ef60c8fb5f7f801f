/* Reduction functions, one set per instruction set. */
#ifndef PITH_PROGRAM_HOST_VECTOR_REDUCE_H
#define PITH_PROGRAM_HOST_VECTOR_REDUCE_H

#include "program/op/op.h"

/* Elements of a block, lanes of a block, and columns that are reduced side by side. */
enum { PITHP_REDUCE_BLOCK = 4096, PITHP_REDUCE_LANES = 64, PITHP_REDUCE_TILE = 128 };

typedef enum pithp_reduction {
    PITHP_REDUCE_SUM,
    PITHP_REDUCE_PROD,
    PITHP_REDUCE_MIN,
    PITHP_REDUCE_MAX,
    PITHP_REDUCE_ANY,
    PITHP_REDUCE_ALL,
    PITHP_REDUCTIONS
} pithp_reduction;

/* Reducer of one dtype; NULL functions if the operation does not accept the dtype. */
typedef struct pithp_reducer {
    pith_dtype accumulator; /* a dtype with the accumulator's bits: its cast to the
                               result's dtype finishes a reduction */
    /* to[i]: of `length` contiguous elements, at most a block. Rows are consecutive;
     * `more` elements after them will be read next */
    void (*rows)(void *to, const void *from, int64_t length, int64_t count, int64_t more);
    /* to[c]: of `length` elements, at most a block, from `from + c` on, `pitch` apart.
     * scratch holds lanes * width accumulators. */
    void (*columns)(void *to,
                    const void *from,
                    int64_t pitch,
                    int64_t length,
                    int64_t width,
                    void *scratch);
    /* lane[c]: of `count` elements (at least one) from `from + c` on, `pitch` apart, in
     * order. The next lane, which will be read next, begins `step` elements after. */
    void (*lane)(void *lane,
                 const void *from,
                 int64_t pitch,
                 int64_t count,
                 int64_t width,
                 int64_t step);
    /* Incremental form of `columns`: rows first..first + count of the block are combined
     * into their lanes, [lanes, width]. Then `finish` combines the used lanes, at most
     * all, to to[c]. */
    void (*accumulate)(void *lanes,
                       const void *from,
                       int64_t pitch,
                       int64_t first,
                       int64_t count,
                       int64_t width);
    void (*finish)(void *to, void *lanes, int64_t used, int64_t width);
    /* blocks[0][c]: the tree over `count` blocks, `pitch` apart; all are overwritten */
    void (*tree)(void *blocks, int64_t pitch, int64_t count, int64_t width);
} pithp_reducer;

/* Index of the extreme element, for argmin and argmax. */
typedef struct pithp_finder {
    int64_t (*row)(const void *from, int64_t length);
    void (*columns)(int64_t *to,
                    const void *from,
                    int64_t pitch,
                    int64_t length,
                    int64_t width);
} pithp_finder;

typedef struct pithp_reduce_table {
    pithp_reducer reducers[PITHP_REDUCTIONS][PITH_DTYPE_COUNT];
    pithp_finder finders[2][PITH_DTYPE_COUNT]; /* by argmin, argmax */
} pithp_reduce_table;

extern const pithp_reduce_table pithp_reduce_base, pithp_reduce_v3, pithp_reduce_v4;

#endif
