/* The helpers of pith_test.h themselves: what they must catch, they catch. */
#include "pith_test.h"

#include <float.h>

Test(ulp, counts_steps_across_zero) {
    cr_assert_eq(pt_ulp64(1.0, 1.0), 0);
    cr_assert_eq(pt_ulp64(0.0, -0.0), 0);
    cr_assert_eq(pt_ulp64(1.0, nextafter(1.0, 2.0)), 1);
    cr_assert_eq(pt_ulp64(-DBL_TRUE_MIN, DBL_TRUE_MIN), 2);
    cr_assert_eq(pt_ulp64(NAN, 1.0), UINT64_MAX);
    cr_assert_eq(pt_ulp64(NAN, NAN), 0);
    cr_assert_eq(pt_ulp64(-INFINITY, INFINITY),
                 UINT64_C(2) * UINT64_C(0x7FF0000000000000));
    cr_assert_eq(pt_ulp32(1.0f, nextafterf(1.0f, 2.0f)), 1);
    cr_assert_eq(pt_ulp32(0.0f, -0.0f), 0);
    cr_assert_eq(pt_ulp32(-FLT_TRUE_MIN, FLT_TRUE_MIN), 2);
}

Test(close, is_relative_and_knows_nan) {
    cr_assert(pt_close_to(1.0 + 1e-9, 1.0, 1e-8));
    cr_assert(!pt_close_to(1.0 + 1e-7, 1.0, 1e-8));
    cr_assert(pt_close_to(INFINITY, INFINITY, 0.0));
    cr_assert(!pt_close_to(NAN, 1.0, 1.0));
}

Test(heap, counts_and_fails_when_told) {
    pt_heap heap = {0};
    const pith_allocator allocator = pt_allocator(&heap);
    atomic_store(&heap.fail_at, 2);
    void *first = allocator.allocate(allocator.closure, 100, 64);
    cr_assert_not_null(first);
    cr_assert_eq((uintptr_t)first % 64, 0);
    cr_assert_null(allocator.allocate(allocator.closure, 100, 64));
    cr_assert_eq(atomic_load(&heap.live), 1);
    cr_assert_eq(atomic_load(&heap.bytes), 100);
    allocator.release(allocator.closure, first, 100, 64);
    pt_no_leak(&heap);
}
