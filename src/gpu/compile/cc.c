/* Host compiler driver: runs the system's C compiler as a process in a temporary
 * directory, never through a shell. */
#include "base/environment.h"
#include "gpu/compile/toolchain.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { ARGUMENTS = 48, LOG_LIMIT = 1 << 20 };

/* ---- Look-up ---- */

static bool is_program(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* The absolute path of a command, found as a shell does. */
static bool find_program(const char *command, char path[PITHP_CC_BYTES]) {
    char found[PITHP_CC_BYTES];
    if (strchr(command, '/'))
        return is_program(command) && realpath(command, path);
    const char *search = pithp_environment("PATH");
    for (const char *p = search ? search : "/usr/bin:/bin"; p;) {
        const char *end = strchrnul(p, ':');
        const int n =
            snprintf(found, sizeof found, "%.*s/%s", (int)(end - p), p, command);
        if (end > p && n > 0 && (size_t)n < sizeof found && is_program(found)) {
            /* not the real path: some compilers select their mode by name */
            snprintf(path, PITHP_CC_BYTES, "%s", found);
            return path[0] == '/';
        }
        p = *end ? end + 1 : NULL;
    }
    return false;
}

/* Split a command at blanks, and resolve its first word to a path. */
static bool parse_command(pithp_cc *cc, const char *command) {
    char words[PITHP_CC_BYTES], path[PITHP_CC_BYTES];
    if (snprintf(words, sizeof words, "%s", command) >= (int)sizeof words)
        return false;
    char *rest = NULL, *out = cc->text, *const end = cc->text + sizeof cc->text;
    int count = 0;
    for (char *w = strtok_r(words, " \t", &rest); w; w = strtok_r(NULL, " \t", &rest)) {
        if (count == 0 && !find_program(w, path))
            return false;
        const char *word = count == 0 ? path : w;
        const size_t n = strlen(word) + 1;
        if (count == PITHP_CC_WORDS || n > (size_t)(end - out))
            return false;
        memcpy(out, word, n);
        cc->words[count++] = out;
        out += n;
    }
    cc->words[count] = NULL;
    return count > 0;
}

/* ---- Execution ---- */

/* Job of this thread; NULL: its compilers cannot be cancelled. */
static _Thread_local pithp_cc_job *job;

void pithp_cc_job_use(pithp_cc_job *used) {
    job = used;
}

/* SIGTERM lets compilers remove their temporary files. */
void pithp_cc_job_cancel(pithp_cc_job *cancelled) {
    pthread_mutex_lock(&cancelled->lock);
    cancelled->cancelled = true;
    if (cancelled->child > 0)
        kill(-cancelled->child, SIGTERM);
    pthread_mutex_unlock(&cancelled->lock);
}

static pith_status spawn(const char *const *arguments,
                         const char *directory,
                         int output,
                         pid_t *child,
                         pithp_error *e) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual,
              SIGCHLD); /* a child would inherit signals that the program ignores */
    sigaddset(&usual, SIGPIPE);
    sigaddset(&usual, SIGTERM);
    if (posix_spawn_file_actions_init(&actions) != 0 ||
        posix_spawnattr_init(&attributes) != 0) {
        pithp_error_set(e, PITH_E_MEMORY, NULL, NULL, "out of memory");
        return PITH_E_MEMORY;
    }
    int code = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    code = code ? code : posix_spawn_file_actions_adddup2(&actions, output, 1);
    code = code ? code : posix_spawn_file_actions_adddup2(&actions, output, 2);
    code = code ? code : posix_spawn_file_actions_addchdir_np(&actions, directory);
    code = code ? code : posix_spawnattr_setsigmask(&attributes, &none);
    code = code ? code : posix_spawnattr_setsigdefault(&attributes, &usual);
    code = code
               ? code
               : posix_spawnattr_setflags(
                     &attributes, (short)(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                          (job ? POSIX_SPAWN_SETPGROUP : 0)));
    code = code ? code
                : posix_spawn(child, arguments[0], &actions, &attributes,
                              (char *const *)(uintptr_t)arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (code == 0)
        return PITH_OK;
    /* memory shortage is transient, a missing program is not */
    const pith_status rc =
        code == ENOMEM || code == EAGAIN ? PITH_E_MEMORY : PITH_E_UNSUPPORTED;
    pithp_error_set(e, rc, NULL, NULL, "%s does not start: %s", arguments[0],
                    strerror(code));
    return rc;
}

/* Spawn within the thread's job: the job records the child, which leads its own process
 * group. */
static pith_status spawn_in_job(const char *const *arguments,
                                const char *directory,
                                int output,
                                pid_t *child,
                                pithp_error *e) {
    pith_status rc = PITH_E_UNSUPPORTED;
    if (!job)
        return spawn(arguments, directory, output, child, e);
    pthread_mutex_lock(&job->lock);
    if (job->cancelled)
        pithp_error_set(e, rc, NULL, NULL, "the compilation was cancelled");
    else if ((rc = spawn(arguments, directory, output, child, e)) == PITH_OK)
        job->child = *child;
    pthread_mutex_unlock(&job->lock);
    return rc;
}

/* Clear the job's child before its process ID can be reused. */
static void leave_job(pid_t child) {
    siginfo_t ignored;
    if (!job)
        return;
    while (waitid(P_PID, (id_t)child, &ignored, WEXITED | WNOWAIT) < 0 && errno == EINTR)
        ;
    pthread_mutex_lock(&job->lock);
    job->child = 0;
    pthread_mutex_unlock(&job->lock);
}

static void read_all(int file, pithp_string *log) {
    char piece[4096];
    for (;;) {
        const ssize_t n = read(file, piece, sizeof piece);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        if (log->length < LOG_LIMIT)
            pithp_string_add_n(log, piece, (size_t)n);
    }
}

/* Whether the process succeeded. If its status is lost (the program ignores SIGCHLD),
 * returns true. */
static bool await_child(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return errno == ECHILD;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Run a command to its end; its output is appended to log. */
static pith_status run(const char *const *arguments,
                       const char *directory,
                       pithp_string *log,
                       bool *succeeded,
                       pithp_error *e) {
    int ends[2];
    pid_t child;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        pithp_error_set(e, PITH_E_IO, NULL, NULL,
                        "cannot make a pipe to the compiler: %s", strerror(errno));
        return PITH_E_IO;
    }
    const pith_status rc = spawn_in_job(arguments, directory, ends[1], &child, e);
    close(ends[1]);
    if (rc == PITH_OK) {
        read_all(ends[0], log);
        leave_job(child);
        *succeeded = await_child(child);
    }
    close(ends[0]);
    return rc;
}

/* ---- Identification ---- */

/* File and version: a replaced compiler may produce other code. */
static pith_status identify(pith_runtime *rt, pithp_cc *cc, pithp_error *e) {
    struct stat st;
    const char *arguments[PITHP_CC_WORDS + 2];
    int n = 0;
    for (; cc->words[n]; n++)
        arguments[n] = cc->words[n];
    arguments[n++] = "--version";
    arguments[n] = NULL;
    if (stat(cc->words[0], &st) != 0)
        memset(&st, 0, sizeof st);

    pithp_string log;
    bool succeeded = false;
    pithp_string_begin(&log, rt);
    pith_status rc = run(arguments, "/", &log, &succeeded, e);
    if (rc == PITH_OK && !succeeded) {
        pithp_error_set(e, PITH_E_UNSUPPORTED, NULL, NULL,
                        "%s is not a C compiler: --version fails", cc->words[0]);
        rc = PITH_E_UNSUPPORTED;
    }
    int used = snprintf(
        cc->identity, sizeof cc->identity, "%.*s; %lld bytes of %lld.%09ld",
        (int)strcspn(log.bytes, "\n") > 200 ? 200 : (int)strcspn(log.bytes, "\n"),
        log.bytes, (long long)st.st_size, (long long)st.st_mtim.tv_sec,
        st.st_mtim.tv_nsec);
    for (n = 0; cc->words[n] && used > 0 && used < PITHP_IDENTITY_BYTES; n++)
        used += snprintf(cc->identity + used, sizeof cc->identity - (size_t)used, "; %s",
                         cc->words[n]);
    pithp_string_end(&log);
    return rc;
}

pith_status pithp_cc_open(pith_runtime *rt, pithp_cc *cc, pithp_error *e) {
    static const char *const usual[] = {"cc", "gcc", "clang"};
    const char *asked = pithp_environment("PITH_CC");
    if (asked && asked[0]) {
        if (parse_command(cc, asked))
            return identify(rt, cc, e);
        pithp_error_set(e, PITH_E_UNSUPPORTED, NULL, NULL,
                        "there is no C compiler: PITH_CC is \"%.200s\", which is "
                        "not a program",
                        asked);
        return PITH_E_UNSUPPORTED;
    }
    for (int i = 0; i < PITHP_COUNT(usual); i++)
        if (parse_command(cc, usual[i]))
            return identify(rt, cc, e);
    pithp_error_set(e, PITH_E_UNSUPPORTED, NULL, NULL,
                    "there is no C compiler: neither cc, gcc nor clang is in PATH, and "
                    "PITH_CC is not set");
    return PITH_E_UNSUPPORTED;
}

/* ---- Compiling ---- */

const char *pithp_cc_machine(pithp_isa isa) {
#if defined(__x86_64__)
    static const char *const machines[PITHP_ISA_COUNT] = {
        [PITHP_ISA_BASE] = "-march=x86-64",
        [PITHP_ISA_V3] = "-march=x86-64-v3",
        [PITHP_ISA_V4] = "-march=native -mprefer-vector-width=512",
    };
    return machines[isa];
#else
    (void)isa;
    return "-mcpu=native";
#endif
}

/* The arguments after the command, separated by blanks. */
static const char flags[] =
    "-x c -std=c17 -O3 -fPIC -shared -pipe -fno-math-errno -fno-trapping-math "
    "-fopenmp-simd -nostdlib -fno-semantic-interposition -fno-stack-protector "
    "-o code.so code.c";
/* A loop may call functions of the C library (which the program has), libm and libgcc. */
static const char libraries[] = "-Wl,--as-needed -lm -lgcc";

static void add_words(const char **arguments, int *count, char *words) {
    char *rest = NULL;
    for (char *w = strtok_r(words, " ", &rest); w; w = strtok_r(NULL, " ", &rest))
        arguments[(*count)++] = w;
}

static bool write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "wxe");
    if (!file)
        return false;
    const bool written = fputs(text, file) >= 0;
    return fclose(file) == 0 && written;
}

static bool read_file(const char *path, pithp_string *image) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    char piece[16384];
    ssize_t n;
    while ((n = read(file, piece, sizeof piece)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0)
            pithp_string_add_n(image, piece, (size_t)n);
    close(file);
    return n == 0 && image->length > 0;
}

static bool make_directory(char directory[PITHP_CC_BYTES]) {
    const char *choices[] = {pithp_environment("TMPDIR"), "/tmp", "/dev/shm"};
    for (int i = 0; i < PITHP_COUNT(choices); i++)
        if (choices[i] && choices[i][0] == '/' &&
            snprintf(directory, PITHP_CC_BYTES, "%s/pith-XXXXXX", choices[i]) <
                PITHP_CC_BYTES &&
            mkdtemp(directory))
            return true;
    return false;
}

static void remove_directory(const char *directory) {
    static const char *const files[] = {"code.c", "code.so"};
    char path[PITHP_CC_BYTES + 16];
    for (int i = 0; i < PITHP_COUNT(files); i++) {
        snprintf(path, sizeof path, "%s/%s", directory, files[i]);
        (void)unlink(path);
    }
    (void)rmdir(directory);
}

static pith_status compile_in(pith_runtime *rt,
                              const char *directory,
                              const char *const *arguments,
                              const char *text,
                              const char *name,
                              pithp_string *image,
                              pithp_error *e) {
    char path[PITHP_CC_BYTES + 16];
    snprintf(path, sizeof path, "%s/code.c", directory);
    if (!write_file(path, text)) {
        pithp_error_set(e, PITH_E_IO, NULL, NULL, "%s: %s", path, strerror(errno));
        return PITH_E_IO;
    }
    pithp_string log;
    bool succeeded = false;
    pithp_string_begin(&log, rt);
    if (job)
        job->wait(true);
    pith_status rc = run(arguments, directory, &log, &succeeded, e);
    if (job)
        job->wait(false);
    snprintf(path, sizeof path, "%s/code.so", directory);
    if (rc == PITH_OK && (!succeeded || !read_file(path, image))) {
        char line[700];
        pithp_log_digest(log.bytes, line, sizeof line);
        rc = PITH_E_COMPILE;
        pithp_error_set(e, rc, NULL, NULL, "%s does not compile with %s: %s", name,
                        arguments[0], line);
    } else if (rc == PITH_OK && image->failed) {
        rc = PITH_E_MEMORY;
        pithp_error_set(e, rc, NULL, NULL, "out of memory: no room for compiled code");
    }
    pithp_string_end(&log);
    return rc;
}

pith_status pithp_cc_compile(pith_runtime *rt,
                             const pithp_cc *cc,
                             pithp_isa isa,
                             const char *text,
                             const pithp_compile_options *options,
                             pithp_string *image,
                             pithp_error *e) {
    char own[sizeof flags], machine[128], last[sizeof libraries];
    const char *arguments[ARGUMENTS];
    int count = 0;
    for (; cc->words[count]; count++)
        arguments[count] = cc->words[count];
    memcpy(own, flags, sizeof own);
    memcpy(last, libraries, sizeof last);
    snprintf(machine, sizeof machine, "%s", pithp_cc_machine(isa));
    add_words(arguments, &count, machine);
    if (!strstr(cc->identity, "clang")) /* -ftree-sink moves work into the branch that
                                           uses it, which prevents vectorisation */
        arguments[count++] = "-fno-tree-sink";
    if (options->file[0]) { /* for profilers and debuggers; the code is the same */
        arguments[count++] = "-g";
        arguments[count++] = "-fno-omit-frame-pointer";
    }
    arguments[count++] = "-ffp-contract=off";
    add_words(arguments, &count, own);
    add_words(arguments, &count, last);
    arguments[count] = NULL;
    PITH_ASSERT(count + 1 < ARGUMENTS);

    char directory[PITHP_CC_BYTES];
    if (!make_directory(directory)) {
        pithp_error_set(e, PITH_E_IO, NULL, NULL,
                        "no directory for the compiler's files in $TMPDIR, /tmp or "
                        "/dev/shm: %s",
                        strerror(errno));
        return PITH_E_IO;
    }
    char map[2 * PITHP_CC_BYTES + 32], here[PITHP_CC_BYTES];
    if (options->file[0] && getcwd(here, sizeof here)) {
        /* relative file names are resolved here */
        snprintf(map, sizeof map, "-fdebug-prefix-map=%s=%s", directory, here);
        arguments[count++] = map;
        arguments[count] = NULL;
    }
    const pith_status rc =
        compile_in(rt, directory, arguments, text, options->name, image, e);
    remove_directory(directory);
    return rc;
}

/* ---- Logs ---- */

void pithp_log_digest(const char *log, char *line, size_t room) {
    const char *error = strstr(log, "error");
    const char *from = log;
    for (const char *p = log; error && p <= error;
         p++) /* begin of the line with the error */
        if (p[0] == '\n' && p < error)
            from = p + 1;
    size_t n = 0;
    for (; *from && n + 1 < room; from++) {
        const char c = (unsigned char)*from < ' ' ? ' ' : *from;
        if (c != ' ' || (n && line[n - 1] != ' '))
            line[n++] = c;
    }
    line[n] = 0;
    if (n == 0)
        snprintf(line, room, "the log is empty");
}
