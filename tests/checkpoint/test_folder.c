/* The folder around a checkpoint: what is cleaned, what is left alone, what is refused,
 * and several writers at once. */
#include "checkpoint_scope.h"

#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { ATOMS = 200 }; /* enough for a sidecar */

static bool save(const char *name, int seed) {
    return pith_save(s, make_sim(s, ATOMS, seed), name, NULL);
}
static bool holds(const char *name, int seed) {
    const Sim *sim = pith_load(s, Sim, name);
    return !pith_failed(s) && ct_same_bits(s, sim, make_sim(s, ATOMS, seed));
}
static void copy(const char *from, const char *to) {
    const ct_file f = ct_read(from);
    ct_write(to, f.bytes, f.n);
    free(f.bytes);
}

Test(folder, keeps_a_sidecar_as_long_as_a_document_names_it) {
    begin();
    pt_ok(s, save("a.json", 1));
    copy("a.json", "best.json");
    pt_ok(s, save("a.json", 2));
    cr_assert(ct_count_files() == 4);
    pt_ok(s, holds("best.json", 1) && holds("a.json", 2));
    pt_ok(s, save("a.json", 3));
    cr_assert(ct_count_files() == 4, "the sidecar of state 2 was of a.json alone");
    pt_ok(s, holds("best.json", 1));
    unlink("best.json");
    pt_ok(s, save("a.json", 4));
    cr_assert(ct_count_files() == 3, "files of another document stay");
    end();
}

Test(folder, has_two_documents_of_one_state_share_nothing_by_accident) {
    begin();
    pt_ok(s, save("a.json", 1) && save("b.json", 1));
    cr_assert(ct_count_files() == 4);
    pt_ok(s, save("a.json", 2));
    pt_ok(s, holds("b.json", 1) && holds("a.json", 2));
    pt_ok(s, save("a.json", 1) && holds("a.json", 1) && holds("b.json", 1));
    end();
}

Test(folder, loses_old_sidecars_also_when_their_names_need_escapes) {
    begin();
    pt_ok(s, save("a \"b\\c\t.json", 1));
    pt_ok(s, save("a \"b\\c\t.json", 2));
    pt_ok(s, holds("a \"b\\c\t.json", 2));
    cr_assert(ct_count_files() == 2);
    end();
}

Test(folder, is_left_as_it_was_when_a_file_is_not_ours) {
    begin();
    ct_write("notes.txt", "{\"pith\":\"checkpoint\",\n", 22);
    ct_write("a.json", "precious", 8); /* replaced: that is what saving means */
    ct_write(".pith-x", "x", 1);
    ct_write("a.0123456789abcdef.safetensors", "other", 5);
    pt_ok(s, save("a.json", 1) && save("a.json", 2));
    cr_assert(access("notes.txt", F_OK) == 0 && access(".pith-x", F_OK) == 0);
    cr_assert(access("a.0123456789abcdef.safetensors", F_OK) == 0);
    cr_assert(ct_count_files() == 5);
    end();
}

Test(folder, is_swept_of_dead_writers_and_not_of_living_ones) {
    begin();
    ct_write(".pith-1-1.tmp", "dead", 4);
    ct_write(".pith-2-1.tmp", "alive", 5);
    const int alive = open(".pith-2-1.tmp", O_RDONLY);
    cr_assert(flock(alive, LOCK_EX) == 0);
    pt_ok(s, save("a.json", 1));
    cr_assert(access(".pith-1-1.tmp", F_OK) != 0 && access(".pith-2-1.tmp", F_OK) == 0);
    close(alive);
    pt_ok(s, save("a.json", 1));
    cr_assert(ct_count_files() == 2);
    end();
}

Test(folder, holds_what_is_no_file_and_is_not_waited_for) {
    begin();
    cr_assert(mkfifo("fifo", 0600) == 0 && mkdir("folder", 0700) == 0);
    static const char *const names[] = {"fifo",    "folder", "/dev/null", "/dev/full",
                                        "folder/", ".",      "/"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        pt_fails(PITH_E_IO, s, save(names[i], 1));
        pt_fails(PITH_E_IO, s, pith_load(s, Sim, names[i]));
    }
    pt_fails(PITH_E_IO, s, pith_load(s, Sim, "nothing"));
    pt_says("cannot open \"nothing\": No such file or directory");
    pt_fails(PITH_E_IO, s, pith_load(s, Sim, "fifo"));
    pt_says("it is not a regular file");
    char longest[300];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    pt_fails(PITH_E_IO, s, save(longest, 1));
    longest[250] =
        0; /* a file may be called so, its sidecar not: it gets a name of its own */
    pt_ok(s, save(longest, 1) && holds(longest, 1));
    end();
}

Test(folder, is_found_through_links) {
    begin();
    cr_assert(mkdir("real", 0700) == 0);
    cr_assert(symlink("real/a.json", "link.json") == 0);
    pt_fails(PITH_E_IO, s, save("link.json", 1)); /* it points nowhere */
    pt_ok(s, save("real/a.json", 1) && holds("link.json", 1));
    pt_ok(s, save("link.json", 2) && holds("real/a.json", 2));
    cr_assert(ct_count_files() == 2, "the link is one still, its target was replaced");
    struct stat st;
    cr_assert(lstat("link.json", &st) == 0 && S_ISLNK(st.st_mode));
    cr_assert(system("rm -r real") == 0);
    end();
}

Test(folder, keeps_permissions_of_what_is_replaced) {
    begin();
    struct stat st;
    pt_ok(s, save("a.json", 1));
    chmod("a.json", 0640);
    pt_ok(s, save("a.json", 2));
    cr_assert(stat("a.json", &st) == 0 && (st.st_mode & 0777) == 0640);
    cr_assert(stat(ct_find(".safetensors"), &st) == 0 && (st.st_mode & 0777) == 0640);
    end();
}

Test(folder, that_is_full_loses_nothing) {
    begin();
    pt_ok(s, save("a.json", 1));
    signal(SIGXFSZ, SIG_IGN);
    const struct rlimit most = {4000, RLIM_INFINITY},
                        all = {RLIM_INFINITY, RLIM_INFINITY};
    cr_assert(setrlimit(RLIMIT_FSIZE, &most) == 0);
    pt_fails(PITH_E_IO, s, save("a.json", 2));
    cr_assert(setrlimit(RLIMIT_FSIZE, &all) == 0);
    pt_says("cannot write \"a.json\": ");
    pt_says("File too large");
    pt_ok(s, holds("a.json", 1));
    cr_assert(ct_count_files() == 2);
    end();
}

/* The file-size limit strikes at every length of every file in turn. */
Test(folder, with_a_limit_to_sizes_loses_nothing, .timeout = 120) {
    begin();
    static const pith_save_options ways[] = {
        {.step = 1},
        {.compress = 1, .inline_bytes = -1},
        {.keep = 2, .incremental = true, .compress = 1, .inline_bytes = -1}};
    signal(SIGXFSZ, SIG_IGN);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        const pith_load_options newest = {.newest = ways[i].keep > 0};
        int failed = 0, saved = 0;
        pt_ok(s, pith_save(s, make_sim(s, ATOMS, 1), "a.json", &ways[i]));
        for (rlim_t limit = 0; limit < 12000; limit += 257) {
            const struct rlimit most = {limit, RLIM_INFINITY},
                                all = {RLIM_INFINITY, RLIM_INFINITY};
            const Sim *sim = make_sim(s, ATOMS, 2);
            cr_assert(setrlimit(RLIMIT_FSIZE, &most) == 0);
            const bool done = pith_save(s, sim, "a.json", &ways[i]);
            cr_assert(setrlimit(RLIMIT_FSIZE, &all) == 0);
            cr_assert(done || strstr(pith_message(s), "File too large"), "%s",
                      pith_message(s));
            pith_clear(s);
            failed += !done;
            saved += done;
            const Sim *there = pith_load_any(s, Sim_pith_type(), "a.json", &newest);
            pt_ok(s, there);
            cr_assert(ct_same_bits(s, there, saved ? sim : make_sim(s, ATOMS, 1)));
            cr_assert(ct_nothing_is_left(), "limit %d", (int)limit);
        }
        cr_assert(failed > 3 && saved > 3, "%d failed, %d did not", failed, saved);
    }
    end();
}

Test(folder, that_is_read_only_is_named_and_left) {
    begin();
    pt_ok(s, save("a.json", 1));
    cr_assert(chmod(".", 0555) == 0);
    const pid_t child = fork();
    cr_assert(child >= 0);
    if (child == 0) { /* permissions do not bind root */
        if (geteuid() == 0 && setuid(65534) != 0)
            _exit(2);
        rt = pith_open(&(pith_open_options){.device = "host", .threads = 1});
        s = pith_scope_open(rt);
        const pith_save_options series = {.keep = 2, .incremental = true};
        const bool saved = save("a.json", 2);
        const bool said = strstr(pith_message(s), "\"a.json\": open: Permission denied");
        pith_clear(s);
        _exit(saved || !said || pith_save(s, make_sim(s, ATOMS, 2), "b.json", &series));
    }
    int status;
    cr_assert(waitpid(child, &status, 0) == child && WIFEXITED(status));
    cr_assert(chmod(".", 0700) == 0);
    if (WEXITSTATUS(status) == 2)
        cr_skip("root may write everywhere here");
    cr_assert(WEXITSTATUS(status) == 0);
    pt_ok(s, holds("a.json", 1));
    cr_assert(ct_count_files() == 2);
    end();
}

/* ---- Several processes ---- */

/* Writes that often, and until the loads, if given, have come to a few. */
enum { FEW_LOADS = 6 };
static pid_t
start_writer(const char *name, int seed, int count, const atomic_int *loads) {
    const pid_t child = fork();
    cr_assert(child >= 0, "no process to write");
    if (child > 0)
        return child;
    pith_runtime *own = pith_open(&(pith_open_options){.device = "host", .threads = 1});
    for (int i = 0; i < count || (loads && atomic_load(loads) < FEW_LOADS); i++) {
        pith_scope *inner = pith_scope_open(own);
        if (!pith_save(inner, make_sim(inner, ATOMS, seed + i % 3), name, NULL)) {
            fprintf(stderr, "%s\n", pith_message(inner));
            _exit(1);
        }
        pith_scope_close(inner);
    }
    _exit(0);
}

Test(folder, takes_several_writers_and_readers_at_once, .timeout = 120) {
    enum { WRITERS = 4, SAVES = 60 };
    static const char *const names[WRITERS] = {"a.json", "a.json", "a", "b.json"};
    int running = WRITERS, status;
    atomic_int *loads = mmap(NULL, sizeof *loads, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert(loads != MAP_FAILED);
    ct_begin();
    cr_assert(waitpid(start_writer("a.json", 1, 1, NULL), &status, 0) > 0 && status == 0);
    for (int i = 0; i < WRITERS; i++) /* states overlap, so sidecars have equal names */
        start_writer(names[i], 1 + i % 2, SAVES, loads);
    rt = pt_open();
    s = pith_scope_open(rt);
    while (running) {
        pith_scope *inner = pith_scope_open_in(s);
        pt_ok(inner, pith_load(inner, Sim, "a.json"));
        atomic_fetch_add(loads, 1);
        pith_scope_close(inner);
        while (running && waitpid(-1, &status, WNOHANG) > 0) {
            cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a writer failed");
            running--;
        }
    }
    const Sim *last[] = {pith_load(s, Sim, "a.json"), pith_load(s, Sim, "a"),
                         pith_load(s, Sim, "b.json")};
    pt_ok(s, last[0]);
    end();
}
