/* More than 2^31 elements: counts, strides and indices beyond 32 bits. Needs up to 8 GiB
 * and minutes, so it runs only where PITH_TEST_LARGE is set. */
#include "pith_test.h"

#include <pith/array.h>

static const int64_t MANY = ((int64_t)1 << 31) + 4099;

static bool wanted(void) {
    return getenv("PITH_TEST_LARGE") != NULL;
}

/* 0 but for 7 at the last place and 3 at place 2^31. */
static const pith_array *marked(pith_scope *s, pith_dtype dtype) {
    const int64_t places[] = {MANY - 1, (int64_t)1 << 31};
    const int8_t marks[] = {7, 3};
    const pith_array *index = pith_array_copy(s, PITH_I64, PITH_SHAPE(2), places);
    const pith_array *values = pith_array_copy(s, PITH_I8, PITH_SHAPE(2), marks);
    const pith_array *zeros = pith_zeros(s, dtype, PITH_SHAPE(MANY));
    const pith_array *a =
        pith_scatter_set(s, zeros, index, pith_cast(s, values, dtype), NULL);
    if (zeros)
        pith_drop(s, zeros);
    return a;
}

Test(large, copies_sums_and_takes, .timeout = 1200) {
    if (!wanted())
        cr_skip_test("PITH_TEST_LARGE is not set");
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *a = marked(s, PITH_I8);
    pt_ok(s, a);
    const pith_array *copy = pith_neg(s, pith_neg(s, a)); /* two passes over all */
    const pith_slice tail = PITH_SLICE(-4, INT64_MAX, 1);
    int8_t last[4];
    pt_ok(s, pith_read(s, pith_slice_array(s, copy, 1, &tail), last, sizeof last));
    cr_expect(last[3] == 7 && last[2] == 0);
    cr_expect(pith_read_i64(s, pith_sum(s, a, PITH_ALL_AXES)) == 10);
    cr_expect(pith_read_i64(s, pith_argmax(s, a, PITH_AXES(0))) == MANY - 1);
    const pith_array *places = pith_array_copy(
        s, PITH_I64, PITH_SHAPE(3), (int64_t[]){(int64_t)1 << 31, -1, MANY - 2});
    int8_t taken[3];
    pt_ok(s, pith_read(s, pith_take(s, a, places, NULL), taken, sizeof taken));
    cr_expect(taken[0] == 3 && taken[1] == 7 && taken[2] == 0);
    cr_expect(pith_read_i64(s, pith_take(s, a, pith_i32(s, -1), NULL)) == 7);
    pith_scope_close(s);
    pt_close(rt);
}

/* Rows whose strides are beyond 32 bits. */
Test(large, strides_are_of_64_bits, .timeout = 1200) {
    if (!wanted())
        cr_skip_test("PITH_TEST_LARGE is not set");
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *a = marked(s, PITH_U8);
    pt_ok(s, a);
    const pith_array *rows = pith_expand_dims(s, a, PITH_AXES(0));
    const pith_array *both =
        pith_concatenate(s, 2, (const pith_array *[]){rows, rows}, 0);
    pith_drop(s, a);
    pt_ok(s, both);
    const pith_array *columns = pith_max(s, both, PITH_AXES(1));
    uint8_t greatest[2];
    pt_ok(s, pith_read(s, columns, greatest, sizeof greatest));
    cr_expect(greatest[0] == 7 && greatest[1] == 7);
    cr_expect(pith_read_i64(s, pith_slice_at(s, pith_slice_at(s, both, 0, 1), 0, -1)) ==
              7);
    pith_scope_close(s);
    pt_close(rt);
}

Test(large, sorts, .timeout = 2400) {
    if (!wanted())
        cr_skip_test("PITH_TEST_LARGE is not set");
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *bits =
        pith_random_bits(s, pith_random_key(s, 1), PITH_U8, PITH_SHAPE(MANY), NULL);
    const pith_array *sorted = pith_sort(s, bits, 0, NULL);
    pt_ok(s, sorted);
    const pith_slice first = PITH_SLICE(0, -1, 1), rest = PITH_SLICE(1, INT64_MAX, 1);
    cr_expect(pith_read_i64(s, pith_sum(s, bits, PITH_ALL_AXES)) ==
              pith_read_i64(s, pith_sum(s, sorted, PITH_ALL_AXES)));
    pith_drop(s, bits);
    const pith_array *low = pith_slice_array(s, sorted, 1, &first),
                     *high = pith_slice_array(s, sorted, 1, &rest);
    cr_expect(!pith_read_bool(s, pith_any(s, pith_greater(s, low, high), PITH_ALL_AXES)));
    pith_scope_close(s);
    pt_close(rt);
}
