/* Kernel files under NVRTC, which needs no device: the text that the host and nvcc
 * compile, with pith's headers in front of it. Skipped where NVRTC is not installed. */
#include "compile_test.h"

/* Add a file without its includes, which were added before it. */
static void add_file(pithp_string *t, const char *name) {
    char path[1024], line[1024];
    snprintf(path, sizeof path, "%s/%s", PITH_TEST_SOURCE, name);
    FILE *file = fopen(path, "r");
    cr_assert(file, "%s", path);
    while (fgets(line, sizeof line, file))
        if (strncmp(line, "#include ", 9) != 0)
            pithp_string_add(t, line);
    fclose(file);
}

/* headers: that the kernels include, up to NULL; or NULL. */
static void
compiles(const char *const *headers, const char *kernels, const char *real, int arch) {
    char identity[PITHP_IDENTITY_BYTES];
    pithp_error e;
    if (pithp_rtc_open(identity, &e) != PITH_OK) {
        cr_assert_eq(e.code, PITH_E_UNSUPPORTED);
        cr_skip_test("%s", e.text);
    }
    pith_runtime *rt = pt_open();
    pithp_string text, image, log;
    pithp_string_begin(&text, rt);
    pithp_string_begin(&image, rt);
    pithp_string_begin(&log, rt);
    if (real)
        pithp_string_print(&text, "#define PITH_KERNEL_REAL %s\n", real);
    add_file(&text, "../../include/pith/kernel_types.h");
    add_file(&text, "../../include/pith/kernel_macros.h");
    add_file(&text, "../../include/pith/kernel.h");
    add_file(&text, "../../include/pith/kernel_lanes.h");
    for (int i = 0; headers && headers[i]; i++)
        add_file(&text, headers[i]);
    add_file(&text, kernels);
    cr_assert(!text.failed);
    const pith_status rc = pithp_rtc_compile(
        arch, text.bytes, &(pithp_compile_options){.name = kernels}, &image, &log, &e);
    cr_assert_eq(rc, PITH_OK, "%s", rc ? e.text : "");
    cr_assert_eq(log.length, 0u, "%s", log.bytes);
    cr_assert(image.length > 500 && memcmp(image.bytes, "\177ELF", 4) == 0);
    pithp_string_end(&text);
    pithp_string_end(&image);
    pithp_string_end(&log);
    pt_close(rt);
}

Test(kernel_rtc, plain_kernels) {
    compiles(NULL, "kernels/plain.h", NULL, 90);
}
Test(kernel_rtc, kernels_of_each_real) {
    compiles(NULL, "kernels/real.h", "f32", 75);
    compiles(NULL, "kernels/real.h", "f64", 90);
}
Test(kernel_rtc, the_kernels_of_the_melt) {
    static const char *const headers[] = {"../../examples/melt/melt_cells.h",
                                          "../../examples/melt/melt_pair.h", NULL};
    compiles(headers, "../../examples/melt/melt_kernels.h", "f32", 90);
    compiles(headers, "../../examples/melt/melt_kernels.h", "f64", 75);
    compiles(headers, "../../examples/melt/brick_kernels.h", "f64", 90);
}
