/* Elementwise operations, casts and reductions of random shapes and dtypes, ranks 0 to 8
 * and empty extents included, against plain loops over coordinates. Values are small
 * integers, so that every dtype holds them and the loops are exact in int64_t. */
#include "pith_test.h"

#include <pith/array.h>

enum { MOST = 8192, TRIALS = 300 };

static const pith_dtype dtypes[] = {PITH_I8,   PITH_I16, PITH_I32, PITH_I64,
                                    PITH_U8,   PITH_U16, PITH_U32, PITH_U64,
                                    PITH_BF16, PITH_F16, PITH_F32, PITH_F64};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

static uint64_t seed = 5;
static int64_t below(int64_t n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((seed >> 33) % (uint64_t)n);
}

static pith_shape random_shape(void) {
    pith_shape shape = {.rank = (int32_t)below(9)};
    for (int d = 0; d < shape.rank; d++)
        shape.extents[d] = below(12) ? 1 + below(shape.rank > 4 ? 2 : 4) : below(2);
    return shape;
}

static int64_t count_of(const pith_shape *shape) {
    int64_t n = 1;
    for (int d = 0; d < shape->rank; d++)
        n *= shape->extents[d];
    return n;
}

/* A shape that broadcasts with another: some of its last axes, some of them 1. */
static pith_shape narrowed(const pith_shape *shape) {
    pith_shape some = {.rank = (int32_t)below(shape->rank + 1)};
    for (int d = 0; d < some.rank; d++)
        some.extents[d] =
            below(3) ? shape->extents[shape->rank - some.rank + d] : (int64_t)1;
    return some;
}

static const pith_array *
random_array(pith_scope *s, pith_dtype dtype, pith_shape shape, int64_t values[MOST]) {
    const int64_t n = count_of(&shape);
    cr_assert(n <= MOST);
    for (int64_t i = 0; i < n; i++)
        values[i] = below(7);
    return pith_cast(s, pith_array_copy(s, PITH_I64, shape, values), dtype);
}

/* Element i of `shape` in an array of a narrower one that broadcasts to it. */
static int64_t source(const pith_shape *shape, int64_t i, const pith_shape *from) {
    int64_t place = 0, pitch = 1;
    for (int d = shape->rank - 1; d >= 0; d--) {
        const int64_t at = i % shape->extents[d];
        const int e = d - (shape->rank - from->rank);
        i /= shape->extents[d];
        if (e >= 0) {
            place += from->extents[e] == 1 ? 0 : at * pitch;
            pitch *= from->extents[e];
        }
    }
    return place;
}

static void expect_values(pith_scope *s,
                          const pith_array *got,
                          pith_dtype dtype,
                          pith_shape shape,
                          const int64_t *want) {
    pt_ok(s, got);
    const pith_spec *spec = pith_array_spec(got);
    cr_assert(spec->dtype == dtype && spec->rank == shape.rank &&
              memcmp(spec->shape, shape.extents, (size_t)shape.rank * 8) == 0);
    const pith_array *expected =
        pith_cast(s, pith_array_copy(s, PITH_I64, shape, want), dtype);
    cr_assert(
        pith_read_bool(s, pith_all(s, pith_equal(s, got, expected), PITH_ALL_AXES)));
}

Test(random_shapes, elementwise_operations_broadcast) {
    static int64_t x[MOST], y[MOST], want[5][MOST];
    pith_runtime *rt = pt_open();
    for (int k = 0; k < TRIALS; k++) {
        pith_scope *s = pith_scope_open(rt);
        const pith_dtype dtype = dtypes[k % DTYPES];
        const pith_shape shape = random_shape(), narrow = narrowed(&shape);
        const pith_array *a = random_array(s, dtype, shape, x),
                         *b = random_array(s, dtype, narrow, y);
        for (int64_t i = 0; i < count_of(&shape); i++) {
            const int64_t p = x[i], q = y[source(&shape, i, &narrow)];
            want[0][i] = p + q, want[1][i] = p * q, want[2][i] = p > q ? p : q;
            want[3][i] = p < q, want[4][i] = q ? p : 3;
        }
        expect_values(s, pith_add(s, b, a), dtype, shape, want[0]);
        expect_values(s, pith_mul(s, a, b), dtype, shape, want[1]);
        expect_values(s, pith_maximum(s, b, a), dtype, shape, want[2]);
        expect_values(s, pith_less(s, a, b), PITH_BOOL, shape, want[3]);
        expect_values(s, pith_where(s, pith_cast(s, b, PITH_BOOL), a, pith_like(s, a, 3)),
                      dtype, shape, want[4]);
        const pith_dtype other = dtypes[below(DTYPES)];
        expect_values(s, pith_cast(s, pith_cast(s, a, other), dtype), dtype, shape, x);
        pith_scope_close(s);
    }
    pt_close(rt);
}

/* The place of element i of a shape among what is left without the axes of a mask. */
static int64_t kept_place(const pith_shape *shape, uint32_t mask, int64_t i) {
    int64_t place = 0, pitch = 1;
    for (int d = shape->rank - 1; d >= 0; d--) {
        const int64_t at = i % shape->extents[d];
        i /= shape->extents[d];
        if (!(mask >> d & 1)) {
            place += at * pitch;
            pitch *= shape->extents[d];
        }
    }
    return place;
}

static pith_axes axes_of(uint32_t mask, int rank) {
    pith_axes axes = {.count = 0};
    for (int d = 0; d < rank; d++)
        if (mask >> d & 1)
            axes.axes[axes.count++] = (int8_t)(below(2) ? d : d - rank);
    return axes;
}

Test(random_shapes, reductions_over_any_axes) {
    static int64_t x[MOST], sum[MOST], most[MOST], place[MOST], seen[MOST], none[MOST];
    pith_runtime *rt = pt_open();
    for (int k = 0; k < TRIALS; k++) {
        pith_scope *s = pith_scope_open(rt);
        const pith_dtype dtype = dtypes[k % DTYPES];
        const pith_shape shape = random_shape();
        const pith_array *a = random_array(s, dtype, shape, x);
        const uint32_t mask = (uint32_t)below(1 << shape.rank);
        const pith_axes axes = axes_of(mask, shape.rank);
        pith_shape kept = {0, {0}};
        for (int d = 0; d < shape.rank; d++)
            if (!(mask >> d & 1))
                kept.extents[kept.rank++] = shape.extents[d];
        const int64_t left = count_of(&kept), all = count_of(&shape);
        for (int64_t i = 0; i < left; i++)
            sum[i] = 0, most[i] = place[i] = -1, seen[i] = 0, none[i] = 1;
        for (int64_t i = 0; i < all; i++) {
            const int64_t at = kept_place(&shape, mask, i);
            sum[at] += x[i];
            none[at] &= x[i] == 0;
            if (x[i] > most[at])
                most[at] = x[i], place[at] = seen[at];
            seen[at]++;
        }
        expect_values(s, pith_sum(s, a, axes), dtype, kept, sum);
        expect_values(s, pith_logical_not(s, pith_any(s, a, axes)), PITH_BOOL, kept,
                      none);
        if (all) {
            expect_values(s, pith_max(s, a, axes), dtype, kept, most);
            expect_values(s, pith_argmax(s, a, axes), PITH_I64, kept, place);
        } else if (left) {
            pt_fails(PITH_E_SHAPE, s, pith_max(s, a, axes));
        }
        pith_scope_close(s);
    }
    pt_close(rt);
}

/* What the laws of arrays say, whatever the shape. */
Test(random_shapes, stacks_and_slices_undo_each_other) {
    static int64_t x[MOST], y[MOST];
    pith_runtime *rt = pt_open();
    for (int k = 0; k < TRIALS; k++) {
        pith_scope *s = pith_scope_open(rt);
        const pith_dtype dtype = dtypes[k % DTYPES];
        pith_shape shape = random_shape();
        shape.rank -= shape.rank == PITH_MAX_RANK;
        const pith_array *pair[] = {random_array(s, dtype, shape, x),
                                    random_array(s, dtype, shape, y)};
        const int axis = (int)below(shape.rank + 1);
        const pith_array *both = pith_stack(s, 2, pair, axis);
        expect_values(s, pith_slice_at(s, both, axis, 0), dtype, shape, x);
        expect_values(s, pith_slice_at(s, both, axis - shape.rank - 1, -1), dtype, shape,
                      y);
        const pith_array *turned = pith_transpose(s, pair[0], NULL);
        expect_values(s, pith_transpose(s, turned, NULL), dtype, shape, x);
        expect_values(s,
                      pith_flip(s, pith_flip(s, pair[0], PITH_ALL_AXES), PITH_ALL_AXES),
                      dtype, shape, x);
        pith_scope_close(s);
    }
    pt_close(rt);
}
