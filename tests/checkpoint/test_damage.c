/* Damage: every byte changed and every length cut, of a document and of a sidecar.
 * Loading says what is wrong or gives exactly what was saved; it never crashes and never
 * guesses. */
#include "checkpoint_test.h"

#include <pthread.h>
#include <stdatomic.h>

static const void *make_tree(pith_scope *s) {
    Sim sim = *make_sim(s, 3, 5);
    sim.extra = pith_list_make(s, PITH_ITEMS(pith_none_make(s), pith_bool(s, true)));
    return pith_freeze(s, Sim, &sim);
}

/* What loading a damaged file may do. */
static void
judge(pith_scope *s, const void *saved, const char *what, size_t at, int *loaded) {
    pith_scope *inner = pith_scope_open_in(s);
    const void *tree = pith_load_any(inner, NULL, "a.json", NULL);
    if (!pith_failed(inner)) {
        cr_assert(ct_same_bits(inner, saved, tree), "%s %zu: loads something else", what,
                  at);
        ++*loaded;
    }
    const pith_status code = pith_code(inner);
    cr_assert(code == PITH_OK || code == PITH_E_FORMAT || code == PITH_E_IO, "%s %zu: %s",
              what, at, pith_message(inner));
    cr_assert(code == PITH_OK || strlen(pith_message(inner)) > 10);
    pith_clear(inner);
    pith_scope_close(inner);
}

static int flip_and_cut(pith_scope *s, const void *saved, const char *name) {
    const ct_file good = ct_read(name);
    char *bad = malloc(good.n + 1);
    int loaded = 0;
    for (size_t i = 0; i < good.n; i++) {
        static const unsigned char masks[] = {0x01, 0x20, 0x80, 0xff};
        memcpy(bad, good.bytes, good.n);
        bad[i] = (char)((unsigned char)bad[i] ^ masks[i % sizeof masks]);
        ct_write(name, bad, good.n);
        judge(s, saved, "flip", i, &loaded);
    }
    for (size_t n = 0; n < good.n; n++) {
        ct_write(name, good.bytes, n);
        judge(s, saved, "cut", n, &loaded);
    }
    memcpy(bad, good.bytes, good.n);
    bad[good.n] = '\n';
    ct_write(name, bad, good.n + 1);
    judge(s, saved, "longer", good.n, &loaded);
    ct_write(name, good.bytes, good.n);
    free(bad);
    free(good.bytes);
    return loaded;
}

Test(damage, of_a_document_is_always_found, .timeout = 240) {
    ct_begin();
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const void *tree = make_tree(s);
    pt_ok(s, pith_save(s, tree, "a.json", NULL));
    cr_assert(flip_and_cut(s, tree, "a.json") == 0);
    pt_ok(s, ct_same_bits(s, tree, pith_load_any(s, NULL, "a.json", NULL)));
    pith_scope_close(s);
    pt_close(rt);
    ct_end();
}

Test(damage, of_a_sidecar_is_always_found, .timeout = 240) {
    ct_begin();
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const void *tree = make_tree(s);
    const pith_save_options options = {.inline_bytes = -1};
    pt_ok(s, pith_save(s, tree, "a.json", &options));
    cr_assert(flip_and_cut(s, tree, ct_find(".safetensors")) == 0);
    cr_assert(flip_and_cut(s, tree, "a.json") == 0);
    pt_ok(s, ct_same_bits(s, tree, pith_load_any(s, NULL, "a.json", NULL)));
    pith_scope_close(s);
    pt_close(rt);
    ct_end();
}

/* A leaf of zeros is a frame and what fills it up, one of noise lies as it is. */
Test(damage, of_a_compressed_sidecar_is_always_found, .timeout = 240) {
    ct_begin();
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *zeros = pith_zeros(s, PITH_F64, PITH_SHAPE(300));
    const void *tree = pith_list_make(s, PITH_ITEMS(zeros, make_tree(s)));
    const pith_save_options options = {.inline_bytes = -1, .compress = 1};
    pt_ok(s, pith_save(s, tree, "a.json", &options));
    cr_assert(flip_and_cut(s, tree, ct_find(".safetensors")) == 0);
    cr_assert(flip_and_cut(s, tree, "a.json") == 0);
    pith_scope_close(s);
    pt_close(rt);
    ct_end();
}

Test(damage, behind_a_forged_checksum_does_no_harm, .timeout = 240) {
    ct_begin();
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_save_options options = {.inline_bytes = 40};
    pt_ok(s, pith_save(s, make_tree(s), "a.json", &options));
    const ct_file good = ct_read("a.json");
    char *bad = malloc(good.n);
    for (size_t i = 0; i + 47 < good.n; i++) {
        static const char put[] = "\"0,]}-9[{:e.\\n";
        memcpy(bad, good.bytes, good.n);
        bad[i] = put[i % (sizeof put - 1)];
        ct_seal(bad, good.n);
        ct_write("a.json", bad, good.n);
        pith_scope *inner = pith_scope_open_in(s);
        const void *tree = pith_load_any(inner, NULL, "a.json", NULL);
        cr_assert(pith_failed(inner) ? !tree : tree != NULL);
        pith_clear(inner);
        pith_scope_close(inner);
    }
    free(bad);
    free(good.bytes);
    pith_scope_close(s);
    pt_close(rt);
    ct_end();
}

Test(damage, names_the_leaf_that_it_struck) {
    ct_begin();
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_save_options options = {.inline_bytes = -1};
    pt_ok(s, pith_save(s, make_sim(s, 100, 1), "a.json", &options));
    const char *name = ct_find(".safetensors");
    const ct_file good = ct_read(name);
    good.bytes[good.n - 1] ^= 1;
    ct_write(name, good.bytes, good.n);
    pt_fails(PITH_E_FORMAT, s, pith_load(s, Sim, "a.json"));
    cr_assert_str_eq(pt_error.path, ".neighbour");
    pt_says("damaged in \"a.");
    pt_says("its checksum does not match");
    ct_write(name, good.bytes, good.n - 1);
    pt_fails(PITH_E_FORMAT, s, pith_load(s, Sim, "a.json"));
    pt_says("bytes, expected");
    unlink(name);
    pt_fails(PITH_E_IO, s, pith_load(s, Sim, "a.json"));
    pt_says("it is not in the folder of the document");
    cr_assert(symlink("/dev/zero", name) == 0);
    pt_fails(PITH_E_IO, s, pith_load(s, Sim, "a.json"));
    pt_says("it is a symbolic link");
    unlink(name);
    cr_assert(mkfifo(name, 0600) == 0);
    pt_fails(PITH_E_IO, s, pith_load(s, Sim, "a.json"));
    pt_says("it is not a regular file");
    free(good.bytes);
    pith_scope_close(s);
    pt_close(rt);
    ct_end();
}

/* ---- Files that change while they are read ---- */

Test(damage, of_files_that_are_open_is_found_too) {
    ct_begin();
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_save_options options = {.inline_bytes = -1};
    pt_ok(s, pith_save(s, make_sim(s, 100, 1), "a.json", &options));
    const char *name = ct_find(".safetensors");
    const ct_file good = ct_read(name);
    const pith_checkpoint *c = pith_checkpoint_open(s, "a.json");
    pt_ok(s, pith_checkpoint_array(s, c, ".atoms.position") != NULL);
    cr_assert(truncate(name, (off_t)good.n - 8) == 0);
    pt_fails(PITH_E_IO, s, pith_checkpoint_array(s, c, ".neighbour"));
    pt_says("it became shorter while it was read");
    pt_ok(s, pith_checkpoint_array(s, c, ".atoms.position") != NULL);
    good.bytes[good.n - 1] ^= 1;
    const int file = open(name, O_WRONLY); /* the same file, in place */
    cr_assert(file >= 0 && pwrite(file, good.bytes, good.n, 0) == (ssize_t)good.n);
    close(file);
    pt_fails(PITH_E_FORMAT, s, pith_checkpoint_array(s, c, ".neighbour"));
    pt_says("its checksum does not match");
    free(good.bytes);
    pith_scope_close(s);
    pt_close(rt);
    ct_end();
}

typedef struct Changing {
    char name[2][300];
    ct_file good[2];
    atomic_bool done;
} Changing;

/* Damages both files in place and repairs them, again and again. */
static void *change(void *closure) {
    Changing *v = closure;
    unsigned state = 1;
    while (!atomic_load(&v->done)) {
        state = state * 1103515245 + 12345;
        const ct_file *f = &v->good[state >> 16 & 1];
        const int file = open(v->name[state >> 16 & 1], O_WRONLY);
        const off_t at = (off_t)((state >> 8) % f->n);
        const bool cut = state >> 20 & 1;
        bool done = cut ? ftruncate(file, at) == 0 : pwrite(file, "\xa5", 1, at) == 1;
        done = pwrite(file, f->bytes, f->n, 0) == (ssize_t)f->n && done;
        close(file);
        if (!done)
            abort();
    }
    return NULL;
}

Test(damage, that_comes_and_goes_gives_the_tree_or_an_error, .timeout = 120) {
    ct_begin();
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    Changing v = {.done = false};
    const pith_save_options options = {.inline_bytes = 1000};
    const Sim *sim = make_sim(s, 3000, 1);
    pthread_t thread;
    int loaded = 0;
    pt_ok(s, pith_save(s, sim, "a.json", &options));
    snprintf(v.name[0], sizeof v.name[0], "a.json");
    snprintf(v.name[1], sizeof v.name[1], "%s", ct_find(".safetensors"));
    for (int i = 0; i < 2; i++)
        v.good[i] = ct_read(v.name[i]);
    cr_assert(pthread_create(&thread, NULL, change, &v) == 0);
    for (size_t i = 0; i < 400; i++)
        judge(s, sim, "try", i, &loaded);
    atomic_store(&v.done, true);
    pthread_join(thread, NULL);
    pt_ok(s, ct_same_bits(s, sim, pith_load_any(s, NULL, "a.json", NULL)));
    for (int i = 0; i < 2; i++)
        free(v.good[i].bytes);
    pith_scope_close(s);
    pt_close(rt);
    ct_end();
}
