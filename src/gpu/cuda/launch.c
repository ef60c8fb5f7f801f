/* Launches and loaded code. Kernels built with the library and those of modules are both
 * handles that cudaLaunchKernel takes, so nothing here needs the driver's own interface.
 */
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
                        "%s: %lld indices are more than one launch has threads",
                        l->name ? l->name : "a kernel", (long long)l->count);
        return PITH_E_UNSUPPORTED;
    }
    int previous;
    pith_status rc = pithp_cuda_enter(st->device, &previous, e);
    if (rc != PITH_OK)
        return rc;
    /* The one parameter is the struct by value; its size is the kernel's. */
    void *parameters[] = {(void *)(uintptr_t)l->args};
    cudaError_t code =
        cudaLaunchKernel(l->cuda, (dim3){grid.blocks, 1, 1}, (dim3){grid.threads, 1, 1},
                         parameters, 0, pithp_cuda_stream_of(st)->queue);
    const cudaError_t left = cudaGetLastError();
    if (code == cudaSuccess)
        code = left;
    if (code != cudaSuccess)
        rc = pithp_cuda_fail(st->device, code, e, "cannot launch %s on %lld indices",
                             l->name ? l->name : "a kernel", (long long)l->count);
    pithp_cuda_leave(st->device, previous);
    return rc;
}

pith_status pithp_module_load_cuda(pithp_device *d,
                                   const void *image,
                                   size_t bytes,
                                   pithp_module *m,
                                   pithp_error *e) {
    int previous;
    pith_status rc = pithp_cuda_enter(d, &previous, e);
    if (rc != PITH_OK)
        return rc;
    cudaLibrary_t library = NULL;
    const cudaError_t code =
        cudaLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0);
    if (code != cudaSuccess)
        rc = pithp_cuda_fail(d, code, e, "cannot load %zu bytes of compiled code", bytes);
    m->handle = library;
    pithp_cuda_leave(d, previous);
    return rc;
}

void pithp_module_unload_cuda(pithp_device *d, pithp_module *m) {
    pithp_error ignored; /* a dead device holds no code */
    int previous;
    if (!m->handle || pithp_cuda_enter(d, &previous, &ignored) != PITH_OK)
        return;
    pithp_cuda_wait_for_all(d);
    (void)cudaLibraryUnload(m->handle);
    (void)cudaGetLastError();
    m->handle = NULL;
    pithp_cuda_leave(d, previous);
}

pith_status pithp_module_find_cuda(pithp_device *d,
                                   const pithp_module *m,
                                   const char *name,
                                   pithp_function *f,
                                   pithp_error *e) {
    int previous;
    pith_status rc = pithp_cuda_enter(d, &previous, e);
    if (rc != PITH_OK)
        return rc;
    cudaKernel_t kernel = NULL;
    const cudaError_t code = cudaLibraryGetKernel(&kernel, m->handle, name);
    if (code != cudaSuccess)
        rc = pithp_cuda_fail(d, code, e, "compiled code has no kernel %s", name);
    f->cuda = kernel;
    pithp_cuda_leave(d, previous);
    return rc;
}
