/* What is kept between the forward and the backward half of derivatives: bytes, and bits
 * of gradients. */
#include "pith/pith.h"

#include "pith_test.h"
#include "tree/function.h"

enum { COUNT = 64 };

#define SCOPED(name)                                                                     \
    static void name(pith_scope *s);                                                     \
    Test(derive_kept, name) {                                                            \
        pith_runtime *rt = pt_open();                                                    \
        pith_scope *s = pith_scope_open(rt);                                             \
        name(s);                                                                         \
        pt_ok(s);                                                                        \
        pith_scope_close(s);                                                             \
        pt_close(rt);                                                                    \
    }                                                                                    \
    static void name(pith_scope *s)

static const pith_array *some_x(pith_scope *s) {
    double values[COUNT];
    for (int k = 0; k < COUNT; k++)
        values[k] = 0.25 + 0.03125 * k;
    return pith_array_copy(s, PITH_F64, PITH_SHAPE(COUNT), values);
}

/* Bytes of the arrays that a map keeps. */
static int64_t kept_bytes(const pith_function *map) {
    const void *residuals = NULL;
    int64_t bytes = 0;
    cr_assert(pithp_function_bound(map, 1, &residuals) == 1);
    for (int64_t k = 0; k < pith_child_count(residuals); k++)
        bytes += (int64_t)pith_array_spec(pith_child(residuals, k))->bytes;
    return bytes;
}

/* Bytes of the map of pith_vjp. The map and pith_grad have the same bits. */
static int64_t map_bytes(pith_scope *s, const pith_function *f, const pith_array *x) {
    const pith_linearized v = pith_vjp(s, f, PITH_ITEMS(x), NULL);
    pt_ok(s, v.map);
    const pith_array *g = pith_call(s, v.map, PITH_ITEMS(pith_f64(s, 1)));
    pt_ok(s, g);
    cr_assert(pith_tree_equal(s, g, pith_call(s, pith_grad(s, f, NULL), PITH_ITEMS(x))));
    return kept_bytes(v.map);
}

/* A sum, a chain of elementwise functions, and its sum. */
static const pith_array *chain(pith_scope *s, const pith_array *x) {
    const pith_array *y = pith_cumsum(s, x, 0, NULL);
    y = pith_exp(s, pith_sin(s, pith_sqrt(s, pith_square(s, y))));
    return pith_sum(s, y, PITH_ALL_AXES);
}
PITH_FUNCTION1(chain_of, chain, pith_array, pith_array)

SCOPED(elementwise_values_are_computed_again) {
    cr_assert(map_bytes(s, &chain_of, some_x(s)) == COUNT * 8); /* the cumulative sum */
}
