/* Cases of halos: against the blocks of all ranks, put together by one. */
#include "mesh/cases.h"
#include "series.h"

#include <stdio.h>
#include <string.h>

/* More ranks than cores take turns, and are slow: there, one dtype of each size. Tests
 * run on two cores. */
static bool is_tried(const mesh_test *t, pith_dtype dtype) {
    return t->size <= 2 || dtype == PITH_BOOL || dtype == PITH_F16 || dtype == PITH_I32 ||
           dtype == PITH_F64;
}

#define EACH_DTYPE(t, dtype)                                                             \
    for (pith_dtype dtype = PITH_BOOL; dtype <= PITH_F64;                                \
         dtype = (pith_dtype)(dtype + 1))                                                \
        if (is_tried(t, dtype))

/* Rows begin to end along an axis of [2, 3, 4]-like blocks. */
static const pith_array *
rows_of(mesh_test *t, const pith_array *a, int axis, int64_t begin, int64_t end) {
    pith_slice slices[PITH_MAX_RANK];
    for (int d = 0; d < axis; d++)
        slices[d] = PITH_WHOLE;
    slices[axis] = PITH_SLICE(begin, end, 1);
    return pith_slice_array(t->s, a, axis + 1, slices);
}

/* The block of a rank, which may be beyond the first or the last one. */
static const pith_array *
block_of(mesh_test *t, int64_t rank, pith_dtype dtype, pith_shape shape, bool wrap) {
    if (!wrap && (rank < 0 || rank >= t->size))
        return pith_zeros(t->s, dtype, shape);
    return mesh_data(t, (rank + t->size) % t->size, dtype, shape);
}

static void check_halo(mesh_test *t,
                       pith_dtype dtype,
                       pith_shape shape,
                       int axis,
                       const int64_t *w,
                       bool wrap) {
    const pith_array *blocks[3];
    for (int i = 0; i < 3; i++)
        blocks[i] = block_of(t, t->rank + i - 1, dtype, shape, wrap);
    const int64_t n = shape.extents[axis];
    const pith_array *row = pith_concatenate(t->s, 3, blocks, axis);
    const pith_array *expected = rows_of(t, row, axis, n - w[0], 2 * n + w[1]);
    const pith_array *got = pith_halo(t->s, blocks[1], axis, "x", w[0], w[1], wrap);
    MESH_CHECK(t, mesh_equal(t, got, expected));
}

static const pith_shape shapes[] = {{1, {5}},
                                    {3, {4, 3, 2}},
                                    {3, {1, 2, 5}},
                                    {2, {0, 3}},
                                    {2, {300, 41}}};
static const int64_t widths[][2] = {{0, 0}, {1, 0}, {0, 2}, {2, 1},
                                    {1, 1}, {5, 5}, {3, 4}};

static void halos(mesh_test *t) {
    EACH_DTYPE(t, dtype)
    for (size_t n = 0; n < sizeof shapes / sizeof *shapes; n++)
        for (int axis = 0; axis < shapes[n].rank; axis++)
            for (size_t k = 0; k < sizeof widths / sizeof *widths; k++) {
                const int64_t most =
                    widths[k][0] > widths[k][1] ? widths[k][0] : widths[k][1];
                if (most > shapes[n].extents[axis] ||
                    !pt_in_share((int64_t)k + (int64_t)dtype))
                    continue;
                check_halo(t, dtype, shapes[n], axis, widths[k], false);
                check_halo(t, dtype, shapes[n], axis, widths[k], true);
            }
}

/* What a rank adds up: its block, then the rows from the left, then those from the right.
 */
static void check_add(mesh_test *t,
                      pith_dtype dtype,
                      pith_shape block,
                      int axis,
                      const int64_t *w,
                      bool wrap) {
    const int64_t n = block.extents[axis];
    pith_shape shape = block;
    shape.extents[axis] += w[0] + w[1];
    const pith_array *own = mesh_data(t, t->rank, dtype, shape);
    const pith_array *left = block_of(t, t->rank - 1, dtype, shape, wrap);
    const pith_array *right = block_of(t, t->rank + 1, dtype, shape, wrap);
    pith_padding after[PITH_MAX_RANK] = {{0}}, before[PITH_MAX_RANK] = {{0}};
    after[axis].high = n - w[1];
    before[axis].low = n - w[0];
    const pith_array *expected = rows_of(t, own, axis, w[0], w[0] + n);
    expected = pith_add(t->s, expected,
                        pith_pad(t->s, rows_of(t, left, axis, w[0] + n, INT64_MAX), NULL,
                                 axis + 1, after));
    expected = pith_add(
        t->s, expected,
        pith_pad(t->s, rows_of(t, right, axis, 0, w[0]), NULL, axis + 1, before));
    const pith_array *got = pith_halo_add(t->s, own, axis, "x", w[0], w[1], wrap);
    MESH_CHECK(t, mesh_equal(t, got, expected));
}

static void sums_of_halos(mesh_test *t) {
    EACH_DTYPE(t, dtype)
    for (size_t n = 0; n < sizeof shapes / sizeof *shapes; n++)
        for (int axis = 0; axis < shapes[n].rank; axis++)
            for (size_t k = 0; k < sizeof widths / sizeof *widths; k++) {
                const int64_t most =
                    widths[k][0] > widths[k][1] ? widths[k][0] : widths[k][1];
                if (most > shapes[n].extents[axis] || dtype == PITH_BOOL ||
                    !pt_in_share((int64_t)k + (int64_t)dtype))
                    continue;
                check_add(t, dtype, shapes[n], axis, widths[k], false);
                check_add(t, dtype, shapes[n], axis, widths[k], true);
            }
}

/* <halo(a), b> over all ranks is <a, halo_add(b)>, in integers. */
static void halos_and_sums_of_halos(mesh_test *t) {
    for (int wrap = 0; wrap < 2; wrap++) {
        const pith_array *a = mesh_data(t, t->rank, PITH_I64, PITH_SHAPE(4, 3));
        const pith_array *b = mesh_data(t, t->rank + 9, PITH_I64, PITH_SHAPE(7, 3));
        const pith_array *wide = pith_halo(t->s, a, 0, NULL, 1, 2, wrap);
        const pith_array *back = pith_halo_add(t->s, b, 0, NULL, 1, 2, wrap);
        const pith_array *dots[] = {
            pith_sum(t->s, pith_mul(t->s, wide, b), PITH_ALL_AXES),
            pith_sum(t->s, pith_mul(t->s, a, back), PITH_ALL_AXES)};
        MESH_CHECK(t, mesh_equal(t, pith_psum(t->s, dots[0], NULL, NULL),
                                 pith_psum(t->s, dots[1], NULL, NULL)));
    }
}

static const pith_array *halo_and_back(pith_scope *s, const pith_array *a) {
    const pith_array *wide = pith_halo(s, a, 1, "x", 2, 1, true);
    return pith_halo_add(s, pith_mul(s, wide, wide), 1, "x", 2, 1, false);
}
PITH_FUNCTION1(halo_and_back_of, halo_and_back, pith_array, pith_array)

/* Compiled functions have the bits of eager calls. */
static void recorded_halos(mesh_test *t) {
    const pith_function *f = pith_jit(t->s, &halo_and_back_of, NULL);
    const pith_array *a = mesh_data(t, t->rank, PITH_F32, PITH_SHAPE(3, 4, 2));
    MESH_CHECK(t, mesh_equal(t, pith_apply(t->s, f, a), halo_and_back(t->s, a)));
}

/* A halo, and a number that is made of it with weights. */
static const pith_array *weights_like(pith_scope *s, const pith_array *a) {
    const pith_spec *spec = pith_array_spec(a);
    pith_shape shape = {.rank = spec->rank};
    memcpy(shape.extents, spec->shape, sizeof shape.extents);
    return pith_reshape(s, pith_arange(s, PITH_F64, spec->count), shape);
}
#define HALO(name, ...)                                                                  \
    static const pith_array *name(pith_scope *s, const pith_array *a) {                  \
        return pith_halo(s, a, __VA_ARGS__);                                             \
    }                                                                                    \
    PITH_FUNCTION1(name##_function, name, pith_array, pith_array)                        \
    static const pith_array *name##_back(pith_scope *s, const pith_array *a) {           \
        return pith_halo_add(s, weights_like(s, name(s, a)), __VA_ARGS__);               \
    }                                                                                    \
    static const pith_array *name##_loss(pith_scope *s, const pith_array *a) {           \
        const pith_array *wide = name(s, a);                                             \
        return pith_sum(s, pith_mul(s, wide, weights_like(s, wide)), PITH_ALL_AXES);     \
    }                                                                                    \
    PITH_FUNCTION1(name##_loss_function, name##_loss, pith_array, pith_array)
HALO(first_axis, 0, "x", 1, 1, true)
HALO(open_ends, 0, "x", 2, 0, false)
HALO(middle_axis, 1, "x", 1, 2, true)
HALO(whole_blocks, 1, "x", 3, 3, false)
HALO(last_axis, 2, "x", 0, 1, false)
HALO(no_halo, 0, "x", 0, 0, true)

/* Compiled, derived and in a batch, along each axis: as eager calls, one by one. */
static void halos_of_programs(mesh_test *t) {
    static const struct {
        const pith_function *halo, *loss;
        const pith_array *(*eager)(pith_scope *s, const pith_array *a);
        const pith_array *(*back)(pith_scope *s, const pith_array *a);
    } all[] = {
#define USE(name) {&name##_function, &name##_loss_function, name, name##_back}
        USE(first_axis),   USE(open_ends), USE(middle_axis),
        USE(whole_blocks), USE(last_axis), USE(no_halo),
    };
    pith_scope *s = t->s;
    const pith_array *a = mesh_data(t, t->rank, PITH_F64, PITH_SHAPE(2, 3, 4));
    const pith_array *more = pith_add(s, pith_mul(s, a, 2), 1);
    const pith_array *both = pith_stack(s, 2, (const pith_array *[]){a, more}, 0);
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        const pith_array *wide = all[k].eager(s, a);
        MESH_CHECK(t,
                   mesh_equal(t, pith_apply(s, pith_jit(s, all[k].halo, NULL), a), wide));
        const pith_function *slope = pith_jit(s, pith_grad(s, all[k].loss, NULL), NULL);
        MESH_CHECK(t, mesh_equal(t, pith_apply(s, slope, a), all[k].back(s, a)));
        const pith_function *each = pith_jit(s, pith_vmap(s, all[k].halo, NULL), NULL);
        const pith_array *batch = pith_apply(s, each, both);
        MESH_CHECK(t, mesh_equal(t, pith_slice_at(s, batch, 0, 0), wide));
        MESH_CHECK(t,
                   mesh_equal(t, pith_slice_at(s, batch, 0, 1), all[k].eager(s, more)));
    }
}

static void wrong_halos(mesh_test *t) {
    const pith_array *a = pith_zeros(t->s, PITH_F32, PITH_SHAPE(3, 2));
    pith_halo(t->s, a, 0, "x", 4, 0, true);
    MESH_CHECK(t,
               mesh_fails(t, PITH_E_SHAPE,
                          "pith_halo: axis 0: a halo of 4 rows is wider than the block "
                          "of a neighbour, which has 3"));
    pith_halo(t->s, a, -1, "x", 0, 3, false);
    MESH_CHECK(t, mesh_fails(t, PITH_E_SHAPE, "axis 1: a halo of 3 rows"));
    pith_halo(t->s, a, 0, "x", -1, 0, false);
    MESH_CHECK(t, mesh_fails(t, PITH_E_ARG, "-1 rows before and 0 after"));
    pith_halo(t->s, a, 2, "x", 0, 0, false);
    MESH_CHECK(t, mesh_fails(t, PITH_E_SHAPE, "pith_halo: axis 2, expected -2 to 1"));
    pith_halo_add(t->s, a, 0, "x", 1, 1, true);
    pith_halo_add(t->s, a, 0, "x", 2, 0, true);
    MESH_CHECK(t, mesh_fails(t, PITH_E_SHAPE, "has 1 without its own halo"));
    pith_halo_add(t->s, a, 0, "x", INT64_MAX, INT64_MAX, true);
    MESH_CHECK(t, mesh_fails(t, PITH_E_SHAPE, "pith_halo_add: axis 0: a halo of"));
    pith_halo_add(t->s, pith_zeros(t->s, PITH_BOOL, PITH_SHAPE(3)), 0, "x", 1, 1, true);
    MESH_CHECK(t, mesh_fails(t, PITH_E_DTYPE, "pith_halo_add: expected numbers"));
    pith_halo(t->s, NULL, 0, "x", 0, 0, false);
    MESH_CHECK(t, mesh_fails(t, PITH_E_ARG, "pith_halo: a"));
    if (t->size == 1)
        return;
    const bool odd = t->rank == t->size - 1;
    pith_halo(t->s, a, 0, "x", 1, odd, false);
    MESH_CHECK(t, mesh_fails(t, PITH_E_DIVERGED, "axis 0, 1 before, 1 after"));
    pith_halo(t->s, a, 0, "x", 1, 1, odd);
    MESH_CHECK(t, mesh_fails(t, PITH_E_DIVERGED, "1 after, wrap"));
    pith_halo(t->s, a, 0, "x", odd ? 4 : 1, 1, false);
    MESH_CHECK(t, mesh_fails(t, odd ? PITH_E_SHAPE : PITH_E_PEER, "a halo of 4 rows"));
    MESH_CHECK(t, pith_agree(t->s));
}

const mesh_case mesh_halo_cases[] = {
    {"halos", halos},
    {"sums_of_halos", sums_of_halos},
    {"halos_and_sums_of_halos", halos_and_sums_of_halos},
    {"recorded_halos", recorded_halos},
    {"halos_of_programs", halos_of_programs},
    {"wrong_halos", wrong_halos},
    {NULL, NULL},
};
