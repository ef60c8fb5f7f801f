/* Inspection settings (PITH_PROFILE, PITH_JIT_DEBUG), and checks that the output can be
 * written. */
#include "gpu/inspect.h"

#include "base/environment.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* NULL if unset or empty. */
static const char *setting(const char *variable) {
    const char *set = pithp_environment(variable);
    return set && set[0] ? set : NULL;
}

const char *pithp_profile_file(void) {
    return setting("PITH_PROFILE");
}

const char *pithp_debug_folder(void) {
    return setting("PITH_JIT_DEBUG");
}

/* Whether a file can be created or overwritten. */
static bool can_write(const char *file) {
    char folder[4096] = ".";
    const char *slash = strrchr(file, '/');
    const size_t n = slash == file ? 1 : slash ? (size_t)(slash - file) : 0;
    struct stat st;
    if (stat(file, &st) == 0) {
        errno = EISDIR;
        return !S_ISDIR(st.st_mode) && access(file, W_OK) == 0;
    }
    if (errno != ENOENT)
        return false;
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

/* Why code may not be loaded from a directory, which only the user may write to; NULL if
 * it may. */
static const char *fault_of_folder(const char *folder) {
    struct stat st;
    if (mkdir(folder, 0700) != 0 && errno != EEXIST)
        return strerror(errno);
    if (stat(folder, &st) != 0)
        return strerror(errno);
    if (!S_ISDIR(st.st_mode))
        return strerror(ENOTDIR);
    if (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)))
        return "other users can write to it";
    return access(folder, W_OK | X_OK) == 0 ? NULL : strerror(errno);
}

pith_status pithp_inspect_check(pithp_error *e) {
    const char *file = pithp_profile_file(), *folder = pithp_debug_folder();
    if (file && !can_write(file)) {
        pithp_error_set(e, PITH_E_IO, NULL, NULL,
                        "PITH_PROFILE: %.300s cannot be written: %s", file,
                        strerror(errno));
        return PITH_E_IO;
    }
    const char *fault = folder ? fault_of_folder(folder) : NULL;
    if (!fault)
        return PITH_OK;
    pithp_error_set(e, PITH_E_IO, NULL, NULL,
                    "PITH_JIT_DEBUG: cannot write to %.300s: %s", folder, fault);
    return PITH_E_IO;
}
