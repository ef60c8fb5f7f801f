/* Structures as text, and checkpoints saved from them with other arrays. */
#include "checkpoint_scope.h"

static const void *a_tree(void) {
    const char *const keys[] = {"a\"b", ""};
    Sim sim = *make_sim(s, 100, 3);
    sim.extra =
        pith_dict_make(s, 2, keys,
                       (const void *const[]){pith_zeros(s, PITH_F16, PITH_SHAPE(0, 7)),
                                             pith_none_make(s)});
    return pith_list_make(s, PITH_ITEMS(pith_freeze(s, Sim, &sim), pith_f32(s, 1.5f)));
}

static void leaves_of(const pith_checkpoint *c, const pith_array **leaves) {
    pith_checkpoint_leaf leaf;
    for (int64_t i = 0; pith_checkpoint_get_leaf(c, i, &leaf); i++)
        leaves[i] = pith_checkpoint_array(s, c, pith_checkpoint_path(s, c, leaf.node));
}

static void same_files(const char *a, const char *b) {
    const ct_file x = ct_read(a), y = ct_read(b);
    cr_assert(x.n == y.n && memcmp(x.bytes, y.bytes, x.n) == 0, "%s and %s differ", a, b);
    free(x.bytes);
    free(y.bytes);
}

Test(rebuild, gives_the_same_files_from_the_same_arrays) {
    begin();
    const pith_save_options first = {.step = 9,
                                     .metadata = PITH_METADATA({"k", "v\n"}, {"", "e"})};
    const pith_array *leaves[8];
    for (int inline_all = 0; inline_all < 2; inline_all++) {
        pith_save_options options = first;
        options.inline_all = inline_all;
        pt_ok(s, pith_save(s, a_tree(), "a.json", &options));
        const pith_checkpoint *c = pith_checkpoint_open(s, "a.json");
        const int64_t count = pith_checkpoint_about(c)->leaf_count;
        leaves_of(c, leaves);
        const char *text = pith_checkpoint_structure(s, c);
        pt_ok(s, text);
        const pith_checkpoint *structure = pith_checkpoint_parse(s, text, strlen(text));
        pt_ok(s, structure);
        cr_assert(pith_checkpoint_about(structure)->node_count ==
                  pith_checkpoint_about(c)->node_count);
        cr_assert(strcmp(pith_checkpoint_structure(s, structure), text) == 0);
        const pith_checkpoint *const sources[] = {c, structure};
        for (int i = 0; i < 2; i++) {
            pt_ok(s, rename("a.json", "b.json") == 0);
            pt_ok(s,
                  pith_checkpoint_save(s, sources[i], count, leaves, "a.json",
                                       &(pith_save_options){.inline_all = inline_all}));
            same_files("a.json", "b.json");
            pt_ok(s,
                  pith_tree_equal(s, pith_load_any(s, NULL, "a.json", NULL), a_tree()));
        }
    }
    end();
}

/* Its own leaves are streamed, from files of any form to files of any form. */
Test(rebuild, streams_the_leaves_of_the_checkpoint) {
    begin();
    const pith_array *large = pith_arange(s, PITH_I64, 300001); /* 2.3 MiB: compresses */
    const void *tree = pith_list_make(
        s, PITH_ITEMS(a_tree(), large, pith_mul(s, pith_cast(s, large, PITH_F64), 0.1),
                      pith_greater(s, pith_arange(s, PITH_I32, 2000), pith_i32(s, 700))));
    const pith_save_options ways[] = {
        {.inline_bytes = 0}, {.inline_all = true}, {.compress = 3}, {.inline_bytes = -1}};
    enum { WAYS = sizeof ways / sizeof *ways };
    for (int to = 0; to < WAYS; to++) {
        pt_ok(s, pith_save(s, tree, "b.json", &ways[to]));
        pt_ok(s, rename("b.json", "want.json") == 0);
        for (int from = 0; from < WAYS; from++) {
            pt_ok(s, pith_save(s, tree, "a.json", &ways[from]));
            const pith_checkpoint *c = pith_checkpoint_open(s, "a.json");
            const int64_t count = pith_checkpoint_about(c)->leaf_count;
            pt_ok(s, pith_checkpoint_save(s, c, count, NULL, "b.json", &ways[to]));
            same_files("b.json", "want.json");
            pt_ok(s, pith_tree_equal(s, pith_load_any(s, NULL, "b.json", NULL), tree));
        }
    }
    end();
}

/* A damaged leaf is found before the new checkpoint has its name. */
Test(rebuild, streams_no_damaged_leaf) {
    begin();
    pt_ok(s, pith_save(s, pith_arange(s, PITH_F64, 1000), "a.json", NULL));
    const pith_checkpoint *c = pith_checkpoint_open(s, "a.json");
    pith_checkpoint_sidecar file;
    cr_assert(pith_checkpoint_get_sidecar(c, 0, &file));
    FILE *f = fopen(file.file, "r+b");
    cr_assert(f && fseek(f, -9, SEEK_END) == 0 && fputc(0x55, f) == 0x55);
    fclose(f);
    for (int inline_all = 0; inline_all < 2; inline_all++) {
        const pith_save_options o = {.inline_all = inline_all};
        pt_fails(PITH_E_FORMAT, s, pith_checkpoint_save(s, c, 1, NULL, "b.json", &o));
        cr_assert(access("b.json", F_OK) != 0);
    }
    cr_assert(ct_count_files() == 2, "nothing was left behind");
    end();
}

Test(rebuild, takes_the_dtypes_and_shapes_of_the_arrays) {
    begin();
    pt_ok(s, pith_save(s, pith_list_make(s, PITH_ITEMS(pith_f64(s, 1), pith_i32(s, 2))),
                       "a.json", NULL));
    const pith_checkpoint *c = pith_checkpoint_open(s, "a.json");
    const pith_array *leaves[] = {pith_arange(s, PITH_F32, 1000), pith_bool(s, true)};
    pt_ok(s, pith_checkpoint_save(s, c, 2, leaves, "b.json", NULL));
    pt_ok(s, pith_tree_equal(s, pith_load_any(s, NULL, "b.json", NULL),
                             pith_list_make(s, PITH_ITEMS(leaves[0], leaves[1]))));
    end();
}

Test(rebuild, refuses_what_does_not_fit) {
    begin();
    pt_ok(s, pith_save(s, pith_f64(s, 1), "a.json", NULL));
    const pith_checkpoint *c = pith_checkpoint_open(s, "a.json");
    const pith_array *leaf = pith_f64(s, 2);
    const pith_save_options wrong[] = {
        {.keep = 1},           {.background = true},
        {.step = 1},           {.metadata = PITH_METADATA({"a", "b"})},
        {.incremental = true}, {.check_shared = true},
        {.compress = 20}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        pt_fails(PITH_E_ARG, s,
                 pith_checkpoint_save(s, c, 1, &leaf, "b.json", &wrong[i]));
    pt_fails(PITH_E_ARG, s, pith_checkpoint_save(s, c, 2, &leaf, "b.json", NULL));
    pt_says("expected 1 leaves, as the structure has, got 2");
    pt_fails(PITH_E_ARG, s, pith_checkpoint_save(s, c, 1, &leaf, NULL, NULL));
    pt_says("pith_checkpoint_save: path is NULL");
    pt_fails(PITH_E_ARG, s, pith_checkpoint_save(s, c, 2, NULL, "b.json", NULL));
    pt_fails(PITH_E_IO, s, pith_checkpoint_save(s, c, 1, &leaf, "nowhere/b.json", NULL));
    leaf = NULL;
    pt_fails(PITH_E_ARG, s, pith_checkpoint_save(s, c, 1, &leaf, "b.json", NULL));
    cr_assert(access("b.json", F_OK) != 0);
    pt_ok(s, pith_save(s, pith_arange(s, PITH_F64, 1000), "a.json", NULL));
    const ct_file f = ct_read("a.json");
    pt_fails(PITH_E_FORMAT, s, pith_checkpoint_parse(s, (const char *)f.bytes, f.n));
    pt_says("expected inline leaves only");
    const char *text = pith_checkpoint_structure(s, c);
    char *copy = strdup(text);
    const size_t n = strlen(copy);
    for (size_t i = 0; i < n; i++) {
        pt_fails(PITH_E_FORMAT, s, pith_checkpoint_parse(s, text, i));
        copy[i] = (char)(copy[i] ^ 1);
        pt_fails(PITH_E_FORMAT, s, pith_checkpoint_parse(s, copy, n));
        copy[i] = text[i];
    }
    free(copy);
    free(f.bytes);
    end();
}
