/* Chains of casts give the same bits one call after the other and compiled: compilers
 * have rules of their own for floats that are cut to integers and are floats again. */
#include "pith/pith.h"

#include "pith_test.h"

static pith_dtype dtype;

/* To each dtype and back; what comes out of the first is not a result, so that both are
 * one loop. */
static const void *there_and_back(pith_scope *s, const pith_array *x) {
    const void *back[PITH_DTYPE_COUNT];
    int count = 0;
    for (int d = PITH_BOOL; d < PITH_DTYPE_COUNT; d++)
        back[count++] = pith_cast(s, pith_cast(s, x, (pith_dtype)d), dtype);
    return pith_list_make(s, count, back);
}
PITH_FUNCTION1(cast_function, there_and_back, void, pith_array)

static const double values[] = {0.0,
                                -0.0,
                                0.3,
                                -0.3,
                                -0.9999,
                                -1,
                                1.5,
                                -1.5,
                                127,
                                -128,
                                255,
                                -1e-9,
                                6e4,
                                -7e4,
                                3e9,
                                -3e9,
                                1e19,
                                -1e19,
                                0.5,
                                1e38,
                                -5e-324,
                                (double)INFINITY,
                                -(double)INFINITY,
                                2};
enum { VALUES = sizeof values / sizeof *values };

static void expect_same(pith_scope *s) {
    const pith_array *x =
        pith_cast(s, pith_array_copy(s, PITH_F64, PITH_SHAPE(VALUES), values), dtype);
    const void *slow = pith_call(s, &cast_function, PITH_ITEMS(x));
    const void *fast = pith_call(s, pith_jit(s, &cast_function, NULL), PITH_ITEMS(x));
    const size_t bytes = VALUES * pith_dtype_size(dtype);
    for (int d = 0; d < PITH_DTYPE_COUNT - 1; d++) {
        char a[VALUES * 8], b[VALUES * 8];
        pt_ok(s, pith_read(s, pith_child(slow, d), a, bytes));
        pt_ok(s, pith_read(s, pith_child(fast, d), b, bytes));
        cr_assert(!memcmp(a, b, bytes), "%s, by %s", pith_dtype_name(dtype),
                  pith_dtype_name((pith_dtype)(d + 1)));
    }
}

static void every_chain(const char *when) {
    setenv("PITH_JIT", when, 1);
    for (int d = PITH_F16; d <= PITH_F64; d++) {
        pith_runtime *rt = pt_open();
        pith_scope *s = pith_scope_open(rt);
        dtype = (pith_dtype)d;
        expect_same(s);
        pith_scope_close(s);
        pt_close(rt);
    }
}

Test(casts, floats_that_were_other_numbers_are_the_same_interpreted) {
    every_chain("off");
}

Test(casts, floats_that_were_other_numbers_are_the_same_compiled, .timeout = 300) {
    static char directory[320];
    pt_folder(directory);
    setenv("PITH_CACHE_DIR", directory, 1);
    every_chain("wait");
}
