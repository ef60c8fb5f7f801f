/* CUDA driver declarations: functions that the runtime library lacks, resolved by name at
 * run time, so that nothing links the driver. driver_check.c compares these declarations
 * with cuda.h. */
#ifndef PITH_CUDA_DRIVER_H
#define PITH_CUDA_DRIVER_H

#include "gpu/gpu_internal.h"

/* X(name, arguments): each returns a code of the driver. cudaError_t has the same codes.
 */
#define PITHP_DRIVER_FUNCTIONS(X)                                                        \
    X(CtxGetCurrent, (void **context))                                                   \
    X(CtxSetCurrent, (void *context))                                                    \
    X(DeviceGet, (int *device, int ordinal))                                             \
    X(DevicePrimaryCtxRetain, (void **context, int device))                              \
    X(DevicePrimaryCtxRelease, (int device))                                             \
    X(ThreadExchangeStreamCaptureMode, (int *mode))

enum { PITHP_CAPTURE_RELAXED = 2 };

typedef struct pithp_cuda_driver {
#define PITHP_DRIVER_MEMBER(name, arguments) int(*name) arguments;
    PITHP_DRIVER_FUNCTIONS(PITHP_DRIVER_MEMBER)
#undef PITHP_DRIVER_MEMBER
} pithp_cuda_driver;

/* Opened once per process. NULL: e names the missing function. */
const pithp_cuda_driver *pithp_cuda_driver_open(pithp_error *e);

#endif
