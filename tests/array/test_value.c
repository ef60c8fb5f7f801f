/* Array values: host data in and out, scalars, many at once, drops, lifetimes, refusals.
 */
#include "array/array_internal.h"
#include "pith_test.h"

#include <pith/array.h>

Test(value, copies_host_data_in_and_out) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    int16_t data[6] = {-3, 0, 1, 2, INT16_MAX, INT16_MIN}, back[6];
    const pith_array *a = pith_array_copy(s, PITH_I16, PITH_SHAPE(2, 3), data);
    data[0] = 99; /* a copy does not see it */
    pt_ok(s, pith_read(s, a, back, sizeof back));
    const int16_t expected[6] = {-3, 0, 1, 2, INT16_MAX, INT16_MIN};
    cr_assert(memcmp(back, expected, sizeof back) == 0);
    const pith_spec *spec = pith_array_spec(a);
    cr_assert(spec->dtype == PITH_I16 && spec->rank == 2 && spec->shape[1] == 3 &&
              spec->bytes == 12);
    cr_assert(!pith_is_traced(a));
    pith_scope_close(s);
    pt_close(rt);
}

static int released;
static void release(void *closure, void *data) {
    cr_assert(closure == &released);
    free(data);
    released++;
}

Test(value, owns_memory_until_the_last_array_is_gone) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    double *data = malloc(3 * sizeof *data), back[3];
    data[0] = 1, data[1] = 2, data[2] = 3;
    released = 0;
    const pith_array *a =
        pith_array_own(s, PITH_F64, PITH_SHAPE(3), data, release, &released);
    const pith_array *b = pith_reshape(s, a, PITH_SHAPE(3, 1));
    pith_drop(s, a);
    cr_assert(released == 0, "the reshaped array still uses the memory");
    pt_ok(s, pith_read(s, b, back, sizeof back));
    cr_assert(back[2] == 3);
    pith_drop(s, b);
    cr_assert(released == 1);
    pith_scope_close(s);
    pt_close(rt);
}

Test(value, releases_owned_memory_when_the_call_fails) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    released = 0;
    pt_fails(PITH_E_SHAPE, s,
             pith_array_own(s, PITH_F64, PITH_SHAPE(-1), malloc(8), release, &released));
    cr_assert(released == 1);
    pith_fail(s, PITH_E_ARG, NULL, "an earlier failure");
    pith_array_own(s, PITH_F64, PITH_SHAPE(1), malloc(8), release, &released);
    cr_assert(released == 2);
    pith_scope_close(s);
    pt_close(rt);
}

Test(value, borrows_without_copying_on_the_host) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const float data[5] = {1, 2, 3, 4, 5};
    const pith_array *a = pith_array_borrow(s, PITH_F32, PITH_SHAPE(5), data);
    cr_assert(a->data == (const void *)data);
    cr_assert(pith_read_f64(s, pith_slice_at(s, a, 0, -1)) == 5);
    pith_scope_close(s);
    pt_close(rt);
}

Test(value, scalars_read_back) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    cr_assert(pith_read_f64(s, pith_f64(s, -0.1)) == -0.1);
    cr_assert(pith_read_f64(s, pith_f32(s, 0.5f)) == 0.5);
    cr_assert(pith_read_i64(s, pith_i64(s, INT64_MIN)) == INT64_MIN);
    cr_assert(pith_read_i64(s, pith_i32(s, -7)) == -7);
    cr_assert(pith_read_bool(s, pith_bool(s, true)) &&
              !pith_read_bool(s, pith_bool(s, false)));
    pt_ok(s);
    pt_fails(PITH_E_DTYPE, s, pith_read_i64(s, pith_f64(s, 1)));
    const uint64_t most = UINT64_MAX;
    pt_fails(PITH_E_DTYPE, s,
             pith_read_i64(s, pith_array_copy(s, PITH_U64, PITH_SCALAR, &most)));
    pt_fails(PITH_E_SHAPE, s, pith_read_f64(s, pith_zeros(s, PITH_F64, PITH_SHAPE(2))));
    pith_scope_close(s);
    pt_close(rt);
}

Test(value, like_takes_the_dtype_and_refuses_what_is_not_exact) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = pith_zeros(s, PITH_F16, PITH_SHAPE(2));
    cr_assert(pith_array_spec(pith_like(s, x, 0.1))->dtype == PITH_F16);
    const pith_array *i = pith_zeros(s, PITH_U8, PITH_SHAPE(2));
    cr_assert(pith_read_i64(s, pith_like(s, i, 255)) == 255);
    pt_fails(PITH_E_DTYPE, s, pith_like(s, i, 256));
    pt_says("256 is not exact in u8");
    pt_fails(PITH_E_DTYPE, s, pith_like(s, i, 0.5));
    pith_scope_close(s);
    pt_close(rt);
}

Test(value, a_dropped_array_is_refused) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *a = pith_f64(s, 1);
    pith_drop(s, a);
    pt_fails(PITH_E_ARG, s, pith_neg(s, a));
    pt_says("dropped");
    pith_drop(s, a); /* again: nothing */
    pith_scope *inner = pith_scope_open_in(s);
    const pith_array *outer = pith_f64(s, 2);
    pith_drop(inner, outer); /* not its own: nothing */
    cr_assert(pith_read_f64(s, outer) == 2);
    pith_scope_close(s);
    pt_close(rt);
}

Test(value, a_loop_of_drops_needs_no_more_memory) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = pith_zeros(s, PITH_F64, PITH_SHAPE(3)),
                     *large = pith_zeros(s, PITH_F64, PITH_SHAPE(3000));
    size_t bytes = 0, live = 0;
    for (int i = 0; i < 20000; i++) {
        pith_drop(s, pith_add(s, x, x));
        pith_drop(s, pith_add(s, large, large));
        if (i == 10000)
            bytes = pith_scope_bytes(s), live = pith_memory_about(rt).live;
    }
    pt_ok(s);
    cr_assert(pith_scope_bytes(s) == bytes && pith_memory_about(rt).live <= live + 65536);
    pith_scope_close(s);
    pt_close(rt);
}

Test(value, arrays_of_a_closed_scope_are_refused) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt), *inner = pith_scope_open_in(s);
    const pith_array *a = pith_f64(inner, 1);
    pith_scope_close(inner);
    pt_fails(PITH_E_ARG, s, pith_neg(s, a));
    pt_says("its scope is closed");
    cr_assert(pith_array_spec(a) == NULL);
    pith_scope_close(s);
    pt_close(rt);
}

Test(value, arrays_of_another_runtime_are_refused) {
    pith_runtime *rt = pt_open(),
                 *other = pith_open(&(pith_open_options){.device = "host"});
    pith_scope *s = pith_scope_open(rt), *t = pith_scope_open(other);
    pt_fails(PITH_E_ARG, s, pith_neg(s, pith_f64(t, 1)));
    pt_says("another runtime");
    pith_scope_close(t);
    pith_scope_close(s);
    pith_close(other);
    pt_close(rt);
}

Test(value, arrays_made_together_share_a_block_in_order) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_spec *specs[4];
    const int64_t shapes[4] = {3, 100, 100000, 0};
    for (int i = 0; i < 4; i++)
        specs[i] = pithp_spec(s, PITH_F64, 1, &shapes[i]);
    const pith_array *a[4];
    pt_ok(s, pithp_arrays_make(s, 4, specs, a) == PITH_OK);
    cr_assert(pithp_array_buffer(a[0]) == pithp_array_buffer(a[1]) &&
              pithp_array_buffer(a[1]) == pithp_array_buffer(a[3]) &&
              pithp_array_buffer(a[2]) != pithp_array_buffer(a[0]));
    cr_assert((char *)a[1]->data - (char *)a[0]->data == 256);
    for (int i = 0; i < 4; i++)
        cr_assert((uintptr_t)a[i]->data % PITHP_ALIGNMENT == 0);
    pith_scope_close(s);
    cr_assert(pith_memory_about(rt).live == 0);
    pt_close(rt);
}

Test(value, refuses_bad_specs_and_data) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const double x = 0;
    pt_fails(PITH_E_DTYPE, s, pith_array_copy(s, PITH_DTYPE_NONE, PITH_SCALAR, &x));
    pt_fails(PITH_E_DTYPE, s, pith_zeros(s, (pith_dtype)77, PITH_SCALAR));
    pt_fails(PITH_E_SHAPE, s, pith_zeros(s, PITH_F64, (pith_shape){.rank = 9}));
    pt_fails(PITH_E_OVERFLOW, s, pith_zeros(s, PITH_F64, PITH_SHAPE(INT64_MAX, 4)));
    pt_fails(PITH_E_OVERFLOW, s, pith_zeros(s, PITH_F64, PITH_SHAPE(0, INT64_MAX, 4)));
    pt_fails(PITH_E_ARG, s, pith_array_copy(s, PITH_F64, PITH_SHAPE(1), NULL));
    pt_ok(s, pith_array_copy(s, PITH_F64, PITH_SHAPE(0), NULL));
    double back[2];
    pt_fails(PITH_E_ARG, s, pith_read(s, pith_f64(s, 1), back, sizeof back));
    pt_says("expected room for 8 bytes of f64[]");
    pith_scope_close(s);
    pt_close(rt);
}

/* A mask of bytes 255 would count as 255 each. */
Test(value, bools_are_0_or_1) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    uint8_t mask[100] = {[2] = 1, [98] = 255, [99] = 2};
    uint8_t *own = calloc(2, 1);
    own[1] = 2;
    released = 0;
    pt_fails(PITH_E_ARG, s, pith_array_copy(s, PITH_BOOL, PITH_SHAPE(100), mask));
    pt_says("pith_array_copy: element 98 of a bool array: expected 0 or 1, got 255");
    pt_fails(PITH_E_ARG, s, pith_array_borrow(s, PITH_BOOL, PITH_SHAPE(10, 10), mask));
    pt_fails(PITH_E_ARG, s,
             pith_array_own(s, PITH_BOOL, PITH_SHAPE(2), own, release, &released));
    cr_assert_eq(released, 1);
    pt_ok(s, pith_array_copy(s, PITH_BOOL, PITH_SHAPE(98), mask));
    pt_ok(s, pith_array_copy(s, PITH_BOOL, PITH_SHAPE(0), NULL));
    pith_scope_close(s);
    pt_close(rt);
}

Test(value, an_error_names_the_line_of_the_outer_call) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = pith_zeros(s, PITH_F64, PITH_SHAPE(2));
    char site[64];
    snprintf(site, sizeof site, "test_value.c:%d", __LINE__ + 1);
    pith_add(s, pith_neg(s, pith_neg(s, x)), pith_zeros(s, PITH_F64, PITH_SHAPE(3)));
    cr_assert_str_eq(pith_error_site(s), site);
    cr_assert(pith_neg(s, x) == NULL, "nothing is made on a failed scope");
    pith_clear(s);
    pt_ok(s, pith_neg(s, x));
    pith_scope_close(s);
    pt_close(rt);
}
