/* Checkpoints that earlier versions wrote, one of every format: they are read for ever.
 */
#include "checkpoint_test.h"

typedef struct GoldenPart {
    const pith_array *mass;
    const char *name;
} GoldenPart;
PITH_NODE(GoldenPart, PITH_LEAF(mass, "f32[n]", .unit = "u"), PITH_STATIC(name))

static const char *const golden_modes[] = {"open", "closed", NULL};

typedef struct Golden {
    const GoldenPart *part, *none;
    const pith_array *x, *count;
    const void *any;
    int64_t width;
    double cutoff;
    bool on;
    int mode;
    pith_dtype real;
} Golden;
PITH_NODE(Golden,
          PITH_VERSION(2),
          PITH_CHILD(part, GoldenPart),
          PITH_CHILD(none, GoldenPart, .optional = true),
          PITH_LEAF(x, "real[n,width]"),
          PITH_LEAF(count, "u64"),
          PITH_TREE(any),
          PITH_STATIC(width),
          PITH_STATIC(cutoff),
          PITH_STATIC(on),
          PITH_STATIC_ENUM(mode, golden_modes),
          PITH_STATIC_DTYPE(real))

static const Golden *golden_state(pith_scope *s) {
    double x[150];
    float mass[50];
    for (int i = 0; i < 150; i++)
        x[i] = i % 7 == 3 ? -0.0 : (i - 75) / 3.0;
    for (int i = 0; i < 50; i++)
        mass[i] = 1 + (float)i / 8;
    x[0] = (double)NAN, x[1] = (double)INFINITY, x[2] = 5e-324;
    const uint64_t top = UINT64_MAX;
    const GoldenPart part = {pith_array_copy(s, PITH_F32, PITH_SHAPE(50), mass),
                             "\u00c5ngstr\u00f6m"};
    const char *const keys[] = {"a", "b c"};
    const void *items[] = {
        pith_bool(s, true),
        pith_list_make(s, PITH_ITEMS(pith_none_make(s), pith_f32(s, 0.1f)))};
    const Golden golden = {.part = pith_freeze(s, GoldenPart, &part),
                           .x = pith_array_copy(s, PITH_F64, PITH_SHAPE(50, 3), x),
                           .count = pith_array_copy(s, PITH_U64, PITH_SCALAR, &top),
                           .any = pith_dict_make(s, 2, keys, items),
                           .width = 3,
                           .cutoff = 0.1,
                           .on = true,
                           .mode = 1,
                           .real = PITH_F64};
    return pith_freeze(s, Golden, &golden);
}

static void check(const char *name, int64_t step) {
    char path[1024];
    snprintf(path, sizeof path, "%s/../data/checkpoints/%s", PITH_TEST_SOURCE, name);
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const char *keep = getenv("PITH_GOLDEN_FOLDER"); /* to write those of a new format */
    const pith_save_options options = {.step = step,
                                       .inline_all = strstr(name, "inline") != NULL,
                                       .metadata = PITH_METADATA({"kept", "for ever"})};
    if (keep) {
        snprintf(path, sizeof path, "%s/%s", keep, name);
        pt_ok(s, pith_save(s, golden_state(s), path, &options));
    }
    const Golden *golden = pith_load(s, Golden, path);
    pt_ok(s, golden);
    cr_assert(ct_same_bits(s, golden, golden_state(s)));
    cr_assert(golden->mode == 1 && golden->cutoff == 0.1 && golden->real == PITH_F64);
    const pith_checkpoint *c = pith_checkpoint_open(s, path);
    pt_ok(s, c);
    cr_assert(pith_checkpoint_about(c)->step == step);
    cr_assert_str_eq(pith_checkpoint_metadata(c, 0).value, "for ever");
    pith_scope_close(s);
    pt_close(rt);
}

Test(golden, format_1_is_read) {
    check("format-1.json", 100);
}
/* Its sidecar had to be covered by leaves, each of which was part of its checksum. */
Test(golden, format_1_is_checked_by_its_own_rules) {
    ct_begin();
    static const char *const files[] = {"format-1.json",
                                        "format-1.003bfb6bc629e0dd.safetensors"};
    char path[1024];
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/../data/checkpoints/%s", PITH_TEST_SOURCE,
                 files[i]);
        const ct_file f = ct_read(path);
        ct_write(files[i], f.bytes, f.n);
        free(f.bytes);
    }
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    pt_ok(s, pith_load(s, Golden, files[0]));
    ct_replace(files[0], "\"bytes\":1328", "\"bytes\":1336");
    ct_replace(files[0], "\"begin\":0,\"end\":1200", "\"begin\":8,\"end\":1208");
    pt_fails(PITH_E_FORMAT, s, pith_load(s, Golden, files[0]));
    pt_says("the leaves in its sidecar overlap or leave holes");
    ct_replace(files[0], "\"begin\":8,\"end\":1208", "\"begin\":0,\"end\":1200");
    pt_fails(PITH_E_FORMAT, s, pith_load(s, Golden, files[0]));
    pt_says("the leaves in its sidecar do not fill it");
    ct_replace(files[0], "\"bytes\":1336", "\"bytes\":1328");
    ct_file f = ct_read(files[1]);
    f.bytes[20] ^= 1;
    ct_write(files[1], f.bytes, f.n);
    free(f.bytes);
    pt_fails(PITH_E_FORMAT, s, pith_load(s, Golden, files[0]));
    pt_says("the header of \"format-1.003bfb6bc629e0dd.safetensors\" is damaged");
    pith_scope_close(s);
    pt_close(rt);
    ct_end();
}
Test(golden, format_1_in_one_file_is_read) {
    check("format-1-inline.json", 200);
}
