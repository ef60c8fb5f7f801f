/* What the tests of pith convert share: which formats and modules of Python there are. */
#ifndef CONVERT_TEST_H
#define CONVERT_TEST_H

#include "command_test.h"

/* This build may lack the library of a format; then it says so, and the format is passed
 * over. */
static PT_UNUSED bool supported(const char *format) {
    char arguments[64];
    pt_ok(s, pith_save(s, pith_f64(s, 1), "one.json", NULL));
    snprintf(arguments, sizeof arguments, "convert one.json one.%s", format);
    const int code = run(arguments);
    if (code == 2 && strstr(output, "this pith was built without")) {
        printf("SKIPPED .%s: %s", format, output);
        return false;
    }
    cr_assert(code == 0, "%s", output);
    return true;
}

/* The first python3 of PATH, or else Debian's, that has a module. NULL: there is none. */
static PT_UNUSED const char *python_with(const char *module) {
    static char path[512];
    char command[1024];
    snprintf(
        command, sizeof command,
        "IFS=:; for f in $PATH /usr/bin; do \"$f/python3\" -c 'import %s' 2>/dev/null && "
        "echo \"$f/python3\" && break; done",
        module);
    FILE *in = popen(command, "r");
    const bool found = in && fscanf(in, "%511[^\n]", path) == 1;
    if (in)
        pclose(in);
    if (!found)
        printf("SKIPPED: no python3 has %s\n", module);
    return found ? path : NULL;
}

#endif
