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

void *pithp_toolkit_open(const char *variable, const char *library, int driver) {
    const char *own = pithp_environment(variable);
    const char *const folders[] = {"", pithp_environment("CUDA_HOME"),
                                   pithp_environment("CUDA_PATH"), "/usr/local/cuda"};
    if (own && own[0])
        return dlopen(own, RTLD_NOW | RTLD_LOCAL);
    void *handle = NULL;
    char name[NAME_BYTES];
    for (int f = 0; f < PITHP_COUNT(folders); f++)
        for (int i = 0; folders[f] && !handle &&
                        pithp_toolkit_name(library, driver, i, name, sizeof name);
             i++)
            handle = open_in(folders[f], name);
    return handle;
}
