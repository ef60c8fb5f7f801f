/* A document that names files which are not its own: no save, no pruning and no sweep
 * deletes them. */
#include "checkpoint_scope.h"

enum { ATOMS = 200 }; /* enough for a sidecar */

static bool save(const char *name, int seed) {
    return pith_save(s, make_sim(s, ATOMS, seed), name, NULL);
}
static bool there(const char *name) {
    return access(name, F_OK) == 0;
}

/* Where a sidecar begins and ends in the text of its document. */
static char *sidecar_of(const char *document) {
    static char name[256];
    pithp_claims its;
    const int folder = open(".", O_RDONLY | O_DIRECTORY);
    cr_assert(pithp_folder_claims_of(folder, document, &its) && its.count == 1);
    close(folder);
    snprintf(name, sizeof name, "%s", its.rows[0].file);
    return name;
}

/* A document that names `file` as its only sidecar, with the size and the checksum of the
 * file's first `data` bytes, as a forger would write it. */
static void forge(const char *document, const char *file, size_t data) {
    char digest[PITHP_DIGEST_TEXT], text[2048];
    const ct_file f = ct_read(file);
    pithp_digest_print(pithp_digest_of(f.bytes, data), digest);
    const int n = snprintf(
        text, sizeof text,
        "{\"pith\":\"checkpoint\",\n\"format\":2,\n\"sidecars\":[\n{\"file\":\"%s\","
        "\"bytes\":%zu,\"data\":%zu,\"checksum\":\"%s\"}\n],\n\"library\":\"0.1.0\",\n"
        "\"step\":0,\n\"metadata\":{},\n\"types\":[],\n\"nodes\":[\n{\"kind\":\"none\"}\n"
        "],\n\"leaves\":[],\n\"checksum\":\"00000000000000000000000000000000\"}\n",
        file, f.n, data, digest);
    ct_seal(text, (size_t)n);
    ct_write(document, text, (size_t)n);
    free(f.bytes);
}

static size_t header_of(const char *file) {
    const ct_file f = ct_read(file);
    uint64_t length;
    memcpy(&length, f.bytes, sizeof length);
    free(f.bytes);
    return 8 + (size_t)length;
}

/* A safetensors file of another program, under any name. */
static void write_weights(const char *name) {
    static const char header[] =
        "{\"w\":{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[0,8]}} ";
    char file[8 + sizeof header - 1 + 8] = {0};
    const uint64_t length = sizeof header - 1;
    memcpy(file, &length, 8);
    memcpy(file + 8, header, sizeof header - 1);
    ct_write(name, file, sizeof file);
}

static void move(const char *from, const char *to) {
    cr_assert(rename(from, to) == 0, "%s", from);
}

Test(own_sidecar, is_not_any_file_that_a_document_names) {
    begin();
    static const char *const files[] = {"thesis.txt", "model.safetensors",
                                        "a.0123456789abcdef.safetensors",
                                        "checkpoint.0123456789abcdef.safetensors"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        write_weights(files[i]);
        forge("a.json", files[i], header_of(files[i]));
        pt_ok(s, save("a.json", 1));
        cr_assert(there(files[i]), "%s", files[i]);
    }
    end();
}

Test(own_sidecar, is_not_one_of_another_document) {
    begin();
    static const char *const victims[] = {
        "other.0123456789abcdef.safetensors", "a.b.0123456789abcdef.safetensors",
        "a.0123456789abcdeg.safetensors",     "a.0123456789abcde.safetensors",
        "a.0123456789abcdef0.safetensors",    "a.0123456789abcdef.safetensors.bak",
        "a0123456789abcdef.safetensors"};
    pt_ok(s, save("other.json", 1));
    move(sidecar_of("other.json"), victims[0]);
    cr_assert(unlink("other.json") == 0);
    for (size_t i = 0; i < sizeof victims / sizeof victims[0]; i++) {
        if (i)
            move(victims[i - 1], victims[i]);
        forge("a.json", victims[i], header_of(victims[i]));
        pt_ok(s, save("a.json", 2));
        cr_assert(there(victims[i]), "%s", victims[i]);
    }
    /* with the name of its own it goes */
    const char *own = "a.0123456789abcdef.safetensors";
    move(victims[6], own);
    forge("a.json", own, header_of(own));
    pt_ok(s, save("a.json", 2));
    cr_assert(!there(own));
    end();
}

Test(own_sidecar, has_the_size_and_the_header_that_its_document_states) {
    begin();
    char own[256];
    for (int way = 0; way < 4; way++) {
        pt_ok(s, save("a.json", 1));
        snprintf(own, sizeof own, "%s", sidecar_of("a.json"));
        ct_file f = ct_read(own);
        if (way == 0)
            f.n--;
        else if (way == 1)
            f.bytes[20] ^= 1;
        else if (way == 2)
            f.bytes[0] ^= 1;
        else
            f.bytes[f.n - 1] ^= 1; /* a leaf is damaged; the file is ours */
        ct_write(own, f.bytes, f.n);
        free(f.bytes);
        pt_ok(s, save("a.json", 2));
        cr_assert(there(own) == (way < 3), "way %d", way);
        unlink(own);
    }
    end();
}

Test(own_sidecar, is_a_regular_file) {
    begin();
    char own[256];
    pt_ok(s, save("a.json", 1));
    snprintf(own, sizeof own, "%s", sidecar_of("a.json"));
    move(own, "aside");
    cr_assert(symlink("aside", own) == 0);
    pt_ok(s, save("a.json", 2));
    cr_assert(there(own) && there("aside"));
    pt_ok(s, save("a.json", 1)); /* the link is replaced */
    struct stat st;
    cr_assert(lstat(own, &st) == 0 && S_ISREG(st.st_mode) && there("aside"));
    cr_assert(unlink(own) == 0 && mkfifo(own, 0600) == 0);
    pt_ok(s, save("a.json", 3));
    cr_assert(there(own));
    end();
}

Test(own_sidecar, belongs_to_the_owner_of_its_document) {
    begin();
    char own[256];
    pt_ok(s, save("a.json", 1));
    snprintf(own, sizeof own, "%s", sidecar_of("a.json"));
    if (chown("a.json", 65534, (gid_t)-1) != 0) {
        end();
        cr_skip("only root gives files away");
    }
    pt_ok(s, save("a.json", 2));
    cr_assert(there(own));
    end();
}

Test(own_sidecar, of_a_series_goes_with_its_member) {
    begin();
    char name[64];
    const pith_save_options two = {.keep = 2};
    write_weights("precious.safetensors");
    forge("a.000001.json", "precious.safetensors", header_of("precious.safetensors"));
    ct_write("a.000002.json", "{}", 2); /* of another program */
    for (int i = 3; i <= 6; i++) {
        pt_ok(s, pith_save(s, make_sim(s, ATOMS, i), "a.json", &two));
        snprintf(name, sizeof name, "a.%06d.json", i);
        cr_assert(there(name));
    }
    cr_assert(!there("a.000001.json") && there("precious.safetensors"));
    cr_assert(there("a.000002.json") && !there("a.000003.json") &&
              !there("a.000004.json"));
    cr_assert(ct_count_files() == 6, "two members with sidecars, and two other files");
    /* a save to the path of one member replaces it, with the sidecar of the series */
    pt_ok(s, save("a.000006.json", 7));
    cr_assert(ct_count_files() == 6);
    end();
}

Test(own_sidecar, is_all_that_an_incremental_series_shares) {
    begin();
    const pith_save_options o = {.keep = 3, .incremental = true};
    char own[256];
    pt_ok(s, pith_save(s, make_sim(s, ATOMS, 1), "a.json", &o));
    snprintf(own, sizeof own, "%s", sidecar_of("a.000001.json"));
    move(own, "precious.safetensors");
    ct_replace("a.000001.json", own, "precious.safetensors");
    pt_ok(s, pith_load(s, Sim, "a.000001.json"));
    pt_ok(s, pith_save(s, make_sim(s, ATOMS, 1), "a.json", &o));
    cr_assert(strcmp(sidecar_of("a.000002.json"), own) == 0);
    pt_ok(s,
          pith_save(s, make_sim(s, ATOMS, 2), "a.json", &(pith_save_options){.keep = 1}));
    cr_assert(there("precious.safetensors") && !there(own) && ct_count_files() == 3);
    end();
}

Test(own_sidecar, of_a_dead_writer_goes_with_its_document) {
    begin();
    char own[256];
    static const char *const documents[] = {".pith-1-1.a.tmp", ".pith-1-1.a.000017.tmp"};
    for (size_t i = 0; i < 2; i++) {
        pt_ok(s, save("a.json", 1));
        snprintf(own, sizeof own, "%s", sidecar_of("a.json"));
        move("a.json", documents[i]);
        pt_ok(s, save("b.json", 2));
        cr_assert(!there(documents[i]) && !there(own), "%s", documents[i]);
    }
    static const char *const others[] = {".pith-1-1.tmp", ".pith-1-1.b.tmp",
                                         ".pith-1-1.aa.tmp"};
    for (size_t i = 0; i < 3; i++) {
        pt_ok(s, save("a.json", 1));
        snprintf(own, sizeof own, "%s", sidecar_of("a.json"));
        move("a.json", others[i]);
        pt_ok(s, save("c.json", 2));
        cr_assert(!there(others[i]) && there(own), "%s", others[i]);
    }
    end();
}

Test(own_sidecar, sweep_takes_temporary_names_of_pith_alone) {
    begin();
    static const char *const kept[] = {
        ".pith-.tmp",     ".pith-1-.tmp",        ".pith-1.tmp",    ".pith--1.tmp",
        ".pith-a-1.tmp",  ".pith-1-1x.tmp",      ".pith-1-1..tmp", ".pith-notes.tmp",
        ".pith-1-1.tmp~", ".pith-convert-12.tmp"};
    const size_t count = sizeof kept / sizeof kept[0];
    for (size_t i = 0; i < count; i++)
        ct_write(kept[i], "x", 1);
    ct_write(".pith-1-1.tmp", "x", 1);
    ct_write(".pith-1-2.some.stem.tmp", "x", 1);
    pt_ok(s, save("a.json", 1));
    for (size_t i = 0; i < count; i++)
        cr_assert(there(kept[i]), "%s", kept[i]);
    cr_assert(!there(".pith-1-1.tmp") && !there(".pith-1-2.some.stem.tmp"));
    end();
}

Test(own_sidecar, has_a_name_that_can_be_loaded_whatever_the_document_is_called) {
    begin();
    static const char *const names[] = {".hidden.json", ".json", "a.json.json",
                                        "\xff\xfe.json", "a.000017.json"};
    char longest[256];
    memset(longest, 'x', 249);
    memcpy(longest + 240, ".json", 6);
    for (size_t i = 0; i < 6; i++) {
        const char *name = i < 5 ? names[i] : longest;
        pt_ok(s, save(name, 1) && save(name, 2) && pith_load(s, Sim, name));
        cr_assert(ct_count_files() == 2, "%s: %d files", name, ct_count_files());
        unlink(sidecar_of(name));
        unlink(name);
    }
    end();
}
