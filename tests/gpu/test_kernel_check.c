/* Checks inside kernels: which failure is reported, when, and on whose scope; the same
 * whatever the number of threads. */
#include "kernels/plain.h"
#include "pith_test.h"

#include <pith/array.h>

enum { N = 100000, WIDTH = 100 };

/* Run `checked` on needs that are 1 but for a few, and read the error of the wait. */
static void fail_checked(int threads,
                         bool async,
                         int64_t limit,
                         int count,
                         const int64_t (*needs)[2]) {
    static int64_t need[N];
    static const int32_t row[WIDTH];
    for (int i = 0; i < N; i++)
        need[i] = 1;
    for (int i = 0; i < count; i++)
        need[needs[i][0]] = needs[i][1];
    setenv("PITH_HOST_ASYNC", async ? "1" : "0", 1);
    pith_runtime *rt =
        pith_open(&(pith_open_options){.device = "host", .threads = threads});
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = pith_array_copy(s, PITH_I64, PITH_SHAPE(N), need);
    const pith_array *w = pith_array_copy(s, PITH_I32, PITH_SHAPE(WIDTH), row);
    pt_ok(s, pith_launch(s, checked, x, limit, w).y);
    pith_wait(s);
    pt_remember(s);
    pith_clear(s);
    pith_wait(s); /* reported once */
    pt_ok(s);
    pith_scope_close(s);
    pith_close(rt);
    unsetenv("PITH_HOST_ASYNC");
}

Test(kernel_check, reports_the_least_index_and_the_greatest_need) {
    const int64_t needs[][2] = {{70001, 5000}, {99999, 7001}, {333, 1200}, {40000, 9000}};
    for (int threads = 1; threads <= 8; threads *= 2)
        for (int async = 0; async < 2; async++) {
            fail_checked(threads, async, 1000, 4, needs);
            cr_assert_eq(pt_error.code, PITH_E_CHECK, "%s", pt_error.message);
            pt_says("checked: the check at plain.h:");
            pt_says("failed: first at index 333, greatest need 9000");
            cr_assert(strstr(pt_error.site, "test_kernel_check.c:"), "%s", pt_error.site);
        }
}

Test(kernel_check, reports_the_first_check_of_the_text_alone) {
    const int64_t needs[][2] = {{5, 800}, {90000, 1100}, {80000, 1500}};
    for (int threads = 1; threads <= 8; threads *= 2) {
        fail_checked(threads, false, 1000, 3, needs);
        cr_assert_eq(pt_error.code, PITH_E_CHECK, "%s", pt_error.message);
        pt_says("first at index 80000, greatest need 1500");
    }
}

Test(kernel_check, a_size_too_small_is_named_with_have_and_need) {
    const int64_t needs[][2] = {{5, 101}, {90000, 640}, {80000, 100}};
    for (int threads = 1; threads <= 8; threads *= 2) {
        fail_checked(threads, true, 1000, 3, needs);
        cr_assert_eq(pt_error.code, PITH_E_CAPACITY, "%s", pt_error.message);
        pt_says(
            "checked: width is too small: have 100, need 640 (first at index 5, plain.h:");
    }
}

Test(kernel_check, needs_beyond_the_report_are_cut_and_not_mixed) {
    const int64_t needs[][2] = {{7, INT64_MAX}, {9, 2000}};
    fail_checked(2, false, 1000, 2, needs);
    pt_says("first at index 7, greatest need 8796093022207");
}

Test(kernel_check, passes_where_every_index_passes) {
    fail_checked(2, false, 1000, 0, NULL);
    cr_assert_eq(pt_error.code, PITH_OK, "%s", pt_error.message);
}

Test(kernel_check, counts_pairs_in_rows) {
    const int32_t x[] = {10, 11, 12, 13, 14}, y[] = {0, 1, 13, 12};
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    pt_fails(
        PITH_E_CHECK, s,
        (pith_launch(s, checked_pairs, pith_array_copy(s, PITH_I32, PITH_SHAPE(5), x),
                     pith_array_copy(s, PITH_I32, PITH_SHAPE(4), y)),
         pith_wait(s), 0));
    pt_says("first at index 11, greatest need 13"); /* 2 * 4 + 3, then 3 * 4 + 2 */
    pith_scope_close(s);
    pt_close(rt);
}

Test(kernel_check, an_unread_failure_goes_to_the_parent_scope) {
    pith_runtime *rt = pt_open();
    pith_scope *outer_scope = pith_scope_open(rt);
    pith_scope *s = pith_scope_open_in(outer_scope);
    const pith_array *x =
        pith_array_copy(s, PITH_I32, PITH_SHAPE(1), (const int32_t[]){9});
    pt_ok(s, pith_launch(s, count, x, 3).histogram);
    pith_scope_close(s);
    pith_wait(outer_scope);
    cr_assert_eq(pith_code(outer_scope), PITH_E_CHECK, "%s", pith_message(outer_scope));
    pith_scope_close(outer_scope);
    pt_close(rt);
}

Test(kernel_check, memory_that_runs_short_leaves_an_error_and_no_array) {
    for (long long at = 1;; at++) {
        pt_heap heap = {0};
        const pith_allocator allocator = pt_allocator(&heap);
        pith_runtime *rt = pith_open(&(pith_open_options){
            .device = "host", .threads = 1, .allocator = &allocator});
        pith_scope *s = pith_scope_open(rt);
        const pith_array *x =
            pith_array_copy(s, PITH_I32, PITH_SHAPE(3), (const int32_t[]){0, 1, 1});
        pt_ok(s);
        const long long before = atomic_load(&heap.allocations);
        atomic_store(&heap.fail_at, before + at);
        const pith_array *histogram = pith_launch(s, count, x, 100000).histogram;
        const bool reached = atomic_load(&heap.allocations) >= before + at;
        if (pith_failed(s))
            cr_assert(pith_code(s) == PITH_E_MEMORY && !histogram, "%s", pith_message(s));
        else
            cr_assert_not_null(histogram);
        atomic_store(&heap.fail_at, 0);
        pith_clear(s);
        pt_ok(s, pith_launch(s, count, x, 100000).histogram);
        pith_scope_close(s);
        pith_close(rt);
        pt_no_leak(&heap);
        if (!reached) {
            cr_assert(at > 1);
            return;
        }
    }
}
