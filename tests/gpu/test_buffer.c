/* Buffers: references, copies and fills, the ledger, reuse, and memory of the user's. */
#include "gpu_test.h"

#include <pith/runtime.h>
#include <sys/resource.h>

TestSuite(buffer, .init = gt_reset);

Test(buffer, is_aligned_and_counted_until_its_last_reference_goes) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    static const size_t sizes[] = {0,       1,       24,      256,     257,
                                   2048,    2049,    65535,   65536,   65537,
                                   1000000, 2097152, 2097153, 5000001, 33554432};
    for (int i = 0; i < PITHP_COUNT(sizes); i++) {
        pithp_buffer *b = pithp_buffer_make(s, sizes[i]);
        pt_ok(s, b);
        cr_assert_eq((uintptr_t)b->data % PITHP_ALIGNMENT, 0);
        cr_assert_geq(b->room, b->bytes);
        memset(b->data, i, b->bytes);
        cr_assert_eq(pith_memory_about(rt).live, sizes[i]);
        pithp_buffer_retain(b, 2);
        pithp_buffer_release(b, 1);
        cr_assert_eq(pith_memory_about(rt).live, sizes[i]);
        pithp_buffer_release(b, 2);
        cr_assert_eq(pith_memory_about(rt).live, 0);
    }
    cr_assert_eq(pith_memory_about(rt).peak, 33554432);
    cr_assert_geq(pith_memory_about(rt).pool, 33554432, "freed blocks are kept");
    pith_scope_close(s);
    pt_close(rt);
}

Test(buffer, small_and_large_ones_are_used_again) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    static const size_t sizes[] = {24, 4000, 65536, 100000, 10000000};
    for (int i = 0; i < PITHP_COUNT(sizes); i++) {
        pithp_buffer *b = pithp_buffer_make(s, sizes[i]);
        const void *data = b->data;
        pithp_buffer_release(b, 1);
        const size_t reserved = pith_memory_about(rt).pool;
        const long long allocations = atomic_load(&pt_default_heap.allocations);
        for (int k = 0; k < 100; k++) {
            b = pithp_buffer_make(s, sizes[i]);
            cr_assert_eq(b->data, data);
            pithp_buffer_release(b, 1);
        }
        cr_assert_eq(pith_memory_about(rt).pool, reserved);
        cr_assert_eq(atomic_load(&pt_default_heap.allocations), allocations);
    }
    pith_scope_close(s);
    pt_close(rt);
}

static long page_faults(void) {
    struct rusage usage;
    cr_assert_eq(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_minflt;
}

Test(buffer, a_large_one_a_step_costs_no_page_faults_after_the_first) {
    enum { MIB64 = 64 << 20, STEPS = 20 };
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    long first = 0;
    for (int step = 0; step <= STEPS; step++) {
        pithp_buffer *b = pithp_buffer_make(s, MIB64);
        pt_ok(s, b);
        memset(b->data, step, MIB64);
        pithp_buffer_release(b, 1);
        if (step == 0)
            first = page_faults();
    }
    cr_assert_lt(page_faults() - first, 100, "of %d pages", STEPS * (MIB64 / 4096));
    pith_scope_close(s);
    pt_close(rt);
}

/* All under one lock, where they are kept; else one by one. */
Test(buffer, many_are_made_at_once) {
    enum { COUNT = 1000 };
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    static size_t sizes[COUNT];
    static pithp_buffer *all[COUNT];
    size_t sum = 0;
    for (int i = 0; i < COUNT; i++)
        sum += sizes[i] = (size_t)(i * i) % 90001; /* small ones and large ones */
    for (int turn = 0; turn < 3; turn++) {
        pt_ok(s, pithp_buffers_make(s, COUNT, sizes, all) == PITH_OK);
        cr_assert_eq(pith_memory_about(rt).live, sum);
        cr_assert_eq(pith_memory_about(rt).live_count, COUNT);
        for (int i = 0; i < COUNT; i++) {
            cr_assert(all[i]->bytes == sizes[i] && all[i]->room >= sizes[i]);
            memset(all[i]->data, i, sizes[i]);
        }
        for (int i = 0; i < COUNT; i++) {
            for (size_t k = 0; k < sizes[i]; k++)
                cr_assert_eq(((unsigned char *)all[i]->data)[k], (unsigned char)i);
            pithp_buffer_release(all[i], 1);
        }
        cr_assert_eq(pith_memory_about(rt).live, 0);
    }
    pt_ok(s, pithp_buffers_make(s, 0, NULL, NULL) == PITH_OK);
    pith_scope_close(s);
    pt_close(rt);
}

/* Where one does not fit none is made, and what it takes to try that is given up again.
 */
Test(buffer, many_are_all_made_or_none) {
    static pith_allocator allocator;
    allocator = pt_allocator(&pt_default_heap);
    pith_runtime *rt = pith_open(&(pith_open_options){
        .device = "host", .allocator = &allocator, .memory = 4 << 20});
    pt_open_runtimes++;
    pith_scope *s = pith_scope_open(rt);
    static size_t sizes[100];
    static pithp_buffer *all[100];
    for (int kept = 0; kept < 2;
         kept++) /* those before it are made, or kept from before */
        for (int at = 0; at < 100; at += 9) {
            for (int i = 0; i < 100; i++)
                sizes[i] = i == at ? (4 << 20) - 50 * 1000 : 1000;
            pt_fails(PITH_E_MEMORY, s,
                     pithp_buffers_make(s, 100, sizes, all) != PITH_OK ? NULL : all);
            cr_assert_eq(pith_memory_about(rt).live, 0, "at %d", at);
            cr_assert_eq(pith_memory_about(rt).live_count, 0);
            sizes[at] = 1000;
            if (kept) {
                pt_ok(s, pithp_buffers_make(s, 100, sizes, all) == PITH_OK);
                for (int i = 0; i < 100; i++)
                    pithp_buffer_release(all[i], 1);
            }
        }
    pith_scope_close(s);
    pt_close(rt);
}

Test(buffer, the_most_at_one_time_is_counted_over_all_streams) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt), *t = pith_scope_open(rt);
    for (int turn = 0; turn < 10; turn++) { /* in turns: never two of them at once */
        pithp_buffer_release(gt_buffer(s, 1000), 1);
        pithp_buffer_release(gt_buffer(t, 1000), 1);
    }
    cr_assert_eq(pith_memory_about(rt).peak, 8000);
    cr_assert_eq(pith_memory_about(rt).peak_count, 1);
    pithp_buffer *a = gt_buffer(s, 1000), *b = gt_buffer(t, 500);
    cr_assert_eq(pith_memory_about(rt).peak, 12000);
    cr_assert_eq(pith_memory_about(rt).peak_count, 2);
    cr_assert_eq(pith_memory_about(rt).live_count, 2);
    pithp_buffer_release(a, 1);
    pithp_buffer_release(b, 1);
    cr_assert_eq(pith_memory_about(rt).live_count, 0);
    cr_assert_eq(pith_memory_about(rt).peak_count, 2);
    pith_scope_close(s);
    pith_scope_close(t);
    pt_close(rt);
}

Test(buffer, live_ones_do_not_overlap) {
    enum { COUNT = 1000 };
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    static pithp_buffer *all[COUNT];
    uint64_t random = 1;
    for (int turn = 0; turn < 4; turn++) {
        for (int i = 0; i < COUNT; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            if (all[i] && (random >> 33) % 2) {
                for (size_t k = 0; k < all[i]->bytes; k++)
                    cr_assert_eq(((unsigned char *)all[i]->data)[k], (unsigned char)i);
                pithp_buffer_release(all[i], 1);
                all[i] = NULL;
            }
            if (!all[i]) {
                all[i] = pithp_buffer_make(s, (random >> 40) % 9000);
                memset(all[i]->data, i, all[i]->bytes);
            }
        }
    }
    for (int i = 0; i < COUNT; i++) {
        for (size_t k = 0; k < all[i]->bytes; k++)
            cr_assert_eq(((unsigned char *)all[i]->data)[k], (unsigned char)i);
        pithp_buffer_release(all[i], 1);
    }
    cr_assert_eq(pith_memory_about(rt).live, 0);
    pith_scope_close(s);
    pt_close(rt);
}

Test(buffer, kept_memory_is_bounded_by_the_most_in_use) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const size_t most = (size_t)256 << 20;
    for (int i = 1; i <= 16; i++) { /* 4 to 64 MiB, each of another size: 544 MiB */
        pithp_buffer *b = pithp_buffer_make(s, (size_t)i << 22);
        pt_ok(s, b);
        pithp_buffer_release(b, 1);
        cr_assert_leq(pith_memory_about(rt).pool, most + most / 8);
    }
    pith_scope_close(s);
    pt_close(rt);
}

Test(buffer, an_impossible_size_is_an_error_and_leaves_all_as_it_was) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    pithp_buffer *b = gt_buffer(s, 100);
    pt_fails(PITH_E_MEMORY, s, pithp_buffer_make(s, (size_t)1 << 62));
    pt_says("800 bytes are in use");
    pt_fails(PITH_E_MEMORY, s, pithp_buffer_make(s, PTRDIFF_MAX));
    cr_assert_eq(pith_memory_about(rt).live, 800);
    pithp_buffer_release(b, 1);
    pith_scope_close(s);
    pt_close(rt);
}

Test(buffer, copies_and_fills_every_width) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    static const int64_t counts[] = {0, 1, 7, 4096, 300001};
    static unsigned char expected[8 * 300001], got[sizeof expected];
    const uint64_t pattern = 0x8877665544332211u;
    for (int c = 0; c < PITHP_COUNT(counts); c++) {
        for (size_t width = 1; width <= 8; width *= 2) {
            const size_t bytes = (size_t)counts[c] * width;
            pithp_buffer *a = pithp_buffer_make(s, bytes),
                         *b = pithp_buffer_make(s, bytes);
            for (size_t i = 0; i < bytes; i++)
                expected[i] = ((const unsigned char *)&pattern)[i % width];
            memset(got, 0, sizeof got);
            pithp_fill(s, a->data, &pattern, width, counts[c]);
            pithp_copy(s, b->data, a->data, bytes);
            pithp_copy_out(s, got, b->data, bytes);
            pt_ok(s);
            cr_assert_arr_eq(got, expected, bytes);
            for (size_t i = 0; i < bytes; i++)
                expected[i] = (unsigned char)(i * 7);
            pithp_copy_in(s, a->data, expected, bytes);
            pithp_copy_out(s, got, a->data, bytes);
            cr_assert_arr_eq(got, expected, bytes);
            pithp_buffer_release(a, 1);
            pithp_buffer_release(b, 1);
        }
    }
    pt_fails(PITH_E_INTERNAL, s, pithp_fill(s, NULL, &pattern, 3, 1));
    pith_scope_close(s);
    pt_close(rt);
}

static void count_release(void *closure, void *data) {
    (void)data;
    ++*(int *)closure;
}

Test(buffer, lends_memory_of_the_user_and_gives_it_back_once) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    double numbers[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    int released = 0;
    pithp_buffer_release(gt_buffer(s, 100), 1);
    const size_t pool = pith_memory_about(rt).pool;
    pithp_buffer *b =
        pithp_buffer_wrap(s, numbers, sizeof numbers, count_release, &released);
    pt_ok(s, b);
    cr_assert_eq(b->data, (void *)numbers);
    cr_assert_eq(pith_memory_about(rt).live, sizeof numbers);
    cr_assert_eq(pith_memory_about(rt).pool, pool, "it is none of the pool's");
    pithp_buffer_retain(b, 1);
    pithp_buffer_release(b, 1);
    cr_assert_eq(released, 0);
    pithp_buffer_release(b, 1);
    cr_assert_eq(released, 1);
    b = pithp_buffer_wrap(s, numbers, sizeof numbers, NULL, NULL); /* borrowed */
    pithp_buffer_release(b, 1);
    cr_assert_eq(pith_memory_about(rt).live, 0);
    pith_scope_close(s);
    pt_close(rt);
}

Test(buffer, of_another_runtime_is_refused) {
    pith_runtime *one = pt_open(), *other = pt_open();
    pith_scope *s = pith_scope_open(one), *t = pith_scope_open(other);
    pithp_buffer *b = gt_buffer(s, 4);
    pt_fails(PITH_E_ARG, t, pithp_buffer_read(t, b));
    pt_says("another runtime");
    pithp_buffer_release(b, 1);
    pt_close(one);
    pt_close(other);
}
