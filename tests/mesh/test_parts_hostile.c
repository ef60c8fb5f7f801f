/* Documents of many ranks that say what is not true, with checksums that fit: each is an
 * error that tells what is wrong, in one process and on ranks. */
#include "checkpoint/checkpoint_internal.h"
#include "mesh/parts_test.h"

enum { TAIL = 12 + 32 + 3 /* "checksum":"<32 digits>"}\n */ };

/* The bytes of a file, with a NUL behind them. */
static char *read_all(const char *path, size_t *n) {
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 16);
    *n = fread(text, 1, (1 << 16) - 1, file);
    fclose(file);
    return text;
}

/* Replace a text in a document by another one, and its checksum by the one that fits. */
static void forge(const char *path, const char *from, const char *to) {
    size_t n;
    char *text = read_all(path, &n), digest[PITHP_DIGEST_TEXT];
    char *at = strstr(text, from), *made = calloc(1, n + strlen(to) + 100);
    cr_assert(at, "no \"%s\" in %s", from, text);
    memcpy(made, text, (size_t)(at - text));
    strcat(strcat(made, to), at + strlen(from));
    const size_t body = strlen(made) - TAIL;
    pithp_digest_print(pithp_digest_of(made, body), digest);
    snprintf(made + body, TAIL + 1, "\"checksum\":\"%s\"}\n", digest);
    FILE *file = fopen(path, "wb");
    fputs(made, file);
    fclose(file);
    free(made);
    free(text);
}

static void load_fails(fake_rank *r) {
    const job *j = r->closure;
    pith_load(r->s, PartAtoms, j->path);
    FAKE_CHECK(r, pith_failed(r->s));
    const bool told = strstr(pith_message(r->s), j->text) != NULL &&
                      !strstr(pith_message(r->s), ".position.position");
    if (!told)
        fprintf(stderr, "\"%s\" is not in \"%s\"\n", j->text, pith_message(r->s));
    FAKE_CHECK(r, told);
    pith_clear(r->s);
    FAKE_CHECK(r, pith_agree(r->s));
}

#define BIG "4611686018427387904" /* 2^62 */

static const struct {
    const char *from, *to, *text;
} lies[] = {
    {"[[\"x\",2]]", "[[\"x\",3]]", "expected a part for each rank of the mesh"},
    {"[[\"x\",2]]", "[[\"x\"," BIG "],[\"y\",4]]", "expected a part for each rank"},
    {"[[\"x\",2]]", "[[\"x\",2],[\"x\",1]]", "the axis \"x\" is named twice"},
    {"[[\"x\",2]]", "[[\"x\",0]]", "an axis of the mesh is empty"},
    {"[[\"x\",2]]", "[[\"y\",2]]", "the shape of the leaf is not that of its parts"},
    {"[\"melt.", "[\"../melt.", "the name, size or checksum of a part is invalid"},
    {"[\"melt.", "[\"/melt.", "the name, size or checksum of a part is invalid"},
    {"[\"melt.", "[\"other.", "cannot open \"other."},
    {"\"shape\":[1000,3]", "\"shape\":[1001,3]", ".position: expected f64[max,3]"},
    {"\"shape\":[1000,3]", "\"shape\":[999,3]", ".position: expected f64[max,3]"},
    {"\"shape\":[5,24]", "\"shape\":[5,23]", "is not that of its parts"}, /* overlap */
    {"\"shape\":[5,24]", "\"shape\":[5,25]", "is not that of its parts"}, /* a gap */
    {"\"part\":[500,3]", "\"part\":[501,3]", "does not have it in the shape that"},
    {"\"part\":[500,3]", "\"part\":[" BIG ",3]", "is not that of its parts"},
    {"\"part\":[500,3]", "\"part\":[500.5,3]", "extent of a part is not a valid size"},
    {"\"part\":[500,3]", "\"part\":[1500]", "the shape of a part has another rank"},
    {"\"counts\":[500,500]", "\"counts\":[1000,0]", "is not that of its parts"},
    {"\"counts\":[500,500]", "\"counts\":[1000]", "is not that of its parts"},
    {"\"counts\":[500,500]", "\"counts\":[" BIG "," BIG "]", "not a valid number"},
    {"\"counts\":[500,500]", "\"counts\":[501,-1]", "not a valid number"},
    {"\"counter\":2", "\"counter\":9", "is not that of its parts"},
    {"\"shard\":\"x\",\"rows\"", "\"shard\":\"x,x\",\"rows\"",
     "is not that of its parts"},
};

Test(hostile_parts, are_refused) {
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        job j = begin();
        run(&j, 2, save);
        forge(j.path, lies[i].from, lies[i].to);
        j.text = lies[i].text;
        for (int size = 1; size <= 3; size++)
            run(&j, size, load_fails);
        cr_assert(!alone_is(&j, 1, ROWS), "%s", lies[i].to);
        remove_folder(j.folder);
    }
}

/* A document that says the truth in other words loads. */
Test(hostile_parts, a_forged_checksum_fits) {
    job j = begin();
    run(&j, 2, save);
    forge(j.path, "\"step\":17", "\"step\":18");
    run(&j, 3, load);
    cr_assert(alone_is(&j, 1, ROWS));
    remove_folder(j.folder);
}
