/* A compiler that leaves a note when it is called and then takes its time, for tests of
 * what happens meanwhile. */
#ifndef PITH_TESTS_SLOW_COMPILER_H
#define PITH_TESTS_SLOW_COMPILER_H

#include "pith_test.h"

#include <sys/stat.h>

enum { PT_NOTE_BYTES = 400 };

/* Set PITH_CC to it, and note to the path of the file that it makes. */
static PT_UNUSED void pt_slow_compiler(char note[PT_NOTE_BYTES]) {
    char folder[256], compiler[PT_NOTE_BYTES];
    pt_folder(folder);
    snprintf(compiler, sizeof compiler, "%s/slow", folder);
    snprintf(note, PT_NOTE_BYTES, "%s/called", folder);
    FILE *file = fopen(compiler, "w");
    cr_assert(file);
    fprintf(file,
            "#!/bin/sh\n"
            "[ \"$1\" = --version ] || { : > %s; sleep 0.3; }\n"
            "exec cc \"$@\"\n",
            note);
    fclose(file);
    chmod(compiler, 0700);
    setenv("PITH_CC", compiler, 1);
}

#endif
