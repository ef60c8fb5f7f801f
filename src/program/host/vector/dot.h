/* Matrix product functions, one set per instruction set.
 *
 * Order of sums. An element is a sum over k, which is cut into spans of
 * PITHP_PRODUCT_SPAN. A span is summed in order, from zero on, by fused multiply-adds
 * (without FMA, by a product and a sum). The sums of the spans are added in order. So an
 * element depends only on its row and its column, not on the shape of the matrix or the
 * threads. */
#ifndef PITH_PROGRAM_HOST_VECTOR_DOT_H
#define PITH_PROGRAM_HOST_VECTOR_DOT_H

#include "program/op/params.h"

enum {
    PITHP_PRODUCT_SPAN = 256,
    PITHP_PRODUCT_LANES = 256, /* bytes of lanes of a dot product */
    PITHP_PRODUCT_SMALL = 4,   /* maximum columns and terms of `small` */
    /* Rows, and bytes of a row, that are multiples of the tiles of every instruction set.
     */
    PITHP_PRODUCT_ROWS = 8,
    PITHP_PRODUCT_ROW_BYTES = 192,
};

/* Multiplication and addition of elements; integers of one width wrap alike. */
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

/* A matrix in memory, or panels of a tile's rows (first factor) or columns (second), each
 * of all terms. */
typedef struct pithp_matrix {
    const void *data;
    int64_t row, column, next; /* strides of rows, columns and matrices, in elements */
    bool panels;
} pithp_matrix;

typedef struct pithp_product {
    int32_t rows, columns; /* of a register tile */
    /* Pack panels of `width` neighbours, term by term: to[k * width + i] is element i of
     * term k, and zero from `count` on. */
    void (*pack)(void *to,
                 const void *from,
                 int64_t width,
                 int64_t stride,
                 int64_t term_stride,
                 int64_t count,
                 int64_t terms);
    /* c[m, n] with row stride `pitch`, by register tiles. b is in panels, or has
     * contiguous columns. */
    void (*tiles)(void *c,
                  int64_t pitch,
                  int64_t m,
                  int64_t n,
                  int64_t terms,
                  const pithp_matrix *a,
                  const pithp_matrix *b);
    /* c[count, m, n] of `count` pairs of matrices without panels, with at most
     * PITHP_PRODUCT_SMALL columns and terms. */
    void (*small)(void *c,
                  int64_t count,
                  int64_t m,
                  int64_t n,
                  int64_t terms,
                  const pithp_matrix *a,
                  const pithp_matrix *b);
    /* Dot products to[i * step] of the `rows` of a, whose terms are contiguous, and the
     * vector b. Term k belongs to lane k modulo the number of lanes. Halves of the lanes
     * are added until one is left. */
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
