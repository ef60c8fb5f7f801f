/* cuBLAS loader: the newest version that the driver supports. Opening needs neither
 * device nor driver. */
#include "gpu/cuda/cublas.h"

#include "gpu/compile/toolkit.h"

#include <dlfcn.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_open; /* guarded by lock; library is constant once it is set */
static pithp_cublas library;

/* Resolve all functions; returns the name of a missing one, or NULL. */
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

static bool open_once(int driver, pithp_error *e) {
    void *handle = pithp_toolkit_open("PITH_CUBLAS_LIBRARY", "cublas", driver);
    if (!handle) {
        const char *reason = dlerror();
        pithp_error_set(e, PITH_E_UNSUPPORTED, NULL, NULL, "cuBLAS is not found: %s",
                        reason ? reason : "no reason given");
        return false;
    }
    int major = 0;
    const char *missing = bind(handle, &library);
    if (missing)
        pithp_error_set(e, PITH_E_UNSUPPORTED, NULL, NULL, "cuBLAS has no %s", missing);
    else if (library.GetProperty(PITHP_CUBLAS_MAJOR_VERSION, &major) != PITHP_CUBLAS_OK ||
             !pithp_toolkit_serves(driver, major))
        pithp_error_set(e, PITH_E_UNSUPPORTED, NULL, NULL,
                        "cuBLAS is version %d, and the driver supports CUDA %d.%d "
                        "and older",
                        major, driver / 1000, driver % 1000 / 10);
    else
        return true;
    dlclose(handle);
    return false;
}

const pithp_cublas *pithp_cublas_open(int driver, pithp_error *e) {
    pthread_mutex_lock(&lock);
    is_open = is_open || open_once(driver, e);
    const bool opened = is_open;
    pthread_mutex_unlock(&lock);
    return opened ? &library : NULL;
}
