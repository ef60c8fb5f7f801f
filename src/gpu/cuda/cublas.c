/* Opening cuBLAS: the newest that the loader or a toolkit's usual place has. It needs
 * neither a device nor a driver to be opened. */
#include "gpu/cuda/cublas.h"

#include "gpu/toolkit.h"

#include <dlfcn.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_open; /* guarded by lock; library is constant once it is set */
static pithp_cublas library;

/* The name of a function that is missing; NULL when all are there. */
static const char *bind(void *handle, pithp_cublas *to) {
    void *symbol;
#define CUBLAS_BIND(name, arguments)                                                     \
    symbol = dlsym(handle, "cublas" #name);                                              \
    if (!symbol)                                                                         \
        return "cublas" #name;                                                           \
    memcpy(&to->name, &symbol, sizeof symbol);
    PITHP_CUBLAS_FUNCTIONS(CUBLAS_BIND)
    CUBLAS_BIND(GetStatusName, )
#undef CUBLAS_BIND
    return NULL;
}

static bool open_once(pithp_error *e) {
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12",
                                        "libcublas.so"};
    void *handle = pithp_toolkit_open("PITH_CUBLAS_LIBRARY", names, PITHP_COUNT(names));
    if (!handle) {
        const char *reason = dlerror();
        pithp_error_set(e, PITH_E_UNSUPPORTED, NULL, NULL, "cuBLAS is not there: %s",
                        reason ? reason : "no reason given");
        return false;
    }
    const char *missing = bind(handle, &library);
    if (missing) {
        pithp_error_set(e, PITH_E_UNSUPPORTED, NULL, NULL, "cuBLAS has no %s", missing);
        dlclose(handle);
        return false;
    }
    return true;
}

const pithp_cublas *pithp_cublas_open(pithp_error *e) {
    pthread_mutex_lock(&lock);
    is_open = is_open || open_once(e);
    pthread_mutex_unlock(&lock);
    return is_open ? &library : NULL;
}
