/* CUDA toolkit libraries: search path, and versions compatible with a driver. */
#include "gpu/compile/toolkit.h"

#include "base/base_internal.h"
#include "base/environment.h"

#include <dlfcn.h>
#include <stdio.h>

enum { NAME_BYTES = 64 };

bool pithp_toolkit_name(const char *library,
                        int driver,
                        int index,
                        char *name,
                        size_t room) {
    for (int major = PITHP_TOOLKIT_NEWEST; major >= PITHP_TOOLKIT_OLDEST; major--)
        if (pithp_toolkit_serves(driver, major) && index-- == 0) {
            snprintf(name, room, "lib%s.so.%d", library, major);
            return true;
        }
    return false;
}

static void *open_in(const char *folder, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s%s%s", folder, folder[0] ? "/lib64/" : "", name);
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

enum { FOLDERS = 4 };

/* Whether a variable names the file. */
static bool is_named(const char *variable, const char **name) {
    *name = pithp_environment(variable);
    return *name && (*name)[0];
}

static const char *folder(int k) {
    return k == 0   ? ""
           : k == 1 ? pithp_environment("CUDA_HOME")
           : k == 2 ? pithp_environment("CUDA_PATH")
                    : "/usr/local/cuda";
}

void *pithp_toolkit_open(const char *variable, const char *library, int driver) {
    const char *own;
    void *handle = NULL;
    char name[NAME_BYTES];
    if (is_named(variable, &own))
        return dlopen(own, RTLD_NOW | RTLD_LOCAL);
    for (int f = 0; f < FOLDERS; f++)
        for (int i = 0; folder(f) && !handle &&
                        pithp_toolkit_name(library, driver, i, name, sizeof name);
             i++)
            handle = open_in(folder(f), name);
    return handle;
}

void *pithp_toolkit_open_file(const char *variable, const char *name) {
    const char *own;
    void *handle = NULL;
    if (is_named(variable, &own))
        return dlopen(own, RTLD_NOW | RTLD_LOCAL);
    for (int f = 0; f < FOLDERS && !handle; f++)
        if (folder(f))
            handle = open_in(folder(f), name);
    return handle;
}
