/* Incremental series: what did not change is not written again, members stay whole when
 * older ones go, and how many files one depends on is bounded. */
#include "checkpoint_scope.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { N = 4000, LEAVES = 12 };

/* A list of LEAVES leaves of n elements; values[i] says what is in the i-th. */
static const void *make_list(pith_scope *in, int64_t n, const int *values) {
    const void *items[LEAVES];
    for (int i = 0; i < LEAVES; i++)
        items[i] = pith_full(in, PITH_F64, PITH_SHAPE(n), values[i] + 0.5);
    return pith_list_make(in, LEAVES, items);
}

static bool save(const void *tree, int64_t keep) {
    return pith_save(s, tree, "a.json",
                     &(pith_save_options){.keep = keep, .incremental = true});
}
static bool holds(const char *name, const int *values) {
    const void *tree = pith_load_any(s, NULL, name, NULL);
    return !pith_failed(s) && ct_same_bits(s, tree, make_list(s, N, values));
}
static bool newest_holds(const int *values) {
    const void *tree =
        pith_load_any(s, NULL, "a.json", &(pith_load_options){.newest = true});
    return !pith_failed(s) && ct_same_bits(s, tree, make_list(s, N, values));
}

static pith_checkpoint_info about(const char *name) {
    const pith_checkpoint *c = pith_checkpoint_open(s, name);
    pt_ok(s, c);
    return *pith_checkpoint_about(c);
}

static size_t bytes_of(const char *ending) {
    size_t bytes = 0;
    DIR *listing = opendir(".");
    struct stat st;
    for (struct dirent *e; (e = readdir(listing));) {
        const size_t n = strlen(e->d_name), m = strlen(ending);
        if (n >= m && strcmp(e->d_name + n - m, ending) == 0 && stat(e->d_name, &st) == 0)
            bytes += (size_t)st.st_size;
    }
    closedir(listing);
    return bytes;
}

Test(incremental, writes_what_changed_alone) {
    begin();
    int values[LEAVES] = {0};
    pt_ok(s, save(make_list(s, N, values), 3));
    const size_t first = bytes_of(".safetensors"), leaf = 8 * N;
    cr_assert(first > LEAVES * leaf && first < LEAVES * leaf + 2000);
    values[5] = 1;
    pt_ok(s, save(make_list(s, N, values), 3)); /* other arrays, equal but for one */
    const size_t second = bytes_of(".safetensors") - first;
    cr_assert(second >= leaf && second < leaf + 400, "%zu bytes more", second);
    pt_ok(s, holds("a.000002.json", values));
    cr_assert(about("a.000002.json").sidecar_count == 2);
    cr_assert(about("a.000002.json").leaf_bytes == LEAVES * leaf);
    const pith_checkpoint *c = pith_checkpoint_open(s, "a.000002.json");
    pith_checkpoint_leaf row;
    pith_checkpoint_sidecar sidecar;
    for (int i = 0; i < LEAVES; i++)
        cr_assert(pith_checkpoint_get_leaf(c, i, &row) && row.sidecar == (i == 5));
    cr_assert(pith_checkpoint_get_sidecar(c, 0, &sidecar) &&
              sidecar.leaf_count == LEAVES - 1 && sidecar.bytes == first);
    cr_assert(pith_checkpoint_get_sidecar(c, 1, &sidecar) && sidecar.leaf_count == 1);
    values[5] = 0;
    pt_ok(s, holds("a.000001.json", values));
    end();
}

Test(incremental, gives_the_same_bytes_for_the_same_state) {
    begin();
    int values[LEAVES] = {0};
    pt_ok(s, save(make_list(s, N, values), 9));
    values[3] = 1;
    pt_ok(s, save(make_list(s, N, values), 9));
    pt_ok(s, save(make_list(s, N, values), 9));
    const void *tree = pith_load_any(s, NULL, "a.000003.json", NULL);
    pt_ok(s, save(tree, 9));
    cr_assert(ct_count_files() == 4 + 2);
    const ct_file a = ct_read("a.000002.json");
    for (int i = 3; i <= 4; i++) {
        char name[32];
        snprintf(name, sizeof name, "a.%06d.json", i);
        const ct_file b = ct_read(name);
        cr_assert(a.n == b.n && memcmp(a.bytes, b.bytes, a.n) == 0, "%s", name);
        free(b.bytes);
    }
    free(a.bytes);
    end();
}

Test(incremental, leaves_every_kept_member_whole) {
    begin();
    int values[LEAVES] = {0}, history[60][LEAVES];
    srand(3);
    for (int i = 0; i < 60; i++) {
        for (int k = rand() % 4; k > 0; k--)
            values[rand() % LEAVES]++;
        if (i == 30)
            values[0] = 100; /* the oldest leaf of all */
        memcpy(history[i], values, sizeof values);
        pt_ok(s, save(make_list(s, N, values), 3));
        for (int j = i < 2 ? 0 : i - 2; j <= i; j++) {
            char name[32];
            snprintf(name, sizeof name, "a.%06d.json", j + 1);
            pt_ok(s, holds(name, history[j]));
            const pith_checkpoint *c = pith_checkpoint_open(s, name);
            const int64_t count = pith_checkpoint_about(c)->sidecar_count;
            size_t bytes = 0;
            for (int64_t k = 0; k < count; k++) {
                pith_checkpoint_sidecar sidecar;
                cr_assert(pith_checkpoint_get_sidecar(c, k, &sidecar));
                cr_assert(4 * sidecar.leaf_bytes + 4000 > sidecar.bytes,
                          "member %d uses %zu of %zu bytes", j, sidecar.leaf_bytes,
                          sidecar.bytes);
                bytes += sidecar.bytes;
            }
            cr_assert(count <= 8 && bytes < 4 * LEAVES * 8 * N + 32000);
        }
        cr_assert(ct_count_files() <= 3 + 3 * 8);
    }
    pt_ok(s, save(make_list(s, N, values), 1));
    cr_assert(ct_count_files() == 1 + (int)about("a.000061.json").sidecar_count);
    pt_ok(s, newest_holds(values));
    end();
}

Test(incremental, depends_on_eight_files_at_most) {
    begin();
    int values[LEAVES] = {0};
    for (int i = 0; i < LEAVES; i++) { /* one leaf after the other goes its own way */
        values[i] = 1;
        pt_ok(s, save(make_list(s, N, values), 1) && newest_holds(values));
    }
    char name[32];
    snprintf(name, sizeof name, "a.%06d.json", LEAVES);
    const int64_t count = about(name).sidecar_count;
    cr_assert(count <= 8 && count >= 6, "%d", (int)count);
    cr_assert(ct_count_files() == 1 + (int)count);
    end();
}

Test(incremental, compares_place_dtype_and_shape) {
    begin();
    const pith_array *a = pith_zeros(s, PITH_F64, PITH_SHAPE(N)),
                     *b = pith_zeros(s, PITH_I64, PITH_SHAPE(N)),
                     *c = pith_zeros(s, PITH_F64, PITH_SHAPE(N / 2, 2)),
                     *d = pith_zeros(s, PITH_F32, PITH_SHAPE(2 * N));
    pt_ok(s, save(pith_list_make(s, PITH_ITEMS(a, b, c)), 2));
    const size_t first = bytes_of(".safetensors");
    pt_ok(s, save(pith_list_make(s, PITH_ITEMS(b, a, d)), 2)); /* equal bytes */
    cr_assert(bytes_of(".safetensors") >= 2 * first - 100);
    cr_assert(about("a.000002.json").sidecar_count == 1);
    /* Another structure around the same places. */
    const pith_array *more = pith_ones(s, PITH_F64, PITH_SHAPE(N));
    pt_ok(s, save(pith_list_make(s, PITH_ITEMS(b, a, d, more)), 2));
    cr_assert(about("a.000003.json").sidecar_count == 2);
    const void *tree = pith_load_any(s, NULL, "a.000003.json", NULL);
    pt_ok(s, ct_same_bits(s, tree, pith_list_make(s, PITH_ITEMS(b, a, d, more))));
    end();
}

/* An array that was hashed once is not read again: its memory, changed behind the back of
 * all, is believed to be what it was. Its buffer, used again, is not. */
Test(incremental, hashes_an_array_once) {
    begin();
    int values[LEAVES] = {0};
    pith_scope *inner = pith_scope_open_in(s);
    const void *tree = make_list(inner, N, values);
    pt_ok(s, save(tree, 2));
    const pith_array *const *leaves;
    pith_tree_flatten(inner, tree, &leaves);
    ((double *)leaves[0]->data)[7] = 99;
    pt_ok(s, save(tree, 2));
    cr_assert(about("a.000002.json").sidecar_count == 1);
    pt_ok(s, holds("a.000002.json", values));
    pith_scope_close(inner); /* the memory is used again for other values */
    for (int i = 0; i < 10; i++) {
        inner = pith_scope_open_in(s);
        for (int k = 0; k < LEAVES; k++)
            values[k] = i + k;
        pt_ok(inner, pith_save(inner, make_list(inner, N, values), "a.json",
                               &(pith_save_options){.keep = 2, .incremental = true}));
        pith_scope_close(inner);
        pt_ok(s, newest_holds(values));
    }
    end();
}

/* What a save that failed saw of an array is not all of it. */
Test(incremental, knows_nothing_of_what_it_did_not_see) {
    begin();
    const pith_array *large = pith_full(s, PITH_F64, PITH_SHAPE(1 << 19), 3);
    signal(SIGXFSZ, SIG_IGN);
    const struct rlimit most = {4000, RLIM_INFINITY},
                        all = {RLIM_INFINITY, RLIM_INFINITY};
    cr_assert(setrlimit(RLIMIT_FSIZE, &most) == 0);
    pt_fails(PITH_E_IO, s, save(large, 2));
    cr_assert(setrlimit(RLIMIT_FSIZE, &all) == 0);
    pt_says("File too large");
    cr_assert(ct_count_files() == 0);
    struct stat before, now;
    pt_ok(s, save(large, 2));
    cr_assert(stat(ct_find(".safetensors"), &before) == 0);
    pt_ok(s, save(large, 2));
    cr_assert(stat(ct_find(".safetensors"), &now) == 0);
    cr_assert(before.st_ino == now.st_ino, "it was written again");
    end();
}

Test(incremental, shares_nothing_that_is_damaged_to_see) {
    begin();
    int values[LEAVES] = {0};
    const void *tree = make_list(s, N, values);
    pt_ok(s, save(tree, 5));
    char sidecar[300];
    strcpy(sidecar, ct_find(".safetensors"));
    ct_file f = ct_read(sidecar);
    ct_write(sidecar, f.bytes, f.n - 1); /* too short */
    pt_ok(s, save(tree, 5));
    pt_ok(s, holds("a.000002.json", values));
    unlink(sidecar); /* gone */
    pt_ok(s, save(tree, 5));
    pt_ok(s, holds("a.000003.json", values));
    unlink(sidecar);
    cr_assert(symlink("/dev/zero", sidecar) == 0);
    pt_ok(s, save(tree, 5));
    pt_ok(s, holds("a.000004.json", values));
    ct_write("a.000004.json", "{\"pith\":\"checkpoint\",\n", 22); /* the document */
    pt_ok(s, save(tree, 5));
    pt_ok(s, holds("a.000005.json", values));
    free(f.bytes);
    pt_fails(PITH_E_ARG, s,
             pith_save(s, tree, "b.json", &(pith_save_options){.incremental = true}));
    pt_says("incremental is for a series: keep must be positive");
    end();
}

Test(incremental, shares_no_file_whose_header_is_damaged) {
    begin();
    int values[LEAVES] = {0};
    const void *tree = make_list(s, N, values);
    pt_ok(s, save(tree, 5));
    char sidecar[300];
    strcpy(sidecar, ct_find(".safetensors"));
    ct_file f = ct_read(sidecar);
    f.bytes[20] ^= 1;
    ct_write(sidecar, f.bytes, f.n);
    free(f.bytes);
    pt_ok(s, save(tree, 5));
    pt_ok(s, holds("a.000002.json", values)); /* written anew, in the same name */
    pt_ok(s, holds("a.000001.json", values));
    end();
}

Test(incremental, checks_what_it_shares_where_that_is_asked_for) {
    begin();
    for (int level = 0; level < 2; level++) {
        const pith_save_options plain = {.keep = 9,
                                         .incremental = true,
                                         .compress = level},
                                checked = {.keep = 9,
                                           .incremental = true,
                                           .compress = level,
                                           .check_shared = true};
        const char *names[] = {"a.json", "b.json"},
                   *third[] = {"a.000003.json", "b.000003.json"};
        int values[LEAVES] = {0};
        for (int i = 0; i < LEAVES; i++)
            values[i] = i + 100 * level;
        const void *tree = make_list(s, N, values);
        pt_ok(s, pith_save(s, tree, names[level], &plain));
        const pith_checkpoint *c =
            pith_checkpoint_open(s, level ? "b.000001.json" : "a.000001.json");
        pith_checkpoint_sidecar own;
        cr_assert(pith_checkpoint_get_sidecar(c, 0, &own));
        ct_file f = ct_read(own.file);
        f.bytes[f.n - 1] ^= 1;
        ct_write(own.file, f.bytes, f.n);
        pt_ok(s, pith_save(s, tree, names[level], &plain)); /* does not look */
        pt_fails(PITH_E_FORMAT, s,
                 pith_load_any(s, NULL, level ? "b.000002.json" : "a.000002.json", NULL));
        pt_ok(s, pith_save(s, tree, names[level], &checked));
        pt_ok(s, holds(third[level], values));
        cr_assert(about(third[level]).sidecar_count == 2, "eleven leaves are shared");
        free(f.bytes);
    }
    pt_fails(PITH_E_ARG, s,
             pith_save(s, pith_f64(s, 1), "b.json",
                       &(pith_save_options){.keep = 1, .check_shared = true}));
    pt_says("check_shared is for an incremental series");
    end();
}

Test(incremental, is_older_when_its_newest_member_is_damaged) {
    begin();
    int values[LEAVES] = {0}, before[LEAVES];
    pt_ok(s, save(make_list(s, N, values), 3));
    memcpy(before, values, sizeof values);
    values[0] = 1;
    pt_ok(s, save(make_list(s, N, values), 3));
    const pith_checkpoint *c = pith_checkpoint_open(s, "a.000002.json");
    pith_checkpoint_sidecar own;
    cr_assert(pith_checkpoint_get_sidecar(c, 1, &own));
    ct_file f = ct_read(own.file);
    f.bytes[f.n - 1] ^= 1;
    ct_write(own.file, f.bytes, f.n);
    free(f.bytes);
    pt_ok(s, newest_holds(before));
    pt_fails(PITH_E_FORMAT, s, pith_load_any(s, NULL, "a.000002.json", NULL));
    cr_assert_str_eq(pt_error.path, "[0]");
    cr_assert(unlink(own.file) == 0);
    pt_ok(s, newest_holds(before));
    /* The other leaves can be read all the same. */
    c = pith_checkpoint_open(s, "a.000002.json");
    pt_fails(PITH_E_IO, s, pith_checkpoint_array(s, c, "[0]"));
    pt_ok(s, pith_checkpoint_array(s, c, "[1]"));
    end();
}

/* A document that is cut off where it names its sidecars holds no folder up. */
Test(incremental, cleans_beside_broken_documents) {
    begin();
    int values[LEAVES] = {0};
    pt_ok(s, save(make_list(s, N, values), 1));
    const ct_file f = ct_read("a.000001.json");
    const char *name = strstr(f.bytes, "\"file\"");
    for (int cut = 0; cut < 100; cut++) {
        ct_write("other.json", f.bytes, (size_t)(name - f.bytes) - 20 + (size_t)cut);
        values[cut % 3] = cut;
        pt_ok(s, save(make_list(s, N, values), 1) && newest_holds(values));
        cr_assert(ct_count_files() <= 1 + 1 + 8, "cut %d: %d files", cut,
                  ct_count_files());
    }
    free(f.bytes);
    end();
}

Test(incremental, saves_in_the_background) {
    begin();
    int values[LEAVES] = {0};
    for (int i = 0; i < 6; i++) {
        pith_scope *inner = pith_scope_open_in(s);
        values[i % 3]++;
        pt_ok(inner, pith_save(inner, make_list(inner, N, values), "a.json",
                               &(pith_save_options){
                                   .keep = 2, .incremental = true, .background = true}));
        pith_scope_close(inner);
    }
    pt_ok(s, pith_save_wait(s) && newest_holds(values));
    end();
}

/* Between the look at the newest member and the commit another writer prunes it. */
Test(incremental, takes_several_writers_at_once, .timeout = 120) {
    begin();
    enum { WRITERS = 3, SAVES = 60 };
    int values[LEAVES] = {0}, status;
    pt_ok(s, save(make_list(s, N, values), 1));
    for (int i = 0; i < WRITERS; i++) {
        const pid_t child = fork();
        cr_assert(child >= 0, "no process to write");
        if (child > 0)
            continue;
        rt = pith_open(&(pith_open_options){.device = "host", .threads = 1});
        s = pith_scope_open(rt);
        bool saved = true;
        srand((unsigned)i);
        for (int j = 0; saved && j < SAVES; j++) {
            values[rand() % LEAVES] = rand() % 3;
            saved = save(make_list(s, N, values), 1);
        }
        _exit(saved ? 0 : 1);
    }
    int loads = 0, running = WRITERS;
    while (running) {
        pith_scope *inner = pith_scope_open_in(s);
        pt_ok(inner,
              pith_load_any(inner, NULL, "a.json", &(pith_load_options){.newest = true}));
        loads++;
        pith_scope_close(inner);
        while (running && waitpid(-1, &status, WNOHANG) > 0) {
            cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a writer failed");
            running--;
        }
    }
    cr_assert(loads > 5);
    char name[32];
    snprintf(name, sizeof name, "a.%06d.json", 1 + WRITERS * SAVES);
    cr_assert(ct_count_files() == 1 + (int)about(name).sidecar_count);
    end();
}
