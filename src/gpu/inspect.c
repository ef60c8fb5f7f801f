/* What the environment asks to see of programs, and whether it can be written. */
#include "gpu/inspect.h"

#include "base/environment.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* NULL: not set, or empty. */
static const char *setting(const char *variable) {
    const char *set = pithp_environment(variable);
    return set && set[0] ? set : NULL;
}

const char *pithp_profile_file(void) {
    return setting("PITH_PROFILE");
}

/* Whether a file can be made, or written over. */
static bool can_write(const char *file) {
    char folder[4096] = ".";
    const char *slash = strrchr(file, '/');
    const size_t n = slash == file ? 1 : slash ? (size_t)(slash - file) : 0;
    if (access(file, F_OK) == 0)
        return access(file, W_OK) == 0;
    if (n >= sizeof folder) {
        errno = ENAMETOOLONG;
        return false;
    }
    if (n) {
        memcpy(folder, file, n);
        folder[n] = 0;
    }
    return access(folder, W_OK | X_OK) == 0;
}

pith_status pithp_inspect_check(pithp_error *e) {
    const char *file = pithp_profile_file();
    if (!file || can_write(file))
        return PITH_OK;
    pithp_error_set(e, PITH_E_IO, NULL, NULL,
                    "PITH_PROFILE: %.300s cannot be written: %s", file, strerror(errno));
    return PITH_E_IO;
}
