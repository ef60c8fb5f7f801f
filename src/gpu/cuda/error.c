/* CUDA's codes as errors of ours. One that is more than a refusal marks the device and
 * its runtime dead. */
#include "gpu/cuda/cuda_internal.h"

#include <stdio.h>

#define REFUSAL_VALUE(name, value, status)                                               \
    _Static_assert(cudaError##name == value, "plan.h knows CUDA's codes by number");
PITHP_CUDA_REFUSAL_LIST(REFUSAL_VALUE)
#undef REFUSAL_VALUE

static pith_status fill(pithp_device *d,
                        pith_status status,
                        cudaError_t code,
                        pithp_error *e,
                        const char *doing) {
    char text[PITHP_MESSAGE_BYTES];
    snprintf(text, sizeof text, "cuda:%d: %s: %s: %s", pithp_cuda_device_of(d)->ordinal,
             doing, cudaGetErrorName(code), cudaGetErrorString(code));
    (void)cudaGetLastError(); /* the thread's record, or the next query would find it */
    if (status == PITH_E_DEVICE) {
        pithp_runtime_fail(d->runtime, status, "the device is dead: %s", text);
        atomic_store(&d->dead, true);
    }
    pithp_error_set(e, status, NULL, NULL, "%s", text);
    return status;
}

pith_status pithp_cuda_fail(pithp_device *d,
                            cudaError_t code,
                            pithp_error *e,
                            const char *format,
                            ...) {
    char doing[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(doing, sizeof doing, format, arguments);
    va_end(arguments);
    return fill(d, pithp_cuda_status((int)code), code, e, doing);
}

pith_status pithp_cuda_fail_waiting(pithp_device *d, cudaError_t code, pithp_error *e) {
    return fill(d, PITH_E_DEVICE, code, e, "work that was enqueued failed");
}

cudaError_t pithp_cuda_make_current(const pithp_device *d, int *previous) {
    const int ordinal = pithp_cuda_device_of(d)->ordinal;
    const cudaError_t code = cudaGetDevice(previous);
    if (code != cudaSuccess || *previous == ordinal)
        return code;
    return cudaSetDevice(ordinal);
}

pith_status pithp_cuda_enter(pithp_device *d, int *previous, pithp_error *e) {
    if (atomic_load(&d->dead)) {
        pithp_error_set(e, PITH_E_DEVICE, NULL, NULL, "%s", d->runtime->error.text);
        return PITH_E_DEVICE;
    }
    const cudaError_t code = pithp_cuda_make_current(d, previous);
    return code == cudaSuccess ? PITH_OK
                               : pithp_cuda_fail(d, code, e, "cannot make it current");
}

void pithp_cuda_leave(const pithp_device *d, int previous) {
    if (previous != pithp_cuda_device_of(d)->ordinal)
        (void)cudaSetDevice(previous);
}
