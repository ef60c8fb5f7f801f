/* Large files past the page cache: the same bytes, however the pieces fall. The tests
 * work beside their program, on a disk: a file system in memory has no such writes. */
#include "checkpoint/store/direct_io.h"
#include "checkpoint_test.h"

enum { PIECE = 64 << 10, PAGE = 4096 };

static void begin(void) {
    char here[200];
    cr_assert(getcwd(here, sizeof here));
    setenv("TMPDIR", here, 1);
    ct_begin();
}

static void set_direct(bool on) {
    pithp_direct_io_limits = (pithp_direct_io_bounds){on ? 1 : SIZE_MAX, PIECE};
}

static bool is_direct_here(pith_runtime *rt) {
    const int file = open("probe", O_WRONLY | O_CREAT, 0600);
    cr_assert(file >= 0);
    pithp_direct_io *d = pithp_direct_io_begin(rt, file, 1);
    if (d)
        cr_assert(pithp_direct_io_end(d, true) == 0);
    close(file);
    unlink("probe");
    return d != NULL;
}

/* The only sidecar of the folder. */
static ct_file sidecar(void) {
    ct_file f = {0};
    DIR *listing = opendir(".");
    for (struct dirent *e; (e = readdir(listing));)
        if (strstr(e->d_name, ".safetensors")) {
            cr_assert(!f.bytes, "two sidecars");
            f = ct_read(e->d_name);
        }
    closedir(listing);
    cr_assert(f.bytes);
    return f;
}

static void
require_same_files(pith_scope *s, const void *tree, const pith_save_options *o) {
    set_direct(false);
    pt_ok(s, pith_save(s, tree, "a.json", o));
    pt_ok(s, pith_save_wait(s));
    const ct_file document = ct_read("a.json"), plain = sidecar();
    cr_assert(unlink("a.json") == 0);
    set_direct(true);
    pt_ok(s, pith_save(s, tree, "a.json", o));
    pt_ok(s, pith_save_wait(s));
    const ct_file again = ct_read("a.json"), direct = sidecar();
    cr_assert(plain.n == direct.n && memcmp(plain.bytes, direct.bytes, plain.n) == 0);
    cr_assert(document.n == again.n && memcmp(document.bytes, again.bytes, again.n) == 0);
    const void *loaded = pith_load_any(s, NULL, "a.json", NULL);
    pt_ok(s, ct_same_bits(s, loaded, tree));
    free(document.bytes), free(plain.bytes), free(again.bytes), free(direct.bytes);
}

Test(direct, files_have_the_same_bytes_wherever_pieces_end) {
    static const int64_t around[] = {PAGE, PIECE, 2 * PIECE, 3 * PIECE};
    begin();
    pith_runtime *rt = pt_open();
    set_direct(true);
    if (!is_direct_here(rt))
        printf("no direct writes here: %s\n", ct_folder);
    for (int i = 0; i < 4; i++)
        for (int64_t off = -1024; off <= 1024; off += 64) {
            pith_scope *s = pith_scope_open(rt);
            const pith_array *leaf =
                pith_add(s, pith_arange(s, PITH_I32, (around[i] + off) / 4),
                         pith_array_copy(s, PITH_I32, PITH_SCALAR, &(int32_t){i}));
            require_same_files(s, leaf, &(pith_save_options){.inline_bytes = -1});
            pith_scope_close(s);
        }
    pt_close(rt);
    ct_end();
}

Test(direct, files_have_the_same_bytes_in_every_way_of_saving) {
    static const pith_save_options ways[] = {{.inline_bytes = -1},
                                             {.compress = 1},
                                             {.background = true},
                                             {.background = true, .compress = 3}};
    begin();
    pith_runtime *rt = pt_open();
    for (int i = 0; i < 4; i++) {
        pith_scope *s = pith_scope_open(rt);
        require_same_files(s, make_sim(s, 20000 + 111 * i, i), &ways[i]);
        pith_scope_close(s);
    }
    pt_close(rt);
    ct_end();
}
