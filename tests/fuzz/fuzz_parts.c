/* Documents of checkpoints of many ranks, beside parts that are as two ranks wrote them.
 * In the input @0@ and @1@ stand for the row of a part, @n@ for the checksum of the
 * counting leaf; the closing checksum is made to fit. Whatever the document says: a tree
 * of the elements in the parts or an error, in one process and on a mesh, and memory
 * within a multiple of the input. */
#include "checkpoint/checkpoint_internal.h"
#include "fuzz.h"

enum {
    TAIL = 12 + 32 + 3, /* "checksum":"<32 digits>"}\n */
    ROOM = 1 << 17,
    BASE_BYTES = 12 << 20, /* whatever the input: each open part has a MiB of staging */
    TIMES = 64             /* for every byte of it */
};

/* ---- The parts ---- */

/* What rank r wrote: 3 and 2 rows in use of 4, a part of the columns, a value. */
static void save_part(pith_scope *s, int r) {
    const int64_t shape[] = {4, 3};
    double rows[12];
    char name[16];
    for (int i = 0; i < 12; i++)
        rows[i] = i < (r ? 6 : 9) ? 100 * r + i : -1;
    const pith_array *a = pith_array_copy(s, PITH_F64, PITH_SHAPE(shape[0], shape[1]),
                                          rows),
                     *b = pith_full(s, PITH_F32, PITH_SHAPE(2, 5), r),
                     *v = pith_i64(s, 7);
    const void *part = pith_dict_make(s, 3, (const char *[]){"['a']", "['b']", "['v']"},
                                      (const void *[]){a, b, v});
    snprintf(name, sizeof name, "p%d.json", r);
    FUZZ_REQUIRE(pith_save(s, part, name, &(pith_save_options){.inline_all = r == 0}),
                 "%s", pith_message(s));
}

static char part_rows[2][100], count_digest[PITHP_DIGEST_TEXT];

static void make_parts(pith_scope *s) {
    const int64_t count = 5;
    for (int r = 0; r < 2; r++) {
        char name[16], digest[PITHP_DIGEST_TEXT];
        size_t n;
        save_part(s, r);
        snprintf(name, sizeof name, "p%d.json", r);
        char *text = fuzz_read(name, &n);
        memcpy(digest, text + n - TAIL + 12, 32);
        digest[32] = 0;
        snprintf(part_rows[r], sizeof part_rows[r], "[\"%s\",%zu,\"%s\"]", name, n,
                 digest);
        free(text);
    }
    pithp_digest_print(pithp_digest_of(&count, sizeof count), count_digest);
}

/* ---- The document ---- */

static void add(char *text, size_t *at, const char *from, size_t n) {
    n = n < ROOM - *at ? n : ROOM - *at;
    memcpy(text + *at, from, n);
    *at += n;
}

static size_t write_sealed(const uint8_t *data, size_t n) {
    static char text[ROOM + TAIL + 1];
    char digest[PITHP_DIGEST_TEXT];
    size_t at = 0;
    n = n > TAIL ? n - TAIL : n;
    for (size_t i = 0; i < n; i++) {
        const char *from = (const char *)data + i, *to = NULL;
        if (i + 3 <= n && from[0] == '@' && from[2] == '@')
            to = from[1] == '0'   ? part_rows[0]
                 : from[1] == '1' ? part_rows[1]
                 : from[1] == 'n' ? count_digest
                                  : NULL;
        add(text, &at, to ? to : from, to ? strlen(to) : 1);
        i += to ? 2 : 0;
    }
    pithp_digest_print(pithp_digest_of(text, at), digest);
    snprintf(text + at, TAIL + 1, "\"checksum\":\"%s\"}\n", digest);
    fuzz_write("a.json", text, at + TAIL);
    return at + TAIL;
}

/* ---- Loading ---- */

static void look_inside(pith_scope *s, const pith_checkpoint *c) {
    const pith_checkpoint_info *info = pith_checkpoint_about(c);
    pith_checkpoint_part part;
    pith_checkpoint_leaf leaf;
    for (int64_t i = 0; i < info->part_count; i++)
        FUZZ_REQUIRE(pith_checkpoint_get_part(c, i, &part) && !strchr(part.file, '/'),
                     "part %d", (int)i);
    for (int64_t i = 0; i < info->leaf_count; i++) {
        FUZZ_REQUIRE(pith_checkpoint_get_leaf(c, i, &leaf), "leaf %d", (int)i);
        pith_checkpoint_verify(s, c, i);
        pith_clear(s);
        if (leaf.shape.rank && leaf.shape.extents[0] > 1)
            pith_checkpoint_rows(s, c, pith_checkpoint_path(s, c, leaf.node), 1, 1);
        pith_clear(s);
    }
}

static void load(pith_scope *s, size_t n) {
    const void *tree = pith_load_any(s, NULL, "a.json", NULL);
    FUZZ_REQUIRE(!tree == pith_failed(s), "a tree or an error: %s", pith_message(s));
    FUZZ_REQUIRE(tree || strlen(pith_message(s)) > 10, "%s", pith_message(s));
    pith_clear(s);
    const size_t peak = fuzz_peak();
    FUZZ_REQUIRE(peak <= BASE_BYTES + TIMES * n, "%zu bytes of memory for %zu", peak, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static bool ready;
    if (!ready)
        fuzz_folder();
    pith_scope *s = pith_scope_open(fuzz_runtime());
    if (!ready)
        make_parts(s);
    ready = true;
    n = write_sealed(data, n);
    fuzz_peak();
    const pith_checkpoint *c = pith_checkpoint_open(s, "a.json");
    FUZZ_REQUIRE(!c == pith_failed(s), "a checkpoint or an error: %s", pith_message(s));
    pith_clear(s);
    if (c)
        look_inside(s, c);
    if (c)
        load(s, n);
    pith_scope_close(s);
    pith_scope *on_mesh = pith_scope_open(fuzz_runtime());
    pith_mesh_open(on_mesh, PITH_MESH_AXES({"x", 0}),
                   &(pith_mesh_options){.transport = "self"});
    FUZZ_REQUIRE(!pith_failed(on_mesh), "%s", pith_message(on_mesh));
    fuzz_peak();
    load(on_mesh, n);
    pith_scope_close(on_mesh);
    return 0;
}
