/* What tests of batched functions share: batches against calls one by one. */
#ifndef PITH_TESTS_VMAP_H
#define PITH_TESTS_VMAP_H

#include "scope_test.h"

enum { VMAP_MOST = 16384 };

/* Two arrays have the same dtype, shape and bits. */
static PT_UNUSED void same_bits(const pith_array *got, const pith_array *wanted) {
    char a[VMAP_MOST], b[VMAP_MOST];
    pt_ok(s, got && wanted);
    const pith_spec *x = pith_array_spec(got), *y = pith_array_spec(wanted);
    cr_assert(x == y, "%s[%d] of %d bytes, not %s[%d] of %d", pith_dtype_name(x->dtype),
              x->rank, (int)x->bytes, pith_dtype_name(y->dtype), y->rank, (int)y->bytes);
    cr_assert(x->bytes <= sizeof a);
    pt_ok(s, pith_read(s, got, a, x->bytes));
    pt_ok(s, pith_read(s, wanted, b, y->bytes));
    cr_assert(!memcmp(a, b, x->bytes), "the bits differ");
}

/* The entry of a leaf. */
static PT_UNUSED const pith_array *entry_of(const pith_array *a, int64_t i, int axis) {
    return axis == PITH_NOT_MAPPED
               ? a
               : pith_take(s, a, pith_i64(s, i), &(pith_take_options){.axis = axis});
}

/* f[size, ...] with the values 0.5, 1.5, ... */
static PT_UNUSED const pith_array *numbers(pith_shape shape) {
    int64_t count = 1;
    for (int k = 0; k < shape.rank; k++)
        count *= shape.extents[k];
    return pith_reshape(s, pith_add(s, pith_arange(s, PITH_F64, count), 0.5), shape);
}

#endif
