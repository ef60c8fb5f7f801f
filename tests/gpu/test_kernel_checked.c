/* Checked kernels: what each fault is reported as, and that correct kernels pass. */
#include "kernels/faulty.h"
#include "kernels/plain.h"
#include "pith_test.h"

#include <pith/array.h>
#include <pith/jit.h>
#include <pith/tree.h>

static const pith_array *i32s(pith_scope *s, int64_t n, const int32_t *values) {
    return pith_array_copy(s, PITH_I32, PITH_SHAPE(n), values);
}

/* The launch fails at the next wait, with a code and a text. */
#define fails(expected, s, launch, text)                                                 \
    do {                                                                                 \
        pt_ok(s, launch);                                                                \
        pt_fails(expected, s, pith_wait(s));                                             \
        pt_says(text);                                                                   \
    } while (0)

Test(kernel_checked, an_index_out_of_range_names_kernel_argument_and_index) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = pith_arange(s, PITH_F64, 6);
    const struct {
        int32_t at;
        const char *text;
    } rows[] = {
        {6, "take: x[m]: element 6 is out of range, expected 0 to 5 (read at index 3)"},
        {-1, "take: x[m]: element -1 is out of range"},
        {100000, "take: x[m]: element 100000 is out of range"},
        {INT32_MAX, "take: x[m]: element 2147483647 is out of range"},
        {INT32_MIN, "take: x[m]: element -2147483648 is out of range"}};
    for (int k = 0; k < 5; k++) {
        const int32_t at[5] = {0, 5, 1, rows[k].at, rows[k].at};
        fails(PITH_E_INDEX, s, pith_launch(s, take, i32s(s, 5, at), x).y, rows[k].text);
    }
    const int32_t good[5] = {0, 5, 1, 2, 3};
    double y[5];
    pt_ok(s, pith_read(s, pith_launch(s, take, i32s(s, 5, good), x).y, y, sizeof y));
    cr_assert(y[0] == 0 && y[1] == 5 && y[4] == 3);
    pith_scope_close(s);
    pt_close(rt);
}

Test(kernel_checked, a_pointer_that_is_handed_on_is_checked_too) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = pith_zeros(s, PITH_F64, PITH_SHAPE(2, 3));
    pt_ok(s, pith_launch(s, lengths, x, 3).y);
    fails(
        PITH_E_INDEX, s, pith_launch(s, lengths, x, 4).y,
        "lengths: x[n,3]: element 6 is out of range, expected 0 to 5 (read at index 1)");
    pith_scope_close(s);
    pt_close(rt);
}

Test(kernel_checked, blocks_of_constant_size_are_checked) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = pith_reshape(s, pith_arange(s, PITH_F64, 6), PITH_SHAPE(2, 3));
    const struct {
        int64_t d;
        const char *text; /* NULL: it is right */
    } rows[] = {{0, NULL}, {1, "element 6 is out"}, {-2, "element -2 is out"}};
    for (int k = 0; k < 3; k++)
        for (int way = 0; way < 3; way++) {
            const pith_array *y = way == 0 ? pith_launch(s, copy_builtin, x, rows[k].d).y
                                  : way == 1
                                      ? pith_launch(s, copy_function, x, rows[k].d).y
                                      : pith_launch(s, copy_struct, x, rows[k].d).y;
            if (rows[k].text)
                fails(PITH_E_INDEX, s, y, rows[k].text);
            else
                cr_assert(pith_tree_equal(s, y, x), "%s", pith_message(s));
        }
    pith_scope_close(s);
    pt_close(rt);
}

Test(kernel_checked, an_empty_array_has_no_range) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = pith_zeros(s, PITH_F64, PITH_SHAPE(0));
    fails(
        PITH_E_INDEX, s, pith_launch(s, first_of, x, 2).y,
        "first_of: x[m]: element 0 is out of range, the array is empty (read at index 0)");
    pith_scope_close(s);
    pt_close(rt);
}

Test(kernel_checked, writes_out_of_range_change_nothing) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = pith_ones(s, PITH_F32, PITH_SHAPE(3));
    fails(PITH_E_INDEX, s, pith_launch(s, put, i32s(s, 3, (int32_t[]){0, 3, 2}), x).y,
          "put: y[n]: element 3 is out of range, expected 0 to 2 (written at index 1)");
    fails(PITH_E_INDEX, s,
          pith_launch(s, put, i32s(s, 3, (int32_t[]){0, -900000000, 2}), x).y,
          "put: y[n]: element -900000000 is out of range");
    fails(
        PITH_E_INDEX, s,
        pith_launch(s, put_pairs, i32s(s, 2, (int32_t[]){0, 2}),
                    i32s(s, 3, (int32_t[]){1, 2, 3}))
            .y,
        "put_pairs: y[n,m]: element 6 is out of range, expected 0 to 5 (written at index 3)");
    pith_scope_close(s);
    pt_close(rt);
}

Test(kernel_checked, elements_that_are_not_written_are_errors) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x =
        pith_array_copy(s, PITH_F64, PITH_SHAPE(4), (double[]){1, 2, -1, -2});
    fails(PITH_E_CHECK, s, pith_launch(s, set_positive, x).y,
          "set_positive: y[n]: element 2 of 4 was not written by any index");
    pt_ok(s, pith_launch(s, set_positive_of_zeros, x).y);
    pt_ok(s, pith_launch(s, set_positive, pith_abs(s, x)).y);
    pith_wait(s);
    pt_ok(s);
    pt_ok(s, pith_launch(s, fill_rows, 100, 0).rows);
    fails(PITH_E_CHECK, s, pith_launch(s, fill_rows, 100, 2).rows,
          "fill_rows: rows[n,4]: element 1 of 400 was not written by any index");
    pt_ok(s, pith_launch(s, fill_rows, 0, 0).rows);
    fails(PITH_E_CHECK, s, pith_launch(s, add_to_unset, x).y,
          "add_to_unset: y[n]: element 0 is read before it is written (at index 0)");
    pith_scope_close(s);
    pt_close(rt);
}

Test(kernel_checked, two_indices_that_meet_in_an_element_are_errors) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = pith_ones(s, PITH_F32, PITH_SHAPE(3));
    const pith_array *d = pith_ones(s, PITH_F64, PITH_SHAPE(4));
    const pith_array *bins = i32s(s, 4, (int32_t[]){1, 0, 1, 1});
    fails(PITH_E_CHECK, s, pith_launch(s, put, i32s(s, 3, (int32_t[]){0, 1, 0}), x).y,
          "put: y[n]: element 0 is written by index 2 and by index 0");
    fails(PITH_E_CHECK, s, pith_launch(s, smooth, d, -1).x,
          "smooth: x[n]: element 1 is read by index 2 and written by index 1");
    fails(PITH_E_CHECK, s, pith_launch(s, smooth, d, 1).x,
          "smooth: x[n]: element 1 is written by index 1 and read by index 0");
    pt_ok(s, pith_launch(s, smooth, d, 0).x);
    fails(PITH_E_CHECK, s, pith_launch(s, tally, bins, 2, 1).count,
          "tally: count[bins]: element 1 is read by index 2 and written by index 0");
    fails(PITH_E_CHECK, s, pith_launch(s, tally, bins, 2, -1).count,
          "tally: count[bins]: element 1 is written by index 2 and read by index 0");
    int32_t counts[2];
    pt_ok(s,
          pith_read(s, pith_launch(s, tally, bins, 2, 0).count, counts, sizeof counts));
    cr_assert(counts[0] == 1 && counts[1] == 3);
    pith_scope_close(s);
    pt_close(rt);
}

Test(kernel_checked, blocks_constants_and_inputs) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = pith_reshape(s, pith_arange(s, PITH_I64, 8), PITH_SHAPE(2, 4));
    int64_t y[8];
    int32_t t[2];
    pt_ok(s, pith_read(s, pith_launch(s, copy_blocks, x, i32s(s, 2, (int32_t[]){1, 0})).y,
                       y, sizeof y));
    cr_assert(y[0] == 4 && y[7] == 3);
    fails(PITH_E_INDEX, s,
          pith_launch(s, copy_blocks, x, i32s(s, 2, (int32_t[]){1, 2})).y,
          "copy_blocks: x[m,4]: element 8 is out of range");
    const pith_array *i = i32s(s, 2, (int32_t[]){0, 3});
    pt_ok(s, pith_read(s, pith_launch(s, tables, i).y, t, sizeof t));
    cr_assert(t[0] == 1 && t[1] == 32);
    fails(PITH_E_CHECK, s, pith_launch(s, write_in, i).y,
          "write_in: x[n]: element 0 of an in is written (at index 0)");
    pith_scope_close(s);
    pt_close(rt);
}

/* A check of the body that failed explains why elements are not written. */
Test(kernel_checked, a_failed_check_of_the_body_comes_first) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *need =
        pith_array_copy(s, PITH_I64, PITH_SHAPE(3), (int64_t[]){1, 9, 12});
    fails(PITH_E_CHECK, s,
          pith_launch(s, checked, need, 5, i32s(s, 2, (int32_t[]){1, 2})).y,
          "checked: the check at plain.h:");
    pith_scope_close(s);
    pt_close(rt);
}

static const pith_array *sum_of_positive(pith_scope *s, const pith_array *x) {
    return pith_sum(s, pith_launch(s, set_positive, x).y, PITH_ALL_AXES);
}
PITH_FUNCTION1(positive_function, sum_of_positive, pith_array, pith_array)

Test(kernel_checked, compiled_functions_find_the_same) {
    const char *const modes[] = {"wait", "off", "eager"};
    for (int k = 0; k < 3; k++) {
        setenv("PITH_JIT", modes[k], 1);
        pith_runtime *rt = pt_open();
        pith_scope *s = pith_scope_open(rt);
        const pith_function *f = pith_jit(s, &positive_function, NULL);
        const pith_array *good = pith_ones(s, PITH_F64, PITH_SHAPE(6));
        const pith_array *bad = pith_neg(s, good);
        for (int turn = 0; turn < 3; turn++) {
            const pith_array *sum = pith_apply(s, f, good);
            pt_ok(s, pith_read_f64(s, sum) > 5.5);
            sum = pith_apply(s, f, bad);
            pt_fails(PITH_E_CHECK, s, pith_read_f64(s, sum));
            pt_says("set_positive: y[n]: element 0 of 6 was not written by any index");
        }
        pith_scope_close(s);
        pt_close(rt);
    }
    unsetenv("PITH_JIT");
}
