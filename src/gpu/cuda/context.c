/* CUDA contexts: pith uses the primary context of its device, and every call restores the
 * thread's context. It uses the driver API: cudaSetDevice creates contexts, and cannot
 * restore a non-primary context. */
#include "gpu/cuda/cuda_internal.h"

/* Retain the primary context while the device is open. The runtime library retains it too
 * (cudaInitDevice), so closing the device never destroys it. */
pith_status pithp_cuda_context_open(pithp_device *d, pithp_error *e) {
    pithp_cuda_device *state = pithp_cuda_device_of(d);
    int device = 0, mode = PITHP_CAPTURE_RELAXED;
    state->driver = pithp_cuda_driver_open(e);
    if (!state->driver)
        return e->code;
    const bool relaxed = state->driver->ThreadExchangeStreamCaptureMode(&mode) == 0;
    cudaError_t code = cudaInitDevice(state->ordinal, 0, 0);
    if (code == cudaSuccess)
        code = (cudaError_t)state->driver->DeviceGet(&device, state->ordinal);
    if (code == cudaSuccess)
        code =
            (cudaError_t)state->driver->DevicePrimaryCtxRetain(&state->context, device);
    if (relaxed)
        (void)state->driver->ThreadExchangeStreamCaptureMode(&mode);
    state->device = device;
    return code == cudaSuccess ? PITH_OK
                               : pithp_cuda_fail(d, code, e, "cannot use the device");
}

void pithp_cuda_context_close(pithp_device *d) {
    pithp_cuda_device *state = pithp_cuda_device_of(d);
    if (state->context)
        (void)state->driver->DevicePrimaryCtxRelease(state->device);
    state->context = NULL;
}

/* Relaxed capture mode: while another library captures in global mode, allocations in
 * other modes are forbidden and invalidate the capture. */
cudaError_t pithp_cuda_make_current(const pithp_device *d, pithp_caller *caller) {
    const pithp_cuda_device *state = pithp_cuda_device_of(d);
    *caller = (pithp_caller){.mode = PITHP_CAPTURE_RELAXED};
    int code = state->driver->CtxGetCurrent(&caller->context);
    if (code == 0 && caller->context != state->context)
        code = state->driver->CtxSetCurrent(state->context);
    if (code != 0)
        return (cudaError_t)code;
    caller->entered = true;
    caller->relaxed = state->driver->ThreadExchangeStreamCaptureMode(&caller->mode) == 0;
    return cudaSuccess;
}

pith_status pithp_cuda_enter(pithp_device *d, pithp_caller *caller, pithp_error *e) {
    *caller = (pithp_caller){.entered = false};
    if (atomic_load(&d->dead)) {
        pithp_error_set(e, PITH_E_DEVICE, NULL, NULL, "%s", d->runtime->error.text);
        return PITH_E_DEVICE;
    }
    const cudaError_t code = pithp_cuda_make_current(d, caller);
    return code == cudaSuccess
               ? PITH_OK
               : pithp_cuda_fail(d, code, e, "cannot make the device current");
}

void pithp_cuda_leave(const pithp_device *d, const pithp_caller *caller) {
    const pithp_cuda_device *state = pithp_cuda_device_of(d);
    int mode = caller->mode;
    if (caller->relaxed)
        (void)state->driver->ThreadExchangeStreamCaptureMode(&mode);
    if (caller->entered && caller->context != state->context)
        (void)state->driver->CtxSetCurrent(caller->context);
}
