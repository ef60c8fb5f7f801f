/* Filled arrays and shape operations, against values worked out by index. */
#include "pith_test.h"

#include <pith/array.h>

static void expect(pith_scope *s,
                   const pith_array *a,
                   int rank,
                   const int64_t *shape,
                   const int32_t *values) {
    const pith_spec *spec = pith_array_spec(a);
    pt_ok(s);
    cr_assert(spec->rank == rank &&
              memcmp(spec->shape, shape, (size_t)rank * sizeof *shape) == 0);
    int32_t got[64];
    pt_ok(s, pith_read(s, a, got, spec->bytes));
    for (int64_t i = 0; i < spec->count; i++)
        cr_assert(got[i] == values[i], "element %d: %d, expected %d", (int)i, got[i],
                  values[i]);
}
#define EXPECT(a, ...)                                                                   \
    expect(s, a, (int)(sizeof(DIMS) / sizeof(int64_t)), DIMS,                            \
           (const int32_t[]){__VA_ARGS__})

static const pith_array *grid(pith_scope *s, int64_t rows, int64_t columns) {
    return pith_reshape(s, pith_arange(s, PITH_I32, rows * columns),
                        PITH_SHAPE(rows, columns));
}

Test(shape, fills) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
#define DIMS ((const int64_t[]){2, 2})
    EXPECT(pith_full(s, PITH_I32, PITH_SHAPE(2, 2), -5), -5, -5, -5, -5);
    EXPECT(pith_ones(s, PITH_I32, PITH_SHAPE(2, 2)), 1, 1, 1, 1);
    EXPECT(pith_full_array(s, PITH_I32, PITH_SHAPE(2, 2), pith_f64(s, 3.7)), 3, 3, 3, 3);
    EXPECT(pith_iota(s, PITH_I32, PITH_SHAPE(2, 2), 0), 0, 0, 1, 1);
    EXPECT(pith_iota(s, PITH_I32, PITH_SHAPE(2, 2), -1), 0, 1, 0, 1);
#undef DIMS
    pt_fails(PITH_E_DTYPE, s, pith_full(s, PITH_U8, PITH_SHAPE(2), -1));
    pt_fails(PITH_E_SHAPE, s, pith_iota(s, PITH_I32, PITH_SHAPE(2), 1));
    pt_fails(PITH_E_SHAPE, s,
             pith_full_array(s, PITH_I32, PITH_SHAPE(2),
                             pith_zeros(s, PITH_I32, PITH_SHAPE(2))));
    cr_assert(pith_read_f64(s, pith_full(s, PITH_BF16, PITH_SCALAR, 1.5)) == 1.5);
    pith_scope_close(s);
    pt_close(rt);
}

Test(shape, reshapes_and_shares) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *a = grid(s, 2, 3);
    const size_t live = pith_memory_about(rt).live;
#define DIMS ((const int64_t[]){3, 1, 2})
    EXPECT(pith_reshape(s, a, PITH_SHAPE(3, 1, -1)), 0, 1, 2, 3, 4, 5);
#undef DIMS
    cr_assert(pith_memory_about(rt).live == live);
    cr_assert(pith_array_spec(
                  pith_squeeze(s, pith_reshape(s, a, PITH_SHAPE(1, 6, 1)), PITH_ALL_AXES))
                  ->rank == 1);
    cr_assert(pith_array_spec(
                  pith_squeeze(s, pith_reshape(s, a, PITH_SHAPE(1, 6, 1)), PITH_AXES(-1)))
                  ->rank == 2);
    const pith_spec *more = pith_array_spec(pith_expand_dims(s, a, PITH_AXES(0, -1)));
    cr_assert(more->rank == 4 && more->shape[0] == 1 && more->shape[1] == 2 &&
              more->shape[3] == 1);
    pt_fails(PITH_E_SHAPE, s, pith_reshape(s, a, PITH_SHAPE(4)));
    pt_says("i32[2,3] has 6 elements");
    pt_fails(PITH_E_SHAPE, s, pith_reshape(s, a, PITH_SHAPE(4, -1)));
    pt_fails(PITH_E_SHAPE, s, pith_reshape(s, a, PITH_SHAPE(-1, -1)));
    pt_fails(PITH_E_SHAPE, s, pith_squeeze(s, a, PITH_AXES(0)));
    pith_scope_close(s);
    pt_close(rt);
}

Test(shape, transposes_and_flips) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *a = grid(s, 2, 3);
#define DIMS ((const int64_t[]){3, 2})
    EXPECT(pith_transpose(s, a, NULL), 0, 3, 1, 4, 2, 5);
    EXPECT(pith_transpose(s, a, (const int[]){-1, 0}), 0, 3, 1, 4, 2, 5);
#undef DIMS
#define DIMS ((const int64_t[]){2, 3})
    EXPECT(pith_transpose(s, a, (const int[]){0, 1}), 0, 1, 2, 3, 4, 5);
    EXPECT(pith_flip(s, a, PITH_AXES(1)), 2, 1, 0, 5, 4, 3);
    EXPECT(pith_flip(s, a, PITH_ALL_AXES), 5, 4, 3, 2, 1, 0);
#undef DIMS
    pt_fails(PITH_E_ARG, s, pith_transpose(s, a, (const int[]){0, 0}));
    pt_fails(PITH_E_SHAPE, s, pith_transpose(s, a, (const int[]){0, 2}));
    pith_scope_close(s);
    pt_close(rt);
}

/* Every start, limit and step against the elements that a loop picks as Python does. */
Test(shape, slices_as_python) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    enum { N = 5 };
    const pith_array *a = pith_arange(s, PITH_I32, N);
    for (int64_t start = -7; start <= 7; start++)
        for (int64_t limit = -7; limit <= 7; limit++)
            for (int64_t step = -3; step <= 3; step++) {
                if (step == 0)
                    continue;
                int32_t expected[N];
                int count = 0;
                int64_t i = start < 0 ? start + N : start,
                        end = limit < 0 ? limit + N : limit;
                if (step > 0) {
                    i = i < 0 ? 0 : i;
                    end = end > N ? N : end;
                    for (; i < end; i += step)
                        expected[count++] = (int32_t)i;
                } else {
                    i = i > N - 1 ? N - 1 : i;
                    end = end < -1 ? -1 : end;
                    for (; i > end; i += step)
                        expected[count++] = (int32_t)i;
                }
                pith_scope *inner = pith_scope_open_in(s);
                const pith_array *got =
                    pith_slice_array(inner, a, 1, &PITH_SLICE(start, limit, step));
                pt_ok(inner, got);
                cr_assert(pith_array_spec(got)->count == count, "[%d:%d:%d]", (int)start,
                          (int)limit, (int)step);
                int32_t values[N];
                pt_ok(inner, pith_read(inner, got, values, (size_t)count * 4));
                cr_assert(memcmp(values, expected, (size_t)count * 4) == 0);
                pith_scope_close(inner);
            }
#define DIMS ((const int64_t[]){5})
    EXPECT(pith_slice_array(s, a, 1, &PITH_SLICE(-1, INT64_MIN, -1)), 4, 3, 2, 1, 0);
#undef DIMS
#define DIMS ((const int64_t[]){2, 2})
    EXPECT(pith_slice_array(
               s, grid(s, 3, 4), 2,
               (const pith_slice[]){PITH_SLICE(1, INT64_MAX, 1), PITH_SLICE(0, 4, 2)}),
           4, 6, 8, 10);
#undef DIMS
#define DIMS ((const int64_t[]){3})
    EXPECT(pith_slice_at(s, grid(s, 3, 4), 1, -2), 2, 6, 10);
#undef DIMS
    pt_fails(PITH_E_INDEX, s, pith_slice_at(s, a, 0, 5));
    pt_fails(PITH_E_ARG, s, pith_slice_array(s, a, 1, &PITH_SLICE(0, 1, 0)));
    pt_fails(PITH_E_ARG, s,
             pith_slice_array(s, a, 2, (const pith_slice[]){PITH_WHOLE, PITH_WHOLE}));
    pith_scope_close(s);
    pt_close(rt);
}

Test(shape, joins) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *a = grid(s, 1, 2), *b = pith_full(s, PITH_I32, PITH_SHAPE(2, 2), 9);
#define DIMS ((const int64_t[]){3, 2})
    EXPECT(pith_concatenate(s, 2, (const pith_array *const[]){a, b}, 0), 0, 1, 9, 9, 9,
           9);
#undef DIMS
#define DIMS ((const int64_t[]){1, 2, 2})
    EXPECT(pith_stack(s, 2, (const pith_array *const[]){a, a}, -1), 0, 0, 1, 1);
#undef DIMS
    const pith_array *narrow = pith_ones(s, PITH_I8, PITH_SHAPE(1, 2));
    cr_assert(
        pith_array_spec(pith_concatenate(s, 2, (const pith_array *const[]){narrow, a}, 1))
            ->dtype == PITH_I32);
    pt_fails(PITH_E_SHAPE, s,
             pith_concatenate(s, 2, (const pith_array *const[]){a, b}, 1));
    pt_fails(PITH_E_SHAPE, s, pith_stack(s, 2, (const pith_array *const[]){a, b}, 0));
    pt_says("arrays[1]: expected i32[1,2], got i32[2,2]");
    pt_fails(PITH_E_ARG, s, pith_concatenate(s, 0, (const pith_array *const[]){a}, 0));
    pt_fails(PITH_E_ARG, s, pith_stack(s, 2, (const pith_array *const[]){a, NULL}, 0));
    pt_says("arrays[1]");
    pith_scope_close(s);
    pt_close(rt);
}

Test(shape, broadcasts) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *a = pith_arange(s, PITH_I32, 3);
#define DIMS ((const int64_t[]){2, 3})
    EXPECT(pith_broadcast_to(s, a, PITH_SHAPE(2, 3)), 0, 1, 2, 0, 1, 2);
#undef DIMS
    pt_fails(PITH_E_SHAPE, s, pith_broadcast_to(s, a, PITH_SHAPE(2)));
    pt_fails(PITH_E_SHAPE, s, pith_broadcast_to(s, a, PITH_SCALAR));
    pith_scope_close(s);
    pt_close(rt);
}
