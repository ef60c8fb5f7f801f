/* Arguments of the kernels that are built with the library, shared by C and CUDA. They
 * have no padding: equal arguments have equal bytes. */
#ifndef PITH_PROGRAM_SOURCE_ARGS_LIBRARY_H
#define PITH_PROGRAM_SOURCE_ARGS_LIBRARY_H

#include <stdint.h>

#define PITHP_CUDA_RANK 12 /* PITHP_MAX_RANK */

/* Element i of the index space moves from `from` + i . from_stride to `to` + i .
 * to_stride. */
typedef struct pithp_cuda_move_args {
    char *to;
    const char *from;
    int64_t count;
    int32_t size; /* bytes of an element: 1, 2, 4, 8 or 16 */
    int32_t rank; /* at least 1 */
    int64_t shape[PITHP_CUDA_RANK];
    int64_t to_stride[PITHP_CUDA_RANK], from_stride[PITHP_CUDA_RANK]; /* in bytes */
} pithp_cuda_move_args;

/* A chunk of a copy of rows: elements begin .. begin + count in C order. */
typedef struct pithp_copy_rows {
    char *to;
    const char *from;
    int64_t begin, count;
    int64_t row;                  /* elements of a row */
    int64_t to_pitch, from_pitch; /* pitch: bytes between rows */
    int64_t size;                 /* bytes of an element: 1, 2, 4, 8 or 16 */
} pithp_copy_rows;

/* Index i is element i % (1 << shift) of chunk i >> shift. */
typedef struct pithp_cuda_copy_many_args {
    const pithp_copy_rows *list;
    int64_t total, shift;
} pithp_cuda_copy_many_args;

typedef struct pithp_cuda_fill_args {
    char *to;
    uint64_t value;
    int64_t count;
    int32_t size;
    int32_t unused;
} pithp_cuda_fill_args;

/* Cast of elements; dtypes are numbered as pith_dtype. */
typedef struct pithp_cuda_cast_args {
    void *to;
    const void *from;
    int64_t count;
    int32_t to_dtype, from_dtype;
} pithp_cuda_cast_args;

typedef struct pithp_cuda_iota_args {
    void *to;
    int64_t count;
    int64_t extent, inner; /* of the axis; elements with equal index along it */
    int32_t dtype;
    int32_t unused;
} pithp_cuda_iota_args;

/* cumlogsumexp; the other operations of scans are those of reductions. */
enum { M_OP_LOG_SUM = 6 };

/* A scan of [outer, length, inner] along the middle. */
typedef struct pithp_cuda_scan_args {
    const void *from;
    void *to;
    int64_t outer, length, inner;
    int64_t blocks,
        groups; /* numbers of blocks and groups of the length (source/scan_order.h) */
    uint64_t *partial; /* block totals [outer, blocks, inner]; unused with one block */
    uint64_t *sums;    /* group totals [outer, groups, inner]; unused with one block */
    int32_t dtype;
    int32_t operation; /* pithp_reduction, or M_OP_LOG_SUM */
    int32_t reverse;
    int32_t unused;
} pithp_cuda_scan_args;

/* cumlinear along the middle of [outer, length, inner]. */
typedef struct pithp_cuda_cumlinear_args {
    const void *factors, *terms;
    void *to;
    int64_t outer, length, inner;
    int32_t dtype;
    int32_t reverse, strong;
    int32_t unused;
} pithp_cuda_cumlinear_args;

/* A sort of the lines of [outer, length, inner] along the middle. Keys and indices of a
 * line are contiguous. */
/* Keys of a tile of a sort, and values of a digit of a radix sort. */
enum { PITHP_SORT_TILE = 2048, PITHP_RADIX = 256 };

typedef struct pithp_cuda_sort_args {
    const void *from;
    void *to;
    int64_t outer, length, inner;
    int64_t run; /* tiles: slots of a line in a tile; merge: length of sorted runs */
    void *keys, *next_keys;       /* with the width of elements */
    void *indices, *next_indices; /* i64 if wide is set, else u32: indices along the line,
                                   in key order */
    uint32_t *counts; /* radix, [line, tile, digit]: keys with the digit in the tile, then
                         in the tiles before it */
    uint32_t *totals; /* [line, digit]: keys with the digit */
    int32_t dtype, size; /* dtype and bytes of an element */
    int32_t descending;
    int32_t argsort;
    int32_t wide;
    int32_t shift; /* radix: the lowest bit of the digit; in the first pass, 0, keys are
                      those of elements, in their order */
} pithp_cuda_sort_args;

typedef struct pithp_cuda_search_args {
    const void *sorted, *values;
    int64_t *to;
    int64_t count, sorted_count; /* of a sorted array */
    int64_t each;                /* adjacent values that search one sorted array */
    int32_t dtype;
    int32_t right; /* count elements equal to the value, too */
} pithp_cuda_search_args;

/* A product for each batch index: c[m, n] = a[m, terms] b[terms, n]; strides in elements.
 */
typedef struct pithp_cuda_product_args {
    const void *a, *b;
    void *c;
    int64_t m, n, terms, a_free, a_term, b_free, b_term;
    int64_t batch[PITHP_CUDA_RANK], a_batch[PITHP_CUDA_RANK], b_batch[PITHP_CUDA_RANK];
    int64_t batches;
    int32_t rank; /* of the batch */
    int32_t dtype;
} pithp_cuda_product_args;

/* Matrix pointers for a batched gemm of a library. Thread t writes those of entry t =
 * span * batches + batch, at the first term of the span: to[t], to[count + t] and to[2
 * count + t]. Strides are in elements. */
typedef struct pithp_cuda_pointers_args {
    const void **to;
    const char *a, *b;
    char *c;
    int64_t count, batches;
    int64_t a_span, b_span, c_span; /* between spans */
    int64_t c_batch;
    int64_t batch[PITHP_CUDA_RANK], a_batch[PITHP_CUDA_RANK], b_batch[PITHP_CUDA_RANK];
    int32_t rank; /* of the batch */
    int32_t size; /* bytes of an element */
} pithp_cuda_pointers_args;

/* Sums of the spans [spans, count], added in order and rounded to the result's dtype. */
typedef struct pithp_cuda_spans_args {
    const void *from;
    void *to;
    int64_t spans, count;
    int32_t to_dtype; /* spans are f64 if to_dtype is f64, else f32 */
    int32_t unused;
} pithp_cuda_spans_args;

/* Report of an index out of range (pith_report of kernel.h). */
typedef struct pithp_cuda_report {
    uint64_t first; /* ~position of the first one */
    uint64_t need, have, what;
} pithp_cuda_report;

/* Combination of an element with its update in a scatter. */
enum {
    M_SCATTER_SET,
    M_SCATTER_ADD,
    M_SCATTER_MUL,
    M_SCATTER_MIN,
    M_SCATTER_MAX,
    M_SCATTER_AND,
    M_SCATTER_OR
};

/* Index arrays of `count` positions along dimensions of [outer, extents..., inner]. */
typedef struct pithp_cuda_index_args {
    const char *from; /* take: the operand; scatter: the updates */
    char *to;
    pithp_cuda_report *report; /* mode error */
    uint64_t fill;
    int64_t outer, count, inner;
    int64_t pitch;         /* elements between outer indices of the indexed array */
    int64_t apart;         /* scatter: positions of an entry of a batch, or all */
    void *offsets;         /* of positions, in rows of inner; out of range: `beyond` */
    const void *keys;      /* scatter: sorted offsets */
    const void *positions; /* scatter: positions in key order; NULL: 0, 1, ... */
    uint64_t beyond;       /* greater than all offsets */
    int32_t size, dtype, index_dtype;
    int32_t arrays;
    int32_t mode; /* pithp_index_mode */
    int32_t no_negative;
    int32_t operation; /* scatter: M_SCATTER_SET to M_SCATTER_OR */
    int32_t meet;      /* scatter_free: positions may repeat an offset */
    int32_t narrow;    /* offsets, keys and positions are u32, else u64 and i64 */
    int32_t unused;
    const void *index[PITHP_CUDA_RANK];
    int64_t extent[PITHP_CUDA_RANK];
    uint64_t note[PITHP_CUDA_RANK]; /* pithp_index_note */
} pithp_cuda_index_args;

/* A route (pith/route.h) whose rows are moved. Thread t is slot t of `send`. */
typedef struct pithp_cuda_route_args {
    const int32_t *peer, *send;     /* [peers], [peers, most] */
    const int64_t *sent, *received; /* [peers] */
    int32_t *rows;    /* [peers, most]: row of each slot; -1: the slot is not in use */
    int64_t *numbers; /* [3, peers]: peer, sent, received */
    uint64_t *beyond; /* raised to ~slot by slots with a row that there is not */
    int64_t peers, most;
    int64_t extent; /* rows of the array */
} pithp_cuda_route_args;

/* A chunk of a leaf whose rows are gathered or set: elements begin .. begin + count of
 * the result in C order. */
typedef struct pithp_gather_leaf {
    char *to;            /* take: [outer, positions, inner]; set: as from */
    const char *from;    /* [outer, extent, inner] */
    const char *updates; /* set: [outer, positions, inner]; take: NULL */
    uint64_t fill;       /* take: value of indices out of range */
    int64_t begin, count;
    int64_t extent, inner;
    int32_t size; /* bytes of an element: 1, 2, 4 or 8 */
    int32_t mode; /* pithp_index_mode; not error */
} pithp_gather_leaf;

/* Maximum number of positions: each element of a set scans all of them. */
enum { PITHP_GATHER_MANY_POSITIONS = 64 };

/* Index i is element i % (1 << shift) of chunk i >> shift. */
typedef struct pithp_cuda_gather_many_args {
    const pithp_gather_leaf *list;
    const void *index; /* [positions] */
    int64_t positions, total, shift;
    int32_t index_dtype;
    int32_t no_negative;
} pithp_cuda_gather_many_args;

/* Boxes of arrays, row by row in C order, copied to or from positions in their arrays. */
typedef struct pithp_cuda_box_args {
    char *to;
    const char *from;
    const void *starts; /* [boxes, rank] */
    int64_t count;      /* elements of all boxes */
    int64_t box, next;  /* elements of a box, and from its array to the next; 0: one array
                           for all */
    int32_t size, rank, index_dtype;
    int32_t update; /* `from` is the box */
    int64_t shape[PITHP_CUDA_RANK], whole[PITHP_CUDA_RANK];
} pithp_cuda_box_args;

/* Results that a launch of random numbers makes from words. Keys: both words of a pair,
 * side by side. */
enum {
    PITHP_DRAW_BITS,
    PITHP_DRAW_UNIFORM,
    PITHP_DRAW_NORMAL,
    PITHP_DRAW_INTEGERS,
    PITHP_DRAW_KEYS
};

/* Draws of `keys` keys, side by side. A launch has keys * pairs indices. Each evaluation
 * of Threefry gives one pair of words. The same struct serves the host. */
typedef struct pithp_cuda_random_args {
    const uint32_t *key;
    void *to;
    int64_t keys;
    int64_t count; /* elements drawn per key */
    int64_t pairs; /* pairs of words per key */
    int64_t words; /* original layout: words per key */
    uint64_t least,
        span; /* integers: least value and range; span 0: all values of the width */
    uint64_t
        multiplier; /* 2^width modulo the span; unbiased: draws below it are rejected */
    double low, scale;   /* uniform, normal: low + scale * u, u in [0, 1) */
    int32_t kind;        /* PITHP_DRAW_... */
    int32_t dtype, size; /* dtype and bytes of an element */
    int32_t width;       /* bits of a draw: 8, 16, 32 or 64 */
    int32_t original; /* JAX's original layout; else element i has the 64-bit count i */
    int32_t unbiased; /* integers: unbiased, by rejection */
} pithp_cuda_random_args;

/* Words of pairs of counts, or (counts NULL) of 0 and `data`, for each key. */
typedef struct pithp_cuda_threefry_args {
    const uint32_t *key, *counts, *data;
    uint32_t *to;
    int64_t count;
    int64_t key_step; /* 2; 0: one key for all */
} pithp_cuda_threefry_args;

/* One check of a conjunction: all elements must be nonzero. Width 0: the report of a
 * launch instead. */
typedef struct pithp_cuda_predicate {
    const void *data;
    int64_t count;
    pithp_cuda_report *report;
    int32_t width; /* bytes of an element: 1, 2, 4 or 8 */
    int32_t unused;
} pithp_cuda_predicate;

#define PITHP_CUDA_PREDICATES 120

/* Thread t reads element t % (1 << shift) of check t >> shift, and then every (1 <<
 * shift)-th element. */
typedef struct pithp_cuda_conjunction_args {
    pithp_cuda_report *flag; /* raised to ~(base + i) if check i fails; NULL: none */
    int64_t base, items, shift;
    pithp_cuda_predicate list[PITHP_CUDA_PREDICATES];
} pithp_cuda_conjunction_args;

/* A word of a command buffer's memory that relocation writes; operands are indices of
 * words. */
enum {
    PITHP_WRITE_ADDRESS, /* from + offset */
    PITHP_WRITE_ELEMENT, /* from + offset + stride * other */
    PITHP_WRITE_FREE,   /* + offset: the one of the buffers `from` and `third` that is not
                           `other` */
    PITHP_WRITE_UNLESS, /* offset, or 0 if from and other are equal */
};
typedef struct pithp_cuda_write {
    int32_t to, kind, from, other, third, unused;
    int64_t offset, stride;
} pithp_cuda_write;

/* Relocations: index i is write i. Writes do not depend on each other. */
typedef struct pithp_cuda_bind_args {
    uint64_t *words;
    const pithp_cuda_write *list;
    int64_t count;
} pithp_cuda_bind_args;

#endif
