/* Every elementwise program compiles for CUDA, and the compiler has nothing to say about
 * it. Skipped where NVRTC is not installed. */
#include "cuda_target.h"
#include "gpu/compile/toolchain.h"
#include "pith_test.h"

static void compile_rows(pith_runtime *rt, pith_dtype dtype, int arch) {
    pithp_text text, image, log;
    pithp_error e;
    pithp_text_begin(&text, rt);
    pithp_text_begin(&image, rt);
    pithp_text_begin(&log, rt);
    pithp_text_add(&text, pithp_text_cuda);
    cuda_rows_text(&text, dtype);
    const pithp_compile_options options = {.name = pith_dtype_name(dtype)};
    const pith_status rc =
        pithp_rtc_compile(arch, text.bytes, &options, &image, &log, &e);
    cr_assert_eq(rc, PITH_OK, "%s", rc ? e.text : "");
    cr_assert_eq(log.length, 0u, "%s for %d: %s", pith_dtype_name(dtype), arch,
                 log.bytes);
    cr_assert_gt(image.length, 5000u);
    pithp_text_end(&text);
    pithp_text_end(&image);
    pithp_text_end(&log);
}

Test(cuda_text, every_row_and_dtype_compiles_without_a_word, .timeout = 600) {
    char identity[PITHP_IDENTITY_BYTES];
    pithp_error e;
    if (pithp_rtc_open(identity, &e) != PITH_OK)
        cr_skip_test("%s", e.text);
    pith_runtime *rt = pt_open();
    /* all of them take a minute */
    static const pith_dtype some[] = {PITH_BOOL, PITH_F32};
    const bool all = getenv("PITH_TEST_ALL") != NULL;
    for (int d = all ? 1 : 0; d < (all ? PITH_DTYPE_COUNT : PITHP_COUNT(some)); d++)
        compile_rows(rt, all ? (pith_dtype)d : some[d], d % 2 ? 75 : 90);
    pt_close(rt);
}
