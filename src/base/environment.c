/* Environment variables, ignored under secure execution. AT_SECURE of the auxiliary
 * vector states secure execution, as for the dynamic loader (ld.so(8)). */
#include "base/environment.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

const char pithp_secure_reason[] =
    "the program has rights that its caller lacks (setuid, setgid or file capabilities): "
    "environment variables are ignored, and nothing is compiled at run time";

bool pithp_secure_execution(void) {
    return getauxval(AT_SECURE) != 0;
}

const char *pithp_environment(const char *name) {
    return pithp_secure_execution() ? NULL : getenv(name);
}

bool pithp_parse_bytes(const char *text, size_t *bytes) {
    static const char *const units[] = {"", "KiB", "MiB", "GiB", "TiB"};
    char *end = NULL;
    errno = 0;
    const unsigned long long number = strtoull(text, &end, 10);
    for (int i = 0;
         i < (int)(sizeof units / sizeof *units) && text[0] >= '0' && text[0] <= '9';
         i++) {
        if (strcmp(end, units[i]) != 0)
            continue;
        if (errno || number > (SIZE_MAX >> (10 * i)))
            break;
        *bytes = (size_t)number << (10 * i);
        return true;
    }
    return false;
}
