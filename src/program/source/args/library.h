/* Arguments of the kernels that are built with the library, for C and CUDA alike. They
 * have no padding: equal arguments are equal bytes. */
#ifndef PITH_PROGRAM_SOURCE_ARGS_LIBRARY_H
#define PITH_PROGRAM_SOURCE_ARGS_LIBRARY_H

#include <stdint.h>

#define PITHP_CUDA_RANK 8

/* Element i of the index space goes from `from` + i . from_stride to `to` + i .
 * to_stride. */
typedef struct pithp_cuda_move_args {
    char *to;
    const char *from;
    int64_t count;
    int32_t size; /* bytes of an element: 1, 2, 4, 8 or 16 */
    int32_t rank; /* at least 1 */
    int64_t shape[PITHP_CUDA_RANK];
    int64_t to_stride[PITHP_CUDA_RANK], from_stride[PITHP_CUDA_RANK]; /* bytes */
} pithp_cuda_move_args;

/* Part of a copy of rows: their elements begin .. begin + count, in C order. */
typedef struct pithp_piece {
    char *to;
    const char *from;
    int64_t begin, count;
    int64_t row;                  /* elements of a row */
    int64_t to_pitch, from_pitch; /* bytes from a row to the next */
    int64_t size;                 /* bytes of an element: 1, 2, 4, 8 or 16 */
} pithp_piece;

/* Index i is the element i % (1 << shift) of piece i >> shift. */
typedef struct pithp_cuda_pieces_args {
    const pithp_piece *list;
    int64_t total, shift;
} pithp_cuda_pieces_args;

typedef struct pithp_cuda_fill_args {
    char *to;
    uint64_t value;
    int64_t count;
    int32_t size;
    int32_t unused;
} pithp_cuda_fill_args;

/* dtypes are those of pith_dtype. */
typedef struct pithp_cuda_cast_args {
    void *to;
    const void *from;
    int64_t count;
    int32_t to_dtype, from_dtype;
} pithp_cuda_cast_args;

typedef struct pithp_cuda_iota_args {
    void *to;
    int64_t count;
    int64_t extent, inner; /* of the axis; elements that share an index along it */
    int32_t dtype;
    int32_t unused;
} pithp_cuda_iota_args;

/* A scan's logarithm of a sum of exponentials, besides the operations of reductions. */
enum { M_OP_LOG_SUM = 6 };

/* Of [outer, length, inner], along the middle. */
typedef struct pithp_cuda_scan_args {
    const void *from;
    void *to;
    int64_t outer, length, inner;
    int64_t blocks, groups; /* as source/scan_order.h cuts the length */
    uint64_t *partial; /* [outer, blocks, inner]; not used where there is one block */
    uint64_t *sums;    /* [outer, groups, inner]; likewise */
    int32_t dtype;
    int32_t operation; /* pithp_reduction, or M_OP_LOG_SUM */
    int32_t reverse;
    int32_t unused;
} pithp_cuda_scan_args;

/* Lines of [outer, length, inner] along the middle, side by side in keys and places. */
typedef struct pithp_cuda_sort_args {
    const void *from;
    void *to;
    int64_t outer, length, inner;
    int64_t run; /* tiles: slots of a line in one; merge: the length of sorted runs */
    void *keys, *next_keys;     /* as wide as elements */
    void *places, *next_places; /* i64 if wide is set, else u32 */
    int32_t dtype, size;        /* of an element, in bytes */
    int32_t descending;
    int32_t argsort;
    int32_t wide;
    int32_t unused;
} pithp_cuda_sort_args;

typedef struct pithp_cuda_search_args {
    const void *sorted, *values;
    int64_t *to;
    int64_t count, sorted_count;
    int32_t dtype;
    int32_t right; /* what equals the value comes before it */
} pithp_cuda_search_args;

/* For each batch index c[m, n] = a[m, terms] b[terms, n]; strides in elements. */
typedef struct pithp_cuda_product_args {
    const void *a, *b;
    void *c;
    int64_t m, n, terms, a_free, a_term, b_free, b_term;
    int64_t batch[PITHP_CUDA_RANK], a_batch[PITHP_CUDA_RANK], b_batch[PITHP_CUDA_RANK];
    int64_t batches;
    int32_t rank; /* of the batch */
    int32_t dtype;
} pithp_cuda_product_args;

/* Thread t writes the pointers of entry t = span * batches + batch, for a library: to[t],
 * to[count + t] and to[2 count + t], of matrices where a span of terms begins; strides in
 * elements. */
typedef struct pithp_cuda_pointers_args {
    const void **to;
    const char *a, *b;
    char *c;
    int64_t count, batches;
    int64_t a_span, b_span, c_span; /* from a span to the next */
    int64_t c_batch;
    int64_t batch[PITHP_CUDA_RANK], a_batch[PITHP_CUDA_RANK], b_batch[PITHP_CUDA_RANK];
    int32_t rank; /* of the batch */
    int32_t size; /* bytes of an element */
} pithp_cuda_pointers_args;

/* Sums of the spans, [spans, count], added in order and rounded to the result's dtype. */
typedef struct pithp_cuda_spans_args {
    const void *from;
    void *to;
    int64_t spans, count;
    int32_t to_dtype; /* the spans are f64 where it is, else f32 */
    int32_t unused;
} pithp_cuda_spans_args;

/* What an index out of range leaves (pith_report of kernel.h). */
typedef struct pithp_cuda_report {
    uint64_t first; /* ~position of the first one */
    uint64_t need, have, what;
} pithp_cuda_report;

/* What a scatter does with an element and its update. */
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
    const char *from; /* take: what is indexed; scatter: the updates */
    char *to;
    pithp_cuda_report *report; /* mode error */
    uint64_t fill;
    int64_t outer, count, inner;
    int64_t pitch;         /* elements between outer indices of what is indexed */
    int64_t *offsets;      /* of positions, in rows of inner; -1: out of range */
    const uint64_t *keys;  /* scatter: offsets, sorted */
    const int64_t *places; /* scatter: positions in the order of keys; NULL: 0, 1, ... */
    int32_t size, dtype, index_dtype;
    int32_t arrays;
    int32_t mode; /* pithp_index_mode */
    int32_t no_negative;
    int32_t operation; /* scatter: M_SCATTER_SET to M_SCATTER_OR */
    int32_t meet;      /* scatter_free: positions may point to one place */
    const void *index[PITHP_CUDA_RANK];
    int64_t extent[PITHP_CUDA_RANK];
    uint64_t note[PITHP_CUDA_RANK]; /* pithp_index_note */
} pithp_cuda_index_args;

/* Part of a leaf whose rows are taken or set: elements begin .. begin + count of the
 * result, in C order. */
typedef struct pithp_row_leaf {
    char *to;            /* take: [outer, positions, inner]; set: as from */
    const char *from;    /* [outer, extent, inner] */
    const char *updates; /* set: [outer, positions, inner]; take: NULL */
    uint64_t fill;       /* take: for indices out of range */
    int64_t begin, count;
    int64_t extent, inner;
    int32_t size; /* bytes of an element: 1, 2, 4 or 8 */
    int32_t mode; /* pithp_index_mode; not error */
} pithp_row_leaf;

/* How many positions there may be: an element of what is set looks at each of them. */
enum { PITHP_ROWS_MOST = 64 };

/* Index i is the element i % (1 << shift) of part i >> shift. */
typedef struct pithp_cuda_rows_args {
    const pithp_row_leaf *list;
    const void *index; /* [positions] */
    int64_t positions, total, shift;
    int32_t index_dtype;
    int32_t no_negative;
} pithp_cuda_rows_args;

/* A box of an array, row by row in C order, to or from a place within. */
typedef struct pithp_cuda_box_args {
    char *to;
    const char *from;
    const void *starts; /* [rank] */
    int64_t count;      /* elements of the box */
    int32_t size, rank, index_dtype;
    int32_t update; /* the box is `from` */
    int64_t shape[PITHP_CUDA_RANK], whole[PITHP_CUDA_RANK];
} pithp_cuda_box_args;

/* What a launch of random numbers makes of words. Keys: both words of a pair, side by
 * side.
 */
enum {
    PITHP_DRAW_BITS,
    PITHP_DRAW_UNIFORM,
    PITHP_DRAW_NORMAL,
    PITHP_DRAW_INTEGERS,
    PITHP_DRAW_KEYS
};

/* Draws of `keys` keys, side by side. A launch has keys * pairs indices: pairs of words
 * that one evaluation of Threefry gives. On the host the same. */
typedef struct pithp_cuda_random_args {
    const uint32_t *key;
    void *to;
    int64_t keys;
    int64_t count;        /* elements that a key draws */
    int64_t pairs;        /* that a key needs */
    int64_t words;        /* original: that a key draws */
    uint64_t least, span; /* integers; span 0: all of the width */
    uint64_t
        multiplier;    /* 2^width modulo the span; unbiased: lesser draws are rejected */
    double low, scale; /* uniform, normal: low + scale * [0, 1) */
    int32_t kind;      /* PITHP_DRAW_... */
    int32_t dtype, size; /* of an element */
    int32_t width;       /* bits of a draw: 8, 16, 32 or 64 */
    int32_t original;    /* layout: else element i counts i, in 64 bits */
    int32_t unbiased;    /* integers: by rejection */
} pithp_cuda_random_args;

/* Words of pairs of counts, or (counts NULL) of 0 and `data`, a key each. */
typedef struct pithp_cuda_threefry_args {
    const uint32_t *key, *counts, *data;
    uint32_t *to;
    int64_t count;
    int64_t key_step; /* 2; 0: one key for all */
} pithp_cuda_threefry_args;

/* One check of a conjunction: elements that must all be nonzero, or, where width is 0,
 * what a launch left in its report. */
typedef struct pithp_cuda_predicate {
    const void *data;
    int64_t count;
    pithp_cuda_report *report;
    int32_t width; /* bytes of an element: 1, 2, 4 or 8 */
    int32_t unused;
} pithp_cuda_predicate;

#define PITHP_CUDA_PREDICATES 120

/* Thread t looks at element t % (1 << shift), and those 1 << shift further on, of check
 * t >> shift. */
typedef struct pithp_cuda_conjunction_args {
    pithp_cuda_report *flag; /* raised to ~(base + i) where check i fails; NULL: none */
    int64_t base, items, shift;
    pithp_cuda_predicate list[PITHP_CUDA_PREDICATES];
} pithp_cuda_conjunction_args;

/* A word of a schedule's memory that a bind writes; all name words. */
enum {
    PITHP_WRITE_ADDRESS, /* from + offset */
    PITHP_WRITE_ELEMENT, /* from + offset + stride * other */
    PITHP_WRITE_FREE,    /* of the buffers `from` and `third` the one that is not `other`,
                            + offset */
    PITHP_WRITE_UNLESS,  /* offset, but 0 where from and other are equal */
};
typedef struct pithp_cuda_write {
    int32_t to, kind, from, other, third, unused;
    int64_t offset, stride;
} pithp_cuda_write;

/* Index i is write i; they do not read what others write. */
typedef struct pithp_cuda_bind_args {
    uint64_t *words;
    const pithp_cuda_write *list;
    int64_t count;
} pithp_cuda_bind_args;

#endif
