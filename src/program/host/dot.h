/* How a product sees its operands, for the host and for CUDA. */
#ifndef PITH_PROGRAM_HOST_DOT_H
#define PITH_PROGRAM_HOST_DOT_H

#include "program/op/rules.h"

/* An operand of a product as matrices: strides in elements, 0 where an extent of 1 is
 * repeated. Where the dimensions of one kind are no one dimension they are moved
 * together first, and the strides are those of the copy. */
typedef struct pithp_factor {
    int operand; /* of the call */
    bool moved, terms_last;
    int64_t batch[PITH_MAX_RANK];
    int64_t free, term; /* between elements along what stays, and along what is summed */
} pithp_factor;

/* For each batch index c[m, n] = a[m, terms] b[terms, n], c in C order. */
typedef struct pithp_product_view {
    int32_t rank; /* of the batch */
    int64_t batch[PITH_MAX_RANK], batches;
    int64_t m, n, terms;
    pithp_factor a, b;
    bool small; /* few columns and terms */
    bool dots;  /* m is 1, and both have their terms side by side */
} pithp_product_view;

pithp_product_view pithp_product_view_of(const pithp_call *call);
/* The same for who wants matrices whose rows or columns lie side by side: a factor with
 * neither is moved as well. */
pithp_product_view pithp_product_view_side_by_side(const pithp_call *call);

/* Copy a factor's operand to where its strides hold; `size` bytes an element. */
pith_status pithp_product_emit_moving(const pithp_call *call,
                                      const pithp_factor *f,
                                      int64_t size,
                                      const void *from,
                                      void *to,
                                      const pithp_sink *sink);

#endif
