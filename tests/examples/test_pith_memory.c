/* The memory of the pith command: it holds no tree, and no leaf of it, whatever the form
 * of the files. */
#include "convert_test.h"

#include <fcntl.h>
#include <sys/resource.h>

enum { LEAVES = 4, ELEMENTS = 3 << 19 /* 12 MiB each */, MOST_KIB = 16 << 10 };

/* A tree much larger than MOST_KIB; made by another process, whose memory would count as
 * that of the commands. */
static void make(const char *path, double seed) {
    const pid_t child = fork();
    int status = 1;
    if (child == 0) {
        pith_runtime *own = pith_open(&(pith_open_options){.device = "host"});
        pith_scope *in = pith_scope_open(own);
        const void *items[LEAVES];
        for (int i = 0; i < LEAVES; i++)
            items[i] = pith_add(in,
                                pith_reshape(in, pith_arange(in, PITH_F64, ELEMENTS),
                                             PITH_SHAPE(ELEMENTS / 4, 4)),
                                pith_f64(in, i == LEAVES - 1 ? seed : i));
        const bool saved = pith_save(in, pith_list_make(in, LEAVES, items), path, NULL);
        _exit(saved ? 0 : 1);
    }
    waitpid(child, &status, 0);
    cr_assert(status == 0);
}

/* KiB at the peak of a command without a shell, which must exit with that code. */
static long peak_of(int code, const char *text) {
    char copy[256], *words[16] = {(char *)(uintptr_t)PITH_COMMAND};
    struct rusage use;
    int status, n = 1;
    snprintf(copy, sizeof copy, "%s", text);
    for (char *w = strtok(copy, " "); w; w = strtok(NULL, " "))
        words[n++] = w;
    const pid_t child = fork();
    if (child == 0) {
        const int out = open("out", O_WRONLY | O_CREAT | O_TRUNC, 0666);
        dup2(out, 1);
        dup2(out, 2);
        execv(PITH_COMMAND, words);
        _exit(9);
    }
    cr_assert(wait4(child, &status, 0, &use) == child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == code, "pith %s: status %d",
              text, status);
    return use.ru_maxrss;
}

/* Each command of a file. */
static void try_all(const char *file, long base) {
    static const struct {
        int code;
        const char *verb, *rest;
    } commands[] = {
        {0, "show ", ""},
        {0, "show --rows 100:200 ", " [1]"},
        {0, "show --json ", ""},
        {0, "verify ", ""},
        {1, "diff ", " other.json"},
        {0, "diff ", " a.json"},
        {0, "convert ", " one.json"},
        {0, "convert --sidecar ", " two.json"},
        {0, "convert ", " x.safetensors"},
        {0, "convert --mesh x=2 --shard [0]=;x --shard [1]=x ", " again.json"},
    };
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        char text[200];
        snprintf(text, sizeof text, "%s%s%s", commands[i].verb, file, commands[i].rest);
        const long kib = peak_of(commands[i].code, text) - base;
        cr_assert(kib < MOST_KIB, "pith %s: %ld KiB", text, kib);
    }
}

Test(pith_memory, holds_no_leaf, .timeout = 300) {
#ifdef __SANITIZE_ADDRESS__
    cr_skip_test("memory of the sanitizer");
#endif
    ct_begin();
    make("a.json", 7);
    make("other.json", 8);
    const long base = peak_of(0, "--version");
    try_all("a.json", base);
    cr_assert(peak_of(0, "convert --mesh x=3 --shard [0]=x --shard [1]=x --shard [2]=x "
                         "--shard [3]=x a.json m.json") -
                  base <
              MOST_KIB);
    try_all("m.json", base);
    ct_end();
}
