/* Series: the last members are kept, the newest that is whole is found, and nothing else
 * of the folder is touched. */
#include "checkpoint_scope.h"

#include <sys/mman.h>
#include <sys/wait.h>

enum { ATOMS = 200 }; /* enough for a sidecar */

static bool save(const char *name, int seed, int64_t keep) {
    return pith_save(s, make_sim(s, ATOMS, seed), name,
                     &(pith_save_options){.keep = keep, .step = 100 * seed});
}
static bool there(const char *name) {
    return access(name, F_OK) == 0;
}

static struct {
    int count;
    char path[64], text[256];
} passed;

static void pass(const char *path, const char *text, void *closure) {
    (void)closure;
    passed.count++;
    snprintf(passed.path, sizeof passed.path, "%s", path);
    snprintf(passed.text, sizeof passed.text, "%s", text);
}

static const Sim *newest(const char *name) {
    passed.count = 0;
    return pith_load_any(s, Sim_pith_type(), name,
                         &(pith_load_options){.newest = true, .passed_over = pass});
}
static bool holds(const char *name, int seed) {
    const Sim *sim = newest(name);
    return !pith_failed(s) && ct_same_bits(s, sim, make_sim(s, ATOMS, seed));
}

Test(series, keeps_the_last_members) {
    begin();
    for (int i = 1; i <= 5; i++) {
        pt_ok(s, save("a.json", i, 3) && holds("a.json", i));
        cr_assert(ct_count_files() == 2 * (i < 3 ? i : 3), "a document and a sidecar");
    }
    cr_assert(!there("a.json") && !there("a.000002.json") && there("a.000003.json") &&
              there("a.000004.json") && there("a.000005.json"));
    pt_ok(s, pith_load(s, Sim, "a.000003.json"));
    pt_ok(s, save("a.json", 6, 1));
    cr_assert(ct_count_files() == 2 && there("a.000006.json"));
    const pith_checkpoint *c = pith_checkpoint_open(s, "a.000006.json");
    cr_assert(pith_checkpoint_about(c)->step == 600);
    end();
}

Test(series, counts_saves_and_not_steps) {
    begin();
    pt_ok(s, save("a.json", 7, 2) && save("a.json", 8, 2));
    pt_ok(s, save("a.json", 3, 2)); /* the run went back */
    pt_ok(s, holds("a.json", 3));
    cr_assert(there("a.000002.json") && there("a.000003.json"));
    end();
}

Test(series, shares_the_sidecar_of_equal_states) {
    begin();
    pt_ok(s, save("a.json", 1, 3) && save("a.json", 1, 3));
    cr_assert(ct_count_files() == 3);
    pt_ok(s, save("a.json", 2, 2)); /* the first goes, its sidecar stays */
    cr_assert(ct_count_files() == 4);
    pt_ok(s, pith_load(s, Sim, "a.000002.json"));
    pt_ok(s, save("a.json", 2, 2));
    cr_assert(ct_count_files() == 3);
    end();
}

Test(series, leaves_other_files_alone) {
    begin();
    static const char *const others[] = {"a.json",
                                         "a.17.json",
                                         "a.0000001.json",
                                         "a.000001.txt",
                                         "a.000001",
                                         "aa.000001.json",
                                         "b.000001.json",
                                         "a.00000x.json",
                                         "a.-00001.json",
                                         "a.000000.json",
                                         "a.9999999999999999999.json"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        ct_write(others[i], "x", 1);
    pt_ok(s, save("a.json", 1, 1) && save("a.json", 2, 1) && holds("a.json", 2));
    cr_assert(passed.count == 0 && there("a.000002.json"));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        cr_assert(there(others[i]), "%s", others[i]);
    pt_ok(s, save("plain", 3, 1) && holds("plain", 3)); /* a name without .json */
    cr_assert(there("plain.000001"));
    end();
}

Test(series, goes_on_behind_six_digits) {
    begin();
    pt_ok(s, save("a.json", 1, 2));
    cr_assert(rename("a.000001.json", "a.999999.json") == 0);
    pt_ok(s, save("a.json", 2, 2) && holds("a.json", 2));
    cr_assert(there("a.1000000.json"));
    pt_ok(s, save("a.json", 3, 2) && holds("a.json", 3));
    cr_assert(!there("a.999999.json") && ct_count_files() == 4);
    end();
}

Test(series, passes_over_what_is_damaged_and_says_so) {
    begin();
    pt_ok(s, save("a.json", 1, 3) && save("a.json", 2, 3) && save("a.json", 3, 3));
    ct_file f = ct_read("a.000003.json");
    ct_write("a.000003.json", f.bytes, f.n / 2);
    pt_ok(s, holds("a.json", 2));
    cr_assert(passed.count == 1 && strcmp(passed.path, "a.000003.json") == 0);
    cr_assert(strstr(passed.text, "is cut off or damaged"), "%s", passed.text);
    free(f.bytes);

    const pith_checkpoint *c = pith_checkpoint_open(s, "a.000002.json");
    pith_checkpoint_sidecar sidecar;
    cr_assert(pith_checkpoint_get_sidecar(c, 0, &sidecar));
    f = ct_read(sidecar.file);
    f.bytes[f.n - 1] ^= 1; /* a leaf, which only its own checksum covers */
    ct_write(sidecar.file, f.bytes, f.n);
    free(f.bytes);
    pt_ok(s, holds("a.json", 1));
    cr_assert(passed.count == 2 && strstr(passed.text, "its checksum does not match"));

    cr_assert(unlink("a.000001.json") == 0);
    pt_fails(PITH_E_FORMAT, s, newest("a.json"));
    pt_says(
        "none of the 2 checkpoints of the series \"a.json\" is undamaged; the newest: "
        "\"a.000003.json\" is cut off or damaged");
    cr_assert(!newest("a.json")->atoms->position);
    pith_clear(s);
    pt_ok(s, save("a.json", 4, 3) && holds("a.json", 4));
    end();
}

Test(series, does_not_pass_over_what_is_whole_and_does_not_fit) {
    begin();
    pt_ok(s, save("a.json", 1, 3));
    pt_ok(s, pith_save(s, pith_f64(s, 1), "a.json", &(pith_save_options){.keep = 3}));
    pt_fails(PITH_E_TYPE, s, newest("a.json"));
    cr_assert(passed.count == 0);
    pt_says("\"a.000002.json\": expected a record Sim");
    end();
}

Test(series, names_what_is_wrong) {
    begin();
    pt_fails(PITH_E_IO, s, newest("a.json"));
    pt_says("there is no checkpoint of the series \"a.json\"");
    pt_fails(PITH_E_IO, s, newest("nowhere/a.json"));
    pt_says("cannot open \"nowhere/a.json\": No such file or directory");
    pt_fails(PITH_E_ARG, s, save("a.json", 1, -1));
    pt_says("keep must not be negative");
    char longest[256];
    memset(longest, 'x', 250);
    longest[250] = 0;
    pt_fails(PITH_E_IO, s, save(longest, 1, 2));
    pt_says("File name too long");
    cr_assert(ct_count_files() == 0);
    cr_assert(mkdir("runs", 0700) == 0);
    pt_ok(s, save("runs/a.json", 1, 2) && holds("runs/a.json", 1));
    ct_write("runs/a.000002.json", "x", 1);
    pt_ok(s, holds("runs/a.json", 1));
    cr_assert(strcmp(passed.path, "runs/a.000002.json") == 0);
    cr_assert(system("rm -r runs") == 0);
    end();
}

/* The newest member disappears between the search and the open. */
Test(series, is_no_file_and_a_file_is_no_series) {
    begin();
    pt_ok(s, save("a.json", 1, 3) && save("a.json", 2, 3));
    static const char says[] =
        "cannot open \"a.json\": No such file or directory; it is a series, whose newest "
        "member is \"a.000002.json\": pith_load_any with .newest loads";
    pt_fails(PITH_E_IO, s, pith_load(s, Sim, "a.json"));
    pt_says(says);
    pt_fails(PITH_E_IO, s, pith_checkpoint_open(s, "a.json"));
    pt_says(says);
    pt_fails(PITH_E_IO, s, pith_load(s, Sim, "b.json"));
    pt_says("cannot open \"b.json\": No such file or directory (");
    pt_ok(s, save("b.json", 1, 0));
    pt_fails(PITH_E_IO, s, newest("b.json"));
    pt_says("no checkpoint of the series \"b.json\"; a file of that name exists: load it "
            "without .newest");
    pt_fails(PITH_E_IO, s, newest("c.json"));
    pt_says("no checkpoint of the series \"c.json\" (");
    end();
}

Test(series, is_read_while_it_is_written, .timeout = 120) {
    begin();
    enum { WRITERS = 2, SAVES = 100, LOADS = 6 };
    atomic_int *loads = mmap(NULL, sizeof *loads, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert(loads != MAP_FAILED);
    pt_ok(s, save("a.json", 1, 1));
    for (int i = 0; i < WRITERS; i++) {
        const pid_t child = fork();
        cr_assert(child >= 0, "no process to write");
        if (child > 0)
            continue;
        pith_runtime *own =
            pith_open(&(pith_open_options){.device = "host", .threads = 1});
        pith_scope *inner = pith_scope_open(own);
        bool saved = true;
        for (int j = 0; saved && (j < SAVES || atomic_load(loads) < LOADS); j++)
            saved = pith_save(inner, make_sim(inner, ATOMS, 1 + j % 3), "a.json",
                              &(pith_save_options){.keep = 1});
        _exit(saved ? 0 : 1);
    }
    int running = WRITERS, status;
    while (running) {
        pith_scope *inner = pith_scope_open_in(s);
        const Sim *sim = pith_load_any(inner, Sim_pith_type(), "a.json",
                                       &(pith_load_options){.newest = true});
        pt_ok(inner, sim);
        atomic_fetch_add(loads, 1);
        pith_scope_close(inner);
        while (running && waitpid(-1, &status, WNOHANG) > 0) {
            cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a writer failed");
            running--;
        }
    }
    cr_assert(ct_count_files() == 2);
    end();
}
