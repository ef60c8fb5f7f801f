/* Where a CUDA toolkit has its libraries. */
#include "gpu/toolkit.h"

#include "base/base_internal.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void *open_in(const char *folder, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s%s%s", folder, folder[0] ? "/lib64/" : "", name);
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

void *pithp_toolkit_open(const char *variable, const char *const *names, int count) {
    const char *own = secure_getenv(variable);
    const char *const folders[] = {"", secure_getenv("CUDA_HOME"),
                                   secure_getenv("CUDA_PATH"), "/usr/local/cuda"};
    if (own && own[0])
        return dlopen(own, RTLD_NOW | RTLD_LOCAL);
    void *handle = NULL;
    for (int f = 0; f < PITHP_COUNT(folders); f++)
        for (int i = 0; folders[f] && !handle && i < count; i++)
            handle = open_in(folders[f], names[i]);
    return handle;
}
