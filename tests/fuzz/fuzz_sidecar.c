/* Sidecars of checkpoints: the input is the file. Whatever it is, loading gives exactly
 * what was saved or an error; and where the document is forged so that the checksum of
 * the header fits, the leaves are still checked by their own. */
#include "checkpoint/checkpoint_internal.h"
#include "fuzz.h"
#include "types.h"

enum { ATOMS = 5, TAIL = 12 + 32 + 3, JUDGED_ANYWAY = 16 };

static struct {
    char *document, *good; /* what was saved */
    size_t document_bytes, good_bytes;
    char name[256];            /* of the sidecar */
    size_t header;             /* bytes that its checksum is of */
    int size_digits;           /* of its size as the document has it */
    size_t frame, frame_bytes; /* place of the compressed leaf */
    char digest[PITHP_DIGEST_TEXT];
} saved;

static const Atoms *atoms;

/* One leaf that is compressed and one that is not. */
static void make_atoms(pith_scope *s) {
    const Atoms value = {pith_full(s, PITH_F64, PITH_SHAPE(ATOMS, 3), -6.5),
                         pith_arange(s, PITH_I8, ATOMS)};
    atoms = pith_freeze(s, Atoms, &value);
}

static void save(pith_scope *s) {
    FUZZ_REQUIRE(pith_save(s, atoms, "a.json",
                           &(pith_save_options){.inline_bytes = -1, .compress = 1}),
                 "%s", pith_message(s));
    pith_checkpoint *c = pithp_checkpoint_open(s, "a.json");
    FUZZ_REQUIRE(c, "%s", pith_message(s));
    snprintf(saved.name, sizeof saved.name, "%s", c->document.sidecars.rows[0].file);
    saved.header = c->document.sidecars.rows[0].data;
    for (int64_t i = 0; i < c->order_count; i++) {
        const pithp_doc_leaf *leaf = &c->document.leaves.rows[c->order[i]];
        if (!leaf->compressed)
            continue;
        saved.frame = c->document.sidecars.rows[0].data + leaf->begin;
        saved.frame_bytes = leaf->frames[0].bytes;
        pithp_digest_print(leaf->frames[0].digest, saved.digest);
    }
    FUZZ_REQUIRE(saved.frame, "no leaf is compressed");
    saved.document = fuzz_read("a.json", &saved.document_bytes);
    saved.good = fuzz_read(saved.name, &saved.good_bytes);
    saved.size_digits = snprintf(NULL, 0, "\"bytes\":%zu,", saved.good_bytes);
}

/* The document with another size of the sidecar, other checksums of its header and, where
 * there is so much, of the frame, and its own made to fit: zstd sees what was made up. */
static void forge(const uint8_t *header, size_t header_bytes, size_t n) {
    char digest[PITHP_DIGEST_TEXT], size[32];
    char *text = calloc(1, saved.document_bytes + 1);
    memcpy(text, saved.document, saved.document_bytes);
    const int digits = snprintf(size, sizeof size, "\"bytes\":%zu,", n);
    if (digits == saved.size_digits)
        memcpy(strstr(text, "\"bytes\":"), size, (size_t)digits);
    pithp_digest_print(pithp_digest_of(header, header_bytes), digest);
    memcpy(strstr(text, "\"checksum\":\"") + 12, digest, 32);
    if (n >= saved.frame + saved.frame_bytes) {
        pithp_digest_print(pithp_digest_of(header + saved.frame, saved.frame_bytes),
                           digest);
        memcpy(strstr(text, saved.digest), digest, 32);
    }
    const size_t body = saved.document_bytes - TAIL;
    pithp_digest_print(pithp_digest_of(text, body), digest);
    memcpy(text + body + 12, digest, 32);
    fuzz_write("forged.json", text, saved.document_bytes);
    free(text);
}

/* may_load: the bytes may be others than those that were saved, the values not. */
static void judge(pith_scope *s, const char *path, bool may_load) {
    const Atoms *loaded = pith_load(s, Atoms, path);
    if (!pith_failed(s))
        FUZZ_REQUIRE(may_load && pith_tree_equal(s, loaded, atoms), "other values");
    else
        FUZZ_REQUIRE(pith_code(s) == PITH_E_FORMAT || pith_code(s) == PITH_E_IO, "%s",
                     pith_message(s));
    pith_clear(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static bool ready;
    fuzz_keep(make_atoms);
    pith_runtime *rt = fuzz_runtime();
    pith_scope *s = pith_scope_open(rt);
    if (!ready) {
        fuzz_folder();
        save(s);
        ready = true;
    }
    const bool same = n == saved.good_bytes && memcmp(data, saved.good, n) == 0;
    const bool sound =
        n == saved.good_bytes && memcmp(data, saved.good, saved.header) == 0;
    fuzz_write(saved.name, data, n);
    /* Another size or header is refused at a glance, by the same few lines. */
    if (sound || pithp_digest_of(data, n).low % JUDGED_ANYWAY == 0)
        judge(s, "a.json", same);
    if (n >= saved.header && !same) {
        forge(data, saved.header, n);
        judge(s, "forged.json", true);
    }
    pith_scope_close(s);
    return 0;
}
