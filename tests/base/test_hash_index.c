/* Hash indices: entries are found by their hashes, the last one first. */
#include "base/hash_index.h"
#include "pith_test.h"

Test(hash_index, finds_entries_last_first) {
    pith_runtime *rt = pt_open();
    pithp_hash_index x = {.count = 0};
    cr_assert(pithp_hash_index_last(&x, 7) == -1, "an empty index");
    for (int32_t k = 0; k < 1000; k++) {
        cr_assert(pithp_hash_index_reserve(rt, &x, 1));
        pithp_hash_index_add(&x, (uint64_t)(k % 100) << (k % 2 ? 40 : 0));
    }
    for (int32_t h = 0; h < 100; h++) {
        const uint64_t hash = (uint64_t)h << (h % 2 ? 40 : 0);
        int32_t k = pithp_hash_index_last(&x, hash);
        for (int32_t expected = 900 + h; expected >= 0; expected -= 100) {
            cr_assert(k == expected, "%d of hash %d, expected %d", (int)k, (int)h,
                      (int)expected);
            k = pithp_hash_index_before(&x, k);
        }
        cr_assert(k == -1);
    }
    cr_assert(pithp_hash_index_last(&x, 12345) == -1, "no entry has this hash");
    pithp_hash_index_free(rt, &x);
    pt_close(rt);
}

Test(hash_index, is_unchanged_if_memory_is_short) {
    pith_runtime *rt = pt_open();
    pithp_hash_index x = {.count = 0};
    cr_assert(pithp_hash_index_reserve(rt, &x, 16));
    pithp_hash_index_add(&x, 3);
    atomic_store(&pt_default_heap.fail_at, atomic_load(&pt_default_heap.allocations) + 1);
    cr_assert(!pithp_hash_index_reserve(rt, &x, 1000));
    cr_assert(pithp_hash_index_last(&x, 3) == 0);
    pithp_hash_index_free(rt, &x);
    pt_close(rt);
}
