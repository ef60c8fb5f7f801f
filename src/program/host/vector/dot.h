/* Functions that multiply matrices, one set an instruction set.
 *
 * An element of a product is a sum over k, which is cut into spans of PITHP_PRODUCT_SPAN.
 * A span is summed in order, from zero on, by fused multiply-adds (where the processor
 * has none, by a product and a sum); the sums of the spans are added in order. So an
 * element depends on its row and its column alone, not on the matrix or the thread around
 * it. */
#ifndef PITH_PROGRAM_HOST_VECTOR_DOT_H
#define PITH_PROGRAM_HOST_VECTOR_DOT_H

#include "program/op/params.h"

enum {
    PITHP_PRODUCT_SPAN = 256,
    PITHP_PRODUCT_LANES = 256, /* bytes of lanes of a product of two vectors */
    PITHP_PRODUCT_SMALL = 4,   /* columns and terms of what `small` multiplies, at most */
    /* Rows and bytes of a row of what holds whole tiles of every instruction set. */
    PITHP_PRODUCT_ROWS = 8,
    PITHP_PRODUCT_ROW_BYTES = 192,
};

/* How elements are multiplied and added; integers of one width wrap alike. */
typedef enum pithp_product_kind {
    PITHP_PRODUCT_BOOL, /* and, or */
    PITHP_PRODUCT_U8,
    PITHP_PRODUCT_U16,
    PITHP_PRODUCT_U32,
    PITHP_PRODUCT_U64,
    PITHP_PRODUCT_F32,
    PITHP_PRODUCT_F64,
    PITHP_PRODUCT_KINDS
} pithp_product_kind;

/* Elements of a matrix, or panels of a tile's rows (of the first factor) or columns (of
 * the second), each of all the terms. */
typedef struct pithp_matrix {
    const void *data;
    int64_t row, column, next; /* elements between rows, columns, and matrices */
    bool panels;
} pithp_matrix;

typedef struct pithp_product {
    int32_t rows, columns; /* of a tile, which stays in registers */
    /* Panels of `width` neighbours, the terms one after the other: to[k * width + i] is
     * element i of term k, and zero from `count` on. */
    void (*pack)(void *to,
                 const void *from,
                 int64_t width,
                 int64_t stride,
                 int64_t term_stride,
                 int64_t count,
                 int64_t terms);
    /* c[m, n], its rows `pitch` apart, by tiles. Where b is in no panels its columns lie
     * side by side. */
    void (*tiles)(void *c,
                  int64_t pitch,
                  int64_t m,
                  int64_t n,
                  int64_t terms,
                  const pithp_matrix *a,
                  const pithp_matrix *b);
    /* c[count, m, n] of as many pairs of matrices, of at most PITHP_PRODUCT_SMALL columns
     * and terms and in no panels. */
    void (*small)(void *c,
                  int64_t count,
                  int64_t m,
                  int64_t n,
                  int64_t terms,
                  const pithp_matrix *a,
                  const pithp_matrix *b);
    /* to[i * step], for each of the `rows` of a, which have their terms side by side: the
     * product with the vector b. Term k goes to lane k modulo the number of lanes; halves
     * of the lanes meet until one is left. */
    void (*dots)(void *to,
                 int64_t step,
                 const void *a,
                 int64_t row,
                 int64_t rows,
                 const void *b,
                 int64_t terms);
} pithp_product;

extern const pithp_product pithp_product_base[PITHP_PRODUCT_KINDS],
    pithp_product_v3[PITHP_PRODUCT_KINDS], pithp_product_v4[PITHP_PRODUCT_KINDS];

#endif
