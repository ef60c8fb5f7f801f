/* Environment variables, ignored under secure execution. AT_SECURE of the auxiliary
 * vector states secure execution, as for the dynamic loader (ld.so(8)). */
#include "base/environment.h"

#include <stdlib.h>
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
