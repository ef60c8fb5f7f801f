/* Bool elements other than 0 and 1: no file brings them into an array, and no save writes
 * them. A file that is damaged is called so first. */
#include "checkpoint_test.h"

enum { LARGE = 3 << 20, BAD = (2 << 20) + 5 /* in the third chunk */ };

static pith_runtime *rt;
static pith_scope *s;
static uint8_t *bytes;

static void begin(void) {
    ct_begin();
    rt = pt_open();
    s = pith_scope_open(rt);
    bytes = calloc(LARGE, 1);
}
static void end(void) {
    free(bytes);
    pith_scope_close(s);
    pt_close(rt);
    ct_end();
}

static const pith_dict *masked(const pith_array *mask) {
    const char *const keys[] = {"mask"};
    const void *const items[] = {mask};
    return pith_dict_make(s, 1, keys, items);
}

static const char *hex(const void *elements, size_t n) {
    static char text[2][PITHP_DIGEST_TEXT];
    static int next;
    next = !next;
    pithp_digest_print(pithp_digest_of(elements, n), text[next]);
    return text[next];
}

/* The elements of the only leaf of a.json's sidecar become `bytes`. */
static void rewrite_sidecar(size_t n) {
    char name[300];
    snprintf(name, sizeof name, "%s", ct_find(".safetensors"));
    const ct_file f = ct_read(name);
    memcpy(f.bytes + f.n - n, bytes, n);
    ct_write(name, f.bytes, f.n);
    free(f.bytes);
}

Test(bools, of_a_sidecar_are_refused_by_every_reader) {
    begin();
    const pith_array *all = pith_array_copy(s, PITH_BOOL, PITH_SHAPE(3, 1 << 20), bytes);
    pt_ok(s, pith_save(s, masked(all), "a.json", NULL));
    char before[PITHP_DIGEST_TEXT];
    snprintf(before, sizeof before, "%s", hex(bytes, LARGE));
    bytes[BAD] = 2;
    bytes[LARGE - 1] = 255;
    rewrite_sidecar(LARGE);
    pt_fails(PITH_E_FORMAT, s, pith_load_any(s, NULL, "a.json", NULL));
    pt_says("damaged in");
    ct_replace("a.json", before, hex(bytes, LARGE));

    const char *const says =
        "['mask']: element 2097157 of a bool leaf: expected 0 or 1, got 2";
    pt_fails(PITH_E_FORMAT, s, pith_load_any(s, NULL, "a.json", NULL));
    pt_says(says);
    const pith_checkpoint *c = pith_checkpoint_open(s, "a.json");
    pith_leaf_statistics statistics;
    pt_ok(s, c);
    pt_fails(PITH_E_FORMAT, s, pith_checkpoint_verify(s, c, 0));
    pt_says(says);
    pt_fails(PITH_E_FORMAT, s, pith_checkpoint_statistics(s, c, 0, &statistics));
    pt_says(says);
    pt_fails(PITH_E_FORMAT, s, pith_checkpoint_array(s, c, "['mask']"));
    pt_says(says);
    pt_fails(PITH_E_FORMAT, s, pith_checkpoint_read(s, c, 0, 0, LARGE, bytes, LARGE));
    pt_says(says);
    pt_fails(PITH_E_FORMAT, s, pith_checkpoint_rows(s, c, "['mask']", 2, 1));
    pt_says(says);
    pt_fails(PITH_E_FORMAT, s, pith_checkpoint_read(s, c, 0, BAD - 1, 3, bytes, 3));
    pt_says(says);
    pt_ok(s, pith_checkpoint_rows(s, c, "['mask']", 0, 2));
    pt_ok(s, pith_checkpoint_read(s, c, 0, BAD + 1, 3, bytes, 3));
    end();
}

Test(bools, of_the_document_are_true_and_false_alone) {
    begin();
    const pith_array *few = pith_array_copy(s, PITH_BOOL, PITH_SHAPE(3), bytes);
    pt_ok(s, pith_save(s, masked(few), "good.json", NULL));
    const ct_file good = ct_read("good.json");
    char before[PITHP_DIGEST_TEXT], to[64];
    snprintf(before, sizeof before, "%s", hex(bytes, 3));
    static const char *const numbers[] = {"0",  "1",   "2",        "255", "256",
                                          "-1", "1.0", "\"true\"", "null"};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        ct_write("a.json", good.bytes, good.n);
        bytes[1] = (uint8_t)atoi(numbers[i]);
        snprintf(to, sizeof to, "[false,%s,false]", numbers[i]);
        ct_replace("a.json", "[false,false,false]", to);
        if (strcmp(before, hex(bytes, 3)) != 0)
            ct_replace("a.json", before, hex(bytes, 3));
        pt_fails(PITH_E_FORMAT, s, pith_load_any(s, NULL, "a.json", NULL));
        pt_says("['mask']: \"a.json\", line ");
        pt_says("element 1 is no bool");
        cr_assert_str_eq(pt_error.path, "['mask']");
    }
    free(good.bytes);
    end();
}

/* The memory of a borrowed array is the caller's, who has promised not to change it. */
Test(bools, are_checked_by_the_save) {
    begin();
    const struct {
        int64_t rows;
        pith_save_options options;
    } cases[] = {{1, {0}},
                 {3, {0}},
                 {3, {.compress = 3}},
                 {3, {.keep = 2, .incremental = true}},
                 {3, {.inline_all = true}},
                 {3, {.background = true}}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const int64_t n = cases[i].rows << 10;
        memset(bytes, 0, (size_t)n);
        const pith_array *mask =
            pith_array_borrow(s, PITH_BOOL, PITH_SHAPE(cases[i].rows, 1 << 10), bytes);
        pt_ok(s, pith_save(s, masked(mask), "a.json", &cases[i].options) &&
                     pith_save_wait(s));
        const int files = ct_count_files();
        bytes[n - 1] = 7;
        pt_fails(PITH_E_FORMAT, s,
                 pith_save(s, masked(mask), "a.json", &cases[i].options) &&
                     pith_save_wait(s));
        char says[96];
        snprintf(says, sizeof says, "element %lld of a bool leaf: expected 0 or 1, got 7",
                 (long long)n - 1);
        pt_says(says);
        pt_says("['mask']: ");
        cr_assert_eq(ct_count_files(), files, "case %zu left a file behind", i);
    }
    end();
}
