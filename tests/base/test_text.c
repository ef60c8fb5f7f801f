/* The string buffer, and memory that is counted. */
#include "base/base_internal.h"
#include "base/bytes.h"
#include "comma_test.h"

#include <pith/runtime.h>

Test(text, grows_and_stays_terminated) {
    pith_runtime *rt = pt_open();
    pithp_string t;
    pithp_string_begin(&t, rt);
    cr_assert_str_eq(t.bytes, "");
    pithp_string_add(&t, "");
    pithp_string_add_n(&t, "abcdef", 3);
    pithp_string_print(&t, "-%d-%s", 42, "xyz");
    cr_assert_str_eq(t.bytes, "abc-42-xyz");
    for (int i = 0; i < 10000; i++)
        pithp_string_print(&t, "%d", i % 10);
    cr_assert_eq(t.length, 10010);
    cr_assert_eq(strlen(t.bytes), t.length);
    cr_assert_not(t.failed);
    pithp_string_end(&t);
    cr_assert_str_eq(t.bytes, "");
    pt_close(rt);
}

Test(text, shows_elements_exactly) {
    pith_runtime *rt = pt_open();
    pithp_string t;
    pithp_string_begin(&t, rt);
    const int64_t i = -(((int64_t)1 << 53) + 1);
    const uint64_t u = UINT64_MAX;
    const int8_t small = -7;
    const float f = 0.1f;
    pithp_string_add_element(&t, PITH_I64, &i);
    pithp_string_add(&t, " ");
    pithp_string_add_element(&t, PITH_U64, &u);
    pithp_string_add(&t, " ");
    pithp_string_add_element(&t, PITH_I8, &small);
    pithp_string_add(&t, " ");
    pithp_string_add_element(&t, PITH_F32, &f);
    cr_assert_str_eq(t.bytes,
                     "-9007199254740993 18446744073709551615 -7 0.10000000149011612");
    pithp_string_end(&t);
    pt_close(rt);
}

Test(text, prints_bytes_with_three_digits) {
    static const struct {
        uint64_t bytes;
        const char *text;
    } rows[] = {{0, "0 B"},
                {999, "999 B"},
                {1000, "0.98 KiB"},
                {1024, "1.00 KiB"},
                {3200, "3.12 KiB"},
                {10240, "10.0 KiB"},
                {96000, "93.8 KiB"},
                {1023450, "999 KiB"},
                {1023500, "0.98 MiB"},
                {(uint64_t)144 << 20, "144 MiB"},
                {UINT64_MAX, "16.0 EiB"}};
    char text[PITHP_BYTES_TEXT];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cr_assert_str_eq(pithp_bytes_text(text, rows[i].bytes), rows[i].text);
}

Test(text, parses_bytes_with_units) {
    size_t bytes = 7;
    cr_assert(pithp_parse_bytes("500000", &bytes) && bytes == 500000);
    cr_assert(pithp_parse_bytes("2GiB", &bytes) && bytes == (size_t)2 << 30);
    cr_assert(pithp_parse_bytes("16777215TiB", &bytes) && bytes == SIZE_MAX >> 40 << 40);
    static const char *const invalid[] = {"",       "-1",  " 1",   "1 KiB",       "1kB",
                                          "2.5GiB", "MiB", "1PiB", "16777216TiB", "0x10"};
    bytes = 7;
    for (size_t i = 0; i < sizeof invalid / sizeof *invalid; i++)
        cr_assert(!pithp_parse_bytes(invalid[i], &bytes) && bytes == 7, "%s", invalid[i]);
}

Test(text, messages_do_not_depend_on_the_decimal_point_of_the_locale) {
    if (!pt_use_comma())
        cr_skip("localedef made no locale");
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    pithp_string t;
    pithp_string_begin(&t, rt);
    pithp_string_print(&t, "%.2f %g", 1234567.25, 1e-9);
    cr_assert_str_eq(t.bytes, "1234567.25 1e-09");
    pithp_string_end(&t);
    pt_fails(PITH_E_ARG, s, pithp_fail(s, PITH_E_ARG, NULL, "no range by %g", 0.5));
    pt_says("no range by 0.5");
    char here[8];
    snprintf(here, sizeof here, "%.1f", 0.5);
    cr_assert_str_eq(here, "0,5"); /* the program's own numbers are as they were */
    pith_scope_close(s);
    pt_close(rt);
}

Test(text, numbers_do_not_depend_on_the_decimal_point_of_the_locale) {
    if (!pt_use_comma())
        cr_skip("localedef made no locale");
    pith_runtime *rt = pt_open();
    pithp_string t;
    pithp_string_begin(&t, rt);
    const double numbers[] = {3.25, -0x1.8p-40, 7, INFINITY};
    for (int i = 0; i < PITHP_COUNT(numbers); i++) {
        pithp_string_add_element(&t, PITH_F64, &numbers[i]);
        pithp_string_add(&t, " ");
    }
    pithp_string_add_number(&t, 2, 0.125);
    cr_assert_str_eq(t.bytes, "3.25 -1.3642420526593924e-12 7 inf 0.12");
    pithp_string_end(&t);
    pt_close(rt);
}

Test(text, keeps_what_it_has_when_memory_is_short) {
    pith_runtime *rt = pt_open();
    pithp_string t;
    pithp_string_begin(&t, rt);
    pithp_string_add(&t, "kept");
    atomic_store(&pt_default_heap.fail_at, atomic_load(&pt_default_heap.allocations) + 1);
    for (int i = 0; i < 100; i++)
        pithp_string_add(&t, "0123456789");
    cr_assert(t.failed);
    cr_assert_eq(strncmp(t.bytes, "kept", 4), 0);
    cr_assert_eq(strlen(t.bytes), t.length);
    const size_t length = t.length;
    pithp_string_add(&t, "x"); /* a cut text is not continued */
    pithp_string_print(&t, "%d", 1);
    cr_assert_eq(t.length, length);
    pithp_string_end(&t);
    pt_close(rt);
}

Test(memory, is_counted_to_the_byte) {
    pith_runtime *rt = pt_open();
    const size_t before = pithp_bytes_allocated(rt);
    cr_assert_eq((long long)before, atomic_load(&pt_default_heap.bytes));
    void *a = pithp_allocate(rt, 1000), *b = pithp_allocate_aligned(rt, 5000, 4096);
    cr_assert_eq((uintptr_t)b % 4096, 0);
    cr_assert_eq(pithp_bytes_allocated(rt), before + 6000);
    memset(a, 7, 1000);
    a = pithp_reallocate(rt, a, 1000, 3000);
    for (int i = 0; i < 1000; i++)
        cr_assert_eq(((char *)a)[i], 7);
    cr_assert_eq(pithp_bytes_allocated(rt), before + 8000);
    atomic_store(&pt_default_heap.fail_at, atomic_load(&pt_default_heap.allocations) + 1);
    cr_assert_null(pithp_reallocate(rt, a, 3000, 4000), "and the old one is untouched");
    cr_assert_eq(((char *)a)[999], 7);
    pithp_release(rt, a, 3000);
    pithp_release_aligned(rt, b, 5000, 4096);
    pithp_release(rt, NULL, 100);
    cr_assert_null(pithp_allocate(rt, SIZE_MAX));
    void *empty = pithp_allocate(rt, 0);
    cr_assert_not_null(empty);
    pithp_release(rt, empty, 0);
    cr_assert_eq(pithp_bytes_allocated(rt), before);
    pt_close(rt);
}

Test(memory, of_a_runtime_is_all_returned) {
    pt_heap heap = {0};
    const pith_allocator allocator = pt_allocator(&heap);
    pith_runtime *rt =
        pith_open(&(pith_open_options){.device = "host", .allocator = &allocator});
    for (int i = 0; i < 5; i++)
        pithp_scope_allocate(pith_scope_open_in(pith_scope_open(rt)), 100000);
    cr_assert_gt(atomic_load(&heap.live), 5);
    pith_close(rt); /* with its scopes open */
    pt_no_leak(&heap);
}

Test(memory, short_from_the_start_gives_a_failed_runtime) {
    pt_heap heap = {.fail_at = 1};
    const pith_allocator allocator = pt_allocator(&heap);
    pith_runtime *rt =
        pith_open(&(pith_open_options){.device = "host", .allocator = &allocator});
    cr_assert_eq(pith_runtime_code(rt), PITH_E_MEMORY);
    pith_scope *s = pith_scope_open(rt);
    cr_assert_eq(pith_code(s), PITH_E_MEMORY);
    pith_clear(s);
    cr_assert_eq(pith_code(s), PITH_E_MEMORY);
    cr_assert_eq(pith_code(pith_scope_open_in(s)), PITH_E_MEMORY);
    pith_set_log_hook(rt, NULL, NULL);
    pith_scope_close(s);
    pith_close(rt);
    pt_no_leak(&heap);
}

Test(memory, hashes_tell_texts_apart) {
    cr_assert_eq(pithp_hash(1, "abcdefghij", 10), pithp_hash(1, "abcdefghij", 10));
    cr_assert_neq(pithp_hash(1, "abcdefghij", 10), pithp_hash(2, "abcdefghij", 10));
    cr_assert_neq(pithp_hash(1, "abcdefghij", 10), pithp_hash(1, "abcdefghik", 10));
    cr_assert_neq(pithp_hash(1, "abcdefghij", 10), pithp_hash(1, "abcdefghij", 9));
}
