/* Matrix view of a product's operands, shared by the host and CUDA. */
#ifndef PITH_PROGRAM_HOST_DOT_H
#define PITH_PROGRAM_HOST_DOT_H

#include "program/op/rules.h"

/* An operand of a product as matrices: strides in elements, 0 where an extent of 1 is
 * repeated. If dimensions of one role cannot be merged, the operand is transposed first
 * (`moved`), and the strides are those of the copy. */
typedef struct pithp_factor {
    int operand; /* of the call */
    bool moved, terms_last;
    int64_t batch[PITHP_MAX_RANK];
    int64_t free, term; /* strides along the free and the contracted dimension */
} pithp_factor;

/* For each batch index c[m, n] = a[m, terms] b[terms, n], c in C order. */
typedef struct pithp_product_view {
    int32_t rank; /* of the batch */
    int64_t batch[PITHP_MAX_RANK], batches;
    int64_t m, n, terms;
    pithp_factor a, b;
    bool small; /* few columns and terms */
    bool dots;  /* m is 1, and the terms of both are contiguous */
} pithp_product_view;

pithp_product_view pithp_product_view_of(const pithp_call *call);
/* The same for code that needs contiguous rows or columns: a factor with neither is moved
 * as well. */
pithp_product_view pithp_product_view_side_by_side(const pithp_call *call);

/* Copy a factor's operand to the layout of its strides; elements have `size` bytes. */
pith_status pithp_product_launch_moving(const pithp_call *call,
                                        const pithp_factor *f,
                                        int64_t size,
                                        const void *from,
                                        void *to,
                                        const pithp_sink *sink);

#endif
