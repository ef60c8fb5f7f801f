/* The machine code of kernels: a thread has all of its loads under way before its first
 * store, or they would wait for one another. Skipped where NVRTC is not installed.
 *
 * An instruction of sm_70 and later has 16 bytes, the low 12 bits of which say what it
 * is. */
#include "cuda_target.h"
#include "gpu/compile/toolchain.h"
#include "graph_test.h"
#include "kernels.h"
#include "pith_test.h"

#include <elf.h>

static const int archs[] = {75, 90};

static void need_nvrtc(void) {
    char identity[PITHP_IDENTITY_BYTES];
    pithp_error e;
    if (pithp_rtc_open(identity, &e) != PITH_OK)
        cr_skip_test("%s", e.text);
}

/* ---- Code ---- */

/* Loads of global memory before the first store to it, and after. */
typedef struct loads {
    int before, after, stores;
} loads;

static bool is_load(unsigned code) {
    return code == 0x381 || code == 0x981; /* LDG, of sm_75 and of later ones */
}
static bool is_store(unsigned code) {
    return code == 0x386 || code == 0x986; /* STG */
}

static loads loads_of(const unsigned char *code, size_t bytes) {
    loads n = {0};
    for (size_t at = 0; at + 16 <= bytes; at += 16) {
        const unsigned what = (unsigned)(code[at] | code[at + 1] << 8) & 0xfff;
        n.stores += is_store(what);
        n.before += is_load(what) && !n.stores;
        n.after += is_load(what) && n.stores;
    }
    return n;
}

/* Of the kernel of that name in an image. */
static loads loads_in(const pithp_string *image, const char *kernel) {
    Elf64_Ehdr head;
    char wanted[80];
    cr_assert_gt(image->length, sizeof head);
    memcpy(&head, image->bytes, sizeof head);
    cr_assert(!memcmp(head.e_ident, ELFMAG, SELFMAG));
    Elf64_Shdr *sections = malloc(head.e_shnum * sizeof *sections);
    memcpy(sections, image->bytes + head.e_shoff, head.e_shnum * sizeof *sections);
    const char *names = image->bytes + sections[head.e_shstrndx].sh_offset;
    snprintf(wanted, sizeof wanted, ".text.%s", kernel);
    loads n = {0};
    bool found = false;
    for (int k = 0; k < head.e_shnum && !found; k++) {
        found = !strcmp(names + sections[k].sh_name, wanted);
        if (found)
            n = loads_of((const unsigned char *)image->bytes + sections[k].sh_offset,
                         sections[k].sh_size);
    }
    free(sections);
    cr_assert(found, "no code of %s", kernel);
    return n;
}

/* ---- Texts ---- */

static pithp_string begin(pith_runtime *rt) {
    pithp_string t;
    pithp_string_begin(&t, rt);
    return t;
}

static void compile(int arch, const pithp_string *text, pithp_string *image) {
    pithp_string log = begin(image->rt);
    pithp_error e = {.code = PITH_OK};
    const pithp_compile_options options = {.name = "loads"};
    cr_assert_eq(pithp_rtc_compile(arch, text->bytes, &options, image, &log, &e), PITH_OK,
                 "%s %s", e.text, log.bytes);
    pithp_string_end(&log);
}

static void expect_ahead(const pithp_string *image, const char *kernel, int reads) {
    const loads n = loads_in(image, kernel);
    cr_expect(n.stores == 4 && n.before >= 4 * reads && n.after == 0,
              "%s: %d loads before the first of %d stores, %d after", kernel, n.before,
              n.stores, n.after);
}

/* Single operations, whose arguments come by value. */
Test(cuda_code, single_operations_load_before_they_store, .timeout = 120) {
    static const struct {
        pithp_primitive primitive;
        pith_dtype dtype;
        int reads;
    } rows[] = {{PITHP_OP_NEG, PITH_F32, 1},
                {PITHP_OP_ADD, PITH_F64, 2},
                {PITHP_OP_MUL, PITH_I8, 2},
                {PITHP_OP_ADD, PITH_BF16, 2}};
    need_nvrtc();
    pith_runtime *rt = pt_open();
    for (int a = 0; a < PITHP_COUNT(archs); a++)
        for (int k = 0; k < PITHP_COUNT(rows); k++) {
            const pith_spec spec = {.dtype = rows[k].dtype};
            const pith_spec *operands[] = {&spec, &spec};
            const pithp_call call =
                pithp_call_of(rows[k].primitive, rows[k].reads, operands, NULL);
            pithp_string text = begin(rt), image = begin(rt);
            pithp_string_add(&text, pithp_text_cuda);
            pithp_elementwise_text(&text, &call);
            compile(archs[a], &text, &image);
            expect_ahead(&image, "pithp_elementwise", rows[k].reads);
            pithp_string_end(&text);
            pithp_string_end(&image);
        }
    pt_close(rt);
}

/* x y + z of a dtype, where z may be a row that is broadcast. */
static void keep_fused(pith_scope *s, kernels *k, pith_dtype dtype, bool broadcast) {
    const int64_t shape[] = {300, 100};
    const pith_spec *whole = pithp_spec(s, dtype, 2, shape);
    pithp_program *p = pithp_program_make(s);
    pithp_value in[3];
    for (int i = 0; i < 3; i++)
        in[i] = pithp_program_input(
            s, p, i == 2 && broadcast ? pithp_spec(s, dtype, 1, shape + 1) : whole);
    const pithp_value product =
        pithp_program_add(s, p, PITHP_OP_MUL, 2, in, NULL, "here:1");
    const pithp_value sum = pithp_program_add(
        s, p, PITHP_OP_ADD, 2, (pithp_value[]){product, in[2]}, NULL, "here:2");
    cr_assert(sum >= 0 && pithp_program_output(s, p, sum), "%s", pith_message(s));
    pithp_error e = {.code = PITH_OK};
    pithp_plan *plan = pithp_plan_make_for(s, p, PITHP_PLAN_SCHEDULED);
    cr_assert(plan, "%s", pith_message(s));
    pithp_schedule *schedule = pithp_schedule_make(s, plan, PITHP_GEMM_NONE, &e);
    cr_assert(schedule, "%s", e.text);
    kernels_add(k, schedule, "fused");
    pithp_schedule_free(schedule);
    pithp_plan_free(plan);
    pithp_program_release(p);
}

/* Fused steps, whose arguments lie in memory. */
Test(cuda_code, fused_steps_load_before_they_store, .timeout = 120) {
    static const pith_dtype dtypes[] = {PITH_F32, PITH_F64, PITH_F16, PITH_I32};
    need_nvrtc();
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    kernels k;
    kernels_begin(&k, rt);
    for (int d = 0; d < PITHP_COUNT(dtypes); d++)
        for (int broadcast = 0; broadcast < 2; broadcast++)
            keep_fused(s, &k, dtypes[d], broadcast);
    for (int a = 0; a < PITHP_COUNT(archs); a++) {
        pithp_string image = begin(rt), log = begin(rt);
        k.image = &image;
        cr_assert(kernels_compile(&k, 0, k.count, archs[a], false, &log), "%s",
                  log.bytes);
        for (int64_t n = 0; n < k.count; n++) {
            char name[PITHP_STEP_NAME_BYTES];
            pithp_step_name(name, "pith_step", n);
            expect_ahead(&image, name, 3);
        }
        pithp_string_end(&image);
        pithp_string_end(&log);
    }
    kernels_end(&k);
    pith_scope_close(s);
    pt_close(rt);
}

/* What the tests look for: elements done in turn are seen. */
Test(cuda_code, stores_between_loads_are_seen) {
    need_nvrtc();
    pith_runtime *rt = pt_open();
    for (int a = 0; a < PITHP_COUNT(archs); a++) {
        pithp_string text = begin(rt), image = begin(rt);
        pithp_string_add(&text, "extern \"C\" __global__ void f(float *x, float *y) {\n"
                                "    for (int k = 0; k < 4; k++)\n"
                                "        y[256 * k] = x[256 * k] + 1;\n"
                                "}\n");
        compile(archs[a], &text, &image);
        const loads n = loads_in(&image, "f");
        cr_assert(n.before == 1 && n.stores == 4 && n.after == 3, "%d %d %d", n.before,
                  n.stores, n.after);
        pithp_string_end(&text);
        pithp_string_end(&image);
    }
    pt_close(rt);
}
