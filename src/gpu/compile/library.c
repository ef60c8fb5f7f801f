/* Shared library loader: the module operations of the host backend. */
#include "gpu/compile/compile_internal.h"

#include <dlfcn.h>
#include <string.h>

/* ISO C has no cast from an object pointer to a function pointer; POSIX guarantees the
 * representation. */
static pithp_host_loop as_loop(void *symbol) {
    pithp_host_loop loop;
    _Static_assert(sizeof loop == sizeof symbol, "dlsym returns functions as void *");
    memcpy(&loop, &symbol, sizeof loop);
    return loop;
}

pith_status pithp_library_load(pithp_device *d,
                               const void *path,
                               size_t bytes,
                               pithp_module *m,
                               pithp_error *e) {
    (void)d, (void)bytes;
    /* RTLD_NOW: a missing symbol must fail here, not during a call */
    m->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (m->handle)
        return PITH_OK;
    const char *reason = dlerror();
    pithp_error_set(e, PITH_E_COMPILE, NULL, NULL, "compiled code does not load: %s",
                    reason ? reason : "no reason given");
    return PITH_E_COMPILE;
}

void pithp_library_unload(pithp_device *d, pithp_module *m) {
    (void)d;
    if (m->handle)
        dlclose(m->handle);
    m->handle = NULL;
}

pith_status pithp_library_find(pithp_device *d,
                               const pithp_module *m,
                               const char *name,
                               pithp_function *f,
                               pithp_error *e) {
    (void)d;
    void *symbol = dlsym(m->handle, name);
    if (!symbol) {
        pithp_error_set(e, PITH_E_COMPILE, NULL, NULL, "compiled code has no function %s",
                        name);
        return PITH_E_COMPILE;
    }
    f->loops[0] = as_loop(symbol);
    return PITH_OK;
}
