/* Slices that share the memory of their array, and those that copy. */
#include "pith_test.h"

#include <pith/array_native.h>
#include <pith/pith.h>

enum { N = 6000, COLUMNS = 20 };

static pith_runtime *rt;
static pith_scope *s;

static void begin(void) {
    rt = pt_open();
    s = pith_scope_open(rt);
}

static void begin_later(void) {
    setenv("PITH_HOST_ASYNC", "1", 1);
    begin();
}

static void end(void) {
    pt_ok(s);
    pith_scope_close(s);
    pt_close(rt);
}

static const char *address(const pith_array *a) {
    pith_view view;
    pt_ok(s, pith_array_view(s, a, &view));
    return view.data;
}

static size_t live(void) {
    return pith_memory_about(rt).live;
}

static bool counts_from(const pith_array *a, double first) {
    double got[N];
    pt_ok(s, pith_read(s, a, got, pith_array_spec(a)->bytes));
    for (int64_t i = 0; i < pith_array_spec(a)->count; i++)
        if (got[i] != first + (double)i)
            return false;
    return true;
}

static const pith_array *cut(const pith_array *a, int64_t start, int64_t limit) {
    return pith_slice_array(s, a, 1, &PITH_SLICE(start, limit, 1));
}

static void outlives_its_array(void) {
    const pith_array *x = pith_arange(s, PITH_F64, N);
    const size_t with = live();
    const pith_array *inner = cut(x, 1, -1), *most = cut(inner, 100, INT64_MAX);
    cr_assert(live() - with <= 4096, "slices took %zu bytes", live() - with);
    cr_assert(address(inner) == address(x) + 8);
    cr_assert(address(most) == address(x) + 808);
    pith_drop(s, x);
    pith_drop(s, inner);
    cr_assert(live() >= with, "the slice holds the memory");
    cr_assert(counts_from(most, 101));
    const pith_array *sum = pith_sub(s, cut(most, 1, INT64_MAX), cut(most, 0, -1));
    cr_assert(address(most) != address(sum));
    pith_drop(s, most);
    double got[N];
    pt_ok(s, pith_read(s, sum, got, pith_array_spec(sum)->bytes));
    for (int64_t i = 0; i < pith_array_spec(sum)->count; i++)
        cr_assert(got[i] == 1);
    end();
}

Test(slice_memory, outlives_its_array, .init = begin) {
    outlives_its_array();
}

Test(slice_memory, outlives_its_array_with_deferred_work, .init = begin_later) {
    outlives_its_array();
}

Test(slice_memory, is_given_back_with_the_last_slice, .init = begin) {
    const size_t before = live();
    const pith_array *x = pith_arange(s, PITH_F64, N), *y = cut(x, 5, INT64_MAX);
    pith_drop(s, x);
    pith_drop(s, y);
    cr_assert(live() - before < N * sizeof(double));
    end();
}

/* Less than half would hold memory that nothing needs. */
Test(slice_memory, is_not_shared_by_small_parts, .init = begin) {
    const pith_array *x = pith_arange(s, PITH_F64, N);
    const pith_array *half = cut(x, N / 2, N), *less = cut(x, N / 2 + 1, N);
    cr_assert(address(half) == address(x) + N / 2 * sizeof(double));
    cr_assert(address(less) != address(x) + (N / 2 + 1) * sizeof(double));
    cr_assert(counts_from(less, N / 2 + 1));
    /* half of the memory, not of the slice */
    const pith_array *third = cut(cut(x, 0, 4000), 0, 2100);
    cr_assert(address(third) != address(x) && counts_from(third, 0));
    end();
}

Test(slice_memory, is_shared_by_what_lies_side_by_side, .init = begin) {
    const pith_array *x =
        pith_reshape(s, pith_arange(s, PITH_F64, N), PITH_SHAPE(1, -1, COLUMNS));
    const pith_array *rows = pith_slice_array(
        s, x, 2, (const pith_slice[]){PITH_WHOLE, PITH_SLICE(3, INT64_MAX, 1)});
    const pith_array *columns = pith_slice_array(
        s, x, 3, (const pith_slice[]){PITH_WHOLE, PITH_WHOLE, PITH_SLICE(0, -1, 1)});
    const pith_array *back = pith_slice_array(
        s, x, 2, (const pith_slice[]){PITH_WHOLE, PITH_SLICE(-1, INT64_MIN, -1)});
    cr_assert(address(rows) == address(x) + 3 * COLUMNS * sizeof(double));
    cr_assert(counts_from(rows, 3 * COLUMNS));
    cr_assert(address(columns) != address(x) && address(back) != address(x));
    double got[N];
    pt_ok(s, pith_read(s, columns, got, pith_array_spec(columns)->bytes));
    cr_assert(got[0] == 0 && got[COLUMNS - 1] == COLUMNS &&
              got[COLUMNS - 2] == COLUMNS - 2);
    end();
}

/* The memory of the user's ends when the array does. */
Test(slice_memory, is_not_shared_with_the_users, .init = begin) {
    double own[N];
    for (int i = 0; i < N; i++)
        own[i] = i;
    const pith_array *x = pith_array_borrow(s, PITH_F64, PITH_SHAPE(N), own);
    const pith_array *y = cut(x, 1, INT64_MAX);
    cr_assert(address(y) != (const char *)(own + 1));
    pith_drop(s, x);
    memset(own, 0, sizeof own);
    cr_assert(counts_from(y, 1));
    end();
}

/* ---- Donation ---- */

static const pith_array *
sum_of(pith_scope *scope, const pith_array *a, const pith_array *b) {
    return pith_add(scope, a, b);
}
PITH_FUNCTION2(sum_function, sum_of, pith_array, pith_array, pith_array)

Test(slice_memory, that_overlaps_is_not_written_when_donated, .init = begin) {
    const pith_function *f =
        pith_jit(s, &sum_function, &(pith_jit_options){.donate_arguments = 3});
    for (int round = 0; round < 3; round++) {
        const pith_array *x = pith_arange(s, PITH_F64, N);
        const pith_array *left = cut(x, 0, -1), *right = cut(x, 1, INT64_MAX);
        if (round != 1) /* kept: nothing is granted */
            pith_drop(s, x);
        const pith_array *y = pith_call(s, f, PITH_ITEMS(left, right));
        double got[N];
        pt_ok(s, pith_read(s, y, got, pith_array_spec(y)->bytes));
        for (int64_t i = 0; i < N - 1; i++)
            cr_assert(got[i] == (double)(2 * i + 1), "round %d: %g at %d", round, got[i],
                      (int)i);
        if (round == 1)
            cr_assert(counts_from(x, 0));
    }
    cr_assert(pith_jit_about(rt).written == 0);
    end();
}
