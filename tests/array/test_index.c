/* Taking and scattering: every mode, against loops. */
#include "pith_test.h"

#include <math.h>
#include <pith/array.h>

static const pith_array *integers(pith_scope *s, int count, const int32_t *values) {
    return pith_array_copy(s, PITH_I32, PITH_SHAPE(count), values);
}

static void
expect(pith_scope *s, const pith_array *a, int count, const double *expected) {
    double got[64];
    pt_ok(s, pith_read(s, pith_cast(s, a, PITH_F64), got, (size_t)count * sizeof *got));
    for (int i = 0; i < count; i++)
        cr_assert(got[i] == expected[i] || (isnan(got[i]) && isnan(expected[i])),
                  "element %d: %g, expected %g", i, got[i], expected[i]);
}

Test(take, follows_its_mode) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = pith_cast(s, pith_arange(s, PITH_I32, 4), PITH_F32);
    const pith_array *index = integers(s, 5, (int32_t[]){0, -1, 4, -5, 2});
    expect(s, pith_take(s, x, index, NULL), 5, (double[]){0, 3, NAN, NAN, 2});
    expect(s, pith_take(s, x, index, &(pith_take_options){.mode = PITH_INDEX_CLIP}), 5,
           (double[]){0, 0, 3, 0, 2}); /* as NumPy: negative ones give element 0 */
    expect(s, pith_take(s, x, index, &(pith_take_options){.mode = PITH_INDEX_WRAP}), 5,
           (double[]){0, 3, 0, 3, 2});
    expect(s, pith_take(s, x, index, &(pith_take_options){.fill = &(double){-7}}), 5,
           (double[]){0, 3, -7, -7, 2});
    const pith_array *bytes = pith_cast(s, pith_arange(s, PITH_I32, 4), PITH_U8);
    expect(s, pith_take(s, bytes, index, NULL), 5, (double[]){0, 3, 255, 255, 2});
    const pith_array *grid = pith_reshape(s, x, PITH_SHAPE(2, 2));
    const pith_array *rows =
        pith_take(s, grid, integers(s, 3, (int32_t[]){1, 0, 1}), NULL);
    cr_assert(pith_array_spec(rows)->shape[0] == 3 &&
              pith_array_spec(rows)->shape[1] == 2);
    expect(s, rows, 6, (double[]){2, 3, 0, 1, 2, 3});
    expect(s, pith_take(s, grid, pith_i32(s, 1), &(pith_take_options){.axis = -1}), 2,
           (double[]){1, 3});
    pith_scope_close(s);
    pt_close(rt);
}

Test(take, indices_of_every_dtype_choose_alike) {
    enum { PLACES = 100, COUNT = 1111 };
    static const pith_dtype dtypes[] = {PITH_I8, PITH_I16, PITH_I32, PITH_I64};
    static const pith_index_mode modes[] = {PITH_INDEX_FILL, PITH_INDEX_CLIP,
                                            PITH_INDEX_WRAP};
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    int32_t given[COUNT], got[COUNT];
    for (int i = 0; i < COUNT; i++)
        given[i] = i * 37 % 256 - 128;
    const pith_array *x = pith_arange(s, PITH_I32, PLACES);
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        for (int m = 0; m < 3; m++) {
            const pith_take_options options = {.mode = modes[m], .fill = &(double){-7}};
            const pith_array *index = pith_cast(s, integers(s, COUNT, given), dtypes[d]);
            pt_ok(s, pith_read(s, pith_take(s, x, index, &options), got, sizeof got));
            for (int i = 0; i < COUNT; i++) {
                const int32_t g = given[i], from_end = g < 0 ? g + PLACES : g;
                const bool there = from_end >= 0 && from_end < PLACES;
                const int32_t expected = m == 0   ? (there ? from_end : -7)
                                         : m == 1 ? (g < 0         ? 0
                                                     : g >= PLACES ? PLACES - 1
                                                                   : g)
                                                  : (g + 2 * PLACES) % PLACES;
                cr_assert(got[i] == expected, "%s, mode %d, index %d: %d, expected %d",
                          pith_dtype_name(dtypes[d]), m, g, got[i], expected);
            }
        }
    pith_scope_close(s);
    pt_close(rt);
}

Test(take, mode_error_names_the_first_place_at_the_next_wait) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = pith_arange(s, PITH_I32, 4),
                     *index = integers(s, 4, (int32_t[]){0, 9, 1, -8});
    const pith_array *taken =
        pith_take(s, x, index, &(pith_take_options){.mode = PITH_INDEX_ERROR});
    cr_assert(taken && !pith_failed(s));
    pt_fails(PITH_E_INDEX, s, pith_wait(s));
    pt_says("take");
    pt_says("1");
    pith_take(s, x, integers(s, 2, (int32_t[]){3, -4}),
              &(pith_take_options){.mode = PITH_INDEX_ERROR});
    pith_wait(s);
    pt_ok(s);
    pith_scope_close(s);
    pt_close(rt);
}

Test(take, refuses) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = pith_arange(s, PITH_I32, 4);
    pt_fails(PITH_E_DTYPE, s, pith_take(s, x, pith_f64(s, 1), NULL));
    pt_says("index: expected an integer dtype");
    pt_fails(PITH_E_SHAPE, s, pith_take(s, x, x, &(pith_take_options){.axis = 1}));
    pt_fails(PITH_E_SHAPE, s, pith_take(s, pith_f64(s, 1), x, NULL));
    pt_fails(PITH_E_ARG, s,
             pith_take(s, x, x, &(pith_take_options){.mode = (pith_index_mode)99}));
    pith_scope_close(s);
    pt_close(rt);
}

Test(scatter, repeated_indices_have_an_order) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *into = pith_zeros(s, PITH_F64, PITH_SHAPE(3));
    const pith_array *index = integers(s, 5, (int32_t[]){1, 1, -1, 5, 1});
    const pith_array *value =
        pith_array_copy(s, PITH_F64, PITH_SHAPE(5), (double[]){1, 2, 4, 8, 16});
    expect(s, pith_scatter_set(s, into, index, value, NULL), 3, (double[]){0, 16, 4});
    expect(s, pith_scatter_add(s, into, index, value, NULL), 3, (double[]){0, 19, 4});
    expect(s,
           pith_scatter_add(s, into, index, value,
                            &(pith_scatter_options){.mode = PITH_INDEX_CLIP}),
           3, (double[]){0, 19, 12});
    expect(s, pith_scatter_min(s, into, index, pith_neg(s, value), NULL), 3,
           (double[]){0, -16, -4});
    expect(s, pith_scatter_max(s, into, index, value, NULL), 3, (double[]){0, 16, 4});
    expect(s,
           pith_scatter_mul(s, pith_ones(s, PITH_F64, PITH_SHAPE(3)), index, value, NULL),
           3, (double[]){1, 32, 4});
    expect(s, into, 3, (double[]){0, 0, 0});
    pith_scope_close(s);
    pt_close(rt);
}

Test(scatter, rows_broadcast_and_cast) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *into = pith_zeros(s, PITH_I32, PITH_SHAPE(3, 2));
    const pith_array *index = integers(s, 2, (int32_t[]){2, 0});
    expect(s, pith_scatter_set(s, into, index, pith_f64(s, 2.7), NULL), 6,
           (double[]){2, 2, 0, 0, 2, 2});
    const pith_array *row = pith_array_copy(s, PITH_F64, PITH_SHAPE(2), (double[]){5, 6});
    expect(s, pith_scatter_add(s, into, index, row, NULL), 6,
           (double[]){5, 6, 0, 0, 5, 6});
    expect(s, pith_scatter_set(s, into, pith_i32(s, 1), row, NULL), 6,
           (double[]){0, 0, 5, 6, 0, 0});
    expect(s,
           pith_scatter_set(s, into, pith_i32(s, 0), pith_i32(s, 9),
                            &(pith_scatter_options){.axis = 1}),
           6, (double[]){9, 0, 9, 0, 9, 0});
    pt_fails(PITH_E_SHAPE, s,
             pith_scatter_set(s, into, index, pith_zeros(s, PITH_I32, PITH_SHAPE(3, 2)),
                              NULL));
    pt_says("expected i32[2,2] or a shape that broadcasts to it, got i32[3,2]");
    pith_scope_close(s);
    pt_close(rt);
}
