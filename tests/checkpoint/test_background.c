/* Saves in the background: the file has the tree as of the call, whatever the program
 * does next; a failure is reported once; the end of the program loses nothing. The lock
 * of the folder, held by the test, keeps the writer where it is. */
#include "checkpoint_scope.h"

#include <sys/file.h>
#include <sys/wait.h>

enum { ATOMS = 200 }; /* enough for a sidecar */

static const pith_save_options background = {.background = true};

static bool save(pith_scope *in, const char *name, int seed) {
    return pith_save(in, make_sim(in, ATOMS, seed), name, &background);
}
static bool holds(const char *name, int seed) {
    const Sim *sim = pith_load(s, Sim, name);
    return !pith_failed(s) && ct_same_bits(s, sim, make_sim(s, ATOMS, seed));
}

/* No writer of the folder goes on while this is open. */
static int stop_writers(const char *folder) {
    const int lock = open(folder, O_RDONLY | O_DIRECTORY);
    cr_assert(lock >= 0 && flock(lock, LOCK_EX) == 0);
    return lock;
}

Test(background, writes_what_was_there_when_it_was_called) {
    begin();
    const int lock = stop_writers(".");
    pith_scope *inner = pith_scope_open_in(s);
    const char *const pair = strdup("first");
    pith_metadata metadata[] = {{"run", pair}, {NULL, NULL}};
    char path[] = "a.json";
    pith_save_options options = {.background = true, .metadata = metadata, .step = 7};
    pt_ok(inner, pith_save(inner, make_sim(inner, ATOMS, 1), path, &options));
    memset(path, 'x', 6); /* nothing of the caller's is needed any more */
    memset((char *)(uintptr_t)pair, 'x', 5);
    free((void *)(uintptr_t)pair);
    options = (pith_save_options){.keep = 3};
    pith_scope_close(inner);
    inner = pith_scope_open_in(s);
    make_sim(inner, ATOMS, 2); /* where the freed memory was */
    cr_assert(access("a.json", F_OK) != 0, "it waits for the lock");
    pith_scope_close(inner);
    close(lock);
    pt_ok(s, pith_save_wait(s) && holds("a.json", 1));
    const pith_checkpoint *c = pith_checkpoint_open(s, "a.json");
    cr_assert(pith_checkpoint_about(c)->step == 7);
    cr_assert_str_eq(pith_checkpoint_metadata(c, 0).value, "first");
    end();
}

Test(background, is_waited_for_by_whatever_comes_next) {
    begin();
    pt_ok(s, save(s, "a.json", 1) && holds("a.json", 1));
    pt_ok(s, save(s, "a.json", 2) && pith_checkpoint_open(s, "a.json"));
    pt_ok(s, save(s, "a.json", 3) && save(s, "a.json", 4) && save(s, "a.json", 5));
    pt_ok(s, holds("a.json", 5));
    pt_ok(s, save(s, "a.json", 6) && pith_save(s, make_sim(s, ATOMS, 7), "a.json", NULL));
    pt_ok(s, holds("a.json", 7));
    pt_ok(s, pith_save_wait(s) && pith_save_wait(s));
    cr_assert(ct_count_files() == 2);
    pt_ok(s, save(s, "b.json", 8)); /* the runtime's close waits */
    pith_scope_close(s);
    pt_close(rt);
    rt = pt_open();
    s = pith_scope_open(rt);
    pt_ok(s, holds("b.json", 8));
    for (int i = 1; i <= 4; i++)
        pt_ok(s, pith_save(s, make_sim(s, ATOMS, i), "c.json",
                           &(pith_save_options){.background = true, .keep = 2}));
    const Sim *sim =
        pith_load_any(s, Sim_pith_type(), "c.json", &(pith_load_options){.newest = true});
    pt_ok(s, ct_same_bits(s, sim, make_sim(s, ATOMS, 4)));
    end();
}

Test(background, says_at_once_what_it_knows_at_once) {
    begin();
    pt_fails(PITH_E_IO, s, save(s, "nowhere/a.json", 1));
    pt_says("cannot open \"nowhere/a.json\": No such file or directory");
    pt_fails(PITH_E_ARG, s,
             pith_save(s, make_sim(s, ATOMS, 1), "a.json",
                       &(pith_save_options){.background = true,
                                            .metadata = PITH_METADATA({"a", "\xff"})}));
    pt_says("metadata are pairs of UTF-8 strings");
    const Units units = {"\xff", NULL};
    pt_fails(PITH_E_FORMAT, s,
             pith_save(s, pith_list_make(s, PITH_ITEMS(pith_freeze(s, Units, &units))),
                       "a.json", &background));
    cr_assert_str_eq(pt_error.path, "[0]");
    pt_says("length");
    pt_ok(s, pith_save_wait(s));
    cr_assert(ct_count_files() == 0);
    end();
}

/* A save whose folder goes away under it. */
static void fail_later(void) {
    cr_assert(mkdir("gone", 0700) == 0);
    const int lock = stop_writers("gone");
    pt_ok(s, save(s, "gone/a.json", 1));
    cr_assert(rmdir("gone") == 0);
    close(lock);
}

Test(background, reports_a_failure_once_at_the_next_call) {
    begin();
    static const char says[] =
        "a checkpoint saved in the background: cannot write \"gone/a.json\": open: "
        "No such file or directory";
    pt_ok(s, pith_save(s, make_sim(s, ATOMS, 9), "b.json", NULL));
    for (int i = 0; i < 5; i++) {
        fail_later();
        switch (i) {
            case 0:
                pt_fails(PITH_E_IO, s, pith_save_wait(s));
                break;
            case 1:
                pt_fails(PITH_E_IO, s, pith_load(s, Sim, "b.json"));
                break;
            case 2:
                pt_fails(PITH_E_IO, s, pith_checkpoint_open(s, "b.json"));
                break;
            case 3:
                pt_fails(PITH_E_IO, s,
                         pith_save(s, make_sim(s, ATOMS, 8), "b.json", NULL));
                break;
            default:
                pt_fails(PITH_E_IO, s, save(s, "b.json", 8));
        }
        pt_says(says);
        pt_ok(s, pith_save_wait(s) && holds("b.json", 9));
    }
    end();
}

static char logged[512];

static void log_hook(pith_log_level level, const char *message, void *closure) {
    (void)closure;
    if (level == PITH_LOG_ERROR)
        snprintf(logged, sizeof logged, "%s", message);
}

Test(background, logs_an_unread_failure) {
    ct_begin();
    rt = pith_open(&(pith_open_options){.device = "host", .log = log_hook});
    s = pith_scope_open(rt);
    fail_later();
    pith_scope_close(s);
    pith_close(rt);
    cr_assert(strstr(logged, "cannot write \"gone/a.json\""), "%s", logged);
    ct_end();
}

Test(background, is_not_the_business_of_a_child_after_fork) {
    begin();
    const int lock = stop_writers(".");
    pt_ok(s, save(s, "a.json", 1));
    const pid_t child = fork();
    cr_assert(child >= 0);
    if (child == 0) { /* it has no such thread, and must not wait for one */
        const bool fine =
            pith_save_wait(s) && !pith_load(s, Sim, "a.json")->atoms->position;
        pith_scope_close(s);
        pith_close(rt);
        _exit(fine ? 0 : 1);
    }
    int status;
    cr_assert(waitpid(child, &status, 0) == child && WIFEXITED(status) &&
              WEXITSTATUS(status) == 0);
    close(lock);
    pt_ok(s, pith_save_wait(s) && holds("a.json", 1));
    end();
}
