/* Documents of checkpoints. The input is a document; its closing checksum is made to fit,
 * so that what lies behind it is reached. Whatever loads must survive another round trip,
 * also what loads with options, and memory stays within a multiple of the input. */
#include "checkpoint/checkpoint_internal.h"
#include "fuzz.h"
#include "types.h"

enum {
    TAIL = 12 + 32 + 3,   /* "checksum":"<32 digits>"}\n */
    BASE_BYTES = 4 << 20, /* whatever the input */
    TIMES = 64,           /* for every byte of it */
    LOADED_ANYWAY = 16
};

static void write_sealed(const uint8_t *data, size_t n) {
    char digest[PITHP_DIGEST_TEXT];
    const size_t body = n > TAIL ? n - TAIL : n;
    char *text = malloc(body + TAIL + 1);
    memcpy(text, data, body);
    pithp_digest_print(pithp_digest_of(text, body), digest);
    snprintf(text + body, TAIL + 1, "\"checksum\":\"%s\"}\n", digest);
    fuzz_write("a.json", text, body + TAIL);
    free(text);
}

static void look_inside(pith_scope *s, const pith_checkpoint *c) {
    const pith_checkpoint_info *info = pith_checkpoint_about(c);
    pith_checkpoint_node node;
    pith_checkpoint_static field;
    pith_leaf_statistics statistics;
    for (int64_t i = 0; i < info->node_count; i++) {
        FUZZ_REQUIRE(pith_checkpoint_get_node(c, i, &node) && node.parent < i, "row %d",
                     (int)i);
        for (int64_t j = 0; j < node.static_count; j++)
            FUZZ_REQUIRE(pith_checkpoint_get_static(c, i, j, &field) && field.name,
                         "static %d of row %d", (int)j, (int)i);
        FUZZ_REQUIRE(pith_checkpoint_path(s, c, i), "%s", pith_message(s));
    }
    for (int64_t i = 0; i < info->leaf_count; i++) {
        pith_checkpoint_statistics(s, c, i, &statistics);
        pith_clear(s);
    }
}

/* What was loaded, saved and loaded again, is the same: by the bytes that it has when it
 * is saved once more. */
static void round_trip(pith_scope *s, const void *tree) {
    const pith_save_options options = {.inline_all = true};
    size_t n, m;
    FUZZ_REQUIRE(pith_save(s, tree, "b.json", &options), "%s", pith_message(s));
    const void *again = pith_load_any(s, NULL, "b.json", NULL);
    FUZZ_REQUIRE(again && pith_save(s, again, "c.json", &options), "%s", pith_message(s));
    char *b = fuzz_read("b.json", &n), *c = fuzz_read("c.json", &m);
    FUZZ_REQUIRE(n == m && memcmp(b, c, n) == 0, "%zu and %zu bytes", n, m);
    free(b);
    free(c);
}

static const Sim *initial;

static void make_initial(pith_scope *s) {
    const Atoms atoms = {pith_zeros(s, PITH_F64, PITH_SHAPE(2, 3)), NULL};
    const Units units = {"m"};
    const Sim sim = {.atoms = pith_freeze(s, Atoms, &atoms),
                     .neighbour = pith_zeros(s, PITH_I32, PITH_SHAPE(2, 4)),
                     .energy = pith_f64(s, 1),
                     .width = 4,
                     .units = pith_freeze(s, Units, &units)};
    initial = pith_freeze(s, Sim, &sim);
}

/* Loading with options (which: the input says) is loading: a tree that survives a round
 * trip, or an error. */
static void load_with_options(pith_scope *s, uint64_t choice) {
    const pith_load_options options[] = {
        {.extra = true},
        {.initial = initial, .extra = true},
        {.at = ".atoms", .extra = true},
        {.renames = PITH_RENAMES({"Atoms.position", "Atoms.charge"},
                                 {"Atoms.charge", "Atoms.position"}),
         .extra = true},
        {.renames = PITH_RENAMES({".atoms", ".spare"}, {".spare", ".extra"},
                                 {".extra", ".atoms"}, {".width", ".timestep"},
                                 {".timestep", ".width"}, {"Units", "Length"},
                                 {"Units.length", "Length.units"}),
         .initial = initial,
         .extra = true}};
    const void *tree =
        pith_load_any(s, NULL, "a.json", &options[choice % PITHP_COUNT(options)]);
    FUZZ_REQUIRE(!tree == pith_failed(s), "a tree or an error: %s", pith_message(s));
    pith_clear(s);
    if (tree)
        round_trip(s, tree);
}

static const void *load(pith_scope *s, size_t n) {
    const void *tree = pith_load_any(s, NULL, "a.json", NULL);
    FUZZ_REQUIRE(!tree == pith_failed(s), "a tree or an error: %s", pith_message(s));
    FUZZ_REQUIRE(tree || strlen(pith_message(s)) > 10, "%s", pith_message(s));
    pith_clear(s);
    const size_t peak = fuzz_peak();
    FUZZ_REQUIRE(peak <= BASE_BYTES + TIMES * n, "%zu bytes of memory for %zu", peak, n);
    return tree;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static bool ready;
    if (!ready) {
        fuzz_folder();
        fuzz_keep(make_initial);
        Sim_pith_type();
        ready = true;
    }
    pith_runtime *rt = fuzz_runtime();
    const uint64_t choice = pithp_digest_of(data, n).low;
    write_sealed(data, n);
    fuzz_peak();
    pith_scope *s = pith_scope_open(rt);
    const pith_checkpoint *c = pith_checkpoint_open(s, "a.json");
    FUZZ_REQUIRE(!c == pith_failed(s), "a checkpoint or an error: %s", pith_message(s));
    pith_clear(s);
    /* What cannot be opened is not read three times over, but for some of it. */
    if (c || choice % LOADED_ANYWAY == 0) {
        const void *tree = load(s, n);
        FUZZ_REQUIRE(c || !tree, "loaded what cannot be opened");
        if (c)
            look_inside(s, c);
        pith_clear(s);
        if (tree)
            round_trip(s, tree);
        load_with_options(s, choice / LOADED_ANYWAY);
    }
    pith_scope_close(s);
    const size_t peak = fuzz_peak();
    FUZZ_REQUIRE(c || peak <= BASE_BYTES + TIMES * n, "%zu bytes of memory for %zu", peak,
                 n);
    return 0;
}
