/* CUDA launches and loaded modules. Kernels of the library and of modules are both
 * handles for cudaLaunchKernel, so this file needs no driver API. */
#include "gpu/cuda/cuda_internal.h"

#include <string.h>

pith_status pithp_launch_cuda(pithp_stream *st, const pithp_launch *l, pithp_error *e) {
    if (l->count <= 0)
        return PITH_OK;
    if (!l->cuda) {
        pithp_error_set(e, PITH_E_UNSUPPORTED, NULL, NULL,
                        "%s was not built for CUDA: compile it with nvcc too",
                        l->name ? l->name : "a kernel");
        return PITH_E_UNSUPPORTED;
    }
    pithp_cuda_grid grid;
    if (!pithp_cuda_grid_for(l->count, &grid)) {
        pithp_error_set(e, PITH_E_UNSUPPORTED, NULL, NULL,
                        "%s: %lld indices exceed the threads of one launch",
                        l->name ? l->name : "a kernel", (long long)l->count);
        return PITH_E_UNSUPPORTED;
    }
    pithp_caller caller;
    pith_status rc = pithp_cuda_enter(st->device, &caller, e);
    if (rc != PITH_OK)
        return rc;
    /* The only parameter is the argument struct by value; the kernel determines its
     * size. */
    void *parameters[] = {(void *)(uintptr_t)l->args};
    /* The first launch of a kernel may load its code, which needs memory. */
    bool retried = false;
    cudaError_t code;
    do
        code = cudaLaunchKernel(l->cuda, (dim3){grid.blocks, 1, 1},
                                (dim3){grid.threads, 1, 1}, parameters, 0,
                                pithp_cuda_stream_of(st)->queue);
    while (pithp_cuda_retry(st->device, code, &retried));
    if (code != cudaSuccess)
        rc = pithp_cuda_fail(st->device, code, e, "cannot launch %s on %lld indices",
                             l->name ? l->name : "a kernel", (long long)l->count);
    pithp_cuda_leave(st->device, &caller);
    return rc;
}

pith_status pithp_module_load_cuda(pithp_device *d,
                                   const void *image,
                                   size_t bytes,
                                   pithp_module *m,
                                   pithp_error *e) {
    pithp_caller caller;
    pith_status rc = pithp_cuda_enter(d, &caller, e);
    if (rc != PITH_OK)
        return rc;
    cudaLibrary_t library = NULL;
    bool retried = false;
    cudaError_t code;
    do
        code = cudaLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0);
    while (pithp_cuda_retry(d, code, &retried));
    if (pithp_cuda_is_foreign_code((int)code))
        rc = pithp_cuda_fail(d, code, e,
                             "cannot load %zu bytes of compiled code: they need a "
                             "device other than compute capability %d.%d, or a driver "
                             "newer than CUDA %d.%d",
                             bytes, d->arch / 10, d->arch % 10, d->driver / 1000,
                             d->driver % 1000 / 10);
    else if (code != cudaSuccess)
        rc = pithp_cuda_fail(d, code, e, "cannot load %zu bytes of compiled code", bytes);
    m->handle = library;
    pithp_cuda_leave(d, &caller);
    return rc;
}

void pithp_module_unload_cuda(pithp_device *d, pithp_module *m) {
    pithp_error ignored; /* a dead device has no code */
    pithp_caller caller;
    if (!m->handle || pithp_cuda_enter(d, &caller, &ignored) != PITH_OK)
        return;
    pithp_cuda_wait_for_all(d);
    pithp_cuda_forget(cudaLibraryUnload(m->handle));
    m->handle = NULL;
    pithp_cuda_leave(d, &caller);
}

pith_status pithp_module_find_cuda(pithp_device *d,
                                   const pithp_module *m,
                                   const char *name,
                                   pithp_function *f,
                                   pithp_error *e) {
    pithp_caller caller;
    pith_status rc = pithp_cuda_enter(d, &caller, e);
    if (rc != PITH_OK)
        return rc;
    cudaKernel_t kernel = NULL;
    bool retried = false;
    cudaError_t code;
    do
        code = cudaLibraryGetKernel(&kernel, m->handle, name);
    while (pithp_cuda_retry(d, code, &retried));
    if (code != cudaSuccess)
        rc = pithp_cuda_fail(d, code, e, "cannot find kernel %s in compiled code", name);
    f->cuda = kernel;
    pithp_cuda_leave(d, &caller);
    return rc;
}

/* The first look-up of a kernel loads its module. */
pith_status pithp_kernel_find_cuda(pithp_device *d,
                                   pith_kernel_entry entry,
                                   const char *name,
                                   const void **handle,
                                   pithp_error *e) {
    pithp_caller caller;
    pith_status rc = pithp_cuda_enter(d, &caller, e);
    if (rc != PITH_OK)
        return rc;
    bool retried = false;
    int code;
    do {
        code = cudaSuccess;
        *handle = entry(&code);
    } while (pithp_cuda_retry(d, (cudaError_t)code, &retried));
    if (!*handle && pithp_cuda_is_foreign_code(code))
        rc = pithp_cuda_fail(d, (cudaError_t)code, e,
                             "cannot find kernel %s: it was not built for compute "
                             "capability %d.%d",
                             name, d->arch / 10, d->arch % 10);
    else if (!*handle)
        rc = pithp_cuda_fail(d, (cudaError_t)code, e, "cannot find kernel %s", name);
    pithp_cuda_leave(d, &caller);
    return rc;
}
