/* CUDA driver functions: resolved by name through the runtime library, which opens the
 * driver. */
#include "gpu/cuda/driver.h"

#include "gpu/cuda/cuda_internal.h"

#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_open; /* guarded by lock; the driver is constant once it is set */
static pithp_cuda_driver driver;

static bool find(const char *name, void **function, pithp_error *e) {
    enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    const cudaError_t code = cudaGetDriverEntryPointByVersion(
        name, function, PITHP_CUDA_OLDEST, cudaEnableDefault, &found);
    pithp_cuda_forget(code);
    if (code == cudaSuccess && found == cudaDriverEntryPointSuccess && *function)
        return true;
    pithp_error_set(e, PITH_E_UNSUPPORTED, NULL, NULL, "the CUDA driver has no %s", name);
    return false;
}

static bool open_once(pithp_error *e) {
    void *function = NULL;
#define DRIVER_BIND(name, arguments)                                                     \
    if (!find("cu" #name, &function, e))                                                 \
        return false;                                                                    \
    memcpy(&driver.name, &function, sizeof function);
    PITHP_DRIVER_FUNCTIONS(DRIVER_BIND)
#undef DRIVER_BIND
    return true;
}

const pithp_cuda_driver *pithp_cuda_driver_open(pithp_error *e) {
    pthread_mutex_lock(&lock);
    is_open = is_open || open_once(e);
    const bool opened = is_open;
    pthread_mutex_unlock(&lock);
    return opened ? &driver : NULL;
}
