/* Decisions of the CUDA backend that need no device. */
#include "base/base_internal.h"
#include "gpu/compile/toolkit.h"
#include "gpu/cuda/decide.h"
#include "pith_test.h"

static bool refused(pithp_cuda_machine m, int ordinal, const char *word) {
    char text[256];
    m.code_name = "cudaErrorSomething";
    if (!pithp_cuda_refused(&m, ordinal, text, sizeof text))
        return false;
    cr_assert(strstr(text, word), "\"%s\" lacks \"%s\"", text, word);
    cr_assert(!strchr(text, '\n'));
    return true;
}

Test(cuda_decide, takes_a_machine_with_a_device) {
    char text[64] = "left";
    const pithp_cuda_machine m = {13000, 13010, 0, "", 2};
    cr_assert(!pithp_cuda_refused(&m, 0, text, sizeof text));
    cr_assert(!pithp_cuda_refused(&m, 1, text, sizeof text));
    const pithp_cuda_machine oldest = {12080, 12080, 0, "", 1};
    cr_assert(!pithp_cuda_refused(&oldest, 0, text, sizeof text));
    cr_assert_str_eq(text, "");
}

Test(cuda_decide, refuses_a_machine_without_driver_or_device) {
    cr_assert(refused((pithp_cuda_machine){13000, 0, 35, NULL, 0}, 0, "no CUDA driver"));
    cr_assert(
        refused((pithp_cuda_machine){13000, 13000, 34, NULL, 0}, 0, "no CUDA driver"));
    cr_assert(refused((pithp_cuda_machine){13000, 13000, 100, NULL, 0}, 0, "no device"));
    cr_assert(refused((pithp_cuda_machine){13000, 13000, 0, NULL, 0}, 0, "no device"));
    cr_assert(refused((pithp_cuda_machine){13000, 13000, 999, NULL, 0}, 0,
                      "cudaErrorSomething (999)"));
}

Test(cuda_decide, refuses_an_old_driver_and_names_both_versions) {
    const pithp_cuda_machine old = {12080, 12040, 0, NULL, 1};
    cr_assert(refused(old, 0, "supports version 12.4"));
    cr_assert(refused(old, 0, "runtime 12.8"));
    cr_assert(refused(old, 0, "CUDA 12.8 or later"));
    /* new enough for pith, too old for the runtime that was linked */
    const pithp_cuda_machine behind = {13000, 12090, 35, NULL, 0};
    cr_assert(refused(behind, 0, "supports version 12.9"));
    cr_assert(refused(behind, 0, "CUDA 13.0 or later"));
}

Test(cuda_decide, refuses_a_device_that_is_not_there) {
    const pithp_cuda_machine m = {13000, 13000, 0, NULL, 2};
    cr_assert(refused(m, 2, "no CUDA device 2: 2 devices were found"));
    cr_assert(refused(m, -1, "no CUDA device -1"));
    const pithp_cuda_machine one = {13000, 13000, 0, NULL, 1};
    cr_assert(refused(one, 1, "1 device was found"));
}

Test(cuda_decide, only_a_refusal_leaves_the_device_alive) {
    cr_assert_eq(pithp_cuda_status(2), PITH_E_MEMORY);
    cr_assert_eq(pithp_cuda_status(1), PITH_E_INTERNAL);
    cr_assert_eq(pithp_cuda_status(209), PITH_E_UNSUPPORTED);
    cr_assert_eq(pithp_cuda_status(700), PITH_E_DEVICE); /* illegal address */
    cr_assert_eq(pithp_cuda_status(719), PITH_E_DEVICE); /* launch failure */
    cr_assert_eq(pithp_cuda_status(999), PITH_E_DEVICE); /* unknown */
}

Test(cuda_decide, codes_that_concern_one_call_leave_the_device_alive) {
    static const int codes[] = {4,   46,  200, 209, 222, 300, 301, 304, 600, 900, 901,
                                902, 903, 904, 905, 906, 907, 908, 913, 914, 915};
    for (int k = 0; k < PITHP_COUNT(codes); k++)
        cr_assert_neq(pithp_cuda_status(codes[k]), PITH_E_DEVICE, "%d", codes[k]);
}

Test(cuda_decide, images_that_the_driver_cannot_load_are_told_from_others) {
    static const int foreign[] = {98, 200, 209, 222}, others[] = {0, 1, 2, 218, 700};
    for (int k = 0; k < PITHP_COUNT(foreign); k++)
        cr_assert(pithp_cuda_is_foreign_code(foreign[k]), "%d", foreign[k]);
    for (int k = 0; k < PITHP_COUNT(others); k++)
        cr_assert(!pithp_cuda_is_foreign_code(others[k]), "%d", others[k]);
}

/* A driver of 12.8 loads nothing that a library of CUDA 13 makes. */
Test(cuda_decide, libraries_newer_than_the_driver_are_not_named) {
    static const struct {
        int driver;
        const char *names[3];
    } cases[] = {{0, {"libnvrtc.so.13", "libnvrtc.so.12", NULL}},
                 {13000, {"libnvrtc.so.13", "libnvrtc.so.12", NULL}},
                 {14020, {"libnvrtc.so.13", "libnvrtc.so.12", NULL}},
                 {12080, {"libnvrtc.so.12", NULL, NULL}},
                 {12090, {"libnvrtc.so.12", NULL, NULL}},
                 {11080, {NULL, NULL, NULL}}};
    for (int c = 0; c < PITHP_COUNT(cases); c++)
        for (int k = 0; k < 3; k++) {
            char name[64] = "";
            const bool named =
                pithp_toolkit_name("nvrtc", cases[c].driver, k, name, sizeof name);
            const char *want = cases[c].names[k];
            cr_assert_eq(named, want != NULL, "%d: %s", cases[c].driver, name);
            cr_assert(!named || !strcmp(name, want), "%d: %s", cases[c].driver, name);
        }
}

Test(cuda_decide, a_grid_has_a_thread_for_every_index) {
    static const int64_t counts[] = {1,
                                     2,
                                     255,
                                     256,
                                     257,
                                     4096,
                                     ((int64_t)1 << 31) - 1,
                                     (int64_t)1 << 31,
                                     ((int64_t)1 << 32) + 1,
                                     256 * (((int64_t)1 << 31) - 1)};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        pithp_cuda_grid grid;
        cr_assert(pithp_cuda_grid_for(counts[i], &grid));
        const int64_t threads = (int64_t)grid.blocks * grid.threads;
        cr_assert(threads >= counts[i] && threads - counts[i] < grid.threads,
                  "%lld threads for %lld indices", (long long)threads,
                  (long long)counts[i]);
        cr_assert(grid.blocks <= 2147483647u);
    }
    pithp_cuda_grid grid;
    cr_assert(!pithp_cuda_grid_for(256 * (((int64_t)1 << 31) - 1) + 1, &grid));
    cr_assert(!pithp_cuda_grid_for(INT64_MAX, &grid));
}

/* Copies of any sizes: pieces are in order, in bounds, and no byte of a segment is used
 * again before the ring has turned into it. */
Test(cuda_decide, staging_never_writes_where_a_copy_may_be_under_way) {
    pithp_staging staging = {0};
    size_t used[PITHP_STAGING_SEGMENTS] = {0};
    int at = 0;
    uint64_t seed = 1;
    for (int copy = 0; copy < 2000; copy++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        const int magnitude = (int)(seed >> 59); /* 0 to 31: bytes up to 4 MiB */
        size_t bytes = ((size_t)1 << (magnitude % 23)) + (size_t)((seed >> 40) % 100);
        while (bytes) {
            const pithp_staging_piece piece = pithp_staging_next(&staging, bytes);
            if (piece.turn) {
                cr_assert_eq(piece.segment, (at + 1) % PITHP_STAGING_SEGMENTS);
                at = piece.segment;
                used[at] = 0;
            }
            cr_assert_eq(piece.segment, at);
            cr_assert_eq(piece.offset % 256, 0u);
            cr_assert(piece.bytes > 0 && piece.bytes <= bytes);
            cr_assert_geq(piece.offset, used[at]);
            cr_assert_leq(piece.offset + piece.bytes, PITHP_STAGING_SEGMENT_BYTES);
            used[at] = piece.offset + piece.bytes;
            bytes -= piece.bytes;
        }
    }
    pithp_staging_turn(&staging);
    cr_assert(pithp_staging_next(&staging, 1).turn);
}

Test(cuda_decide, a_fill_repeats_its_pattern) {
    const uint32_t four = 0x04030201u;
    const pithp_fill_plan plan = pithp_fill_plan_for(&four, sizeof four);
    cr_assert_eq(plan.word, 0x0403020104030201u);
    cr_assert(!plan.byte);
    const uint16_t same = 0x7f7f;
    cr_assert(pithp_fill_plan_for(&same, sizeof same).byte);
    const double zero = 0, minus_zero = -0.0;
    cr_assert(pithp_fill_plan_for(&zero, sizeof zero).byte);
    cr_assert(!pithp_fill_plan_for(&minus_zero, sizeof minus_zero).byte);
    const uint8_t one = 1;
    cr_assert_eq(pithp_fill_plan_for(&one, 1).word, 0x0101010101010101u);
}
