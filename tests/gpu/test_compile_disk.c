/* Compiled code on disk: found by other processes, never trusted blindly, never needed.
 */
#include "compile_test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* One runtime's life: compile a text that returns value, run it, tell what happened. */
static pithp_compile_counts live_once(pt_code *c, int value) {
    char text[128];
    pithp_module *m = NULL;
    pt_code_open(c);
    pt_return_text(text, sizeof text, value);
    pt_ok(c->s, pithp_compile(c->s, text, NULL, &m) == PITH_OK);
    cr_assert_eq(pt_run_return(c->s, m), value);
    pithp_module_release(m);
    const pithp_compile_counts counts = pithp_compile_counted(c->rt);
    pt_code_close(c);
    return counts;
}

/* The names of the files in the directory, at most room of them; how many there are. */
static int list(const pt_code *c, char names[][64], int room) {
    int n = 0;
    DIR *all = opendir(c->directory);
    cr_assert(all);
    for (struct dirent *d = readdir(all); d; d = readdir(all))
        if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0) {
            if (n < room)
                snprintf(names[n], 64, "%.63s", d->d_name);
            n++;
        }
    closedir(all);
    return n;
}

static void path_of(const pt_code *c, const char *name, char path[512]) {
    snprintf(path, 512, "%s/%s", c->directory, name);
}

Test(compile_disk, serves_the_next_runtime) {
    pt_code c;
    char names[2][64];
    pt_code_directory(&c);
    cr_assert_eq(live_once(&c, 1).compiled, 1);
    cr_assert_eq(list(&c, names, 2), 1);
    const pithp_compile_counts again = live_once(&c, 1);
    cr_assert_eq(again.compiled, 0);
    cr_assert_eq(again.on_disk, 1);
    cr_assert_eq(live_once(&c, 2).compiled, 1);
    pt_code_remove(&c);
}

Test(compile_disk, keys_differ_by_compiler_options_and_target) {
    const pithp_compile_options off = {0}, on = {.file = "text"};
    const pithp_code_subject base = {"text", "compiler", "target", &off};
    const pithp_code_subject others[] = {{"texts", "compiler", "target", &off},
                                         {"text", "compilers", "target", &off},
                                         {"text", "compiler", "targets", &off},
                                         {"text", "compilert", "arget", &off},
                                         {"text", "compiler", "target", &on}};
    const pithp_code_key key = pithp_code_key_of(&base), same = pithp_code_key_of(&base);
    cr_assert(key.low == same.low && key.high == same.high);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        cr_assert(pithp_code_key_of(&others[i]).low != key.low, "%zu", i);
}

/* Every byte that could be wrong is one of these kinds: head, key, size, sum, code, end.
 */
Test(compile_disk, what_was_damaged_is_deleted_and_made_again) {
    static const int places[] = {0, 8, 24, 32, 60, 500};
    pt_code c;
    char names[2][64], path[512];
    pt_code_directory(&c);
    live_once(&c, 7);
    cr_assert_eq(list(&c, names, 2), 1);
    path_of(&c, names[0], path);
    for (int i = 0; i < PITHP_COUNT(places); i++) {
        const int file = open(path, O_RDWR);
        unsigned char byte;
        cr_assert_eq(pread(file, &byte, 1, places[i]), 1);
        byte ^= 0x10;
        cr_assert_eq(pwrite(file, &byte, 1, places[i]), 1);
        close(file);
        const pithp_compile_counts counts = live_once(&c, 7);
        cr_assert_eq(counts.corrupted, 1, "byte %d", places[i]);
        cr_assert_eq(counts.compiled, 1);
        cr_assert_eq(live_once(&c, 7).on_disk, 1);
    }
    static const off_t lengths[] = {0, 20, 56, 1000};
    for (int i = 0; i < PITHP_COUNT(lengths); i++) {
        cr_assert_eq(truncate(path, lengths[i]), 0);
        cr_assert_eq(live_once(&c, 7).corrupted, 1, "length %d", (int)lengths[i]);
        cr_assert_eq(live_once(&c, 7).on_disk, 1);
    }
    pt_code_remove(&c);
}

Test(compile_disk, whole_but_of_another_text_is_not_used) {
    pt_code c;
    char names[2][64], one[512], two[512], other[512];
    pt_code_directory(&c);
    live_once(&c, 1);
    cr_assert_eq(list(&c, names, 2), 1);
    path_of(&c, names[0], one);
    snprintf(other, sizeof other, "%s-other", c.directory);
    cr_assert_eq(rename(one, other), 0);
    live_once(&c, 2);
    cr_assert_eq(list(&c, names, 2), 1);
    path_of(&c, names[0], two);
    cr_assert_eq(rename(other, two), 0);
    cr_assert_eq(live_once(&c, 2).corrupted, 1);
    pt_code_remove(&c);
}

Test(compile_disk, code_that_others_can_write_is_not_used) {
    pt_code c;
    char names[2][64], path[512];
    pt_code_directory(&c);
    live_once(&c, 3);
    cr_assert_eq(list(&c, names, 2), 1);
    path_of(&c, names[0], path);
    cr_assert_eq(chmod(path, 0666), 0);
    cr_assert_eq(live_once(&c, 3).compiled, 1); /* and written anew, for us alone */
    cr_assert_eq(live_once(&c, 3).on_disk, 1);
    cr_assert_eq(chmod(c.directory, 0777), 0);
    cr_assert_eq(live_once(&c, 3).compiled, 1);
    live_once(&c, 4);
    cr_assert_eq(list(&c, names, 2), 1);
    cr_assert_eq(chmod(c.directory, 0700), 0);
    pt_code_remove(&c);
}

Test(compile_disk, what_is_no_file_is_not_waited_for, .timeout = 60) {
    pt_code c;
    char names[2][64], path[512];
    pt_code_directory(&c);
    live_once(&c, 5);
    cr_assert_eq(list(&c, names, 2), 1);
    path_of(&c, names[0], path);
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(mkfifo(path, 0600), 0);
    cr_assert_eq(live_once(&c, 5).compiled, 1); /* and put in its place */
    cr_assert_eq(live_once(&c, 5).on_disk, 1);
    pt_code_remove(&c);
}

Test(compile_disk, is_not_needed) {
    pt_code c;
    char names[2][64];
    pt_code_directory(&c);
    setenv("PITH_CACHE_DIR", "", 1); /* asked not to */
    cr_assert_eq(live_once(&c, 5).compiled, 1);
    setenv("PITH_CACHE_DIR", "/dev/null/below", 1); /* cannot be made */
    cr_assert_eq(live_once(&c, 5).compiled, 1);
    setenv("PITH_CACHE_DIR", c.directory, 1);
    chmod(c.directory, 0500); /* cannot be written, but by root */
    cr_assert_eq(live_once(&c, 5).compiled, 1);
    chmod(c.directory, 0700);
    pt_code_open(&c); /* vanishes while it is open */
    pithp_module *m = NULL;
    pt_ok(c.s, pithp_compile(c.s, pt_axpy, NULL, &m) == PITH_OK);
    pithp_module_release(m);
    pt_code_remove(&c);
    pt_ok(c.s, pithp_compile(c.s, PT_RETURN("6"), NULL, &m) == PITH_OK);
    cr_assert_eq(pt_run_return(c.s, m), 6);
    pithp_module_release(m);
    pt_code_close(&c);
    unsetenv("PITH_CACHE_DIR"); /* made where it is missing, with what is above it */
    setenv("XDG_CACHE_HOME", c.directory, 1);
    const size_t n = strlen(c.directory);
    live_once(&c, 5);
    snprintf(c.directory + n, sizeof c.directory - n, "/pith");
    cr_assert_eq(list(&c, names, 2), 1);
    pt_code_remove(&c);
    c.directory[n] = 0;
    pt_code_remove(&c);
}

/* What the log hook was told of the cache. */
typedef struct told {
    int count;
    char last[256];
} told;

static void hear(pith_log_level level, const char *line, void *closure) {
    told *t = closure;
    if (level != PITH_LOG_WARNING || !strstr(line, "compiled code is not cached"))
        return;
    t->count++;
    snprintf(t->last, sizeof t->last, "%.255s", line);
}

/* Two texts are compiled and run by a runtime whose directory is gone or never was: the
 * second one is not reported. */
static void is_told_once(pt_code *c, const char *says, told *t) {
    pith_set_log_hook(c->rt, hear, t);
    for (int value = 0; value < 2; value++) {
        char text[128];
        pithp_module *m = NULL;
        pt_return_text(text, sizeof text, value);
        pt_ok(c->s, pithp_compile(c->s, text, NULL, &m) == PITH_OK);
        cr_assert_eq(pt_run_return(c->s, m), value);
        pithp_module_release(m);
    }
    cr_assert_eq(t->count, 1);
    cr_assert(strstr(t->last, says), "%s", t->last);
}

Test(compile_disk, says_once_that_there_is_no_directory) {
    pt_code c;
    told t = {0};
    pt_code_directory(&c);
    setenv("PITH_CACHE_DIR", "/dev/null/below", 1);
    pt_code_open(&c);
    is_told_once(&c, "/dev/null/below: Not a directory", &t);
    pt_code_end(&c);
}

/* Root may write everywhere, so it changes to another user for tests of permissions. */
enum { OTHER_USER = 65534 };
static bool become_unprivileged(void) {
    return geteuid() != 0 || (setegid(OTHER_USER) == 0 && seteuid(OTHER_USER) == 0);
}

Test(compile_disk, says_why_there_is_no_directory) {
    pt_code c;
    told t = {0};
    char below[400];
    pt_code_directory(&c);
    snprintf(below, sizeof below, "%s/may/not", c.directory);
    setenv("PITH_CACHE_DIR", below, 1);
    if (geteuid() == 0)
        cr_assert_eq(chown(c.directory, OTHER_USER, OTHER_USER), 0);
    cr_assert(chmod(c.directory, 0500) == 0 && become_unprivileged());
    pt_code_open(&c);
    is_told_once(&c, "/may/not: Permission denied", &t);
    pt_code_end(&c);
}

Test(compile_disk, says_once_that_nothing_can_be_written) {
    pt_code c;
    told t = {0};
    char says[400];
    pt_code_begin(&c);
    pithp_module *m = NULL;
    pt_ok(c.s, pithp_compile(c.s, PT_RETURN("7"), NULL, &m) == PITH_OK);
    pithp_module_release(m);
    pt_code_remove(&c);
    snprintf(says, sizeof says, "compiled code is not cached: %s: No such file",
             c.directory);
    is_told_once(&c, says, &t);
    pt_code_end(&c);
}

Test(compile_disk, says_once_that_the_disk_is_full) {
    static const char image[100000];
    const struct rlimit most = {sizeof image / 2, RLIM_INFINITY};
    pt_code c;
    told t = {0};
    char names[2][64];
    pithp_disk disk;
    pt_code_begin(&c);
    pith_set_log_hook(c.rt, hear, &t);
    signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &most), 0); /* stands for a disk that is full */
    pithp_disk_open(c.rt, &disk);
    for (uint64_t k = 0; k < 2; k++)
        pithp_disk_write(c.rt, &disk, (pithp_code_key){k, k}, image, sizeof image);
    pithp_disk_close(&disk);
    cr_assert_eq(t.count, 1);
    cr_assert(strstr(t.last, "File too large"), "%s", t.last);
    cr_assert_eq(list(&c, names, 2), 0, "nothing stays of what was written in part");
    pt_code_end(&c);
}

Test(compile_disk, stays_within_its_bytes) {
    pt_code c;
    char names[8][64];
    pt_code_directory(&c);
    live_once(&c, 0);
    cr_assert_eq(list(&c, names, 8), 1);
    char path[512], limit[32];
    struct stat st;
    path_of(&c, names[0], path);
    cr_assert_eq(stat(path, &st), 0);
    snprintf(limit, sizeof limit, "%lld", (long long)st.st_size * 4 + 100);
    setenv("PITH_CACHE_BYTES", limit, 1);
    for (int value = 1; value < 4; value++)
        live_once(&c, value);
    cr_assert_eq(list(&c, names, 8), 4);
    live_once(&c, 0); /* was used last: 1 and 2 are older */
    live_once(&c, 4); /* over the limit: the oldest go, down to three quarters */
    cr_assert_eq(list(&c, names, 8), 3);
    cr_assert_eq(live_once(&c, 0).on_disk, 1);
    cr_assert_eq(live_once(&c, 3).on_disk, 1);
    cr_assert_eq(live_once(&c, 4).on_disk, 1);
    cr_assert_eq(live_once(&c, 1).compiled, 1);
    pt_code_remove(&c);
}

Test(compile_disk, its_bytes_have_units) {
    static const char *const limits[] = {"1GiB",
                                         "much"}; /* the latter is said, and not taken */
    for (int i = 0; i < 2; i++) {
        pt_code c;
        char names[8][64];
        pt_code_directory(&c);
        setenv("PITH_CACHE_BYTES", limits[i], 1);
        for (int value = 0; value < 3; value++)
            live_once(&c, value);
        cr_assert_eq(list(&c, names, 8), 3);
        pt_code_remove(&c);
    }
}

/* Processes that compile the same texts at once: each gets its code, and the directory
 * ends up with one whole file a text and no leftovers. */
Test(compile_disk, processes_share_a_directory) {
    enum { PROCESSES = 4, TEXTS = 3 };
    pt_code c;
    char names[TEXTS + 1][64];
    pid_t child[PROCESSES];
    pt_code_directory(&c);
    for (int p = 0; p < PROCESSES; p++) {
        child[p] = fork();
        cr_assert(child[p] >= 0);
        if (child[p] == 0) {
            int found = 0;
            for (int round = 0; round < 2; round++)
                for (int value = 0; value < TEXTS; value++)
                    found += live_once(&c, value).on_disk > 0;
            _exit(found >= TEXTS ? 42 : 1); /* 42 is said by nothing that ends early */
        }
    }
    for (int p = 0; p < PROCESSES; p++) {
        int status = 0;
        cr_assert_eq(waitpid(child[p], &status, 0), child[p]);
        cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 42, "status %x", status);
    }
    cr_assert_eq(list(&c, names, TEXTS + 1), TEXTS);
    for (int value = 0; value < TEXTS; value++)
        cr_assert_eq(live_once(&c, value).on_disk, 1);
    pt_code_remove(&c);
}

/* A user who may read the directory and not write it: what is there is found, and what is
 * not is compiled. */
Test(compile_disk, serves_where_it_cannot_be_written) {
    pt_code c;
    char names[2][64], path[512];
    pt_code_directory(&c);
    live_once(&c, 7);
    cr_assert_eq(list(&c, names, 2), 1);
    path_of(&c, names[0], path);
    if (geteuid() == 0)
        cr_assert(chown(path, OTHER_USER, OTHER_USER) == 0 &&
                  chown(c.directory, OTHER_USER, OTHER_USER) == 0);
    cr_assert(chmod(path, 0400) == 0 && chmod(c.directory, 0500) == 0);
    const pid_t child = fork();
    cr_assert(child >= 0);
    if (child == 0) {
        if (!become_unprivileged())
            _exit(1);
        const bool found = live_once(&c, 7).on_disk == 1;
        const bool made = live_once(&c, 8).compiled == 1;
        _exit(found && made ? 42 : 1);
    }
    int status = 0;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 42, "status %x", status);
    cr_assert_eq(list(&c, names, 2), 1);
    chmod(c.directory, 0700);
    pt_code_remove(&c);
}

/* What a process left that was killed while it wrote goes, once it is old: others may be
 * writing theirs now. */
Test(compile_disk, leftovers_go_when_they_are_old) {
    pt_code c;
    char names[4][64], path[512];
    const struct timespec old[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    pt_code_directory(&c);
    for (int k = 0; k < 2; k++) {
        path_of(&c, k ? ".new-1-2-3" : ".new-4-5-6", path);
        const int file = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
        cr_assert(file >= 0 && write(file, "half", 4) == 4);
        cr_assert(k == 0 || futimens(file, old) == 0);
        close(file);
    }
    live_once(&c, 9);
    cr_assert_eq(list(&c, names, 4), 2);
    path_of(&c, ".new-1-2-3", path);
    cr_assert(access(path, F_OK) != 0, "%s is still there", path);
    pt_code_remove(&c);
}
