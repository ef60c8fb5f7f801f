/* Numbers must not depend on the decimal point of the locale. */
#ifndef COMMA_TEST_H
#define COMMA_TEST_H

#include "pith_test.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

/* Take a locale with a decimal comma, made by localedef, which every Debian has. */
static inline bool pt_use_comma(void) {
    static const char source[] = "comment_char %\nescape_char /\nLC_NUMERIC\n"
                                 "decimal_point \"<U002C>\"\nthousands_sep \"<U002E>\"\n"
                                 "grouping 3;3\nEND LC_NUMERIC\n";
    char folder[256], command[800];
    pt_folder(folder);
    snprintf(command, sizeof command, "%s/source", folder);
    FILE *out = fopen(command, "w");
    if (!out || fputs(source, out) < 0 || fclose(out) != 0)
        return false;
    snprintf(command, sizeof command,
             "localedef --no-archive -c -i %s/source %s/xx_XX >/dev/null 2>&1", folder,
             folder);
    const int status = system(command); /* warns of the categories that are not there */
    setenv("LOCPATH", folder, 1);
    const bool set = status != 127 && setlocale(LC_NUMERIC, "xx_XX") != NULL;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) == 0 && set;
}

#endif
