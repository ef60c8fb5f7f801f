/* Checkpoints that earlier versions wrote, some of every format: they are read for ever,
 * and the newest format is written as it was. */
#include "checkpoint_test.h"
#include "formats/state.h"

static const char *folder_of(int format) {
    static char path[1024];
    snprintf(path, sizeof path, "%s/formats/%d", PITH_TEST_SOURCE, format);
    return path;
}

static void check(pith_scope *s, const formats_row *row, const char *folder) {
    char path[1200];
    snprintf(path, sizeof path, "%s/%s", folder, row->file);
    const void *tree = pith_load_any(s, NULL, path, NULL);
    pt_ok(s, tree);
    cr_assert(ct_same_bits(s, tree, formats_state(s, row->kind)), "%s", path);
    const pith_checkpoint *c = pith_checkpoint_open(s, path);
    pt_ok(s, c);
    const pith_checkpoint_info *about = pith_checkpoint_about(c);
    cr_assert(about->format == row->format && about->step == row->options.step);
    cr_assert_str_eq(pith_checkpoint_metadata(c, 0).value, "for ever");
    for (int64_t i = 0; i < about->leaf_count; i++)
        pt_ok(s, pith_checkpoint_verify(s, c, i));
}

Test(formats, of_all_versions_are_read) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    Golden_pith_type(); /* known to this process */
    GoldenPart_pith_type();
    for (int i = 0; i < FORMATS_ROWS; i++)
        check(s, &formats_rows[i], folder_of(formats_rows[i].format));
    char path[1200];
    snprintf(path, sizeof path, "%s/series.json", folder_of(2));
    const Golden *newest =
        pith_load_any(s, Golden_pith_type(), path, &(pith_load_options){.newest = true});
    pt_ok(s, newest);
    cr_assert(ct_same_bits(s, newest, formats_state(s, CHANGED)));
    cr_assert(newest->mode == 1 && newest->cutoff == 0.1 && newest->real == PITH_F64);
    pith_scope_close(s);
    pt_close(rt);
}

/* The text without the lines that state the library's version and the checksum. */
static ct_file read_comparable(const char *path) {
    ct_file f = ct_read(path);
    if (!strstr(path, ".json"))
        return f;
    static const char *const lines[] = {"\"library\":", "\"checksum\":\""};
    for (int i = 0; i < 2; i++) {
        char *at = i == 0 ? strstr(f.bytes, lines[i]) : f.bytes + f.n - 47;
        cr_assert(at && strncmp(at, lines[i], strlen(lines[i])) == 0, "%s", path);
        char *end = strchr(at, '\n');
        f.n = (size_t)(end - f.bytes) + strlen(end) - (size_t)(end - at);
        memmove(at, end, strlen(end) + 1);
    }
    return f;
}

/* What zstd makes of a leaf depends on its version. */
static bool is_comparable(const char *name) {
    return name[0] != '.' && strncmp(name, "packed", 6) != 0;
}

Test(formats, of_today_are_written_as_they_were) {
    ct_begin();
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    int compared = 0;
    for (int i = 0; i < FORMATS_ROWS; i++)
        if (formats_rows[i].format == FORMATS_NEWEST) {
            pt_ok(s, formats_save(s, &formats_rows[i], "."));
            check(s, &formats_rows[i], ".");
        }
    DIR *listing = opendir(folder_of(FORMATS_NEWEST));
    cr_assert(listing);
    for (struct dirent *e; (e = readdir(listing));) {
        char path[1400];
        if (!is_comparable(e->d_name))
            continue;
        snprintf(path, sizeof path, "%s/%s", folder_of(FORMATS_NEWEST), e->d_name);
        const ct_file kept = read_comparable(path), now = read_comparable(e->d_name);
        cr_assert(kept.n == now.n && memcmp(kept.bytes, now.bytes, now.n) == 0,
                  "%s is written otherwise than it was: that is a new format", e->d_name);
        free(kept.bytes);
        free(now.bytes);
        compared++;
    }
    closedir(listing);
    cr_assert(compared == 7, "%d files", compared);
    pith_scope_close(s);
    pt_close(rt);
    ct_end();
}

/* Its sidecar had to be covered by leaves, each of which was part of its checksum. */
Test(formats, format_1_is_checked_by_its_own_rules) {
    ct_begin();
    static const char *const files[] = {"single.json",
                                        "format-1.003bfb6bc629e0dd.safetensors"};
    char path[1024];
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/formats/1/%s", PITH_TEST_SOURCE, files[i]);
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
