/* Compressed leaves: bits that come back, slices, bounds on what a file may ask for, and
 * frames that other programs read. */
#include "checkpoint_scope.h"

enum { CHUNK = PITHP_CHUNK_BYTES, ROWS = 70000 };

typedef struct Packed {
    const pith_array *counts, *noise, *never, *always, *small;
} Packed;
PITH_NODE(Packed,
          PITH_LEAF(counts, "i64[n,7]"),
          PITH_LEAF(noise, "u8[m]"),
          PITH_LEAF(never, "f32[n]", .compress = -1),
          PITH_LEAF(always, "f32[n]", .compress = 5),
          PITH_LEAF(small, "u8[3]"))

/* counts: almost four chunks that shrink; noise: more than two that do not. */
static const Packed *make_packed(int seed) {
    int64_t *counts = malloc((size_t)ROWS * 7 * sizeof *counts);
    unsigned char *noise = malloc(2 * CHUNK + 17);
    uint64_t state = (uint64_t)seed + 1;
    for (int64_t i = 0; i < (int64_t)ROWS * 7; i++)
        counts[i] = i / 5 + seed;
    for (int64_t i = 0; i < 2 * CHUNK + 17; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        noise[i] = (unsigned char)(state >> 56);
    }
    const Packed p = {.counts = pith_array_copy(s, PITH_I64, PITH_SHAPE(ROWS, 7), counts),
                      .noise =
                          pith_array_copy(s, PITH_U8, PITH_SHAPE(2 * CHUNK + 17), noise),
                      .never = pith_full(s, PITH_F32, PITH_SHAPE(ROWS), 0.5),
                      .always = pith_full(s, PITH_F32, PITH_SHAPE(ROWS), 0.25),
                      .small = pith_ones(s, PITH_U8, PITH_SHAPE(3))};
    free(counts);
    free(noise);
    return pith_freeze(s, Packed, &p);
}

static pith_checkpoint_leaf leaf_of(const char *file, const char *path) {
    const pith_checkpoint *c = pith_checkpoint_open(s, file);
    pith_checkpoint_node node;
    pith_checkpoint_leaf leaf;
    pt_ok(s, c);
    cr_assert(pith_checkpoint_get_node(c, pith_checkpoint_find(s, c, path), &node) &&
              pith_checkpoint_get_leaf(c, node.leaf, &leaf));
    return leaf;
}

Test(compress, gives_every_bit_back) {
    begin();
    const Packed *p = make_packed(1);
    pt_ok(s, pith_save(s, p, "a.json", &(pith_save_options){.compress = 1}));
    pt_ok(s, ct_same_bits(s, p, pith_load(s, Packed, "a.json")));
    const pith_checkpoint_leaf counts = leaf_of("a.json", ".counts");
    cr_assert(counts.compressed && counts.stored_bytes < counts.bytes / 4 &&
              counts.bytes == ROWS * 7 * 8);
    cr_assert(!leaf_of("a.json", ".noise").compressed, "it would not become smaller");
    cr_assert(!leaf_of("a.json", ".never").compressed &&
              leaf_of("a.json", ".always").compressed);
    cr_assert(!leaf_of("a.json", ".small").compressed &&
              leaf_of("a.json", ".small").sidecar == -1);
    pt_ok(s, pith_save(s, p, "b.json", NULL)); /* the field alone */
    cr_assert(!leaf_of("b.json", ".counts").compressed &&
              leaf_of("b.json", ".always").compressed);
    pt_ok(s, ct_same_bits(s, p, pith_load(s, Packed, "b.json")));
    pt_ok(s, pith_save(s, p, "c.json", &(pith_save_options){.compress = -1}));
    cr_assert(!leaf_of("c.json", ".always").compressed);
    cr_assert_str_eq(leaf_of("c.json", ".always").checksum,
                     leaf_of("b.json", ".always").checksum);
    pt_ok(s, pith_save(s, p, "d.json", &(pith_save_options){.compress = 19}));
    pt_ok(s, ct_same_bits(s, p, pith_load(s, Packed, "d.json")));
    pt_fails(PITH_E_ARG, s,
             pith_save(s, p, "e.json", &(pith_save_options){.compress = 20}));
    pt_says("compress must be 19 at most");
    end();
}

Test(compress, gives_the_same_bytes_for_the_same_state) {
    begin();
    const pith_save_options options = {.compress = 3},
                            background = {.compress = 3, .background = true};
    char sidecar[300];
    pt_ok(s, pith_save(s, make_packed(1), "a.json", &options));
    strcpy(sidecar, ct_find(".safetensors"));
    const ct_file document = ct_read("a.json"), data = ct_read(sidecar);
    for (int i = 0; i < 3; i++) {
        const Packed *p = i == 1 ? make_packed(1) : pith_load(s, Packed, "a.json");
        pt_ok(s, pith_save(s, make_packed(2), "a.json", &options));
        pt_ok(s, pith_save(s, p, "a.json", i == 2 ? &background : &options));
        pt_ok(s, pith_save_wait(s));
        const ct_file again = ct_read("a.json"), more = ct_read(sidecar);
        cr_assert(again.n == document.n &&
                  memcmp(again.bytes, document.bytes, again.n) == 0);
        cr_assert(more.n == data.n && memcmp(more.bytes, data.bytes, data.n) == 0);
        free(again.bytes);
        free(more.bytes);
    }
    free(document.bytes);
    free(data.bytes);
    end();
}

Test(compress, reads_slices_of_few_frames) {
    begin();
    const Packed *p = make_packed(4);
    pt_ok(s, pith_save(s, p, "a.json", &(pith_save_options){.compress = 1}));
    const pith_checkpoint *c = pith_checkpoint_open(s, "a.json");
    static int64_t all[ROWS * 7], some[ROWS * 7];
    pt_ok(s, pith_read(s, p->counts, all, sizeof all));
    srand(9);
    for (int i = 0; i < 300; i++) {
        const int64_t first = rand() % (ROWS * 7),
                      count = i % 3 ? rand() % 50 : rand() % (ROWS * 7 - first);
        const int64_t n = count < ROWS * 7 - first ? count : ROWS * 7 - first;
        const int64_t number = 0;
        pt_ok(s, pith_checkpoint_read(s, c, number, first, n, some, (size_t)n * 8));
        cr_assert(memcmp(all + first, some, (size_t)n * 8) == 0, "%d from %d on", (int)n,
                  (int)first);
    }
    const pith_array *rows = pith_checkpoint_rows(s, c, ".counts", 18000, 2000);
    pt_ok(s, pith_read(s, rows, some, 2000 * 56));
    cr_assert(memcmp(all + 18000 * 7, some, 2000 * 56) == 0);
    pith_leaf_statistics m;
    pt_ok(s, pith_checkpoint_statistics(s, c, 0, &m));
    cr_assert(m.least_i64 == 4 && m.greatest_i64 == ROWS * 7 / 5 - 1 + 4);

    /* Damage of a frame strikes what lies in it, before it is decompressed. */
    const ct_file f = ct_read(ct_find(".safetensors"));
    const size_t begin_of_counts = c->document.sidecars.rows[0].data +
                                   c->document.leaves.rows[0].begin +
                                   c->document.leaves.rows[0].frames[2].begin;
    f.bytes[begin_of_counts + 1000] ^= 4;
    ct_write(ct_find(".safetensors"), f.bytes, f.n);
    free(f.bytes);
    c = pith_checkpoint_open(s, "a.json");
    pt_ok(s, pith_checkpoint_read(s, c, 0, 0, 2 * CHUNK / 8, some, 2 * CHUNK));
    pt_fails(PITH_E_FORMAT, s,
             pith_checkpoint_read(s, c, 0, 2 * CHUNK / 8 + 5, 1, some, 8));
    cr_assert_str_eq(pt_error.path, ".counts");
    pt_says("its checksum does not match");
    pt_ok(s, pith_checkpoint_read(s, c, 0, 3 * CHUNK / 8 + 5, 1, some, 8));
    cr_assert(some[0] == all[3 * CHUNK / 8 + 5]);
    pt_fails(PITH_E_FORMAT, s, pith_load(s, Packed, "a.json"));
    end();
}

/* What is stored is never less than a 1,024th, so what a file claims is bounded by it. */
Test(compress, bounds_what_a_file_may_claim) {
    begin();
    const pith_array *zeros = pith_zeros(s, PITH_U8, PITH_SHAPE(3 * CHUNK + 100));
    pt_ok(s, pith_save(s, zeros, "a.json", &(pith_save_options){.compress = 19}));
    const pith_checkpoint_leaf leaf = leaf_of("a.json", "");
    cr_assert(leaf.compressed && leaf.stored_bytes >= 3 * 1024 &&
              leaf.stored_bytes < 3 * 1024 + 200);
    pt_ok(s, ct_same_bits(s, zeros, pith_load_any(s, NULL, "a.json", NULL)));
    const ct_file good = ct_read("a.json");
    char digest[40], from[64], to[400];
    const char *frames = strstr(good.bytes, "\"zstd\":[[1025,\"");
    cr_assert(frames, "%s", good.bytes);
    memcpy(digest, frames + 15, 32);
    digest[32] = 0;
    const struct {
        const char *from, *to, *says;
    } cases[] = {
        {"\"shape\":[3145828]", "\"shape\":[3145829]", "its checksum does not match"},
        {"\"shape\":[3145828]", "\"shape\":[1099511627776]",
         "expected 1048576 zstd frames"},
        {"\"shape\":[3145828]", "\"shape\":[3145728]", "expected 3 zstd frames"},
        {"\"shape\":[3145828]", "\"shape\":[0]", "expected 0 zstd frames"},
        {"\"zstd\":[[1025,", "\"zstd\":[[1024,", "zstd frame 0 is invalid"},
        {"\"zstd\":[[1025,", "\"zstd\":[[-1,", "zstd frame 0 is invalid"},
        {"\"zstd\":[[1025,", "\"zstd\":[[1056769,", "zstd frame 0 is invalid"},
        {"\"zstd\":[[1025,", "\"zstd\":[[9223372036854775807,", "frame 0 is invalid"},
        {"\"zstd\":[[1025,", "\"zstd\":[[1026,", "do not fit the leaf's range"},
        {"\"zstd\":[[1025,", "\"zstd\":[[", "Expected integer, got string"},
        {"\"zstd\":[[1025,", "\"zstd\":[[1.5,", "Expected integer"},
        {"\"tensor\":\"zstd:", "\"tensor\":\"zst:", "do not fit the leaf's range"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ct_write("a.json", good.bytes, good.n);
        ct_replace("a.json", cases[i].from, cases[i].to);
        pt_fails(PITH_E_FORMAT, s, pith_load_any(s, NULL, "a.json", NULL));
        pt_says(cases[i].says);
    }
    ct_write("a.json", good.bytes, good.n);
    snprintf(from, sizeof from, "%s", digest);
    snprintf(to, sizeof to, "0%.31s", digest);
    if (digest[0] == '0')
        to[0] = '1';
    ct_replace("a.json", from, to); /* all frames but the last are equal */
    pt_fails(PITH_E_FORMAT, s, pith_load_any(s, NULL, "a.json", NULL));
    pt_says("its checksum does not match");
    free(good.bytes);
    end();
}

/* A frame that fits its digest and claims more than its elements, or less. */
Test(compress, unpacks_nothing_that_does_not_fit) {
    begin();
    const pith_array *zeros = pith_zeros(s, PITH_U8, PITH_SHAPE(9000));
    pt_ok(s, pith_save(s, zeros, "a.json", &(pith_save_options){.compress = 3}));
    const pith_checkpoint *c = pith_checkpoint_open(s, "a.json");
    const pithp_doc_leaf *leaf = &c->document.leaves.rows[0];
    const size_t at = c->document.sidecars.rows[0].data, n = leaf->frames[0].bytes;
    const ct_file f = ct_read(ct_find(".safetensors")), document = ct_read("a.json");
    char before[PITHP_DIGEST_TEXT], after[PITHP_DIGEST_TEXT];
    pithp_digest_print(leaf->frames[0].digest, before);
    for (size_t i = 0; i < n; i++)
        for (int bit = 0; bit < 8; bit++) {
            f.bytes[at + i] = (char)(f.bytes[at + i] ^ (1 << bit));
            pithp_digest_print(pithp_digest_of(f.bytes + at, n), after);
            ct_write(ct_find(".safetensors"), f.bytes, f.n);
            ct_write("a.json", document.bytes, document.n);
            ct_replace("a.json", before, after);
            pith_scope *inner = pith_scope_open_in(s);
            const void *tree = pith_load_any(inner, NULL, "a.json", NULL);
            cr_assert(pith_failed(inner) ? pith_code(inner) == PITH_E_FORMAT
                                         : ct_same_bits(inner, tree, zeros),
                      "byte %zu: %s", i, pith_message(inner));
            pith_clear(inner);
            pith_scope_close(inner);
            f.bytes[at + i] = (char)(f.bytes[at + i] ^ (1 << bit));
        }
    free(f.bytes);
    free(document.bytes);
    end();
}

Test(compress, is_shared_by_members_in_whatever_form) {
    begin();
    const Packed *p = make_packed(1);
    pt_ok(s,
          pith_save(s, p, "a.json",
                    &(pith_save_options){.keep = 2, .incremental = true, .compress = 1}));
    Packed next = *p;
    next.never = pith_full(s, PITH_F32, PITH_SHAPE(ROWS), 0.75);
    p = pith_freeze(s, Packed, &next);
    pt_ok(s, pith_save(s, p, "a.json",
                       &(pith_save_options){.keep = 1, .incremental = true}));
    const pith_checkpoint_leaf counts = leaf_of("a.000002.json", ".counts");
    cr_assert(counts.sidecar == 0 && counts.compressed);
    cr_assert(leaf_of("a.000002.json", ".never").sidecar == 1);
    pt_ok(s, ct_same_bits(s, p, pith_load(s, Packed, "a.000002.json")));
    cr_assert(ct_count_files() == 3 && ct_nothing_is_left());
    end();
}

/* The tensor of a compressed leaf is what `zstd -d` reads. */
Test(compress, is_read_by_zstd) {
    begin();
    const pith_array *zeros = pith_zeros(s, PITH_I32, PITH_SHAPE(CHUNK));
    pt_ok(s, pith_save(s, zeros, "a.json", &(pith_save_options){.compress = 1}));
    const ct_file f = ct_read(ct_find(".safetensors"));
    uint64_t header;
    memcpy(&header, f.bytes, 8);
    cr_assert(strstr(f.bytes + 8, "\"zstd:leaf/0\":{\"dtype\":\"U8\",\"shape\":["));
    ct_write("leaf.zst", f.bytes + 8 + header, f.n - 8 - header);
    free(f.bytes);
    const int status = system("command -v zstd >/dev/null || exit 77; zstd -dqc leaf.zst "
                              "| cmp -n 4194304 - /dev/zero && test "
                              "$(zstd -dqc leaf.zst | wc -c) -eq 4194304");
    end();
    if (status == 77 << 8)
        cr_skip("there is no zstd");
    cr_assert(status == 0);
}
