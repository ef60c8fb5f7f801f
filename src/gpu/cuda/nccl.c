/* NCCL loader. Opening needs neither device nor driver. */
#include "gpu/cuda/nccl.h"

#include "gpu/compile/toolkit.h"

#include <dlfcn.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_open; /* guarded by lock; library is constant once it is set */
static pithp_nccl library;

/* Resolve all functions; returns the name of a missing one, or NULL. */
static const char *bind(void *handle, pithp_nccl *to) {
    void *symbol;
#define NCCL_BIND(name, arguments)                                                       \
    symbol = dlsym(handle, "nccl" #name);                                                \
    if (!symbol)                                                                         \
        return "nccl" #name;                                                             \
    memcpy(&to->name, &symbol, sizeof symbol);
    PITHP_NCCL_FUNCTIONS(NCCL_BIND)
    NCCL_BIND(GetErrorString, )
    NCCL_BIND(GetLastError, )
#undef NCCL_BIND
    return NULL;
}

static bool open_once(pithp_error *e) {
    void *handle = pithp_toolkit_open_file("PITH_NCCL_LIBRARY", "libnccl.so.2");
    if (!handle) {
        const char *reason = dlerror();
        pithp_error_set(e, PITH_E_UNSUPPORTED, NULL, NULL, "NCCL is not found: %s",
                        reason ? reason : "no reason given");
        return false;
    }
    const char *missing = bind(handle, &library);
    if (!missing)
        return true;
    pithp_error_set(e, PITH_E_UNSUPPORTED, NULL, NULL, "NCCL has no %s", missing);
    dlclose(handle);
    return false;
}

const pithp_nccl *pithp_nccl_open(pithp_error *e) {
    pthread_mutex_lock(&lock);
    is_open = is_open || open_once(e);
    const bool opened = is_open;
    pthread_mutex_unlock(&lock);
    return opened ? &library : NULL;
}
