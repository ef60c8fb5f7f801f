/* The text of an expression: one for both compilers, which CUDA's has nothing to say
 * about. Skipped where NVRTC is not installed. */
#include "gpu/compile/toolchain.h"
#include "pith_test.h"
#include "program/cuda/cuda.h"
#include "tree/expression.h"

static void
emit(pithp_text *t, const char *expression, const uint8_t (*dtypes)[2], int loops) {
    pithp_map_text m = {
        .expression = expression, .trees = 2, .parameters = 2, .loop_count = loops};
    for (int i = 0; i < loops; i++)
        memcpy(m.loops[i].dtypes, dtypes[i], 2);
    pithp_expression_emit(t, &m);
}

Test(expression_text, compiles_for_cuda_without_a_word, .timeout = 120) {
    char identity[PITHP_IDENTITY_BYTES];
    pithp_error e;
    if (pithp_rtc_open(identity, &e) != PITH_OK)
        cr_skip_test("%s", e.text);
    pith_runtime *rt = pt_open();
    static const uint8_t dtypes[][2] = {{PITH_F32, PITH_F32},
                                        {PITH_F64, PITH_I32},
                                        {PITH_BOOL, PITH_F16},
                                        {PITH_BF16, PITH_U64},
                                        {PITH_I8, PITH_U16}};
    static const char *const expressions[] = {
        "a + p[0] * b",
        "pow(fabs(a), 1.5) + exp(b) * p[1] + fmin(a, 1) - fmax(1, b) + sqrt(2)",
        "quotient(7, 2) + rest(7, 2) + floor(a) + atan2(b, 2) + p[0]",
    };
    for (size_t i = 0; i < sizeof expressions / sizeof expressions[0]; i++) {
        pithp_text text, image, log;
        pithp_text_begin(&text, rt);
        pithp_text_begin(&image, rt);
        pithp_text_begin(&log, rt);
        pithp_text_add(&text, pithp_text_cuda);
        emit(&text, expressions[i], dtypes, 5);
        const pithp_compile_options options = {.name = "expression"};
        const pith_status rc =
            pithp_rtc_compile(i % 2 ? 75 : 90, text.bytes, &options, &image, &log, &e);
        cr_assert_eq(rc, PITH_OK, "%s", rc ? e.text : "");
        cr_assert_eq(log.length, 0u, "%s", log.bytes);
        cr_assert_gt(image.length, 2000u);
        pithp_text_end(&text);
        pithp_text_end(&image);
        pithp_text_end(&log);
    }
    pt_close(rt);
}

/* What does not depend on the compiler is the same for both: nothing of a device is in
 * it. */
Test(expression_text, has_a_loop_for_each_tuple_of_dtypes) {
    pith_runtime *rt = pt_open();
    pithp_text text;
    pithp_text_begin(&text, rt);
    static const uint8_t dtypes[][2] = {{PITH_F32, PITH_F16}, {PITH_I64, PITH_BOOL}};
    emit(&text, "a + p[1] * b", dtypes, 2);
    static const char *const parts[] = {
        "f32 *__restrict__ to = (f32 *)at[0];",
        "const f16 *__restrict__ from_b = (const f16 *)at[2];",
        "const f32 p[] = {(f32)q[0], (f32)q[1]};",
        "const f32 b = m_load_f16(from_b[i]);",
        "to[i] = m_to_f32((a + p[1] * b));",
        "i64 *__restrict__ to = (i64 *)at[0];",
        "const f64 p[] = {(f64)q[0], (f64)q[1]};",
        "const b8 b = from_b[i];",
        "case 1:",
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        cr_assert(strstr(text.bytes, parts[i]), "%s is not in\n%s", parts[i], text.bytes);
    cr_assert_null(strstr(text.bytes, "case 2:"));
    pithp_text_end(&text);
    pt_close(rt);
}
