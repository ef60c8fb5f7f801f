/* CUDA errors: conversion of codes to errors. A code that is not a refusal of one call
 * marks the device and its runtime dead. */
#include "base/format.h"
#include "gpu/cuda/cuda_internal.h"
#include "gpu/memory/reclaim.h"

#include <stdio.h>

#define REFUSAL_VALUE(name, value, status)                                               \
    _Static_assert(cudaError##name == value, "decide.h has the value of the code");
PITHP_CUDA_REFUSAL_LIST(REFUSAL_VALUE)
#undef REFUSAL_VALUE

void pithp_cuda_forget(cudaError_t code) {
    if (code != cudaSuccess)
        (void)cudaGetLastError();
}

static pith_status fill(pithp_device *d,
                        pith_status status,
                        cudaError_t code,
                        pithp_error *e,
                        const char *doing) {
    char text[PITHP_MESSAGE_BYTES];
    snprintf(text, sizeof text, "cuda:%d: %s: %s: %s", pithp_cuda_device_of(d)->ordinal,
             doing, cudaGetErrorName(code), cudaGetErrorString(code));
    pithp_cuda_forget(code);
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
    pithp_format_v(doing, sizeof doing, format, arguments);
    va_end(arguments);
    return fill(d, pithp_cuda_status((int)code), code, e, doing);
}

pith_status pithp_cuda_fail_waiting(pithp_device *d, cudaError_t code, pithp_error *e) {
    if (pithp_cuda_is_capture((int)code) || code == cudaErrorCudartUnloading)
        return fill(d, pithp_cuda_status((int)code), code, e, "cannot wait");
    return fill(d, PITH_E_DEVICE, code, e, "enqueued work failed");
}

bool pithp_cuda_retry(pithp_device *d, cudaError_t code, bool *retried) {
    if (pithp_cuda_status((int)code) != PITH_E_MEMORY || *retried || !d->memory)
        return false;
    *retried = true;
    pithp_cuda_forget(code);
    pithp_trim(d);
    return true;
}
