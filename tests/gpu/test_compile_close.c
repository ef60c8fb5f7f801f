/* A runtime that is closed while the compiler runs in the background does not wait for
 * it: the compiler of these tests takes longer than a test may. */
#include "background_code.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[256], compiler[400], note[400];

/* A compiler that knows its version and then takes its time; it notes its process, and
 * the one that it starts. */
static void begin(void) {
    pt_folder(folder);
    snprintf(compiler, sizeof compiler, "%s/slow", folder);
    snprintf(note, sizeof note, "%s/processes", folder);
    FILE *file = fopen(compiler, "w");
    fprintf(file,
            "#!/bin/sh\n"
            "if [ \"$1\" = --version ]; then echo slow 1; exit 0; fi\n"
            "sleep 10000 &\n"
            "echo $$ $! > %s.new && mv %s.new %s\n"
            "wait\n",
            note, note, note);
    fclose(file);
    chmod(compiler, 0700);
    setenv("PITH_CC", compiler, 1);
    setenv("PITH_CACHE_DIR", folder, 1);
}

static bool is_gone(int process) {
    for (int k = 0; k < 6000; k++, usleep(10000)) {
        char path[64], state = 0;
        snprintf(path, sizeof path, "/proc/%d/stat", process);
        FILE *file = fopen(path, "r");
        if (!file)
            return true;
        const int read = fscanf(file, "%*d (%*[^)]) %c", &state);
        fclose(file);
        if (read == 1 && state == 'Z') /* its new parent has not reaped it yet */
            return true;
    }
    return false;
}

Test(compile_close, the_compiler_is_ended, .init = begin, .timeout = 200) {
    pith_runtime *rt = pt_open();
    pithp_code *code = background_code_make(rt, "int x;", "slow");
    FILE *file = NULL;
    for (int k = 0; k < 12000 && !(file = fopen(note, "r")); k++)
        usleep(5000);
    int shell = 0, sleeper = 0;
    cr_assert(file && fscanf(file, "%d %d", &shell, &sleeper) == 2);
    fclose(file);
    pithp_code_release(code);
    pt_close(rt);
    cr_assert(is_gone(shell) && is_gone(sleeper));
}

Test(compile_close, none_is_started_afterwards, .init = begin, .timeout = 200) {
    pith_runtime *rt = pt_open();
    for (int k = 0; k < 5; k++) {
        char text[32];
        snprintf(text, sizeof text, "int x%d;", k);
        pithp_code_release(background_code_make(rt, text, "slow"));
    }
    pt_close(rt);
}
