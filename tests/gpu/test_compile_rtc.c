/* NVRTC, which needs no device: the same text becomes code for every architecture, and
 * the compiler has nothing to say about it. Skipped where NVRTC is not installed. */
#include "compile_test.h"

static const char axpy_cuda[] =
    "struct axpy_args { const double *x; double *y; double a; long long n; };\n"
    "extern \"C\" __global__ void axpy(axpy_args p) {\n"
    "    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;\n"
    "    if (i < p.n)\n"
    "        p.y[i] = p.y[i] + p.a * p.x[i];\n"
    "}\n";

static const int archs[] = {75, 90};

static void need_rtc(char identity[PITHP_IDENTITY_BYTES]) {
    pithp_error e;
    if (pithp_rtc_open(identity, &e) == PITH_OK)
        return;
    cr_assert_eq(e.code, PITH_E_UNSUPPORTED);
    cr_skip_test("%s", e.text);
}

Test(compile_rtc, compiles_one_text_for_each_architecture_without_a_word) {
    char identity[PITHP_IDENTITY_BYTES];
    need_rtc(identity);
    pith_runtime *rt = pt_open();
    for (int i = 0; i < PITHP_COUNT(archs); i++) {
        pithp_string image, log;
        pithp_error e;
        pithp_string_begin(&image, rt);
        pithp_string_begin(&log, rt);
        const pith_status rc =
            pithp_rtc_compile(archs[i], axpy_cuda,
                              &(pithp_compile_options){.name = "axpy"}, &image, &log, &e);
        cr_assert_eq(rc, PITH_OK, "%s", rc ? e.text : "");
        cr_assert_eq(log.length, 0u, "%s", log.bytes);
        cr_assert(image.length > 500 && memcmp(image.bytes, "\177ELF", 4) == 0);
        pithp_string_end(&image);
        pithp_string_end(&log);
    }
    pt_close(rt);
}

Test(compile_rtc, a_newer_device_gets_ptx) {
    char identity[PITHP_IDENTITY_BYTES];
    need_rtc(identity);
    pith_runtime *rt = pt_open();
    pithp_string image, log;
    pithp_error e;
    pithp_string_begin(&image, rt);
    pithp_string_begin(&log, rt);
    const pithp_compile_options options = {.name = "axpy"};
    cr_assert_eq(pithp_rtc_compile(990, axpy_cuda, &options, &image, &log, &e), PITH_OK);
    cr_assert(strstr(image.bytes, ".entry axpy"));
    cr_assert(!strstr(image.bytes, "fma.rn"));
    cr_assert_eq(image.bytes[image.length - 1], 0);
    cr_assert_eq(pithp_rtc_compile(20, axpy_cuda, &options, &image, &log, &e),
                 PITH_E_UNSUPPORTED);
    cr_assert(strstr(e.text, "2.0"), "%s", e.text);
    pithp_string_end(&image);
    pithp_string_end(&log);
    pt_close(rt);
}

Test(compile_rtc, a_mistake_is_reported_with_its_line) {
    char identity[PITHP_IDENTITY_BYTES];
    need_rtc(identity);
    pith_runtime *rt = pt_open();
    pithp_string image, log;
    pithp_error e;
    pithp_string_begin(&image, rt);
    pithp_string_begin(&log, rt);
    cr_assert_eq(
        pithp_rtc_compile(90, "extern \"C\" __global__ void f() {\n  nonsense;\n}\n",
                          &(pithp_compile_options){.name = "step"}, &image, &log, &e),
        PITH_E_COMPILE);
    cr_assert(strstr(e.text, "step does not compile with NVRTC"), "%s", e.text);
    cr_assert(strstr(e.text, "step(2): error"), "%s", e.text);
    cr_assert(strstr(e.text, "nonsense"), "%s", e.text);
    cr_assert_eq(image.length, 0u);
    pithp_string_end(&image);
    pithp_string_end(&log);
    pt_close(rt);
}
